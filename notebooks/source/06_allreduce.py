# %% [markdown]
# # All-reduce from scratch
#
# **How do P ranks add vectors?**
#
# Several ranks train one network together. Each rank has looked at its own examples and computed a
# vector of gradients. Before any rank can go on, **each of them needs the sum of all these
# vectors**. This operation is called an *all-reduce*. It happens in every step of the training,
# for millions of numbers. How fast it is often decides how much ten machines gain over one.
#
# In this unit you write three algorithms that MPI libraries use, with nothing but send and
# receive. You need units 00 and 05: what a rank is, and what a message costs. *Beginners* take
# sections 1 to 3, 7 and 10, *intermediate* readers all but section 6, *advanced* ones all. It
# takes about two hours; you can stop anywhere and go on another day.
#
# ## 1. All to one · *beginner*
#
# First the simple way: all ranks send their vectors to rank 0. Rank 0 adds them up and sends the
# sum back to all ranks. The first cell starts four engines, which are real processes on your
# machine, and draws the simple way. Then press *play*. Each column is a rank. Its vector is drawn
# as four chunks, one below the other. The colours of a chunk show whose parts are in it.

# %%
import numpy as np

from ddl_class import Engines, animate, check, hint, judge, predict, progress, reveal, yours
from ddl_class.ranks import simulate
from ddl_teach.collectives import linear, native, rabenseifner, recursive_doubling, ring
from ddl_teach.comm import split_evenly

engines = Engines(4)
animate(linear.allreduce)

# %% [markdown]
# The result is right, but the picture shows a weakness: one rank sends and receives everything
# while the others wait. With 4 ranks, three vectors come in at rank 0 and three go out. With 1,000
# ranks it is 999 and 999. Let each vector have $n$ bytes, a message the latency $L$, and a rank's
# port a bandwidth of $B$ bytes a second. Then the simple way takes
#
# $$T_\text{one} = 2\left(L + (P-1)\,\frac{n}{B}\right).$$
#
# Two ideas are better, and they are opposites:
#
# - **The ring.** Cut each vector into $P$ chunks. The chunks travel round a ring of ranks, and all
#   links are busy all the time. Twice round is enough: $2(P-1)$ steps, each with a small message.
# - **Swapping.** Exchange the *whole* vector with a partner and add; then do it with a partner
#   twice as far away. That takes only $\log_2 P$ steps, but each step moves whole vectors.
#
# $$T_\text{ring} = 2(P-1)\left(L + \frac{n/P}{B}\right),\qquad
# T_\text{swap} = \log_2\!P\,\left(L + \frac{n}{B}\right).$$
#
# ### Predict
#
# Few long steps, or many short ones? For short vectors swapping is faster, for long ones the ring.
# From how many bytes on will the ring be faster *on your machine*, with 4 ranks? In unit 05 you
# measured what a message costs there.
#
# Now take a large machine: 65,536 ranks, vectors of 1 MiB (about a million bytes), a latency of 1
# µs and 10 GB a second. How many times as long as swapping will the ring take? Write numbers in
# place of the dots. You may be wrong: you learn more if you write down a number first.

# %%
predict("06.crossover", ...)
predict("06.many", ...)

# %% [markdown]
# ## 2. The ring · *beginner*
#
# Rank $r$ sends only to its right neighbour $r+1$, and receives only from its left neighbour
# $r-1$. The right neighbour of the last rank is rank 0.
#
# You need one call: `comm.sendrecv(out, right, into, left)` sends `out` to the rank `right`, and
# at the same time it receives `into` from the rank `left`.
#
# **Exercise.** A warm-up of three minutes: round the ring with whole vectors. A copy of each
# vector travels from rank to rank, and every rank adds what arrives. The lines stand below, sorted
# by the alphabet, and one of them belongs nowhere: put the others in order. *Ctrl+/* turns
# comments into code, *Alt+↑* and *Alt+↓* move lines, *Tab* indents what is selected.


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


