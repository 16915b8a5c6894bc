"""Optuna as a decider: its samplers and pruners give out jobs as ours do, so any driver runs them.

A trial trains from rung to rung, `rungs` being the steps of each; after each it reports its loss
and the pruner may stop it. Whoever is free goes on with a trial or asks for a new one, as Optuna's
workers do. Akiba, Sano, Yanase, Ohta and Koyama, "Optuna: a next-generation hyperparameter
optimization framework", KDD 2019.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import optuna

from ddl_teach.search.decider import Decision, Job, Settings
from ddl_teach.search.space import Choice, LogUniform, Space, WholeNumber

optuna.logging.set_verbosity(optuna.logging.WARNING)  # it announces every trial otherwise


@dataclass
class OptunaDecider:
    """Up to `budget` steps; `sampler` and `pruner` make Optuna's objects, given a seed and the
    rungs' ends."""

    space: Space
    sampler: Any
    pruner: Any
    budget: int
    rungs: tuple[int, ...] = (10, 30, 90, 270)
    seed: int = 0
    decisions: list[Decision] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        self._ends = tuple(accumulate(self.rungs))
        self._study: optuna.Study | None = None  # begun late: a decider is copied before
        self._trials: dict[int, optuna.Trial] = {}
        self._settings: dict[int, Settings] = {}
        self._ready: deque[tuple[int, int]] = deque()  # trials, and the rungs that they enter
        self._given = self._running = 0

    @property
    def planned(self) -> int:
        """The steps it gives out, up to a remainder."""
        return self.budget

    @property
    def finished(self) -> bool:
        """Whether nobody runs, and nothing more is paid for: a first rung is the cheapest."""
        return not self._running and not self._pays(0)

    def next(self) -> Job | None:
        """A trial that was not pruned, or a new one."""
        while self._ready and not self._pays(self._ready[0][1]):
            self._end(self._ready.popleft()[0])
        if not self._ready and not self._pays(0):
            return None
        trial, rung = self._ready.popleft() if self._ready else (self._new(), 0)
        self._given += self.rungs[rung]
        self._running += 1
        return Job(trial, self._settings[trial], rung, self.rungs[rung], self.seed)

    def tell(self, job: Job, loss: float) -> None:
        """Report the loss, and see whether the pruner lets the trial go on."""
        self._running -= 1
        trial = self._trials[job.trial]
        trial.report(loss, self._ends[job.rung])
        if job.rung + 1 == len(self.rungs):
            self._study.tell(trial, loss)
        elif trial.should_prune():
            self._end(job.trial)
            self.decisions.append(Decision(job.trial, job.rung, "stopped"))
        else:
            self._ready.append((job.trial, job.rung + 1))
            self.decisions.append(Decision(job.trial, job.rung, "promoted"))

    def crashed(self, job: Job, error: str) -> None:
        """Its steps go to others."""
        self._running -= 1
        self._given -= job.steps
        self._study.tell(self._trials[job.trial], state=optuna.trial.TrialState.FAIL)

    def _pays(self, rung: int) -> bool:
        return self._given + self.rungs[rung] <= self.budget

    def _end(self, trial: int) -> None:
        self._study.tell(self._trials[trial], state=optuna.trial.TrialState.PRUNED)

    def _new(self) -> int:
        if self._study is None:
            sampler, pruner = self.sampler(self.seed), self.pruner(self._ends)
            self._study = optuna.create_study(
                sampler=sampler, pruner=pruner, study_name=f"seed {self.seed}"
            )
        trial = self._study.ask()
        self._trials[trial.number] = trial
        self._settings[trial.number] = {
            name: _suggested(trial, name, axis) for name, axis in self.space.axes.items()
        }
        return trial.number


def _suggested(trial: optuna.Trial, name: str, axis: Any) -> Any:
    if isinstance(axis, Choice):
        return trial.suggest_categorical(name, axis.options)
    if isinstance(axis, WholeNumber):
        return trial.suggest_int(name, axis.low, axis.high)
    return trial.suggest_float(name, axis.low, axis.high, log=isinstance(axis, LogUniform))
