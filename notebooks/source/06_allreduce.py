# %% [markdown]
# # All-reduce from scratch
#
# **How do P ranks add vectors?**
#
# Several ranks train one network together. Each has looked at its own examples and found a vector
# of gradients. Before anybody can go on, **each of them needs the sum of all these vectors**. That
# operation is called an *all-reduce*. It happens in every step of the training, for millions of
# numbers, and how well it is done often decides whether ten machines are worth ten machines.
#
# In this unit you write three algorithms that MPI libraries use, from nothing but send and
# receive. You need units 00 and 05: what a rank is, and what a message costs. *Beginners* take
# sections 1 to 3, 7 and 10, *intermediate* readers all but sections 6 and 11, *advanced* ones all.
# It takes about two hours; nobody minds if you come back tomorrow.
#
# ## 1. Everybody to one · *beginner*
#
# The plain way first: all ranks send their vector to rank 0, rank 0 adds them up and sends the sum
# back to everybody. The first cell starts four engines, which are real processes on your machine,
# and draws the plain way. Press *play* then. Each column is a rank, with its vector drawn in four
# chunks, one below the other. A chunk shows the colours of those ranks whose part is in it.

# %%
import numpy as np

from ddl_class import Engines, animate, check, hint, judge, predict, progress, reveal, yours
from ddl_class.ranks import simulate
from ddl_teach.collectives import linear, native, rabenseifner, recursive_doubling, ring
from ddl_teach.comm import split_evenly

engines = Engines(4)
animate(linear.allreduce)

# %% [markdown]
# It is right, and it has a weakness that you can see: one rank sends and receives everything
# while the others look on. With 4 ranks three vectors come in at rank 0 and three go out; with
# 1,000 ranks it is 999 and 999. If each vector has $n$ bytes, a message has the latency $L$, and
# $B$ bytes pass through a rank's port in a second, all of it takes
#
# $$T_\text{one} = 2\left(L + (P-1)\,\frac{n}{B}\right).$$
#
# Two ideas do better. They are opposites.
#
# - **The ring.** Cut each vector into $P$ chunks. Chunks travel round a ring of ranks, and all
#   links are busy all the time. Twice round is enough: $2(P-1)$ steps, each with a small message.
# - **Swapping.** Swap the *whole* vector with a partner and add; then with another one, twice as
#   far away. That takes only $\log_2 P$ steps, but each of them moves everything.
#
# $$T_\text{ring} = 2(P-1)\left(L + \frac{n/P}{B}\right),\qquad
# T_\text{swap} = \log_2\!P\,\left(L + \frac{n}{B}\right).$$
#
# ### Predict
#
# Few heavy steps or many light ones: for short vectors swapping wins, for long ones the ring. From
# how many bytes on will the ring be faster *on your machine*, with 4 ranks? In unit 05 you
# measured what a message costs there.
#
# And on a large machine, with 65,536 ranks, vectors of 1 MiB (about a million bytes), a latency
# of 1 µs and 10 GB a second: how many times as long as swapping will the ring take? Write numbers
# in place of the dots. You may be wrong; who commits to a number first learns more from it.

# %%
predict("06.crossover", ...)
predict("06.many", ...)

# %% [markdown]
# ## 2. The ring · *beginner*
#
# Rank $r$ only ever sends to its right neighbour $r+1$ and receives from its left one, $r-1$; the
# right neighbour of the last rank is rank 0.
#
# **Exercise.** A warm-up of three minutes: round the ring with whole vectors. A copy of each
# vector travels from rank to rank, and every rank adds what comes by. The lines stand below,
# sorted by the alphabet, and one of them belongs nowhere: put the others in order. *Ctrl+/* makes
# code of comments, *Alt+↑* and *Alt+↓* move lines, *Tab* indents what is selected.


# %% name="06.pass_round" tags=["answer"]
def pass_round(comm, x):
    """Sum `x` over all ranks, in place: what arrives is added, and passed on in the next step."""
    ### BEGIN SOLUTION
    passing = x.copy()
    for _ in range(comm.size - 1):
        arriving = np.empty_like(x)
        comm.sendrecv(passing, (comm.rank + 1) % comm.size, arriving, (comm.rank - 1) % comm.size)
        x += arriving
        passing = arriving
    ### END SOLUTION


