# %% [markdown]
# # Collectives as they are
#
# **What do NCCL and switches do that yours does not?**
#
# In unit 06 you wrote a ring. It moves the fewest bytes, but it pays two latencies for each rank.
# NCCL is NVIDIA's library of collectives. It also has trees, two at a time. It chooses between
# three ways to say that a message is complete. For few bytes it sends many chunks in one message.
# And some switches add by themselves. Here you see what each of these is worth. You need unit
# 06. The next two notebooks, `23_networks` and `23_sharing_loads`, name what they need besides.
# Section 1 is for *beginners*, sections 2 to 5 are for *intermediate* readers. About 70 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.collectives import double_binary_tree, ring, switch, tree
from ddl_teach.comm import Phantom
from ddl_teach.plain.double_binary_tree import relatives
from ddl_teach.theory import collectives, nccl
from ddl_teach.theory.machine import Cluster, Link

# %% [markdown]
# ## 1. Two trees · *beginner*
#
# A tree needs few steps. In a **pipelined** tree the vector is cut into chunks, and a rank passes
# on one chunk while the next one arrives. But half of the ranks are leaves: they send up, and they
# never add. So half of the network is idle. A **double binary tree** uses a second tree, in which
# these leaves are inside. Each tree takes one half of the vector. `relatives` gives the rank above
# (None for the root) and a list of the ranks below (empty for a leaf):

# %%
engines = Engines(4)
for rank in range(8):
    print(rank, "first tree", relatives(rank, 8, False), "second", relatives(rank, 8, True))
inside = [[bool(relatives(r, 8, second)[1]) for r in range(8)] for second in (False, True)]
assert not np.all(inside, axis=0).any()


# %%
def parent(place, ranks):
    step = place & -place
    up = place - step if place & (2 * step) else place + step
    return up if up < ranks else place - step


# %% [markdown]
# No rank is inside both. The second tree is the first one mirrored: rank 0 stands at the last
# place, rank 1 at the one before, and so on. `parent(place, ranks)` gives the place above in the
# first tree. It is `step` away, the largest power of two that divides `place`.
#
# **Exercise.** Which rank is above `rank` in the second tree? The number of ranks is even. The
# cell below yours prints the answers for ranks 0 to 6 of eight: rank 7 is the root.


# %% name="23.parents" tags=["answer"]
def above_in_second(rank, ranks):
    """The rank above this one in the mirrored tree; no rank is asked that is a root."""
    ### BEGIN SOLUTION
    return ranks - 1 - parent(ranks - 1 - rank, ranks)
    ### END SOLUTION


# %%
def as_in_nccl(rank, ranks):
    return relatives(rank, ranks, True)[0]


mine = yours("23.parents", above_in_second, as_in_nccl)
print([mine(rank, 8) for rank in range(7)])

# %% name="23.parents" tags=["check"]
check("23.parents", above_in_second)
### BEGIN HIDDEN TESTS
judge("23.parents", above_in_second, seed=234)
### END HIDDEN TESTS

# %% [markdown]
# How long does an all-reduce take? For $n$ bytes, latency $L$ and time $G$ for a byte, a ring of
# $P$ ranks takes $2(P-1)(L + nG/P)$. Two trees take about $2 \lceil\log_2 P\rceil (L + 2mG) + 2nG$
# with chunks of $m$ bytes. The next cell simulates both and a single tree on 64 ranks.

# %%
link, sizes = Link(2e-6, 1 / 25e9), [2**k for k in range(10, 25, 2)]


def seconds(algorithm, nbytes, ranks, link):
    def program(comm):
        algorithm.allreduce(comm, Phantom(nbytes))

    return simulate(program, ranks, network=link.network, trace=False).time


# %%
ways = {"ring": ring, "one tree": tree, "two trees": double_binary_tree}
times = {name: [seconds(way, size, 64, link) for size in sizes] for name, way in ways.items()}
axes = plane()
axes.draw_all({"simulated": {name: (sizes, row) for name, row in times.items()}})
axes.scale_sizes_and_times("bytes of the vector", "time")
gain = (
    f"1 KiB: two trees are {times['ring'][0] / times['two trees'][0]:.0f} times as fast as a ring"
)
axes.finish("All-reduce on 64 ranks", gain, legend="upper left")

