# %% [markdown]
# # Messages
#
# **What does a message cost?**
#
# A rank knows what is in its own memory, and nothing else. Whatever it should know of the others
# has to be sent, and sending takes time. How much? If you could
# tell before anything runs, you would know which of two programs is faster before you have written
# either.
#
# Two numbers of your machine are enough for that, and a formula with both in it. In this unit you
# find the numbers: you write a ping-pong with a stopwatch, a fit, and one line of arithmetic. You
# need unit 00: what a rank is. *Beginners* can leave out what is marked *intermediate* or
# *advanced*, and will miss nothing later. It takes about an hour.
#
# The first cell starts two engines, which are real processes on your machine.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.messages import plot_messages
from ddl_measure.ping_pong import ping_pong as library_ping_pong
from ddl_teach import Phantom
from ddl_teach.comm import Uniform, split_evenly
from ddl_teach.theory.fit import fit

engines = Engines(2)

# %% [markdown]
# ## 1. A message on its way · *beginner*
#
# Rank 0 sends some bytes to rank 1, and that is all. Watch 6,000 of them in a simulated network.
# The way from rank to rank takes 2 µs there, and it carries 1 GB a second: a byte takes a
# billionth of a second to leave, 6,000 bytes take 6 µs.


# %%
def one_message(comm, nbytes):
    x = np.zeros(nbytes, np.uint8)
    if comm.rank == 0:
        comm.send(x, to=1)
    else:
        comm.recv(x, source=0)


# %%
network = Uniform(latency=2e-6, bandwidth=1e9)
run = simulate(one_message, 2, network=network, nbytes=6000)
assert np.isclose(run.time, 2e-6 + 6000 / 1e9)
run.timeline.plot(title="The last byte leaves after 6 µs and arrives after 8")

# %% [markdown]
# Think of a long train. It needs a while to leave the station, and the longer it is, the longer
# the while. Then there is the way, which is the same for a short train. Rank 0 is busy until the
# last wagon has left; rank 1 has the message when the last wagon has come. The arrow in the
# picture is the way of the last wagon. Now watch the whole train: press *play*, or use the slider.

# %%
from ddl_class import animate

animate(run)

# %% [markdown]
# The way is called **latency**, and the bytes that leave in a second are the **bandwidth**. A
# message of $n$ bytes takes
#
# $$T(n) = \text{latency} + \frac{n}{\text{bandwidth}}.$$
#
# The first part does not ask how long the message is: a single byte pays all of it. The second
# does not ask how many messages there are. At one size both are equal, and it is called
#
# $$n_{1/2} = \text{latency} \cdot \text{bandwidth},$$
#
# because a message of that size moves with half of the bandwidth (Hockney 1994). Much shorter
# messages are all latency, much longer ones all bytes.
#
# **Exercise.** A warm-up of three minutes. Rank 0 has two arrays for rank 1. In two messages they
# would pay two latencies, so let both travel in one. The lines stand below, sorted by the
# alphabet, and one of them belongs nowhere: put the others in order. *Ctrl+/* makes code of
# comments, *Alt+↑* and *Alt+↓* move lines, *Tab* indents what is selected.


# %% name="05.together" tags=["answer"]
def send_together(comm, first, second):
    """Rank 0's two arrays arrive in the two arrays of rank 1; only one message travels."""
    ### BEGIN SOLUTION
    both = np.concatenate([first, second])
    if comm.rank == 0:
        comm.send(both, to=1)
    if comm.rank == 1:
        comm.recv(both, source=0)
        first[:], second[:] = np.split(both, [len(first)])
    ### END SOLUTION


# %% name="05.together" tags=["check"]
check("05.together", send_together)
### BEGIN HIDDEN TESTS
judge("05.together", send_together, ranks=(2, 4, 7), seed=54)
### END HIDDEN TESTS

# %% [markdown]
# ### Predict
#
# Before you measure, commit yourself to two numbers of *your* machine. A bad guess costs nothing,
# and no guess teaches nothing. Put numbers in place of the dots: µs first, then bytes.

