"""From stopwatch to formula: latency, per_byte and per_byte_reduced out of measured times.

Half the round trip of a ping-pong is ``latency + n * per_byte``; combining two arrays of n bytes
takes ``start + n * per_byte_reduced``, of which the slope counts. `robust_line` says how the lines
are laid and where the intervals come from. What to look at: predict an all-reduce from these two
experiments alone, then measure it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ddl_teach.theory.collectives import formula
from ddl_teach.theory.inputs import Bytes, Seconds
from ddl_teach.theory.machine import Link
from ddl_teach.theory.robust_line import fit_line


@dataclass(frozen=True)
class CostModel:
    """The measured costs of a network and a processor, each with its interval. About a share
    `confidence` of experiments like this one have the true value inside."""

    latency: float
    per_byte: float
    per_byte_reduced: float
    latency_interval: tuple[float, float]
    per_byte_interval: tuple[float, float]
    per_byte_reduced_interval: tuple[float, float]
    confidence: float

    @property
    def link(self) -> Link:
        """The link that formulas of `theory` take."""
        return Link(self.latency, self.per_byte, self.per_byte_reduced)

    def predict(self, algorithm: str, ranks: int, nbytes: Bytes) -> Seconds:
        """The time an all-reduce by `algorithm` should take here."""
        return formula(algorithm)(ranks, nbytes, self.link)


def fit(
    nbytes: Sequence[float], seconds: Sequence[float], *,
    reduced_nbytes: Sequence[float] | None = None, reduced_seconds: Sequence[float] | None = None,
    confidence: float = 0.95, resamples: int = 1000, seed: int = 0,
) -> CostModel:  # fmt: skip
    """Fit a cost model to one-way times (half of a ping-pong's round trip) of single messages.

    Give every measurement, repetitions and all, rather than means. `reduced_seconds` are times to
    combine two arrays of `reduced_nbytes` each; without them combining is taken to be free.
    """
    if (reduced_nbytes is None) != (reduced_seconds is None):
        raise ValueError("give both reduced_nbytes and reduced_seconds, or neither")
    lay = partial(fit_line, confidence=confidence, resamples=resamples, seed=seed)
    link = lay(nbytes, seconds)
    per_byte_reduced, per_byte_reduced_interval = 0.0, (0.0, 0.0)
    if reduced_nbytes is not None and reduced_seconds is not None:
        combining = lay(reduced_nbytes, reduced_seconds)
        per_byte_reduced = combining.per_byte
        per_byte_reduced_interval = combining.per_byte_interval
    return CostModel(
        latency=link.start,
        per_byte=link.per_byte,
        per_byte_reduced=per_byte_reduced,
        latency_interval=link.start_interval,
        per_byte_interval=link.per_byte_interval,
        per_byte_reduced_interval=per_byte_reduced_interval,
        confidence=confidence,
    )
