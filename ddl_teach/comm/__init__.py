"""How ranks talk: one interface; simulated ranks, real MPI processes; every byte counted."""

from ddl_teach.comm.arrays import Phantom
from ddl_teach.comm.interface import ANY, Comm, Request

__all__ = ["ANY", "Comm", "Phantom", "Request"]
