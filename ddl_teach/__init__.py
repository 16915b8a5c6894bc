"""Every type of concurrency in deep learning, plainly.

A rank program is a function whose first argument is a `Comm`. `simulate` runs it on simulated
ranks in virtual time, `launch` on real MPI processes; both return a `Run`.
"""

from ddl_teach.comm import ANY, Comm, Phantom, Request
from ddl_teach.comm.launch import Ranks, launch
from ddl_teach.comm.run import Run
from ddl_teach.comm.simulate import simulate

__all__ = ["ANY", "Comm", "Phantom", "Ranks", "Request", "Run", "launch", "simulate"]
