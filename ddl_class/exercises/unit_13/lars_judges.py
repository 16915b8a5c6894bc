"""The judge of unit 13, second half: LARS over ranks, one step of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong
from ddl_class.exercises.kit.compare import alike, why

MOMENTUM = 0.9
SHAPES = ((6, 4), (4,), (4, 3))  # three layers

Layers = list[np.ndarray]


def judge_lars(stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """One step with momentum, of the averaged gradients, each layer by its own |w| / |g|."""
    for count in sorted(ranks, key=lambda count: count == 1):  # there most mistakes look alike
        scales = 10.0 ** generator.uniform(-1, 1, (3, len(SHAPES)))
        weights, moments, slopes = (
            [
                scale * generator.standard_normal(shape)
                for scale, shape in zip(row, SHAPES, strict=True)
            ]
            for row in scales
        )
        own = [
            [slope + generator.standard_normal(slope.shape) for slope in slopes]
            for _ in range(count)
        ]
        rate = float(generator.uniform(0.01, 0.1))
        # Each rank gets arrays of its own: what it changes is its own too.
        given = [
            ([w.copy() for w in weights], gradients, [m.copy() for m in moments], rate)
            for gradients in own
        ]
        outcome = stage.run(count, given)
        _judge_step(f"lars on {count} ranks", outcome, weights, own, moments, rate)


def _judge_step(
    call: str,
    outcome: ProgramOutcome,
    weights: Layers,
    own: list[Layers],
    moments: Layers,
    rate: float,
) -> None:
    right = _lars(weights, _mean(own), moments, rate)
    for rank, (found, _, kept, _) in enumerate(outcome.arguments):
        after = [np.asarray(layer) for layer in found], [np.asarray(layer) for layer in kept]
        if alike(after, right):
            continue
        if words := why(after, _wrong_steps(weights, own, moments, rate, rank)):
            raise Wrong(f"{call}, rank {rank}: {words}")
        pairs = zip(*after, *right, strict=True)
        layer = [alike([w, m], [v, n]) for w, m, v, n in pairs].index(False)
        raise Wrong(
            f"{call}: on rank {rank} layer {layer} is not right; its first weight is "
            f"{after[0][layer].flat[0]:.6g}, and {right[0][layer].flat[0]:.6g} is right. In this "
            "order: average the gradient, take the two lengths, m = 0.9 m + rate * trust * g, "
            "w -= m."
        )


def _lars(
    weights: Layers,
    gradients: Layers,
    moments: Layers,
    rate: float,
    trusts: Sequence[float] | None = None,
) -> tuple[Layers, Layers]:
    if trusts is None:
        trusts = _trusts(weights, gradients)
    kept = [
        MOMENTUM * m + rate * trust * g
        for m, trust, g in zip(moments, trusts, gradients, strict=True)
    ]
    return [w - m for w, m in zip(weights, kept, strict=True)], kept


def _trusts(weights: Layers, gradients: Layers) -> list[float]:
    return [
        float(np.linalg.norm(w) / np.linalg.norm(g))
        for w, g in zip(weights, gradients, strict=True)
    ]


def _wrong_steps(
    weights: Layers, own: list[Layers], moments: Layers, rate: float, rank: int
) -> dict[str, tuple[Layers, Layers]]:
    """Weights and moments after the usual mistakes."""
    mean, mine = _mean(own), own[rank]
    trusts = _trusts(weights, mean)
    _, kept = _lars(weights, mean, moments, rate)
    lengths = (np.sqrt(sum((x**2).sum() for x in layers)) for layers in (weights, mean))
    whole = float(next(lengths) / next(lengths))
    late = [MOMENTUM * m + g for m, g in zip(moments, mean, strict=True)]
    steps = [w - rate * trust * m for w, trust, m in zip(weights, trusts, late, strict=True)]
    return {
        "the weights are as they were. `w = ...` only gives a name to something new; `w -= ...` "
        "changes the array": (weights, moments),
        "the moments are right, but nothing was taken off the weights: w -= m": (weights, kept),
        "that step goes up the hill: w -= m": (
            [w + m for w, m in zip(weights, kept, strict=True)],
            kept,
        ),
        "that is the step of this rank's own gradients, and every rank makes another one: average "
        "them first": _lars(weights, mine, moments, rate),
        "the lengths are those of this rank's own gradients, and ranks drift apart: average "
        "first, then take the length": _lars(weights, mean, moments, rate, _trusts(weights, mine)),
        "that is plain momentum, one rate for all layers: multiply by |w| / |g| of the layer": (
            _lars(weights, mean, moments, rate, [1.0] * len(weights))
        ),
        "the ratio is upside down: |w| / |g|. A layer with large gradients steps less": (
            _lars(weights, mean, moments, rate, [1 / trust for trust in trusts])
        ),
        "those are the lengths of the whole network, one ratio for all: take each layer's own": (
            _lars(weights, mean, moments, rate, [whole] * len(weights))
        ),
        "the moments of the steps before are forgotten: m = 0.9 m + ..., in place": (
            _lars(weights, mean, [0 * m for m in moments], rate)
        ),
        "rate * trust belongs into the moment: a step that was scaled then is not to be scaled "
        "again by today's lengths": (steps, late),
        "the rate is missing: m = 0.9 m + rate * trust * g": _lars(weights, mean, moments, 1.0),
    }


def _mean(own: list[Layers]) -> Layers:
    return [np.mean(parts, axis=0) for parts in zip(*own, strict=True)]
