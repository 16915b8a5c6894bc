"""Orders in which workers hand in their gradients, the same for a plain file and its product."""

from dataclasses import dataclass, field

import numpy as np

from ddl_teach.training.tasks.paces import ByChance
from ddl_teach.training.tasks.quadratic import Quadratic

TOKEN = np.zeros(1)


class AsTheyCome:
    """No order: for trainings whose result does not depend on it."""

    def __init__(self, comm, workers):
        pass

    def __call__(self, step):
        pass

    def end(self):
        pass


class InTurn:
    """Worker 0, 1, 2, ... and again: each waits until the one before has its new weights."""

    def __init__(self, comm, workers):
        self.workers = workers

    def __call__(self, step):
        rank, size = self.workers.rank, self.workers.size
        if step == 0:
            self.workers.barrier()  # all have the initial weights
        else:
            self.pass_on()
        if size > 1 and (rank, step) != (0, 0):
            self.workers.recv(TOKEN.copy(), (rank - 1) % size)

    def pass_on(self):
        if self.workers.size > 1:
            self.workers.send(TOKEN, (self.workers.rank + 1) % self.workers.size)

    def end(self):
        if self.workers.rank < self.workers.size - 1:
            self.pass_on()


class OneLate:
    """In step s worker s mod P hands its gradient in after all others have gone on."""

    def __init__(self, comm, workers):
        self.workers = workers
        self.last = -1

    def __call__(self, step):
        if self.last >= 0:
            self.say_gone_on()
        self.last = step
        rank, size = self.workers.rank, self.workers.size
        if rank == step % size:
            for other in set(range(size)) - {rank}:
                self.workers.recv(TOKEN.copy(), other)

    def say_gone_on(self):
        late = self.last % self.workers.size
        if late != self.workers.rank:
            self.workers.send(TOKEN, late)

    end = say_gone_on


class AtRandomTimes(AsTheyCome):
    """Each gradient takes a time of its own, far longer than any message: in virtual time only."""

    def __init__(self, comm, workers):
        self.comm, self.worker, self.pace = comm, workers.rank, ByChance(1.0, seed=3)

    def __call__(self, step):
        self.comm.work(seconds=self.pace(self.worker, step))


BOWL = Quadratic((1.0, 0.5, 0.1), noise=0.3, apart=1.0)


@dataclass
class Bowl:
    """A minimum for each worker and noise; it notes at which weights it was asked, and when."""

    turn: object
    seen: list = field(default_factory=list)

    def initial(self):
        return BOWL.initial()

    def gradient(self, weights, part, parts, step):
        self.seen.append((step, *weights))
        loss, slope = BOWL.gradient(weights, part, parts, step)
        self.turn(step)
        return loss, slope

    def slope(self, weights, part, parts, step):
        return self.gradient(weights, part, parts, step)[1]


def in_order(comm, order, first_worker, train):
    """`train(task)` in an order; what this rank's task has seen, and what `train` returned."""
    workers = comm.split(0 if comm.rank >= first_worker else None, comm.rank)
    if workers is None:
        return np.empty((0, 4)), train(Bowl(None))
    turn = order(comm, workers)
    task = Bowl(turn)
    returned = train(task)
    turn.end()
    return np.array(task.seen), returned
