"""What was measured: questions, ways to choose from, and the seconds of each repetition.

A file has one row for each repetition of each choice, with names in its first line:

    ranks,nbytes,choice,repetition,seconds
    4,65536,ring,0,0.000213

A choice that is not allowed takes inf seconds. What to look at: repetitions are kept, not their
medians: they tell how near a tie is, and one half can judge what was learnt from the other.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from ddl_runtime.core.checks import one_of
from ddl_teach.theory.median import enclosing

AFTER = ("choice", "repetition", "seconds")  # the columns behind those of the question


@dataclass(frozen=True, eq=False)
class Points:
    """`questions[point, name]` are numbers, `seconds[point, choice, repetition]` what it took."""

    names: tuple[str, ...]
    questions: np.ndarray
    choices: tuple[str, ...]
    seconds: np.ndarray

    def __post_init__(self) -> None:
        asked, timed, count = np.shape(self.questions), np.shape(self.seconds), len(self.questions)
        if asked != (needed := (count, len(self.names))):
            raise ValueError(
                f"questions have shape {asked}; with {self.names} it must be {needed}"
            )
        if len(timed) != 3 or timed[:2] != (needed := (count, len(self.choices))):
            raise ValueError(
                f"seconds have shape {timed}; for {count} questions and the choices "
                f"{self.choices} it must be {needed} and repetitions"
            )
        if not np.isfinite(self.seconds).all(axis=2).any(axis=1).all():
            raise ValueError("a question without any choice that is allowed: leave it out")

    def __len__(self) -> int:
        return len(self.questions)

    @cached_property
    def medians(self) -> np.ndarray:
        """Seconds of each choice at each point."""
        return np.asarray(np.median(self.seconds, axis=2))

    @property
    def winners(self) -> np.ndarray:
        """The number of the fastest choice at each point."""
        return np.asarray(self.medians.argmin(axis=1))

    @property
    def slowdowns(self) -> np.ndarray:
        """How many times as long as the fastest each choice takes."""
        return np.asarray(self.medians / self.medians.min(axis=1, keepdims=True))

    @cached_property
    def tied(self) -> np.ndarray:
        """Which choices may be the fastest: their 95% interval begins before the winner's ends."""
        ordered = np.sort(self.seconds)
        low, high = enclosing(ordered.shape[2])
        ends = ordered[np.arange(len(self)), self.winners, high]
        return np.asarray(ordered[..., low] <= ends[:, None])

    def column(self, name: str) -> np.ndarray:
        """One of the numbers that questions are made of."""
        one_of(name, "number of a question", self.names)
        return self.questions[:, self.names.index(name)]

    def groups(self, *names: str) -> np.ndarray:
        """A number for each point, the same where these columns are the same."""
        columns = np.stack([self.column(name) for name in names], axis=1)
        return np.unique(columns, axis=0, return_inverse=True)[1].ravel()

    def only(self, places: np.ndarray) -> Self:
        """The points that a mask, or their places, select."""
        return replace(self, questions=self.questions[places], seconds=self.seconds[places])

    def halves(self) -> tuple[Self, Self]:
        """The repetitions 0, 2, 4, ... and 1, 3, 5, ...; a single repetition stands in both."""
        if self.seconds.shape[2] == 1:
            return self, self
        half, other = (replace(self, seconds=self.seconds[:, :, first::2]) for first in (0, 1))
        return half, other

    def asked(self) -> Self:
        """The same questions without answers: seconds are 0 if a choice is allowed, else inf."""
        allowed = np.isfinite(self.seconds[:, :, :1])
        return replace(self, seconds=np.where(allowed, 0.0, np.inf))

    def save(self, path: str | Path) -> None:
        with Path(path).open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow((*self.names, *AFTER))
            for (point, choice, turn), seconds in np.ndenumerate(self.seconds):
                question = [f"{number:.15g}" for number in self.questions[point]]
                rows.writerow((*question, self.choices[choice], turn, f"{seconds:.4g}"))


def load(path: str | Path) -> Points:
    """Read what `save` wrote, or rows that were put together in some other way."""
    with Path(path).open(newline="") as file:
        header, *rows = csv.reader(file)
    names = tuple(header[:-3])
    if tuple(header[-3:]) != AFTER:
        raise ValueError(f"{path}: the last columns must be {','.join(AFTER)}, not {header[-3:]}")
    choices = tuple(dict.fromkeys(row[-3] for row in rows))
    questions = {tuple(map(float, row[:-3])): None for row in rows}
    place = {question: number for number, question in enumerate(questions)}
    turns = 1 + max(int(row[-2]) for row in rows)
    seconds = np.full((len(place), len(choices), turns), np.nan)
    for row in rows:
        where = place[tuple(map(float, row[:-3]))], choices.index(row[-3]), int(row[-2])
        seconds[where] = float(row[-1])
    if np.isnan(seconds).any():
        point, choice, turn = np.argwhere(np.isnan(seconds))[0]
        raise ValueError(
            f"{path}: the question {[*questions][point]} has no time of {choices[choice]} in "
            f"repetition {turn}; every choice needs the same number of repetitions"
        )
    return Points(names, np.array([*questions]), choices, seconds)


Chooser = Callable[[Points], np.ndarray]
"""A function of questions: a number for each choice at each of them, the least for the best."""
Learner = Callable[[Points], Chooser]
"""A function of points that returns a chooser."""


def logarithms(points: Points) -> np.ndarray:
    """The questions as a learner takes them: sizes grow by factors, so their logarithms count."""
    if not (points.questions > 0).all():
        raise ValueError("all numbers of a question must be above 0: their logarithms are used")
    return np.asarray(np.log2(points.questions))


def log_slowdowns(points: Points) -> np.ndarray:
    """What is learnt: 0 for the fastest, near 0 for a near tie, inf for what is not allowed."""
    return np.asarray(np.log(points.slowdowns))
