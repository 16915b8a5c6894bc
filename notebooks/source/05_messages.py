# %% [markdown]
# # Messages
#
# **What does a message cost?**
#
# A rank knows only what is in its own memory. Everything that it should know of other ranks must
# be sent, and sending takes time. How much? If you can compute it before anything runs, you know
# which of two programs is faster before you have written either of them.
#
# For this you need two numbers of your machine, and one formula. In this unit you find the
# numbers: you write a ping-pong with a stopwatch, a fit, and one line of arithmetic. You need unit
# 00: what a rank is. *Beginners* can leave out what is marked *intermediate*: no later unit needs
# it. It takes about an hour.
#
# The first cell starts two engines, which are real processes on your machine.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.messages import plot_messages
from ddl_measure.ping_pong import ping_pong as library_ping_pong
from ddl_teach import Phantom
from ddl_teach.comm import Uniform
from ddl_teach.theory.fit import fit

engines = Engines(2)

# %% [markdown]
# ## 1. A message on its way · *beginner*
#
# Rank 0 sends some bytes to rank 1, nothing else. Watch 6,000 bytes in a simulated network. There
# a byte needs 2 µs from rank to rank, and the cable takes in 1 GB a second: a billionth of a
# second for each byte, and 6 µs for 6,000 bytes.


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
# Think of a long train. It needs some time to leave the station: a longer train needs more. Then
# it needs time for the way, which is the same for all trains. Rank 0 is busy until the last wagon
# has left. Rank 1 has the message when the last wagon has arrived. The arrow in the picture is the
# way of the last wagon. Now watch the whole train: press *play*, or move the slider.

# %%
from ddl_class import animate

animate(run)

# %% [markdown]
# The time for the way is the **latency**. The bytes that leave in a second are the **bandwidth**.
# A message of $n$ bytes takes
#
# $$T(n) = \text{latency} + \frac{n}{\text{bandwidth}}.$$
#
# The first part does not depend on the size of the message: a single byte pays all of it. The
# second part does not depend on the number of messages. At one size both parts are equal:
#
# $$n_{1/2} = \text{latency} \cdot \text{bandwidth}.$$
#
# It has this name because a message of that size moves at half of the bandwidth (Hockney 1994). A
# much shorter message costs almost only latency, a much longer one almost only its bytes.
#
# **Exercise.** A warm-up of three minutes. Rank 0 has two arrays for rank 1. Two messages would
# pay two latencies, so let both arrays travel in one message. The lines stand below, sorted by the
# alphabet, and one of them belongs nowhere: put the others in order. *Ctrl+/* turns comments into
# code, *Alt+↑* and *Alt+↓* move lines, *Tab* indents what is selected.


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
# Before you measure, predict two numbers of *your* machine. A wrong guess costs nothing, and you
# learn more from it than from no guess. Put numbers in place of the dots: µs first, then bytes.

# %%
predict("05.latency", ...)
predict("05.half_bandwidth", ...)

# %% [markdown]
# ## 2. Ping-pong · *beginner*
#
# How do you measure the time of one message? Rank 0 knows when it left, rank 1 when it arrived.
# But each looks at its own clock, and the clocks of two computers usually differ by more than a
# message takes. So let the ball come back: rank 0 sends it, rank 1 returns it, and one clock sees
# both ends. One turn takes only some millionths of a second, so play many turns and divide.
#
# **Exercise.** Play `turns` turns with a ball of `nbytes` bytes. `comm.now()` reads the clock, in
# seconds. Ranks 0 and 1 play. If there are more ranks, the others return at once.
#
# The first cell below is yours. The second runs it in the network from above, where you know the
# answer: 6,000 bytes take 8 µs. The third checks it with other sizes, other networks, more ranks,
# and on your engines. If you are stuck, put `hint("05.ping_pong")` into a cell of its own. Ask
# again, and it says more.


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
# Now measure from one byte to four million bytes. Each size is twice the one before, and
# everything is measured twelve times. No two times are equal, because other programs use the cores
# and the memory too. Such things can make a message slower, never faster. So the fastest of the
# twelve times is nearest to what the message itself costs. (What you get on an ordinary day is
# another question; unit 18 asks it.)
#
# `yours` takes your ping-pong, or the course's own while yours is not right yet.


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
# Now find two numbers for all these times: a latency, and a time for each byte. The course fits
# the line that is nearest to the points, and says how certain it is. A few points that lie far
# away cannot bend it.

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
# How do you find such a line? For each size there is one equation $\text{latency} + \text{size}
# \cdot \text{per\_byte} = \text{seconds}$, with the two unknowns `latency` and `per_byte` (which
# is 1 / bandwidth). No line fulfils all equations. *Least squares* takes the line for which the
# squared errors have the smallest sum. But which errors?
#
# Suppose that the longest message takes a hundred times as long as the shortest. If its time is
# wrong by 10 percent, that is ten latencies. If you count errors in seconds, only long messages
# matter. Then the latency that you find is noise, and sometimes it is below zero. So count errors
# in percent. Make this sum as small as possible:
#
# $$\sum \left( \frac{\text{latency} + \text{size} \cdot \text{per\_byte}}{\text{seconds}} - 1
# \right)^2$$
#
# Each unknown is only multiplied by known numbers, and the products are added. `np.linalg.lstsq`
# finds the unknowns that make such a sum smallest.
#
# **Exercise.** Fit both numbers. `sizes` and `seconds` are arrays of the same length.


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
# From here on your line is used instead of the course's. How far apart are they?

