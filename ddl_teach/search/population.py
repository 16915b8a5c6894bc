"""Population-based training: the losers of a population go on from the weights of its winners.

    all members train; all ranks learn all losses; the worst `share` take over state and settings
    of one of the best `share` (exploit) and change these settings a little (explore); once more

It costs what as many trials of random search cost, generations x members x steps, and finds a
*schedule* of settings where they find one setting. In a generation travel 16 bytes of each member,
by all-gathers, and the state of n bytes of each loser: share x members x n, on any number of
ranks. Nobody leads: all ranks know all losses and draw the same lots. Who crashes has lost.
Jaderberg et al., "Population based training of neural networks", 2017; theirs do not wait for each
other, whereas these generations are in step: so a population comes out the same, bit for bit, on
whatever ranks it trains, and however often it is killed.
What to look at: lines that end above and begin anew below; how the rate falls from generation to
generation, though nobody has planned it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ddl_teach.collectives import bruck, tree
from ddl_teach.comm import Comm
from ddl_teach.networks.shares import share
from ddl_teach.search.attempt import attempt
from ddl_teach.search.family import Family
from ddl_teach.search.generations import Generations
from ddl_teach.search.job import Job
from ddl_teach.search.space import Settings, Space
from ddl_teach.search.training import Training
from ddl_teach.sgd.states import unpack

EXPLOIT = 2  # what random numbers are for: a space's own uses are 0 and 1

States = dict[int, np.ndarray | None]
"""Of one's own members, packed; None before the first generation, and of one that crashed."""


@dataclass(frozen=True)
class Plan:
    """How large a population is, and for how long it trains."""

    members: int = 16
    generations: int = 10
    steps: int = 20  # of each member in each generation
    share: float = 0.25  # so many lose, and as many win
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.members, self.generations, self.steps) < 1:
            raise ValueError(f"{self}: a population needs members, generations and steps")
        if not 0 <= self.share <= 0.5:
            raise ValueError(
                f"share={self.share}: from 0, where nobody copies, to 0.5, where one half copies "
                "the other; with more, somebody would have to win and to lose"
            )


def train_population(
    comm: Comm,
    training: Training,
    space: Space,
    plan: Plan = Plan(),
    journal: str | os.PathLike | None = None,
    pace: Callable[[int, int], float] | None = None,
) -> Family:
    """Train a population; all ranks call it alike, and each trains its share of the members.

    `journal` is a folder that all ranks see: a population that was killed goes on from there. With
    `pace(member, generation)` a rank is busy for so many seconds besides.
    """
    mine = share(plan.members, comm.size, comm.rank)
    states: States = dict.fromkeys(mine)
    parents = np.arange(plan.members)
    settings = [space.sample(plan.seed, member) for member in range(plan.members)]
    family = Family(plan.steps)
    with Generations(comm, journal, plan.members) as kept:
        before = kept.before(f"population: {plan}, {space}")
        for generation in range(plan.generations):
            if generation > 0:
                parents = exploit(family.losses[-1], plan, generation)
                settings = explore(settings, parents, space, plan, generation)
            if generation < len(before):
                losses = before[generation]
                if generation == len(before) - 1:
                    states = kept.states(generation, losses, mine)
            else:
                states = copy_states(comm, parents, states)
                losses = np.full(plan.members, np.inf)
                for member in mine:
                    job = Job(member, settings[member], generation, plan.steps, plan.seed)
                    with comm.span(f"member {member}", kind="work"):
                        comm.work(seconds=pace(member, generation) if pace else 0.0)
                        outcome = attempt(training, job, states[member])
                    family.note(job, outcome)
                    states[member] = outcome.state
                    losses[member] = np.inf if outcome.loss is None else outcome.loss
                kept.keep(generation, states)
                bruck.allgather(comm, losses)
                kept.write(generation, losses, mine)
            family.add(losses, settings, parents)
    family.states = states
    family.winner = _told_to_all(comm, states, family.best, plan.members)
    return family


def exploit(losses: np.ndarray, plan: Plan, generation: int) -> np.ndarray:
    """From whose state each member goes on: its own, or if it lost, that of a winner by lot."""
    random = np.random.default_rng([EXPLOIT, plan.seed, generation])
    order, few = np.argsort(losses, kind="stable"), int(plan.share * plan.members)
    crashed = np.flatnonzero(np.isinf(losses))
    winners = np.setdiff1d(order[: max(few, 1)], crashed)
    losers = np.union1d(order[plan.members - few :], crashed)
    parents = np.arange(plan.members)
    parents[losers] = random.choice(winners, len(losers))
    return parents


def explore(
    settings: Sequence[Settings], parents: np.ndarray, space: Space, plan: Plan, generation: int
) -> list[Settings]:
    """The settings of the parents, changed a little where somebody has copied them."""
    return [
        settings[parent]
        if parent == member
        else space.perturb(settings[parent], plan.seed, generation * plan.members + member)
        for member, parent in enumerate(parents.tolist())
    ]


def copy_states(comm: Comm, parents: np.ndarray, states: States) -> States:
    """What each of one's own members goes on from, bit for bit, from whatever rank has it."""
    members, mine = len(parents), states.keys()
    sizes = np.zeros(members, int)
    sizes[[*mine]] = [0 if state is None else len(state) for state in states.values()]
    bruck.allgather(comm, sizes)
    owner = _owners(comm, members)
    copies, under_way = dict(states), []
    for child, parent in enumerate(parents.tolist()):
        if parent in mine and child in mine:
            copies[child] = states[parent]
        elif parent in mine:
            under_way.append(comm.isend(states[parent], owner[child]))
        elif child in mine:
            copies[child] = np.empty(sizes[parent], np.uint8)
            under_way.append(comm.irecv(copies[child], owner[parent]))
    for request in under_way:
        request.wait()
    return copies


def _owners(comm: Comm, members: int) -> list[int]:
    return [rank for rank in range(comm.size) for _ in share(members, comm.size, rank)]


def _told_to_all(comm: Comm, states: States, best: int, members: int) -> dict:
    """The state of the best, unpacked, on every rank."""
    owner = _owners(comm, members)[best]
    size = np.array([len(states[best]) if owner == comm.rank else 0])
    tree.broadcast(comm, size, owner)
    state = states[best] if owner == comm.rank else np.empty(int(size[0]), np.uint8)
    tree.broadcast(comm, state, owner)
    return unpack(state)
