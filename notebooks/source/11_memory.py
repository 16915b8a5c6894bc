# %% [markdown]
# # Memory
#
# **Where did the memory go?**
#
# A network of 7.5 billion weights, in half precision, has 15 GB of weights. With Adam a GPU with
# 80 GB of memory cannot train it: not even a batch of one example fits. Something else fills the
# memory, several times as much as the weights. In this unit you find out what it is, and you write
# the three things that large models are trained with: **sharding**, where each rank keeps a part
# of what all of them kept before; **offload**, where what is needed once a step waits somewhere
# else; and **checkpointing**, where what was computed is forgotten and computed again.
#
# *Beginners* take sections 1 to 3, 5 and 8, *intermediate* readers all but the last part
# of 8. You need unit 06, whose ring you will use, and unit 08. It takes about two hours.
#
# ## 1. What is in there · *beginner*
#
# Four things are in the memory while a network is trained:
#
# - its **weights**,
# - a **gradient** for each weight,
# - what the **optimizer** remembers about each weight. Momentum keeps one number; Adam keeps two,
#   a mean and a mean square (Kingma and Ba 2015). And where weights are in half precision, it
#   keeps a copy of each in single precision: a small step would be rounded away (unit 04);
# - the **activations**: whatever the forward pass computed and the backward pass will need.
#
# ### Predict
#
# Write numbers in place of the dots.

# %%
from dataclasses import asdict

import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.memory import plot_held, plot_over_time, plot_tradeoff
from ddl_teach.comm import Uniform, split_evenly

# %%
engines = Engines(4)
predict("11.weights", ...)
predict("11.hundred", ...)

# %% [markdown]
# Now look. The ledger of this course counts messages; here is one for memory. It counts the bytes
# that really stand behind tensors. Below it is asked in the middle of a step of a small GPT in
# half precision, after the backward pass; the activations were counted where autograd kept them.

# %%
from torch import bfloat16

from ddl_class.notebook import gloo
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import train
from ddl_teach.networks.models.data import batches, characters, digits
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.theory import memory as theory
from ddl_teach.training.optimizers.adam import Adam

# %%
given = {"batches": batches(characters(), 2, 1), "keep": resident(Adam()), "timeout": 100}
run = engines.run(train, 1, stage=1, model=gpt(width=64).to(bfloat16), **given)
held = run.results[0].held
reveal("11.weights", 100 * held.weights / (held.total - held.activations))

# %%
share = held.states / (held.total - held.activations)
title = f"A small GPT on one rank: {share:.0%} without activations are optimizer states"
plot_held({"one rank": asdict(held)}, title=title)

# %% [markdown]
# ### The surprise
#
# Of 16 bytes for each weight only 2 are the weight. Two are its gradient, and **12 belong to the
# optimizer**: the copy in single precision, the mean, and the mean square, of 4 bytes each. With
# 7.5 billion weights that is 120 GB. So whoever shrinks the weights alone has missed the point.
#
# The activations are another matter: they grow with the batch and with the length of the text, not
# with the number of weights. We come back to them in section 7.
#
# ## 2. Stage 1: the states · *beginner*
#
# In data parallelism all ranks hold the same weights. They get the same sum of gradients, so they
# compute the same update and keep the same states: *P* times the same 12 bytes. Rajbhandari,
# Rasley, Ruwase and He (2020) asked why, and called the answer ZeRO:
#
# ```text
#     gradients      [ a0 | a1 | a2 | a3 ]   on each rank its own
#                            |
#                     reduce-scatter          rank r gets the sum of part r
#                            |
#     states               [ r ]              rank r updates its part of the weights
#                            |
#                       all-gather            everybody gets all parts
#                            |
#     weights        [ w0 | w1 | w2 | w3 ]   the same on each rank
# ```
#
# You know the two outer steps: together they are an all-reduce. The update just moved in between,
# so **not a byte more is sent**. Here are the two halves of the ring, as you wrote them in
# unit 06.


# %%
def reduce_scatter(comm, x):
    """Return chunk r of the sum of all x on rank r, a view of x; the rest of x is scratch."""
    rank, size = comm.rank, comm.size
    chunks, arriving = split_evenly(x, size), split_evenly(np.empty_like(x), size)
    for step in range(1, size):
        out, into = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(chunks[out], (rank + 1) % size, arriving[into], (rank - 1) % size)
        chunks[into] += arriving[into]
    return chunks[rank]


