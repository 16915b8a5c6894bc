# %% [markdown]
# # More collectives
#
# **All ranks need something of all other ranks. How few messages are enough?**
#
# In `06_allreduce.ipynb` you added up vectors. There are other operations that all ranks carry out
# together: they wait for each other, each of them collects something from all others, or each of
# them has something for every other. In this notebook you write one algorithm for each of these,
# and then there is a puzzle. You need unit 06. Each section says for whom it is. It takes about an
# hour.

# %%
import numpy as np

from ddl_class import Engines, animate, check, hint, judge, predict, reveal, simulate
from ddl_teach import Phantom
from ddl_teach.collectives import bruck, dissemination, pairwise, ring
from ddl_teach.comm import Uniform, split_evenly

engines = Engines(4)

# %% [markdown]
# The next two functions give each rank its numbers, call a function of yours, and return what the
# rank then has. With `come` rank $r$ begins with $r + 1$ at place $r$ of a list, and zeros
# elsewhere. With `swap_all` it has a number for each rank: rank 3 has 30 for rank 0, 31 for rank
# 1, and so on.


# %%
def come(comm, way):
    x = np.zeros(comm.size)
    x[comm.rank] = comm.rank + 1
    way(comm, x)
    return x


# %%
def swap_all(comm, way):
    x, out = 10.0 * comm.rank + np.arange(comm.size), np.zeros(comm.size)
    way(comm, x, out)
    return out


# %% [markdown]
# ## 1. All ranks wait for each other · *beginner*
#
# A **barrier** is a call that returns only when all ranks have called it. How can a rank know that
# all others have come? Every other rank must send it something, directly or through other ranks.
#
# Take a list with one entry for each rank. Rank $r$ has written its own entry; the others are 0.
# Now each rank sends its list to the rank 1 above it, and takes over what is new in the list that
# it receives. Then each list has two entries. Next each rank sends to the rank 2 above it: four
# entries. Then 4, 8, 16 ranks away: after $\lceil \log_2 P \rceil$ steps every list is full, for
# any number of ranks. This is called *dissemination* (Hensgen, Finkel and Manber, 1988).
#
# **Exercise.** A warm-up of three minutes. The lines stand below, sorted by the alphabet, and one
# of them belongs nowhere: put the others in order.


# %% name="06.dissemination" tags=["answer"]
def sign_in(comm, x):
    """Rank r has its number in x[r], and 0 elsewhere; afterwards x has all ranks' numbers."""
    ### BEGIN SOLUTION
    distance, heard = 1, np.empty_like(x)
    while distance < comm.size:
        above, below = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(x, above, heard, below)
        np.maximum(x, heard, out=x)
        distance *= 2
    ### END SOLUTION


# %%
run = simulate(come, 6, way=sign_in)
print("rank 0 has", run.results[0], "and should have 1 to 6")
animate(run)

# %% name="06.dissemination" tags=["check"]
check("06.dissemination", sign_in)
### BEGIN HIDDEN TESTS
judge("06.dissemination", sign_in, ranks=(6, 7, 12), seed=68)
### END HIDDEN TESTS

# %% [markdown]
# A barrier needs no list: the messages may be empty. Its algorithm is the same, and its time is
# $\lceil \log_2 P \rceil$ latencies. Here is the library's, on eight ranks. Rank 3 comes after 10
# µs, the others after 1 µs. When does each rank leave? (With `strict=False` the picture is
# simpler: all waits are in receives.)


# %%
def one_is_late(comm):
    comm.work(seconds=10e-6 if comm.rank == 3 else 1e-6)
    dissemination.barrier(comm)
    return comm.now()


# %%
run = simulate(one_is_late, 8, network=Uniform(latency=1e-6), strict=False)
print([f"{moment * 1e6:.0f} µs" for moment in run.results])
assert min(run.results) >= 10e-6
run.timeline.plot(title="No rank leaves before rank 3 has come")

