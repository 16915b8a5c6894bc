"""What any level measures goes into a report as it is, and its readers find nothing wrong."""

import numpy as np
import pytest

from ddl_measure.levels.distributed import measure_distributed
from ddl_measure.levels.networks import Part, measure_network
from ddl_measure.levels.operators import compare
from ddl_measure.levels.training_level import measure_training, series
from ddl_measure.reports.file import from_json, to_json
from ddl_measure.reports.report import Data, Entry, Provenance, Report, Trial
from ddl_measure.reports.review import review
from ddl_measure.scaling import Baseline
from ddl_teach import simulate

SEEDS = 6
MACHINE = {"processor": "two cores", "cores": "2", "memory": "8 GiB", "system": "Linux"}
BASE = Baseline(1, 1, (1.0,), "one simulated rank")


def of_operators():
    return compare({"it": np.sin}, np.sin, np.ones(3), repetitions=6)["it"].series()


def of_networks():
    parts = [Part("it", np.sin, lambda x, towards: towards * np.cos(x))]
    return measure_network(parts, np.ones(3), np.ones_like, repetitions=6).series()


def of_training():
    asked = {"steps": 6, "samples": 1, "epoch": 6}
    return series(
        [measure_training(int, lambda step: 1.0, lambda: 0.5, **asked) for seed in range(SEEDS)]
    )


def of_distributed():
    found = measure_distributed(
        lambda ranks: simulate(lambda comm: comm.work(seconds=1), ranks),
        (2,), lambda ranks: ranks, BASE, kind="weak", repetitions=1,
    )  # fmt: skip
    return found.on_ranks[0].series("simulated")


@pytest.mark.parametrize(
    "measured",
    [of_operators, of_networks, of_training, of_distributed],
    ids=lambda it: it.__name__,
)
def test_a_levels_series_are_a_reports(measured):
    ranks = 2 if measured is of_distributed else 1
    settings = {"rate": 1}
    entry = Entry(
        "it", "here", ranks, ranks, settings, measured(), batch=1, shape=(3,), searched=0
    )
    report = Report(
        "it", Provenance("2026-03-01", "it", "4be0", "12ab", tuple(range(SEEDS))),
        {"here": MACHINE},
        Data("toys", 6, 6, (3,)), (entry,),
        tuple(Trial("it", seed, settings, "kept") for seed in range(SEEDS)), None, (), (),
    )  # fmt: skip
    assert review(report) == ()
    assert from_json(to_json(report)) == report
