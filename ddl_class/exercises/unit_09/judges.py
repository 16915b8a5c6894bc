"""The judges of unit 09, first part: a column-row pair, its gradients, and a hybrid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Outcome, Stage, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import arrays, not_none
from ddl_class.exercises.kit.compare import AnyOf, any_of, why, within

ROWS, INPUTS, MIDDLE, OUTPUTS = 3, 5, 4, 5  # of a pair; MIDDLE is that of one rank
SAME = within(1e-9, 1e-9)


def judge_pair(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """relu(x A) B + bias on every rank, for one sum of y."""
    for count in ranks.first(3, counts):
        x, first, second, bias, _ = _draw_pair(generator, count)
        hidden = [np.maximum(x @ own, 0) for own in first]
        parts = [h @ own for h, own in zip(hidden, second, strict=True)]
        y = sum(parts)
        told = f"pair on {ranks_text(count)}"
        outcome = stage.run(count, [(x, *own, bias) for own in zip(first, second, strict=True)])
        straight = sum(x @ a @ b for a, b in zip(first, second, strict=True))
        for rank, value in enumerate(outcome.results):
            usual = {
                "The bias is in it once for every rank: add it after the sum, not before": (
                    [y + count * bias]
                ),
                "The bias is missing": [y],
                "That is this rank's part of the sum: y is the sum over all ranks": (
                    [parts[rank] + bias]
                ),
                "The ReLU is missing: np.maximum(x @ a, 0)": [straight + bias],
                "The ReLU belongs between the two products": [np.maximum(straight, 0) + bias],
                "There is no ReLU after the second product": [np.maximum(y + bias, 0)],
                "You summed in the middle: columns of different ranks are different columns. "
                "Sum y": any_of(
                    [np.maximum(sum(x @ a for a in first), 0) @ second[rank] + bias],
                    [sum(hidden) @ second[rank] + bias],
                ),
            }
            not_none(value, f"{told}, rank {rank}: return y")
            _compare(told, rank, [value], ["y"], [y + bias], usual)
        _judge_bytes(told, outcome, y.nbytes, "Only y needs to be summed, and once")


def judge_gradients(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The gradient of x whole on every rank, those of a and b a rank's own, for one sum."""
    names = ["the gradient of x", "the gradient of a", "the gradient of b"]
    for count in ranks.first(3, counts):
        x, first, second, _, of_y = _draw_pair(generator, count)
        own = [_gradients(x, a, b, of_y) for a, b in zip(first, second, strict=True)]
        of_x = sum(one[0] for one in own)
        told = f"pair_gradients on {ranks_text(count)}"
        outcome = stage.run(count, [(x, *both, of_y) for both in zip(first, second, strict=True)])
        for rank, value in enumerate(outcome.results):
            a, b = first[rank], second[rank]
            h = x @ a
            right = [of_x, *own[rank][1:]]
            unmasked = sum((of_y @ two.T) @ one.T for one, two in zip(first, second, strict=True))
            usual = {
                "x went to all ranks, so its gradient is the sum of what all ranks say; yours is "
                "this rank's part": own[rank],
                "Do not sum the gradients of a and b: these columns and rows are this rank's "
                "alone": [of_x, *(sum(one[k] for one in own) for k in (1, 2))],
                "of_y is the same on all ranks, and whole: it needs no sum": (
                    [count * of_x, *(count * one for one in right[1:])]
                ),
                "The ReLU passes a gradient only where its input was positive: multiply by "
                "(h > 0)": [unmasked, x.T @ (of_y @ b.T), right[2]],
                "b was multiplied by relu(h), so its gradient is relu(h).T @ of_y": (
                    [of_x, right[1], h.T @ of_y]
                ),
                "That is the mean over the ranks: sum": [of_x / count, *right[1:]],
            }
            _compare(told, rank, value, names, right, usual)
        _judge_bytes(told, outcome, x.nbytes, "Only the gradient of x needs to be summed")