# %% [markdown]
# For short vectors two trees are as fast as one, because only latencies count. For long ones they
# come near the ring. On more ranks the difference grows. By the formulas, for 1 MiB in 8 chunks a
# tree:

# %%
for ranks in (64, 1024, 65_536):
    of_ring = collectives.ring(ranks, 2**20, link)
    of_trees = collectives.double_binary_tree(ranks, 2**20, link, 8)
    print(f"{ranks:6} ranks: ring {1e3 * of_ring:8.3f} ms, two trees {1e3 * of_trees:.3f} ms")

# %% [markdown]
# The ring's time grows with the ranks, that of two trees with their logarithm. Their formula is an
# estimate, up to a fifth too long (`tests/benchmarks/test_many_ranks.py`): it counts the way of
# the first chunks up and down, and then all bytes once more. Real ranks give the same sum:


# %%
def sums(comm):
    x = np.arange(1000.0) + comm.rank
    double_binary_tree.allreduce(comm, x)
    return x


results = engines.run(sums).results
assert all(np.array_equal(x, 4 * np.arange(1000.0) + 6) for x in results)

# %% [markdown]
# ## 2. Straight to the owner · *intermediate*
#
# Behind the switch of one node each two GPUs have a path. Then chunks need not travel round. In a
# **direct** all-reduce each rank owns one chunk. In the first step every rank sends each owner its
# part, and owners add. In the second step every owner sends its sum to all. Engines that serve
# models call this **two-shot**. In a **one-shot** all-reduce each rank sends its whole vector to
# all, and each adds for itself. A. Shah et al., 2025, take one-shot for short vectors and two-shot
# for longer ones.
#
# | | steps | bytes that a rank sends |
# |---|---|---|
# | ring | $2(P-1)$ | $2(P-1)/P\;n$ |
# | two-shot | 2 | $2(P-1)/P\;n$ |
# | one-shot | 1 | $(P-1)\,n$ |
#
# **Exercise.** Write the two-shot all-reduce. The length of `x` is a multiple of the ranks. Use
# `isend`, so that no rank waits for a receiver. The cell after yours shows it on four ranks.


# %% name="23.direct" tags=["answer"]
def in_two_steps(comm, x):
    """Sum x over all ranks, in place: chunks go to their owners, sums go to all."""
    ### BEGIN SOLUTION
    chunks = np.array_split(x, comm.size)
    mine = chunks[comm.rank]
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    sends = [comm.isend(chunks[other], other) for other in others]
    arriving = np.empty_like(mine)
    for other in others:
        comm.recv(arriving, other)
        mine += arriving
    for send in sends:
        send.wait()
    sends = [comm.isend(mine, other) for other in others]
    for other in others:
        comm.recv(chunks[other], other)
    for send in sends:
        send.wait()
    ### END SOLUTION


# %%
from ddl_class import animate

animate(in_two_steps)

# %% name="23.direct" tags=["check"]
check("23.direct", in_two_steps)
### BEGIN HIDDEN TESTS
judge("23.direct", in_two_steps, ranks=(2, 3, 5), seed=238)
### END HIDDEN TESTS

# %% [markdown]
# First on your ranks. Then 8 simulated GPUs of one node, as in the picture of section 1:

# %%
from ddl_teach.collectives import bruck, direct, one_shot, pat

mine = yours("23.direct", in_two_steps, direct.allreduce)


def my_sum(comm):
    x = np.arange(1000.0) + comm.rank
    mine(comm, x)
    return x


# %%
assert np.array_equal(engines.run(my_sum).results[3], 4 * np.arange(1000.0) + 6)
eight = {"ring": ring, "two-shot": direct, "one-shot": one_shot}
gpus, longer = Link(2e-6, 1 / 370e9), [2**k for k in range(10, 27, 2)]
simulated, computed = {}, {}
for name, way in eight.items():
    times = [seconds(way, size, 8, gpus) for size in longer]
    simulated[name] = (longer, times)
    formula = collectives.formula(name.replace("two-shot", "direct").replace("-", "_"))
    computed[name] = (longer, formula(8, np.array(longer), gpus))

