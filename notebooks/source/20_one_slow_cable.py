# %% [markdown]
# # One slow cable
#
# **How fast is an all-reduce if one of four cables is ten times as slow?**
#
# Section 8 of unit 20 slowed one cable down, and the whole ring became slow with it. Here you may
# do something about it. The notebook is one puzzle with a goal, and a look inside a node. It needs
# units 06 and 20, and it takes about half an hour. It is for *advanced* readers.
#
# ## 1. The machine
#
# Four nodes of four ranks each. Inside a node a message takes 1 µs and 8 GB/s. Each node has one
# cable, which its ranks share, with 5 µs and 1 GB/s in each direction. But the cable of the last
# node, with ranks 12 to 15, has only **0.1 GB/s**. Each message costs its sender and its receiver
# 2 µs. A send waits for its receive. Every rank has a vector of 1 MiB.

# %%
from functools import partial

import numpy as np

from ddl_class import check, hint, judge, simulate, yours
from ddl_class.exercises.kit.slow_cable import SLOW_CABLE
from ddl_class.notebook.among_nodes import allreduce
from ddl_teach.collectives import ring
from ddl_teach.comm import split_evenly


# %%
def once(comm, way):
    way(comm, np.ones(2**17))  # 1 MiB


# %%
node_of = [SLOW_CABLE.node(rank) for rank in range(16)]
one_ring = simulate(once, 16, network=SLOW_CABLE, way=ring.allreduce)
by_parts = simulate(once, 16, network=SLOW_CABLE, way=partial(allreduce, node_of=node_of))
print(f"one ring: {1e3 * one_ring.time:.1f} ms, by parts: {1e3 * by_parts.time:.1f} ms")
assert by_parts.time < one_ring.time

# %% [markdown]
# ## 2. What is possible?
#
# Count the bytes that cross the slow cable, out and in. In a ring of $P = 16$ ranks every cable
# carries $2\frac{15}{16}n$ bytes each way. By parts with $N = 4$ nodes every cable carries
# $2\frac{3}{4}n$ each way. But what must cross the slow cable at least? The sum of its node has to
# go out, $n$ bytes, and the whole sum has to come in, $n$ bytes. The cable is as fast in both
# directions at the same time.
#
# **Exercise.** A warm-up of three minutes. How many seconds does an all-reduce take at least?
# `bandwidths` has the bytes a second of each node's cable.


# %% name="20.bound" tags=["answer"]
def least_seconds(nbytes, bandwidths):
    """The least time of an all-reduce of a vector over these cables; latencies do not count."""
    ### BEGIN SOLUTION
    return nbytes / min(bandwidths)
    ### END SOLUTION


# %% name="20.bound" tags=["check"]
check("20.bound", least_seconds)
### BEGIN HIDDEN TESTS
judge("20.bound", least_seconds, seed=208)
### END HIDDEN TESTS

# %% [markdown]
# The least time of all three, by their bytes:

# %%
size, slow = 2**20, 1e8  # bytes, and bytes a second
for name, factor in (("one ring", 2 * 15 / 16), ("by parts", 2 * 3 / 4), ("what must cross", 1)):
    print(f"{name}: {factor:.3f} n each way, at least {1e3 * factor * size / slow:.1f} ms")
assert one_ring.time > 2 * 15 / 16 * size / slow
assert by_parts.time > 2 * 3 / 4 * size / slow

# %% [markdown]
# The ledger knows how many bytes the ranks of the last node have sent to other nodes. Are these
# the numbers of the formulas?


# %%
def left_node(run):
    """The bytes that ranks 12 to 15 have sent to other nodes."""
    messages = [message for rank in range(12, 16) for message in run.ledger[rank].messages]
    return sum(message.bytes for message in messages if message.peer < 12)


# %%
for name, run in (("one ring", one_ring), ("by parts", by_parts)):
    print(f"{name}: {left_node(run) / size:.3f} n")
assert left_node(by_parts) == 2 * 3 / 4 * size

# %% [markdown]
# Ten and a half milliseconds, if something flows out and in *all the time*. But the last bytes
# of the sum cannot come in before the last bytes of the node have gone out.
#
# ## 3. The puzzle
#
# **A puzzle.** By parts takes 16 ms. The goal is **12 ms**. How is up to you. You may use your own
# functions, those of `ring`, and `comm.split(colour)`, which gives all ranks of one colour a
# communicator of their own. `irecv` and `isend` begin a message and return at once; `wait()` on
# what they return waits for its end. The check says how long yours takes and how long the best
# takes that is known.


