"""The judges of unit 11: sharding in three stages, and clipping; recomputation, offload, and a
plan for a machine."""

from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, Wrong, ranks, texts
from ddl_class.exercises.kit.answers import items, number, several, short, whole
from ddl_class.exercises.kit.asked import judge_seconds, run_ranks
from ddl_class.exercises.kit.compare import alike, compare, equal
from ddl_class.exercises.kit.ranks import HOUR
from ddl_class.exercises.unit_11.machine import CHOICES, LAYERS, play
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.theory import memory, ring_bytes
from ddl_teach.theory.checkpointing import Chain, equal_stretches, layers_of, peak

SHARDED, STATES, GRADIENTS, CLIP, PARAMETERS = texts(
    __package__, "", "states", "gradients", "clip", "parameters"
)
MOMENTUM, RATE, DOUBLE = 0.9, 0.1, 8


def judge_states(attempt: Attempt) -> None:
    """The weights are updated everywhere, the moment where it lives, for an all-reduce's bytes."""
    for count in ranks.first(4, attempt.counts):
        length = 5 * count + int(attempt.generator.integers(1, count + 1))
        weights, whole = attempt.generator.standard_normal((2, length))
        gradients = attempt.generator.standard_normal((count, length))
        moments = np.split(whole, np.cumsum(ring_bytes.even(length, count))[:-1])
        given = [(weights, gradients[r], moments[r], RATE) for r in range(count)]
        setting, outcome = run_ranks(attempt, STATES, given, length=length)
        mean = gradients.mean(axis=0)
        moment = MOMENTUM * whole + mean
        right = weights - RATE * moment
        for rank, (left, _, own, _) in enumerate(outcome.arguments):
            part = _part(length, count, rank)
            own_right = _same(left[part], right[part])
            moved = (weights - left)[part] / RATE  # by what the weights were updated
            at = int((~np.isclose(left, right)).argmax())
            first_wrong = {"at": at, "found": left[at], "right": right[at]}
            STATES.refuse_if(
                {"setting": setting, "rank": rank, **first_wrong},
                unchanged=np.array_equal(left, weights),
                summed=not own_right and _same(moved, (MOMENTUM * whole + count * mean)[part]),
                no_moment=not own_right and _same(moved, mean[part]),
                added=not own_right and _same(moved, -moment[part]),
                alone=not own_right and _same(moved, (MOMENTUM * whole + gradients[rank])[part]),
                rate_inside=_same(moved * RATE, (MOMENTUM * whole + RATE * mean)[part]),
                kept=own_right and not _same(left, right),
                wrong=not _same(left, right),
                moment=not _same(own, moment[part]),
            )
        _judge_bytes(outcome, setting, [length], stage_number=1)


def judge_gradients(attempt: Attempt) -> None:
    """Each gradient of the list has become this rank's part of the mean."""
    for count in ranks.first(4, attempt.counts):
        sizes = [int(size) for size in attempt.generator.integers(count, 9 * count, 3)]
        layers = [attempt.generator.standard_normal((count, size)) for size in sizes]
        given = [([layer[rank] for layer in layers],) for rank in range(count)]
        setting, outcome = run_ranks(attempt, GRADIENTS, given, sizes=sizes)
        for rank, (left,) in enumerate(outcome.arguments):
            in_place = isinstance(left, list) and len(left) == 3
            GRADIENTS.refuse_if({"setting": setting}, places=not in_place)
            for place, (layer, result) in enumerate(zip(layers, left, strict=True)):
                described = f"{setting}, gradients[{place}] of rank {rank}"
                _judge_own_part(result, layer.mean(axis=0), layer[rank], rank, count, described)
        _judge_bytes(outcome, setting, sizes, stage_number=None)


