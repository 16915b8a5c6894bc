# %% [markdown]
# # Memory
#
# **Where did the memory go?**
#
# A network of 7.5 billion weights, in half precision, has 15 GB of weights. With Adam, a GPU with
# 80 GB of memory cannot train it: not even a batch of one example fits. Something else fills the
# memory, and it is several times as large as the weights. In this unit you find out what it is.
# Then you write **sharding**: each rank keeps a part of what all ranks kept before. The second
# notebook of this unit, `11_offload_and_recompute`, has two more ways to save memory, and a
# puzzle.
#
# *Beginners* take sections 1 to 3 and 5, *intermediate* readers all. You need unit 06, whose ring
# you will use, and unit 08. Both notebooks together take about two hours.
#
# ## 1. What is in there · *beginner*
#
# Four things are in the memory while a network is trained:
#
# - its **weights**;
# - a **gradient** for each weight;
# - what the **optimizer** keeps for each weight, its *states*. Momentum keeps one number. Adam
#   keeps two: a mean and a mean square (Kingma and Ba 2015). Where weights are in half precision,
#   the optimizer also keeps a copy of each in single precision. Without it, small steps would be
#   rounded away (unit 04);
# - the **activations**: what the forward pass computed and the backward pass will need.
#
# ### Predict
#
# A network is trained with Adam, and its numbers are in half precision. Count the bytes of
# weights, gradients and optimizer states together. How many percent of them are weights? Write a
# number in place of the dots, in the second cell below.

# %%
from dataclasses import asdict

import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate
from ddl_class.plots.memory import plot_held
from ddl_teach.comm import Uniform, split_evenly

# %%
engines = Engines(4)
predict("11.weights", ...)

# %% [markdown]
# Now look. The ledger of this course counts messages; the second cell below counts memory. It
# counts the bytes that really stand behind tensors. It counts them in the middle of a step of a
# small GPT in half precision, after the backward pass. Activations are counted in the forward
# pass, where torch keeps them for the backward pass. The third cell draws all of it. (A KiB is
# 1,024 bytes, a MiB 1,024 KiB, and a GiB 1,024 MiB.)

# %%
from torch import bfloat16

from ddl_class.notebook import gloo
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import train
from ddl_teach.networks.models.data import batches, characters, digits, documentation
from ddl_teach.networks.models.gpt import gpt, gpt_of
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
title = f"A small GPT, activations aside: {share:.0%} are optimizer states"
plot_held({"one rank": asdict(held)}, title=title)

# %% [markdown]
# ### The surprise
#
# Of 16 bytes for each weight only 2 are the weight. Two are its gradient, and **12 belong to the
# optimizer**: the copy in single precision, the mean and the mean square, 4 bytes each. With
# 7.5 billion weights that is 90 GB of states, and 120 GB in all. So it does not help much to make
# the weights alone smaller.
#
# The activations are another matter: they grow with the batch and with the length of the text, not
# with the number of weights. The second notebook is about them.
#
# ### Three stages
#
# On $P$ ranks that train together, each can keep a part of these bytes. There are three stages.
# *Stage 1* shares out the states: each rank keeps $1/P$ of them. *Stage 2* shares out the
# gradients too, and *stage 3* also the weights.
#
# **Exercise.** A warm-up of three minutes: the bytes on one rank. The lines stand below, sorted by
# the alphabet, and two of them belong nowhere: put the others in order. *Ctrl+/* makes code of
# comments, *Alt+↑* and *Alt+↓* move lines, *Tab* indents what is selected. If you are stuck,
# `hint("11.held")` in a cell of its own helps.


# %% name="11.held" tags=["answer"]
def held_bytes(weights, ranks, stage):
    """The bytes on a rank, with 2, 2 and 12 bytes for each weight; stage 0 shares nothing."""
    ### BEGIN SOLUTION
    kinds = [12 * weights, 2 * weights, 2 * weights]
    for place in range(stage):
        kinds[place] = kinds[place] / ranks
    total = sum(kinds)
    return total
    ### END SOLUTION


# %%
for stage in range(4):
    print(f"stage {stage}: {held_bytes(7_500_000_000, 64, stage) / 1e9:.1f} GB")

# %% name="11.held" tags=["check"]
check("11.held", held_bytes)
### BEGIN HIDDEN TESTS
judge("11.held", held_bytes, seed=110)
### END HIDDEN TESTS

