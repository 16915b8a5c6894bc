"""Halo exchange: images are cut into strips, and each rank gets the edge rows of its neighbours.

A filter of R rows sees r = (R - 1) / 2 rows above and below an output. So a rank receives r rows
from each neighbour before the convolution. Backwards the gradients of those rows go home.
Cost: take N images of C channels and width W. A strip between two others sends 2 r N C W numbers
forwards and as many backwards. The number of ranks does not matter. Dryden et al., "Improving
strong-scaling of CNN training by exploiting finer-grained parallelism", IPDPS 2019.
What to look at: more ranks make strips thinner and not their edges.
"""

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain import im2col


def convolve(comm: Comm, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Convolve this rank's strip `x` (N, C, h, W) of larger images, with zeros around those."""
    rows, columns = w.shape[2] // 2, w.shape[3] // 2
    wide = np.pad(x, ((0, 0), (0, 0), (0, 0), (columns, columns)))
    return im2col.convolve(with_halo(comm, wide, rows), w)


def with_halo(comm: Comm, x: np.ndarray, rows: int) -> np.ndarray:
    """Return `x` with `rows` rows of both neighbours, or zeros where the image ends."""
    last = x.shape[2] - rows
    above, below = swap(comm, x[:, :, :rows], x[:, :, last:])
    return np.concatenate([above, x, below], axis=2)


def strip_gradient(comm: Comm, gradient: np.ndarray, rows: int) -> np.ndarray:
    """Return the gradient of `x` from that of `with_halo(comm, x, rows)`."""
    last = gradient.shape[2] - rows
    above, below = swap(comm, gradient[:, :, :rows], gradient[:, :, last:])
    own = gradient[:, :, rows:last].copy()
    own[:, :, :rows] += above
    own[:, :, own.shape[2] - rows :] += below
    return own


def swap(comm: Comm, up: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Send `up` to the rank above and `down` to the one below; return what both send here."""
    from_above, from_below = np.zeros(up.shape), np.zeros(down.shape)
    has_above, has_below = comm.rank > 0, comm.rank + 1 < comm.size
    sending = [comm.isend(up.copy(), comm.rank - 1)] if has_above else []
    sending += [comm.isend(down.copy(), comm.rank + 1)] if has_below else []
    if has_above:
        comm.recv(from_above, comm.rank - 1)
    if has_below:
        comm.recv(from_below, comm.rank + 1)
    for request in sending:
        request.wait()
    return from_above, from_below
