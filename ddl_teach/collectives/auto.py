"""Auto: the all-reduce that a cost model expects to be the fastest, and why.

Short vectors pay for messages, long ones for bytes, so no algorithm wins everywhere.
Cost: the formulas of `theory.collectives`, computed by every rank for itself; all come to the same
choice. `theory.fit` has constants from measurements, `measure.experiments.choosing` a timetable.
Thakur et al. 2005, choose by size in the same spirit.
What to look at: print `choose(ranks, nbytes)` for growing sizes and see where the winner changes.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import unwrap
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from ddl_runtime.core.arrays import Array, Operation, describe
from ddl_runtime.pictures.words import time_text
from ddl_teach.collectives import registry, tree
from ddl_teach.comm import Comm
from ddl_teach.theory.collectives import ALGORITHMS, formula
from ddl_teach.theory.machine import Link

PREDICTABLE = tuple(ALGORITHMS)
ROUNDING = 1e-12  # times that differ by less than this share are equal


class Model(Hashable, Protocol):
    """What predicts the seconds of an all-reduce: a model fitted to measurements, say. One that is
    the same on all ranks may say so: `algorithms` then names those it knows, and no rank has to
    ask another which one it is."""

    def predict(self, algorithm: str, ranks: int, nbytes: int) -> float: ...


class LatencyBandwidth(NamedTuple):
    """Predicts by a link. The default is of the order of MPI processes that share a laptop: 10
    microseconds, 5 GB/s, 10 GB/s."""

    link: Link = Link(10e-6, 1 / 5e9, 1 / 10e9)

    def predict(self, algorithm: str, ranks: int, nbytes: int) -> float:
        return float(formula(algorithm)(ranks, nbytes, self.link))


@dataclass(frozen=True)
class ChosenAlgorithm:
    """The algorithm, its predicted seconds, those of all in ascending order, and the reason."""

    algorithm: str
    seconds: float
    predictions: Mapping[str, float]
    explanation: str

    def __str__(self) -> str:
        rows = (f"  {name:<20}{time_text(time)}" for name, time in self.predictions.items())
        return "\n".join((self.explanation, *rows))


def allreduce(comm: Comm, x: Array, op: Operation = "sum", *, model: Model | None = None) -> None:
    """Combine the `x` of all ranks, in place, by the algorithm that should be the fastest.

    Each rank may have measured its own `model`, so rank 0 chooses by its model and sends the
    choice; unless all know it to be the same (`Model`).
    """
    nbytes = x.nbytes if hasattr(x, "nbytes") else describe(x)[0]  # which refuses it
    with comm.collective("auto.allreduce", nbytes, op):
        if model is None or hasattr(model, "algorithms"):
            _of_all(comm.size, nbytes, model)(comm, x, op)
            return
        chosen = np.zeros(1, np.uint8)
        if comm.rank == 0:
            chosen[0] = PREDICTABLE.index(choose(comm.size, nbytes, model).algorithm)
        tree.broadcast(comm, chosen)
        registry.get(PREDICTABLE[chosen[0]]).allreduce(comm, x, op)


@lru_cache(1024)
def _of_all(ranks: int, nbytes: int, model: Model | None) -> Callable[..., None]:
    """What a model chooses that is the same on all ranks; it is asked once for each size."""
    known = getattr(model, "algorithms", PREDICTABLE)
    choice = choose(ranks, nbytes, model or LatencyBandwidth(), known)
    inside: Callable[..., None] = unwrap(registry.get(choice.algorithm).allreduce)
    return inside  # `allreduce` is a collective already


def choose(
    ranks: int,
    nbytes: int,
    model: Model = LatencyBandwidth(),
    algorithms: Sequence[str] = PREDICTABLE,
) -> ChosenAlgorithm:
    """The choice of the shortest predicted time; of equal times the one that is named first."""
    times = {name: float(model.predict(name, ranks, nbytes)) for name in algorithms}
    if not times or not all(time >= 0 for time in times.values()):
        raise ValueError(
            f"{model!r} predicts the times {times}: there must be some, and none below 0"
        )
    shortest = min(times.values())
    winner = next(name for name in times if math.isclose(times[name], shortest, rel_tol=ROUNDING))
    order = sorted(times, key=lambda name: (name != winner, times[name]))
    reason = f"{winner} for {nbytes:,} bytes on {ranks} ranks: {time_text(times[winner])} expected"
    if len(order) > 1:
        second = order[1]
        factor = times[second] / times[winner] if times[winner] else 1.0
        reason += (
            f", while {second} would take {time_text(times[second])}, {factor:.2f} times that"
        )
    reason += f" (according to {model!r})"
    predictions = MappingProxyType({name: times[name] for name in order})
    return ChosenAlgorithm(winner, times[winner], predictions, reason)
