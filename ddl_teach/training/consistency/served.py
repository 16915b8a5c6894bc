"""A worker of servers: hand a gradient in, fetch weights, and again.

The servers keep the weights, make the steps, and say which step is next: a worker that was
overtaken, or came late, goes on where the others are. Where the task knows which rows it will look
at only those travel, and all of them after the last step.
"""

from ddl_teach.training.consistency.consistency import AnyWorker
from ddl_teach.training.consistency.handles import Serves


def follow_servers(worker: AnyWorker[Serves]) -> None:
    """One worker's training, whatever the servers wait for before they answer."""
    clock = pull(worker, 0)
    while clock < worker.steps:
        worker.handle.push(worker.gradient(clock))
        clock = pull(worker, clock + 1)


def pull(worker: AnyWorker[Serves], step: int) -> int:
    """Get the servers' weights for gradient `step`; the step to go on with."""
    while True:
        rows = worker.needed(step)
        clock = worker.handle.pull(worker.weights, rows)
        if rows is None or clock == step:
            return clock
        step = clock  # overtaken: the step it goes on with looks at other rows
