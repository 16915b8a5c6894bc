"""Sums in many orders and in 16 bits: what `19_within_rounding` is given, and answers to it."""

import math
from collections.abc import Sequence

import numpy as np

from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.perceptron import softmax


def bf16(numbers: np.ndarray) -> np.ndarray:
    """The nearest numbers of bfloat16, as float32; of two equally near ones the even one."""
    bits = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def gradients_of_pictures(task: Digits) -> np.ndarray:
    """The gradient of each training picture at the first weights, a row for each."""
    weights, network = task.initial(), task.network
    rows = []
    for picture, answer in zip(task.pictures.learnt, task.pictures.answers, strict=True):
        hidden, scores = network.forward(weights, picture[None])
        towards = softmax(scores)
        towards[0, answer] -= 1
        rows.append(network.backward(weights, picture[None], hidden, towards))
    return np.array(rows)


def spread(numbers: np.ndarray, orders: Sequence[np.ndarray]) -> float:
    """How far apart sums in these orders are, relative to the exact sum."""
    sums = [float(np.cumsum(numbers[order])[-1]) for order in orders]
    return (max(sums) - min(sums)) / abs(math.fsum(numbers))


def floors(results: np.ndarray, candidate: np.ndarray) -> float:
    """The distance of the candidate from the mean, over the largest distance of a result."""
    middle = results.mean(axis=0)
    floor = np.linalg.norm(results - middle, axis=1).max()
    return float(np.linalg.norm(candidate - middle) / floor)


def long_tests() -> list[list[list[int]]]:
    """The tests of unit 19: vectors of 11 numbers on six numbers of ranks."""
    return [
        [[place + 100 * rank for place in range(11)] for rank in range(ranks)]
        for ranks in (1, 2, 3, 4, 5, 8)
    ]
