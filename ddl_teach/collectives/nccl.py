"""NCCL: NVIDIA's all-reduce on GPUs, for use where it was measured to be faster.

One kernel does all steps and adds up where the bytes are, along the node's NVLinks. Our messages
are begun by the host, step after step. Its ranks are GPUs: two ranks on one GPU are refused, here
with the reason before NCCL does it. What it sends is not in the ledger.
Z. Hu et al., "Demystifying NCCL", 2025.
What to look at: NCCL wins all-reduces where MPI still wins single messages (unit 07).
"""

import socket
from datetime import timedelta
from importlib import import_module
from typing import Any

import numpy as np

from ddl_runtime.core.arrays import Array, Operation
from ddl_teach.collectives import ring, tree
from ddl_teach.comm import Comm, collective

TORCHS = {"sum": "SUM", "max": "MAX", "min": "MIN", "product": "PRODUCT"}
LONGEST_PLACE = 261  # letters: a host's name has at most 255, a port five
PATIENCE = timedelta(minutes=5)
INSTEAD = 'take "once" or "steps" for "allreduce" in comm.device_table'


@collective
def allreduce(comm: Comm, x: Array, op: Operation = "sum", *, library: str = "nccl") -> None:
    """Combine the tensor `x` of all ranks, in place. `library` may also be "gloo", which needs no
    GPU. At the first call on a communicator its ranks meet."""
    if comm.virtual_time:
        raise RuntimeError(f"{library}: simulated ranks have no process of their own: {INSTEAD}")
    if op not in TORCHS:
        raise ValueError(f"{library}: op is one of {', '.join(TORCHS)}, not {op!r}: {INSTEAD}")
    from torch import distributed

    if library not in comm.attributes:
        comm.attributes[library] = _meet(comm, library)
    options = distributed.AllreduceOptions()
    options.reduceOp = getattr(distributed.ReduceOp, TORCHS[op])
    comm.attributes[library].allreduce([x], options).wait()


def _meet(comm: Comm, library: str) -> Any:
    """torch's process group of these ranks; they find each other through rank 0."""
    distributed: Any = import_module("torch.distributed")
    if library == "nccl":
        _refuse_shared_gpus(comm)
        if not distributed.is_nccl_available():
            raise RuntimeError(f"nccl: this torch is built without it: {INSTEAD}")
    nodes, place = np.zeros(comm.size, np.int64), np.zeros(LONGEST_PLACE, np.uint8)
    nodes[comm.rank] = comm.node
    ring.allgather(comm, nodes)
    if comm.rank == 0:
        # Where all ranks are on one machine, no other can come in.
        together = len(set(nodes.tolist())) == 1
        listener = socket.create_server(("localhost" if together else "", 0))
        host, port = "localhost" if together else socket.gethostname(), listener.getsockname()[1]
        letters = f"{host} {port}".encode()
        place[: len(letters)] = np.frombuffer(letters, np.uint8)
        store = distributed.TCPStore(
            host, port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
        )
    tree.broadcast(comm, place)
    if comm.rank > 0:
        host, port = place.tobytes().rstrip(b"\0").decode().split()
        store = distributed.TCPStore(host, int(port))
    if library == "gloo":
        return distributed.ProcessGroupGloo(store, comm.rank, comm.size, PATIENCE)
    return distributed.ProcessGroupNCCL(store, comm.rank, comm.size, PATIENCE)


def _refuse_shared_gpus(comm: Comm) -> None:
    """The same error on all ranks, before any of them waits for another."""
    gpus = np.zeros(comm.size, np.int64)
    gpus[comm.rank] = gpu_number()
    ring.allgather(comm, gpus)
    if 0 in gpus:
        raise ValueError(f"nccl: rank {gpus.tolist().index(0)} has no GPU: {INSTEAD}")
    for gpu in set(gpus.tolist()):
        sharing = [rank for rank in range(comm.size) if gpus[rank] == gpu]
        if len(sharing) > 1:
            raise ValueError(
                f"nccl: ranks {sharing} share one GPU, and to NCCL a rank is a GPU: {INSTEAD}. "
                "These work between ranks that share one, by CUDA IPC if MPI is CUDA-aware, else "
                "through the host. NVIDIA's MPS lets their kernels run at the same time; it does "
                "not change what NCCL refuses"
            )


def gpu_number() -> int:
    """A number that this rank's GPU has on all ranks and no other GPU has; 0 without one."""
    import torch

    if not torch.cuda.is_available():
        return 0
    return int(str(torch.cuda.get_device_properties(0).uuid).replace("-", "")[-15:], 16) or 1
