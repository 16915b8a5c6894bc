"""The judges of unit 11, first part: sharding in three stages, and states on another rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Outcome, Stage, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import not_none, several
from ddl_class.exercises.kit.compare import alike, why
from ddl_class.exercises.kit.ranks import HOUR
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.theory import memory, ring_bytes
from ddl_teach.theory.checkpointing import Chain, equal_stretches, layers_of, peak

MOMENTUM, RATE, DOUBLE = 0.9, 0.1, 8
CAUSES = ranks.general("All ranks must call the same collectives, in the same order.")


def judge_states(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The weights are updated everywhere, the moment where it lives, for an all-reduce's bytes."""
    for count in ranks.first(4, counts):
        length = 5 * count + int(generator.integers(1, count + 1))
        weights, whole = generator.standard_normal((2, length))
        gradients = generator.standard_normal((count, length))
        moments = np.split(whole, np.cumsum(ring_bytes.even(length, count))[:-1])
        given = [(weights, gradients[r], moments[r], RATE) for r in range(count)]
        setting = f"On {ranks_text(count)}, with {length} weights"
        outcome = ranks.run(stage, count, given, setting, CAUSES)
        mean = gradients.mean(axis=0)
        moment = MOMENTUM * whole + mean
        right = weights - RATE * moment
        updates = {
            "You used the sum of the gradients; divide by the number of ranks": (
                weights - RATE * (MOMENTUM * whole + count * mean)
            ),
            "The old moment is not in it: moment becomes 0.9 * moment + mean, in place": (
                weights - RATE * mean
            ),
            "You added the update: weights become weights - rate * moment": (
                weights + RATE * moment
            ),
        }
        for rank, (left, _, own, _) in enumerate(outcome.arguments):
            part = _part(length, count, rank)
            if np.array_equal(left, weights) and length:
                raise Wrong(
                    f"{setting}, rank {rank}'s weights are unchanged. Write into them: "
                    "`own -= rate * moment` where `own` is a view, and not `own = own - ...`."
                )
            own_right = _same(left[part], right[part])
            parts = {words: wrong[part] for words, wrong in updates.items()}
            if not own_right and (words := why(left[part], parts, same=_same)):
                raise Wrong(f"{setting}: {words}")
            if own_right and not _same(left, right):
                raise Wrong(
                    f"{setting}: rank {rank}'s own part is right, the others' parts did not come "
                    "to it. Hand the parts out after the update: allgather(comm, weights)."
                )
            if not _same(left, right):
                raise Wrong(
                    f"{setting}, rank {rank} has the wrong weights: the first is {left[0]:.5g} "
                    f"instead of {right[0]:.5g}. Rank r updates chunk r with chunk r of the "
                    "summed gradients, divided by the number of ranks."
                )
            if not _same(own, moment[part]):
                raise Wrong(
                    f"{setting}: the weights are right, but rank {rank}'s moment is not what the "
                    "next step needs. Change it in place: moment *= 0.9; moment += ..."
                )
        _judge_bytes(outcome, setting, [length], stage_number=1)


