# %% [markdown]
# # Networks as they are
#
# **Why is a step sometimes twice as slow on the same machine?**
#
# So far a network was a latency and a bandwidth. Real ones are switches and cables, and messages
# meet on them. Here you see which networks large machines have, and what an all-reduce and an
# all-to-all take on each. At last you place 32 ranks on a given network, against time. You need
# units 06, 09 and 20. Sections 1 and 3 are for *beginners*, section 2 is for *intermediate*
# readers, and section 4 for *advanced* ones. About 60 minutes.

# %%
import numpy as np

from ddl_class import check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.collectives import hierarchical, pairwise, ring
from ddl_teach.comm import FatTree, HammingMesh, Phantom, Rails, Torus

# %% [markdown]
# ## 1. Flows that meet · *beginner*
#
# A **leaf** switch has hosts below it and links up to several **spine** switches. A **flow** is
# all that one host sends to another. Which link up does it take? Most switches *hash* the flow:
# they compute a number from its two addresses, and this number chooses the link. The way is called
# **ECMP**: many ways, all of equal cost. All packets of a flow then go one way and stay in order.
# But nothing keeps two flows from taking the same link while another one is empty.
#
# Here is a tree of two levels: 8 leaves with 4 hosts each and 4 links up. Each host sends to the
# host 4 further on, which is on the next leaf. A square says how many flows each link up has.

# %%
tree = FatTree(8, 2, routing="hashed", seed=0)


