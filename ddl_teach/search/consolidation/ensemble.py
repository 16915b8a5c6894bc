"""An ensemble over ranks: each asks its own members, and one all-reduce makes the mean of them.

    p = mean over members of softmax(scores of the member / temperature)

Cost: each rank's members work for each picture; 8 (classes) bytes a picture are reduced, no matter
how large the networks are. Members that err independently of each other, each with a probability
e < 1/2, would vote wrongly with

    sum over k > N/2 of  (N over k) e^k (1-e)^(N-k)        (theory.ensembles),

which falls exponentially with N. Hansen and Salamon, "Neural network ensembles", IEEE Transactions
on pattern analysis and machine intelligence, 1990.
What to look at: members that learnt the same pictures do not err independently, and the gain is a
fraction of what the formula promises. The loss of the mean is never above the mean loss: -log is
convex.
"""

from collections.abc import Sequence

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.search.consolidation.members import mean_of_members
from ddl_teach.training.tasks.perceptron import Perceptron, softmax

Members = Sequence[np.ndarray]  # the weights of each


def probabilities(
    comm: Comm, network: Perceptron, members: Members, x: np.ndarray, temperature: float = 1.0
) -> np.ndarray:
    """What the members of all ranks think of each row of `x`, on the average."""
    if not temperature > 0:
        raise ValueError(f"temperature={temperature} divides the scores: it must be positive")
    thought = np.zeros((len(members), len(x), network.outputs))
    for place, weights in enumerate(members):
        thought[place] = softmax(network.forward(weights, x)[1], temperature)
    return mean_of_members(comm, thought)


def votes(comm: Comm, network: Perceptron, members: Members, x: np.ndarray) -> np.ndarray:
    """What share of the members of all ranks would answer so, for each row of `x`."""
    cast = np.zeros((len(members), len(x), network.outputs))
    for own, weights in zip(cast, members, strict=True):
        own[np.arange(len(x)), network.forward(weights, x)[1].argmax(axis=1)] = 1
    return mean_of_members(comm, cast)
