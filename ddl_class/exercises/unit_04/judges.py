"""The judges of unit 04: wavefronts, a layer on each rank; a pairwise sum, a step with a dynamic
loss scale, and blocks of cells on ranks."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from ddl_class.exercises.kit import Attempt, Wrong, judge_seconds, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import array, items, not_none, number, several, whole
from ddl_class.exercises.kit.compare import compare, within
from ddl_class.exercises.unit_04 import blocks
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.plain.wavefront import forward

WAVEFRONTS, RANKS, PAIRWISE, SCALING, BLOCKS = texts(
    __package__, "wavefronts", "ranks", "pairwise", "scaling", "blocks"
)
CAUSES = RANKS.each(at_the_ends=ranks.no_such_rank, stuck=ranks.stuck)
FREE = Uniform(latency=0.0, bandwidth=math.inf)  # then only cells take time
GRIDS = ((4, 4), (3, 7), (7, 3), (1, 6), (6, 1), (1, 1))  # layers, steps
HALF = 2.0**-11  # the unit roundoff of float16
NOT_FINITE = {"inf": np.inf, "-inf": -np.inf, "a nan": np.nan}


def lstm_step(gates: Sequence[np.ndarray], c: np.ndarray) -> list[np.ndarray]:
    """What an LSTM makes of the product: h and c."""
    enter, forget, new, leave = gates
    after = expit(forget) * c + expit(enter) * np.tanh(new)
    return [expit(leave) * np.tanh(after), after]


def judge_wavefronts(attempt: Attempt) -> None:
    """Every cell once, after the two that it needs, in layers + steps - 1 turns."""
    drawn = tuple(int(size) for size in attempt.generator.integers(2, 9, 2))
    for layers, steps in [*GRIDS, drawn]:
        call, fewest = f"wavefronts({layers}, {steps})", layers + steps - 1
        turns = items(
            attempt.call(layers, steps), WAVEFRONTS("wanted"),
            lambda cells: [(int(layer), int(step)) for layer, step in cells],
        )  # fmt: skip
        grid = {"call": call, "layers": layers - 1, "steps": steps - 1}
        turn_of: dict[tuple[int, ...], int] = {}
        for turn, cells in enumerate(turns):
            for layer, step in cells:
                cell = layer, step
                outside = layer not in range(layers) or step not in range(steps)
                WAVEFRONTS.refuse_if(
                    grid | {"cell": cell, "turn": turn, "before": turn_of.get(cell)},
                    again=cell in turn_of,
                    turned=outside and step in range(layers) and layer in range(steps),
                    outside=outside,
                )
                turn_of[cell] = turn
        for cell in np.ndindex(layers, steps):
            layer, step = cell
            WAVEFRONTS.refuse_if({"call": call, "cell": cell}, never=cell not in turn_of)
            for needed in ((layer - 1, step), (layer, step - 1)):
                turn, ready = turn_of[cell], turn_of.get(needed, -1)
                values = {"cell": cell, "turn": turn, "needed": needed, "ready": ready}
                WAVEFRONTS.refuse_if({"call": call, **values}, early=ready >= turn)
        single = len(turns) == layers * steps
        why = WAVEFRONTS.first(empty=not all(turns), single=single, soon=True)
        values = {"call": call, "turns": len(turns), "fewest": fewest, "why": why}
        WAVEFRONTS.refuse_if(values, turns=len(turns) != fewest)


def judge_ranks(attempt: Attempt) -> None:
    """Every rank has the outputs of its own layer, and sends a step up before the next one."""
    for count in ranks.first(4, attempt.counts):
        steps, batch, units = (int(attempt.generator.integers(2, most)) for most in (7, 4, 5))
        x = attempt.generator.standard_normal((steps, batch, units))
        seconds = float(attempt.generator.uniform(1e-4, 3e-4))
        w, u = attempt.generator.standard_normal((2, count, units, units))
        given = [(x if rank == 0 else 0 * x, w[rank], u[rank], seconds) for rank in range(count)]
        call, outcome = run_ranks(attempt, RANKS, given, CAUSES, FREE, steps=steps)
        result = [not_none(value, RANKS("wanted")) for value in outcome.results]
        for rank, own in enumerate(outcome.ledger):
            sent, wanted = len(ranks.sent(own)), steps if rank + 1 < count else 0
            values = {"call": call, "rank": rank, "sent": sent, "wanted": wanted}
            RANKS.refuse_if(values, messages=sent != wanted)
        for rank, value in enumerate(result):
            _judge_outputs(f"{call}: rank {rank}", value, rank, x, w, u)
        # In virtual time nothing but cells takes any: then it is a whole number of them.
        cells, turns = outcome.time / seconds, count + steps - 1
        if math.isclose(cells, round(cells), rel_tol=1e-9):
            RANKS.refuse_if(
                {"call": call, "cells": round(cells), "turns": turns},
                no_time=round(cells) == 0,
                layer_after_layer=round(cells) == count * steps != turns,
                slow=round(cells) != turns,
            )


def _judge_outputs(
    setting: str, value: Any, rank: int, x: np.ndarray, w: np.ndarray, u: np.ndarray
) -> None:
    def states(layers: slice, before: np.ndarray = u) -> np.ndarray:
        """The outputs of the last of these layers."""
        return forward(x, w[layers].mT, before[layers].mT, np.zeros((len(w), 1, 1)))[-1]

    result, below = array(value, RANKS("wanted")), slice(rank + 1)
    right = states(below)
    RANKS.refuse_if(
        {"setting": setting, "found": result, "right": right},
        last_step=result.shape == x.shape[1:],
        shape=result.shape != right.shape,
    )
    usual = RANKS.each(
        forgets=states(below, 0 * u),
        passes_on=states(slice(rank, rank + 1)) if rank else np.nan * right,
        one_array=np.broadcast_to(result[-1], result.shape),
    )
    compare(setting, result, right, usual, RANKS("otherwise"), within(1e-5, 1e-8))


def judge_pairwise(attempt: Attempt) -> None:
    """Within the bound of a tree, in float16, for any number of terms."""
    draw = attempt.generator
    always_best = True
    drawn = [int(draw.integers(2049, 6000)), *map(int, draw.integers(100, 500, 9))]
    for terms in (7, 64, 1000, 6000, *drawn, 3, 2, 1):
        for values in (draw.random(terms), np.ones(terms), draw.standard_normal(terms)):
            x = values.astype(np.float16)
            result = number(attempt.call(x), PAIRWISE("wanted"), finite=False)
            exact, sizes = math.fsum(x.tolist()), math.fsum(np.abs(x).tolist())
            levels, middle = max(1, (terms - 1).bit_length()), terms // 2
            halves = [math.fsum(half.tolist()) for half in (x[:middle], x[middle:])]
            in_order = [sum(half, np.float16()) for half in (x[:middle], x[middle:])]
            why = PAIRWISE.first(
                one_by_one=result == float(np.add.accumulate(x)[-1]),
                halves_in_order=result == float(sum(in_order)),
                first_alone=terms > 1 and result == float(x[0]),
                mean=math.isclose(result, exact / terms, rel_tol=1e-2),
                one_half=any(math.isclose(result, half, rel_tol=1e-2) for half in halves),
                odd=terms % 2,
                otherwise=True,
            )
            PAIRWISE.refuse_if(
                {"terms": terms, "exact": exact, "found": result, "why": why},
                wrong=not abs(result - exact) <= 1.01 * levels * HALF * sizes,
            )
            always_best &= abs(result - exact) <= abs(float(np.float16(exact)) - exact)
    # Sums of float16 are hardly ever right to the last bit; always is too good.
    PAIRWISE.refuse_if({}, too_good=always_best)


def judge_scaling(attempt: Attempt) -> None:
    """Unscale in float32, skip and back off on overflow, grow after enough good steps."""
    for interval in (1, 2, 5):
        for good in range(interval):
            _judge_good(attempt, interval, good)
        for bad, value in NOT_FINITE.items():
            weights, gradient, scale, _ = task = _task(attempt.generator)
            gradient[1, 2] = value
            result, new_scale, new_good = _scaled(attempt, *task, interval - 1, interval)
            SCALING.refuse_if(
                {"bad": bad, "scale": scale, "new_scale": new_scale, "good": new_good},
                not_finite=not np.isfinite(result).all(),
                part_of_step=not np.array_equal(result, weights),
                not_halved=new_scale != scale / 2,
                still_counted=new_good,
            )


def _judge_good(attempt: Attempt, interval: int, good: int) -> None:
    weights, gradient, scale, rate = task = _task(attempt.generator)
    result, *counts = _scaled(attempt, *task, good, interval)
    setting = SCALING("setting", nth=good + 1, interval=interval)
    SCALING.refuse_if({"setting": setting}, half_weights=result.dtype == np.float16)
    wide = gradient.astype(np.float32)
    right = weights - rate * wide / np.float32(scale)
    with np.errstate(over="ignore", invalid="ignore"):
        flushed = (wide / np.float32(scale)).astype(np.float16).astype(np.float32)
        usual = SCALING.each(
            unchanged=weights,
            flushed=weights - rate * flushed,
            not_unscaled=weights - rate * wide,
            uphill=weights + rate * wide / scale,
            multiplied=weights - rate * wide * scale,
        )
        otherwise = SCALING("otherwise")
        compare(f"{setting} your step", result, right, usual, otherwise, within(1e-3, 1e-4))
    new_scale, new_good = counts
    grows = good + 1 == interval
    wanted = [2 * scale, 0] if grows else [scale, good + 1]
    why = SCALING.first(
        not_from_0=grows and new_scale == 2 * scale,
        not_grown=grows,
        grown_early=new_scale == 2 * scale,
        backed_off=new_scale < scale,
        not_counted=new_good == good,
        other_counts=True,
    )
    values = {"setting": setting, "scale": scale, "right": wanted, "found": counts, "why": why}
    SCALING.refuse_if(values, counts=counts != wanted)


def _task(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Weights, a gradient of float16 that is tiny once unscaled, its scale, a rate."""
    weights = generator.standard_normal((3, 4)).astype(np.float32)
    gradient = generator.standard_normal((3, 4)).astype(np.float16)
    scale = 2.0 ** int(generator.integers(26, 30))
    return weights, gradient, scale, float(2.0**26 * generator.uniform(1, 2))


