"""The usual mistakes with changes and on the slow link, and words of the message for each."""

import numpy as np

from ddl_teach import Comm


def gossiping(
    send=lambda x, known: np.round(x - known[1]),
    keep=lambda known, new: known + new,
    pull=lambda known, x: known.mean(axis=0) - known[1],
    factor=lambda pull: pull,
    rows=(0, 1, 2),
):
    """Right, but for what the arguments say."""

    def changes(comm: Comm, x: np.ndarray, known: np.ndarray, pull_by: float) -> None:
        left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        new = np.zeros((3, len(x)))
        new[1] = send(x, known)
        comm.sendrecv(new[1], right, new[0], left)
        comm.sendrecv(new[1], left, new[2], right)
        masked = np.zeros_like(new)
        masked[list(rows)] = new[list(rows)]
        known[...] = keep(known, masked)
        x += factor(pull_by) * pull(known, x)

    def renamed(comm: Comm, x: np.ndarray, known: np.ndarray, pull: float) -> None:
        changes(comm, x, known, pull)

    return renamed


def one_way(comm: Comm, x: np.ndarray, known: np.ndarray, pull: float) -> None:
    change = np.round(x - known[1])
    comm.send(change, (comm.rank + 1) % comm.size)
    comm.send(change, (comm.rank - 1) % comm.size)


def chosen(entries: int, rate: float, value=lambda total: total):
    """So many of the largest entries arrive, each as this value of it."""

    def on_the_link(totals: np.ndarray, step: int) -> tuple[np.ndarray, float]:
        arrived = np.zeros_like(totals)
        for row, total in zip(arrived, totals, strict=True):
            places = np.argsort(np.abs(total))[len(total) - entries :]
            row[places] = value(total[places])
        return arrived, rate

    return on_the_link


MISTAKES = [
    ("16.changes", lambda comm, x, known, pull: None, "The copies are as they were"),
    ("16.changes", gossiping(rows=(1,)), "Only the own copy has changed"),
    ("16.changes", gossiping(rows=(0, 2)), "The own copy must change as well"),
    ("16.changes", gossiping(send=lambda x, known: np.round(x)), "You send the whole vector"),
    ("16.changes", gossiping(keep=lambda known, new: new), "it does not replace it"),
    ("16.changes", gossiping(send=lambda x, known: x - known[1]), "the vectors themselves"),
    (
        "16.changes",
        gossiping(keep=lambda known, new: (known + new)[::-1]),
        "Left and right are exchanged",
    ),
    ("16.changes", gossiping(factor=lambda pull: 0.0), "x is as it was"),
    ("16.changes", gossiping(pull=lambda known, x: known.mean(axis=0) - x), "not x: what was not"),
    ("16.changes", gossiping(factor=lambda pull: 1.0), "Multiply the difference by `pull`"),
    ("16.changes", gossiping(factor=lambda pull: -pull), "away from its neighbours"),
    (
        "16.changes",
        gossiping(pull=lambda known, x: known.sum(axis=0) - known[1]),
        "not their sum",
    ),
    ("16.changes", one_way, "every rank sends before any rank receives"),
    ("16.link", lambda totals, step: totals, "return two things"),
    ("16.link", lambda totals, step: (totals, 1.0), "and it should be 0.15"),
    ("16.link", lambda totals, step: (0 * totals, 1.0), "and it should be 0.15"),
    ("16.link", lambda totals, step: (totals[0], 1.0), "yours has the shape"),
    ("16.link", chosen(10, 1.0), "The goal is 350 ms"),
    ("16.link", chosen(2_410, 1.0, np.sign), "and it should be 0.15"),
]
