"""Proposals that learn from results, on any number of workers.

One worker proposes trial n knowing the results of all before it. W workers have W - 1 of them
still under way, and there are two ways to go on:

    ahead = None    what has come back is known at once: no worker ever waits, and what is
                    proposed depends on which trial was faster
    ahead = k       trial n knows the results 0 to n - k, no fewer and no more: the same search on
                    any number of workers; at most k are busy, and a fast one may wait

It is the choice between asynchronous and stale-synchronous updates again; k = 1 is the sequential
algorithm. What to look at: with ahead = W both keep W workers busy while trials take equally long.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ddl_teach.search.decider import Decision, Job, Settings
from ddl_teach.search.space import Space, check_plan
from ddl_teach.theory.inputs import count

PROPOSE = 7  # what random numbers are for: no other use of a seed begins with this one


@dataclass
class InTurn(ABC):
    """A decider of `trials` trials of `steps` steps each; one that crashes is replaced."""

    space: Space
    trials: int = 64
    steps: int = 60
    seed: int = 0
    ahead: int | None = None
    decisions: list[Decision] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        check_plan(self, "trials", "steps")
        if self.ahead is not None:
            count("ahead", self.ahead)
        self._jobs: list[Job] = []
        self._back: dict[int, float | None] = {}  # not learnt from yet; None where it crashed
        self._known = 0  # results that have been learnt from, or have crashed
        self._crashes = self._done = 0

    @property
    def planned(self) -> int:
        """The steps of all trials that do not crash."""
        return self.trials * self.steps

    @property
    def finished(self) -> bool:
        return self._done == self.trials

    def next(self) -> Job | None:
        """The next trial, if enough is known to propose it."""
        trial = len(self._jobs)
        if trial == self.trials + self._crashes:
            return None
        if self.ahead is not None and not self._learn_in_order(trial - self.ahead + 1):
            return None
        random = np.random.default_rng([PROPOSE, self.seed, trial])
        self._jobs.append(Job(trial, self._propose(trial, random), 0, self.steps, self.seed))
        return self._jobs[-1]

    def tell(self, job: Job, loss: float) -> None:
        self._done += 1
        self._take(job, loss)

    def crashed(self, job: Job, error: str) -> None:
        """A trial has crashed: nothing is learnt, and one more is proposed."""
        self._crashes += 1
        self._take(job, None)

    def _take(self, job: Job, loss: float | None) -> None:
        self._back[job.trial] = loss
        if self.ahead is None:
            self._learn_from(job.trial)
        elif self.finished:
            self._learn_in_order(len(self._jobs))

    def _learn_in_order(self, until: int) -> bool:
        """Learn from all results before number `until`; whether they are all there."""
        while self._known < until and self._known in self._back:
            self._learn_from(self._known)
        return self._known >= until

    def _learn_from(self, trial: int) -> None:
        self._known += 1
        loss = self._back.pop(trial)
        if loss is not None:
            self._learn(self._jobs[trial], loss)

    @abstractmethod
    def _propose(self, trial: int, random: np.random.Generator) -> Settings:
        """Settings for this trial."""

    @abstractmethod
    def _learn(self, job: Job, loss: float) -> None:
        """The result of an earlier proposal."""
