"""The usual mistakes with networks and experts in unit 23, and words of the message for each."""

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.plain.balanced_experts import spare_copies


def lines(first="row", middle="column", last="row"):
    """Right, but for the lines along which something is done; None leaves it out."""

    def along(comm, x, columns):
        by_name = {
            "row": comm.split(comm.rank // columns),
            "column": comm.split(comm.rank % columns),
        }
        part = ring.reduce_scatter(by_name[first], x) if first else x
        if middle:
            ring.allreduce(by_name[middle], part)
        if last:
            ring.allgather(by_name[last], x)

    return along


def row_only(comm, x, columns):
    ring.allreduce(comm.split(comm.rank // columns), x)


def column_only(comm, x, columns):
    ring.allreduce(comm.split(comm.rank % columns), x)


def one_way(ranks):
    return [
        [((c - s) % ranks, c, (c + 1) % ranks) for c in range(ranks)] for s in range(ranks - 1)
    ]


def both_ways(ranks, twice=False, direct=False):
    steps = []
    for s in range(1, ranks // 2 + 1):
        before = 0 if direct else s - 1
        up = [(c, (c + before) % ranks, (c + s) % ranks) for c in range(ranks)]
        down = [(c, (c - before) % ranks, (c - s) % ranks) for c in range(ranks)]
        steps.append(up if 2 * s == ranks and not twice else up + down)
    return steps


def too_early(ranks):
    return [[message for step in both_ways(ranks) for message in step]]


MISTAKES = [
    ("23.hash", lambda uplinks: None, "yours returns None"),
    ("23.hash", lambda uplinks: len(set(uplinks.tolist())), "how many different links"),
    ("23.hash", lambda uplinks: np.bincount(uplinks).argmax(), "which link is the fullest"),
    ("23.hash", lambda uplinks: np.bincount(uplinks).mean(), "Count the flows on each link"),
    ("23.torus", lambda comm, x, columns: None, "x is as it was"),
    ("23.torus", row_only, "the sum of the row"),
    ("23.torus", column_only, "the sum of the column"),
    ("23.torus", lines(last=None), "gather along the row"),
    ("23.torus", lines(middle=None), "the sum of the row"),
    ("23.schedule", lambda ranks: None, "return a list of steps"),
    ("23.schedule", lambda ranks: [[(0, 1)]], "is not (chunk, from, to)"),
    ("23.schedule", lambda ranks: [[(0, 0, ranks)]], "is not (chunk, from, to)"),
    ("23.schedule", one_way, "travel both ways"),
    ("23.schedule", lambda ranks: both_ways(ranks, direct=True), "not neighbours"),
    ("23.schedule", lambda ranks: both_ways(ranks)[::-1], "does not have this"),
    ("23.schedule", too_early, "shares its link"),
    ("23.schedule", lambda ranks: both_ways(ranks)[:-1], "is one that lacks"),
    ("23.schedule", lambda ranks: both_ways(ranks)[:1] * 2, "where this chunk already is"),
    ("23.bias", lambda bias, loads, speed: None, "yours returns None"),
    (
        "23.bias",
        lambda bias, loads, speed: bias + speed * np.sign(loads - loads.mean()),
        "the other way",
    ),
    (
        "23.bias",
        lambda bias, loads, speed: bias + speed * (loads.mean() - loads),
        "moves by the same amount",
    ),
    (
        "23.bias",
        lambda bias, loads, speed: speed * np.sign(loads.mean() - loads),
        "only what is added",
    ),
    (
        "23.bias",
        lambda bias, loads, speed: bias + speed,
        "speed times the sign of the mean load",
    ),
    ("23.spare", lambda loads, places: None, "yours returns None"),
    ("23.spare", lambda loads, places: np.ones(len(loads)), "No spare place is used"),
    (
        "23.spare",
        lambda loads, places: 1 + (places - len(loads)) * np.eye(len(loads))[loads.argmax()],
        "All spare places went to",
    ),
    (
        "23.spare",
        lambda loads, places: (
            1 + np.isin(np.arange(len(loads)), np.argsort(-loads)[: places - len(loads)])
        ),
        "may need three",
    ),
    ("23.spare", lambda loads, places: spare_copies(loads, places) - 1, "are the spare copies"),
    ("23.spare", lambda loads, places: spare_copies(-loads + 99, places), "at that moment"),
    ("23.network", lambda data, experts, tensor: None, "yours returns None"),
    ("23.network", lambda data, experts, tensor: list(range(31)), "must stand in the list once"),
    ("23.network", lambda data, experts, tensor: list(range(32)), "A step takes 1.28 ms"),
]
