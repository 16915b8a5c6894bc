"""The judges of unit 12: all grids, bytes along each axis, the time of a step; and pruning, which
is values without zeros, back again, and a step on many ranks."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit.answers import array, items, number, numbers
from ddl_class.exercises.kit.compare import compare, refuse_if, shown, why
from ddl_teach.theory.grids.grid import every

AXES = ("data", "pipeline", "tensor", "context")
Numbers = tuple[float, ...]


def judge_grids(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """All ordered quadruples with this product, each once."""
    for count in (8, 1, 6, 7, 64, int(generator.integers(10, 60)), 1024):
        right = {(grid.data, grid.pipeline, grid.tensor, grid.context) for grid in every(count)}
        wanted = "return a list of grids, each (data, pipeline, tensor, context)"
        found = items(stage.call(count), wanted, lambda grid: _four(grid, "numbers of ranks"))
        grids = sorted(tuple(map(int, grid)) for grid in found)
        told = f"{count} ranks make {len(right)} grids, and you return {len(grids)}. "
        if wrong := sorted(set(grids) - right):
            raise Wrong(f"{told}{wrong[0]} is a grid of {math.prod(wrong[0])} ranks, not {count}.")
        if twice := [grid for grid, other in pairwise(grids) if grid == other]:
            raise Wrong(f"{told}{twice[0]} is there more than once.")
        if missing := sorted(right - set(grids)):
            if all(list(grid) in (sorted(grid), sorted(grid)[::-1]) for grid in grids):
                told += "The order counts: (2, 4, 1, 1) and (4, 2, 1, 1) are two different grids. "
            raise Wrong(f"{told}{missing[0]} is missing.")


def judge_bytes(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
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


def judge_seconds(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
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


def judge_compress(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The values at these places, in the order of the places."""
    for shape in SHAPES:
        dense, places = _pruned(generator, shape)
        right = dense.reshape(-1)[places]
        answer = array(stage.call(dense, places), "compress: return an array of numbers")
        cases = {
            "an array of the whole shape: return a vector of the kept alone": (
                answer.shape == shape != right.shape
            ),
            f"the shape {answer.shape}, where {right.shape} is right. Places count in the flat "
            "array: dense.reshape(-1)": answer.shape != right.shape,
            f"{shown(answer)}, where {shown(right)} is right: the value at each of the places of "
            "the flat array": not np.array_equal(answer, right),
        }
        refuse_if(f"of shape {shape} with {len(places)} kept, compress gives ", cases)


def judge_expand(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Zeros, and the values at their places."""
    for shape in SHAPES:
        dense, places = _pruned(generator, shape)
        values = dense.reshape(-1)[places].astype(np.float32)
        right = np.zeros(dense.size, np.float32)
        right[places] = values
        given = stage.call(values, places, shape)
        answer = array(given, "expand: return an array of numbers")
        setting = f"{len(values)} values for the shape {shape}: "
        if answer.shape != shape:
            raise Wrong(f"{setting}yours has the shape {answer.shape}. End with .reshape(shape).")
        flat, kind = answer.reshape(-1), np.asarray(given).dtype
        first = int(np.argmax(flat != right))
        what = f"{right[first]:.4g}" if right[first] else "a zero"
        cases = {
            f"at place {first} there must be {what}, and yours has {flat[first]:.4g}": (
                flat[first] != right[first]
            ),
            f"the right numbers, but as {kind} instead of {values.dtype}: give np.zeros the dtype "
            "of the values": kind != values.dtype,
        }
        refuse_if(setting, cases)


def judge_step(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Three steps of momentum on the kept weights, with messages of the kept alone."""
    for count in counts:
        shape = (6, 20)
        start, places = _pruned(generator, shape)
        weights = np.zeros(start.size)
        weights[places] = start.reshape(-1)[places]
        velocity = generator.normal(size=len(places))
        gradients = generator.normal(size=(count, *shape))
        rate = float(generator.uniform(0.1, 1))
        outcome = stage.run(
            count, [(weights.reshape(shape), own, velocity, places, rate) for own in gradients]
        )
        kept = gradients.reshape(count, -1)[:, places]
        mean = kept.mean(axis=0)
        moved = MOMENTUM * velocity + mean
        right = weights.copy()
        right[places] -= rate * moved
        for rank, (mine, _, theirs, *_) in enumerate(outcome.arguments):
            flat = np.asarray(mine).reshape(-1)
            several = count > 1
            cases = {
                "the velocity has not changed. It is the state of the optimizer: change it in "
                "place, velocity[:] = ...": np.allclose(theirs, velocity),
                f"rank {rank} took a step with its own gradient. Average it over all ranks, with "
                "add_up, before anything else": (
                    several and np.allclose(theirs, MOMENTUM * velocity + kept[rank])
                ),
                "that is the sum of the gradients: divide by comm.size": (
                    several and np.allclose(theirs, MOMENTUM * velocity + count * mean)
                ),
                f"the velocity of rank {rank} is wrong: it becomes {MOMENTUM} times itself plus "
                "the averaged gradient of the kept weights": not np.allclose(theirs, moved),
                "a weight that was pruned away is no longer zero": np.delete(flat, places).any(),
                "the weights have not changed. Change them in place: "
                "weights.reshape(-1)[places] -= ...": np.allclose(flat, weights),
                f"the weights of rank {rank} are wrong: the kept ones go down by rate times the "
                "new velocity": not np.allclose(flat, right),
            }
            refuse_if(f"on {ranks_text(count)} ", cases)
        _judge_bytes(outcome, count, kept[0].nbytes, weights.nbytes)


def _judge_bytes(outcome: ProgramOutcome, count: int, kept: int, dense: int) -> None:
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
    count = max(1, dense.size // (10 if dense.size > 50 else 2))
    places = np.sort(generator.choice(dense.size, count, replace=False)).astype(np.int32)
    return dense, places
