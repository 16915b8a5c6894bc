# %% [markdown]
# # Pipelines
#
# **Who waits, and what does that hold in memory?**
#
# A network that does not fit on one device can be cut *between* its layers: the first ones on
# rank 0, the next ones on rank 1, and so on. A rank then holds one **stage**. What passes from
# stage to stage is small, an activation on the way there and a gradient on the way back. But rank
# 1 has nothing to do before rank 0 is done, and on the way back it is the other way round. This
# unit is about that waiting, about the orders of work that make it less, and about their price,
# which is memory.
#
# You write two such orders and then a worker that needs none, compare them fairly, and at the end
# beat them by an order of your own, which torch carries out. You need units 00 and 05. *Beginners*
# take sections 1 to 4 and 9, *intermediate* readers all but section 11, *advanced* ones
# everything. It takes about two hours.
#
# ## 1. One at a time · *beginner*
#
# The plain way first: the batch goes forward through all four ranks and then all the way back.
# Cut it into eight **micro-batches**, and let one after the other do so. A backward pass takes
# about twice as long as a forward pass, since it computes two gradients: that of its input and
# that of its weights. The cell lets virtual ranks do nothing but take that time, and draws who is
# busy.

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
# White is a rank that waits, and the number in a box is the micro-batch. Four ranks do the work
# of one. Nothing forces them to, though: when rank 0 has sent micro-batch 0 forward it could
# begin with micro-batch 1.
#
# If it does, each rank has $m$ *turns* of work, a turn being one forward and one backward pass of
# a micro-batch. The last of $P$ ranks can begin only when the first micro-batch has come through
# all others, and at the end the last gradient has to go all the way back. Together these cost
# $P-1$ turns, in which a rank idles. They are the **bubble**:
#
# $$T = (m + P - 1)\,(t_F + t_B), \qquad \text{idle} = \frac{P-1}{m+P-1}.$$
#
# **Exercise.** Write the share of the time that a rank idles.


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
# The more micro-batches, the less a rank waits. So why not a thousand? Because of what waits with
# it. A micro-batch that has gone forward leaves its **activations** behind on every rank, and
# they stay in memory until it comes back. How many are kept at once is up to the order of work.
#
# ### Predict
#
# 32 ranks, 128 micro-batches. If all of them go forward before the first goes backward, each rank
# keeps 128. The order called 1F1B lets a micro-batch go backward as soon as it can. How many does
# a rank keep then, on the average of all ranks?
#
# And for section 7: four ranks, 3 ms a turn, messages that take 6 ms. How many micro-batches must
# be on their way at once so that nobody waits? Write numbers in place of the dots.

# %%
predict("10.kept", ...)
predict("10.limit", ...)

# %% [markdown]
# ## 2. All forward, then all backward · *beginner*
#
# An order of work is plain data here: a list of words for each rank. `F3` means "micro-batch 3
# forward", `B3` "backward". The messages in between need not be said; a rank receives what it
# needs right before it needs it. The library writes them in, and one *worker* carries out any
# such schedule.
#
# **Exercise.** GPipe (Huang et al., 2019): all micro-batches forward, in their order, and then
# all of them backward. Return the list of one rank.


# %% name="10.gpipe" tags=["answer"]
def gpipe_order(rank, ranks, micro_batches):
    """What `rank` of so many ranks does, as a list of words: F0, F1, ..., B0, B1, ..."""
    ### BEGIN SOLUTION
    forward = [f"F{one}" for one in range(micro_batches)]
    return forward + [f"B{one}" for one in range(micro_batches)]
    ### END SOLUTION


# %%
from ddl_teach.networks.pipelines.cells import schedule_of, written

run = simulate(timed, 4, network=free, schedule=schedule_of(gpipe_order, 4, 8))
plot_pipeline(run.timeline, title="Your GPipe")

# %% name="10.gpipe" tags=["check"]
check("10.gpipe", gpipe_order)
### BEGIN HIDDEN TESTS
judge("10.gpipe", gpipe_order, seed=102)
### END HIDDEN TESTS

