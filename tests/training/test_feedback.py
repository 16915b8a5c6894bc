"""Memories of a sender: nothing is ever lost, and momentum is nobody else's."""

import numpy as np
import pytest
from form_table import WITH_FEEDBACK
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ddl_teach.training.compression.deep_gradient_compression import DeepGradientCompression
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.random_k import RandomK
from ddl_teach.training.compression.terngrad import TernGrad
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.sparse_all_reduce import SparseAllReduce
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.refusals import refusal

drawn_arrays = arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 40)),
                 elements=st.integers(-999, 999).map(float))  # fmt: skip
few = settings(max_examples=40, deadline=None)


def drawn(steps, size, seed=0):
    return np.random.default_rng(seed).standard_normal((steps, size))


def sent(stream, vectors):
    return [stream.compressor.decode(stream.encode(x), len(x)).astype(np.float64) for x in vectors]


@few
@given(drawn_arrays)
def test_of_whole_numbers_not_the_last_bit_is_lost(vectors):
    stream = Feedback(TopK(0.2)).stream()
    assert np.array_equal(sum(sent(stream, vectors)) + stream.residual, vectors.sum(axis=0))


@pytest.mark.parametrize("compressor", WITH_FEEDBACK, ids=str)
def test_feedback_loses_nothing_and_stays_bounded(compressor):
    vectors = drawn(200, 50)
    stream, residuals = compressor.stream(1), []
    total = np.zeros(50)
    for x in vectors:
        total += sum(sent(stream, [x]))
        residuals.append(np.linalg.norm(stream.residual))
    assert np.allclose(total + stream.residual, vectors.sum(axis=0), atol=1e-3)
    assert max(residuals[100:]) < 3 * max(residuals[:100]) + 1e-9
    # The proof can fail: without feedback the sums are apart.
    if not compressor.compressor.unbiased and compressor.compressor.error(50) > 1e-3:
        without = sum(sent(compressor.compressor.stream(1), vectors))
        lost = np.linalg.norm(without - vectors.sum(axis=0))
        assert lost > 2 * np.linalg.norm(stream.residual)


def test_a_small_entry_that_insists_is_heard_only_with_feedback():
    x = np.array([1.0, 0.1])
    compressors = (Feedback(TopK(0.5)), TopK(0.5))
    with_it, without = (sum(sent(compressor.stream(), [x] * 50)) for compressor in compressors)
    assert without[1] == 0
    assert abs(with_it[1] - 5) < 1.1


def test_forms_whose_residual_would_grow_are_refused():
    for compressor in (RandomK(0.1), TernGrad(64, clip=None), QSGD(1, 64)):
        with pytest.raises(ValueError, match="grow without end"):
            Feedback(compressor).stream().encode(np.ones(64))
    Feedback(RandomK(0.1, scaled=False)).stream().encode(np.ones(64))
    stream = Feedback(OneBit()).stream()
    stream.encode(np.ones(64))
    with pytest.raises(ValueError, match="link of its own"):
        stream.encode(np.ones(65))


@pytest.mark.parametrize(
    "compressor", [Feedback(TopK(0.1)), DeepGradientCompression(0.1, warm_up=6)]
)
def test_selected_entries_are_those_of_the_message(compressor):
    packed, listed = compressor.stream(), compressor.stream()
    for x in drawn(10, 60):
        indices, values = listed.select(x)
        said = compressor.decode(packed.encode(x), 60)
        assert np.array_equal(np.flatnonzero(said), indices)
        assert np.array_equal(said[indices], values)


def test_deep_gradient_compression_between_its_limits():
    vectors = drawn(30, 40)
    plain, corrected = Feedback(TopK(0.1)).stream(), DeepGradientCompression(0.1, 0.0).stream()
    assert np.array_equal(sent(plain, vectors), sent(corrected, vectors))
    speeds = [sum(0.9 ** (t - s) * vectors[s] for s in range(t + 1)) for t in range(30)]
    everything = DeepGradientCompression(1.0, 0.9, masking=False).stream()
    assert np.allclose(sent(everything, vectors), speeds, rtol=1e-5, atol=1e-6)
    stream = DeepGradientCompression(0.1, 0.9, masking=False).stream()
    assert np.allclose(sum(sent(stream, vectors)) + stream.owed, sum(speeds), atol=1e-4)
    masked = DeepGradientCompression(0.1, 0.9).stream()
    indices, _ = masked.select(vectors[0])
    assert not masked.speed[indices].any()
    assert np.count_nonzero(masked.speed) == 36


def test_its_warm_up_sends_a_quarter_and_less_and_less_and_long_gradients_are_cut():
    stream = DeepGradientCompression(0.001, warm_up=8).stream()
    counts = [len(stream.select(x)[0]) for x in drawn(10, 1024)]
    assert counts == [256, 256, 64, 64, 16, 16, 4, 4, 1, 1]
    clipped = DeepGradientCompression(1.0, clip=2.0).stream()
    (said,) = sent(clipped, [np.array([30.0, 40.0])])
    assert np.allclose(said, [1.2, 1.6])
    for wrong in ({"momentum": 1}, {"clip": 0}, {"warm_up": -1}, {"density": 0}):
        with pytest.raises(ValueError, match="not"):
            DeepGradientCompression(**wrong)


@pytest.mark.parametrize(
    "inner", [Feedback(TopK(0.1)), DeepGradientCompression(0.1, momentum=0.5)], ids=str
)
def test_a_memory_around_a_memory_is_refused(inner):
    with pytest.raises(ValueError, match="would be sent twice: take") as refusing:
        Feedback(inner)
    assert str(inner) in str(refusing.value)


@pytest.mark.parametrize("no_form", [TopK, "top-k", None], ids=str)
def test_feedback_around_what_is_no_form_is_refused(no_form):
    with pytest.raises(TypeError, match=r"as TopK\(0.01\), not"):
        Feedback(no_form)


class ForPlainSteps(TopK):
    """A compressor that does not go with every rule."""

    def objection(self, sends, update):
        return f"not with {update}: take SGD(rate)" if update.states else None


def test_feedback_objects_to_what_the_form_inside_objects_to():
    compressor = Feedback(ForPlainSteps(0.1))
    reason = refusal(Synchronous(), AllReduce(), compressor, Momentum(0.1))
    assert f"{compressor} makes no sense: not with {Momentum(0.1)}: take SGD(rate)" in reason
    assert refusal(Synchronous(), AllReduce(), compressor, SGD(0.1)) is None


def test_a_second_phase_objects_to_what_its_form_objects_to():
    distribution = SparseAllReduce("dense_second_phase", DeepGradientCompression(0.1))
    assert "count it twice" in refusal(Synchronous(), distribution, TopK(0.1), Momentum(0.1))
    assert refusal(Synchronous(), distribution, TopK(0.1), SGD(0.1)) is None


@pytest.mark.parametrize("update", [Momentum(), Adam()], ids=str)
def test_a_second_momentum_is_refused(update):
    compressor = DeepGradientCompression()
    assert "count it twice" in refusal(Synchronous(), AllReduce(), compressor, update)


def test_plain_descent_beside_a_forms_momentum_is_not_refused():
    compressor = DeepGradientCompression()
    assert refusal(Synchronous(), AllReduce(), compressor, SGD(0.1)) is None