# %%
animate(pass_round)

# %% name="06.pass_round" tags=["check"]
check("06.pass_round", pass_round)
### BEGIN HIDDEN TESTS
judge("06.pass_round", pass_round, ranks=(6, 7, 12), seed=60)
### END HIDDEN TESTS

# %% [markdown]
# Each rank has sent $P-1$ whole vectors, and all ranks have made the same additions. With chunks
# they can share this work. Here is the first half. Chunk 0 starts on rank 1. Rank 2 adds its own
# chunk 0 to what arrives and sends the result to rank 3, and so on. At last chunk 0 comes to rank
# 0, which adds its own part: now chunk 0 is complete. All other chunks do the same at the same
# time, each one rank further on. This is called a **reduce-scatter**: at its end each rank has one
# complete chunk.
#
# **Exercise.** Write it. `split_evenly(x, P)` returns $P$ neighbouring views of `x`: what you
# write into a chunk is then in `x`. At the end chunk $r$ of rank $r$ must be complete; the other
# chunks do not matter.
#
# The cell after yours draws what your function does: at the end each rank should have one complete
# chunk, on the diagonal. The cell after that checks it. You cannot break anything: if a rank waits
# for ever, a message says where it waits, and for which rank. If you are stuck, put
# `hint("06.reduce_scatter")` into a cell of its own. Asked again it says more.


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
# **Exercise.** Now the second half, the **all-gather**. Each rank has one complete chunk, and each
# rank needs all of them. The chunks go round once more. Nothing is added any more: a complete
# chunk replaces an incomplete one. Both halves together are the whole all-reduce.
#
# If your first half does not work yet, take the library's: write `ring.reduce_scatter(comm, x)`.


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
# How many bytes does a rank send? There are $2(P-1)$ steps, each with a chunk of $n/P$ bytes:
#
# $$\text{bytes} = 2\,\frac{P-1}{P}\,n.$$
#
# That is less than two vectors, for any number of ranks. As long as only ranks add, no algorithm
# has a busiest rank that sends fewer bytes: the ring is *bandwidth-optimal* (Patarasuk and Yuan,
# 2009). There are also switches that add what passes through them; then each rank sends its vector
# only once (Graham et al., 2016). The **ledger** of a run counts every message, so you can check
# the formula. The next cell runs on your engines: four processes, real messages. From here on the
# notebook uses your ring, or the library's if yours is not right yet.


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
# There was no error, so both assertions hold: the sum is right, and the ledger equals the formula
# to the byte.
#
# ## 3. Swapping · *beginner*
#
# Now the opposite idea. In the first step rank 0 swaps with rank 1, rank 2 with rank 3, and so on:
# both send their whole vector, both add what arrives, and then both have the same sum. In the
# second step partners are 2 apart, then 4, then 8. With every step a sum holds the parts of twice
# as many ranks. So the algorithm is called **recursive doubling**.
#
# Which rank is the partner? Write the rank in binary: partners at distance 1, 2, 4 differ in
# exactly one bit. In Python `rank ^ distance` changes this bit: `5 ^ 4` is 1, and `1 ^ 4` is 5.
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
# With 6 ranks the partner of rank 5 at distance 2 would be rank 7, which does not exist. The
# remedy is called *folding*. Take the largest power of two that fits. So many ranks are the
# **core**: of 6 ranks these are 0, 1, 2 and 3. The other ranks are *guests*. A guest gives its
# vector to a *host*, a rank of the core, and waits. The host adds it to its own vector. Then the
# core swaps as before. At the end each host sends the result to its guest. This costs two more
# steps (Thakur, Rabenseifner and Gropp, 2005).
#
# **Exercise.** Write it for any number of ranks. The guest of rank $r$ is $r + \text{core}$, if
# that rank exists. So the host of a guest $r$ is $r - \text{core}$.


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
# ## 5. Where the lines meet · *intermediate*
#
# Compare the two formulas of section 1. Each is a straight line over the size $n$:
#
# $$T_\text{ring} = 2(P-1)\,L + \frac{2(P-1)}{P}\cdot\frac{n}{B},\qquad
# T_\text{swap} = \log_2\!P\;L + \log_2\!P\cdot\frac{n}{B}.$$
#
# The line of the ring starts higher, because the ring pays more latencies. It rises more slowly,
# because the ring moves fewer bytes. So there is one size at which the lines meet.
#
# **Exercise.** Compute this size, in bytes, for a power of two. `latency` is in seconds,
# `bandwidth` in bytes a second. Remember the case of 2 ranks: there both lines have the same
# slope.

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
# ## 6. Few steps and few bytes · *advanced*
#
# Must one choose between few steps and few bytes? Rabenseifner (2004) describes a way to have
# both. Swap only half of the vector, first with the rank *farthest* away: the lower rank keeps the
# lower half and sends the upper one, and its partner does the opposite. Both add what arrives to
# the half that they kept. Now each has half of the work left. It does the same with a partner half
# as far away, until only $1/P$ of the vector is left, and this part is complete. Then everything
# runs backwards: partners exchange what is complete, and each step doubles what a rank has. (MPICH
# and Open MPI begin with the nearest rank, so that the longest messages have the shortest ways.)
#
# $$T_\text{both} = 2\log_2 P\;L + 2\,\frac{P-1}{P}\cdot\frac{n}{B}$$
#
# **Exercise.** Write it for powers of two. `split_evenly(x, 2)` returns the two halves. The
# function may call itself: for the half that you keep, the task is the same again, at half the
# distance, until the distance is 0.


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
# ## 7. A machine that nobody has at home · *beginner*
#
# Now take 65,536 ranks on a good network: a latency of 1 µs, and 10 GB a second. Your machine
# cannot run 65,536 processes, but it can simulate them, as in the tour: the function runs on each
# rank, and the clock is computed. Here an eighth of the ranks or less is enough. First your own
# swapping adds up the numbers of 4,096 ranks. Then the library's recursive doubling, which takes
# any number of ranks, adds vectors of 1 MiB on 8,192 ranks. These vectors are `Phantom`s: only
# their size matters. Two options make it quick: `trace=False` keeps no timeline, and with
# `strict=False` a send need not wait for its receive (unit 00).
#
# A ring of 65,536 ranks is too much even for a simulation: it has 131,070 steps and 8.6 billion
# messages. But its formula can be tested on 128 ranks, and there it holds exactly. That of
# recursive doubling holds exactly on 8,192 ranks. So we may use the formulas for what we cannot
# run. The last cell does so, and draws the result.

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
# Twelve steps, twelve microseconds, and 4,096 ranks know their sum: this is the cost of latency
# alone. With long vectors the bytes count too. The lines of ring and recursive doubling cross at
# the size that section 5 computes: 94 MB. A network with fewer bytes of gradients should not use a
# plain ring on 65,536 ranks. From 11 kB on Rabenseifner's line is the lowest. Remember this for
# the third question at the end.
#
# ## 8. Your own ranks · *intermediate*
#
# Back to your four engines. What does a step of an all-reduce cost *here*? More than a ping-pong
# says: in a step all ranks send and receive at the same time, and with fewer than four cores they
# share those too. So let every rank send to the right and receive from the left, ten times in a
# row. The course's `stopwatch` measures this at several sizes, again and again. The rank that
# finishes last counts. A straight line through all these times gives a latency and a bandwidth.


