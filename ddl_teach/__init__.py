"""Every type of concurrency in deep learning, plainly.

A rank program is a function whose first argument is a `Comm`. `simulate` runs it on simulated
ranks in virtual time, `launch` on real MPI processes, `join` on processes that mpiexec or a batch
script has started; all return a `Run`.
"""

from ddl_teach.comm import ANY, Comm, Phantom, Ranks, Request, Run, join, launch, simulate

__all__ = ["ANY", "Comm", "Phantom", "Ranks", "Request", "Run", "join", "launch", "simulate"]
