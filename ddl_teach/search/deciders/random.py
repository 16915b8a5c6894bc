"""Random search: so many settings drawn at random, each trained for as many steps.

    budget = trials x steps

No result plays a role for what is tried next, so all trials can run at the same time, in any order
(Bergstra and Bengio, JMLR 2012). It is what every cleverer search must be compared with, at the
same budget. What to look at: how much of the budget goes to trials that were hopeless early.
"""

from dataclasses import dataclass, field

from ddl_teach.search.deciders.trials import Trials, check_plan
from ddl_teach.search.job import Decision, Job
from ddl_teach.search.space import Space


@dataclass
class RandomSearch:
    """So many `trials` of so many `steps`; one that crashes is replaced by a new one."""

    space: Space
    trials: int = 27
    steps: int = 100
    seed: int = 0
    decisions: list[Decision] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        check_plan("RandomSearch", self.space, self.seed, trials=self.trials, steps=self.steps)
        self._all = Trials(self.space, self.seed)
        self._to_begin, self._done = self.trials, 0

    @property
    def planned(self) -> int:
        return self.trials * self.steps

    @property
    def finished(self) -> bool:
        """Whether as many trials as were asked for are done."""
        return self._done == self.trials

    def next(self) -> Job | None:
        if self._to_begin == 0:
            return None
        self._to_begin -= 1
        return self._all.job(self._all.new(), 0, self.steps)

    def tell(self, job: Job, loss: float) -> None:
        self._done += 1

    def crashed(self, job: Job, error: str) -> None:
        """A new one takes its place."""
        self._to_begin += 1
