# %% [markdown]
# # A puzzle: a list that all ranks sign
#
# **How soon can all ranks know what each of them knows?**
#
# Sixteen ranks have a list with sixteen entries each. Rank $r$ has written its own number into
# entry $r$; the other entries are 0. In the end every rank must have all sixteen numbers. The
# faster, the better. You need unit 00, and about half an hour.
#
# The machine is given, and it is simulated. A message takes 5 µs to its receiver. A rank that
# sends or receives a message spends 2 µs on it. So a message alone takes 9 µs, and a few
# nanoseconds for its bytes. As everywhere in this course, a send ends only when its receive has
# begun.

# %%
import numpy as np

from ddl_class import animate, check, hint, judge, simulate, yours
from ddl_class.exercises.kit.puzzle import SIXTEEN

# %% [markdown]
# ## The list goes round · *beginner*
#
# The simplest way: one list goes round the circle. Each rank takes over the numbers that it does
# not have yet, and sends the list on. `np.maximum(x, y, out=x)` takes for each entry the larger
# number: a number that is there replaces a 0. After the first round rank 0 has all numbers. After
# the second round every rank has them.


# %%
def go_round(comm, x):
    arriving = np.empty_like(x)
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    for turn in (1, 2):
        if comm.rank > 0 or turn == 2:
            comm.recv(arriving, left)
            np.maximum(x, arriving, out=x)
        if comm.rank < comm.size - 1 or turn == 1:
            comm.send(x, right)


# %%
def signed(comm, way):
    x = np.zeros(comm.size)
    x[comm.rank] = comm.rank + 1
    way(comm, x)
    return x


run = simulate(signed, 16, way=go_round, network=SIXTEEN)
assert all((x == np.arange(1, 17)).all() for x in run.results)
run.timeline.plot(title=f"Two rounds take {run.time * 1e6:.0f} µs")

# %% [markdown]
# Nearly all ranks wait, nearly all of the time. Here are two faster ways. In the first, all ranks
# send their lists to rank 0, and rank 0 sends the full list to each of them. In the second, all
# ranks pass on to the right what they have, at the same time, fifteen times.


# %%
def through_rank_0(comm, x):
    arriving = np.empty_like(x)
    if comm.rank > 0:
        comm.send(x, to=0)
        return comm.recv(x, source=0)
    for rank in range(1, comm.size):
        comm.recv(arriving, source=rank)
        np.maximum(x, arriving, out=x)
    for rank in range(1, comm.size):
        comm.send(x, to=rank)


# %%
def all_at_once(comm, x):
    arriving = np.empty_like(x)
    for _ in range(comm.size - 1):
        comm.sendrecv(x, (comm.rank + 1) % comm.size, arriving, (comm.rank - 1) % comm.size)
        np.maximum(x, arriving, out=x)


# %%
ways = (go_round, through_rank_0, all_at_once)
times = [1e6 * simulate(signed, 16, way=way, network=SIXTEEN).time for way in ways]
print("µs:", np.round(times))
assert round(times[0]) == 283
assert round(times[1]) == 76
assert round(times[2]) == 137

# %% [markdown]
# The second way is better, and rank 0 is busy all the time. In the third way no rank is busier
# than the others, but each of the fifteen steps waits for a whole message.
#
# **A puzzle.** The goal is **40 µs**. You decide which rank sends to which, and when. Besides
# `send`, `recv` and `sendrecv` there are `comm.isend` and `comm.irecv`: they only begin a message,
# and what they return has a `wait()`. The check shows how long your answer takes, and how long the
# best known one takes.


# %% name="00.list" tags=["answer"]
def sign_list(comm, x):
    """Rank r has its number in x[r], and 0 elsewhere; afterwards x has all sixteen numbers."""
    ### BEGIN SOLUTION
    distance, arriving = 1, np.empty_like(x)
    while distance < comm.size:
        right, left = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(x, right, arriving, left)
        np.maximum(x, arriving, out=x)
        distance *= 2
    ### END SOLUTION


# %%
mine = yours("00.list", sign_list, go_round)
run = simulate(signed, 16, way=mine, network=SIXTEEN)
run.timeline.plot(title="Your way, or the two rounds, on 16 simulated ranks")

# %% name="00.list" tags=["check"]
check("00.list", sign_list)
### BEGIN HIDDEN TESTS
judge("00.list", sign_list, seed=6)
### END HIDDEN TESTS

# %% [markdown]
# Which rank sends which numbers, and when? Watch it, step by step:

# %%
animate(run)

# %% [markdown]
# ## Can it be faster?
#
# In one message a rank can at best get everything that its sender has. So the numbers that a rank
# knows can at best double with each message. With 16 ranks this means at least four messages one
# after another, if each rank handles one message at a time. But while a message is on its way, for
# 5 µs, a rank has time for others. What is the best number of messages to send at the same time?
#
# Two questions to take with you:
#
# - A message costs a rank 4 µs of work, 2 at each end, and 5 µs of waiting. Which of the two does
#   your way pay more of?
# - What changes on a machine where a rank needs 5 µs for a message, and the way takes 2 µs?
#
# Unit 05 measures such numbers on your own machine. The notebook `06_more_collectives.ipynb` shows
# where this is used: every barrier works in this way.
