"""A race: what must be reached, on which nodes, and one training against the clock.

    def train(comm, make_task, look):
        task = make_task(batch=16)
        ...
        if look(weights, samples): return

Given are the data, a network with its weights in one flat vector, and an accuracy on data held
out; everything else is free. A target must be met at two looks in a row: with many looks one is
lucky. Dawn's and MLPerf's races go to an accuracy too (Coleman et al., "DAWNBench", 2017; Mattson
et al., "MLPerf training benchmark", MLSys 2020).
All ranks call `look` together. The clock stands still while rank 0 evaluates the data held
out. `look` returns True once the target was met, or time is up.
What to look at: seconds *and* epochs to the target: which of the two has a team shortened? And how
often it looked: the clock runs until the last look.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Protocol

import numpy as np

from ddl_measure.cables import cables
from ddl_measure.near_and_far import nodes_of
from ddl_measure.reports.report import Data
from ddl_measure.to_accuracy import Evaluation, reached
from ddl_teach.collectives import tree
from ddl_teach.comm import Comm
from ddl_teach.training.tasks.digits import Digits, pictures
from ddl_teach.training.tasks.statements.corpus import Corpus, read
from ddl_teach.training.tasks.statements.downstream import LEAST
from ddl_teach.training.tasks.statements.embedding import Statements
from ddl_teach.training.tasks.task import Task

HELD_OUT_FILES = 1  # of the thirds of all files; settings may be chosen on the others
NODES, NETWORK = "nodes", "network"  # what a machine's description has besides
SAME = 1.5  # networks apart by less than this factor are one network, measured twice


@dataclass(frozen=True)
class Discipline:
    """Reach `accuracy` in `in_a_row` looks, within `limit` seconds, on `task(batch, seed)`."""

    name: str
    title: str
    accuracy: float
    task: Callable[[int, int], Task]
    data: Callable[[], Data]
    in_a_row: int = 2
    limit: float = 20.0  # seconds; a training that never arrives counts eight times this

    def met(self, looks: Sequence[Evaluation]) -> Evaluation | None:
        """The evaluation at which the target was met, or None."""
        return reached(looks, self.accuracy, self.in_a_row)


def digits_data() -> Data:
    """The handwritten digits."""
    data = pictures()
    return Data("handwritten digits", len(data.answers), len(data.held_out_answers), (8, 8))


def code_data() -> Data:
    """The data of the code discipline: pairs of statements to learn from, and functions whose
    package is asked for."""
    corpus = _corpus()
    asked = corpus.held_out & (np.diff(corpus.begins) >= LEAST)
    return Data("statements of Python's library", len(corpus.pairs), int(asked.sum()), (2,))


@cache
def _corpus() -> Corpus:
    return read(fold=HELD_OUT_FILES)


DIGITS = Discipline(
    "digits", "the handwritten digits", 0.95,
    lambda batch, seed: Digits(batch=batch, hidden=32, seed=seed), digits_data,
)  # fmt: skip
# The house needs 0.05 s for the digits and 1 s for the code; on a crowded machine 20 times that
# was seen, since ranks that share a core wait for each other.
CODE = Discipline(
    "code", "an embedding of code", 0.44,
    lambda batch, seed: Statements(_corpus(), batch=batch, seed=seed), code_data, limit=60.0,
)  # fmt: skip
DISCIPLINES: Mapping[str, Discipline] = MappingProxyType({"digits": DIGITS, "code": CODE})


MakeTask = Callable[[int], Task]


class Look:
    """Judges a training: `look(weights, samples)` takes the samples of all ranks so far."""

    def __init__(self, comm: Comm, discipline: Discipline, seed: int) -> None:
        self._comm, self._discipline = comm, discipline
        self._task, self._epoch = discipline.task(1, seed), discipline.data().training
        self.checkpoints: list[Evaluation] = []
        self._away = 0.0  # seconds that all looks have taken
        comm.barrier()
        self._begun = comm.now()

    def __call__(self, weights: np.ndarray, samples: int) -> bool:
        """Whether the training may end."""
        self._comm.barrier()  # the slowest rank is on the clock
        came = self._comm.now()
        enough = np.zeros(1)
        if self._comm.rank == 0:
            seconds = came - self._begun - self._away
            self.checkpoints.append(
                Evaluation(
                    len(self.checkpoints) + 1, samples / self._epoch, seconds, self._away,
                    self._task.accuracy(weights),
                )
            )  # fmt: skip
            met = self._discipline.met(self.checkpoints) is not None
            enough[0] = met or seconds > self._discipline.limit
        tree.broadcast(self._comm, enough)
        self._comm.barrier()
        self._away += self._comm.now() - came
        return bool(enough[0])


class Train(Protocol):
    """The function that a team writes: it trains, and calls `look` on the way."""

    def __call__(self, comm: Comm, make_task: MakeTask, look: Look) -> None: ...


def lap(comm: Comm, train: Train, discipline: str, seed: int) -> tuple[Evaluation, ...]:
    """A rank program: one training with this seed. Returns all its evaluations on rank 0, and an
    empty tuple on the others."""
    rules = DISCIPLINES[discipline]
    look = Look(comm, rules, seed)
    train(comm, lambda batch: rules.task(batch, seed), look)
    if comm.rank == 0 and not look.checkpoints:
        raise ValueError(
            "train ended without a look: call look(weights, samples) every few steps, on all "
            "ranks, and return when it is True"
        )
    return tuple(look.checkpoints)


def ground(comm: Comm) -> dict[str, str]:
    """How many nodes and how many ranks on each, in words; on the first rank of each node also the
    slowest cable between them. The same processors on another network make another race."""
    home = nodes_of(comm)
    ranks = sorted(Counter(home).values())
    if len(ranks) == 1:
        return {NODES: "1"}
    described = {NODES: f"{len(ranks)}, ranks on each: {', '.join(map(str, ranks))}"}
    first = comm.split(0 if home.index(comm.node) == comm.rank else None)
    if first is None:  # its cable is also that of its node's first rank
        return described
    rates = cables(first)
    rate = f"{8e-6 / rates.slowest:.3g} Mbit/s at the slowest"
    return described | {NETWORK: f"{rate}, latency {rates.latency * 1e6:,.0f} us, measured"}


def same_network(first: str | None, other: str | None) -> bool:
    """Whether two descriptions of networks say about the same rate."""
    if first is None or other is None:
        return first == other
    try:
        rates = sorted(float(text.partition(" ")[0]) for text in (first, other))
    except ValueError:
        return False
    return rates[1] < SAME * rates[0]
