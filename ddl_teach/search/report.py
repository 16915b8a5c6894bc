"""What a search found, and every run that it took.

The best of n runs is a maximum of n draws: it grows with n though nothing else does better. So
here all runs are counted, those that crashed and those that were interrupted with them, and the
test part is looked at once. What to look at: the median of a rung beside its best.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from ddl_runtime.diagnosis.page import folded
from ddl_teach.search.decider import Decider, in_words


@dataclass(frozen=True)
class Record:
    """One job: some steps of one trial, by one worker, from `start` to `end` in seconds.

    Its `decision` is "waiting" when it is done and nothing decided yet. A job that was under way
    when the search was killed stays as "interrupted": it cost time, and was done again.
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
class SearchProgress:
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


def best(records: Sequence[Record]) -> Record | None:
    """The lowest loss that a trial ended with; None if nothing was done."""
    ends = {record.trial: record for record in records if record.loss is not None}
    return min(ends.values(), key=lambda record: (record.loss, record.trial), default=None)


@dataclass(frozen=True)
class SearchReport:
    """The `winner`, its `accuracy` on the test part and its `state`; all `records` in the order in
    which their jobs began; in `progress` what they come to; the `decider` as it was in the end."""

    winner: Record | None
    accuracy: float | None
    state: dict[str, Any] | None
    records: tuple[Record, ...]
    progress: SearchProgress
    decider: Decider

    @property
    def runs(self) -> int:
        """Every run it took: also those that crashed, and those that were done again."""
        return len(self.records)

    @property
    def busy(self) -> float:
        """Seconds that workers were busy, all together."""
        return sum(record.end - record.start for record in self.records if record.end is not None)

    def __str__(self) -> str:
        decided = Counter(record.decision for record in self.records)
        workers = len({record.worker for record in self.records})
        lines = ["no run was done"]
        if self.winner is not None:
            lines = [f"best: trial {self.winner.trial}, loss {self.winner.loss:.4g}"]
            lines += [f"  {in_words(self.winner.settings)}"]
        if self.accuracy is not None:
            lines += [f"  accuracy {self.accuracy:.1%} on the test part, looked at once"]
        lines += [
            f"it took {self.runs} runs of {self.progress.trials} trials, {decided['crashed']} of "
            f"them crashed and {decided['interrupted']} interrupted\n  "
            f"{self.progress.steps:,} steps in {self.progress.seconds:.3g} s, for which {workers} "
            f"workers were busy {self.busy:.3g} s"
        ]
        errors = Counter(record.error for record in self.records if record.decision == "crashed")
        lines += [f"  {times} x crashed: {error}" for error, times in errors.most_common(3)]
        rungs = sorted(self.records, key=lambda record: record.rung)
        lines += [_about_a_rung([*rung]) for _, rung in groupby(rungs, lambda record: record.rung)]
        return folded("\n".join(lines))


def _about_a_rung(records: Sequence[Record]) -> str:
    losses = [record.loss for record in records if record.loss is not None]
    steps = sorted({record.steps for record in records})
    counts = Counter(record.decision for record in records)
    loss = f"median loss {statistics.median(losses):.4g}, best {min(losses):.4g}" if losses else ""
    return (
        f"  rung {records[0].rung}: {len(losses)} of {len(records)} runs done, "
        f"{' or '.join(map(str, steps))} steps each\n    {counts['promoted']} promoted, "
        f"{counts['stopped']} stopped; {loss}"
    )
