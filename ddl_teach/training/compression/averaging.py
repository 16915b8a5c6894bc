"""The mean over all ranks of vectors that travel in a given form.

Three ways, by what the form allows. m is the bytes of a message for the whole vector.

    sums       the numbers in the messages are added on the way by any all-reduce   2 (P-1)/P m
    gathered   everybody gets everybody's message: sparse forms, forms of any length    (P-1) m
    owners     rank r gets all messages for part r, adds them up, and sends the mean
               in the same form, with a memory of its own (Seide et al. 2014)       2 (P-1)/P m

Bytes are those sent by each rank. What to look at: a sparse form that saves 99% sends more than a
dense all-reduce on 200 ranks if it is gathered; that is what sparse all-reduce is for.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ddl_runtime.core.arrays import split_evenly
from ddl_teach.collectives import ring
from ddl_teach.collectives.sparse import messages as of_any_length
from ddl_teach.comm import Comm
from ddl_teach.training.compression.form import Allreduce, Form

Average = Callable[[np.ndarray], None]


def averager(comm: Comm, form: Form, size: int, allreduce: Allreduce, seed: int = 0) -> Average:
    """A function that makes a vector of that size the mean over the ranks, in place.

    It keeps the memory of this rank's links from call to call. All ranks get the same bits.
    """
    if form.sums:
        link = form.link(seed + comm.rank)

        def summed(vector: np.ndarray) -> None:
            link.average(comm, vector, allreduce)

        return summed
    if way_of(form, size) == "gathered":
        return gathered(comm, form, size, seed)
    return through_owners(comm, form, size, seed)


def way_of(form: Form, size: int) -> str:
    """Which of the three it is, as `theory.compression` calls them."""
    if form.sums:
        return "summed"
    return "gathered" if form.sparse or form.nbytes(size) is None else "owners"


def gathered(comm: Comm, form: Form, size: int, seed: int = 0) -> Average:
    """Everybody gets everybody's message: round a ring, or, where lengths vary, in fewer steps."""
    link = form.link(seed + comm.rank)
    fixed = form.nbytes(size)

    def average(vector: np.ndarray) -> None:
        message = link.encode(vector)
        if fixed is None:
            messages = of_any_length.allgather(comm, message)
        else:
            messages = round_the_ring(comm, message, [fixed] * comm.size)
        vector[:] = mean_of(messages, form, size)

    return average


def through_owners(comm: Comm, form: Form, size: int, seed: int = 0) -> Average:
    """Each rank owns a part of the vector: it averages what all send of it, and tells them."""
    rank, ranks = comm.rank, comm.size
    sizes = [len(part) for part in split_evenly(np.empty(size, np.uint8), ranks)]
    lengths = [fixed for part in sizes if (fixed := form.nbytes(part)) is not None]  # all have
    links = [form.link(seed + rank + ranks * owner) for owner in range(ranks + 1)]

    def average(vector: np.ndarray) -> None:
        parts = split_evenly(vector, ranks)
        messages = [links[owner].encode(part) for owner, part in enumerate(parts)]
        arrived = [messages[rank]] * ranks
        for distance in range(1, ranks):
            to, source = (rank + distance) % ranks, (rank - distance) % ranks
            arrived[source] = np.empty(len(messages[rank]), np.uint8)
            comm.sendrecv(messages[to], to, arrived[source], source)
        mine = mean_of(arrived, form, sizes[rank]).astype(vector.dtype)
        answers = round_the_ring(comm, links[ranks].encode(mine), lengths)
        for part, answer in zip(parts, answers, strict=True):
            part[:] = form.decode(answer, len(part))

    return average


def round_the_ring(comm: Comm, message: np.ndarray, lengths: Sequence[int]) -> list[np.ndarray]:
    """Everybody's messages, in the order of ranks, whose lengths everybody knows."""
    messages = [np.empty(length, np.uint8) for length in lengths]
    messages[comm.rank] = message
    ring.pass_round(comm, messages)
    return messages


def mean_of(messages: list[np.ndarray], form: Form, size: int) -> np.ndarray:
    """The mean of what these messages stand for: in float64, always in the order of ranks."""
    total = np.zeros(size)
    for message in messages:
        total += form.decode(message, size)
    return total / len(messages)