# %% name="06.pass_round" tags=["check"]
check("06.pass_round", pass_round)
### BEGIN HIDDEN TESTS
judge("06.pass_round", pass_round, ranks=(6, 7, 12), seed=60)
### END HIDDEN TESTS

# %% [markdown]
# Each rank has sent $P-1$ whole vectors, and all ranks have made the same additions. With chunks
# they share the work. Here is the first half of the way. Chunk 0 sets out on rank 1. Rank 2 adds
# its own chunk 0 to what arrives, passes that on to rank 3, and so on, until chunk 0 comes home to
# rank 0, which adds the last part: complete. All other chunks do the same at the same time, each
# one rank further on. This is called a **reduce-scatter**: everybody ends with one finished chunk.
#
# **Exercise.** Write it. `split_evenly(x, P)` gives $P$ neighbouring views of `x`: what you write
# into a chunk stands in `x`. At the end, chunk $r$ of rank $r$ must be complete; what stands in
# the other chunks does not matter. `comm.sendrecv(out, right, into, left)` sends `out` to the
# right and receives `into` from the left at the same time.
#
# The cell after yours draws what yours does: at the end there should be one finished chunk on each
# rank, on the diagonal. The one after that checks it. Nothing can break: a rank that waits in vain
# is told so, and what you get to read is where it waits and for whom. If you are stuck, put
# `hint("06.reduce_scatter")` into a cell of its own. Each exercise has two hints.


# %% name="06.reduce_scatter" tags=["answer"]
def ring_reduce_scatter(comm, x):
    """P-1 steps: send a chunk to the right, add what comes from the left to your own."""
    rank, size = comm.rank, comm.size
    right, left = (rank + 1) % size, (rank - 1) % size
    chunks, arriving = split_evenly(x, size), split_evenly(np.empty_like(x), size)
    ### BEGIN SOLUTION
    for step in range(1, size):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(chunks[outgoing], right, arriving[incoming], left)
        chunks[incoming] += arriving[incoming]
    ### END SOLUTION


# %%
animate(ring_reduce_scatter, goal="reduce_scatter")

# %% name="06.reduce_scatter" tags=["check"]
check("06.reduce_scatter", ring_reduce_scatter)
### BEGIN HIDDEN TESTS
judge("06.reduce_scatter", ring_reduce_scatter, ranks=(6, 7, 12), seed=61)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** Now the second half, the **all-gather**. Everybody has one finished chunk, and
# everybody needs all of them. They go round once more. Nothing is added any more: a finished chunk
# takes the place of the unfinished one. Together the two halves are the whole all-reduce.
#
# Should the first half not work yet, let the library's stand in for it: write
# `ring.reduce_scatter(comm, x)` instead.


# %% name="06.ring" tags=["answer"]
def ring_allreduce(comm, x):
    """Sum `x` over all ranks, in place: a reduce-scatter, then P-1 steps that hand out."""
    ring_reduce_scatter(comm, x)
    rank, size = comm.rank, comm.size
    right, left, chunks = (rank + 1) % size, (rank - 1) % size, split_evenly(x, size)
    ### BEGIN SOLUTION
    for step in range(size - 1):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(chunks[outgoing], right, chunks[incoming], left)
    ### END SOLUTION


# %%
animate(ring_allreduce)

# %% name="06.ring" tags=["check"]
check("06.ring", ring_allreduce)
### BEGIN HIDDEN TESTS
judge("06.ring", ring_allreduce, ranks=(6, 7, 12), seed=62)
### END HIDDEN TESTS

# %% [markdown]
# How many bytes does a rank send? There are $2(P-1)$ steps with one chunk of $n/P$ bytes in each:
#
# $$\text{bytes} = 2\,\frac{P-1}{P}\,n.$$
#
# That is less than two vectors, however many ranks there are. As long as only the ranks add, the
# busiest rank sends no less in any algorithm: the ring is *bandwidth-optimal* (Patarasuk and Yuan,
# 2009). There are also switches that add what passes through them; then each rank sends its vector
# once (Graham et al., 2016). The **ledger** of a run holds every message, so you need not believe
# it. The next cell runs on your engines: four processes, real messages. From here on the notebook
# works with your ring, or with the library's if yours is not right yet.


