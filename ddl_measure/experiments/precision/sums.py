"""All ways to sum, side by side: how far each is off, over the number of terms.

What to look at: the sum in order leaves the ground where the total reaches 2^p times a term; who
needs no more than one or two roundings stays there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ddl_teach.operators.arrays import Array
from ddl_teach.operators.precision.compensated import kahan, neumaier
from ddl_teach.operators.precision.in_order import in_order
from ddl_teach.operators.precision.numbers import relative_error
from ddl_teach.operators.precision.pairwise import pairwise
from ddl_teach.operators.precision.wider import wider
from ddl_teach.theory import rounding

Curves = dict[str, tuple[Sequence[int], np.ndarray]]

WAYS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "in_order": in_order,
        "pairwise": pairwise,
        "kahan": kahan,
        "neumaier": neumaier,
        "wider": wider,
    }
)


def errors(
    ways: Mapping[str, Callable[[Array], Array]], terms: Sequence[int], seed: int = 0
) -> Curves:
    """The largest relative error of each way, for 8 sums of numbers between 0 and 1 in float16."""
    generator = np.random.default_rng(seed)
    samples = [generator.random((count, 8)).astype(np.float16) for count in terms]
    return {
        name: (terms, np.array([relative_error(way(x), x).max() for x in samples]))
        for name, way in ways.items()
    }


def bounds(names: Iterable[str], terms: Sequence[int]) -> Curves:
    """What theory promises in float16, for the ways of these names."""
    formulas = {"in_order": rounding.in_order, "pairwise": rounding.pairwise,
                "neumaier": rounding.compensated, "wider": rounding.wider}  # fmt: skip
    return {
        name: (terms, np.array([formulas[name](count, "float16") for count in terms]))
        for name in names
    }
