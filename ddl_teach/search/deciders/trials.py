"""The trials of a search: numbered settings, and the jobs they are given."""

import itertools
from typing import Any

from ddl_runtime.core.checks import whole_number
from ddl_teach.search.job import Job
from ddl_teach.search.space import Space


class Trials:
    """Settings one after another, from number `first` on in steps of `stride`."""

    def __init__(self, space: Space, seed: int, first: int = 0, stride: int = 1) -> None:
        self._space, self._seed = space, seed
        self._numbers = itertools.count(first, stride)

    def new(self) -> int:
        """The number of a trial that has not been before."""
        return next(self._numbers)

    def job(self, trial: int, rung: int, steps: int) -> Job:
        """So many more steps for this trial."""
        return Job(trial, self._space.sample(self._seed, trial), rung, steps, self._seed)


def check_plan(decider: Any, *counts: str) -> None:
    """Refuse a decider whose space is none, or whose seed or these counts cannot be."""
    name = type(decider).__name__
    if not isinstance(decider.space, Space):
        raise TypeError(f"{name}: space must be a Space({{...}}), not {decider.space!r}")
    for what in (*counts, "seed"):
        least = {"seed": 0, "eta": 2}.get(what, 1)
        whole_number(getattr(decider, what), f"{name}: {what}", least)
