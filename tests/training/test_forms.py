"""The laws of every compressor: sizes to the byte, expectations, bounds on the error."""

import math

import numpy as np
import pytest
from form_table import FORMS, WITH_FEEDBACK
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ddl_teach.training.compression import elias
from ddl_teach.training.compression.half import Half
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.packing import pack, packed_bytes, unpack
from ddl_teach.training.compression.powersgd import PowerSGD
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.random_k import RandomK
from ddl_teach.training.compression.terngrad import TernGrad
from ddl_teach.training.compression.threshold import Threshold
from ddl_teach.training.compression.top_k import TopK

ALL = [compressor for compressor, _ in FORMS] + WITH_FEEDBACK
DRAWS = 3000
ordinary = st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.floats(-1e3, -1e-3))
vectors = arrays(np.float32, st.integers(1, 70), elements=ordinary.map(np.float32))
few = settings(max_examples=40, deadline=None)


def squared(x):
    return float(np.square(x, dtype=np.float64).sum())


def errors(compressor, x, draws):
    """What decode(encode(x)) - x is, many times: in buckets side by side, or one by one."""
    generator = np.random.default_rng(3)
    if getattr(compressor, "bucket", 0) == len(x):
        many = np.tile(x, draws)
        return (compressor.decode(compressor.encode(many, generator), len(many)) - many).reshape(
            draws, -1
        )
    many = [compressor.decode(compressor.encode(x, generator), len(x)) - x for _ in range(draws)]
    return np.array(many, np.float64)