def _scaled(
    attempt: Attempt, weights: np.ndarray, gradient: np.ndarray, scale: float, rate: float,
    good: int, interval: int,
) -> tuple[np.ndarray, float, float]:  # fmt: skip
    """A learner's weights, scale and count, or `Wrong`."""
    answer = attempt.call(weights, gradient, scale, good, interval, rate)
    result, *counts = several(answer, 3, SCALING("wanted"))
    array(result, SCALING("numbers"), weights.shape)
    result = np.asarray(result)
    SCALING.refuse_if({"kind": result.dtype}, no_floats=result.dtype.kind != "f")
    new_scale, new_good = (number(each, SCALING("wanted"), finite=False) for each in counts)
    return result, new_scale, new_good


GOAL = 13.5e-3


def judge_blocks(attempt: Attempt) -> None:
    """Each cell once, in an order that can be carried out, within the goal."""
    layers, steps, wanted = blocks.LAYERS, blocks.STEPS, BLOCKS("wanted", ranks=blocks.RANKS)
    answer = several(attempt.call(layers, steps, blocks.RANKS), blocks.RANKS, wanted)
    plan = [items(row, wanted, _block) for row in answer]
    often = np.zeros((layers, steps), int)
    for block in (block for row in plan for block in row):
        layer, first, last = block
        outside = layer not in range(layers) or not 0 <= first < last <= steps
        values = {"block": block, "layers": layers - 1, "steps": steps}
        BLOCKS.refuse_if(values, outside=outside)
        often[layer, first:last] += 1
    for cell in np.argwhere(often != 1).tolist()[:1]:
        BLOCKS.refuse_if(
            {"layer": cell[0], "step": cell[1]}, never=not often[tuple(cell)], again=True
        )
    try:
        took = blocks.carried_out(plan).time
    except DiagnosedError as error:
        raise Wrong(BLOCKS("stuck")) from error
    cells = [sum(last - first for _, first, last in row) for row in plan]
    values = {"took": took * 1e3, "goal": GOAL * 1e3, "cells": max(cells), "all": layers * steps}
    values["rank"] = cells.index(max(cells))
    judge_seconds(attempt, BLOCKS, took, GOAL, values)


def _block(block: Any) -> tuple[int, int, int]:
    """A layer, and the steps from the first up to the last; or `ValueError`."""
    layer, first, last = block
    return whole(layer), whole(first), whole(last)
