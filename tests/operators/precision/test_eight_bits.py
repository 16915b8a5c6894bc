"""Casts to eight bits and fewer as torch does them; scales, blocks, chance and accumulators."""

import itertools

import numpy as np
import pytest
import torch

from ddl_teach import simulate
from ddl_teach.operators.precision.agreed import agreed_amax
from ddl_teach.operators.precision.eight_bits import (
    E2M1,
    E4M3,
    E5M2,
    Delayed,
    accumulate,
    by_blocks,
    bytes_of,
    cast,
    current,
    mx,
    nvfp4,
    scale_for,
)
from ddl_teach.operators.precision.scaled_linear import emulate
from ddl_teach.theory import rounding

SMALL = ("float6_e3m2fn", "float6_e2m3fn", E2M1)
EIGHT = (E4M3, E5M2)


def draws(shape=1000, seed=0):
    return np.random.default_rng(seed).random(shape)


def same(mine, its):
    return (mine == its) | (mine.isnan() & its.isnan())


@pytest.mark.parametrize("kind", EIGHT)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_every_number_of_16_bits_is_cast_as_torch_does(dtype, kind):
    every = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(dtype)
    assert same(cast(every, kind), every.to(getattr(torch, kind)).to(dtype)).all()


@pytest.mark.parametrize("kind", EIGHT)
def test_halfway_cases_and_their_neighbours_are_cast_as_torch_does(kind):
    codes = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(getattr(torch, kind))
    values = codes.float()
    values = values[values.isfinite()].sort().values
    middle = (values[1:] + values[:-1]) / 2
    up = torch.nextafter(middle, torch.tensor(torch.inf))
    down = torch.nextafter(middle, -torch.tensor(torch.inf))
    x = torch.cat([values, middle, up, down])
    assert same(cast(x, kind), x.to(getattr(torch, kind)).float()).all()


@pytest.mark.parametrize("kind", EIGHT)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_are_cast_as_tensors_are_and_keep_their_type(dtype, kind):
    x = np.random.default_rng(0).standard_normal(1000).astype(dtype) * 100
    mine = cast(x, kind)
    assert mine.dtype == dtype
    np.testing.assert_array_equal(mine, cast(torch.from_numpy(x), kind).numpy())


@pytest.mark.parametrize("kind", SMALL)
def test_small_formats_take_the_nearest_of_all_their_numbers(kind):
    form = rounding.find_format(kind)
    fractions = np.arange(2 ** (form.significant - 1)) / 2 ** (form.significant - 1)
    exponents = range(form.lowest, form.highest + 1)
    values = [(1 + part) * 2.0**e for e, part in itertools.product(exponents, fractions)]
    values = np.unique([0.0, *fractions * 2.0**form.lowest, *values])
    x = np.random.default_rng(1).uniform(0, 1.2 * form.largest, 1000)
    nearest = values[np.abs(x[:, None] - values).argmin(1)]
    np.testing.assert_array_equal(cast(x, kind), nearest)
    assert values.max() == form.largest


