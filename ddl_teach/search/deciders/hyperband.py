"""Hyperband: several successive halvings, from many short trials to few long ones.

    S = floor(log_eta(most / least));    for s = S ... 0 a halving with s + 1 rungs of
    ceil((S + 1) / (s + 1) * eta^s) trials, begun with floor(most / eta^s) steps each

A halving with a small `least` errs where good trials begin slowly; one with a large `least` tries
few. So all are run, at about the same budget each: S + 1 times what the best alone would cost. Li,
Jamieson, DeSalvo, Rostamizadeh and Talwalkar, "Hyperband: a novel bandit-based approach to
hyperparameter optimization", JMLR 2018.
What to look at: halvings do not wait for each other. A worker that is free at the end of a rung
takes jobs of the next halving.
"""

from dataclasses import dataclass, field

from ddl_teach.search.decider import Decision, Job
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.space import Space, check_plan


@dataclass
class Hyperband:
    """First rungs have at least `least` steps, last rungs about `most`."""

    space: Space
    most: int = 270
    eta: int = 3
    least: int = 10
    seed: int = 0
    decisions: list[Decision] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        check_plan(self, "most", "eta", "least")
        if self.most < self.least:
            raise ValueError(f"Hyperband: most={self.most} is less than least={self.least}")
        cuts = 0
        while self.least * self.eta ** (cuts + 1) <= self.most:
            cuts += 1
        self.brackets = []
        for number, s in enumerate(range(cuts, -1, -1)):
            trials = -(-(cuts + 1) * self.eta**s // (s + 1))
            plan = trials, s + 1, self.eta, self.most // self.eta**s, self.seed
            bracket = SuccessiveHalving(self.space, *plan, first=number, stride=cuts + 1)
            bracket.decisions = self.decisions  # one list for all
            self.brackets.append(bracket)

    @property
    def planned(self) -> int:
        return sum(bracket.planned for bracket in self.brackets)

    @property
    def finished(self) -> bool:
        return all(bracket.finished for bracket in self.brackets)

    def next(self) -> Job | None:
        jobs = (bracket.next() for bracket in self.brackets)
        return next((job for job in jobs if job is not None), None)

    def tell(self, job: Job, loss: float) -> None:
        self._of(job).tell(job, loss)

    def crashed(self, job: Job, error: str) -> None:
        self._of(job).crashed(job, error)

    def _of(self, job: Job) -> SuccessiveHalving:
        return self.brackets[job.trial % len(self.brackets)]
