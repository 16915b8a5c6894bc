"""The judges of unit 04, first half: a step of an LSTM, wavefronts, and a layer on each rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Outcome, Stage, Wrong
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, arrays, items, not_none, number, several
from ddl_class.exercises.kit.compare import alike, why, within
from ddl_runtime.topologies.point_to_point import Uniform

FREE = Uniform(latency=0.0, bandwidth=math.inf)  # then only cells take time
SHAPES = ((3, 2, 4), (1, 5, 1), (6, 3, 3))  # batch, inputs, units
OUTPUTS = "return the outputs as one array, np.array(outputs)"
GRIDS = ((1, 1), (4, 4), (3, 7), (7, 3), (1, 6), (6, 1))


def judge_fused(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The new h and c are those of four separate products."""
    for batch, inputs, units in SHAPES:
        x, h, c = (generator.standard_normal((batch, width)) for width in (inputs, units, units))
        weight = generator.standard_normal((inputs + units, 4 * units))
        bias = generator.standard_normal(4 * units)
        said = stage.call(x, h, c, weight, bias)
        each = arrays(said, ("h", "c"), "return two arrays: return h, c")
        shapes = [one.shape for one in each]
        if shapes != [(batch, units)] * 2:
            raise Wrong(
                f"h and c should have the shape {(batch, units)}, samples by units, and have "
                f"{shapes[0]} and {shapes[1]}. np.split(..., 4, axis=1) cuts columns into four "
                "gates."
            )
        found = np.array(each)
        if not alike(found, _step(np.concatenate([x, h], 1) @ weight + bias, c), 1e-6, 1e-8):
            sizes = f"with {batch} samples, {inputs} inputs and {units} units"
            raise Wrong(f"{sizes} the numbers are wrong. {_usual(found, x, h, c, weight, bias)}")


def _step(gates: np.ndarray, c: np.ndarray) -> np.ndarray:
    """What an LSTM makes of the product: h and c."""
    enter, forget, new, leave = np.split(gates, 4, axis=1)
    after = _sigmoid(forget) * c + _sigmoid(enter) * np.tanh(new)
    return np.array([_sigmoid(leave) * np.tanh(after), after])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _usual(
    found: np.ndarray, x: np.ndarray, h: np.ndarray, c: np.ndarray, weight: np.ndarray,
    bias: np.ndarray,
) -> str:  # fmt: skip
    """The usual mistake that gives these numbers."""
    both, units = np.concatenate([x, h], 1), c.shape[1]
    gates = both @ weight + bias
    enter, forget, new, leave = np.split(gates, 4, axis=1)
    memory = _sigmoid(forget) * c + _sigmoid(enter) * np.tanh(new)
    alone = np.array([_sigmoid(leave) * memory, memory])
    sigmoids = _sigmoid(forget) * c + _sigmoid(enter) * _sigmoid(new)
    usual = {
        "h and c are swapped: return h first": _step(gates, c)[::-1],
        "The bias is missing: both @ weight + bias": _step(both @ weight, c),
        "enter and forget are swapped: the order is enter, forget, new, leave": (
            _step(np.concatenate([forget, enter, new, leave], 1), c)
        ),
        "new and leave are swapped: the order is enter, forget, new, leave": (
            _step(np.concatenate([enter, forget, leave, new], 1), c)
        ),
        "h is leave * np.tanh(c); the np.tanh is missing": alone,
        "h is made of the new c, not of the old one": (
            np.array([_sigmoid(leave) * np.tanh(c), memory])
        ),
        "new goes through np.tanh, not through sigmoid: it may be negative": (
            np.array([_sigmoid(leave) * np.tanh(sigmoids), sigmoids])
        ),
        "The gates are four blocks of columns beside each other, not every fourth column": (
            _step(gates.reshape(-1, units, 4).transpose(0, 2, 1).reshape(gates.shape), c)
        ),
    }
    otherwise = "Go through the four lines above once more, gate by gate"
    return why(found, usual, otherwise, within(1e-6, 1e-8))


