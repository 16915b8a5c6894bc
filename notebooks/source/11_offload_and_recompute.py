# %% [markdown]
# # Memory: recompute and offload
#
# **What need not be on the device?**
#
# The first notebook of this unit, `11_memory`, shared weights, gradients and optimizer states out
# over ranks. Here are two more ways to save memory, which also work on a single GPU. With
# **checkpointing**, activations are dropped after the forward pass and computed again later. With
# **offload**, they or the states wait in the memory of the host. Both cost time. At the end you
# choose, layer by layer, for a given machine, with a goal to reach.
#
# Section 1 is for *beginners*, sections 2 and 3 are for *intermediate* readers, and two parts of
# section 1 are *advanced*. You need `11_memory`.

# %%
import numpy as np

from ddl_class import check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.memory import plot_held, plot_over_time, plot_tradeoff
from ddl_teach.comm import Uniform
from ddl_teach.theory import checkpointing
from ddl_teach.theory import memory as theory

# %% [markdown]
# ## 1. Forget and compute again · *beginner*
#
# A forward pass through $L$ layers keeps $L$ outputs until the backward pass comes back to them.
# What if one keeps only some, and computes the others again? A **plan** says so with brackets. In
# `[[0, 1, 2], [3, 4, 5], 6, 7, 8]` layers 6 to 8 are kept. Of each inner list only the input is
# kept. When the backward pass comes to an inner list, its layers are computed once more.
#
# Chen, Xu, Zhang and Guestrin (2016) cut $L$ layers into $k$ equal stretches. Then $k - 1$ inputs
# and one stretch of $L/k$ layers are held, about
#
# $$k + \frac{L}{k},\quad\text{least for } k = \sqrt L:\quad 2\sqrt L.$$
#
# **Predict.** A chain has 100 layers, and each is computed forward at most twice. With the best
# plan of all, how many activations are held at most?

# %%
predict("11.hundred", ...)

# %% [markdown]
# **Exercise.** Return the plan with equal stretches for any number of layers. Leave the last
# stretch without brackets. The backward pass begins with it, so nothing is saved by dropping it.


# %% name="11.stretches" tags=["answer"]
def stretches(layers):
    """A plan of about sqrt(layers) equal stretches; all but the last are lists."""
    ### BEGIN SOLUTION
    count = max(1, round(layers**0.5))
    cuts = [layers * k // count for k in range(count + 1)]
    parts = [list(range(cuts[k], cuts[k + 1])) for k in range(count)]
    return [*parts[:-1], *parts[-1]]
    ### END SOLUTION


# %%
from ddl_teach.theory.checkpointing import Chain, peak, seconds, shrinking_stretches, trace

my_stretches = yours("11.stretches", stretches, checkpointing.equal_stretches)
chain = Chain.even(36)
plans = {"keep all": list(range(36)), "stretches": my_stretches(36)}
curves = {name: [moment.held for moment in trace(plan, chain)] for name, plan in plans.items()}
plot_over_time(curves, title=f"{max(curves['stretches'])} activations instead of 36")

# %% name="11.stretches" tags=["check"]
check("11.stretches", stretches)
### BEGIN HIDDEN TESTS
judge("11.stretches", stretches, seed=115)
### END HIDDEN TESTS

# %% [markdown]
# ### The best plan · *advanced*
#
# Equal stretches are not the best. When an early stretch is computed again, fewer inputs are held
# than at the end of the forward pass. So early stretches may be longer. And a stretch that is
# computed again may drop activations once more: `[[[0, 1], 2], 3]`.
#
# Which plan computes the fewest layers in a given memory? Say that a memory for $r$ activations
# has $r$ *rooms*. Look at the first layer. Either it is kept, and the rest has one room less. Or
# it begins a stretch of $k$ = 1, 2, 3, ... layers: the rest has one room less, and later the
# stretch has all rooms. Let $T(n, r)$ be the number of layers that are computed for $n$ layers in
# $r$ rooms:
#
# $$T(n, r) = \min\Big(1 + T(n-1, r-1),\ \min_k\; k + T(n-k, r-1) + T(k, r)\Big).$$
#
# That is a dynamic program, as in unit 03. The library's `cheapest` solves it, also for layers
# that are uneven (Beaumont and others 2019; for even ones Griewank and Walther 2000).
#
# The next cells try both kinds of plans on a real chain of 36 layers. An activation has 4 KiB
# here. Activations are counted where torch keeps them for the backward pass, and so is each call
# of a layer. Lines are the formulas, dots the measurement.

# %%
from torch import nn, randn

from ddl_teach.networks.memory.checkpointing import cost

chain36 = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(36)))
x = randn(16, 64)
rooms = (3, 4, 5, 6, 8, 11, 12, 14, 19, 36)
plans = {"the best plan": [checkpointing.cheapest(chain, r) for r in rooms]}
plans["equal stretches"] = [checkpointing.equal_stretches(36, k) for k in (6, 4, 3, 2, 1)]

