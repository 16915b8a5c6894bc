"""The command-line tool as a person uses it: what it prints and how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import numpy as np
import beside


def main(comm, size=10):
    x, y = np.full(size, float(comm.rank)), np.zeros(size)
    comm.sendrecv(x, (comm.rank + 1) % comm.size, y, (comm.rank - 1) % comm.size)
    return beside.double(int(y[0]))


def same(comm):
    return "x" * 200


def stuck(comm):
    comm.recv(np.zeros(3), (comm.rank + 1) % comm.size)


def wrong(comm):
    if comm.rank == 1:
        raise ValueError("my own mistake")
    comm.barrier()


def kinds(comm):
    from ddl_runtime.devices.stand_in import StandInDevice

    x = StandInDevice().empty(1_000_000)
    comm.sendrecv(x, comm.rank, x.new_empty(x.shape), comm.rank)
    return list(comm.ledger.by_kind())
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "broken.py").write_text("x = (\n")
    (tmp_path / "raising.py").write_text("import json\n\njson.loads('{')\n")
    return tmp_path


@pytest.fixture
def tool(folder):
    def call(*words):
        return subprocess.run(
            [sys.executable, "-m", "ddl_teach", *words],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return call


@pytest.mark.parametrize(
    "ground",
    [("--ranks", "3"), ("--simulate", "3"), ("--simulate", "3", "--threads")],
    ids=" ".join,
)
@pytest.mark.sampled(3)
def test_the_same_program_on_both_grounds(tool, ground):
    done = tool("run", "program.py:main", *ground, "--arg", "size=100")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rank 0: 4\nrank 1: 0\nrank 2: 2\n" in done.stdout
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line}
    assert rows["messages"] == ["1", "1", "1"]
    assert rows["bytes"] == ["800", "800", "800"]


@pytest.mark.parametrize("ground", [("--ranks", "3"), ("--simulate", "3")], ids="".join)
@pytest.mark.parametrize(
    ("function", "story"),
    [
        ("stuck", ["Deadlock", "program.py:17 in stuck"]),
        ("wrong", ["rank 1 raised ValueError: my own mistake", "program.py"]),
    ],
)
@pytest.mark.sampled(2)
def test_a_failing_program_tells_its_story(tool, ground, function, story):
    done = tool("run", f"program.py:{function}", *ground)
    assert done.returncode == 1
    for part in story:
        assert part in done.stderr
    assert "run_program.py" not in done.stderr


def test_a_network_and_many_ranks(tool):
    done = tool(
        *("run", "program.py:main", "--simulate", "4096"),
        *("--network", "two-level:ranks_per_node=8,between.latency=2us"),
    )
    assert done.returncode == 0
    assert "4,096 simulated ranks" in done.stdout
    assert "4087 more ranks" in done.stdout
    assert "time: 2." in done.stdout


@pytest.mark.parametrize("ground", ["--ranks", "--simulate"])
def test_the_way_of_arrays_on_devices(tool, ground):
    done = tool("run", "program.py:kinds", ground, "1", "--device-path", "staged")
    assert "['device staged']" in done.stdout


def test_equal_and_long_results_are_shortened(tool):
    done = tool("run", "program.py:same", "--simulate", "3")
    line = done.stdout.splitlines()[1]
    assert line.startswith("every rank returned 'xxx")
    assert len(line) < 120


def test_timeline_as_picture_and_trace(tool, folder):
    outputs = ("--plot", "picture.png", "--trace", "trace.json")
    done = tool("run", "program.py:main", "--simulate", "4", *outputs)
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "picture.png").stat().st_size > 1000
    assert json.loads((folder / "trace.json").read_text())


@pytest.mark.parametrize(
    ("name", "told", "written"),
    [
        ("run.goal", "txt2bin", ["run.goal"]),
        ("run.et", "run.0.et", [f"run.{r}.et" for r in range(4)]),
    ],
)
@pytest.mark.sampled(2)
def test_a_trace_s_name_says_its_format(tool, folder, name, told, written):
    done = tool("run", "program.py:main", "--simulate", "4", "--trace", name)
    assert told in done.stdout
    assert all((folder / each).stat().st_size for each in written)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "COMMAND"),
        (["walk"], "invalid choice: 'walk'"),
        (["run", "nowhere.py:main"], "Python files there: beside.py, broken.py, program.py"),
        (["run", "program.py"], "Its functions: kinds, main, same, stuck, wrong"),
        (["run", "program.py:man"], "Its functions: kinds, main, same, stuck, wrong"),
        (["run", "program.py:main", "--ranks", "none"], "a whole number, at least 1"),
        (["run", "program.py:main", "--timeout", "-1"], "a positive number of seconds"),
        (["run", "program.py:main", "--simulate", "0"], "a whole number, at least 1"),
        (["run", "program.py:main", "--arg", "size"], "--arg takes name=value"),
        (["run", "program.py:main", "--arg", "sise=3"], "unexpected keyword argument 'sise'"),
        (["run", "program.py:main", "--network", "uniform"], "add --simulate"),
        (["run", "program.py:main", "--threads"], "add --simulate"),
        (["run", "program.py:main", "--device-path", "fast"], "go direct, staged, pipelined"),
        (["run", "program.py:main", "--simulate", "4096", "--threads"], "at most 1,024"),
        (["run", "program.py:main", "--plot", "picture.doc"], "must end in one of .png"),
        (["run", "program.py:main", "--trace", "no/trace.json"], "There is no folder no"),
        (["run", "program.py:main", "--trace", "t.xyz"], ".json, .json.gz, .goal, .et"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.sampled(6)
def test_a_mistake_is_explained_without_traceback(tool, words, told):
    done = tool(*words)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("file", "told"),
    [("broken.py", "SyntaxError: '(' was never closed"), ("raising.py", "line 3, in <module>")],
)
def test_a_file_that_cannot_be_imported_shows_where(tool, file, told):
    done = tool("run", f"{file}:main", "--simulate", "2")
    assert done.returncode == 1
    assert told in done.stderr
    assert "importlib" not in done.stderr


def test_help_shows_examples_and_networks(tool):
    done = tool("run", "--help")
    assert done.returncode == 0
    for part in ("--simulate 4096", "fat-tree", "dragonfly", "ranks_per_node=?"):
        assert part in done.stdout


def test_progress_lists_the_exercises_and_where_it_is_kept(tool, folder, monkeypatch):
    monkeypatch.setenv("DDL_TEACH_DATA", str(folder))
    done = tool("progress")
    assert done.returncode == 0
    assert "not tried  ring" in done.stdout
    assert f"Kept in {folder}" in done.stdout


def test_a_release_needs_a_folder_to_write_to(tool, folder):
    done = tool("release", "program.py")
    assert done.returncode == 2
    assert "program.py" in done.stderr
    assert "Traceback" not in done.stderr