# %% [markdown]
# The white triangle on the left is the filling, the one on the right the draining, and the hole
# between them is where forward turns into backward. Together it is what the formula says.
#
# Now look at the middle, at the moment before the first backward pass on rank 0: eight forward
# passes are done, none is undone. Eight micro-batches lie in memory.
#
# The library has a definition of each such algorithm on one screen, for reading: a whole step,
# with its messages. When your answer is right the next cell shows it, folded. Click on the line
# to unfold it.

# %%
from ddl_class import definition

definition("gpipe")

# %% [markdown]
# ## 3. One forward, one backward · *beginner*
#
# The last rank can do better at once: it may go backward with micro-batch 0 right after it went
# forward with it, then forward with the next, and so on. It never keeps more than one. The rank
# before it must be one micro-batch ahead, or the last one would wait; the rank before that two.
# So there are three phases: **run ahead**, then **one forward, one backward** in turns, and at
# the end the backward passes that are left.
#
# **Exercise.** 1F1B. How far must rank $r$ of $P$ run ahead? Mind that there may be fewer
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
# The same number of steps, to the last one. The bubble has the same size and another shape. But
# rank $r$ keeps at most $P - r$ micro-batches, however many pass by: 4, 3, 2, 1. Here too the
# whole step fits on one screen:

# %%
definition("one_f_one_b")

# %% [markdown]
# ## 4. The surprise: the same bubble, another memory · *beginner*
#
# Now 32 ranks and 128 micro-batches, which nobody has at home. From here on the notebook works
# with your orders, or with the library's where yours are not right yet.


# %%
from collections import deque

from ddl_teach.comm import ANY
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.validator import refusal, validate

my_gpipe = yours("10.gpipe", gpipe_order, lambda rank, *sizes: gpipe(*sizes).words(rank))
my_1f1b = yours("10.one_f_one_b", one_f_one_b_order,
                lambda rank, *sizes: one_f_one_b(*sizes).words(rank))  # fmt: skip

# %%
import numpy as np

kept, times = {}, {}
for name, order in {"GPipe": my_gpipe, "1F1B": my_1f1b}.items():
    many = simulate(timed, 32, network=free, schedule=schedule_of(order, 32, 128), trace=False)
    kept[name] = sum(passed.peak for passed in many.results) / 32
    times[name] = many.time
    print(f"{name:6} {many.time:g} s, and {kept[name]:g} micro-batches kept on average")
assert times["GPipe"] == times["1F1B"] == (128 + 31) * 3
reveal("10.kept", kept["1F1B"])

# %% [markdown]
# How much memory is that? Simulated ranks count it: the pipeline's worker calls
# `comm.hold(bytes, "activations")` after a forward pass, and releases them after the backward
# pass. Below, the activations of a micro-batch are 256 MiB, and each of four ranks has 1 GiB for
# them. Both orders run; does GPipe's fit?

# %%
from ddl_teach.comm import OutOfMemory

small = {"network": free, "memory": 2**30, "costs": PassSeconds(kept_bytes=2**28)}
try:
    simulate(timed, 4, schedule=schedule_of(my_gpipe, 4, 8), **small)
except OutOfMemory as error:
    print(error.shortage)

