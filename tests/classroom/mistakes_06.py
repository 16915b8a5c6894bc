"""The usual mistakes of unit 06, and words of the message that must name each."""

import math
from functools import partial

import numpy as np

from ddl_runtime.core.arrays import split_evenly
from ddl_teach import Comm
from ddl_teach.collectives import linear, native, rabenseifner, recursive_doubling, ring, tree

# -- the ring: what its first and its second half may get wrong -------------------------------


def once_round(
    comm: Comm,
    x: np.ndarray,
    first: int = 1,
    steps: int = 0,
    skew: int = 1,
    replace: bool = False,
) -> None:
    """A reduce-scatter that is right but for what its arguments say."""
    rank, size = comm.rank, comm.size
    chunks, arriving = split_evenly(x, size), split_evenly(np.empty_like(x), size)
    for step in range(first, first + size - 1 + steps):
        outgoing, incoming = (rank - step) % size, (rank - step - skew) % size
        comm.sendrecv(chunks[outgoing], (rank + 1) % size, arriving[incoming], (rank - 1) % size)
        chunks[incoming][:] = arriving[incoming] + (0 if replace else chunks[incoming])


def twice_round(
    comm: Comm, x: np.ndarray, first: int = 0, steps: int = 0, add: bool = False
) -> None:
    """A ring whose second half is right but for what its arguments say."""
    ring.reduce_scatter(comm, x)
    rank, size = comm.rank, comm.size
    chunks, arriving = split_evenly(x, size), split_evenly(np.empty_like(x), size)
    for step in range(first, first + size - 1 + steps):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(chunks[outgoing], (rank + 1) % size, arriving[incoming], (rank - 1) % size)
        chunks[incoming][:] = arriving[incoming] + (chunks[incoming] if add else 0)


def whole_vectors(comm: Comm, x: np.ndarray) -> None:
    """The sum, and every rank's whole vector has gone all the way round."""
    travelling, arriving = x.copy(), np.empty_like(x)
    for _ in range(comm.size - 1):
        comm.sendrecv(
            travelling, (comm.rank + 1) % comm.size, arriving, (comm.rank - 1) % comm.size
        )
        x += arriving
        travelling[:] = arriving


