"""Successive halving: all trials for a short time, the best 1/eta of them eta times as long ...

The sizes of rungs, and what they cost, stand in `plain.successive_halving`. In the paper eta is 2;
steps are counted as there, in addition to those before.
What to look at: a rung ends when its last trial does. Workers wait there for the slowest, and in
the last rungs most of them have nothing to do.
"""

import itertools
from collections import deque
from dataclasses import dataclass, field

from ddl_teach.search.decider import Decision, Job
from ddl_teach.search.space import Space, check_plan


@dataclass
class SuccessiveHalving:
    """`trials` begin with `least` steps; of each rung the best of `eta` go on.

    One that crashes in the first rung is replaced by a new one, in a later rung by the next best
    of the rung below.
    """

    space: Space
    trials: int = 27
    rungs: int | None = None
    eta: int = 3
    least: int = 10
    seed: int = 0
    decisions: list[Decision] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        name, trials, eta = type(self).__name__, self.trials, self.eta
        check_plan(self, "trials", "eta", "least")
        most = 1
        while eta**most <= trials:
            most += 1
        if self.rungs is None:
            self.rungs = most
        check_plan(self, "rungs")
        if self.rungs > most:
            raise ValueError(
                f"{name}: {trials} trials can be cut to 1/{eta} of them {most - 1} times, so "
                f"rungs is at most {most}, not {self.rungs}; take more trials or a smaller eta"
            )
        self._numbers = itertools.count()  # of trials
        self._rung = 0
        self._to_begin = self._places = trials  # of the first rung; of this one
        self._queue: deque[int] = deque()  # trials that have entered it
        self._reserve: deque[int] = deque()  # trials stopped in the rung below, best first
        self._losses: dict[int, float] = {}

    @property
    def schedule(self) -> tuple[tuple[int, int], ...]:
        """Each rung's number of trials, and the steps that each of them is trained for there."""
        counts = [self.trials // self.eta**rung for rung in range(self.rungs or 0)]
        return tuple((count, self.trials * self.least // count) for count in counts)

    @property
    def planned(self) -> int:
        return sum(trials * steps for trials, steps in self.schedule)

    @property
    def finished(self) -> bool:
        """Whether the last rung has ended, or no trial is left to enter it."""
        return self._rung == self.rungs or self._places == 0

    def next(self) -> Job | None:
        """The next trial that has entered the rung; None while the rung's last ones run."""
        if self._to_begin > 0:
            self._to_begin -= 1
            trial = next(self._numbers)
        elif self._queue:
            trial = self._queue.popleft()
        else:
            return None
        steps = self.schedule[self._rung][1]
        return Job(trial, self.space.sample(self.seed, trial), self._rung, steps, self.seed)

    def tell(self, job: Job, loss: float) -> None:
        """The last trial of a rung to be done ends it."""
        self._losses[job.trial] = loss
        self._end_rung()

    def crashed(self, job: Job, error: str) -> None:
        """The next trial gets the place, if there is one."""
        if self._rung == 0:
            self._to_begin += 1
        elif self._reserve:
            self._queue.append(self._promote(self._reserve.popleft()))
        else:
            self._places -= 1
            self._end_rung()

    def _end_rung(self) -> None:
        if len(self._losses) < self._places or self.finished:
            return
        self._rung += 1
        if not self.finished:
            # Ties go to the smaller number, or the order in which workers are done would decide.
            ranking = sorted(self._losses, key=lambda trial: (self._losses[trial], trial))
            count = self.schedule[self._rung][0]
            self._reserve = deque(ranking[count:])
            self.decisions += [Decision(left, self._rung - 1, "stopped") for left in self._reserve]
            self._queue = deque(map(self._promote, ranking[:count]))
            self._places = len(self._queue)
            self._losses = {}

    def _promote(self, trial: int) -> int:
        self.decisions.append(Decision(trial, self._rung - 1, "promoted"))
        return trial
