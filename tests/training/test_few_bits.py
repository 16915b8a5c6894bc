"""Adam with 8-bit states, and Muon: alone, beside torch's, and over ranks."""

import numpy as np
import pytest
import torch

from ddl_teach import simulate
from ddl_teach.theory import muon as theory
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.optimizers import adam_8bit
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.adam_8bit import Adam8Bit
from ddl_teach.training.optimizers.lars import LARS
from ddl_teach.training.optimizers.muon import Muon, by_owners, everywhere, orthogonal
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

SHAPES = ((12, 20), (12,), (20, 12), (16, 16), (16,))
SIZE = sum(int(np.prod(shape)) for shape in SHAPES)


def steps(rule, weights, gradients):
    weights = weights.copy() if isinstance(weights, np.ndarray) else weights.clone()
    states = [0 * weights for _ in range(rule.states)]
    for step, gradient in enumerate(gradients, start=1):
        rule(weights, gradient, states, step)
    return weights


# -- 8 bits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("signed", [True, False])
def test_the_code_has_256_values_of_which_each_stands_for_itself(signed):
    values = adam_8bit.code(signed)
    assert len(set(values)) == 256
    assert np.array_equal(values, np.sort(values))
    places, scales = adam_8bit.encode(values, signed, 256)
    assert np.array_equal(places, np.arange(256))
    assert np.allclose(adam_8bit.decode(places, scales, signed, 256), values)


@pytest.mark.parametrize("size", [1, 100, 4097])
def test_a_number_keeps_its_size_over_six_decades(size):
    x = 10 ** np.random.default_rng(0).uniform(-5, 0, size)
    x[0] = 1
    again = adam_8bit.decode(*adam_8bit.encode(x, False), False)
    assert np.abs(again / x - 1)[x > 1e-2].max() < 0.08
    assert np.abs(again / x - 1).max() < 0.5


def test_one_large_number_spoils_its_own_block_only():
    x = np.full(4096, 1e-9)
    x[0] = 1.0
    again = adam_8bit.decode(*adam_8bit.encode(x, True), True)
    assert not again[1:2048].any()
    assert np.allclose(again[2048:], 1e-9)


def test_states_take_a_quarter_of_the_bytes():
    assert adam_8bit.state_bytes(2048 * 10) == 2 * (2048 * 10 + 40)
    both = [adam_8bit.encode(np.ones(5000), signed) for signed in (True, False)]
    assert sum(part.nbytes for pair in both for part in pair) == adam_8bit.state_bytes(5000)


def test_states_hold_what_their_bytes_stand_for_in_numpy_and_torch():
    numbers = np.random.default_rng(1).standard_normal((9, 3000))
    states = [np.zeros(3000), np.zeros(3000)]
    Adam8Bit(0.1)(numbers[0].copy(), numbers[1], states, 1)
    for state, signed in zip(states, (True, False), strict=True):
        assert len(set(state)) > 50
        assert np.allclose(adam_8bit.decode(*adam_8bit.encode(state, signed), signed), state)
    mine = steps(Adam8Bit(0.1), numbers[0], numbers[1:])
    tensors = steps(Adam8Bit(0.1), *map(torch.from_numpy, (numbers[0], numbers[1:])))
    np.testing.assert_allclose(tensors.numpy(), mine, rtol=1e-12)


def test_the_loss_is_adams_within_the_spread_of_seeds():
    def ends(rule):
        each = []
        for seed in range(4):
            task = Digits(batch=32, seed=seed)
            ranks = simulate(train, 2, task=task, update=rule, steps=100, trace=False, **WHOLE)
            each.append(task.loss(ranks.results[0].weights))
        return np.array(each)

    whole, bytes_ = ends(Adam(0.01)), ends(Adam8Bit(0.01))
    assert abs(whole.mean() - bytes_.mean()) < np.ptp(whole) + np.ptp(bytes_)
    assert whole.max() < 0.5


WHOLE = {"consistency": Synchronous(), "distribution": AllReduce(), "compressor": Dense()}


# -- Muon --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(8, 8), (5, 40), (40, 5), (64, 64), (1, 7)])
def test_singular_values_come_near_one_and_vectors_stay(shape):
    matrix = np.random.default_rng(2).standard_normal(shape)
    u, values, vt = np.linalg.svd(matrix, full_matrices=False)
    result = u.T @ orthogonal(matrix) @ vt.T
    kept = values > 0.02 * np.linalg.norm(matrix)
    assert np.all((np.diag(result)[kept] > 0.6) & (np.diag(result)[kept] < 1.25))
    assert np.abs(result - np.diag(np.diag(result))).max() < 1e-9
    assert np.allclose(orthogonal(1000 * matrix), orthogonal(matrix))
    assert not np.allclose(orthogonal(matrix, rounds=1), orthogonal(matrix))


