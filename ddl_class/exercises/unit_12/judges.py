"""The judges of unit 12 on grids: all of them, bytes along each axis, and the time of a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Outcome, Stage, Wrong, ranks_text
from ddl_class.exercises.kit.answers import array, items, number, numbers
from ddl_class.exercises.kit.compare import compare, shown, why
from ddl_teach.theory.grids.grid import every

AXES = ("data", "pipeline", "tensor", "context")
Numbers = tuple[float, ...]


def judge_grids(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """All ordered quadruples with this product, each once."""
    for count in (8, 1, 6, 7, 64, int(generator.integers(10, 60)), 1024):
        right = sorted((one.data, one.pipeline, one.tensor, one.context) for one in every(count))
        wanted = "return a list of grids, each (data, pipeline, tensor, context)"
        found = items(stage.call(count), wanted, lambda one: _four(one, "numbers of ranks"))
        said = sorted(tuple(map(int, one)) for one in found)
        if said == right:
            continue
        told = f"{count} ranks make {len(right)} grids, and you return {len(said)}. "
        wrong = [one for one in said if math.prod(one) != count]
        missing = sorted(set(right) - set(said))
        if wrong:
            raise Wrong(f"{told}{wrong[0]} is a grid of {math.prod(wrong[0])} ranks, not {count}.")
        if len(set(said)) < len(said):
            twice = next(one for one, other in pairwise(said) if one == other)
            raise Wrong(f"{told}{twice} is there more than once.")
        if all(list(one) == sorted(one) or list(one) == sorted(one)[::-1] for one in said):
            told += "The order counts: (2, 4, 1, 1) and (4, 2, 1, 1) are two different grids. "
        raise Wrong(f"{told}{missing[0]} is missing.")


def judge_bytes(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Four numbers of bytes, for pure grids first and then for mixed ones."""
    pure = [(4, 1, 1, 1), (1, 4, 1, 1), (1, 1, 4, 1), (1, 1, 1, 4), (1, 1, 1, 1), (1, 2, 1, 1)]
    mixed = [tuple(int(2**n) for n in generator.integers(0, 4, 4)) for _ in range(12)]
    # Numbers of which no two are alike first: then a wrong factor tells where it comes from.
    for grid in (*pure, (5, 4, 8, 16), *mixed):
        micro_batches = int(generator.choice([3, 7]))
        job = {
            "blocks": grid[1] * int(generator.integers(1, 5)),
            "width": 64 * int(generator.integers(1, 9)),
            "length": 64 * int(generator.integers(1, 9)),
            "batch": grid[0] * micro_batches * int(generator.integers(1, 4)),
            "micro_batches": micro_batches,
        }
        right = bytes_of_step(grid, **job)
        said = _four(stage.call(grid, *job.values()), "bytes")
        for axis, mine, theirs in zip(AXES, right, said, strict=True):
            if not math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-6):
                told = ", ".join(f"{name} {value}" for name, value in job.items())
                raise Wrong(
                    f"grid {grid}, {told}: along {axis} a rank sends {mine:,.0f} bytes, and you "
                    f"say {theirs:,.0f}. {_usual_bytes(axis, theirs, mine, grid, job)}"
                )


def bytes_of_step(
    grid: Numbers, blocks: int, width: int, length: int, batch: int, micro_batches: int
) -> Numbers:
    """What the exercise asks for: blocks alone, 12 width^2 weights each, numbers of two bytes."""
    data, pipeline, tensor, context = grid
    here = batch / data / micro_batches * length / context
    own_blocks, replicas = blocks / pipeline, data * context
    averaged = 2 * (replicas - 1) / replicas * own_blocks * 12 * width**2 / tensor
    passed = micro_batches * min(2, pipeline - 1) * here * width
    summed = micro_batches * own_blocks * 4 * 2 * (tensor - 1) / tensor * here * width
    # Of keys and values together; the last term are their gradients, which come home.
    round_trips = (2 * (context - 1) + context) if context > 1 else 0
    going_round = micro_batches * own_blocks * round_trips * 2 * here * width / tensor
    return tuple(2 * numbers for numbers in (averaged, passed, summed, going_round))


