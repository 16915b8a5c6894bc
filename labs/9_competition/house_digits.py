"""The house's entry for the digits: data parallelism as in unit 08, and nothing clever.

Copy this file, give it your team's name, and make it faster. `train` is called on every rank;
FORM says what only you know.
"""

from itertools import count

from ddl_teach.collectives import ring

FORM = {
    "team": "the house",
    "discipline": "digits",
    "settings": {"rule": "SGD", "rate": 0.3},
    "samples": 16,  # of a step, on each rank
    "trials": [],  # of each training that chose your settings: ({"rate": 0.1}, seed, "not chosen")
}


def train(comm, make_task, look):
    """Average gradients by a ring after every step; look at every tenth."""
    task = make_task(16)
    weights = task.initial()
    for step in count():
        _, gradient = task.gradient(weights, comm.rank, comm.size, step)
        ring.allreduce(comm, gradient)
        weights -= 0.3 * gradient / comm.size
        if step % 10 == 9 and look(weights, samples=16 * comm.size * (step + 1)):
            return
