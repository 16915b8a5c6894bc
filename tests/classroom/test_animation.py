"""The animation shows what happened: every contribution, every byte, and every mistake."""

import numpy as np
import pytest

from ddl_class.notebook.animation import animate
from ddl_class.plots.steps import finding
from ddl_runtime.diagnosis.deadlock import Deadlock, RankFailed
from ddl_teach import launch, simulate
from ddl_teach.collectives import linear, rabenseifner, recursive_doubling, ring, tree

ALGORITHMS = [linear, tree, ring, recursive_doubling, rabenseifner]


def known(algorithm):
    return algorithm.__name__.split(".")[-1]


def growing(steps):
    """Whether nothing a rank holds is lost on the way."""
    pairs = zip(steps.steps, steps.steps[1:], strict=False)
    return all((after.held >= before.held).all() for before, after in pairs)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8, 16])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=known)
def test_in_the_end_everybody_has_everybody_exactly_once(algorithm, ranks):
    steps = animate(algorithm.allreduce, ranks).steps
    assert (steps.steps[-1].held == 1).all()
    own = np.eye(ranks, dtype=int)[:, None, :]
    assert (steps.steps[0].held == own).all()
    assert growing(steps)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("chunks", [1, 3, 8])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=known)
def test_bytes_are_those_of_the_ledger(algorithm, ranks, chunks):
    runs = []

    def recorded(*arguments, **named):
        runs.append(simulate(*arguments, **named))
        return runs[-1]

    steps = animate(algorithm.allreduce, ranks, chunks=chunks, run=recorded).steps
    assert steps.sent[-1].tolist() == [ledger.bytes_sent for ledger in runs[0].ledger]


@pytest.mark.parametrize(
    ("algorithm", "ranks", "steps"),
    [(ring, 5, 8), (recursive_doubling, 8, 3), (rabenseifner, 8, 6), (tree, 8, 6), (linear, 5, 8)],
    ids=lambda value: known(value) if value in ALGORITHMS else str(value),
)
def test_steps_are_those_that_textbooks_count(algorithm, ranks, steps):
    assert len(animate(algorithm.allreduce, ranks).steps.steps) - 1 == steps


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=known)
def test_in_a_step_each_rank_sends_and_receives_once_at_most(algorithm):
    for step in animate(algorithm.allreduce, 7).steps.steps:
        for who in ("source", "dest"):
            ranks = [getattr(message, who) for message in step.messages]
            assert len(set(ranks)) == len(ranks)


def adds_on_the_way_back(comm, x):
    """A ring that goes on adding where it should copy."""
    parts, came = np.split(x, comm.size), np.empty(len(x) // comm.size)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(2 * comm.size - 2):
        comm.sendrecv(parts[(comm.rank - step) % comm.size], right, came, left)
        parts[(comm.rank - step - 1) % comm.size] += came


def forgets_the_last(comm, x):
    """A root that leaves out the highest rank."""
    if comm.rank == 0:
        came = np.empty_like(x)
        for source in range(1, comm.size - 1):
            comm.recv(came, source)
            x += came
    elif comm.rank < comm.size - 1:
        comm.send(x, 0)
    tree.broadcast(comm, x)


def averages(comm, x):
    ring.allreduce(comm, x)
    x /= comm.size


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (adds_on_the_way_back, "on rank 0, chunk 0 counts rank 0 twice"),
        (forgets_the_last, "on rank 0, chunk 0 lacks rank 3"),
        (averages, "on rank 0, chunk 0 is no sum of the vectors"),
        (lambda comm, x: None, "on rank 0, chunk 0 lacks ranks 1, 2, 3"),
    ],
)
def test_a_wrong_algorithm_is_shown_as_wrong(mistake, words):
    player = animate(mistake)
    assert words in finding(player.steps)
    assert words in player.alt


