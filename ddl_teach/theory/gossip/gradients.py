"""Why neighbours must average weights: with averaged gradients they part.

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

import numpy as np

from ddl_teach.theory.gossip.contraction import eigenvalues
from ddl_teach.theory.gossip.graphs import Graph


def growth_of_averaged_gradients(graph: Graph, learning_rate: float, curvature: float) -> float:
    """By how much the fastest disagreement is multiplied in a step: above 1 it explodes."""
    return max(abs(1 - learning_rate * curvature * _of_one_round(graph)), default=0.0)


def growth_of_averaged_weights(graph: Graph, learning_rate: float, curvature: float) -> float:
    """The same for D-PSGD, which averages weights and takes a step with its own gradient."""
    return max(abs(_of_one_round(graph) - learning_rate * curvature), default=0.0)


def _of_one_round(graph: Graph) -> np.ndarray:
    if len(graph.rounds) > 1:
        raise ValueError(
            f"the {graph.name} graph changes from step to step, and so do its directions: no one "
            "factor describes it. Simulate it instead"
        )
    return eigenvalues(graph)