def test_zeros_stay_zeros():
    assert not orthogonal(np.zeros((3, 4))).any()


@pytest.mark.parametrize("shape", [(24, 16), (16, 24)])
def test_steps_are_those_of_torch(shape):
    numbers = np.random.default_rng(3).standard_normal((7, *shape))
    parameter = torch.nn.Parameter(torch.from_numpy(numbers[0].copy()))
    optimizer = torch.optim.Muon([parameter], lr=0.1, momentum=0.9, weight_decay=0.0)
    for gradient in numbers[1:]:
        parameter.grad = torch.from_numpy(gradient)
        optimizer.step()
    flat = numbers.reshape(7, -1)
    mine = steps(Muon((shape,), 0.1, momentum=0.9), flat[0], flat[1:])
    moved = np.abs(mine - flat[0]).max()
    apart = np.abs(parameter.detach().numpy().ravel() - mine).max()
    assert apart < 0.03 * moved  # torch makes its products in bfloat16


def test_other_weights_take_the_rule_for_the_rest_and_so_do_those_that_are_kept():
    numbers = np.random.default_rng(4).standard_normal((4, SIZE))
    mine = steps(Muon(SHAPES, 0.1, rest=SGD(0.5), kept=(2,)), numbers[0], numbers[1:])
    plain = steps(SGD(0.5), numbers[0], numbers[1:])
    rest = np.concatenate([
        np.full(int(np.prod(shape)), len(shape) == 1 or place == 2)
        for place, shape in enumerate(SHAPES)
    ])  # fmt: skip
    assert np.allclose(mine[rest], plain[rest])
    assert not np.isclose(mine[~rest], plain[~rest]).any()
    assert Muon(SHAPES, rest=SGD(0.5)).states == 1
    assert Muon(SHAPES).states == 2


def test_numpy_and_torch_take_the_same_steps():
    numbers = np.random.default_rng(5).standard_normal((4, SIZE))
    tensors = steps(Muon(SHAPES), *map(torch.from_numpy, (numbers[0], numbers[1:])))
    np.testing.assert_allclose(tensors.numpy(), steps(Muon(SHAPES), numbers[0], numbers[1:]))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="less than 1"):
        Muon(SHAPES, momentum=1.0)
    with pytest.raises(ValueError, match="zero or more"):
        Muon(SHAPES, rate=-1.0)
    with pytest.raises(ValueError, match="element-wise"):
        Muon(SHAPES, rest=LARS((0, 3)))
    with pytest.raises(ValueError, match="shapes of all parameters"):
        Muon(SHAPES)(*np.zeros((2, 7)), np.zeros((2, 7)), 1)


# -- over ranks ----------------------------------------------------------------------------------

MATRICES = ((12, 20), (20, 12), (16, 16), (30, 4), (8, 8))


def total(comm, way):
    x = [np.ones(shape) for shape in MATRICES]
    {"owners": by_owners, "everywhere": everywhere}[way](comm, x)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("way", ["owners", "everywhere"])
def test_bytes_of_all_ranks_together_are_those_of_theory(ranks, way):
    run = simulate(total, ranks, way=way)
    nbytes = 8 * sum(int(np.prod(shape)) for shape in MATRICES)
    assert sum(part.bytes_sent for part in run.ledger) == theory.total_bytes(way, ranks, nbytes)


def both(comm):
    own = [np.random.default_rng([comm.rank, *shape]).standard_normal(shape) for shape in MATRICES]
    other = [matrix.copy() for matrix in own]
    by_owners(comm, own)
    everywhere(comm, other)
    return own, other


@pytest.mark.parametrize("where", ["simulated", "real"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(3)
def test_owners_make_the_steps_that_all_make_everywhere(request, where, ranks):
    start = simulate if where == "simulated" else request.getfixturevalue("real")
    results = start(both, ranks).results
    for own, other in results:
        for mine, theirs, first in zip(own, other, results[0][0], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
            assert np.array_equal(mine, first)  # the same bits on all ranks


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_no_owner_has_more_than_its_share_and_one_matrix(ranks):
    work = [theory.operations(shape) for shape in MATRICES]
    assert max(sum(work) / ranks, max(work)) <= theory.busiest(MATRICES, ranks)
    assert theory.busiest(MATRICES, ranks) <= sum(work) / ranks + max(work)


def test_operations_are_those_of_the_products():
    assert theory.operations((3, 5), 1) == 2 * 3 * 3 * 5 + 2 * 3**3 + 2 * 3 * 3 * 5
    assert theory.operations((5, 3)) == 5 * theory.operations((3, 5), 1)
    assert theory.total_bytes("gathered", 4, 100) == 900