# %%
predict("05.latency", ...)
predict("05.half_bandwidth", ...)

# %% [markdown]
# ## 2. Ping-pong · *beginner*
#
# How do you time one message? Rank 0 knows when it left, rank 1 when it came, but each looks at
# its own clock, and the clocks of two computers usually disagree by more than a message takes. So
# let the ball come back: rank 0 sends it, rank 1 returns it, and one clock sees both ends. A turn
# is over in some millionths of a second, so play many and divide.
#
# **Exercise.** Play `turns` turns with a ball of `nbytes` bytes. `comm.now()` reads the clock, in
# seconds. Ranks 0 and 1 play; should there be others, they return at once.
#
# Below, the first cell is yours. The second runs it in the network from above, where you know the
# answer: 6,000 bytes take 8 µs. The third checks it, with other sizes, other networks, more ranks,
# and on your engines. If you are stuck, put `hint("05.ping_pong")` into a cell of its own; asked
# again it says more.


# %% name="05.ping_pong" tags=["answer"]
def ping_pong(comm, nbytes, turns):
    """Play with a ball of nbytes bytes. Rank 0 returns the seconds that one message takes."""
    ball = np.zeros(nbytes, np.uint8)
    ### BEGIN SOLUTION
    if comm.rank > 1:
        return None
    begun = comm.now()
    for _ in range(turns):
        if comm.rank == 0:
            comm.send(ball, to=1)
            comm.recv(ball, source=1)
        else:
            comm.recv(ball, source=0)
            comm.send(ball, to=0)
    return (comm.now() - begun) / (2 * turns)
    ### END SOLUTION


# %%
run = simulate(ping_pong, 2, network=network, nbytes=6000, turns=3)
print("rank 0 says:", run.results[0], "seconds")
run.timeline.plot(title="Your ping-pong on 2 simulated ranks")

# %% name="05.ping_pong" tags=["check"]
check("05.ping_pong", ping_pong)
### BEGIN HIDDEN TESTS
judge("05.ping_pong", ping_pong, ranks=(2, 4, 7), seed=51)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Measure your ranks · *beginner*
#
# From one byte to four million, each size twice the one before, everything twelve times. Nothing
# ever takes the same time twice: some other program just wants the core, or the memory. Such
# things make a message later and never earlier, so the fastest of the twelve comes nearest to what
# the message itself costs. (What you will *get* on a common day is another question; unit 18 asks
# it.)
#
# `yours` picks your ping-pong, or the course's own as long as yours is not right yet.


# %%
def measured(comm, play, sizes, turns=10, repetitions=12):
    return [[play(comm, nbytes, turns) for nbytes in sizes] for _ in range(repetitions)]


play = yours("05.ping_pong", ping_pong, library_ping_pong)
sizes = 2 ** np.arange(23)
plainly = {"timeout": 60, "trace": False, "strict": False}
run = engines.run(measured, play=play, sizes=sizes, **plainly)
times = np.array(run.results[0])
fastest = times.min(axis=0)

# %% [markdown]
# Now two numbers for all that: a latency, and what each further byte takes. The course lays the
# line through the points that fits them best, and says how sure it is. A few points that lie far
# off cannot bend it.

# %%
assert fastest[-1] > fastest[0] > 0
model = fit(sizes, fastest)
latency, per_byte = model.latency, model.per_byte
low, high = (1e6 * edge for edge in model.latency_interval)
print(f"latency {latency * 1e6:.1f} µs ({low:.1f} to {high:.1f})")
print(f"bandwidth {1e-9 / per_byte:.2f} GB a second")
all_times = np.tile(sizes, len(times)), times.ravel()
plot_messages(*all_times, latency=latency, per_byte=per_byte)

