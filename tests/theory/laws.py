"""What the tests of the theory room draw from, and what they compare with."""

import math

from hypothesis import strategies as st

RANKS = st.integers(1, 300)
SEVERAL_RANKS = st.integers(2, 300)
POWERS = st.integers(0, 12).map(lambda exponent: 2**exponent)
SIZES = st.one_of(st.just(0.0), st.floats(1.0, 1e10))
LATENCIES = st.floats(1e-9, 1e-1)
PER_BYTE = st.floats(1e-12, 1e-6)
OPTIONAL_COST = st.one_of(st.just(0.0), st.floats(1e-12, 1e-6))


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-12)


def at_least(one: float, other: float) -> bool:
    """one >= other, but for rounding."""
    return one >= other * (1 - 1e-12)
