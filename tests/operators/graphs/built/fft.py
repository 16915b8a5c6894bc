"""Graphs of convolution by FFT: a pair of nodes, real and imaginary part, for each frequency.

The transform is the textbook's: even and odd places separately, then butterflies
a + w b and a - w b with the roots of unity w, all of them multiplied, ones too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from operators.graphs.built import direct
from operators.graphs.built.windows import padded

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph
from ddl_teach.theory.convolution_sizes import Convolution
from ddl_teach.theory.work_depth.convolution import points


class Complex(NamedTuple):
    """Arrays of nodes of one shape."""

    real: np.ndarray
    imaginary: np.ndarray

    def at(self, *place: object) -> Complex:
        """The same index into both."""
        return Complex(self.real[place], self.imaginary[place])

    def moved(self, source: int, destination: int) -> Complex:
        """With an axis in another place."""
        return Complex(*(np.moveaxis(part, source, destination) for part in self))


def forward(problem: Convolution, bias: bool = False) -> OperationGraph:
    """x, weight, bias -> y: a correlation, so the kernel's spectrum is conjugated."""
    build = Builder()
    x, weight = _input_spectrum(build, problem), _kernel_spectrum(build, problem)
    # (batch, group, 1, channels, ...) times (group, out, channels, ...)
    products = _multiply(build, weight, x.at(slice(None), slice(None), None), conjugate=True)
    plane = _back(build, _summed(build, products, 3))
    stride = problem.stride
    whole = plane[..., :: stride[0], :: stride[1]]
    kept = whole[..., : problem.output_height, : problem.output_width]
    y = direct.merged(_scaled(build, kept, problem))
    if bias:
        y = build.add(y, build.input("bias", problem.out_channels)[:, None, None])
    return build.graph(y=y)


def input_gradient(problem: Convolution, bias: bool = False) -> OperationGraph:
    """gradient, weight -> dx."""
    build = Builder()
    weight = _kernel_spectrum(build, problem)
    gradient = _gradient_spectrum(build, direct.grouped_gradient(build, problem), problem)
    products = _multiply(build, gradient.at(slice(None), slice(None), slice(None), None), weight)
    plane = _back(build, _summed(build, products, 2))
    (top, left), size = problem.padding, (problem.height, problem.width)
    kept = plane[..., top : top + size[0], left : left + size[1]]
    return build.graph(dx=direct.merged(_scaled(build, kept, problem)))


def parameter_gradient(problem: Convolution, bias: bool = False) -> OperationGraph:
    """x, gradient -> dweight, dbias."""
    build = Builder()
    x, given = _input_spectrum(build, problem), direct.grouped_gradient(build, problem)
    gradient = _gradient_spectrum(build, given, problem)
    gradient = gradient.at(slice(None), slice(None), slice(None), None)
    products = _multiply(build, gradient, x.at(slice(None), slice(None), None), conjugate=True)
    plane = _back(build, _summed(build, products, 0))
    kept = plane[..., : problem.kernel[0], : problem.kernel[1]]
    dweight = _scaled(build, kept, problem).reshape(problem.out_channels, -1, *problem.kernel)
    return build.graph(dweight=dweight, **direct.bias_gradient(build, given, bias))


def transform(build: Builder, x: Complex, sign: int = -1) -> Complex:
    """The transform along the last axis, a power of two long; `sign` 1 goes back, unscaled."""
    length = x.real.shape[-1]
    if length == 1:
        return x
    even = transform(build, x.at(..., slice(0, None, 2)), sign)
    odd = transform(build, x.at(..., slice(1, None, 2)), sign)
    roots = np.exp(sign * 2j * np.pi * np.arange(length // 2) / length)
    roots = Complex(build.constant(roots.real), build.constant(roots.imag))
    turned = _multiply(build, roots, odd)
    low = (build.add(*parts) for parts in zip(even, turned, strict=True))
    high = (build.subtract(*parts) for parts in zip(even, turned, strict=True))
    return Complex(*(np.concatenate(both, -1) for both in zip(low, high, strict=True)))


def _plane_transform(build: Builder, x: Complex, sign: int = -1) -> Complex:
    along_rows = transform(build, x, sign)
    return transform(build, along_rows.moved(-2, -1), sign).moved(-1, -2)


def _spectrum(build: Builder, planes: np.ndarray, problem: Convolution) -> Complex:
    """Of real planes, filled up with zeros to the transform's points."""
    rows, columns = points(problem)
    room = [(0, 0)] * (planes.ndim - 2)
    room += [(0, rows - planes.shape[-2]), (0, columns - planes.shape[-1])]
    nothing = int(build.constant(0.0))
    real = np.pad(planes, room, constant_values=nothing)
    return _plane_transform(build, Complex(real, np.full_like(real, nothing)))


def _input_spectrum(build: Builder, problem: Convolution) -> Complex:
    x = build.input("x", problem.batch, problem.in_channels, problem.height, problem.width)
    x = padded(build, x, problem.padding)
    return _spectrum(build, x.reshape(problem.batch, problem.groups, -1, *x.shape[2:]), problem)


def _kernel_spectrum(build: Builder, problem: Convolution) -> Complex:
    return _spectrum(build, direct.grouped_weight(build, problem), problem)


def _gradient_spectrum(build: Builder, gradient: np.ndarray, problem: Convolution) -> Complex:
    """Of gradients that stand where their windows begin, with zeros between them."""
    high, wide = (
        (outputs - 1) * step + 1
        for outputs, step in zip(gradient.shape[-2:], problem.stride, strict=True)
    )
    spread = np.full((*gradient.shape[:-2], high, wide), int(build.constant(0.0)))
    spread[..., :: problem.stride[0], :: problem.stride[1]] = gradient
    return _spectrum(build, spread, problem)


def _multiply(build: Builder, one: Complex, other: Complex, conjugate: bool = False) -> Complex:
    """Four products and two sums; with the first factor conjugated only signs differ."""
    straight = build.multiply(one.real, other.real), build.multiply(one.imaginary, other.imaginary)
    crossed = build.multiply(one.real, other.imaginary), build.multiply(one.imaginary, other.real)
    if conjugate:
        return Complex(build.add(*straight), build.subtract(*crossed))
    return Complex(build.subtract(*straight), build.add(*crossed))


def _summed(build: Builder, products: Complex, axis: int) -> Complex:
    return Complex(*(build.total(part, axes=axis) for part in products))


def _back(build: Builder, spectrum: Complex) -> np.ndarray:
    """The real part of the way back; the imaginary one is zero, but is computed as well."""
    return _plane_transform(build, spectrum, sign=1).real


def _scaled(build: Builder, kept: np.ndarray, problem: Convolution) -> np.ndarray:
    rows, columns = points(problem)
    return build.scale(kept, 1 / (rows * columns))
