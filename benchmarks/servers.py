"""How many updates a second one server rank takes: two-sided and one-sided, beside a memory copy.

    python -m benchmarks.servers [--repetitions 15] [--least 10_000] [--most 10_000_000]

Rank 0 holds the weights, rank 1 sends updates (float32, the rule is SGD). Ways, all by turns:

    push            updates one after the other through `SharedMemoryServer()`, no rank
                    waits for an answer
    push and pull   a whole exchange: hand a gradient in, fetch the new weights
    add             updates added to rank 0's window; rank 0 does nothing
    add and get     the same, and the weights read back
    memory copy     rank 1 copies as many bytes within its own memory

No server can take in an update faster than memory takes a copy of it: `of a copy` says how close
each way comes, a ratio of medians measured side by side. All must end with the right weights.

Below stand the parts of a push, each alone and again by turns. Through shared memory the worker
looks for NaN and writes the update times the rate. The server adds meanwhile what was written
before, so the longer of the two is the floor. By messages the parts are a message through `comm`;
the same by MPI's own calls, whose one copy is made by the kernel, page by page; and the server's
step, which reads update and weights and writes weights. Message and step follow each other on the
server, so their sum is the floor of a push by messages.

Where two cores share no cache, what the worker writes must first be fetched from the server's. So
a block of 1 MiB is also written alone: one that no other core has seen, and one that the server
has read. On a virtual machine that changes from minute to minute, with the cores that its host
lends it. So it is measured beside each size. `results/servers_on_far_cores.txt` is a second
run, in which these were far apart.

At the end stand figures of ps-lite's own benchmark, as its developers and users published them.
Theirs are other machines, with a network between worker and server. `benchmarks.runtimes` has a
server over gRPC on this machine, with the same work as one over MPI.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from mpi4py import MPI

from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm, Ranks
from ddl_teach.training.compression.compressor import checked
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.distribution.server_state import ServerState
from ddl_teach.training.distribution.through_memory import BLOCK, SharedMemoryServer
from ddl_teach.training.optimizers.sgd import SGD

RESULTS = Path(__file__).parent / "results" / "servers.txt"
SIZES = (10_000, 100_000, 250_000, 1_000_000, 10_000_000)  # parameters
IN_A_ROW = 8  # updates, so that the last answer counts little
COPY = "memory copy"
PART = 9  # the tag of messages that are measured alone
PUBLISHED = (  # the network, gigabits a second of pushes, and where that stands
    ("RDMA", 65, "bytedance/byteps, issue 179, comment of laochanlam, 2019-12-16"),
    ("RoCE of 200 Gb/s", 40, "bytedance/ps-lite, pull request 73, before it, 2021-04-11"),
    ("a card of 100 Gb/s", 29, "bytedance/ps-lite, pull request 75, one of each, 2021-04-14"),
    ("a card of 100 Gb/s", 53, "bytedance/ps-lite, pull request 75, two of each, 2021-04-14"),
)


def measure(comm: Comm, size: int, repetitions: int, shared: bool) -> dict[str, np.ndarray] | None:
    """On rank 1: seconds of one update, by way; rank 0 serves meanwhile."""
    weights = np.zeros(size, np.float32)
    window = comm.window(size if comm.rank == 0 else 0, np.float32)
    service = Service(SGD(1.0), bound=math.inf)
    station = (SharedMemoryServer() if shared else Server()).open(comm, weights, Dense(), service)
    if station.worker is None:
        station.serve()
        return None
    update, fetched, copied = (np.full(size, value, np.float32) for value in (1.0, 0.0, 0.0))
    counts = {"pushed": 0, "added": 0}

    def push() -> None:
        for _ in range(IN_A_ROW):
            station.push(update)
        counts["pushed"] += IN_A_ROW

    def push_and_pull() -> None:
        for _ in range(IN_A_ROW):
            station.push(update)
            station.pull(fetched)
        counts["pushed"] += IN_A_ROW

    def add() -> None:
        for _ in range(IN_A_ROW):
            window.add(update, 0)
        counts["added"] += IN_A_ROW

    def add_and_get() -> None:
        for _ in range(IN_A_ROW):
            window.add(update, 0)
            window.get(fetched, 0)
        counts["added"] += IN_A_ROW

    def copy() -> None:
        for _ in range(IN_A_ROW):
            np.copyto(copied, update)

    ways = {"push": push, "push and pull": push_and_pull, "add": add, "add and get": add_and_get}
    # Before each turn the server has caught up, or one way would pay for another.
    seconds = side_by_side(
        ways | {COPY: copy}, repetitions=repetitions, before=lambda: station.pull(fetched)
    )
    station.pull(fetched)
    if not np.array_equal(fetched, np.full(size, -counts["pushed"], np.float32)):
        raise AssertionError("the server does not hold the sum of what was pushed")
    window.get(fetched, 0)
    if not np.array_equal(fetched, np.full(size, counts["added"], np.float32)):
        raise AssertionError("the window does not hold the sum of what was added")
    station.leave()
    return {name: times / IN_A_ROW for name, times in seconds.items()}


def parts_of_a_push(comm: Comm, size: int, repetitions: int) -> dict[str, np.ndarray]:
    """Seconds of each part by itself, on the server; the worker sends what it receives."""
    weights, update, room = (np.full(size, value, np.float32) for value in (0.0, 1.0, 0.0))
    state = ServerState(weights, 1, Service(SGD(1.0), bound=math.inf))
    serves = comm.rank == 0

    def message() -> None:
        for _ in range(IN_A_ROW):
            comm.recv(room, 1, PART) if serves else comm.send(update, 0, PART)

    def by_mpi() -> None:
        for _ in range(IN_A_ROW):
            MPI.COMM_WORLD.Recv(room, 1, PART) if serves else MPI.COMM_WORLD.Send(update, 0, PART)

    def step() -> None:
        for _ in range(IN_A_ROW * serves):
            state.push(0, state.version, update)

    def write() -> None:
        for _ in range(IN_A_ROW * serves):
            np.multiply(checked(update), -1.0, out=room)

    def add() -> None:
        for _ in range(IN_A_ROW * serves):
            np.add(weights, room, out=weights)

    def copy() -> None:
        for _ in range(IN_A_ROW * serves):
            np.copyto(room, update)

    ways = {"message": message, "MPI's message": by_mpi, "step": step, "write": write, "add": add}
    ways[COPY] = copy
    seconds = side_by_side(ways, repetitions=repetitions, before=comm.barrier)
    return {name: times / IN_A_ROW for name, times in seconds.items()}


def written(comm: Comm, repetitions: int) -> dict[str, np.ndarray]:
    """Seconds in which rank 0 writes a block of shared memory that it alone has touched, and one
    that rank 1 has read."""
    memory, count = comm.shared_memory(2 * BLOCK), BLOCK // 4
    own, room = (memory.arrays(np.dtype(np.float32), count, place)[0] for place in (0, BLOCK))
    update = np.ones(count, np.float32)

    def look() -> None:
        comm.barrier()
        if comm.rank == 1:
            room.sum()
        comm.barrier()

    ways = {
        name: (lambda block=block: None if comm.rank else np.copyto(block, update))
        for name, block in (("own", own), ("read", room))
    }
    return side_by_side(ways, repetitions=repetitions, before=look)


def floor(found: dict[str, np.ndarray], sent: dict[str, np.ndarray], parts: dict) -> str:
    """Lines that say how much of a push its parts explain: through memory and by messages."""
    medians = {name: float(np.median(times)) for name, times in parts.items()}
    alone = ", ".join(f"{name} {1e3 * seconds:.3f}" for name, seconds in medians.items())
    push, message = (float(np.median(times["push"])) for times in (found, sent))
    of_a_copy = float(np.median(sent[COPY])) / message
    share = (medians["message"] + medians["step"]) / message
    best = medians[COPY] / (medians["MPI's message"] + medians["step"])
    return (
        f"parts alone, ms: {alone}\n"
        f"what the worker writes is {medians['write'] / push:.0%} of a push, "
        f"what the server adds {medians['add'] / push:.0%}\n"
        f"by messages a push takes {1e3 * message:.3f} ms, {of_a_copy:.2f} of a copy\n"
        f"message and step are {share:.0%} of a push by messages; with MPI's message {best:.2f} "
        "of a copy"
    )


def published() -> str:
    """One line for each figure of ps-lite's own benchmark."""
    lines = ["published of ps-lite's own benchmark, other machines (all on github.com)"]
    for link, gigabits, where in PUBLISHED:
        lines.append(f"{link:<20}{gigabits:>4} Gb/s{gigabits / 8:>8.1f} GB/s   {where}")
    return "\n".join(lines)