# %% [markdown]
# ## 2. Each rank collects from all others · *intermediate*
#
# In an **all-gather** each rank has one block, and in the end every rank has all blocks. The ring
# passes the blocks on, in $P-1$ steps. Dissemination takes only $\lceil \log_2 P \rceil$ steps,
# but it sends the whole list in every step, empty entries too. Bruck's algorithm takes as few
# steps, and sends only what the receiver does not have (Bruck et al., 1997):
#
# $$T_\text{Bruck} = \lceil \log_2 P \rceil\,L + \frac{P-1}{P}\cdot\frac{n}{B}.$$
#
# Rank $r$ begins with block $r$. It receives block $r+1$ from the rank above, then two blocks from
# the rank 2 above, then four, and sends as many to the rank below. So it always has blocks $r,
# r+1, r+2, \dots$ one after another. In the last step it may need fewer.
#
# **Exercise.** Write the loop. `turned` holds the blocks in the order in which rank $r$ gets them:
# first its own. `turned[:k * n]` are the first $k$ blocks. The last line puts all blocks into
# their places.


# %% name="06.bruck" tags=["answer"]
def bruck_allgather(comm, x):
    """Block r of rank r's x, for all r, in every rank's x; x has comm.size equal blocks."""
    rank, size, n = comm.rank, comm.size, len(x) // comm.size
    turned, distance = np.empty_like(x), 1
    turned[:n] = x[rank * n : (rank + 1) * n]
    ### BEGIN SOLUTION
    while distance < size:
        end = n * min(distance, size - distance)
        above, below = (rank + distance) % size, (rank - distance) % size
        comm.sendrecv(turned[:end], below, turned[n * distance : n * distance + end], above)
        distance *= 2
    ### END SOLUTION
    x[:] = np.roll(turned, rank * n)


# %%
run = simulate(come, 6, way=bruck_allgather)
print("rank 0 has", run.results[0], "and should have 1 to 6")
animate(run)

# %% name="06.bruck" tags=["check"]
check("06.bruck", bruck_allgather)
### BEGIN HIDDEN TESTS
judge("06.bruck", bruck_allgather, ranks=(6, 7, 12), seed=69)
### END HIDDEN TESTS

# %% [markdown]
# How much faster is it than the ring? Take 64 ranks, a latency of 1 µs and 10 GB a second.

# %%
network = {"network": Uniform(latency=1e-6, bandwidth=10e9), "trace": False}
for nbytes in (512, 2**20, 2**26):
    ways = (ring.allgather, bruck.allgather)
    times = [simulate(way, 64, x=Phantom(nbytes), **network).time for way in ways]
    print(f"{nbytes:10,} bytes: ring {times[0] * 1e6:6.0f} µs, Bruck {times[1] * 1e6:6.0f} µs")
    assert times[1] < times[0]

# %% [markdown]
# Both move the same bytes, so with long vectors the difference is small. In this network Bruck's
# algorithm is never slower. In a real one its long messages go far, and the messages of several
# ranks share links. The ring's messages go only to the neighbour.
#
# ## 3. Each rank has something for every other · *intermediate*
#
# In an **all-to-all** each rank has a different block for every other rank: the experts of unit 09
# need that, and so does the transpose of a matrix. The direct way sends each block
# straight to its receiver: $P-1$ messages. If blocks are short, that is nearly all latency.
# Bruck's way: blocks travel together, over other ranks. A block for the rank $d$ places above is
# sent on in every step $1, 2, 4, \dots$ that occurs in $d$, written in binary. A block for the
# rank 5 above travels 1 place, then 4.
#
# How many times as long will the direct way take, with 64 ranks and blocks of 8 bytes? Say a
# number in place of the dots.

# %%
predict("06.alltoall", ...)

# %% [markdown]
# **Exercise.** Write the loop. `blocks[d]` is what must travel $d$ ranks up; so the first line
# turns the blocks by `rank` places. In the step of `stride` all blocks travel whose $d$ has this
# bit: `d & stride`. The last line puts what arrived into `out`: `blocks[d]` came from rank $r -
# d$.


# %% name="06.all_to_all" tags=["answer"]
def bruck_alltoall(comm, x, out):
    """Block s of rank r's x becomes block r of rank s's out; both have comm.size equal blocks."""
    rank, size, stride = comm.rank, comm.size, 1
    blocks = np.roll(x.reshape(size, -1), -rank, axis=0)
    ### BEGIN SOLUTION
    while stride < size:
        moving = [d for d in range(size) if d & stride]
        leaving = blocks[moving]
        arriving = np.empty_like(leaving)
        comm.sendrecv(leaving, (rank + stride) % size, arriving, (rank - stride) % size)
        blocks[moving] = arriving
        stride *= 2
    ### END SOLUTION
    out.reshape(size, -1)[(rank - np.arange(size)) % size] = blocks