def _usual_bytes(axis: str, said: float, right: float, grid: Numbers, job: dict[str, int]) -> str:
    data, pipeline, tensor, context = grid
    m = job["micro_batches"]
    replicas = data * context
    ring = (replicas - 1) / replicas if replicas > 1 else 1
    once = right / (3 * context - 2)  # of a hop, where there are several
    usual = {
        "data": {
            "Gradients are averaged once a step, not once a micro-batch": right * m,
            "A rank has the blocks of its own stage only": right * pipeline,
            "A rank has its share of each matrix only": right * tensor,
            "A rank has 1/(pipeline * tensor) of the weights": right * pipeline * tensor,
            "Ranks along context hold the same weights too: the sum goes over data * context "
            "ranks": right / ring * (data - 1) / data,
            "A ring of P ranks sends 2 (P-1)/P of a vector, not all of it twice": right / ring,
            "An all-reduce goes round twice: 2 (P-1)/P": right / 2,
        },
        "pipeline": {
            "That is one micro-batch": right / m,
            "An activation forward, and its gradient backward; or did you forget that a number "
            "has two bytes?": right / 2,
            "With two stages nobody is in the middle: a rank only sends forward or only sends "
            "back": right * 2,
            "A rank along context holds its positions only": right * context,
            "A rank along data has its part of the batch only": right * data,
            "Between the split layers every rank along tensor holds the whole activation, and "
            "sends it": right / tensor,
        },
        "tensor": {
            "Two sums forward and two backward in each block, each 2 (T-1)/T": right / 2,
            "Two sums forward and two backward in each block, that is four": right / 4,
            "A rank has the blocks of its own stage only": right * pipeline,
            "That is one micro-batch": right / m,
            "A rank along context holds its positions only": right * context,
            "The sums are of whole activations: tensor does not make them smaller": right / tensor,
        },
        "context": {
            "Only this rank's heads have to see each other: 1/tensor of them": right * tensor,
            "Keys and values both go round": right / 2,
            "That is the forward pass alone": once * (context - 1),
            "Backward, the gradients of keys and values go round as well, and make one hop more": (
                once * 2 * (context - 1)
            ),
            "The gradients have to come home: they make `context` hops, not context - 1": (
                once * 3 * (context - 1)
            ),
            "A rank has the blocks of its own stage only": right * pipeline,
            "That is one micro-batch": right / m,
        },
    }
    if said and right == 0:
        return "Whoever is alone along an axis sends nothing along it."
    wrong = {words: value for words, value in usual[axis].items() if value != right}
    return why(said, wrong, "Write down what one micro-batch needs, then multiply")


