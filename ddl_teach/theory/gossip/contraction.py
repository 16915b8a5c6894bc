"""How fast gossip agrees: the second eigenvalue.

The vectors' distance from their mean shrinks in every step by at least the second singular value
of the mixing matrix; where W is symmetric or circulant that is the second largest |eigenvalue|:

    ||X - mean|| after t steps  <=  lambda_2^t  ||X - mean||

On a ring 1 - lambda_2 is about 4 pi^2 / (3 P^2): four times the ranks take sixteen times the
steps. With noise of size s added by every rank in every step (learning rate times the gradients'
standard deviation) ranks never agree entirely. Each eigenvalue keeps its share of the noise:

    mean ||x_i - mean||^2  =  s^2 / P  sum over k > 1 of  1 / (1 - |lambda_k|^2)

Boyd et al., "Randomized gossip algorithms", 2006; Lian et al. 2017.

Among a few neighbours it matters whether ranks average gradients or weights. Take a valley of
curvature a, a learning rate r, and a disagreement in the direction of eigenvalue lambda of the
mixing matrix. Every step multiplies it by

    weights averaged, then a step    lambda - r a       |...| < 1: they come together
    gradients averaged               1 - r a lambda     lambda < 0: they part, exponentially

A ring of four or more ranks has negative eigenvalues: if neighbours have alternating values, each
rank receives mostly values of the other kind. Where lambda >= 0 they do not meet either: noise
stays.
What to look at: the mean of all ranks behaves well all the time; only the ranks do not.
"""

from collections.abc import Sequence
from functools import reduce
from math import cos, inf, log, pi, sqrt

import numpy as np

from ddl_teach.theory.gossip.graphs import CommunicationGraph
from ddl_teach.theory.gossip.mixing import mixing_matrices, mixing_matrix
from ddl_teach.theory.inputs import count


def consensus_error(vectors: Sequence[np.ndarray] | np.ndarray) -> float:
    """How far apart the ranks are: the root of mean ||x_i - mean||^2, one row for each rank."""
    rows = np.asarray(vectors, dtype=float)
    apart = rows - rows.mean(axis=0)
    return float(np.sqrt((apart * apart).sum() / len(rows)))


def consensus_errors(seen: Sequence[Sequence[np.ndarray]]) -> list[float]:
    """The `consensus_error` after every step; `seen[rank][step]` is a rank's vector then."""
    return [consensus_error(vectors) for vectors in zip(*seen, strict=True)]


def eigenvalues(graph: CommunicationGraph | np.ndarray) -> np.ndarray:
    """The eigenvalues of a mixing matrix, or of a graph's whole period, without the 1 that belongs
    to the mean."""
    if isinstance(graph, CommunicationGraph):
        graph = reduce(lambda done, matrix: matrix @ done, mixing_matrices(graph))
    matrix = np.asarray(graph, dtype=float)
    solve = np.linalg.eigvalsh if np.allclose(matrix, matrix.T, atol=1e-12) else np.linalg.eigvals
    # The mean's eigenvalue becomes 0, and so there is one 0 too many.
    values = solve(matrix - 1 / len(matrix))
    return np.delete(values, np.argmin(abs(values)))


def second_eigenvalue(graph: CommunicationGraph | np.ndarray) -> float:
    """The second largest |eigenvalue| of a mixing matrix, or of a graph's; of one with several
    rounds per step, as the root of what a period does. 0 where that makes all ranks equal."""
    largest = float(max(abs(eigenvalues(graph)), default=0.0))
    # What is exactly 0 comes out as some rounding.
    rounds = len(graph.rounds) if isinstance(graph, CommunicationGraph) else 1
    return largest ** (1 / rounds) if largest > 1e-7 else 0.0


def ring(ranks: int) -> float:
    """The second eigenvalue of a ring, in closed form."""
    if count("ranks", ranks) < 4:
        return 0.0  # up to three ranks are all neighbours
    # A wave of frequency k shrinks by 1/3 + 2/3 cos(2 pi k / P): the longest wave least.
    return 1 / 3 + 2 / 3 * cos(2 * pi / ranks)


def random_pairs(ranks: int) -> float:
    """By which factor the mean square distance shrinks in a round of random pairs, expected."""
    # For pairs W W = W, and the mean of all W is I/2 + (J - I) / (2 (P - 1)) if P is even.
    if count("ranks", ranks) % 2:
        return 0.5 if ranks > 1 else 0.0
    return (ranks - 2) / (2 * (ranks - 1))


def steps_until(fraction: float, second: float) -> float:
    """Steps after which at most this fraction of the disagreement is left."""
    if not 0 < fraction < 1:
        raise ValueError(f"fraction={fraction!r} must be more than 0 and less than 1")
    return inf if second >= 1 else log(fraction) / log(second) if second > 0 else 1.0


def expected_errors(graph: CommunicationGraph, steps: int, last: bool = False) -> np.ndarray:
    """What is left after 0, 1, ... steps of the disagreement of independent random vectors: the
    root of the mean |lambda_k|^2t, the norm of W_t ... W_1 - 1/P. With `last` the steps are the
    last ones of a period.
    """
    left = np.eye(graph.ranks) - 1 / graph.ranks
    squares = [float(np.square(left).sum())]
    for step in range(steps):
        matrix = mixing_matrix(graph, -1 - step if last else step)
        left = left @ matrix if last else matrix @ left
        squares.append(float(np.square(left).sum()))
    return np.sqrt(np.array(squares) / (squares[0] or 1.0))


def disagreement(graph: CommunicationGraph, noise: float = 1.0) -> float:
    """How far apart ranks stay that mix, then each add noise of this size, for ever; of several
    rounds at the end of a period."""
    if len(graph.rounds) == 1:
        kept = 1 - abs(eigenvalues(graph)) ** 2
        if not all(kept > 1e-12):
            return inf
        return noise * sqrt(float((1 / kept).sum()) / graph.ranks)
    ages = expected_errors(graph, 20 * len(graph.rounds), last=True)
    return noise * sqrt(float(np.square(ages).sum()) * (graph.ranks - 1) / graph.ranks)
