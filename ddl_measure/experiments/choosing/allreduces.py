"""Points of all-reduces: every algorithm, for each number of ranks and of bytes.

On real ranks all take each turn side by side, in an order that rotates, after a barrier; a time is
that of the slowest rank. `run` is what runs a program there, `Ranks(8).run` for instance. Cost:
repetitions x sizes x algorithms all-reduces for each number of ranks. On simulated ranks a
network can be varied too; its numbers are part of the question, and nothing is noisy.
What to look at: on two cores eight ranks take turns, and no formula of latency and bandwidth knows
that. A chooser that learns from this machine's points may.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ddl_measure.ping_pong import ping_pong
from ddl_measure.repetitions import slowest_in_turns
from ddl_runtime.records.run import Run
from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel
from ddl_teach.collectives import registry
from ddl_teach.collectives.auto import PREDICTABLE
from ddl_teach.comm import Comm, Phantom
from ddl_teach.search.choosing.points import Chooser, Points
from ddl_teach.theory.collectives import formula
from ddl_teach.theory.fit import CostModel, fit
from ddl_teach.theory.machine import Link

NAMES = ("ranks", "nbytes")
ANYWHERE = (*PREDICTABLE, "direct", "one_shot", "shared_memory")  # and always ready to begin
MESSAGES = tuple(4**power for power in range(2, 12))  # bytes, for latency and bandwidth
# Bytes of vectors; those of a power of two would meet each other in a cache.
TIMED, LONG = (*(5 << power for power in range(9, 19)), 7 << 18, 5 << 19), 1 << 14


class NetworkShape(NamedTuple):
    """Ranks of a node, and the links between nodes: seconds a message, seconds a byte."""

    latency: float
    per_byte: float
    ranks_per_node: int = 1

    def fabric(self) -> TwoLevel:
        """The network; inside of nodes it is as fast as `TwoLevel` says."""
        return TwoLevel(self.ranks_per_node, between=Link(self.latency, self.per_byte).network)


def zeros(nbytes: int) -> np.ndarray:
    """A vector whose sums stay what they are, however often it is reduced."""
    if nbytes < 4 or nbytes % 4:
        raise ValueError(f"{nbytes} bytes are no vector of float32: take multiples of 4")
    return np.full(nbytes // 4, 0.0, np.float32)


def race(
    comm: Comm, sizes: Sequence[int], algorithms: Sequence[str], repetitions: int, least: int = 1
) -> np.ndarray:
    """Seconds of the slowest rank, on all ranks: size, algorithm, repetition. Each is the mean of
    calls in a row, of `least` bytes or more together; simulated ranks can begin each together."""
    times = []
    for nbytes in sizes:
        x: Any = Phantom(nbytes, 4) if comm.virtual_time else zeros(nbytes)
        row = range(1 if comm.virtual_time else -(-least // nbytes))
        ways = {name: partial(_in_a_row, comm, x, name, row) for name in algorithms}
        seconds = slowest_in_turns(comm, ways, repetitions, partial(begin_together, comm))
        times.append(np.array([*seconds.values()]) / len(row))
    return np.array(times)


def begin_together(comm: Comm) -> None:
    """A barrier, which ranks leave a message apart; simulated ones wait for a full second, too."""
    comm.barrier()
    if comm.virtual_time:
        comm.work(seconds=1 - comm.now() % 1)


def _in_a_row(comm: Comm, x: Any, name: str, row: range) -> None:
    for _ in row:
        registry.get(name).allreduce(comm, x)


def measured(
    run: Callable[..., Run],
    counts_of_ranks: Sequence[int],
    sizes: Sequence[int],
    *,
    algorithms: Sequence[str] = PREDICTABLE,
    repetitions: int = 20,
) -> Points:
    """Points of real ranks: every number of ranks with every size."""
    given = {"sizes": tuple(sizes), "algorithms": tuple(algorithms), "repetitions": repetitions}
    race_on = partial(run, race, trace=False, strict=False, **given)
    seconds = [race_on(ranks).results[0] for ranks in counts_of_ranks]
    questions = np.array([*product(counts_of_ranks, sizes)], float)
    return Points(NAMES, questions, tuple(algorithms), np.concatenate(seconds))


def simulated(
    networks: Sequence[NetworkShape],
    counts_of_ranks: Sequence[int],
    sizes: Sequence[int],
    *,
    algorithms: Sequence[str] = PREDICTABLE,
    machine: Machine = Machine(),
) -> Points:
    """Points measured on simulated ranks, one repetition of each, as simulated times are exact."""
    questions, seconds = [], []
    for network in networks:
        run = partial(simulate, network=network.fabric(), machine=machine)
        points = measured(run, counts_of_ranks, sizes, algorithms=algorithms, repetitions=1)
        questions += [(*question, *network) for question in points.questions]
        seconds.append(points.seconds)
    names = (*NAMES, *NetworkShape.__match_args__)
    return Points(names, np.array(questions, float), tuple(algorithms), np.concatenate(seconds))


@dataclass(frozen=True, eq=False)
class Timetable:
    """Predicts by measured times of this many ranks, between two sizes along the line through
    both. It is measured by all ranks together and the same on all of them."""

    ranks: int
    algorithms: tuple[str, ...]
    sizes: tuple[int, ...]
    seconds: np.ndarray  # size, algorithm

    def predict(self, algorithm: str, ranks: int, nbytes: int) -> float:
        if ranks != self.ranks:
            raise ValueError(f"these are times of {self.ranks} ranks, not of {ranks}; measure")
        times = self.seconds[:, self.algorithms.index(algorithm)]
        return float(np.interp(nbytes, self.sizes, times))


def timetable(comm: Comm, sizes: tuple[int, ...] = TIMED) -> Timetable:
    """The medians of a few turns, for `auto`; all ranks call it. It takes seconds: where ranks
    share cores, more of them take fewer turns."""
    times = race(comm, sizes, ANYWHERE, max(3, 40 // comm.size), least=LONG)
    return Timetable(comm.size, ANYWHERE, sizes, np.median(times, axis=2))


def two_experiments(run: Callable[..., Run], repetitions: int = 9) -> CostModel:
    """The costs of a network, measured by messages and sums of two ranks alone: latency,
    bandwidth, and the rate of adding up."""
    how = {"trace": False, "strict": False}
    rounds = run(_messages_and_sums, 2, repetitions=repetitions, **how).results[0]
    sizes = np.tile(MESSAGES, repetitions)
    messages, sums = rounds[:, 0].ravel(), rounds[:, 1].ravel()
    if not sums.any():  # simulated ranks that combine for nothing
        return fit(sizes, messages)
    return fit(sizes, messages, reduced_nbytes=sizes, reduced_seconds=sums)


def _messages_and_sums(comm: Comm, repetitions: int) -> np.ndarray:
    """Seconds of a message, and of combining two vectors: repetition, which, size."""
    rounds = np.zeros((repetitions, 2, len(MESSAGES)))
    for of_round in rounds:
        for place, nbytes in enumerate(MESSAGES):
            of_round[0, place] = ping_pong(comm, nbytes, turns=8) or 0.0
            x, y = zeros(nbytes), zeros(nbytes)
            begun = comm.now()
            comm.combine(x, y, out=y)
            of_round[1, place] = comm.now() - begun
    return rounds


def by_model(model: Any) -> Chooser:
    """The choices of a model that has a `predict`, whatever its constants come from."""
    return lambda points: np.array([
        [model.predict(name, *question) for name in points.choices]
        for question in _questions(points)
    ])  # fmt: skip


def counted(points: Points) -> np.ndarray:
    """What each algorithm takes: messages, bytes sent, bytes combined, on its critical path.

    Where questions describe a network, the first two are in seconds by its latency and per_byte.
    """
    alone = [Link(*unit) for unit in np.eye(3)]
    table = np.array([
        [[formula(name)(ranks, nbytes, link) for link in alone] for name in points.choices]
        for ranks, nbytes in _questions(points)
    ], float)  # fmt: skip
    for kind, name in enumerate(("latency", "per_byte")):
        if name in points.names:
            table[..., kind] *= points.column(name)[:, None]
    return table


def _questions(points: Points) -> list[list[int]]:
    """Ranks and bytes of each."""
    return np.array([points.column(name) for name in NAMES]).T.astype(int).tolist()
