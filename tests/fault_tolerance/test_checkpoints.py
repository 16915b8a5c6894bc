"""A training that was killed anywhere and resumes ends where an undisturbed one ends."""

import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_teach import launch, simulate
from ddl_teach.collectives import ring
from ddl_teach.fault_tolerance.checkpoints import (
    Checkpoints,
    path_of,
    read,
    restore,
    state_of,
    steps,
)
from ddl_teach.training.optimizers.adam import Adam

pytestmark = pytest.mark.real

STEPS, EVERY, ROWS = 9, 2, 7
RANK_COUNTS = (1, 2, 3, 4, 5, 8)


def training(comm, folder=None, ends=STEPS, dies=None, **options):
    """Adam on noise and rows in drawn order; every number of it depends on all draws before."""
    words, weights = [], np.zeros(5)
    states = [np.zeros(5), np.zeros(5)]
    random = np.random.default_rng([7, comm.rank])
    order, done = random.permutation(ROWS), 0
    kept = folder and Checkpoints(comm, folder, tell=words.append, **options)
    if kept and (found := kept.newest()) is not None:
        done, state = found.step, found.state
        weights, order = state["weights"], state["order"]
        states = [state["first"], state["second"]]
        restore(random, state["random"])
    resumed_at = done
    for step in range(done, ends):
        if step % ROWS == 0:
            order = random.permutation(ROWS)
        row = np.arange(5.0) + order[step % ROWS]
        gradient = np.sin(weights * row) + random.normal(size=5)
        ring.allreduce(comm, gradient)
        Adam(0.1)(weights, gradient, states, step + 1)
        if dies == (comm.rank, step):
            os.kill(os.getpid(), signal.SIGKILL)
        if kept and (step + 1) % EVERY == 0:
            state = {"weights": weights, "first": states[0], "second": states[1]}
            kept.save(step + 1, state | {"order": order, "random": state_of(random)})
    left = b"".join(one.tobytes() for one in (weights, *states, order)) + state_of(random).encode()
    return left, resumed_at, words


def endings(run):
    return [left for left, _, _ in run.results]


@pytest.mark.parametrize("ranks", RANK_COUNTS)
@pytest.mark.sampled(3)
def test_it_resumes_bit_for_bit_on_any_number_of_ranks(real, tmp_path, ranks):
    folder = tmp_path / str(ranks)
    undisturbed = endings(simulate(training, ranks))
    assert len(set(undisturbed)) == ranks  # each rank has a state of its own
    simulate(training, ranks, folder=folder, ends=5)
    resumed = real(training, ranks, folder=folder)  # on the other ground
    assert endings(resumed) == undisturbed
    assert [it[1:] for it in resumed.results] == [(4, [])] * ranks
    again = simulate(training, ranks, folder=folder)
    assert endings(again) == undisturbed
    assert [it[1] for it in again.results] == [8] * ranks
    for rank in range(ranks):
        assert steps(folder / f"rank-{rank}-of-{ranks}") == [6, 8]


def test_a_real_rank_that_is_killed(tmp_path):
    with pytest.raises(RankFailed, match="killed by signal 9"):
        launch(training, 3, folder=tmp_path, dies=(1, 6))
    resumed = simulate(training, 3, folder=tmp_path)
    assert [it[1] for it in resumed.results] == [6] * 3
    assert endings(resumed) == endings(simulate(training, 3))


SHORT = {"ends": 6, "keep": 1}