# %%
dots = {name: [cost(chain36, x, plan) for plan in those] for name, those in plans.items()}
lines = {k: [(x.nbytes * peak(p, chain), seconds(p, chain)) for p in v] for k, v in plans.items()}
assert dots == lines
best, equal = ([layers for _, layers in points] for points in lines.values())
assert max(np.subtract(equal, best[5:])) == 2
few = plans["the best plan"][2]
held, times = peak(few, chain), seconds(few, chain) / 36
title = f"Of 36 activations {held} held, for {times:.1f} times the layers"
plot_tradeoff(lines, dots, title=title)

# %% [markdown]
# The best plan may hold far less than equal stretches can. The price is in the title: to hold 5
# activations it computes each layer about three times. Equal stretches need 11 rooms or more. For
# their numbers of rooms the best plan computes at most two layers fewer.
#
# And your prediction, for 100 layers:

# %%
assert peak(checkpointing.equal_stretches(100), Chain.even(100)) == 19
reveal("11.hundred", peak(shrinking_stretches(100), Chain.even(100)))

# %% [markdown]
# Chen's plan for 100 layers holds 19. The best plan that computes no layer three times holds 14.
# Its stretches have 14, 13, 12, ... layers. Each is one shorter than the one before, because it
# has one room less; $14 \cdot 15 / 2$ is more than 100. In general that is about $\sqrt{2L}$.
#
# Real layers are uneven. `cheapest` takes what each layer costs and holds, and finds the best plan
# for them. In torch, checkpointing is `torch.utils.checkpoint`, for one stretch that you choose.

# %% [markdown]
# ### The memory of your own step · *advanced*
#
# Formulas say what is kept. But what did really happen? torch's profiler notes each tensor that is
# made or dropped, with its bytes, if you ask for it with `profile_memory=True`. The next cells
# record a step of the chain twice: everything is kept, or torch's own checkpointing cuts the chain
# into 6 stretches.

# %%
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch.profiler import profile
from torch.utils.checkpoint import checkpoint_sequential

from ddl_runtime.records.memory import MemoryTrack


# %%
def memory_of(forward):
    chain36.zero_grad()
    with profile(profile_memory=True) as profiler:
        forward(rows).sum().backward()
    with TemporaryDirectory() as folder:
        profiler.export_chrome_trace(f"{folder}/trace.json")
        noted = json.loads(Path(f"{folder}/trace.json").read_text())["traceEvents"]
    noted = [event for event in noted if event["name"] == "[memory]"]
    begun = noted[0]["ts"]
    return [((e["ts"] - begun) / 1e6, e["args"]["Bytes"], "tensors") for e in noted]


# %% [markdown]
# Each change is a time, its bytes (below zero where a tensor is dropped), and a word. A
# `MemoryTrack` adds them up and draws them. One tensor of activations has 2048 x 64 numbers here:
# half a MiB. By the formula 36 of them are held if everything is kept, and 11 with six stretches.
# Lines on red ground that begin with `USDT` are the profiler's notes, no errors.


