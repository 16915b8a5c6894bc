"""What runs ranks: the same program on simulated ranks, on MPI processes and on many nodes.

=========== ======================================================================================
core        what a rank program sees: the communicator, arrays, windows, shared memory
records     what a run leaves behind: ledger, timeline, the `Run`
simulator   ranks as stacks of one process, in virtual time
topologies  what networks cost the simulator: links, torus, fat tree, dragonfly
mpi         ranks as processes, over mpi4py
devices     arrays that no host code can read: GPUs, and stand-ins for them
launcher    processes started, given programs, watched and ended
diagnosis   which rank waits for which, and what to do about it
pictures    timelines, waits and traces; Matplotlib is imported when one is drawn
interchange runs in the formats of other tools: GOAL, Chakra, torch's profiler
=========== ======================================================================================

Nothing here knows of learning. `ddl_teach.comm` is the public door.
"""

OURS = ("ddl_runtime", "ddl_teach", "ddl_measure", "ddl_class")  # one distribution's packages
