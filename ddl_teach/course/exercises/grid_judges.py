"""The judges of unit 12 on grids: all of them, bytes along each axis, and the time of a step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ddl_teach.course.exercises.answers import number
from ddl_teach.course.exercises.exercise import Stage, Wrong
from ddl_teach.theory.grids.grid import every

AXES = ("data", "pipeline", "tensor", "context")
Numbers = tuple[float, ...]


def judge_grids(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """All ordered quadruples with this product, each once."""
    for count in (8, 1, 6, 7, 64, int(generator.integers(10, 60)), 1024):
        right = sorted((one.data, one.pipeline, one.tensor, one.context) for one in every(count))
        said = sorted(map(_quadruple, _listed(stage.call(count))))
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
    usual: dict[str, list[tuple[float, str]]] = {
        "data": [
            (right * m, "Gradients are averaged once a step, not once a micro-batch."),
            (right * pipeline, "A rank has the blocks of its own stage only."),
            (right * tensor, "A rank has its share of each matrix only."),
            (right * pipeline * tensor, "A rank has 1/(pipeline * tensor) of the weights."),
            (right / ring * (data - 1) / data, "Ranks along context hold the same weights too: "
             "the sum goes over data * context ranks."),
            (right / ring, "A ring of P ranks sends 2 (P-1)/P of a vector, not all of it twice."),
            (right / 2, "An all-reduce goes round twice: 2 (P-1)/P."),
        ],
        "pipeline": [
            (right / m, "That is one micro-batch."),
            (right / 2, "An activation forward, and its gradient backward; or did you forget that "
             "a number has two bytes?"),
            (right * 2, "With two stages nobody is in the middle: a rank only sends forward or "
             "only sends back."),
            (right * context, "A rank along context holds its positions only."),
            (right * data, "A rank along data has its part of the batch only."),
            (right / tensor, "Between the split layers every rank along tensor holds the whole "
             "activation, and sends it."),
        ],
        "tensor": [
            (right / 2, "Two sums forward and two backward in each block, each 2 (T-1)/T."),
            (right / 4, "Two sums forward and two backward in each block, that is four."),
            (right * pipeline, "A rank has the blocks of its own stage only."),
            (right / m, "That is one micro-batch."),
            (right * context, "A rank along context holds its positions only."),
            (right / tensor, "The sums are of whole activations: tensor does not make them "
             "smaller."),
        ],
        "context": [
            (right * tensor, "Only this rank's heads have to see each other: 1/tensor of them."),
            (right / 2, "Keys and values both go round."),
            (right / (3 * context - 2) * (context - 1), "That is the forward pass alone."),
            (right / (3 * context - 2) * 2 * (context - 1), "Backward, the gradients of keys and "
             "values go round as well, and make one hop more."),
            (right / (3 * context - 2) * 3 * (context - 1), "The gradients have to come home: "
             "they make `context` hops, not context - 1."),
            (right * pipeline, "A rank has the blocks of its own stage only."),
            (right / m, "That is one micro-batch."),
        ],
    }  # fmt: skip
    if said and right == 0:
        return "Whoever is alone along an axis sends nothing along it."
    near = (why for wrong, why in usual[axis] if wrong != right and math.isclose(said, wrong))
    return next(near, "Write down what one micro-batch needs, then multiply.")


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
        if math.isclose(said, right, rel_tol=1e-9):
            continue
        usual = [
            (slots + hops + data, "The bubble is missing: (pipeline - 1)/m of all that a stage "
             "does for its micro-batches"),
            (busy * (1 + idle) + tensor + context + hops + data, "An idle stage waits for others' "
             "sums and journeys too: the bubble stretches tensor and context as well"),
            ((slots + hops + data) * (1 + idle), "The bubble does not stretch what comes after "
             "the pipeline, nor the messages between stages"),
            ((slots + data) * (1 + idle) + hops, "Gradients are averaged when the pipeline is "
             "empty: no bubble stretches that"),
            (slots * (1 + (pipeline - 1) / (m + pipeline - 1)) + hops + data, "(p-1)/(m+p-1) is "
             "the bubble's share of the whole; of the busy time it is (p-1)/m"),
            (slots * (1 + pipeline / m) + hops + data, "A pipeline of p stages has p - 1 steps to "
             "fill, not p"),
            (busy * (1 + idle) + hops + data, "Sums along tensor and journeys along context take "
             "time too"),
        ]  # fmt: skip
        near = (why for wrong, why in usual if math.isclose(said, wrong, rel_tol=1e-9))
        raise Wrong(
            f"pipeline {pipeline}, {m} micro-batches: the step takes {right:.6g} s, and you say "
            f"{said:.6g}. {next(near, 'Add up five terms, and stretch three by the bubble')}."
        )


def seconds_of_step(
    grid: Numbers, micro_batches: int, busy: float, sent: Numbers, per_byte: Numbers
) -> float:
    """What the exercise asks for: the bubble stretches all that a stage does for micro-batches."""
    data, hops, tensor, context = (n * each for n, each in zip(sent, per_byte, strict=True))
    return (busy + tensor + context) * (1 + (grid[1] - 1) / micro_batches) + hops + data


def _listed(value: Any) -> list[Any]:
    wanted = "return a list of grids, each (data, pipeline, tensor, context)"
    if value is None:
        raise Wrong(f"{wanted}; yours returns None. Is a `return` missing?")
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise Wrong(f"{wanted}, not {str(value)[:60]}.")
    return list(value)


def _quadruple(value: Any) -> tuple[int, ...]:
    return tuple(int(one) for one in _four(value, "numbers of ranks"))


def _four(value: Any, what: str) -> Numbers:
    wanted = f"return four {what}, along data, pipeline, tensor and context"
    if value is None:
        raise Wrong(f"{wanted}; yours returns None. Is a `return` missing?")
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise Wrong(f"{wanted}, not {str(value)[:60]}.")
    numbers = tuple(number(one, wanted, part="each of them") for one in value)
    if len(numbers) != 4:
        raise Wrong(f"{wanted}: yours returns {len(numbers)}.")
    return numbers
