"""The judges of unit 09, first part: a column-row pair, its gradients, and a hybrid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Outcome, Stage, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, arrays, not_none
from ddl_class.exercises.kit.compare import AnyOf, any_of, why, within
from ddl_class.exercises.kit.ranks import HOUR, LONG
from ddl_runtime.topologies.point_to_point import Uniform

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


SLOW = Uniform(latency=HOUR, bandwidth=1e12)
FEW = 2.5  # latencies: one side after the other takes two, a chain of five ranks four
Advice = Callable[[list[np.ndarray], int, np.ndarray], str]  # of all parts, a rank, its answer


def judge_with_halo(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """A row of the neighbour above, the own rows, a row of the one below; zeros at the border."""

    def draw(rows: int, columns: int) -> np.ndarray:
        return generator.standard_normal((rows, columns)) + 5.0  # none is nearly zero

    def right(strips: list[np.ndarray]) -> list[np.ndarray]:
        image = np.pad(np.concatenate(strips), ((1, 1), (0, 0)))
        ends = np.cumsum([len(strip) for strip in strips])
        return [image[end - len(own) : end + 2] for end, own in zip(ends, strips, strict=True)]

    _judge(stage, generator, counts, "with_halo", draw, right, _about_halo)


def judge_give_back(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The own rows' gradients, and on the first and last of them what the neighbours say."""

    def draw(rows: int, columns: int) -> np.ndarray:
        return generator.standard_normal((rows + 2, columns)) + 5.0

    def right(gradients: list[np.ndarray]) -> list[np.ndarray]:
        own = [one[1:-1].copy() for one in gradients]
        for upper, lower in zip(range(len(own)), range(1, len(own)), strict=False):
            own[upper][-1] += gradients[lower][0]
            own[lower][0] += gradients[upper][-1]
        return own

    _judge(stage, generator, counts, "give_back", draw, right, _about_gradient)


def _judge(
    stage: Stage, generator: np.random.Generator, counts: Sequence[int], name: str,
    draw: Callable[[int, int], np.ndarray], right: Callable[[list], list], advice: Advice,
) -> None:  # fmt: skip
    for count in ranks.first(3, counts):
        for rows, columns in (([4] * count, 5), ([1] * count, 3), ([2] * count, LONG)):
            parts = [draw(own, columns) for own in rows]
            wanted = right(parts)
            told = f"{name} on {ranks_text(count)}, each with {rows[0]} rows"
            given = [(one.copy(),) for one in parts]
            outcome = ranks.run(stage, count, given, told, CAUSES, SLOW)
            for rank, value in enumerate(outcome.results):
                found = array(value, f"{told}: return the result, rank {rank}", wanted[rank].shape)
                if not np.allclose(found, wanted[rank]):
                    raise Wrong(f"{told}: rank {rank} is wrong. {advice(parts, rank, found)}.")
            _judge_messages(told, outcome, columns)
            _judge_chain(told, outcome.time / HOUR)


CAUSES: ranks.Causes = (
    (
        ranks.no_such_rank,
        "The first rank has nobody above it, and the last nobody below: ask before you send.",
    ),
    (
        ranks.some_send,
        "Who sends first and receives then waits for a neighbour who does the same. Use "
        "comm.sendrecv, or begin with comm.isend and comm.irecv and wait for all of them.",
    ),
)


def _about_halo(strips: list[np.ndarray], rank: int, found: np.ndarray) -> str:
    own, last = strips[rank], len(strips) - 1
    if not np.allclose(found[1:-1], own):
        return "The rows in the middle are the own strip, as it was"
    above = None if rank == 0 else strips[rank - 1]
    below = None if rank == last else strips[rank + 1]
    for name, edge, theirs, at in (
        ("above", found[0], above, -1), ("below", found[-1], below, 0),
    ):  # fmt: skip
        other = "below" if name == "above" else "above"
        if theirs is None:
            if not np.allclose(edge, 0):
                ring = any(np.allclose(edge, row) for one in strips for row in one)
                return (
                    f"Nobody is {name} it: there is a row of zeros, the padding"
                    + ("; an image is no ring, and its end is no copy" if ring else "")
                    + ". np.zeros makes one; np.empty does not"
                )
        elif not np.allclose(edge, theirs[at]):
            if np.allclose(edge, 0):
                return f"The row {name} is still zeros: it is the neighbour's"
            if np.allclose(edge, own[0]) or np.allclose(edge, own[-1]):
                return f"The row {name} is a copy of its own: it is the neighbour's"
            if np.allclose(edge, theirs[-1 - at]):
                return (
                    f"The row {name} is the neighbour's {'first' if at else 'last'} one, at its "
                    f"far end: the {'last' if at else 'first'} one lies next to this strip"
                )
            return f"The row {name} is not the neighbour's: was it sent to the one {other}?"
    return "Look at the first and the last row"


def _about_gradient(gradients: list[np.ndarray], rank: int, found: np.ndarray) -> str:
    own = gradients[rank][1:-1]
    from_above = gradients[rank - 1][-1] if rank else 0.0
    from_below = gradients[rank + 1][0] if rank + 1 < len(gradients) else 0.0
    swapped, once, edges = (own.copy() for _ in range(3))
    swapped[0] += from_below
    swapped[-1] += from_above
    once[-1] += from_below
    once[0] = from_above if rank else once[0]
    edges[0] += gradients[rank][0]
    edges[-1] += gradients[rank][-1]
    if np.allclose(found, own):
        return (
            "The outer rows are cut off, and what comes of them is lost: the neighbours used this "
            "strip's edges, so they send their gradients, and these are added"
        )
    if np.allclose(found, edges):
        return "The outer rows belong to the neighbours: send them there, and add what they send"
    if np.allclose(found, swapped):
        return (
            "What comes from above belongs to the first row, which is the one that lies next to "
            "it, and what comes from below to the last"
        )
    if rank and np.allclose(found[0], from_above):
        return "Add what comes from the neighbours to the own gradient; do not put it in its place"
    return "The first row gets what the rank above sends, the last what the rank below sends"


def _judge_messages(told: str, outcome: Outcome, columns: int) -> None:
    last = len(outcome.ledger) - 1
    for rank, own in enumerate(outcome.ledger):
        wanted = 8 * columns * ((rank > 0) + (rank < last))
        if own.bytes_sent > wanted:
            raise Wrong(
                f"{told}: the numbers are right, and rank {rank} sent {own.bytes_sent:,} bytes; "
                f"one row to each neighbour is {wanted:,}."
            )


def _judge_chain(told: str, latencies: float) -> None:
    """Of real ranks the time is some thousandth of this latency."""
    if latencies > FEW:
        raise Wrong(
            f"{told}: the numbers are right, and it takes as long as {latencies:.0f} messages one "
            "after the other. Each rank deals with the one above first, which is busy with the "
            "one above it: a chain. Begin everything with comm.isend and comm.irecv, then wait."
        )
