"""The plain file of eight bits rounds as its product does, on each number of ranks."""

import numpy as np
import pytest
from comparing import assert_close, assert_differs, plain, vector

from ddl_teach import simulate
from ddl_teach.operators.precision.agreed import agreed_amax
from ddl_teach.operators.precision.eight_bits import E4M3, Delayed, cast, scale_for, scaled


def both(comm, change=None):
    own = vector(comm.rank) * 10.0**comm.rank
    file = plain("fp8_scaling", change)
    [amax] = agreed_amax(comm, [own])
    return file.rounded(comm, own), scaled(own, E4M3, scale_for(np.array(amax), E4M3))


def test_it_rounds_with_one_scale_as_the_product(run):
    for mine, its in run(both).results:
        assert_close(mine, its)


@pytest.mark.parametrize(
    "change",
    [("exponent - 1", "exponent"), ("LOWEST) - MANTISSA", "LOWEST) - 2"),
     ("if amax > 0 else 1.0", "if amax > 0 else 1.0\n    scale = scale / 3")],
)  # fmt: skip
def test_another_rounding_is_noticed(change):
    assert_differs(simulate(both, 3, change=change).results)


def test_it_casts_as_the_product():
    x = np.concatenate([vector(0, 2000) * 10.0**power for power in range(-4, 4)])
    assert_close(plain("fp8_scaling").cast(x), cast(x, E4M3, saturate=True))


def test_delayed_scales_are_those_of_the_product():
    history, product = [1.0], Delayed(length=3)
    product.history = [1.0]
    for step in range(6):
        x = vector(step) * (step % 3 + 1)
        assert_close(plain("fp8_scaling").delayed(history, x, 3), product(x))
    assert history == product.history