# %% [markdown]
# These are the numbers of the paper in which the stages stand. Now write the stages.
#
# ## 2. Stage 1: the states · *beginner*
#
# In data parallelism all ranks hold the same weights. They get the same sum of gradients, so they
# compute the same update and keep the same states: $P$ times the same 12 bytes. Rajbhandari,
# Rasley, Ruwase and He (2020) removed these copies. They call their method ZeRO:
#
# ```text
# gradients [ a0 | a1 | a2 | a3 ]  each rank has its own
#                     |
#              reduce-scatter        rank r gets the sum of part r
#                     |
# states            [ r ]            rank r updates part r of weights
#                     |
#                all-gather          each rank gets all parts
#                     |
# weights   [ w0 | w1 | w2 | w3 ]  the same on each rank
# ```
#
# You know the two outer steps: together they are an all-reduce. The update now stands between
# them, so **no byte more is sent**. Here are the two halves of the ring, as you wrote them in
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
    """Each rank has its own chunk of x; afterwards each has all of them."""
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
    moment = np.zeros(2)
    step(comm, weights, gradient, moment, rate=0.4)
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
# backward pass begins with the last layer. As soon as a layer's gradient is there, sum it over the
# ranks and keep your part. Then the memory of the rest is free for the next gradient.
#
# **Exercise.** A second warm-up. `gradients` is a list with one vector for each layer. Replace
# each vector by this rank's part of the mean over all ranks. Take care: `reduce_scatter` returns a
# *view*. As long as a view of an array exists, the whole array stays in memory.


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
# From here on no rank has the whole gradient. This breaks a common habit, and no error says so. To
# *clip* a gradient is to shorten it where its norm is above a limit. A rank that takes the norm of
# its own parts gets a number that is too small, and each rank gets another one. Each rank would
# shorten its parts by a factor of its own, and the step would point in another direction.
#
# **Exercise.** `gradients` is a list of this rank's parts. Shorten them in place by
# $\min(1, \text{limit} / \text{norm})$, where the norm is that of all parts of *all* ranks. Return
# that norm. An all-reduce of an array with one number is enough: first `reduce_scatter(comm, x)`,
# then `allgather(comm, x)`.


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
# In a training script you do not want to do this by hand. `wrap` is one line around any torch
# module, whatever the stage. The rest of the script stays as it was, with any of torch's
# optimizers. Its `clip` does what yours does, and its `loss` weights a rank's loss by the rank's
# share of the batch. Each stage should find the same norms in each step. The third cell trains
# four times. The engines load torch first, which takes some seconds, and most of a minute where
# cores are few.

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
given = {"texts": texts, "timeout": 100}
norms = [engines.run(norms_of, stage=stage, **given).results for stage in range(4)]
assert np.allclose(norms, norms[0][0], rtol=1e-4)
print("the gradients' norms in three steps, whatever the stage:", np.round(norms[0][0], 3))

