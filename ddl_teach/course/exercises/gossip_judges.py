"""The judges of unit 15, second part: mixing matrices, and a step of gossip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_teach.comm.story import StoryError
from ddl_teach.course.exercises.exercise import Outcome, Stage, Wrong, ranks_text
from ddl_teach.course.exercises.split_judges import hardest_first
from ddl_teach.theory.gossip import graphs, mixing

LONG = 9_001  # numbers: more than what an MPI library sends before anybody receives
SHOWN = 60  # letters of an answer that is no matrix

UNEVEN = (  # neighbours that have unequally many
    ((1, 2, 3), (0,), (0,), (0,)),
    ((1,), (0, 2), (1, 3), (2,)),
    ((1, 2), (0, 2, 3), (0, 1), (1, 4), (3,)),
    ((),),
)


def judge_weights(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The Metropolis-Hastings matrix of lists of neighbours."""
    drawn = [
        graphs.random(int(count), rings, int(generator.integers(1000))).rounds[0]
        for count in generator.integers(4, 9, 3)
        for rings in (1, 2)
    ]
    for links in (*UNEVEN, *drawn):
        neighbours = [list(near) for near in links]
        right = mixing.mixing_matrix(graphs.Graph("given", (links,)))
        call = f"weights({neighbours})"
        found = _matrix(stage.call(neighbours), call, right.shape)
        if np.allclose(found, right, rtol=1e-9, atol=1e-9):
            continue
        degrees = np.array([len(near) for near in neighbours])
        joined = right - np.diag(np.diag(right)) > 0
        larger, smaller = np.maximum.outer(degrees, degrees), np.minimum.outer(degrees, degrees)
        mistakes = (
            (right - np.diag(np.diag(right)), False, "The diagonal is zero: a rank keeps what it "
             "does not give to its neighbours, 1 - matrix[i].sum()"),
            (1 / (1.0 + degrees[:, None]), True, "Each row is the plain average: rows sum to 1, "
             "but columns do not, and ranks with many neighbours count for more. Take the larger "
             "of both degrees"),
            (1 / (1.0 + degrees[None, :]), True, "You take the neighbour's degree alone: take the "
             "larger of both"),
            (1 / (1.0 + smaller), True, "You take the smaller of both degrees: what is left for a "
             "rank itself can become negative. Take the larger"),
            (1 / np.maximum(larger, 1), True, "1 / the larger degree leaves nothing for a rank "
             "itself: it is 1 / (1 + the larger degree)"),
        )  # fmt: skip
        for weights, diagonal, why in mistakes:
            wrong = np.where(joined, weights, 0.0)
            kept = wrong + np.diag(1 - wrong.sum(axis=1)) if diagonal else wrong
            if np.allclose(found, kept) or (diagonal and np.allclose(found, wrong)):
                raise Wrong(f"{call}: {why}.")
        raise Wrong(f"{call}: {_unjust(found, right)}")


def judge_mix(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """A row of the matrix times everybody's vector, from those only who have a weight in it."""
    for count in hardest_first(ranks):
        star = mixing.mixing_matrix(graphs.star(count), weights=mixing.equal_shares)
        circle = mixing.mixing_matrix(graphs.exponential(count))
        for matrix, graph in ((star, "star"), (circle, "exponential graph")):
            size = LONG if count == 3 else 5
            own = generator.standard_normal((count, size))
            told = f"mix on {ranks_text(count)} of the {graph}"
            try:
                outcome = stage.run(count, [(x.copy(), matrix) for x in own])
            except StoryError as story:
                words = _about_story(str(story))
                raise (Wrong(f"{told}: {words}\n\n{story}") if words else story) from None
            _judge_vectors(told, outcome, own, matrix)
            _judge_messages(told, outcome, matrix)


def _judge_vectors(told: str, outcome: Outcome, own: np.ndarray, matrix: np.ndarray) -> None:
    right = matrix @ own
    diagonal = np.diag(matrix)[:, None]
    heard = right - diagonal * own
    mistakes = (
        (own, "x is as it was: nothing has been done to it in place"),
        (matrix.T @ own, "You took a column: matrix[i, j] is the weight that rank i gives to what "
         "it hears from rank j, so rank i's weights stand in row i"),
        (heard, "The own vector is missing: it has the weight matrix[rank, rank]"),
        (own + heard, "The own vector counts fully: multiply it by matrix[rank, rank]"),
        (diagonal * own, "What the others sent is missing: add it, with its weight"),
        (own * diagonal + (matrix - np.diag(np.diag(matrix))) @ (diagonal * own),
         "The others heard x when it was multiplied already: send a copy of x as it was"),
    )  # fmt: skip
    for rank, arguments in enumerate(outcome.arguments):
        found = np.asarray(arguments[0], dtype=float)
        if found.shape == right[rank].shape and np.allclose(found, right[rank]):
            continue
        near = next(
            (why for wrong, why in mistakes
             if found.shape == wrong[rank].shape and np.allclose(found, wrong[rank])), "",
        )  # fmt: skip
        returned = outcome.results[rank]
        if np.shape(returned) == right[rank].shape and np.allclose(returned, right[rank]):
            near = "nobody looks at what is returned: x[...] = ... changes x itself"
        raise Wrong(
            f"{told}: x is wrong on rank {rank}. {near or 'It is the sum of row times x'}."
        )


def _judge_messages(told: str, outcome: Outcome, matrix: np.ndarray) -> None:
    for rank, ledger in enumerate(outcome.ledger):
        wanted = int(np.count_nonzero(matrix[:, rank])) - 1
        if ledger.messages_sent > wanted:
            raise Wrong(
                f"{told}: the vectors are right, but rank {rank} sends {ledger.messages_sent} "
                f"messages, and only {wanted} of the others have a weight for what it sends. With "
                "thousands of ranks that is the difference: ask matrix[other, rank] before you "
                "send."
            )


def _about_story(story: str) -> str:
    if "send(" in story:
        return (
            "who sends first and receives then waits for a neighbour who does the same. Begin "
            "with comm.isend, receive, and wait for what was begun at the end."
        )
    if "recv(" in story or "unreceived" in story or "never received" in story:
        return (
            "links may go one way only: rank i hears from those with matrix[i, j] > 0, and sends "
            "to those who have a weight for it, matrix[j, i] > 0."
        )
    return ""


def _matrix(value: Any, call: str, shape: tuple[int, ...]) -> np.ndarray:
    if value is None:
        raise Wrong(f"{call} returns None. Is a `return` missing?")
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise Wrong(f"{call} is a matrix, not {str(value)[:SHOWN]}.") from None
    if found.shape != shape:
        raise Wrong(f"{call} has a row and a column for each rank: {shape}, not {found.shape}.")
    return found


def _unjust(found: np.ndarray, right: np.ndarray) -> str:
    try:
        mixing.check_doubly_stochastic(found)
    except ValueError as error:
        return f"{error}."
    row, column = np.unravel_index(np.argmax(abs(found - right)), right.shape)
    return (
        f"rank {row} gives {found[row, column]:.3g} to rank {column}, and "
        f"{right[row, column]:.3g} is right."
    )
