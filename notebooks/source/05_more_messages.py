# %% [markdown]
# # More on messages
#
# **Can latency be hidden? And how fast can one vector reach all ranks?**
#
# This notebook goes on where `05_messages.ipynb` ends. The first section needs your engines, the
# second is a puzzle: a broadcast with a time to beat. You need unit 05. It takes about half an
# hour.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, simulate, yours
from ddl_teach import Phantom
from ddl_teach.comm import Uniform, split_evenly

engines = Engines(2)

# %% [markdown]
# ## 1. Latency can be hidden · *advanced*
#
# In a ping-pong the next message waits for the last one. Must it? Let rank 0 send `count`
# messages, one after another, and let rank 1 answer only when it has all of them. First in a
# simulated network:


# %%
def all_one_way(comm, count, x):
    for _ in range(count):
        if comm.rank == 0:
            comm.send(x, to=1)
        else:
            comm.recv(x, source=0)


# %%
def stream(comm, count, nbytes):
    x, begun = np.zeros(nbytes, np.uint8), comm.now()
    all_one_way(comm, count, x)
    if comm.rank == 0:
        comm.recv(x, source=1)
    else:
        comm.send(x, to=0)
    return (comm.now() - begun) / (count + 1)


# %%
network = Uniform(latency=2e-6, bandwidth=1e9)
run = simulate(stream, 2, network=network, count=8, nbytes=500, strict=False)
assert np.isclose(run.time, 2 * (2e-6 + 500e-9) + 7 * 500e-9)
run.timeline.plot(title="Eight messages are on their way together: one latency shows")

# %% [markdown]
# While a message is on its way its sender is free, so eight latencies look like one. And on your
# engines? The next cells measure one message in a ping-pong. Then they measure a stream of a
# hundred messages, and divide its time by their number.

# %%
from ddl_measure.ping_pong import ping_pong


def streams(comm, repetitions=20):
    return [stream(comm, count=100, nbytes=8) for _ in range(repetitions)]


def turns(comm, repetitions=20):
    return [ping_pong(comm, 8, 10) for _ in range(repetitions)]


# %%
plainly = {"timeout": 60, "trace": False, "strict": False}
alone = min(engines.run(turns, **plainly).results[0])
streamed = min(engines.run(streams, **plainly).results[0])
print(f"in a stream a message takes {streamed / alone:.2f} of its time in a ping-pong")
assert min(alone, streamed) > 0

# %% [markdown]
# Is the number about 1 or more? Then the stream gained nothing. Between two processes of one
# machine nothing travels: what we called latency is work that both processors do for every
# message. (At best they do it at the same time, so that half is left.) The LogP model (Culler et
# al. 1993) has a name for each of the two. **Latency** is time on the way, and can be hidden.
# **Overhead** is time of a processor, and cannot be hidden: only fewer messages help. A ping-pong
# measures their sum. That is why two numbers are not the whole truth about a network.
#
# ## 2. A broadcast against time · *advanced*
#
# **A puzzle.** Rank 0 has a vector of 1 MiB, and all other ranks need it. The machine is given:
# four nodes with four ranks each. Two ranks of a node reach each other in 1 µs, at 8 GB a second.
# Each node has *one* cable to the others, which its four ranks share. It has a latency of 5 µs,
# and carries 1 GB a second. A rank that sends or receives a message spends 2 µs on it.
#
# How long does the library's tree take, and how long does one cable need for the vector?

# %%
from ddl_class.exercises.kit.puzzle import FOUR_NODES
from ddl_teach.collectives import tree

# %%
slow = simulate(tree.broadcast, 16, network=FOUR_NODES, x=Phantom(2**20)).time
print(f"the tree {1e3 * slow:.1f} ms, a cable {1e3 * 2**20 / 1e9:.2f} ms")
assert round(1e3 * slow, 1) == 2.4
assert slow > 2**20 / 1e9

# %% [markdown]
# The goal is **1.5 ms**. You decide which rank sends to which, in how many pieces, in which order.
# `comm.isend` begins to send; what it returns has a `wait()`. The check shows how long your
# broadcast takes, and how long the best known one takes.


# %% name="05.broadcast" tags=["answer"]
def my_broadcast(comm, x):
    """Give all ranks what rank 0 has in `x`."""
    ### BEGIN SOLUTION
    place = comm.rank % 4  # in its node
    above = comm.rank - place if place else comm.rank - 4
    below = [] if place else [comm.rank + step for step in (4, 1, 2, 3)]
    for piece in split_evenly(x, 32):
        if comm.rank > 0:
            comm.recv(piece, above)
        sends = [comm.isend(piece, rank) for rank in below if rank < comm.size]
        for send in sends:
            send.wait()
    ### END SOLUTION


# %%
mine = yours("05.broadcast", my_broadcast, tree.broadcast)
run = simulate(mine, 16, network=FOUR_NODES, x=Phantom(2**20))
run.timeline.plot(title="Your broadcast, or the library's tree, on four nodes")

# %% name="05.broadcast" tags=["check"]
check("05.broadcast", my_broadcast)
### BEGIN HIDDEN TESTS
judge("05.broadcast", my_broadcast, seed=55)
### END HIDDEN TESTS

# %% [markdown]
# A cable needs 1.05 ms for the vector, so no broadcast can take less. Why not a thousand pieces?
# Because each piece costs latency and overhead once more.
#
# ## Where to read on
#
# - Unit 06 puts messages together: an all-reduce from scratch.
# - `ddl_teach/collectives/tree.py` is the library's broadcast, `ddl_teach/theory/bounds.py` says
#   what no broadcast can beat.
# - Culler et al., "LogP: towards a realistic model of parallel computation", *PPoPP*, 1993.
