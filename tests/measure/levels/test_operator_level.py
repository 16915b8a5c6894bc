"""Level 0: ours, the learner's and torch's in one harness; errors are found where they are."""

import numpy as np
import pytest
import torch

from ddl_measure.levels.networks import as_one
from ddl_measure.levels.operators import (
    GOOD,
    check_gradient,
    differences,
    errors,
    heat_map,
)
from ddl_measure.levels.torch_parts import for_arrays, torch_part, torch_parts
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.operators.convolution.methods import METHODS

SHAPE, WEIGHT = (2, 3, 8, 8), (4, 3, 3, 3)


def of_a_learner(x, weight):
    """A convolution of NumPy, by hand, that forgets the last row of each picture."""
    x, weight = x.numpy(), weight.numpy()
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.zeros((2, 4, 8, 8), x.dtype)
    for row in range(7):
        for column in range(8):
            patch = padded[:, :, row : row + 3, column : column + 3]
            out[:, :, row, column] = np.einsum("bcij,ocij->bo", patch, weight)
    return out


def test_all_convolutions_go_through_the_same_harness():
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(shape, generator=generator) for shape in (SHAPE, WEIGHT))
    ours = {
        name: (
            lambda x, w, method=method: method.forward(
                x, w, stride=(1, 1), padding=(1, 1), groups=1
            )
        )
        for name, method in METHODS.items()
    }

    def exact(x, weight):
        return torch.nn.functional.conv2d(x.double(), weight.double(), padding=1)

    def torchs(x, weight):
        return torch.nn.functional.conv2d(x, weight, padding=1)

    right = exact(x, weight)
    for name, method in {**ours, "torch": torchs}.items():
        assert errors(method(x, weight), right).relative < 1e-5, name
    learner = errors(of_a_learner(x, weight), right)
    assert learner.relative > 1e-5
    assert learner.worst[2] == 7
    table = heat_map(of_a_learner(x, weight), exact(x, weight))
    assert table.shape == (2 * 4 * 8, 8)
    wrong = table.max(axis=1) > 1e-3
    assert np.array_equal(wrong, np.arange(64) % 8 == 7)


def test_norms_are_those_of_the_difference():
    found = errors(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([[3.0, 0.0], [3.0, 1.0]]))
    assert (found.l1, found.l2, found.largest, found.worst) == (7, 5, 4, (0, 1))
    assert found.relative == 5 / 19**0.5
    assert found.not_finite == 0


def test_what_is_no_number_is_infinitely_wrong_unless_it_should_be():
    nan, inf = np.nan, np.inf
    found = [1.0, nan, inf, -inf, nan, 2.0]
    right = [1.0, nan, inf, inf, 0.0, nan]
    assert differences(found, right).tolist() == [0, 0, 0, inf, inf, inf]
    assert errors(found, right).not_finite == 3
    assert errors([0.0], [0.0]).relative == 0
    assert errors([1.0], [0.0]).relative == inf
    assert errors(np.array(2.0), np.array(1.0)).worst == ()
    assert errors([], []).largest == 0
    assert differences(torch.tensor([1 + 2j]), [1.0]).tolist() == [2]
    assert errors(torch.ones(3, dtype=torch.bfloat16), np.ones(3, np.int8)).l1 == 0
    with pytest.raises(ValueError, match=r"shape \(2, 1\), the reference \(2,\)"):
        errors(np.ones((2, 1)), np.ones(2))


@pytest.mark.parametrize("shape", [(), (7,), (1000,), (3, 500), (2, 3, 5, 7)])
def test_a_map_keeps_the_largest_difference_of_each_block(shape):
    random = np.random.default_rng(0)
    found = random.standard_normal(shape)
    table = heat_map(found, np.zeros(shape), most=16)
    assert max(table.shape) <= 16
    assert table.max() == np.abs(found).max()
    assert set(table.ravel()) <= set(np.abs(found).ravel())


def square_forward(x):
    return np.concatenate([x.ravel() ** 2, [np.sin(x.sum())]])


def square_backward(x, towards):
    return (2 * x.ravel() * towards[:-1]).reshape(x.shape) + np.cos(x.sum()) * towards[-1]


def test_a_right_gradient_passes_and_one_wrong_number_is_found():
    x = np.random.default_rng(1).standard_normal((3, 4))

    def wrong(x, towards):
        gradient = square_backward(x, towards)
        gradient[2, 1] *= 1.01
        return gradient

    assert check_gradient(square_forward, square_backward, x).relative < GOOD
    found = check_gradient(square_forward, wrong, x)
    assert found.relative > 100 * GOOD
    assert found.worst == (2, 1)


def test_gradients_of_ours_and_of_torchs_are_checked_alike():
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(WEIGHT, generator=generator, dtype=torch.float64)
    x = torch.randn((1, 3, 5, 5), generator=generator, dtype=torch.float64).numpy()
    where = {"stride": (1, 1), "padding": (1, 1), "groups": 1}
    for method in METHODS.values():
        found = check_gradient(
            lambda x, method=method: method.forward(torch.from_numpy(x), weight, **where),
            lambda x, towards, method=method: method.input_gradient(
                torch.from_numpy(towards), weight, x.shape, **where
            ),
            x,
        )
        assert found.relative < GOOD, method.name
    network = mlp((6, 5, 3)).double()
    whole = for_arrays(as_one("mlp", torch_parts(network)))
    at_once = for_arrays(torch_part("mlp", network))
    rows = np.random.default_rng(2).standard_normal((4, 6))
    for part in (whole, at_once):
        assert check_gradient(part.forward, part.backward, rows).relative < GOOD


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(TypeError, match="x is float32"):
        check_gradient(square_forward, square_backward, np.ones((2, 2), np.float32))
    with pytest.raises(TypeError, match="not finite"):
        check_gradient(square_forward, square_backward, [1.0, np.nan])
    with pytest.raises(ValueError, match="1 of its numbers are not finite"):
        check_gradient(np.sin, lambda x, towards: np.array([np.inf, 1]), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"the gradient has shape \(5,\), and x \(2, 2\)"):
        check_gradient(square_forward, lambda x, towards: towards, np.ones((2, 2)))
