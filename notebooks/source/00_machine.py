# %% [markdown]
# # The machine
#
# **What is a rank? What does a hang look like, and how do I get out?**
#
# A program that trains a network on many processors is made of *ranks*, which send each other
# messages. Before you write an algorithm, meet the ranks: see where a variable lives, send a
# message, cause a deadlock and get out of it. You cannot break anything. A program that hangs is
# ended, an error says what went wrong, and the next cell starts clean.
#
# You need some Python, nothing else. The heading of each section says for whom it is: a beginner
# can leave out what is *intermediate*. The unit takes about an hour. Run a cell with *Shift +
# Enter*, and read the text below it before you go on.
#
# ## 1. Ranks · *beginner*
#
# The first cell starts four **engines**: four processes on your machine. Each has a Python and a
# memory of its own, and waits for work. The start takes some seconds.

# %%
import sys
import time

import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate

engines = Engines(4)

# %% [markdown]
# A cell that begins with `%%px` does not run in the notebook. It runs on all engines. There each
# engine has a `comm`, its **communicator**. The communicator knows how many engines there are, and
# which number this one has: its **rank**. The process itself is called a rank, too.

# %%
# %%px
print("I am rank", comm.rank, "of", comm.size)
x = 10 * comm.rank

# %%
x = "some text"
# %px print(x)
assert engines.pull("x") == [0, 10, 20, 30]

# %% [markdown]
# One program ran four times: each rank did the same lines with another number. Now each rank has
# an `x`. The notebook has one too, because it is a fifth process:
#
# ```text
#     rank 0        rank 1        rank 2        rank 3
#   +--------+    +--------+    +--------+    +--------+
#   | x =  0 |----| x = 10 |----| x = 20 |----| x = 30 |     messages, and nothing else
#   +---+----+    +---+----+    +---+----+    +---+----+
#       |             |             |             |
#       +-------------+------+------+-------------+          %%px, engines.run
#                   +--------+--------+
#                   | x = "some text" |
#                   +-----------------+
#                        notebook
# ```
#
# These are five memories, with five variables of the same name. `engines.pull("x")` fetched the
# four of the ranks. The ranks do not know the variables of the notebook. The next cell fails on
# purpose, so that you have seen it:

# %% tags=["raises-exception"]
recipe = "the notebook has it, the engines do not"
# %px print(recipe)

# %% [markdown]
# The first line says which rank failed first, and why.
#
# ## 2. The first exercise · *beginner*
#
# Think of the ranks as a circle. Rank $r$ of $P$ has rank $(r + 1) \bmod P$ to its right and rank
# $(r - 1) \bmod P$ to its left. The remainder, in Python `%`, closes the circle: to the right of
# the last rank comes rank 0.
#
# All exercises have three cells. The first is yours: put your lines in place of `raise
# NotImplementedError`. The second runs your function. The third checks it, and says what is wrong.
# First run all three as they are.
#
# **Exercise.** Return the left and the right neighbour of the rank that runs the function.