# %%
def uplinks(tree, leaf):
    hosts = range(leaf * tree.down, (leaf + 1) * tree.down)
    firsts = [tree.route(host, (host + tree.down) % tree.hosts)[0] for host in hosts]
    return np.array([link // 2 % tree.up for link in firsts])


# %%
loads = np.array([np.bincount(uplinks(tree, leaf), minlength=4) for leaf in range(8)])
axes = plane("link up", "leaf", height=3.4, width=5)
axes.imshow(loads, cmap="Blues", vmin=0, vmax=6, aspect="auto")
axes.write_numbers_into(loads, dark_below=0)
axes.set_xticks(range(4))
axes.finish("Flows on links", f"The fullest link has {loads.max()} flows", grid="")

# %% [markdown]
# Every leaf has four flows and four links. One each would be possible. Where $k$ flows share a
# link, each of them has a $k$-th of the bandwidth, and takes $k$ times as long. All ranks wait for
# the slowest flow.
#
# **Exercise.** How many flows are on the fullest link? `uplinks[i]` is the link that flow $i$
# takes.


# %% name="23.hash" tags=["answer"]
def fullest(uplinks):
    """How many flows share the link that has the most."""
    ### BEGIN SOLUTION
    return np.bincount(uplinks).max()
    ### END SOLUTION


# %% name="23.hash" tags=["check"]
check("23.hash", fullest)
### BEGIN HIDDEN TESTS
judge("23.hash", fullest, seed=231)
### END HIDDEN TESTS

# %% [markdown]
# ### How often?
#
# $m$ flows are hashed to $u$ links: $u^m$ ways, all alike likely. Those with at most $k$ flows on
# each link can be counted exactly. There are
#
# $$m!\;[x^m]\Big(1 + x + \frac{x^2}{2!} + \dots + \frac{x^k}{k!}\Big)^u$$
#
# of them, where $[x^m]$ takes the number before $x^m$. A step waits for *all* leaves, so the
# chance for one leaf is multiplied as often as there are leaves.
#
# ### Predict
#
# A machine has 64 leaves with 32 hosts each, and each leaf has 32 links up. So there are as many
# links as flows, and a leaf sends all its flows to one other leaf. How many times as long as
# without collisions does the step take, in the mean? The other question is about section 2.

# %%
predict("23.collide", ...)
predict("23.rails", ...)

# %% [markdown]
# First the small tree, with 300 hashes. The line is computed by the formula. A square says how
# often the slowest of its flows is so slow; `seed` chooses the hash.

# %%
from ddl_teach.theory.hashed_flows import mean_slowdown, slowest

my_fullest = yours("23.hash", fullest, lambda links: np.bincount(links).max())


def slowdown(seed):
    tree = FatTree(8, 2, routing="hashed", seed=seed)
    return max(my_fullest(uplinks(tree, leaf)) for leaf in range(8))


# %%
seen = np.bincount([slowdown(seed) for seed in range(300)], minlength=5) / 300
assert np.abs(seen - slowest(4, 4, leaves=8)).max() < 0.1
curves = {"computed": {"8 leaves": (range(5), slowest(4, 4, leaves=8))}}
curves["simulated"] = {"8 leaves": (range(5), seen)}
axes = plane("flows on the fullest link of all", "share of 300 hashes")
axes.set_xticks(range(5))
axes.draw_all(curves, label="{ground}")
axes.finish("Collisions", f"Without a collision: {seen[1]:.0%} of 300 hashes", legend="upper left")

# %% [markdown]
# Now many leaves, and time. The next cell simulates one message a host on a tree of 512 hosts, for
# each of ten hashes. It compares the routing by hash with two other ways:
#
# - **By destination**: the link depends on the number of the receiver. Neighbours then take
#   different links, but another pattern of flows may still collide.
# - **Adaptive**: a switch spreads the packets of each flow over all links, evenly. Packets arrive
#   out of order, and the receiving card must put them right.


# %%
def shift(comm, by):
    to, source = (comm.rank + by) % comm.size, (comm.rank - by) % comm.size
    comm.sendrecv(Phantom(10**6), to, Phantom(10**6), source)


def shift_time(**routing):
    return simulate(shift, 512, by=16, network=FatTree(32, 2, **routing), trace=False).time


# %%
alone = shift_time(routing="destination")
spread = shift_time(routing="adaptive") / alone
hashed = [shift_time(routing="hashed", seed=seed) / alone for seed in range(10)]

# %%
print(f"adaptive {spread:.2f}, hashed {min(hashed):.2f} to {max(hashed):.2f} times as long")
assert min(hashed) > 1.9

# %% [markdown]
# Two flows on one link halve the speed of a step, and on a large machine some link has more than
# two. The formula goes on where simulation stops: here up to 65,536 hosts.

# %%
for leaves in (1, 16, 256, 2_048):
    print(f"{32 * leaves:6,} hosts: {mean_slowdown(32, 32, leaves):.1f} times as long")

# %%
reveal("23.collide", mean_slowdown(32, 32, 64))

# %% [markdown]
# Meta reports that ECMP alone did badly for its training clusters, because a training has few and
# large flows. It first pinned flows to links, and later made each connection send over several
# queue pairs, so that more and smaller flows are hashed (A. Gangidi et al., 2024). With
# four parts of a flow hashed apart, unequal links are less unequal:

# %%
for parts in (1, 4):
    print(
        f"in {parts} parts: {mean_slowdown(16 * parts, 16, leaves=32) / parts:.2f} times as long"
    )

# %% [markdown]
# The next sections compare networks by the time of an all-reduce of 100 MB on 64 ranks.


# %%
def time_of(network, way, ranks=64, nbytes=10**8):
    def reduce_all(comm):
        way.allreduce(comm, Phantom(nbytes))

    return simulate(reduce_all, ranks, network=network, trace=False).time


# %% [markdown]
# ## 2. Rails · *intermediate*
#
# A node of today has eight GPUs, and each GPU has a network card of its own. On **rails** card $r$
# of every node hangs on the same switch, the rail $r$. Messages between GPUs of the same number
# stay on one switch. Only from rail to rail a message needs the spine. So the spine may be thin:
# **over-subscribed** 8 to 1 means that a switch has an eighth of the links up that it has down.
#
# An all-reduce by parts (unit 20) sums inside the nodes, and then between GPUs of the same number.
# A ring in the order of ranks leaves each node from its last GPU and enters the next at its first.


# %%
node = {"bandwidth": 50e9, "local_bandwidth": 450e9, "base_latency": 5e-6, "local_latency": 1e-6}
full, thin = (Rails(8, 8, oversubscription=times, **node) for times in (1, 8))
for rails in (full, thin):
    for name, way in (("one ring", ring), ("by parts", hierarchical)):
        print(f"spine {rails.oversubscription} to 1, {name}: {1e3 * time_of(rails, way):.1f} ms")

# %% [markdown]
# On the thin spine, the ring and the all-reduce by parts:

# %%
reveal("23.rails", time_of(thin, ring) / time_of(thin, hierarchical))

# %% [markdown]
# Part of this is not the spine: by parts each node sends over eight cards, the ring over one. But
# by parts is as fast with the thin spine as with the full one, because it never uses it. A message
# that must change rails can do so inside its node first: it goes to the GPU of the right number,
# and from there along the rail. NCCL calls this **PXN** (version 2.12). Does it help the ring?

# %%
around = Rails(8, 8, oversubscription=8, pxn=True, **node)
print(f"one ring, thin spine, PXN: {1e3 * time_of(around, ring):.1f} ms")

# %% [markdown]
# W. Wang et al. (2024) go further and leave the spine out: "rail-only". What is lost are the
# patterns in which every GPU sends to every other, such as the all-to-all of experts:


# %%
def all_to_all(comm, nbytes):
    pairwise.alltoall(comm, Phantom(nbytes), Phantom(nbytes))


# %%
for name, network in (("full", full), ("thin", thin), ("thin, PXN", around)):
    time = simulate(all_to_all, 64, network=network, nbytes=64 * 10**6, trace=False).time
    print(f"{name}: all-to-all in {1e3 * time:.1f} ms")

# %% [markdown]
# ## 3. Torus and HammingMesh · *beginner*
#
# A **torus** has no switches: each host has short cables to its neighbours, in two or three
# dimensions, and the last is joined to the first. Google's TPUs are joined so. A **HammingMesh**
# has boards of, say, 2 x 2 hosts. On a board neighbours have wires, and each line of hosts has a
# switch, on which the ends of all its boards hang (T. Hoefler et al., 2022). In both a ring
# along a row or along a column has all its links to itself.
#
# A ring through all ranks is *slow to start*: it takes $2(P-1)$ steps. Rings along rows, and then
# along columns on what is left, take
#
# $$2(c-1)\Big(L + \frac{n}{c\,B}\Big) + 2(r-1)\Big(L + \frac{n}{c\,r\,B}\Big)$$
#
# on $r$ rows of $c$ hosts: hardly more bytes, and only $2(c-1) + 2(r-1)$ latencies.
#
# **Exercise.** Put these lines in order: two of them belong nowhere.


# %% name="23.torus" tags=["answer"]
def along_rows_and_columns(comm, x, columns):
    """Sum x over all ranks, in place. Ranks are numbered row by row."""
    ### BEGIN SOLUTION
    row = comm.split(comm.rank // columns)
    column = comm.split(comm.rank % columns)
    part = ring.reduce_scatter(row, x)
    ring.allreduce(column, part)
    ring.allgather(row, x)
    ### END SOLUTION


# %% name="23.torus" tags=["check"]
check("23.torus", along_rows_and_columns)
### BEGIN HIDDEN TESTS
judge("23.torus", along_rows_and_columns, ranks=(4, 6, 10), seed=232)
### END HIDDEN TESTS

# %%
from ddl_class.exercises.unit_23.network_judges import rows_and_columns

my_sum = yours("23.torus", along_rows_and_columns, rows_and_columns)


def both_ways(comm, nbytes, columns):
    my_sum(comm, Phantom(nbytes), columns)


# %% [markdown]
# 64 simulated ranks on a torus of 8 x 8, on a HammingMesh of 4 x 4 boards, and on a fat tree.
# One ring is laid *well*, from neighbour to neighbour, and once *badly*: the same ring, but its
# places are dealt out at random. In a row-by-row numbering on a torus the next rank is nearly
# always a neighbour.

# %%
networks = {"torus": Torus((8, 8)), "HammingMesh": HammingMesh((4, 4))}
networks |= {
    "fat tree, hashed": FatTree(8, routing="hashed"),
    "adaptive": FatTree(8, routing="adaptive"),
}
dealt = np.random.default_rng(0).permutation(64).tolist()


def dealt_ring(comm, nbytes):
    ring.allreduce(comm.split(0, dealt[comm.rank]), Phantom(nbytes))


# %%
for name, network in networks.items():
    given = {"network": network, "nbytes": 10**8, "trace": False}
    well, badly = time_of(network, ring), simulate(dealt_ring, 64, **given).time
    lines = simulate(both_ways, 64, columns=8, **given).time
    print(
        f"{name:16} well {1e3 * well:5.1f}, badly {1e3 * badly:5.1f}, lines {1e3 * lines:5.1f} ms"
    )

# %% [markdown]
# On the first three networks a ring laid badly takes much longer. With packets spread evenly any
# order is as good. On a tree columns are far apart, and where flows are hashed they collide. For
# long vectors lines gain little over a ring that is laid well. For short ones they gain much. Here
# is a torus of 16 x 16: the curves are computed by the formula, squares are simulated.
# Squares include the messages by which ranks find their row and column.

# %%
from ddl_teach.theory.collectives import formula
from ddl_teach.theory.machine import Link

link, sizes = Link(1e-6, 1e-10), 4.0 ** np.arange(5, 14)
one_ring = formula("ring")(256, sizes, link)
lines = formula("ring")(16, sizes, link) + formula("ring")(16, sizes / 16, link)

# %%
few = [4**6, 4**9, 4**12]
given = {"network": Torus((16, 16)), "columns": 16, "trace": False}
taken = [simulate(both_ways, 256, nbytes=size, **given).time for size in few]

# %%
curves = {"computed": {"one ring": (sizes, one_ring), "lines": (sizes, lines)}}
curves["simulated"] = {"lines": (few, taken)}
axes = plane()
axes.draw_all(curves)
axes.scale_sizes_and_times("bytes of the vector", "time")
gain = f"Lines are {one_ring[0] / lines[0]:.1f} times as fast for 1 KiB"
axes.finish("Rings on a torus of 16 x 16", gain, legend="upper left")

# %% [markdown]
# At 65,536 ranks, a torus of 256 x 256, the formula says:

# %%
ring_time = formula("ring")(65_536, 1e9, link)
line_time = formula("ring")(256, 1e9, link) + formula("ring")(256, 1e9 / 256, link)
print(f"1 GB: one ring {ring_time:.3f} s, lines {line_time:.3f} s")

# %% [markdown]
# ### What does it cost?
#
# Switch ports for each host, counted: a fat tree of three levels has one port on the leaf for the
# host itself, and four more for two cables further up. A HammingMesh of boards of $b$ x $b$ has
# $4/b$. A torus has none. The cheap networks pay elsewhere. Each host now sends to the one half
# of all ranks away:

# %%
for name, network in networks.items():
    time = simulate(shift, 64, by=36, network=network, trace=False).time
    print(f"{name:16} {1e3 * time:.2f} ms")

# %% [markdown]
# Are these times right? SimGrid is a simulator that others have written. It was given the same
# cables, routes and rules of sending, and its times for 64 ranks are kept in
# `benchmarks/results/simgrid.txt`: ten patterns on tori, HammingMesh, rails with and without PXN,
# and on trees whose routes are by destination, hashed or adaptive. No two times differ by more
# than 0.1%. By SimGrid's own rules a sender waits for its receiver, and some patterns then differ
# much.
#
# ## 4. A grid on a tree · *advanced*
#
# **A puzzle.** 32 ranks form a grid of 4 (data) x 4 (experts) x 2 (tensor). In a step
#
# - each pair of tensor ranks sums 8 MB,
# - each four expert ranks exchange 4 MB, all to all,
# - each four data ranks sum 4 MB, by a ring.
#
# The network is the tree of section 1 with 25 GB/s and *one given hash*, `TREE`. You say on which
# host each place of the grid is: a list of 32 hosts. The place (d, e, t) stands at number
# $8d + 2e + t$. The natural order is a list of 0 to 31.

# %%
from ddl_class.exercises.unit_23.network_judges import TREE, step_seconds

natural = list(range(32))
print(f"natural order: {1e3 * step_seconds(natural):.3f} ms")

# %% [markdown]
# Which link up does a flow take? `TREE.route(source, dest)` gives the links, and two flows that
# have one in common share it. The goal is **1.12 ms**. How you find the list is up to you: think,
# or search. `step_seconds` takes some hundredths of a second.
#
# **Exercise.** Write a function that returns your list.


# %% name="23.network" tags=["answer"]
def place(data, experts, tensor):
    """The host of each place of the grid of data x experts x tensor ranks."""
    ### BEGIN SOLUTION
    hosts = np.arange(32).reshape(experts, data, tensor).transpose(1, 0, 2)
    return hosts.ravel().tolist()
    ### END SOLUTION


# %% name="23.network" tags=["check"]
check("23.network", place)
### BEGIN HIDDEN TESTS
judge("23.network", place, seed=236)
### END HIDDEN TESTS

# %% [markdown]
# Here is the same placement with another hash, and with packets spread evenly, so that no two
# flows collide:

# %%
from ddl_class.exercises.unit_23.network_judges import grid_step

my_place = yours("23.network", place, lambda data, experts, tensor: natural)
for routing, seed in (("hashed", 23), ("hashed", 24), ("adaptive", 0)):
    network = FatTree(8, 2, routing=routing, seed=seed, base_latency=2e-6, bandwidth=25e9)
    time = simulate(grid_step, 32, network=network, order=[*my_place(4, 4, 2)], trace=False).time
    print(f"{routing} {seed}: {1e3 * time:.3f} ms")

# %% [markdown]
# Is yours slower with the other hash? A list that a search has found for one hash need not be
# good for another. With packets spread evenly no hash matters, only what stays inside a leaf.
#
# ## Three questions
#
# **1.** A leaf has 32 flows and 32 links up. Would twice as many links up remove the collisions?
#
# <details><summary>An answer</summary>
#
# No. With hashing a link is chosen without looking at others. `mean_slowdown(32, 64, 64)` is
# lower than with 32 links, but still above 3. Only a choice that looks, or packets that are
# spread, uses the links that are there.
#
# </details>
#
# **2.** A torus has four cables a host. Why is a ring along all ranks not four times as fast as on
# a tree, where a host has one?
#
# <details><summary>An answer</summary>
#
# In this model a host has one link to its router, and one ring sends over one cable of the router
# at a time. A host that can use its four cables at once runs several rings at the same time, in
# both directions and both dimensions. Each has a part of the vector.
#
# </details>
#
# **3.** An all-reduce by parts is as fast with the thin spine as with the full one. Which traffic
# of a training still needs the spine?
#
# <details><summary>An answer</summary>
#
# What goes between GPUs of different numbers in different nodes. The all-to-all of experts does
# so: each GPU sends to every other one. With PXN a message changes rails inside the node, and then
# it does not need the spine.
#
# </details>
#
# ## Where to read on
#
# - T. Hoefler et al., "HammingMesh: a network topology for large-scale deep learning", *SC*, 2022.
# - A. Gangidi et al., "RDMA over Ethernet for distributed training at Meta scale",
#   *SIGCOMM*, 2024.
#
# Networks stand in `ddl_runtime/topologies`. `progress()` shows how far you have come. Go on with
# `23_sharing_loads`.
