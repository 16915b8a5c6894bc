# %% [markdown]
# # Collectives as they are
#
# **What do NCCL and switches do that yours does not?**
#
# In unit 06 you wrote a ring. It moves the fewest bytes, but it pays two latencies for each rank.
# NCCL is NVIDIA's library of collectives. It also has trees, two at a time. It chooses between
# three ways to say that a message is complete. And some switches add by themselves. Here you see
# what each of these is worth. You need unit 06. Section 1 is for *beginners*, sections 2 and 3 are
# for *intermediate* readers. About 45 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.collectives import double_binary_tree, ring, switch, tree
from ddl_teach.comm import Phantom
from ddl_teach.plain.double_binary_tree import parent, relatives
from ddl_teach.theory import collectives, nccl
from ddl_teach.theory.machine import Link

# %%
engines = Engines(4)

# %% [markdown]
# ## 1. Two trees · *beginner*
#
# A tree needs few steps. In a **pipelined** tree the vector is cut into chunks, and a rank passes
# on one chunk while the next one arrives. But half of the ranks are leaves: they send up, and they
# never add. So half of the network is idle. A **double binary tree** uses a second tree, in which
# these leaves are inside. Each tree takes one half of the vector. `relatives` gives the rank above
# and the ranks below:

# %%
for rank in range(8):
    print(rank, "first tree", relatives(rank, 8, False), "second", relatives(rank, 8, True))

# %%
inside = np.array(
    [[len(relatives(rank, 8, second)[1]) > 0 for rank in range(8)] for second in (False, True)]
)
assert not np.all(inside, axis=0).any()

# %% [markdown]
# No rank is inside both. The second tree is the first one mirrored: rank 0 stands at the last
# place, rank 1 at the one before, and so on. `parent(place, ranks)` gives the place above in the
# first tree.
#
# **Exercise.** Which rank is above `rank` in the second tree? The number of ranks is even.


# %% name="23.parents" tags=["answer"]
def above_in_second(rank, ranks):
    """The rank above this one in the mirrored tree; no rank is asked that is a root."""
    ### BEGIN SOLUTION
    return ranks - 1 - parent(ranks - 1 - rank, ranks)
    ### END SOLUTION


# %%
def as_in_nccl(rank, ranks):
    return relatives(rank, ranks, True)[0]


# %%
mine = yours("23.parents", above_in_second, as_in_nccl)
print([mine(rank, 8) for rank in range(7)])

# %% [markdown]
# The list names the rank above for ranks 0 to 6. Rank 7 is the root.

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


def seconds(algorithm, nbytes):
    def program(comm):
        algorithm.allreduce(comm, Phantom(nbytes))

    return simulate(program, 64, network=link.network, trace=False).time


# %%
ways = {"ring": ring, "one tree": tree, "two trees": double_binary_tree}
times = {name: [seconds(way, size) for size in sizes] for name, way in ways.items()}
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
# The ring's time grows with the ranks, that of two trees with their logarithm. Real ranks give
# the same sum:


# %%
def sums(comm):
    x = np.arange(1000.0) + comm.rank
    double_binary_tree.allreduce(comm, x)
    return x


# %%
results = engines.run(sums).results
assert all(np.array_equal(x, 4 * np.arange(1000.0) + 6) for x in results)

# %% [markdown]
# ## 2. Three protocols · *intermediate*
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
# a model in itself, and takes the algorithm and the protocol with the least expected time.
#
# ## 3. A switch that adds · *intermediate*
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


# %%
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
computed = {"switch": (sizes, times)}
computed["ranks that add, at least"] = (sizes, bound)
axes = plane()
axes.draw_all({"predicted": computed, "simulated": {"switch": (sizes, added)}})
axes.scale_sizes_and_times("bytes of the vector", "time")
saved = f"16 MiB: {added[-1] / bound[-1]:.0%} of the least time of ranks that add"
axes.finish("A switch that adds, 16 hosts", saved, legend="upper left")

# %%
long = 1e12
reveal("23.adding", collectives.ring(64, long, link) / nccl.in_the_switch(long, link, 64))

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
# **2.** Why is LL never the best for long vectors?
#
# <details><summary>An answer</summary>
#
# Half of what it sends are flags, so it has half of the bandwidth.
#
# </details>
#
# **3.** The switch is left out of the count of bytes. Is that fair?
#
# <details><summary>An answer</summary>
#
# It answers what a host's cable carries, which limits the time. A switch must add at the speed of
# all its cables, and hold a piece of each vector. That is hardware somebody has to buy.
#
# </details>
#
# ## Where to read on
#
# - P. Sanders, J. Speck and J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
#   reduction and scan", *Parallel Computing* 35(12), 2009.
# - Z. Hu et al., "Demystifying NCCL: an in-depth analysis of GPU communication protocols and
#   algorithms", *arXiv*, 2025.
# - R. Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture
#   for efficient data reduction", *COMHPC*, 2016.
#
# The switch stands in `ddl_teach/collectives/switch.py`. `progress()` shows how far you have come.