# %%
axes = plane()
axes.draw_all({"predicted": computed, "simulated": simulated})
axes.scale_sizes_and_times("bytes of the vector", "time")
times = simulated["ring"][1][0] / simulated["one-shot"][1][0]
gain = f"1 KiB: a ring takes {times:.1f} times as long as one-shot"
axes.finish("All-reduce in a node of 8", gain, legend="upper left")

# %% [markdown]
# In this model two-shot is never slower than a ring: it sends as much, in 2 steps and not in 14.
# So why does anybody use rings? Here all pairs had a path of their own. Where many flows share a
# cable they meet, as in the notebook on networks. And each rank needs a connection to every other
# rank, with a buffer, where a ring needs two.
#
# ## 3. Trees that share messages · *intermediate*
#
# On many nodes an all-gather should take few steps *and* send little far away. Bruck's algorithm
# from unit 06 takes $\lceil\log_2 P\rceil$ steps, but its longest message goes the farthest.
# **PAT** (parallel aggregated trees, S. Jeaugey, 2025) turns this round. The first message goes to
# the rank half of all ranks away, with one chunk. The next goes half as far, with two chunks. The
# last goes to the next rank, with half of all chunks. It is in NCCL since version 2.23.
#
# **Exercise.** How far does each message go, and how many chunks are in it? The number of ranks is
# a power of two. Put these lines in order: two of them belong nowhere.


# %% name="23.pat" tags=["answer"]
def far_first(ranks):
    """A pair (distance, chunks) for each step of an all-gather, the farthest first."""
    ### BEGIN SOLUTION
    steps, distance, chunks = [], ranks // 2, 1
    while distance:
        steps.append((distance, chunks))
        distance, chunks = distance // 2, 2 * chunks
    return steps
    ### END SOLUTION


# %% name="23.pat" tags=["check"]
check("23.pat", far_first)
### BEGIN HIDDEN TESTS
judge("23.pat", far_first, seed=239)
### END HIDDEN TESTS

# %% [markdown]
# How much does the order matter? 64 ranks on nodes of 8, and chunks of 64 KiB. Which algorithm
# sends how much out of its node?

# %%
predict("23.far", ...)

# %% [markdown]
# The next cells simulate each algorithm, and count the chunks that leave a node.


# %%
def gather(comm, way, nbytes):
    way.allgather(comm, Phantom(nbytes))


# %%
nodes, ways = Cluster(8, 8, cards=8).network, {"ring": ring, "Bruck": bruck, "PAT": pat}
away = {}
for name, way in ways.items():
    run = simulate(gather, 64, network=nodes, way=way, nbytes=2**22)
    left = [
        m.bytes for r, row in enumerate(run.ledger) for m in row.messages if m.peer // 8 != r // 8
    ]
    away[name] = sum(left) / 8 / 2**16
print(*(f"{name}: {chunks:.0f} chunks leave each node" for name, chunks in away.items()), sep="\n")
reveal("23.far", away["Bruck"] / away["PAT"])

# %% [markdown]
# A ring lets the fewest chunks leave a node: each chunk enters each other node once, and never
# twice. But a ring has 63 steps, and the others have 6. So each is the best somewhere:

# %%
curves = {}
for name, way in ways.items():
    given = {"network": nodes, "way": way, "trace": False}
    curves[name] = (longer, [simulate(gather, 64, nbytes=size, **given).time for size in longer])
axes = plane()
axes.draw_all({"simulated": curves})
axes.scale_sizes_and_times("bytes of the vector", "time")
gain = f"4 MiB: a ring takes {curves['ring'][1][6] / curves['PAT'][1][6]:.1f} times as long as PAT"
axes.finish("All-gather on 8 nodes of 8 GPUs, shared cables", gain, legend="upper left")

# %% [markdown]
# A message of PAT may also hold only a few chunks, `most`, so that a small buffer is enough. One
# branch of the trees is then done before the next. On $P$ ranks, a power of two, that takes
# $\log_2 m + P/m - 1$ steps for $m$ chunks in a message. Here are 65,536 ranks by the formula, and
# a million simulated. All ranks do the same here, so with `symmetric=True` one runs in place of
# all. It is proved at each message that they do, and what differs from rank to rank is refused:

# %%
for most in (1, 64, 65_536):
    time = collectives.pat(65_536, 2**22, link, most)
    print(f"{most:6} chunks in a message: 65,536 ranks take {1e3 * time:7.3f} ms")