# %%
def add_up(comm, allreduce, length):
    x = np.full(length, comm.rank + 1.0)
    allreduce(comm, x)
    return x


my_ring = yours("06.ring", ring_allreduce, ring.allreduce)
run = engines.run(add_up, allreduce=my_ring, length=12_000)
assert all((x == 1 + 2 + 3 + 4).all() for x in run.results)
assert all(ledger.bytes_sent == 2 * 3 / 4 * 12_000 * 8 for ledger in run.ledger)

# %% [markdown]
# Nothing complained, so both assertions hold: the sum is right, and the ledger equals the formula
# to the byte.
#
# ## 3. Swapping · *beginner*
#
# Now the opposite idea. In the first step rank 0 swaps with 1, 2 with 3, and so on: both send
# their whole vector, both add what arrives, and now both hold the same sum. In the second step
# partners are 2 apart, then 4, then 8. Every step doubles how many ranks' parts one holds, so
# the algorithm is called **recursive doubling**.
#
# Who is the partner? Write the rank in binary: partners at distance 1, 2, 4 differ in exactly one
# bit. In Python `rank ^ distance` flips that bit: `5 ^ 4` is 1, and `1 ^ 4` is 5.
#
# **Exercise.** Write it for 2, 4, 8, 16, ... ranks: powers of two.


# %% name="06.swap" tags=["answer"]
def swap_allreduce(comm, x):
    """Sum `x` over all ranks, in place; their number is a power of two."""
    distance, arriving = 1, np.empty_like(x)
    ### BEGIN SOLUTION
    while distance < comm.size:
        partner = comm.rank ^ distance
        comm.sendrecv(x, partner, arriving, partner)
        x += arriving
        distance *= 2
    ### END SOLUTION


# %%
animate(swap_allreduce)

# %% name="06.swap" tags=["check"]
check("06.swap", swap_allreduce)
### BEGIN HIDDEN TESTS
judge("06.swap", swap_allreduce, ranks=(2, 16, 32), seed=63)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. Any number of ranks · *intermediate*
#
# With 6 ranks, the partner of rank 5 at distance 2 would be rank 7, and there is none. The way
# out is called *folding*. Take the largest power of two that fits, the **core**: of 6 ranks,
# ranks 0 to 3. The others are guests. A guest hands its vector to a host in the core, which adds
# it to its own, and waits. The core swaps as before. At the end each host gives its guest the
# result. This costs two more steps (Thakur, Rabenseifner and Gropp, 2005).
#
# **Exercise.** Write it for any number of ranks. The guest of rank $r$ is $r + \text{core}$, if
# there is such a rank; so the host of a guest $r$ is $r - \text{core}$.


# %% name="06.recursive_doubling" tags=["answer"]
def doubling_allreduce(comm, x):
    """Sum `x` over all ranks, in place, whatever their number: fold, swap, unfold."""
    core, arriving = 2 ** (comm.size.bit_length() - 1), np.empty_like(x)
    guest, host = comm.rank + core, comm.rank - core
    ### BEGIN SOLUTION
    if host >= 0:
        comm.send(x, host)
        comm.recv(x, host)
        return
    if guest < comm.size:
        comm.recv(arriving, guest)
        x += arriving
    distance = 1
    while distance < core:
        partner = comm.rank ^ distance
        comm.sendrecv(x, partner, arriving, partner)
        x += arriving
        distance *= 2
    if guest < comm.size:
        comm.send(x, guest)
    ### END SOLUTION


# %%
animate(doubling_allreduce, ranks=6)