def pass_round(
    comm: Comm, x: np.ndarray, what: str = "arriving", less: int = 0, new: bool = False
) -> None:
    """Right, but for what the arguments say."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    own = passing = x.copy()
    for _ in range(comm.size - 1 - less):
        arriving = np.empty_like(x)
        comm.sendrecv(passing, right, arriving, left)
        if new:
            x = x + arriving
        else:
            x += arriving
        passing = {"arriving": arriving, "own": own, "sum": x.copy()}[what]


def in_a_new_array(comm: Comm, x: np.ndarray) -> np.ndarray:
    """The sum, but elsewhere."""
    mine = x.copy()
    ring.allreduce(comm, mine)
    return mine


def only_at_the_root(comm: Comm, x: np.ndarray) -> None:
    tree.reduce(comm, x)


def receive_first(comm: Comm, x: np.ndarray) -> None:
    arriving = np.empty_like(x)
    if comm.size > 1:
        comm.recv(arriving, (comm.rank - 1) % comm.size)
        comm.send(x, (comm.rank + 1) % comm.size)


def send_first(comm: Comm, x: np.ndarray) -> None:
    """A ring that works as long as somebody else keeps the messages for a while."""
    rank, size = comm.rank, comm.size
    chunks, arriving = split_evenly(x, size), split_evenly(np.empty_like(x), size)
    for step in range(1, 2 * size - 1):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.send(chunks[outgoing], (rank + 1) % size)
        comm.recv(arriving[incoming], (rank - 1) % size)
        chunks[incoming][:] = arriving[incoming] + (chunks[incoming] if step < size else 0)


def other_tag(comm: Comm, x: np.ndarray) -> None:
    if comm.size > 1:
        sending = comm.isend(x, (comm.rank + 1) % comm.size, tag=1)
        comm.recv(np.empty_like(x), (comm.rank - 1) % comm.size, tag=2)
        sending.wait()


def no_receive(comm: Comm, x: np.ndarray) -> None:
    if comm.size > 1:
        comm.send(x, (comm.rank + 1) % comm.size)


def sent_and_forgotten(comm: Comm, x: np.ndarray) -> None:
    if comm.size > 1:
        comm.isend(x, (comm.rank + 1) % comm.size)


def wrong_room(comm: Comm, x: np.ndarray) -> None:
    """Makes room for a whole vector where a chunk arrives."""
    if comm.size > 1:
        chunk = split_evenly(x, comm.size)[comm.rank]
        comm.sendrecv(
            chunk, (comm.rank + 1) % comm.size, np.empty_like(x), (comm.rank - 1) % comm.size
        )


def past_the_end(comm: Comm, x: np.ndarray) -> None:
    comm.sendrecv(x, comm.rank + 1, np.empty_like(x), comm.rank - 1)


# -- swapping ---------------------------------------------------------------------------------


def swap(
    comm: Comm,
    x: np.ndarray,
    replace: bool = False,
    same_partner: bool = False,
    fewer: int = 1,
) -> None:
    """Recursive doubling for powers of two that is right but for what its arguments say."""
    distance, arriving = 1, np.empty_like(x)
    while distance * fewer < comm.size:
        partner = comm.rank ^ (1 if same_partner else distance)
        comm.sendrecv(x, partner, arriving, partner)
        x[:] = arriving + (0 if replace else x)
        distance *= 2


def float_room(comm: Comm, x: np.ndarray) -> None:
    arriving = np.zeros(len(x))
    for k in range(comm.size.bit_length() - 1):
        comm.sendrecv(x, comm.rank ^ 2**k, arriving, comm.rank ^ 2**k)
        x += arriving.astype(x.dtype)


def folded(comm: Comm, x: np.ndarray, hand_in: bool = True, give_back: bool = True) -> None:
    """Recursive doubling for any count that is right but for what its arguments say."""
    core, arriving = 2 ** (comm.size.bit_length() - 1), np.empty_like(x)
    guest, host = comm.rank + core, comm.rank - core
    if host >= 0:
        if hand_in:
            comm.send(x, host)
        if give_back:
            comm.recv(x, host)
        return
    if guest < comm.size and hand_in:
        comm.recv(arriving, guest)
        x += arriving
    for k in range(core.bit_length() - 1):
        comm.sendrecv(x, comm.rank ^ 2**k, arriving, comm.rank ^ 2**k)
        x += arriving
    if guest < comm.size and give_back:
        comm.send(x, guest)


def guest_forgotten(comm: Comm, x: np.ndarray) -> None:
    """A guest waits for a result that its host never sends."""
    core = 2 ** (comm.size.bit_length() - 1)
    if comm.rank >= core:
        comm.recv(x, comm.rank - core)


# -- halving and doubling ---------------------------------------------------------------------


def one_further(comm: Comm, x: np.ndarray) -> None:
    """Partners are 1, 2, 3, ... ranks away."""
    arriving = np.empty_like(x)
    for distance in range(1, comm.size):
        comm.sendrecv(x, comm.rank ^ distance, arriving, comm.rank ^ distance)
        x += arriving


def halves_for_ever(comm: Comm, x: np.ndarray, distance: int = -1) -> None:
    """Without the case that ends the calls."""
    distance = comm.size // 2 if distance < 0 else distance
    partner, (kept, given) = comm.rank ^ distance, split_evenly(x, 2)
    arriving = np.empty_like(kept)
    comm.sendrecv(given, partner, arriving, partner)
    halves_for_ever(comm, kept, distance // 2)


def both_keep_the_lower(comm: Comm, x: np.ndarray) -> None:
    """The first step alone, in which the upper rank should keep the upper half."""
    if comm.size > 1:
        partner, (kept, given) = comm.rank ^ (comm.size // 2), split_evenly(x, 2)
        arriving = np.empty_like(kept)
        comm.sendrecv(given, partner, arriving, partner)
        kept += arriving[: len(kept)]


def halving(
    comm: Comm, x: np.ndarray, distance: int = -1, back: bool = True, add: bool = False
) -> None:
    """Rabenseifner's algorithm, right but for what its arguments say."""
    distance = comm.size // 2 if distance < 0 else distance
    if not distance:
        return
    partner, halves = comm.rank ^ distance, split_evenly(x, 2)
    kept, given = halves if comm.rank < partner else reversed(halves)
    arriving = np.empty_like(kept)
    comm.sendrecv(given, partner, arriving, partner)
    kept += arriving
    halving(comm, kept, distance // 2, back, add)
    if back:
        arriving = np.empty_like(given)
        comm.sendrecv(kept, partner, arriving, partner)
        given[:] = arriving + (given if add else 0)


# -- the size where the lines meet ------------------------------------------------------------


def meeting(
    ranks: int,
    latency: float,
    bandwidth: float,
    rounds: int = 2,
    steps: int = -1,
    whole: bool = False,
    log: object = math.log2,
) -> float:
    """The crossing of ring and recursive doubling, right but for what its arguments say."""
    if ranks == 2:
        return math.inf
    ring_steps, levels = rounds * (ranks + steps), log(ranks)
    moved = ring_steps / (1 if whole else ranks)
    return (ring_steps - levels) * latency * bandwidth / (levels - moved)


def by_parts(comm: Comm, x: np.ndarray, across: bool = True, hand_out: bool = True) -> None:
    inside = comm.split(comm.rank // 4)
    ring.reduce_scatter(inside, x)
    if across:
        ring.allreduce(comm.split(comm.rank % 4), split_evenly(x, 4)[inside.rank])
    if hand_out:
        ring.allgather(inside, x)


MISTAKES = [
    ("06.pass_round", partial(pass_round, what="own"), "your own vector in each step"),
    ("06.pass_round", partial(pass_round, what="sum"), "You pass on the sum"),
    ("06.pass_round", partial(pass_round, less=1), "have not arrived yet"),
    ("06.pass_round", partial(pass_round, new=True), "makes a new array"),
    ("06.pass_round", receive_first, "every rank receives before any rank sends"),
    ("06.pass_round", ring.allreduce, "by another algorithm"),
    ("06.reduce_scatter", partial(once_round, first=0), "Off by one chunk"),
    ("06.reduce_scatter", partial(once_round, first=2), "Off by one chunk"),
    ("06.reduce_scatter", partial(once_round, steps=-1), "never comes to rank r"),
    ("06.reduce_scatter", partial(once_round, steps=1), "sent 4 messages"),
    ("06.reduce_scatter", partial(once_round, skew=-1), "compare the two lines that say which"),
    ("06.reduce_scatter", partial(once_round, replace=True), "add it instead"),
    ("06.reduce_scatter", ring.allreduce, "The chunks are right, but one rank sent 6"),
    ("06.reduce_scatter", receive_first, "comm.sendrecv does both"),
    ("06.reduce_scatter", past_the_end, "a rank that does not exist"),
    ("06.reduce_scatter", wrong_room, "does not fit the array"),
    ("06.ring", ring.reduce_scatter, "the second is missing"),
    ("06.ring", partial(twice_round, add=True), "they replace what was there"),
    ("06.ring", partial(twice_round, first=1), "has overwritten a complete one"),
    ("06.ring", partial(twice_round, steps=-1), "One chunk never arrives"),
    ("06.ring", in_a_new_array, "you return the sum, but x itself is unchanged"),
    ("06.ring", only_at_the_root, "Only rank 0 has the sum"),
    ("06.ring", linear.allreduce, "not by a ring"),
    ("06.ring", whole_vectors, "Whole vectors travel"),
    ("06.ring", native.allreduce, "there is none"),
    ("06.ring", send_first, "a send before the receive, on every rank"),
    ("06.ring", other_tag, "compare source and tag"),
    ("06.ring", no_receive, "receive is missing"),
    ("06.ring", sent_and_forgotten, "one receive is missing"),
    ("06.swap", partial(swap, replace=True), "add it instead"),
    ("06.swap", partial(swap, same_partner=True), "the distance must double"),
    ("06.swap", one_further, "Some parts are added more than once"),
    ("06.swap", partial(swap, fewer=2), "It ends after 1 of 2 steps"),
    ("06.swap", float_room, "np.empty_like(x)"),
    ("06.swap", ring.allreduce, "by another algorithm"),
    ("06.recursive_doubling", swap, "a rank that does not exist"),
    ("06.recursive_doubling", partial(folded, give_back=False), "never get the result"),
    ("06.recursive_doubling", partial(folded, hand_in=False), "No rank adds the vector of rank"),
    ("06.recursive_doubling", linear.allreduce, "by another algorithm"),
    ("06.rabenseifner", halves_for_ever, "the calls must end there"),
    ("06.rabenseifner", both_keep_the_lower, "its partner does the opposite"),
    ("06.rabenseifner", partial(halving, back=False), "the way back is missing"),
    ("06.rabenseifner", partial(halving, add=True), "they replace what was there"),
    ("06.rabenseifner", recursive_doubling.allreduce, "That is recursive doubling"),
    ("06.rabenseifner", rabenseifner.reduce_scatter, "the way back is missing"),
    ("06.crossover", partial(meeting, rounds=1), "The ring goes round twice"),
    ("06.crossover", partial(meeting, steps=0), "takes P-1 steps, not P"),
    ("06.crossover", partial(meeting, whole=True), "a chunk of n/P bytes"),
    ("06.crossover", partial(meeting, log=math.log), "natural logarithm"),
    ("06.crossover", lambda p, latency, b: -meeting(p, latency, b), "The sign is wrong"),
    ("06.crossover", lambda p, latency, b: meeting(p, latency, 1 / b), "divide by the bandwidth"),
    ("06.crossover", lambda p, latency, b: abs(meeting(p, latency, b)) if p > 2 else 0, "2 ranks"),
    ("06.nodes", ring.allreduce, "The sum is right, after 2.03 ms"),
    ("06.nodes", partial(by_parts, across=False), "no node has sent its sum"),
    ("06.nodes", partial(by_parts, hand_out=False), "but not on all"),
    ("06.nodes", in_a_new_array, "you return the sum, but x itself is unchanged"),
    ("06.nodes", lambda comm, x: np.multiply(x, 0.5, out=x), "This is no sum"),
]
