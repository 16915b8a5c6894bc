"""What a decider and its conductor say to each other: which trial deserves how many steps.

    next() -> Job or None            the next thing worth doing; None: nothing, for now
    tell(job, loss)                  the loss that it gave
    crashed(job, error)              or why it gave none

A decider knows nothing of workers, so it runs on any ground: simulated ranks, real ranks, engines.
What to look at: whether `next()` ever says None while work is left. That is a worker waiting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

Settings = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """Train `trial` with its `settings` for `steps` *more* steps, from where the rung before
    ended. All trials begin from the search's `seed`."""

    trial: int
    settings: Settings
    rung: int
    steps: int
    seed: int


@dataclass(frozen=True)
class Decision:
    """What was decided about a trial that has done this rung: "promoted" or "stopped"."""

    trial: int
    rung: int
    what: str


@runtime_checkable
class Decider(Protocol):
    """Which trial is trained for how long."""

    seed: int  # what all random numbers of the search come from

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


def in_words(settings: Settings) -> str:
    """The settings as one line of text: "rate = 0.1234, hidden = 32"."""
    return ", ".join(
        f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in settings.items()
    )