# %%
fits = simulate(timed, 4, schedule=schedule_of(my_1f1b, 4, 8), **small)
assert [fits.memory.peak(rank) // 2**28 for rank in range(4)] == [4, 3, 2, 1]
fits.plot()

# %% [markdown]
# GPipe's fifth forward pass finds no room. 1F1B fits: above is what each rank does, below what it
# holds meanwhile. A step up is a forward pass that ends, a step down a backward pass.

# %% [markdown]
# **The same bubble, another memory.** GPipe's activations grow with the number of micro-batches,
# and 1F1B's with the number of ranks. So with 1F1B one can afford many micro-batches, which is
# what makes the bubble small. Whoever looks at the time alone does not find that out.
#
# It pays only where there are more micro-batches than ranks. And rank 0 keeps 32 of them while
# the last keeps one, though all ranks have the same memory.
#
# ## 5. What else can be moved · *intermediate*
#
# Three more ideas, each a file of the library that fits on a screen. Draw them by changing the
# name in the next cell.
#
# - **Zero bubble** (Qi et al., 2024). The next rank back waits for the gradient of the *input*
#   only; nobody waits for that of the *weights*. Split the two, put the second off, and do it
#   where there would be bubble.
# - **Interleaved** (Narayanan et al., 2021). Give each rank several thin stages, so that the
#   first micro-batch is with the last rank sooner. The bubble shrinks by their number; messages
#   multiply by it.
# - **ZB-V** (Qi et al., 2024). Two thin stages a rank, in the shape of a V: down to the last rank
#   and up again. Rank 0 computes the loss and can go backward at once. Nearly no bubble, and no
#   more memory than 1F1B.
# - **GEMS** (Jain et al., 2020). Two replicas in opposite order. While gradients come back from
#   the last rank, the next micro-batch follows them in the same direction, through the other
#   replica.

# %%
from ddl_teach.networks.pipelines.gems import gems
from ddl_teach.networks.pipelines.interleaved import interleaved
from ddl_teach.networks.pipelines.zb_v import zb_v
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble

for lookahead in (1, 2):
    way = {"network": free, "schedule": zero_bubble(4, 8, lookahead)}
    first, both = (simulate(timed, 4, **way, steps=steps).time for steps in (1, 2))
    print(f"H{lookahead}: one step {first:g} s, the next one {both - first:g} s; work is 24 s")
plot_pipeline(simulate(timed, 4, network=free, schedule=zero_bubble(4, 8)).timeline, title="H1")

# %% [markdown]
# That is the variant called H1. The brown passes have moved to where 1F1B had nothing to do. The
# price stands on the right: the activations must be kept until the weights' gradient has been
# computed, so now *all* ranks keep four micro-batches, where the last one kept one. H2, in which
# ranks run ahead twice as far, keeps seven of them. Its bubble is as long in the first step. But
# who has updated its weights may begin the next step at once, and then H2 has **no bubble at
# all**, as the lines above the picture say: a pipeline is filled once and drained once, however
# many steps there are. (Clipping the norm of all gradients would make everybody wait for everybody
# again.)
#
# All of them in one picture, with 16 micro-batches: to the left is fast, down is small.

# %%
thin = PassSeconds(0.5, 0.5, 0.5)  # half as many layers in a stage
points = {}
for schedule in (naive(4, 16), gpipe(4, 16), one_f_one_b(4, 16), zero_bubble(4, 16),
                 zero_bubble(4, 16, 2), interleaved(4, 16), zb_v(4, 16), gems(4, 16)):  # fmt: skip
    a_rank = schedule.stages // 4
    costs = thin if a_rank > 1 else PassSeconds()
    it = simulate(timed, 4, network=free, schedule=schedule, costs=costs)
    points[schedule.name] = 1 - 16 * 3 / it.time, max(r.peak for r in it.results) / a_rank
assert points["GPipe"][0] == points["1F1B"][0] > points["zero bubble H1"][0] > points["ZB-V"][0]
plot_wait_and_memory(points, kept="micro-batches kept at most")

# %% [markdown]
# Two of them come out worse than they are. GEMS makes up for its waiting with what it saves: it
# keeps one micro-batch and can make that one larger. And of H2 this is the first step alone.
#
# ## 6. A schedule that cannot be · *intermediate*
#
# A wrong order seldom computes something wrong; mostly some rank waits for ever. Since schedules
# are data, the *validator* can follow them on paper before any rank has started. Here rank 0 goes
# one at a time and rank 1 all forward first. In the message `1RA1` is "stage 1 receives the
# activation of micro-batch 1" and `0SA1` the send that it waits for; with `RG` and `SG` gradients
# are received and sent.

# %%
mixed = written("mixed", [["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]])
print(mixed, told := refusal(mixed), sep="\n\n")
assert "1RA1: waits for 0SA1 of rank 0, which is itself stuck" in told

# %% [markdown]
# ## 7. No order at all · *intermediate*
#
# An order that somebody wrote down in advance knows how long passes take, or believes to know.
# The opposite is to have none: **run whatever has arrived**. That is AxoNN's way (Singh and
# Bhatele, 2022). A rank waits for a message from anybody. Comes an activation from the rank
# below, it goes forward and sends the result up; comes a gradient from the rank above, it goes
# backward and sends the result down. Only rank 0 decides something: it lets in another
# micro-batch while fewer than `in_flight` are on their way.
#
# **Exercise.** Write it. To keep it small, a stage is one number $w$: forward is $y = w\,x$, and
# backward turns the gradient $g$ of $y$ into $w\,g$ for the rank below and adds $g \cdot x$ to
# the gradient of $w$. The loss is $|y|^2 / 2$, so on the last rank $g$ is $y$ itself. `inputs`
# are the micro-batches; rank 0 takes them from there, the others only need their number and
# shape.
#
# `np`, `deque` and `ANY` have been imported. `comm.recv(arriving, ANY)` takes the first message
# from whoever sends one, and returns who it was.


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
# $4 \cdot 3 \cdot 3$ divided by the own weight: 18, 72, 12 and 36. On one screen, for any
# stages and not for numbers only:

# %%
definition("message_driven")

# %% [markdown]
# In the library the same idea is one instruction, `RunArrived`, in the schedule `message_driven`.
# So it can be simulated like all others: with messages that take no time, and with messages that
# take 6 ms, for several limits. A turn takes 3 ms.
#
# What should stand beside it? Plain 1F1B has only $P$ micro-batches on their way, which is a limit
# of 4. To be fair, an order must be allowed as many as the worker. So give 1F1B a `lookahead` of
# $k$: each rank runs $k$ micro-batches ahead of the next one, and $k\,(P-1) + 1$ are on their way.
# Each line of the table has two rivals with the same number in flight.

# %%
from ddl_teach.networks.pipelines.message_driven import message_driven as driven
from ddl_teach.theory.pipelines import limit_without_waiting

# %%
turn, took, kept = PassSeconds(1e-3, 1e-3, 1e-3), {}, {}
for latency in (0.0, 6e-3):
    net = Uniform(latency, float("inf"))
    for limit in (4, 7, 10, 13, 16, 19):
        both = one_f_one_b(4, 64, lookahead=limit // 3), driven(4, 64, limit)
        runs = [simulate(timed, 4, network=net, schedule=it, costs=turn) for it in both]
        took[latency, limit] = [run.time for run in runs]
        kept[latency, limit] = [[passed.peak for passed in run.results] for run in runs]

# %% [markdown]
# In brackets is how many micro-batches each rank kept at most.

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
# **What counts is how many are in flight, and not who gave the order.** Where messages take long,
# 16 in flight are more than three times as fast as 4, with an order and without. At the same
# number in flight the worker without an order is at most 3% faster, and with 16 both take the same
# time. But the order keeps less: its rank 0 alone keeps 16, the next ones 11, 6 and 1, while
# without an order three ranks keep 16. A micro-batch that comes round in $P\,(t_F + t_B) +
# 2\,(P-1)\,L$ keeps a rank busy for one turn, so it takes $P + 2\,(P-1)\,L / (t_F + t_B)$ of
# them. More than that brings nothing but full memory.
#
# All passes took equally long so far, which an order may rely on. What if each varies at random by
# half? Now chance decides, so take ten seeds, the same for both, and compare seed by seed.

# %%
from ddl_class import stopwatch
from ddl_teach.comm import Machine

# %%
luck, ratios = [Machine(jitter=0.5, seed=seed) for seed in range(10)], {}
for limit in (4, 16):
    ways = one_f_one_b(4, 64, lookahead=limit // 3), driven(4, 64, limit)
    runs = [[simulate(timed, 4, network=free, machine=one, schedule=way, costs=turn, trace=False)
             .time for one in luck] for way in ways]  # fmt: skip
    ratios[limit] = low, middle, high = np.quantile(np.divide(*runs[::-1]), [0.1, 0.5, 0.9])
    print(f"{limit:2} in flight: with an order {1e3 * np.median(runs[0]):.0f} ms; without one "
          f"{middle:.3f} times that, eight seeds of ten {low:.3f} to {high:.3f}")  # fmt: skip

# %%
assert all(low < 1 < high for low, _, high in ratios.values())
assert all(abs(middle - 1) < 0.03 for _, middle, _ in ratios.values())

# %% [markdown]
# More in flight helps again: work that lies in stock evens things out. And again it helps with an
# order as much as without one; what difference there is changes its sign from seed to seed. What
# was lost to chance neither gets back: in a pipeline all wait for the slowest.
#
# So what is running whatever has arrived good for? It needs no list of passes, which somebody must
# write and which can be wrong (section 6). It is not faster here.
#
# ## 8. Measure on your own ranks · *intermediate*
#
# Now four engines, which are processes of your machine. First your message-driven worker, on real
# messages. Then the pipeline whose stages only take time: on real ranks they sleep, as a rank does
# whose accelerator computes. So four ranks wait for each other as they would on four devices, even
# if you have two cores: 12 ms a turn, and one to 32 micro-batches with your 1F1B. The same program
# runs in virtual time and on the engines, and the formula is yours too: three answers to one
# question. The last cell draws such a step.

# %%
from functools import partial

pace = PassSeconds(4e-3, 4e-3, 4e-3)


def at_pace(comm, _, schedule):
    return timed(comm, schedule, pace)


# %%
engines = Engines(4)
mine = yours("10.message_driven", message_driven, lambda *_: 36.0 / weights[_[0].rank])
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
# ## 9. Is it still the same training? · *beginner*
#
# All this is worth something only if the network that comes out is the same. Here the stages
# compute: four layers that read handwritten digits, one on each of four ranks, ten steps. Beside
# them a single process trains the whole network on whole batches. Then all parameters are
# compared. Beside your 1F1B stand three orders of the library, which sections 5 and 7 explain.

# %%
from ddl_teach.networks import twin
from ddl_teach.networks.models.data import batches, digits
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.pipelines.gems import gems
from ddl_teach.networks.pipelines.message_driven import message_driven as driven
from ddl_teach.networks.pipelines.train_pipeline import together, train
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble

# %%
given = {"model": mlp((64, 48, 48, 48, 10)), "batches": batches(digits(flat=True), 32, steps=10)}
untrained = twin.copies(given["model"].named_parameters())
alone = twin.train(mlp((64, 48, 48, 48, 10)), given["batches"])
print(f"a single process: loss {alone.losses[0]:.3f}, after ten steps {alone.losses[-1]:.3f}")

# %%
for schedule in (schedule_of(my_1f1b, 4, 8), zero_bubble(4, 8), driven(4, 8), gems(4, 8)):
    whole = together(simulate(train, 4, **given, schedule=schedule).results)
    apart = twin.largest_difference(whole.parameters, alone.parameters)
    print(f"{schedule.name:18} loss {whole.losses[-1]:.3f}, largest difference {apart:.1e}")
    assert apart < 1e-5 < 1e-1 < twin.largest_difference(untrained, alone.parameters)

# %% [markdown]
# They differ in the last digits only, because sums are added up in another order. Two things are
# needed for that. The losses of the micro-batches must be weighted by their share of the batch.
# And no layer may look at the batch as a whole: batch normalisation sees a micro-batch here,
# which is one of the reasons why large networks normalise each example by itself.
#
# `engines.run(train, **given, schedule=...)` does the same on real ranks.
#
# ## 10. What production systems do · *intermediate*
#
# torch has pipelines as well, and builds them in the same way: an order of passes for each rank,
# as data. One can look at it without starting any process.

# %%
from types import SimpleNamespace

from torch.distributed.pipelining import Schedule1F1B

theirs = Schedule1F1B(SimpleNamespace(num_stages=4), 8).pipeline_order
ours = one_f_one_b(4, 8)
for rank in range(3):
    listed = [str(one) for one in theirs[rank] if str(one)[-1].isdigit()]
    assert listed == [str(word) for word in ours.computation(rank)]
print(*theirs[2], *theirs[3], sep="  ")

# %% [markdown]
# Word for word the same, on the first three ranks. On the last one, torch 2.13 counts the forward
# passes from 1, up to a micro-batch 8 that does not exist: a slip in the list alone, since its
# step does not read it. Our validator would have refused it. That is what data are good for.
#
# And this is how one says it there and here:
#
# | | torch.distributed.pipelining | this course |
# |---|---|---|
# | a stage | `PipelineStage(module, index, stages, device)` | `TorchStage(layers, shapes, ...)` |
# | an order | `ScheduleGPipe`, `Schedule1F1B` | `gpipe(4, 8)`, `one_f_one_b(4, 8)` |
# | thin stages | `ScheduleInterleaved1F1B` | `interleaved(4, 8)` |
# | split backward | `ScheduleInterleavedZeroBubble` | `zero_bubble`, `interleaved_zero_bubble` |
# | all at one stage | `ScheduleLoopedBFS` | `breadth_first(4, 8)` |
# | in a V | `ScheduleZBVZeroBubble`, `ScheduleDualPipeV` | `zb_v(4, 8)`, `dualpipe_v(4, 8)` |
# | a file | `_load_csv(path)`, `_dump_csv(path)` | `read_schedule`, `write_schedule` |
# | a step | `schedule.step(x, target=y)` | `Worker(comm, schedule, stages).step()` |
#
# `benchmarks/results/pipelines.txt` has both on the same model, batch and ranks. Narayanan et al.
# (2021) train large language models with interleaved 1F1B inside a grid of several dimensions
# (unit 12). AxoNN's worker decides at run time.

# %% [markdown]
# ## 11. Write your own · *advanced*
#
# Four ranks, and a network of eight equal layers. You may cut it into four stages, or into eight
# thin ones, and lay them on the ranks as you like. The quarter of the network that a rank holds
# takes 1 s forward, 1 s for the gradient of the input and 1 s for that of the weights, for each
# micro-batch; a thin stage takes half of that, and what it keeps counts half.
#
# **Exercise, with a goal.** With eight micro-batches 1F1B takes 33 s and keeps four of them. Find
# a schedule that takes **30 s** at most and keeps three micro-batches at most on any rank. For
# more micro-batches, up to 16, the goal is the same: three seconds less than 1F1B, and three kept.
# How is up to you: by hand, or by a program that plays the pipeline turn by turn. `2F0` is stage 2
# forward with micro-batch 0, `2B0` backward, `2I0` and `2W0` are the halves of that.


# %% name="10.schedule" tags=["answer"]
def my_schedule(ranks, micro_batches):
    """Return for each rank its list of words, such as 2F0 and 2B0, or 2I0 and 2W0."""
    ### BEGIN SOLUTION
    rows, ended, last = [[] for _ in range(ranks)], set(), 2 * ranks - 1
    while len(ended) < 3 * (last + 1) * micro_batches:
        there = set(ended)  # what has ended when this turn begins
        for rank, row in enumerate(rows):
            kept = sum("F" in word for word in row) - sum("W" in word for word in row)
            for kind, stage in [(k, s) for k in "FIW" for s in (last - rank, rank)]:
                one = sum(word.startswith(f"{stage}{kind}") for word in row)
                needs = {"F": [("F", stage - 1)], "I": [("F", stage), ("I", stage + 1)],
                         "W": [("I", stage)]}[kind]  # fmt: skip
                begun = all((k, s, one) in there for k, s in needs if 0 <= s <= last)
                room = kind != "F" or kept < 6 - (stage == rank)
                if one < micro_batches and begun and room:
                    row.append(f"{stage}{kind}{one}")
                    ended.add((kind, stage, one))
                    break
    return rows
    ### END SOLUTION


# %%
own = written("yours", my_schedule(4, 8))
validate(own)
a_rank, seconds = own.stages / 4, 4 / own.stages
costs = PassSeconds(seconds, seconds, seconds)
run = simulate(timed, 4, network=free, schedule=own, costs=costs)
print(f"{run.time:g} s, kept at most {[passed.peak / a_rank for passed in run.results]}")
plot_pipeline(run.timeline, title="Your schedule")

# %% name="10.schedule" tags=["check"]
check("10.schedule", my_schedule)
### BEGIN HIDDEN TESTS
judge("10.schedule", my_schedule, seed=105)
### END HIDDEN TESTS

# %% [markdown]
# The check says how long yours takes and how long the best takes that is known. No schedule can
# take less than 25.5 s: a rank has 24 s of work, and one of the four must wait for three thin
# stages before its first pass. Whether all of that can be had in this memory is not known to us.
#
# **Torch runs it too.** A file of schedules has a row for each rank and a pass in each cell; torch
# reads it, and writes the sends and receives in by itself. `gradients` hands yours over in this
# way and lets torch carry it out, with stages that compute, on the same simulated ranks.

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

from ddl_teach.networks.pipelines.schedule_file import read_schedule, write_schedule

# %%
in_a_v = [zb_v(4, 8).words(rank) for rank in range(4)]
own = written("yours", yours("10.schedule", my_schedule, lambda *_: in_a_v)(4, 8))
with TemporaryDirectory() as folder:
    write_schedule(own, path := Path(folder, "yours.csv"))
    print(path.read_text())
    assert read_schedule(path).orders == own.orders

# %%
from ddl_class.notebook.torchs_runtime import gradients
from ddl_teach.networks.models.loss import mean_loss

deep, batch = mlp((64, *[48] * 7, 10)), given["batches"][0]
by_torch = simulate(gradients, 4, threads=True, schedule=own, model=deep, batch=batch).results
mean_loss(deep(batch[0]), batch[1]).backward()
wanted = {name: weight.grad for name, weight in deep.named_parameters()}
print("gradients on each rank, of stages:", [sorted(part) for part in by_torch])
for part in by_torch:
    assert twin.largest_difference(part, {name: wanted[name] for name in part}) < 1e-6

# %% [markdown]
# Torch has never seen this order, and its gradients are those of one process: an order of passes
# is all that it needs.

# %%
progress()

# %% [markdown]
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("10")

# %% [markdown]
# ## Three questions
#
# **1.** You double the number of micro-batches and halve their size, with the same batch. What
# becomes of the bubble, of the memory of GPipe, and of that of 1F1B?
#
# <details><summary>An answer</summary>
#
# The share of the bubble falls to about half. GPipe keeps twice as many activations of half the
# size: no change. 1F1B keeps as many as before, of half the size: half the memory. What limits it
# is that small micro-batches make small matrix products, which devices are bad at, and more
# messages.
#
# </details>
#
# **2.** One rank is twice as slow as the others. Does it matter which one? And does it help to
# run whatever has arrived?
#
# <details><summary>An answer</summary>
#
# Once the pipeline is full, everybody works at the pace of the slowest, wherever it is: a step
# takes about $m$ of *its* turns. No order of work can change that, and having none cannot either.
# What helps is to cut the network elsewhere, so that it gets fewer layers.
#
# </details>
#
# **3.** Activations take most of the memory. One can throw them away and compute them once more
# before the backward pass (unit 11). Which schedule gains most from that, and what happens to its
# bubble?
#
# <details><summary>An answer</summary>
#
# GPipe, which keeps $m$ micro-batches, and which its authors indeed combined with it: only the
# input of each stage stays. A backward pass then takes a forward pass more, so a turn takes
# $2 t_F + t_B$; the bubble has as many turns as before and is longer in seconds.
#
# </details>
#
# ## Where to read on
#
# - Y. Huang, Y. Cheng, A. Bapna, O. Firat et al., "GPipe: efficient training of giant neural
#   networks using pipeline parallelism", *NeurIPS*, 2019.
# - D. Narayanan, A. Harlap, A. Phanishayee et al., "PipeDream: generalized pipeline parallelism
#   for DNN training", *SOSP*, 2019: where 1F1B comes from, with several versions of the weights.
# - D. Narayanan, M. Shoeybi, J. Casper et al., "Efficient large-scale language model training on
#   GPU clusters using Megatron-LM", *SC*, 2021: interleaved, in a grid.
# - P. Qi, X. Wan, G. Huang and M. Lin, "Zero bubble pipeline parallelism", *ICLR*, 2024.
# - P. Qi, X. Wan, N. Amar and M. Lin, "Pipeline parallelism with controllable memory", *NeurIPS*,
#   2024: a family of schedules in a V, some with half of 1F1B's memory and less.
# - S. Singh and A. Bhatele, "AxoNN: an asynchronous, message-driven parallel framework for
#   extreme-scale deep learning", *IPDPS*, 2022.
# - A. Jain, A. A. Awan, A. M. Aljuhani et al., "GEMS: GPU-enabled memory-aware model-parallelism
#   system for distributed DNN training", *SC*, 2020.
# - S. Li and T. Hoefler, "Chimera: efficiently training large-scale neural networks with
#   bidirectional pipelines", *SC*, 2021: two directions at once, and a table that compares many.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019, section on pipelining.
#
# The schedules stand in `ddl_teach/networks/pipelines`, one a file, and the formulas in
# `ddl_teach/theory/pipelines.py`. Unit 11 asks where the memory of *one* rank goes.
