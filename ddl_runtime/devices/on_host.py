"""On the host: for work on a device's array that only the host can do.

Memory that the ranks of a node share is the host's, and a library that cannot read a device's
memory reduces in the host's. Then somebody has to copy all of it out first and back afterwards,
and nothing overlaps: for n bytes two copies more than the work itself.
What to look at: what is on the host already is not copied, so nobody pays who need not.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from ddl_runtime.core.arrays import Array, as_elements, copy_into, describe
from ddl_runtime.devices import device_of


@contextmanager
def on_host(x: Array) -> Iterator[Array]:
    """`x` itself, or of an array on a device a flat copy, which is copied back in the end."""
    device = device_of(x)
    if device is None:
        yield x
        return
    host = as_elements(device.pinned(describe(x)[0]), x)
    copy_into(host, x)
    yield host
    copy_into(x, host)
