"""The judges of unit 08: averaged gradients, weighted ones, buckets, and buckets that overlap."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import items, whole
from ddl_class.exercises.kit.compare import CLOSE, alike, compare, equal, refuse_if, why
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Comm
from ddl_teach.comm import Request
from ddl_teach.theory.data_parallel import bucket_groups, last_first

SHAPES = ((3, 4), (4,), (5, 2, 1), (7,), (1,))
PER_NUMBER = 1e-5  # seconds of the notebook's backward pass for each number of a gradient
SLOW = 8e5  # bytes a second for each rank: then messages take about as long as the pass
MOST = 12  # gradients
GROUPS = [[4, 3], [2], [1, 0]]  # buckets of the gradients of SHAPES

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


def judge_average(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The mean over the ranks in every array of every rank, in place."""
    for count in ranks.last(1, counts):
        own = _gradients(generator, count)
        right, total = _of_all(np.mean, own), _of_all(np.sum, own)
        outcome = stage.run(count, [(arrays,) for arrays in own])
        usual = {
            "That is the sum over the ranks: divide it by comm.size": total,
            "You divided twice by the number of ranks": [x / count for x in right],
            "You divided, and added nothing up": [x / count for x in own[0]],
            "Only the first array is averaged: go through all of them": [right[0], *own[0][1:]],
        }
        _judge_arrays(f"average on {ranks_text(count)}", outcome, right, usual, own)