def _judge_own_part(
    result: Any, mean: np.ndarray, own: np.ndarray, rank: int, count: int, described: str
) -> None:
    if not isinstance(result, np.ndarray) or result.ndim != 1:
        raise Wrong(SHARDED("not_a_vector", part=described, answer=str(result)[:40]))
    part = _part(len(mean), count, rank)
    right, many = mean[part], len(mean) > len(mean[part])
    base, of_ranks = result.base, len(mean) // max(len(result), 1)
    is_right = _same(result, right)
    sums = [_same(result, times * right) for times in (of_ranks, of_ranks + 1)]
    SHARDED.refuse_if(
        {"part": described, "whole": len(mean), "own": len(right)},
        whole_layer=many and len(result) == len(mean),
        view=is_right and many and isinstance(base, np.ndarray) and base.size > result.size,
        sum=not is_right and any(sums),
        own_gradient=not is_right and _same(result, own[part]),
        another=not is_right,
    )


def judge_clip(attempt: Attempt) -> None:
    """All parts of all ranks are shortened by one factor, whatever lies where."""
    for count in ranks.first(4, attempt.counts):
        scales = np.arange(1, count + 1)[:, None]  # every rank has another norm
        parts = [
            scales * attempt.generator.standard_normal((count, int(size)))
            for size in attempt.generator.integers(2, 9, 2)
        ]
        own = [np.sqrt(sum((part[rank] ** 2).sum() for part in parts)) for rank in range(count)]
        norm = float(np.sqrt(sum(each**2 for each in own)))
        shortest = min(np.sqrt((part[rank] ** 2).sum()) for part in parts for rank in range(count))
        for limit in (shortest / 2, norm * 2):
            given = [([part[rank] for part in parts], limit) for rank in range(count)]
            setting, outcome = run_ranks(attempt, CLIP, given, norm=norm, limit=limit)
            for rank, (left, _) in enumerate(outcome.arguments):
                mine = [part[rank] for part in parts]
                _judge_clipped(left, mine, own, norm, rank, limit, setting)
                values = {"setting": setting, "rank": rank, "right": norm}
                answer = number(outcome.results[rank], CLIP("wanted", **values))
                sent = outcome.ledger[rank]
                CLIP.refuse_if(
                    values | {"found": answer, "bytes": sent.bytes_sent},
                    norm=not alike(answer, norm, atol=1e-9),
                    often=sent.bytes_sent > DOUBLE * len(sent.messages)
                    or len(sent.messages) > 2 * count,
                )


def _judge_clipped(
    left: Any, mine: list[np.ndarray], own: list[float], norm: float, rank: int, limit: float,
    setting: str,
) -> None:  # fmt: skip
    """Whether this rank's parts are as the `norm` of all wants them; `own` are the ranks' own."""

    def times(*factors: float) -> bool:
        return all(
            _same(part, factor * whole)
            for part, whole, factor in zip(left, mine, factors, strict=True)
        )

    right, most = min(1.0, limit / norm), len(mine)
    if list(map(np.shape, left)) != list(map(np.shape, mine)):
        raise Wrong(CLIP("places", setting=setting, rank=rank, many=most))
    if times(*[right] * most):
        return
    alone = [float(np.sqrt((part**2).sum())) for part in mine]
    values = {"setting": setting, "rank": rank, "right": right * mine[0][0]}
    CLIP.refuse_if(
        values | {"found": float(left[0][0])},
        own_norm=times(*[min(1.0, limit / own[rank])] * most),
        each_alone=times(*(min(1.0, limit / each) for each in alone)),
        norms_added=times(*[min(1.0, limit / sum(own))] * most),
        longer=right == 1 and times(*[limit / norm] * most),
        not_clipped=right < 1 and times(*[1.0] * most),
        wrong=True,
    )


