"""Staging: the closed formulas against a clock that moves every chunk through every stage."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import LATENCIES, OPTIONAL_COST, PER_BYTE, at_least, close

from benchmarks.gpu.default_paths import two_beat_one
from ddl_teach.theory import collectives, staging
from ddl_teach.theory.crossover import crossing
from ddl_teach.theory.machine import Link
from ddl_teach.theory.staging import Route, TransferStage

STAGES = st.builds(TransferStage, OPTIONAL_COST, PER_BYTE, OPTIONAL_COST)
COSTLY = st.builds(TransferStage, LATENCIES, PER_BYTE, OPTIONAL_COST)
ROUTES = st.builds(Route, STAGES, STAGES, STAGES)
COSTLY_ROUTES = st.builds(Route, COSTLY, COSTLY, COSTLY)
BYTES = st.integers(0, 10**7)
PLAIN = Route(
    TransferStage(1e-5, 1e-10), TransferStage(1e-6, 8e-11, 2e-6), TransferStage(1e-5, 1e-10)
)


def by_the_clock(chunks, route):
    """Move every chunk through every stage: it waits until it is there and the stage is free."""
    free = [0.0] * 3
    for nbytes in chunks:
        there = 0.0
        for place, stage in enumerate(route.stages):
            free[place] = max(there, free[place]) + stage.start + nbytes * stage.per_byte
            there = free[place] + stage.delay
    return there


def cut(nbytes, chunk):
    rests = itertools.takewhile(lambda left: left > 0, itertools.count(nbytes, -chunk))
    return [min(left, chunk) for left in rests] or [0]


@given(ROUTES, BYTES, st.integers(1, 60))
def test_pipelined_is_what_the_clock_says_rest_and_all(route, nbytes, parts):
    for chunk in {max(1, nbytes // parts), max(1, nbytes // parts + 1), nbytes + 1}:
        expected = by_the_clock(cut(nbytes, chunk), route)
        assert close(staging.pipelined(nbytes, chunk, route), expected)


@given(ROUTES, BYTES, st.integers(1, 60))
def test_equal_chunks_and_one_chunk_are_special_cases(route, chunk, parts):
    nbytes = chunk * parts
    evenly = staging.in_equal_chunks(nbytes, parts, route)
    assert close(evenly, by_the_clock([chunk] * parts, route))
    if chunk:
        assert close(evenly, staging.pipelined(nbytes, chunk, route))
    whole = staging.staged(nbytes, route)
    assert close(whole, by_the_clock([nbytes], route))
    assert close(whole, staging.pipelined(nbytes, max(nbytes, 1), route))


@given(COSTLY_ROUTES, st.integers(1, 10**7))
def test_no_other_number_of_equal_chunks_beats_the_best(route, nbytes):
    best = staging.best_chunk(nbytes, route)
    chunks = round(nbytes / best)
    assert close(chunks * best, nbytes)
    shortest = staging.in_equal_chunks(nbytes, chunks, route)
    for other in {*range(1, 40), chunks - 1, chunks + 1, 2 * chunks, chunks // 2} - {0, -1}:
        if other <= nbytes:
            assert at_least(staging.in_equal_chunks(nbytes, other, route), shortest)


@given(COSTLY, st.integers(1, 10**7))
def test_the_best_chunk_is_the_root_where_one_stage_is_slowest_in_everything(slow, nbytes):
    quick = TransferStage(slow.start / 2, slow.per_byte / 2)
    route = Route(quick, slow, quick)
    beside = route.as_one.per_byte - slow.per_byte
    root = math.sqrt(nbytes * slow.start / beside)
    bound = (
        route.as_one.delay
        + route.as_one.start
        - slow.start
        + nbytes * slow.per_byte
        + 2 * math.sqrt(nbytes * slow.start * beside)
    )
    best = staging.best_chunk(nbytes, route)
    reached = staging.in_equal_chunks(nbytes, round(nbytes / best), route)
    assert at_least(reached, bound)
    if 1 <= root <= nbytes / 2:  # the next whole numbers of chunks are near
        assert 2 / 3 <= best / root <= 3 / 2
        assert reached <= bound * 1.1


@given(COSTLY_ROUTES)
def test_two_chunks_beat_one_from_there_on(route):
    from_here = two_beat_one(route)
    below, above = 0.999 * from_here, 1.001 * from_here
    assert staging.in_equal_chunks(above, 2, route) < staging.staged(above, route)
    assert staging.best_chunk(below, route) == below
    if below > 4:  # a chunk holds a byte at least
        assert staging.best_chunk(above, route) == above / 2


@pytest.mark.parametrize("chunks", [2, 3, 5])
@given(COSTLY_ROUTES)
def test_below_that_no_number_of_chunks_beats_one(chunks, route):
    below = 0.999 * two_beat_one(route)
    assert staging.in_equal_chunks(below, chunks, route) > staging.staged(below, route)


ONE_STAGE = Route(TransferStage(0, 0), TransferStage(1e-6, 1e-9, 5e-6), TransferStage(0, 0))


def test_one_stage_alone_is_never_cut():
    assert two_beat_one(ONE_STAGE) == math.inf
    assert staging.best_chunk(1e6, ONE_STAGE) == 1e6


@pytest.mark.parametrize("nbytes", [0.0, 1.0, 1e6])
def test_one_stage_alone_takes_as_long_as_the_wire(nbytes):
    assert staging.staged(nbytes, ONE_STAGE) == staging.direct(nbytes, ONE_STAGE.wire)


@given(COSTLY_ROUTES, st.integers(2, 10**7), st.floats(1, 1e8))
def test_between_the_slowest_stage_and_no_overlap_at_all(route, nbytes, chunk):
    time = staging.pipelined(nbytes, chunk, route)
    slowest = max(nbytes * stage.per_byte for stage in route.stages)
    assert at_least(time, slowest)
    count = math.ceil(nbytes / chunk)
    assert at_least(staging.staged(nbytes, route) + (count - 1) * route.as_one.start, time)


@pytest.mark.parametrize(("nbytes", "more"), [(1e6, 2.0), (1e8, 1.1), (1e11, 1.004)])
def test_long_messages_take_what_the_slowest_stage_takes(nbytes, more):
    time = staging.pipelined(nbytes, staging.best_chunk(nbytes, PLAIN), PLAIN)
    assert 1 < time / (nbytes * 1e-10) < more
    assert staging.staged(nbytes, PLAIN) / (nbytes * 1e-10) > 2.8


def test_sizes_may_be_an_array_and_answers_are_its_likes():
    sizes = np.array([0, 1, 999, 1000, 1001, 5_000_000])
    for call in (
        lambda n: staging.pipelined(n, 1000, PLAIN),
        lambda n: staging.staged(n, PLAIN),
        lambda n: staging.direct(n, PLAIN.wire),
        lambda n: staging.in_equal_chunks(n, 7, PLAIN),
        lambda n: staging.allreduce_once(4, n, PLAIN),
        lambda n: staging.allreduce_in_steps(4, n, lambda part: staging.staged(part, PLAIN)),
    ):
        both = call(sizes), [call(size) for size in sizes.tolist()]
        np.testing.assert_allclose(*both, rtol=1e-12)
        assert all(isinstance(one, float) for one in both[1])


def test_a_slow_direct_path_loses_to_chunks_where_their_lines_cross():
    """A network card that reads device memory at a sixth of the speed: as MVAPICH2 found."""
    slow = TransferStage(1e-6, 6e-10, 2e-6)

    def at_best(nbytes):
        return staging.pipelined(nbytes, staging.best_chunk(nbytes, PLAIN), PLAIN)

    meeting = crossing(lambda n: staging.direct(n, slow), at_best, 1.0, 1e9)
    assert 8 * 1024 < meeting < 1e6
    assert staging.direct(meeting / 2, slow) < at_best(meeting / 2)
    assert staging.direct(meeting * 2, slow) > at_best(meeting * 2)


@given(COSTLY_ROUTES, st.integers(2, 64), st.integers(1, 10**6))
def test_staging_once_beats_staging_every_step_if_the_host_sums_as_fast(route, ranks, block):
    nbytes = ranks * block
    once = staging.allreduce_once(ranks, nbytes, route)
    steps = staging.allreduce_in_steps(ranks, nbytes, lambda n: staging.staged(n, route))
    assert at_least(steps, once)
    one = route.as_one
    ring = collectives.ring(ranks, nbytes, Link(one.start + one.delay, one.per_byte))
    assert close(steps, ring)


def test_chunks_in_every_step_beat_staging_once_when_the_vector_is_long():
    def steps(nbytes):
        def message(part):
            return staging.pipelined(part, staging.best_chunk(part, PLAIN), PLAIN)

        return staging.allreduce_in_steps(8, nbytes, message)

    def once(nbytes):
        return staging.allreduce_once(8, nbytes, PLAIN)

    assert once(1e5) < steps(1e5)
    assert once(1e9) > steps(1e9)
    assert 1e6 < crossing(once, steps, 1e5, 1e9) < 1e8


def test_one_rank_copies_nothing():
    assert staging.allreduce_once(1, 1e6, PLAIN) == 0
    assert staging.allreduce_in_steps(1, 1e6, lambda n: staging.staged(n, PLAIN)) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TransferStage(-1.0, 0.0), "start must be zero or more and finite"),
        (lambda: TransferStage(0.0, math.inf), "per_byte must be zero or more and finite"),
        (lambda: staging.pipelined(10, 0, PLAIN), "must hold at least 1 byte"),
        (lambda: staging.pipelined(-1, 5, PLAIN), "nbytes must be finite and 0 or more"),
        (lambda: staging.in_equal_chunks(10, 0, PLAIN), "chunks must be at least 1"),
        (lambda: staging.allreduce_once(0, 10, PLAIN), "ranks must be at least 1"),
    ],
    ids=["start", "per_byte", "chunk", "nbytes", "chunks", "ranks"],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
