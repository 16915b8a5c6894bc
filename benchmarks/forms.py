"""Packing and unpacking of every form beside a memory copy, and the bandwidth where it pays.

    python -m benchmarks.forms [--numbers 1000000] [--repetitions 21] [--ranks 4]

First table: bytes of float32 gradient packed or unpacked in a second by one thread, all forms and
the copy taking turns (measure.repetitions); medians with nonparametric 95% intervals, and the
ratio to the copy. Second table: an average over real ranks on links slowed by INJECTED DELAY, with
the break-even bandwidth computed from the packing rates of the first table, simulated with
phantoms, and measured (the bandwidth at which the measured times cross).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ddl_measure.experiments import compression as experiments
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach import Ranks
from ddl_teach.theory import compression
from ddl_teach.theory.crossover import crossing
from ddl_teach.training.compression.averaging import way_of
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.deep_gradient_compression import DeepGradientCompression
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.half import Half
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.powersgd import PowerSGD
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.random_k import RandomK
from ddl_teach.training.compression.terngrad import TernGrad
from ddl_teach.training.compression.threshold import Threshold
from ddl_teach.training.compression.top_k import TopK

RESULTS = Path(__file__).parent / "results" / "forms.txt"
COPY = "memory copy"
FORMS: dict[str, Compressor] = {
    "dense": Dense(), "float16": Half(), "1 bit": OneBit(), "QSGD, 7 levels": QSGD(),
    "QSGD, 255 levels": QSGD(255, 512), "QSGD, 1 level, Elias": QSGD(1, 512, coding="elias"),
    "TernGrad": TernGrad(), "top 1%": TopK(0.01), "random 1%": RandomK(0.01),
    "threshold, 1%": Threshold(2.576), "PowerSGD, rank 2": PowerSGD(2),
    "1 bit, feedback": Feedback(OneBit()), "top 1%, feedback": Feedback(TopK(0.01)),
    "deep gradient compression": DeepGradientCompression(0.01),
}  # fmt: skip
TURNS = 5
RATES = [math.inf, *np.geomspace(1e7, 3e9, 8)]


def packing(numbers: int, repetitions: int) -> tuple[str, dict[str, tuple[float, float]]]:
    """The first table, and seconds to pack and to unpack by form."""
    x = np.random.default_rng(0).standard_normal(numbers, np.float32)
    room = np.empty_like(x)
    streams = {name: compressor.stream() for name, compressor in FORMS.items()}
    messages = {name: streams[name].encode(x) for name in FORMS}
    packs: dict[str, Callable] = {COPY: lambda: np.copyto(room, x)}
    packs |= {name: (lambda stream=streams[name]: stream.encode(x)) for name in FORMS}
    unpacks: dict[str, Callable] = {COPY: lambda: np.copyto(room, x)}
    unpacks |= {
        name: (
            lambda compressor=compressor, message=messages[name]: compressor.decode(
                message, numbers
            )
        )
        for name, compressor in FORMS.items()
    }
    took = [side_by_side(ways, repetitions=repetitions) for ways in (packs, unpacks)]
    lines = [
        f"{numbers:,} float32 numbers, {repetitions} repetitions; gradient bytes a second",
        f"{'compressor':<27}{'bytes each':>11}{'pack':>11}{'/ copy':>9}{'95% interval':>21}"
        f"{'unpack':>12}{'/ copy':>9}{'95% interval':>21}",
    ]
    seconds = {}
    for name in packs:
        nbytes = len(messages[name]) / numbers if name in messages else 4
        line = f"{name:<27}{nbytes:>11.3f}"
        both = []
        for times in took:
            median, low, high = interval(times[name])
            ratio = interval(times[COPY])[0] / median
            line += f"{_rate(numbers, median):>11}{ratio:>9.3f}"
            line += f"{_rate(numbers, high):>11} to{_rate(numbers, low):>7}"
            both.append(median)
        lines.append(line)
        seconds[name] = both[0], both[1]
    return "\n".join(lines) + "\n(rates in MB/s)", seconds


def slowest(pool: Ranks, ranks: int, compressor: Compressor, numbers: int) -> np.ndarray:
    """Seconds of an average at each of the bandwidths, of the rank that was done last."""
    asked = {"compressor": compressor, "size": numbers, "bandwidths": RATES, "turns": TURNS}
    run = pool.run(experiments.averages, ranks, **asked, trace=False, timeout=300)
    return np.median(np.max(run.results, axis=0), axis=0)


def paying(
    ranks: int, numbers: int, name: str, seconds: dict, pool: Ranks, dense: np.ndarray
) -> str:
    """One line of the second table: break-even bandwidths of a form."""
    compressor = FORMS[name]
    message = compressor.nbytes(numbers)
    way = way_of(compressor, numbers)
    packed = getattr(compression, way)(ranks, message, *seconds[name])
    plain = compression.dense(ranks, 4 * numbers)
    computed = compression.break_even(plain, packed)
    given = {"message": message, "encode": seconds[name][0], "decode": seconds[name][1]}
    program = getattr(experiments, way)

    def difference(rate: float) -> float:
        slow = experiments.sweep(experiments.dense, ranks, [rate], nbytes=4 * numbers)[0]
        return slow - experiments.sweep(program, ranks, [rate], **given)[0]

    simulated = crossing(difference, lambda rate: 0.0, 1e5, 1e12)
    took = slowest(pool, ranks, compressor, numbers)
    alone = compression.AveragingCost(0, plain.bytes, dense[0])
    on_ranks = compression.break_even(alone, compression.AveragingCost(0, packed.bytes, took[0]))
    wins = [rate for rate, a, b in zip(RATES, took, dense, strict=True) if a < b]
    fastest = max(wins, default=0.0)
    return (
        f"{name:<20}{computed / 1e6:>12.0f}{simulated / 1e6:>12.0f}{on_ranks / 1e6:>16.0f}"
        f"{fastest / 1e6:>14.0f}   " + " ".join(
            f"{b / a:.2f}" for a, b in zip(took, dense, strict=True)
        )
    )  # fmt: skip


def _rate(numbers: int, seconds: float) -> str:
    return f"{4 * numbers / seconds / 1e6:,.0f}"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numbers", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--ranks", type=int, default=4)
    chosen = parser.parse_args()
    table, seconds = packing(chosen.numbers, chosen.repetitions)
    parts = [heading(describe()), table]
    print(table, flush=True)
    lines = [
        f"{chosen.ranks} ranks, {chosen.numbers:,} float32 numbers; MB/s below which a form beats",
        "dense: computed and simulated from the rates above (a core for each rank); from the",
        "ranks' own times without delay; the fastest tried at which it won with INJECTED DELAY;",
        "and dense's time over the form's at " + ", ".join(
            "no delay" if rate == math.inf else f"{rate / 1e6:.0f}" for rate in RATES
        ) + " MB/s",
        f"{'form':<20}{'computed':>12}{'simulated':>12}{'from own times':>16}{'measured':>14}",
    ]  # fmt: skip
    with Ranks(chosen.ranks) as pool:
        dense = slowest(pool, chosen.ranks, Dense(), chosen.numbers)
        for name in ("1 bit", "QSGD, 7 levels", "TernGrad", "top 1%", "1 bit, feedback"):
            lines.append(paying(chosen.ranks, chosen.numbers, name, seconds, pool, dense))
            print(lines[-1], flush=True)
    parts.append("\n".join(lines))
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