# %% [markdown]
# ## 4. A line through the points · *intermediate*
#
# How does one find such a line? There are as many equations
# $\text{latency} + \text{size} \cdot \text{per\_byte} = \text{seconds}$ as sizes, and two unknowns
# (`per_byte` is 1 / bandwidth). No line fits all. *Least squares* takes the one whose errors,
# squared and added up, are smallest. But which errors?
#
# Let the longest message take a hundred times as long as the shortest. If its time is wrong by 10
# percent, that is ten latencies. Counted in seconds, only long messages matter then; what comes
# out as latency is noise, and sometimes below zero. So count errors in percent: make
#
# $$\sum \left( \frac{\text{latency} + \text{size} \cdot \text{per\_byte}}{\text{seconds}} - 1
# \right)^2$$
#
# as small as possible. Both unknowns are only multiplied by known numbers there, and added; such
# sums are what `np.linalg.lstsq` makes small.
#
# **Exercise.** Fit both. `sizes` and `seconds` are arrays of the same length.


# %% name="05.fit" tags=["answer"]
def fit_line(sizes, seconds):
    """Return latency and per_byte such that the sum of squared relative errors is smallest."""
    ### BEGIN SOLUTION
    matrix = np.stack([1 / seconds, sizes / seconds], axis=1)
    latency, per_byte = np.linalg.lstsq(matrix, np.ones(len(seconds)))[0]
    return latency, per_byte
    ### END SOLUTION


# %%
latency, per_byte = fit_line(sizes, fastest)
print(f"latency {latency * 1e6:.1f} µs, bandwidth {1e-9 / per_byte:.2f} GB a second")

# %% name="05.fit" tags=["check"]
check("05.fit", fit_line)
### BEGIN HIDDEN TESTS
judge("05.fit", fit_line, seed=52)
### END HIDDEN TESTS

# %% [markdown]
# From here on your line takes the place of the course's. How far apart are they?

# %%
my_fit = yours("05.fit", fit_line, lambda *_: (model.latency, model.per_byte))
latency, per_byte = my_fit(sizes, fastest)
print(f"yours {latency * 1e6:.1f} µs, the course's {model.latency * 1e6:.1f} µs")
assert min(latency, per_byte) > 0
plot_messages(*all_times, latency=latency, per_byte=per_byte)

# %% [markdown]
# ## 5. Short or long? · *beginner*
#
# **Exercise.** At which size does a message reach half of the bandwidth? Both numbers are in
# seconds.


# %% name="05.half_bandwidth" tags=["answer"]
def half_bandwidth(latency, per_byte):
    """Return the number of bytes that take as long as the latency."""
    ### BEGIN SOLUTION
    return latency / per_byte
    ### END SOLUTION


# %% name="05.half_bandwidth" tags=["check"]
check("05.half_bandwidth", half_bandwidth)
### BEGIN HIDDEN TESTS
judge("05.half_bandwidth", half_bandwidth, seed=53)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** Three minutes. A lorry full of disks has a latency of a day, and per byte it is
# faster than any cable. Which of several ways has so many bytes there first? The lines stand
# below, sorted by the alphabet, and one of them belongs nowhere: put the others in order.


# %% name="05.first" tags=["answer"]
def first_there(ways, nbytes):
    """The name of the way that is quickest; ways[name] is (latency, per_byte)."""
    ### BEGIN SOLUTION
    best, least = None, np.inf
    for name, (latency, per_byte) in ways.items():
        seconds = latency + nbytes * per_byte
        if seconds < least:
            best, least = name, seconds
    return best
    ### END SOLUTION


# %% name="05.first" tags=["check"]
check("05.first", first_there)
### BEGIN HIDDEN TESTS
judge("05.first", first_there, seed=55)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Prediction, simulation, measurement · *beginner*
#
# Three answers to one question. The formula, with the two numbers; the simulator, which runs your
# own ping-pong in a network that has them; and your ranks. The simulator knows no formula, only
# ports that are busy and ways that take time.

