"""Level 3, distributed training: does it scale, what does it send, do ranks end up alike?

A distributed training is one function of the number of ranks that gives back a `Run`: real
processes or simulated ranks, one's own program or ours. From its runs come seconds, from its
ledgers bytes, from its results whether all ranks hold the same weights. All numbers of ranks take
turns, so that a disturbance of the machine meets all of them. Ben-Nun et al. 2019 (Deep500),
level 3. What to look at: bytes per rank over the ranks, beside the formula of the algorithm; and
the same ranks' weights, bit for bit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ddl_measure.scaling import Baseline, Measured, Scaling, strong, weak
from ddl_measure.traffic import Traffic, traffic
from ddl_runtime.records.run import Run


@dataclass(frozen=True)
class OnRanks:
    """One number of ranks: all times, the traffic of one run, and how far ranks ended apart.

    `apart` is the largest difference between any rank's numbers and rank 0's: 0 if they are the
    same to the bit.
    """

    measured: Measured
    traffic: Traffic
    apart: float


@dataclass(frozen=True)
class Distributed:
    """The measurements on each number of ranks, and the scaling of their times."""

    on_ranks: tuple[OnRanks, ...]
    scaling: Scaling


def measure_distributed(
    run_on: Callable[[int], Run], ranks: Sequence[int], work: Callable[[int], float],
    baseline: Baseline | None, *, kind: str = "strong", repetitions: int = 7,
    weights: Callable[[Any], np.ndarray | None] = lambda result: result,
) -> Distributed:  # fmt: skip
    """Run on each number of `ranks`, in turns; `work(ranks)` is the amount that is done there.

    `weights(result)` is what of a rank's result all ranks should have alike, None if it is no
    rank that has any. A simulated run is always the same: one repetition is enough.
    """
    kinds = {"strong": strong, "weak": weak}
    if kind not in kinds:
        raise ValueError(f"kind={kind!r}: scaling is 'strong' or 'weak'")
    if baseline is None:
        kinds[kind]([], baseline)  # says what is missing, before hours of measuring
    seconds: dict[int, list[float]] = {count: [] for count in ranks}
    last: dict[int, Run] = {}
    for _ in range(repetitions):
        for count in ranks:
            last[count] = run_on(count)
            seconds[count].append(last[count].time)
    counts = tuple(
        OnRanks(
            Measured(count, work(count), tuple(seconds[count])), traffic(last[count].ledger),
            _apart([weights(result) for result in last[count].results]),
        )
        for count in ranks
    )  # fmt: skip
    return Distributed(counts, kinds[kind]([each.measured for each in counts], baseline))


def _apart(weights: Sequence[np.ndarray | None]) -> float:
    own = [np.asarray(each, float) for each in weights if each is not None]
    return float(max((np.abs(each - own[0]).max(initial=0.0) for each in own), default=0.0))
