"""The judges of unit 09: a column-row pair, its gradients, a hybrid; and edges of strips, forwards
and backwards."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, arrays, not_none
from ddl_class.exercises.kit.compare import AnyOf, any_of, first_case, why, within
from ddl_class.exercises.kit.ranks import HOUR, LONG
from ddl_runtime.topologies.point_to_point import Uniform

ROWS, INPUTS, MIDDLE, OUTPUTS = 3, 5, 4, 5  # of a pair; MIDDLE is that of one rank
SAME = within(1e-9, 1e-9)


def judge_pair(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """relu(x A) B + bias on every rank, for one sum of y."""
    for count in ranks.first(3, counts):
        x, first, second, bias, _ = _draw_pair(generator, count)
        hidden = np.maximum(x @ first, 0)  # by rank, as are first and second
        parts = hidden @ second
        y, straight = parts.sum(axis=0), (x @ first @ second).sum(axis=0)
        told = f"pair on {ranks_text(count)}"
        outcome = stage.run(count, [(x, *own, bias) for own in zip(first, second, strict=True)])
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
                    [np.maximum((x @ first).sum(axis=0), 0) @ second[rank] + bias],
                    [hidden.sum(axis=0) @ second[rank] + bias],
                ),
            }
            not_none(value, f"{told}, rank {rank}: return y")
            _compare(told, rank, [value], ["y"], [y + bias], usual)
        _judge_bytes(told, outcome, y.nbytes, "Only y needs to be summed, and once")


def judge_gradients(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The gradient of x whole on every rank, those of a and b a rank's own, for one sum."""
    names = ["the gradient of x", "the gradient of a", "the gradient of b"]
    for count in ranks.first(3, counts):
        x, first, second, _, of_y = _draw_pair(generator, count)
        h = x @ first  # by rank, as is all that follows
        of_h = of_y @ second.mT
        passed = of_h * (h > 0)
        of_x, of_a, of_b = passed @ first.mT, x.T @ passed, np.maximum(h, 0).mT @ of_y
        of_all_x = of_x.sum(axis=0)
        told = f"pair_gradients on {ranks_text(count)}"
        outcome = stage.run(count, [(x, *both, of_y) for both in zip(first, second, strict=True)])
        for rank, value in enumerate(outcome.results):
            right = [of_all_x, of_a[rank], of_b[rank]]
            usual = {
                "x went to all ranks, so its gradient is the sum of what all ranks say; yours is "
                "this rank's part": [of_x[rank], *right[1:]],
                "Do not sum the gradients of a and b: these columns and rows are this rank's "
                "alone": [of_all_x, of_a.sum(axis=0), of_b.sum(axis=0)],
                "of_y is the same on all ranks, and whole: it needs no sum": (
                    [count * each for each in right]
                ),
                "The ReLU passes a gradient only where its input was positive: multiply by "
                "(h > 0)": [(of_h @ first.mT).sum(axis=0), x.T @ of_h[rank], of_b[rank]],
                "b was multiplied by relu(h), so its gradient is relu(h).T @ of_y": (
                    [*right[:2], h[rank].T @ of_y]
                ),
                "That is the mean over the ranks: sum": [of_all_x / count, *right[1:]],
            }
            _compare(told, rank, value, names, right, usual)
        _judge_bytes(told, outcome, x.nbytes, "Only the gradient of x needs to be summed")


