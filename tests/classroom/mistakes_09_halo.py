"""The usual mistakes of unit 09 at the edges of strips, and words of the message for each."""

import numpy as np


def halo(comm, strip, above=None, below=None, to_above=None, to_below=None, fill=0.0):
    """Everything about it can be done wrongly."""
    rank, last = comm.rank, comm.size - 1
    wide = np.full((len(strip) + 2, strip.shape[1]), fill)
    wide[1:-1] = strip
    to_above = strip[0] if to_above is None else to_above
    to_below = strip[-1] if to_below is None else to_below
    if rank > 0:
        comm.sendrecv(to_above, rank - 1, wide[0], rank - 1)
    if rank < last:
        comm.sendrecv(to_below, rank + 1, wide[-1], rank + 1)
    return wide


def chain(comm, strip):
    return halo(comm, strip)


def only_padded(comm, strip):
    return np.pad(strip, ((1, 1), (0, 0)))


def copied_edge(comm, strip):
    return np.pad(strip, ((1, 1), (0, 0)), mode="edge")


def around(comm, strip):
    up, down = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    wide = np.pad(strip, ((1, 1), (0, 0)))
    comm.sendrecv(strip[-1], down, wide[0], up, 0)
    comm.sendrecv(strip[0], up, wide[-1], down, 1)
    return wide


def far_edges(comm, strip):
    return halo(comm, strip, to_above=strip[-1], to_below=strip[0])


def filled_with_ones(comm, strip):
    return halo(comm, strip, fill=1.0)


def beyond(comm, strip):
    wide = np.pad(strip, ((1, 1), (0, 0)))
    comm.sendrecv(strip[-1], comm.rank + 1, wide[0], comm.rank - 1)
    return wide


def send_first(comm, strip):
    wide = np.pad(strip, ((1, 1), (0, 0)))
    if comm.rank + 1 < comm.size:
        comm.send(strip[-1], comm.rank + 1)
        comm.recv(wide[-1], comm.rank + 1)
    if comm.rank > 0:
        comm.send(strip[0], comm.rank - 1)
        comm.recv(wide[0], comm.rank - 1)
    return wide


def swapped(comm, strip):
    wide = halo(comm, strip)
    if 0 < comm.rank < comm.size - 1:
        wide[[0, -1]] = wide[[-1, 0]]
    return wide


def whole_strips(comm, strip):
    wide = np.pad(strip, ((1, 1), (0, 0)))
    other = np.empty_like(strip)
    if comm.rank > 0:
        comm.sendrecv(strip, comm.rank - 1, other, comm.rank - 1)
        wide[0] = other[-1]
    if comm.rank + 1 < comm.size:
        comm.sendrecv(strip, comm.rank + 1, other, comm.rank + 1)
        wide[-1] = other[0]
    return wide


def nothing_new(comm, strip):
    return strip


def give(comm, gradient, mine=1.0, crossed=False):
    own = mine * gradient[1:-1]
    first, last = (-1, 0) if crossed else (0, -1)
    room = np.empty_like(own[0])
    if comm.rank > 0:
        comm.sendrecv(gradient[0].copy(), comm.rank - 1, room, comm.rank - 1)
        own[first] += room
    if comm.rank + 1 < comm.size:
        comm.sendrecv(gradient[-1].copy(), comm.rank + 1, room, comm.rank + 1)
        own[last] += room
    return own


def cut_off(comm, gradient):
    return gradient[1:-1]


def chain_back(comm, gradient):
    return give(comm, gradient)


def crossed(comm, gradient):
    return give(comm, gradient, crossed=True)


def kept_edges(comm, gradient):
    own = gradient[1:-1].copy()
    own[0] += gradient[0]
    own[-1] += gradient[-1]
    return own


def keeps_its_row(comm, strip):
    """Sends both ways, and receives only from above."""
    wide, up = np.pad(strip, ((1, 1), (0, 0))), comm.rank > 0
    requests = [comm.irecv(wide[0], comm.rank - 1)] if up else []
    for neighbour, row in ((comm.rank - 1, 0), (comm.rank + 1, -1)):
        if 0 <= neighbour < comm.size:
            requests.append(comm.isend(strip[row], neighbour))
    for request in requests:
        request.wait()
    return wide


def inner_rows(comm, gradient):
    own = gradient[1:-1]
    return give(comm, np.vstack([own[:1], own, own[-1:]]))


def replaced_below(comm, gradient):
    own = give(comm, gradient)
    if comm.rank + 1 < comm.size:
        own[-1] -= gradient[-2]
    return own


def replaced(comm, gradient):
    own = give(comm, gradient)
    if comm.rank > 0:
        own[0] -= gradient[1]
    return own


MISTAKES = [
    ("09.with_halo", only_padded, "still zeros"),
    ("09.with_halo", copied_edge, "its end is no copy"),
    ("09.with_halo", around, "An image is no ring"),
    ("09.with_halo", far_edges, "at its far end"),
    ("09.with_halo", filled_with_ones, "np.zeros makes one"),
    ("09.with_halo", beyond, "has none above it"),
    ("09.with_halo", send_first, "Use comm.sendrecv"),
    ("09.with_halo", swapped, "sent to the one"),
    ("09.with_halo", whole_strips, "one row to each neighbour"),
    ("09.with_halo", nothing_new, "it should have"),
    ("09.with_halo", chain, "a chain"),
    ("09.with_halo", keeps_its_row, "does each of the two send one and receive one?"),
    ("09.give_back", chain_back, "a chain"),
    ("09.give_back", cut_off, "and nothing was added"),
    ("09.give_back", crossed, "belongs to the first row"),
    ("09.give_back", kept_edges, "belong to the neighbours"),
    ("09.give_back", replaced, "do not overwrite it"),
    ("09.give_back", replaced_below, "do not overwrite it"),
    ("09.give_back", inner_rows, "What must leave are the outer rows"),
]
