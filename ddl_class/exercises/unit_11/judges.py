"""The judges of unit 11: sharding in three stages, states on another rank, and which activations
to keep."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import items, several, short, whole
from ddl_class.exercises.kit.compare import alike, compare, equal, first_case, refuse_if
from ddl_class.exercises.kit.ranks import HOUR
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.theory import memory, ring_bytes
from ddl_teach.theory.checkpointing import Chain, equal_stretches, layers_of, peak

MOMENTUM, RATE, DOUBLE = 0.9, 0.1, 8
CAUSES = ranks.general("All ranks must call the same collectives, in the same order.")


def judge_states(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
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
            own_right = _same(left[part], right[part])
            cases = {
                f", rank {rank}'s weights are unchanged. Write into them: `own -= rate * moment` "
                "where `own` is a view, and not `own = own - ...`": np.array_equal(left, weights),
                **{
                    f": {words}": not own_right and _same(left[part], wrong[part])
                    for words, wrong in updates.items()
                },
                f": rank {rank}'s own part is right, the others' parts did not come to it. Hand "
                "the parts out after the update: allgather(comm, weights)": (
                    own_right and not _same(left, right)
                ),
                f", rank {rank} has the wrong weights: the first is {left[0]:.5g} instead of "
                f"{right[0]:.5g}. Rank r updates chunk r with chunk r of the summed gradients, "
                "divided by the number of ranks": not _same(left, right),
                f": the weights are right, but rank {rank}'s moment is not what the next step "
                "needs. Change it in place: moment *= 0.9; moment += ...": (
                    not _same(own, moment[part])
                ),
            }
            refuse_if(setting, cases)
        _judge_bytes(outcome, setting, [length], stage_number=1)


def judge_gradients(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
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
                part, told = _part(sizes[place], count, rank), f"{setting}, gradients[{place}] of "
                _judge_own_part(found, layer.mean(axis=0), part, layer[rank], f"{told}rank {rank}")
        _judge_bytes(outcome, setting, sizes, stage_number=None)


def _judge_own_part(found: Any, mean: np.ndarray, part: slice, own: np.ndarray, told: str) -> None:
    if not isinstance(found, np.ndarray) or found.ndim != 1:
        raise Wrong(f"{told} must be a vector, and is {str(found)[:40]}.")
    right, many = mean[part], len(mean) > len(mean[part])
    base, of_ranks = found.base, len(mean) // max(len(found), 1)
    cases = {
        f"is still as long as the whole layer, {len(mean)}, where only this rank's part, "
        f"{len(right)}, is to stay. Put the part in the place of the whole: "
        "gradients[i] = reduce_scatter(...) / comm.size": many and len(found) == len(mean),
        "is right in numbers, but only a view: the whole gradient stays in memory as long as "
        "anybody looks at a part of it. Keep a copy (dividing makes one)": (
            many and isinstance(base, np.ndarray) and base.size > found.size
        ),
        "is the sum; the mean is asked. Divide by comm.size": not _same(found, right)
        and any(_same(found, count * right) for count in (of_ranks, of_ranks + 1)),
        "is the rank's own gradient: nobody else's was added to it": (
            not _same(found, right) and _same(found, own[part])
        ),
        "is not its part of the mean: rank r keeps chunk r, as split_evenly cuts, of the sum over "
        "all ranks, divided by comm.size": not _same(found, right),
    }
    refuse_if(f"{told} ", cases)


def judge_parameters(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Own parts of the mean gradients, with each layer's weights gathered twice."""
    for count in ranks.first(4, counts):
        width, layers, rows = int(generator.integers(3, 6)), 3, 4
        weights = generator.standard_normal((layers, width, width)) / 2
        data = generator.standard_normal((count, 2, rows, width)) / 2
        length = width * width
        mine = [_part(length, count, rank) for rank in range(count)]
        given = [
            ([layer.ravel()[part].copy() for layer in weights], *two)
            for part, two in zip(mine, data, strict=True)
        ]
        setting = f"On {ranks_text(count)}, with {layers} layers of {width} x {width}"
        outcome = ranks.run(stage, count, given, setting, CAUSES)
        mean = np.mean([_chain_gradients(weights, *two) for two in data], axis=0)
        for rank, found in enumerate(outcome.results):
            several(found, layers, f"{setting}: return a list of {layers} vectors, one a layer")
            part, first = mine[rank], found[0]
            own = _chain_gradients(weights, *data[rank])
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
    outcome: ProgramOutcome, setting: str, sizes: list[int], stage_number: int | None
) -> None:
    """Whether each rank sent what the stage says; None stands for a reduce-scatter alone."""
    count = len(outcome.ledger)
    cuts = [ring_bytes.even(size, count) for size in sizes]
    too_few = (
        "One all-gather too few: you kept a layer's whole weights from the forward pass for the "
        "backward pass. Gather them again; keep only the parts"
    )
    for rank, ledger in enumerate(outcome.ledger):
        right = sum(ring_bytes.reduce_scatter(cut, rank, DOUBLE) for cut in cuts)
        gathered = sum(ring_bytes.allgather(cut, rank, DOUBLE) for cut in cuts)
        if stage_number:
            right = memory.sent(stage_number, sizes, count, rank, weight=DOUBLE)
        usual = {
            "One all-gather too many: what is gathered a second time, although nobody needs it "
            "whole? (An all-reduce is a reduce-scatter and an all-gather.)": right + gathered,
            too_few if stage_number == 3 else "An all-gather is missing": right - gathered,
        }
        otherwise = "Use one reduce-scatter for each gradient, and no other messages for it"
        told = f"{setting}: the numbers are right, but the number of bytes that rank {rank} sent:"
        compare(f"{told} your program", ledger.bytes_sent, right, usual, otherwise, equal)