given = {"network": link.network, "way": pat, "trace": False, "symmetric": True}
run = simulate(gather, 2**20, nbytes=2**22, **given)
assert np.isclose(run.time, collectives.pat(2**20, 2**22, link, 2**20), rtol=1e-9)
print(f"a million simulated: {1e3 * run.time:.3f} ms, {run.messages_sent // 2**20} messages each")

# %% [markdown]
# 65,536 ranks can be simulated as well. *Recorded* (`benchmarks/results/many_ranks.txt`), at 2 µs
# and 25 GB/s as here: PAT gathers 4 MiB in 0.1998 ms, and the formula says 0.1998 ms. Two trees
# add up 1 KiB in 0.0653 ms, by the formula 0.0654 ms. For 128 KiB, a chunk in each tree, they take
# 0.2267 ms, and the formula says 0.2423 ms. For 1 MiB in eight chunks a tree they take 0.2974 ms,
# by the formula 0.3157 ms: 2.1 million messages, for which a processor needs minutes. Each of the
# others takes it less than half a minute.
#
# *The surprise:* in NCCL as it is in 2026, PAT is not that fast yet, by NCCL's own numbers. With
# one GPU in each of $N$ nodes it expects $8 + 4 \log_2 N + 2.8\,N$ microseconds for a few bytes. A
# comment there says that the last part is still linear, and that its authors hope to remove it. A
# ring by the protocol LL, of the next section, has $6.6 + 5\,(N-1)$:

# %%
for count in (8, 64, 1024):
    by_pat = 8 + 4 * np.log2(count) + 2.8 * count
    print(f"{count:5} nodes: PAT {by_pat:6.0f} us, ring by LL {6.6 + 5 * (count - 1):6.0f} us")

# %% [markdown]
# ## 4. Three protocols · *intermediate*
#
# How does a GPU know that a chunk is complete? NCCL has three **protocols**. *Simple* writes the
# chunk, waits until all is visible, and then writes a flag. *LL* (low latency) writes 4 bytes of
# data and 4 bytes of flag at once. *LL128* writes 120 bytes of data and 8 of flag. The latencies
# are those that Z. Hu et al., 2025, give for one hop, about 6, 1 and 2 microseconds.
#
# **Exercise.** How long does a ring take? `bandwidth` is that of the network, `fraction` says
# which part of what travels is data.


# %% name="23.protocol" tags=["answer"]
def ring_by(ranks, nbytes, bandwidth, latency, fraction):
    """2 (P-1) steps, each of a latency and a chunk."""
    ### BEGIN SOLUTION
    chunk = nbytes / ranks / (fraction * bandwidth)
    return 2 * (ranks - 1) * (latency + chunk)
    ### END SOLUTION


# %%
def by_formula(ranks, nbytes, bandwidth, latency, fraction):
    return collectives.ring(ranks, nbytes, Link(latency, 1 / (fraction * bandwidth)))


# %%
mine = yours("23.protocol", ring_by, by_formula)
lines = {}
for name, protocol in nccl.PROTOCOLS.items():
    line = [mine(8, size, 25e9, protocol.latency, protocol.fraction) for size in sizes]
    lines[name] = (sizes, line)
axes = plane()
axes.draw_all({"predicted": lines})
axes.scale_sizes_and_times("bytes of the vector", "time")
axes.finish("Protocols", "A ring of 8 ranks by three protocols", legend="upper left")

# %% [markdown]
# The lines cross. Where they do depends on the ranks and on the network.

# %% name="23.protocol" tags=["check"]
check("23.protocol", ring_by)
### BEGIN HIDDEN TESTS
judge("23.protocol", ring_by, seed=235)
### END HIDDEN TESTS

# %% [markdown]
# LL is the fastest for short vectors, Simple for long ones, and LL128 between them. NCCL has such
# a model in itself, and takes the algorithm and the protocol with the least expected time. It cuts
# the vector over its **channels**. A channel is one copy of a ring or a tree, with processors of
# its own on the GPU: an H100 has 18 NVLinks, and NCCL counts 20.6 GB/s for each.
# `nccl.expected` has NCCL's numbers. What does it take, on 1, 2 and 16 nodes?

