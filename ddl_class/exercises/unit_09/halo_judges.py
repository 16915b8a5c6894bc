"""The judges of unit 09, second part: edges of strips, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array
from ddl_class.exercises.kit.ranks import HOUR, LONG
from ddl_runtime.topologies.point_to_point import Uniform

SLOW = Uniform(latency=HOUR, bandwidth=1e12)
FEW = 2.5  # latencies: one side after the other takes two, a chain of five ranks four
Advice = Callable[[list[np.ndarray], int, np.ndarray], str]  # of all parts, a rank, its answer


def judge_with_halo(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """A row of the neighbour above, the own rows, a row of the one below; zeros at the border."""

    def draw(rows: int, columns: int) -> np.ndarray:
        return generator.standard_normal((rows, columns)) + 5.0  # none is nearly zero

    def right(strips: list[np.ndarray]) -> list[np.ndarray]:
        image = np.pad(np.concatenate(strips), ((1, 1), (0, 0)))
        ends = np.cumsum([len(strip) for strip in strips])
        return [image[end - len(own) : end + 2] for end, own in zip(ends, strips, strict=True)]

    _judge(stage, generator, counts, "with_halo", draw, right, _about_halo)


def judge_give_back(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
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
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int], name: str,
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


def _judge_messages(told: str, outcome: ProgramOutcome, columns: int) -> None:
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
