"""The patterns of `patterns.cpp` as rank programs, message for message.

The all-reduces are written out here rather than taken from `ddl_teach.collectives`, so that both
sides do nothing but send: no reductions, no buffers.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ddl_teach import Comm, Phantom


def ring(comm: Comm, nbytes: int) -> None:
    """2 (P-1) steps, a P-th of the vector to the next rank in each."""
    piece = Phantom(nbytes // comm.size)
    above, below = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(2 * (comm.size - 1)):
        comm.sendrecv(piece, above, piece, below)


def recursive_doubling(comm: Comm, nbytes: int) -> None:
    """The whole vector to the rank whose number differs in one bit, bit after bit."""
    vector, distance = Phantom(nbytes), 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        comm.sendrecv(vector, partner, vector, partner)
        distance *= 2


def rabenseifner(comm: Comm, nbytes: int) -> None:
    """Halves, quarters, eighths to ever nearer partners, then back."""
    distance = comm.size // 2
    while distance:
        nbytes //= 2
        partner = comm.rank ^ distance
        comm.sendrecv(Phantom(nbytes), partner, Phantom(nbytes), partner)
        distance //= 2
    distance = 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        comm.sendrecv(Phantom(nbytes), partner, Phantom(nbytes), partner)
        nbytes *= 2
        distance *= 2


def linear(comm: Comm, nbytes: int) -> None:
    """All to rank 0, and back from rank 0 to all."""
    vector = Phantom(nbytes)
    if comm.rank:
        comm.send(vector, 0)
        comm.recv(vector, 0)
        return
    for request in [comm.irecv(vector, other) for other in range(1, comm.size)]:
        request.wait()
    for request in [comm.isend(vector, other) for other in range(1, comm.size)]:
        request.wait()


def alltoall(comm: Comm, nbytes: int) -> None:
    """One partner after another, ever farther round."""
    block = Phantom(nbytes // comm.size)
    for step in range(1, comm.size):
        to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        comm.sendrecv(block, to, block, source)


def alltoall_at_once(comm: Comm, nbytes: int) -> None:
    """All partners at the same time."""
    block, requests = Phantom(nbytes // comm.size), []
    for step in range(1, comm.size):
        requests.append(comm.irecv(block, (comm.rank - step) % comm.size))
        requests.append(comm.isend(block, (comm.rank + step) % comm.size))
    for request in requests:
        request.wait()


def shift(comm: Comm, nbytes: int) -> None:
    """Every rank to the one half way round."""
    vector, half = Phantom(nbytes), comm.size // 2
    comm.sendrecv(vector, (comm.rank + half) % comm.size, vector, (comm.rank - half) % comm.size)


def scatter_about(comm: Comm, nbytes: int) -> None:
    """A permutation that looks random: 37 is odd, so it is one to one on powers of two."""
    vector = Phantom(nbytes)
    targets = [(rank * 37 + 11) % comm.size for rank in range(comm.size)]
    comm.sendrecv(vector, targets[comm.rank], vector, targets.index(comm.rank))


def two_targets(comm: Comm, nbytes: int) -> None:
    """Rank r sends 1 + r % 4 times the vector to rank 0 or, from the upper half, to rank 1."""
    half, requests = comm.size // 2, []
    target = comm.rank // half
    if comm.rank < 2:
        for source in range(comm.rank * half, (comm.rank + 1) * half):
            if source != comm.rank:
                requests.append(comm.irecv(Phantom(nbytes * (1 + source % 4)), source))
    if target != comm.rank:
        requests.append(comm.isend(Phantom(nbytes * (1 + comm.rank % 4)), target))
    for request in requests:
        request.wait()


def rings_of_a_grid(comm: Comm, nbytes: int) -> None:
    """Rank r in a ring with all whose numbers differ by a multiple of 8: data of a grid with
    tensor 8. Where a node has 8 ranks, all its rings share its cable."""
    stride = 8 if comm.size > 8 and comm.size % 8 == 0 else 1
    members = comm.size // stride
    piece = Phantom(nbytes // members)
    above, below = (comm.rank + stride) % comm.size, (comm.rank - stride) % comm.size
    for _ in range(2 * (members - 1)):
        comm.sendrecv(piece, above, piece, below)


PATTERNS: Mapping[str, Callable[[Comm, int], None]] = MappingProxyType(
    {
        program.__name__: program
        for program in (
            ring,
            recursive_doubling,
            rabenseifner,
            linear,
            alltoall,
            alltoall_at_once,
            shift,
            scatter_about,
            two_targets,
            rings_of_a_grid,
        )
    }
)
