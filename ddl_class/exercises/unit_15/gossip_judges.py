"""The judges of unit 15, second part: mixing matrices, and a step of gossip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array
from ddl_class.exercises.kit.compare import AnyOf, alike, any_of, why, within
from ddl_class.exercises.kit.ranks import LONG
from ddl_teach.theory.gossip import graphs, mixing

SAME = within(1e-5, 1e-8)

UNEVEN = (  # neighbours that have unequally many
    ((1, 2, 3), (0,), (0,), (0,)),
    ((1,), (0, 2), (1, 3), (2,)),
    ((1, 2), (0, 2, 3), (0, 1), (1, 4), (3,)),
    ((),),
)


def judge_weights(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The Metropolis-Hastings matrix of lists of neighbours."""
    drawn = [
        graphs.random(int(count), rings, int(generator.integers(1000))).rounds[0]
        for count in generator.integers(4, 9, 3)
        for rings in (1, 2)
    ]
    for links in (*UNEVEN, *drawn):
        neighbours = [list(near) for near in links]
        right = mixing.mixing_matrix(graphs.CommunicationGraph("given", (links,)))
        call = f"weights({neighbours})"
        wanted = f"{call}: return a matrix with a row and a column for each rank"
        found = array(stage.call(neighbours), wanted, right.shape)
        if alike(found, right, atol=1e-9):
            continue
        degrees = np.array([len(near) for near in neighbours])
        larger, smaller = np.maximum.outer(degrees, degrees), np.minimum.outer(degrees, degrees)

        spread = partial(_spread, right - np.diag(np.diag(right)) > 0)
        usual = {
            "The diagonal is zero: a rank keeps what it does not give to its neighbours, "
            "1 - matrix[i].sum()": right - np.diag(np.diag(right)),
            "Each row is the plain average: rows sum to 1, but columns do not, and ranks with "
            "many neighbours count for more. Take the larger of both degrees": (
                spread(1 / (1.0 + degrees[:, None]))
            ),
            "You take the neighbour's degree alone: take the larger of both": (
                spread(1 / (1.0 + degrees[None, :]))
            ),
            "You take the smaller of both degrees: what is left for a rank itself can become "
            "negative. Take the larger": spread(1 / (1.0 + smaller)),
            "1 / the larger degree leaves nothing for a rank itself: it is 1 / (1 + the larger "
            "degree)": spread(1 / np.maximum(larger, 1)),
        }
        if words := why(found, usual, same=within(1e-5, 1e-8)):
            raise Wrong(f"{call}: {words}")
        raise Wrong(f"{call}: {_unjust(found, right)}")


def _spread(joined: np.ndarray, weights: np.ndarray) -> AnyOf:
    """Such weights where there is a link, with what is left on the diagonal or without."""
    wrong = np.where(joined, weights, 0.0)
    return any_of(wrong + np.diag(1 - wrong.sum(axis=1)), wrong)


def judge_mix(stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """A row of the matrix times everybody's vector, from those only who have a weight in it."""
    for count in ranks.first(3, counts):
        star = mixing.mixing_matrix(graphs.star(count), weights=mixing.equal_shares)
        circle = mixing.mixing_matrix(graphs.exponential(count))
        for matrix, graph in ((star, "star"), (circle, "exponential graph")):
            size = LONG if count == 3 else 5
            own = generator.standard_normal((count, size))
            told = f"mix on {ranks_text(count)} of the {graph}"
            given = [(x.copy(), matrix) for x in own]
            outcome = ranks.run(stage, count, given, told, CAUSES)
            _judge_vectors(told, outcome, own, matrix)
            _judge_messages(told, outcome, matrix)


def _judge_vectors(
    told: str, outcome: ProgramOutcome, own: np.ndarray, matrix: np.ndarray
) -> None:
    right = matrix @ own
    diagonal = np.diag(matrix)[:, None]
    heard = right - diagonal * own
    others = matrix - np.diag(np.diag(matrix))
    mistakes = {
        "x is as it was: nothing has been done to it in place": own,
        "You took a column: matrix[i, j] is the weight that rank i gives to what it hears from "
        "rank j, so rank i's weights stand in row i": matrix.T @ own,
        "The own vector is missing: it has the weight matrix[rank, rank]": heard,
        "The own vector counts fully: multiply it by matrix[rank, rank]": own + heard,
        "What the others sent is missing: add it, with its weight": diagonal * own,
        "The others heard x when it was multiplied already: send a copy of x as it was": (
            own * diagonal + others @ (diagonal * own)
        ),
    }
    for rank, arguments in enumerate(outcome.arguments):
        found = np.asarray(arguments[0], dtype=float)
        if SAME(found, right[rank]):
            continue
        usual = {words: wrong[rank] for words, wrong in mistakes.items()}
        words = why(found, usual, "It is the sum of row times x", SAME)
        returned = outcome.results[rank]
        if np.shape(returned) == right[rank].shape and SAME(returned, right[rank]):
            words = "Nobody looks at what is returned: x[...] = ... changes x itself."
        raise Wrong(f"{told}: x is wrong on rank {rank}. {words}")


def _judge_messages(told: str, outcome: ProgramOutcome, matrix: np.ndarray) -> None:
    for rank, ledger in enumerate(outcome.ledger):
        wanted = int(np.count_nonzero(matrix[:, rank])) - 1
        if ledger.messages_sent > wanted:
            raise Wrong(
                f"{told}: the vectors are right, but rank {rank} sends {ledger.messages_sent} "
                f"messages, and only {wanted} of the others have a weight for what it sends. With "
                "thousands of ranks that is the difference: ask matrix[other, rank] before you "
                "send."
            )


CAUSES: ranks.Causes = (
    (
        ranks.some_send,
        "Who sends first and receives then waits for a neighbour who does the same. Begin with "
        "comm.isend, receive, and wait for what was begun at the end.",
    ),
    (
        ranks.stuck_or_lost,
        "Links may go one way only: rank i hears from those with matrix[i, j] > 0, and sends to "
        "those who have a weight for it, matrix[j, i] > 0.",
    ),
)


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
