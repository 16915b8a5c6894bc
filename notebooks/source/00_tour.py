# %% [markdown]
# # A tour of the ground
#
# Deep learning is spread over many processors by programs in which each processor does its part
# and they talk to each other. Here you see such programs run in two ways: **simulated**, on as
# many processors as you like, and **real**, on your own machine.
#
# It takes half an hour and needs some Python, nothing more. Run a cell with *Shift + Enter*, and
# read what it says before you go on. The first one draws a map of the course.

# %%
from ddl_class.release.curriculum import course_map

course_map()

# %% [markdown]
# Each box is a unit, with the minutes that it takes alone and the units it builds on. The yellow
# path leads past all that matters most. You stand before unit 00, and this tour shows what all of
# them are made of.
#
# ## A rank program
#
# When several processes run one program together, each of them is called a **rank** and has a
# number: 0, 1, 2 and so on. A **rank program** is a Python function that every rank runs. Its
# first argument is the **communicator**: it knows the rank's own number, and how many ranks there
# are.


# %%
def square(comm):
    print(f"I am rank {comm.rank} of {comm.size}")
    return comm.rank**2


# %% [markdown]
# Nothing has run yet. `simulate` runs the function on ranks that exist only inside this process
# and whose clock is a computed one. Four of them, please:

# %%
from ddl_class import simulate

run = simulate(square, ranks=4)
print("results:", run.results)
assert run.results == [0, 1, 4, 9]

# %% [markdown]
# One function ran four times and gave four results. What comes back is a `Run`, and `run.results`
# lists what each rank returned. Ranks share no variables: what one computes is its own.
#
# ## A message
#
# Whatever one rank should know of another has to be sent. Here each rank first works for a while,
# rank 3 longest. Then it sends its number to its right neighbour and at the same time receives one
# from the left, into an array made ready for it. The `%` makes rank 0 the right neighbour of rank
# 3.

# %%
import numpy as np


def pass_right(comm):
    comm.work(seconds=(comm.rank + 1) * 0.01)
    mine, received = np.array([comm.rank]), np.array([-1])
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.sendrecv(mine, right, received, left)
    return int(received[0])


# %% [markdown]
# Who will have whose number? Say it before you run the next cell.

# %%
run = simulate(pass_right, ranks=4)
print("results:", run.results)
assert run.results == [3, 0, 1, 2]

# %% [markdown]
# ## The timeline
#
# A run remembers what each rank did when. Ranks go down, time goes across, an arrow is a message.

# %%
run.timeline.plot()

# %% [markdown]
# Rank 0 is first to be done with its work and last to go on: it waits for the message of rank 3,
# which worked longest. How much of all time goes into messages, waits included, stands in the
# title. Much of this course is about making that number small.
#
# ## The ledger
#
# A run also remembers every message: to whom, with which tag (a number that tells messages apart),
# how many bytes. A formula says how many bytes an algorithm should move; the ledger says how many
# it did move.

# %%
print(run.ledger[0].messages)
assert run.ledger[0].bytes_sent == 8

# %% [markdown]
# ## The same on real ranks
#
# `launch` starts real processes on this machine, runs the same function in each, and ends them.
# They talk through MPI, the standard for messages between processes on supercomputers. That takes
# a few seconds.

# %%
from ddl_class import launch

real = launch(square, ranks=4)
assert real.results == [0, 1, 4, 9]

# %% [markdown]
# Now each line has its rank in front. Run the cell again, and the lines may change places: nobody
# told the processes to print in turn. The results keep the order of the ranks.
#
# With messages it is the same function again, the same results, and the same ledger to the last
# byte. Only the times differ, because these are measured.

# %%
real = launch(pass_right, ranks=4)
assert real.results == run.results
assert real.ledger == run.ledger
real.timeline.plot()

# %% [markdown]
# ## Adding up: a ring
#
# When ranks train one network together, each has a vector of gradients, and each needs the sum of
# all of them. That is called an **all-reduce**, and it can decide how fast training is.
#
# One way is the ring. The vector is cut into as many chunks as there are ranks. In each step a
# rank sends one chunk to the right, receives one from the left, and adds what it got to its own.

# %%
import inspect

from ddl_teach.collectives import ring

print(inspect.getsource(ring.reduce_scatter))

# %% [markdown]
# With $P$ ranks, $P-1$ steps leave each rank with one chunk that is summed up completely. Another
# $P-1$ steps pass the finished chunks round until everybody has them all. Nothing hides behind
# this function but the communicator's verbs, so it runs wherever there is a communicator.


# %%
def add_up(comm, length):
    x = np.full(length, comm.rank, dtype=np.float64)
    ring.allreduce(comm, x)
    return x


run = simulate(add_up, ranks=4, length=1000)
assert all((x == 0 + 1 + 2 + 3).all() for x in run.results)

# %%
run.timeline.plot(title="A ring of 4 ranks: 6 steps, and everybody talks in each of them")

# %% [markdown]
# Each rank sent 6 chunks, each a quarter of the vector. In general that is $2(P-1)/P$ vectors:
# less than two, however many ranks there are.

