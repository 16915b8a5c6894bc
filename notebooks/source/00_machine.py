# %% [markdown]
# # The machine
#
# **What is a rank? What does a hang look like, and how do I get out?**
#
# Programs that train a network on many processors are made of *ranks* that send each other
# messages. Before any algorithm you should have met them: seen where a variable lives, sent a
# message, caused a deadlock and come out of it again. Nothing here can break anything. What hangs
# is ended, what fails tells its story, and the next cell starts clean.
#
# You need some Python, and nothing of what this course is about. Each section says for whom it is;
# what is *intermediate* a beginner can leave out. It takes about an hour. Run a cell with *Shift +
# Enter*, and read what it says before you go on.
#
# ## 1. Ranks · *beginner*
#
# The first cell starts four **engines**: four processes on your machine, each with a Python and a
# memory of its own, that wait for work.

# %%
import sys
import time

import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate

engines = Engines(4)

# %% [markdown]
# A cell that begins with `%%px` does not run here in the notebook but on all engines. There each
# has a `comm`, a **communicator**. It knows how many they are, and which number this one has: its
# **rank**. People call the process itself a rank, too.

# %%
# %%px
print("I am rank", comm.rank, "of", comm.size)
x = 10 * comm.rank

# %%
x = "some text"
# %px print(x)
assert engines.pull("x") == [0, 10, 20, 30]

# %% [markdown]
# One program, run four times: each rank did the same lines with another number. Now everybody has
# an `x`. The notebook has one too, for it is a fifth process:
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
# Five memories, with five variables that only happen to have the same name. `engines.pull("x")`
# has fetched those of the ranks. What is made here is not known there. The next cell fails, on
# purpose, so that you have seen it:

# %% tags=["raises-exception"]
recipe = "the notebook has it, the engines do not"
# %px print(recipe)

# %% [markdown]
# The first line says which rank was the first to fail, and of what.
#
# ## 2. The first exercise · *beginner*
#
# Ranks often sit in a circle. The neighbour to the right of rank $r$ of $P$ is $(r + 1) \bmod P$,
# the one to the left $(r - 1) \bmod P$. The remainder, in Python `%`, closes the circle: to the
# right of the last rank sits rank 0.
#
# All exercises go the same way. The first cell is yours: put your lines in place of `raise
# NotImplementedError`. The second runs what you wrote. The third checks it, and says what is
# wrong, if anything is. First run all three as they are.
#
# **Exercise.** Return the left and the right neighbour of the rank that asks.


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
# `engines.run` runs a function on the engines and gives back a `Run`: `run.results` lists what
# each rank returned. If you do not get on, put `hint("00.neighbours")` into a cell of its own. It
# gives a hint, and asked again it nearly says it. That is counted, so that your teacher sees which
# exercise is hard, and costs nothing.
#
# ## 3. Who comes first? · *beginner*
#
# Four ranks run the same line at the same time. Then who comes first? Let them do it fifty times;
# before each time they wait for each other at a **barrier**, which nobody leaves before everybody
# has come. Commit yourself first: put a number in place of the dots.

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
# That is the first surprise. **Ranks come in any order.** If they print, their lines come in any
# order too; this notebook sorts them for you. Whoever counts on an order has to make one, with
# messages or with a barrier. A program that works because one rank *usually* comes first works
# until the day of your talk.
#
# ## 4. A message · *beginner*
#
# No rank can look into the memory of another. To let it know something, send it:
#
# - `comm.send(x, to=1)` sends the array `x` to rank 1;
# - `comm.recv(y, source=0)` waits for a message from rank 0, and puts it into the array `y`, which
#   must be of the same size and type.
#
# **Exercise.** A warm-up of three minutes. The ball of rank 0 goes down the line: each rank adds 1
# to it and sends it to the next, and the last rank keeps it. You need not write the lines, only
# put them in order. They stand below as comments, sorted by the alphabet, and two of them belong
# nowhere. Select lines: *Ctrl+/* makes code of comments, *Alt+↑* and *Alt+↓* move lines, and *Tab*
# indents them. (On a Mac the keys are *Cmd* and *Option*.) Delete what is left over.


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
# So for `rounds` rounds. Should there be more than two ranks, the others return at once.
#
# The second cell runs yours on *simulated* ranks this time. Their clock is a computed one, which
# makes a clear picture. This **timeline** shows what each rank did when: ranks go down, time goes
# across, an arrow is a message.


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
# Four ranks sit in a circle. Each wants the numbers of its left neighbour, and all are polite:
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
# With MPI alone nothing would have happened now, for as long as you like. Here every wait ends.
# Read the story from the top: which rank waits, in which call, in which line, and for whom. The
# error that came last is kept in `sys.last_value`, and it can draw itself:

# %%
story = sys.last_value
assert sorted(story.cycle) == [0, 1, 2, 3]
reveal("00.deadlock", 4 - len(story.cycle))  # who is in the cycle still waits for its message
story.plot()

# %% [markdown]
# Rank $r$ waits for rank $r - 1$, that one for rank $r - 2$, and so on, until the arrows come back
# to where they began. A **cycle** of waits is what a deadlock is, and to mend it is to cut one
# arrow.
#
# **Exercise.** Three minutes. Cut it: let half of the ranks send first. Each rank sends the array
# `mine` to the right and receives its left neighbour's into `received`. The lines stand below,
# sorted by the alphabet, and one of them belongs nowhere: put the others in order.


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
# **Exercise.** The same without any `if`, by a call that sends and receives at the same time:
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
# ### A hang that waits for you · *intermediate*
#
# Is it enough if everybody sends first? Try ten numbers, and then a million. The word
# `strict=False` asks for ranks as MPI has them; what it switches off stands below.


