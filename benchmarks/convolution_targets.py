"""What the measured layers say about the targets, each met or missed and by how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.convolution_cost import Cost

IM2COL, WINOGRAD, REGRET = 3.0, 2.0, 1.1


class Measured(Protocol):
    """A layer as `benchmarks.convolutions` measures it."""

    problem: Convolution
    direction: str
    times: dict
    counts: dict[str, Cost]
    choices: dict

    def median(self, method: str) -> float: ...

    def regret(self, how: str) -> float: ...


def verdicts(layers: Sequence[Measured]) -> str:
    """One line a target: on how many layers it is met, and the worst of them."""
    tiled = [layer for layer in layers if _three_by_three(layer.problem)]
    saving = [layer for layer in layers if _counts_less(layer)]
    lines = ["targets"]
    lines.append(_line("im2col / torch", IM2COL, layers, lambda layer: _ratio(layer, "im2col")))
    for tile in ("winograd_2x2", "winograd_4x4"):
        of = _line(f"{tile} / torch, 3x3 stride 1", WINOGRAD, tiled, lambda one: _ratio(one, tile))  # noqa: B023
        lines.append(of)
    lines.append(
        _line("the better Winograd / torch, 3x3 stride 1", WINOGRAD, tiled,
              lambda layer: min(_ratio(layer, "winograd_2x2"), _ratio(layer, "winograd_4x4")))
    )  # fmt: skip
    lines.append(
        _line("fft / im2col, where it counts fewer operations", 1.0, saving,
              lambda layer: layer.median("fft") / layer.median("im2col"))
    )  # fmt: skip
    for how in layers[0].choices if layers else ():
        lines.append(_line(f"regret, {how}", REGRET, layers, lambda one: one.regret(how)))  # noqa: B023
    return "\n".join(lines)


def _line(
    what: str, most: float, layers: Sequence[Measured], ratio: Callable[[Measured], float]
) -> str:
    ratios = sorted(map(ratio, layers))
    if not ratios:
        return f"  {what} at most {most:g}: no such layer"
    met = sum(one <= most for one in ratios)
    verdict = "met" if met == len(ratios) else "missed"
    middle = ratios[len(ratios) // 2]
    return (
        f"  {what} at most {most:g}: {verdict}, on {met} of {len(ratios)} layers; "
        f"median {middle:.2f}, worst {ratios[-1]:.2f}"
    )


def _ratio(layer: Measured, method: str) -> float:
    return layer.median(method) / layer.median("torch")


def _three_by_three(problem: Convolution) -> bool:
    return problem.kernel == (3, 3) and problem.stride == (1, 1)


def _counts_less(layer: Measured) -> bool:
    return layer.counts["fft"].operations < layer.counts["im2col"].operations