def skewed(size):
    """A vector as gradients are: few large entries, many small ones, some zeros."""
    generator = np.random.default_rng(size)
    x = generator.standard_normal(size) ** 3
    x[:: max(2, size // 5)] = 0
    return x.astype(np.float32)


@pytest.mark.parametrize("size", [1, 2, 7, 8, 31, 64, 65, 500, 1000])
@pytest.mark.parametrize(
    ("compressor", "nbytes"), FORMS, ids=[str(compressor)[:40] for compressor, _ in FORMS]
)
def test_a_message_has_exactly_the_bytes_that_the_formula_says(compressor, nbytes, size):
    message = compressor.stream().encode(skewed(size))
    assert message.dtype == np.uint8
    assert compressor.nbytes(size) == (None if nbytes is None else len(message))
    if nbytes is not None:
        assert len(message) == nbytes(size)


@pytest.mark.parametrize("size", [0, 1, 9, 333])
@pytest.mark.parametrize("compressor", ALL, ids=str)
def test_a_message_is_all_that_a_receiver_needs(compressor, size):
    """It is read from the bytes alone, by a compressor that has seen nothing, as often as
    wanted."""
    x = skewed(size)
    given_x = x.copy()
    message = compressor.stream(5).encode(x)
    assert np.array_equal(x, given_x)
    received = np.frombuffer(message.tobytes(), np.uint8)
    first, again = (
        compressor.decode(received.copy(), size),
        compressor.decode(received.copy(), size),
    )
    assert first.shape == (size,)
    assert first.dtype == np.float32
    assert np.array_equal(first, again)
    assert np.array_equal(message, compressor.stream(5).encode(x))  # the same seed, the same bytes


@pytest.mark.parametrize(
    "compressor", [compressor for compressor in ALL if compressor.unbiased], ids=str
)
def test_the_mean_of_many_messages_is_the_vector(compressor):
    x = np.linspace(-1, 1, getattr(compressor, "bucket", 20), dtype=np.float32)
    draws = DRAWS if hasattr(compressor, "bucket") else 600
    apart = errors(compressor, x, draws)
    # Six standard deviations of the mean, and what a rare draw that never came can hide.
    rare = 10 * np.abs(apart).max() / draws
    assert np.all(np.abs(apart.mean(axis=0)) <= 6 * apart.std(axis=0) / draws**0.5 + rare)
    assert compressor.error(len(x)) == 0 or apart.any()


@pytest.mark.parametrize("compressor", [compressor for compressor, _ in FORMS], ids=str)
def test_the_error_keeps_to_its_bound(compressor):
    for size in (1, 5, getattr(compressor, "bucket", 40), 200):
        for x in (skewed(size), np.ones(size, np.float32), np.eye(1, size, dtype=np.float32)[0]):
            by_chance = isinstance(compressor, RandomK)  # whose bound is what is expected
            found = np.mean(
                [squared(it) for it in errors(compressor, x, 100 if by_chance else 20)]
            )
            bound = compressor.error(size) * squared(x)
            assert found <= bound * (2 if by_chance else 1 + 1e-5) + 1e-9


@pytest.mark.parametrize(
    "compressor", [OneBit(bucket=16), TopK(0.2), Threshold(0.3), PowerSGD(2)], ids=str
)
@few
@given(vectors)
def test_what_is_decided_without_chance_is_a_contraction(compressor, x):
    left = x - compressor.decode(compressor.stream().encode(x), len(x))
    assert squared(left) <= compressor.error(len(x)) * squared(x) * (1 + 1e-5) + 1e-9


@pytest.mark.parametrize("size", [1, 7, 100])
def test_where_nothing_is_beyond_the_threshold_the_error_is_all_of_the_vector(size):
    x, compressor = np.full(size, 0.3, np.float32), Threshold(0.3)
    left = x - compressor.decode(compressor.stream().encode(x), size)
    assert squared(left) == pytest.approx(compressor.error(size) * squared(x))


@few
@given(vectors, st.floats(0.05, 1.0))
def test_top_k_is_the_best_that_k_entries_can_do(x, density):
    compressor = TopK(density)
    indices, values = compressor.select(x)
    assert np.array_equal(values, x[indices])
    assert np.all(np.diff(indices.astype(int)) > 0)
    left = squared(x - compressor.decode(compressor.stream().encode(x), len(x)))
    least = np.sort(np.square(x, dtype=np.float64))[: len(x) - len(indices)].sum()
    assert math.isclose(left, least, rel_tol=1e-6, abs_tol=1e-12)


@few
@given(vectors)
def test_one_bit_keeps_sums_and_no_two_values_are_nearer(x):
    compressor = OneBit(bucket=len(x))
    y = compressor.decode(compressor.stream().encode(x), len(x)).astype(np.float64)
    assert math.isclose(y.sum(), x.sum(dtype=np.float64), rel_tol=1e-4, abs_tol=1e-2)
    least = squared(x - y)
    for shift_upper, shift_lower in ((1e-1, 0), (-1e-1, 0), (0, 1e-1), (0, -1e-1)):
        other = y + np.where(x >= 0, shift_upper, shift_lower)
        assert squared(x - other) >= least - 1e-2 * max(1.0, least)


def test_random_k_and_terngrad_have_exactly_the_variance_of_their_formulas():
    x = skewed(30)
    even = np.full(30, 2, np.float32)
    random = np.mean([squared(it) for it in errors(RandomK(0.2), even, 5)])
    assert math.isclose(random, (30 / 6 - 1) * squared(even), rel_tol=1e-6)
    ternary = np.mean([squared(it) for it in errors(TernGrad(30, clip=None), x, DRAWS)])
    largest = np.abs(x).max()
    assert math.isclose(ternary, largest * np.abs(x).sum() - squared(x), rel_tol=0.05)


@pytest.mark.parametrize("size", [20, 30, 47])  # 30 entries fill a bucket
def test_terngrad_sends_nothing_beyond_so_many_deviations_of_its_bucket(size):
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    x[0] = 100
    deviation = x[:30].std(dtype=np.float64)
    y = TernGrad(30, clip=1.5).decode(TernGrad(30, clip=1.5).stream().encode(x), size)
    assert math.isclose(y[0], 1.5 * deviation, rel_tol=1e-5)


def test_terngrad_cuts_off_small_numbers_by_their_own_deviation():
    x = np.array([0.3, *[0.0] * 29], np.float32)
    compressor = TernGrad(30, clip=1.5)
    largest = np.abs(compressor.decode(compressor.stream().encode(x), 30)).max()
    assert math.isclose(largest, 1.5 * x.std(dtype=np.float64), rel_tol=1e-5)


@pytest.mark.parametrize("levels", [1, 2, 4])
def test_qsgd_sends_few_entries_that_are_not_zero(levels):
    x = skewed(256)
    compressor = QSGD(levels, bucket=256)
    many = np.tile(x, 200)
    sent = np.count_nonzero(compressor.decode(compressor.stream().encode(many), len(many))) / 200
    assert 0 < sent <= levels * (levels + 256**0.5)


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_both_codings_of_qsgd_say_the_same(size):
    x = skewed(size)
    plain, coded = QSGD(3, 64), QSGD(3, 64, coding="elias")
    both = [
        compressor.decode(compressor.stream(9).encode(x), size) for compressor in (plain, coded)
    ]
    assert np.array_equal(*both)


def test_eliass_codes_of_rare_entries_are_short():
    rare = np.zeros(10_000, np.float32)
    rare[[17, 9000]] = 1, -2
    assert len(QSGD(1, 10_000, coding="elias").stream().encode(rare)) < 20


def test_elias_code_is_the_published_one():
    said = {1: "0", 2: "100", 3: "110", 4: "101000", 7: "101110", 8: "1110000", 16: "10100100000"}
    numbers, lengths = elias.codes(np.array(list(said)))
    assert [f"{code:0{bits}b}" for code, bits in zip(numbers, lengths, strict=True)] == list(
        said.values()
    )


@few
@given(st.integers(1, 32), st.lists(st.integers(0, 2**32 - 1), max_size=40))
def test_packed_bits_come_back(bits, numbers):
    values = np.array(numbers, np.uint32) & np.uint32(2**bits - 1)
    message = pack(values, bits)
    assert len(message) == packed_bytes(len(values), bits) == math.ceil(len(values) * bits / 8)
    assert np.array_equal(unpack(message, bits, len(values)), values)


def test_half_rounds_to_eleven_digits_and_scaling_rescues_small_numbers():
    x = np.float32([1.0, 1 / 3, -1000.25, 1e-3])
    assert np.abs(Half().decode(Half().stream().encode(x), 4) / x - 1).max() <= 2**-11
    tiny = np.float32([1e-8, -2e-8])
    assert not Half().decode(Half().stream().encode(tiny), 2).any()
    scaled = Half(scale=2.0**20)
    assert np.allclose(scaled.decode(scaled.stream().encode(tiny), 2), tiny, rtol=2**-11)
    with pytest.raises(ValueError, match="Take a smaller scale"):
        Half(scale=1e6).stream().encode(np.float32([1.0]))
    last = np.float32([np.finfo(np.float16).max])
    assert np.array_equal(Half().decode(Half().stream().encode(last), 1), last)
    with pytest.raises(ValueError, match="float16 ends at 65504"):
        Half().stream().encode(np.nextafter(last, np.float32(np.inf)))


def test_powersgd_finds_a_thin_matrix_at_once_and_any_in_time():
    generator = np.random.default_rng(0)
    thin = generator.standard_normal((30, 2)) @ generator.standard_normal((2, 20))
    compressor = PowerSGD(2, shapes=((30, 20), (5,)))
    x = np.append(thin.ravel(), np.arange(5.0)).astype(np.float32)
    message = compressor.stream().encode(x)
    assert len(message) == 4 * (2 * (30 + 20) + 5)
    assert np.allclose(compressor.decode(message, 605), x, atol=1e-4)
    full = generator.standard_normal((30, 20)).astype(np.float32)
    alone = PowerSGD(2, shapes=((30, 20),))
    stream = alone.stream()
    for _ in range(200):  # warm start: each step begins with the last one's factors
        message = stream.encode(full.ravel())
    values = np.linalg.svd(full, compute_uv=False)
    left = squared(full.ravel() - alone.decode(message, 600))
    assert math.isclose(left, float((values[2:] ** 2).sum()), rel_tol=1e-3)


@pytest.mark.parametrize("compressor", ALL, ids=str)
def test_what_cannot_be_sent_is_refused_with_the_reason(compressor):
    with pytest.raises(ValueError, match="diverged"):
        compressor.stream().encode(np.float32([1, np.nan, 2]))
    for odd in ([1.0, 2.0], np.ones((2, 2)), np.arange(3)):
        with pytest.raises(TypeError, match="must be flat, of float32 or float64"):
            compressor.stream().encode(odd)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: TopK(0), lambda: TopK(1.5), lambda: RandomK(-1), lambda: OneBit(0),
        lambda: QSGD(0), lambda: QSGD(coding="huffman"), lambda: TernGrad(clip=0),
        lambda: Threshold(0), lambda: PowerSGD(0), lambda: Half(0), lambda: OneBit(2.5),
    ],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises((ValueError, TypeError), match=r"not|no positive|no coding"):
        wrong()
