"""What came of a population: all losses, all settings, and who went on from whom.

A member's weights have ancestors: generation by generation it was this or that member who carried
them. Along the line of the best the settings are a schedule, found and not planned.
What to look at: most lines die out. After a few generations all members descend from one or two,
and what the others knew is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ddl_teach.search.conductor import SearchFailed
from ddl_teach.search.job import Job
from ddl_teach.search.records import Outcome
from ddl_teach.search.space import Settings
from ddl_teach.search.training import State


@dataclass
class Family:
    """Alike on all ranks, except `states` and `errors`: these are of a rank's own members."""

    steps: int  # of each member in each generation
    losses: list[np.ndarray] = field(default_factory=list)  # at the end of each generation
    settings: list[list[Settings]] = field(default_factory=list)
    parents: list[np.ndarray] = field(default_factory=list)  # from whose state each went on
    winner: State = field(default_factory=dict)  # the state of the best
    states: dict[int, np.ndarray | None] = field(default_factory=dict)  # packed
    errors: dict[tuple[int, int], str] = field(default_factory=dict)  # by generation and member

    def note(self, job: Job, outcome: Outcome) -> None:
        """Remember why an own member crashed."""
        if outcome.error is not None:
            self.errors[job.rung, job.trial] = outcome.error

    def add(self, losses: np.ndarray, settings: list[Settings], parents: np.ndarray) -> None:
        """A generation has ended."""
        if np.isinf(losses).all():
            why = next(iter(self.errors.values()), "the ranks that train them know why")
            raise SearchFailed(
                f"all {len(losses)} members crashed in generation {len(self.losses)}, and nobody "
                f"is left to copy: {why}"
            )
        self.losses.append(losses)
        self.settings.append(settings)
        self.parents.append(parents)

    @property
    def best(self) -> int:
        """The member with the lowest loss."""
        return int(np.argmin(self.losses[-1]))

    def ancestors(self, member: int) -> list[int]:
        """Who carried the weights that this member has, generation by generation."""
        line = [member]
        for parents in reversed(self.parents[1:]):
            line.append(int(parents[line[-1]]))
        return line[::-1]

    def schedule(self, name: str) -> list[Any]:
        """What a setting was in each generation on the way to the best."""
        line = self.ancestors(self.best)
        return [row[member][name] for row, member in zip(self.settings, line, strict=True)]

    def __str__(self) -> str:
        """Who won, and every run that it took."""
        losses, own = np.array(self.losses), np.arange(len(self.losses[0]))
        settings = ", ".join(
            f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in self.settings[-1][self.best].items()
        )
        return (
            f"best: member {self.best}, at last with {settings}: loss {losses[-1].min():.4g}\n"
            f"it took {losses.size} runs of {self.steps} steps by {len(own)} members, "
            f"{np.isinf(losses).sum()} of them crashed; {(np.array(self.parents) != own).sum()} "
            "times a member went on from another's state"
        )
