"""Arrays on a device: who copies their bytes, and which of the GPUs is whose.

A message is made of bytes in memory, and of an array on a device no host code can read any. This
room holds what the communicator needs to know of such arrays (`device`), how they are recognised
(`device_of`, here), which way their messages take (`choice`), who may read their memory
(`awareness`), and which GPU belongs to which rank (`placement`). To learn how it works, read
`device` and `staging`, and how a message is carried: `device_protocols`, `chunked` and
`requests` of `mpi` on real ranks, `device_protocols` of `simulator` in virtual time.
`stand_in` needs no GPU.
"""

import sys
from typing import Any

import numpy as np

from ddl_runtime.devices.device import Device

# What DLPack calls memory that only CUDA reads: ordinary, and managed.
DLPACK_CUDA = (2, 13)


def device_of(x: Any) -> Device | None:
    """The device that `x` lives on; None if that is the host's memory, or nothing that travels.

    torch is asked only if somebody has imported it, and CUDA only if an array is there.
    """
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
