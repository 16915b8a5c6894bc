"""The all-reduce of torch.distributed behind our signature: what frameworks call, to compare with.

Gloo is the library that torch takes where there is no GPU. It makes connections of its own, over
TCP, so neither the ledger nor the timeline sees what it sends.
"""

from __future__ import annotations

import tempfile

import numpy as np

from ddl_teach import Comm
from ddl_teach.collectives import tree

LONGEST_PATH = 1024


def allreduce(comm: Comm, x: np.ndarray) -> None:
    """Sum `x` over all ranks, in place. At the first call on a communicator its ranks meet."""
    import torch
    from torch import distributed

    if "gloo" not in comm.attributes:
        if distributed.is_initialized():  # by an earlier program, perhaps of other ranks
            distributed.destroy_process_group()
        # They find each other through a file, which asks nothing of the machine's network.
        store = distributed.FileStore(_same_file(comm), comm.size)
        distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)
        comm.attributes["gloo"] = store
    distributed.all_reduce(torch.from_numpy(x))


def _same_file(comm: Comm) -> str:
    """A fresh path, the same on all ranks: rank 0 makes it up and tells the others."""
    path = np.zeros(LONGEST_PATH, np.uint8)
    if comm.rank == 0:
        name = f"{tempfile.mkdtemp(prefix='ddl-gloo-')}/meeting".encode()
        path[: len(name)] = np.frombuffer(name, np.uint8)
    tree.broadcast(comm, path)
    return path.tobytes().rstrip(b"\0").decode()
