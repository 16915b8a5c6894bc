"""The judges of unit 11's second notebook: recomputation, offload, and a plan for a machine."""

from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, alike, ranks, texts
from ddl_class.exercises.kit.answers import items, several, short, whole
from ddl_class.exercises.kit.ranks import HOUR
from ddl_class.exercises.unit_11.machine import CHOICES, LAYERS, play
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.theory.checkpointing import Chain, equal_stretches, layers_of, peak

SHARDED, STRETCHES, OFFLOAD, PLAN = texts(__package__, "", "stretches", "offload", "plan")
MOMENTUM, RATE, DOUBLE = 0.9, 0.1, 8
CAUSES = ranks.general(SHARDED("collectives"))


def judge_stretches(attempt: Attempt) -> None:
    """Each layer twice at most, and as little held as equal stretches allow."""
    for layers in (9, 16, 100, 1, 2, *map(int, attempt.generator.integers(3, 150, 5))):
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
        setting = f"With {length} weights in buckets of {bucket}"
        outcome = ranks.run(attempt, count, given, setting, CAUSES, hour)
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


def _same(array: Any, other: np.ndarray) -> bool:
    return isinstance(array, np.ndarray) and alike(array, other, atol=1e-12)


# -- a plan for a given machine --------------------------------------------------------------

ROOM, GOAL = 14e9, 0.535  # bytes, and seconds a step


def judge_plan(attempt: Attempt) -> None:
    """The step fits into the room, and it is short."""
    answer = several(attempt.call(), len(LAYERS), PLAN("wanted", many=len(LAYERS)))
    plan = [_words(words, place) for place, words in enumerate(answer)]
    step = play(plan)
    time, most = max(step.held, key=lambda moment: moment[1])
    busy = sum(
        layer.seconds * (4 if words[0] == "again" else 3)
        for layer, words in zip(LAYERS, plan, strict=True)
    )
    values = {
        "took": 1e3 * step.seconds,
        "goal": 1e3 * GOAL,
        "held": most / 1e9,
        "room": ROOM / 1e9,
    }
    again = busy - 3 * sum(layer.seconds for layer in LAYERS)
    rest = step.seconds - busy - sum(step.waits)
    lost = {"waits": 1e3 * sum(step.waits), "again": 1e3 * again, "rest": 1e3 * rest}
    PLAN.refuse_if(
        values | lost | {"time": 1e3 * time}, too_much=most > ROOM, too_slow=step.seconds > GOAL
    )
    attempt.note(step.seconds)


def _words(words: Any, place: int) -> tuple[str, ...]:
    """A layer's three words."""
    wanted = PLAN("triple", place=place)
    chosen = several(words, len(CHOICES), wanted)
    for word, (what, choices) in zip(chosen, CHOICES.items(), strict=True):
        if not isinstance(word, str) or word not in choices:
            values = {"word": word, "what": what, "choices": ", ".join(map(repr, choices))}
            raise Wrong(PLAN("word", place=place, **values))
    return tuple(chosen)