# %%
def allgather(comm, x):
    rank, size, chunks = comm.rank, comm.size, split_evenly(x, comm.size)
    for step in range(size - 1):
        out, into = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(chunks[out], (rank + 1) % size, chunks[into], (rank - 1) % size)


# %% [markdown]
# **Exercise.** Write one step of gradient descent with momentum:
#
# $$m \leftarrow 0.9\,m + g,\qquad w \leftarrow w - \text{rate} \cdot m,$$
#
# where $g$ is the *mean* of all ranks' gradients. `weights` and `gradient` are whole; `moment` is
# only this rank's part, chunk $r$ as `split_evenly` cuts. Change `weights` and `moment` in place.
# Are you stuck? `hint("11.states")` in a cell of its own helps.


# %% name="11.states" tags=["answer"]
def sharded_step(comm, weights, gradient, moment, rate):
    """One step of momentum 0.9, in place: all weights, and this rank's part of the moment."""
    own = split_evenly(weights, comm.size)[comm.rank]
    ### BEGIN SOLUTION
    mean = reduce_scatter(comm, gradient) / comm.size
    moment *= 0.9
    moment += mean
    own -= rate * moment
    allgather(comm, weights)
    ### END SOLUTION


# %%
def try_it(comm, step):
    weights, gradient = np.zeros(8), np.arange(8.0) * (comm.rank + 1)
    step(comm, weights, gradient, moment := np.zeros(2), rate=0.4)
    return weights, moment


print(*simulate(try_it, 4, step=sharded_step).results, sep="\n")

# %% name="11.states" tags=["check"]
check("11.states", sharded_step)
### BEGIN HIDDEN TESTS
judge("11.states", sharded_step, ranks=(6, 7, 12), seed=111)
### END HIDDEN TESTS

# %% [markdown]
# Each rank should end with the same weights, 0, -1, -2, ..., -7, and with a moment of its own. The
# 12 bytes of states have become $12/P$.
#
# ## 3. Stage 2: the gradients · *beginner*
#
# A rank that updates only its part of the weights needs only that part of the gradients. The
# backward pass begins with the last layer. As soon as its gradient is there, sum it over the ranks
# and keep your part; the memory of the rest is free for the next layer's.
#
# **Exercise.** `gradients` is a list with one vector a layer. Put in the place of each this rank's
# part of the mean over all ranks. Mind one thing: `reduce_scatter` returns a *view*, and as long
# as anybody looks at a part of an array, all of it stays in memory.


# %% name="11.gradients" tags=["answer"]
def keep_own(comm, gradients):
    """Replace each gradient in the list by this rank's part of the mean, and nothing else."""
    ### BEGIN SOLUTION
    for place, gradient in enumerate(gradients):
        gradients[place] = reduce_scatter(comm, gradient) / comm.size
    ### END SOLUTION


# %% name="11.gradients" tags=["check"]
check("11.gradients", keep_own)
### BEGIN HIDDEN TESTS
judge("11.gradients", keep_own, ranks=(6, 7, 12), seed=112)
### END HIDDEN TESTS

# %% [markdown]
# From here on no rank has the whole gradient, and a habit of every training script breaks without
# a sound: to *clip* the gradient, that is to shorten it where its norm is above a limit. A rank
# that takes the norm of its own parts finds too small a number, and another one than its
# neighbour. Each would shorten its parts by another factor, and the step would point elsewhere.
#
# **Exercise.** `gradients` is a list of this rank's parts. Shorten them in place by
# $\min(1, \text{limit} / \text{norm})$, where the norm is that of all parts of *all* ranks,
# and return that norm. An all-reduce of an array with one number is enough:
# `reduce_scatter(comm, x)`, and then `allgather(comm, x)`.


# %% name="11.clip" tags=["answer"]
def clip(comm, gradients, limit):
    """Shorten all parts on all ranks by one factor; return the norm before."""
    ### BEGIN SOLUTION
    squares = np.array([sum((part**2).sum() for part in gradients)])
    reduce_scatter(comm, squares)
    allgather(comm, squares)
    norm = float(np.sqrt(squares[0]))
    for part in gradients:
        part *= min(1.0, limit / norm)
    return norm
    ### END SOLUTION


