# %% [markdown]
# # Pipelines
#
# **Which rank waits, and how much memory does it hold meanwhile?**
#
# A network that does not fit on one device can be cut *between* its layers: the first layers on
# rank 0, the next ones on rank 1, and so on. The layers of one rank are a **stage**. What passes
# from stage to stage is small: an activation on the way forward, a gradient on the way back. But
# rank 1 has nothing to do before rank 0 has finished, and on the way back rank 0 waits for rank 1.
# This unit is about that waiting, about orders of work that shorten it, and about their price,
# which is memory.
#
# You write two such orders, and then a worker that needs no order. You compare them fairly. A
# second notebook, `10_schedules`, fills the time in which ranks wait, and ends with a puzzle. You
# need units 00 and 05. *Beginners* take sections 1 to 4 and 7, *intermediate* readers all. It
# takes about two hours, with `10_schedules`.
#
# ## 1. One at a time · *beginner*
#
# The plain way comes first: the batch goes forward through all four ranks, and then all the way
# back. We cut it into eight **micro-batches**, and one after the other goes that way. A backward
# pass takes about twice as long as a forward pass, because it computes two gradients: that of its
# input and that of its weights. In the next cell the simulated ranks compute nothing; they only
# let that time pass. The picture shows when each rank works.

# %%
from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.networks import plot_idle, plot_pipeline, plot_wait_and_memory
from ddl_measure.experiments.pipelines import PassSeconds, timed
from ddl_teach.comm import Uniform
from ddl_teach.networks.pipelines.naive import naive

free = Uniform(latency=0.0, bandwidth=float("inf"))
run = simulate(timed, 4, network=free, schedule=naive(4, 8))
plot_pipeline(run.timeline, title="One at a time")

# %% [markdown]
# White means that a rank waits, and the number in a box is the micro-batch. Four ranks do the work
# of one.
#
# What does a rank do for one micro-batch? A stage is one number $w$ here, its `weight`. Forward it
# makes $y = w\,x$ of its input $x$. Backward it gets the gradient $g$ of $y$; then the gradient of
# $x$ is $w\,g$, and that of the weight is $g \cdot x$. The loss is $|y|^2 / 2$ with the last
# rank's $y$, so there $g$ is $y$ itself. The next two cells receive and send. A rank without a
# neighbour on that side does nothing there.

# %%
import numpy as np


def receive(comm, rank, own):  # from this rank; `own` where there is no such rank
    arriving = np.array(own)
    if 0 <= rank < comm.size:
        comm.recv(arriving, rank)
    return arriving


# %%
def send(comm, x, rank):  # to this rank; nothing where there is no such rank
    if 0 <= rank < comm.size:
        comm.send(x, rank)


# %% [markdown]
# **Exercise.** A warm-up of three minutes: one micro-batch, there and back. The lines stand below,
# sorted by the alphabet, and one of them belongs nowhere: put the others in order. *Ctrl+/* makes
# code of comments, *Alt+↑* and *Alt+↓* move lines. The cell after yours shows your stages on four
# ranks. Press *play*.


# %% name="10.stage" tags=["answer"]
def one_micro_batch(comm, weight, x):
    """One micro-batch through this rank's stage, there and back; the gradient of its weight."""
    ### BEGIN SOLUTION
    x = receive(comm, comm.rank - 1, x)
    y = weight * x
    send(comm, y, comm.rank + 1)
    gradient = receive(comm, comm.rank + 1, y)
    send(comm, weight * gradient, comm.rank - 1)
    return gradient @ x
    ### END SOLUTION


# %%
from ddl_class import animate

animate(simulate(one_micro_batch, 4, weight=2.0, x=np.ones(1000)))

# %% name="10.stage" tags=["check"]
check("10.stage", one_micro_batch)
### BEGIN HIDDEN TESTS
judge("10.stage", one_micro_batch, ranks=(6, 7), seed=106)
### END HIDDEN TESTS