# %%
def in_stretches(x):
    return checkpoint_sequential(chain36, 6, x, use_reentrant=False)


rows = randn(2048, 64)
whole, cut = MemoryTrack([memory_of(chain36)]), MemoryTrack([memory_of(in_stretches)])
held, less = (track.peak() / rows.nbytes for track in (whole, cut))
whole.plot(title=f"Everything is kept: {held:.1f} activations at most")

# %%
assert less < held / 2
cut.plot(title=f"Six stretches: {less:.1f} activations at most")

# %% [markdown]
# The first picture is a mountain: up in the forward pass, down in the backward pass. The second
# one has a small mountain for each stretch. Both hold a little more than the formula says: an
# operation has its input and its output at once, and gradients are tensors too.
#
# That is the memory of the host. On a GPU a *memory snapshot* says more: also which line of
# your program made each tensor, and how much memory torch keeps that no tensor uses. The next cell
# takes one if there is a GPU; without a GPU it does nothing. The page `pytorch.org/memory_viz`
# draws the file in a browser.

# %%
if torch.cuda.is_available():
    torch.cuda.memory._record_memory_history()
    chain36.to("cuda")(rows.to("cuda")).sum().backward()
    torch.cuda.memory._dump_snapshot("snapshot.pickle")
    torch.cuda.memory._record_memory_history(enabled=None)
    chain36.to("cpu")

# %% [markdown]
# ### What a layer of a transformer keeps · *intermediate*
#
# So far an activation was one unit. How many bytes is it in a GPT? Take one block, with $b$ texts
# of $s$ positions, width $h$ and $a$ heads, in 16 bits. For the backward pass Korthikanti et al.
# (2022) count, for each of the $s\,b\,h$ numbers that come in,
#
# $$34 + 5\,\frac{a\,s}{h}\ \text{bytes}.$$
#
# The 34 are: 4 for what two norms read, and 4 for what they hand on to the products; 6 for
# queries, keys and values, and 2 for what the projection reads; 16 for the wide middle, before and
# after its nonlinearity; and 2 for the masks of two dropouts. The last term is the table of
# scores.
#
# **Question.** The course's GPT has no dropout. Its attention works in tiles (unit 21) and writes
# no scores; it keeps 4 bytes for each position and head in their place. How many bytes are left
# for each number? How many on four ranks that split the products (unit 09)? The next cells count
# them by autograd's hooks.

# %%
from torch import bfloat16, randn

from ddl_teach.networks.memory.measured import Activations
from ddl_teach.networks.models.gpt import Block
from ddl_teach.networks.partitions import Parted, Replicated
from ddl_teach.networks.tensor.gpt import SEQUENCE, split_gpt_child
from ddl_teach.theory.transformer_memory import layer_activations


# %%
def kept_by(comm, split, s, b, h, a):
    region = Parted(comm, SEQUENCE, s) if split else Replicated(comm)
    block = split_gpt_child(Block(h, a), region).bfloat16()
    here = s // comm.size if split else s
    x = randn(b, here, h, dtype=bfloat16, requires_grad=True)
    with Activations(block.parameters()) as saved:
        block(x)
    return saved.most


# %% [markdown]
# The formula is `layer_activations`. The assertions compare it with what was counted.

# %%
sizes, ways = {"s": 256, "b": 2, "h": 256, "a": 8}, {"one rank": (1, False)}
ways |= {"products on 4 ranks": (4, False), "products and text": (4, True)}
kept = {k: simulate(kept_by, t, split=cut, **sizes).results[0] for k, (t, cut) in ways.items()}
formula = {k: layer_activations(**sizes, t=t, split_sequence=cut) for k, (t, cut) in ways.items()}
numbers, norms = 256 * 2 * 256, 256 * 2 * 8  # two norms keep two numbers a position
assert kept["one rank"] == formula["one rank"] + norms
assert kept["products on 4 ranks"] == formula["products on 4 ranks"] + norms
both = norms / 4 + 4 * numbers * 3 / 4
assert kept["products and text"] == formula["products and text"] + both

