"""The usual mistakes with rounds, and words of the message that must name each."""

import math

import numpy as np

from ddl_class.exercises.unit_14.rounds_judges import by_prices
from ddl_teach import Comm
from ddl_teach.collectives import ring


def ends(power=0.5, rounding=math.ceil, most=None, change=lambda ends: ends):
    """Right, but for what the arguments say."""

    def agreements(losses: list[float], longest: int) -> list[int]:
        step, steps = 0, []
        while step < len(losses) - 1:
            wanted = rounding((losses[step] / losses[0]) ** power * longest)
            step = min(step + max(1, min(wanted, most or longest)), len(losses) - 1)
            steps.append(step)
        return change(steps)

    return agreements


def average(comm: Comm, vector: np.ndarray) -> None:
    ring.allreduce(comm, vector)
    vector /= comm.size


def in_blocks(keep=1.0, share=1.0, twice=False, from_start=False, in_place=True, mean=True):
    def blocks(comm, weights, inputs, answers, rate, momentum):
        first, agreed = weights.copy(), weights.copy()
        velocity, mine = np.zeros_like(weights), weights.copy()
        for some_inputs, some_answers in zip(inputs, answers, strict=True):
            for x, y in zip(some_inputs, some_answers, strict=True):
                mine -= rate * (x @ mine - y) * x
            change = mine - agreed
            if mean:
                average(comm, change)
            velocity = keep * momentum * velocity + share * change
            agreed = (first if from_start else agreed) + velocity + (change if twice else 0)
            mine = agreed.copy()
        if in_place:
            weights[...] = agreed

    return blocks


def a_part(comm, weights, inputs, answers, rate, momentum):
    in_blocks(share=1 - momentum)(comm, weights, inputs, answers, rate, momentum)


def prices(variant: str):
    def admm(comm, weights, curvature, wanted, penalty, rounds):
        mine, price = weights.copy(), np.zeros_like(weights)
        for _ in range(rounds):
            centre = mine + price if variant == "away" else mine - price
            own = (curvature * wanted + penalty * centre) / (curvature + penalty)
            before, total = mine, own + price
            if variant != "alone":
                average(comm, total)
            mine = total
            change = own - (before if variant == "early" else mine)
            price = change if variant == "restarted" else price + change
            price *= variant != "none"
        if variant != "copy":
            weights[...] = mine

    return admm


def more_rounds(comm, weights, curvature, wanted, penalty, rounds):
    by_prices(comm, weights, curvature, wanted, penalty, rounds + 1)


def rounds_of(rate: float, steps: int, slow: int, count: int = 400):
    return lambda seconds: [(rate, [steps] * 7 + [slow])] * count


MISTAKES = [
    ("14.agreements", ends(power=1.0), "take its root"),
    ("14.agreements", ends(rounding=math.floor), "take math.ceil"),
    ("14.agreements", ends(most=100), "at most `longest` steps"),
    ("14.agreements", ends(change=lambda ends: ends[:-1]), "The last round is missing"),
    ("14.agreements", ends(change=lambda ends: [0, *ends[:-1]]), "where rounds begin"),
    (
        "14.agreements",
        ends(change=lambda ends: np.diff([0, *ends]).tolist()),
        "the lengths of the rounds",
    ),
    ("14.agreements", ends(power=0.0), "All rounds have the same length"),
    ("14.agreements", lambda losses, longest: None, "yours returns None"),
    ("14.blocks", in_blocks(keep=0.0), "without the momentum"),
    ("14.blocks", in_blocks(twice=True), "counts twice"),
    ("14.blocks", in_blocks(from_start=True), "not from the first ones"),
    ("14.blocks", a_part, "without a factor"),
    ("14.blocks", in_blocks(in_place=False), "The weights are as they were"),
    ("14.blocks", in_blocks(mean=False), "average the change over the ranks"),
    ("14.blocks", in_blocks(mean=False, keep=0.0), "agreed = weights.copy()"),
    ("14.admm", prices("alone"), "average own + prices over the ranks"),
    ("14.plan", lambda seconds: [(0.1, [2.5] * 8)], "eight whole numbers"),
    ("14.admm", prices("none"), "The prices stay zero"),
    ("14.admm", prices("away"), "not plus"),
    ("14.admm", prices("restarted"), "keeps what it was and grows"),
    ("14.admm", prices("early"), "takes the new z"),
    ("14.admm", prices("copy"), "The weights are as they were"),
    ("14.admm", more_rounds, "the three formulas"),
    ("14.plan", lambda seconds: None, "return a list of pairs"),
    ("14.plan", lambda seconds: [(0.1, [1] * 7)], "there are eight workers"),
    ("14.plan", lambda seconds: [(0.1, [-1] * 8)], "a negative number"),
    ("14.plan", lambda seconds: [(0.1, [99_999] * 8)], "more than 10,000"),
    ("14.plan", lambda seconds: [(2.5, [1] * 8)], "from 2 on the weights grow"),
    ("14.plan", rounds_of(1.99, 1, 1), "the rates are too large"),
    ("14.plan", rounds_of(0.2, 8, 8), "The goal is 300 ms"),
    ("14.plan", rounds_of(0.2, 40, 8), "The goal is 300 ms"),
    ("14.plan", rounds_of(0.2, 8, 0), "What is missing"),
]