# %% [markdown]
# Rank 0 sends micro-batch 0 forward, and then it waits until its gradient is back. It need not
# wait: it could begin with micro-batch 1 at once.
#
# If it does, each rank has $m$ *turns* of work. A turn is one forward and one backward pass of a
# micro-batch. The last of $P$ ranks can begin only when the first micro-batch has passed all other
# ranks. At the end the last gradient has to go all the way back. Together these cost $P-1$ turns,
# in which a rank idles. They are the **bubble**:
#
# $$T = (m + P - 1)\,(t_F + t_B), \qquad \text{idle} = \frac{P-1}{m+P-1}.$$
#
# **Exercise.** Write the share of the time in which a rank idles.


# %% name="10.idle" tags=["answer"]
def idle_share(ranks, micro_batches):
    """Return the share of its time, between 0 and 1, that each rank idles."""
    ### BEGIN SOLUTION
    return (ranks - 1) / (micro_batches + ranks - 1)
    ### END SOLUTION


# %% name="10.idle" tags=["check"]
check("10.idle", idle_share)
### BEGIN HIDDEN TESTS
judge("10.idle", idle_share, seed=101)
### END HIDDEN TESTS

# %% [markdown]
# The more micro-batches, the less a rank waits. Then why not a thousand? Because of memory. A
# micro-batch that has gone forward leaves its **activations** on every rank. They stay there until
# it comes back. How many are kept at once depends on the order of work.
#
# ### Predict
#
# There are 32 ranks and 128 micro-batches. If all of them go forward before the first goes
# backward, each rank keeps 128. The order called 1F1B lets a micro-batch go backward as soon as it
# can. How many does a rank keep then, as an average over all ranks?
#
# And for section 5: four ranks, 3 ms a turn, messages that take 6 ms. How many micro-batches must
# be on their way at once so that no rank waits? Write numbers in place of the dots.

# %%
predict("10.kept", ...)
predict("10.limit", ...)

# %% [markdown]
# ## 2. All forward, then all backward · *beginner*
#
# An order of work is plain data here: a list of words for each rank. `F3` means "micro-batch 3
# forward", and `B3` means "micro-batch 3 backward". The list does not say when to send and
# receive: a rank receives what it needs right before it needs it. The library adds the messages,
# and one *worker* carries out any such schedule.
#
# **Exercise.** GPipe (Huang et al., 2019): all micro-batches go forward, in their order, and then
# all of them go backward. Return the list of one rank.


# %% name="10.gpipe" tags=["answer"]
def gpipe_order(rank, ranks, micro_batches):
    """What `rank` of so many ranks does, as a list of words: F0, F1, ..., B0, B1, ..."""
    ### BEGIN SOLUTION
    forward = [f"F{one}" for one in range(micro_batches)]
    return forward + [f"B{one}" for one in range(micro_batches)]
    ### END SOLUTION


# %%
from ddl_teach.networks.pipelines.cells import order_of, schedule_of

run = simulate(timed, 4, network=free, schedule=schedule_of(gpipe_order, 4, 8))
plot_pipeline(run.timeline, title="Your GPipe")

# %% name="10.gpipe" tags=["check"]
check("10.gpipe", gpipe_order)
### BEGIN HIDDEN TESTS
judge("10.gpipe", gpipe_order, seed=102)
### END HIDDEN TESTS

# %% [markdown]
# On the left the pipeline fills, and on the right it drains. In the middle, forward turns into
# backward. All the white together is what the formula says.
#
# Now look at the middle, at the moment before the first backward pass on rank 0. Eight forward
# passes are done, and no micro-batch is back yet. The activations of eight micro-batches lie in
# memory.
#
# The library has a definition of each such algorithm on one screen, for reading: a whole step,
# with its messages. When your answer is right the next cell shows it, folded. Click on the line to
# unfold it.

# %%
from ddl_class import definition

definition("gpipe")

