"""What ranks print comes at once, and lines of several ranks are never mixed."""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from ddl_runtime.launcher.pipe import RankPipe, Screen

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60  # seconds for what must come
SCRIPT = """
import pathlib, sys, time
from ddl_teach import launch
def program(comm, text, seen):
    if comm.rank == 1:
        print(text, end="")
        while not pathlib.Path(seen).exists():
            time.sleep(0.01)
    comm.barrier()
launch(program, 2, text=sys.argv[1], seen=sys.argv[2], timeout=float(sys.argv[3]))
"""


@pytest.mark.parametrize("text", ["50%\r", "\r50%", "50%", "epoch 1\n50%"])
@pytest.mark.sampled(4)
def test_what_a_rank_prints_is_seen_while_it_runs(tmp_path, text):
    seen = tmp_path / "seen"
    words = [sys.executable, "-c", SCRIPT, text, str(seen), str(PATIENCE)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as script:
        said = b""
        while b"[1] 50%" not in said and (more := os.read(script.stdout.fileno(), 1000)):
            said += more
        assert b"[1] 50%" in said
        assert script.poll() is None
        seen.touch()
        script.stdout.read()
    assert script.returncode == 0


@pytest.fixture
def ranks(monkeypatch):
    """Three ranks' lines on one screen of 40 columns; previews come at once."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(RankPipe, "preview_after", 0)
    screen = Screen()
    lines = [RankPipe(pid, screen) for pid in range(3)]
    for rank, line in enumerate(lines):
        line.rank = rank
    return lines


def rows(said):
    """What a terminal makes of it."""
    shown = []
    for text in said.split("\n"):
        row = ""
        for part in text.split("\r"):
            row = part + row[len(part) :]
        shown.append(row.rstrip())
    return shown


def say(*turns):
    for line, text in turns:
        line.hear(text.encode())
        line.preview()


def test_a_line_that_another_interrupts_is_whole_in_the_end(ranks, capsys):
    say((ranks[0], "half a "), (ranks[1], "whole\n"), (ranks[2], "dots ..."))
    assert rows(capsys.readouterr().out) == ["[1] whole", "[2] dots ..."]
    say((ranks[0], "line\n"), (ranks[2], ".\n"))
    assert rows(capsys.readouterr().out) == ["[0] half a line", "[2] dots ....", ""]


@pytest.mark.parametrize("form", ["{}\r", "\r{}"], ids=["return last", "return first"])
def test_progress_is_written_over_and_nothing_of_it_stays(ranks, capsys, form):
    steps = [(ranks[n % 2], form.format(f"{n} of 20, slow")) for n in range(20)]
    for turn in steps:
        say(turn)
    assert rows(capsys.readouterr().out)[-1] == "[1] 19 of 20, slow"
    say((ranks[1], form.format("done")), (ranks[2], "hi\n"), (ranks[0], "\r\n"))
    said = capsys.readouterr().out
    assert rows(said) == ["[2] hi", "[0] 18 of 20, slow", ""]
    ranks[1]._end_line()
    assert rows(capsys.readouterr().out) == ["[1] done", ""]


def test_of_a_long_line_that_goes_on_the_end_is_seen_and_later_all(ranks, capsys):
    say((ranks[0], "." * 1000 + "x"))
    [row] = rows(capsys.readouterr().out)
    assert len(row) == 39
    assert row.startswith("[0] ...")
    assert row.endswith(".x")
    say((ranks[0], "\n"))
    assert rows(capsys.readouterr().out) == ["[0] " + "." * 1000 + "x", ""]


def test_a_letter_may_come_in_two_halves(ranks, capsys):
    for half in ("\N{SNOWMAN}".encode()[:1], "\N{SNOWMAN}\n".encode()[1:]):
        ranks[0].hear(half)
    assert capsys.readouterr().out == "[0] \N{SNOWMAN}\n"


def test_a_line_without_end_costs_no_more_the_longer_it_is(ranks):
    """A piece makes no copy of what came before it."""
    piece = b"x" * (1 << 16)
    tracemalloc.start()
    try:
        for _ in range(100):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            ranks[0].hear(piece)
            assert tracemalloc.get_traced_memory()[1] - before < 4 * len(piece)
    finally:
        tracemalloc.stop()
