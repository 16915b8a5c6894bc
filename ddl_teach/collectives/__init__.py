"""Collectives: one algorithm a file, written on the communicator's verbs alone.

=================== ==============================================================================
linear              every rank sends to one root
tree                binomial tree: the number of ranks that have the data doubles
ring                neighbours pass chunks on
recursive_doubling  swap everything with the rank 1, 2, 4, ... away
rabenseifner        recursive halving, then recursive doubling
leaders             inside the nodes first, then between their leaders
hierarchical        the same by parts, so that every rank of a node sends to other nodes
bruck               few messages for many small blocks
pairwise            every block goes straight to its owner
dissemination       a barrier: rumours travel 1, 2, 4, ... ranks far
double_binary_tree  two pipelined trees: a rank inside one is a leaf of the other
pat                 trees that share messages: few steps, and the long messages go near
direct              every chunk straight to its owner, every sum straight to all
one_shot            every vector straight to all
native              the MPI library's own, for comparison
auto                the all-reduce that a cost model expects to be the fastest
staged_once         an all-reduce of arrays on devices with one copy out and one in
on_devices          the same, a ring of staged messages, or NCCL, as a table of decisions says
nccl                NVIDIA's all-reduce, for ranks with a GPU each
switch              an all-reduce that a switch adds up, on a network made for it
sparse              an all-reduce of vectors that are nearly all zeros: a folder
background          an all-reduce that runs behind computation
fewest_steps        on given cables, the schedule that an integer program finds
registry            all of them by name
=================== ==============================================================================

The same call means the same in every file that has it:

    allreduce(comm, x, op="sum")              x becomes the combination of all ranks' x
    reduce_scatter(comm, x, op="sum")         chunk r of that on rank r; returned, a view of x; the
                                              rest of x is scratch
    allgather(comm, x)                        chunk r of rank r's x, for all r, in every rank's x
    broadcast(comm, x, root=0)                the root's x in every rank's x
    reduce(comm, x, root=0, op="sum")         the combination in the root's x; other x are scratch
    gather(comm, x, out, root=0)              the blocks x of all ranks in the root's out
    scatter(comm, x, out, root=0)             block r of the root's x in rank r's out
    alltoall(comm, x, out)                    block s of rank r's x is block r of rank s's out
    scan(comm, x, op="sum")                   x becomes the combination of ranks 0 .. rank

An x is a NumPy array, a torch tensor, another array on a device or a Phantom. It is contiguous, of
any shape, and alike on all ranks; chunks are those of `comm.split_evenly`, blocks are equal. `op`
is "sum", "max", "min", "product" or an element-wise function of two arrays, associative and
commutative. All ranks get the same bits. Messages carry tag 0: what else is under way meanwhile
needs another tag.
"""
