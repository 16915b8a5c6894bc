"""The device that holds the arrays of a measurement, and the label that says so.

On a machine without a GPU the same commands run on the stand-in device, whose link to the host is
*described*: its copies take so long as is said, slept through, and nothing about it is a
measurement of hardware. It shows that the code runs, and its numbers are labelled so everywhere.
"""

from functools import cache

from ddl_measure.device_messages import ArrayHome
from ddl_measure.device_run import GPU, STAND_IN
from ddl_runtime.devices.awareness import awareness
from ddl_runtime.devices.placement import installed_gpus
from ddl_runtime.devices.timed import TimedDevice
from ddl_teach.comm import Comm

STAND_IN_LINK = 100e-6, 1e9  # seconds to start a copy, bytes a second


@cache
def device_here() -> str:
    """The kind of device that programs on this machine can use."""
    if not installed_gpus():
        return STAND_IN  # and torch need not be imported
    import torch

    return GPU if torch.cuda.is_available() else STAND_IN


def place_of(comm: Comm, device: str, link: tuple[float, float] = STAND_IN_LINK) -> ArrayHome:
    """This rank's part of it: a GPU is the rank's own (`devices.placement`), or shared."""
    if device == GPU:
        return tensors(device)[1]
    stand_in = TimedDevice(comm, *link, by_clock=True)
    stand_in.direct = True  # its memory is this process's, which MPI can read: so that path runs
    return ArrayHome(stand_in.array, stand_in.read, stand_in.synchronise)


def tensors(device: str) -> tuple[str, ArrayHome]:
    """torch's name of the device, and the place of tensors there."""
    import torch

    name, settle = "cuda", torch.cuda.synchronize
    if device != GPU:
        from ddl_runtime.devices.stand_in_torch import DEVICE, NAME  # registers it with torch

        name, settle = NAME, DEVICE.synchronise
    return name, ArrayHome(
        lambda values: torch.from_numpy(values).to(name), lambda x: x.cpu().numpy(), settle
    )


def reads_device_memory(comm: Comm, device: str) -> tuple[bool, str]:
    """Whether the path "direct" exists here, and why or why not."""
    if device == STAND_IN:
        return True, "the stand-in's memory is the host's"
    known = awareness()
    return known.direct, known.why


def about_device(
    device: str, ranks: int, link: tuple[float, float] = STAND_IN_LINK
) -> dict[str, str]:
    """What the arrays lie on; asked of no other process, so that ranks of MPI can say it too."""
    if device == GPU:
        import torch

        sizes = torch.cuda.get_device_properties(0)
        return {
            "GPU": sizes.name,
            "GPUs": f"{torch.cuda.device_count()} for {ranks} ranks",
            "GPU memory": f"{sizes.total_memory / 2**30:.0f} GiB",
            "CUDA": f"{torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}",
        }
    start, bandwidth = link
    return {
        "GPU": "NONE: a stand-in device, an exercise of the code and no measurement",
        "its link": f"described: {start * 1e6:g} us and {bandwidth / 1e9:g} GB/s a copy",
    }
