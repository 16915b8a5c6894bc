# %% [markdown]
# # Overlap
#
# **Which gradients should travel first?**
#
# In `08_data_parallelism` buckets of gradients travel while the backward pass still runs. There
# the buckets left in the order in which they were full. But all gradients are not needed at the
# same time: the next step begins with the first layer. In this notebook you choose buckets and
# their order for a given network, against time. Then you write the code that sends in the middle
# of a backward pass. At the end you record a trace of it, find a gap there, and close it.
#
# You need `08_data_parallelism`, sections 1 to 6. *Intermediate* readers take section 1,
# *advanced* ones everything. About 80 minutes.

# %%
import numpy as np

from ddl_class import check, definition, hint, judge, progress, simulate
from ddl_teach.comm import Uniform
from ddl_teach.theory import data_parallel as theory

# %% [markdown]
# ## 1. A step against time · *intermediate*
#
# **A puzzle.** Here is a network of twelve layers, on eight ranks. A step begins with the backward
# pass, which goes from layer 11 down to layer 0. Buckets of gradients travel one at a time, each
# in a ring: 1.4 ms of latency, and 1.75 ms for each MB. Then comes the forward pass of the next
# step, from layer 0 up. Layer $k$ can begin when its gradient is averaged. The next cell is the
# machine; times are in ms, sizes in MB.

# %%
forward = [6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1]  # ms of each layer
backward = [12, 12, 10, 10, 8, 8, 6, 6, 4, 4, 2, 2]
megabytes = [1, 1, 2, 2, 2, 4, 8, 8, 4, 4, 20, 12]  # of each gradient


def travel(size):  # ms of a bucket of so many MB
    return 1.4 + 1.75 * size


# %% [markdown]
# A plan is the list of buckets in the order in which they travel. `[[11, 10], [9]]` means: first
# layers 11 and 10 together, then layer 9. A bucket leaves when its last gradient is ready and the
# bucket before it has arrived. A gradient is not cut.
#
# All work together takes 126 ms, and all messages about 136 ms. The next cell computes the time of
# a step, and tries the buckets of `fill`. With the best limit they take 168.6 ms.


# %%
def step_time(plan):
    ready, end, arrived = np.cumsum(backward[::-1])[::-1], 0.0, {}
    for bucket in plan:
        size = sum(megabytes[layer] for layer in bucket)
        end = max([end, *(ready[layer] for layer in bucket)]) + travel(size)
        arrived |= dict.fromkeys(bucket, end)
    now = ready[0]
    for layer in range(12):
        now = max(now, arrived[layer]) + forward[layer]
    return now


# %%
for limit in (0, 8, 20, 40, 100):
    plan = theory.last_first(megabytes, limit)
    print(f"at most {limit:3} MB a bucket: {step_time(plan):.1f} ms, {len(plan)} in all")
assert step_time(theory.last_first(megabytes, 20)) == 168.6
assert sum(forward + backward) == 126
assert round(sum(travel(size) for size in megabytes)) == 136

# %% [markdown]
# **Exercise, with a goal.** Find a plan with which a step takes **140 ms** at most. How is up to
# you: by hand, or by a program that calls `step_time` as often as it likes. The check says how
# long yours takes, and how long the best takes that is known.


# %% name="08.order" tags=["answer"]
def my_plan(forward, backward, megabytes):
    """Buckets of layers in the order in which they travel; a step must take 140 ms at most."""
    ### BEGIN SOLUTION
    ready, left, end, plan = np.cumsum(backward[::-1])[::-1], set(range(12)), 0.0, []
    while left:  # whenever the line is free: of what is ready, what is needed first
        begin = max(end, min(ready[layer] for layer in left))
        bucket, size = [], 0
        for layer in sorted(left):
            if ready[layer] <= begin and (not bucket or size + megabytes[layer] <= 16):
                bucket.append(layer)
                size += megabytes[layer]
        plan.append(bucket)
        left -= set(bucket)
        end = begin + travel(size)
    return plan
    ### END SOLUTION


# %%
from ddl_class.exercises.unit_08 import machine
from ddl_class.plots.networks import plot_step

plan = my_plan(forward, backward, megabytes)
plot_step(machine.bars(plan), title="Your plan")

# %% name="08.order" tags=["check"]
check("08.order", my_plan)
### BEGIN HIDDEN TESTS
judge("08.order", my_plan, seed=86)
### END HIDDEN TESTS

# %% [markdown]
# Does the formula hold? Here is the same plan on eight simulated ranks, with all messages of the
# rings.