# %%
my_fit = yours("05.fit", fit_line, lambda *_: (model.latency, model.per_byte))
latency, per_byte = my_fit(sizes, fastest)
print(f"yours {latency * 1e6:.1f} µs, the course's {model.latency * 1e6:.1f} µs")
assert min(latency, per_byte) > 0
plot_messages(*all_times, latency=latency, per_byte=per_byte)

# %% [markdown]
# ## 5. Short or long? · *beginner*
#
# **Exercise.** At which size does a message reach half of the bandwidth? `latency` and `per_byte`
# are in seconds.


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
# **Exercise.** Three minutes. A lorry full of disks has a latency of a day, but each byte costs
# less time than on any cable. There are several ways to send these bytes. Which one is the
# quickest? The lines stand below, sorted by the alphabet, and one of them belongs nowhere: put the
# others in order.


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
# Here are three answers to one question: the formula with your two numbers; the simulator, which
# runs your own ping-pong in a network with these numbers; and your ranks. The simulator does not
# know the formula. It only knows that a port is busy and that a way takes time.

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
# At the left the curve is flat: only the latency counts. At the right it rises with the bytes. The
# bend between them is at $n_{1/2}$, where the two dotted lines cross.
#
# Where do the dots leave the line? Often at the far right: such balls do not fit into the caches
# of the processor any more. Somewhere in the middle, the MPI library changes its method. Short
# messages leave at once, into a buffer. Before a long message the library first asks whether the
# receiver is ready. The two numbers know nothing of that. (If many dots lie far above the line,
# your machine was busy: close other programs and measure again.)
#
# How wrong are the two numbers at worst? Compute it, from one byte to four million:

# %%
off = np.exp(np.abs(np.log(fastest / simulated)).max())
print(f"the two numbers are wrong by a factor of {off:.2f} at worst")

# %% [markdown]
# That is good enough to choose between two programs that differ by much more.
#
# ## 7. The surprise · *beginner*
#
# How much of a message is latency? The next cell computes it for some arrays that a network sends:

# %%
things = {"one number": 8, "a bias of 256": 1024, "a layer norm of 768": 6144}
things |= {"a 3x3 convolution, 64 to 64": 147_456, "a dense layer, 4096 to 4096": 67_108_864}
share = {name: latency / (latency + size * per_byte) for name, size in things.items()}
for name, part in share.items():
    print(f"{name:28}{things[name]:>12,} bytes   {part:7.2%} latency")
assert share["one number"] > share["a dense layer, 4096 to 4096"]

# %% [markdown]
# Take 5 µs and 5 GB a second. There latency is half of the time of a message of 25 kB. It is a
# fifth at 100 kB, and a twentieth at half a megabyte. So on such a machine **latency rules up to
# about 100 kB**. What about yours? Give your cores other work and measure again: the latency
# should grow.
#
# Many tensors of a network are shorter. ResNet-101 (He et al. 2016) has 314 tensors. 209 of them
# belong to norms and biases, and have at most 8 kB each. A program that sends those one by one
# pays latencies, and hardly any bytes. But 100 kB is no law of nature. With typical numbers,
# Ethernet of 1 Gbit/s and 50 µs has its $n_{1/2}$ at 6 kB. InfiniBand of 200 Gbit/s and
# 1.5 µs has it at 38 kB. Between two continents, 50 ms apart, 1 GB a second has it at 50 MB.
#
# You have 1,000 numbers to send, one by one or all in one message. How many times as long does it
# take one by one? Say a number, then run the cell.

# %%
run = engines.run(measured, play=play, sizes=[8, 8000], **plainly)
short, long = np.min(run.results[0], axis=0)
print(f"one by one takes {1000 * short / long:.0f} times as long")
assert 1000 * short > long

# %% [markdown]
# Small things that travel in one message are called a *bucket*. PyTorch uses buckets (Li et al.
# 2020), Horovod does (Sergeev and Del Balso, 2018), and unit 08 asks how large they should be.
#
# ## 8. Simulate what does not fit on your machine · *intermediate*
#
# One rank is a *server*: it gets a message from every other rank, and answers each of them. First
# take 8 ranks and 10,000 bytes, with a latency of 1 µs and 10 GB a second. A `Phantom` stands for
# an array of which only the size matters.


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
run.timeline.plot(title="All ranks ask at the same time, and rank 0 takes one after another")

# %% [markdown]
# Seven messages leave at the same time, and arrive one after another: each takes 1 µs to come in,
# and rank 0 has only one port. This is called **incast**. Then the answers go out, one after
# another. With $P$ ranks everything has ended after
#
# $$2 \left( \text{latency} + (P-1)\,\frac{n}{\text{bandwidth}} \right).$$
#
# Now take 65,536 ranks and 1,000 bytes for each message, in the same network. After how many ms
# does every rank have its answer? Guess first. The next cell sends 131,070 messages and takes some
# seconds.

