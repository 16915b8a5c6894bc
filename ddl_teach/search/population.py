"""Population-based training: the losers of a population go on from the weights of its winners.

    all members train; all ranks learn all losses; the worst `share` take over state and settings
    of one of the best `share` (exploit) and change these settings a little (explore); once more

It costs what as many trials of random search cost, and finds a *schedule* of settings where they
find one setting. In a generation travel 16 bytes of each member, and the state of n bytes of each
loser: share x members x n, on any number of ranks. All ranks know all losses and draw the same
lots. A member that crashes is a loser. Jaderberg et al., "Population based training of neural
networks", 2017; theirs do not wait for each other. These generations are in step, so a population
comes out the same, bit for bit. The number of ranks does not matter, nor how often it is killed.
What to look at: how the rate falls from generation to generation, though no schedule says so.
"""

from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ddl_runtime.core.checks import amount, whole_number
from ddl_teach.collectives.bruck import allgather
from ddl_teach.collectives.tree import broadcast
from ddl_teach.comm import Comm
from ddl_teach.networks.shares import share
from ddl_teach.search.attempt import ResumableTraining, SearchFailed, State, attempt
from ddl_teach.search.decider import Job, Settings, in_words
from ddl_teach.training.consistency.states import unpack

EXPLOIT = 2  # what random numbers are for: a space's own uses are 0 and 1

States = dict[int, np.ndarray | None]
"""Of one's own members, packed; None before the first generation, and of one that crashed."""


@dataclass(frozen=True)
class PopulationPlan:
    """How large a population is, and for how long it trains."""

    members: int = 16
    generations: int = 10
    steps: int = 20  # of each member in each generation
    share: float = 0.25  # so many lose, and as many win
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("members", "generations", "steps"):
            whole_number(getattr(self, name), f"Population: {name}", 1)
        # With more than a half, somebody would have to win and to lose.
        amount(self.share, "Population: share", most=0.5)


class Sampled(Protocol):
    """What a population needs of a space of settings, such as `search.space.Space`."""

    def sample(self, seed: int, number: int) -> Settings:
        """Settings number `number` of this seed."""

    def perturb(self, settings: Settings, seed: int, number: int) -> Settings:
        """Settings close to these."""


class Kept(Protocol):
    """What a population needs of a journal, such as `search.journal.Generations`."""

    def before(self, search: str) -> list[np.ndarray]:
        """The losses of all generations that this search has behind it, alike on all ranks."""

    def states(self, generation: int, losses: np.ndarray, mine: range) -> States:
        """The packed states of one's own members after this generation."""

    def ended(self, generation: int, losses: np.ndarray, states: States) -> None:
        """Keep one's own members' states after this generation, and gather all `losses`."""

    def close(self) -> None:
        """Let another population write there."""


@dataclass
class Family:
    """Alike on all ranks, except `states` and `errors`: these are of a rank's own members."""

    steps: int  # of each member in each generation
    losses: list[np.ndarray] = field(default_factory=list)  # at the end of each generation
    settings: list[list[Settings]] = field(default_factory=list)
    parents: list[np.ndarray] = field(default_factory=list)  # the member that each went on from
    winner: State = field(default_factory=dict)  # the state of the best
    states: dict[int, np.ndarray | None] = field(default_factory=dict)  # packed
    errors: dict[tuple[int, int], str] = field(default_factory=dict)  # by generation and member

    def add(self, losses: np.ndarray, settings: list[Settings], parents: np.ndarray) -> None:
        """Append a generation that has ended; `SearchFailed` if all its members crashed."""
        if np.isinf(losses).all():
            why = next(iter(self.errors.values()), "the ranks that train them know why")
            raise SearchFailed(
                f"all {len(losses)} members crashed in generation {len(self.losses)}, and no "
                f"member is left to copy: {why}"
            )
        self.losses.append(losses)
        self.settings.append(settings)
        self.parents.append(parents)

    @property
    def best(self) -> int:
        return int(np.argmin(self.losses[-1]))

    def ancestors(self, member: int) -> list[int]:
        """The members, one a generation, that carried the weights which this member has."""
        line = [member]
        for parents in reversed(self.parents[1:]):
            line.append(int(parents[line[-1]]))
        return line[::-1]

    def schedule(self, name: str) -> list[Any]:
        """The value of a setting in each generation, on the line that leads to the best."""
        line = self.ancestors(self.best)
        return [row[member][name] for row, member in zip(self.settings, line, strict=True)]

    def __str__(self) -> str:
        """The winner in words, and how many runs the search took."""
        losses, own = np.array(self.losses), np.arange(len(self.losses[0]))
        settings = in_words(self.settings[-1][self.best])
        return (
            f"best: member {self.best}, at last with {settings}: loss {losses[-1].min():.4g}\n"
            f"it took {losses.size} runs of {self.steps} steps by {len(own)} members, "
            f"{np.isinf(losses).sum()} of them crashed; {(np.array(self.parents) != own).sum()} "
            "times a member went on from another's state"
        )


