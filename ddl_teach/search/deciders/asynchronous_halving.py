"""Asynchronous successive halving: a trial among the best 1/eta so far goes on at once.

    a free worker looks from the highest rung down: is one of its best floor(done / eta) trials not
    yet promoted? Then it goes on with that one; if none is, it begins a new trial.

No worker ever waits for another one's result. The price: early in a rung "best so far" means
little, and some trials go on that would not have in the end. Rung k trains for least * eta^k steps
more, and the search ends when its budget of steps is given out. Li et al., "A system for massively
parallel hyperparameter tuning" (ASHA), MLSys 2020.
What to look at: with run times that differ by a factor of 100, how long workers stand still in the
synchronous form at the same budget.
"""

import bisect
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from ddl_teach.search.decider import Decision, Job
from ddl_teach.search.space import Space, check_plan

Promotion = Callable[
    [list[dict[int, float]], list[list[int]], int], tuple[int, int] | None
]  # of losses by trial, trials that went on (both for each rung) and eta: a trial and its new rung


@dataclass
class AsynchronousHalving:
    """Up to `budget` steps on `rungs` rungs: as many new trials as the budget allows.

    A trial that crashes gives its steps and its place back. With a rule of your own,
    `promote(finished, promoted, eta)` returns a trial and the rung that it enters, or None.
    """

    space: Space
    budget: int = 1080
    rungs: int = 4
    eta: int = 3
    least: int = 10
    seed: int = 0
    promote: Promotion | None = field(default=None, kw_only=True, repr=False)
    decisions: list[Decision] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        check_plan(self, "budget", "rungs", "eta", "least")
        if self.budget < self.least:
            raise ValueError(
                f"AsynchronousHalving: a budget of {self.budget} steps does not pay for the first "
                f"{self.least} steps of one trial"
            )
        self._numbers = itertools.count()  # of trials
        # Of each rung (loss, trial), sorted: all that are done, and those not promoted.
        self._done: list[list[tuple[float, int]]] = [[] for _ in range(self.rungs)]
        self._waiting: list[list[tuple[float, int]]] = [[] for _ in range(self.rungs)]
        self._given = self._running = 0

    @property
    def planned(self) -> int:
        """The steps it gives out, up to a remainder that does not pay for one more trial."""
        return self.budget

    @property
    def finished(self) -> bool:
        """Whether the budget is given out and no trial runs any more."""
        return self._running == 0 and not self._pays(0)

    def next(self) -> Job | None:
        """The best that can go on, or a new trial; None only when the budget is given out."""
        if not self._pays(0):
            return None
        chosen = self._promotable() if self.promote is None else self._ask(self.promote)
        if chosen is None or not self._pays(chosen[1]):
            trial, rung = next(self._numbers), 0
        else:
            trial, rung = chosen
            _remove(trial, self._waiting[rung - 1])
            self.decisions.append(Decision(trial, rung - 1, "promoted"))
        self._given += self._steps(rung)
        self._running += 1
        settings = self.space.sample(self.seed, trial)
        return Job(trial, settings, rung, self._steps(rung), self.seed)

    def _promotable(self) -> tuple[int, int] | None:
        for rung in reversed(range(1, self.rungs)):
            done, waiting = self._done[rung - 1], self._waiting[rung - 1]
            best = len(done) // self.eta
            if waiting and bisect.bisect_left(done, waiting[0]) < best and self._pays(rung):
                return waiting[0][1], rung
        return None

    def _ask(self, promote: Promotion) -> tuple[int, int] | None:
        waiting = [{trial for _, trial in rung} for rung in self._waiting]
        finished = [{trial: loss for loss, trial in rung} for rung in self._done]
        promoted = [
            [trial for trial in of_rung if trial not in left]
            for of_rung, left in zip(finished, waiting, strict=True)
        ]
        chosen = promote(finished, promoted, self.eta)
        if chosen is not None:
            trial, rung = chosen
            if not (0 < rung < self.rungs and trial in waiting[rung - 1]):
                raise ValueError(
                    f"promote returned {chosen!r}: a trial enters rung {rung!r} of {self.rungs} "
                    "after it has finished the one below, and only once"
                )
        return chosen

    def _steps(self, rung: int) -> int:
        return int(self.least * self.eta**rung)

    def _pays(self, rung: int) -> bool:
        return self._given + self._steps(rung) <= self.budget

    def tell(self, job: Job, loss: float) -> None:
        """One more that others of its rung are compared with."""
        self._running -= 1
        bisect.insort(self._done[job.rung], (loss, job.trial))
        bisect.insort(self._waiting[job.rung], (loss, job.trial))

    def crashed(self, job: Job, error: str) -> None:
        """Note a crash: the steps and the place of this trial go to others."""
        self._running -= 1
        self._given -= job.steps
        if job.rung > 0:
            _remove(job.trial, self._done[job.rung - 1])


def _remove(trial: int, pairs: list[tuple[float, int]]) -> None:
    # The trial that is promoted is the first in the line, or nearly.
    del pairs[next(place for place, (_, other) in enumerate(pairs) if other == trial)]