# %%
for size in sizes[::2]:
    choices = []
    for nodes in (1, 2, 16):
        times = nccl.expected(size, nodes, 8, "H100")
        best = min(times, key=times.get)
        choices.append(f"{best:13} {1e6 * times[best]:3.0f} µs")
    print(f"{size:10,} bytes:", ", ".join(choices))

# %% [markdown]
# Is such a model right? `benchmarks/published_collectives.py` lays it beside 106 all-reduces that
# others measured and published. By NCCL's numbers a time is typically 1.87 times too long or too
# short. Nearly all are too short, as they leave out the start of a call. Two fitted numbers, 32 us
# a call and 76% of the bandwidth, bring this to 1.38. On rows that they were not fitted on it is
# 1.40. In one node it is 1.20, on several nodes 1.72: the networks between nodes differ more, and
# little is known of them. To choose well, a model needs only the right order of the times.
#
# MPI libraries choose, too, but by fixed sizes. MPICH takes recursive doubling up to 2,048 bytes,
# and Rabenseifner's algorithm above (Thakur, Rabenseifner and Gropp, 2005; the size stands in
# MPICH's source). Open MPI's first rules took recursive doubling below 10,000 bytes, and a ring
# above. Its source says why: these were the best sizes on one cluster. Where would the formulas of
# unit 06 change on other networks?

# %%
vectors = 2 ** np.arange(6, 25)
for latency, rate in ((50e-6, 1e8), (10e-6, 1e9), (2e-6, 25e9)):
    given, names = (16, vectors, Link(latency, 1 / rate)), ("recursive_doubling", "rabenseifner")
    doubling, halving = (collectives.formula(name)(*given) for name in names)
    print(f"{latency} s, {rate:.3g} B/s: from {vectors[np.argmax(halving < doubling)]:,} bytes on")

# %% [markdown]
# The size at which to change grows with the product of latency and bandwidth. So a fixed size fits
# one network. Do published times of MPI show that? `benchmarks/published_mpi.py` takes 114
# all-reduces on up to 128 nodes of Lassen, a cluster in Livermore, with one rank a node. (The
# project *converged-computing* published them in 2023.) A message takes what the ping-pong of the
# same runs took: nothing is fitted. Then the fastest of three ways of unit 06 should be the time.
# Typically it is off by a factor of 1.34, and in 80% of all cases it is too short. For up to 2 KiB
# on 4, 8, 16 and 64 nodes it is off by less than a fifth. Long vectors differ more. These are
# microseconds, medians of 20 runs:
#
# | nodes | 256 KiB | 512 KiB | 1 MiB |
# |--:|--:|--:|--:|
# | 8 | 182.4 | 339.3 | 683.9 |
# | 16 | 127.6 | 165.6 | 257.2 |
# | 64 | 477.8 | 233.0 | 358.7 |
#
# From 512 KiB on, eight nodes take more than twice as long as 16. On 64 nodes half of the bytes
# take twice as long.
# No formula says so: the library took a way that does not fit. NCCL's model asks for the network,
# and MPI libraries take rules of your own (unit 17).
#
# ## 5. A switch that adds · *intermediate*
#
# If ranks do all adding, some rank must send at least $2(P-1)/P$ vectors. But a switch can add.
# Each host sends its vector to the switch once and receives the sum once. R. Graham et al., 2016,
# built this into switches and called it **SHARP**.
#
# **Exercise.** How many times the bytes of such a host does a rank in a ring send?


# %% name="23.switch_bytes" tags=["answer"]
def ring_over_switch(ranks):
    """The bytes of a rank in a ring, divided by those of a host whose switch adds."""
    ### BEGIN SOLUTION
    return 2 * (ranks - 1) / ranks
    ### END SOLUTION


# %% name="23.switch_bytes" tags=["check"]
check("23.switch_bytes", ring_over_switch)
### BEGIN HIDDEN TESTS
judge("23.switch_bytes", ring_over_switch, seed=236)
### END HIDDEN TESTS

# %% [markdown]
# A simulated rank can be a switch: the last one. It has a cable to each host.
#
# **Exercise.** Write this all-reduce. The last rank's `x` is zero: it is the switch, and may use
# it.


