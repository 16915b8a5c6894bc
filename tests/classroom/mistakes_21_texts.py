"""The usual mistakes of unit 21 with a long text on many ranks, and words of each message."""

import numpy as np

from ddl_class.exercises.unit_21.context_judges import dealt


def joined(comm, x, order):
    """The exchange, with what arrives joined in another order."""
    parts = np.split(x, comm.size)
    arrived = [part.copy() for part in parts]
    for step in range(1, comm.size):
        above, below = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        comm.sendrecv(parts[above], above, arrived[below], below)
    return np.concatenate([arrived[source] for source in order(comm)], axis=1)


def from_own(comm, x):
    return joined(comm, x, lambda comm: [(comm.rank + k) % comm.size for k in range(comm.size)])


def last_first(comm, x):
    return joined(comm, x, lambda comm: reversed(range(comm.size)))


def own_only(comm, x):
    return joined(comm, x, lambda comm: [comm.rank] * comm.size)


def sends_first(comm, x):
    parts = np.split(x, comm.size)
    for step in range(1, comm.size):
        comm.send(parts[(comm.rank + step) % comm.size], (comm.rank + step) % comm.size)
        comm.recv(parts[comm.rank].copy(), (comm.rank - step) % comm.size)
    return np.concatenate(parts, axis=1)


def lists(change):
    return lambda ranks: [change(rank, ranks) for rank in range(ranks)]


MISTAKES = [
    ("21.turns", lambda rank, step, ranks: (rank + step) % ranks, "comes from below"),
    ("21.turns", lambda rank, step, ranks: rank - step, "comes the last rank"),
    ("21.turns", lambda rank, step, ranks: rank, "step 0 only"),
    ("21.turns", lambda rank, step, ranks: (rank - 1) % ranks, "step 1 only"),
    ("21.zigzag", lists(lambda rank, ranks: [2 * rank, 2 * rank + 1]), "neighbours stay"),
    ("21.zigzag", lists(lambda rank, ranks: [rank, rank + ranks]), "pair early"),
    ("21.zigzag", lists(lambda rank, ranks: [rank, 2 * ranks - rank]), "counted from 0"),
    ("21.zigzag", lists(lambda rank, ranks: [rank, rank]), "must stand in the lists once"),
    ("21.to_heads", from_own, "begin with those of this rank"),
    ("21.to_heads", last_first, "opposite order"),
    ("21.to_heads", own_only, "Only this rank's positions"),
    ("21.to_heads", sends_first, "comm.sendrecv does both"),
    ("21.exchanged", lambda n, ranks: 4 * n, "does not travel"),
    ("21.exchanged", lambda n, ranks: 3 * n * (ranks - 1) / ranks, "travel back"),
    ("21.exchanged", lambda n, ranks: n * (ranks - 1) / ranks, "four arrays"),
    ("21.exchanged", lambda n, ranks: 2 * n * (ranks - 1), "what a ring sends"),
    ("21.layout", lambda: dealt(64, 8), "all be as busy"),
    ("21.layout", lambda: [list(range(8))] * 8, "lists once"),
    (
        "21.layout",
        lambda: [list(range(13)), *map(list, np.array_split(np.arange(13, 64), 7))],
        "room for 12",
    ),
]
