"""The digits, learnt together by all ranks: gradients are summed by a ring, and nothing is hidden.

    ddl-teach recipe run benchmarks/recipes/digits_on_two_ranks.toml

What to look at: a larger batch needs a larger rate, and more epochs all the same.
"""

import numpy as np

from ddl_measure.levels.training_level import measure_training
from ddl_measure.to_accuracy import Evaluation
from ddl_teach import Comm
from ddl_teach.collectives import ring
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.tasks.digits import Digits

LOOKS = 4  # at the held-out data in an epoch


def train(
    comm: Comm, seed: int, epochs: int, hidden: int, batch: int, rate: float, momentum: float
) -> tuple[Evaluation, ...]:
    """One rank's part of a training; the samples of a step are shared by all ranks."""
    if batch < comm.size or batch % comm.size:
        raise ValueError(f"batch={batch} cannot be shared equally by {comm.size} ranks")
    task = Digits(batch // comm.size, hidden, seed)
    weights, update = task.initial(), Momentum(rate, momentum)
    states = [np.zeros_like(weights) for _ in range(update.states)]
    learnt = len(task.pictures.learnt)

    def step(number: int) -> float:
        loss, gradient = task.gradient(weights, comm.rank, comm.size, number)
        ring.allreduce(comm, gradient)
        update(weights, gradient / comm.size, states, number + 1)
        return loss

    return measure_training(
        int, step, lambda: task.accuracy(weights), steps=epochs * learnt // batch,
        samples=batch, epoch=learnt, every=max(1, learnt // batch // LOOKS),
    ).checkpoints  # fmt: skip
