"""The all-reduce of torch.distributed behind our signature: what frameworks call, to compare with.

Gloo is the library that torch takes where there is no GPU. It makes connections of its own, over
TCP, so neither the ledger nor the timeline sees what it sends.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ddl_teach import Comm
from ddl_teach.collectives import tree

LONGEST_PATH = 1024


def allreduce(comm: Comm, x: np.ndarray) -> None:
    """Sum `x` over all ranks, in place. At the first call on a communicator its ranks meet."""
    import torch
    from torch import distributed

    if "gloo" not in comm.attributes:
        with meeting(comm) as store:
            comm.attributes["gloo"] = store
    distributed.all_reduce(torch.from_numpy(x))


@contextlib.contextmanager
def meeting(comm: Comm, shared: Path | None = None) -> Iterator[Any]:
    """`with meeting(comm):` torch.distributed knows these ranks, and can make groups of them.

    They find each other through a file, which asks nothing of the machine's network; ranks on
    several nodes, each with a /tmp of its own, need a folder that is `shared` by all. Afterwards
    they stay together, but for new groups the file is needed.
    """
    from torch import distributed

    with contextlib.ExitStack() as stack:
        letters = np.zeros(LONGEST_PATH, np.uint8)  # of the folder that rank 0 makes
        if comm.rank == 0:
            made = tempfile.TemporaryDirectory(prefix="ddl-gloo-", dir=shared)
            path = stack.enter_context(made).encode()
            letters[: len(path)] = np.frombuffer(path, np.uint8)
        tree.broadcast(comm, letters)
        folder = letters.tobytes().rstrip(b"\0").decode()
        if distributed.is_initialized():  # by an earlier program, perhaps of other ranks
            distributed.destroy_process_group()
        store = distributed.FileStore(f"{folder}/meeting", comm.size)
        distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)
        distributed.barrier()  # until all are connected to all
        yield store
        comm.barrier()  # the file is needed no more


def data_parallel(comm: Comm, network: Any) -> tuple[Any, Callable[[Any], None]]:
    """torch's DistributedDataParallel of a network, and its backward pass."""
    from torch.nn.parallel import DistributedDataParallel

    allreduce(comm, np.zeros(1))  # the ranks meet
    return DistributedDataParallel(network), lambda error: error.backward()
