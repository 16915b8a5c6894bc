"""A short program for each unit, which the book shows moving before the unit's first formula.

Each is run on simulated ranks. Its docstring stands beside the picture. What one looks at is the
order of things, so seconds and bytes are round numbers.
"""

from __future__ import annotations

import numpy as np

from ddl_teach import ANY, Comm, Phantom
from ddl_teach.collectives import double_binary_tree, ring, tree

WORK = 2e-6  # seconds
BYTES = 20_000


def round_a_part(comm: Comm, ranks: list[int], nbytes: int, times: int) -> None:
    """Some ranks send so many bytes to the right, as a ring of them alone."""
    place = ranks.index(comm.rank)
    right, left = ranks[(place + 1) % len(ranks)], ranks[place - 1]
    for _ in range(times):
        comm.sendrecv(Phantom(nbytes), right, Phantom(nbytes), left)


def pass_right(comm: Comm) -> None:
    """Each rank works, and a higher rank works longer. Then each rank sends a message to its
    right neighbour. Look at rank 0: it is the first that has worked, and it must wait for rank
    3."""
    comm.work(seconds=(comm.rank + 1) * WORK)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.sendrecv(Phantom(BYTES), right, Phantom(BYTES), left)


def add_in_a_tree(comm: Comm) -> None:
    """Eight numbers are added in pairs, then the sums in pairs. There are seven additions, but
    the longest chain has only three. With one rank for each number the chain decides."""
    comm.work(seconds=WORK)
    tree.reduce(comm, Phantom(800))


