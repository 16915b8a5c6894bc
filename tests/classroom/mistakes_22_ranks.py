"""The usual mistakes with sums in bytes, Muon and muP, and words of the message for each."""

import numpy as np

from ddl_class.exercises.unit_22.rank_judges import LAYERS
from ddl_teach import Comm
from ddl_teach.collectives import ring
from ddl_teach.training.optimizers.muon import orthogonal


def bytes_of(rounded=np.rint, axis=1, back=True):
    """Right, but for what the arguments say."""

    def through_bytes(x, block):
        rows = x.reshape(-1, block)
        step = np.abs(rows).max(axis=axis, keepdims=True) / 127
        codes = rounded(rows / step)
        return (codes * step if back else codes).ravel()

    return through_bytes


def summing(own=True, finished=True, alike=True, worth=1.0):
    """Right, but for what the arguments say: an own part that is not rounded, and so on."""

    def all_to_all(comm: Comm, x: np.ndarray, step: float) -> None:
        codes = np.split(np.rint(x / step).astype(np.int8), comm.size)
        total = codes[comm.rank].astype(float) if own else np.split(x / step, comm.size)[comm.rank]
        for shift in range(1, comm.size):
            arriving, to = np.empty_like(codes[0]), (comm.rank + shift) % comm.size
            comm.sendrecv(codes[to], to, arriving, (comm.rank - shift) % comm.size)
            total = total + arriving
        if not finished:
            means = np.empty(len(x))
            np.split(means, comm.size)[comm.rank][:] = total / comm.size
        else:
            means = np.empty(len(x), np.int8)
            np.split(means, comm.size)[comm.rank][:] = np.rint(total / comm.size)
        ring.allgather(comm, means)
        x[:] = means * (step * comm.size * worth)
        if not alike:
            np.split(x, comm.size)[comm.rank][:] = total * step

    return all_to_all


def one_way(comm: Comm, x: np.ndarray, step: float) -> None:
    codes = np.split(np.rint(x / step).astype(np.int8), comm.size)
    for shift in range(1, comm.size):
        comm.send(codes[(comm.rank + shift) % comm.size], (comm.rank + shift) % comm.size)


def whole(comm: Comm, x: np.ndarray, step: float) -> None:
    ring.allreduce(comm, x)


def mean_of(comm: Comm, x: np.ndarray, step: float) -> None:
    summing()(comm, x, step)
    x /= comm.size


def to_bytes(middle=True, scaled=True, signed=False, magnitudes=False):
    """Right, but for what the arguments say."""

    def places(x, values):
        scale = x.max() if signed else np.abs(x).max()
        edges = (values[1:] + values[:-1]) / 2 if middle else values
        parts = x / scale if scaled else x
        return np.searchsorted(edges, np.abs(parts) if magnitudes else parts), scale

    return places


def growing(matrix):
    x = matrix * 1e3
    with np.errstate(all="ignore"):
        for _ in range(5):
            gram = x @ x.T
            x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    return x


def by_svd(matrix):
    u, _, vt = np.linalg.svd(matrix, full_matrices=False)
    return u @ vt


def in_order(work, ranks):
    """The smallest first."""
    load, owner = [0] * ranks, [0] * len(work)
    for place in np.argsort(work):
        owner[place] = load.index(min(load))
        load[owner[place]] += work[place]
    return owner


def of_width(start=None, rate=None):
    """Right, but for the kinds that the arguments name."""
    right = {"input": 0.5, "hidden": 0, "output": -0.5, "vector": 0}
    falls = {"input": 0, "hidden": -1, "output": -1, "vector": 0}

    def multipliers(kind, width, base):
        wider = width / base
        powers = right | (start or {}), falls | (rate or {})
        return tuple(wider ** power[kind] for power in powers)

    return multipliers