# %% name="11.clip" tags=["check"]
check("11.clip", clip)
### BEGIN HIDDEN TESTS
judge("11.clip", clip, ranks=(6, 7, 12), seed=117)
### END HIDDEN TESTS

# %% [markdown]
# In a training script nobody wants to do this by hand. `wrap` puts one line around any torch
# module, whatever the stage, and the rest of the script stays as it was, with any of torch's
# optimizers. Its `clip` is yours. Each stage should find the same norms, step for step.

# %%
from torch.nn import CrossEntropyLoss
from torch.optim import AdamW

from ddl_teach.networks.any_module.wrap import wrap


# %%
def norms_of(comm, stage, texts):
    parallel = wrap(comm, gpt(width=8, heads=2, blocks=1, length=16), stage=stage)
    optimizer, loss = AdamW(parallel.parameters()), parallel.loss(CrossEntropyLoss())
    norms = []
    for x, y in texts:
        optimizer.zero_grad()
        loss(parallel(x[comm.rank :: 4]).transpose(1, 2), y[comm.rank :: 4]).backward()
        norms.append(parallel.clip(0.5))
        optimizer.step()
    return norms


# %%
texts = batches(characters(16), size=8, steps=3)
norms = [engines.run(norms_of, stage=stage, texts=texts).results for stage in range(4)]
assert np.allclose(norms, norms[0][0], rtol=1e-4)
print("the gradients' norms in three steps, whatever the stage:", np.round(norms[0][0], 3))

# %% [markdown]
# ## 4. Stage 3: the weights · *intermediate*
#
# What is left is the weights themselves, and even they need not be whole. A layer's weights are
# used twice in a step: once forward, once backward. So gather them before, and forget them after:
#
# | | weights | gradients | states | a rank sends |
# |---|---|---|---|---|
# | data parallel | $bN$ | $bN$ | $KN$ | $2\frac{P-1}{P}\,bN$ |
# | stage 1 | $bN$ | $bN$ | $KN/P$ | $2\frac{P-1}{P}\,bN$ |
# | stage 2 | $bN$ | $bN/P$ | $KN/P$ | $2\frac{P-1}{P}\,bN$ |
# | stage 3 | $bN/P$ | $bN/P$ | $KN/P$ | $3\frac{P-1}{P}\,bN$ |
#
# for $N$ weights of $b$ bytes and $K$ bytes of states for each. Only now something is paid: half
# as many bytes again are sent.
#
# The layers here are $y = \tanh(xW)$. The next cell has their backward pass (the error of x and
# the gradient of the weights, from the error of y), and how a layer's whole weights are gathered
# from the parts of all ranks.


# %%
def layer_backward(x, y, weights, error):
    inner = error * (1 - y**2)
    return inner @ weights.T, x.T @ inner


def gathered(comm, part, width):
    whole = np.empty(width * width)
    split_evenly(whole, comm.size)[comm.rank][:] = part
    allgather(comm, whole)
    return whole.reshape(width, width)


# %% [markdown]
# **Exercise.** Write a forward and a backward pass over layers of which each rank has only a part.
# Go forward through `parts`, then back from `error = output - target` (the gradient of half the
# sum of squares). Return this rank's part of the mean gradient of each layer. At no time may more
# than one layer be whole; keeping the *outputs* of the layers is fine.


# %% name="11.parameters" tags=["answer"]
def sharded_gradients(comm, parts, x, target):
    """This rank's parts of the mean gradients, in the order of the layers."""
    width = x.shape[1]
    ### BEGIN SOLUTION
    outputs, own = [x], []
    for part in parts:
        outputs.append(np.tanh(outputs[-1] @ gathered(comm, part, width)))
    error = outputs[-1] - target
    for part in reversed(parts):
        y, weights = outputs.pop(), gathered(comm, part, width)
        error, gradient = layer_backward(outputs[-1], y, weights, error)
        own.append(reduce_scatter(comm, gradient.ravel()) / comm.size)
    return own[::-1]
    ### END SOLUTION


# %%
parts = [np.full(4, 0.1) for _ in range(3)]
run = simulate(sharded_gradients, 4, parts=parts, x=np.ones((2, 4)), target=np.zeros((2, 4)))
print(*run.results[0], [one.bytes_sent for one in run.ledger], "= 3 x 3/4 x 384", sep="\n")

