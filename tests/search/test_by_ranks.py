import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_runtime.topologies.point_to_point import Uniform as Wires
from ddl_teach import simulate
from ddl_teach.search.attempt import attempt
from ddl_teach.search.by_ranks import search
from ddl_teach.search.conductor import Conductor
from ddl_teach.search.decider import Job
from ddl_teach.search.deciders.asynchronous_halving import AsynchronousHalving
from ddl_teach.search.deciders.random import RandomSearch
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.space import Choice, LogUniform, Space
from ddl_teach.search.training import DigitsTraining
from ddl_teach.training.consistency.states import unpack

SPACE = Space({"rate": LogUniform(1e-3, 10), "hidden": Choice(8, 16)})
DIGITS = DigitsTraining()
HALVING = SuccessiveHalving(SPACE, 9, eta=3, least=2)


def fragile(settings, state, steps, seed):
    """High rates raise or diverge, and some give back no loss at all."""
    state, loss = DIGITS(settings, state, steps, seed)
    if settings["rate"] > 1:
        raise ArithmeticError("too high")
    if settings["rate"] > 0.3:
        return state, math.nan
    return (state, None) if settings["rate"] > 0.1 else (state, loss)


def slow(settings, state, steps, seed):
    """Cheap to compute: what it costs, a pace says."""
    done = steps if state is None else state["done"] + steps
    return {"done": done}, abs(math.log(settings["rate"])) + 1 / done


def uneven(rank, job):
    """From 1 to 100 seconds."""
    return 100 ** ((0.618034 * job.trial + 0.3 * job.rung) % 1)


class Placed:
    """Its loss says where it computes."""

    def __init__(self, where="nowhere"):
        self.where = where

    def on(self, device):
        return Placed(device)

    def __call__(self, settings, state, steps, seed):
        return {}, float(self.where != "standin")


def test_a_training_computes_on_the_device_of_its_rank():
    pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError)

    def program(comm):
        comm.device = "standin" if comm.rank < 2 else "cpu"
        return search(comm, Placed(), HALVING)

    report = simulate(program, 3).results[0]
    assert {(record.worker, record.loss) for record in report.records} == {(1, 0), (2, 1)}


def told(report):
    """All that must be alike wherever a search runs."""
    runs = [(it.trial, it.rung, it.steps, it.loss, it.decision, it.error) for it in report.records]
    weights = report.state["weights"].tobytes()
    return report.winner.trial, report.winner.loss, report.accuracy, weights, sorted(runs)


def several(comm, **deciders):
    """All searches one after another, as one program."""
    kwargs = {"training": fragile, "test": DIGITS.test}
    return {name: search(comm, decider=it, **kwargs) for name, it in deciders.items()}


ALIKE = {"halving": HALVING, "more halvings": SuccessiveHalving(SPACE, 18, least=2)}


def test_real_and_simulated_ranks_of_any_number_find_the_same(real):
    reference = {name: told(it) for name, it in simulate(several, 1, **ALIKE).results[0].items()}
    assert {run[4] for run in reference["halving"][4]} == {
        "best",
        "promoted",
        "stopped",
        "crashed",
    }
    free = AsynchronousHalving(SPACE, 60, 3, 3, 2)
    for ranks in (1, 2, 3, 4, 5, 8):
        for run in (simulate(several, ranks, **ALIKE), real(several, ranks, free=free, **ALIKE)):
            assert all(set(it.values()) == {None} for it in run.results[1:])
            found = run.results[0]
            assert {name: told(found[name]) for name in ALIKE} == reference
        report = found["free"]
        assert 58 < report.progress.steps <= 60
        steps = {it.trial: it.steps for it in report.records if it.loss is not None}
        assert report.state["step"] >= steps[report.winner.trial]
        workers = {record.worker for it in found.values() for record in it.records}
        assert workers <= ({0} if ranks == 1 else set(range(1, ranks)))
        if ranks == 2:
            sequence = [it.decision for it in report.records]
            assert sequence.count("best") == 1


def gaps(report, until):
    """For each worker the seconds between one job's end and the next one's start."""
    jobs = defaultdict(list)
    for record in report.records:
        if record.start <= until:
            jobs[record.worker].append(record)
    return {
        worker: [mine[0].start, *(after.start - it.end for it, after in pairwise(mine))]
        for worker, mine in jobs.items()
    }


@pytest.mark.slow
def test_asynchronous_halving_never_waits_and_the_synchronous_form_does():
    workers = 1000
    waiting = SuccessiveHalving(SPACE, 1024, rungs=2, eta=4)
    never = AsynchronousHalving(SPACE, waiting.planned, rungs=2, eta=4)
    idle = {}
    for decider in (waiting, never):

        def program(comm, decider=decider):
            return search(comm, slow, decider, pace=uneven)

        run = simulate(program, workers + 1, network=Wires(0, math.inf), trace=False)
        report = run.results[0]
        seconds = [record.end - record.start for record in report.records]
        assert max(seconds) > 90 * min(seconds)
        assert abs(report.progress.steps - waiting.planned) < 10
        last = max(record.start for record in report.records)  # then the budget is given out
        waited = gaps(report, last)
        if decider is waiting:  # who is stopped is stopped when the last of the rung is done
            first = [it for it in report.records if it.rung == 0]
            assert {it.decided for it in first} == {max(it.end for it in first)}
        assert set(waited) == set(range(1, workers + 1))
        idle[type(decider)] = np.concatenate(list(waited.values()))
    assert max(idle[AsynchronousHalving]) == 0.0
    # The slowest takes 100 seconds, most take less than 10, and all wait for it.
    assert np.sum(idle[SuccessiveHalving] > 50) > workers / 8