def killed_at(moment, ranks, folder):
    """In a process of its own: train until the `moment`th call that changes the disk, have only a
    half of what is being written there, and be killed."""
    left = [moment]

    def dying(name, call):
        def instead(first, *args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                if name == "fsync" and os.path.isfile(f"/dev/fd/{first}"):
                    os.ftruncate(first, os.fstat(first).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)
            return call(first, *args, **kwargs)

        return instead

    os.fsync = lambda _: None  # a killed process loses nothing without it
    for name in ("fsync", "replace", "unlink", "mkdir"):
        setattr(os, name, dying(name, getattr(os, name)))
    simulate(training, ranks, folder=folder, **SHORT)


def killed_at_every_moment(folder, ranks):
    """Children of this process, until one has nothing left to be killed at; how many were."""
    for moment in range(1000):
        child = os.fork()
        if child == 0:
            try:
                killed_at(moment, ranks, Path(folder) / str(moment))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            print(moment if os.WEXITSTATUS(status) == 0 else "wrong")
            return


def test_killed_at_every_single_write_no_file_is_half_and_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    call = f"import {Path(__file__).stem} as it; it.killed_at_every_moment({str(tmp_path)!r}, 2)"
    folders = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    told = subprocess.run(
        [sys.executable, "-c", call],
        env={**os.environ, "PYTHONPATH": folders},
        check=True,
        capture_output=True,
        text=True,
    )
    moments = int(told.stdout)
    # Of two ranks and three saves: two syncs, a renaming, a draft removed; and an old one, twice.
    assert moments >= 2 * (4 * 3 + 2)
    undisturbed = endings(simulate(training, 2, ends=6))
    drafts, resumed_at = 0, set()
    for moment in range(moments):
        folder = tmp_path / str(moment)
        drafts += len(list(folder.glob("*/.*.part")))
        for own in folder.glob("*"):
            for step in steps(own):
                assert read(own, step).step == step
        run = simulate(training, 2, folder=folder, **SHORT)
        assert endings(run) == undisturbed
        assert not list(folder.glob("*/.*.part"))
        assert run.results[0][1] == run.results[1][1]
        resumed_at.add(run.results[0][1])
    assert drafts >= 2 * 3
    assert resumed_at == {0, 2, 4, 6}


def damaged(path, how):
    contents = path.read_bytes()
    if how == "half":
        contents = contents[: len(contents) // 2]
    elif how == "empty":
        contents = b""
    elif how == "one bit":
        middle = len(contents) // 2
        contents = contents[:middle] + bytes([contents[middle] ^ 1]) + contents[middle + 1 :]
    path.write_bytes(contents)
    if how == "unreadable":
        path.unlink()
        path.symlink_to(path.name)  # which leads nowhere, for root too
    elif how == "renamed":
        path.write_bytes(path_of(path.parent, 4).read_bytes())


@pytest.mark.parametrize("how", ["half", "empty", "one bit", "unreadable", "renamed"])
def test_what_is_damaged_is_passed_over_by_all_and_said(how, tmp_path):
    simulate(training, 3, folder=tmp_path, keep=3)
    hurt = path_of(tmp_path / "rank-1-of-3", 8)
    damaged(hurt, how)
    run = simulate(training, 3, folder=tmp_path, keep=3)
    assert [it[1] for it in run.results] == [6] * 3
    assert endings(run) == endings(simulate(training, 3))
    assert [len(it[2]) for it in run.results] == [0, 1, 0]
    (message,) = run.results[1][2]
    assert message.startswith(f"rank 1: {hurt} ")
    assert message.endswith("; it is passed over")


def test_what_is_passed_over_is_said_at_once_into_a_pipe_too(tmp_path):
    path_of(tmp_path, 3).write_bytes(b"half of it")
    call = (
        "import os, pathlib; from ddl_teach.fault_tolerance.checkpoints import newest_whole;"
        f"newest_whole(pathlib.Path({str(tmp_path)!r})); os._exit(0)"  # nothing is flushed there
    )
    environment = {name: it for name, it in os.environ.items() if name != "PYTHONUNBUFFERED"}
    told = subprocess.run(
        [sys.executable, "-c", call],
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "damaged or half written" in told.stdout


def test_ranks_with_different_holes_agree_on_what_all_have(tmp_path):
    simulate(training, 3, folder=tmp_path, keep=4)
    for rank, step in ((0, 8), (1, 6), (2, 6)):
        damaged(path_of(tmp_path / f"rank-{rank}-of-3", step), "one bit")
    run = simulate(training, 3, folder=tmp_path, ends=5, keep=1)
    assert [it[1] for it in run.results] == [4] * 3  # rank 0 has 6, the others 8, and all 4
    # Nobody saved since: nothing is forgotten. After a save only that is kept, also of later ones.
    assert steps(tmp_path / "rank-1-of-3") == [2, 4, 6, 8]
    run = simulate(training, 3, folder=tmp_path, ends=6, keep=1)
    assert [steps(tmp_path / f"rank-{rank}-of-3") for rank in range(3)] == [[6]] * 3
    assert endings(simulate(training, 3, folder=tmp_path)) == endings(simulate(training, 3))


def alike(comm, folder, ends):
    """Each rank sees a disk of its own."""
    kept = Checkpoints(comm, folder / str(comm.rank), alike=True)
    found = kept.newest()
    weights, done = (np.zeros(3), 0) if found is None else (found.state["weights"], found.step)
    for step in range(done, ends):
        weights = np.sin(3 * weights + step)
        kept.save(step + 1, {"weights": weights})
    return weights.tobytes(), done


def test_where_all_ranks_are_alike_any_number_goes_on(real, tmp_path):
    undisturbed = simulate(alike, 1, folder=tmp_path / "whole", ends=6).results[0][0]
    for ends, ranks in enumerate(RANK_COUNTS, 1):
        run = real(alike, ranks, folder=tmp_path, ends=ends)
        assert run.results == [run.results[0]] * ranks
        assert run.results[0][1] == ends - 1
        assert sorted(one.name for one in tmp_path.glob("[0-9]*")) == ["0"]  # one writer
    assert run.results[0][0] == undisturbed


def test_what_would_throw_work_away_is_refused(tmp_path):
    folder = tmp_path / "kept"
    simulate(training, 4, folder=folder)
    (folder / "rank-0-of-4 as it was").mkdir()  # somebody's own, and no rank's
    for _ in range(2):
        with pytest.raises(RankFailed, match="checkpoints of 4 ranks, and these are 3: start 4"):
            simulate(training, 3, folder=folder)
    (folder / "rank-2-of-4").rename(tmp_path / "another disk")
    with pytest.raises(RankFailed, match=r"a checkpoint of step 8, but .* is not there: mount"):
        simulate(training, 4, folder=folder)
    # A rank that was killed in its very first save has a folder with nothing in it.
    run = simulate(training, 4, folder=folder)
    assert endings(run) == endings(simulate(training, 4))
    assert [it[2] for it in run.results] == [
        ["step 8 was saved, but no step by all ranks: the training begins anew"], [], [], [],
    ]  # fmt: skip
    with pytest.raises(RankFailed, match="keep must be at least 1"):
        simulate(training, 1, folder=folder, keep=0)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators_of_every_kind_go_on_where_they_were(kind):
    one, other = (np.random.Generator(getattr(np.random, kind)(seed)) for seed in (1, 2))
    one.integers(0, 9, 3, dtype=np.int32)  # leaves half a number for the next call
    restore(other, state_of(one))
    assert other.integers(0, 99, 5, dtype=np.int32).tobytes() == (
        one.integers(0, 99, 5, dtype=np.int32).tobytes()
    )
    assert other.normal(size=9).tobytes() == one.normal(size=9).tobytes()


def test_a_state_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="a state of a SFC64 does not fit a PCG64"):
        restore(np.random.default_rng(), state_of(np.random.Generator(np.random.SFC64(1))))