# %% name="11.parameters" tags=["check"]
check("11.parameters", sharded_gradients)
### BEGIN HIDDEN TESTS
judge("11.parameters", sharded_gradients, ranks=(6, 7, 12), seed=113)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. What nobody has at home · *beginner*
#
# Now 7.5 billion weights on 64 ranks, the example of the ZeRO paper. First the formula: which
# stages fit into a GPU of 80 GB? (A GB is $10^9$ bytes; the picture counts in GiB, of $2^{30}$.)
#
# Then, what does it cost in time? A step of two stages runs on 64 simulated ranks of a good
# network (5 µs, 25 GB a second), with `Phantom`s in place of the weights, cut into 4 layers. While
# a layer is computed, the rank works; the messages of this simple program hide behind nothing,
# so it does not matter when they are sent.

# %%
from ddl_measure.experiments.layers import sharded_step as timed_step

billions = 7_500_000_000
stages = {f"stage {k}": theory.held(k, [billions], 64, weight=2, state=12) for k in range(4)}
assert [round(held.total / 1e9) for held in stages.values()] == [120, 31, 17, 2]
title = "7.5 billion weights on 64 ranks, by formula"
plot_held({name: asdict(held) for name, held in stages.items()}, title=title)


# %%
given = {"memory": 80e9, "network": Uniform(5e-6, 25e9), "trace": False}
for stage, layers in ((1, 4), (3, 4), (3, 16)):
    step = {"stage": stage, "weights": [billions // layers] * layers, "seconds": 0.8 / layers}
    run = simulate(timed_step, 64, **(step | given))
    sent, most = run.ledger[0].bytes_sent, run.memory.peak(0)
    formula = theory.held(stage, step["weights"], 64, weight=2, state=12).total
    print(f"stage {stage}, {layers:2} layers: {run.time:.2f} s, {sent / 1e9:.1f} GB sent a rank")
    print(f"    at most {most / 1e9:.1f} GB held, by formula {formula / 1e9:.1f} GB")
    assert sent == theory.sent(stage, step["weights"], 64, weight=2)

# %% [markdown]
# 120 GB, then 31, 17 and 2: the numbers of the paper. Stage 1 already fits into 80 GB. In stage 3
# each rank sends half as much again, and here a step takes longer by just that. A program that
# gathers the next layer while this one is computed hides it; unit 08 showed how.
#
# In stage 3 the simulated ranks hold more than the formula says: a layer that is gathered, and its
# gradient, are there for a moment. With a quarter of the network in one layer that is four times
# as much as all the rest; with 16 layers it is as much. So networks are sharded layer by layer.
#
# ## 6. Your own ranks · *intermediate*
#
# Now for real: the library's three stages train a network on digits, on your four engines. They do
# what yours do, with torch's layers in place of ours. First, do they end where a single process
# ends? Then the bytes: what the formula says each rank holds, beside what was measured.


# %%
network, data = mlp((64, 256, 256, 10)), batches(digits(flat=True), 32, 5)
given = {"model": network, "batches": data, "keep": resident(Adam(0.01)), "timeout": 100}
engines.run(train, stage=1, **given)  # once for nothing: the engines import torch
runs = {"1 rank": engines.run(train, 1, stage=1, **given)}
runs |= {f"4 ranks, stage {k}": engines.run(train, stage=k, **given) for k in (1, 2, 3)}
alone = runs["1 rank"].results[0].parameters
for name, run in runs.items():
    ends = [abs(one.parameters[k] - alone[k]).max() for one in run.results for k in alone]
    assert max(ends) < 1e-3
    print(f"{name}: {run.time * 1e3:.0f} ms, {run.results[0].sent:,} bytes sent by rank 0")

# %%
sizes = [64 * 256 + 256, 256 * 256 + 256, 256 * 10 + 10]
measured = {name: asdict(run.results[0].held) for name, run in runs.items()}
formulas = {k: theory.held(n, sizes, 4 if n else 1).total for n, k in enumerate(runs)}
lasting = {name: sum(row.values()) - row["activations"] for name, row in measured.items()}
assert lasting == formulas

# %%
again = [simulate(train, 4 if n else 1, stage=n or 1, threads=True, **given) for n in range(4)]
peaks = {name: run.memory.peak(0) for name, run in zip(runs, again, strict=True)}
plot_held(measured, formulas, simulated=peaks, title="By formula, simulated and measured")

# %% [markdown]
# The bars are measured on torch's own memory, at the end of the backward pass. The black lines are
# the formula: what lasts, without activations, agrees to the byte. The squares are the most that
# simulated ranks counted in the whole step: also a layer on its way, which the bars do not show.
#
# In single precision Adam's 8 bytes of states are half of 16, so stage 1 saves less than in half
# precision. And all four runs ended with the same weights, but for the last digits: sharding
# changes where numbers are, not what is computed.
#
# The times are of one run each, and compare nothing: so small a network needs no sharding.
#
# ## 7. States on the host · *intermediate*
#
# A single GPU has nobody to share with. But its host has memory, too, behind a link that is slow.
# Optimizer states are a good thing to put there, because they are needed *once* a step. AxoNN
# (Singh and Bhatele 2022) fetches them **bucket by bucket**: there is room for two buckets on the
# device. While one is updated and stored, the next one comes.
#
# ```text
#     host to device    | fetch 0 | fetch 1 | fetch 2 | fetch 3 |
#     device                      | update 0| update 1| update 2| update 3|
#     device to host              | store 0 | store 1 | store 2 | store 3 |
# ```
#
# With $B$ buckets, $t$ seconds to move one and $u$ to update it, that takes $(B+1)\,t + B\,u$
# instead of $B\,(2t + u)$.
#
# **Exercise.** Rank 0 plays the device, with `weights` and `gradient`; rank 1 plays the host, with
# `moment`. All other ranks return at once. No message may be longer than `bucket` numbers, and the
# next bucket must be under way while this one is updated and sent back. `comm.irecv(x, 1)` begins
# to receive into `x` and returns at once; `x` is filled once `wait()` of what it returned is over.


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
print(f"{run.time * 1e3:.1f} ms; one after the other: {16 * 0.81:.1f} ms")
run.timeline.plot()

# %% name="11.offload" tags=["check"]
check("11.offload", offloaded_step)
### BEGIN HIDDEN TESTS
judge("11.offload", offloaded_step, ranks=(2, 5), seed=114)
### END HIDDEN TESTS

# %% [markdown]
# The library does the same to real optimizer states, under any of the three stages. Its device is
# *described* where there is no GPU: its tensors are your computer's, but whatever it hands out is
# counted, and more than it has is refused. Ten million weights with Adam: 80 MB of states, of
# which at most two buckets are on the device.

# %%
from torch import ones, zeros

from ddl_teach.networks.memory.device import DeviceMemory
from ddl_teach.networks.memory.offload import Offloaded

weights, device = zeros(10_000_000), DeviceMemory(capacity=20 * 2**20)
Offloaded(weights, Adam(0.1), 2**20, device).step(ones(10_000_000))
assert 2 * weights.nbytes + device.most == theory.offloaded(10_000_000, 2**20)
print(f"at most {device.most:,} bytes of states on the device, of {2 * weights.nbytes:,}")

# %% [markdown]
# ## 8. Forget and compute again · *beginner*
#
# Now the activations. A forward pass through $L$ layers keeps $L$ outputs until the backward pass
# has come back to them. What if one keeps only some, and computes the others again? A **plan**
# says so in brackets: in `[[0, 1, 2], [3, 4, 5], 6, 7, 8]` layers 6 to 8 are kept. Of each inner
# list only the input is; when the backward pass comes to it, its layers are computed once more.
#
# Chen, Xu, Zhang and Guestrin (2016): cut $L$ layers into $k$ equal stretches. Then $k - 1$ inputs
# and one stretch of $L/k$ layers are held, about
#
# $$k + \frac{L}{k},\quad\text{least for } k = \sqrt L:\quad 2\sqrt L.$$
#
# **Exercise.** Return that plan for any number of layers. Leave the last stretch without brackets:
# the backward pass begins with it, so there is no point in forgetting it.


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
from ddl_teach.theory import checkpointing
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
# Equal stretches are not the best there is. When the last stretch but one is computed again, fewer
# inputs are held than at the end of the forward pass. So earlier stretches may be longer. And what
# is computed again may forget again: `[[[0, 1], 2], 3]`.
#
# Which plan computes the fewest layers in so much memory? Look at the first layer. Either it is
# kept, and the rest has one room less. Or it begins a stretch, of 1, 2, 3, ... layers: the rest
# has one room less, and later the stretch has all of it. With $T(n, r)$ the layers that are
# computed for $n$ layers in $r$ rooms,
#
# $$T(n, r) = \min\Big(1 + T(n-1, r-1),\ \min_k\; k + T(n-k, r-1) + T(k, r)\Big),$$
#
# a dynamic program, as in unit 03. The library's `cheapest` solves it, also for layers that are
# uneven (Beaumont and others 2019; for even ones Griewank and Walther 2000).
#
# Both kinds of plans, on a real chain: 36 layers of a network, their activations counted where
# autograd keeps them, and each layer's calls. Lines are the formulas, dots the measurement.

# %%
from torch import nn, randn

from ddl_teach.networks.memory.checkpointing import cost

chain36 = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(36)))
x = randn(16, 64)
plans = {"equal stretches": [checkpointing.equal_stretches(36, k) for k in (6, 4, 3, 2, 1)]}
plans["the best plan"] = [checkpointing.cheapest(chain, r) for r in (3, 4, 5, 6, 8, 16, 36)]

