"""Ways to round in a training, by name: what forward passes and what backward passes get.

"hybrid" takes E4M3 forward and E5M2 backward, as gradients need range more than precision
(Micikevicius et al., 2022); with blocks E4M3 has range enough for both (DeepSeek-V3, 2024). "E4M3,
no scale" is there to fail: most gradients are below 2^-10, and become zero.
"""

from collections.abc import Callable, Mapping
from functools import partial

from ddl_teach.operators.arrays import Array
from ddl_teach.operators.precision.eight_bits import (
    E2M1,
    E4M3,
    E5M2,
    Delayed,
    Quantiser,
    by_blocks,
    cast,
    current,
    mx,
)
from ddl_teach.operators.precision.numbers import converted, type_name

Maker = Callable[[], Quantiser]


def sixteen(x: Array) -> Array:
    """A tensor of torch through bfloat16."""
    return converted(converted(x, "bfloat16"), type_name(x))


def always(quantiser: Callable[..., Array], **given: object) -> Maker:
    """A maker of quantisers without memory."""
    return partial(partial, quantiser, **given)


RECIPES: Mapping[str, tuple[Maker, Maker]] = {
    "bfloat16": (always(sixteen), always(sixteen)),
    "FP8, one scale": (always(current), always(current, kind=E5M2)),
    "FP8, delayed": (Delayed, partial(Delayed, E5M2)),
    "FP8, blocks": (always(by_blocks, columns=32), always(by_blocks, columns=32)),
    "MXFP8": (always(mx), always(mx)),
    "MXFP4": (always(mx, kind=E2M1), always(mx, kind=E2M1)),
    "E4M3, no scale": (always(cast, kind=E4M3), always(cast, kind=E4M3)),
}
"""Of each name the makers for `emulate`: forward and backward."""