# %% name="23.switch" tags=["answer"]
def in_the_switch(comm, x):
    """Hosts send x to the last rank; it adds, and sends each host the sum."""
    ### BEGIN SOLUTION
    if comm.rank < comm.size - 1:
        comm.sendrecv(x.copy(), comm.size - 1, x, comm.size - 1)
        return
    arriving = np.empty_like(x)
    for host in range(comm.size - 1):
        comm.recv(arriving, host)
        x += arriving
    for host in range(comm.size - 1):
        comm.send(x, host)
    ### END SOLUTION


# %% name="23.switch" tags=["check"]
check("23.switch", in_the_switch)
### BEGIN HIDDEN TESTS
judge("23.switch", in_the_switch, ranks=(2, 3, 5), seed=237)
### END HIDDEN TESTS

# %% [markdown]
# `switch.allreduce` does the same in pieces: the switch sends the first sum down while the next
# piece comes up. With $K$ pieces that takes $2L + (1 + 1/K)nG$. How much faster is that than a
# ring?

# %%
predict("23.adding", ...)


# %%
def by_switch(comm, nbytes, pieces):
    switch.allreduce(comm, Phantom(nbytes), pieces=pieces)


network, added = switch.star(16, 2e-6, 25e9), []
pieces = [max(1, min(16, size // 2**17)) for size in sizes]  # short ones only cost latency
for size, cut in zip(sizes, pieces, strict=True):
    run = simulate(by_switch, 17, network=network, nbytes=size, pieces=cut, trace=False)
    added.append(run.time)
print(f"a host sent {run.ledger[0].bytes_sent / size:.2f} of its vector")

# %% [markdown]
# Now beside its formula, and beside the least time of ranks that add.

# %%
bound = [2 * 15 / 16 * size * link.per_byte for size in sizes]
times = [nccl.in_the_switch(n, link, cut) for n, cut in zip(sizes, pieces, strict=True)]
computed = {"switch": (sizes, times), "ranks that add, at least": (sizes, bound)}
axes = plane()
axes.draw_all({"predicted": computed, "simulated": {"switch": (sizes, added)}})
axes.scale_sizes_and_times("bytes of the vector", "time")
saved = f"16 MiB: {added[-1] / bound[-1]:.0%} of the least time of ranks that add"
axes.finish("A switch that adds, 16 hosts", saved, legend="upper left")
reveal("23.adding", collectives.ring(64, 1e12, link) / nccl.in_the_switch(1e12, link, 64))

# %% [markdown]
# The bound is not wrong. It counts what ranks must send and receive if only ranks add. The switch
# is one more that adds, and it sends as much as all hosts together.
#
# ## Three questions
#
# **1.** Why does NCCL not always take two trees?
#
# <details><summary>An answer</summary>
#
# For long vectors on few ranks a ring is faster: it sends 2 (P-1)/P vectors, and trees send two.
#
# </details>
#
# **2.** Two-shot has two steps on any number of ranks. Why is it used inside a node only?
#
# <details><summary>An answer</summary>
#
# Inside a node each two GPUs have a path. Between nodes all these messages meet on few cables at
# once. And each rank would need a connection to every other rank.
#
# </details>
#
# **3.** Why is LL never the best for long vectors?
#
# <details><summary>An answer</summary>
#
# Half of what it sends are flags, so it has half of the bandwidth.
#
# </details>
#
# ## Where to read on
#
# - P. Sanders, J. Speck and J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
#   reduction and scan", *Parallel Computing* 35(12), 2009.
# - R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations
#   in MPICH", *International Journal of High Performance Computing Applications*, 2005.
# - Z. Hu et al., "Demystifying NCCL: an in-depth analysis of GPU communication protocols and
#   algorithms", *arXiv*, 2025.
# - A. Shah et al., "MSCCL++: rethinking GPU communication abstractions for cutting-edge AI
#   applications", *arXiv*, 2025.
# - S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
#   *arXiv*, 2025.
# - R. Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture
#   for efficient data reduction", *COMHPC*, 2016.
# - M. Si et al., "Collective communication for 100k+ GPUs", *arXiv*, 2025.
# - A. Jürß, V. Addanki and S. Schmid, "Trivance: latency-optimal AllReduce by shortcutting
#   multiport networks", *arXiv*, 2026.
#
# PAT stands in `ddl_teach/plain/pat.py`, the switch in `ddl_teach/collectives/switch.py`.
# `progress()` shows how far you have come.