# %% tags=["raises-exception"]
def send_first(comm, length):
    mine, received = np.ones(length), np.zeros(length)
    comm.send(mine, to=(comm.rank + 1) % comm.size)
    comm.recv(received, source=(comm.rank - 1) % comm.size)


print("ten:", engines.run(send_first, length=10, strict=False))
engines.run(send_first, length=1_000_000, strict=False)

# %% [markdown]
# A short message goes out at once, into a buffer somewhere. A long one waits until its receiver is
# ready, for who has a buffer for everything? Where short ends is up to the MPI library. So a
# program can pass all tests with small data and hang on the first real day.
#
# That is why ranks in this course are *strict*: no send ends before its receive has begun, and
# what is sent must not change while it is under way. Take `strict=False` away, and ten numbers
# hang too. It costs time, so where you measure you will see that word again.
#
# ## 6. Other ways to get stuck · *beginner*
#
# A **tag** is a number on the envelope: `recv` takes only a message with its own. Here they
# differ.


# %% tags=["raises-exception"]
def wrong_tag(comm):
    x = np.zeros(10)
    if comm.rank == 0:
        comm.send(x, to=1, tag=7)
    if comm.rank == 1:
        comm.recv(x, source=0, tag=8)


engines.run(wrong_tag)

# %% [markdown]
# The line with `!` has found it. Next, rank 2 makes a mistake while the others wait for it. You
# want to see the mistake, not the waiting:


# %% tags=["raises-exception"]
def stumble(comm):
    x = np.zeros(4)
    if comm.rank == 2:
        x[4] = 1.0
    comm.barrier()


engines.run(stumble)

# %% [markdown]
# And what just takes too long? Everything has a time limit, here 3 s. You need not wait for it:
# press the square button above (*interrupt the kernel*) and the ranks are stopped at once. Either
# way you are told where each of them was. Try both.
#
# Then six cells will have failed. And the engines? See the cell after it.

# %% tags=["raises-exception"]
engines.run(lambda comm: comm.work(seconds=60), timeout=3)

# %%
assert engines.pull("x") == [0, 10, 20, 30]
assert engines.run(lambda comm: comm.rank).results == [0, 1, 2, 3]

progress()

# %% [markdown]
# The engines are there, with their variables. `engines.restart()` gives fresh ones. And if nothing
# else helps, restart the kernel (the round arrow above): the engines end with it. Run the first
# cell again and go on where you were. What you solved and what you predicted is kept, as the
# picture shows.
#
# ## 7. More ranks than you have · *intermediate*
#
# The same programs run on **simulated ranks**: in this process, in computed time, in a network
# that you describe. Here a *token* goes once round the circle. Nobody but its holder does
# anything, so with $P$ ranks it should take
#
# $$P \left( \text{latency} + \frac{\text{bytes}}{\text{bandwidth}} \right).$$
#
# First on 65,536 simulated ranks. Then on your engines, a hundred times round; the latency of your
# machine is not known yet, so half of what two ranks need is taken for it.


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
# In the picture somebody is at work only where the colour ends: above that line ranks are done,
# below it they wait. It makes 66 ms for eight bytes.
#
# In the table formula and simulator agree, as they should. Two ranks must come near to them, for
# the latency was taken from two ranks. Where there are more ranks than cores, the rank that gets
# the token may have to wait for a core first, and that can take many times as long as the message.
# What a message costs is a question of its own, and unit 05 asks it properly.
#
# ## 8. What production systems do · *intermediate*
#
# On a cluster there are no notebooks. A *launcher* starts a program so many times: `mpiexec` where
# ranks talk through MPI, `torchrun` where they do through PyTorch. Only the words differ:

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
    said = subprocess.run(command, capture_output=True, text=True).stdout
    print(" ".join(launcher), said, sep="\n")
    assert said.count("I am rank") == 2

# %% [markdown]
# Both start the same program so many times and tell each process its number. (The options that
# `mpiexec` got here let more ranks run than there are cores. On a cluster one would write a file,
# and `mpiexec -n 2 python file.py` or `torchrun --nproc-per-node 2 file.py`.) Neither looks for a
# deadlock. A job of MPI that hangs burns its hours to the last minute. PyTorch gives up an
# operation after a time limit, by default 10 minutes with NVIDIA's NCCL and 30 minutes with other
# back ends, and the job ends. So it pays to know a deadlock when you see one.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("00")

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. A cell says `%%px`, and in it `x = comm.rank`. What is `x` in the notebook afterwards?
# 2. Of six ranks, rank $r$ waits for rank $r + 2$ (modulo 6). How many cycles are there? To how
#    many ranks must a message come so that all can go on?
# 3. Ranks with even numbers send first, those with odd numbers receive first. Why is that no
#    deadlock in a circle of four? And in a circle of five?
#
# <details><summary>Answers</summary>
#
# 1. What it was before, or nothing: the notebook is another process.
# 2. Two: 0, 2, 4 and 1, 3, 5. One arrow in each cycle has to be cut, so to two ranks.
# 3. Of any two neighbours one sends while the other receives. In a circle of five, ranks 4 and 0
#    are neighbours and both even: rank 4 waits with its send until rank 0 has sent to rank 1. That
#    takes a little longer, but rank 1 does receive, and so no cycle is closed.
#
# </details>
#
# ## Where to read on
#
# - Unit 05 measures what a message costs, unit 06 adds up vectors with nothing but messages.
# - `notebooks/00_tour.ipynb` is a quick tour of all that is in this box.
# - `ddl_runtime/diagnosis/deadlock.py` finds out who waits for whom, in a few lines.
# - Coffman, Elphick and Shoshani, "System deadlocks", *Computing Surveys*, 1971: what has to come
#   together so that nobody can go on.
