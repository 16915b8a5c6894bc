"""The judges of unit 08: averaged gradients, weighted ones, buckets, and buckets that overlap."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np

from ddl_teach import Comm, simulate
from ddl_teach.comm import Request
from ddl_teach.comm.networks import Uniform
from ddl_teach.course.exercises.exercise import NO_BUFFERS, Outcome, Stage, Wrong, ranks_text
from ddl_teach.theory.data_parallel import bucket_groups, last_first

SHAPES = ((3, 4), (4,), (5, 2, 1), (7,), (1,))
CLOSE = 1e-9
PER_NUMBER = 1e-5  # seconds of the notebook's backward pass for each number of a gradient
SLOW = 8e5  # bytes a second for each rank: then messages take about as long as the pass
MOST = 12  # gradients

UNTOUCHED = (
    "`array = ...` only gives a name to something new; `array[...] = ...` and `array /= ...` "
    "change it."
)
UNTOUCHED_BY_UNPACK = "What `finish` gives back must be put into them, with unpack."
TELLING = (
    ([10, 20, 30, 40, 5, 15], 60),  # three of them fill a bucket to the last byte
    ([10, 200, 10, 10], 50),  # one is larger than a bucket
    ([5, 5], 100),  # one bucket, never full
    ([40, 30, 40], 50),  # no two fit
)

Gradients = list[list[np.ndarray]]  # by rank, by parameter


def judge_average(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The mean over the ranks in every array of every rank, in place."""
    for count in sorted(ranks, key=_one_rank_last):
        own = _gradients(generator, count)
        right = [np.mean(parts, axis=0) for parts in zip(*own, strict=True)]
        total = [np.sum(parts, axis=0) for parts in zip(*own, strict=True)]
        outcome = stage.run(count, [(arrays,) for arrays in own])
        usual = [
            (total, "That is the sum over the ranks: divide it by comm.size"),
            ([x / count for x in right], "You divided twice by the number of ranks"),
            ([x / count for x in own[0]], "You divided, and added nothing up"),
            ([right[0], *own[0][1:]], "Only the first array is averaged: go through all of them"),
        ]
        _compare(f"average on {ranks_text(count)}", outcome, right, usual, own)