# %%
run = simulate(machine.step, 8, network=machine.NETWORK, plan=plan, trace=False)
print(f"{1e3 * max(run.results):.2f} ms simulated, {step_time(plan):.2f} ms by the formula")
assert np.isclose(1e3 * max(run.results), step_time(plan))

# %% [markdown]
# The gradient of layer 10 is large, is ready early, and is needed late. If it leaves when it is
# ready, it blocks the line, and the first layers wait behind it. So it may well travel during the
# next forward pass. Layer 0 is ready last and is needed first: nothing can hide it, so nothing
# should be in its way.
#
# The best known plan is also the best possible one. A program has shown that: for each set of
# layers it computes the earliest time at which all of them can have arrived, each before it is
# needed. Systems cannot search like that in each step. They give each gradient a priority instead,
# and cut large ones into pieces, so that an urgent one need not wait for long (Jayarajan et al.,
# 2019; Peng et al., 2019).
#
# ## 2. Overlap from hooks · *advanced*
#
# How does one send in the middle of a backward pass? Frameworks call a **hook**, a function of
# yours, whenever a gradient is complete. The next cells have small versions of what you need.
# `backward` makes the pass, the last gradient first, and calls the hook with its number. `begin`
# starts to send an array to all other ranks and does not wait. `finish` waits, and returns the
# sum. `pack` puts gradients end to end, and `unpack` puts them back into the arrays.


# %%
def backward(comm, gradients, hook):
    for index in reversed(range(len(gradients))):
        comm.work(seconds=1e-5 * gradients[index].size)
        hook(index)


def finish(under_way):
    for request in under_way[1]:
        request.wait()
    return sum(under_way[0])


# %%
def begin(comm, flat, tag):  # the tag, the bucket's number, keeps buckets apart
    others = [(comm.rank + step) % comm.size for step in range(1, comm.size)]
    parts = [flat.copy() for _ in range(comm.size)]
    requests = [comm.irecv(parts[rank], rank, tag) for rank in others]
    return parts, requests + [comm.isend(flat, rank, tag) for rank in others]


# %%
def pack(gradients, group):
    return np.concatenate([gradients[index].ravel() for index in group])


def unpack(flat, gradients, group):
    for index in group:
        gradients[index][...] = flat[: gradients[index].size].reshape(gradients[index].shape)
        flat = flat[gradients[index].size :]


# %% [markdown]
# **Exercise.** `groups` are the buckets, as `fill` makes them. Average all `gradients` in place.
# Each bucket leaves in the hook, when its last gradient is ready. It is waited for only when the
# pass is over. The gradients of a bucket need not become ready in the order of its list.


# %% name="08.overlap" tags=["answer"]
def overlapped(comm, gradients, groups):
    """Average in place: begin a bucket when its last gradient comes, finish after the pass."""
    missing, under_way = [set(group) for group in groups], []
    ### BEGIN SOLUTION

    def hook(index):
        for number, group in enumerate(missing):
            if index in group:
                group.remove(index)
                if not group:
                    flat = pack(gradients, groups[number])
                    under_way.append((number, begin(comm, flat, number)))

    backward(comm, gradients, hook)
    for number, one in under_way:
        unpack(finish(one) / comm.size, gradients, groups[number])
    ### END SOLUTION


# %%
def watch(comm):
    groups = theory.last_first([800] * 6, 1600)
    overlapped(comm, [np.full(100, comm.rank + 1.0) for _ in range(6)], groups)


timeline = simulate(watch, 3, network=Uniform(1e-4, 2e6)).timeline
timeline.plot(title="Your pass and its three buckets on 3 simulated ranks")

# %% name="08.overlap" tags=["check"]
check("08.overlap", overlapped)
### BEGIN HIDDEN TESTS
judge("08.overlap", overlapped, ranks=(6, 7, 12), seed=84)
### END HIDDEN TESTS

# %% [markdown]
# The black bars are the pass, and the stripes on them are messages. In a right answer two of the
# three buckets travel under the pass, and the last one cannot be hidden. Compare with the picture
# in section 1 of `08_data_parallelism`, where the ranks wait for all messages. Here is the whole
# step on one screen:

# %%
definition("buckets")

# %% [markdown]
# ## 3. A gap in the trace · *advanced*
#
# After the pass comes the *update*: each weight makes its step. The next cells are a whole
# training step, with your `overlapped` in it, and the network of six layers that it trains. This
# section needs `overlapped` of section 2, and later your `longest_gap`: solve them first.


# %%
def update(comm, weights, gradients, group):
    for index in group:
        comm.work(seconds=5e-6 * gradients[index].size)
        weights[index] -= 0.1 * gradients[index]