def table(size: int, seconds: dict[str, np.ndarray]) -> str:
    """One line a way."""
    copy = float(np.median(seconds[COPY]))
    lines = [
        f"{size:,} parameters, {size * 4 / 1e6:g} MB",
        f"{'way':<16}{'updates/s':>12}{'95% interval':>26}{'GB/s':>8}{'of a copy':>12}",
    ]
    for name, times in seconds.items():
        median, low, high = interval(times)
        lines.append(
            f"{name:<16}{1 / median:>12,.0f}{1 / high:>14,.0f} to {1 / low:>8,.0f}"
            f"{size * 4 / median / 1e9:>8.2f}{copy / median:>12.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print the tables, keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--least", type=int, default=SIZES[0])
    parser.add_argument("--most", type=int, default=SIZES[-1])
    chosen = parser.parse_args()
    parts = [heading(describe())]
    with Ranks(2) as ranks:
        for size in (size for size in SIZES if chosen.least <= size <= chosen.most):
            given = {"size": size, "repetitions": chosen.repetitions, "trace": False}
            found, sent = (
                ranks.run(measure, shared=shared, timeout=600, **given).results[1]
                for shared in (True, False)
            )
            alone = ranks.run(parts_of_a_push, **given).results[0]
            blocks = ranks.run(written, repetitions=99, trace=False).results[0]
            own, read = (1e6 * np.median(blocks[name]) for name in ("own", "read"))
            lines = [table(size, found), floor(found, sent, alone)]
            parts.append("\n".join([*lines, f"a block is written in {own:.0f} us, and in "
                                    f"{read:.0f} us where the server has read it"]))  # fmt: skip
            print(parts[-1], flush=True)
    parts.append(published())
    print(parts[-1])
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