def judge_hybrid(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Data-parallel features, then a classifier of which each rank has some columns."""
    names = ["the scores", "the gradient of c", "the gradient of w"]
    for count in ranks.first(3, counts):
        images = generator.standard_normal((count, 3, 5))  # by rank
        c = generator.standard_normal((5, 4))
        w = generator.standard_normal((count, 4, 2))
        of_scores = generator.standard_normal((count, 3 * count, 2))
        features = np.maximum(images @ c, 0)
        every = np.concatenate(features)
        # What each rank's columns say of the features of each rank's images.
        says = (of_scores @ w.mT).reshape(count, *features.shape)
        seen = features > 0
        of_c = images.mT @ (says.sum(axis=0) * seen)
        unmasked = images.mT @ says.sum(axis=0)
        alone = images.mT @ (says[range(count), range(count)] * seen)
        told = f"hybrid on {ranks_text(count)}"
        outcome = stage.run(count, [(images[r], c, w[r], of_scores[r]) for r in range(count)])
        for rank, value in enumerate(outcome.results):
            scores, of_w = every @ w[rank], every.T @ of_scores[rank]
            right = [scores, of_c.sum(axis=0), of_w]
            usual = {
                "c is the same on all ranks and each saw its own images only: sum its gradient "
                "over the ranks": [scores, of_c[rank], of_w],
                "These are no means of parts: the loss is that of the whole batch, so the "
                "gradient of c is the sum over the ranks": [scores, right[1] / count, of_w],
                "Do not sum the gradient of w: its columns are this rank's alone": (
                    [scores, right[1], (every.T @ of_scores).sum(axis=0)]
                ),
                "Nothing here is a mean: sum": [scores, right[1] / count, of_w / count],
                "Each rank knows only what its own columns say of the features: reduce_scatter "
                "sums that over the ranks, and gives everybody the rows of its own images": (
                    [scores, alone.sum(axis=0), of_w]
                ),
                "Each rank knows only what its own columns say of the features: "
                "reduce_scatter(comm, ...) sums that": [scores, alone[rank], of_w],
                "The ReLU passes a gradient only where features > 0": (
                    [scores, unmasked.sum(axis=0), of_w]
                ),
            }
            mine = value[0] if isinstance(value, tuple | list) else None
            if np.shape(mine) == (3, 2) != scores.shape:
                raise Wrong(
                    f"{told}: rank {rank} has scores for its own images. It has the columns of a "
                    "few classes, for all images: all_gather(comm, features) first."
                )
            _compare(told, rank, value, names, right, usual)


def _draw_pair(generator: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    first, second = (count, INPUTS, MIDDLE), (count, MIDDLE, OUTPUTS)
    shapes = ((ROWS, INPUTS), first, second, (OUTPUTS,), (ROWS, OUTPUTS))
    return tuple(generator.standard_normal(shape) for shape in shapes)


def _compare(
    told: str, rank: int, value: Any, names: Sequence[str], right: Sequence[np.ndarray],
    usual: dict[str, Any],
) -> None:  # fmt: skip
    """Whether a rank returned the right arrays; else a mistake that gives just what it did."""
    listed = f"{len(names)} arrays: {', '.join(names)}" if len(names) > 1 else names[0]
    shapes = [like.shape for like in right]
    found = arrays(value, names, f"{told}, rank {rank}: return {listed}", shapes)
    pairs = enumerate(zip(found, right, strict=True))
    first = next((place for place, pair in pairs if not SAME(*pair)), None)
    if first is None:
        return
    beside = {  # beside another mistake, perhaps
        words: mistake[first]
        for words, mistake in usual.items()
        if not isinstance(mistake, AnyOf) and not SAME(mistake[first], right[first])
    }
    apart = np.abs(found[first] - right[first]).max()
    otherwise = f"Some number is wrong by {apart:.3g}. Which of the sums go over ranks?"
    words = why(found, usual, same=SAME) or why(found[first], beside, otherwise, SAME)
    raise Wrong(f"{told}: {names[first]} on rank {rank} is wrong. {words}")


def _judge_bytes(told: str, outcome: ProgramOutcome, nbytes: int, advice: str) -> None:
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
Rows = np.ndarray  # by rank, row and column
CAUSES: ranks.Causes = {
    "The first rank has nobody above it, and the last nobody below: ask before you send.": (
        ranks.no_such_rank
    ),
    "Who sends first and receives then waits for a neighbour who does the same. Use "
    "comm.sendrecv, or begin with comm.isend and comm.irecv and wait for all of them.": (
        ranks.some_send
    ),
}


def judge_with_halo(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """A row of the neighbour above, the own rows, a row of the one below; zeros at the border."""

    def right(strips: Rows) -> Rows:
        wide = np.pad(strips, ((0, 0), (1, 1), (0, 0)))
        wide[1:, 0], wide[:-1, -1] = strips[:-1, -1], strips[1:, 0]
        return wide

    _judge_rows(stage, generator, counts, "with_halo", 0, right, _wrong_halo)


def judge_give_back(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The own rows' gradients, and on the first and last of them what the neighbours say."""

    def right(gradients: Rows) -> Rows:
        own = gradients[:, 1:-1].copy()
        own[:-1, -1] += gradients[1:, 0]
        own[1:, 0] += gradients[:-1, -1]
        return own

    _judge_rows(stage, generator, counts, "give_back", 2, right, _wrong_gradient)


def _judge_rows(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int], name: str,
    outer: int, right_of: Callable[[Rows], Rows], usual: Callable[[Rows, int, np.ndarray], str],
) -> None:  # fmt: skip
    for count in ranks.first(3, counts):
        for rows, columns in ((4, 5), (1, 3), (2, LONG)):
            # None of the numbers is nearly zero.
            parts = generator.standard_normal((count, rows + outer, columns)) + 5.0
            right = right_of(parts)
            call = f"{name} on {ranks_text(count)}, each with {rows} rows"
            outcome = ranks.run(stage, count, [(own,) for own in parts], call, CAUSES, SLOW)
            for rank, result in enumerate(outcome.results):
                found = array(result, f"{call}: return the result, rank {rank}", right[rank].shape)
                if not np.allclose(found, right[rank]):
                    raise Wrong(f"{call}: rank {rank} is wrong. {usual(parts, rank, found)}")
            neighbours = [(rank > 0) + (rank < count - 1) for rank in range(count)]
            enough = [8 * columns * many for many in neighbours]
            ranks.judge_sent(call, outcome, enough, "one row to each neighbour", "bytes")
            # Of real ranks the time is some thousandth of this latency.
            if outcome.time > FEW * HOUR:
                raise Wrong(
                    f"{call}: the numbers are right, and it takes as long as "
                    f"{outcome.time / HOUR:.0f} messages one after the other. Each rank deals "
                    "with the one above first, which is busy with the one above it: a chain. "
                    "Begin everything with comm.isend and comm.irecv, then wait."
                )