# %%
masks = layer_activations(**sizes, scores=True, dropout=True) / numbers
print(
    *(f"{name}: {nbytes / numbers:.2f} bytes a number" for name, nbytes in kept.items()), sep="\n"
)
print(f"with dropout and a table of scores, by the formula: {masks:.0f}")

# %%
bars = {name: {"activations": nbytes} for name, nbytes in kept.items()}
plot_held(bars, formula, title="What a block of a GPT keeps, counted and by formula")

# %% [markdown]
# One rank keeps 32 bytes for each number: 34 without the two masks. What is above 32 are the 4
# bytes of the tiles for each position and head, and two numbers of each norm. With dropout and a
# table of scores there would be 74. So tiles do here what the paper calls *selective
# recomputation*: scores are computed again, and nothing else.
#
# Four ranks that split the products hold a quarter of 24 bytes, and all of the other 8. If they
# split the text between the products as well, the formula divides all 32 by four. The count says
# more: here our code differs from the paper. Ours gathers the whole text for two products and
# keeps it, $2 \cdot 2$ bytes for each number. The paper keeps the rank's own part, and gathers
# once more in the backward pass. It is the bargain of stage 3: one more all-gather, less memory.
#
# ## 2. States on the host · *intermediate*
#
# A single GPU has no other rank to share with. But its host has memory too, behind a slow link.
# Optimizer states can wait there, because they are needed *once* a step. AxoNN (Singh and Bhatele
# 2022) fetches them **bucket by bucket**. The device has room for two buckets. While one is
# updated and stored, the next one comes.
#
# ```text
# to device | fetch 0 | fetch 1          | fetch 2          |
# device              | update 0         | update 1         | update 2         |
# to host             |          store 0 |          store 1 |          store 2 |
# ```
#
# With $B$ buckets, $t$ seconds to move one and $u$ to update it, that takes $(B+1)\,t + B\,u$
# instead of $B\,(2t + u)$.
#
# **Exercise.** Rank 0 is the device, with `weights` and `gradient`; rank 1 is the host, with
# `moment`. All other ranks return at once. No message may be longer than `bucket` numbers. The
# next bucket must be on its way while this one is updated and sent back. `comm.irecv(x, 1)` begins
# to receive into `x` and returns at once. Call `wait()` of what it returned; then `x` is filled.
#
# The cell after yours tries it with 8 buckets, each of which travels there and back. Such a
# message takes 0.81 ms, and an update takes no time there. The picture shows when each rank sends
# and receives.


# %% name="11.offload" tags=["answer"]
def offloaded_step(comm, weights, gradient, moment, bucket, rate):
    """One step of momentum 0.9: weights on rank 0, moment on rank 1, both changed in place."""
    places = [np.empty(bucket), np.empty(bucket)]  # rank 0 has room for two buckets
    ### BEGIN SOLUTION
    if comm.rank == 1:
        parts = [moment[start : start + bucket] for start in range(0, len(moment), bucket)]
        for number, part in enumerate(parts):
            comm.send(part, 0)
            if number:
                comm.recv(parts[number - 1], 0)
        comm.recv(parts[-1], 0)
    if comm.rank == 0:
        coming = comm.irecv(places[0][: len(weights)], 1)
        for start in range(0, len(weights), bucket):
            coming.wait()
            mine, following = weights[start:][:bucket], weights[start + bucket :][:bucket]
            if len(following):
                coming = comm.irecv(places[1][: len(following)], 1)
            state = places[0][: len(mine)]
            state[:] = 0.9 * state + gradient[start:][:bucket]
            mine -= rate * state
            comm.send(state, 1)
            places.reverse()
    ### END SOLUTION