# %%
dots = {name: [cost(chain36, x, plan) for plan in those] for name, those in plans.items()}
lines = {k: [(x.nbytes * peak(p, chain), seconds(p, chain)) for p in v] for k, v in plans.items()}
assert dots == lines
assert peak(checkpointing.equal_stretches(100), Chain.even(100)) == 19
reveal("11.hundred", peak(shrinking_stretches(100), Chain.even(100)))

# %%
few = plans["the best plan"][2]
held, times = peak(few, chain), seconds(few, chain) / 36
plot_tradeoff(
    lines, dots, title=f"Of 36 activations {held} held, for {times:.1f} times the layers"
)

# %% [markdown]
# Chen's plan for 100 layers holds 19. The best plan that computes no layer three times holds 14:
# stretches of 14, 13, 12, ... layers, each one shorter than the one before, because it has less
# room; $14 \cdot 15 / 2$ is more than 100. In general it is about $\sqrt{2L}$.
#
# Real layers are uneven. `cheapest` of `ddl_teach.theory.checkpointing` takes what each layer
# costs and holds, and finds the best plan for them (Beaumont and others 2019).
#
# ## 9. What production systems do · *intermediate*
#
# Stage 1 is `ZeroRedundancyOptimizer` in PyTorch. Stage 3 is *fully sharded data parallel*
# (`fully_shard`); with `reshard_after_forward=False` weights stay whole from the forward pass to
# the end of the backward pass. DeepSpeed's ZeRO has all three stages, with offload. Below all of
# them are the same two collectives. Here is your stage 1 once more, in the words of
# torch.distributed, on your engines over gloo.


