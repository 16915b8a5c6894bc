"""When a rank dies: notice it, agree about it, shrink, go on.

    try: exchange messages                  RankLost on whoever waits for the dead
    except RankLost: comm.revoke()          and on whoever waits for one who has noticed
    if not comm.agree(whole):               the same answer on all who live
        comm = comm.shrink()                the living, in their order, with new numbers

Who waits for the living does not notice: he waits for one who waits for one who waits for the
dead. So whoever notices revokes. And one can be through before the other notices, with a step or
with the whole program: so nobody goes on, or home, before all agree.

Cost: agree and shrink 2 ceil(log2 P) latencies each, and nothing as long as nobody asks.
Real ranks need Open MPI from 5 on with its fault tolerance: `launch(..., survivors=True)`, or
`mpiexec --with-ft ulfm --mca mpi_ft_detector true`; otherwise one death is the death of all.
Bland, Bouteiller, Herault, Bosilca and Dongarra, "Post-failure recovery of MPI communication
capability: design and rationale", IJHPCA 27, 2013.
What to look at: leave `revoke` out, and see who waits for whom.
"""

from typing import Any


class RankLost(RuntimeError):
    """What was waited for cannot come any more: `dead` are ranks, of the communicator, that are
    known to have died; none, if another one has noticed first and revoked."""

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