# %%
predict("05.incast", ...)

# %%
run = simulate(ask_and_answer, 65_536, network=network, nbytes=1000, strict=False)
assert np.isclose(run.time, 2 * (1e-6 + 65_535 * 1000 / 10e9))
reveal("05.incast", run.time * 1e3)
run.timeline.plot(title="65,535 ranks wait for an answer that takes 0.1 µs")

# %% [markdown]
# Yellow is a rank that waits. Its own message takes 1.1 µs to the server and 1.1 µs back. The
# rest, up to 13 ms, is waiting in a queue. A better latency would not help.
#
# The library's collectives work without a server. `recursive_doubling.allreduce` gives every
# rank the sum of all vectors, by messages between pairs of ranks. Compare it with the server, for
# few ranks and for many:

# %%
from ddl_teach.collectives import recursive_doubling

quick = {"network": network, "trace": False}
for count in (8, 1024):
    server = simulate(ask_and_answer, count, nbytes=1000, **quick).time
    pairs = simulate(recursive_doubling.allreduce, count, x=Phantom(1000), **quick).time
    print(f"{count:5,} ranks: a server {server * 1e6:5.1f} µs, pairs {pairs * 1e6:4.1f} µs")
    assert pairs < server

# %% [markdown]
# With the server the time grows with the number of ranks. With pairs it grows only with the
# logarithm of that number. You write this collective yourself in unit 06. Unit 15 asks when a
# server is still the better choice.
#
# ## 9. What production systems do · *intermediate*
#
# Your engines use the course's communicator. It counts every byte, and ends every hang with an
# error that says which rank waits for which. What does that cost? Compare it with three other ways
# to send the same bytes:
#
# - mpi4py's `Send` takes the memory of an array as it is.
# - mpi4py's `send`, with a small letter, takes any Python object and *pickles* it: it makes bytes
#   that describe the object, and sends those. The receiver builds the object again.
# - gloo is what `torch.distributed` uses between processors. Between NVIDIA's GPUs
#   `torch.distributed` uses NCCL.
#
# The test is a ping-pong of ten turns with each of them:

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
# Processes that use gloo must first find each other, for instance through a file. Then `stopwatch`
# lets all ways take turns: what disturbs one of them disturbs the others too. In the table, 1 is
# the time of mpi4py's `Send`.

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
# For 8 bytes you measure the software: every line of Python around the call of MPI counts. gloo
# uses sockets, as between two computers, and wakes up a thread for each message. For a million
# bytes the lines of Python hardly count, but `send` copies the bytes more often. So for arrays use
# the capital letters of mpi4py. And a ratio without a size says nothing.
#
# The notebook `05_more_messages.ipynb` goes on from here: how latency can be hidden, and a puzzle,
# a broadcast with a time to beat.
#
# ## What you said
#
# Your predictions of this unit, beside what was found:

# %%
from ddl_class import predictions

predictions("05")

# %%
progress()

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. A gradient of 100 MB is sent in pieces of 4 KiB. Each piece leaves only when the piece before
#    it has been received. The latency is 10 µs, the bandwidth 10 GB a second. How much of the
#    bandwidth is used?
# 2. You buy a network with twice the bandwidth and the same latency. Which messages get faster?
# 3. Rank 1 starts and stops a stopwatch in the same lines as rank 0. Why does it show less?
#
# <details><summary>Answers</summary>
#
# 1. A piece takes 10 µs + 0.41 µs, so 4 percent. To reach half, a piece must have $n_{1/2}$ =
#    100,000 bytes.
# 2. The long ones. Far above $n_{1/2}$ they take half of the time, at $n_{1/2}$ three quarters;
#    far below it nothing changes. And $n_{1/2}$ itself is now twice as large.
# 3. The last thing that rank 1 does is a send, which ends when the bytes have left. They arrive a
#    latency later, and only rank 0 sees that.
#
# </details>
#
# ## Where to read on
#
# - Unit 06 puts messages together: an all-reduce from scratch. The size decides which one is best.
# - `ddl_teach/theory/robust_line.py`: a line that a few bad measurements cannot bend.
# - Hockney, "The communication challenge for MPP", *Parallel Computing*, 1994: the two numbers.
# - Culler et al., "LogP: towards a realistic model of parallel computation", *PPoPP*, 1993, and
#   Alexandrov et al., "LogGP", *SPAA*, 1995: what the two numbers leave out.
# - D. De Sensi et al., "Noise in the clouds: influence of network performance variability on
#   application scalability", 2022: the same messages on four clouds and three supercomputers.
#   Times that vary from message to message can limit a large run.
# - T. Hoefler et al., "Ultra Ethernet's design principles and architectural innovations", *arXiv*,
#   2025: what a message costs on a network that is made for such programs, and why it is not
#   InfiniBand.
# - MPI Forum, "MPI: a message-passing interface standard, version 5.0", 2025: a program that was
#   compiled with one MPI library can now run with another one.
#
# Stop your engines when you are done: `engines.stop()`. If you forget, they end with the notebook.
