# %% [markdown]
# # A tour of the ground
#
# Deep learning is spread over many processors. Programs do this: each processor does its part, and
# the processors send each other messages. Here you see such programs run in two ways:
# **simulated**, on as many processors as you like, and **real**, on your own machine.
#
# The tour takes half an hour. You need some Python, nothing more. Run a cell with *Shift + Enter*,
# and read the text below it before you go on. The first cell draws a map of the course.

# %%
print("The first start loads the libraries from disk: that can take a minute.")
from ddl_class.release.curriculum import course_map

course_map()

# %% [markdown]
# Each box is a unit. It shows the minutes that the unit takes alone, and the units that it builds
# on. The yellow path leads through the units that matter most. You are in front of unit 00. This
# tour shows what all units are made of.
#
# ## A rank program
#
# Several processes run one program together. Each of them is called a **rank** and has a number:
# 0, 1, 2 and so on. A **rank program** is a Python function that every rank runs. Its first
# argument is the **communicator**: it knows the rank's own number, and how many ranks there are.


# %%
def square(comm):
    print(f"I am rank {comm.rank} of {comm.size}")
    return comm.rank**2


# %% [markdown]
# Nothing has run yet. `simulate` runs the function on **simulated ranks**: they exist only inside
# this process, and their clock is computed. Start four of them:

# %%
from ddl_class import simulate

run = simulate(square, ranks=4)
print("results:", run.results)
assert run.results == [0, 1, 4, 9]

# %% [markdown]
# One function ran four times and gave four results. `simulate` returns a `Run`, and `run.results`
# lists what each rank returned. Ranks share no variables: each has its own.
#
# ## A message
#
# What one rank should know of another rank must be sent. In the next program each rank first works
# for a while, and rank 3 works longest. Then each rank sends its number to its right neighbour. At
# the same time it receives a number from its left neighbour, into an array that is ready for it.
# The `%` makes rank 0 the right neighbour of rank 3.

# %%
import numpy as np


def pass_right(comm):
    comm.work(seconds=(comm.rank + 1) * 0.01)
    mine, received = np.array([comm.rank]), np.array([-1])
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.sendrecv(mine, right, received, left)
    return int(received[0])


# %% [markdown]
# Which rank will have which number? Say it before you run the next cell.

# %%
run = simulate(pass_right, ranks=4)
print("results:", run.results)
assert run.results == [3, 0, 1, 2]

# %% [markdown]
# ## The timeline
#
# A run records what each rank did, and when. In the picture each rank is a row, time goes from
# left to right, and an arrow is a message.

# %%
run.timeline.plot()

# %% [markdown]
# Rank 0 finishes its work first, and yet it goes on last: it waits for the message of rank 3,
# which worked longest. The title says how much of all time goes into messages, and into waiting
# for them. Much of this course is about making that number small.
#
# ## The ledger
#
# A run also records every message: its receiver, its tag (a number that tells messages apart) and
# its bytes. This record is the **ledger**. A formula says how many bytes an algorithm should move;
# the ledger says how many it did move.

# %%
print(run.ledger[0].messages)
assert run.ledger[0].bytes_sent == 8

# %% [markdown]
# ## The same on real ranks
#
# `launch` starts real processes on this machine, runs the same function in each, and ends them.
# They send messages through MPI, the standard for messages between processes on supercomputers.
# This takes a few seconds.

# %%
from ddl_class import launch

real = launch(square, ranks=4)
assert real.results == [0, 1, 4, 9]

# %% [markdown]
# Now each line begins with its rank. Run the cell again: the lines may change places, because
# nothing makes the processes print in turn. The results keep the order of the ranks.
#
# With messages everything is the same again: the function, the results, and the ledger to the last
# byte. Only the times differ, because these are measured.

# %%
real = launch(pass_right, ranks=4)
assert real.results == run.results
assert real.ledger == run.ledger
real.timeline.plot()

# %% [markdown]
# ## Adding up: a ring
#
# Ranks that train one network together have a vector of gradients each, and each rank needs the
# sum of all vectors. This operation is called an **all-reduce**. It can decide how fast training
# is.
#
# One way is the ring. Each vector is cut into as many chunks as there are ranks. In each step a
# rank sends one chunk to the right, receives one chunk from the left, and adds what it received to
# its own.

# %%
import inspect

from ddl_teach.collectives import ring

