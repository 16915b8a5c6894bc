"""The usual mistakes with trees, protocols and a switch in unit 23, and words for each."""

import numpy as np

from ddl_teach.plain.double_binary_tree import parent


def as_switch(replace=False, twice=False):
    """Right, but for what the arguments say."""

    def allreduce(comm, x):
        last = comm.size - 1
        if comm.rank < last:
            if twice:
                comm.send(x.copy(), last)
            comm.sendrecv(x.copy(), last, x, last)
            return
        arriving = np.empty_like(x)
        for host in range(last):
            if twice:
                comm.recv(arriving, host)
            comm.recv(arriving, host)
            x[:] = arriving if replace else x + arriving
        for host in range(last):
            comm.send(x, host)

    return allreduce


def times_fraction(ranks, nbytes, bandwidth, latency, fraction):
    return 2 * (ranks - 1) * (latency + nbytes / ranks / bandwidth * fraction)


def latency_once(ranks, nbytes, bandwidth, latency, fraction):
    return latency + 2 * (ranks - 1) * nbytes / ranks / bandwidth / fraction


def whole_vector(ranks, nbytes, bandwidth, latency, fraction):
    return 2 * (ranks - 1) * (latency + nbytes / bandwidth / fraction)


MISTAKES = [
    ("23.switch_bytes", lambda ranks: None, "yours returns None"),
    ("23.switch_bytes", lambda ranks: ranks / 2 / (ranks - 1), "the switch divided by"),
    ("23.switch_bytes", lambda ranks: (ranks - 1) / ranks, "goes round twice"),
    ("23.switch_bytes", lambda ranks: 2 * (ranks - 1), "a ring sends chunks"),
    ("23.switch_bytes", lambda ranks: 2.0 * ranks + 7, "of 1/P vector"),
    ("23.parents", lambda rank, ranks: None, "yours returns None"),
    ("23.parents", lambda rank, ranks: parent(rank, ranks) if rank else -1, "the first tree"),
    ("23.parents", lambda rank, ranks: parent(ranks - 1 - rank, ranks), "the place above"),
    ("23.parents", lambda rank, ranks: -5, "mirror back"),
    ("23.protocol", lambda *given: None, "yours returns None"),
    ("23.protocol", times_fraction, "divide by the fraction"),
    ("23.protocol", latency_once, "Each step takes a latency"),
    ("23.protocol", whole_vector, "a chunk travels"),
    ("23.protocol", lambda *given: 1.0, "2 (P-1) steps"),
    ("23.switch", lambda comm, x: None, "x is as it was"),
    ("23.switch", as_switch(replace=True), "the last host"),
    ("23.switch", as_switch(twice=True), "once"),
]
