"""Linear recurrences: in order, by doubling and by sweeps, one result; on ranks too."""

import numpy as np
import pytest
import torch

from ddl_teach import simulate
from ddl_teach.operators.recurrence import scan, scan_on_ranks

LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 31, 100)
RANKS = (1, 2, 3, 4, 5, 8)


def sequence(length, width=3, seed=0):
    generator = np.random.default_rng(seed)
    return generator.uniform(-1.1, 1.1, (length, width)), generator.standard_normal(
        (length, width)
    )


def by_the_formula(a, b):
    states, state = [], 0.0
    for decay, more in zip(a, b, strict=True):
        state = decay * state + more
        states.append(state)
    return np.array(states)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("way", [scan.in_order, scan.doubling, scan.sweeps])
def test_all_ways_give_the_states(way, length):
    a, b = sequence(length)
    wanted = by_the_formula(a, b)
    np.testing.assert_allclose(way(a, b), wanted, rtol=1e-10, atol=1e-10)
    tensors = way(torch.from_numpy(a), torch.from_numpy(b))
    np.testing.assert_allclose(tensors.numpy(), wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("way", [scan.in_order, scan.doubling, scan.sweeps])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_gradients_are_a_scan_backwards(length, way):
    a, b = (torch.from_numpy(part).requires_grad_() for part in sequence(length))
    of_states = torch.from_numpy(sequence(length, seed=1)[1])
    states = way(a, b)
    wanted = torch.autograd.grad(states, [a, b], of_states, materialize_grads=True)
    plain = a.detach(), states.detach(), of_states
    for numbers in (plain, [tensor.numpy() for tensor in plain]):
        for one, other in zip(scan.gradients(*numbers), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


class Counted:
    """A number that counts how long the chain of combinations behind it is."""

    def __init__(self, value, depth=0):
        self.value, self.depth = value, depth

    def __mul__(self, other):
        return Counted(self.value * other.value, max(self.depth, other.depth) + 1)

    def __add__(self, other):
        return Counted(self.value + other.value, max(self.depth, other.depth) + 1)


@pytest.mark.parametrize("length", [2, 3, 8, 33, 100])
@pytest.mark.parametrize(
    ("way", "deepest"),
    [
        (scan.in_order, lambda length: length - 1),
        (scan.doubling, lambda length: np.ceil(np.log2(length))),
        (scan.sweeps, lambda length: 2 * np.ceil(np.log2(length))),
    ],
)
def test_the_depth_is_what_the_table_says(way, deepest, length):
    a, b = (
        np.array([[Counted(value)] for value in part[:, 0]], dtype=object)
        for part in sequence(length, 1)
    )
    depth = max(state.depth for state in way(a, b)[:, 0])
    assert depth <= 2 * deepest(length)  # a combination is a product and a sum, in a row
    assert depth >= min(2 * (length - 1), 2 * np.floor(np.log2(length)))


def share(comm, a, b, scan_part):
    steps = slice(len(a) * comm.rank // comm.size, len(a) * (comm.rank + 1) // comm.size)
    return scan_part(comm, a[steps], b[steps])


@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_that_share_the_steps_find_the_same(ranks, real):
    a, b = sequence(37)
    given = {"a": a, "b": b, "scan_part": scan_on_ranks.scan}
    tensors = given | {"a": torch.from_numpy(a), "b": torch.from_numpy(b)}
    for run in (real(share, ranks, **given), simulate(share, ranks, **tensors)):
        found = np.concatenate([np.asarray(part) for part in run.results])
        np.testing.assert_allclose(found, by_the_formula(a, b), rtol=1e-10, atol=1e-10)


def test_on_ranks_the_messages_are_logarithmic():
    a, b = sequence(1000)
    run = simulate(share, 1000, a=a, b=b, scan_part=scan_on_ranks.scan)
    np.testing.assert_allclose(np.concatenate(run.results), by_the_formula(a, b), rtol=1e-9)
    assert max(ledger.messages_sent for ledger in run.ledger) == 10 + 1


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((0, 2), (0, 2))])
def test_parts_that_do_not_fit_are_refused(shapes):
    a, b = (np.ones(shape) for shape in shapes)
    for way in (scan.in_order, scan.doubling, scan.sweeps):
        with pytest.raises(ValueError, match="with at least one step"):
            way(a, b)
