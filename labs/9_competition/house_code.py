"""The house's entry for the embedding of code: the same training, on gradients that are sparse.

Nearly all of a gradient is zeros, and the ring sends them all. That is an invitation.
"""

from itertools import count

from ddl_teach.collectives import ring

FORM = {
    "team": "the house",
    "discipline": "code",
    "settings": {"rule": "SGD", "rate": 8.0},
    "samples": 64,
    "trials": [],
}


def train(comm, make_task, look):
    """Average gradients by a ring after every step; look at every hundredth."""
    task = make_task(64)
    weights = task.initial()
    for step in count():
        _, gradient = task.gradient(weights, comm.rank, comm.size, step)
        ring.allreduce(comm, gradient)
        weights -= 8.0 * gradient / comm.size
        if step % 100 == 99 and look(weights, samples=64 * comm.size * (step + 1)):
            return
