"""A step of gossip by the messages of torch.distributed, over gloo.

torch has no gossip, but point-to-point messages, and `batch_isend_irecv`, which begins a list of
them together: so nobody waits for somebody who waits, in whatever order they stand there.
What to look at: `training.distribution.neighbours.mix` is the same with our communicator's verbs.
"""

import numpy as np

from ddl_class.notebook import gloo
from ddl_teach.comm import Comm


def mix(comm: Comm, x: np.ndarray, matrix: np.ndarray) -> None:
    """`x` becomes the sum over all ranks j of matrix[rank, j] * (x of rank j), in place."""
    from torch import empty_like, from_numpy
    from torch.distributed import P2POp, batch_isend_irecv, irecv, isend

    gloo.allreduce(comm, np.zeros(1))  # torch's ranks meet
    me, mine = comm.rank, from_numpy(x.copy())
    sources, targets = (np.flatnonzero(links).tolist() for links in (matrix[me], matrix[:, me]))
    heard = {source: empty_like(mine) for source in sources if source != me}
    calls = [P2POp(isend, mine, to) for to in targets if to != me]
    calls += [P2POp(irecv, into, source) for source, into in heard.items()]
    for call in batch_isend_irecv(calls) if calls else []:
        call.wait()
    x *= matrix[me, me]
    for source, theirs in heard.items():
        x += matrix[me, source] * theirs.numpy()