def judge_parameters(attempt: Attempt) -> None:
    """Own parts of the mean gradients, with each layer's weights gathered twice."""
    for count in ranks.first(4, attempt.counts):
        width, layers, rows = int(attempt.generator.integers(3, 6)), 3, 4
        weights = attempt.generator.standard_normal((layers, width, width)) / 2
        data = attempt.generator.standard_normal((count, 2, rows, width)) / 2
        length = width * width
        mine = [_part(length, count, rank) for rank in range(count)]
        given = [
            ([layer.ravel()[part].copy() for layer in weights], *two)
            for part, two in zip(mine, data, strict=True)
        ]
        known: dict[str, Any] = {"layers": layers, "width": width}
        setting, outcome = run_ranks(attempt, PARAMETERS, given, **known)
        gradients = [_chain_gradients(weights, *two) for two in data]
        mean = np.mean(gradients, axis=0)
        for rank, result in enumerate(outcome.results):
            several(result, layers, PARAMETERS("wanted", setting=setting, layers=layers))
            part, first = mine[rank], result[0]
            if _same(first, mean[-1][part]) and not _same(first, mean[0][part]):
                raise Wrong(PARAMETERS("backward", setting=setting))
            for place, own in enumerate(gradients[rank]):
                described = f"{setting}, layer {place} on rank {rank}: the gradient"
                _judge_own_part(result[place], mean[place], own, rank, count, described)
        _judge_bytes(outcome, setting, [length] * layers, stage_number=3)


def _chain_gradients(weights: np.ndarray, x: np.ndarray, target: np.ndarray) -> list[np.ndarray]:
    """The gradients of half the sum of squares, for a chain of layers y = tanh(x W), each flat."""
    outputs = [x]
    for layer in weights:
        outputs.append(np.tanh(outputs[-1] @ layer))
    error, gradients = outputs[-1] - target, []
    for place in reversed(range(len(weights))):
        inner = error * (1 - outputs[place + 1] ** 2)
        gradients.append((outputs[place].T @ inner).ravel())
        error = inner @ weights[place].T
    return gradients[::-1]


def _judge_bytes(
    outcome: ProgramOutcome, setting: str, sizes: list[int], stage_number: int | None
) -> None:
    """Whether each rank sent what the stage says; None stands for a reduce-scatter alone."""
    count = len(outcome.ledger)
    cuts = [ring_bytes.even(size, count) for size in sizes]
    for rank, ledger in enumerate(outcome.ledger):
        right = sum(ring_bytes.reduce_scatter(cut, rank, DOUBLE) for cut in cuts)
        gathered = sum(ring_bytes.allgather(cut, rank, DOUBLE) for cut in cuts)
        if stage_number:
            right = memory.sent(stage_number, sizes, count, rank, weight=DOUBLE)
        fewer = {"one_too_few" if stage_number == 3 else "none": right - gathered}
        usual = SHARDED.each(one_too_many=right + gathered, **fewer)
        of_rank = SHARDED("bytes", setting=setting, rank=rank)
        compare(of_rank, ledger.bytes_sent, right, usual, SHARDED("otherwise"), equal)


