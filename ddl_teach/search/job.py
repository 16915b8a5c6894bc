"""What a decider and a driver say to each other: jobs, losses, decisions.

A *decider* knows which trial deserves how many steps and nothing of workers; a *driver* knows
workers and nothing of trials. Between them go jobs: "train trial 7 for 30 more steps".

    next() -> Job or None            the next thing worth doing; None: nothing, for now
    tell(job, loss)                  what came of it
    crashed(job, error)              or that nothing did

So any decider runs on any ground: simulated ranks, real ranks, engines.
What to look at: whether `next()` ever says None while work is left. That is a worker waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Job:
    """Train `trial` with its `settings` for so many *more* steps.

    Each `rung` a trial reaches is a job that goes on where the one before it ended. The `seed` is
    the search's own: all trials begin alike, so that luck does not decide between them.
    """

    trial: int
    settings: dict[str, Any]
    rung: int
    steps: int
    seed: int


@dataclass(frozen=True)
class Decision:
    """What was decided about a trial that has done this rung: "promoted" or "stopped"."""

    trial: int
    rung: int
    what: str


class Decider(Protocol):
    """Which trial is trained for how long."""

    @property
    def seed(self) -> int:
        """What all random numbers of the search come from."""

    @property
    def planned(self) -> int:
        """The steps it gives out; those of jobs that crash are not counted."""

    @property
    def decisions(self) -> Sequence[Decision]:
        """All decisions so far, in the order in which they were taken."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do, now or later."""

    def next(self) -> Job | None:
        """The next job; None while there is nothing to do."""

    def tell(self, job: Job, loss: float) -> None:
        """This job is done."""

    def crashed(self, job: Job, error: str) -> None:
        """This job has crashed: another trial takes its place."""
