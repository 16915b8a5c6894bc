"""A search that was killed and goes on finds what an undisturbed one finds."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_teach import launch, simulate
from ddl_teach.search.by_ranks import search
from ddl_teach.search.conductor import Conductor
from ddl_teach.search.deciders.asynchronous_halving import AsynchronousHalving
from ddl_teach.search.deciders.random import RandomSearch
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.journal import Journal
from ddl_teach.search.space import LogUniform, Space

pytestmark = pytest.mark.real

SPACE = Space({"rate": LogUniform(1e-3, 1)})
HALVING = SuccessiveHalving(SPACE, 5, eta=2, seed=29)
DECIDERS = {
    "random": RandomSearch(SPACE, 6, seed=29),
    "halving": HALVING,
    "asynchronous": AsynchronousHalving(SPACE, 140, 3, eta=2, seed=29),
}


def training(settings, state, steps, seed):
    """A walk whose every step counts: two states that differ once stay different."""
    place = np.array([seed, settings["rate"]]) if state is None else state["place"]
    done = 0 if state is None else state["done"]
    for step in range(done, done + steps):
        place = np.sin(3 * place + step)
    if 0.1 < settings["rate"] < 0.2:
        raise ArithmeticError("no rate such as this")
    return {"place": place, "done": done + steps}, float(place.sum() + 2)


def found(report):
    """All that must not depend on a kill: neither times, nor what was done twice."""
    runs = [it for it in report.records if it.decision != "interrupted"]
    same = [(it.trial, it.rung, it.steps, it.loss, it.decision, it.error) for it in runs]
    return report.winner.trial, report.state["place"].tobytes(), sorted(same)


class Killed(BaseException):
    """What stands for the end of the process."""


def half_line(journal, event):
    line = json.dumps(event).encode()
    journal._file.write(line[: len(line) // 2])
    journal._file.flush()


def kill_at(moment, monkeypatch):
    """Nothing is written any more from this write on, and of this one only a part."""
    left = [moment]
    keep = Journal.keep
    halves = {
        "write": half_line,
        "keep": lambda self, trial, rung, packed: keep(
            self, trial, rung, packed[: len(packed) // 2]
        ),
        "forget": lambda *_: None,
    }

    def dying(whole, half):
        def method(*args):
            left[0] -= 1
            if left[0] >= 0:
                return whole(*args)
            if left[0] == -1:
                half(*args)
            raise Killed

        return method

    for name, half in halves.items():
        monkeypatch.setattr(Journal, name, dying(getattr(Journal, name), half))


@pytest.mark.parametrize("name", ["halving", "asynchronous"])
@pytest.mark.sampled(2)
def test_killed_at_every_single_write_it_goes_on_to_the_same_end(name, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a killed process loses nothing without it
    kwargs = {"training": training, "decider": DECIDERS[name]}
    undisturbed = simulate(search, 1, **kwargs).results[0]
    assert any(it.decision == "crashed" for it in undisturbed.records)
    # The head, two lines for each run, and a state for each that is done: kept, the last removed.
    writes = 1 + 2 * undisturbed.runs + 2 * undisturbed.progress.jobs
    for moment in range(writes):
        journal = tmp_path / str(moment)
        with monkeypatch.context() as patch:
            kill_at(moment, patch)
            with pytest.raises(RankFailed, match="Killed"):
                simulate(search, 1, journal=journal, **kwargs)
        before = done_lines(journal)
        report = simulate(search, 1, journal=journal, **kwargs).results[0]
        assert found(report) == found(undisturbed)
        # Nothing that was done is done again.
        assert done_lines(journal)[: len(before)] == before
        assert report.runs <= undisturbed.runs + 1


def done_lines(folder):
    text = (folder / "events.jsonl").read_text()
    lines = [json.loads(line) for line in text.split("\n")[:-1]]
    done = [tuple(line["done"]) for line in lines if "done" in line]
    assert len(set(done)) == len(done)
    return done


@pytest.mark.parametrize("name", DECIDERS)
def test_killed_with_several_workers_too(name, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    kwargs = {"training": training, "decider": DECIDERS[name], "pace": lambda _, job: job.steps}
    undisturbed = simulate(search, 5, **kwargs).results[0]
    for moment in range(3, 2 * undisturbed.runs, 8):
        journal = tmp_path / str(moment)
        with monkeypatch.context() as patch:
            kill_at(moment, patch)
            with pytest.raises(RankFailed, match="Killed"):
                simulate(search, 5, journal=journal, **kwargs)
        before = done_lines(journal)
        # On another number of workers; and once more, when there is nothing to do.
        reports = [simulate(search, it, journal=journal, **kwargs).results[0] for it in (3, 1)]
        assert done_lines(journal)[: len(before)] == before
        assert found(reports[0]) == found(reports[1])
        assert reports[0].runs == reports[1].runs
        interrupted = sum(it.decision == "interrupted" for it in reports[1].records)
        assert interrupted <= 4
        if name == "asynchronous":
            # Who is promoted depends on who is done first, and so do two undisturbed searches.
            assert reports[1].progress.steps == undisturbed.progress.steps
        else:
            assert found(reports[1]) == found(undisturbed)
            assert reports[1].runs == undisturbed.runs + interrupted


def until_killed(name, folder, where):
    """In a process of its own: search until the process kills itself."""
    calls, write = [], Journal.write

    def dies_in_job(*args):
        calls.append("job")
        if calls.count("job") == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return training(*args)

    def dies_in_line(journal, event):
        calls.append("line")
        if calls.count("line") == 6:
            half_line(journal, event)
            os.kill(os.getpid(), signal.SIGKILL)
        write(journal, event)

    if where == "line":
        Journal.write = dies_in_line
    own = dies_in_job if where == "job" else training
    simulate(search, 1, training=own, decider=DECIDERS[name], journal=folder)


@pytest.mark.parametrize("name", ["halving", "asynchronous"])
@pytest.mark.sampled(2)
@pytest.mark.long
def test_processes_that_are_killed_again_and_again(name, tmp_path):
    for where in ("job", "line"):
        words = f"import {Path(__file__).stem} as it; it.until_killed({name!r}, 'kept', {where!r})"
        folders = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        killed = subprocess.run(
            [sys.executable, "-c", words], cwd=tmp_path, env={**os.environ, "PYTHONPATH": folders}
        )
        assert killed.returncode == -signal.SIGKILL
    text = (tmp_path / "kept" / "events.jsonl").read_text()
    assert not text.endswith("\n")  # killed in the middle of a line
    kwargs = {"training": training, "decider": DECIDERS[name]}
    undisturbed = simulate(search, 1, **kwargs).results[0]
    report = simulate(search, 1, journal=tmp_path / "kept", **kwargs).results[0]
    assert found(report) == found(undisturbed)
    interrupted = [it for it in report.records if it.decision == "interrupted"]
    assert [it.loss for it in interrupted] == [None, None]
    assert report.runs == undisturbed.runs + 2
    assert "2 interrupted" in " ".join(str(report).split())


def test_real_ranks_that_are_killed_and_simulated_ones_that_go_on(tmp_path):
    def killing(settings, state, steps, seed):
        if state is not None:  # whoever begins a second rung
            os.kill(os.getpid(), signal.SIGKILL)
        return training(settings, state, steps, seed)

    kwargs = {"decider": HALVING, "journal": tmp_path}
    with pytest.raises(RankFailed, match="killed by signal 9"):
        launch(search, 3, training=killing, **kwargs)
    assert len(done_lines(tmp_path)) >= 5
    report = simulate(search, 3, training=training, **kwargs).results[0]
    undisturbed = simulate(search, 1, training=training, decider=HALVING).results[0]
    assert found(report) == found(undisturbed)
    assert 1 <= report.runs - undisturbed.runs <= 2


def test_what_stands_in_a_journal_is_looked_at(tmp_path):
    folder, kwargs = tmp_path / "kept", {"training": training, "decider": HALVING}
    conductor = Conductor(HALVING, folder)
    with pytest.raises(RuntimeError, match="another search is writing its journal"):
        Conductor(HALVING, folder)
    conductor.__exit__()
    simulate(search, 1, journal=folder, **kwargs)
    with pytest.raises(ValueError, match=r"of another search:\n.*seed=29.*\n.*\n.*seed=30"):
        Conductor(SuccessiveHalving(SPACE, 9, seed=30), folder)

    path = folder / "events.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:5], "nonsense\n", *lines[5:]]))
    with pytest.raises(ValueError, match=r"line 6 .* no line of a journal: b'nonsense'"):
        Conductor(HALVING, folder)
    first = next(line for line in lines if "begun" in line)
    path.write_text("".join([lines[0], first.replace("[0, 0]", "[5, 0]")]))
    with pytest.raises(ValueError, match="trial 5 began rung 0, but the decider gives"):
        Conductor(HALVING, folder)
    path.write_text("".join(lines))
    for file in folder.glob("*.npz"):
        file.unlink()
    with pytest.raises(FileNotFoundError, match=r"is done, but its state .* is gone"):
        Conductor(HALVING, folder)
    for file in folder.iterdir():
        file.unlink()
    with Conductor(HALVING, folder) as again:  # and none of those errors has kept it locked
        assert again.next(0).job.trial == 0


def test_states_that_nobody_goes_on_from_are_removed(tmp_path):
    simulate(search, 1, training=training, decider=HALVING, journal=tmp_path)
    reached = {}
    for trial, rung in done_lines(tmp_path):
        reached[trial] = max(rung, reached.get(trial, 0))
    kept = {tuple(map(int, path.stem.split("-"))) for path in tmp_path.glob("*.npz")}
    assert kept == set(reached.items())


def test_an_interrupt_is_a_kill_like_any_other(tmp_path):
    def interrupted(*args):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return training(*args)

    calls = []
    with pytest.raises(KeyboardInterrupt):
        simulate(search, 1, training=interrupted, decider=HALVING, journal=tmp_path)
    report = simulate(search, 1, training=training, decider=HALVING, journal=tmp_path).results[0]
    assert found(report) == found(
        simulate(search, 1, training=training, decider=HALVING).results[0]
    )
