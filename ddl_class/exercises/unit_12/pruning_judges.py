"""The judges of unit 12's second notebook: which weights stay, zeros around them, and a step."""

import math

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, array, compare, ranks_text, texts

KEPT, EXPAND, STEP = texts(__package__, "kept", "expand", "pruned_step")
SHAPES = ((4, 5), (7,), (2, 3, 4), (1, 1), (30, 40))
MOMENTUM = 0.9


def judge_kept(attempt: Attempt) -> None:
    """The places of the largest magnitudes, in rising order."""
    for shape, share in (((6, 5), 0.1), ((40,), 0.25), ((3, 4, 2), 0.5), ((5, 5), 1.0)):
        size = math.prod(shape)
        magnitudes = attempt.generator.permutation(size) + 1.0
        signs = np.where(magnitudes % 3 == 0, 1.0, -1.0)
        flat, count = magnitudes * signs, round(share * size)
        call = KEPT("call", shape=shape, share=share)
        result = array(attempt.call(flat.reshape(shape), share), KEPT("wanted", call=call))
        order, signed = np.argsort(magnitudes), np.argsort(flat)
        usual = KEPT.each(
            smallest=np.sort(order[:count]),
            signed=np.sort(signed[size - count :]),
            unsorted=order[size - count :],
            values=flat[np.sort(order[size - count :])],
        )
        compare(call, result, np.sort(order[size - count :]).astype(float), usual,
                KEPT("otherwise"))  # fmt: skip


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
