"""Measuring anew: one benchmark after another; what failed or was interrupted loses no other."""

import json
import sys

import pytest

from benchmarks import __main__ as command
from benchmarks import remeasure
from benchmarks.claims import SUBJECTS
from benchmarks.recorded import RESULTS
from benchmarks.remeasure import QUICK, Round, measure_all, throw_away

WORDS = {"allreduce": [], "recurrence": ["--repetitions", "3"], "convolutions": []}


@pytest.fixture
def round_(tmp_path):
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    return Round(WORDS, tmp_path)


def ends(**statuses):
    """A `run` that notes which modules it was asked for."""
    asked = []

    def run(words, folder):
        module = words[2].removeprefix("benchmarks.")
        asked.append((module, list(words[3:])))
        assert words[:2] == [sys.executable, "-m"]
        status = statuses.get(module, 0)
        if status == "interrupted":
            raise KeyboardInterrupt
        return status

    return run, asked


def test_all_are_measured_and_their_times_are_told_the_next_time(round_, capsys):
    run, asked = ends()
    assert measure_all(round_, False, run) == []
    assert asked == list(WORDS.items())
    assert "allreduce: how long it takes was not recorded" in capsys.readouterr().out
    assert round_.done == []  # the round is over
    assert measure_all(round_, False, run) == []
    said = capsys.readouterr().out
    assert "allreduce: took 0.0 min on 20" in said
    assert "together 0 min" in said
    assert len(asked) == 6


def test_one_that_fails_is_told_and_tried_again_without_the_others(round_, capsys):
    run, asked = ends(recurrence=3)
    assert measure_all(round_, False, run) == ["recurrence"]
    assert [module for module, _ in asked] == list(WORDS)
    said = capsys.readouterr().out
    assert (
        "recurrence: NOT measured, python -m benchmarks.recurrence --repetitions 3 ended" in said
    )
    assert set(json.loads((round_.results / "took.json").read_text())) == set(WORDS) - {
        "recurrence"
    }
    run, asked = ends()
    assert measure_all(round_, False, run) == []
    assert asked == [("recurrence", ["--repetitions", "3"])]
    assert "allreduce: measured already in this round" in capsys.readouterr().out
    assert round_.done == []


def test_an_interrupted_round_goes_on_where_it_was(round_):
    run, asked = ends(recurrence="interrupted")
    with pytest.raises(KeyboardInterrupt, match=r"in recurrence\. Measured until now: allreduce;"):
        measure_all(round_, False, run)
    run, asked = ends()
    assert measure_all(round_, False, run) == []
    assert [module for module, _ in asked] == ["recurrence", "convolutions"]
    run, asked = ends(recurrence="interrupted")
    with pytest.raises(KeyboardInterrupt):
        measure_all(round_, False, run)
    run, asked = ends()
    measure_all(round_, True, run)
    assert len(asked) == 3


def test_notes_that_are_no_notes_are_refused(round_):
    (round_.results / "round.json").write_text("{")
    with pytest.raises(ValueError, match="is no such list: remove it"):
        measure_all(round_, False, ends()[0])


def test_every_benchmark_has_a_shortest_form_in_a_copy(monkeypatch, capsys):
    assert set(QUICK) == {subject.module for subject in SUBJECTS}
    kept = {file: file.read_bytes() for file in RESULTS.iterdir() if file.is_file()}

    def run(words, folder):
        [module] = (it for it in QUICK if words[2].startswith(f"benchmarks.{it}"))
        file = folder / "benchmarks" / "results" / f"{module}.txt"
        assert not file.samefile(RESULTS / file.name)
        file.write_text("what was measured")
        return int(module == "simgrid")

    monkeypatch.setattr(remeasure, "_run", run)
    assert command.main(["--run", "--quick"]) == 1
    assert "6 of 7 commands started and ended here; nothing was kept" in capsys.readouterr().out
    assert command.main(["--run", "--quick", "--only", "sparse"]) == 0
    assert kept == {file: file.read_bytes() for file in RESULTS.iterdir() if file.is_file()}
    with throw_away() as folder:
        assert (folder / "benchmarks" / "recorded.py").is_file()
    assert not folder.exists()


def test_what_cannot_be_read_does_not_lose_the_others(monkeypatch, capsys):
    read = command.claims

    def claims(subject):
        if subject.module == "simgrid":
            raise ValueError("results/simgrid.txt has no rows")
        return read(subject)

    monkeypatch.setattr(command, "claims", claims)
    assert command.show(SUBJECTS[-2:], whole=False) == 1
    told = capsys.readouterr()
    assert "sparse all-reduce" in told.out
    assert "SimGrid: results/simgrid.txt has no rows" in told.err
    assert command.show(SUBJECTS[-1:], whole=False) == 1
    assert command.show(SUBJECTS[:1], whole=False) == 0
    for wrong in (["--only", "weather"], ["--quick"], ["--fresh"]):
        with pytest.raises(SystemExit):
            command.main(wrong)