print(inspect.getsource(ring.reduce_scatter))

# %% [markdown]
# `@collective` says that all ranks call this function alike, and `op` may be another operation
# than the sum: read over both for now.
#
# With $P$ ranks, each rank has one complete chunk after $P-1$ steps. Another $P-1$ steps pass the
# complete chunks on, until every rank has all of them. The function calls nothing but the verbs of
# the communicator. So it runs wherever there is a communicator.


# %%
def add_up(comm, length):
    x = np.full(length, comm.rank, dtype=np.float64)
    ring.allreduce(comm, x)
    return x


run = simulate(add_up, ranks=4, length=1000)
assert all((x == 0 + 1 + 2 + 3).all() for x in run.results)

# %%
run.timeline.plot(title="A ring of 4 ranks: 6 steps, and every rank sends in each of them")

# %% [markdown]
# Each rank sent 6 chunks, and a chunk is a quarter of the vector. In general a rank sends
# $2(P-1)/P$ vectors: fewer than two, for any number of ranks.

# %%
vector = 1000 * 8
print("a rank sent", run.ledger[0].bytes_sent, "bytes; its vector has", vector)
assert all(ledger.bytes_sent == 6 / 4 * vector for ledger in run.ledger)

# %% [markdown]
# ## Predict
#
# A message of $n$ bytes takes a **latency**, however short it is, and then a time for each byte.
# The ring has $2(P-1)$ steps, with chunks of $n/P$ bytes. So it should take
#
# $$2\,(P-1)\left(\text{latency} + \frac{n/P}{\text{bandwidth}}\right).$$
#
# Another algorithm uses a *tree*. In the first step half of the ranks send their whole vector to a
# neighbour, which adds it to its own. In the next step half of those send, and so on: after
# $\log_2 P$ steps rank 0 has the sum. Then the sum goes back along the same tree.
#
# Now take 65,536 ranks and vectors of 10,000 bytes. The latency is 1 µs (a millionth of a second),
# the bandwidth 10 GB a second. How many µs does the tree take? Write down a number before you read
# on.

# %%
my_prediction = None  # write a number of µs here, 500 for instance

# %%
from ddl_teach.theory import collectives as theory
from ddl_teach.theory.machine import Link

ranks, size, latency, bandwidth = 65_536, 10_000, 1e-6, 10e9
formula = theory.tree(ranks, size, Link(latency, 1 / bandwidth))
print(f"a tree: {formula * 1e6:.0f} µs, you: {my_prediction or '(nothing yet)'}")
print(f"a ring: {theory.ring(ranks, size, Link(latency, 1 / bandwidth)) * 1e6:.0f} µs")

# %% [markdown]
# In the ring no rank sends more than two vectors. Yet the ring takes two thousand times as long:
# it pays 131,070 latencies.
#
# ## Simulate what does not fit on your machine
#
# Does the formula hold? Here are 65,536 ranks and 131,070 messages. A `Phantom` stands for a
# vector of which only the size matters. The simulation takes some seconds, and says how far it is.

# %%
from ddl_teach import Phantom
from ddl_teach.collectives import tree


def along_a_tree(comm):
    tree.allreduce(comm, Phantom(size))


# %%
from ddl_teach.comm import Uniform

big = simulate(along_a_tree, ranks, network=Uniform(latency, bandwidth), strict=False)
print(f"simulated: {big.time * 1e6:.0f} µs, formula: {formula * 1e6:.0f} µs")
assert np.isclose(big.time, formula)

# %%
big.timeline.plot()

# %% [markdown]
# In the first step, at the left, half of all ranks send. In each further step it is half as many,
# so nearly all ranks wait. The sum is complete after half of the time. At the right it comes back,
# and one rank after the other has finished.
#
# ## Measure on your own ranks
#
# Which latency and which bandwidth has *your* machine? Let two ranks play ping-pong: a message
# goes there and back, and half of that time is the time of one message. `comm.now()` reads the
# clock.


# %%
def there_and_back(comm, ball):
    if comm.rank == 0:
        comm.send(ball, to=1)
        comm.recv(ball, source=1)
    else:
        comm.recv(ball, source=0)
        comm.send(ball, to=0)


# %%
def ping_pong(comm, sizes):
    times = []
    for nbytes in sizes:
        ball, begun = np.zeros(nbytes, np.uint8), comm.now()
        there_and_back(comm, ball)
        times.append((comm.now() - begun) / 2)
    return times


