import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import RANKS, SIZES

from ddl_teach.collectives import auto
from ddl_teach.theory.collectives import ALGORITHMS, formula
from ddl_teach.theory.fit import CostModel, fit
from ddl_teach.theory.machine import Link

LATENCY, PER_BYTE, PER_BYTE_REDUCED = 2e-5, 8e-10, 1.5e-10
MODEL = CostModel(
    latency=LATENCY,
    per_byte=PER_BYTE,
    per_byte_reduced=PER_BYTE_REDUCED,
    latency_interval=(LATENCY, LATENCY),
    per_byte_interval=(PER_BYTE, PER_BYTE),
    per_byte_reduced_interval=(PER_BYTE_REDUCED, PER_BYTE_REDUCED),
    confidence=0.95,
)


def measured(seed, start, per_byte):
    dice = np.random.default_rng(seed)
    sizes = np.repeat(np.logspace(1, 8, 15).round(), 10)
    times = (start + per_byte * sizes) * np.exp(dice.normal(0, 0.05, len(sizes)))
    late = dice.random(len(sizes)) < 0.1
    times[late] *= dice.uniform(2, 10, late.sum())
    return sizes, times


@pytest.fixture(scope="module")
def fitted():
    """A model from noisy times of messages and of reductions."""
    sizes, times = measured(1, LATENCY, PER_BYTE)
    reduced_sizes, reduced_times = measured(2, 3e-7, PER_BYTE_REDUCED)
    return fit(sizes, times, reduced_nbytes=reduced_sizes, reduced_seconds=reduced_times)


@pytest.mark.parametrize("name", ["latency", "per_byte", "per_byte_reduced"])
def test_the_three_costs_come_back_out_of_noisy_times(fitted, name):
    truth, found = getattr(MODEL, name), getattr(fitted, name)
    low, high = getattr(fitted, f"{name}_interval")
    assert found == pytest.approx(truth, rel=0.03)
    assert low < found < high
    assert high - low < 0.1 * truth


@pytest.mark.parametrize("nbytes", [0, 10**4, 10**8])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_fitted_model_predicts_as_the_true_one(fitted, name, nbytes):
    right = MODEL.predict(name, 12, nbytes)
    assert fitted.predict(name, 12, nbytes) == pytest.approx(right, rel=0.04)


def test_without_measured_reductions_combining_is_free():
    model = fit(*measured(3, LATENCY, PER_BYTE))
    assert model.per_byte_reduced == 0
    assert model.per_byte_reduced_interval == (0, 0)


@given(st.sampled_from(sorted(ALGORITHMS)), RANKS, SIZES)
def test_a_prediction_is_the_formula_with_the_fitted_costs(name, ranks, nbytes):
    expected = formula(name)(ranks, nbytes, Link(LATENCY, PER_BYTE, PER_BYTE_REDUCED))
    assert MODEL.predict(name, ranks, nbytes) == expected


@given(RANKS, st.integers(0, 10**9))
def test_auto_believes_it(ranks, nbytes):
    times = {name: MODEL.predict(name, ranks, nbytes) for name in ALGORITHMS}
    chosen = auto.choose(ranks, nbytes, MODEL).algorithm
    assert times[chosen] == pytest.approx(min(times.values()), rel=1e-11)


def test_a_model_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        MODEL.latency = 0.0


def test_half_an_experiment_is_refused():
    sizes, times = measured(4, LATENCY, PER_BYTE)
    with pytest.raises(ValueError, match="both reduced_nbytes and reduced_seconds"):
        fit(sizes, times, reduced_nbytes=sizes)
    with pytest.raises(ValueError, match="measurement 0: the time is nan"):
        fit(sizes, times, reduced_nbytes=sizes, reduced_seconds=[np.nan] * len(sizes))


def test_an_unknown_algorithm_is_told_the_known_ones():
    with pytest.raises(ValueError, match=r"'rings'.*recursive_doubling"):
        MODEL.predict("rings", 4, 100)
