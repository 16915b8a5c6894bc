"""Gossip (D-PSGD): average weights with the neighbours, then a step with one's own gradient.

    x_i  <-  sum over j of W_ij x_j  -  rate * g_i(x_i)

No rank ever has the mean of all, but each stays near it: as far away as its gradients' noise
pushes and as the second eigenvalue of W lets it (`theory.gossip`). A step costs a message to each
neighbour, on any number of ranks; on a one-peer exponential graph that is one. Lian et al., "Can
decentralized algorithms outperform centralized algorithms?", NeurIPS 2017; Ying et al.,
"Exponential graph is provably efficient for decentralized deep training", NeurIPS 2021.
What to look at: averaging the neighbours' gradients instead looks alike, and tears ranks apart.
"""

from dataclasses import dataclass

from ddl_teach.training.consistency.consistency import AnyWorker, Consistency
from ddl_teach.training.consistency.handles import Mixes


@dataclass(frozen=True)
class Gossip(Consistency[Mixes]):
    """Mix the weights in every step; afterwards each worker has weights of its own."""

    needs = (Mixes,)
    sends = "weights"

    def run(self, worker: AnyWorker[Mixes]) -> None:
        for step in range(worker.steps):
            gradient = worker.gradient(step)
            worker.handle.mix(worker.weights, step)
            worker.update(gradient)
        # Once more after the last step: its noise is still each worker's own.
        worker.handle.mix(worker.weights, worker.steps)
