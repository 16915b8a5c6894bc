"""The judges of unit 04: a step of an LSTM, wavefronts, a layer on each rank; a pairwise sum, and
a step with a dynamic loss scale."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, arrays, items, not_none, number, several
from ddl_class.exercises.kit.compare import compare, first_case, refuse_if, within
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.plain.wavefront import forward

FREE = Uniform(latency=0.0, bandwidth=math.inf)  # then only cells take time
SHAPES = ((3, 2, 4), (1, 5, 1), (6, 3, 3))  # batch, inputs, units
OUTPUTS = "return the outputs as one array, np.array(outputs)"
Cell = tuple[int, int]  # a layer and a step
GRIDS = ((1, 1), (4, 4), (3, 7), (7, 3), (1, 6), (6, 1))


def judge_fused(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The new h and c are those of four separate products."""
    for batch, inputs, units in SHAPES:
        x, h, c = (generator.standard_normal((batch, width)) for width in (inputs, units, units))
        weight = generator.standard_normal((inputs + units, 4 * units))
        bias = generator.standard_normal(4 * units)
        given = x, h, c, weight, bias
        each = arrays(stage.call(*given), ("h", "c"), "return two arrays: return h, c")
        shapes = [part.shape for part in each]
        if shapes != [(batch, units)] * 2:
            raise Wrong(
                f"h and c should have the shape {(batch, units)}, samples by units, and have "
                f"{shapes[0]} and {shapes[1]}. np.split(..., 4, axis=1) cuts columns into four "
                "gates."
            )
        _judge_step(
            f"with {batch} samples, {inputs} inputs and {units} units h and c", each, *given
        )


def _judge_step(
    setting: str, found: list[np.ndarray], x: np.ndarray, h: np.ndarray, c: np.ndarray,
    weight: np.ndarray, bias: np.ndarray,
) -> None:  # fmt: skip
    both = np.concatenate([x, h], 1)
    gates = both @ weight + bias
    blocks = np.split(gates, 4, axis=1)
    enter, forget, new, leave = blocks
    right_h, right_c = _step(blocks, c)
    sigmoids = _sigmoid(forget) * c + _sigmoid(enter) * _sigmoid(new)
    usual = {
        "h and c are swapped: return h first": [right_c, right_h],
        "The bias is missing: both @ weight + bias": _step(np.split(both @ weight, 4, axis=1), c),
        "enter and forget are swapped: the order is enter, forget, new, leave": (
            _step([forget, enter, new, leave], c)
        ),
        "new and leave are swapped: the order is enter, forget, new, leave": (
            _step([enter, forget, leave, new], c)
        ),
        "h is leave * np.tanh(c); the np.tanh is missing": [_sigmoid(leave) * right_c, right_c],
        "h is made of the new c, not of the old one": [_sigmoid(leave) * np.tanh(c), right_c],
        "new goes through np.tanh, not through sigmoid: it may be negative": (
            [_sigmoid(leave) * np.tanh(sigmoids), sigmoids]
        ),
        "The gates are four blocks of columns beside each other, not every fourth column": (
            _step([gates[:, gate::4] for gate in range(4)], c)
        ),
    }
    otherwise = "Go through the four lines above once more, gate by gate"
    compare(setting, found, [right_h, right_c], usual, otherwise, within(1e-6, 1e-8))


