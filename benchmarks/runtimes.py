"""The same all-reduce and the same parameter server over MPI, gloo and gRPC, side by side.

    python -m benchmarks.runtimes [--ranks 2] [--repetitions 15] [--most 4_000_000] [--small]

Each runtime stands behind three verbs: send, recv, sendrecv. Two programs know nothing else: the
ring of `plain.ring_allreduce`, and a server that adds each worker's vector and answers with the
sum so far. Beside them stand the all-reduces that MPI and gloo bring themselves; gRPC has none.

    MPI      ours: mpi4py over Open MPI; on one node through shared memory
    gloo     torch.distributed: TCP through the loopback device
    gRPC     a server on each rank with a method for each sender; TCP, HTTP/2, bytes copied twice

gRPC is no dependency of the project: where `import grpc` fails (`pip install grpcio` mends that)
its rows are left out. `--small` measures small vectors a few times, and keeps nothing.
What to look at: small messages show what a call costs, large ones what a copy costs. After Awan,
Subramoni and Panda, "High performance distributed deep learning", a tutorial at PPoPP and others,
2018 to 2021.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np

from ddl_class.notebook import gloo
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side, slowest_of_all
from ddl_teach import Comm, Ranks
from ddl_teach.collectives import native, tree
from ddl_teach.plain import ring_allreduce

RESULTS = Path(__file__).parent / "results" / "runtimes.txt"
IN_A_ROW = 4


class OverGloo:
    """Three verbs of torch.distributed."""

    def __init__(self, comm: Comm) -> None:
        gloo.allreduce(comm, np.zeros(1))  # the ranks meet
        self.rank, self.size = comm.rank, comm.size

    def send(self, x: np.ndarray, to: int) -> None:
        import torch

        torch.distributed.send(torch.from_numpy(x), to)

    def recv(self, x: np.ndarray, source: int) -> None:
        import torch

        torch.distributed.recv(torch.from_numpy(x), source)

    def sendrecv(self, x: np.ndarray, to: int, y: np.ndarray, source: int) -> None:
        import torch

        going = torch.distributed.isend(torch.from_numpy(x), to)
        self.recv(y, source)
        going.wait()


class OverGrpc:
    """The same verbs: a message is a call of the receiver's method for this sender."""

    def __init__(self, comm: Comm) -> None:
        grpc = importlib.import_module("grpc")
        self.rank, self.size = comm.rank, comm.size
        self._arrived: list[Queue[bytes]] = [Queue() for _ in range(comm.size)]
        unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self._server = grpc.server(ThreadPoolExecutor(comm.size), options=unlimited)
        methods = {
            f"from{rank}": grpc.unary_unary_rpc_method_handler(self._method(rank))
            for rank in range(comm.size)
        }
        handlers = (grpc.method_handlers_generic_handler("Rank", methods),)
        self._server.add_generic_rpc_handlers(handlers)
        ports = np.zeros(comm.size, np.int64)
        ports[comm.rank] = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        tree.allreduce(comm, ports)
        self._channels = [grpc.insecure_channel(f"127.0.0.1:{p}", unlimited) for p in ports]
        self._calls = [c.unary_unary(f"/Rank/from{comm.rank}") for c in self._channels]

    def _method(self, source: int) -> Callable[[bytes, object], bytes]:
        def arrive(message: bytes, context: object) -> bytes:
            self._arrived[source].put(message)
            return b""

        return arrive

    def send(self, x: np.ndarray, to: int) -> None:
        self._calls[to](x.tobytes(), wait_for_ready=True)

    def recv(self, x: np.ndarray, source: int) -> None:
        x[:] = np.frombuffer(self._arrived[source].get(), x.dtype)

    def sendrecv(self, x: np.ndarray, to: int, y: np.ndarray, source: int) -> None:
        going = self._calls[to].future(x.tobytes(), wait_for_ready=True)
        self.recv(y, source)
        going.result()

    def close(self) -> None:
        for channel in self._channels:
            channel.close()
        self._server.stop(None).wait()


def has_grpc() -> bool:
    """Whether grpcio can be imported."""
    try:
        importlib.import_module("grpc")
    except ImportError:
        return False
    return True


