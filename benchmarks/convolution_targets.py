"""What the measured layers say about the targets, each met or missed and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.convolution_cost import ConvolutionCost

IM2COL, WINOGRAD, REGRET, CHOSEN = 3.0, 2.0, 1.1, 1.5


class Measured(Protocol):
    """A layer as `benchmarks.convolutions` measures it."""

    problem: Convolution
    direction: str
    times: dict
    counts: dict[str, ConvolutionCost]
    choices: dict

    def median(self, method: str) -> float: ...

    def regret(self, how: str) -> float: ...


def verdicts(layers: Sequence[Measured]) -> str:
    """One line a target: on how many layers it is met, and the worst of them."""
    tiled = [layer for layer in layers if _three_by_three(layer.problem)]
    saving = [layer for layer in layers if counts_less(layer)]
    ratios = {
        f"im2col / torch at most {IM2COL:g}": [_ratio(one, "im2col") for one in layers],
        f"winograd_2x2 / torch, 3x3 stride 1, at most {WINOGRAD:g}": [
            _ratio(one, "winograd_2x2") for one in tiled
        ],
        f"winograd_4x4 / torch, 3x3 stride 1, at most {WINOGRAD:g}": [
            _ratio(one, "winograd_4x4") for one in tiled
        ],
        f"the better Winograd / torch, 3x3 stride 1, at most {WINOGRAD:g}": [
            min(_ratio(one, "winograd_2x2"), _ratio(one, "winograd_4x4")) for one in tiled
        ],
        "fft / im2col, where it counts fewer operations, at most 1": [
            one.median("fft") / one.median("im2col") for one in saving
        ],
    }
    limits = [IM2COL, WINOGRAD, WINOGRAD, WINOGRAD, 1.0]
    for how in layers[0].choices if layers else ():
        ratios[f"regret, {how}, at most {REGRET:g}"] = [one.regret(how) for one in layers]
        ratios[f"chosen, {how} / torch at most {CHOSEN:g}"] = [
            one.regret(how) * min(_ratio(one, name) for name in one.counts) for one in layers
        ]
        limits += [REGRET, CHOSEN]
    return "\n".join(["targets", *map(_line, ratios, ratios.values(), limits)])


def _line(what: str, ratios: Sequence[float], most: float) -> str:
    if not ratios:
        return f"  {what}: no such layer"
    ordered = sorted(ratios)
    met = sum(one <= most for one in ordered)
    verdict = "met" if met == len(ordered) else "missed"
    middle = ordered[len(ordered) // 2]
    return (
        f"  {what}: {verdict}, holds on {met} of {len(ordered)} layers; "
        f"median {middle:.2f}, worst {ordered[-1]:.2f}"
    )


def _ratio(layer: Measured, method: str) -> float:
    return layer.median(method) / layer.median("torch")


def _three_by_three(problem: Convolution) -> bool:
    return problem.kernel == (3, 3) and problem.stride == (1, 1)


def counts_less(layer: Measured) -> bool:
    """Whether the Fourier transform takes fewer operations than im2col."""
    return layer.counts["fft"].operations < layer.counts["im2col"].operations
