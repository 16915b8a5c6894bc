"""The communicator on real ranks, over mpi4py."""