def ends_one_to_the_right(comm, x):
    """A reduce-scatter that finishes chunk r + 1 on rank r."""
    parts, came = np.split(x, comm.size), np.empty(len(x) // comm.size)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(comm.size - 1):
        comm.sendrecv(parts[(comm.rank - step) % comm.size], right, came, left)
        parts[(comm.rank - step - 1) % comm.size] += came


def goes_round_once(comm, x):
    """A ring all-reduce without its second half."""
    ring.reduce_scatter(comm, x)


@pytest.mark.parametrize(
    ("mistake", "goal", "words"),
    [
        (ends_one_to_the_right, "reduce_scatter", "wrong: off by 1 chunk; rank 0 holds the chunk"),
        (goes_round_once, "allreduce", "wrong: on rank 0, chunk 1 lacks rank"),
        (tree.reduce, "allreduce", "wrong: on rank 1, chunk 0 lacks rank"),
        (tree.broadcast, "reduce", "wrong: on rank 0, chunk 0 lacks rank"),
    ],
)
@pytest.mark.parametrize("ranks", [3, 4, 8])
def test_what_does_not_reach_its_goal_is_wrong(mistake, goal, words, ranks):
    player = animate(mistake, ranks, goal=goal)
    assert words in finding(player.steps)
    assert words in player.alt


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("chunks", [1, 3, 8])
def test_a_finished_chunk_of_its_own_is_the_goal_of_a_reduce_scatter(ranks, chunks):
    steps = animate(ring.reduce_scatter, ranks, goal="reduce_scatter", chunks=chunks).steps
    assert "every rank holds its own chunk of the sum" in finding(steps)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_the_whole_sum_on_rank_0_is_the_goal_of_a_reduce(ranks):
    assert "rank 0 holds the whole sum" in finding(
        animate(tree.reduce, ranks, goal="reduce").steps
    )


def test_another_goal_is_refused():
    with pytest.raises(ValueError, match="goal is one of 'allreduce', 'reduce_scatter'"):
        animate(ring.allreduce, goal="sum")


def sends_before_it_receives(comm, x):
    """A ring in which everybody sends first."""
    came = np.empty_like(x)
    for _ in range(comm.size - 1):
        comm.send(x, (comm.rank + 1) % comm.size)
        comm.recv(came, (comm.rank - 1) % comm.size)
        x += came


def test_what_fails_before_others_begin_is_told_without_a_picture():
    with pytest.raises(RankFailed, match="share memory"):
        animate(lambda comm, x: comm.sendrecv(x, comm.rank ^ 1, x, comm.rank ^ 1))


def test_what_hangs_in_check_hangs_in_the_animation_too():
    steps = animate(sends_before_it_receives).steps
    assert isinstance(steps.error, Deadlock)
    assert finding(steps).startswith(
        "Sends before it receives is wrong. Deadlock: 4 ranks wait for each other in a ring"
    )


def waits_out_of_order(comm, x):
    """Everybody sends everything to everybody, and takes it as it comes."""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    came = [np.empty_like(x) for _ in others]
    mine = x.copy()
    receives = [comm.irecv(y, rank) for y, rank in zip(came, others, strict=True)]
    sends = [comm.isend(mine, rank) for rank in reversed(others)]
    for _ in others:
        x += came[comm.wait_any(receives)]
    for send in sends:
        send.wait()


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_requests_are_followed_too(ranks):
    steps = animate(waits_out_of_order, ranks).steps
    assert (steps.steps[-1].held == 1).all()
    assert growing(steps)
    received = np.zeros(ranks, int)
    for step in steps.steps:
        for message in step.messages:
            received[message.dest] += 1
        assert (step.held.sum(axis=2).max(axis=1) == 1 + received).all()


@pytest.mark.slow
@pytest.mark.long
def test_real_ranks_give_the_same_picture():
    simulated, real = animate(ring.allreduce, 3), animate(ring.allreduce, 3, run=launch)
    assert simulated.alt == real.alt
    pairs = zip(simulated.steps.steps, real.steps.steps, strict=True)
    assert all(one.messages == other.messages for one, other in pairs)


def test_of_real_ranks_that_hang_the_waits_are_drawn(monkeypatch):
    drawn = []
    monkeypatch.setattr("ddl_class.notebook.animation.show", drawn.append)
    with pytest.raises(Deadlock):
        # Not the `simulate` of notebooks, so that nothing is kept of what its ranks have seen.
        animate(lambda comm, x: comm.recv(x, (comm.rank + 1) % comm.size), 3, run=simulate)
    assert "Rank 0 waits for rank 1" in drawn[0].alt


@pytest.mark.parametrize(("ranks", "chunks"), [(0, 1), (17, 1), (4, 0)])
def test_what_cannot_be_drawn_is_refused(ranks, chunks):
    with pytest.raises(ValueError, match=r"ranks, not|at least 1 chunk"):
        animate(ring.allreduce, ranks, chunks=chunks)
