"""When a rank dies: notice it, agree about it, shrink, go on.

    try: exchange messages                  RankLost on each rank that waits for the dead one
    except RankLost: comm.revoke()          and on each that waits for one that has noticed
    if not comm.agree(whole):               the same answer on all that live
        comm = comm.shrink()                the living, in their order, with new numbers

A rank that waits for a living one does not notice a death; so the rank that notices revokes. And a
rank may have ended a step, or the whole program, before another notices: so all agree before any
rank goes on, or ends.

Cost: agree and shrink 2 ceil(log2 P) latencies each, and nothing as long as no rank asks.
Real ranks need Open MPI from 5 on with its fault tolerance: `launch(..., survivors=True)`, or
`mpiexec --with-ft ulfm --mca mpi_ft_detector true`; otherwise one death is the death of all.
Bland, Bouteiller, Herault, Bosilca and Dongarra, "Post-failure recovery of MPI communication
capability: design and rationale", IJHPCA 27, 2013.
"""

from typing import Any


class RankLost(RuntimeError):
    """Raised in a rank that waits for what cannot come any more. `dead` are the ranks of the
    communicator that are known to have died; it is empty if another rank has noticed first and
    revoked."""

    def __init__(self, rank: int, dead: tuple[int, ...]) -> None:
        what = "another one has noticed that a rank died"
        if dead:
            names = ", ".join(map(str, dead))
            what = f"ranks {names} have died" if dead[1:] else f"rank {names} has died"
        super().__init__(
            f"rank {rank} cannot go on: {what}. Revoke this communicator, agree, and shrink it "
            "to go on without the dead; `ddl_runtime.core.fault_tolerance` says how"
        )
        self.rank, self.dead = rank, dead

    def __reduce__(self) -> tuple[Any, ...]:
        return RankLost, (self.rank, self.dead)
