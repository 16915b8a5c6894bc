"""The usual mistakes of unit 19's floors and its puzzle, and words that must name each."""

import math

import numpy as np

from ddl_class.notebook.rounding import floors, long_tests, spread


def absolute(numbers, orders):
    return spread(numbers, orders) * abs(math.fsum(numbers))


def off(total, exact):
    return abs(total - exact) / abs(exact)


def distances(results):
    return np.linalg.norm(results - results.mean(axis=0), axis=1)


def far(results, candidate):
    return np.linalg.norm(candidate - results.mean(axis=0))


MISTAKES = [
    ("19.spread", lambda numbers, orders: spread(numbers, orders[:1]), "All sums are the same"),
    ("19.spread", absolute, "Divide by the exact sum"),
    (
        "19.spread",
        lambda numbers, orders: off(float(np.cumsum(numbers[orders[0]])[-1]), math.fsum(numbers)),
        "You stop after the first order",
    ),
    ("19.floors", far, "divide it by the floor"),
    (
        "19.floors",
        lambda results, new: far(results, new) / np.linalg.norm(results.mean(axis=0)),
        "by the length of the mean",
    ),
    (
        "19.floors",
        lambda results, new: far(results, new) / distances(results).mean(),
        "not the mean of them",
    ),
    (
        "19.floors",
        lambda results, new: far(results, new) / distances(results).min(),
        "not the least",
    ),
    (
        "19.floors",
        lambda results, new: np.linalg.norm(new - results[0]) / distances(results).max(),
        "not from the first one",
    ),
    ("19.floors", lambda *given: 1 / floors(*given), "Upside down"),
    ("19.cases", long_tests, "escape your 253"),
    ("19.cases", lambda: [[[1]]], "escape your 1 numbers"),
    ("19.cases", lambda: [[[1, 2], [3]]], "have the same length"),
    ("19.cases", lambda: [[[]]], "at least one number"),
    ("19.cases", lambda: [[]], "has none"),
    ("19.cases", lambda: [[range(20_000)]], "too many to look at"),
    ("19.cases", lambda: [1, 2], "a list of vectors of whole numbers"),
]