# %%
vector = 1000 * 8
print("a rank sent", run.ledger[0].bytes_sent, "bytes; its vector has", vector)
assert all(ledger.bytes_sent == 6 / 4 * vector for ledger in run.ledger)

# %% [markdown]
# ## Predict
#
# A message of $n$ bytes takes a **latency**, however short it is, and then a time for each byte.
# So a ring of $P$ ranks, with its chunks of $n/P$ bytes, should take
#
# $$2\,(P-1)\left(\text{latency} + \frac{n/P}{\text{bandwidth}}\right).$$
#
# Another algorithm is *recursive doubling*. Two ranks swap their whole vectors and add: first with
# the neighbour, then 2 ranks away, then 4, 8 and so on. That takes only $\log_2 P$ steps.
#
# Now take 65,536 ranks, vectors of 10,000 bytes, a latency of 1 µs (a millionth of a second) and a
# bandwidth of 10 GB a second. How many µs does recursive doubling take? Commit yourself before you
# read on.

# %%
my_prediction = None  # write a number of µs here, 500 for instance

# %%
from ddl_teach.theory import collectives as theory
from ddl_teach.theory.machine import Link

ranks, size, latency, bandwidth = 65_536, 10_000, 1e-6, 10e9
formula = theory.recursive_doubling(ranks, size, Link(latency, 1 / bandwidth))
print(f"formula: {formula * 1e6:.0f} µs, you: {my_prediction or '(nothing yet)'}")
print(f"a ring:  {theory.ring(ranks, size, Link(latency, 1 / bandwidth)) * 1e6:.0f} µs")

# %% [markdown]
# The ring moves fewer bytes and yet takes four thousand times as long: it pays 131,070 latencies.
#
# ## Simulate what nobody has at home
#
# Does the formula hold? Here are 65,536 ranks and their million messages. A `Phantom` stands for a
# vector of which only the size matters. Simulation and picture can take a minute.

# %%
from ddl_teach import Phantom
from ddl_teach.collectives import recursive_doubling


def doubling(comm):
    recursive_doubling.allreduce(comm, Phantom(size))


# %%
from ddl_teach.comm import Uniform

big = simulate(doubling, ranks, network=Uniform(latency, bandwidth), strict=False)
print(f"simulated: {big.time * 1e6:.0f} µs, formula: {formula * 1e6:.0f} µs")
assert np.isclose(big.time, formula)

# %%
big.timeline.plot()

# %% [markdown]
# Each stripe is one of the 16 steps: all 65,536 ranks send at once, and then wait for the latency.
#
# ## Measure on your own ranks
#
# Which latency and which bandwidth has *your* machine? Let two ranks play ping-pong: a message
# goes there and back, and half of that is the time of one. `comm.now()` reads the clock.


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
# Measurements vary, so each size is played forty times. A straight line is laid through all of
# them: where it begins is the latency, how it rises is the time per byte.

# %%
from ddl_teach.theory.fit import fit

sizes = [2**k for k in range(3, 22, 2)] * 40
model = fit(sizes, launch(ping_pong, ranks=2, sizes=sizes, strict=False).results[0])
print(f"latency {model.latency * 1e6:.1f} µs, {1e-9 / model.per_byte:.2f} GB a second")

# %% [markdown]
# Now take the time of the ring, eleven times for each size. All ranks begin together, after a
# **barrier**, which nobody leaves before everybody has come.


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
# The same stopwatch runs on real ranks and on simulated ones, in a network with the latency and
# the bandwidth just measured. With the formula these are three answers to one question.

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
# with their quartiles. The formula knows nothing of the additions themselves, nor of ranks that
# share cores and memory, so what lies between line and dot is worth a question.
#
# ## A deadlock, on purpose
#
# Two ranks are polite: each receives first and sends then. So each waits for the other, for ever.
# With MPI alone nothing happens then until you give up. Here every wait ends with a story.


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
    story = error
print(story)
assert sorted(story.cycle) == [0, 1]

# %% [markdown]
# Read it from the top: which rank waits in which call, in which line, and for whom; and how these
# waits close a ring. Should something just take too long: the square button above stops it, and
# then the story says where every rank was.
#
# ## A rank that raises
#
# One rank makes a mistake while the others wait for its message. The mistake is what you get to
# see, with the number of its rank.


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
    story = error
print(story)
assert story.rank == 1

# %% [markdown]
# Neither the deadlock nor the mistake has left anything behind. The next program starts clean:

# %%
assert launch(pass_right, ranks=3).results == [2, 0, 1]

# %% [markdown]
# ## Your turn
#
# - Mend `after_you`: let rank 0 send first, or use `comm.sendrecv`.
# - Run `add_up` on 5 ranks, on 1, on 64. Does the sum hold?
# - `run.timeline.save_trace("trace.json")` writes a file for the viewer at ui.perfetto.dev;
#   `save_goal` and `save_chakra` write what other simulators read.
#
# That was the ground. The course itself begins in `00_machine.ipynb`, where you write programs of
# your own and have them checked. The algorithms stand in `ddl_teach/collectives/`, one a file, the
# formulas in `ddl_teach/theory/`. `README.md` has the map.
