"""The GPU of each rank: the ranks of a node take the GPUs of the node in turn.

    GPU of a rank = (its number among the ranks of its node) mod (GPUs of the node)

A rank sees *all* GPUs of its node, its own first: the list in CUDA_VISIBLE_DEVICES is turned
round, so that plain "cuda" is the rank's own GPU in every library. To hide the others would keep
MPI and NCCL from copying between GPUs directly. It also stays on the cores that are near its GPU,
as the driver knows them: copies and kernels' starts then need no way from socket to socket.

CUDA reads the variable once, and an MPI library that knows GPUs calls CUDA when it starts: so this
comes before MPI, and the launcher is asked for the number, in the variables named here.
"""

import ctypes
import os
from collections.abc import Mapping, MutableMapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import takewhile

from ddl_runtime.core.element_types import backward_on_this_thread

VISIBLE = "CUDA_VISIBLE_DEVICES"
NO_BINDING = "DDL_TEACH_NO_BINDING"  # set to anything: ranks may run on all cores
ASKED_FOR = "DDL_TEACH_DEVICE"  # "cpu", "cuda" or "standin": taken as it stands
# The rank's number on its node, as launchers say it: Open MPI, MPICH, Slurm's srun.
LOCAL_RANK = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


def take_own_gpu(environment: MutableMapping[str, str] = os.environ) -> None:
    """Put this rank's GPU first in CUDA_VISIBLE_DEVICES, and stay near it. Call it before anything
    starts CUDA."""
    gpus = own_first(visible_gpus(environment), local_rank(environment))
    if len(gpus) > 1:
        environment[VISIBLE] = ",".join(gpus)
    if gpus and not environment.get(NO_BINDING) and environment.get(ASKED_FOR, "cuda") == "cuda":
        stay_near(gpus[0])


def stay_near(gpu: str) -> None:
    """Keep this thread, and those that it starts, on the cores near the GPU: on those that it had
    before. A launcher that has bound the rank elsewhere wins."""
    driver = _driver()
    if driver is None or not hasattr(os, "sched_setaffinity"):
        return
    before, handle = os.sched_getaffinity(0), ctypes.c_void_p()
    numbered = gpu.isdigit()
    of_name = (
        driver.nvmlDeviceGetHandleByIndex_v2 if numbered else driver.nvmlDeviceGetHandleByUUID
    )
    if of_name(int(gpu) if numbered else gpu.encode(), ctypes.byref(handle)) == 0:
        driver.nvmlDeviceSetCpuAffinity(handle)
        os.sched_setaffinity(0, before & os.sched_getaffinity(0) or before)
    driver.nvmlShutdown()


def own_device(number: int, environment: Mapping[str, str] = os.environ) -> str:
    """What torch calls the device of the process's rank `number`: a GPU in turn, or "cpu". Ranks
    with a process of their own are its number 0, for their GPU comes first. torch is imported only
    where there is a GPU."""
    asked = environment.get(ASKED_FOR)
    if asked or not visible_gpus(environment):
        return asked or "cpu"
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return f"cuda:{number % gpus}" if gpus else "cpu"


def prepare_torch(device: str, own_thread: bool) -> None:
    """Make a device of this name known to torch, which perhaps nothing has imported yet."""
    if find_spec("torch") is None:
        return
    stand_in = device.startswith("standin")
    import_module("ddl_runtime.devices.stand_in_torch" if stand_in else "torch")
    if own_thread:
        backward_on_this_thread()


def own_first(gpus: Sequence[str], local_rank: int) -> list[str]:
    """The GPUs of a node as one of its ranks shall see them."""
    own = local_rank % len(gpus) if gpus else 0
    return [*gpus[own:], *gpus[:own]]


def local_rank(environment: Mapping[str, str]) -> int:
    """The rank's number among those of its node; 0 where no launcher says it."""
    numbers = (environment[name] for name in LOCAL_RANK if name in environment)
    return int(next(numbers, 0))


def visible_gpus(environment: Mapping[str, str]) -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them: numbers or UUIDs. As
    in CUDA itself, the first name that is neither ends the list."""
    if VISIBLE not in environment:
        return [str(number) for number in range(installed_gpus())]
    names = environment[VISIBLE].replace(" ", "").split(",")
    return [*takewhile(lambda name: name.isdigit() or name.startswith(("GPU-", "MIG-")), names)]


def installed_gpus() -> int:
    """The number of GPUs in this machine, by the driver's own library. Counting wakes none of
    them."""
    driver, count = _driver(), ctypes.c_uint(0)
    if driver is None:
        return 0
    driver.nvmlDeviceGetCount_v2(ctypes.byref(count))
    driver.nvmlShutdown()
    return count.value


def _driver() -> ctypes.CDLL | None:
    """The driver's library, started; None on a machine without a driver."""
    try:
        driver = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return None if driver.nvmlInit_v2() else driver
