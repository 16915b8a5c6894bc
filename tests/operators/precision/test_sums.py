"""Sums in short formats: rounded as they should be, within their bounds, and where they stop."""

import math

import numpy as np
import pytest
import torch

from ddl_teach.operators.precision.compensated import kahan, neumaier
from ddl_teach.operators.precision.eight_bits import cast
from ddl_teach.operators.precision.in_order import in_order, wider
from ddl_teach.operators.precision.numbers import exact, relative_error
from ddl_teach.operators.precision.pairwise import pairwise
from ddl_teach.theory import rounding

FORMATS = {
    "float16": np.float16,
    "bfloat16": torch.bfloat16,
    "float32": np.float32,
}
WAYS = {"in_order": in_order, "pairwise": pairwise, "kahan": kahan, "neumaier": neumaier,
        "wider": wider}  # fmt: skip
each_format = pytest.mark.parametrize("name", FORMATS)


def numbers(name, values):
    kind = FORMATS[name]
    if isinstance(kind, torch.dtype):
        return torch.from_numpy(np.asarray(values)).to(kind)
    return np.asarray(values).astype(kind)


def wide(total):
    return np.asarray(total.double() if isinstance(total, torch.Tensor) else total, float)


@pytest.mark.parametrize(("name", "stop"), [("float16", 2048), ("bfloat16", 256)])
def test_ones_of_half_precision_stop_at_2048_and_of_bfloat16_at_256(name, stop):
    ones = numbers(name, np.ones(3000))
    assert wide(in_order(ones[:stop])) == wide(in_order(ones)) == stop
    assert 2 ** rounding.find_format(name).significant == stop
    nearest = wide(numbers(name, np.array([3000.0])))[0]
    for way in (pairwise, kahan, wider):
        assert wide(way(ones)) == nearest
    assert wide(neumaier(ones)) == min(2 * stop, nearest)  # its second sum stops as well


@each_format
@pytest.mark.parametrize("terms", [1, 2, 3, 10, 100, 1000])
def test_errors_stay_within_the_bounds(name, terms):
    generator = np.random.default_rng(terms)
    samples = {
        "positive": generator.random((terms, 30)),
        "of both signs": generator.standard_normal((terms, 30)),
        "of many sizes": 10.0 ** generator.uniform(-4, 1, (terms, 30)),
    }
    unit = rounding.find_format(name).unit_roundoff
    wider_name = "float64" if name == "float32" else "float32"
    for values in samples.values():
        x = numbers(name, values)
        errors = {way: relative_error(WAYS[way](x), x).max() for way in WAYS}
        assert errors["in_order"] <= rounding.in_order(terms, name)
        assert errors["pairwise"] <= rounding.pairwise(terms, name) + 1e-300
        assert errors["neumaier"] <= rounding.compensated(terms, name)
        assert errors["kahan"] <= 2 * unit + 4 * terms * unit**2
        assert relative_error(wider(x, wider_name), x).max() <= rounding.wider(
            terms, name, wider_name
        )


@each_format
def test_every_addition_is_rounded_to_nearest(name):
    """Against sums whose every step is rounded from float64, digit by digit."""
    generator = np.random.default_rng(0)
    x = numbers(name, generator.standard_normal((40, 20)))
    total = numbers(name, np.zeros(20))
    for term in x:
        total = numbers(name, wide(total) + wide(term))
    np.testing.assert_array_equal(wide(in_order(x)), wide(total))
    np.testing.assert_array_equal(wide(pairwise(x[:4])), wide((x[0] + x[1]) + (x[2] + x[3])))


@pytest.mark.parametrize("way", [in_order, pairwise, kahan, neumaier])
def test_numpy_and_torch_round_alike(way):
    x = np.random.default_rng(1).standard_normal((33, 9)).astype(np.float16)
    assert way(x).dtype == np.float16
    np.testing.assert_array_equal(way(torch.from_numpy(x)).numpy(), way(x))


def test_a_large_term_does_not_fool_neumaier():
    x = np.array([1.0, 1e100, 1.0, -1e100])
    assert in_order(x) == kahan(x) == 0
    assert neumaier(x) == exact(x) == 2


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_stochastic_rounding_is_right_on_average_and_only_then(name):
    generator = np.random.default_rng(2)
    into = rounding.find_format(name)
    # Also among the subnormal numbers, and just below the largest.
    for value in (1.0 + into.unit_roundoff / 2, -3.3, 1.7 * into.smallest, 0.0):
        rounded = cast(np.full(20_000, value), name, draws=generator.random(20_000))
        low, high = rounded.min(), rounded.max()
        assert low <= value <= high
        np.testing.assert_array_equal(wide(numbers(name, rounded)), rounded)
        assert rounded.mean() == pytest.approx(value, abs=4 * (high - low) / math.sqrt(20_000))


def test_stochastic_rounding_reaches_infinity_and_sums_that_differ():
    generator = np.random.default_rng(2)
    rounded = cast(np.full(99, 65_519.0), "float16", draws=generator.random(99))
    assert set(rounded) == {65_504.0, np.inf}
    sums = np.zeros(20)
    for _ in range(10_000):
        sums = cast(sums + 1, "float16", draws=generator.random(20))
    assert len(set(sums)) > 10
    assert sums.mean() == pytest.approx(10_000, rel=0.02)


@pytest.mark.parametrize("way", WAYS.values())
def test_what_is_no_array_of_floats_is_refused(way):
    with pytest.raises(TypeError, match="x holds int64: only floats are rounded"):
        way(np.arange(3))
    with pytest.raises(TypeError, match="not a list"):
        way([1.0, 2.0])
    with pytest.raises(ValueError, match="x is a single number"):
        way(np.array(1.0))
    for nothing in (np.ones((0, 2), np.float16), torch.ones((0, 2), dtype=torch.bfloat16)):
        np.testing.assert_array_equal(wide(way(nothing)), np.zeros(2))


def test_numpy_knows_no_bfloat16():
    with pytest.raises(TypeError, match="NumPy has no bfloat16"):
        wider(np.ones(3, np.float16), "bfloat16")


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_formats_are_those_of_torch(name):
    ours, torchs = rounding.find_format(name), torch.finfo(getattr(torch, name))
    assert ours.unit_roundoff == torchs.eps / 2
    assert ours.largest == torchs.max
    assert ours.smallest_normal == torchs.smallest_normal
    assert ours.smallest == torchs.smallest_normal * torchs.eps


def test_beyond_one_over_u_there_is_no_bound():
    assert rounding.in_order(2048, "float16") < math.inf
    assert rounding.in_order(2049, "float16") == math.inf
    with pytest.raises(ValueError, match="no format is called 'half'"):
        rounding.pairwise(8, "half")
    with pytest.raises(ValueError, match="terms"):
        rounding.pairwise(0, "float16")
