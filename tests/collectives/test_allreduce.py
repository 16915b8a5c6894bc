"""An all-reduce is the sum: for every size, type, operation and number of ranks."""

import numpy as np
import pytest
import torch
import vectors
from grounds import everywhere
from hypothesis import given, settings
from hypothesis import strategies as st

from ddl_teach import simulate
from ddl_teach.collectives import registry

pytestmark = pytest.mark.slow

SIZES = (*range(24), 40, 1000, 4099)  # on eight ranks a block ends at each of the first
ON_REAL_RANKS = (*range(10), 15, 16, 17, 23, 1000, 4099)


def reduce_all(comm, algorithm, cases):
    """Do every case (kind, shape, op); returns the wrong ones and a fingerprint of all results."""
    wrong, results = [], []
    for kind, shape, op in cases:
        expected = vectors.everybodys_combined(kind, shape, comm.size, op)
        if expected is None:
            continue
        x = vectors.vector(kind, shape, comm.rank, op)
        registry.get(algorithm).allreduce(comm, x, op)
        results.append(x)
        if not vectors.same(x, expected):
            wrong.append((kind, shape, op))
    return wrong, vectors.bits(*results)


def all_right(run, ranks, algorithm, cases):
    done = run(reduce_all, ranks, trace=False, algorithm=algorithm, cases=cases)
    wrong, prints = zip(*done.results, strict=True)
    assert wrong == ([],) * ranks
    assert len(set(prints)) == 1


@everywhere("allreduce")
@pytest.mark.sampled(24)
def test_every_size(ground, algorithm, ranks):
    sizes = ON_REAL_RANKS if ground.name == "real" else SIZES
    all_right(ground.run, ranks, algorithm, [("numpy int64", size, "sum") for size in sizes])


@everywhere("allreduce", (2, 3, 5))  # all counts with fewer operations, above
@pytest.mark.sampled(12)
def test_every_operation(ground, algorithm, ranks):
    cases = [(kind, size, op) for kind in ("numpy int32", "torch float32") for size in (0, 1, 13)
             for op in vectors.OPERATIONS]  # fmt: skip
    all_right(ground.run, ranks, algorithm, cases)


@everywhere("allreduce", (1, 3, 5))  # on more with fewer types, in the other tests
@pytest.mark.sampled(24)
def test_every_type(ground, algorithm, ranks):
    cases = [(kind, 23, op) for kind in vectors.KINDS for op in vectors.OPERATIONS]
    all_right(ground.run, ranks, algorithm, cases)


@everywhere("allreduce", (2, 3))
@pytest.mark.sampled(2)
def test_every_shape(ground, algorithm, ranks):
    shapes = [(), (1, 1), (2, 3, 4), (0, 5), (7, 11)]
    cases = [(f"{library} float64", shape, "sum") for library in ("numpy", "torch")
             for shape in shapes]  # fmt: skip
    all_right(ground.run, ranks, algorithm, cases)


@given(
    st.sampled_from([name for name in registry.names() if name != "native"]),
    st.integers(1, 40),
    st.sampled_from(vectors.KINDS),
    st.lists(st.integers(0, 7), min_size=0, max_size=3).map(tuple) | st.integers(0, 2000),
    st.sampled_from(vectors.OPERATIONS),
)
@settings(max_examples=150)
def test_anything(algorithm, ranks, kind, shape, op):
    all_right(simulate, ranks, algorithm, [(kind, shape, op)])


def reduce_specials(comm, algorithm):
    results = []
    for kind in ("numpy float16", "numpy float32", "numpy float64", "torch bfloat16",
                 "torch float16", "torch float32", "torch float64"):  # fmt: skip
        for op in (*vectors.OPERATIONS, vectors.first):
            x = vectors.special_vector(kind, comm.rank)
            registry.get(algorithm).allreduce(comm, x, op)
            results.append(x)
    return vectors.bits(*results)


