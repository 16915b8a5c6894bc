"""Mixing matrices: the weights by which a rank averages the vectors that it receives.

W[i, j] is the weight that rank i gives to the vector from rank j, and to its own where i = j:

    Metropolis-Hastings   W_ij = 1 / (1 + max(d_i, d_j)),  W_ii = 1 - sum of the others
    equal shares          W_ij = 1 / (1 + d_j)       rank j sends equal parts, and keeps one

The first needs links that go both ways; rows *and* columns sum to 1, so no rank counts for more.
The second works on directed graphs, but only columns sum to 1: ranks that receive from many
collect more than their share. Push-sum divides that out again (Kempe, Dobra and Gehrke 2003;
Assran et al. 2019). Metropolis et al. 1953; Hastings 1970; Xiao and Boyd 2004. What to look at:
the plain average, 1 / (1 + d_i), ends in agreement, but not on the mean.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach.theory.gossip.graphs import CommunicationGraph

CLOSE = 1e-9  # what rounding may leave of a sum

Weights = Callable[[CommunicationGraph, int, int], dict[int, float]]


def metropolis_hastings(graph: CommunicationGraph, rank: int, step: int = 0) -> dict[int, float]:
    """Metropolis-Hastings weights of the ranks that `rank` receives from; its own vector gets the
    rest."""
    if not graph.undirected:
        raise ValueError(
            f"Metropolis-Hastings weights need links that go both ways, and the {graph.name} "
            f"graph of {graph.ranks} ranks has some that do not. Take equal_shares, or push-sum "
            "if some ranks hear from more ranks than others."
        )
    heard = graph.hears_from(rank, step)
    degrees = {other: len(graph.sends_to(other, step)) for other in heard}
    return {other: 1 / (1 + max(len(heard), degree)) for other, degree in degrees.items()}


def equal_shares(graph: CommunicationGraph, rank: int, step: int = 0) -> dict[int, float]:
    """Weights if every rank sends equal parts of its vector and keeps one, by the rank they come
    from."""
    return {
        other: 1 / (1 + len(graph.sends_to(other, step))) for other in graph.hears_from(rank, step)
    }


def heard_weights(graph: CommunicationGraph, rank: int, step: int = 0) -> dict[int, float]:
    """The weights of plain gossip, or an error that says why there are none on this graph."""
    if graph.undirected:
        return metropolis_hastings(graph, rank, step)
    if not graph.regular:
        raise ValueError(
            f"on the {graph.name} graph of {graph.ranks} ranks some hear from more than others, "
            "and links go one way. So no rank can find weights by itself that let all ranks count "
            "the same. Take push-sum, which needs no such weights; or links that go both ways; or "
            "a graph on which all send to and hear from equally many, as the exponential ones"
        )
    return equal_shares(graph, rank, step)


def mixing_matrix(
    graph: CommunicationGraph, step: int = 0, weights: Weights = heard_weights
) -> np.ndarray:
    """The weights of all ranks as a matrix. Its columns sum to 1; its rows too, except for equal
    shares."""
    matrix = np.zeros((graph.ranks, graph.ranks))
    for rank in range(graph.ranks):
        for other, weight in weights(graph, rank, step).items():
            matrix[rank, other] = weight
    np.fill_diagonal(matrix, 1 - matrix.sum(axis=0))
    return matrix


def mixing_matrices(graph: CommunicationGraph) -> list[np.ndarray]:
    """The mixing matrix of each round of a graph; most graphs have one round."""
    return [mixing_matrix(graph, step) for step in range(len(graph.rounds))]


def check_doubly_stochastic(matrix: np.ndarray, name: str = "this matrix") -> np.ndarray:
    """`matrix`, or an error that says which rank is treated unjustly, and what comes of it."""
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(
            f"a mixing matrix has a row and a column for each rank; the shape of {name} is "
            f"{matrix.shape}"
        )
    if not np.isfinite(matrix).all() or matrix.min() < -CLOSE:
        i, j = np.unravel_index(np.argmin(np.nan_to_num(matrix, nan=-np.inf)), matrix.shape)
        raise ValueError(
            f"weights are not negative, but in {name} rank {i} gives {matrix[i, j]:.3g} to "
            f"rank {j}"
        )
    rows, columns = matrix.sum(axis=1), matrix.sum(axis=0)
    row, column = (int(np.argmax(abs(sums - 1))) for sums in (rows, columns))
    if abs(rows[row] - 1) > CLOSE:
        advice = (
            "The columns do sum to 1, so nothing is lost: push-sum, which divides by what the "
            "weights add up to, finds the mean here; plain gossip does not"
            if abs(columns[column] - 1) <= CLOSE
            else "A vector on which all ranks agree would not stay as it is: give what is missing "
            "to the rank itself, on the diagonal"
        )
        raise ValueError(
            f"{name}: the weights with which rank {row} averages (row {row}) sum to "
            f"{rows[row]:.4g}, not to 1. {advice}"
        )
    if abs(columns[column] - 1) > CLOSE:
        raise ValueError(
            f"{name}: the weights that rank {column}'s vector is given (column {column}) sum to "
            f"{columns[column]:.4g}, not to 1: ranks would agree, but not on the mean, because "
            f"rank {column} counts for {'more' if columns[column] > 1 else 'less'} than others. "
            "Metropolis-Hastings weights, 1 / (1 + the larger of both degrees), treat all alike"
        )
    return matrix