# %% name="20.cable" tags=["answer"]
def slow_cable_allreduce(comm, x):
    """Sum `x` over all ranks, in place; the cable of ranks 12 to 15 is slow."""
    ### BEGIN SOLUTION
    inside, across = comm.split(comm.rank // 4), comm.split(comm.rank % 4)
    fast = comm.split(4 if comm.rank >= 12 else comm.rank % 4)  # the nodes 0 to 2
    ring.reduce_scatter(inside, x)
    pieces = split_evenly(split_evenly(x, 4)[inside.rank], 16)
    arriving = [np.empty_like(piece) for piece in pieces]
    if across.rank >= 2:
        receives = [across.irecv(each, 5 - across.rank) for each in arriving]
    sends = []
    for number, piece in enumerate(pieces):
        if across.rank == 3:
            across.send(piece, 2)
            continue
        if across.rank == 2:
            receives[number].wait()
            piece += arriving[number]
        ring.allreduce(fast, piece)
        if across.rank == 2:
            sends.append(across.isend(piece, 3))
    for request in sends if across.rank < 3 else receives:
        request.wait()
    if across.rank == 3:
        split_evenly(x, 4)[inside.rank][...] = np.concatenate(arriving)
    ring.allgather(inside, x)
    ### END SOLUTION


# %%
mine = yours("20.cable", slow_cable_allreduce, ring.allreduce)
run = simulate(once, 16, network=SLOW_CABLE, way=mine)
name = "Your all-reduce" if mine is slow_cable_allreduce else "The ring"
run.timeline.plot(title=f"{name}, with one slow cable")

# %% name="20.cable" tags=["check"]
check("20.cable", slow_cable_allreduce)
### BEGIN HIDDEN TESTS
judge("20.cable", slow_cable_allreduce, seed=207)
### END HIDDEN TESTS

# %% [markdown]
# Look at ranks 12 to 15 in the picture: how long is no message on their cable? The best known
# takes 0.4 ms more than the bound. And your bytes:

# %%
print(f"{name}: {left_node(run) / size:.3f} n leave the last node")
assert left_node(run) >= size

# %% [markdown]
# Rings and parts are made for equal cables: they send the same through each. If cables are
# unequal, a plan for these cables is better, and it is found by asking what *must* cross the
# slowest.
#
# Does a training come to the same? The GPT of unit 08 makes two steps on these 16 ranks. Its
# gradients go through a ring, and then through yours. The losses must be those of one process.

# %%
import torch

from ddl_measure.experiments import one_model
from ddl_teach.networks import twin
from ddl_teach.networks.models import data, gpt

texts = data.batches(data.documentation(64)[0], 16, 2)
alone = twin.train(gpt.gpt_of("100k").double(), texts, optimizer=one_model.ADAM).losses


# %%
def trained(comm, way):
    def allreduce(group, gradients):
        x = gradients.cpu().numpy()
        way(group, x)
        gradients.copy_(torch.from_numpy(x))

    return one_model.data(comm, gpt.gpt_of("100k").double(), texts, allreduce=allreduce)


# %%
for which, way in {"One ring": ring.allreduce, name: mine}.items():
    run = simulate(trained, 16, network=SLOW_CABLE, way=way, trace=False)
    losses = np.sum(run.results, axis=0)
    print(f"{which}: losses {losses.round(3)}, {1e3 * run.time:.1f} ms of messages")
    assert np.allclose(losses, alone, rtol=0, atol=1e-9)

# %% [markdown]
# ## 4. Inside a node: the wrong socket
#
# A node is not one machine either. A server often has two processors, each in a **socket**, with
# its own memory, its own GPUs and its own network card. What is beside the other socket is
# reached through a link between the two. `ddl-teach doctor` draws your node, with what stands
# near each part. A rank should run on cores near its GPU: the course **binds** it there. Does it
# matter?
#
# Take eight GPUs, four beside each socket, and a library that cannot read their memory. Each
# message is copied out to the host and in again, at 25 GB/s. Now bind each rank to the *other*
# socket. All copies of four GPUs then share the link between the sockets. By the data sheet of a
# Xeon Platinum 8380 that link has 67 GB/s in each direction: three cables of 11.2 GT/s, two bytes
# each time.

# %%
from ddl_runtime.devices.stand_in import StandInDevice
from ddl_teach.comm import HostLink, Uniform


def summed(comm):
    ring.allreduce(comm, StandInDevice().array(np.ones(2**18, np.float32)))


# %%
ways = {"near": 25e9, "on the other socket": 3 * 11.2e9 * 2 / 4}
times = {}
for name, rate in ways.items():
    network = Uniform(2e-6, 25e9, host_link=HostLink(1e-5, rate))
    times[name] = simulate(summed, 8, network=network).time
    print(f"{name}: {rate / 1e9:.1f} GB/s for a copy, {1e3 * times[name]:.3f} ms")

# %% [markdown]
# The ring pays for the start of each copy too, so it loses less than the copies do. The next cell
# measures what your machine has: a core of each part of the node copies memory of each part. With
# one part there is one number, and nothing to bind. Some systems do not say which parts they have.

# %%
from ddl_measure.near_memory import copy_rates, parts_of_node

rates = copy_rates(parts_of_node())
for (core, memory), rate in rates.items():
    print(f"a core of part {core} copies memory of part {memory}: {rate / 1e9:.1f} GB/s")

# %%
near, far = times.values()
assert 1 < far / near < ways["near"] / ways["on the other socket"]
assert all(rate > 0 for rate in rates.values())

# %% [markdown]
# ## Three questions
#
# **1.** The ring of all ranks takes as long with one slow cable as with four. Why does the answer
# to this puzzle not?
#
# <details><summary>An answer</summary>
#
# In a ring every byte of the sum passes every cable, so each cable carries the same. Here the
# three fast nodes have an exchange of their own. Through the slow cable goes only what must.
#
# </details>
#
# **2.** Smaller pieces let the way back begin sooner. Why not make a thousand of them?
#
# <details><summary>An answer</summary>
#
# Each message costs 2 µs at both ends and 5 µs on its way. With very many pieces these costs are
# larger than what the earlier beginning saves.
#
# </details>
#
# **3.** You do not know which cable is slow, and tomorrow it may be another one. What would you
# do?
#
# <details><summary>An answer</summary>
#
# Measure each pair of nodes before the training, as in section 2 of unit 20, and again if steps
# become slower. Then plan around that node. And tell the people who run the cluster.
#
# </details>
#
# ## Where to read on
#
# - M. Cho et al., "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network
#   hierarchy", *MLSys*, 2019: an all-reduce that fits unequal links.
# - J. Lin et al., "Understanding stragglers in large model training using what-if analysis",
#   *OSDI*, 2025: five months of real trainings, simulated again as if no rank were slow. That is
#   the way of this notebook: what would the step take, if?
#
# `progress()` shows how far you have come.