@everywhere("allreduce", but="native")
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
@pytest.mark.sampled(48)
def test_the_same_bits_everywhere(ground, algorithm, ranks):
    """Also where order matters: NaNs, zeros of both signs, an operation that keeps one side."""
    run = ground.run(reduce_specials, ranks, trace=False, algorithm=algorithm)
    assert len(set(run.results)) == 1


@pytest.mark.parametrize("op", ["sum", "max", vectors.first])
def test_the_specials_do_depend_on_the_order(op):
    """Or the test above would prove nothing."""
    one, other = (vectors.special_vector("numpy float64", rank) for rank in (0, 1))
    with np.errstate(invalid="ignore"):  # infinities of both signs are among them
        there, back = vectors.combined([one, other], op), vectors.combined([other, one], op)
    assert vectors.bits(there) != vectors.bits(back)


def reduce_fractions(comm, algorithm):
    x = np.random.default_rng(comm.rank).standard_normal(1003)
    registry.get(algorithm).allreduce(comm, x)
    return x


@everywhere("allreduce")
@pytest.mark.sampled(3)
def test_rounding_differs_between_algorithms_but_not_between_ranks(ground, algorithm, ranks):
    run = ground.run(reduce_fractions, ranks, trace=False, algorithm=algorithm)
    inputs = [np.random.default_rng(rank).standard_normal(1003) for rank in range(ranks)]
    np.testing.assert_allclose(run.results[0], sum(inputs), rtol=0, atol=1e-13 * ranks)
    assert len({vectors.bits(x) for x in run.results}) == 1


def reduce_a_gradient(comm, algorithm):
    """A parameter that autograd watches, reduced in place behind its back."""
    weight = torch.nn.Parameter(torch.full((3, 2), float(comm.rank)))
    before = weight.data_ptr()
    registry.get(algorithm).allreduce(comm, weight)
    return weight.data_ptr() == before, weight.is_leaf, weight.detach().sum().item()


@everywhere("allreduce", (4,))
@pytest.mark.sampled(3)
def test_parameters_are_reduced_in_place(ground, algorithm, ranks):
    run = ground.run(reduce_a_gradient, ranks, algorithm=algorithm)
    assert run.results == [(True, True, 36.0)] * ranks


def own_operation(comm, algorithm):
    def longest(a, b):
        return np.where(np.abs(a) >= np.abs(b), a, b)

    x = np.arange(11.0) * (-1) ** comm.rank * (comm.rank + 1)
    registry.get(algorithm).allreduce(comm, x, longest)
    return x


@everywhere("allreduce")
@pytest.mark.sampled(3)
def test_an_operation_of_ones_own(ground, algorithm, ranks):
    run = ground.run(own_operation, ranks, trace=False, algorithm=algorithm)
    expected = np.arange(11.0) * (-1) ** (ranks - 1) * ranks
    for x in run.results:
        np.testing.assert_array_equal(x, expected)


def reduce_wrong(comm, algorithm, what):
    x = np.zeros((4, 6))[:, ::2] if what == "strided" else [1.0, 2.0]
    try:
        registry.get(algorithm).allreduce(comm, x)
    except TypeError as error:
        return str(error)


@everywhere("allreduce", (2,))
@pytest.mark.parametrize(
    ("what", "words"), [("strided", "not C-contiguous"), ("a list", "a list cannot travel")]
)
def test_what_cannot_be_reduced_is_explained(ground, algorithm, ranks, what, words):
    run = ground.run(reduce_wrong, ranks, algorithm=algorithm, what=what)
    assert all(words in text for text in run.results), run.results


@pytest.mark.parametrize("algorithm", sorted(set(registry.names()) - {"native"}))
@pytest.mark.parametrize("ranks", [31, 32, 33, 100])
@pytest.mark.sampled(4)
def test_rank_counts_beyond_the_usual(algorithm, ranks):
    def program(comm, algorithm):
        x = np.arange(100) + comm.rank
        registry.get(algorithm).allreduce(comm, x)
        return vectors.same(x, np.arange(100) * comm.size + comm.size * (comm.size - 1) // 2)

    assert all(simulate(program, ranks, trace=False, algorithm=algorithm).results)
