"""What an exercise is, and the stage on which a learner's function is put to the test.

A judge is written once. It asks a stage to run the learner's function on a number of ranks with
given data, and looks at what comes back: results, changed arrays, the ledger. In a notebook the
stage is made of simulated ranks and of the learner's own engines; when submissions are graded, it
is a sandbox that the judge stands outside of.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from ddl_class.exercises.translation import translated
from ddl_runtime.records.ledger import Ledger
from ddl_runtime.records.timeline import Timeline
from ddl_runtime.topologies.point_to_point import Machine, Uniform

# MPI does not promise that a send ends before its receive was asked for: a stage takes it at its
# word, so that sends which face each other hang there, and not only with long vectors.
NO_BUFFERS = Machine(eager=0)


class Wrong(Exception):
    """What a judge found: a message for the learner, naming the usual mistake if it is one."""


def ranks_text(count: int) -> str:
    """So many ranks, in words."""
    return translated("1 rank") if count == 1 else translated("{count} ranks", count=count)


@dataclass(frozen=True)
class ProgramOutcome:
    """What a rank program left behind on a stage."""

    results: list[Any]  # what each rank returned
    arguments: list[tuple[Any, ...]]  # each rank's arguments, as the function left them
    ledger: list[Ledger]
    time: float
    timeline: Timeline | None = None


class ProgramRunner(Protocol):
    """Where the learner's function runs. What it raises, and its hangs, come out as errors of
    `ddl_runtime.diagnosis.deadlock`."""

    def call(self, *arguments: Any) -> Any:
        """A function without ranks: what it returns for these arguments."""

    def run(
        self, ranks: int, arguments: Sequence[tuple[Any, ...]], *, network: Any = Uniform()
    ) -> ProgramOutcome:
        """A rank program: `function(comm, *arguments[comm.rank])` on every rank."""


@dataclass(frozen=True)
class Attempt:
    """What a judge puts to the test, where its data are drawn from, and which counts it tries."""

    stage: ProgramRunner
    generator: np.random.Generator
    counts: Sequence[int]
    note: Callable[[float, str], object] = lambda reached, holds: None  # of a puzzle's answer

    def call(self, *arguments: Any) -> Any:
        return self.stage.call(*arguments)

    def run(
        self, ranks: int, arguments: Sequence[tuple[Any, ...]], *, network: Any = Uniform()
    ) -> ProgramOutcome:
        return self.stage.run(ranks, arguments, network=network)


MINUTES_A_POINT = 5  # as planned for a class

Judge = Callable[[Attempt], None]
"""Raises `Wrong`, or returns."""


@dataclass(frozen=True)
class Exercise:
    """One function that the learner writes."""

    name: str  # unit and exercise, as in "06.ring"
    title: str
    points: int
    hints: tuple[str, ...]  # the first points the way, the second leads on, a third shows lines
    judge: Judge
    right: str  # what a function that passes does right, as one sentence
    parameters: tuple[str, ...] = ("comm", "x")  # what the function is called with
    ranks: tuple[int, ...] = (1, 2, 3, 4, 5, 8)  # counts that `check` tries; () for no ranks
    powers_of_two: bool = False  # whether only such counts are asked for
    library: tuple[str, ...] = ()  # collectives that an answer may call: "ring.reduce_scatter"
    order: tuple[str, ...] = ()  # of lines to put in order: those that belong nowhere
    best_known: float = math.nan  # of a puzzle: the fewest seconds that the house has reached
    counted: str = ""  # of a puzzle: what is counted in place of seconds, as in "numbers"

    @property
    def unit(self) -> str:
        return self.name.split(".")[0]

    @property
    def minutes(self) -> int:
        """How long a class is given for it."""
        return MINUTES_A_POINT * self.points

    def suits(self, ranks: int) -> bool:
        """Whether the function must work on `ranks` ranks."""
        return not self.powers_of_two or ranks.bit_count() == 1


Kind = Literal["computed", "simulated", "measured"]
"""Where a number comes from: a formula or a count, simulated ranks, or a run."""


@dataclass(frozen=True)
class Prediction:
    """A number that the learner commits to before it is known. None of them is negative."""

    name: str  # unit and prediction, as in "06.crossover"
    question: str
    quantity: str  # what the number counts, as in "bytes"
    kind: Kind  # how the notebook finds it
    close: float = 2.0  # within this factor, at most 2, a prediction is a good one
    most: float = math.inf  # what it can be at most

    def __post_init__(self) -> None:
        if not 1 < self.close <= 2:
            raise ValueError(f"{self.name}: within a factor of {self.close} is not close")


@dataclass(frozen=True)
class Unit:
    """What there is to do in one unit: what the exercises.toml of its folder holds."""

    number: str  # "06"
    title: str
    exercises: tuple[Exercise, ...]
    predictions: tuple[Prediction, ...] = ()
