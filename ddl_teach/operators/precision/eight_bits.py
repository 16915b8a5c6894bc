"""Numbers of eight bits and fewer: cast as torch casts, with scales that use their short range.

E4M3 has 4 bits of exponent and 3 of mantissa: 448 is the largest number, 2^-9 the smallest. E5M2
has more range and one bit less. A tensor is multiplied by a *scale* before the cast, and divided
after it. So its largest entry (amax) becomes the largest number of the format:

    current    scale = largest / amax                       one for the tensor: read it twice
    delayed    scale = largest / max(amax of past steps)    read it once; an outlier is cut off
    block      a scale for each block, such as 1 x 128      an outlier spoils its own block only
    MX         a power of two for each 32 in a row          8 bits of exponent are stored for it
    NVFP4      E4M3 for each 16, and one float32            for elements of four bits

Micikevicius et al., "FP8 formats for deep learning", 2022. Rouhani et al., "Microscaling data
formats for deep learning", 2023. What to look at: how many entries become zero.
"""

import math
from collections.abc import Callable

import numpy as np

from ddl_runtime.core.checks import whole_number
from ddl_teach.operators.arrays import Array, library
from ddl_teach.operators.precision.numbers import converted, type_name
from ddl_teach.theory.rounding import Format, find_format

E4M3, E5M2, E2M1 = "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"
Quantiser = Callable[[Array], Array]


def cast(x: Array, kind: str, saturate: bool = False, draws: Array | None = None) -> Array:
    """The nearest numbers of the format, in the type of `x`; of two equally near the even one.

    With `saturate` the largest number stands for all beyond it. With `draws` from [0, 1) a number
    is rounded up with the probability of its place between its neighbours.
    """
    form, wide = find_format(kind), converted(x, "float64")
    spacing = spacings(wide, form)
    steps = wide / spacing
    whole = library(x).round(steps) if draws is None else library(x).floor(steps + draws)
    rounded, largest = whole * spacing, form.largest
    if saturate or form.overflow is None:
        return converted(rounded.clip(-largest, largest), type_name(x))
    infinite = library(x).ones_like(rounded) * form.overflow
    beyond = library(x).copysign(infinite, rounded)
    return converted(library(x).where(abs(rounded) > largest, beyond, rounded), type_name(x))


def spacings(wide: Array, form: Format) -> Array:
    """The distances of neighbours in a format; they grow no smaller among subnormal numbers."""
    _, exponent = library(wide).frexp(wide)
    ones = library(wide).ones_like(wide)
    return library(wide).ldexp(ones, exponent.clip(form.lowest + 1) - form.significant)


def scale_for(amax: Array, kind: str) -> Array:
    """largest / amax as float64; 1 where amax is 0."""
    amax = converted(amax, "float64")
    ones = library(amax).ones_like(amax)
    return find_format(kind).largest / library(amax).where(amax > 0, amax, ones)


def scaled(x: Array, kind: str, scale: Array) -> Array:
    """What is left of `x` after it was scaled, cast and scaled back, in its own type."""
    wide = converted(x, "float64")
    return converted(cast(wide * scale, kind, saturate=True) / scale, type_name(x))


def current(x: Array, kind: str = E4M3) -> Array:
    """One scale, of the tensor itself."""
    return scaled(x, kind, scale_for(abs(x).max(), kind))


def by_blocks(x: Array, kind: str = E4M3, rows: int = 1, columns: int = 128) -> Array:
    """A scale for each block of `rows` rows and columns (DeepSeek-AI, 2024)."""
    cut, amax = _blocks(x, rows, columns)
    return scaled(cut, kind, scale_for(amax, kind)).reshape(x.shape)


def mx(x: Array, kind: str = E4M3) -> Array:
    """A scale for each 32 in a row: the power of two that brings amax near the largest number,
    with an exponent of 8 bits (Open Compute Project, 2023)."""
    cut, amax = _blocks(x, 1, 32)
    _, exponent = library(x).frexp(amax)
    exponent = (exponent - 1 - find_format(kind).highest).clip(-127, 127)
    scale = library(x).ldexp(library(x).ones_like(amax), -exponent)
    return scaled(cut, kind, scale).reshape(x.shape)


def nvfp4(x: Array) -> Array:
    """Elements of four bits, a scale of E4M3 for each 16 in a row, and one scale of float32."""
    cut, amax = _blocks(x, 1, 16)
    largest = find_format(E2M1).largest
    whole = scale_for(amax.max() / largest, E4M3)
    stored = cast(amax / largest * whole, E4M3, saturate=True)
    scale = whole / library(x).where(stored > 0, stored, library(x).ones_like(stored))
    return scaled(cut, E2M1, scale).reshape(x.shape)


class Delayed:
    """The scale comes from the largest amax of the last `length` tensors, before it is known how
    large this one is."""

    def __init__(self, kind: str = E4M3, length: int = 16) -> None:
        self.kind, self.length, self.history = kind, length, [0.0]

    def __call__(self, x: Array) -> Array:
        amax = max(self.history) or float(abs(x).max())  # the first tensor is measured
        self.history = [*self.history, float(abs(x).max())][-self.length :]
        return scaled(x, self.kind, find_format(self.kind).largest / (amax or 1.0))


def accumulate(terms: Array, bits: int, every: int | None = None) -> np.ndarray:
    """The sum over the first axis in an accumulator of `bits` that cuts off what is beyond them.
    With `every` it begins anew after `every` terms, and its sum goes to one of float32."""
    if every is not None:
        whole_number(every, "every, the terms of an accumulator,", 1)
    form, wide = Format("accumulator", bits, -126, 127), np.asarray(converted(terms, "float64"))
    length = every or max(1, len(wide))
    total = np.zeros(wide.shape[1:], np.float32)
    for begin in range(0, len(wide), length):
        part = np.zeros(wide.shape[1:])
        for term in wide[begin : begin + length]:
            part = part + term
            spacing = spacings(part, form)
            part = np.trunc(part / spacing) * spacing
        total = total + part.astype(np.float32)
    return total


def bytes_of(numbers: int, bits: int, block: int = 0, scale_bits: int = 0) -> int:
    """Bytes of `numbers` numbers, with a scale for each block of them."""
    scales = math.ceil(numbers / block) if block else 0
    return math.ceil((numbers * bits + scales * scale_bits) / 8)


def _blocks(x: Array, rows: int, columns: int) -> tuple[Array, Array]:
    """`x` as (..., rows of blocks, rows, columns of blocks, columns), and each block's amax."""
    if x.ndim < 1 or x.shape[-1] % columns or (rows > 1 and (x.ndim < 2 or x.shape[-2] % rows)):
        advice = f"be cut into blocks of {rows} x {columns}: fill it up with zeros first"
        raise ValueError(f"x of shape {tuple(x.shape)} cannot {advice}")
    tall = x.shape[-2] // rows if rows > 1 else math.prod(x.shape[:-1])
    cut = x.reshape(-1, tall, rows, x.shape[-1] // columns, columns)
    return cut, converted(library(x).amax(abs(cut), (-3, -1), keepdims=True), "float64")
