"""The judges of unit 22 for states and for Muon's owners; and the puzzle."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, compare, shown, texts
from ddl_class.exercises.kit.answers import arrays, items, whole
from ddl_class.exercises.kit.asked import judge_seconds
from ddl_runtime.pictures.words import size_text
from ddl_teach.theory import muon, quantised
from ddl_teach.training.compression.packing import packed_bytes
from ddl_teach.training.optimizers.adam_8bit import code

STATES, OWNER, BITS = texts(__package__, "states", "owner", "bits")
WORKERS, LATENCY, BANDWIDTH = 16, 9e-6, 1e8  # ranks; seconds a message; bytes a second
BOUND, GOAL = 0.02, 1.85e-3  # a relative error; seconds
LAYERS = (("embedding", 32_768), ("attention", 16_384), ("head", 4_096), ("norms", 256))


def judge_states(attempt: Attempt) -> None:
    """The nearest of 256 values, after a division by the largest magnitude."""
    values, draw = code(True), attempt.generator
    middles = (values[1:] + values[:-1]) / 2
    for size in (6, 40):
        x = draw.standard_normal(size) * 10.0 ** draw.uniform(-3, 1, size)
        x[0] = -30.0
        call, names = STATES("call", x=shown(x)), ("places", "scale")
        answer = attempt.call(x, values)
        places, scale = arrays(answer, names, STATES("wanted", call=call), [(size,), ()])
        compare(STATES("scale", call=call), float(scale), 30.0, STATES.each(signed=float(x.max())))
        usual = STATES.each(
            above=np.searchsorted(values, x / 30),
            unscaled=np.searchsorted(middles, x),
            magnitudes=np.searchsorted(middles, np.abs(x) / 30),
        )
        right = np.searchsorted(middles, x / 30)
        compare(STATES("places", call=call), places, right, usual, STATES("otherwise"))


def judge_owner(attempt: Attempt) -> None:
    """No rank has more work than when the largest go first."""
    drawn = (8 * attempt.generator.integers(1, 40, 9)).tolist()
    given = ([64] * 3 + [128, 16, 8], 3), ([32, 32, 64, 256, 96, 96, 8], 4), (drawn, 3)
    for sizes, count in given:
        shapes = [(size, size) for size in sizes]
        work = [muon.operations(shape) for shape in shapes]
        values: dict[str, Any] = {"call": OWNER("call", work=work, ranks=count)}
        owner = items(attempt.call(work, count), OWNER("wanted", **values), whole)
        wrong = len(owner) != len(work) or not set(owner) <= set(range(count))
        OWNER.refuse_if(values | {"count": len(work), "last": count - 1}, wrong=wrong)
        load = np.bincount(owner, weights=work, minlength=count)
        values |= {"most": shown(load.max()), "best": shown(muon.busiest(shapes, count))}
        in_turn = owner == [place % count for place in range(len(work))]
        too_much = load.max() > muon.busiest(shapes, count)
        OWNER.refuse_if(values, in_turn=too_much and in_turn, too_much=too_much)


# -- the puzzle ----------------------------------------------------------------------------------


@cache
def gradients(name: str, size: int) -> np.ndarray:
    """All ranks' gradients of a layer; in the embedding rows of 64 differ much in magnitude."""
    random = np.random.default_rng(len(name))
    rows = np.repeat(
        np.exp((1.5 if name == "embedding" else 0.2) * random.normal(size=-(-size // 64))), 64
    )
    return np.asarray(random.normal(size=(WORKERS, size)) * rows[:size])


def rounded(x: np.ndarray, bits: int, block: int) -> np.ndarray:
    """What arrives of the vectors in the rows of x."""
    rows = np.pad(x, [(0, 0), (0, -x.shape[1] % block)]).reshape(len(x), -1, block)
    step = np.abs(rows).max(axis=2, keepdims=True) / (2 ** (bits - 1) - 1)
    codes = np.rint(rows / np.where(step > 0, step, 1))
    return np.asarray((codes * step).reshape(len(x), -1)[:, : x.shape[1]])


def layer_error(name: str, size: int, way: str, bits: int, block: int) -> float:
    """The root of the mean square error of the mean over that of the mean."""
    x = gradients(name, size)
    if way == "ring":
        total = x[:1]
        for part in x[1:]:
            total = rounded(total, bits, block) + part
    else:
        total = rounded(x, bits, block).sum(axis=0, keepdims=True)
    total = total if way == "gathered" else rounded(total, bits, block)
    exact = x.sum(axis=0)
    return float(np.linalg.norm(total[0] - exact) / np.linalg.norm(exact))


def message_bytes(size: int, bits: int, block: int) -> int:
    """The codes of a whole layer, and the scale of each block."""
    return packed_bytes(size, bits) + 4 * -(-size // block)


def layer_seconds(size: int, way: str, bits: int, block: int) -> float:
    """Messages and bytes on the way of a layer."""
    message = message_bytes(size, bits, block)
    messages = 4 if way == "gathered" else 2 * (WORKERS - 1)
    return messages * LATENCY + quantised.sent_bytes(way, WORKERS, message) / BANDWIDTH


def outcome(plan: Sequence[tuple[str, int, int]]) -> tuple[float, float]:
    """(seconds, error) of a plan; the error is the root of the mean square over layers."""
    pairs = list(zip(LAYERS, plan, strict=True))
    errors = [layer_error(name, size, *choice) for (name, size), choice in pairs]
    seconds = sum(layer_seconds(size, *choice) for (_, size), choice in pairs)
    return seconds, float(np.sqrt(np.mean(np.square(errors))))


def _choice(row: Any) -> tuple[str, int, int]:
    way, bits, block = row
    return str(way), whole(bits), whole(block)


def judge_bits(attempt: Attempt) -> None:
    """The mean is near enough, before the goal."""
    plan = items(attempt.call([size for _, size in LAYERS]), BITS("wanted"), _choice)
    if len(plan) != len(LAYERS):
        raise Wrong(BITS("wanted"))
    for way, bits, block in plan:
        fits = way in quantised.WAYS and 2 <= bits <= 8 and 8 <= block <= 4096
        BITS.refuse_if({"choice": (way, bits, block)}, choice=not fits)
    seconds, error = outcome(plan)
    arriving = {
        "gathered": WORKERS - 1,
        "all-to-all": (WORKERS - 1) / WORKERS,
        "ring": 1 / WORKERS,
    }
    most = max(
        arriving[way] * message_bytes(size, bits, block)
        for (_, size), (way, bits, block) in zip(LAYERS, plan, strict=True)
    )
    values = {"error": f"{error:.2%}", "most": size_text(most)}
    judge_seconds(attempt, BITS, seconds, GOAL, values, far=error > BOUND)