def step(comm, weights, gradients, groups):
    overlapped(comm, gradients, groups)
    for group in groups:
        update(comm, weights, gradients, group)


# %%
def network(comm):  # the weights are equal on all ranks, the gradients are not
    weights = [np.ones(3000) for _ in range(6)]
    gradients = [np.full(3000, comm.rank + 1.0) for _ in range(6)]
    return weights, gradients, theory.last_first([24_000] * 6, 48_000)


# %% [markdown]
# A *profiler* notes when each operation of torch began and ended, and writes a *trace*: a file
# of these times. You now record your step on two real ranks of this machine. On real ranks `work`
# would only sleep, so `TracedRank` multiplies matrices instead. It also makes messages late: they
# really travel, but not faster than a cable of 1 MB/s could carry them.

# %%
from tempfile import TemporaryDirectory

from torch.profiler import profile

from ddl_class import Engines
from ddl_class.exercises.unit_08.traced import TracedRank
from ddl_runtime.interchange.torch_trace import read_torch_traces

engines = Engines(2)


# %%
def traced(comm, step, folder):
    given = network(comm)
    with profile() as profiler:
        comm.barrier()
        step(TracedRank(comm), *given)
    profiler.export_chrome_trace(f"{folder}/trace-{comm.rank}.json")


# %%
def record(step):
    with TemporaryDirectory() as folder:
        engines.run(traced, step=step, folder=folder, timeout=120)
        return read_torch_traces([f"{folder}/trace-{rank}.json" for rank in range(2)])


# %% [markdown]
# Each rank writes a file of its own. `read_torch_traces` makes a run of them, with a timeline.
# The first recording loads libraries, which takes time, so the second one counts. Lines on red
# ground that begin with `USDT` are the profiler's notes, no errors.

# %%
record(step)
record(step).timeline.plot(title="Your step on 2 real ranks, as torch's profiler recorded it")

# %% [markdown]
# A trace of a real training has thousands of operations, so a program should look for the gaps.
# There is one difficulty: several threads can work at once. A long operation of one thread can
# then contain a short one of another.
#
# **Exercise.** `spans` are tuples `(kind, begin, end)`, in the order in which they *ended*. A
# span of kind `"work"` computes; a message or a named span computes nothing. Return begin
# and end of the longest time between two operations in which none computes.


# %% name="08.gap" tags=["answer"]
def longest_gap(spans):
    """(begin, end) of the longest time between two spans of work in which no work goes on."""
    ### BEGIN SOLUTION
    work = sorted((begin, end) for kind, begin, end in spans if kind == "work")
    gap, latest = (0, 0), work[0][1]
    for begin, end in work:
        if begin - latest > gap[1] - gap[0]:
            gap = latest, begin
        latest = max(latest, end)
    return gap
    ### END SOLUTION


# %% name="08.gap" tags=["check"]
check("08.gap", longest_gap)
### BEGIN HIDDEN TESTS
judge("08.gap", longest_gap, seed=87)
### END HIDDEN TESTS


# %% [markdown]
# Now look for the gap of your step, and for what comes before it and after it.


# %%
def gap_of(run, rank=0):
    spans = [(span.kind, span.start, span.end) for span in run.timeline.of(rank)]
    return longest_gap(spans)


start, stop = gap_of(record(step))
print(f"rank 0 computes nothing for {1e3 * (stop - start):.1f} ms, from {1e3 * start:.1f} ms on")
print(
    f"its pass is {6 * 3000 / 100:.0f} ms of work, and a bucket travels for {48_000 / 1e3:.0f} ms"
)

# %% [markdown]
# If nothing else disturbed the machine, the gap comes after the pass: the ranks wait for the last
# bucket. The buckets before it have come by then, but no weight has changed yet. So there is work
# that could be done.
#
# **Exercise.** Close the gap. Write the whole step: begin the buckets as in your `overlapped`, and
# let a bucket's weights change while later buckets still travel.


# %% name="08.close" tags=["answer"]
def closed(comm, weights, gradients, groups):
    """A whole step, in place: the update of a bucket begins as soon as the bucket has come."""
    missing, under_way = [set(group) for group in groups], []
    ### BEGIN SOLUTION

    def hook(index):
        for number, group in enumerate(missing):
            if index in group:
                group.remove(index)
                if not group:
                    flat = pack(gradients, groups[number])
                    under_way.append((number, begin(comm, flat, number)))

    backward(comm, gradients, hook)
    for number, begun in under_way:
        unpack(finish(begun) / comm.size, gradients, groups[number])
        update(comm, weights, gradients, groups[number])
    ### END SOLUTION


