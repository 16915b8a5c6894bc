"""The usual mistakes of unit 21 with attention in tiles, and words of the message of each."""

from functools import partial

import numpy as np

from ddl_class.exercises.unit_21.tile_judges import gradients, merged, taken


def merge(left, right, mistake):
    largest = np.maximum(left[0], right[0])
    a, b = np.exp(left[0] - largest), np.exp(right[0] - largest)
    total, sums = a * left[1] + b * right[1], a * left[2] + b * right[2]
    return {
        "as they are": (largest, left[1] + right[1], left[2] + right[2]),
        "totals": (largest, total, left[2] + right[2]),
        "crossed": (largest, b * left[1] + a * right[1], b * left[2] + a * right[2]),
        "divided": (largest, total, sums / total),
        "grown": (largest, left[1] / a + right[1] / b, left[2] / a + right[2] / b),
        "added": (left[0] + right[0], total, sums),
    }[mistake]


def take(q, k, v, largest, total, sums, mistake):
    larger, right_total, right_sums = taken(q, k, v, largest, total, sums)
    if mistake == "old":
        return largest, right_total, right_sums
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(q @ k.T / np.sqrt(q.shape[1]) - largest)
        shrink = np.exp(largest - larger)
        total = shrink * total + weights.sum(axis=1, keepdims=True)
        return larger, total, shrink * sums + weights @ v


def back(q, k, v, log_total, gradient, shared, mistake):
    root = np.sqrt(q.shape[1])
    none = np.zeros_like(shared)
    if mistake == "unscaled":
        dq, dk, dv = gradients(q, k, v, log_total, gradient, shared)
        return root * dq, root * dk, dv
    if mistake == "added":
        return gradients(q, k, v, log_total, gradient, -shared)
    if mistake == "not shared":
        return gradients(q, k, v, log_total, gradient, none)
    return gradients(q, k, v, none, gradient, shared)


MISTAKES = [
    *[
        ("21.merge", partial(merge, mistake=mistake), words)
        for mistake, words in (
            ("as they are", "relative to different largest scores"),
            ("totals", "the sums must shrink"),
            ("crossed", "factors are exchanged"),
            ("divided", "Do not divide yet"),
            ("grown", "grow where they should shrink"),
            ("added", "not their sum"),
        )
    ],
    ("21.merge", lambda left, right: merged(left, right)[:2], "three arrays"),
    ("21.tile", partial(take, mistake="old"), "is the old one"),
    ("21.tile", partial(take, mistake="by old"), "relative to the old largest"),
    ("21.seen", lambda row, queries, keys: row + 1, "equally long"),
    ("21.seen", lambda row, queries, keys: (row + 1) * queries // keys, "round up"),
    ("21.seen", lambda row, queries, keys: -(-row * queries // keys), "for its last one"),
    *[
        ("21.back", partial(back, mistake=mistake), words)
        for mistake, words in (
            ("unscaled", "divided by the root of the width"),
            ("not shared", "`shared` is missing"),
            ("added", "not added"),
            ("without log", "no probabilities"),
        )
    ],
    ("21.moved", lambda n, d, b: 4 * n * d + 4 * n**2, "its matrices of scores"),
    ("21.moved", lambda n, d, b: 4 * n * d + n, "again for each tile"),
    ("21.moved", lambda n, d, b: 2 * n * d * n // b, "are moved as well"),
    ("21.moved", lambda n, d, b: 2 * n * d * (1 + n // b), "one number for each query"),
    ("21.moved", lambda n, d, b: 2 * n * d + n + n * d * n // b, "Keys *and* values"),
    ("21.moved", lambda n, d, b: 2 * n * d + n + 2 * n * n * d, "read once"),
]