def test_saturation_and_overflow_of_e5m2():
    x = np.array([6e4, -1e9, np.inf, np.nan])
    np.testing.assert_array_equal(cast(x, E5M2), [57344, -np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(cast(x, E5M2, saturate=True), [57344, -57344, 57344, np.nan])


@pytest.mark.parametrize(("kind", "largest"), [(E4M3, 448), (E5M2, 57344), (E2M1, 6)])
def test_the_largest_numbers(kind, largest):
    assert rounding.find_format(kind).largest == largest


# -- scales ---------------------------------------------------------------------------------

WAYS = {
    "current": current, "blocks": by_blocks, "mx": mx, "nvfp4": nvfp4,
    "square blocks": lambda x: by_blocks(x, rows=128),
}  # fmt: skip
STEPS = {"nvfp4": 0.25, "mx": 1 / 8}  # largest rounding of a block, as a share of its amax


@pytest.mark.parametrize("name", WAYS)
def test_no_number_moves_further_than_a_step_of_its_block(name):
    x = np.random.default_rng(2).standard_normal((128, 256)) * np.logspace(-30, 30, 128)[:, None]
    ranges = x if name in ("blocks", "mx", "nvfp4") else np.ones_like(x) * np.abs(x).max()
    if name == "nvfp4":
        x = ranges = np.random.default_rng(2).standard_normal((128, 256))
    error = np.abs(WAYS[name](x) - x)
    assert (error <= STEPS.get(name, 1 / 16) * np.abs(ranges).max(1, keepdims=True)).all()


@pytest.mark.parametrize("name", WAYS)
def test_tensors_and_zeros_are_scaled_as_arrays(name):
    x = np.random.default_rng(3).standard_normal((128, 256)).astype(np.float32)
    x[:, :128] = 0
    mine = WAYS[name](x)
    assert mine.shape == x.shape
    assert mine.dtype == np.float32
    assert not mine[:, :128].any()
    np.testing.assert_array_equal(mine, WAYS[name](torch.from_numpy(x)).numpy())


def test_the_scale_of_mx_is_a_power_that_e8m0_holds():
    x = np.random.default_rng(4).standard_normal((1, 32)).astype(np.float32)
    step = 2.0 ** (np.floor(np.log2(np.abs(x).max())) - 8)
    assert torch.tensor(step).to(torch.float8_e8m0fnu).float() == step
    np.testing.assert_array_equal(mx(x), cast(x / step, E4M3, saturate=True) * step)


def test_a_large_entry_spoils_only_its_own_block():
    x = np.random.default_rng(5).standard_normal((1, 256))
    x[0, 200] = 1e6
    errors = {name: np.abs(WAYS[name](x) - x)[0, :128].max() for name in ("current", "blocks")}
    assert errors["blocks"] < 0.1 < errors["current"]


def test_a_delayed_scale_cuts_off_what_it_did_not_expect():
    quantise, quiet = Delayed(length=2), np.array([1.0, -0.5])
    np.testing.assert_array_equal(quantise(quiet), quiet)
    np.testing.assert_array_equal(quantise(4 * quiet), [1.0, -1.0])
    np.testing.assert_array_equal(quantise(4 * quiet), 4 * quiet)
    quantise(quiet), quantise(quiet)
    assert quantise.history == [1.0, 1.0]


def test_blocks_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"cannot be cut into blocks of 1 x 128: fill it up"):
        by_blocks(np.ones((2, 100)))


# -- chance ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*EIGHT, *SMALL])
def test_rounding_by_chance_is_right_on_average(kind):
    x = np.random.default_rng(6).uniform(-3, 3, 40)
    many = cast(np.tile(x, (20_000, 1)), kind, draws=draws((20_000, 40)))
    step = np.ptp(many, axis=0)
    assert (np.abs(many.mean(0) - x) <= 5 * step / 2 / np.sqrt(20_000)).all()


def test_updates_that_nearest_rounding_loses_arrive_by_chance():
    nearest = chance = np.ones(1000)
    for step in range(100):
        nearest = cast(nearest + 0.01, E4M3)
        chance = cast(chance + 0.01, E4M3, draws=draws(seed=step))
    assert (nearest == 1).all()
    assert abs(chance.mean() - 2) < 0.05


# -- accumulators ---------------------------------------------------------------------------


@pytest.mark.parametrize("every", [None, 128])
@pytest.mark.parametrize("terms", [1, 127, 128, 129, 2000])
def test_an_accumulator_stays_within_its_bound(terms, every):
    x = np.random.default_rng(7).uniform(0, 1, (terms, 5))
    error = np.abs(accumulate(x, 14, every) - x.sum(0)) / x.sum(0)
    assert (error <= rounding.promoted(terms, 14, every or terms)).all()


def test_promotion_saves_a_long_sum():
    x = np.random.default_rng(8).uniform(0, 1, (4096, 4))
    plain, saved = (np.abs(accumulate(x, 14, e) / x.sum(0) - 1).max() for e in (None, 128))
    assert saved < plain / 5


def test_an_accumulator_of_nothing_is_refused():
    with pytest.raises(ValueError, match="must be at least 1, not 0"):
        accumulate(np.ones(3), 14, 0)


def test_bytes_of_a_tensor_and_its_scales():
    assert bytes_of(1024, 8) == 1024
    assert bytes_of(1024, 8, 32, 8) == 1024 + 32
    assert bytes_of(1024, 4, 16, 8) == 512 + 64
    assert bytes_of(1025, 8, 128, 32) == 1025 + 4 * 9


# -- layers and ranks -------------------------------------------------------------------------


def test_without_rounding_the_emulated_layer_is_the_layer():
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(6, 4), torch.randn(3, 5, 6, requires_grad=True)
    network = torch.nn.Sequential(layer)

    def gradients():
        loss = network(x).square().sum()
        return torch.autograd.grad(loss, [x, layer.weight, layer.bias])

    right = gradients()
    emulate(network, lambda: torch.clone, lambda: torch.clone)
    for mine, its in zip(gradients(), right, strict=True):
        torch.testing.assert_close(mine, its)
    emulate(network, lambda: torch.clone, lambda: torch.zeros_like)
    assert [bool(each.any()) for each in gradients()] == [False, False, True]


def rank_part(rank):
    return np.random.default_rng(rank).standard_normal(64) * (100 if rank == 1 else 1)


def agreeing(comm):
    parts = [rank_part(comm.rank), np.array([comm.rank - 2.0]), np.zeros(0)]
    return agreed_amax(comm, parts)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("ground", ["simulated", "real"])
@pytest.mark.sampled(3)
def test_all_ranks_agree_on_the_largest(request, ground, ranks):
    run = request.getfixturevalue("real") if ground == "real" else simulate
    whole = np.abs([rank_part(rank) for rank in range(ranks)]).max()
    for amax in run(agreeing, ranks).results:
        assert amax.tolist() == [whole, max(2.0, ranks - 3.0), 0.0]
    assert scale_for(np.array(whole), E4M3) == 448 / whole
