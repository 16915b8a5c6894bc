"""Trainings that lose ranks: the survivors' weights are a serial twin's, bit for bit."""

import contextlib
import os
import threading
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from boxes import box_or_skip, eventually

from ddl_class.clusters.box import faults
from ddl_class.commands.mistake import Mistake
from ddl_runtime.diagnosis.deadlock import DiagnosedError, RankFailed
from ddl_runtime.launcher.mpiexec import fault_tolerance, mpiexec_path
from ddl_runtime.records.whole_file import write_whole
from ddl_teach import launch, simulate
from ddl_teach.collectives import linear
from ddl_teach.fault_tolerance.progress import TrainingPlan
from ddl_teach.fault_tolerance.restarting import resume
from ddl_teach.fault_tolerance.shrinking import survive
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.tasks.digits import Digits

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
STEPS = 10
TASK, RULE = Digits(batch=2, hidden=4, dtype="float64"), Adam(0.01)
# In which step which ranks of the beginning die: one, two at once, the one that adds up, the last.
DEATHS = {
    1: {},
    2: {4: [1]},
    3: {0: [2], 9: [0]},
    4: {3: [0]},
    5: {2: [4, 1], 3: [0]},
    8: {1: [5], 4: [0, 7], 6: [3], 8: [1, 2]},
}


def plan(ranks, keep):
    return TrainingPlan(TASK, RULE, STEPS, ranks, keep)


def dying(deaths, first):
    """Before a step: whoever is to die in it does; `first` is this rank's number at the start."""

    def before(comm, step):
        if first in deaths.get(step, ()):
            comm.die()

    return before


def training(comm, deaths, keep):
    before = dying(deaths, comm.rank)
    return survive(comm, plan(comm.size, keep), allreduce=linear.allreduce, before=before)


def sizes(ranks, deaths):
    """How many ranks make each step."""
    left = ranks
    for step in range(STEPS):
        left -= len(deaths.get(step, ()))
        yield left


def twin(ranks, deaths, keep):
    """One process does what all ranks do: it takes, from each step on, the batches of those who
    live, and adds up as they do: each its own, then one rank after the other."""
    weights, taken = TASK.initial(), 0
    states = [np.zeros_like(weights) for _ in range(RULE.states)]
    for step, living in enumerate(sizes(ranks, deaths)):
        batches = ranks if keep == "batch" else living
        shares = np.zeros((living, len(weights)))
        for number in range(batches):
            gradient = TASK.gradient(weights, 0, 1, taken + number)[1]
            shares[number % living] += gradient
        total = shares[0]
        for share in shares[1:]:
            total = total + share
        rule = Adam(0.01 * batches / ranks) if keep == "share" else RULE
        rule(weights, total / batches, states, step + 1)
        taken += batches
    return weights


def check(run, ranks, deaths, keep):
    dead = {rank for many in deaths.values() for rank in many}
    assert [r for r in range(ranks) if run.results[r] is None] == sorted(dead)
    living = [result for result in run.results if result is not None]
    right = twin(ranks, deaths, keep)
    for one in living:
        assert one.steps == STEPS
        assert one.weights.tobytes() == right.tobytes()
        # Deaths in one step may be noticed one after the other; what is left is the same.
        assert [loss.ranks for loss in one.losses][-1:] == [ranks - len(dead)] * bool(dead)
        assert sorted({loss.step for loss in one.losses}) == sorted(deaths)


@pytest.mark.parametrize("keep", ["batch", "share"])
@pytest.mark.parametrize("ranks", DEATHS)
def test_survivors_have_the_weights_of_a_serial_twin(ranks, keep):
    check(simulate(training, ranks, deaths=DEATHS[ranks], keep=keep), ranks, DEATHS[ranks], keep)


@pytest.mark.parametrize(("steps", "ranks"), [(-1, 2), (3, 0)])
def test_a_plan_that_is_no_training_is_refused(steps, ranks):
    with pytest.raises(ValueError, match=r"Plan: (steps|ranks) must be at least"):
        TrainingPlan(TASK, RULE, steps, ranks)


def test_the_twin_is_not_what_an_undisturbed_training_learns():
    # Or the law above would hold of a training that ignores deaths.
    assert not np.array_equal(twin(5, DEATHS[5], "share"), twin(5, {}, "share"))
    # With the batch kept it is the same training but for the order of a sum.
    kept, undisturbed = twin(5, DEATHS[5], "batch"), twin(5, {}, "batch")
    assert np.allclose(kept, undisturbed, rtol=1e-9, atol=1e-12)
    assert not np.array_equal(kept, undisturbed)