# %% name="00.neighbours" tags=["answer"]
def neighbours(comm):
    """Return two numbers: the rank to the left, (r-1) mod P, and to the right, (r+1) mod P."""
    ### BEGIN SOLUTION
    return (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    ### END SOLUTION


# %%
run = engines.run(neighbours)
for rank, pair in enumerate(run.results):
    print("rank", rank, "sits between", pair)

# %% name="00.neighbours" tags=["check"]
check("00.neighbours", neighbours)
### BEGIN HIDDEN TESTS
judge("00.neighbours", neighbours, ranks=(6, 7, 12), seed=1)
### END HIDDEN TESTS

# %% [markdown]
# `engines.run` runs a function on the engines and returns a `Run`: `run.results` lists what each
# rank returned. If you are stuck, put `hint("00.neighbours")` into a cell of its own. It gives a
# hint. Ask again, and it leads further. After two checks that fail, a third hint shows lines of
# code. Hints cost nothing. They are counted, so that a teacher sees which exercise is hard.
#
# ## 3. Which rank comes first? · *beginner*
#
# Four ranks run the same line at the same time. Which one comes to it first? Let them do it fifty
# times. Before each time they wait for each other at a **barrier**: no rank leaves it before all
# ranks have come. How often will they come in the order 0, 1, 2, 3? Put your number in place of
# the dots.

# %%
predict("00.in_order", ...)


# %%
def arrive(comm, times=50):
    moments = []
    for _ in range(times):
        comm.barrier()
        moments.append(time.perf_counter())
    return moments


# %%
from ddl_class.plots.messages import plot_arrivals

moments = np.array(engines.run(arrive).results)
by_number = (np.diff(moments, axis=0) > 0).all(axis=0).sum()
reveal("00.in_order", by_number)
assert by_number < 50
plot_arrivals(moments)

# %% [markdown]
# This is the first surprise: **ranks come in any order**. If they print, their lines come in any
# order too; this notebook sorts them for you. A program that needs an order must make it, with
# messages or with a barrier. If a program works only because one rank *usually* comes first, it
# will fail one day.
#
# ## 4. A message · *beginner*
#
# No rank can read the memory of another. What another rank should know, you send:
#
# - `comm.send(x, to=1)` sends the array `x` to rank 1.
# - `comm.recv(y, source=0)` waits for a message from rank 0 and puts it into the array `y`. This
#   array must have the same size and type.
#
# **Exercise.** A warm-up of three minutes. Rank 0 has a ball. The ball goes down the line: each
# rank adds 1 to it and sends it to the next rank; the last rank keeps it. The lines are written
# already, but in the wrong order: they are comments, sorted by the alphabet, and two of them
# belong nowhere. Put the right ones in order and delete the others. To do so, select lines:
# *Ctrl+/* turns comments into code, *Alt+↑* and *Alt+↓* move lines, and *Tab* indents them. (On a
# Mac the keys are *Cmd* and *Option*.)


# %% name="00.line" tags=["answer"]
def down_the_line(comm, ball):
    """The ball of rank 0 goes from rank to rank up to the last; each adds 1 to it."""
    ### BEGIN SOLUTION
    if comm.rank > 0:
        comm.recv(ball, source=comm.rank - 1)
    ball += 1
    if comm.rank < comm.size - 1:
        comm.send(ball, to=comm.rank + 1)
    ### END SOLUTION


# %% name="00.line" tags=["check"]
check("00.line", down_the_line)
### BEGIN HIDDEN TESTS
judge("00.line", down_the_line, ranks=(6, 7, 12), seed=4)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** Ping-pong. Rank 0 sends the ball to rank 1. Rank 1 adds 1 to it and sends it back.
# They do this `rounds` times. If there are more ranks, the others return at once.
#
# The second cell runs your function on *simulated* ranks. Their clock is computed, which makes a
# clear picture. The picture is a **timeline**: each rank is a row, time goes from left to right,
# and an arrow is a message.


# %% name="00.ping_pong" tags=["answer"]
def ping_pong(comm, ball, rounds):
    """Rank 0 sends the array ball to rank 1, which adds 1 and sends it back; rounds times."""
    ### BEGIN SOLUTION
    for _ in range(rounds):
        if comm.rank == 0:
            comm.send(ball, to=1)
            comm.recv(ball, source=1)
        if comm.rank == 1:
            comm.recv(ball, source=0)
            ball += 1
            comm.send(ball, to=0)
    ### END SOLUTION


# %%
run = simulate(ping_pong, 2, ball=np.zeros(3), rounds=3)
run.timeline.plot(title="Your ping-pong on 2 simulated ranks")

# %% name="00.ping_pong" tags=["check"]
check("00.ping_pong", ping_pong)
### BEGIN HIDDEN TESTS
judge("00.ping_pong", ping_pong, ranks=(2, 4, 7), seed=2)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. A deadlock, on purpose · *beginner*
#
# Four ranks stand in a circle. Each wants the numbers of its left neighbour. All four do the same:
# first they receive, then they send. How many of the four messages arrive?

# %%
predict("00.deadlock", ...)


# %% tags=["raises-exception"]
def after_you(comm, mine, received):
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    comm.recv(received, source=left)
    comm.send(mine, to=right)


engines.run(after_you, mine=np.ones(10), received=np.zeros(10))

# %% [markdown]
# With MPI alone the program would now wait for ever, without a word. Here every wait ends with a
# message. Read it from the top: it says which rank waits, in which call, in which line, and for
# which rank. Python keeps the last error in `sys.last_value`, and this one can draw itself:

# %%
diagnosis = sys.last_value
assert sorted(diagnosis.cycle) == [0, 1, 2, 3]
reveal("00.deadlock", 4 - len(diagnosis.cycle))  # each rank in the cycle waits for its message
diagnosis.plot()

# %% [markdown]
# Rank $r$ waits for rank $r - 1$, which waits for rank $r - 2$, and so on, until the arrows come
# back to where they began. Such a **cycle** of waits is a deadlock. To repair it, cut one arrow.
#
# **Exercise.** Three minutes. Cut the cycle: half of the ranks send first. Each rank sends the
# array `mine` to the right and receives the array of its left neighbour into `received`. Again the
# lines are there, sorted by the alphabet, and one of them belongs nowhere. Put the others in
# order.


# %% name="00.in_turn" tags=["answer"]
def pass_in_turn(comm, mine, received):
    """Send mine to the right, receive the left neighbour's into received; never wait for ever."""
    ### BEGIN SOLUTION
    if comm.rank % 2 == 0:
        comm.send(mine, to=(comm.rank + 1) % comm.size)
        comm.recv(received, source=(comm.rank - 1) % comm.size)
    else:
        comm.recv(received, source=(comm.rank - 1) % comm.size)
        comm.send(mine, to=(comm.rank + 1) % comm.size)
    ### END SOLUTION


# %% name="00.in_turn" tags=["check"]
check("00.in_turn", pass_in_turn)
### BEGIN HIDDEN TESTS
judge("00.in_turn", pass_in_turn, ranks=(6, 7, 12), seed=5)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** Write the same without any `if`. One call sends and receives at the same time:
# `comm.sendrecv(x, to, y, source)`.


# %% name="00.no_deadlock" tags=["answer"]
def pass_right(comm, mine, received):
    """Send mine to the right, receive the left neighbour's into received; never wait for ever."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    ### BEGIN SOLUTION
    comm.sendrecv(mine, right, received, left)
    ### END SOLUTION


# %%
run = simulate(pass_right, 4, mine=np.ones(10_000), received=np.zeros(10_000))
run.timeline.plot(title="Your program on 4 simulated ranks")

# %% name="00.no_deadlock" tags=["check"]
check("00.no_deadlock", pass_right)
### BEGIN HIDDEN TESTS
judge("00.no_deadlock", pass_right, ranks=(6, 7, 12), seed=3)
### END HIDDEN TESTS

# %% [markdown]
# ### A hang that depends on the size · *intermediate*
#
# Is it enough if every rank sends first? Try it with ten numbers, and then with a million.
# `strict=False` gives you ranks as MPI has them. What this switches off is explained below.


# %% tags=["raises-exception"]
def send_first(comm, length):
    mine, received = np.ones(length), np.zeros(length)
    comm.send(mine, to=(comm.rank + 1) % comm.size)
    comm.recv(received, source=(comm.rank - 1) % comm.size)


print("ten:", engines.run(send_first, length=10, strict=False))
engines.run(send_first, length=1_000_000, strict=False)

# %% [markdown]
# A short message leaves at once, into a buffer. A long message waits until its receiver is ready,
# because there is no buffer for it. The MPI library decides which messages are short. So a program
# can pass all its tests with small data, and hang with real data.
#
# That is why ranks in this course are *strict*: a send ends only after its receive has begun, and
# nobody may change an array while it is being sent. Leave out `strict=False`: then ten numbers
# hang too. Strictness costs time. So where the course measures, you will see `strict=False` again.
#
# ## 6. Other ways to get stuck · *beginner*
#
# A **tag** is a number on a message: `recv` takes only messages with the tag that it asks for.
# Here the two tags differ.


# %% tags=["raises-exception"]
def wrong_tag(comm):
    x = np.zeros(10)
    if comm.rank == 0:
        comm.send(x, to=1, tag=7)
    if comm.rank == 1:
        comm.recv(x, source=0, tag=8)


engines.run(wrong_tag)

# %% [markdown]
# Look at the line with `!`: it names the message that nobody asked for. In the next program rank 2
# makes a mistake while the others wait for it. You want to see the mistake, not the waiting:


# %% tags=["raises-exception"]
def stumble(comm):
    x = np.zeros(4)
    if comm.rank == 2:
        x[4] = 1.0
    comm.barrier()


engines.run(stumble)

# %% [markdown]
# What if a program just takes too long? Every program has a time limit; here it is 3 s. You need
# not wait for it: press the square button above (*interrupt the kernel*), and the ranks stop at
# once. In both cases a message says where each rank was. Try both.
#
# Then six cells will have failed. Do the engines still work? The second cell below shows it.

# %% tags=["raises-exception"]
engines.run(lambda comm: comm.work(seconds=60), timeout=3)

# %%
assert engines.pull("x") == [0, 10, 20, 30]
assert engines.run(lambda comm: comm.rank).results == [0, 1, 2, 3]

progress()

# %% [markdown]
# The engines work, and they have kept their variables. `engines.restart()` gives you new ones. If
# nothing else helps, restart the kernel (the round arrow above): the engines end with it. Run the
# first cell again, and go on where you were. The picture shows what you have solved: this is kept,
# and so are your predictions.
#
# ## 7. All ranks together · *beginner*
#
# Often all ranks need the same thing: the array of one rank, or the sum of all arrays. An
# operation that all ranks carry out together is called a **collective**. The library has several:
#
# - `tree.broadcast(comm, x)`: afterwards each rank has in `x` what rank 0 had.
# - `ring.allreduce(comm, x)`: afterwards each rank has in `x` the sum of all ranks' `x`.
#
# All ranks must call it, in the same order. Below, rank 0 has a 7, and the others have nothing.
# What will the four ranks return?

# %%
from ddl_teach.collectives import ring, tree


def spread_and_add(comm):
    x = np.array([7.0 if comm.rank == 0 else 0.0])
    tree.broadcast(comm, x)
    x *= comm.rank
    ring.allreduce(comm, x)
    return float(x[0])


# %%
run = engines.run(spread_and_add)
print(run.results)
print("rank 0 sent", run.ledger[0].messages_sent, "messages")
assert run.results == [42.0] * 4

# %% [markdown]
# After the broadcast every rank has 7. Then the ranks have 0, 7, 14 and 21, and the sum is 42.
# Behind each collective are messages, and the **ledger** of a run counts them. Here you only call
# collectives. In unit 06 you write them, from `send` and `recv` alone.
#
# ## 8. More ranks than you have · *intermediate*
#
# The same programs run on **simulated ranks**: in this process, with a computed clock, in a
# network that you describe. Here a *token* goes once round the circle. Only the rank that holds
# the token does anything. So with $P$ ranks it should take
#
# $$P \left( \text{latency} + \frac{\text{bytes}}{\text{bandwidth}} \right).$$
#
# The first run has 65,536 simulated ranks. The second uses your engines, and the token goes round
# a hundred times. The latency of your machine is not known yet. So the time for two ranks is
# measured, and half of it is taken as the latency.


# %%
def go_round(comm, rounds=1):
    token = np.zeros(1)
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    for _ in range(rounds):
        if comm.rank == 0:
            comm.send(token, right)
        comm.recv(token, left)
        if comm.rank > 0:
            comm.send(token, right)


# %%
from ddl_teach.comm import Uniform

network = Uniform(latency=1e-6, bandwidth=10e9)
plainly = {"trace": False, "strict": False}
run = simulate(go_round, 65_536, network=network, strict=False)
assert np.isclose(run.time, 65_536 * (1e-6 + 8 / 10e9))
run.timeline.plot(title="65,536 ranks, and one at a time is busy")


# %%
def fastest(count):
    return min(engines.run(go_round, count, rounds=100, **plainly).time for _ in range(5)) / 100


latency = fastest(2) / 2
for count in (2, 3, 4):
    simulated = simulate(go_round, count, network=Uniform(latency)).time
    words = f"formula {count * latency * 1e6:.0f} µs, simulated {simulated * 1e6:.0f} µs"
    print(f"{count} ranks: {words}, measured {fastest(count) * 1e6:.0f} µs")
    assert np.isclose(simulated, count * (latency + 8 / 10e9))

# %% [markdown]
# In the picture, a rank is busy only at the edge of the colour: above the edge ranks have
# finished, below it they wait. So it takes 66 ms to pass on eight bytes.
#
# In the table formula and simulation agree, as they should. The measured time of two ranks must be
# near, because the latency was taken from it. With more ranks than cores, a rank that gets the
# token may have to wait for a core. This can take many times as long as the message. Unit 05 asks
# what a message costs.
#
# ## 9. What production systems do · *intermediate*
#
# A cluster does not run notebooks. There, a *launcher* starts many copies of a program: `mpiexec`
# where ranks use MPI, `torchrun` where they use PyTorch. The two programs below do the same:

# %%
with_mpi = """
from mpi4py import MPI
print("MPI: I am rank", MPI.COMM_WORLD.rank, "of", MPI.COMM_WORLD.size)
"""
with_torch = """
from torch import distributed as dist
dist.init_process_group("gloo")
print("PyTorch: I am rank", dist.get_rank(), "of", dist.get_world_size())
"""

# %%
import subprocess

from ddl_runtime.launcher.mpiexec import mpi_command

torchrun = [sys.executable, *"-m torch.distributed.run --standalone --nproc-per-node 2".split()]
for launcher, text in ((mpi_command(2), with_mpi), ([*torchrun, "--no-python"], with_torch)):
    command = [*launcher, sys.executable, "-c", text]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    print(*sorted(lines), sep="\n")
    assert len(lines) == 2

# %% [markdown]
# Both start copies of the same program and give each process its number. (`mpi_command(2)` is
# `mpiexec -n 2` with options that allow more ranks than cores. On a cluster you would write the
# program into a file, and start it with `mpiexec -n 2 python file.py` or `torchrun
# --nproc-per-node 2 file.py`.) Neither of them looks for a deadlock. An MPI job that hangs uses up
# its hours to the last minute. PyTorch ends an operation after a time limit, and with it the job.
# By default the limit is 10 minutes with NVIDIA's NCCL and 30 minutes with other back ends. So it
# helps to recognise a deadlock when you see one.
#
# ## What you said
#
# Your predictions of this unit, beside what was found:

# %%
from ddl_class import predictions

predictions("00")

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. A cell begins with `%%px` and contains `x = comm.rank`. What is `x` in the notebook
#    afterwards?
# 2. There are six ranks, and rank $r$ waits for rank $r + 2$ (modulo 6). How many cycles are
#    there? How many ranks must get a message so that all ranks can go on?
# 3. Ranks with even numbers send first, ranks with odd numbers receive first. Why is this no
#    deadlock in a circle of four? And in a circle of five?
#
# <details><summary>Answers</summary>
#
# 1. What it was before, or nothing: the notebook is another process.
# 2. Two: 0, 2, 4 and 1, 3, 5. One arrow of each cycle must be cut, so two ranks must get a
#    message.
# 3. Of two neighbours one sends while the other receives. In a circle of five, ranks 4 and 0 are
#    neighbours and both even: the send of rank 4 waits until rank 0 has sent to rank 1. That takes
#    a little longer, but rank 1 does receive, and so no cycle is closed.
#
# </details>
#
# ## Where to read on
#
# - Unit 05 measures what a message costs. Unit 06 adds up vectors with messages alone.
# - Tomorrow, before you go on: run `from ddl_class import review`, then `review()`. It asks three
#   short questions about what you did. What you recall, you keep.
# - `notebooks/00_tour.ipynb` is a quick tour of the whole course.
# - `ddl_runtime/diagnosis/deadlock.py` finds which rank waits for which, in a few lines.
# - Coffman, Elphick and Shoshani, "System deadlocks", *Computing Surveys*, 1971: the conditions
#   under which nothing can go on.
# - Y. Deng et al., "Mycroft: tracing dependencies in collective communication towards reliable
#   LLM training", 2025, and Y. Gu et al., "CCL-D: a high-precision diagnostic system for slow
#   and hang anomalies in large-scale model training", *PPoPP*, 2026: the question of this unit
#   on thousands of GPUs. Both find the rank for which all others wait.
