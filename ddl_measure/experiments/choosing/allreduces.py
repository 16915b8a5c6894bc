"""Points of all-reduces: every algorithm on so many ranks and bytes.

On real ranks all take each turn side by side, in an order that rotates, after a barrier; a time is
that of the slowest rank. `run` is what runs a program there, `Ranks(8).run` for instance. Cost:
repetitions x sizes x algorithms all-reduces for each number of ranks. On simulated ranks a
network can be varied too; its numbers are part of the question, and nothing is noisy.
What to look at: on two cores eight ranks take turns, and no formula of latency and bandwidth knows
that. A chooser that learns from this machine's points may.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ddl_measure.ping_pong import ping_pong
from ddl_measure.repetitions import side_by_side
from ddl_runtime.records.run import Run
from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_teach.collectives import registry
from ddl_teach.collectives.cost_model import PREDICTABLE, counts
from ddl_teach.comm import Comm, Phantom
from ddl_teach.search.choosing.points import Chooser, Points
from ddl_teach.theory.fit import CostModel, fit

NAMES = ("ranks", "nbytes")
MESSAGES = tuple(4**power for power in range(2, 12))  # bytes, for latency and bandwidth


class NetworkShape(NamedTuple):
    """Nodes of so many ranks, and the links between them: seconds a message, seconds a byte."""

    latency: float
    per_byte: float
    ranks_per_node: int = 1

    def fabric(self) -> TwoLevel:
        """The network; inside of nodes it is as fast as `TwoLevel` says."""
        return TwoLevel(self.ranks_per_node, between=Uniform(self.latency, 1 / self.per_byte))


def zeros(nbytes: int) -> np.ndarray:
    """A vector whose sums stay what they are, however often it is reduced."""
    if nbytes < 4 or nbytes % 4:
        raise ValueError(f"{nbytes} bytes are no vector of float32: take multiples of 4")
    return np.full(nbytes // 4, 0.0, np.float32)


def race(
    comm: Comm, sizes: Sequence[int], algorithms: Sequence[str], repetitions: int
) -> np.ndarray:
    """This rank's seconds: size, algorithm, repetition."""
    times = np.empty((len(sizes), len(algorithms), repetitions))
    for of_size, nbytes in zip(times, sizes, strict=True):
        x = zeros(nbytes)
        taken = side_by_side(
            {name: partial(registry.get(name).allreduce, comm, x) for name in algorithms},
            repetitions=repetitions,
            before=comm.barrier,
        )
        of_size[:] = [taken[name] for name in algorithms]
    return times


def measured(
    run: Callable[..., Run],
    counts_of_ranks: Sequence[int],
    sizes: Sequence[int],
    *,
    algorithms: Sequence[str] = PREDICTABLE,
    repetitions: int = 20,
) -> Points:
    """Points of real ranks: every number of ranks with every size."""
    seconds = []
    for ranks in counts_of_ranks:
        results = run(
            race, ranks, sizes=tuple(sizes), algorithms=tuple(algorithms),
            repetitions=repetitions, trace=False,
        ).results  # fmt: skip
        seconds.append(np.max(results, axis=0))
    questions = [(ranks, nbytes) for ranks in counts_of_ranks for nbytes in sizes]
    return Points(
        NAMES, np.array(questions, float), tuple(algorithms), np.concatenate(seconds)
    )  # fmt: skip


def simulated(
    networks: Sequence[NetworkShape],
    counts_of_ranks: Sequence[int],
    sizes: Sequence[int],
    *,
    algorithms: Sequence[str] = PREDICTABLE,
    machine: Machine = Machine(),
) -> Points:
    """Points of simulated ranks, one repetition of each: the times are exact."""

    def seconds(name: str, network: TwoLevel, ranks: int, nbytes: int) -> float:
        def program(comm: Comm) -> None:
            registry.get(name).allreduce(comm, Phantom(nbytes, 4))

        return simulate(program, ranks, network=network, machine=machine, trace=False).time

    questions, times = [], []
    for network in networks:
        fabric = network.fabric()
        for ranks, nbytes in product(counts_of_ranks, sizes):
            questions.append((ranks, nbytes, *network))
            times.append([[seconds(name, fabric, ranks, nbytes)] for name in algorithms])
    names = (*NAMES, *NetworkShape._fields)
    return Points(names, np.array(questions, float), tuple(algorithms), np.array(times))


def two_experiments(run: Callable[..., Run], repetitions: int = 9) -> CostModel:
    """Latency, bandwidth and the rate of adding up, by two ranks: no all-reduce is run."""
    rounds = run(_messages_and_sums, 2, repetitions=repetitions, trace=False).results[0]
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

    def predicted(points: Points) -> np.ndarray:
        ranks, nbytes = (points.column(name).astype(int) for name in ("ranks", "nbytes"))
        return np.array([
            [model.predict(name, *question) for name in points.choices]
            for question in zip(ranks.tolist(), nbytes.tolist(), strict=True)
        ])  # fmt: skip

    return predicted


def counted(points: Points) -> np.ndarray:
    """What each algorithm takes: messages, bytes sent, bytes combined, on its critical path.

    Where questions tell of a network, the first two are in seconds by its latency and per_byte.
    """
    ranks, nbytes = (points.column(name).astype(int) for name in ("ranks", "nbytes"))
    found = np.array([
        [
            (messages, sent * size, combined * size)
            for messages, sent, combined in (counts(name, count) for name in points.choices)
        ]
        for count, size in zip(ranks.tolist(), nbytes.tolist(), strict=True)
    ], float)  # fmt: skip
    for kind, name in enumerate(("latency", "per_byte")):
        if name in points.names:
            found[..., kind] *= points.column(name)[:, None]
    return found
