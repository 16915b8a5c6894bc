"""Random search: settings drawn at random, each trained for the same number of steps.

    budget = trials x steps

No result plays a role for what is tried next, so all trials can run at the same time, in any order
(Bergstra and Bengio, JMLR 2012). It is what every cleverer search must be compared with, at the
same budget. What to look at: how much of the budget goes to trials that were hopeless early.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.search.decider import Job, Settings
from ddl_teach.search.deciders.in_turn import InTurn


@dataclass
class RandomSearch(InTurn):
    """`trials` trials of `steps` steps each; one that crashes is replaced by a new one."""

    trials: int = 27
    steps: int = 100

    def _propose(self, trial: int, random: np.random.Generator) -> Settings:
        return self.space.sample(self.seed, trial)

    def _learn(self, job: Job, loss: float) -> None:
        """Nothing."""
