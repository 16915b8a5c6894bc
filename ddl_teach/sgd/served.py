"""A worker of servers: hand a gradient in, fetch weights, and again.

The servers keep the weights and make the steps; the worker never updates anything. Which step is
next, they say: who was overtaken, or came late, goes on where the others are.
"""

from __future__ import annotations

from ddl_teach.sgd.worker import Worker


def follow_servers(worker: Worker) -> None:
    """One worker's training, whatever the servers wait for before they answer."""
    clock = worker.pull(0)
    while clock < worker.steps:
        worker.station.push(worker.gradient(clock))
        clock = worker.pull(clock + 1)