def _wrong_halo(strips: Rows, rank: int, found: np.ndarray) -> str:
    own = strips[rank]
    if not np.allclose(found[1:-1], own):
        return "The rows in the middle are the own strip, as it was."
    for name, other, edge, near, far, neighbour in (
        ("above", "below", found[0], "last", "first", rank - 1),
        ("below", "above", found[-1], "first", "last", rank + 1),
    ):
        if neighbour in range(len(strips)):
            theirs = strips[neighbour]
            right, end = (theirs[-1], theirs[0]) if near == "last" else (theirs[0], theirs[-1])
            cases = {
                f"The row {name} is still zeros: it is the neighbour's": np.allclose(edge, 0),
                f"The row {name} is a copy of its own: it is the neighbour's": (
                    np.allclose(edge, own[0]) or np.allclose(edge, own[-1])
                ),
                f"The row {name} is the neighbour's {far} one, at its far end: the {near} one "
                "lies next to this strip": np.allclose(edge, end),
            }
            otherwise = f"The row {name} is not the neighbour's: was it sent to the one {other}?"
        else:
            right = np.zeros_like(edge)
            nobody = f"Nobody is {name} it: there is a row of zeros, the padding"
            cases = {
                f"{nobody}; an image is no ring, and its end is no copy. np.zeros makes one; "
                "np.empty does not": any(np.allclose(edge, row) for own in strips for row in own)
            }
            otherwise = f"{nobody}. np.zeros makes one; np.empty does not"
        if not np.allclose(edge, right):
            return first_case(cases, otherwise)
    return ""


def _wrong_gradient(gradients: Rows, rank: int, found: np.ndarray) -> str:
    own = gradients[rank][1:-1]
    from_above = gradients[rank - 1][-1] if rank else np.zeros_like(own[0])
    from_below = gradients[rank + 1][0] if rank + 1 < len(gradients) else np.zeros_like(own[0])

    def added(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        rows = own.copy()
        rows[0] += first
        rows[-1] += last
        return rows

    usual = {
        "The outer rows are cut off, and what comes of them is lost: the neighbours used this "
        "strip's edges, so they send their gradients, and these are added": own,
        "The outer rows belong to the neighbours: send them there, and add what they send": (
            added(gradients[rank][0], gradients[rank][-1])
        ),
        "What comes from above belongs to the first row, which is the one that lies next to it, "
        "and what comes from below to the last": added(from_below, from_above),
    }
    if rank and np.allclose(found[0], from_above):
        return (
            "Add what comes from the neighbours to the own gradient; do not put it in its place."
        )
    otherwise = "The first row gets what the rank above sends, the last what the rank below sends"
    return why(found, usual, otherwise, within(1e-5, 1e-8))