def _part(length: int, count: int, rank: int) -> slice:
    return slice(length * rank // count, length * (rank + 1) // count)


def _same(array: Any, other: np.ndarray) -> bool:
    return isinstance(array, np.ndarray) and alike(array, other, atol=1e-12)


STRETCHES, OFFLOAD, PLAN = texts(__package__, "stretches", "offload", "plan")


def judge_stretches(attempt: Attempt) -> None:
    """Each layer twice at most, and as little held as equal stretches allow."""
    for layers in (9, 10, 16, 100, 1, 2, *map(int, attempt.generator.integers(3, 150, 5))):
        call = f"stretches({layers})"
        steps = items(attempt.call(layers), STRETCHES("wanted", call=call), _step)
        plan = [step for step in steps if step != []]
        result = layers_of(plan)
        missing = sorted(set(range(layers)) - set(result))
        values = {"call": call, "plan": short(plan, 20), "last": layers - 1}
        STRETCHES.refuse_if(
            values | {"layer": min(missing, default=0)},
            missing=missing,
            twice=len(result) > layers,
            disordered=result != list(range(layers)),
        )
        lists = [step for step in plan if isinstance(step, list)]
        chain = Chain.even(layers)
        right = min(peak(equal_stretches(layers, many), chain) for many in range(1, layers + 1))
        held = peak(plan, chain)
        STRETCHES.refuse_if(
            {"call": call, "held": held, "right": right},
            nested=any(isinstance(inner, list) for step in lists for inner in step),
            last_forgotten=len(plan) > 1 and len(lists) == len(plan),
            keeps_all=held > right and not lists,
            forgets_all=held > right and len(plan) == 1,
            unequal=held > right,
        )


def _step(step: Any) -> Any:
    """A layer as a plain number, or a plain list of such steps."""
    several_layers = isinstance(step, list | tuple | np.ndarray | range)
    return list(map(_step, step)) if several_layers else whole(step)


def judge_offload(attempt: Attempt) -> None:
    """Right on both ranks, in buckets, the next one coming while one goes."""
    for count in ranks.first(4, (max(2, tried) for tried in attempt.counts)):
        bucket = int(attempt.generator.integers(3, 9))
        buckets = 8 if count == 4 else int(attempt.generator.integers(1, 6))
        length = bucket * buckets - (0 if count == 4 else int(attempt.generator.integers(0, 3)))
        weights, gradient, moment = attempt.generator.standard_normal((3, length))
        new_moment = MOMENTUM * moment + gradient
        states = [(weights, gradient, None), (None, None, moment), *[(None,) * 3] * (count - 2)]
        given = [(*own, bucket, RATE) for own in states]
        hour = Uniform(latency=1e-3, bandwidth=DOUBLE * bucket / HOUR)
        known: dict[str, Any] = {"length": length, "bucket": bucket}
        setting, outcome = run_ranks(attempt, OFFLOAD, given, network=hour, **known)
        OFFLOAD.refuse_if(
            {"setting": setting},
            weights=not _same(outcome.arguments[0][0], weights - RATE * new_moment),
            moment=not _same(outcome.arguments[1][2], new_moment),
        )
        for rank, ledger in enumerate(outcome.ledger):
            sent = [message.bytes // DOUBLE for message in ledger.messages]
            most = max(sent, default=0)
            values = {"setting": setting, "rank": rank, "length": length, "bucket": bucket}
            OFFLOAD.refuse_if(
                values | {"most": most, "all": sum(sent)},
                third=rank > 1 and bool(sent),
                large=most > bucket,
                often=rank <= 1 and sum(sent) != length,
            )
        buckets, hours = -(-length // bucket), outcome.time / HOUR
        if buckets == 8 and hours > 1.6 * buckets:
            raise Wrong(OFFLOAD("slow", setting=setting, hours=hours, enough=buckets + 1))


# -- a plan for a given machine --------------------------------------------------------------

ROOM, GOAL = 14e9, 0.535  # bytes, and seconds a step


def judge_plan(attempt: Attempt) -> None:
    """The step fits into the room, and it is short."""
    answer = several(attempt.call(), len(LAYERS), PLAN("wanted", many=len(LAYERS)))
    plan = []
    for place, words in enumerate(answer):
        plan.append(several(words, len(CHOICES), PLAN("triple", place=place)))
        for word, (what, choices) in zip(plan[-1], CHOICES.items(), strict=True):
            if not isinstance(word, str) or word not in choices:
                values = {"word": word, "what": what, "choices": ", ".join(map(repr, choices))}
                raise Wrong(PLAN("word", place=place, **values))
    step = play(plan)
    time, most = max(step.held, key=lambda moment: moment[1])
    values = {"held": most / 1e9, "room": ROOM / 1e9, "time": 1e3 * time}
    chosen = zip(LAYERS, plan, strict=True)
    again = sum(layer.seconds for layer, words in chosen if words[0] == "again")
    busy = 3 * sum(layer.seconds for layer in LAYERS) + again
    rest = step.seconds - busy - sum(step.waits)
    lost = {"waits": 1e3 * sum(step.waits), "again": 1e3 * again, "rest": 1e3 * rest}
    judge_seconds(attempt, PLAN, step.seconds, GOAL, values | lost, too_much=most > ROOM)