def serve(comm: Any, x: np.ndarray, total: np.ndarray) -> None:
    """Rank 0 adds each worker's vector to `total`, and answers with the sum so far."""
    if comm.rank == 0:
        for worker in range(1, comm.size):
            comm.recv(x, worker)
            total += x
            comm.send(total, worker)
    else:
        comm.send(x, 0)
        comm.recv(total, 0)


def measure(comm: Comm, sizes: list[int], repetitions: int, grpc: bool) -> dict[str, Any]:
    """By program and size: for each runtime the seconds of the slowest rank, on every rank."""
    over: dict[str, Any] = {"MPI": comm, "gloo": OverGloo(comm)}
    if grpc:
        over["gRPC"] = OverGrpc(comm)
    seconds = {}
    for size in sizes:
        # Zeros, because a sum that is added up again and again overflows.
        x, total = np.zeros(size, np.float32), np.zeros(size, np.float32)
        rings: dict[str, Callable[[], None]] = {}
        servers: dict[str, Callable[[], None]] = {}
        for name, runtime in over.items():
            rings[f"ring over {name}"] = repeated(ring_allreduce.allreduce, runtime, x)
            servers[f"server over {name}"] = repeated(serve, runtime, x, total)
        rings["MPI's own"] = repeated(native.allreduce, comm, x)
        rings["gloo's own"] = repeated(gloo.allreduce, comm, x)
        for ways in (rings, servers):
            taken = side_by_side(ways, repetitions=repetitions, before=comm.barrier)
            for name, own in taken.items():
                seconds[name, size] = slowest_of_all(comm, own) / IN_A_ROW
    comm.barrier()
    if grpc:
        over["gRPC"].close()
    return seconds


def repeated(program: Callable[..., object], *arguments: Any) -> Callable[[], None]:
    """The program a few times in a row, so that a barrier before it counts little."""

    def call() -> None:
        for _ in range(IN_A_ROW):
            program(*arguments)

    return call


def sums(comm: Comm, grpc: bool) -> list[np.ndarray]:
    """What each runtime's ring gives: all must be the same."""
    over: list[Any] = [comm, OverGloo(comm), *([OverGrpc(comm)] if grpc else [])]
    rows = [np.arange(7.0) + comm.rank for _ in over]
    for runtime, row in zip(over, rows, strict=True):
        ring_allreduce.allreduce(runtime, row)
        if comm.size > 1:
            total = np.zeros(7)
            serve(runtime, np.arange(7.0) + comm.rank, total)
            row += total  # rank 0 and the last worker have all workers' sum
    comm.barrier()
    if grpc:
        over[-1].close()
    return rows


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--most", type=int, default=4_000_000, help="bytes of the longest vector")
    parser.add_argument("--small", action="store_true", help="few and small; nothing is kept")
    chosen = parser.parse_args()
    if chosen.small:
        chosen.repetitions, chosen.most = 3, 100_000
    sizes = [size for size in (256, 16_384, 1_048_576) if 4 * size <= 1.1 * chosen.most]
    grpc = has_grpc()
    with Ranks(chosen.ranks) as ranks:
        run = ranks.run(
            measure, sizes=sizes, repetitions=chosen.repetitions, grpc=grpc, trace=False,
            timeout=600,
        )  # fmt: skip
    seconds = run.results[0]
    version = importlib.import_module("grpc").__version__ if grpc else "none"
    parts = [heading(describe()), f"ranks        {chosen.ranks}\ngrpcio       {version}"]
    for size in sizes:
        lines = [f"{4 * size:,} bytes, float32, the slowest rank"]
        lines.append(f"{'way':<20}{'microseconds':>14}{'95% interval':>26}")
        for (name, of), taken in seconds.items():
            if of == size:
                median, low, high = (1e6 * each for each in interval(taken))
                lines.append(f"{name:<20}{median:>14,.0f}{low:>14,.0f} to {high:>9,.0f}")
        parts.append("\n".join(lines))
    print("\n\n".join(parts))
    if not chosen.small:
        keep(RESULTS, parts)


if __name__ == "__main__":
    main()
