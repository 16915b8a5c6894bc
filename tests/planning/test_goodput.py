"""Drawn months against Daly's formula, against a twin that goes from event to event, and against
the table of failures that they come from."""

import csv
import heapq
import math
import re
from pathlib import Path

import numpy as np
import pytest

from ddl_teach.planning.goodput import (
    LLAMA_3,
    LLAMA_3_DAYS,
    LLAMA_3_GPUS,
    FailureKind,
    Safeguards,
    finish,
    mean_of,
)
from ddl_teach.theory import failures

ROOT = Path(__file__).parents[2]
CRASH = (FailureKind("crash", 1),)
MONTH = 30 * 86_400.0


def rows_of(run):
    table = ROOT / "benchmarks" / "published" / "failures.csv"
    with table.open(encoding="utf-8", newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["run_or_cluster"] == run]


def test_the_kinds_are_those_of_the_published_table():
    rows = rows_of("Llama 3 405B")
    published = {
        row["category"]: (int(row["count"]), row["group"]) for row in rows if row["count"]
    }
    totals = [
        published.pop(name)[0] for name in ("all unexpected", "planned", "all interruptions")
    ]
    assert {kind.name: (kind.count, kind.group) for kind in LLAMA_3} == published
    assert sum(kind.count for kind in LLAMA_3) == totals[0] == totals[2] - totals[1]
    assert {(row["n_gpus"], row["period_days"]) for row in rows} == {
        (str(LLAMA_3_GPUS), str(LLAMA_3_DAYS))
    }


def test_the_hours_between_failures_are_the_published_ones():
    (published,) = [
        row["value"]
        for row in rows_of("Llama 3 405B")
        if row["metric"] == "mean time between unexpected interruptions"
    ]
    assert mean_of(LLAMA_3, LLAMA_3_GPUS) / 3600 == pytest.approx(float(published), abs=0.005)
    assert mean_of(LLAMA_3, 2 * LLAMA_3_GPUS) == mean_of(LLAMA_3, LLAMA_3_GPUS) / 2


def off_by(values, expected):
    """How many standard errors the mean is off."""
    return abs(values.mean() - expected) / (values.std() / math.sqrt(len(values)))


@pytest.mark.parametrize("devices", [1024, 16_384, 65_536, 100_000])
@pytest.mark.parametrize(
    ("every", "save", "restart"), [(600, 40, 600), (120, 5, 60), (3600, 200, 0)]
)
def test_the_mean_of_drawn_months_is_dalys(devices, every, save, restart):
    mean = mean_of(LLAMA_3, devices)
    months = finish(MONTH, CRASH, mean, Safeguards(every, save, restart), runs=1000, seed=devices)
    expected = failures.expected(months.work, every, save, restart, mean)
    assert off_by(months.seconds, expected) < 4.5


def test_another_formula_would_be_noticed():
    mean = mean_of(LLAMA_3, 16_384)
    months = finish(MONTH, CRASH, mean, Safeguards(600, 40, 600), runs=1000)
    assert off_by(months.seconds, failures.expected(months.work, 600, 41, 600, mean)) > 4.5


@pytest.mark.parametrize(("behind", "late"), [(90, 0), (0, 300), (90, 300)])
def test_writing_behind_and_noticing_late_have_a_formula_too(behind, late):
    """In the long run: the end of a training, which no failure follows, is left out."""
    kinds = [FailureKind("late", 1, late=late)]
    guards = Safeguards(100, 4, 60, behind=behind)
    months = finish(10 * MONTH, kinds, 10_000, guards, runs=400)
    share = failures.goodput(100, 4, 60, 10_000, behind, late)
    assert off_by(months.seconds, months.work / share) < 4.5


def twin(random, work, kinds, mean, guards):
    """One training, event by event."""
    clock, left, start = 0.0, math.ceil(work / guards.every), 0.0
    spares = [0.0] * guards.spares
    shares = np.array([kind.count for kind in kinds]) / sum(kind.count for kind in kinds)
    while True:
        fails = random.exponential(mean)
        needed = start + left * (guards.every + guards.stall) + guards.behind
        if fails >= needed:
            return clock + needed
        kind = kinds[random.choice(len(kinds), p=shares)]
        trained = 0.0 if fails <= start else fails - start + (1 - kind.harm) * kind.late
        done = 0
        while (
            done < left and (done + 1) * (guards.every + guards.stall) + guards.behind <= trained
        ):
            done += 1
        left -= done
        clock += fails + kind.late
        start = guards.restart if kind.lost else guards.in_job
        if kind.lost:
            drawn = random.normal(-(guards.spread**2) / 2, guards.spread)
            heapq.heappush(spares, clock + guards.repair * math.exp(drawn))
            clock = max(clock, heapq.heappop(spares))