def train_population(
    comm: Comm,
    training: ResumableTraining,
    space: Sampled,
    plan: PopulationPlan = PopulationPlan(),
    journal: Callable[[Comm, int], Kept] | None = None,
    pace: Callable[[int, int], float] | None = None,
) -> Family:
    """Train a population; all ranks call it alike, and each trains its share of the members.

    With `journal=partial(Generations, folder)`, of `search.journal`, one that was killed goes
    on. With `pace(member, generation)` a rank is busy for that many seconds besides.
    """
    mine = share(plan.members, comm.size, comm.rank)
    states: States = dict.fromkeys(mine)
    parents = np.arange(plan.members)
    settings = [space.sample(plan.seed, member) for member in range(plan.members)]
    family = Family(plan.steps)
    with closing(journal(comm, plan.members)) if journal else nullcontext() as kept:
        before = kept.before(f"population: {plan}, {space}") if kept else []
        for generation in range(plan.generations):
            if generation > 0:
                parents = exploit(family.losses[-1], plan, generation)
                settings = explore(settings, parents, space, plan, generation)
            if generation < len(before):
                losses = before[generation]
                if kept and generation == len(before) - 1:
                    states = kept.states(generation, losses, mine)
            else:
                states = copy_states(comm, parents, states)
                losses = np.full(plan.members, np.inf)
                for member in mine:
                    job = Job(member, settings[member], generation, plan.steps, plan.seed)
                    with comm.span(f"member {member}", kind="work"):
                        comm.work(seconds=pace(member, generation) if pace else 0.0)
                        outcome = attempt(training, job, states[member])
                    states[member] = outcome.state
                    if outcome.error is not None:
                        family.errors[generation, member] = outcome.error
                    elif outcome.loss is not None:
                        losses[member] = outcome.loss
                if kept:
                    kept.ended(generation, losses, states)
                else:
                    allgather(comm, losses)
            family.add(losses, settings, parents)
    family.states = states
    owner, winner = _owners(comm, plan.members)[family.best], states.get(family.best)
    size = np.array([0 if winner is None else len(winner)])
    broadcast(comm, size, owner)
    winner = np.empty(int(size[0]), np.uint8) if winner is None else winner
    broadcast(comm, winner, owner)
    family.winner = unpack(winner)
    return family


def exploit(losses: np.ndarray, plan: PopulationPlan, generation: int) -> np.ndarray:
    """The member that each member goes on from: itself, or for a loser a winner by lot."""
    random = np.random.default_rng([EXPLOIT, plan.seed, generation])
    order, few = np.argsort(losses, kind="stable"), int(plan.share * plan.members)
    crashed = np.flatnonzero(np.isinf(losses))
    winners = np.setdiff1d(order[: max(few, 1)], crashed)
    losers = np.union1d(order[plan.members - few :], crashed)
    parents = np.arange(plan.members)
    parents[losers] = random.choice(winners, len(losers))
    return parents


def explore(
    settings: Sequence[Settings],
    parents: np.ndarray,
    space: Sampled,
    plan: PopulationPlan,
    generation: int,
) -> list[Settings]:
    """The settings of the parents, changed a little where they were copied."""
    return [
        settings[parent]
        if parent == member
        else space.perturb(settings[parent], plan.seed, generation * plan.members + member)
        for member, parent in enumerate(parents.tolist())
    ]


def copy_states(comm: Comm, parents: np.ndarray, states: States) -> States:
    """For each member of this rank the state that it goes on from, whatever rank has it."""
    members, mine = len(parents), states.keys()
    sizes = np.zeros(members, int)
    sizes[[*mine]] = [0 if state is None else len(state) for state in states.values()]
    allgather(comm, sizes)
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
