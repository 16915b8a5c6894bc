"""Trainings on ranks whose accelerators are make-believe: a rank sleeps while one would compute.

So eight ranks scale on two cores, as eight accelerators would on a machine that has them; what is
learnt is real, and so is every message. Seconds measured so are called "injected delay".
An accelerator takes `launch` seconds for a step and `sample` for each sample of 64 pixels; a
picture of twice the side takes four times as long, and the network's first layer averages its
pixels back, so that it learns the same numbers. Links have a bandwidth (measure.slow_links).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ddl_measure.slow_links import SlowLinks
from ddl_teach import Comm, Ranks
from ddl_teach.collectives import ring
from ddl_teach.training.tasks.digits import Digits


@dataclass(frozen=True)
class Plan:
    """One configuration; `batch` is that of all ranks together."""

    ranks: int = 1
    batch: int = 32
    rate: float = 0.1
    epochs: int = 3
    look: int = 0  # steps from one look at the accuracies to the next; 0: an epoch
    every: int = 1  # steps from one average to the next: of gradients if 1, else of weights
    width: int = 4  # bytes of a number in a message
    bandwidth: float = 1e9
    sample: float = 1e-3
    launch: float = 1e-3
    side: int = 8
    hidden: int = 32
    skewed: bool = False
    validation: bool = False


@dataclass(frozen=True)
class Trained:
    """At each look: seconds of training by then, of the slowest rank, and what was learnt."""

    seconds: tuple[float, ...]
    held_out: tuple[float, ...]
    learnt: tuple[float, ...]


def train(pool: Ranks, plan: Plan, seed: int) -> Trained:
    """One training on as many ranks as the plan says."""
    runs = pool.run(program, plan.ranks, plan=plan, seed=seed, trace=False).results
    seconds = np.max([run[0] for run in runs], axis=0)
    return Trained(tuple(seconds.tolist()), *runs[0][1:])


def program(comm: Comm, plan: Plan, seed: int) -> tuple[tuple[float, ...], ...]:
    """What each rank does. Accuracies are looked at while the clock stands."""
    task = Digits(
        plan.batch // comm.size, plan.hidden, seed, skewed=plan.skewed, validation=plan.validation
    )
    busy = plan.launch + plan.sample * task.batch * plan.side**2 / 64
    links = SlowLinks(comm, plan.bandwidth)
    weights, epoch = task.initial(), len(task.pictures.answers) // plan.batch
    seconds, held_out, learnt, taken = [], [], [], 0.0
    look, steps = plan.look or epoch, epoch * plan.epochs
    for first in range(0, steps, look):
        comm.barrier()
        begun = comm.now()
        for step in range(first, min(first + look, steps)):
            _, gradient = task.gradient(weights, comm.rank, comm.size, step)
            comm.work(seconds=busy)
            if plan.every == 1:
                gradient = averaged(links, gradient, plan.width)
            weights -= np.float32(plan.rate) * gradient
            if plan.every > 1 and (step + 1) % plan.every == 0:
                weights = averaged(links, weights, plan.width)
        taken += comm.now() - begun
        mean = averaged(links, weights, 4)
        scores = task.network.forward(mean, task.pictures.learnt)[1]
        seconds.append(taken)
        held_out.append(task.accuracy(mean))
        learnt.append(float(np.mean(scores.argmax(axis=1) == task.pictures.answers)))
    return tuple(seconds), tuple(held_out), tuple(learnt)


def averaged(links: SlowLinks, vector: np.ndarray, width: int) -> np.ndarray:
    """The mean over the ranks, sent in numbers of so many bytes."""
    sent = vector.astype(f"f{width}")
    ring.allreduce(links, sent)
    return (sent / links.size).astype(vector.dtype)