# %% name="06.recursive_doubling" tags=["check"]
check("06.recursive_doubling", doubling_allreduce)
### BEGIN HIDDEN TESTS
judge("06.recursive_doubling", doubling_allreduce, ranks=(6, 7, 12), seed=64)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. Where they meet · *intermediate*
#
# Put the two formulas of section 1 beside each other. Each is a straight line over the size $n$:
#
# $$T_\text{ring} = 2(P-1)\,L + \frac{2(P-1)}{P}\cdot\frac{n}{B},\qquad
# T_\text{swap} = \log_2\!P\;L + \log_2\!P\cdot\frac{n}{B}.$$
#
# The ring starts higher, because it pays more latencies, and rises more gently, because it moves
# fewer bytes. So there is one size where the lines meet.
#
# **Exercise.** Compute it, in bytes, for a power of two. `latency` is in seconds, `bandwidth` in
# bytes a second. Mind the case of 2 ranks: there both lines are equally steep.


# %% name="06.crossover" tags=["answer"]
import math


def crossover(ranks, latency, bandwidth):
    """From how many bytes on the ring beats recursive doubling; math.inf if never."""
    ### BEGIN SOLUTION
    if ranks == 2:
        return math.inf
    levels, steps = math.log2(ranks), 2 * (ranks - 1)
    return (steps - levels) * latency * bandwidth / (levels - steps / ranks)
    ### END SOLUTION


# %% name="06.crossover" tags=["check"]
check("06.crossover", crossover)
### BEGIN HIDDEN TESTS
judge("06.crossover", crossover, seed=65)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Both at once · *advanced*
#
# Must one choose between few steps and few bytes? Rabenseifner (2004) describes a way to have
# both. Swap only half of the vector, here with the rank *farthest* away: the lower rank keeps the
# lower half and gives away the upper one, its partner does the opposite. Both add what arrives
# to the half they kept. Now each has half the work left, and does the same with a partner half as
# far away, until only $1/P$ of the vector is left, and that is finished. Then the film runs
# backwards: partners swap what they have finished, and what one holds doubles. (MPICH and Open MPI
# begin with the nearest rank, so that the longest messages go the shortest ways.)
#
# $$T_\text{both} = 2\log_2 P\;L + 2\,\frac{P-1}{P}\cdot\frac{n}{B}$$
#
# **Exercise.** Write it for powers of two. `split_evenly(x, 2)` gives the two halves. The function
# may call itself: what is left to do with your half is the same task once more, at half the
# distance, until there is no distance left.


