"""A job of a search, "train trial 7 for 30 more steps", and what is decided when it is done."""

from dataclasses import dataclass
from typing import Any

Settings = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """Train `trial` with its `settings` for so many *more* steps.

    Each `rung` goes on where the one before it ended. All trials begin from the search's `seed`.
    """

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
