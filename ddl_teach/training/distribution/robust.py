"""Workers that lie: every rank gets the vectors of all, and combines them by a rule of its choice.

    mean                one liar decides where it goes
    median              of each coordinate; bears (P-1)/2 liars (Yin et al. 2018)
    trimmed_mean        without the `liars` largest and smallest of each coordinate (Yin et al. 2018)
    krum                the vector whose P - liars - 2 nearest others are nearest (Blanchard 2017)
    centred_clipping    no vector pulls farther than the median distance from the last result

All are functions of rows, one for each worker; of `liars`, how many are expected; and of what came
out the last time. Cost: an all-gather, (P-1) n bytes a rank, where a ring sends 2 (P-1)/P n: no sum
can be made on the way, or a liar could hide in it. Blanchard et al., "Machine learning with
adversaries: Byzantine tolerant gradient descent", NIPS 2017; Yin et al., "Byzantine-robust
distributed learning: towards optimal statistical rates", ICML 2018; Karimireddy, He and Jaggi,
"Learning from history for Byzantine robust optimization", ICML 2021, whose radius is a number that
one tunes. What to look at: `theory.byzantine`, what each costs where no worker lies.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ddl_runtime.core.checks import whole_number
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.theory.byzantine import most_liars
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.handles import Averages, Requirements, Service
from ddl_teach.training.distribution.all_reduce import Everybody
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.optimizers.update import Update

Rule = Callable[[np.ndarray, int, np.ndarray], np.ndarray]
Lie = Callable[[np.ndarray, int], np.ndarray]  # of all rows and how many lie, to the liars' rows


def mean(rows: np.ndarray, liars: int, before: np.ndarray) -> np.ndarray:
    return np.asarray(rows.mean(axis=0))


def median(rows: np.ndarray, liars: int, before: np.ndarray) -> np.ndarray:
    return np.asarray(np.median(rows, axis=0))


def trimmed_mean(rows: np.ndarray, liars: int, before: np.ndarray) -> np.ndarray:
    return np.asarray(np.sort(rows, axis=0)[liars : len(rows) - liars].mean(axis=0))


def krum(rows: np.ndarray, liars: int, before: np.ndarray) -> np.ndarray:
    apart = np.square(rows[:, None] - rows).sum(axis=2)
    nearest = np.sort(apart, axis=1)[:, 1 : max(2, len(rows) - liars - 1)]
    return np.asarray(rows[nearest.sum(axis=1).argmin()])


def centred_clipping(rows: np.ndarray, liars: int, before: np.ndarray) -> np.ndarray:
    centre = before
    for _ in range(3):
        away = rows - centre
        far = np.linalg.norm(away, axis=1, keepdims=True)
        centre = centre + (away * np.minimum(1, np.median(far) / np.maximum(far, 1e-30))).mean(axis=0)
    return np.asarray(centre, rows.dtype)


RULES: dict[str, Rule] = {
    "mean": mean, "median": median, "trimmed mean": trimmed_mean, "Krum": krum,
    "centred clipping": centred_clipping,
}  # fmt: skip


@dataclass(frozen=True)
class Robust(Distribution[Everybody]):
    """An average in which up to `liars` workers may send whatever they like."""

    rule: str = "median"
    liars: int = 1
    lie: Lie | None = None  # what the last `liars` ranks do: a liar knows what all others send
    offers = (Averages,)

    def __post_init__(self) -> None:
        whole_number(self.liars, "Robust: liars", 0)
        if self.rule not in RULES:
            raise ValueError(f"Robust: rule={self.rule!r} must be one of {', '.join(RULES)}")

    def objection(
        self, consistency: Requirements, compressor: Compressor, update: Update | None
    ) -> str | None:
        if compressor.nbytes(1) is None:
            return "all know the length of each message, and here lengths vary: take Dense()"
        return None

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> Everybody:
        if self.lie is None and self.liars > most_liars(self.rule, comm.size):
            bears = f"{self.rule} of {comm.size} workers bears {most_liars(self.rule, comm.size)}"
            raise ValueError(f"Robust: {bears} liars, not {self.liars}: take more workers")
        stream, last = compressor.stream(comm.rank), np.zeros_like(weights)

        def average(vector: np.ndarray) -> None:
            message = stream.encode(vector)
            arriving = np.empty(comm.size * message.nbytes, np.uint8)
            arriving[comm.rank * message.nbytes :][: message.nbytes] = message.view(np.uint8)
            ring.allgather(comm, arriving)
            sent = arriving.reshape(comm.size, -1)
            rows = np.stack([compressor.decode(each, vector.size) for each in sent])
            if self.lie is not None and self.liars:
                rows[-self.liars :] = self.lie(rows, self.liars)
            last[:] = vector[:] = RULES[self.rule](rows, self.liars, last)

        return Everybody(comm, average)


def flipped(rows: np.ndarray, liars: int) -> np.ndarray:
    """Each liar sends the opposite of its own vector."""
    return -rows[-liars:]


def huge(rows: np.ndarray, liars: int) -> np.ndarray:
    """The opposite, a hundred times as long."""
    return -100 * rows[-liars:]


def little(rows: np.ndarray, liars: int) -> np.ndarray:
    """A small bias: in each coordinate one and a half standard deviations of the honest ones from
    their mean, all to one side, and so among them (Baruch et al. 2019)."""
    honest = rows[:-liars]
    return np.tile(honest.mean(axis=0) - 1.5 * honest.std(axis=0), (liars, 1))