# %% name="06.rabenseifner" tags=["answer"]
def halving_allreduce(comm, x, distance=None):
    """Sum `x`, in place, over the ranks `distance`, `distance / 2`, ..., 1 places away."""
    distance = comm.size // 2 if distance is None else distance
    ### BEGIN SOLUTION
    if distance:
        partner, (lower, upper) = comm.rank ^ distance, split_evenly(x, 2)
        kept, given = (lower, upper) if comm.rank < partner else (upper, lower)
        arriving = np.empty_like(kept)
        comm.sendrecv(given, partner, arriving, partner)
        kept += arriving
        halving_allreduce(comm, kept, distance // 2)
        comm.sendrecv(kept, partner, given, partner)
    ### END SOLUTION


# %%
animate(halving_allreduce)

# %% name="06.rabenseifner" tags=["check"]
check("06.rabenseifner", halving_allreduce)
### BEGIN HIDDEN TESTS
judge("06.rabenseifner", halving_allreduce, ranks=(2, 16, 32), seed=66)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. What nobody has at home · *beginner*
#
# Now 65,536 ranks, on a good network: a latency of 1 µs and 10 GB a second. Nobody lends you that
# many processes, but you can simulate them, as the tour does: the function runs on each of them,
# and the clock is computed. Here an eighth of them will do. First your own swapping adds up the
# numbers of 4,096 ranks. Then the library's recursive doubling, which takes any number of ranks,
# goes to 8,192, with vectors of 1 MiB. These are `Phantom`s, which stand for vectors of which only
# the size matters.
#
# A ring of 65,536 is too much even for a simulation: it would take 131,070 steps and send 8.6
# billion messages. But where we can try its formula, with 128 ranks, it holds exactly, and so does
# that of recursive doubling with 8,192. So we may ask the formulas about what we cannot run; the
# second cell does, and draws what they say.

# %%
from ddl_teach import Phantom
from ddl_teach.comm import Uniform
from ddl_teach.theory.machine import Link

my_swap = yours("06.swap", swap_allreduce, recursive_doubling.allreduce)

# %%
good, fewer, mega = Uniform(latency=1e-6, bandwidth=10e9), 8192, Phantom(2**20)
large = {"network": good, "trace": False, "strict": False}
some = simulate(add_up, 4096, allreduce=my_swap, length=1, **large)
assert all(x == 4096 * 4097 / 2 for x in some.results)
big = simulate(recursive_doubling.allreduce, fewer, x=mega, **large)
print(f"4,096 numbers: {some.time * 1e6:.1f} µs; 8,192 vectors of 1 MiB: {big.time * 1e6:.0f} µs")

# %%
from ddl_class.plots.messages import plot_times
from ddl_teach.theory import collectives as theory

run = simulate(add_up, 128, network=good, allreduce=my_ring, length=1024, trace=False)
assert np.isclose(run.time, theory.ring(128, 8 * 1024, Link(1e-6, 1e-10)))
assert np.isclose(big.time, theory.recursive_doubling(fewer, 2**20, Link(1e-6, 1e-10)))
three, sizes = ("ring", "recursive_doubling", "rabenseifner"), 2.0 ** np.arange(6, 35)
times = {name: theory.formula(name)(65_536, sizes, Link(1e-6, 1e-10)) for name in three}
reveal("06.many", (times["ring"] / times["recursive_doubling"])[sizes == 2**20].item())
plot_times({name: (sizes, times[name]) for name in three})

# %% [markdown]
# Twelve steps, twelve microseconds, and 4,096 ranks know their sum: that is what latency alone
# costs. With long vectors the bytes come into play. Where blue and red cross is the size that
# section 5 computes: 94 MB. Networks whose gradients are shorter had better not use a plain ring
# on 65,536 ranks. And from 11 kB on Rabenseifner's line lies lowest; keep that in mind for the
# third question at the end.
#
# ## 8. Your own ranks · *intermediate*
#
# Back to your four engines. What does a step of an all-reduce cost *here*? Not what a lonely
# ping-pong says: in a step all ranks send and receive at once, and if you have fewer than four
# cores, they share those too. So let everybody send to the right and receive from the left, ten
# times in a row. The `stopwatch` of the course measures that at several sizes, over and over
# again. What counts is the rank that is done last. A straight line through all these times gives
# a latency and a bandwidth.


# %%
def ten_steps(comm, x):
    right, left, into = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size, np.empty_like(x)
    for _ in range(10):
        comm.sendrecv(x, right, into, left)


# %%
from ddl_class import stopwatch
from ddl_teach.theory.fit import fit

tried = [2**k for k in range(6, 21, 2)]
plainly = {"trace": False, "strict": False}
took = engines.run(stopwatch, sizes=tried, ways=[ten_steps], **plainly).results
steps = np.max(took, axis=0)[:, 0] / 10
model = fit(np.tile(tried, len(steps)), steps.ravel())
print(f"latency {model.latency * 1e6:.0f} µs, {1e-9 / model.per_byte:.2f} GB a second")

# %% [markdown]
# Two numbers, and from them alone the formulas predict every algorithm. The stopwatch also runs
# on simulated ranks, on a network with these two numbers. And it measures your engines, where two
# more take part, of which section 9 will speak: MPI's own all-reduce, and that of
# torch.distributed, called gloo. So there are three answers to one question: the formula (lines),
# the simulation (squares), and your machine (dots, with the middle half of the turns as bars).

# %%
from ddl_class.notebook import gloo

ways = [my_ring, my_swap, rabenseifner.allreduce, native.allreduce, gloo.allreduce]
sizes = np.array([2**k for k in range(9, 23, 2)])
took = engines.run(stopwatch, sizes=sizes, ways=ways, timeout=100, **plainly).results
slowest = np.max(took, axis=0)
low, measured, high = np.quantile(slowest, [0.25, 0.5, 0.75], axis=0)

# %%
here = model.link.network
simulated = simulate(stopwatch, 4, network=here, sizes=sizes, ways=ways[:3], turns=1).results[0][0]
predicted = [model.predict(name, 4, sizes) for name in three]
assert np.allclose(simulated, predicted)
plot_times(
    {name: (sizes, predicted[k]) for k, name in enumerate(three)},
    {name: (sizes, simulated[k]) for k, name in enumerate(three)},
    {name: (sizes, measured[k], (low[k], high[k])) for k, name in enumerate(three)},
)

# %% [markdown]
# The squares lie on the lines: simulation and formula agree to many digits. The dots are your
# machine, which owes nothing to two numbers. Look where the dots leave their lines, and which way.
# The formula knows nothing of the additions, of caches, of other programs that use your processor,
# nor of a library that sends short and long messages in different ways.
#
# ### The surprise
#
# No algorithm has a busiest rank that sends fewer bytes than the ring's, and yet the ring loses:
# below a size that two numbers foretell. The next cell computes it, compares it with the
# simulation at all our sizes, and lays your prediction beside your engines.

# %%
from ddl_teach.theory.crossover import crossovers

[meeting] = crossovers("recursive_doubling", "ring", 4, model.link)
print(f"Two numbers say that the ring wins from {meeting.nbytes:,.0f} bytes on.")
assert ((simulated[0] < simulated[1]) == (sizes > meeting.nbytes)).all()
assert slowest.min(axis=0)[0, :3].sum() > slowest.min(axis=0)[1, :3].sum()
swap_wins = measured[1] < measured[0]
reveal("06.crossover", sizes[min(swap_wins.sum(), len(sizes) - 1)])

# %% [markdown]
# On your engines, too, the ring lost with short vectors, even in the fastest of its eleven turns.
# The cell counted the sizes at which swapping won. Your prediction was laid beside the next one,
# or beside the largest if swapping won everywhere. The sizes are four times apart, so nobody can
# come nearer than that.
#
# ## 9. What everybody else uses · *intermediate*
#
# Training frameworks do not let you write the loop. PyTorch's `all_reduce` hands the vector to a
# library: NCCL for NVIDIA's GPUs, gloo for processors, or MPI if PyTorch was built with it. Here
# is yours beside native MPI and gloo, from the very run above: first how many times as long as
# native MPI each of them took, then the times themselves.

# %%
print("bytes".ljust(20), *(f"{size:>9,}" for size in sizes))
for name, ratios in zip([*three, "native", "gloo"], measured / measured[3], strict=True):
    print(name.ljust(20), *(f"{ratio:9.2f}" for ratio in ratios))
shown = {"ring": 0, "native": 3, "gloo": 4}
plot_times(measured={name: (sizes, measured[k]) for name, k in shown.items()})

# %% [markdown]
# With short vectors native MPI should be ahead. Open MPI has the three algorithms that you have
# written, and others; but each of our messages passes through Python, which takes longer than the
# message itself. With long vectors the bytes decide, and the distance should shrink: a good
# algorithm in a slow language can come close to the library. gloo speaks TCP, between processes of
# one machine as it would between machines, and pays for that.
#
# These are ratios of one run on one machine that was perhaps busy with other things. They say
# nothing about a cluster, and nothing about GPUs, which come in unit 07.
#
# ## 10. Explore · *beginner*
#
# Move the sliders. Left is a map: which algorithm wins, for every number of ranks and every size.
# Right are the times of all algorithms at your point of it. It begins with the network of section
# 7; if you have done section 8, put in `model.latency` and `1 / model.per_byte`. Which of the
# sliders moves the borders to the right, which to the left? Can you find a network in which the
# plain way of section 1 wins?

# %%
from ddl_class import explore

explore(latency=1e-6, bandwidth=10e9, ranks=4)

# %% [markdown]
# ## 11. An all-reduce against time · *advanced*
#
# **A puzzle.** In practice several ranks sit in one machine and share its cable to the others.
# Here it is four nodes with four ranks each. Two ranks of a node reach each other in 1 µs, at 8 GB
# a second. Each node has *one* cable, with 5 µs and 1 GB a second. Whoever sends or receives a
# message spends 2 µs on it. Every rank has a vector of 1 MiB.
#
# A ring of all 16 ranks takes 2.03 ms. The goal is **1.9 ms**. How is up to you: you may use your
# own functions, or those of `ring`, and `comm.split(colour)`, which gives all ranks of one colour
# a communicator of their own. The check says how long yours takes and how long the best takes that
# is known.


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
from ddl_class.exercises.kit.puzzle import FOUR_NODES

mine = yours("06.nodes", nodes_allreduce, ring.allreduce)
run = simulate(mine, 16, network=FOUR_NODES, x=Phantom(2**20))
run.timeline.plot(title="Your all-reduce, or the ring, on four nodes")

# %% name="06.nodes" tags=["check"]
check("06.nodes", nodes_allreduce)
### BEGIN HIDDEN TESTS
judge("06.nodes", nodes_allreduce, seed=67)
### END HIDDEN TESTS

# %% [markdown]
# Unit 20 takes this to real nodes. Through each cable 3/4 of the vector must go, out and in again
# (1.57 ms), so there is room left below the best known. While a cable is busy, what do the ranks
# inside of the node do?
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("06")

# %% [markdown]
# ## Three questions
#
# **1.** Fill the vectors with random numbers instead of whole ones. Ring and recursive doubling
# then give sums that differ in the last digits. Is one of them wrong? And do at least all ranks
# of one run hold the same?
#
# <details><summary>An answer</summary>
#
# Neither is wrong. Each addition is rounded, so the sum depends on the order of the additions, and
# the algorithms add in different orders. Within a run all ranks hold the same to the last bit. In
# the ring each chunk is finished on one rank and then only copied. In recursive doubling the
# partners compute a + b and b + a, which are the same. That matters: replicas of a network that
# are updated with different sums drift apart.
#
# </details>
#
# **2.** One rank comes 10 ms late to the all-reduce. How much later are the others done, with the
# ring, and with recursive doubling?
#
# <details><summary>An answer</summary>
#
# About 10 ms with either. Nobody can have the whole sum before the last one has brought its part,
# so an all-reduce makes everybody wait for the slowest, however clever it is. Unit 14 is about not
# waiting.
#
# </details>
#
# **3.** By the formulas, on powers of two, Rabenseifner's algorithm is never slower than the ring,
# and mostly faster. Why then do libraries for GPUs have rings at all?
#
# <details><summary>An answer</summary>
#
# Our formulas know ports, but no links that several messages share. In a ring everybody talks only
# to a neighbour, so one can lay it such that each link carries one message at a time. Our first
# step of Rabenseifner's sends half of every vector to the farthest rank, all at the same time, and
# a network that is thinner in the middle becomes a bottleneck. (Begun with the nearest rank, those
# messages are short, but still several share a link.) A ring also takes any number of ranks as it
# is, and its chunks can be cut finer and sent in a stream. For short vectors NCCL too takes
# something else: trees, since 2019 (Jeaugey).
#
# </details>
#
# ## Where to read on
#
# - P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
#   workstations", *Journal of Parallel and Distributed Computing*, 2009: the ring, and why no
#   algorithm needs fewer bytes.
# - R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations
#   in MPICH", *International Journal of High Performance Computing Applications*, 2005: which
#   algorithm for which size, and folding.
# - R. Rabenseifner, "Optimization of collective reduction operations", *ICCS*, 2004: halving and
#   doubling.
# - R. Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture
#   for efficient data reduction", *COMHPC*, 2016: switches that add.
# - E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective communication: theory,
#   practice, and experience", *Concurrency and Computation*, 2007: all of them from one building
#   set, with lower bounds.
# - A. Sergeev and M. Del Balso, "Horovod: fast and easy distributed deep learning in TensorFlow",
#   2018: the ring in a library for deep learning, built on Baidu's tensorflow-allreduce.
# - S. Jeaugey, "Massively scale your deep learning training with NCCL 2.4", NVIDIA, 2019: why
#   trees.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019: where all-reduce stands in the whole picture.
# - `ddl_teach/theory/bounds.py`: what no algorithm can beat, for each collective.
#
# The algorithms of the library stand in `ddl_teach/collectives`, one a file, and now you can read
# them. `progress()` shows how far you have come in the whole course. Unit 07 asks who copies the
# bytes when they begin and end on a GPU.