def rows_of_an_image(comm: Comm) -> None:
    """A convolution is many products that do not need each other. Here each rank has some rows
    of an image. It needs one row of each neighbour, and then it works alone."""
    for turn in (0, 1):
        other = comm.rank + 1 if comm.rank % 2 == turn else comm.rank - 1
        if 0 <= other < comm.size:
            comm.sendrecv(Phantom(BYTES // 4), other, Phantom(BYTES // 4), other)
    comm.work(seconds=4 * WORK)


def whole_or_in_pieces(comm: Comm) -> None:
    """Two ranks have the same batch and the same memory. Rank 0 computes it whole, by a slow
    method that needs no workspace. Rank 1 cuts it into four pieces, for which a fast method
    has room. Each sends what it has computed to rank 2."""
    if comm.rank == 0:
        comm.work(seconds=8 * WORK)
        comm.send(Phantom(BYTES), to=2)
    elif comm.rank == 1:
        for _ in range(4):
            comm.work(seconds=WORK)
            comm.send(Phantom(BYTES // 4), to=2)
    else:
        for _ in range(4):
            comm.recv(Phantom(BYTES // 4), source=1)
        comm.recv(Phantom(BYTES), source=0)


def wavefront(comm: Comm) -> None:
    """Each rank is a layer of a recurrent network. A state waits for the layer below at the
    same word, and for its own layer at the word before. So the layers run one word apart."""
    for _ in range(5):
        if comm.rank > 0:
            comm.recv(Phantom(BYTES // 8), source=comm.rank - 1)
        comm.work(seconds=WORK)
        if comm.rank < comm.size - 1:
            comm.send(Phantom(BYTES // 8), to=comm.rank + 1)


def short_and_long(comm: Comm) -> None:
    """Rank 0 sends rank 1 three messages, each ten times as long as the one before. The
    shortest takes nearly only the latency. The longest takes nearly only the time of its
    bytes."""
    for nbytes in (800, 8_000, 80_000):
        if comm.rank == 0:
            comm.send(Phantom(nbytes), to=1)
        else:
            comm.recv(Phantom(nbytes), source=0)


def round_a_ring(comm: Comm) -> None:
    """Each rank has a vector, cut into four chunks. In each step every rank sends one chunk to
    the right. After three steps each has the whole sum of one chunk. Three more steps pass
    them on."""
    ring.allreduce(comm, Phantom(4 * BYTES))


def copies_in_pieces(comm: Comm) -> None:
    """Rank 0 is a GPU, rank 1 the memory of its node, rank 2 another node. The message goes in
    four pieces: while one piece is on the network, the next one is copied."""
    for _ in range(4):
        if comm.rank > 0:
            comm.recv(Phantom(BYTES), source=comm.rank - 1)
        if comm.rank < comm.size - 1:
            comm.send(Phantom(BYTES), to=comm.rank + 1)


def average_gradients(comm: Comm) -> None:
    """Each rank has all weights and a part of the batch. It computes its gradient. Then the
    ranks add up the gradients, so that all weights change alike. This is repeated."""
    for _ in range(2):
        comm.work(seconds=4 * WORK)
        ring.allreduce(comm, Phantom(2 * BYTES))


def halves_of_a_layer(comm: Comm) -> None:
    """Each rank has a part of a layer's weights, and all of its inputs. It computes a part of
    the sum. The all-reduce makes it whole, before the next layer can begin."""
    for _ in range(2):
        comm.work(seconds=2 * WORK)
        ring.allreduce(comm, Phantom(BYTES))


def pipeline(comm: Comm) -> None:
    """Each rank has some layers. Four micro-batches go forward through all ranks, then
    backward. Look at the grey parts: there a rank has nothing to do."""
    first, last = comm.rank == 0, comm.rank == comm.size - 1
    for _ in range(4):
        if not first:
            comm.recv(Phantom(BYTES // 4), source=comm.rank - 1)
        comm.work(seconds=WORK)
        if not last:
            comm.send(Phantom(BYTES // 4), to=comm.rank + 1)
    for _ in range(4):
        if not last:
            comm.recv(Phantom(BYTES // 4), source=comm.rank + 1)
        comm.work(seconds=2 * WORK)
        if not first:
            comm.send(Phantom(BYTES // 4), to=comm.rank - 1)


def weights_in_parts(comm: Comm) -> None:
    """Each rank keeps a quarter of the weights. Before it works, the ranks pass all quarters
    round. After it has worked, each rank gets the sum of the gradients of its own quarter
    only."""
    ring.allgather(comm, Phantom(2 * BYTES))
    comm.work(seconds=4 * WORK)
    ring.reduce_scatter(comm, Phantom(2 * BYTES))


def rows_and_columns(comm: Comm) -> None:
    """Six ranks stand in a grid of two rows and three columns. The ranks of a row share one copy
    of the network and add within each layer. The ranks of a column add their gradients at the
    end."""
    row, column = comm.rank // 3, comm.rank % 3
    for _ in range(2):
        comm.work(seconds=WORK)
        round_a_part(comm, [3 * row, 3 * row + 1, 3 * row + 2], BYTES // 6, times=4)
    round_a_part(comm, [column, column + 3], BYTES // 2, times=2)


def more_work_a_step(comm: Comm) -> None:
    """Three steps, each with a batch twice as large as the one before. The work of a step
    grows. The gradient stays as large as it was, and so does the time to add it up."""
    for step in range(3):
        comm.work(seconds=2**step * WORK)
        ring.allreduce(comm, Phantom(BYTES))


def training_in_rounds(comm: Comm) -> None:
    """In each step another rank is slow. Each rank makes three steps alone, and only then do they
    average their weights. So most messages are saved, and no rank waits for the slow ones."""
    for step in range(3):
        comm.work(seconds=WORK * (1 + (comm.rank + step) % 3))
    ring.allreduce(comm, Phantom(BYTES))


def server(comm: Comm) -> None:
    """Rank 0 has the weights. Each worker sends its gradient when it is ready, and gets new
    weights. All bytes go through the server's one cable, so workers wait for it."""
    for _ in range(2):
        for worker in range(1, comm.size):
            if comm.rank == 0:
                comm.recv(Phantom(BYTES), source=worker)
                comm.send(Phantom(BYTES), to=worker)
            elif comm.rank == worker:
                comm.work(seconds=WORK)
                comm.send(Phantom(BYTES), to=0)
                comm.recv(Phantom(BYTES), source=0)


def fewer_bytes(comm: Comm) -> None:
    """The same step twice. At first the ranks add up whole gradients. Then each rank chooses
    the largest numbers of its gradient, which takes some work, and only those are sent."""
    ring.allreduce(comm, Phantom(4 * BYTES))
    comm.barrier()
    comm.work(seconds=WORK)
    ring.allgather(comm, Phantom(BYTES))


def search(comm: Comm) -> None:
    """Rank 0 gives each worker settings to try, a short message. The tries take different
    times. A worker that is ready reports its score and gets the next settings at once. From the
    seventh report on the answer is a last message: no more."""
    settings, score = np.ones(100), np.ones(100)
    if comm.rank == 0:
        for worker in range(1, comm.size):
            comm.send(settings, to=worker)
        for tried in range(1, 6 + comm.size):
            ready = comm.recv(score, source=ANY)
            settings[0] = tried < 7
            comm.send(settings, to=ready)
        return
    comm.recv(settings, source=0)
    turn = comm.rank
    while settings[0]:
        comm.work(seconds=WORK * (3 + 3 * (turn % 3)))
        comm.send(score, to=0)
        comm.recv(settings, source=0)
        turn += 1


def the_slowest_decides(comm: Comm) -> None:
    """Three ranks are fast and one is slow, in each step another one. The average rank works a
    short time. But all wait for the slowest: whoever reports the average reports too
    little."""
    for step in range(4):
        comm.work(seconds=WORK * (4 if comm.rank == step else 1))
        comm.barrier()
        round_a_part(comm, [0, 1, 2, 3], BYTES // 2, times=1)


def beside_one_process(comm: Comm) -> None:
    """Ranks 1 to 3 train together. Rank 0 computes the same step alone, on the whole batch. Then
    each sends its weights to rank 0, which compares them with its own."""
    comm.work(seconds=(6 if comm.rank == 0 else 2) * WORK)
    if comm.rank > 0:
        round_a_part(comm, [1, 2, 3], BYTES // 3, times=4)
        comm.send(Phantom(BYTES), to=0)
        return
    for other in range(1, comm.size):
        comm.recv(Phantom(BYTES), source=other)


def two_nodes(comm: Comm) -> None:
    """Ranks 0 to 2 are on one node, ranks 3 to 5 on another, with a slow cable between. First the
    ranks of a node add among themselves, each a third. Then the thirds go over the cable. At last
    the ranks of a node pass them round."""
    first = 3 * (comm.rank // 3)
    node, other = [first, first + 1, first + 2], (comm.rank + 3) % 6
    round_a_part(comm, node, BYTES, times=2)
    comm.sendrecv(Phantom(BYTES), other, Phantom(BYTES), other)
    round_a_part(comm, node, BYTES, times=2)


def keys_and_values(comm: Comm) -> None:
    """Each rank has a quarter of a text. Its keys and values go round the ring. Meanwhile each
    rank computes the attention of its own positions to the block that it has."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(comm.size):
        if step < comm.size - 1:
            waits = [comm.irecv(Phantom(BYTES), left), comm.isend(Phantom(BYTES), right)]
        comm.work(seconds=2 * WORK)
        if step < comm.size - 1:
            for request in waits:
                request.wait()


def sixteen_and_eight_bits(comm: Comm) -> None:
    """The same numbers go round a ring twice: first with 16 bits each, then with 8. The second
    time half of the bytes are sent. The latencies stay."""
    for nbytes in (8 * BYTES, 4 * BYTES):
        ring.allreduce(comm, Phantom(nbytes))
        comm.barrier()


def two_trees(comm: Comm) -> None:
    """Two trees at once: each carries half of the vector. A rank that only receives in one
    tree sends in the other. So few latencies are paid, and each cable is used both ways."""
    double_binary_tree.allreduce(comm, Phantom(4 * BYTES))


def sites(comm: Comm) -> None:
    """Ranks 0 and 1 are at one site, 2 and 3 at another, with the Internet between. Each site
    trains alone for a round of steps. Only at its end do the sites exchange what they have
    learned."""
    first, other = 2 * (comm.rank // 2), (comm.rank + 2) % 4
    for _ in range(3):
        comm.work(seconds=WORK)
        round_a_part(comm, [first, first + 1], BYTES // 8, times=2)
    comm.sendrecv(Phantom(BYTES), other, Phantom(BYTES), other)


def save_and_repeat(comm: Comm) -> None:
    """All ranks save their state on rank 4, the storage, and then train. Suppose that one of
    them fails now. All ranks load what was saved, and do the work since then a second time."""
    if comm.rank < 4:
        comm.send(Phantom(BYTES), to=4)
        comm.work(seconds=8 * WORK)
        comm.barrier()
        comm.recv(Phantom(BYTES), source=4)
        comm.work(seconds=8 * WORK)
        return
    for rank in range(4):
        comm.recv(Phantom(BYTES), source=rank)
    comm.barrier()  # until the failure
    for rank in range(4):
        comm.send(Phantom(BYTES), to=rank)


def prompts_and_words(comm: Comm) -> None:
    """Rank 0 reads prompts, a long work each. It sends the keys and values of a prompt to rank
    1 or 2. Those write the answers word by word. Meanwhile rank 0 reads the next prompt."""
    if comm.rank == 0:
        for prompt in range(4):
            comm.work(seconds=3 * WORK)
            comm.send(Phantom(2 * BYTES), to=1 + prompt % 2)
        return
    for _ in range(2):
        comm.recv(Phantom(2 * BYTES), source=0)
        for _ in range(5):
            comm.work(seconds=WORK)
