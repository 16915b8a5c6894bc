"""The methods by name: what a network, a chooser or a benchmark picks from.

METHODS["im2col"].forward(x, weight, ...)    one of the course's own
find("winograd_6x6")                         any tile of Winograd's, or an error that helps
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import torch
from torch import Tensor

from ddl_runtime.core.checks import unknown
from ddl_teach.operators.convolution import direct, fft, im2col
from ddl_teach.operators.convolution.problem import Convolution, sizes_of
from ddl_teach.operators.convolution.winograd import Winograd


class Passes(Protocol):
    """The three passes of a convolution whose sizes are checked, by one algorithm."""

    def forward(self, x: Tensor, weight: Tensor, problem: Convolution) -> Tensor: ...
    def input_gradient(self, gradient: Tensor, weight: Tensor, problem: Convolution) -> Tensor: ...
    def weight_gradient(self, x: Tensor, gradient: Tensor, problem: Convolution) -> Tensor: ...


class Algorithm(Passes, Protocol):
    """The three passes, and the bytes that they take beyond input, weight and output."""

    def workspace(self, problem: Convolution, dtype: torch.dtype) -> int: ...


@dataclass(frozen=True)
class Method:
    """An algorithm by its name, which checks what it is given; `walk` is stride, padding, groups.
    `refusal` says why the algorithm cannot do a convolution in such numbers, or nothing."""

    name: str
    algorithm: Algorithm
    refusal: Callable[..., str] = lambda problem, dtype=torch.float32: ""

    def forward(self, x: Tensor, weight: Tensor, **walk: Any) -> Tensor:
        problem = self._accepted(sizes_of(x, weight, **walk), x)
        return self.algorithm.forward(x, weight, problem)

    def input_gradient(
        self, gradient: Tensor, weight: Tensor, x_shape: Sequence[int], **walk: Any
    ) -> Tensor:
        problem = Convolution.of_shapes(x_shape, weight.shape, **walk)
        return self.algorithm.input_gradient(gradient, weight, self._accepted(problem, gradient))

    def weight_gradient(
        self, x: Tensor, gradient: Tensor, weight_shape: Sequence[int], **walk: Any
    ) -> Tensor:
        problem = Convolution.of_shapes(x.shape, weight_shape, **walk)
        return self.algorithm.weight_gradient(x, gradient, self._accepted(problem, x))

    def workspace(self, problem: Convolution, dtype: torch.dtype) -> int:
        return self.algorithm.workspace(problem, dtype)

    def _accepted(self, problem: Convolution, like: Tensor) -> Convolution:
        if reason := self.refusal(problem, like.dtype):
            raise ValueError(reason)
        return problem


def winograd(outputs: int) -> Method:
    """Winograd's method with tiles of `outputs` outputs each way."""
    algorithm = Winograd(outputs)
    return Method(f"winograd_{outputs}x{outputs}", algorithm, algorithm.refusal)


NAMED = {"direct": direct, "im2col": im2col, "fft": fft}
ALL = (*(Method(name, algorithm) for name, algorithm in NAMED.items()), winograd(2), winograd(4))
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in ALL})


def find(name: str) -> Method:
    """The method of that name; `winograd_3x3` and the like are made for any tile."""
    if name in METHODS:
        return METHODS[name]
    if tile := re.fullmatch(r"winograd_([1-9]\d?)x\1", str(name)):
        return winograd(int(tile[1]))
    raise ValueError(f"{unknown('method', name, METHODS)}, and winograd_MxM for any M")
