"""The judges of unit 21 for attention on one device: a softmax that runs, tiles, and traffic."""

import numpy as np

from ddl_class.exercises.kit import Attempt, ask, texts, within
from ddl_teach.theory.attention import definition_traffic, tiled_traffic

MERGE, TILE, SEEN, BACK, MOVED = texts(__package__, "merge", "tile", "seen", "back", "moved")
SAME = within(1e-9, 1e-12)
Part = tuple[np.ndarray, np.ndarray, np.ndarray]
PARTS = "the largest scores", "the totals", "the sums"


def merged(left: Part, right: Part) -> Part:
    """The right answer, which takes the learner's place until theirs is right."""
    largest = np.maximum(left[0], right[0])
    shrunk = [np.exp(part[0] - largest) for part in (left, right)]
    total, sums = (shrunk[0] * left[i] + shrunk[1] * right[i] for i in (1, 2))
    return largest, total, sums


def taken(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, largest: np.ndarray, total: np.ndarray,
    sums: np.ndarray,
) -> Part:  # fmt: skip
    """One tile of keys more, in the right way."""
    return merged((largest, total, sums), _part(q, k, v))


def gradients(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, log_total: np.ndarray, gradient: np.ndarray,
    shared: np.ndarray,
) -> Part:  # fmt: skip
    """What one pair of tiles adds to the gradients of q, k and v."""
    scale = 1 / np.sqrt(q.shape[1])
    p = np.exp(scale * q @ k.T - log_total)
    ds = scale * p * (gradient @ v.T - shared)
    return ds @ k, ds.T @ q, p.T @ gradient


def tiles_met(row: int, queries: int, keys: int) -> int:
    """How many tiles of keys this row of tiles meets under a causal mask."""
    return -(-(row + 1) * queries // keys)


def moved_by_tiles(length: int, width: int, queries: int) -> int:
    """The numbers that tiles move forward, without a mask."""
    return tiled_traffic(length, width, (queries, queries))


def _part(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Part:
    scores = q @ k.T / np.sqrt(q.shape[1])
    largest = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - largest)
    return largest, weights.sum(axis=1, keepdims=True), weights @ v


def judge_merge(attempt: Attempt) -> None:
    """Two parts of the keys give what all keys give together."""
    for rows, keys in ((1, 4), (3, 7)):
        q, k, v = _drawn(attempt, rows, keys)
        left, right = given = _part(q, k[:2], v[:2]), _part(q, k[2:] + 0.5, v[2:])
        largest, total, sums = merged(left, right)
        shrunk = [np.exp(part[0] - largest) for part in (left, right)]
        both = [largest, total, sums]
        ask(attempt, MERGE, given, both, same=SAME, names=PARTS, rows=rows).compare(
            not_shrunk=[largest, left[1] + right[1], left[2] + right[2]],
            totals_only=[largest, total, left[2] + right[2]],
            crossed=[largest, *(shrunk[1] * left[i] + shrunk[0] * right[i] for i in (1, 2))],
            divided=[largest, total, sums / total],
            grown=[largest, *(left[i] / shrunk[0] + right[i] / shrunk[1] for i in (1, 2))],
            added=[left[0] + right[0], total, sums],
        )


def judge_tile(attempt: Attempt) -> None:
    """Tile after tile, the sums are those of all keys that came so far."""
    q, k, v = _drawn(attempt, 3, 8)
    nothing: Part = np.full((3, 1), -np.inf), np.zeros((3, 1)), np.zeros((3, v.shape[1]))
    begun = _part(q, k[:4], v[:4])
    for state, keys, before in ((begun, slice(4, 8), 4), (nothing, slice(0, 4), 0)):
        given = q, k[keys], v[keys], *state
        right = list(taken(*given))
        shrink = np.exp(state[0] - right[0])
        by_old = np.exp(np.minimum(700, q @ k[keys].T / np.sqrt(q.shape[1]) - state[0]))
        total = shrink * state[1] + by_old.sum(axis=1, keepdims=True)
        ask(attempt, TILE, given, right, same=SAME, names=PARTS, before=before).compare(
            old_largest=[state[0], *right[1:]],
            by_old=[right[0], total, shrink * state[2] + by_old @ v[keys]],
        )


def judge_seen(attempt: Attempt) -> None:
    """How many tiles of keys a tile of queries meets under a causal mask."""
    for row, queries, keys in ((0, 4, 4), (5, 64, 64), (2, 16, 64), (3, 64, 16), (6, 3, 5)):
        last = (row + 1) * queries
        ask(attempt, SEEN, (row, queries, keys), tiles_met(row, queries, keys)).compare(
            rows=row + 1, down=last // keys, first=-(-(row * queries) // keys)
        )


def judge_back(attempt: Attempt) -> None:
    """The gradients of one pair of tiles."""
    q, k, v = _drawn(attempt, 3, 5)
    gradient = attempt.generator.standard_normal((3, v.shape[1]))
    largest, total, _ = _part(q, k, v)
    given = q, k, v, largest + np.log(total) + 0.7, gradient, attempt.generator.random((3, 1))
    names = "the gradient of q", "that of k", "that of v"
    dq, dk, dv = right = list(gradients(*given))
    root, nothing = np.sqrt(q.shape[1]), np.zeros((3, 1))
    unshared = gradients(*given[:5], nothing)
    ask(attempt, BACK, given, right, same=SAME, names=names).compare(
        unscaled=[root * dq, root * dk, dv],
        not_shared=list(unshared),
        added=[2 * unshared[0] - dq, 2 * unshared[1] - dk, dv],
        without_log=list(gradients(*given[:3], nothing, *given[4:])),
    )


def judge_moved(attempt: Attempt) -> None:
    """The numbers that tiles move forward."""
    for length, width, queries in ((12, 2, 4), (1024, 64, 128), (4096, 128, 64)):
        keys = 2 * length * width * length // queries
        right = moved_by_tiles(length, width, queries)
        ask(attempt, MOVED, (length, width, queries), right).compare(
            definition=definition_traffic(length, width),
            once=4 * length * width + length,
            no_own=keys,
            no_logs=keys + 2 * length * width,
            keys_only=2 * length * width + length + keys // 2,
            each_query=2 * length * width + length + 2 * length**2 * width,
        )


def _drawn(attempt: Attempt, rows: int, keys: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = attempt.generator.standard_normal
    return 2 * draw((rows, 4)), draw((keys, 4)), draw((keys, 3))