def judge_hybrid(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """Data-parallel features, then a classifier of which each rank has some columns."""
    names = ["the scores", "the gradient of c", "the gradient of w"]
    for count in ranks.first(3, counts):
        images = generator.standard_normal((count, 3, 5))  # by rank
        c = generator.standard_normal((5, 4))
        w = generator.standard_normal((count, 4, 2))
        of_scores = generator.standard_normal((count, 3 * count, 2))
        features = [np.maximum(own @ c, 0) for own in images]
        every = np.concatenate(features)
        of_every = sum(g @ own.T for g, own in zip(of_scores, w, strict=True))
        of_c = [
            own.T @ (g * (f > 0))
            for own, g, f in zip(images, np.split(of_every, count), features, strict=True)
        ]
        told = f"hybrid on {ranks_text(count)}"
        outcome = stage.run(count, [(images[r], c, w[r], of_scores[r]) for r in range(count)])
        for rank, value in enumerate(outcome.results):
            scores, of_w = every @ w[rank], every.T @ of_scores[rank]
            right = [scores, sum(of_c), of_w]
            of_own = np.split(of_every, count)
            every_rank = list(zip(images, of_scores, w, features, strict=True))
            alone = [
                own.T @ (np.split(g @ two.T, count)[r] * (f > 0))
                for r, (own, g, two, f) in enumerate(every_rank)
            ]
            unmasked = sum(own.T @ g for own, g in zip(images, of_own, strict=True))
            usual = {
                "c is the same on all ranks and each saw its own images only: sum its gradient "
                "over the ranks": [scores, of_c[rank], of_w],
                "These are no means of parts: the loss is that of the whole batch, so the "
                "gradient of c is the sum over the ranks": [scores, sum(of_c) / count, of_w],
                "Do not sum the gradient of w: its columns are this rank's alone": (
                    [scores, sum(of_c), sum(every.T @ g for g in of_scores)]
                ),
                "Nothing here is a mean: sum": [scores, sum(of_c) / count, of_w / count],
                "Each rank knows only what its own columns say of the features: reduce_scatter "
                "sums that over the ranks, and gives everybody the rows of its own images": (
                    [scores, sum(alone), of_w]
                ),
                "Each rank knows only what its own columns say of the features: "
                "reduce_scatter(comm, ...) sums that": [scores, alone[rank], of_w],
                "The ReLU passes a gradient only where features > 0": [scores, unmasked, of_w],
            }
            mine = value[0] if isinstance(value, tuple | list) else None
            if np.shape(mine) == (3, 2) != scores.shape:
                raise Wrong(
                    f"{told}: rank {rank} has scores for its own images. It has the columns of a "
                    "few classes, for all images: all_gather(comm, features) first."
                )
            _compare(told, rank, value, names, right, usual)


def _draw_pair(generator: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    return (
        generator.standard_normal((ROWS, INPUTS)),
        generator.standard_normal((count, INPUTS, MIDDLE)),
        generator.standard_normal((count, MIDDLE, OUTPUTS)),
        generator.standard_normal(OUTPUTS),
        generator.standard_normal((ROWS, OUTPUTS)),
    )


def _gradients(x: np.ndarray, a: np.ndarray, b: np.ndarray, of_y: np.ndarray) -> list[np.ndarray]:
    h = x @ a
    of_h = of_y @ b.T * (h > 0)
    return [of_h @ a.T, x.T @ of_h, np.maximum(h, 0).T @ of_y]


def _compare(
    told: str, rank: int, value: Any, names: Sequence[str], right: Sequence[np.ndarray],
    usual: dict[str, Any],
) -> None:  # fmt: skip
    """Whether a rank returned the right arrays; else a mistake that gives just what it did."""
    listed = f"{len(names)} arrays: {', '.join(names)}" if len(names) > 1 else names[0]
    shapes = [like.shape for like in right]
    found = arrays(value, names, f"{told}, rank {rank}: return {listed}", shapes)
    wrong = [k for k, pair in enumerate(zip(found, right, strict=True)) if not SAME(*pair)]
    if not wrong:
        return
    first = wrong[0]
    beside = {  # beside another mistake, perhaps
        words: mistake[first]
        for words, mistake in usual.items()
        if not isinstance(mistake, AnyOf) and not SAME(mistake[first], right[first])
    }
    apart = np.abs(found[first] - right[first]).max()
    otherwise = f"Some number is wrong by {apart:.3g}. Which of the sums go over ranks?"
    words = why(found, usual, same=SAME) or why(found[first], beside, otherwise, SAME)
    raise Wrong(f"{told}: {names[first]} on rank {rank} is wrong. {words}")


def _judge_bytes(told: str, outcome: Outcome, nbytes: int, advice: str) -> None:
    """A sum of n bytes makes all ranks together send 2 (P-1) n; twice that is too much."""
    count = len(outcome.ledger)
    sent = sum(own.bytes_sent for own in outcome.ledger)
    if count > 1 and sent >= 4 * (count - 1) * nbytes:
        raise Wrong(
            f"{told}: the numbers are right, and all ranks together sent {sent} bytes; one sum of "
            f"{nbytes} bytes takes {2 * (count - 1) * nbytes} round a ring. {advice}."
        )
