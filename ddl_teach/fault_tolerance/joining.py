"""Workers that join and leave between rounds: nothing is restarted, and little is lost.

Between two rounds each worker works alone, so no other notices when one goes.

- *Joining.* A worker that waits for its round to come takes weights and velocity from a member.
- *Leaving*, also by dying in a round: the work of this worker since the last agreement is lost, at
  most `period` steps. The others still have their own changes; they agree, shrink and average
  those. A mean over fewer workers needs no other scale.
- *Data.* Worker i of P has shares of its own; when P changes, they are cut anew from then on.

Diskin et al., "Distributed deep learning in open collaborations", NeurIPS 2021; Ryabinin et al.,
"Moshpit SGD: communication-efficient decentralized training on heterogeneous unreliable devices",
NeurIPS 2021. What to look at: how many members each round had, and what a death costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.fault_tolerance import RankLost
from ddl_teach.collectives import tree
from ddl_teach.comm import Comm
from ddl_teach.fault_tolerance.shrinking import Moment
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.tasks.task import Trainable


@dataclass(frozen=True)
class OpenTraining:
    """What one rank has in the end: the weights, and the members of each round that it knows of,
    as their numbers at the beginning."""

    weights: np.ndarray
    members: dict[int, tuple[int, ...]]


def train_in_open_rounds(
    comm: Comm,
    task: Trainable,
    joins: Sequence[int],
    rounds: int,
    period: int = 8,
    rule: Update = SGD(0.1),
    momentum: float = 0.0,
    before: Moment = lambda comm, step: None,
) -> OpenTraining:
    """Rounds of local steps and an outer momentum. Rank r becomes a member in round `joins[r]`; a
    member may die at any time (in `before`, say, of each step), as long as another one lives."""
    if len(joins) != comm.size or min(joins) != 0:
        raise ValueError(f"joins={joins}: give a round for each rank, and 0 to one at least")
    first, numbers, members = comm.rank, list(range(comm.size)), dict[int, tuple[int, ...]]()
    state = np.stack((task.initial(), np.zeros_like(task.initial())))  # weights and velocity
    optimizer = [np.zeros_like(state[0]) for _ in range(rule.states)]
    change: np.ndarray | None = None  # of this round: it outlives another one's death
    done, synced, lost = 0, 0, False
    while True:
        whole = True
        try:
            if lost:
                numbers, mine = _numbers(comm, first), done
                synced = done = _newest(comm, state, done)
                change = change if done == mine else None
            while done < rounds:
                turn = [joins[number] for number in numbers]
                here = [rank for rank in range(comm.size) if turn[rank] <= done]
                if comm.rank not in here:
                    if turn[comm.rank] >= rounds:
                        break
                    comm.recv(state, _oldest(turn, turn[comm.rank]))
                    done = turn[comm.rank]
                    continue
                if done > synced and comm.rank == _oldest(turn, done):
                    for rank in here:
                        if turn[rank] == done:
                            comm.send(state, rank)
                if change is None:
                    weights = state[0].copy()
                    for step in range(done * period, (done + 1) * period):
                        before(comm, step)
                        part = here.index(comm.rank)
                        slope = task.gradient(weights, part, len(here), step)[1]
                        rule(weights, slope, optimizer, step + 1)
                    change = weights - state[0]
                state[1] = momentum * state[1] + _mean(comm, here, change)
                state[0] += state[1]
                members[done] = tuple(numbers[rank] for rank in here)
                done, change = done + 1, None
        except RankLost:
            whole = False
            comm.revoke()
        if comm.agree(whole):
            return OpenTraining(state[0], members)
        comm, lost = comm.shrink(), True


def _oldest(turn: list[int], done: int) -> int:
    """The member that gives its state to those who join in this round."""
    return next(rank for rank, joined in enumerate(turn) if joined < done)


def _numbers(comm: Comm, first: int) -> list[int]:
    """The number at the beginning of each rank that lives."""
    numbers = np.zeros(comm.size, np.int64)
    numbers[comm.rank] = first
    tree.allreduce(comm, numbers)
    return [int(number) for number in numbers]


def _newest(comm: Comm, state: np.ndarray, done: int) -> int:
    """All ranks get the state of the one that has made the most rounds; returns how many."""
    rounds = np.zeros(comm.size, np.int64)
    rounds[comm.rank] = done
    tree.allreduce(comm, rounds)
    newest = state.copy()  # a rank that dies in here leaves the others with what they had
    tree.broadcast(comm, newest, int(rounds.argmax()))
    state[:] = newest
    return int(rounds.max())


def _mean(comm: Comm, here: list[int], change: np.ndarray) -> np.ndarray:
    """The mean over the members, through the first of them."""
    total = change.copy()
    if comm.rank != here[0]:
        comm.send(change, here[0])
        comm.recv(total, here[0])
        return total
    theirs = np.empty_like(total)
    for rank in here[1:]:
        comm.recv(theirs, rank)
        total += theirs
    total /= len(here)
    for rank in here[1:]:
        comm.send(total, rank)
    return total
