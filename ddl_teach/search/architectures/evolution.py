"""Evolution with ageing: the best of a few has a child, and the oldest of all leaves.

    sample s of the population at random; the best of them is the parent
    child = the parent with one choice changed; it is trained and joins the population
    the oldest leaves, however good it is

That the oldest leaves, and not the worst, is what makes it *regularised*: one lucky result is
forgotten, and what stays are choices that did well again and again. After the first `population`
trials, drawn at random, each trial is a birth and a death: no worker waits for a generation to
end.
Real, Aggarwal, Huang and Le, "Regularized evolution for image classifier architecture search",
AAAI 2019; tournaments: Goldberg and Deb, 1991.
What to look at: `parents` of the decider as it ended: how long the winner's line is.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ddl_teach.search.decider import Decision, Job, Settings
from ddl_teach.search.deciders.in_turn import InTurn
from ddl_teach.search.space import Space
from ddl_teach.theory.inputs import count


class Individual(NamedTuple):
    """One of a population."""

    trial: int
    settings: Settings
    loss: float


@dataclass
class Evolution(InTurn):
    """`sample` of the `population` compete for each child; without `ageing` the worst leaves."""

    population: int = 8
    sample: int = 3
    ageing: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.space.options("Evolution")
        count("population", self.population)
        count("sample", self.sample)
        self.alive: deque[Individual] = deque()  # the oldest first
        self.parents: dict[int, int] = {}  # of each trial that has one

    def _propose(self, trial: int, random: np.random.Generator) -> Settings:
        if trial < self.population or not self.alive:
            return self.space.sample(self.seed, trial)
        # As in the paper's algorithm, one member can be drawn twice.
        parent = tournament(self.alive, random.integers(len(self.alive), size=self.sample))
        self.parents[trial] = parent.trial
        return mutated(self.space, parent.settings, random)

    def _learn(self, job: Job, loss: float) -> None:
        self.alive.append(Individual(job.trial, job.settings, loss))
        if len(self.alive) > self.population:
            leaves = (
                self.alive[0]
                if self.ageing
                else max(self.alive, key=lambda individual: individual.loss)
            )
            self.alive.remove(leaves)
            self.decisions.append(Decision(leaves.trial, 0, "stopped"))


def tournament(alive: Sequence[Individual], places: Iterable[int]) -> Individual:
    """The best at these places; of equals the first in the population, which is the oldest."""
    return alive[min(places, key=lambda place: (alive[place].loss, place))]


def mutated(space: Space, settings: Settings, random: np.random.Generator) -> Settings:
    """The same settings but for one choice, which is another one now."""
    several = {name: own for name, own in space.options("mutated").items() if len(own) > 1}
    name = list(several)[random.integers(len(several))]
    others = [choice for choice in several[name] if choice != settings[name]]
    return {**settings, name: others[random.integers(len(others))]}
