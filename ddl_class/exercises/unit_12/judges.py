"""The judges of unit 12: grids, bytes along each axis, a grid for a given machine,
experts, a product in three dimensions; and pruning."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, compare, ranks, ranks_text, texts, why
from ddl_class.exercises.kit.answers import STRANGE, array, items, numbers, several, whole
from ddl_class.exercises.kit.asked import judge_seconds, run_ranks
from ddl_measure.experiments.grids import simulated_seconds
from ddl_teach.theory.grids import memory
from ddl_teach.theory.grids.grid import Grid, every
from ddl_teach.theory.grids.layers import transformer
from ddl_teach.theory.grids.search import refused
from ddl_teach.theory.grids.seconds import seconds
from ddl_teach.theory.machine import Cluster
from ddl_teach.theory.product_3d import ProductGrid

GRIDS, BYTES, PLAN, EXPERTS, PRODUCT = texts(
    __package__, "grids", "bytes", "plan", "experts", "product"
)
AXES = ("data", "pipeline", "tensor", "context")
Numbers = tuple[float, ...]


def judge_grids(attempt: Attempt) -> None:
    """All ordered quadruples with this product, each once."""
    for count in (8, 1, 6, 7, 64, int(attempt.generator.integers(10, 60)), 1024):
        right = {(grid.data, grid.pipeline, grid.tensor, grid.context) for grid in every(count)}
        result = items(
            attempt.call(count), GRIDS("wanted"), lambda grid: _four(grid, "numbers of ranks")
        )
        grids = sorted(tuple(map(int, grid)) for grid in result)
        wrong, missing = min(set(grids) - right, default=()), min(right - set(grids), default=())
        twice = next((grid for grid, other in pairwise(grids) if grid == other), ())
        ordered = all(list(grid) in (sorted(grid), sorted(grid)[::-1]) for grid in grids)
        values = {"wrong": wrong, "product": math.prod(wrong), "twice": twice, "missing": missing}
        GRIDS.refuse_if(
            values | {"count": count, "right": len(right), "found": len(grids)},
            product=wrong,
            twice=twice,
            order=missing and ordered,
            missing=missing,
        )


# No two of its numbers are alike: it comes first, for then a wrong factor says where it is from.
MIXED = (5, 4, 8, 16)


def judge_bytes(attempt: Attempt) -> None:
    """Four numbers of bytes, for pure grids first and then for mixed ones."""
    pure = [(4, 1, 1, 1), (1, 4, 1, 1), (1, 1, 4, 1), (1, 1, 1, 4), (1, 1, 1, 1), (1, 2, 1, 1)]
    mixed = [tuple(int(2**n) for n in attempt.generator.integers(0, 4, 4)) for _ in range(12)]
    for grid in (*pure, MIXED, *mixed):
        job = _job(attempt.generator, grid)
        each_found = _four(attempt.call(grid, *job.values()), "numbers of bytes")
        for axis, right, result in zip(AXES, bytes_of_step(grid, **job), each_found, strict=True):
            if not math.isclose(right, result, rel_tol=1e-9, abs_tol=1e-6):
                described = ", ".join(f"{name} {value}" for name, value in job.items())
                usual = _usual_bytes(axis, result, right, grid, job["micro_batches"])
                # Half of what is right along every axis: it counts numbers, of two bytes each. On
                # one axis alone that looks like another mistake.
                mixed_job = _job(attempt.generator, MIXED)
                halves = _four(attempt.call(MIXED, *mixed_job.values()), "numbers of bytes")
                if np.allclose(2 * np.array(halves), bytes_of_step(MIXED, **mixed_job), rtol=1e-9):
                    usual = BYTES("numbers")
                values = {"grid": grid, "job": described, "axis": axis, "why": usual}
                raise Wrong(BYTES("wrong", right=right, found=result, **values))


def _job(generator: np.random.Generator, grid: tuple[int, ...]) -> dict[str, int]:
    micro_batches = int(generator.choice([3, 7]))
    return {
        "blocks": grid[1] * int(generator.integers(1, 5)),
        "width": 64 * int(generator.integers(1, 9)),
        "length": 64 * int(generator.integers(1, 9)),
        "batch": grid[0] * micro_batches * int(generator.integers(1, 4)),
        "micro_batches": micro_batches,
    }


def bytes_of_step(
    grid: Numbers, blocks: int, width: int, length: int, batch: int, micro_batches: int
) -> Numbers:
    """What the exercise asks for: blocks alone, 12 width^2 weights each, numbers of two bytes."""
    data, pipeline, tensor, context = grid
    here = batch / data / micro_batches * length / context
    own_blocks, replicas = blocks / pipeline, data * context
    averaged = 2 * (replicas - 1) / replicas * own_blocks * 12 * width**2 / tensor
    passed = micro_batches * min(2, pipeline - 1) * here * width
    summed = micro_batches * own_blocks * 4 * 2 * (tensor - 1) / tensor * here * width
    # Of keys and values together; the last term are their gradients, which come home.
    round_trips = (2 * (context - 1) + context) if context > 1 else 0
    going_round = micro_batches * own_blocks * round_trips * 2 * here * width / tensor
    return tuple(2 * numbers for numbers in (averaged, passed, summed, going_round))


def _usual_bytes(axis: str, result: float, right: float, grid: Numbers, m: int) -> str:
    if result and right == 0:
        return BYTES("alone")
    data, pipeline, tensor, context = grid
    replicas = data * context
    ring = (replicas - 1) / replicas if replicas > 1 else 1
    hop = 1 / (3 * context - 2)  # one of those along context
    factors = {  # how many times as much as is right
        "data": {
            "once_a_step": m, "own_stage": pipeline, "share": tensor,
            "stage_and_share": pipeline * tensor, "context_averages": (data - 1) / data / ring,
            "all_twice": 1 / ring, "round_twice": 1 / 2,
        },
        "pipeline": {
            "one_micro_batch": 1 / m, "one_way": 1 / 2, "two_stages": 2, "positions": context,
            "part_of_batch": data, "whole_activation": 1 / tensor,
        },
        "tensor": {
            "four_sums": 1 / 2, "one_sum": 1 / 4, "own_stage": pipeline,
            "one_micro_batch": 1 / m, "positions": context, "whole_sums": 1 / tensor,
        },
        "context": {
            "heads": tensor, "both": 1 / 2, "forward": (context - 1) * hop,
            "no_gradients": 2 * (context - 1) * hop, "come_home": 3 * (context - 1) * hop,
            "own_stage": pipeline, "one_micro_batch": 1 / m,
        },
    }[axis]  # fmt: skip
    wrong = {mistake: right * factor for mistake, factor in factors.items() if factor != 1}
    return why(result, BYTES.each(**wrong), BYTES("otherwise"))


def seconds_of_step(
    grid: Numbers, micro_batches: int, busy: float, sent: Numbers, per_byte: Numbers
) -> float:
    """The bubble stretches all that a stage does for its micro-batches."""
    data, hops, tensor, context = (n * each for n, each in zip(sent, per_byte, strict=True))
    return (busy + tensor + context) * (1 + (grid[1] - 1) / micro_batches) + hops + data


def _four(value: Any, what: str) -> Numbers:
    return tuple(numbers(value, AXES, GRIDS("four", what=what)))


# -- a grid for a given machine --------------------------------------------------------------

MACHINE, BATCH = Cluster(nodes=4), 32
NETWORK = transformer(blocks=8, width=2048, heads=16, length=2048, vocabulary=8192)
ROOM, GOAL = 1.25 * 2**30, 0.122  # bytes, and seconds a step


def judge_plan(attempt: Attempt) -> None:
    """A grid that can be, on which every rank has room, and whose step is short on simulated
    ranks."""
    wanted = PLAN("wanted")
    grid_given, parts = several(attempt.call(MACHINE.ranks, BATCH), 2, wanted)
    sizes = [_count(size, wanted) for size in _four(grid_given, "numbers of ranks")]
    grid, micro_batches = Grid(*sizes), _count(parts, wanted)
    values: dict[str, Any] = {"grid": tuple(sizes), "parts": micro_batches, "ranks": grid.ranks}
    reason = refused(NETWORK, grid, BATCH) if grid.ranks == MACHINE.ranks else ""
    PLAN.refuse_if(
        values | {"reason": reason, "batch": BATCH, "shares": grid.data * micro_batches},
        other_ranks=grid.ranks != MACHINE.ranks,
        refused=reason,
        no_share=BATCH % (grid.data * micro_batches),
    )
    split: dict[str, Any] = {"batch": BATCH, "micro_batches": micro_batches}
    held = [memory.held(NETWORK, grid, rank, **split) for rank in range(grid.ranks)]
    most = max(held, key=lambda each: each.total)
    gigabytes = {what: nbytes / 2**30 for what, nbytes in vars(most).items()}
    values |= gigabytes | {"held": most.total / 2**30, "room": ROOM / 2**30}
    PLAN.refuse_if(values, too_much=most.total > ROOM)
    formula = seconds(NETWORK, grid, MACHINE, **split)
    took = formula.total
    if took < 1.25 * GOAL:  # what is far from it takes long to simulate
        took = simulated_seconds(NETWORK, grid, MACHINE, **split)
    price = PRICES[formula.largest_price]
    values |= {"price": price, "price_takes": 1e3 * getattr(formula, formula.largest_price)}
    judge_seconds(attempt, PLAN, took, GOAL, values)


PRICES = {
    "bubble": "the bubble", "pipeline": "messages between stages", "tensor": "sums along tensor",
    "context": "keys and values that go round", "data": "the averaging of gradients",
}  # fmt: skip


def _count(value: Any, wanted: str) -> int:
    try:
        result = whole(value)
    except STRANGE:
        result = 0
    if result < 1:
        raise Wrong(f"{wanted}, all of them whole numbers from 1 on.")
    return result


def judge_experts(attempt: Attempt) -> None:
    """Averaging over the ranks with the same experts, and four all-to-alls of tokens."""
    draw = attempt.generator
    for axis in (8, 1, 4, 16):
        ranks_given = 16 if axis == 16 else axis * int(draw.choice([3, 5]))
        experts, weights = axis * int(draw.integers(2, 5)), int(draw.integers(100, 900))
        tokens, width = int(draw.integers(50, 99)), int(draw.integers(10, 40))
        chosen = 3
        given = (ranks_given, axis, experts, weights, tokens, chosen, width)
        call = EXPERTS("call", ranks=ranks_given, axis=axis, experts=experts)
        wanted = EXPERTS("wanted", call=call)
        averaged, travelled = numbers(attempt.call(*given), ("averaging", "tokens"), wanted)
        copies, own = ranks_given / axis, experts / axis * weights
        ring = 2 * (copies - 1) / copies
        right = 2 * ring * own
        usual = EXPERTS.each(
            all_ranks=2 * 2 * (ranks_given - 1) / ranks_given * own,
            all_experts=2 * ring * experts * weights,
            one_expert=2 * ring * weights,
            half=right / 2,
        )
        compare(EXPERTS("averaging", call=call), averaged, right, usual, EXPERTS("average"))
        share = (axis - 1) / axis
        right = 2 * 4 * share * chosen * tokens * width
        usual = EXPERTS.each(
            forward_only=right / 2,
            one_way=right / 4,
            all_travel=2 * 4 * chosen * tokens * width,
            one_copy=right / chosen,
        )
        compare(EXPERTS("tokens", call=call), travelled, right, usual, EXPERTS("exchange"))


def judge_product(attempt: Attempt) -> None:
    """Blocks gathered along z, and terms summed along y, on each grid of as many ranks."""
    for count in ranks.first(4, attempt.counts):
        grids = [
            (candidate.data, candidate.pipeline, candidate.tensor)
            for candidate in every(count)
            if candidate.context == 1
        ]
        for grid in sorted(grids, key=min, reverse=True):
            _try_product(attempt, count, grid)


def _try_product(attempt: Attempt, count: int, grid: tuple[int, int, int]) -> None:
    xs, ys, zs = grid
    samples, columns, share = attempt.generator.integers(9, 14, 3).tolist()
    inputs = attempt.generator.integers(1, 9, (zs, ys, samples, columns)).astype(float)
    weights = attempt.generator.integers(1, 9, (xs, zs, share, ys, columns)).astype(float)
    outputs = np.einsum("zysc,xwryc->zxyswr", inputs, weights).reshape(
        zs, xs, ys, samples, zs * share
    )
    places = [(place.x, place.y, place.z) for place in map(ProductGrid(*grid).place, range(count))]
    given = [(inputs[z, y], weights[x, z, :, y], grid) for x, y, z in places]
    call, outcome = run_ranks(attempt, PRODUCT, given, grid=grid)
    for rank, (x, y, z) in enumerate(places):
        result = array(outcome.results[rank], PRODUCT("wanted", call=call))
        terms, right = outputs[z, x], outputs[z, x].sum(axis=0)
        known = {"call": call, "rank": rank}
        rows = {"found": result.shape[-1] if result.ndim else 1, "right": right.shape[1]}
        PRODUCT.refuse_if(known | rows, not_gathered=zs > 1 and result.shape == (samples, share))
        shapes = {"found": result.shape, "right": right.shape}
        PRODUCT.refuse_if(known | shapes, shape=result.shape != right.shape)
        PRODUCT.refuse_if(
            known,
            own_term=ys > 1 and np.array_equal(result, terms[y]),
            all_terms=result.sum() > right.sum() and not np.array_equal(result, right),
            other_rows=np.array_equal(np.sort(result), np.sort(right)) and (result != right).any(),
            wrong=not np.array_equal(result, right),
        )
        sent = outcome.ledger[rank].bytes_sent
        enough = 8 * (zs - 1) * share * columns + 2 * (ys - 1) * -(-right.size // ys) * 8
        PRODUCT.refuse_if(known | {"sent": sent, "enough": enough}, too_many=sent > enough)


EXPAND, STEP = texts(__package__, "expand", "pruned_step")
SHAPES = ((4, 5), (7,), (2, 3, 4), (1, 1), (30, 40))
MOMENTUM = 0.9


def judge_expand(attempt: Attempt) -> None:
    """Zeros, and the values at their places."""
    for shape in SHAPES:
        dense, places = _pruned(attempt.generator, shape)
        values = dense.reshape(-1)[places].astype(np.float32)
        right = np.zeros(dense.size, np.float32)
        right[places] = values
        answer = attempt.call(values, places, shape)
        result = array(answer, EXPAND("wanted"))
        setting = {"values": values, "count": len(values), "shape": shape, "found": result}
        EXPAND.refuse_if(setting, shape=result.shape != shape)
        flat, kind = result.reshape(-1), np.asarray(answer).dtype
        place = int(np.argmax(flat != right))
        wanted = f"{right[place]:.4g}" if right[place] else "a zero"
        EXPAND.refuse_if(
            setting | {"place": place, "wanted": wanted, "value": flat[place], "kind": kind},
            value=flat[place] != right[place],
            kind=kind != values.dtype,
        )


def judge_step(attempt: Attempt) -> None:
    """Three steps of momentum on the kept weights, with messages of the kept alone."""
    for count in attempt.counts:
        shape = (6, 20)
        start, places = _pruned(attempt.generator, shape)
        weights = np.zeros(start.size)
        weights[places] = start.reshape(-1)[places]
        velocity = attempt.generator.normal(size=len(places))
        gradients = attempt.generator.normal(size=(count, *shape))
        rate = float(attempt.generator.uniform(0.1, 1))
        outcome = attempt.run(
            count, [(weights.reshape(shape), own, velocity, places, rate) for own in gradients]
        )
        kept = gradients.reshape(count, -1)[:, places]
        mean = kept.mean(axis=0)
        moved = MOMENTUM * velocity + mean
        right = weights.copy()
        right[places] -= rate * moved
        several = count > 1
        for rank, (mine, _, theirs, *_) in enumerate(outcome.arguments):
            flat = np.asarray(mine).reshape(-1)
            STEP.refuse_if(
                {"ranks": ranks_text(count), "rank": rank, "momentum": MOMENTUM},
                no_velocity=np.allclose(theirs, velocity),
                own_gradient=several and np.allclose(theirs, MOMENTUM * velocity + kept[rank]),
                sum=several and np.allclose(theirs, MOMENTUM * velocity + count * mean),
                velocity=not np.allclose(theirs, moved),
                not_zero=np.delete(flat, places).any(),
                unchanged=np.allclose(flat, weights),
                weights=not np.allclose(flat, right),
            )
        most, ring = max(ledger.bytes_sent for ledger in outcome.ledger), 2 * (count - 1) / count
        enough = ring * kept[0].nbytes
        if most > enough + 16 * count:
            what = STEP("dense" if most >= 0.9 * ring * weights.nbytes else "more")
            raise Wrong(STEP("too_many", count=count, most=most, enough=enough, what=what))


def _pruned(
    generator: np.random.Generator, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """An array without zeros, and some of its places, about a tenth of many."""
    dense = generator.uniform(1, 2, shape) * generator.choice([-1, 1], shape)
    count = max(1, dense.size // (10 if dense.size > 50 else 2))
    places = np.sort(generator.choice(dense.size, count, replace=False)).astype(np.int32)
    return dense, places