EIGHT = [("all-to-all", 8, 64)] * len(LAYERS)
MISTAKES = [
    ("22.bytes", bytes_of(np.floor), "makes all sums too small"),
    ("22.bytes", bytes_of(axis=None), "one scale for all blocks"),
    ("22.bytes", bytes_of(back=False), "Those are the codes"),
    ("22.bytes", bytes_of(np.ceil), "A step is the largest magnitude"),
    ("22.bytes", lambda x, block: x[:3], "as many numbers as x has"),
    ("22.hops", lambda ranks: (ranks - 1, 2), "The finished sum is rounded too"),
    ("22.hops", lambda ranks: (2, ranks), "First the ring"),
    ("22.hops", lambda ranks: (ranks, ranks), "in one of these parts"),
    ("22.hops", lambda ranks: (ranks, 1), "A rank rounds its own part"),
    ("22.hops", lambda ranks: (2 * (ranks - 1), 2), "is not rounded again"),
    ("22.hops", lambda ranks: (7, 7), "Count the messages"),
    ("22.hops", lambda ranks: ranks, "return two numbers"),
    ("22.all_to_all", lambda comm, x, step: None, "x is as it was"),
    ("22.all_to_all", whole, "do bytes travel"),
    ("22.all_to_all", mean_of, "That is the mean"),
    ("22.all_to_all", summing(finished=False), "The finished sum has not been rounded"),
    ("22.all_to_all", summing(alike=False), "The owner kept its exact sum"),
    ("22.all_to_all", summing(worth=2.0), "Round x / step to bytes"),
    ("22.all_to_all", one_way, "every rank sends before any rank receives"),
    ("22.states", to_bytes(middle=False), "not the nearest"),
    ("22.states", to_bytes(scaled=False), "Divide by the scale first"),
    ("22.states", to_bytes(signed=True), "a negative one is larger"),
    ("22.states", to_bytes(magnitudes=True), "The signs are lost"),
    ("22.states", lambda x, values: x, "return (places, scale)"),
    ("22.states", lambda x, values: (0 * x, 30.0), "how many middles"),
    ("22.orthogonal", growing, "numbers became infinite"),
    ("22.orthogonal", lambda matrix: matrix / np.linalg.norm(matrix), "the rounds are missing"),
    ("22.orthogonal", lambda matrix: orthogonal(matrix, 1), "That is one round"),
    ("22.orthogonal", lambda matrix: orthogonal(matrix, 4), "That is four rounds"),
    ("22.orthogonal", by_svd, "singular values of exactly 1"),
    ("22.orthogonal", lambda matrix: matrix, "Compare your round"),
    ("22.orthogonal", lambda matrix: matrix[0], "a matrix of the same shape"),
    ("22.owner", lambda work, ranks: [n % ranks for n in range(len(work))], "go round in turn"),
    ("22.owner", in_order, "Take the largest first"),
    ("22.owner", lambda work, ranks: [ranks] * len(work), "each from 0 to"),
    ("22.owner", lambda work, ranks: ranks, "as a list of whole numbers"),
    ("22.width", lambda kind, width, base: (1, 1), "right only for a bias"),
    ("22.width", of_width(rate={"hidden": -0.5}), "not with its root"),
    ("22.width", of_width(rate={"input": -1}), "its rate must not fall"),
    ("22.width", of_width(start={"output": -1}), "begins with 1/sqrt(width) already"),
    ("22.width", of_width({"output": -0.5}, {"output": 1}), "turned round"),
    ("22.width", of_width({"hidden": 3}), "Compare with the row"),
    ("22.width", lambda kind, width, base: 1, "return (start, rate)"),
    ("22.bits", lambda sizes: EIGHT[:2], "a row for each layer"),
    ("22.bits", lambda sizes: [("tree", 8, 64)] * 4, "the ways are"),
    ("22.bits", lambda sizes: [("ring", 7, 64)] * 4, "and 2% is allowed"),
    ("22.bits", lambda sizes: EIGHT, "The goal is"),
]
