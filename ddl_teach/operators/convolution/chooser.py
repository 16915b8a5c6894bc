"""Which convolution for this layer: predicted from counts and rates, and tried where it is close.

An operation of a transform takes several times as long as one of a matrix product. So each
method's operations and bytes are divided by this machine's rates,

    time = product / product rate + transforms / transform rate + bytes / bandwidth,

and methods whose predictions lie within a factor `near` of the best are run a few times on data
of that shape. near=1 never tries anything, as a heuristic does; near=math.inf tries all that can,
as cuDNN's "find" does. What to look at: `regret`, how much longer the choice takes than the best.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

import torch

from ddl_runtime.pictures.words import time_text
from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.rates import fastest, machine_rates
from ddl_teach.theory.convolution_cost import ConvolutionCost, cost
from ddl_teach.theory.convolution_time import Rates, parts, seconds

NEAR = 2.5  # predictions within this factor of the best are not trusted to be in order
TRIALS = 5  # of each, after one that does not count


@dataclass(frozen=True)
class ChosenMethod:
    """The method for a layer, the reason as a sentence, and what it was found by."""

    method: str
    why: str
    predicted: Mapping[str, float]  # seconds, of every method that may be used
    measured: Mapping[str, float] = field(default_factory=dict)  # seconds, of those tried
    refused: Mapping[str, str] = field(default_factory=dict)  # why a method may not be used


def choose(
    problem: Convolution, *, direction: str = "forward", dtype: torch.dtype = torch.float32,
    limit: int | None = None, near: float = NEAR, rates: Rates | None = None,
    methods: Sequence[str] = tuple(METHODS),
) -> ChosenMethod:  # fmt: skip
    """The fastest method for this problem, of those that need at most `limit` bytes, remembered
    as long as this process lives. With `rates`, of another processor, nothing is tried."""
    if not near >= 1:
        raise ValueError(f"near={near!r} must be at least 1: the factor within which to try")
    near, threads = (1.0, 0) if rates else (near, torch.get_num_threads())
    known = rates or machine_rates()
    return _choose(problem, direction, dtype, limit, near, known, tuple(methods), threads)


def tried(
    problem: Convolution, methods: Sequence[str], direction: str, dtype: torch.dtype
) -> dict[str, float]:
    """The seconds of the best of a few passes by each method, in turns, on the same data."""
    shapes = {
        "forward": (problem.x_shape, problem.weight_shape),
        "input_gradient": (problem.output_shape, problem.weight_shape),
        "weight_gradient": (problem.x_shape, problem.output_shape),
    }[direction]
    tensors = [torch.randn(shape).to(dtype) for shape in shapes]
    ways = [getattr(find(name).algorithm, direction) for name in methods]
    runs = [partial(way, *tensors, problem) for way in ways]
    with torch.inference_mode():
        return dict(zip(methods, fastest(runs, TRIALS), strict=True))


@lru_cache(maxsize=4096)
def _choose(
    problem: Convolution, direction: str, dtype: torch.dtype, limit: int | None, near: float,
    rates: Rates, methods: tuple[str, ...], threads: int,
) -> ChosenMethod:  # fmt: skip
    """The choice of `choose`, which depends on these arguments only, so that it can be cached."""
    refused = {}
    for name in methods:
        method = find(name)
        needed = method.workspace(problem, dtype)
        if reason := method.refusal(problem, dtype):
            refused[name] = reason
        elif limit is not None and needed > limit:
            refused[name] = f"its workspace of {needed:,} bytes is beyond the limit of {limit:,}"
    able = [name for name in methods if name not in refused]
    if not able:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        advice = "Raise `limit`, or name other `methods`"
        raise ValueError(f"no method is left for {problem}: {reasons}. {advice}.")
    counts = {name: cost(name, problem, direction) for name in able}
    times = {name: seconds(count, rates, dtype.itemsize) for name, count in counts.items()}
    close = [name for name in able if times[name] <= near * min(times.values())]
    measured = {}
    if len(close) > 1 and near > 1:
        measured = tried(problem, close, direction, dtype)
    taken, how = (measured, "measured") if measured else (times, "predicted")
    chosen = min(taken, key=taken.__getitem__)
    split = parts(counts[chosen], rates, dtype.itemsize)
    return ChosenMethod(chosen, _why(chosen, taken, how, counts, split), times, measured, refused)


def _why(
    method: str, times: Mapping[str, float], how: str, counts: Mapping[str, ConvolutionCost],
    split: Mapping[str, float],
) -> str:  # fmt: skip
    """How long a method takes beside the next best one, what it spends most time on by its counts,
    and its multiplications beside im2col's.
    """
    text = f"{method} is the only one that may be used"
    if others := sorted(times.keys() - {method}, key=times.__getitem__):
        next_best = f"{others[0]} {time_text(times[others[0]])}"
        text = f"{method} takes {time_text(times[method])}, {next_best} ({how})"
    largest = max(split, key=split.__getitem__)
    text += f"; by its counts {split[largest] / sum(split.values()):.0%} of that is {largest}"
    own = counts[method].product.multiplications
    fewer = counts.get("im2col", counts[method]).product.multiplications / own
    if fewer != 1:
        much = f"{fewer:.2g} times fewer" if fewer > 1 else f"{1 / fewer:.2g} times more"
        text += f", and its products take {much} multiplications than im2col's"
    return f"{text}."
