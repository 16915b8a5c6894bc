"""The judges of unit 12: all grids, bytes along each axis, the time of a step; a product in three
dimensions; and pruning, which is values without zeros, back again, and a step on many ranks."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Attempt, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array, items, number, numbers
from ddl_class.exercises.kit.compare import compare, shown, why
from ddl_class.exercises.kit.texts import texts
from ddl_teach.theory.grids.grid import every
from ddl_teach.theory.product_3d import ProductGrid

GRIDS, BYTES, SECONDS, PRODUCT, COMPRESS, EXPAND, STEP = texts(
    __package__, "grids", "bytes", "seconds", "product", "compress", "expand", "pruned_step"
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
        each_found = _four(attempt.call(grid, *job.values()), "bytes")
        for axis, right, result in zip(AXES, bytes_of_step(grid, **job), each_found, strict=True):
            if not math.isclose(right, result, rel_tol=1e-9, abs_tol=1e-6):
                described = ", ".join(f"{name} {value}" for name, value in job.items())
                usual = _usual_bytes(axis, result, right, grid, job["micro_batches"])
                if _counts_numbers(attempt):  # on one axis alone it looks like another mistake
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


def _counts_numbers(attempt: Attempt) -> bool:
    """Whether what is sent along every axis is half of what is right: numbers of two bytes."""
    job = _job(attempt.generator, MIXED)
    counted = np.array(_four(attempt.call(MIXED, *job.values()), "bytes"))
    return np.allclose(2 * counted, bytes_of_step(MIXED, **job), rtol=1e-9)


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


def judge_seconds(attempt: Attempt) -> None:
    """The sum of five terms, of which the bubble stretches three."""
    for trial in range(8):
        pipeline, m = attempt.generator.integers(2, 17, 2).tolist() if trial else (1, 4)
        grid = (2, pipeline, 4, 2)
        busy = float(attempt.generator.uniform(0.5, 3))
        sent = attempt.generator.uniform(1e8, 1e9, 4).tolist()
        per_byte = attempt.generator.uniform(1e-10, 2e-9, 4).tolist()
        data, hops, tensor, context = (n * each for n, each in zip(sent, per_byte, strict=True))
        slots, idle = busy + tensor + context, (pipeline - 1) / m
        result = number(attempt.call(grid, m, busy, sent, per_byte), SECONDS("wanted"))
        usual = SECONDS.each(
            no_bubble=slots + hops + data,
            busy_alone=busy * (1 + idle) + tensor + context + hops + data,
            all_stretched=(slots + hops + data) * (1 + idle),
            average_stretched=(slots + data) * (1 + idle) + hops,
            of_whole=slots * (1 + (pipeline - 1) / (m + pipeline - 1)) + hops + data,
            one_too_many=slots * (1 + pipeline / m) + hops + data,
            no_sums=busy * (1 + idle) + hops + data,
        )
        setting = SECONDS("setting", pipeline=pipeline, micro_batches=m)
        right = seconds_of_step(grid, m, busy, sent, per_byte)
        compare(setting, result, right, usual, SECONDS("otherwise"))


def seconds_of_step(
    grid: Numbers, micro_batches: int, busy: float, sent: Numbers, per_byte: Numbers
) -> float:
    """What the exercise asks for: the bubble stretches all that a stage does for micro-batches."""
    data, hops, tensor, context = (n * each for n, each in zip(sent, per_byte, strict=True))
    return (busy + tensor + context) * (1 + (grid[1] - 1) / micro_batches) + hops + data


def _four(value: Any, what: str) -> Numbers:
    return tuple(numbers(value, AXES, GRIDS("four", what=what)))


def judge_product(attempt: Attempt) -> None:
    """Blocks gathered along z, and terms summed along y, on every grid of so many ranks."""
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
    call = PRODUCT("call", grid=grid, ranks=ranks_text(count))
    outcome = ranks.run(attempt, count, given, call, ranks.general(PRODUCT("together")))
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


SHAPES = ((4, 5), (7,), (2, 3, 4), (1, 1), (30, 40))
MOMENTUM = 0.9


def judge_compress(attempt: Attempt) -> None:
    """The values at these places, in the order of the places."""
    for shape in SHAPES:
        dense, places = _pruned(attempt.generator, shape)
        right = dense.reshape(-1)[places]
        result = array(attempt.call(dense, places), COMPRESS("wanted"))
        values = {"found": result, "right": right, "shape": shape, "kept": len(places)}
        COMPRESS.refuse_if(
            values | {"shown": shown(result), "wanted": shown(right)},
            whole=result.shape == shape != right.shape,
            shape=result.shape != right.shape,
            values=not np.array_equal(result, right),
        )


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