# %%
CABLE = Uniform(latency=0, bandwidth=1e6)


def virtual(comm, step):
    step(comm, *network(comm))


for way in (step, closed):
    print(f"{way.__name__:8} {1e3 * simulate(virtual, 2, network=CABLE, step=way).time:.1f} ms")

# %% name="08.close" tags=["check"]
check("08.close", closed)
### BEGIN HIDDEN TESTS
judge("08.close", closed, ranks=(6, 7, 12), seed=88)
### END HIDDEN TESTS

# %% [markdown]
# That is simulated. Does the trace show it too?

# %%
for name, way in {"before": step, "after": closed}.items():
    run = record(way)
    start, stop = gap_of(run)
    print(f"{name:7} longest gap {1e3 * (stop - start):5.1f} ms of {1e3 * run.time:5.1f} ms")
run.timeline.plot(title="The closed step, as torch's profiler recorded it")

# %% [markdown]
# These are two measurements of one machine, and other programs disturb them. Run the cells again
# before you believe a difference.
#
# On a GPU the trace has the kernels and the copies, and `read_torch_traces` takes these as work.
# One thing is harder there: a kernel of NCCL is busy while it waits. It looks like work to a GPU,
# so the reader takes it as a message. Below are recorded traces of the library's own overlapped
# step. Each says where: one of a processor has operations of torch, and no kernels and no copies.
#
# Is NVIDIA's profiler `nsys` installed there? Then it traces each rank of a program:
#
# ```text
# mpirun -n 2 nsys profile --trace=cuda,nvtx,mpi -o rank%q{OMPI_COMM_WORLD_RANK} python program.py
# ```
#
# This names a rank as Open MPI does; with MPICH write `PMI_RANK`. Open the files in NVIDIA's
# program Nsight Systems. `read_torch_traces` cannot read them: it reads the traces of torch's
# profiler.

# %%
from ddl_class.notebook.beside_gpus import recorded_traces

for label, run in recorded_traces().items():
    start, stop = gap_of(run)
    print(f"{label}: {1e3 * run.time:.1f} ms, longest gap {1e3 * (stop - start):.2f} ms")

# %% [markdown]
# The latest one of a GPU is drawn if there is one, else that of the processor.

# %%
label, recorded = next(iter(recorded_traces().items()))
recorded.timeline.plot(title=label)

# %%
progress()

# %% [markdown]
# ## Three questions
#
# **1.** The network card becomes ten times as fast, and the latency stays. What becomes more
# important, the size of the buckets or their order?
#
# <details><summary>An answer</summary>
#
# Each bucket still pays 1.4 ms, and its bytes take a tenth. So few buckets are good, and the order
# matters less: what is in the way is gone soon.
#
# </details>
#
# **2.** A colleague sends the gradients in the order in which the next forward pass needs them:
# layer 0 first. Is that good?
#
# <details><summary>An answer</summary>
#
# No: layer 0 is ready last, so nothing would travel during the backward pass. Among those that are
# *ready*, the one that is needed first should go first.
#
# </details>
#
# **3.** Must all ranks use the same plan?
#
# <details><summary>An answer</summary>
#
# Yes. An all-reduce ends when all ranks have taken part. If two ranks begin two buckets in
# opposite order, each waits for the other, or the wrong numbers are added. That is why DDP fixes
# the order of its buckets, whatever the order in which hooks are called.
#
# </details>
#
# ## Where to read on
#
# - S. Li et al., "PyTorch distributed: experiences on accelerating data parallel training",
#   *VLDB*, 2020: buckets, hooks and why both.
# - A. Jayarajan, J. Wei, G. Gibson, A. Fedorova and G. Pekhimenko, "Priority-based parameter
#   propagation for distributed DNN training", *MLSys*, 2019.
# - Y. Peng, Y. Zhu, Y. Chen et al., "A generic communication scheduler for distributed DNN
#   training acceleration", *SOSP*, 2019.
# - Z. Jiang et al., "MegaScale: scaling large language model training to more than 10,000 GPUs",
#   *NSDI*, 2024: overlap in all directions of a grid, on 12,288 GPUs, and the tools that find
#   what still waits.
# - X. Qiang et al., "Syncopate: efficient multi-GPU AI kernels via automatic chunk-centric
#   compute-communication overlap", *arXiv*, 2026: a compiler puts messages of small pieces into
#   the kernel itself.
#
# The library's ways stand in `ddl_teach/networks/data_parallel`, one a file. Unit 09 splits what
# all ranks hold whole here: the layers.
