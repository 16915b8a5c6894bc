"""The usual mistakes with mixing matrices and gossip, and words of the message for each."""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm

Links = list[list[int]]


def matrix_with(weight: Callable[[int, int], float], diagonal: bool = True) -> Callable:
    """A function of lists of neighbours whose weights depend on both degrees like that."""

    def weights(neighbours: Links) -> np.ndarray:
        matrix = np.zeros((len(neighbours), len(neighbours)))
        for i, near in enumerate(neighbours):
            for j in near:
                matrix[i, j] = weight(len(near), len(neighbours[j]))
            matrix[i, i] = diagonal * (1 - matrix[i].sum())
        return matrix

    return weights


def right(own: int, theirs: int) -> float:
    return 1 / (1 + max(own, theirs))


def meeting(comm, x, partner, *, into_x=False, add=True, half=2.0, early=1.0, new=False):
    """Right, but for what the arguments say."""
    theirs = x if into_x else np.empty_like(x)
    comm.sendrecv(x, partner, theirs, partner)
    if new:
        x = x / 2
    x /= early
    x[:] = x + theirs if add else theirs
    x /= half


def send_before_receive(comm: Comm, x: np.ndarray, partner: int) -> None:
    theirs = np.empty_like(x)
    comm.send(x, partner)
    comm.recv(theirs, partner)
    x += theirs
    x /= 2


def twice_as_often(comm: Comm, x: np.ndarray, partner: int) -> None:
    meeting(comm, x, partner)
    comm.sendrecv(x.copy(), partner, x, partner)


def mix(
    comm: Comm, x: np.ndarray, matrix: np.ndarray, *, row: bool = True, own: bool = True,
    hear: bool = True, multiply_first: bool = False, to_all: bool = False, blocking: bool = False,
    one_way: bool = False,
) -> None:  # fmt: skip
    """Right, but for what the arguments say."""
    me = comm.rank
    others = [rank for rank in range(comm.size) if rank != me]
    weights = matrix[me] if row else matrix[:, me]
    mine, heard = x.copy(), np.empty_like(x)
    if multiply_first:
        mine *= matrix[me, me]
    to = [rank for rank in others if to_all or matrix[(me, rank) if one_way else (rank, me)]]
    if blocking:
        for rank in to:
            comm.send(mine, rank)
    sent = [] if blocking else [comm.isend(mine, rank) for rank in to]
    x *= matrix[me, me] if own else 0.0
    for rank in others:
        if to_all or matrix[me, rank]:
            comm.recv(heard, rank)
            if hear:
                x += weights[rank] * heard
    for request in sent:
        request.wait()


def mixing_with(**wrong: bool) -> Callable:
    def mixes(comm: Comm, x: np.ndarray, matrix: np.ndarray) -> None:
        mix(comm, x, matrix, **wrong)

    return mixes


def returned(comm: Comm, x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    mine = x.copy()
    mix(comm, mine, matrix)
    return mine


def nothing_in_place(comm: Comm, x: np.ndarray, matrix: np.ndarray) -> None:
    mix(comm, x.copy(), matrix)


MISTAKES = [
    ("15.meet", lambda *given: meeting(*given, new=True), "`x /= ...` change this one"),
    ("15.meet", lambda *given: meeting(*given, half=1), "the sum of the two"),
    ("15.meet", lambda *given: meeting(*given, add=False, half=1), "have swapped their vectors"),
    ("15.meet", lambda *given: meeting(*given, half=1, early=2), "You divided before you added"),
    ("15.meet", send_before_receive, "every rank sends before any rank receives"),
    ("15.meet", twice_as_often, "1 are enough"),
    ("15.weights", matrix_with(right, diagonal=False), "The diagonal is zero"),
    ("15.weights", matrix_with(lambda own, theirs: 1 / (1 + own)), "the plain average"),
    ("15.weights", matrix_with(lambda own, theirs: 1 / (1 + theirs)), "neighbour's degree alone"),
    ("15.weights", matrix_with(lambda own, theirs: 1 / (1 + min(own, theirs))), "the smaller of"),
    ("15.weights", matrix_with(lambda own, theirs: 1 / max(own, theirs)), "leaves no weight for"),
    ("15.weights", matrix_with(lambda own, theirs: 0.1), "and 0.25 is right"),
    ("15.weights", lambda neighbours: None, "Is a `return` missing"),
    ("15.weights", lambda neighbours: np.ones(3), "a row and a column for each rank"),
    ("15.mix", mixing_with(row=False), "You took a column"),
    ("15.mix", mixing_with(own=False), "The own vector is missing"),
    ("15.mix", mixing_with(hear=False), "What the others sent is missing"),
    ("15.mix", mixing_with(multiply_first=True), "send a copy of x as it was"),
    ("15.mix", mixing_with(to_all=True), "before you send"),
    ("15.mix", mixing_with(blocking=True), "Begin with comm.isend"),
    ("15.mix", mixing_with(one_way=True), "may go one way only"),
    ("15.mix", returned, "What is returned is not used"),
    ("15.mix", nothing_in_place, "x is as it was"),
]
