"""A worker of servers: hand a gradient in, fetch weights, and again.

The servers keep the weights and make the steps; the worker never updates anything. Which step is
next, they say: who was overtaken, or came late, goes on where the others are. Where the task knows
which rows it will look at only those travel, and all of them after the last step.
"""

from ddl_teach.training.consistency.station import Serves
from ddl_teach.training.consistency.when import AnyWorker


def follow_servers(worker: AnyWorker[Serves]) -> None:
    """One worker's training, whatever the servers wait for before they answer."""
    clock = pull(worker, 0)
    while clock < worker.steps:
        worker.station.push(worker.gradient(clock))
        clock = pull(worker, clock + 1)


def pull(worker: AnyWorker[Serves], step: int) -> int:
    """Get the servers' weights for gradient `step`; the step to go on with."""
    while True:
        rows = worker.needed(step)
        clock = worker.station.pull(worker.weights, rows)
        if rows is None or clock == step:
            return clock
        step = clock  # overtaken: the step it goes on with looks at other rows