# %% [markdown]
# Measured times vary, so each size is sent forty times. Then a straight line is fitted to all
# times: it begins at the latency, and its slope is the time for each byte.

# %%
from ddl_teach.theory.fit import fit

sizes = [2**k for k in range(3, 22, 2)] * 40
model = fit(sizes, launch(ping_pong, ranks=2, sizes=sizes, strict=False).results[0])
print(f"latency {model.latency * 1e6:.1f} µs, {1e-9 / model.per_byte:.2f} GB a second")

# %% [markdown]
# Now measure the ring, eleven times for each size. All ranks begin together, after a **barrier**:
# no rank leaves it before all ranks have come.


# %%
def stopwatch(comm, sizes):
    times = np.zeros((11, len(sizes)))
    for turn, place in np.ndindex(times.shape):
        x = np.zeros(sizes[place] // 8)
        comm.barrier()
        begun = comm.now()
        ring.allreduce(comm, x)
        times[turn, place] = comm.now() - begun
    return np.quantile(times, [0.25, 0.5, 0.75], axis=0)


# %% [markdown]
# The same stopwatch runs on real ranks and on simulated ranks. The simulated network has the
# latency and the bandwidth that you just measured. With the formula these are three answers to one
# question.

# %%
import os

count = 4 if os.cpu_count() >= 4 else 2
sizes = np.array([2**k for k in range(9, 23, 2)])
network = model.link.network
predicted = model.predict("ring", count, sizes)
_, simulated, _ = simulate(stopwatch, count, network=network, sizes=sizes).results[0]
low, measured, high = np.max(launch(stopwatch, count, sizes=sizes, strict=False).results, axis=0)
assert np.allclose(simulated, predicted)

# %%
from ddl_class.plots.messages import plot_times

plot_times(
    predicted={"ring": (sizes, predicted)},
    simulated={"ring": (sizes, simulated)},
    measured={"ring": (sizes, measured, (low, high))},
)

# %% [markdown]
# The squares lie on the line: the simulator does what the formula says. The dots are your machine,
# with their quartiles. The formula does not know the additions, nor that ranks share cores and
# memory. So ask what lies between the line and the dots.
#
# ## A deadlock, on purpose
#
# Two ranks both receive first and send afterwards. So each waits for the other, for ever. With MPI
# alone nothing happens then, until you give up. Here every wait ends, with a message that says
# why.


# %%
def after_you(comm):
    other, x = 1 - comm.rank, np.zeros(100)
    comm.recv(x, source=other)
    comm.send(x, to=other)


# %%
from ddl_teach.comm import Deadlock

try:
    launch(after_you, ranks=2)
except Deadlock as error:
    diagnosis = error
print(diagnosis)
assert sorted(diagnosis.cycle) == [0, 1]

# %% [markdown]
# Read the message from the top. It says which rank waits in which call, in which line, and for
# which rank. It also shows how these waits form a circle. If something just takes too long, press
# the square button above (*interrupt the kernel*): then the message says where every rank was.
#
# ## A rank that raises an error
#
# One rank makes a mistake while the others wait for its message. You see that mistake, with the
# number of its rank.


# %%
def stumble(comm):
    x = np.zeros(4)
    if comm.rank == 1:
        x[4] = 1.0
    ring.allreduce(comm, x)


# %%
from ddl_teach.comm import RankFailed

try:
    launch(stumble, ranks=3)
except RankFailed as error:
    diagnosis = error
print(diagnosis)
assert diagnosis.rank == 1

# %% [markdown]
# The deadlock and the mistake leave nothing behind. The next program starts clean:

# %%
assert launch(pass_right, ranks=3).results == [2, 0, 1]

# %% [markdown]
# ## Your turn
#
# - Repair `after_you`: let rank 0 send first, or use `comm.sendrecv`.
# - Run `add_up` on 5 ranks, on 1 and on 64. Is the sum right?
# - `run.timeline.save_trace("trace.json")` writes a file for the viewer at ui.perfetto.dev.
#   `save_goal` and `save_chakra` write files that other simulators read.
#
# This was the ground. The course itself begins in `00_machine.ipynb`: there you write programs of
# your own, and `check` says whether they are right. The algorithms are in
# `ddl_teach/collectives/`, one in each file. The formulas are in `ddl_teach/theory/`. `README.md`
# has the map.
