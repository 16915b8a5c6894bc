"""Programs that hang or fail, and what a learner must be told about each."""

import os
import signal
import time

import numpy as np

from ddl_runtime.diagnosis.deadlock import Deadlock, RankFailed, Unreceived
from ddl_teach import ANY

X = np.zeros(4)
BIG = 300_000  # elements of a message that waits for its receiver


def mismatched_tag(comm):
    if comm.rank == 0:
        comm.send(X, 1, tag=1)
    if comm.rank == 1:
        comm.recv(np.zeros(4), 0, tag=2)


def missing_receive(comm):
    if comm.rank == 0:
        comm.send(X, 1, tag=7)


def missing_receive_of_much(comm):
    if comm.rank == 0:
        comm.send(np.zeros(BIG), 1)


def missing_send(comm):
    if comm.rank == 1:
        comm.recv(np.zeros(4), 0)


def two_receives_face_each_other(comm):
    if comm.rank < 2:
        comm.recv(np.zeros(4), 1 - comm.rank)
        comm.send(X, 1 - comm.rank)


def two_large_sends_face_each_other(comm):
    if comm.rank < 2:
        comm.send(np.zeros(BIG), 1 - comm.rank)
        comm.recv(np.zeros(BIG), 1 - comm.rank)


def ring_of_waits(comm):
    comm.recv(np.zeros(4), (comm.rank - 1) % comm.size)
    comm.send(X, (comm.rank + 1) % comm.size)


def ring_of_large_sends(comm):
    comm.send(np.zeros(BIG), (comm.rank + 1) % comm.size)
    comm.recv(np.zeros(BIG), (comm.rank - 1) % comm.size)


def sendrecv_in_the_wrong_direction(comm):
    comm.sendrecv(X, (comm.rank + 1) % comm.size, np.zeros(4), (comm.rank + 1) % comm.size)


def one_raises_before_a_collective(comm):
    if comm.rank == 3:
        raise ValueError("lost my marbles")
    comm.barrier()


def one_returns_early(comm):
    if comm.rank != 2:
        comm.barrier()


def one_does_not_split(comm):
    if comm.rank != 1:
        comm.split(0)


def barrier_against_receive(comm):
    if comm.rank == 1:
        comm.recv(np.zeros(4), 0)
    else:
        comm.barrier()


def a_chain_behind_a_ring(comm):
    other = {0: 1, 1: 0}.get(comm.rank, comm.rank - 1)
    comm.recv(np.zeros(4), other)


def waits_for_itself(comm):
    if comm.rank == 2:
        comm.recv(np.zeros(4), 2)


def wait_any_that_never_comes(comm):
    if comm.rank == 1:
        comm.wait_any([comm.irecv(np.zeros(4), 0, 1), comm.irecv(np.zeros(4), 2, 2)])


def any_that_never_comes(comm):
    if comm.rank == 1:
        comm.recv(np.zeros(4), ANY, tag=3)


def any_with_another_tag(comm):
    if comm.rank == 1:
        comm.recv(np.zeros(4), ANY, tag=3)
    if comm.rank == 2:
        comm.send(X, 1, tag=4)


def deadlock_in_a_group(comm):
    half = comm.split(comm.rank % 2)
    if comm.rank % 2:
        half.recv(np.zeros(4), (half.rank + 1) % half.size)


