"""The usual mistakes with advantages, factors and tickets in unit 26, and words for each."""

import math

import numpy as np


def apart(rewards, group):
    rows = rewards.reshape(-1, group)
    return (rows - rows.mean(1, keepdims=True)).ravel()


def clipped(swap=False, sign=1, both=False):
    """Right, but for what the arguments say."""

    def factors(now, then, given, width):
        ratios = np.exp(then - now if swap else now - then)
        moved = sign * np.sign(given)[:, None] * (ratios - 1)
        return np.where((abs(moved) if both else moved) > width, 0.0, ratios)

    return factors


def loss(limit=np.minimum, swap=1):
    def of(now, then, rewards, group, cap):
        factor = limit(np.exp(swap * (now - then).sum(1)), cap)
        return -(factor * apart(rewards, group) * now.sum(1)).mean()

    return of


def held(now, then, given, width):
    return np.clip(np.exp(now - then), 1 - width, 1 + width)


MISTAKES = [
    ("26.advantage", lambda rewards, group: None, "yours returns None"),
    ("26.advantage", lambda rewards, group: rewards - rewards.mean() + 0, "mean of its own"),
    ("26.advantage", lambda rewards, group: rewards - apart(rewards, group), "the means"),
    (
        "26.advantage",
        lambda rewards, group: apart(rewards, group) * group / (group - 1),
        "mean of the others",
    ),
    ("26.advantage", lambda rewards, group: rewards * 3, "A row for each question"),
    ("26.clip", lambda *given: None, "yours returns None"),
    ("26.clip", clipped(swap=True), "by that of then"),
    ("26.clip", lambda now, then, given, width: np.exp(now - then), "Those are the ratios"),
    ("26.clip", held, "at the edge"),
    ("26.clip", clipped(both=True), "must still be mended"),
    ("26.clip", clipped(sign=-1), "The sign is the other way"),
    ("26.clip", lambda now, *given: now, "is above width"),
    ("26.loss", lambda *given: None, "yours returns None"),
    ("26.loss", loss(swap=-1), "by that of then"),
    ("26.loss", loss(limit=np.maximum), "take the minimum"),
    ("26.loss", lambda *given: 1.0, "minus factor"),
    ("26.ticket", lambda *given: None, "yours returns None"),
    ("26.ticket", lambda ticket, per_step, bound: ticket // per_step - bound, "0 at least"),
    ("26.ticket", lambda ticket, per_step, bound: max(0, ticket / per_step - bound), "with //"),
    (
        "26.ticket",
        lambda ticket, per_step, bound: max(0, ticket // per_step + 1 - bound),
        "counted from 0",
    ),
    ("26.ticket", lambda ticket, per_step, bound: max(0, ticket - bound), "counts steps"),
    ("26.ticket", lambda ticket, per_step, bound: 77, "minus the bound"),
    ("26.balance", lambda *given: None, "yours returns None"),
    (
        "26.balance",
        lambda per_step, mean, training, transfer: math.ceil(training / (mean + transfer)),
        "divided by that of a ticket",
    ),
    (
        "26.balance",
        lambda per_step, mean, training, transfer: math.ceil(per_step * mean / training),
        "receives the weights",
    ),
    (
        "26.balance",
        lambda per_step, mean, training, transfer: math.ceil((mean + transfer) / training),
        "needs per_step tickets",
    ),
    (
        "26.balance",
        lambda per_step, mean, training, transfer: per_step * (mean + transfer) // training,
        "round up",
    ),
    (
        "26.balance",
        lambda per_step, mean, training, transfer: per_step * (mean + transfer) / training,
        "math.ceil",
    ),
    ("26.balance", lambda *given: 7777, "rounded up"),
]
