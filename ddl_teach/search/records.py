"""What happened to each job of a search, as plain records: for pictures, reports and journals."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Record:
    """One job: so many steps more of one trial, by one worker, from `start` to `end` in seconds.

    Its `decision` is "running", then "waiting" (done, nothing decided yet), and in the end
    "promoted", "stopped", "crashed" or "best", since the second `decided`. `loss` is None until
    the job is done, and of one that crashed, which has an `error` instead. A job that was under
    way when the search was killed stays as "interrupted": it cost time, and was done again.
    """

    trial: int
    settings: dict[str, Any]
    rung: int
    steps: int
    loss: float | None
    decision: Literal[
        "running", "waiting", "promoted", "stopped", "crashed", "best", "interrupted"
    ]
    worker: int
    start: float
    end: float | None = None
    error: str | None = None
    decided: float | None = None


@dataclass(frozen=True)
class Progress:
    """How far a search is: what a bar shows, and what a condition to stop may look at.

    `steps` are those of jobs that are done; `planned` is what they will be. `loss` is the lowest
    so far of all that were done (None before the first).
    """

    trials: int
    jobs: int
    running: int
    crashes: int
    steps: int
    planned: int
    loss: float | None
    seconds: float
