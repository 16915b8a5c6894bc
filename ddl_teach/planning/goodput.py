"""Goodput: the share of its time in which a training gets on, drawn month by month.

Of what passes, some goes into saving, some into work that is done twice; some passes until a
failure is noticed, until all ranks are back, and until a machine takes the place of a lost one.
`finish` draws failures by kind, and follows thousands of trainings at once. Where failures come
alike at any time and machines wait, its mean is the formula of `theory.failures`; repairs, spares
and bursts have none.

Dubey et al., "The Llama 3 herd of models", 2024; Kokolis et al., "Revisiting reliability in
large-scale machine learning research clusters", HPCA 2025.
What to look at: the mean says what a month costs, and a quantile what to promise.
"""

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class FailureKind:
    """How often it came; whether a machine is `lost`; how many seconds `late` it is noticed, and
    the part of that time's work that is in vain, `harm`: all, or of a slow rank its delay."""

    name: str
    count: float
    group: str = ""
    lost: bool = True
    late: float = 0.0
    harm: float = 1.0


@dataclass(frozen=True)
class Safeguards:
    """After `every` seconds of training a checkpoint stops it for `stall`, and is safe `behind`
    seconds later. All ranks are back after `restart`, or `in_job` if no machine was lost. A lost
    one is repaired in `repair` seconds, lognormal with `spread`. `spares` machines wait; None: as
    many as are needed."""

    every: float
    stall: float
    restart: float
    behind: float = 0.0
    in_job: float | None = None
    spares: int | None = None
    repair: float = 0.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        if self.every <= 0 or min(self.stall, self.restart, self.behind, self.repair) < 0:
            raise ValueError(f"{self}: every must be above 0, and no time below 0")
        if self.behind > self.every + self.stall:
            raise ValueError(
                f"a checkpoint is written in {self.behind} s, and the next one comes after "
                f"{self.every + self.stall}: save less often, or write faster"
            )


@dataclass(frozen=True)
class Months:
    """What became of each training: how many failures it had, and the seconds of each loss."""

    work: float
    failures: np.ndarray
    lost: dict[str, np.ndarray]

    @property
    def seconds(self) -> np.ndarray:
        return self.work + sum(self.lost.values(), np.zeros(len(self.failures)))

    @property
    def goodput(self) -> np.ndarray:
        return self.work / self.seconds


LOSSES = "saving", "done twice", "unnoticed", "restarting", "waiting for machines"


def finish(
    work: float,
    kinds: Sequence[FailureKind],
    mean: float,
    guards: Safeguards,
    runs: int = 10_000,
    seed: int = 0,
    shape: float = 1.0,
) -> Months:
    """Train for `work` seconds, in whole intervals between checkpoints, in each of `runs` runs. A
    failure comes `mean` seconds after a start, by Weibull's law: with a `shape` below 1 in bursts.
    """
    if not kinds or work <= 0 or mean <= 0 or runs < 1 or shape <= 0:
        raise ValueError("finish: give kinds of failure; work, mean, runs, shape above 0")
    random = np.random.default_rng(seed)
    weights = np.array([kind.count for kind in kinds])
    gone, late, harm = np.array([(kind.lost, kind.late, kind.harm) for kind in kinds]).T
    in_job = guards.restart if guards.in_job is None else guards.in_job
    starts = np.where(gone, guards.restart, in_job)
    cycle, intervals = guards.every + guards.stall, math.ceil(work / guards.every)
    failures, clock = np.zeros(runs, int), np.zeros(runs)
    saving, twice, unnoticed, restarting, waiting = losses = np.zeros((len(LOSSES), runs))
    saving[:] = intervals * guards.stall
    twice[:] = guards.behind  # of the last one, which nothing follows
    left, start = np.full(runs, float(intervals)), np.zeros(runs)
    spares = np.zeros((runs, (guards.spares or 0) + 1))  # when each comes back; the last is lost
    going = np.arange(runs)
    while len(going):
        begun, lacking = start[going], left[going]
        until = mean / math.gamma(1 + 1 / shape) * random.weibull(shape, len(going))
        kind = random.choice(len(kinds), len(going), p=weights / weights.sum())
        repair = guards.repair * np.exp(
            guards.spread * random.standard_normal(len(going)) - guards.spread**2 / 2
        )
        failed = until < begun + lacking * cycle + guards.behind
        restarting[going] += np.minimum(until, begun)
        going, begun, until, kind = going[failed], begun[failed], until[failed], kind[failed]
        up = np.maximum(until - begun, 0)
        useful = up + np.where(up > 0, (1 - harm[kind]) * late[kind], 0)
        safe = np.clip((useful - guards.behind) // cycle, 0, lacking[failed])
        failures[going] += 1
        left[going] -= safe
        twice[going] += useful - safe * cycle
        unnoticed[going] += up + late[kind] - useful
        clock[going] += until + late[kind]
        start[going] = starts[kind]
        if guards.spares is not None:
            rows, at = going[gone[kind] > 0], np.flatnonzero(gone[kind])
            spares[rows, -1] = clock[rows] + repair[failed][at]
            first = spares[rows].argmin(axis=1)
            wait = np.maximum(spares[rows, first] - clock[rows], 0)
            spares[rows, first] = spares[rows, -1]
            waiting[rows] += wait
            clock[rows] += wait
    return Months(intervals * guards.every, failures, dict(zip(LOSSES, losses, strict=True)))


LLAMA_3_DAYS, LLAMA_3_GPUS = 54, 16_384
REPLACED = "GPU", "host", "network", "unplanned maintenance"  # our reading: a machine is swapped
_TABLE = tomllib.loads(Path(__file__).with_name("llama_3.toml").read_text(encoding="utf-8"))
LLAMA_3 = tuple(
    FailureKind(name, count, group, group in REPLACED)
    for group, counts in _TABLE.items()
    for name, count in counts.items()
)
"""The 419 unexpected interruptions of its table, whose printed shares do not add up."""


def mean_of(kinds: Sequence[FailureKind], devices: int) -> float:
    """Mean seconds between failures of these kinds on `devices` devices, as often as Llama 3's."""
    return LLAMA_3_DAYS * 86_400 / sum(kind.count for kind in kinds) * LLAMA_3_GPUS / devices