def judge_offload(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
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
        cases = {
            ", rank 0's weights are wrong: moment becomes 0.9 * moment + gradient, and then "
            "weights -= rate * moment, for the part that the bucket holds": (
                not _same(outcome.arguments[0][0], right)
            ),
            ": the weights are right, but the host's moment is not updated. Send each bucket "
            "back, and receive it on rank 1 into its place in `moment`": (
                not _same(outcome.arguments[1][2], new_moment)
            ),
        }
        refuse_if(setting, cases)
        for rank, ledger in enumerate(outcome.ledger):
            numbers = [message.bytes // DOUBLE for message in ledger.messages]
            most = max(numbers, default=0)
            cases = {
                "sends something. Ranks 0 and 1 do all of it": rank > 1 and bool(numbers),
                f"sends {most} numbers at once. The device has room for two buckets; send at most "
                f"{bucket} numbers in a message": most > bucket,
                f"sends {sum(numbers)} numbers: each moment comes once and goes back once, "
                f"{length} of them; weights and gradients stay": (
                    rank <= 1 and sum(numbers) != length
                ),
            }
            refuse_if(f"{setting}, rank {rank} ", cases)
        buckets = -(-length // bucket)
        if buckets == 8 and outcome.time > 1.6 * buckets * HOUR:
            raise Wrong(
                f"{setting}: right, but the link is idle in one direction half of the time. On a "
                "slow link, where a bucket takes an hour, your step takes "
                f"{outcome.time / HOUR:.0f} hours; {buckets + 1} are enough. Rank 1 sends the "
                "next bucket before it waits for the last one; rank 0 begins to receive it "
                "(comm.irecv, into the other of two places) before it updates and sends back the "
                "one it has."
            )


def _part(length: int, count: int, rank: int) -> slice:
    return slice(length * rank // count, length * (rank + 1) // count)


def _same(one: Any, other: np.ndarray) -> bool:
    return isinstance(one, np.ndarray) and alike(one, other, atol=1e-12)


def judge_stretches(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Each layer twice at most, and as little held as equal stretches allow."""
    for layers in (9, 16, 100, 1, 2, *map(int, generator.integers(3, 150, 5))):
        call = f"stretches({layers})"
        wanted = f"{call}: return a plan; a plan is a list of layers and of lists of layers, such "
        steps = items(stage.call(layers), f"{wanted}as [[0, 1], 2, 3]", _step)
        plan = [step for step in steps if step != []]
        found = layers_of(plan)
        missing = sorted(set(range(layers)) - set(found))
        cases = {
            f"layer {min(missing, default=0)} is not in it": missing,
            "some layer is in it twice, or does not exist": len(found) > layers,
            "the layers are not in their order": found != list(range(layers)),
        }
        if words := first_case(cases):
            brackets = f"Without its brackets a plan counts from 0 to {layers - 1}."
            raise Wrong(f"{call}: {short(plan, 20)}: {words} {brackets}")
        lists = [step for step in plan if isinstance(step, list)]
        chain = Chain.even(layers)
        right = min(peak(equal_stretches(layers, many), chain) for many in range(1, layers + 1))
        held = peak(plan, chain)
        holds = f" holds {held} activations at most, and {right} are possible."
        cases = {
            " has lists in lists: such layers are computed three times. One level of stretches is "
            "asked": any(isinstance(inner, list) for step in lists for inner in step),
            ": the last stretch need not be forgotten. The backward pass begins with it, and "
            "would compute it again at once. Keep its layers: [[0, 1], [2, 3], 4, 5]": (
                len(plan) > 1 and len(lists) == len(plan)
            ),
            f"{holds} You keep everything: put brackets around what is to be forgotten": (
                held > right and not lists
            ),
            f"{holds} You forget everything at once; then the backward pass needs everything at "
            "once. Cut it into stretches": held > right and len(plan) == 1,
            f"{holds} With k stretches one holds k - 1 inputs and the L / k layers of one "
            "stretch: take k near the square root of L, and stretches that are as equal as can "
            "be": held > right,
        }
        refuse_if(call, cases)


def _step(step: Any) -> Any:
    """A layer as a plain number, or a plain list of such steps."""
    several_layers = isinstance(step, list | tuple | np.ndarray | range)
    return list(map(_step, step)) if several_layers else whole(step)