def judge_weighted(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The mean over all samples, of ranks that have unequally many."""
    for count in sorted(ranks, key=_one_rank_last):
        own = _gradients(generator, count)
        samples = generator.integers(1, 40, count)
        samples[0] = 0 if count > 2 else samples[0]
        for array in own[0] if count > 2 else ():
            array[...] = 0  # of no samples
        weights = samples / samples.sum()
        by_parameter = [np.array(parts) for parts in zip(*own, strict=True)]
        right = [np.tensordot(weights, parts, 1) for parts in by_parameter]
        outcome = stage.run(
            count, [(arrays, int(n)) for arrays, n in zip(own, samples, strict=True)]
        )
        plain = [parts.mean(axis=0) for parts in by_parameter]
        usual = [
            (plain, "That is the plain average: a rank with few samples counts as much as one "
             "with many. Multiply by this rank's share of all samples, then add up"),
            ([x / count for x in right], "The shares of all ranks add up to one already: do not "
             "divide by comm.size as well"),
            ([x * samples.sum() for x in right], "You multiplied by the samples and added up: "
             "divide by the samples of all ranks together"),
            ([x * samples.sum() / count for x in right], "Divide by the samples of all ranks, "
             "not by the number of ranks"),
            ([x.sum(axis=0) / samples.sum() for x in by_parameter], "Multiply by this rank's own "
             "samples before you add up"),
        ]  # fmt: skip
        told = f"weighted on {ranks_text(count)} with {samples.tolist()} samples"
        _compare(told, outcome, right, usual, own)


def judge_fill(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Buckets from the last gradient on, none larger than it need be."""
    for trial in range(12):
        sizes = [int(size) for size in generator.integers(1, 60, generator.integers(1, MOST))]
        limit = int(generator.integers(20, 120))
        if trial < len(TELLING):
            sizes, limit = TELLING[trial]
        call = f"fill({sizes}, {limit})"
        right = last_first(sizes, limit)
        said = _groups(stage.call(sizes, limit), call)
        if said == right:
            continue
        forward = bucket_groups(sizes, limit)
        below = [
            [len(sizes) - 1 - index for index in group]
            for group in bucket_groups([size + 1e-9 for size in reversed(sizes)], limit)
        ]
        mistakes = [
            (forward, "You begin with the first parameter; the backward pass finishes the last "
             "one first, so begin there"),
            ([group[::-1] for group in right], "The groups are right; in each of them the last "
             "parameter comes first as well"),
            (right[::-1], "The buckets are right, in the wrong order: the one that holds the "
             "last parameter is full first"),
            (below, "A bucket that is filled to the last byte is allowed"),
            ([group for group in right if max(sizes[i] for i in group) <= limit],
             "A gradient larger than the limit has a bucket of its own; yours loses it"),
            ([[index] for index in reversed(range(len(sizes)))], "Each has a bucket of its own: "
             "go on with the same bucket while the next one fits"),
            (right[:-1], "The last bucket is missing: it is not full, and "
             "it leaves all the same"),
            ([[], *right], "The first bucket is empty: open one only when there is something "
             "to put in"),
        ]  # fmt: skip
        near = next((why for wrong, why in mistakes if said == wrong), None)
        raise Wrong(f"{call} gives {said}, and {right} is right. {near or _why_not(said, sizes)}.")


def _why_not(said: list[list[int]], sizes: Sequence[int]) -> str:
    held = sorted(index for group in said for index in group)
    if held != list(range(len(sizes))):
        return f"Each of the numbers 0 to {len(sizes) - 1} must stand in one bucket"
    return "Take the next gradient into the same bucket if the bytes stay within the limit"


def judge_overlap(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The average, of buckets that leave while the pass goes on."""
    groups = [[4, 3], [2], [1, 0]]
    for count in sorted(ranks, key=_one_rank_last):
        own = _gradients(generator, count)
        right = [np.mean(parts, axis=0) for parts in zip(*own, strict=True)]
        total = [np.sum(parts, axis=0) for parts in zip(*own, strict=True)]
        call = f"overlapped on {ranks_text(count)}"
        network = Uniform(latency=1e-5, bandwidth=SLOW * count)
        given = [(arrays, groups) for arrays in own]
        outcome = stage.run(count, given, network=network)
        usual = [
            (total, "That is the sum: divide by comm.size"),
            ([*own[0][:3], *right[3:]], "Only one bucket comes back: finish all of them"),
        ]  # fmt: skip
        _compare(call, outcome, right, usual, own, UNTOUCHED_BY_UNPACK)
        if count > 1:
            _judge_messages(call, outcome, own[0], groups)
            # Only virtual time is the same twice; on real ranks it proves nothing.
            if stage.run(count, given, network=network).time == outcome.time:
                _judge_overlap(call, outcome.time, own[0], groups, network)


def _judge_messages(
    call: str, outcome: Outcome, arrays: list[np.ndarray], groups: list[list[int]]
) -> None:
    others = len(outcome.ledger) - 1
    wanted, nbytes = len(groups) * others, sum(array.nbytes for array in arrays) * others
    for rank, ledger in enumerate(outcome.ledger):
        sent = ledger.messages_sent, ledger.bytes_sent
        if sent == (len(arrays) * others, nbytes):
            raise Wrong(
                f"{call}: the averages are right, and every gradient travelled alone. Wait until "
                "all of a bucket are there, then send them as one: pack."
            )
        if sent == (others, nbytes):
            raise Wrong(
                f"{call}: the averages are right, and everything travelled in one piece, at the "
                "end. Begin each bucket on its own, inside the hook."
            )
        if sent != (wanted, nbytes):
            raise Wrong(
                f"{call}: the averages are right, but rank {rank} sent {sent[0]} messages and "
                f"{sent[1]} bytes, where {len(groups)} buckets need {wanted} and {nbytes}: begin "
                "each bucket once."
            )


def _judge_overlap(
    call: str, time: float, arrays: list[np.ndarray], groups: list[list[int]], network: Uniform
) -> None:
    """In virtual time: does each bucket leave when its last gradient has come?"""
    count = round(network.bandwidth / SLOW)

    def of_a_right_one(leaving: str) -> float:
        return simulate(
            _sent, count, network=network, machine=NO_BUFFERS, trace=False,
            sizes=[array.size for array in arrays], groups=groups, leaving=leaving,
        ).time  # fmt: skip

    least = of_a_right_one("when full")
    if time <= least * (1 + CLOSE):
        return
    told = (
        f"{call}: the averages are right, but in a simulated network it takes "
        f"{time * 1e3:.3g} ms, where {least * 1e3:.3g} are possible. "
    )
    if math.isclose(time, of_a_right_one("at the end"), rel_tol=CLOSE):
        raise Wrong(
            told + "Nothing leaves before the backward pass is over: begin a bucket inside the "
            "hook, when its last gradient has come."
        )
    if math.isclose(time, of_a_right_one("at once"), rel_tol=CLOSE):
        raise Wrong(
            told + "The hook waits, and the backward pass stands still meanwhile: only begin "
            "there, and finish when the pass is over."
        )
    raise Wrong(told + "A bucket should leave when its last gradient has come, not later.")


def _sent(comm: Comm, sizes: list[int], groups: list[list[int]], leaving: str) -> None:
    """What the notebook's helpers make of buckets that leave at these moments."""
    others = [(comm.rank + step) % comm.size for step in range(1, comm.size)]
    under_way: list[Request] = []

    def wait() -> None:
        for request in under_way:
            request.wait()
        under_way.clear()

    def begin(tag: int) -> None:
        flat = np.zeros(sum(sizes[index] for index in groups[tag]))
        under_way.extend(comm.irecv(np.empty_like(flat), rank, tag) for rank in others)
        under_way.extend(comm.isend(flat, rank, tag) for rank in others)

    for index in reversed(range(len(sizes))):
        comm.work(seconds=sizes[index] * PER_NUMBER)
        for number, group in enumerate(groups):
            if leaving != "at the end" and index == min(group):
                begin(number)
                if leaving == "at once":
                    wait()
    if leaving == "at the end":
        for number in range(len(groups)):
            begin(number)
    wait()


def _compare(
    call: str,
    outcome: Outcome,
    right: list[np.ndarray],
    usual: Sequence[tuple[list[np.ndarray], str]],
    given: Gradients,
    untouched: str = UNTOUCHED,
) -> None:
    """Every rank's arrays against the right ones; of wrong ones the usual reason."""
    for rank, (arrays, *_) in enumerate(outcome.arguments):
        if _close(arrays, right):
            continue
        if _close(arrays, given[rank]) and outcome.results[rank] is not None:
            raise Wrong(
                f"{call}: the arrays that were given must change, for nobody looks at what is "
                "returned: write array[...] = ..., or array /= ..."
            )
        if _close(arrays, given[rank]):
            raise Wrong(f"{call}: on rank {rank} the arrays are as they were. {untouched}")
        first = next(k for k, (a, b) in enumerate(zip(arrays, right, strict=True))
                     if not _close([a], [b]))  # fmt: skip
        near = next((why for wrong, why in usual if _close(arrays, wrong)), None)
        raise Wrong(
            f"{call}: on rank {rank} array {first} begins with {arrays[first].flat[0]:.6g}, and "
            f"{right[first].flat[0]:.6g} is right. {near or 'It is no average of the ranks'}."
        )


def _close(arrays: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> bool:
    return all(np.allclose(a, b, rtol=CLOSE) for a, b in zip(arrays, others, strict=True))


def _gradients(generator: np.random.Generator, ranks: int) -> Gradients:
    return [[generator.standard_normal(shape) for shape in SHAPES] for _ in range(ranks)]


def _groups(said: object, call: str) -> list[list[int]]:
    """What a learner returned, as lists of whole numbers."""
    if said is None:
        raise Wrong(f"{call}: return the buckets; yours returns None. Is a `return` missing?")
    try:
        return [[operator.index(index) for index in group] for group in said]
    except TypeError:
        raise Wrong(
            f"{call}: return a list of buckets, each a list of the parameters' numbers, as "
            "[[3, 2], [1, 0]]."
        ) from None


def _one_rank_last(count: int) -> bool:
    return count == 1  # there most mistakes look alike