# %%
reveal("05.latency", latency * 1e6)
reveal("05.half_bandwidth", latency / per_byte)
here = Uniform(latency, 1 / per_byte)
run = simulate(measured, 2, network=here, play=play, sizes=sizes, repetitions=1)
[simulated] = run.results[0]
assert np.allclose(simulated, latency + sizes * per_byte)
look = {"latency": latency, "per_byte": per_byte, "simulated": (sizes, simulated)}
plot_messages(*all_times, **look)

# %% [markdown]
# Left it is flat: only the latency counts. Right it rises with the bytes. The bend between is at
# $n_{1/2}$, where the two dotted lines cross.
#
# Where do dots leave the line? Often at the far right: such balls no longer fit into the caches of
# the processor. And somewhere in the middle the MPI library changes its ways: short messages go
# out at once, into a buffer; for long ones it first asks whether the receiver is ready. Two
# numbers know nothing of that. (And if many dots lie far above the line, your machine was busy
# with other things: close them and measure again.)
#
# How wrong are they at worst? Measure it, from one byte to four million:

# %%
off = np.exp(np.abs(np.log(fastest / simulated)).max())
print(f"the two numbers are wrong by a factor of {off:.2f} at worst")

# %% [markdown]
# To choose between two programs that differ by much more, that is enough.
#
# ## 7. The surprise · *beginner*
#
# How much of a message is latency? Take things that networks are made of:

# %%
things = {"one number": 8, "a bias of 256": 1024, "a layer norm of 768": 6144}
things |= {"a 3x3 convolution, 64 to 64": 147_456, "a dense layer, 4096 to 4096": 67_108_864}
share = {name: latency / (latency + size * per_byte) for name, size in things.items()}
for name, part in share.items():
    print(f"{name:28}{things[name]:>12,} bytes   {part:7.2%} latency")
assert share["one number"] > share["a dense layer, 4096 to 4096"]

# %% [markdown]
# Take 5 µs and 5 GB a second: there latency is half of a message at 25 kB, a fifth of it at
# 100 kB, and a twentieth at half a megabyte. So on such a machine **latency rules up to about
# 100 kB**. And on yours? Give your cores other work and measure again: latency should grow.
#
# Many of the tensors of a network are shorter. ResNet-101 (He et al. 2016) has 314, and 209 of
# them belong to norms and biases, with 8 kB at most. Who sends those one by one pays latencies,
# and hardly any bytes. The 100 kB are no law of nature, though. With typical numbers, Ethernet of
# 1 Gbit/s and 50 µs has its $n_{1/2}$ at 6 kB, InfiniBand of 200 Gbit/s and 1.5 µs at 38 kB, and
# 1 GB a second between two continents, 50 ms apart, at 50 MB.
#
# You have 1,000 numbers to send. One by one, or all in one message? Say how many times as long it
# takes one by one. Then run.

# %%
run = engines.run(measured, play=play, sizes=[8, 8000], **plainly)
short, long = np.min(run.results[0], axis=0)
print(f"one by one takes {1000 * short / long:.0f} times as long")
assert 1000 * short > long

# %% [markdown]
# To gather small things into one message is called *bucketing*. PyTorch does it (Li et al. 2020),
# Horovod does it (Sergeev and Del Balso, 2018), and unit 08 asks how large the buckets should be.
#
# ## 8. Simulate what nobody has at home · *intermediate*
#
# One rank is a *server*: it gets a message from every other rank, and answers each. First 8 ranks
# and 10,000 bytes, with a latency of 1 µs and 10 GB a second. A `Phantom` stands for an array of
# which only the size matters.


# %%
def ask_and_answer(comm, nbytes):
    x = Phantom(nbytes)
    if comm.rank == 0:
        for verb in (comm.recv, comm.send):
            for worker in range(1, comm.size):
                verb(x, worker)
    else:
        comm.send(x, to=0)
        comm.recv(x, source=0)


# %%
network = Uniform(latency=1e-6, bandwidth=10e9)
run = simulate(ask_and_answer, 8, network=network, nbytes=10_000)
run.timeline.plot(title="All ask at once, and rank 0 takes one after another")