# %%
def torchs_step(comm, weights, gradient, moment, rate):
    gloo.allreduce(comm, np.zeros(1))  # here torch's ranks meet
    parts, mean = list(from_numpy(weights).chunk(comm.size)), np.empty_like(moment)
    distributed.reduce_scatter(from_numpy(mean), list(from_numpy(gradient).chunk(comm.size)))
    moment *= 0.9
    moment += mean / comm.size
    own = parts[comm.rank] - rate * from_numpy(moment)
    distributed.all_gather(parts, own)


# %%
from torch import distributed, from_numpy

run = engines.run(try_it, step=torchs_step, timeout=100)
assert all((weights == -np.arange(8.0)).all() for weights, _ in run.results)

# %% [markdown]
# Its vectors must divide by the number of ranks; that is why frameworks fill them up with zeros.
# What they have more: the next layer is gathered while this one is computed, and they run on GPUs,
# where that counts. (`tests/networks/test_sharding_against_torch.py` lays `fully_shard` beside our
# stage 3: the same gradients, and the same bytes but for that filling.) Checkpointing is
# `torch.utils.checkpoint` there, for one stretch that you choose.
#
# ### An all-gather of yours under torch's FSDP
#
# As in unit 08, torch's own program can run on simulated ranks, over messages that you send. Here
# `my_allgather` gathers the layers of `fully_shard`. `count_memory` lets each rank hold what its
# tensors hold, from the operation that makes them until torch drops them.


# %%
def my_allgather(comm, x):
    """Parts of `x` go round a ring, until every rank has all of them."""
    parts, rank = split_evenly(x, comm.size), comm.rank
    right, left = (rank + 1) % comm.size, (rank - 1) % comm.size
    for step in range(comm.size - 1):
        mine, next_one = (rank - step) % comm.size, (rank - step - 1) % comm.size
        comm.sendrecv(parts[mine], right, parts[next_one], left)


