"""Workers that join and leave between rounds: nothing is restarted, and little is lost.

- *Joining.* A worker waits for its round. Then the first member sends it weights and velocity.
- *Leaving*, also by dying: what this worker did since the last agreement is lost, `period` steps
  at most. The others keep their changes of the round; they agree, shrink and average those.
- *Data.* Shares are cut anew for the members of each round.

Diskin et al., "Distributed deep learning in open collaborations", NeurIPS 2021; Ryabinin et al.,
"Moshpit SGD: communication-efficient decentralized training on heterogeneous unreliable devices",
NeurIPS 2021. What to look at: the members of each round, and what a death costs.
"""

from collections.abc import Sequence

import numpy as np

from ddl_runtime.core.fault_tolerance import RankLost
from ddl_teach.collectives import tree
from ddl_teach.comm import Comm
from ddl_teach.fault_tolerance.shrinking import Moment
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.tasks.task import Trainable


def train_in_open_rounds(
    comm: Comm, task: Trainable, joins: Sequence[int], rounds: int, period: int = 8,
    rule: Update = SGD(0.1), momentum: float = 0.0, before: Moment = lambda comm, step: None,
) -> tuple[np.ndarray, dict[int, list[int]]]:  # fmt: skip
    """Rounds of local steps and an outer momentum. Rank r becomes a member in round `joins[r]`; a
    member may die at any time, as long as another one lives. Returns the weights, and the members
    of each round that this rank took part in, by their numbers at the beginning."""
    if len(joins) != comm.size or min(joins) != 0:
        raise ValueError(f"joins={joins}: give a round for each rank; one must be 0")
    state = np.stack((task.initial(), np.zeros_like(task.initial())))  # weights and velocity
    optimizer = [np.zeros_like(state[0]) for _ in range(rule.states)]
    # Of each rank that lives its number at the beginning, and the rounds that it has seen.
    living, members = np.array([range(comm.size), [0] * comm.size]), dict[int, list[int]]()
    change: np.ndarray | None = None  # of this round: it outlives another one's death
    mine, done, lost = comm.rank, 0, False
    while True:
        whole = True
        try:
            if lost:
                living = np.zeros((2, comm.size), int)
                living[:, comm.rank] = mine, done
                tree.allreduce(comm, living)
                newest = state.copy()  # one more death in here leaves the old state
                tree.broadcast(comm, newest, int(living[1].argmax()))
                state, change = newest, change if done == living[1].max() else None
                done = int(living[1].max())
            turn = [joins[number] for number in living[0]]
            while done < rounds and (done >= joins[mine] or joins[mine] < rounds):
                here = [rank for rank in range(comm.size) if turn[rank] <= max(done, joins[mine])]
                oldest = min(here, key=lambda rank: (turn[rank], rank))
                if done < joins[mine]:
                    comm.recv(state, oldest)
                    done = joins[mine]
                elif comm.rank == oldest and done > living[1].max():
                    for rank in here:
                        if turn[rank] == done:
                            comm.send(state, rank)
                if change is None:
                    weights = state[0].copy()
                    for step in range(done * period, (done + 1) * period):
                        before(comm, step)
                        slope = task.gradient(weights, here.index(comm.rank), len(here), step)[1]
                        rule(weights, slope, optimizer, step + 1)
                    change = weights - state[0]
                state[1] = momentum * state[1] + _mean(comm, here, change)
                state[0] += state[1]
                members[done] = [int(living[0][rank]) for rank in here]
                done, change = done + 1, None
        except RankLost:
            whole = False
            comm.revoke()
        if comm.agree(whole):
            return state[0], members
        comm, lost = comm.shrink(), True


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
