"""The usual mistakes with failures, spares and corrupted bits in unit 25, and words for each."""

import numpy as np

from ddl_teach.collectives import ring


def gathered(comm, number, kind):
    numbers = np.zeros(comm.size, kind)
    numbers[comm.rank] = number
    ring.allgather(comm, numbers)
    return numbers


def as_first(comm, x):
    prints = gathered(comm, x.view(np.uint64).sum(), np.uint64)
    return np.flatnonzero(prints != prints[0]).tolist()


def as_floats(comm, x):
    sums = gathered(comm, np.float32(x.sum()), float)
    return np.flatnonzero(sums != np.median(sums)).tolist()


def whole_vectors(comm, x):
    rows = np.tile(x, (comm.size, 1))
    flat = rows.reshape(-1)
    ring.allgather(comm, flat)
    differ = [sum(not np.array_equal(row, other) for other in rows) for row in rows]
    return [rank for rank, count in enumerate(differ) if 2 * count > comm.size]


def kept_by(cycle, part):
    def kept(until, restart, every, stall, behind):
        copied = np.maximum(until - restart - behind, 0)
        return part(copied, every + stall if cycle else every, every)

    return kept


def spare_by(pick):
    return lambda now, back, repaired: pick(now, sorted([*back, repaired]), sorted(back))


MISTAKES = [
    ("25.hours", lambda failures, days, gpus, on: None, "yours returns None"),
    ("25.hours", lambda failures, days, gpus, on: 24 * days / failures, "GPUs that were watched"),
    ("25.hours", lambda failures, days, gpus, on: 24 * days / failures * on / gpus, "shrink"),
    ("25.hours", lambda failures, days, gpus, on: days / failures * gpus / on, "a day has 24"),
    ("25.hours", lambda failures, days, gpus, on: failures * on / gpus / days / 24, "in an hour"),
    ("25.hours", lambda failures, days, gpus, on: failures, "Hours that were watched"),
    ("25.interval", lambda save, between: np.sqrt(save * between), "a 2 below the root"),
    ("25.interval", lambda save, between: 2 * save * between, "T squared"),
    ("25.interval", lambda save, between: between / 2, "how long it takes to save"),
    ("25.interval", lambda save, between: save + between, "The root of 2 C M"),
    ("25.kept", kept_by(False, lambda copied, cycle, every: copied // cycle * every), "stops"),
    ("25.kept", kept_by(True, lambda copied, cycle, every: copied // cycle * cycle), "does not"),
    ("25.kept", kept_by(True, lambda copied, cycle, every: copied / cycle * every), "whole ones"),
    ("25.kept", kept_by(True, lambda copied, cycle, every: copied // cycle), "not yet written"),
    ("25.spare", spare_by(lambda now, times, back: (times[0] - now, times[1:])), "the wait is 0"),
    (
        "25.spare",
        spare_by(lambda now, times, back: (max(times[0] - now, 0), times)),
        "take it off the list",
    ),
    (
        "25.spare",
        spare_by(lambda now, times, back: (max([*back, times[0]][0] - now, 0), back[1:])),
        "put `repaired` on the list",
    ),
    ("25.spare", spare_by(lambda now, times, back: (0, times[1:])), "take the earliest off"),
    ("25.spare", spare_by(lambda now, times, back: 0.0), "return two things"),
    ("25.differ", lambda comm, x: None, "yours returns None"),
    ("25.differ", as_first, "compare with what most ranks have"),
    ("25.differ", as_floats, "add up the bits as whole numbers"),
    ("25.differ", whole_vectors, "One number of 8 bytes"),
    ("25.differ", lambda comm, x: [comm.size], "not the one that most have"),
    ("25.blame", lambda differs: [r for r, its in enumerate(differs) if its], "either of two"),
    (
        "25.blame",
        lambda differs: [r for r in range(len(differs)) if differs[r] or differs[r - 1]],
        "not one of them",
    ),
    (
        "25.blame",
        lambda differs: [
            r for r in range(len(differs)) if differs[r] and differs[(r + 1) % len(differs)]
        ],
        "look at that entry",
    ),
    ("25.blame", lambda differs: [], "of their left neighbour are True"),
    ("25.limit", lambda clean, alarms: np.sort(clean)[::-1][alarms + 1], "One alarm more"),
    ("25.limit", lambda clean, alarms: np.sort(clean)[::-1][max(alarms - 1, 0)], "could be lower"),
    ("25.limit", lambda clean, alarms: np.sort(clean)[alarms], "sorted the other way"),
    ("25.limit", lambda clean, alarms: alarms, "the place in the list"),
    ("25.limit", lambda clean, alarms: clean.mean(), "counted from 0"),
]