def mismatch_in_a_group(comm):
    pair = comm.split(comm.rank // 2)
    if comm.rank == 2:
        pair.send(X, 1)
    if comm.rank == 3:
        pair.recv(np.zeros(3), 0)


def unreceived_in_a_group(comm):
    pair = comm.split(comm.rank // 2)
    if comm.rank == 3:
        pair.send(X, 0, tag=5)


def deadlock_in_the_background(comm):
    def beside(other):
        other.recv(np.zeros(4), (other.rank + 1) % other.size)

    comm.background(beside).wait()


def partial_deadlock(comm):
    if comm.rank < 2:
        comm.recv(np.zeros(4), 1 - comm.rank)
    for _ in range(300):
        comm.work(seconds=0.1)


def isend_never_received(comm):
    if comm.rank == 0:
        comm.isend(X, 1)


def irecv_never_waited_for(comm):
    if comm.rank == 0:
        comm.send(X, 1)
    if comm.rank == 1:
        comm.irecv(np.zeros(4), 0)


def swallows_every_exception(comm):
    if comm.rank == 0:
        raise ValueError("the first")
    while True:
        try:
            comm.recv(np.zeros(4), 0)
        except Exception:
            comm.work(seconds=0.001)


IN_A_RING = "wait for each other in a ring"
RETURNED = "which has already returned"

# The program, on how many ranks, the error, and what its text must hold; where the grounds differ,
# because a simulated send never waits for its receiver, the real one's comes in a second row.
HANGING = [
    (mismatched_tag, 3, Deadlock, r"rank 1  recv\(source=0, tag=2\) of 32 bytes float64",
     "from rank 0 with tag 1 has arrived", "compare source, tag"),
    (missing_receive, 2, Unreceived, "rank 0 sent 32 bytes to rank 1 with tag 7", "missing recv"),
    (missing_send, 2, Deadlock, "rank 1  recv", f"rank 0, {RETURNED}", "a send is missing"),
    (two_receives_face_each_other, 3, Deadlock, f"2 ranks {IN_A_RING}", "use sendrecv"),
    (ring_of_waits, 5, Deadlock, f"5 ranks {IN_A_RING}", "rank 4  recv", "ring is closed"),
    (sendrecv_in_the_wrong_direction, 3, Deadlock, f"3 ranks {IN_A_RING}",
     r"sendrecv\(source=2, tag=0\)"),
    (one_raises_before_a_collective, 5, RankFailed, "rank 3 raised ValueError: lost my marbles",
     "other ranks were stopped"),
    (one_returns_early, 5, Deadlock, r"rank 0  barrier\(\)", f"rank 2, {RETURNED}",
     r"every rank must call barrier\(\)"),
    (one_does_not_split, 3, Deadlock, r"rank 0  split\(\)", r"every rank must call split\(\)"),
    (barrier_against_receive, 4, Deadlock, r"barrier\(\)", r"rank 1  recv\(source=0, tag=0\)",
     "every rank must call"),
    (a_chain_behind_a_ring, 5, Deadlock, f"2 ranks {IN_A_RING}", "Behind them wait:.*rank 4"),
    (waits_for_itself, 3, Deadlock, "rank 2 waits for itself", "must begin with isend or irecv"),
    (wait_any_that_never_comes, 3, Deadlock, "rank 1  wait_any of 2 requests",
     "all have already returned"),
    (any_that_never_comes, 3, Deadlock, r"rank 1  recv\(source=ANY, tag=3\)"),
    (any_with_another_tag, 3, Deadlock, r"rank 1  recv\(source=ANY, tag=3\)",
     "a message from rank 2 with tag 4 has arrived"),
    (deadlock_in_a_group, 6, Deadlock, f"3 ranks {IN_A_RING}",
     r"rank 1  recv\(source=1, tag=0\) of 32 bytes float64 in a group of 3.*waits for rank 3",
     "rank 5  recv.*waits for rank 1"),
    (mismatch_in_a_group, 4, RankFailed, "rank 3 raised MessageMismatch",
     "rank 3 received a message from rank 2", "the receiving array holds 24 bytes of float64"),
    (unreceived_in_a_group, 4, Unreceived, "rank 3 sent 32 bytes to rank 2 with tag 5"),
    (deadlock_in_the_background, 3, Deadlock, f"3 ranks {IN_A_RING}",
     r"rank 0  recv\(source=1, tag=0\)", "in beside"),
    (partial_deadlock, 4, Deadlock, f"2 ranks {IN_A_RING}"),
    (isend_never_received, 2, Unreceived, "rank 0 sent 32 bytes to rank 1 with tag 0"),
    (irecv_never_waited_for, 2, Unreceived, "rank 0 sent 32 bytes to rank 1", r"wait\(\)"),
]  # fmt: skip

HANGING_ON_REAL_RANKS = [
    (missing_receive_of_much, 2, Deadlock, r"rank 0  send\(to=1, tag=0\) of 2400000 bytes",
     f"rank 1, {RETURNED}", "a receive is missing"),
    (two_large_sends_face_each_other, 3, Deadlock, f"2 ranks {IN_A_RING}",
     "every rank sends before any rank receives"),
    (ring_of_large_sends, 5, Deadlock, f"5 ranks {IN_A_RING}", r"rank 0  send\(to=1"),
    (swallows_every_exception, 3, RankFailed, "rank 0 raised ValueError: the first"),
]  # fmt: skip


# -- messages that do not fit ---------------------------------------------------------------


def misfit(comm, sent, wanted, receive):
    if comm.rank == 0:
        comm.isend(sent, 1)  # a large one is never taken
    if comm.rank == 1:
        RECEIVES[receive](comm, wanted)


RECEIVES = {
    "recv": lambda comm, x: comm.recv(x, 0),
    "recv from ANY": lambda comm, x: comm.recv(x, ANY),
    "irecv": lambda comm, x: comm.irecv(x, 0).wait(),
    "wait_any": lambda comm, x: comm.wait_any([comm.irecv(x, 0), comm.irecv(x, 0, tag=1)]),
    "sendrecv": lambda comm, x: comm.sendrecv(np.zeros(0), 1, x, 0),
}


def received_first(comm, x, y, source):
    request = comm.irecv(y, source)
    comm.send(x, comm.rank)
    request.wait()


def sent_first(comm, x, y, source):
    comm.isend(x, comm.rank)
    comm.recv(y, source)


def misfit_with_oneself(comm, way, sent, wanted, source=1):
    if comm.rank == 1:
        memory = np.full(wanted + sent, 7.0)
        try:
            way(comm, np.zeros(sent), memory[:wanted], source)
        finally:
            assert (memory[wanted:] == 7).all(), "written over the end of the array"


TO_ONESELF = {
    "received first": (received_first, 1),
    "received first, from ANY": (received_first, ANY),
    "sent first": (sent_first, 1),
    "sent first, from ANY": (sent_first, ANY),
    "sendrecv": (lambda comm, x, y, source: comm.sendrecv(x, comm.rank, y, source), 1),
}
MISFITS = {
    "too short": (np.zeros(4), np.zeros(3), "the receiving array holds 24 bytes of float64"),
    "too long": (np.zeros(4), np.zeros(5), "32 bytes of float64 were sent.*holds 40 bytes"),
    "much too short": (np.zeros(BIG), np.zeros(5), "the receiving array holds 40 bytes"),
    "empty": (np.zeros(4), np.zeros(0), "the receiving array holds 0 bytes"),
    "other width": (np.zeros(4), np.zeros(4, np.float32), "32 bytes of float64.*16 bytes of"),
    "other type of one width": (np.zeros(4), np.zeros(4, int), "of float64 were sent.*of int64"),
}  # fmt: skip


def kills_mpiexec(comm):
    if comm.rank == 0:
        os.kill(os.getppid(), signal.SIGKILL)
    while True:
        time.sleep(0.01)