# %%
def device_and_host(comm, step):
    weights, gradient, moment = np.zeros(800), np.ones(800), np.ones(800)
    given = (weights, gradient, None) if comm.rank == 0 else (None, None, moment)
    step(comm, *given, bucket=100, rate=0.1)


run = simulate(device_and_host, 2, network=Uniform(10e-6, 1e6), step=offloaded_step)
print(f"{run.time * 1e3:.1f} ms; 16 messages one after the other: {16 * 0.81:.1f} ms")
run.timeline.plot()

# %% name="11.offload" tags=["check"]
check("11.offload", offloaded_step)
### BEGIN HIDDEN TESTS
judge("11.offload", offloaded_step, ranks=(2, 5), seed=114)
### END HIDDEN TESTS

# %% [markdown]
# The library does the same with real optimizer states, in each of the three stages. Where there is
# no GPU, its device is *described*: the tensors are your computer's, but the device counts what it
# hands out, and refuses more than it has. Here are ten million weights with Adam. Of 80 MB of
# states at most two buckets are on the device.

# %%
from torch import ones, zeros

from ddl_teach.networks.memory.device import DeviceMemory
from ddl_teach.networks.memory.offload import Offloaded
from ddl_teach.training.optimizers.adam import Adam

weights, device = zeros(10_000_000), DeviceMemory(capacity=20 * 2**20)
Offloaded(weights, Adam(0.1), 2**20, device).step(ones(10_000_000))
assert 2 * weights.nbytes + device.most == theory.offloaded(10_000_000, 2**20)
print(f"at most {device.most:,} bytes of states on the device, of {2 * weights.nbytes:,}")

# %% [markdown]
# ## 3. A plan for a given machine · *intermediate*
#
# Now all of it together. Eight GPUs train a network of 12 layers by data parallelism, and each has
# **14 GB of memory**. Early layers have large activations, late layers large weights. A layer's
# backward pass takes twice as long as its forward pass. Its gradient has as many bytes as its
# weights, and Adam's states have six times as many. The next cell shows what a layer costs.

# %%
from ddl_class.exercises.unit_11.machine import LAYERS, play

for place, layer in enumerate(LAYERS):
    print(f"layer {place:2}: {layer.seconds * 1e3:2.0f} ms forward, activations "
          f"{layer.activations / 1e6:4.0f} MB, weights {layer.weights / 1e6:4.0f} MB")  # fmt: skip

# %% [markdown]
# For each layer you choose three words:
#
# | | | |
# |---|---|---|
# | activations | `"keep"` | they stay from the forward to the backward pass |
# | | `"again"` | they are dropped, and the backward pass computes them again |
# | | `"host"` | they go to the host after the forward pass, and come back |
# | weights | `"whole"` | whole on each GPU; new ones are gathered after the update |
# | | `"shards"` | an eighth on each GPU, gathered for each pass, dropped after it |
# | states | `"here"` | on the GPU: an eighth of them, as in stage 1 |
# | | `"host"` | that eighth lies on the host; it comes for the update and goes back |
#
# Four things work side by side: the GPU, the network to the other GPUs (100 GB/s), the cable to
# the host and the cable from it (50 GB/s each). Each does its jobs in the order in which they were
# asked for. When a pass begins, the GPU asks for what the next pass needs. After a backward pass,
# the layer's gradient goes over the network. Then the layer's weights are updated.
#
# `play(plan)` plays a step. It also says where the GPU waited. Here is the simplest plan of all:

# %%
print(play([("keep", "whole", "here")] * 12))

# %% [markdown]
# It does not fit. With weights in shards it needs less memory, but does not fit either:

# %%
print(play([("keep", "shards", "here")] * 12))

# %% [markdown]
# The step is even shorter, although the GPU waits for the last layers: no weights are gathered
# after the last update. The next plan fits. It waits a little, and it computes each layer again:

# %%
print(play([("again", "shards", "host")] * 12))