# %% [markdown]
# ## 3. One forward, one backward · *beginner*
#
# The last rank can do better at once. It may go backward with micro-batch 0 right after it went
# forward with it, then forward with the next one, and so on. It never keeps more than one. The
# rank before it must be one micro-batch ahead, or the last rank would wait. The rank before that
# must be two ahead. So there are three phases: **run ahead**, then **one forward, one backward**
# in turns, and at the end the backward passes that are left.
#
# **Exercise.** 1F1B. How far must rank $r$ of $P$ run ahead? Note that there may be fewer
# micro-batches than that.


# %% name="10.one_f_one_b" tags=["answer"]
def one_f_one_b_order(rank, ranks, micro_batches):
    """What `rank` does: run ahead, then one forward and one backward in turns, then the rest."""
    ### BEGIN SOLUTION
    ahead = min(ranks - 1 - rank, micro_batches)
    words = [f"F{one}" for one in range(ahead)]
    for one in range(micro_batches):
        if one + ahead < micro_batches:
            words.append(f"F{one + ahead}")
        words.append(f"B{one}")
    return words
    ### END SOLUTION


# %%
run = simulate(timed, 4, network=free, schedule=schedule_of(one_f_one_b_order, 4, 8))
print("kept at most, by rank:", [passed.peak for passed in run.results])
plot_pipeline(run.timeline, title="Your 1F1B")

# %% name="10.one_f_one_b" tags=["check"]
check("10.one_f_one_b", one_f_one_b_order)
### BEGIN HIDDEN TESTS
judge("10.one_f_one_b", one_f_one_b_order, seed=103)
### END HIDDEN TESTS

# %% [markdown]
# It takes exactly as long as GPipe. The bubble has the same size and another shape. But rank $r$
# keeps at most $P - r$ micro-batches, however many there are: 4, 3, 2, 1. Here too the whole step
# fits on one screen:

# %%
definition("one_f_one_b")

# %% [markdown]
# ## 4. The surprise: the same bubble, another memory · *beginner*
#
# Now simulate 32 ranks and 128 micro-batches. From here on the notebook works with your orders.
# Where one is not right yet, it takes the library's.

# %%
from collections import deque

from ddl_teach.comm import ANY
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b

my_gpipe = yours("10.gpipe", gpipe_order, order_of(gpipe))
my_1f1b = yours("10.one_f_one_b", one_f_one_b_order, order_of(one_f_one_b))

# %%
kept, times = {}, {}
for name, order in {"GPipe": my_gpipe, "1F1B": my_1f1b}.items():
    many = simulate(timed, 32, network=free, schedule=schedule_of(order, 32, 128), trace=False)
    kept[name] = sum(passed.peak for passed in many.results) / 32
    times[name] = many.time
    print(f"{name:6} {many.time:g} s, and {kept[name]:g} micro-batches kept on average")
assert times["GPipe"] == times["1F1B"] == (128 + 31) * 3
reveal("10.kept", kept["1F1B"])

# %% [markdown]
# How much memory is that? Simulated ranks count it. The pipeline's worker calls
# `comm.hold(bytes, "activations")` after a forward pass, and releases them after the backward
# pass. In the next cells the activations of a micro-batch take 256 MiB, and each of four ranks has
# 1 GiB for them. Does GPipe fit? Does 1F1B?

# %%
from ddl_teach.comm import OutOfMemory

small = {"network": free, "memory": 2**30, "costs": PassSeconds(kept_bytes=2**28)}
try:
    simulate(timed, 4, schedule=schedule_of(my_gpipe, 4, 8), **small)
except OutOfMemory as error:
    print(error.shortage)