def judge_seconds(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The sum of five terms, of which the bubble stretches three."""
    for trial in range(8):
        pipeline, m = (1, 4) if trial == 0 else (int(p) for p in generator.integers(2, 17, 2))
        grid = (2, pipeline, 4, 2)
        busy = float(generator.uniform(0.5, 3))
        sent = [float(x) for x in generator.uniform(1e8, 1e9, 4)]
        per_byte = [float(x) for x in generator.uniform(1e-10, 2e-9, 4)]
        data, hops, tensor, context = (n * each for n, each in zip(sent, per_byte, strict=True))
        slots, idle = busy + tensor + context, (pipeline - 1) / m
        right = seconds_of_step(grid, m, busy, sent, per_byte)
        said = number(stage.call(grid, m, busy, sent, per_byte), "return the seconds of a step")
        usual = {
            "The bubble is missing: (pipeline - 1)/m of all that a stage does for its "
            "micro-batches": slots + hops + data,
            "An idle stage waits for others' sums and journeys too: the bubble stretches tensor "
            "and context as well": busy * (1 + idle) + tensor + context + hops + data,
            "The bubble does not stretch what comes after the pipeline, nor the messages between "
            "stages": (slots + hops + data) * (1 + idle),
            "Gradients are averaged when the pipeline is empty: no bubble stretches that": (
                (slots + data) * (1 + idle) + hops
            ),
            "(p-1)/(m+p-1) is the bubble's share of the whole; of the busy time it is (p-1)/m": (
                slots * (1 + (pipeline - 1) / (m + pipeline - 1)) + hops + data
            ),
            "A pipeline of p stages has p - 1 steps to fill, not p": (
                slots * (1 + pipeline / m) + hops + data
            ),
            "Sums along tensor and journeys along context take time too": (
                busy * (1 + idle) + hops + data
            ),
        }
        otherwise = "Add up five terms, and stretch three by the bubble"
        compare(
            f"pipeline {pipeline}, {m} micro-batches: your step", said, right, usual, otherwise
        )


def seconds_of_step(
    grid: Numbers, micro_batches: int, busy: float, sent: Numbers, per_byte: Numbers
) -> float:
    """What the exercise asks for: the bubble stretches all that a stage does for micro-batches."""
    data, hops, tensor, context = (n * each for n, each in zip(sent, per_byte, strict=True))
    return (busy + tensor + context) * (1 + (grid[1] - 1) / micro_batches) + hops + data


def _four(value: Any, what: str) -> Numbers:
    wanted = f"return four {what}, along data, pipeline, tensor and context"
    return tuple(numbers(value, AXES, wanted))


SHAPES = ((4, 5), (7,), (2, 3, 4), (1, 1), (30, 40))
MOMENTUM = 0.9


def judge_compress(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The values at these places, in the order of the places."""
    for shape in SHAPES:
        dense, places = _pruned(generator, shape)
        right = dense.reshape(-1)[places]
        said = _array(stage.call(dense, places), "compress")
        if said.shape == right.shape and np.array_equal(said, right):
            continue
        told = f"of shape {shape} with {len(places)} kept, compress gives "
        if said.shape == dense.shape:
            raise Wrong(f"{told}an array of the whole shape: return a vector of the kept alone.")
        if said.shape != right.shape:
            raise Wrong(f"{told}the shape {said.shape}, where {right.shape} is right. Places "
                        "count in the flat array: dense.reshape(-1).")  # fmt: skip
        raise Wrong(f"{told}{shown(said)}, where {shown(right)} is right: the value at each of "
                    "the places of the flat array.")  # fmt: skip


def judge_expand(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Zeros, and the values at their places."""
    for shape in SHAPES:
        dense, places = _pruned(generator, shape)
        values = dense.reshape(-1)[places].astype(np.float32)
        right = np.zeros(dense.size, np.float32)
        right[places] = values
        right = right.reshape(shape)
        said = _array(stage.call(values, places, shape), "expand")
        told = f"{len(values)} values for the shape {shape}: "
        if said.shape != right.shape:
            raise Wrong(f"{told}yours has the shape {said.shape}. End with .reshape(shape).")
        if not np.array_equal(said, right):
            first = int(np.argmax(said.reshape(-1) != right.reshape(-1)))
            what = "a zero" if right.reshape(-1)[first] == 0 else f"{right.reshape(-1)[first]:.4g}"
            raise Wrong(f"{told}at place {first} there must be {what}, and yours has "
                        f"{said.reshape(-1)[first]:.4g}.")  # fmt: skip
        if said.dtype != values.dtype:
            raise Wrong(f"{told}the right numbers, but as {said.dtype} instead of {values.dtype}: "
                        "give np.zeros the dtype of the values.")  # fmt: skip


def judge_step(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Three steps of momentum on the kept weights, with messages of the kept alone."""
    for count in ranks:
        shape = (6, 20)
        start, places = _pruned(generator, shape)
        weights = np.zeros_like(start)
        weights.reshape(-1)[places] = start.reshape(-1)[places]
        velocity = generator.normal(size=len(places))
        gradients = [generator.normal(size=shape) for _ in range(count)]
        rate = float(generator.uniform(0.1, 1))
        outcome = stage.run(count, [
            (weights, gradients[rank], velocity, places, rate) for rank in range(count)
        ])  # fmt: skip
        _judge_outcome(outcome, count, weights, gradients, velocity, places, rate)


def _judge_outcome(
    outcome: Outcome, count: int, weights: np.ndarray, gradients: list[np.ndarray],
    velocity: np.ndarray, places: np.ndarray, rate: float,
) -> None:  # fmt: skip
    kept = np.mean(gradients, axis=0).reshape(-1)[places]
    next_velocity = MOMENTUM * velocity + kept
    right = weights.reshape(-1).copy()
    right[places] -= rate * next_velocity
    without = weights.reshape(-1).copy()
    without[places] -= rate * (MOMENTUM * velocity + count * kept)
    local = [gradient.reshape(-1)[places] for gradient in gradients]
    on = f"on {ranks_text(count)}"
    for rank, (mine, _, theirs, *_) in enumerate(outcome.arguments):
        if np.allclose(theirs, velocity) and not np.allclose(velocity, next_velocity):
            raise Wrong(f"{on} the velocity has not changed. It is the state of the optimizer: "
                        "change it in place, velocity[:] = ...")  # fmt: skip
        alone = MOMENTUM * velocity + local[rank]
        if count > 1 and np.allclose(theirs, alone):
            raise Wrong(f"{on} rank {rank} took a step with its own gradient. Average it over all "
                        "ranks, with add_up, before anything else.")  # fmt: skip
        if count > 1 and np.allclose(theirs, MOMENTUM * velocity + count * kept):
            raise Wrong(f"{on} that is the sum of the gradients: divide by comm.size.")
        if not np.allclose(theirs, next_velocity):
            raise Wrong(f"{on} the velocity of rank {rank} is wrong: it becomes {MOMENTUM} times "
                        "itself plus the averaged gradient of the kept weights.")  # fmt: skip
        flat = np.asarray(mine).reshape(-1)
        if np.any(np.delete(flat, places)):
            raise Wrong(f"{on} a weight that was pruned away is no longer zero.")
        if np.allclose(flat, weights.reshape(-1)):
            raise Wrong(f"{on} the weights have not changed. Change them in place: "
                        "weights.reshape(-1)[places] -= ...")  # fmt: skip
        if not np.allclose(flat, right):
            raise Wrong(f"{on} the weights of rank {rank} are wrong: the kept ones go down by "
                        "rate times the new velocity.")  # fmt: skip
    if count > 1:
        _judge_bytes(outcome, count, 8 * len(places), weights.nbytes)


def _judge_bytes(outcome: Outcome, count: int, kept: int, dense: int) -> None:
    most = max(ledger.bytes_sent for ledger in outcome.ledger)
    ring = 2 * (count - 1) / count
    if most > ring * kept + 16 * count:
        whole = "the whole gradient, zeros and all: compress first, then add up"
        more = whole if most >= 0.9 * ring * dense else "more than the kept values"
        raise Wrong(
            f"on {count} ranks the numbers are right, but a rank sends {most:,} bytes, where a "
            f"ring of the kept values sends {ring * kept:,.0f}: you send {more}."
        )


def _pruned(
    generator: np.random.Generator, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """An array without zeros, and some of its places, about a tenth of many."""
    dense = generator.uniform(1, 2, shape) * generator.choice([-1, 1], shape)
    count = max(1, dense.size // 10) if dense.size > 50 else max(1, dense.size // 2)
    places = np.sort(generator.choice(dense.size, count, replace=False)).astype(np.int32)
    return dense, places


def _array(value: Any, name: str) -> np.ndarray:
    array(value, f"{name}: return an array of numbers")
    return np.asarray(value)
