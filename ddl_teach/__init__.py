"""Every type of concurrency in deep learning, plainly.

A rank program is a function whose first argument is a `Comm`. `simulate` runs it on simulated
ranks in virtual time, `launch` on real MPI processes, `join` on processes that mpiexec or a batch
script has started; all return a `Run`.
"""

from ddl_teach.comm import ANY, Comm, Phantom, Request
from ddl_teach.comm.join import join
from ddl_teach.comm.launch import Ranks, launch
from ddl_teach.comm.run import Run
from ddl_teach.comm.simulate import simulate

__all__ = ["ANY", "Comm", "Phantom", "Ranks", "Request", "Run", "join", "launch", "simulate"]