# %%
def ten_steps(comm, x):
    right, left, into = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size, np.empty_like(x)
    for _ in range(10):
        comm.sendrecv(x, right, into, left)


# %%
from ddl_class import stopwatch
from ddl_teach.theory.fit import fit

tried = [2**k for k in range(6, 21, 2)]
plainly = {"trace": False, "strict": False, "timeout": 100}
took = engines.run(stopwatch, sizes=tried, ways=[ten_steps], **plainly).results
steps = np.max(took, axis=0)[:, 0] / 10
model = fit(np.tile(tried, len(steps)), steps.ravel())
print(f"latency {model.latency * 1e6:.0f} µs, {1e-9 / model.per_byte:.2f} GB a second")

# %% [markdown]
# From these two numbers the formulas predict every algorithm. The stopwatch also runs on simulated
# ranks, in a network with these two numbers. And it measures your engines, with two more
# all-reduces, those of section 9: MPI's own, and that of torch.distributed, called gloo. So there
# are three answers to one question: the formula (lines), the simulation (squares) and your machine
# (dots, with the middle half of the turns as bars). Where the bars of several algorithms meet,
# the measurement does not say which of them is faster: the title names them together.

# %%
from ddl_class.notebook import gloo

ways = [my_ring, my_swap, rabenseifner.allreduce, native.allreduce, gloo.allreduce]
sizes = np.array([2**k for k in range(9, 23, 2)])
took = engines.run(stopwatch, sizes=sizes, ways=ways, **plainly).results
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
# machine. Where do the dots leave their lines, and in which direction? The formula does not know
# the additions, the caches or other programs on your processor. Nor does it know a library that
# sends short and long messages in different ways.
#
# ### The surprise
#
# In no algorithm does the busiest rank send fewer bytes than in the ring, and yet the ring loses:
# below a size that two numbers predict. The next cell computes this size, compares it with the
# simulation at all our sizes, and shows your prediction beside your engines.