# %% [markdown]
# ## 4. Stage 3: the weights · *intermediate*
#
# Now only the weights are whole, and they need not be. A layer's weights are used twice in a step:
# once forward, once backward. So gather them before each use, and drop them after it.
#
# Let a network have $N$ weights of $b$ bytes, and let the optimizer keep $K$ bytes of states for
# each. The table shows how many bytes a rank then holds, and how many it sends in a step:
#
# | | weights | gradients | states | a rank sends |
# |---|---|---|---|---|
# | data parallel | $bN$ | $bN$ | $KN$ | $2\frac{P-1}{P}\,bN$ |
# | stage 1 | $bN$ | $bN$ | $KN/P$ | $2\frac{P-1}{P}\,bN$ |
# | stage 2 | $bN$ | $bN/P$ | $KN/P$ | $2\frac{P-1}{P}\,bN$ |
# | stage 3 | $bN/P$ | $bN/P$ | $KN/P$ | $3\frac{P-1}{P}\,bN$ |
#
# Stage 3 is the first that costs messages: half as many bytes again.
#
# The layers here are $y = \tanh(xW)$. The next cell has their backward pass: from the error of y
# it computes the error of x and the gradient of the weights. It also has a function that gathers
# a layer's whole weights from the parts of all ranks.


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
# `parts` holds a flat vector for each layer; `gathered(comm, part, width)` makes the whole matrix
# of it. Go forward through `parts`, then back from `error = output - target` (the gradient of half
# the sum of squares). Return this rank's part of the mean gradient of each layer. At no time may
# more than one layer be whole. You may keep the *outputs* of the layers.
#
# The cell after yours tries it with three layers of 4 x 4 weights, which are 384 bytes. It prints
# the gradients that rank 0 returns, and how many bytes each rank sent.


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
print(*run.results[0], sep="\n")
print([one.bytes_sent for one in run.ledger], "bytes; 3 x 3/4 x 384 =", 3 * 3 * 384 // 4)

# %% name="11.parameters" tags=["check"]
check("11.parameters", sharded_gradients)
### BEGIN HIDDEN TESTS
judge("11.parameters", sharded_gradients, ranks=(6, 7, 12), seed=113)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. A large network, simulated · *beginner*
#
# Now 7.5 billion weights on 64 ranks, the example of the ZeRO paper. First the formula: which
# stages fit into a GPU of 80 GB? (A GB is $10^9$ bytes; the picture counts in GiB, of $2^{30}$.)
#
# Then the time. A step runs on 64 simulated ranks of a good network (5 µs a message, and 25 GB a
# second). A `Phantom` stands in place of the weights: it has a size and no numbers. The network is
# cut into 4 or 16 layers, and computing takes 0.8 s in all. This simple program hides no message
# behind computing: the time of all messages comes on top.

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
# each rank sends half as much again, and here the step takes longer by the time of those messages.
# A program that gathers the next layer while this one is computed can hide it; unit 08 showed how.
#
# In stage 3 the simulated ranks hold more than the formula says. For a moment, a layer that is
# gathered and its gradient are both there. With a quarter of the network in one layer, that is
# four times as much as all the rest; with 16 layers it is about as much. So networks are sharded
# layer by layer.
#
# ## 6. Your own ranks · *intermediate*
#
# Now on real ranks: the library's three stages train the GPT of unit 08, on your four engines.
# They do what yours do, with torch's layers in place of ours. First, do they have the losses of a
# single process? Then the bytes: what the formula says each rank holds, beside what was measured.
# The second cell prints these bytes without those of activations.
#
# **Question.** One matrix embeds the characters, in the first layer, and scores them in the last.
# Stage 3 has each layer whole only while it is needed. How long must this matrix stay whole? The
# first cell trains on the engines, the third on simulated ranks. Each takes some seconds, and a
# minute where cores are few.


# %%
network, data = gpt_of("100k"), batches(documentation(64)[0], 8, 5)
given = {"model": network, "batches": data, "keep": resident(Adam(0.001)), "timeout": 100}
engines.run(train, stage=1, **given)  # once for nothing: the engines import torch
runs = {"1 rank": engines.run(train, 1, stage=1, **given)}
runs |= {f"4 ranks, stage {k}": engines.run(train, stage=k, **given) for k in (1, 2, 3)}
for name, run in runs.items():
    losses = np.sum([one.losses for one in run.results], axis=0)
    assert np.allclose(losses, runs["1 rank"].results[0].losses, atol=1e-4)
    print(f"{name}: {run.time * 1e3:.0f} ms, {run.results[0].sent:,} bytes sent by rank 0")

# %%
sizes = [sum(w.numel() for w in child.parameters()) for child in network[:-1]]  # the head is tied
measured = {name: asdict(run.results[0].held) for name, run in runs.items()}
formulas = {k: theory.held(n, sizes, 4 if n else 1).total for n, k in enumerate(runs)}
lasting = {name: sum(row.values()) - row["activations"] for name, row in measured.items()}
assert lasting == formulas
print(*(f"{name}: {nbytes:,} bytes" for name, nbytes in lasting.items()), sep="\n")

# %%
again = [simulate(train, 4 if n else 1, stage=n or 1, threads=True, **given) for n in range(4)]
peaks = {name: run.memory.peak(0) for name, run in zip(runs, again, strict=True)}
plot_held(measured, formulas, simulated=peaks, title="By formula, simulated and measured")

# %% [markdown]
# The bars are measured on torch's own memory, at the end of the backward pass. The black lines are
# the formula, which leaves out activations: it agrees to the byte. The squares are the most that
# simulated ranks counted in the whole step. They include a layer on its way, which the bars do not
# show. Of activations a bar has the most that there was. That was before all gradients were there,
# so a square may lie inside its bar.
#
# In single precision Adam's 8 bytes of states are half of 16, so stage 1 saves less than in half
# precision. All four runs had the same losses, but for the last digits: sharding changes where
# numbers are, not what is computed. And the tied matrix? It stays whole from the first layer to
# the last, and backward once more. So it is gathered as often as any other, but held longest.
#
# The times are of one run each, so they compare nothing; such a small network needs no sharding.
# The next cell shows the stages with a GPT of 124 million weights, as they were recorded on GPUs.
# If nothing is recorded yet, it says so.

# %%
from ddl_class.notebook.beside_gpus import recorded_table

print("yours, five steps of 100 thousand weights:")
print(*(f"{name}: {run.time * 1e3:.0f} ms" for name, run in runs.items()), sep="\n")
print(recorded_table("step of a GPT"))

# %% [markdown]
# ## 7. What production systems do · *intermediate*
#
# Stage 1 is `ZeroRedundancyOptimizer` in PyTorch. Stage 3 is *fully sharded data parallel*
# (`fully_shard`). With `reshard_after_forward=False` weights stay whole from the forward pass to
# the end of the backward pass. DeepSpeed's ZeRO has all three stages, with offload. All of them
# use the same two collectives. Here is your stage 1 once more with the calls of torch.distributed,
# on your engines over gloo.


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
print("torch's calls:", *run.results[0])

# %% [markdown]
# Here the length of a vector must be a multiple of the number of ranks. That is why frameworks
# fill vectors up with zeros. Frameworks also gather the next layer while this one is computed, and
# they run on GPUs, where that counts. (`tests/networks/test_sharding_against_torch.py` compares
# `fully_shard` with our stage 3: the same gradients, and the same bytes but for those zeros.)
#
# ### An all-gather of yours under torch's FSDP
#
# As in unit 08, torch's own program can run on simulated ranks, over messages that you send. FSDP
# is torch's short name for stage 3. Here the `allgather` of section 2 gathers the layers of
# `fully_shard`. `count_memory` counts for each rank what its tensors hold, from the operation that
# makes them until torch drops them.

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
# Two runs, one with `allgather` and one with the library's ring. They take some seconds. Then one
# process, for comparison.

# %%
given = {"model": mlp((64, 256, 256, 10)), "threads": True}
own = simulate(under_fsdp, 4, allgather=allgather, **given)
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
# Your predictions of this unit, beside what was found. One of them belongs to the second notebook.

# %%
from ddl_class import predictions

predictions("11")
progress()

# %% [markdown]
# ## Three questions
#
# **1.** Stage 1 needs an optimizer that looks at each weight alone. LARS (unit 13) scales the step
# of a layer by the norm of its weights. What else does it need?
#
# <details><summary>An answer</summary>
#
# The norms of whole layers, of which each rank has a part. One more all-reduce gives them: each
# rank sends the sums of squares of its parts, one number for each layer. That is little, but all
# ranks wait for each other once more.
#
# </details>
#
# **2.** With sharded states a step sends as much as an all-reduce. Does it also *take* as long?
#
# <details><summary>An answer</summary>
#
# It sends the same bytes and does less work: each rank updates only its part of the weights. But
# something is lost. The messages of the gradients can hide behind the backward pass, as in unit
# 08. The second half, which hands out weights, comes after the update, and there is no work left
# to hide it. It can hide behind the next forward pass, if each layer is waited for only where it
# is needed.
#
# </details>
#
# **3.** Checkpointing (the second notebook) computes up to twice the forward pass. How much longer
# does a step take?
#
# <details><summary>An answer</summary>
#
# A third. A backward pass takes about twice the forward pass, so three become four. Where the
# memory that is saved allows a larger batch, each matrix product is larger, and a step can even be
# faster: that was the question of unit 03.
#
# </details>
#
# ## Where to read on
#
# - S. Rajbhandari, J. Rasley, O. Ruwase and Y. He, "ZeRO: memory optimizations toward training
#   trillion parameter models", *SC*, 2020: the three stages, and where memory goes.
# - Y. Zhao and others, "PyTorch FSDP: experiences on scaling fully sharded data parallel", *VLDB*,
#   2023: what makes stage 3 fast.
# - J. Zhao et al., "GaLore: memory-efficient LLM training by gradient low-rank projection",
#   *ICML*, 2024: another answer to the same table. Adam keeps its states for a gradient of low
#   rank, and they shrink without a second rank.
# - Z. Wang et al., 2026, *arXiv*: veScale-FSDP, "flexible and high-performance FSDP at scale".
#   Its shards are whole blocks, as Muon and numbers of eight bits want them.
#
# The library's versions stand in `ddl_teach/networks/memory`, one idea a file. `progress()` shows
# how far you have come. Go on with `11_offload_and_recompute`. Unit 12 puts all ways of splitting
# together and asks which mixture is best.