def test_where_messages_cost_time_a_worker_waits_for_these_only():
    wires, workers = Wires(latency=1e-4, bandwidth=1e8), 8
    decider = AsynchronousHalving(SPACE, 900, 3, 3, 10)
    run = simulate(search, workers + 1, network=wires, training=slow, decider=decider, pace=uneven)
    report = run.results[0]
    largest = max(spans.bytes for rank in run.timeline.spans for spans in rank)
    # Four messages a job, and at worst those of all others come first.
    most = 4 * workers * (wires.latency + largest / wires.bandwidth)
    waited = gaps(report, max(record.start for record in report.records)).values()
    assert 0 < max(map(max, waited)) < most < 0.01 * min(map(uneven, [0] * 80, report.records))


@pytest.mark.parametrize(
    ("training", "words"),
    [
        (lambda *_: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda *_: ({}, math.nan), "the loss is nan: training diverged"),
        (lambda *_: ({}, -math.inf), "the loss is -inf"),
        (lambda *_: 0.5, r"returns \(state, loss\), not 0.5"),
        (lambda *_: ({}, "0.5"), "loss is a number, not '0.5'"),
        (lambda *_: ({}, True), "loss is a number, not True"),
        (lambda *_: (np.zeros(3), 0.5), "a state must be a dict"),
        (lambda: None, "TypeError"),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("ranks", [1, 4])
def test_a_search_in_which_everything_crashes_says_so(training, words, ranks):
    with pytest.raises(RankFailed, match=rf"(?s)20 jobs have crashed and 0 were done.*{words}"):
        simulate(search, ranks, training=training, decider=HALVING)


def test_what_goes_wrong_comes_back_and_what_a_training_is_given_is_its_own():
    job = Job(3, {"rate": 0.1}, 0, 5, 0)

    def vandal(settings, state, steps, seed):
        settings["rate"] = None
        return {"steps": steps, "seed": seed}, np.float32(0.5)

    outcome = attempt(vandal, job, None)
    assert job.settings == {"rate": 0.1}
    assert (type(outcome.loss), outcome.loss, outcome.error) == (float, 0.5, None)
    assert unpack(outcome.state) == {"steps": 5, "seed": 0}

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # that is no crash of the trial
        attempt(interrupted, job, None)


def test_a_search_can_be_watched_and_stopped():
    seen = []

    def watch(records):
        seen.append([record.decision for record in records])

    def stop(progress):
        assert progress.planned == HALVING.planned
        return progress.jobs >= 5

    with Conductor(HALVING, None, watch, stop, now=iter(range(1000)).__next__) as conductor:
        while (task := conductor.next(0)) is not None:
            conductor.done(task.job, attempt(slow, task.job, task.state))
        report = conductor.report()
    assert conductor.finished
    assert (report.runs, report.progress.jobs, report.progress.running) == (5, 5, 0)
    assert seen[0] == ["running"]
    assert seen[1] == ["waiting"]
    assert sorted(seen[-1]) == ["best", *["stopped"] * 4]
    assert report.busy == sum(it.end - it.start for it in report.records) > 0


@pytest.mark.parametrize("name", ALIKE)
def test_a_report_counts_every_run(name):
    calls = []

    def counted(settings, state, steps, seed):
        calls.append(steps)
        return fragile(settings, state, steps, seed)

    kwargs = {"training": counted, "decider": ALIKE[name], "test": DIGITS.test}
    report = simulate(search, 3, **kwargs).results[0]
    crashed = [record for record in report.records if record.decision == "crashed"]
    assert report.runs == len(calls) == report.progress.jobs + len(crashed) > len(crashed) > 0
    assert report.progress.steps == sum(calls) - sum(it.steps for it in crashed)
    assert max(map(len, str(report).splitlines())) <= 69
    text = " ".join(str(report).split())
    assert f"{report.runs} runs of {report.progress.trials} trials, {len(crashed)} of them" in text
    assert f"accuracy {report.accuracy:.1%} on the test part, looked at once" in text
    assert f"x crashed: {crashed[0].error}" in text
    for rung in {record.rung for record in report.records}:
        runs = [record for record in report.records if record.rung == rung]
        done = sum(record.loss is not None for record in runs)
        assert f"rung {rung}: {done} of {len(runs)} runs done" in text
    lowest = min(
        record.loss for record in report.records if record.decision in ("best", "stopped")
    )
    assert report.winner.loss == lowest


def test_what_cannot_conduct_a_search_is_refused(tmp_path):
    class Lazy(RandomSearch):
        def next(self):
            return None

    with pytest.raises(RuntimeError, match="Lazy is not finished, but its next"):
        Conductor(Lazy(SPACE)).next(0)
    for wrong in (RandomSearch, None, slow):
        with pytest.raises(TypeError, match="needs a decider such as SuccessiveHalving"):
            Conductor(wrong)
    with pytest.raises(TypeError, match=r"stop must be a function, .* not 60"):
        Conductor(HALVING, stop=60)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(NotADirectoryError, match="a journal is a folder"):
        Conductor(HALVING, file)


def test_a_decider_can_be_used_again():
    decider = SuccessiveHalving(SPACE, 9)
    kwargs = {"training": slow, "decider": decider}
    first, second = (simulate(search, ranks, **kwargs).results[0] for ranks in (1, 3))
    assert first.winner.trial == second.winner.trial
    assert first.decider.finished
    assert first.decider.decisions == second.decider.decisions
    assert decider.next().trial == 0