# %% [markdown]
# Seven messages leave at the same time and arrive one after another: each needs 1 µs to come in,
# and rank 0 has only one port. That is called **incast**. Then the answers go out one after
# another. With $P$ ranks all is over after
#
# $$2 \left( \text{latency} + (P-1)\,\frac{n}{\text{bandwidth}} \right).$$
#
# Now 65,536 ranks, 1,000 bytes for each message, the same network. After how many ms has everybody
# an answer? By feeling first; the next cell has 131,070 messages and takes some seconds.

# %%
predict("05.incast", ...)

# %%
run = simulate(ask_and_answer, 65_536, network=network, nbytes=1000, strict=False)
assert np.isclose(run.time, 2 * (1e-6 + 65_535 * 1000 / 10e9))
reveal("05.incast", run.time * 1e3)
run.timeline.plot(title="65,535 ranks stand in line for an answer of 0.1 µs")

# %% [markdown]
# Blue is a rank that waits. Its own message takes 1.1 µs there and 1.1 µs back; the rest, up to
# 13 ms, is standing in line. A better latency would not be noticed. Unit 06 gets rid of rank 0,
# unit 15 asks when to keep it.
#
# ## 9. What production systems do · *intermediate*
#
# Your engines talk through the course's communicator, which counts every byte and ends every hang
# with an error that says who waits for whom. What does that cost? Beside it, three other ways to
# send the same bytes:
#
# - mpi4py's `Send` takes the memory of an array as it is;
# - its `send`, with a small letter, takes any Python object and *pickles* it: it makes bytes that
#   describe the object, sends those, and the receiver builds the object anew;
# - gloo is what `torch.distributed` uses between processors; between NVIDIA's GPUs it is NCCL.
#
# Ten strokes of ping-pong for each of them:

# %%
import tempfile

import torch
from torch import distributed as dist


# %%
def strokes(comm, send, recv, x):
    for number in range(10):
        if number % 2 == comm.rank:
            send(x, 1 - comm.rank)
        else:
            recv(x, 1 - comm.rank)


# %%
ways = {
    "mpi4py Send": lambda comm, x: strokes(comm, comm.mpi.Send, comm.mpi.Recv, x),
    "this course": lambda comm, x: strokes(comm, comm.send, comm.recv, x),
    "mpi4py send": lambda comm, x: strokes(
        comm, comm.mpi.send, lambda _, source: comm.mpi.recv(source=source), x
    ),
    "torch, gloo": lambda comm, x: strokes(comm, dist.send, dist.recv, torch.from_numpy(x)),
}

# %% [markdown]
# Processes that use gloo have to find each other first, in a file for instance. Then `stopwatch`
# lets all ways take turns, so that what disturbs one disturbs the others too. The table is in
# units of mpi4py's `Send`.

# %%
from ddl_class import stopwatch

file = f"file://{tempfile.mkdtemp()}/meeting"
engines.run(lambda comm: dist.init_process_group("gloo", file, rank=comm.rank, world_size=2))
race = {"sizes": [8, 1_000_000], "ways": list(ways.values()), "turns": 5}
best = engines.run(stopwatch, **(race | plainly)).results[0].min(axis=0)
for name, (small, large) in zip(ways, best / best[0], strict=True):
    print(f"{name}   8 bytes: {small:5.1f}   1,000,000 bytes: {large:5.1f}")
assert (best > 0).all()

# %% [markdown]
# For 8 bytes you measure the software: every line of Python around the call into MPI shows. gloo
# goes through sockets, as between two computers, and wakes a thread for each message. For a
# million bytes the lines of Python hardly count; but `send` copies the bytes more often. So
# whoever writes mpi4py takes the capital letters for arrays. And a ratio without a size says
# nothing.
#
# ## 10. Latency can be hidden · *advanced*
#
# In a ping-pong the next message waits for the last one. Must it? Let rank 0 send `count` messages
# on end, and rank 1 answer only when it has them all. First in a simulated network:


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
run.timeline.plot(title="Eight messages on end: all are on their way, and one latency shows")