KINDS = [
    FailureKind("lost", 3),
    FailureKind("hang", 2, lost=False, late=500),
    FailureKind("slow", 1, late=2000, harm=0.3),
]


@pytest.mark.parametrize("spares", [0, 1, 4])
def test_months_are_those_of_a_twin_that_goes_from_event_to_event(spares):
    guards = Safeguards(300, 5, 400, 60, in_job=50, spares=spares, repair=8000, spread=0.8)
    months = finish(100_000, KINDS, 7000, guards, runs=4000, seed=1)
    random = np.random.default_rng(2)
    seconds = np.array([twin(random, 100_000, KINDS, 7000, guards) for _ in range(400)])
    apart = months.seconds.mean() - seconds.mean()
    assert abs(apart) < 4.5 * math.hypot(seconds.std() / 20, months.seconds.std() / 63)
    assert seconds.std() == pytest.approx(months.seconds.std(), rel=0.25)


def test_without_spares_each_lost_machine_is_waited_for():
    guards = Safeguards(600, 10, 300, spares=0, repair=1000)
    months = finish(MONTH, CRASH, 20_000, guards, runs=20)
    np.testing.assert_allclose(months.lost["waiting for machines"], 1000 * months.failures)


def test_more_spares_are_never_worse_in_the_mean_and_enough_are_as_many_as_are_needed():
    guards = {"every": 600, "stall": 10, "restart": 300, "repair": 40_000, "spread": 1}
    means = [
        finish(MONTH, CRASH, 11_000, Safeguards(**guards, spares=spares), runs=300).goodput.mean()
        for spares in (0, 2, 4, 8, 40, None)
    ]
    assert sorted(means) == means
    assert means[0] < 0.5 < means[-1] == means[-2]


@pytest.mark.parametrize("shape", [0.5, 0.7, 1.5])
def test_bursts_are_those_of_weibulls_law(shape):
    """The share is T / M times how many checkpoints a start reaches: a sum of survivals."""
    every, save, restart, mean = 1000, 40, 120, 11_000
    scale, ends = mean / math.gamma(1 + 1 / shape), restart + 1040 * np.arange(1, 2000)
    share = every / mean * np.exp(-((ends / scale) ** shape)).sum()
    guards = Safeguards(every, save, restart)
    months = finish(10 * MONTH, CRASH, mean, guards, runs=300, shape=shape)
    assert off_by(months.seconds, months.work / share) < 4.5
    poisson = failures.expected(months.work, every, save, restart, mean)
    assert off_by(months.seconds, poisson) > 4.5


@pytest.mark.parametrize(("save", "mean"), [(1, 10_000), (40, 11_135), (40, 1800), (2000, 1800)])
def test_the_best_interval_is_the_least_of_a_grid_and_dalys_is_near(save, mean):
    grid = np.geomspace(save / 100, 3 * mean, 20_001)
    times = [failures.expected(1.0, every, save, 0, mean) for every in grid]
    best = failures.best_interval(save, mean)
    assert best == pytest.approx(grid[np.argmin(times)], rel=1e-3)
    assert failures.daly(save, mean) == pytest.approx(best, rel=0.03)


def test_beyond_twice_the_mean_dalys_interval_is_the_mean():
    assert failures.daly(201, 100) == 100


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Safeguards(0, 1, 1),
        lambda: Safeguards(10, -1, 1),
        lambda: Safeguards(10, 1, 1, behind=12),
        lambda: finish(1, [], 1, Safeguards(1, 1, 1)),
        lambda: finish(1, CRASH, 0, Safeguards(1, 1, 1)),
    ],
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"every|above 0|write faster"):
        wrong()


def test_rates_of_other_trainings_in_the_notebook_are_the_published_ones():
    with open(ROOT / "benchmarks" / "published" / "failures.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if "per 1000 node-days" in row["metric"]]
    rates = {row["run_or_cluster"]: float(row["value"]) for row in rows}
    source = (ROOT / "notebooks" / "source" / "25_a_month.py").read_text(encoding="utf-8")
    said = dict(re.findall(r'"([\w -]+)": ([\d.]+)', source[source.index("rates = {") :][:200]))
    assert len(said) == 4
    for name, rate in said.items():
        [published] = [value for run, value in rates.items() if name in run]
        assert float(rate) == published