def judge_wavefronts(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """Every cell once, after the two that it needs, in layers + steps - 1 turns."""
    sizes = [*GRIDS, tuple(int(size) for size in generator.integers(2, 9, 2))]
    for layers, steps in sizes:
        wanted = "return a list of turns, each a list of cells (layer, step): for two layers and "
        wanted += "one step [[(0, 0)], [(1, 0)]]"
        turns = items(stage.call(layers, steps), wanted, lambda cells: list(map(_cell, cells)))
        told = f"wavefronts({layers}, {steps}): "
        turn_of: dict[tuple[int, int], int] = {}
        for turn, cells in enumerate(turns):
            for cell in cells:
                _judge_cell(told, cell, turn, turn_of, layers, steps)
                turn_of[cell] = number
        _judge_order(told, turn_of, layers, steps)
        if len(turns) != layers + steps - 1:
            raise Wrong(_too_many(told, turns, layers, steps))


def _cell(value: Any) -> tuple[int, int]:
    layer, step = value
    return int(layer), int(step)


def _judge_cell(
    told: str,
    cell: tuple[int, int],
    number: int,
    turn_of: dict[tuple[int, int], int],
    layers: int,
    steps: int,
) -> None:
    layer, step = cell
    if cell in turn_of:
        raise Wrong(f"{told}the cell {cell} comes in turn {turn_of[cell]} and again in {number}.")
    if 0 <= layer < layers and 0 <= step < steps:
        return
    swapped = " A cell is (layer, step), not (step, layer)." if (
        0 <= step < layers and 0 <= layer < steps) else (
        " In turn w not every layer has a cell: its step w - layer may be below 0 or beyond the "
        "last one.")  # fmt: skip
    raise Wrong(
        f"{told}turn {number} has the cell {cell}; layers are 0 to {layers - 1} and steps 0 to "
        f"{steps - 1}.{swapped}"
    )


def _judge_order(told: str, turn_of: dict[tuple[int, int], int], layers: int, steps: int) -> None:
    for layer, step in np.ndindex(layers, steps):
        if (layer, step) not in turn_of:
            raise Wrong(
                f"{told}the cell ({layer}, {step}) is never computed. How many turns are there? "
                "The last cell has layer + step = layers + steps - 2."
            )
        for needed in ((layer - 1, step), (layer, step - 1)):
            if turn_of.get(needed, -1) >= turn_of[layer, step]:
                raise Wrong(
                    f"{told}the cell ({layer}, {step}) comes in turn {turn_of[layer, step]} and "
                    f"needs ({needed[0]}, {needed[1]}), which comes in turn {turn_of[needed]}. A "
                    "cell needs the layer below at the same step, and its own layer one step "
                    "before, and both must have been computed in an earlier turn."
                )


def _too_many(told: str, turns: Sequence[Sequence], layers: int, steps: int) -> str:
    found = f"{told}{len(turns)} turns are more than the {layers + steps - 1} that suffice. "
    if not all(turns):
        return found + "Some of them are empty."
    if len(turns) == layers * steps:
        return found + "Each has a single cell: all cells whose two needs are met go together."
    return found + "Compute a cell as soon as what it needs is there: in turn layer + step."


def judge_ranks(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """Every rank has the outputs of its own layer, and sends a step up before the next one."""
    for count in ranks.first(4, counts):
        steps, batch, units = (int(generator.integers(2, most)) for most in (7, 4, 5))
        x = generator.standard_normal((steps, batch, units))
        seconds = float(generator.uniform(1e-4, 3e-4))
        weights = [generator.standard_normal((2, units, units)) for _ in range(count)]
        arguments = [
            (x if rank == 0 else np.zeros_like(x), *weights[rank], seconds)
            for rank in range(count)
        ]
        told = f"on {count} ranks, with {steps} steps"
        outcome = ranks.run(stage, count, arguments, told, CAUSES, FREE)
        told += ": "
        for value in outcome.results:
            not_none(value, OUTPUTS)
        _judge_messages(told, outcome, steps)
        _judge_outputs(told, outcome, x, weights)
        _judge_time(told, outcome.time / seconds, count, steps)


CAUSES: ranks.Causes = (
    (ranks.no_such_rank, "The lowest rank has nobody below it, and the highest nobody above."),
    (
        ranks.stuck,
        "Rank 0 receives nothing: its x is there. All others receive a step, then send it.",
    ),
)


def _layers(x: np.ndarray, weights: Sequence[np.ndarray], carry: bool = True) -> list[np.ndarray]:
    """The outputs of every layer."""
    outputs = []
    for w, u in weights:
        h, own = np.zeros((x.shape[1], u.shape[0])), []
        for now in x:
            h = np.tanh(now @ w + (h if carry else 0 * h) @ u)
            own.append(h)
        x = np.array(own)
        outputs.append(x)
    return outputs


def _judge_outputs(
    told: str, outcome: Outcome, x: np.ndarray, weights: Sequence[np.ndarray]
) -> None:
    right = _layers(x, weights)
    forgetful = _layers(x, weights, carry=False)
    for rank, value in enumerate(outcome.results):
        found = array(value, OUTPUTS)
        if found.shape != right[rank].shape:
            last = " That is the last step alone." if found.shape == x.shape[1:] else ""
            raise Wrong(
                f"{told}rank {rank} returns an array of shape {found.shape}, not "
                f"{right[rank].shape}: the outputs of all steps.{last}"
            )
        if np.allclose(found, right[rank]):
            continue
        alone = _layers(x, weights[rank : rank + 1])[0] if rank else np.nan * found
        usual = {
            "h must go from step to step: h = np.tanh(now @ w + h @ u)": forgetful[rank],
            "Send your h up, not what you received": alone,
            "All steps hold the same: append h itself, not an array that changes later": (
                np.broadcast_to(found[-1], found.shape)
            ),
        }
        otherwise = "Look at what is received, computed and sent in each step"
        words = why(found, usual, otherwise, within(1e-5, 1e-8))
        raise Wrong(f"{told}the outputs of rank {rank} are wrong. {words}")


def _judge_messages(told: str, outcome: Outcome, steps: int) -> None:
    for rank, own in enumerate(outcome.ledger):
        sent = ranks.sent(own)
        wanted = steps if rank + 1 < len(outcome.ledger) else 0
        if len(sent) != wanted:
            raise Wrong(
                f"{told}rank {rank} sent {len(sent)} messages, not {wanted}: one for each step, "
                "to the rank above."
            )


def _judge_time(told: str, cells: float, count: int, steps: int) -> None:
    """In virtual time nothing but cells takes any: then it is a whole number of them."""
    if not math.isclose(cells, round(cells), rel_tol=1e-9):
        return  # real ranks
    cells, turns = round(cells), count + steps - 1
    if cells == 0:
        raise Wrong(
            f"{told}no cell took any time. Call comm.work(seconds) in each step: a cell takes as "
            "long."
        )
    if cells == count * steps != turns:
        raise Wrong(
            f"{told}the numbers are right, and it took {cells} cells one after the other instead "
            f"of {turns}. Nobody could begin before the rank below was done with all steps: send "
            "each h at once, before the next step is received."
        )
    if cells != turns:
        raise Wrong(
            f"{told}the numbers are right, and it took as long as {cells} cells one after the "
            f"other instead of {turns}. In each step: receive, compute, send."
        )


HALF = 2.0**-11  # the unit roundoff of float16
WANTED = "return the sum"


def judge_pairwise(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Within the bound of a tree, in float16, for any number of terms."""
    for terms in (7, 64, 1000, 4096, int(generator.integers(2049, 6000)), 3, 2, 1):
        samples = [generator.random(terms), np.ones(terms), generator.standard_normal(terms)]
        for values in samples:
            x = values.astype(np.float16)
            found = number(stage.call(x), WANTED, finite=False)
            exact, sizes = math.fsum(x.tolist()), math.fsum(np.abs(x).tolist())
            levels = max(1, (terms - 1).bit_length())
            error = abs(found - exact)
            if error <= 1.01 * levels * HALF * sizes:
                continue
            told = (
                f"the sum of {terms} numbers of float16 is {exact:.6g}; yours says {found:.6g}. "
            )
            raise Wrong(told + _about_sum(found, x, exact))
    _judge_type(stage, generator)


def _judge_type(stage: Stage, generator: np.random.Generator) -> None:
    """Sums of float16 are hardly ever right to the last bit; always is too good."""
    for _ in range(25):
        x = generator.random(300).astype(np.float16)
        exact = math.fsum(x.tolist())
        off = abs(number(stage.call(x), WANTED, finite=False) - exact)
        if off > abs(float(np.float16(exact)) - exact):
            return
    raise Wrong(
        "too good: 25 sums in a row are right to the last bit of float16. You add in a wider "
        "format, or remember what is lost. Both are good ideas, but here only the "
        "order may change: no conversion, and no np.sum."
    )


def _about_sum(found: float, x: np.ndarray, exact: float) -> str:
    total = np.float16(0)
    for term in x:
        total = np.float16(total + term)
    if found == float(total):
        return "That is what one after the other gives. Add two halves of it, each by halves."
    if len(x) > 1 and found == float(x[0]):
        return "That is the first number alone."
    if math.isclose(found, exact / len(x), rel_tol=1e-2):
        return "That is the mean."
    middle = len(x) // 2
    halves = [math.fsum(x[:middle].tolist()), math.fsum(x[middle:].tolist())]
    if any(math.isclose(found, half, rel_tol=1e-2) for half in halves):
        return "That is one half of the numbers. Add the sums of both halves."
    if len(x) % 2:
        return (
            "Their number is odd: a number without a partner goes on to the next level as it is."
        )
    return "Add the sum of the first half and the sum of the second, each found in the same way."


def judge_scaling(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Unscale in float32, skip and back off on overflow, grow after enough good steps."""
    for interval in (1, 2, 5):
        for good in range(interval):
            _judge_good(stage, generator, interval, good)
        for bad in (np.inf, -np.inf, np.nan):
            _judge_overflow(stage, generator, interval, bad)


def _task(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Weights, a gradient of float16 that is tiny once unscaled, its scale, a rate."""
    weights = generator.standard_normal((3, 4)).astype(np.float32)
    gradient = generator.standard_normal((3, 4)).astype(np.float16)
    scale = 2.0 ** int(generator.integers(26, 30))
    return weights, gradient, scale, float(2.0**26 * generator.uniform(1, 2))


def _judge_good(stage: Stage, generator: np.random.Generator, interval: int, good: int) -> None:
    weights, gradient, scale, rate = _task(generator)
    said = stage.call(weights, gradient, scale, good, interval, rate)
    found, new_scale, new_good = _three(said, weights)
    right = weights - rate * gradient.astype(np.float32) / np.float32(scale)
    told = f"after a good step, the {good + 1}. in a row, with interval={interval}: "
    if found.dtype == np.float16:
        raise Wrong(
            f"{told}the weights have become float16. They must stay float32, or small updates are "
            "rounded away."
        )
    if not np.allclose(found, right, rtol=1e-4, atol=1e-5):
        raise Wrong(told + _about_weights(found, weights, gradient, scale, rate))
    grows = good + 1 == interval
    wanted = (2 * scale, 0) if grows else (scale, good + 1)
    if (new_scale, new_good) == wanted:
        return
    raise Wrong(
        f"{told}a scale of {scale:g} should be followed by {wanted[0]:g} with {wanted[1]} good "
        f"steps, and yours says {new_scale:g} with {new_good:g}. "
        + _about_growth(new_scale, new_good, scale, good, grows)
    )


def _about_growth(new_scale: float, new_good: float, scale: float, good: int, grows: bool) -> str:
    if grows and new_scale == 2 * scale:
        return "After growing, the count begins at 0 again."
    if grows:
        return "This was the last of `interval` good steps: good + 1 == interval."
    if new_scale == 2 * scale:
        return "It may grow only when `interval` steps in a row were good."
    if new_scale < scale:
        return "It backs off only where something was not finite."
    return "Count the good steps: return good + 1." if new_good == good else "Count good steps."


def _about_weights(
    found: np.ndarray, weights: np.ndarray, gradient: np.ndarray, scale: float, rate: float
) -> str:
    with np.errstate(over="ignore", invalid="ignore"):
        wide = gradient.astype(np.float32)
        flushed = (wide / np.float32(scale)).astype(np.float16).astype(np.float32)
        usual = {
            "The weights have not changed. A gradient of float16 that is divided in float16 "
            "becomes zero: gradient.astype(np.float32) comes first. Or is the rate missing?": (
                weights
            ),
            "Unscale in float32: gradient.astype(np.float32) / scale": weights - rate * flushed,
            "The gradient is that of the scaled loss: divide it by scale": weights - rate * wide,
            "Go against the gradient: weights - rate * gradient": weights + rate * wide / scale,
            "Divide by the scale instead of multiplying": weights - rate * wide * scale,
        }
        otherwise = "The weights should be weights - rate * gradient / scale, in float32"
        return why(found, usual, otherwise, within(1e-3, 1e-4))


def _judge_overflow(
    stage: Stage, generator: np.random.Generator, interval: int, bad: float
) -> None:
    weights, gradient, scale, rate = _task(generator)
    gradient[1, 2] = bad
    said = stage.call(weights, gradient, scale, interval - 1, interval, rate)
    found, new_scale, new_good = _three(said, weights)
    told = f"when the gradient holds {'a nan' if math.isnan(bad) else bad}: "
    if not np.isfinite(found).all():
        raise Wrong(f"{told}the weights hold one too, and will for ever. Skip the step.")
    if not np.array_equal(found, weights):
        raise Wrong(f"{told}no weight may change, also not those whose gradient is finite: a part "
                    "of a step goes in a wrong direction.")  # fmt: skip
    if new_scale != scale / 2:
        raise Wrong(f"{told}halve the scale; of {scale:g} you make {new_scale:g}.")
    if new_good:
        raise Wrong(f"{told}good steps in a row are counted from 0 again, not from {new_good:g}.")


def _three(value: Any, weights: np.ndarray) -> tuple[np.ndarray, float, float]:
    """A learner's weights, scale and count, or `Wrong`."""
    wanted = "return three things: weights, scale, good"
    found, scale, good = several(value, 3, wanted)
    array(found, f"{wanted}: the weights are numbers", weights.shape)
    found = np.asarray(found)
    if found.dtype.kind != "f":
        raise Wrong(f"{wanted}: the weights are of type {found.dtype}.")
    finite = (number(one, wanted, finite=False) for one in (scale, good))
    return found, next(finite), next(finite)
