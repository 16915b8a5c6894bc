"""Asynchronous successive halving: whoever is among the best 1/eta so far goes on at once.

    a free worker looks from the highest rung down: is one of its best floor(done / eta) trials not
    yet promoted? Then it goes on with that one; if nobody is, it begins a new trial.

A new trial can always be begun, so no worker ever waits for another one's result. The price:
early in a rung "best so far" means little, and some are promoted who would not have been in the
end. Rung k trains for least * eta^k steps more, as in the synchronous form, and the search ends
when its budget of steps is given out. Li et al., "A system for massively parallel hyperparameter
tuning" (ASHA), MLSys 2020.
What to look at: with run times that differ by a factor of 100, how long workers stand still in the
synchronous form at the same budget.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from ddl_teach.search.deciders.trials import Trials, check_plan
from ddl_teach.search.job import Decision, Job
from ddl_teach.search.space import Space


@dataclass
class AsynchronousHalving:
    """Up to `budget` steps on so many `rungs`: as many new trials as the budget allows.

    A trial that crashes gives its steps back and leaves its rungs, so that the next best moves up.
    """

    space: Space
    budget: int = 1080
    rungs: int = 4
    eta: int = 3
    least: int = 10
    seed: int = 0
    decisions: list[Decision] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        name = type(self).__name__
        counts = {"budget": self.budget, "rungs": self.rungs, "eta": self.eta, "least": self.least}
        check_plan(name, self.space, self.seed, **counts)
        if self.budget < self.least:
            raise ValueError(
                f"{name}: a budget of {self.budget} steps does not pay for the first {self.least} "
                "steps of one trial"
            )
        self._all = Trials(self.space, self.seed)
        self._done: list[list[tuple[float, int]]] = [[] for _ in range(self.rungs)]  # sorted
        self._promoted: list[set[int]] = [set() for _ in range(self.rungs)]
        self._given = self._running = 0

    @property
    def planned(self) -> int:
        """The steps it gives out, up to a remainder that does not pay for one more trial."""
        return self.budget

    @property
    def finished(self) -> bool:
        """Whether the budget is given out and nobody runs any more."""
        return self._running == 0 and self._given + self.least > self.budget

    def next(self) -> Job | None:
        """The best that can go on, or a new trial; None only when the budget is given out."""
        for rung in reversed(range(self.rungs)):
            steps = self.least * self.eta**rung
            if self._given + steps > self.budget:
                continue
            trial = self._all.new() if rung == 0 else self._promotable(rung - 1)
            if trial is not None:
                self._given += steps
                self._running += 1
                return self._all.job(trial, rung, steps)
        return None

    def _promotable(self, rung: int) -> int | None:
        done = self._done[rung]
        for _, trial in done[: len(done) // self.eta]:
            if trial not in self._promoted[rung]:
                self._promoted[rung].add(trial)
                self.decisions.append(Decision(trial, rung, "promoted"))
                return trial
        return None

    def tell(self, job: Job, loss: float) -> None:
        """One more that others of its rung are compared with."""
        self._running -= 1
        bisect.insort(self._done[job.rung], (loss, job.trial))

    def crashed(self, job: Job, error: str) -> None:
        """Its steps go to others, and so does its place."""
        self._running -= 1
        self._given -= job.steps
        if job.rung > 0:
            below = self._done[job.rung - 1]
            below[:] = [(loss, trial) for loss, trial in below if trial != job.trial]
