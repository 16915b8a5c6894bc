"""The methods by name: what a network, a chooser or a benchmark picks from.

METHODS["im2col"].forward(x, weight, ...)    one of the course's own
find("winograd_6x6")                         any tile of Winograd's, or an error that helps
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType, ModuleType

import torch
from torch import Tensor

from ddl_teach.operators.convolution import direct, fft, fft_memory, im2col
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.winograd import Winograd


@dataclass(frozen=True)
class Method:
    """A way to convolve: three passes, what it cannot do, and the memory that it takes."""

    name: str
    forward: Callable[..., Tensor]
    input_gradient: Callable[..., Tensor]
    weight_gradient: Callable[..., Tensor]
    refusal: Callable[..., str]
    workspace: Callable[[Convolution, torch.dtype], int]


def method_of(
    name: str, algorithm: ModuleType | Winograd, memory: ModuleType | None = None
) -> Method:
    """The five functions of an algorithm under one name; those of its memory may stand apart."""
    return Method(
        name,
        algorithm.forward,
        algorithm.input_gradient,
        algorithm.weight_gradient,
        algorithm.refusal,
        (memory or algorithm).workspace,
    )


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "direct": method_of("direct", direct),
        "im2col": method_of("im2col", im2col),
        "fft": method_of("fft", fft, fft_memory),
        "winograd_2x2": method_of("winograd_2x2", Winograd(2)),
        "winograd_4x4": method_of("winograd_4x4", Winograd(4)),
    }
)


def find(name: str) -> Method:
    """The method of that name; `winograd_3x3` and the like are made for any tile."""
    if name in METHODS:
        return METHODS[name]
    if tile := re.fullmatch(r"winograd_([1-9]\d?)x\1", str(name)):
        return method_of(name, Winograd(int(tile[1])))
    close = get_close_matches(str(name).lower(), METHODS, n=2, cutoff=0.4)
    meant = f": did you mean {' or '.join(map(repr, close))}?" if close else "."
    raise ValueError(
        f"no method is called {name!r}{meant} There are {', '.join(METHODS)}, and "
        "winograd_MxM for any other number M of outputs"
    )