fits = simulate(timed, 4, schedule=schedule_of(my_1f1b, 4, 8), **small)
assert [fits.memory.peak(rank) // 2**28 for rank in range(4)] == [4, 3, 2, 1]
fits.plot()

# %% [markdown]
# GPipe's fifth forward pass finds no room. 1F1B fits. The upper part of the picture is what each
# rank does, the lower part what it holds meanwhile. A step up is a forward pass that ends, a step
# down a backward pass.
#
# **The same bubble, another memory.** GPipe's activations grow with the number of micro-batches,
# and 1F1B's with the number of ranks. So with 1F1B one can afford many micro-batches, and many
# micro-batches make the bubble small. A stopwatch alone would not show this.
#
# 1F1B keeps less only where there are more micro-batches than ranks. And memory is not balanced:
# rank 0 keeps 32 of them and the last rank keeps one, though all ranks have the same memory.
#
# ## 5. No order at all · *intermediate*
#
# An order that was written in advance assumes how long passes take. The opposite is to have no
# order: **run whatever has arrived**. That is AxoNN's way (Singh and Bhatele, 2022). A rank waits
# for a message from any rank. If an activation arrives from the rank below, the rank goes forward
# and sends the result up. If a gradient arrives from the rank above, it goes backward and sends
# the result down. Only rank 0 decides something: it starts another micro-batch while fewer than
# `in_flight` are on their way.
#
# **Exercise.** Write it. A stage is one number $w$ again, as in section 1: forward is $y = w\,x$,
# backward turns the gradient $g$ of $y$ into $w\,g$ for the rank below, and adds $g \cdot x$ to
# the gradient of $w$. On the last rank $g$ is $y$ itself. `inputs` are the micro-batches. Rank 0
# takes them from there; the other ranks only need their number and shape.
#
# `np`, `deque` and `ANY` have been imported. `comm.recv(arriving, ANY)` takes the first message
# that arrives, and returns the rank that sent it.


# %% name="10.message_driven" tags=["answer"]
def message_driven(comm, weight, inputs, in_flight):
    """Run whatever has arrived until all micro-batches are back; return the weight's gradient."""
    rank, last, arriving = comm.rank, comm.size - 1, np.empty_like(inputs[0])
    kept, sends, entered, returned, gradient = deque(), [], 0, 0, 0.0
    ### BEGIN SOLUTION
    while returned < len(inputs):
        may_enter = entered < len(inputs) and entered - returned < in_flight
        if rank == 0 and may_enter:
            x, forward = inputs[entered], True
        else:
            forward = comm.recv(arriving, ANY) < rank
            x = arriving.copy()
        if forward:
            kept.append(x)
            entered += 1
            x = weight * x
            if rank < last:
                sends.append(comm.isend(x, rank + 1))
        if rank == last or not forward:
            gradient += x @ kept.popleft()
            returned += 1
            if rank > 0:
                sends.append(comm.isend(weight * x, rank - 1))
    for send in sends:
        send.wait()
    return gradient
    ### END SOLUTION


# %%
weights, inputs = [2.0, 0.5, 3.0, 1.0], np.ones((4, 1))


def all_stages(comm, worker, in_flight):
    return float(worker(comm, weights[comm.rank], inputs, in_flight))


print(simulate(all_stages, 4, worker=message_driven, in_flight=2).results)

# %% name="10.message_driven" tags=["check"]
check("10.message_driven", message_driven)
### BEGIN HIDDEN TESTS
judge("10.message_driven", message_driven, ranks=(6, 7), seed=104)
### END HIDDEN TESTS

# %% [markdown]
# The product of the weights 2, 0.5, 3 and 1 is 3. Four inputs of 1 give gradients of
# $4 \cdot 3 \cdot 3$ divided by the rank's own weight: 18, 72, 12 and 36. The next cell shows the
# worker on one screen, for any stages and not for numbers only:

# %%
definition("message_driven")

# %% [markdown]
# In the library this idea is one instruction, `RunArrived`, in the schedule `message_driven`. So
# it can be simulated like all others: with messages that take no time, and with messages that take
# 6 ms, for several limits. A turn takes 3 ms.
#
# What is a fair rival? Plain 1F1B has only $P$ micro-batches on their way, which is a limit of 4.
# To be fair, an order must be allowed as many as the worker. So we give 1F1B a `lookahead` of $k$:
# each rank runs $k$ micro-batches ahead of the next one, and $k\,(P-1) + 1$ are on their way. Each
# line of the table has two rivals with the same number in flight.

# %%
from ddl_teach.networks.pipelines.message_driven import message_driven as driven
from ddl_teach.theory.pipelines import limit_without_waiting

# %%
turn, took, kept = PassSeconds(1e-3, 1e-3, 1e-3), {}, {}
for latency in (0.0, 6e-3):
    net = Uniform(latency, float("inf"))
    for limit in (4, 7, 10, 13, 16, 19):
        both = one_f_one_b(4, 64, lookahead=limit // 3), driven(4, 64, limit)
        runs = [simulate(timed, 4, network=net, schedule=way, costs=turn) for way in both]
        took[latency, limit] = [run.time for run in runs]
        kept[latency, limit] = [[passed.peak for passed in run.results] for run in runs]

# %% [markdown]
# The table has, in brackets, how many micro-batches each rank kept at most.

# %%
print("latency  in flight   with an order                 whatever has arrived")
for (latency, limit), times in took.items():
    cells = [f"{1e3 * time:4.0f} ms {peaks!s:18}" for time, peaks
             in zip(times, kept[latency, limit], strict=True)]  # fmt: skip
    print(f"{1e3 * latency:4.0f} ms {limit:10}   {'   '.join(cells)}")

# %%
enough = limit_without_waiting(4, 1e-3, 2e-3, latency=6e-3)
order, arrived = took[6e-3, enough]
assert order == arrived == took[6e-3, 19][0]
assert 3 * order < min(took[6e-3, 4])
assert all(0.97 < b / a < 1.001 for a, b in took.values())
assert all(sum(a) < sum(b) for a, b in kept.values())
reveal("10.limit", enough)

# %% [markdown]
# **What counts is how many are in flight, with an order or without.** Where messages take long, 16
# in flight are more than three times as fast as 4, in both columns. At the same number in flight
# the worker without an order is at most 3% faster, and with 16 both take the same time. But the
# order keeps less: its rank 0 keeps 16, the next ones 11, 6 and 1. Without an order three ranks
# keep 16. Let a message take $L$. A micro-batch is back after $P\,(t_F + t_B) + 2\,(P-1)\,L$. In
# this time it keeps each rank busy for one turn. So $P + 2\,(P-1)\,L / (t_F + t_B)$ of them keep
# all ranks busy. More than that only fills memory.
#
# So far all passes took equally long, and an order may rely on that. What if each varies at random
# by half? Now chance decides, so we take ten seeds, the same for both, and compare seed by seed.

# %%
from ddl_class import stopwatch
from ddl_teach.comm import Machine


def seconds(schedule, seed):
    machine = Machine(jitter=0.5, seed=seed)
    given = {"schedule": schedule, "costs": turn, "network": free, "trace": False}
    return simulate(timed, 4, machine=machine, **given).time


# %%
ratios = {}
for limit in (4, 16):
    order, arrived = one_f_one_b(4, 64, lookahead=limit // 3), driven(4, 64, limit)
    ordered = [seconds(order, seed) for seed in range(10)]
    ratio = np.divide([seconds(arrived, seed) for seed in range(10)], ordered)
    ratios[limit] = low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
    print(f"{limit} in flight: with an order {1e3 * np.median(ordered):.0f} ms, without one")
    print(f"    {middle:.3f} times that, eight seeds of ten {low:.3f} to {high:.3f}")
assert all(low < 1 < high for low, _, high in ratios.values())
assert all(abs(middle - 1) < 0.03 for _, middle, _ in ratios.values())

# %% [markdown]
# More in flight helps again: work that is waiting on a rank evens out slow passes. And again it
# helps with an order as much as without one; the small difference changes its sign from seed to
# seed. Neither gets back the time that was lost to chance: in a pipeline all ranks wait for the
# slowest pass.
#
# What is running whatever has arrived good for, then? It needs no list of passes, which must be
# written and can be wrong. It is not faster here.
#
# ## 6. Measure on your own ranks · *intermediate*
#
# Now four engines, which are processes of your machine. First comes your message-driven worker, on
# real messages. Then comes the pipeline whose stages only take time: on real ranks they sleep, as
# a rank does while its accelerator computes. So four ranks wait for each other as they would on
# four devices, even if you have two cores. A turn takes 12 ms, and there are one to 32
# micro-batches with your 1F1B. The same program runs in virtual time and on the engines, and the
# formula is your `idle_share`. So there are three answers to one question. The last cell draws
# such a step.

# %%
from functools import partial

pace = PassSeconds(4e-3, 4e-3, 4e-3)


def at_pace(comm, _, schedule):
    return timed(comm, schedule, pace)


# %%
engines = Engines(4)


def by_the_formula(comm, weight, inputs, in_flight):
    return 36.0 / weight


mine = yours("10.message_driven", message_driven, by_the_formula)
run = engines.run(all_stages, worker=mine, in_flight=2)
assert run.results == [18.0, 72.0, 12.0, 36.0]

# %%
sizes = (1, 2, 4, 8, 16, 32)
plans = [schedule_of(my_1f1b, 4, many) for many in sizes]
what = {"sizes": [0], "ways": [partial(at_pace, schedule=plan) for plan in plans]}
virtual = np.max(simulate(stopwatch, 4, network=free, **what, turns=1).results, axis=0)[0, :, 0]
real = np.max(engines.run(stopwatch, **what, turns=1, strict=False).results, axis=0)[0, :, 0]
work = 12e-3 * np.array(sizes)
formula = np.array([(4 - 1) / (many + 4 - 1) for many in sizes])
assert np.allclose(1 - work / virtual, formula)
assert (1 - work / real > formula - 0.02).all()
plot_idle(sizes, formula, 1 - work / virtual, 1 - work / real)

# %% [markdown]
# And one step of eight micro-batches, as your engines have recorded it:

# %%
schedule = schedule_of(my_1f1b, 4, 8)
measured = engines.run(timed, schedule=schedule, costs=pace, strict=False)
plot_pipeline(measured.timeline, title="Measured")

# %% [markdown]
# In the first picture the squares lie on the line, and the dots a little above it: no sleep ends
# early, and each message costs some time too. Where your machine is busy with other things they
# lie higher. The second picture has the shape that was simulated in section 3.
#
# Stages that compute on a GPU have another pace. The next cell shows steps that were recorded with
# the stages of a network on a GPU and in the host's memory. If nothing is recorded yet, it says
# so.

# %%
from ddl_class.notebook.beside_gpus import recorded_table

print(f"yours, with stages that only take time: {measured.time * 1e3:.1f} ms")
print(recorded_table("pipeline step"))

# %% [markdown]
# ## 7. Is it still the same training? · *beginner*
#
# All this is useful only if the network that comes out is the same. Here the stages compute: the
# GPT of unit 08 on four ranks, ten steps. (Its first and last layer do not share a matrix here,
# because they lie on different ranks.) Beside them a single process trains the whole network on
# whole batches. Then all parameters are compared. Beside your 1F1B stand three schedules of the
# library: zero bubble and GEMS are explained in `10_schedules`, the message-driven one in section
# 5.

# %%
from ddl_teach.networks import twin
from ddl_teach.networks.models.data import batches, documentation
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.networks.pipelines.gems import gems
from ddl_teach.networks.pipelines.train_pipeline import together, train
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble

given = {"model": gpt_of("100k", tied=False), "batches": batches(documentation(64)[0], 8, 10)}
alone = twin.train(gpt_of("100k", tied=False), given["batches"])
print(f"a single process: loss {alone.losses[0]:.3f}, after ten steps {alone.losses[-1]:.3f}")

# %%
from ddl_teach.networks.pipelines.message_driven import message_driven as driven

untrained = twin.copies(given["model"].named_parameters())
for schedule in (schedule_of(my_1f1b, 4, 8), zero_bubble(4, 8), driven(4, 8), gems(4, 8)):
    whole = together(simulate(train, 4, **given, schedule=schedule).results)
    apart = twin.largest_difference(whole.parameters, alone.parameters)
    print(f"{schedule.name:18} loss {whole.losses[-1]:.3f}, largest difference {apart:.1e}")
    assert apart < 1e-5 < 1e-1 < twin.largest_difference(untrained, alone.parameters)

# %% [markdown]
# They differ in the last digits only, because sums are added up in another order. Two conditions
# must hold. The losses of the micro-batches must be weighted by their share of the batch. And no
# layer may look at the batch as a whole: batch normalisation would see a micro-batch here. That is
# one of the reasons why large networks normalise each example by itself.
#
# `engines.run(train, **given, schedule=...)` does the same on real ranks.
#
# ## 8. What production systems do · *intermediate*
#
# torch has pipelines as well, and builds them in the same way: an order of passes for each rank,
# as data. `10_schedules` compares its words with ours, and lets torch carry out a schedule of
# yours. `benchmarks/results/pipelines.txt` has torch's pipelines and ours on the same model, batch
# and ranks. Narayanan et al. (2021) train large language models with a pipeline inside a grid of
# several dimensions (unit 12). AxoNN's worker decides at run time.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("10")
progress()

# %% [markdown]
# ## Three questions
#
# **1.** You double the number of micro-batches and halve their size; the batch stays the same.
# What happens to the bubble, to the memory of GPipe, and to that of 1F1B?
#
# <details><summary>An answer</summary>
#
# The share of the bubble falls to about half. GPipe keeps twice as many activations of half the
# size: no change. 1F1B keeps as many as before, of half the size: half the memory. There is a
# limit: small micro-batches make small matrix products, which devices compute badly, and more
# messages.
#
# </details>
#
# **2.** One rank is twice as slow as the others. Does it matter which one? And does it help to run
# whatever has arrived?
#
# <details><summary>An answer</summary>
#
# Once the pipeline is full, all ranks work at the pace of the slowest, wherever it is: a step
# takes about $m$ of *its* turns. No order of work can change that, and having no order cannot
# either. It helps to cut the network elsewhere, so that the slow rank gets fewer layers.
#
# </details>
#
# **3.** Activations take most of the memory. One can throw them away and compute them once more
# before the backward pass (unit 11). Which schedule gains most from that, and what happens to its
# bubble?
#
# <details><summary>An answer</summary>
#
# GPipe gains most: it keeps $m$ micro-batches. Its authors indeed combined the two: only the input
# of each stage stays. A backward pass then begins with a second forward pass, so a turn takes
# $2 t_F + t_B$. The bubble has as many turns as before, but each turn is longer.
#
# </details>
#
# ## Where to read on
#
# - Y. Huang, Y. Cheng, A. Bapna, O. Firat et al., "GPipe: efficient training of giant neural
#   networks using pipeline parallelism", *NeurIPS*, 2019.
# - D. Narayanan, A. Harlap, A. Phanishayee et al., "PipeDream: generalized pipeline parallelism
#   for DNN training", *SOSP*, 2019: where 1F1B comes from, with several versions of the weights.
# - S. Singh and A. Bhatele, "AxoNN: an asynchronous, message-driven parallel framework for
#   extreme-scale deep learning", *IPDPS*, 2022.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019, section on pipelining.
#
# The schedules stand in `ddl_teach/networks/pipelines`, one a file, and the formulas in
# `ddl_teach/theory/pipelines.py`. `10_schedules` fills the bubble. Unit 11 asks where the memory
# of *one* rank goes.