# %% [markdown]
# **Exercise, with a goal.** Find a plan that holds at most **14 GB** at any time, and whose step
# takes at most **535 ms**. How is up to you: by thinking, by trial, or by a program that searches.
# Where is a cable free while the GPU computes? Which layer is cheap to compute again? The check
# also says how fast the best plan is that we know.


# %% name="11.plan" tags=["answer"]
def my_plan():
    """Return 12 triples of words, as ("keep", "whole", "here"), for layers 0 to 11."""
    ### BEGIN SOLUTION
    # The first seven layers hold most: no two neighbours give theirs to the cable.
    first = ["host", "again", "host", "keep", "host", "keep", "host"]
    return [(word, "shards", "host") for word in [*first, *["keep"] * 5]]
    ### END SOLUTION


# %%
print(play(my_plan()))

# %% name="11.plan" tags=["check"]
check("11.plan", my_plan)
### BEGIN HIDDEN TESTS
judge("11.plan", my_plan)
### END HIDDEN TESTS

# %% [markdown]
# The picture shows what your plan holds over a step, beside two simple ones.

# %%
from ddl_class.plots.memory import plot_held_over_time

simple = ("keep", "whole", "here"), ("again", "shards", "host")

# %%
curves = {"keep all": play([simple[0]] * 12).held, "keep nothing": play([simple[1]] * 12).held}
curves["yours"] = play(my_plan()).held
plot_held_over_time(curves, room=14e9, title="Your plan, and two simple ones")

# %% [markdown]
# Weights in shards save memory and time here, because most of their messages hide behind the
# passes. States on the host hide behind the backward pass. The activations of the first layers are
# too large for the cable, unless the layers between them give it time: by being kept, or by being
# computed again. The best plan that we know was found by a program that changed a word or two at a
# time. We do not know whether a better one exists.
#
# ## What you said
#
# Your predictions of this unit, beside what was found. One of them belongs to the first notebook.

# %%
from ddl_class import predictions

predictions("11")
progress()

# %% [markdown]
# ## Three questions
#
# **1.** The activations of a layer can go to the host while the next layers are computed. Why is
# that hard for the last layers?
#
# <details><summary>An answer</summary>
#
# The backward pass begins with them. There is no time to send them and to fetch them back. But
# they are also the first that are dropped, so it costs least to keep them.
#
# </details>
#
# **2.** Which is cheaper, to compute a layer again or to fetch its activations from the host?
#
# <details><summary>An answer</summary>
#
# Compare the seconds of its forward pass with its bytes divided by the bandwidth of the cable.
# Only the part of the cable's time counts that does not hide behind other work. A layer with few
# operations for each byte is cheap to compute again.
#
# </details>
#
# **3.** Why are optimizer states a better choice for the host than weights?
#
# <details><summary>An answer</summary>
#
# They are needed once a step, the weights twice in each micro-batch. And with Adam in half
# precision there are six times as many bytes of them.
#
# </details>
#
# ## Where to read on
#
# - T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training deep nets with sublinear memory
#   cost", 2016.
# - A. Griewank and A. Walther, "Algorithm 799: revolve", *ACM Transactions on Mathematical
#   Software*, 2000: the best plans for even chains, long before deep learning.
# - V. Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022:
#   what a layer keeps, and what to compute again.
# - O. Beaumont and others, "Optimal checkpointing for heterogeneous chains", 2019.
# - J. Ren and others, "ZeRO-Offload: democratizing billion-scale model training", *USENIX ATC*,
#   2021: the update itself on the host.
# - S. Singh and A. Bhatele, "AxoNN: an asynchronous, message-driven parallel framework for
#   extreme-scale deep learning", *IPDPS*, 2022: states in buckets, and pipelines that gain from
#   it.
# - S. Rajbhandari, O. Ruwase, J. Rasley, S. Smith and Y. He, "ZeRO-Infinity: breaking the GPU
#   memory wall for extreme scale deep learning", *SC*, 2021: shards of all ranks on disks, too,
#   read by all ranks at the same time.