def tolerant():
    """Skips, with the reason, where no rank survives another."""
    try:
        fault_tolerance(mpiexec_path())
    except DiagnosedError as none:
        pytest.skip(str(none))


def test_real_survivors_have_them_too():
    tolerant()
    ranks, keep = 8, "batch"
    deaths = DEATHS[ranks]
    run = launch(training, ranks, survivors=True, timeout=120, deaths=deaths, keep=keep)
    check(run, ranks, deaths, keep)


def restarting(comm, folder, dies):
    before = dying({dies: [comm.size - 1]} if dies else {}, comm.rank)
    return resume(comm, plan(4, "batch"), folder, 3, allreduce=linear.allreduce, before=before)


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_who_restarts_with_other_ranks_learns_the_same(tmp_path, ranks):
    crash = partial(launch, restarting, timeout=120) if ranks == 4 else partial(simulate, stops)
    with pytest.raises(RankFailed):
        crash(ranks=4, folder=str(tmp_path), dies=5)
    run = simulate(restarting, ranks, folder=str(tmp_path), dies=None)
    undisturbed = twin(4, {}, "batch")
    for weights in run.results:
        assert np.allclose(weights, undisturbed, rtol=1e-9, atol=1e-12)
        assert ranks < 4 or weights.tobytes() == undisturbed.tobytes()


def stops(comm, folder, dies):
    """Where simulated ranks do not take each other down: one raises."""

    def before(comm, step):
        if step == dies:
            raise RuntimeError("it crashes here")

    return resume(comm, plan(4, "batch"), folder, 3, allreduce=linear.allreduce, before=before)


def in_a_box(comm, folder):
    """In step 4 all add up again and again, until one of them is lost."""

    def before(group, step):
        if step == 4 and group.size == comm.size:
            Path(folder, f"here-{comm.rank}").touch()
            while True:
                linear.allreduce(group, np.zeros(3))

    found = survive(comm, plan(3, "share"), least=2, allreduce=linear.allreduce, before=before)
    if found.steps == STEPS:
        write_whole(Path(folder) / f"done-{comm.rank}", found.weights.tobytes())


@pytest.fixture(scope="module")
def box():
    tolerant()
    with box_or_skip(f"surviving-{os.getpid()}", nodes=3) as made:
        yield made
    assert not made.folder.exists()
    assert not psutil.pid_exists(made.hosts.head)


@pytest.mark.parametrize(("how", "lost"), [("kill", 1), ("cut", 2)])
@pytest.mark.sampled(2)
def test_a_rank_that_is_killed_or_behind_a_cable_that_is_out(box, monkeypatch, how, lost):
    # Silent for so long is dead; a process that is killed is noticed at once.
    monkeypatch.setenv("OMPI_MCA_mpi_ft_detector_period", "2")
    monkeypatch.setenv("OMPI_MCA_mpi_ft_detector_timeout", "8" if how == "cut" else "60")
    folder = box.folder / how
    folder.mkdir()
    done = [folder / f"done-{rank}" for rank in range(3) if rank != lost]

    def break_and_end():
        eventually(lambda: len(list(folder.glob("here-*"))) == 3)
        if how == "kill":
            faults.kill(box, f"node{lost}", "ddl_runtime.launcher.worker")
            return
        faults.cut(box, f"node{lost}")
        eventually(lambda: all(one.exists() for one in done))
        for node in box.nodes:  # one of them may think for long that it is the last
            with contextlib.suppress(Mistake):
                faults.kill(box, node, "ddl_runtime.launcher.worker")

    breaker = threading.Thread(target=break_and_end)
    breaker.start()
    with contextlib.suppress(DiagnosedError):
        launch(in_a_box, 3, on=box, survivors=True, timeout=120, folder=str(folder))
    breaker.join()
    box.mend(f"node{lost}")
    right = twin(3, {4: [lost]}, "share").tobytes()
    assert [one.read_bytes() == right for one in done] == [True, True]
    assert not (folder / f"done-{lost}").exists()
    eventually(lambda: not any(box.hosts.processes(node) for node in box.nodes))