def judge_gradients(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """Each gradient of the list has become this rank's part of the mean."""
    for count in ranks.first(4, counts):
        sizes = [int(size) for size in generator.integers(count, 9 * count, 3)]
        layers = [generator.standard_normal((count, size)) for size in sizes]
        given = [([layer[rank] for layer in layers],) for rank in range(count)]
        setting = f"On {ranks_text(count)}, with layers of {sizes[0]}, {sizes[1]} and {sizes[2]}"
        outcome = ranks.run(stage, count, given, setting, CAUSES)
        for rank, (left,) in enumerate(outcome.arguments):
            if not isinstance(left, list) or len(left) != 3:
                raise Wrong(
                    f"{setting}: the list must keep its three places; use gradients[i] = ..."
                )
            for place, (layer, found) in enumerate(zip(layers, left, strict=True)):
                part = _part(sizes[place], count, rank)
                _judge_own_part(
                    found, layer.mean(axis=0), part, layer[rank],
                    f"{setting}, gradients[{place}] of rank {rank}",
                )  # fmt: skip
        _judge_bytes(outcome, setting, sizes, stage_number=None)


def _judge_own_part(found: Any, mean: np.ndarray, part: slice, own: np.ndarray, told: str) -> None:
    if not isinstance(found, np.ndarray) or found.ndim != 1:
        raise Wrong(f"{told} must be a vector, and is {str(found)[:40]}.")
    ranks_many = len(mean) > len(mean[part])
    if len(found) == len(mean) and ranks_many:
        raise Wrong(
            f"{told} is still as long as the whole layer, {len(mean)}, where only this rank's "
            f"part, {len(mean[part])}, is to stay. Put the part in the place of the whole: "
            "gradients[i] = reduce_scatter(...) / comm.size."
        )
    base = found.base
    if isinstance(base, np.ndarray) and base.size > found.size and ranks_many:
        raise Wrong(
            f"{told} is right in numbers, but only a view: the whole gradient stays in memory as "
            "long as anybody looks at a part of it. Keep a copy (dividing makes one)."
        )
    if _same(found, mean[part]):
        return
    if len(found) == len(mean[part]):
        for ranks in (len(mean) // max(len(found), 1), len(mean) // max(len(found), 1) + 1):
            if _same(found, ranks * mean[part]):
                raise Wrong(f"{told} is the sum; the mean is asked. Divide by comm.size.")
        if _same(found, own[part]):
            raise Wrong(f"{told} is the rank's own gradient: nobody else's was added to it.")
    raise Wrong(
        f"{told} is not its part of the mean: rank r keeps chunk r, as split_evenly cuts, of the "
        "sum over all ranks, divided by comm.size."
    )


def judge_parameters(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """Own parts of the mean gradients, with each layer's weights gathered twice."""
    for count in ranks.first(4, counts):
        width, layers, rows = int(generator.integers(3, 6)), 3, 4
        weights = generator.standard_normal((layers, width, width)) / 2
        data = generator.standard_normal((count, 2, rows, width)) / 2
        length = width * width
        parts = [
            [layer.ravel()[_part(length, count, rank)].copy() for layer in weights]
            for rank in range(count)
        ]
        given = [(parts[rank], data[rank, 0], data[rank, 1]) for rank in range(count)]
        setting = f"On {ranks_text(count)}, with {layers} layers of {width} x {width}"
        outcome = ranks.run(stage, count, given, setting, CAUSES)
        mean = np.mean([_chain_gradients(weights, *two) for two in data], axis=0)
        for rank, found in enumerate(outcome.results):
            several(found, layers, f"{setting}: return a list of {layers} vectors, one a layer")
            part = _part(length, count, rank)
            own = _chain_gradients(weights, *data[rank])
            first = found[0]
            if _same(first, mean[-1][part]) and not _same(first, mean[0][part]):
                raise Wrong(
                    f"{setting}: the gradients come in the order of the backward pass, last layer "
                    "first. Return them in the order of the layers: own[::-1]."
                )
            for place in range(layers):
                told = f"{setting}, layer {place} on rank {rank}: the gradient"
                _judge_own_part(found[place], mean[place], part, own[place], told)
        _judge_bytes(outcome, setting, [length] * layers, stage_number=3)


def _chain_gradients(weights: np.ndarray, x: np.ndarray, target: np.ndarray) -> list[np.ndarray]:
    """Of the sum of squares over two, for a chain of y = tanh(x W), each flat."""
    outputs = [x]
    for layer in weights:
        outputs.append(np.tanh(outputs[-1] @ layer))
    error, found = outputs[-1] - target, []
    for place in reversed(range(len(weights))):
        inner = error * (1 - outputs[place + 1] ** 2)
        found.append((outputs[place].T @ inner).ravel())
        error = inner @ weights[place].T
    return found[::-1]


def _judge_bytes(
    outcome: Outcome, setting: str, sizes: list[int], stage_number: int | None
) -> None:
    """Whether each rank sent what the stage says; None stands for a reduce-scatter alone."""
    count = len(outcome.ledger)
    for rank, ledger in enumerate(outcome.ledger):
        cuts = [ring_bytes.even(size, count) for size in sizes]
        scattered = sum(ring_bytes.reduce_scatter(cut, rank, DOUBLE) for cut in cuts)
        gathered = sum(ring_bytes.allgather(cut, rank, DOUBLE) for cut in cuts)
        whole = stage_number and memory.sent(stage_number, sizes, count, rank, weight=DOUBLE)
        right = scattered if whole is None else whole
        found = ledger.bytes_sent
        if found == right:
            continue
        usual = {
            right + gathered: "One all-gather too many: what is gathered a second time, although "
            "nobody needs it whole? (An all-reduce is a reduce-scatter and an all-gather.)",
            right - gathered: "One all-gather too few: you kept a layer's whole weights from the "
            "forward pass for the backward pass. Gather them again; keep only the parts."
            if stage_number == 3
            else "An all-gather is missing.",
        }.get(found, "Use one reduce-scatter for each gradient, and no other messages for it.")
        raise Wrong(
            f"{setting}: the numbers are right, but rank {rank} sent {found:,} bytes where "
            f"{right:,} do. {usual}"
        )


def judge_offload(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """Right on both ranks, in buckets, the next one coming while one goes."""
    for count in ranks.first(4, (max(2, one) for one in counts)):
        bucket = int(generator.integers(3, 9))
        buckets = 8 if count == 4 else int(generator.integers(1, 6))
        length = bucket * buckets - (0 if count == 4 else int(generator.integers(0, 3)))
        weights, gradient, moment = generator.standard_normal((3, length))
        new_moment = MOMENTUM * moment + gradient
        right = weights - RATE * new_moment
        given = [
            (weights, gradient, None, bucket, RATE),
            (None, None, moment, bucket, RATE),
            *[(None, None, None, bucket, RATE)] * (count - 2),
        ]
        hour = Uniform(latency=1e-3, bandwidth=DOUBLE * bucket / HOUR)
        setting = f"With {length} weights in buckets of {bucket}"
        outcome = ranks.run(stage, count, given, setting, CAUSES, hour)
        if not _same(outcome.arguments[0][0], right):
            raise Wrong(
                f"{setting}, rank 0's weights are wrong: moment becomes 0.9 * moment + gradient, "
                "and then weights -= rate * moment, for the part that the bucket holds."
            )
        if not _same(outcome.arguments[1][2], new_moment):
            raise Wrong(
                f"{setting}: the weights are right, but the host's moment is not updated. Send "
                "each bucket back, and receive it on rank 1 into its place in `moment`."
            )
        _judge_buckets(outcome, setting, length, bucket)
        whole = -(-length // bucket)
        one_by_one = 2 * whole * HOUR
        if outcome.time >= HOUR and whole == 8 and outcome.time > 0.8 * one_by_one:
            raise Wrong(
                f"{setting}: right, but the link is idle in one direction half of the time. On a "
                "slow link, where a bucket takes an hour, your step takes "
                f"{outcome.time / HOUR:.0f} hours; {whole + 1} are enough. Rank 1 sends the next "
                "bucket before it waits for the last one; rank 0 begins to receive it "
                "(comm.irecv, into the other of two places) before it updates and sends back the "
                "one it has."
            )


def _judge_buckets(outcome: Outcome, setting: str, length: int, bucket: int) -> None:
    for rank, ledger in enumerate(outcome.ledger):
        sizes = [message.bytes for message in ledger.messages]
        if rank > 1 and sizes:
            raise Wrong(f"{setting}, rank {rank} sends something. Ranks 0 and 1 do all of it.")
        if rank <= 1 and max(sizes, default=0) > DOUBLE * bucket:
            raise Wrong(
                f"{setting}, rank {rank} sends {max(sizes) // DOUBLE} numbers at once. The device "
                f"has room for two buckets; send at most {bucket} numbers in a message."
            )
        if rank <= 1 and sum(sizes) != DOUBLE * length:
            raise Wrong(
                f"{setting}, rank {rank} sends {sum(sizes) // DOUBLE} numbers: each moment comes "
                f"once and goes back once, {length} of them; weights and gradients stay."
            )


def _part(length: int, count: int, rank: int) -> slice:
    return slice(length * rank // count, length * (rank + 1) // count)


def _same(one: Any, other: np.ndarray) -> bool:
    return isinstance(one, np.ndarray) and alike(one, other, atol=1e-12)


LETTERS = 70  # of a plan that are shown


def judge_stretches(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Each layer twice at most, and as little held as equal stretches allow."""
    for layers in (9, 16, 100, 1, 2, *map(int, generator.integers(3, 150, 5))):
        call = f"stretches({layers})"
        plan = _plan(stage.call(layers), layers, call)
        chain = Chain.even(layers)
        if any(
            isinstance(inner, list) for step in plan if isinstance(step, list) for inner in step
        ):
            raise Wrong(
                f"{call} has lists in lists: such layers are computed three times. One level of "
                "stretches is asked."
            )
        if len(plan) > 1 and all(isinstance(step, list) for step in plan):
            raise Wrong(
                f"{call}: the last stretch need not be forgotten. The backward pass begins with "
                "it, and would compute it again at once. Keep its layers: [[0, 1], [2, 3], 4, 5]."
            )
        right = min(peak(equal_stretches(layers, many), chain) for many in range(1, layers + 1))
        held = peak(plan, chain)
        if held <= right:
            continue
        told = f"{call} holds {held} activations at most, and {right} are possible."
        if all(isinstance(step, int) for step in plan):
            raise Wrong(
                f"{told} You keep everything: put brackets around what is to be forgotten."
            )
        if len(plan) == 1:
            raise Wrong(
                f"{told} You forget everything at once; then the backward pass needs everything "
                "at once. Cut it into stretches."
            )
        raise Wrong(
            f"{told} With k stretches one holds k - 1 inputs and the L / k layers of one stretch: "
            "take k near the square root of L, and stretches that are as equal as can be."
        )


def _plan(said: Any, layers: int, call: str) -> list[Any]:
    """What a learner returned, as a plan of so many layers."""
    plan = _lists(not_none(said, f"{call}: return a plan"))
    if plan is None:
        raise Wrong(
            f"{call}: a plan is a list of layers and of lists of layers, such as [[0, 1], 2, 3], "
            f"not {str(said)[:LETTERS]}."
        )
    found = layers_of(plan)
    if found != list(range(layers)):
        missing = sorted(set(range(layers)) - set(found))
        if missing:
            told = f"layer {missing[0]} is not in it"
        elif len(found) > layers:
            told = "some layer is in it twice, or does not exist"
        else:
            told = "the layers are not in their order"
        raise Wrong(
            f"{call}: {_short(plan)}: {told}. Without its brackets a plan counts from 0 to "
            f"{layers - 1}."
        )
    return plan


def _lists(said: Any, depth: int = 60) -> list[Any] | None:
    """Plain lists of plain numbers, or None where that is not what it is."""
    if not isinstance(said, (list, tuple, np.ndarray, range)) or depth == 0:
        return None
    plan: list[Any] = []
    for step in said:
        if isinstance(step, (int, np.integer)) and not isinstance(step, (bool, np.bool_)):
            plan.append(int(step))
            continue
        inner = _lists(step, depth - 1)
        if inner is None:
            return None
        if inner:
            plan.append(inner)
    return plan


def _short(plan: list[Any]) -> str:
    text = str(plan)
    return text if len(text) <= LETTERS else f"{text[:LETTERS]} ..."