# %%
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy

from ddl_teach import torch_backend

images, labels = digits(flat=True)


# %%
def under_fsdp(comm, model, allgather):
    torch_backend.use(allgather=allgather)
    distributed.init_process_group("ddl_teach", rank=comm.rank, world_size=comm.size)
    mesh = init_device_mesh("cpu", (comm.size,))
    for module in (model[0], model[2], model[4], model):
        fully_shard(module, mesh=mesh)
    with torch_backend.count_memory(model):
        cross_entropy(model(images[:32]), labels[:32]).backward()
    return model[2].weight.grad.full_tensor().numpy()


# %% [markdown]
# Two runs, with your function and with the library's; and one process, for comparison.

# %%
given = {"model": mlp((64, 256, 256, 10)), "threads": True}
own = simulate(under_fsdp, 4, allgather=my_allgather, **given)
library = simulate(under_fsdp, 4, allgather="ring", **given)

# %%
cross_entropy(given["model"](images[:32]), labels[:32]).backward()
np.testing.assert_allclose(own.results, [given["model"][2].weight.grad] * 4, atol=1e-5)
for name, run in {"yours": own, "the library's": library}.items():
    print(f"{name:13} {run.ledger[0].bytes_sent:,} bytes sent, {run.memory.peak(0):,} held")

# %%
own.memory.plot(ranks=[0])

# %% [markdown]
# One process has the same gradient. Nothing says here how long computing takes, so it takes no
# time, and the picture's width is that of the messages. Memory rises where a layer is gathered and
# falls where it is dropped. In a spike of the backward pass, a gathered layer and its gradient are
# there together.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("11")

# %% [markdown]
# ## Three questions
#
# **1.** Stage 1 needs an optimizer that looks at each weight alone. LARS (unit 13) scales the step
# of a layer by the norm of its weights. What does it need besides?
#
# <details><summary>An answer</summary>
#
# The norms of whole layers, of which every rank has a part. One more all-reduce does it: each rank
# sends the sums of squares of its parts, one number a layer. That is little, but it is one more
# time to wait for everybody.
#
# </details>
#
# **2.** With sharded states a step sends as much as an all-reduce. Does it also *take* as long?
#
# <details><summary>An answer</summary>
#
# The same bytes, and less work: each rank updates only its part of the weights. But one thing is
# lost. The gradients' way can hide behind the backward pass, as in unit 08; the second half, which
# hands out weights, comes after the update, and behind it there is nothing. It can hide behind the
# next forward pass, layer by layer, if one waits for each layer where it is needed.
#
# </details>
#
# **3.** Checkpointing computes up to twice the forward pass. How much longer does a step take?
#
# <details><summary>An answer</summary>
#
# A third. A backward pass takes about twice the forward pass, so three become four. And where
# the memory that is saved allows a larger batch, a step of which every matrix product is larger,
# it can even be faster: that was the question of unit 03.
#
# </details>
#
# ## Where to read on
#
# - S. Rajbhandari, J. Rasley, O. Ruwase and Y. He, "ZeRO: memory optimizations toward training
#   trillion parameter models", *SC*, 2020: the three stages, and where memory goes.
# - Y. Zhao and others, "PyTorch FSDP: experiences on scaling fully sharded data parallel", *VLDB*,
#   2023: what it takes to make stage 3 fast.
# - J. Ren and others, "ZeRO-Offload: democratizing billion-scale model training", *USENIX ATC*,
#   2021: the update itself on the host.
# - S. Singh and A. Bhatele, "AxoNN: an asynchronous, message-driven parallel framework for
#   extreme-scale deep learning", *IPDPS*, 2022: states in buckets, and pipelines that gain from
#   it.
# - T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training deep nets with sublinear memory cost",
#   2016.
# - A. Griewank and A. Walther, "Algorithm 799: revolve", *ACM Transactions on Mathematical
#   Software*, 2000: the best plans for even chains, long before deep learning.
# - O. Beaumont and others, "Optimal checkpointing for heterogeneous chains", 2019.
#
# The library's versions stand in `ddl_teach/networks/memory`, one idea a file. `progress()` shows
# how far you have come. Unit 12 puts all ways of splitting together and asks which mix is best;
# there the pruned networks are as well, whose states are small because most weights are gone.
