"""Which convolution for this layer: predicted from counts and rates, and tried where it is close.

A count alone does not tell: an operation of a transform takes several times as long as one of a
matrix product. So each method's operations and bytes are divided by this machine's rates,

    time = product / product rate + transforms / transform rate + bytes / bandwidth,

and methods whose predictions lie within a factor `near` of the best are run a few times on data
of that shape. near=1 never tries anything, as a heuristic does; near=math.inf tries all that can,
as cuDNN's "find" does. What to look at: `regret`, how much longer the choice takes than the best.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

import torch

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
    problem: Convolution,
    *,
    direction: str = "forward",
    dtype: torch.dtype = torch.float32,
    limit: int | None = None,
    near: float = NEAR,
    rates: Rates | None = None,
    methods: Sequence[str] = tuple(METHODS),
) -> ChosenMethod:
    """The method that is the fastest for this problem, of those that need at most `limit` bytes.

    `rates` are those of another processor; then nothing is tried. What was once found out is
    remembered as long as this process lives.
    """
    if not near >= 1:
        raise ValueError(f"near={near!r} must be at least 1: the factor within which to try")
    near, threads = (1.0, 0) if rates else (near, torch.get_num_threads())
    known = rates or machine_rates()
    return _choose(problem, direction, dtype, limit, near, known, tuple(methods), threads)


def tried(
    problem: Convolution, methods: Sequence[str], direction: str, dtype: torch.dtype
) -> dict[str, float]:
    """The seconds of the best of a few passes by each method, in turns, on the same data."""
    x, weight = torch.randn(problem.x_shape).to(dtype), torch.randn(problem.weight_shape).to(dtype)
    gradient = torch.randn(problem.output_shape).to(dtype)
    tensors = {
        "forward": (x, weight), "input_gradient": (gradient, weight),
        "weight_gradient": (x, gradient),
    }[direction]  # fmt: skip
    runs = [
        partial(getattr(find(name).algorithm, direction), *tensors, problem) for name in methods
    ]
    with torch.inference_mode():
        return dict(zip(methods, fastest(runs, TRIALS), strict=True))


@lru_cache(maxsize=4096)
def _choose(
    problem: Convolution,
    direction: str,
    dtype: torch.dtype,
    limit: int | None,
    near: float,
    rates: Rates,
    methods: tuple[str, ...],
    threads: int,
) -> ChosenMethod:
    """As `choose`, with everything that the answer depends on."""
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
        raise ValueError(f"no method is left for {problem}: {reasons}. Raise `limit`, or name "
                         "other `methods`.")  # fmt: skip
    counts = {name: cost(name, problem, direction) for name in able}
    times = {name: seconds(one, rates, dtype.itemsize) for name, one in counts.items()}
    best = min(times.values())
    close = [name for name in able if times[name] <= near * best]
    measured = {}
    if len(close) > 1 and near > 1:
        measured = tried(problem, close, direction, dtype)
    taken = measured or times
    best_one = min(taken, key=taken.__getitem__)
    why = reason_for(best_one, counts, times, measured, rates, dtype.itemsize)
    return ChosenMethod(best_one, why, times, measured, refused)


def reason_for(
    method: str,
    counts: Mapping[str, ConvolutionCost],
    predicted: Mapping[str, float],
    measured: Mapping[str, float],
    rates: Rates,
    itemsize: int = 4,
) -> str:
    """Why a method was taken, in a sentence or two."""
    times, how = (measured, "measured") if measured else (predicted, "predicted")
    others = sorted((name for name in times if name != method), key=times.__getitem__)
    own = counts[method]
    if not others:
        first = f"{method} is the only one that may be used"
        if len(predicted) > 1:
            runner = min((name for name in predicted if name != method), key=predicted.__getitem__)
            first = (
                f"{method} is far ahead: {_ms(predicted[method])} predicted, {runner} "
                f"{_ms(predicted[runner])}"
            )
    else:
        first = f"{method} takes {_ms(times[method])}, {others[0]} {_ms(times[others[0]])} ({how})"
    split = parts(own, rates, itemsize)
    largest, part = max(split.items(), key=lambda pair: pair[1])
    share = part / sum(split.values())
    rest = f"by its counts {share:.0%} of that is {largest}"
    if "im2col" in counts and method != "im2col":
        fewer = counts["im2col"].product.multiplications / own.product.multiplications
        if fewer != 1:
            much = f"{fewer:.2g} times fewer" if fewer > 1 else f"{1 / fewer:.2g} times more"
            rest += f", and its products take {much} multiplications than im2col's"
    return f"{first}; {rest}."


def _ms(time: float) -> str:
    return f"{1e3 * time:.3g} ms"
