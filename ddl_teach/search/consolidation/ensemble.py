"""The mean over all members on all ranks, of whatever they are asked for: one all-reduce.

    mean = (sum over ranks of (sum over own members)) / (sum over ranks of how many)

The count travels with the sum, so a rank may hold any number of members. By the ring each rank
sends 2 (P-1)/P of 8 (n + 1) bytes. Of *outputs* this mean is an ensemble,

    p = mean over members of softmax(scores of the member / temperature)

which costs the work of all members for each picture (Hansen and Salamon, "Neural network
ensembles", IEEE Transactions on pattern analysis and machine intelligence, 1990). Of *weights* it
is one network, and only where all members lie in one valley a good one: those of one training do
(Izmailov, Podoprikhin, Garipov, Vetrov and Wilson, "Averaging weights leads to wider optima and
better generalization", UAI 2018), those of two trainings do not (Frankle, Dziugaite, Roy and
Carbin, "Linear mode connectivity and the lottery ticket hypothesis", ICML 2020).
What to look at: members that learnt the same pictures do not err independently, and the gain is a
fraction of what `theory.ensembles` promises. The loss of the mean is never above the mean loss.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.training.tasks.perceptron import Perceptron, softmax

Members = Sequence[np.ndarray]  # the weights of each


def mean_of_members(comm: Comm, own: np.ndarray) -> np.ndarray:
    """The mean over the first axis of every rank's `own`, which may have the length 0 there."""
    own = np.asarray(own)
    if own.ndim == 0:
        raise ValueError(
            f"rank {comm.rank}: own={own} is a single number; members stand along the first axis, "
            "as in np.array([number])"
        )
    total = np.append(own.sum(axis=0, dtype=np.float64).ravel(), float(len(own)))
    ring.allreduce(comm, total)
    if not total[-1]:
        raise ValueError("no rank has a member: there is nothing to take a mean of")
    return np.asarray((total[:-1] / total[-1]).reshape(own.shape[1:]))


def rows_of(members: Sequence[Any], size: int) -> np.ndarray:
    """Vectors of `size` numbers below each other; a table without rows where there are none."""
    return np.reshape(members, (len(members), size))


def probabilities(
    comm: Comm, network: Perceptron, members: Members, x: np.ndarray, temperature: float = 1.0
) -> np.ndarray:
    """What the members of all ranks think of each row of `x`, on the average."""
    amount(temperature, "temperature, which divides the scores,", zero=False)
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
