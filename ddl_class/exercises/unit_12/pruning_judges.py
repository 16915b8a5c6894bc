"""The judges of unit 12 on pruning: values without zeros, back again, and a step on many ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit.answers import array
from ddl_class.exercises.kit.compare import shown

SHAPES = ((4, 5), (7,), (2, 3, 4), (1, 1), (30, 40))
MOMENTUM = 0.9


def judge_compress(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
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


def judge_expand(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
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


def judge_step(stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]) -> None:
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
    outcome: ProgramOutcome, count: int, weights: np.ndarray, gradients: list[np.ndarray],
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
    count = max(1, dense.size // 10) if dense.size > 50 else max(1, dense.size // 2)
    places = np.sort(generator.choice(dense.size, count, replace=False)).astype(np.int32)
    return dense, places


def _array(value: Any, name: str) -> np.ndarray:
    array(value, f"{name}: return an array of numbers")
    return np.asarray(value)
