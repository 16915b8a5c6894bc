"""Arrays on a device: which device copies their bytes, and which GPU each rank takes.

`device_of` (here) recognises them, `device` is what the communicator knows of a device, and
`choice` which way messages take. `staging` makes the copies, `awareness` finds out whether MPI may
read their memory, and `placement` gives each rank its GPU. `device_protocols` of `mpi` and of
`simulator` carry the messages. `stand_in` needs no GPU.
"""

import sys
from typing import Any

import numpy as np

from ddl_runtime.devices.device import Device

# What DLPack calls memory that only CUDA reads: ordinary, and managed.
DLPACK_CUDA = (2, 13)


def device_of(x: Any) -> Device | None:
    """The device that `x` lives on; None if that is the host's memory, or nothing that travels.
    torch is asked only if it has been imported, and CUDA only if an array is there."""
    kind = x.__class__
    if kind is np.ndarray:
        return None
    if getattr(kind, "comm_device", None) is not None:
        return x.comm_device
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        if not x.is_cuda:
            return None
    elif not hasattr(x, "__cuda_array_interface__") and not (
        hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] in DLPACK_CUDA
    ):
        return None
    from ddl_runtime.devices.cuda import cuda_device

    return cuda_device(x)