# %% [markdown]
# While a message is on its way its sender is free, so eight latencies look like one. And on your
# engines? How much of a ping-pong's time will be left for each of a hundred short messages?


# %%
def streams(comm, repetitions=20):
    return [stream(comm, count=100, nbytes=8) for _ in range(repetitions)]


streamed = min(engines.run(streams, **plainly).results[0])
print(f"in a stream a message takes {streamed / short:.2f} of its time in a ping-pong")
assert streamed > 0
progress()

# %% [markdown]
# About 1 or more? Then nothing was gained. Between two processes of one machine nothing travels;
# what we called latency is work that both processors do for every message. (At best they do it at
# the same time, so half may be left.) The LogP model (Culler et al. 1993) has a name for each of
# the two. **Latency** is time on the way and can be hidden. **Overhead** is time of a processor
# and cannot: only fewer messages help. A ping-pong sees their sum, and that is why it is not the
# last word on a network.
#
# ## 11. A broadcast against time · *advanced*
#
# **A puzzle.** Rank 0 has a vector of 1 MiB, and all others need it. The machine is given: four
# nodes with four ranks each. Two ranks of a node reach each other in 1 µs, at 8 GB a second. Each
# node has *one* cable to the others, with 5 µs and 1 GB a second, which its ranks share. Whoever
# sends or receives a message spends 2 µs on it.
#
# The library's tree takes 2.4 ms. The goal is **1.5 ms**. How is up to you: who sends to whom, in
# how many pieces, in which order. `comm.isend` begins to send, and what it returns has a `wait()`.
# The check says how long yours takes and how long the best takes that is known.


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
from ddl_class.exercises.kit.puzzle import FOUR_NODES
from ddl_teach.collectives import tree

mine = yours("05.broadcast", my_broadcast, tree.broadcast)
run = simulate(mine, 16, network=FOUR_NODES, x=Phantom(2**20))
run.timeline.plot(title="Your broadcast, or the library's tree, on four nodes")

# %% name="05.broadcast" tags=["check"]
check("05.broadcast", my_broadcast)
### BEGIN HIDDEN TESTS
judge("05.broadcast", my_broadcast, seed=55)
### END HIDDEN TESTS

# %% [markdown]
# A cable needs 1.05 ms for the vector, so nobody can do it in less. Why not a thousand pieces? Two
# numbers that you have measured above say it: each piece costs latency and overhead once more.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("05")

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. A gradient of 100 MB is sent in pieces of 4 KiB, each only when the last has been received.
#    Latency 10 µs, 10 GB a second. How much of the bandwidth is used?
# 2. You buy a network with twice the bandwidth and the same latency. Which messages does it help?
# 3. Why does rank 1's stopwatch, started and stopped in the same lines, show less than rank 0's?
#
# <details><summary>Answers</summary>
#
# 1. A piece takes 10 µs + 0.41 µs, so 4 percent. To reach half, a piece must have
#    $n_{1/2}$ = 100,000 bytes.
# 2. The long ones. Far above $n_{1/2}$ they take half of the time; at $n_{1/2}$ three quarters;
#    far below nothing changes. And $n_{1/2}$ itself is twice as large then.
# 3. Its last deed is a send, which is over when the bytes have left. That they arrived, a latency
#    later, only rank 0 gets to know.
#
# </details>
#
# ## Where to read on
#
# - Unit 06 puts messages together: an all-reduce from scratch, and why the size decides which.
# - `ddl_teach/theory/robust_line.py`: a line that a few bad measurements cannot bend.
# - Hockney, "The communication challenge for MPP", *Parallel Computing*, 1994: the two numbers.
# - Culler et al., "LogP: towards a realistic model of parallel computation", *PPoPP*, 1993, and
#   Alexandrov et al., "LogGP", *SPAA*, 1995: what the two numbers leave out.
#
# Stop your engines when you are done: `engines.stop()`. If you forget, they end with the notebook.
