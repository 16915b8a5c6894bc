"""How a message looks to MPI: the only file that imports mpi4py.

Messages travel as plain bytes, so that every element type does, also those that MPI has no name
for. The type stands in the MPI tag, beside the learner's own tag and the channel. So a message is
never taken for one of another type:

    bits   0-14  the tag        15-19  the element type, or PART
              20  the channel    21-    a hint at the size, of more than 4000 bytes
"""

from typing import Any

import numpy as np
from mpi4py import MPI

from ddl_runtime.core.arrays import Array, Phantom
from ddl_runtime.core.checks import ANY
from ddl_runtime.devices import device_of
from ddl_runtime.devices.staging import Staging

__all__ = ["MPI", "check_size", "memory", "wire_tag"]

# Where element type, channel and a hint at the size stand in an MPI tag.
TYPE_SHIFT, CHANNEL_SHIFT, SIZE_SHIFT = 15, 20, 21
SIZE_HINTS = min(1021, max(1, (int(MPI.COMM_WORLD.Get_attr(MPI.TAG_UB) or 0) >> SIZE_SHIFT) - 1))
SHORT = 4000  # bytes that travel before their receiver is known
PART = 31  # in place of an element type: a chunk of a message that comes in several
LARGEST_MESSAGE = 2**31 - 1
MPI_SOURCE = {ANY: MPI.ANY_SOURCE}  # every library has a number of its own for it


def wire_tag(tag: int, code: int, nbytes: int, channel: int) -> int:
    """The MPI tag of a message."""
    plain = tag | code << TYPE_SHIFT | channel
    if nbytes <= SHORT or SIZE_HINTS == 1:
        return plain
    # Some libraries copy all of a long message even when too little room was given for it.
    # With a hint at its size in the tag, it does not meet a receive of another size.
    return plain | 1 + nbytes % (SIZE_HINTS - 1) << SIZE_SHIFT


def check_size(nbytes: int) -> None:
    """Refuse what is too long for one message."""
    if nbytes > LARGEST_MESSAGE:
        raise ValueError(
            f"a message of {nbytes} bytes is more than MPI takes at once (2 GiB): send it in "
            "parts, for instance x[:half] and x[half:]"
        )


def memory(x: Array, nbytes: int) -> Any:
    """The memory of `x`, as MPI takes it."""
    check_size(nbytes)
    if x.__class__ is np.ndarray:
        return x
    if x.__class__ is Phantom:
        return np.empty(nbytes, np.uint8)  # real ranks move real bytes
    if isinstance(x, Staging):
        return x.memory
    device = device_of(x)
    address = x.data_ptr() if device is None else device.address(x)
    return MPI.buffer.fromaddress(address, nbytes)