def _step(gates: Sequence[np.ndarray], c: np.ndarray) -> list[np.ndarray]:
    """What an LSTM makes of the product: h and c."""
    enter, forget, new, leave = gates
    after = _sigmoid(forget) * c + _sigmoid(enter) * np.tanh(new)
    return [_sigmoid(leave) * np.tanh(after), after]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def judge_wavefronts(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Every cell once, after the two that it needs, in layers + steps - 1 turns."""
    sizes = [*GRIDS, tuple(int(size) for size in generator.integers(2, 9, 2))]
    for layers, steps in sizes:
        wanted = "return a list of turns, each a list of cells (layer, step): for two layers and "
        wanted += "one step [[(0, 0)], [(1, 0)]]"
        turns = items(
            stage.call(layers, steps), wanted,
            lambda cells: [(int(layer), int(step)) for layer, step in cells],
        )  # fmt: skip
        turn_of: dict[Cell, int] = {}
        for turn, cells in enumerate(turns):
            for layer, step in cells:
                cell, inside = (layer, step), layer in range(layers) and step in range(steps)
                swapped = step in range(layers) and layer in range(steps)
                outside = f"turn {turn} has the cell {cell}; layers are 0 to {layers - 1} and "
                cases = {
                    f"the cell {cell} comes in turn {turn_of.get(cell)} and again in {turn}": (
                        cell in turn_of
                    ),
                    f"{outside}steps 0 to {steps - 1}. A cell is (layer, step), not (step, "
                    "layer)": not inside and swapped,
                    f"{outside}steps 0 to {steps - 1}. In turn w not every layer has a cell: its "
                    "step w - layer may be below 0 or beyond the last one": not inside,
                }
                refuse_if(f"wavefronts({layers}, {steps}): ", cases)
                turn_of[cell] = turn
        _judge_order(f"wavefronts({layers}, {steps}): ", turn_of, layers, steps)
        cases = {
            "Some of them are empty": not all(turns),
            "Each has a single cell: all cells whose two needs are met go together": (
                len(turns) == layers * steps
            ),
        }
        if len(turns) != layers + steps - 1:
            otherwise = "Compute a cell as soon as what it needs is there: in turn layer + step"
            raise Wrong(
                f"wavefronts({layers}, {steps}): {len(turns)} turns are more than the "
                f"{layers + steps - 1} that suffice. {first_case(cases, otherwise)}"
            )


def _judge_order(told: str, turn_of: dict[Cell, int], layers: int, steps: int) -> None:
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


def judge_ranks(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Every rank has the outputs of its own layer, and sends a step up before the next one."""
    for count in ranks.first(4, counts):
        steps, batch, units = (int(generator.integers(2, most)) for most in (7, 4, 5))
        x = generator.standard_normal((steps, batch, units))
        seconds = float(generator.uniform(1e-4, 3e-4))
        w, u = generator.standard_normal((2, count, units, units))
        given = [(x if rank == 0 else 0 * x, w[rank], u[rank], seconds) for rank in range(count)]
        call = f"on {count} ranks, with {steps} steps"
        outcome = ranks.run(stage, count, given, call, CAUSES, FREE)
        found = [not_none(value, OUTPUTS) for value in outcome.results]
        for rank, own in enumerate(outcome.ledger):
            sent, wanted = len(ranks.sent(own)), steps if rank + 1 < count else 0
            if sent != wanted:
                raise Wrong(
                    f"{call}: rank {rank} sent {sent} messages, not {wanted}: one for each step, "
                    "to the rank above."
                )
        for rank, value in enumerate(found):
            _judge_outputs(f"{call}: rank {rank}", value, rank, x, w, u)
        _judge_time(f"{call}: ", outcome.time / seconds, count, steps)


CAUSES: ranks.Causes = {
    "The lowest rank has nobody below it, and the highest nobody above.": ranks.no_such_rank,
    "Rank 0 receives nothing: its x is there. All others receive a step, then send it.": (
        ranks.stuck
    ),
}


def _judge_outputs(
    told: str, value: Any, rank: int, x: np.ndarray, w: np.ndarray, u: np.ndarray
) -> None:
    def states(layers: slice, before: np.ndarray = u) -> np.ndarray:
        """The outputs of the last of these layers."""
        return forward(x, w[layers].mT, before[layers].mT, np.zeros((len(w), 1, 1)))[-1]

    found, below = array(value, OUTPUTS), slice(rank + 1)
    right = states(below)
    if found.shape != right.shape:
        last = " That is the last step alone." if found.shape == x.shape[1:] else ""
        raise Wrong(
            f"{told} returns an array of shape {found.shape}, not {right.shape}: the outputs of "
            f"all steps.{last}"
        )
    usual = {
        "h must go from step to step: h = np.tanh(now @ w + h @ u)": states(below, 0 * u),
        "Send your h up, not what you received": (
            states(slice(rank, rank + 1)) if rank else np.nan * right
        ),
        "All steps hold the same: append h itself, not an array that changes later": (
            np.broadcast_to(found[-1], found.shape)
        ),
    }
    otherwise = "Look at what is received, computed and sent in each step"
    compare(told, found, right, usual, otherwise, within(1e-5, 1e-8))


def _judge_time(told: str, cells: float, count: int, steps: int) -> None:
    """In virtual time nothing but cells takes any: then it is a whole number of them."""
    if not math.isclose(cells, round(cells), rel_tol=1e-9):
        return  # real ranks
    cells, turns = round(cells), count + steps - 1
    cases = {
        "no cell took any time. Call comm.work(seconds) in each step: a cell takes as long": (
            cells == 0
        ),
        f"the numbers are right, and it took {cells} cells one after the other instead of "
        f"{turns}. Nobody could begin before the rank below was done with all steps: send each h "
        "at once, before the next step is received": cells == count * steps != turns,
        f"the numbers are right, and it took as long as {cells} cells one after the other instead "
        f"of {turns}. In each step: receive, compute, send": cells != turns,
    }
    refuse_if(told, cases)


HALF = 2.0**-11  # the unit roundoff of float16
WANTED = "return the sum"


def judge_pairwise(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Within the bound of a tree, in float16, for any number of terms."""
    for terms in (7, 64, 1000, 4096, int(generator.integers(2049, 6000)), 3, 2, 1):
        for values in (generator.random(terms), np.ones(terms), generator.standard_normal(terms)):
            x = values.astype(np.float16)
            found = number(stage.call(x), WANTED, finite=False)
            exact, sizes = math.fsum(x.tolist()), math.fsum(np.abs(x).tolist())
            levels, middle = max(1, (terms - 1).bit_length()), terms // 2
            halves = [math.fsum(x[:middle].tolist()), math.fsum(x[middle:].tolist())]
            cases = {
                "That is what one after the other gives. Add two halves of it, each by halves": (
                    found == float(np.add.accumulate(x)[-1])
                ),
                "That is the first number alone": terms > 1 and found == float(x[0]),
                "That is the mean": math.isclose(found, exact / terms, rel_tol=1e-2),
                "That is one half of the numbers. Add the sums of both halves": any(
                    math.isclose(found, half, rel_tol=1e-2) for half in halves
                ),
                "Their number is odd: a number without a partner goes on to the next level as it "
                "is": terms % 2,
                "Add the sum of the first half and the sum of the second, each found in the same "
                "way": True,
            }
            if not abs(found - exact) <= 1.01 * levels * HALF * sizes:
                raise Wrong(
                    f"the sum of {terms} numbers of float16 is {exact:.6g}; yours says "
                    f"{found:.6g}. {first_case(cases)}"
                )
    _judge_type(stage, generator)


def _judge_type(stage: ProgramRunner, generator: np.random.Generator) -> None:
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


def judge_scaling(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Unscale in float32, skip and back off on overflow, grow after enough good steps."""
    for interval in (1, 2, 5):
        for good in range(interval):
            _judge_good(stage, generator, interval, good)
        for bad in (np.inf, -np.inf, np.nan):
            _judge_overflow(stage, generator, interval, bad)


def _judge_good(
    stage: ProgramRunner, generator: np.random.Generator, interval: int, good: int
) -> None:
    weights, gradient, scale, rate = task = _task(generator)
    found, new_scale, new_good = _scaled(stage, *task, good, interval)
    told = f"after a good step, the {good + 1}. in a row, with interval={interval}: "
    if found.dtype == np.float16:
        raise Wrong(
            f"{told}the weights have become float16. They must stay float32, or small updates are "
            "rounded away."
        )
    wide = gradient.astype(np.float32)
    right = weights - rate * wide / np.float32(scale)
    with np.errstate(over="ignore", invalid="ignore"):
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
        compare(f"{told}your step", found, right, usual, otherwise, within(1e-3, 1e-4))
    grows = good + 1 == interval
    wanted = (2 * scale, 0) if grows else (scale, good + 1)
    cases = {
        "After growing, the count begins at 0 again": grows and new_scale == 2 * scale,
        "This was the last of `interval` good steps: good + 1 == interval": grows,
        "It may grow only when `interval` steps in a row were good": new_scale == 2 * scale,
        "It backs off only where something was not finite": new_scale < scale,
        "Count the good steps: return good + 1": new_good == good,
    }
    if (new_scale, new_good) != wanted:
        raise Wrong(
            f"{told}a scale of {scale:g} should be followed by {wanted[0]:g} with {wanted[1]} "
            f"good steps, and yours says {new_scale:g} with {new_good:g}. "
            + first_case(cases, "Count good steps")
        )


def _judge_overflow(
    stage: ProgramRunner, generator: np.random.Generator, interval: int, bad: float
) -> None:
    weights, gradient, scale, rate = _task(generator)
    gradient[1, 2] = bad
    found, new_scale, new_good = _scaled(
        stage, weights, gradient, scale, rate, interval - 1, interval
    )
    cases = {
        "the weights hold one too, and will for ever. Skip the step": not np.isfinite(found).all(),
        "no weight may change, also not those whose gradient is finite: a part of a step goes in "
        "a wrong direction": not np.array_equal(found, weights),
        f"halve the scale; of {scale:g} you make {new_scale:g}": new_scale != scale / 2,
        f"good steps in a row are counted from 0 again, not from {new_good:g}": new_good,
    }
    refuse_if(f"when the gradient holds {'a nan' if math.isnan(bad) else bad}: ", cases)


def _task(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Weights, a gradient of float16 that is tiny once unscaled, its scale, a rate."""
    weights = generator.standard_normal((3, 4)).astype(np.float32)
    gradient = generator.standard_normal((3, 4)).astype(np.float16)
    scale = 2.0 ** int(generator.integers(26, 30))
    return weights, gradient, scale, float(2.0**26 * generator.uniform(1, 2))


def _scaled(
    stage: ProgramRunner, weights: np.ndarray, gradient: np.ndarray, scale: float, rate: float,
    good: int, interval: int,
) -> tuple[np.ndarray, float, float]:  # fmt: skip
    """A learner's weights, scale and count, or `Wrong`."""
    wanted = "return three things: weights, scale, good"
    answer = stage.call(weights, gradient, scale, good, interval, rate)
    found, *numbers = several(answer, 3, wanted)
    array(found, f"{wanted}: the weights are numbers", weights.shape)
    if np.asarray(found).dtype.kind != "f":
        raise Wrong(f"{wanted}: the weights are of type {np.asarray(found).dtype}.")
    new_scale, new_good = (number(each, wanted, finite=False) for each in numbers)
    return np.asarray(found), new_scale, new_good
