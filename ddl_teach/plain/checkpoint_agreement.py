"""Checkpoint agreement: after a failure all ranks go on from the newest step that all have.

Each rank writes its own files, and a rank that fails early has not written its last one, so no
rank may choose alone. Each proposes its newest whole file that is not above what is agreed so far.
The least proposal is agreed, until it does not change.
Cost: with a save of C seconds every T seconds, and a failure every M seconds, C/T + T/2M of the
time is lost; the best T is sqrt(2 C M). To agree takes P - 1 small messages a round.
Young, "A first order approximation to the optimum checkpoint interval", CACM 1974.
What to look at: a file gets its name when it is complete, and a checksum shows later damage.
"""

import hashlib
from pathlib import Path

import numpy as np

from ddl_teach import Comm

NOTHING, LATEST = -1, 2**62


def save(comm: Comm, folder: Path, step: int, state: np.ndarray) -> None:
    """Write this rank's state after `step` steps into its own folder."""
    contents, draft = state.tobytes(), folder / "draft"
    draft.write_bytes(hashlib.sha256(contents).digest() + contents)
    draft.rename(folder / f"{step}.checkpoint")
    comm.barrier()  # from here on all ranks have it, and older files may go


def whole_steps(folder: Path) -> list[int]:
    """The steps of which this rank has a file that is as it was written."""
    files = {int(path.stem): path.read_bytes() for path in folder.glob("*.checkpoint")}
    return [
        step for step, file in files.items() if hashlib.sha256(file[32:]).digest() == file[:32]
    ]


def newest(comm: Comm, folder: Path) -> int:
    """The newest step of which every rank has a file; NOTHING if there is no such step."""
    mine = whole_steps(folder)
    agreed, before = LATEST, None
    while agreed != before:
        before = agreed
        agreed = minimum(comm, max((step for step in mine if step <= agreed), default=NOTHING))
    return agreed


def minimum(comm: Comm, number: int) -> int:
    """The least of all ranks' numbers, on all ranks."""
    own, theirs, least = np.array([number]), np.empty(1, int), number
    for distance in range(1, comm.size):
        to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(own, to, theirs, source)
        least = min(least, int(theirs[0]))
    return least