def judge_weighted(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The mean over all samples, of ranks that have unequally many."""
    for count in ranks.last(1, counts):
        own = _gradients(generator, count)
        samples = generator.integers(1, 40, count)
        samples[0] = 0 if count > 2 else samples[0]
        for array in own[0] if count > 2 else ():
            array[...] = 0  # of no samples
        every = samples.sum()
        by_parameter = [np.array(parts) for parts in zip(*own, strict=True)]
        right = [np.tensordot(samples / every, parts, 1) for parts in by_parameter]
        given = [(arrays, int(n)) for arrays, n in zip(own, samples, strict=True)]
        usual = {
            "That is the plain average: a rank with few samples counts as much as one with many. "
            "Multiply by this rank's share of all samples, then add up": _of_all(np.mean, own),
            "The shares of all ranks add up to one already: do not divide by comm.size as well": (
                [x / count for x in right]
            ),
            "You multiplied by the samples and added up: divide by the samples of all ranks "
            "together": [x * every for x in right],
            "Divide by the samples of all ranks, not by the number of ranks": (
                [x * every / count for x in right]
            ),
            "Multiply by this rank's own samples before you add up": (
                [x.sum(axis=0) / every for x in by_parameter]
            ),
        }
        told = f"weighted on {ranks_text(count)} with {samples.tolist()} samples"
        _judge_arrays(told, stage.run(count, given), right, usual, own)


def judge_fill(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Buckets from the last gradient on, none larger than it need be."""
    for trial in range(12):
        sizes = [int(size) for size in generator.integers(1, 60, generator.integers(1, MOST))]
        limit = int(generator.integers(20, 120))
        if trial < len(TELLING):
            sizes, limit = TELLING[trial]
        call = f"fill({sizes}, {limit})"
        right, count = last_first(sizes, limit), len(sizes)
        wanted = f"{call}: return a list of buckets, each a list of the parameters' numbers, as "
        wanted += "[[3, 2], [1, 0]]"
        said = items(stage.call(sizes, limit), wanted, lambda group: list(map(whole, group)))
        below = bucket_groups([size + 1e-9 for size in reversed(sizes)], limit)
        usual = {
            "You begin with the first parameter; the backward pass finishes the last one first, "
            "so begin there": bucket_groups(sizes, limit),
            "The groups are right; in each of them the last parameter comes first as well": (
                [group[::-1] for group in right]
            ),
            "The buckets are right, in the wrong order: the one that holds the last parameter is "
            "full first": right[::-1],
            "A bucket that is filled to the last byte is allowed": (
                [[count - 1 - index for index in group] for group in below]
            ),
            "A gradient larger than the limit has a bucket of its own; yours loses it": (
                [group for group in right if max(sizes[i] for i in group) <= limit]
            ),
            "Each has a bucket of its own: go on with the same bucket while the next one fits": (
                [[index] for index in reversed(range(count))]
            ),
            "The last bucket is missing: it is not full, and it leaves all the same": right[:-1],
            "The first bucket is empty: open one only when there is something to put in": (
                [[], *right]
            ),
        }
        held = sorted(index for group in said for index in group)
        otherwise = (
            "Take the next gradient into the same bucket if the bytes stay within the limit"
        )
        if held != list(range(count)):
            otherwise = f"Each of the numbers 0 to {count - 1} must stand in one bucket"
        compare(call, said, right, usual, otherwise, equal)


def judge_overlap(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The average, of buckets that leave while the pass goes on."""
    for count in ranks.last(1, counts):
        own = _gradients(generator, count)
        right = _of_all(np.mean, own)
        call = f"overlapped on {ranks_text(count)}"
        network = Uniform(latency=1e-5, bandwidth=SLOW * count)
        again = partial(stage.run, count, [(arrays, GROUPS) for arrays in own], network=network)
        outcome = again()
        usual = {
            "That is the sum: divide by comm.size": _of_all(np.sum, own),
            "Only one bucket comes back: finish all of them": [*own[0][:3], *right[3:]],
        }
        _judge_arrays(call, outcome, right, usual, own, UNTOUCHED_BY_UNPACK)
        if count > 1:
            told = f"{call}: the averages are right, "
            _judge_messages(told, outcome, own[0])
            if ranks.virtual(outcome, again):
                _judge_overlap(told, outcome.time, own[0], count, network)


def _judge_messages(told: str, outcome: ProgramOutcome, arrays: list[np.ndarray]) -> None:
    others = len(outcome.ledger) - 1
    wanted, nbytes = len(GROUPS) * others, sum(array.nbytes for array in arrays) * others
    for rank, ledger in enumerate(outcome.ledger):
        sent = ledger.messages_sent, ledger.bytes_sent
        cases = {
            "and every gradient travelled alone. Wait until all of a bucket are there, then send "
            "them as one: pack": sent == (len(arrays) * others, nbytes),
            "and everything travelled in one piece, at the end. Begin each bucket on its own, "
            "inside the hook": sent == (others, nbytes),
            f"but rank {rank} sent {sent[0]} messages and {sent[1]} bytes, where {len(GROUPS)} "
            f"buckets need {wanted} and {nbytes}: begin each bucket once": (
                sent != (wanted, nbytes)
            ),
        }
        refuse_if(told, cases)


def _judge_overlap(
    told: str, time: float, arrays: list[np.ndarray], count: int, network: Uniform
) -> None:
    """In virtual time: does each bucket leave when its last gradient has come?"""
    sizes = [array.size for array in arrays]
    least, at_the_end, at_once = (
        ranks.seconds(_sent, count, network, sizes=sizes, leaving=leaving)
        for leaving in ("when full", "at the end", "at once")
    )
    usual = {
        "Nothing leaves before the backward pass is over: begin a bucket inside the hook, when "
        "its last gradient has come": at_the_end,
        "The hook waits, and the backward pass stands still meanwhile: only begin there, and "
        "finish when the pass is over": at_once,
    }
    if time > least * (1 + CLOSE):
        raise Wrong(
            f"{told}but in a simulated network it takes {time * 1e3:.3g} ms, where "
            f"{least * 1e3:.3g} are possible. "
            + why(time, usual, "A bucket should leave when its last gradient has come, not later")
        )


def _sent(comm: Comm, sizes: list[int], leaving: str) -> None:
    """What the notebook's helpers make of buckets that leave at these moments."""
    others = [(comm.rank + step) % comm.size for step in range(1, comm.size)]
    under_way: list[Request] = []

    def wait() -> None:
        for request in under_way:
            request.wait()
        under_way.clear()

    for index in reversed(range(len(sizes))):
        comm.work(seconds=sizes[index] * PER_NUMBER)
        for tag, group in enumerate(GROUPS):
            if index == (0 if leaving == "at the end" else min(group)):
                flat = np.zeros(sum(sizes[member] for member in group))
                under_way.extend(comm.irecv(np.empty_like(flat), rank, tag) for rank in others)
                under_way.extend(comm.isend(flat, rank, tag) for rank in others)
                if leaving == "at once":
                    wait()
    wait()


def _judge_arrays(
    call: str, outcome: ProgramOutcome, right: list[np.ndarray], usual: dict[str, Any],
    given: Gradients, untouched: str = UNTOUCHED,
) -> None:  # fmt: skip
    """Every rank's arrays against the right ones; of wrong ones the usual reason."""
    for rank, (arrays, *_) in enumerate(outcome.arguments):
        if outcome.results[rank] is not None:
            untouched = "nobody looks at what is returned: write array[...] = ..., or array /= ..."
        same = [alike(one, other) for one, other in zip(arrays, right, strict=True)]
        if not all(same):
            first = same.index(False)
            mistakes = {f"The arrays are as they were: {untouched}": given[rank], **usual}
            raise Wrong(
                f"{call}: on rank {rank} array {first} begins with {arrays[first].flat[0]:.6g}, "
                f"and {right[first].flat[0]:.6g} is right. "
                + why(arrays, mistakes, "It is no average of the ranks")
            )


def _gradients(generator: np.random.Generator, count: int) -> Gradients:
    return [[generator.standard_normal(shape) for shape in SHAPES] for _ in range(count)]


def _of_all(function: Callable, own: Gradients) -> list[np.ndarray]:
    """The mean or the sum of each parameter's gradients."""
    return [function(parts, axis=0) for parts in zip(*own, strict=True)]
