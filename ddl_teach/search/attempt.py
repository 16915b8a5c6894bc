"""One job, done where a worker is: whatever goes wrong comes back as an outcome.

A training has *crashed* if it raises, ends in a loss that is no number, or returns anything but a
state and a loss. The search notes why and goes on with another trial.
"""

import math
import numbers
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ddl_teach.search.decider import Job, Settings
from ddl_teach.training.consistency.states import pack, unpack

State = dict[str, Any]
Advanced = tuple[State, float]


class SearchFailed(RuntimeError):
    """Nearly everything crashes."""


class ResumableTraining(Protocol):
    """What a search advances: a training that can be stopped, kept, and continued anywhere."""

    def __call__(self, settings: Settings, state: State | None, steps: int, seed: int) -> Advanced:
        """Train `steps` more steps; returns the state then, and the validation loss."""


@dataclass(frozen=True)
class JobOutcome:
    """The result of a job: a packed state and a loss, or an error."""

    state: np.ndarray | None
    loss: float | None
    error: str | None = None


def attempt(training: ResumableTraining, job: Job, state: np.ndarray | None) -> JobOutcome:
    """Do the job, going on from a packed state (None: from the beginning)."""
    try:
        before = None if state is None else unpack(state)
        result = training(dict(job.settings), before, job.steps, job.seed)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"a training returns (state, loss), not {result!r:.80}")
        after, loss = result
        if isinstance(loss, (bool, np.bool_)) or not isinstance(loss, (numbers.Real, np.floating)):
            raise TypeError(f"a training's loss is a number, not {loss!r:.80}")
        if not math.isfinite(loss):
            raise FloatingPointError(f"the loss is {float(loss)}: training diverged")
        return JobOutcome(pack(after), float(loss))
    except Exception as error:
        return JobOutcome(None, None, f"{type(error).__name__}: {error}")
