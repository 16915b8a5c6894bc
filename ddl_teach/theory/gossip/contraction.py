"""How fast gossip agrees: the second eigenvalue.

The vectors' distance from their mean shrinks in every step by at least the second singular value
of the mixing matrix; where W is symmetric or circulant that is the second largest |eigenvalue|:

    ||X - mean|| after t steps  <=  lambda_2^t  ||X - mean||

    ring         lambda_2 = 1/3 + 2/3 cos(2 pi / P)       1 - lambda_2  ~  4 pi^2 / (3 P^2)
    torus        one dimension of side a: (3 + 2 cos(2 pi / a)) / 5
    exponential  lambda_2 = (t - 1) / (t + 1), t = ceil(log2 P)   for even P (Ying et al. 2021)
    one peer     0 after log2 P steps, exactly, if P is a power of two; else not

With noise of size s added by every rank in every step (learning rate times the gradients' standard
deviation) ranks never agree entirely. Each eigenvalue keeps its share of the noise:

    mean ||x_i - mean||^2  =  s^2 / P  sum over k > 1 of  1 / (1 - |lambda_k|^2)

Boyd et al., "Randomized gossip algorithms", 2006; Lian et al. 2017.
What to look at: four times the ranks on a ring take sixteen times the steps.

With an all-reduce it makes no difference whether ranks average gradients or weights. Among a few
neighbours it does. In a valley of curvature a, with learning rate r, a disagreement in the
direction of eigenvalue lambda of the mixing matrix is multiplied in every step by

    weights averaged, then a step    lambda - r a       |...| < 1: they come together
    gradients averaged               1 - r a lambda     lambda < 0: they part, exponentially

A ring of four or more ranks has negative eigenvalues: where neighbours alternate, everybody hears
mostly those on the other side, and follows a gradient that is not its own. Where lambda = 0
nothing holds ranks together, and each step's noise stays for ever. And where lambda > 0 they do
not meet either if their data differ: each goes to the minimum of its own.
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
    """The same after every step, where `seen[rank][step]` is what a rank had by then."""
    return [consensus_error(vectors) for vectors in zip(*seen, strict=True)]


def eigenvalues(graph: CommunicationGraph | np.ndarray) -> np.ndarray:
    """All of a mixing matrix, or of a graph's, but the 1 that belongs to the mean.

    Of a graph with several rounds: of what a whole period does.
    """
    if isinstance(graph, CommunicationGraph):
        graph = reduce(lambda done, matrix: matrix @ done, mixing_matrices(graph))
    matrix = np.asarray(graph, dtype=float)
    solve = np.linalg.eigvalsh if np.allclose(matrix, matrix.T, atol=1e-12) else np.linalg.eigvals
    # The mean's eigenvalue becomes 0, and so there is one 0 too many.
    found = solve(matrix - 1 / len(matrix))
    return np.delete(found, np.argmin(abs(found)))


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


def torus(side: int) -> float:
    """The second eigenvalue of a square torus, in closed form."""
    if count("side", side) < 3:
        raise ValueError(f"on a torus of side {side} some neighbours are one and the same rank")
    return (3 + 2 * cos(2 * pi / side)) / 5


def exponential(ranks: int) -> float:
    """The second eigenvalue of the exponential graph; for odd numbers of ranks an upper bound."""
    hops = (count("ranks", ranks) - 1).bit_length()
    return (hops - 1) / (hops + 1) if hops else 0.0


def steps_until(fraction: float, second: float) -> float:
    """Steps after which at most this fraction of the disagreement is left."""
    if not 0 < fraction < 1:
        raise ValueError(f"a fraction is more than 0 and less than 1, not {fraction!r}")
    return inf if second >= 1 else log(fraction) / log(second) if second > 0 else 1.0


def expected_errors(graph: CommunicationGraph, steps: int, last: bool = False) -> np.ndarray:
    """What is left after 0, 1, ... steps of the disagreement of independent random vectors.

    lambda_2^t is for the worst of vectors. Random ones have a part in every eigenvalue, and those
    with small ones go first: the root of the mean |lambda_k|^2t, which is also the norm of
    W_t ... W_1 - 1/P. With `last` the steps are the last ones of a period, not the first.
    """
    left = np.eye(graph.ranks) - 1 / graph.ranks
    squares = [float(np.square(left).sum())]
    for step in range(steps):
        matrix = mixing_matrix(graph, -1 - step if last else step)
        left = left @ matrix if last else matrix @ left
        squares.append(float(np.square(left).sum()))
    return np.sqrt(np.array(squares) / (squares[0] or 1.0))


def disagreement(graph: CommunicationGraph, noise: float = 1.0) -> float:
    """How far apart ranks stay that mix, then each add noise of this size, for ever.

    Of a graph with several rounds: at the end of a period.
    """
    if len(graph.rounds) == 1:
        kept = 1 - abs(eigenvalues(graph)) ** 2
        if not all(kept > 1e-12):
            return inf
        return noise * sqrt(float((1 / kept).sum()) / graph.ranks)
    ages = expected_errors(graph, 20 * len(graph.rounds), last=True)
    return noise * sqrt(float(np.square(ages).sum()) * (graph.ranks - 1) / graph.ranks)


def growth_of_averaged_gradients(
    graph: CommunicationGraph, learning_rate: float, curvature: float
) -> float:
    """By how much the fastest disagreement is multiplied in a step: above 1 it explodes."""
    return max(abs(1 - learning_rate * curvature * _of_one_round(graph)), default=0.0)


def growth_of_averaged_weights(
    graph: CommunicationGraph, learning_rate: float, curvature: float
) -> float:
    """The same for D-PSGD, which averages weights and takes a step with its own gradient."""
    return max(abs(_of_one_round(graph) - learning_rate * curvature), default=0.0)


def _of_one_round(graph: CommunicationGraph) -> np.ndarray:
    if len(graph.rounds) > 1:
        raise ValueError(
            f"the {graph.name} graph changes from step to step, and so do its directions: no one "
            "factor describes it. Simulate it instead"
        )
    return eigenvalues(graph)