# %%
from ddl_teach.theory.crossover import crossovers

[meeting] = crossovers("recursive_doubling", "ring", 4, model.link)
print(f"Two numbers say that the ring wins from {meeting.nbytes:,.0f} bytes on.")
assert ((simulated[0] < simulated[1]) == (sizes > meeting.nbytes)).all()
ring_took, swap_took = 1e6 * slowest.min(axis=0)[:2, :3].sum(axis=1)
print(f"Three short vectors at best: ring {ring_took:,.0f} µs, swapping {swap_took:,.0f} µs.")
swap_wins = measured[1] < measured[0]
reveal("06.crossover", sizes[min(swap_wins.sum(), len(sizes) - 1)])

# %% [markdown]
# On your engines, too, the ring loses with short vectors, even in the fastest of its eleven turns.
# If it did not, other programs were at work: measure again. The cell counted the sizes at which
# swapping was faster. Your prediction was compared with the next size, or with the largest if
# swapping was faster everywhere. The sizes are four times apart, so no prediction can be closer
# than that.
#
# ## 9. What everybody else uses · *intermediate*
#
# Training frameworks do not ask you to write the loop. PyTorch's `all_reduce` gives the vector to
# a library: NCCL for NVIDIA's GPUs, gloo for processors, or MPI if PyTorch was built with it. Here
# is your ring beside native MPI and gloo, from the same run: first a table of how many times as
# long as native MPI each took, with a column for each size in KiB; then the times.

# %%
print("KiB".ljust(20), *(f"{size / 1024:>6,.4g}" for size in sizes))
for name, ratios in zip([*three, "native", "gloo"], measured / measured[3], strict=True):
    print(name.ljust(20), *(f"{ratio:6.2f}" for ratio in ratios))
shown = {"ring": 0, "native": 3, "gloo": 4}
bars = {name: (low[k], high[k]) for name, k in shown.items()}
plot_times(measured={name: (sizes, measured[k], bars[name]) for name, k in shown.items()})