# %%
for rank, out in enumerate(simulate(swap_all, 5, way=bruck_alltoall).results):
    print(f"rank {rank}:", *out.astype(int))

# %% name="06.all_to_all" tags=["check"]
check("06.all_to_all", bruck_alltoall)
### BEGIN HIDDEN TESTS
judge("06.all_to_all", bruck_alltoall, ranks=(6, 7, 12), seed=70)
### END HIDDEN TESTS

# %% [markdown]
# If it is right, rank 3 of five has 3, 13, 23, 33, 43: one number from each rank. Now compare it
# with the direct way, which the library calls *pairwise*, for short and for long blocks:

# %%
for each in (8, 1024, 65_536):
    given = network | {"x": Phantom(64 * each), "out": Phantom(64 * each)}
    ways = (pairwise.alltoall, bruck.alltoall)
    direct, few = (simulate(way, 64, **given).time for way in ways)
    print(f"{each:6,} bytes: direct {direct * 1e6:5.0f} µs, Bruck {few * 1e6:5.0f} µs")
    if each == 8:
        reveal("06.alltoall", direct / few)

# %% [markdown]
# Each block travels about $\frac12 \log_2 P$ times, so long blocks are better sent directly. MPI
# libraries choose by the size of the blocks (Thakur, Rabenseifner and Gropp, 2005).
#
# ## 4. An all-reduce against time · *advanced*
#
# **A puzzle.** In practice several ranks are in one machine, and share its cable to the others.
# Here there are four nodes with four ranks each. Two ranks of a node reach each other in 1 µs, at
# 8 GB a second. Each node has *one* cable, with 5 µs and 1 GB a second. A rank that sends or
# receives a message spends 2 µs on it. Every rank has a vector of 1 MiB.
#
# How long does a ring of all 16 ranks take?

# %%
from ddl_class.exercises.kit.puzzle import FOUR_NODES

slow = simulate(ring.allreduce, 16, network=FOUR_NODES, x=Phantom(2**20)).time
print(f"{1e3 * slow:.2f} ms")
assert round(1e3 * slow, 2) == 2.03

# %% [markdown]
# The goal is **1.9 ms**. You decide how: you may use your
# own functions, or those of `ring`, and `comm.split(colour)`, which gives all ranks of one colour
# a communicator of their own. The check shows how long yours takes, and how long the best takes
# that is known.


# %% name="06.nodes" tags=["answer"]
def nodes_allreduce(comm, x):
    """Sum `x` over all ranks, in place, on four nodes of four ranks."""
    ### BEGIN SOLUTION
    inside, across = comm.split(comm.rank // 4), comm.split(comm.rank % 4)
    ring.reduce_scatter(inside, x)
    ring.allreduce(across, split_evenly(x, 4)[inside.rank])
    ring.allgather(inside, x)
    ### END SOLUTION


# %%
def add_zeros(comm):
    nodes_allreduce(comm, np.zeros(2**17))


run = simulate(add_zeros, 16, network=FOUR_NODES)
run.timeline.plot(title="Your all-reduce on four nodes")

# %% name="06.nodes" tags=["check"]
check("06.nodes", nodes_allreduce)
### BEGIN HIDDEN TESTS
judge("06.nodes", nodes_allreduce, seed=67)
### END HIDDEN TESTS

# %% [markdown]
# Through each cable 3/4 of the vector must go, out and in again, which takes 1.57 ms: so the best
# known may not be the best. While a cable is busy, what do the ranks inside the node do? Unit 20
# takes this to real nodes.
#
# ## What you said
#
# Your predictions of this unit, beside what was found. Two of them belong to `06_allreduce`.

# %%
from ddl_class import predictions

predictions("06")

# %% [markdown]
# ## Where to read on
#
# - J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient algorithms for all-to-all
#   communications in multiport message-passing systems", *IEEE Transactions on Parallel and
#   Distributed Systems*, 1997.
# - D. Hensgen, R. Finkel and U. Manber, "Two algorithms for barrier synchronization",
#   *International Journal of Parallel Programming*, 1988.
# - R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations
#   in MPICH", 2005: which algorithm for which size.
# - K. Fan et al., "Optimizing the Bruck algorithm for non-uniform all-to-all communication",
#   *HPDC*, 2022: blocks of unequal sizes, as tokens on their way to experts have them, in a
#   logarithm of steps.
# - `ddl_teach/collectives/bruck.py`, `dissemination.py` and `pairwise.py` are the library's.