# %% [markdown]
# With short vectors native MPI should be the fastest. Open MPI has the three algorithms that you
# have written, and others. But each of our messages passes through Python, which takes longer than
# the message itself. With long vectors the bytes count, and the difference should shrink: a good
# algorithm in a slow language can come close to the library. gloo uses TCP, between processes of
# one machine as between machines, and pays for that.
#
# These are ratios of one run on one machine, which was perhaps busy. They say nothing about a
# cluster, and nothing about GPUs. Unit 07 looks at those.
#
# ## 10. Explore · *beginner*
#
# Move the sliders. The map at the left shows which algorithm is the fastest, for every number of
# ranks and every size. At the right are the times of all algorithms at your point of the map. It
# begins with the network of section 7; after section 8 you can put in `model.latency` and `1 /
# model.per_byte`. *Linear* is the simple way of section 1. A *tree* adds from rank to rank, so
# that rank 0 need not receive all vectors itself. Which sliders move the borders to the right,
# which to the left? Can you find a network in which the simple way of section 1 is the fastest?

# %%
from ddl_class import explore

explore(latency=1e-6, bandwidth=10e9, ranks=4)

# %% [markdown]
# The notebook `06_more_collectives.ipynb` goes on from here: a barrier, an all-gather and an
# all-to-all in few steps, and a puzzle, an all-reduce with a time to beat.
#
# ## What you said
#
# Your predictions of this unit, beside what was found:

# %%
from ddl_class import predictions

predictions("06")

# %% [markdown]
# ## Three questions
#
# **1.** Fill the vectors with random numbers instead of whole ones. Then ring and recursive
# doubling give sums that differ in the last digits. Is one of them wrong? Do at least all ranks of
# one run have the same sum?
#
# <details><summary>An answer</summary>
#
# Neither is wrong. Each addition is rounded, so the sum depends on the order of the additions, and
# the algorithms add in different orders. Within one run all ranks have the same sum to the last
# bit. In the ring each chunk is completed on one rank and then only copied. In recursive doubling
# the partners compute a + b and b + a, which are equal. This matters: replicas of a network that
# are updated with different sums drift apart.
#
# </details>
#
# **2.** One rank comes 10 ms late to the all-reduce. How much later do the others finish, with the
# ring, and with recursive doubling?
#
# <details><summary>An answer</summary>
#
# About 10 ms with either. No rank can have the whole sum before the last rank has sent its part.
# So in an all-reduce all ranks wait for the slowest, with any algorithm. Unit 14 is about not
# waiting.
#
# </details>
#
# **3.** By the formulas, on powers of two, Rabenseifner's algorithm is never slower than the ring,
# and mostly faster. Why do libraries for GPUs have rings at all?
#
# <details><summary>An answer</summary>
#
# Our formulas know ports, but no links that several messages share. In a ring each rank sends only
# to a neighbour. So the ring can be laid such that each link carries one message at a time. Our
# first step of Rabenseifner's sends half of every vector to the farthest rank, all at the same
# time. If the network is thin in the middle, it becomes a bottleneck. (If one begins with the
# nearest rank, those messages are short, but several still share a link.) A ring also takes any
# number of ranks as it is, and its chunks can be cut into smaller pieces that follow each other.
# For short vectors NCCL, too, uses something else: trees, since 2019 (Jeaugey).
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
# - D. De Sensi, T. Bonato, D. Saam and T. Hoefler, "Swing: short-cutting rings for higher
#   bandwidth allreduce", *NSDI*, 2024: on a torus, a partner far away uses the links of others.
#   Swing chooses partners by turns to the left and to the right, so that they stay near.
# - A. Jürß, V. Addanki and S. Schmid, "Trivance: latency-optimal AllReduce by shortcutting
#   multiport networks", *arXiv*, 2026: both ports of a ring in each step, and a logarithm to the
#   base of 3.
# - `ddl_teach/theory/bounds.py`: what no algorithm can beat, for each collective.
#
# The library's algorithms are in `ddl_teach/collectives`, one in each file, and now you can read
# them. `progress()` shows how far you are in the whole course. From here the starred path goes to
# unit 08, data parallelism. If you have a day, units 01 and 02 come first: they look inside one
# layer. Unit 07 asks which part of the machine copies the bytes when they begin and end on a GPU.
