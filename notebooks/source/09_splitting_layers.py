# %% [markdown]
# # Splitting layers
#
# **Where must the all-reduce go?**
#
# In unit 08 each rank had the whole network and a part of the examples. Sometimes that will not
# do. A layer may be too large for one device, or its gradients too many to be summed in every
# step; or there are more ranks than examples. Then the *layer* itself is split: its neurons, or
# the image that it looks at.
#
# Splitting is easy. The work is in knowing where ranks must speak with each other, and where they
# need not. You write a pair of layers that gets by with one sum, the exchange of edges between
# parts of an image, and a network of which one half is split one way and the other half another
# way. You need unit 06; unit 08 helps. *Beginners* can leave out what is marked *intermediate* or
# *advanced*. It takes about two hours.
#
# **Predict.** The second cell below asks for three numbers before anything runs. Write them in
# place of the dots.

# %%
import numpy as np
from torch import device, from_numpy, randn

from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.comm.arrays import split_evenly
from ddl_teach.comm.networks import Machine, Uniform
from ddl_teach.course import Engines, check, hint, judge, predict, progress, reveal, yours

engines = Engines(4)

# %%
predict("09.work", ...)
predict("09.tiles", ...)
predict("09.crossover", ...)

# %% [markdown]
# ## 1. Two layers · *beginner*
#
# A fully connected layer multiplies its inputs $x$ with a matrix. Two of them in a row, with a
# ReLU between them (what is negative becomes zero), are
#
# $$y = \mathrm{relu}(x\,A)\,B + \text{bias}.$$
#
# Each rank is to have a part of $A$ and a part of $B$, and $x$ is on all of them. There are two
# ways to cut a matrix. With some **columns** of $A$ a rank computes some columns of $x\,A$, and
# these are complete. With some **rows** of $B$ it needs only the same columns of what goes in,
# and its result is a summand: the ranks' results must be added up. So cut $A$ by columns and $B$
# by rows, and they fit together.

# %%
from ddl_teach.plots.split_layers import plot_cuts, plot_either_way, plot_ways

matrices = [("x", 4, 5, ""), ("A", 5, 8, "columns"), ("relu(x A)", 4, 8, "columns"),
            ("B", 8, 5, "rows"), ("y", 4, 5, "sum")]  # fmt: skip
plot_cuts(matrices, 4, title="Columns, then rows: nobody needs to speak before y")

# %% [markdown]
# And the other way round, rows first? Then $x\,A$ is a sum of parts, and a rank would have to take
# the ReLU of a *part*. But if one rank has 3 and another one -5, the ReLU of the sum is 0, and the
# sum of the ReLUs is 3. So the ranks would have to speak *before* the ReLU, and once more after
# $B$. **The nonlinearity decides.** Without it there would be no trouble, but two layers without
# one are only one layer.
#
# For adding up you have your ring of unit 06, here in a few lines: chunks travel to the right,
# once round to be added up and once more to be handed out.
#
# **Exercise.** The pair. Rank $r$ is given all of `x`, its columns `a` of $A$, its rows `b` of
# $B$, and the bias of the second layer, which all ranks have. Each must return all of $y$.


# %%
def all_reduce(comm, x):
    """The sum of all ranks' x, on every rank; your own x stays as it is."""
    total, size = np.array(x, order="C"), comm.size
    chunks = split_evenly(total, size)
    for step in range(1, 2 * size - 1):
        into = chunks[(comm.rank - step - 1) % size]
        arriving, right, left = np.empty_like(into), (comm.rank + 1) % size, (comm.rank - 1) % size
        comm.sendrecv(chunks[(comm.rank - step) % size], right, arriving, left)
        into[...] = into + arriving if step < size else arriving
    return total


# %% name="09.pair" tags=["answer"]
def pair(comm, x, a, b, bias):
    """y = relu(x A) B + bias on every rank, from this rank's columns of A and rows of B."""
    ### BEGIN SOLUTION
    return all_reduce(comm, np.maximum(x @ a, 0) @ b) + bias
    ### END SOLUTION


# %% name="09.pair" tags=["check"]
check("09.pair", pair)
### BEGIN HIDDEN TESTS
judge("09.pair", pair, ranks=(2, 6, 7), seed=91)
### END HIDDEN TESTS

# %% [markdown]
# If the check said something of a bias: a vector that is on every rank and is added before the
# sum is added P times. It is the most common mistake of all, and training goes on as if nothing
# were wrong.
#
# ## 2. Backwards · *intermediate*
#
# Where does the sum go in the backward pass? Follow a value. $x$ was *copied* to all ranks, and
# each used it for something of its own. So its gradient is the **sum** of what all of them say.
# $y$ was a *sum* of the ranks' parts. So each part has the gradient of the sum itself: **copied**.
# What is a copy forwards is a sum backwards, and the other way round:
#
# | | forwards | backwards |
# |---|---|---|
# | into the pair: $x$ | copy | all-reduce |
# | out of the pair: $y$ | all-reduce | copy |
#
# The gradients of $A$ and $B$ need no word at all. Each rank has its own columns and rows, and all
# that is needed for their gradients.
#
# **Exercise.** `of_y` is the gradient of $y$, whole and the same on every rank. Return the
# gradient of `x`, whole, and those of this rank's `a` and `b`.


# %% name="09.pair_gradients" tags=["answer"]
def pair_gradients(comm, x, a, b, of_y):
    """The gradients of x (all of it), a and b (this rank's own), for the gradient of y."""
    h = x @ a
    ### BEGIN SOLUTION
    of_h = of_y @ b.T * (h > 0)
    return all_reduce(comm, of_h @ a.T), x.T @ of_h, np.maximum(h, 0).T @ of_y
    ### END SOLUTION


# %% name="09.pair_gradients" tags=["check"]
check("09.pair_gradients", pair_gradients)
### BEGIN HIDDEN TESTS
judge("09.pair_gradients", pair_gradients, ranks=(2, 6, 7), seed=92)
### END HIDDEN TESTS

# %%
from ddl_teach.theory import ring_bytes, split_layers

x, a, b = np.ones((6, 4)), np.ones((4, 16)), np.ones((16, 4))
sent = [own.bytes_sent for own in simulate(pair, 4, x=x, a=a, b=b, bias=b[0]).ledger]
assert sent == [ring_bytes.allreduce(6 * 4, 4, rank, 8) for rank in range(4)]

# %% [markdown]
# One sum forwards, one backwards, each as large as what goes in and out of the pair. With a batch
# of $N$ rows of $d$ numbers a rank sends $2\cdot\frac{2(P-1)}{P}\,N d$ numbers a step, as the
# ledger of your functions says to the byte. The width of the middle is nowhere in it: *make it as
# wide as you like, it never travels*.
#
# ## 3. A whole transformer · *intermediate*
#
# Once you know pairs you see them everywhere. **Attention**: the heads of a transformer know
# nothing of each other, so each rank takes some of them, whole. Queries, keys and values are
# column layers, the projection behind the heads is a row layer: a pair with attention for its
# nonlinearity. **The vocabulary**: each rank embeds and scores its own words. For the loss a rank
# needs the largest of all scores, the sum of all exponentials, and the score of the right word:
# *three numbers for each answer travel*, however many words there are.
#
# In the library a split layer takes the place of a layer. `Region` says what is around it:
# copied to all (`Replicated`), or cut along an axis (`Parted`). Then the sum on the way out
# becomes a *reduce-scatter*, and an *all-gather* on the way in fetches the rest, which is called
# sequence parallelism if the axis is that of positions. The next cell trains a small GPT on
# your four engines for five steps, and once more alone, and compares every parameter.

# %%
from ddl_teach.networks import twin
from ddl_teach.networks.models import alexnet, data, gpt, mlp
from ddl_teach.networks.tensor.gpt import split_gpt
from ddl_teach.networks.tensor.split import full_parameters


def train_gpt(comm, sequence):
    network = gpt.gpt(blocks=1).double()
    twin.train(network, texts, loss=split_gpt(network, comm, sequence=sequence))
    return full_parameters(network)


# %%
texts = data.batches(data.characters(16), size=4, steps=5)
tens = [(x.double(), y) for x, y in data.batches(data.digits(), size=24, steps=5)]  # for later
alone, text = twin.train(gpt.gpt(blocks=1).double(), texts).parameters, {"batch": 4, "length": 16}
for sequence in (False, True):
    run = engines.run(train_gpt, sequence=sequence, trace=False, timeout=100)
    difference = twin.largest_difference(run.results[0], alone)
    own = {"width": 32, "blocks": 1, "sequence": sequence}
    step = split_layers.total(split_layers.gpt_step(split_layers.Ring(4, 0, 8), **text, **own))
    print(f"largest difference {difference:.0e}, {step:,} bytes a step by the formula")
    assert difference < 1e-10

# %% [markdown]
# The same network to the last digits. Both ways send nearly the same; cut along the sequence, a
# rank keeps only a quarter of what lies between the split layers, and pays for it with the
# gradients of the norms, which now see a part of the sequence on each rank and must be summed.
#
# ## 4. Splitting the image · *beginner*
#
# A convolution has few weights and large images. So leave the weights whole, on every rank, and
# cut the *image*: rank 0 has the top strip, rank 1 the next, and so on. A 3 x 3 kernel at the edge
# of a strip needs one row of the neighbour's. These rows are called a **halo**. At the border of
# the image there is nobody, and the row is zeros, as padding would be.
#
# **Exercise.** Give the strip a row above and a row below. A row of an array can be sent as it
# is. Do not serve one neighbour and then the other: it may be busy with *its* other one, and so
# on up to rank 0. `comm.isend(row, to)` and `comm.irecv(row, source)` only begin a message and
# return a request; begin all of them, then `wait()` for each.


# %% name="09.with_halo" tags=["answer"]
def with_halo(comm, strip):
    """The strip with the edge rows of both neighbours around it; zeros where there is none."""
    ### BEGIN SOLUTION
    wide = np.zeros((len(strip) + 2, strip.shape[1]))
    wide[1:-1], requests = strip, []
    for neighbour, row in ((comm.rank - 1, 0), (comm.rank + 1, -1)):
        if 0 <= neighbour < comm.size:
            requests.append(comm.irecv(wide[row], neighbour))
            requests.append(comm.isend(strip[row], neighbour))
    for request in requests:
        request.wait()
    return wide
    ### END SOLUTION


# %% name="09.with_halo" tags=["check"]
check("09.with_halo", with_halo)
### BEGIN HIDDEN TESTS
judge("09.with_halo", with_halo, ranks=(2, 6, 7), seed=93)
### END HIDDEN TESTS

# %%
from ddl_teach.networks.spatial.halo import with_halo as library

mine = yours("09.with_halo", with_halo, lambda c, x: library(c, from_numpy(x), 0, 1, 1).numpy())
strips = np.split(np.arange(32.0).reshape(8, 4), 4)
print(simulate(lambda comm: mine(comm, strips[comm.rank]), 4).results[1])

# %% [markdown]
# That was rank 1 of four, each with two rows of a small image: its own in the middle, the last of
# rank 0 above and the first of rank 2 below.
#
# **Exercise.** *(intermediate)* Backwards. You are given the gradient of the wide strip, its two
# outer rows included. But these rows were the neighbours' own, and what they say must go home and
# be **added** there: a copy forwards is a sum backwards, once more.


# %% name="09.give_back" tags=["answer"]
def give_back(comm, gradient):
    """The gradient of the strip itself: of its own rows, and what the neighbours say of them."""
    ### BEGIN SOLUTION
    own, requests = gradient[1:-1].copy(), []
    rooms = np.zeros((2, own.shape[1]))
    for neighbour, row in ((comm.rank - 1, 0), (comm.rank + 1, -1)):
        if 0 <= neighbour < comm.size:
            requests.append(comm.irecv(rooms[row], neighbour))
            requests.append(comm.isend(gradient[row], neighbour))
    for request in requests:
        request.wait()
    own[0] += rooms[0]
    own[-1] += rooms[1]
    return own
    ### END SOLUTION


# %% name="09.give_back" tags=["check"]
check("09.give_back", give_back)
### BEGIN HIDDEN TESTS
judge("09.give_back", give_back, ranks=(2, 6, 7), seed=94)
### END HIDDEN TESTS

# %%
good = Uniform(latency=1e-6, bandwidth=10e9)
for ranks in (2, 4, 64, 1024):
    run = simulate(mine, ranks, network=good, strip=np.ones((1024 // ranks, 1024)), trace=False)
    print(f"{ranks:5} ranks: {run.time * 1e6:.2f} µs a halo, {run.ledger[1].bytes_sent:,} bytes")
reveal("09.tiles", 2 * 1024 / (2 * 32 + 2 * (32 + 2)))

# %% [markdown]
# The weights are on all ranks, and each rank has seen a part of the image. So *their* gradient is
# a sum over the ranks, as in data parallelism. The library does all this for any kernel, stride
# and padding for which strips stay strips, $2p < k \le 2p + s$, and cuts images both ways if asked
# (`ddl_teach/networks/spatial`).
#
# ### What nobody has at home
#
# The last cell ran your function on up to 1,024 simulated ranks, which share an image of 1,024 by
# 1,024. Strips get thinner with more ranks, and their edges do not: a halo costs the same on 4
# ranks and on 1,024, where a strip is one row, *all* edge. Cut both ways, tiles have edges that
# shrink with them. (Corners come in two hops: rows first, then columns of the longer tile. So a
# tile of 32 x 32 sends two rows of 32 and two columns of 34.)
#
# The same happens to the pair of section 1. Its sums are as large on 1,024 ranks as on two. Below,
# a layer of a large language model, 12,288 wide, 2,048 tokens, in half precision, on up to 1,024
# ranks, each as fast as a GPU (100 TFLOP/s), with 100 GB a second between all of them. `Phantom`
# stands for an array of that size, and Rabenseifner's algorithm adds up.

# %%
from ddl_teach.networks.tensor import only_time

crews, layer = [2**k for k in range(11)], {"tokens": 2048, "width": 12_288}
gpus = {"network": Uniform(2e-6, 100e9), "machine": Machine(flops=1e14), "trace": False}
simulated = [simulate(only_time.pair, ranks, **layer, **gpus).time for ranks in crews]

# %%
costs = layer | {"flops": 1e14, "latency": 2e-6, "per_byte": 1 / 100e9}
work, sums = np.transpose([split_layers.pair_time(ranks, **costs) for ranks in crews])
assert np.allclose(simulated, work + sums)
lines = {"work alone": (crews, work), "with its sum": (crews, work + sums)}
plot_ways(
    "ranks", lines, {"with its sum": (crews, simulated)}, title="Work shrinks, its sum does not"
)

# %% [markdown]
# The squares lie on the line: simulation and formula agree. From 64 ranks on most of the time is
# the sum, which stays, and 1,024 ranks are 45 times as fast as one. That is why systems split
# layers within one machine, among 8 GPUs or so with fast links, and do something else between
# machines: units 10 and 12.
#
# ## 5. Which split for which layer? · *beginner*
#
# Now AlexNet, the network that won the ImageNet contest of 2012. The course's analysis counts its
# operations and parameters, layer by layer.

# %%
from ddl_teach.operators.analysis import analyse
from ddl_teach.operators.zoo.alexnet import OneColumn

with device("meta"):
    table = analyse(OneColumn(), randn(1, 3, 224, 224))
counts = [(one.parameters, one.forward.work) for one in table.layers if one.parameters]
weights, work = np.array(counts).T
print(f"convolutions: {weights[:5].sum() / weights.sum():.1%} of the parameters")
reveal("09.work", 100 * work[:5].sum() / work.sum())

# %%
wide = [3 * 224**2, 64 * 27**2, 192 * 13**2, 384 * 13**2, 256 * 13**2, 9216, 4096, 4096]
names = [f"convolution {k}" for k in range(1, 6)] + [f"fully connected {k}" for k in range(1, 4)]
reveal("09.crossover", 9216 * 4096 / 9216)
plot_either_way(names, weights.tolist(), [128 * one for one in wide])

# %% [markdown]
# That is the surprise of this unit, and Krizhevsky's "one weird trick" of 2014. **Four percent of
# the parameters do 92 percent of the work.** Convolutions: nearly all the work, nearly no weights.
# The classifier behind them: nearly all weights, little work. Why should both be split alike?
#
# - **By data** a rank sends the gradients of the weights: all-reduced, $2\frac{P-1}{P}$ times the
#   number of *weights*.
# - **By model**, if images are spread over the ranks, it must first fetch what goes into the layer
#   for *all* images (an all-gather), and on the way back spread the gradients of that
#   (a reduce-scatter): $2\frac{P-1}{P}$ times the *activations of the whole batch*.
#
# With a batch of 128 the bars change sides exactly where the convolutions end. With some
# thousand images in a batch the classifier, too, would be better split by data: its first layer
# from 4,096 on, the number of its outputs. *What decides is weights against batch times
# activations.*
#
# ## 6. The hybrid · *intermediate*
#
# So: convolutions by data, classifier by model. At the seam each rank has the features of its own
# images, and the classifier needs those of all images: an `all_gather` forwards. Backwards each
# rank knows only what its own classes say of all features, so that is a `reduce_scatter`: the two
# are each other's reverse.
#
# **Exercise.** Here a matrix `c`, whole on every rank, stands for all convolutions, and `w` holds
# this rank's columns of the classifier, a few classes. `of_scores` is the gradient of this rank's
# scores, for all images; the loss is that of the whole batch. Three things move between the ranks.
# Which, and where? (The two functions below say what is meant; the library's send half as much.)


# %%
def all_gather(comm, x):  # the rows of all ranks below each other, on every rank
    every = np.zeros((comm.size, *x.shape))
    every[comm.rank] = x
    return np.concatenate(all_reduce(comm, every))


def reduce_scatter(comm, x):  # of the sum of all ranks' x, to each rank its share of the rows
    return np.split(all_reduce(comm, x), comm.size)[comm.rank]


# %% name="09.hybrid" tags=["answer"]
def hybrid(comm, images, c, w, of_scores):
    """Scores of all images for the own classes; the whole gradient of c; that of the own w."""
    features = np.maximum(images @ c, 0)
    ### BEGIN SOLUTION
    every = all_gather(comm, features)
    of_features = reduce_scatter(comm, of_scores @ w.T)
    of_c = images.T @ (of_features * (features > 0))
    return every @ w, all_reduce(comm, of_c), every.T @ of_scores
    ### END SOLUTION


# %% name="09.hybrid" tags=["check"]
check("09.hybrid", hybrid)
### BEGIN HIDDEN TESTS
judge("09.hybrid", hybrid, ranks=(2, 6, 7), seed=96)
### END HIDDEN TESTS

# %% [markdown]
# And now with the real thing, if a small one: five convolutions, three fully connected layers,
# handwritten digits. The library needs two lines for the split; read it in
# `ddl_teach/networks/tensor/one_weird_trick.py`. Again it is compared with a single process.

# %%
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.tensor.one_weird_trick import split_alexnet


def train_hybrid(comm):
    network = alexnet.alexnet(width=512).double()
    loss, own = split_alexnet(network, comm, batch=24), own_slice(24, comm)
    twin.train(network, [(x[own], y) for x, y in tens], loss=loss)
    return comm.ledger.bytes_sent // 5, full_parameters(network)


# %%
alone = twin.train(alexnet.alexnet(width=512).double(), tens).parameters
sent, together = engines.run(train_hybrid, trace=False, timeout=100).results[0]
by_data = ring_bytes.allreduce(sum(one.numel() for one in alone.values()), 4, 0, 8)
print(f"a step: {sent:,} bytes; by data {by_data:,}, {by_data / sent:.0f} times as many")
assert twin.largest_difference(together, alone) < 1e-10

# %% [markdown]
# ## 7. Your own ranks · *intermediate*
#
# Where do weights and activations cross on *your* machine? A layer of 512 inputs and 512 outputs
# has 262,144 weights. By data they are all-reduced, whatever the batch. By model there is an
# all-gather and a reduce-scatter of 512 numbers for each image, which together are an all-reduce
# of so many. First your engines say what one step round the ring costs; that gives latency and
# bandwidth, and with them the prediction.

# %%
from ddl_teach.course import gloo, stopwatch
from ddl_teach.theory.fit import fit


def ten_steps(comm, x):
    right, left, into = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size, np.empty_like(x)
    for _ in range(10):
        comm.sendrecv(x, right, into, left)


# %%
images, tried = 2 ** np.arange(5, 12), [2**k for k in range(12, 21, 2)]
took = np.max(engines.run(stopwatch, sizes=tried, ways=[ten_steps], trace=False).results, axis=0)
model = fit(np.tile(tried, len(took)), took[:, 0].ravel() / 10)
ways = [lambda comm, _: ring.allreduce(comm, np.ones(512 * 512)), ring.allreduce]
setting = {"sizes": images * 512 * 8, "ways": ways, "trace": False}
here = Uniform(model.latency, 1 / model.per_byte)
simulated = simulate(stopwatch, 4, network=here, turns=1, **setting).results[0][0]
slowest = np.max(engines.run(stopwatch, turns=7, timeout=100, **setting).results, axis=0)
low, middle, high = np.quantile(slowest, [0.25, 0.5, 0.75], axis=0)

# %%
names, sizes = [*enumerate(("by data", "by model"))], (0 * images + 512**2 * 8, images * 512 * 8)
predicted = [model.predict("ring", 4, size) for size in sizes]
assert np.allclose(simulated, predicted)
lines, squares = ({name: (images, it[k]) for k, name in names} for it in (predicted, simulated))
dots = {name: (images, middle[k], (low[k], high[k])) for k, name in names}
title = "Predicted to cross at 512 images, where weights = batch x inputs"
plot_ways("images in a batch", lines, squares, dots, title=title)

# %% [markdown]
# Lines, squares and dots: prediction, simulation, your machine. The lines cross where the formula
# says, at 512 images, *whatever latency and bandwidth are*: both ways go round the same ring, and
# there only the size counts. On your machine dots leave their lines, as they did in unit 06, but
# for both ways alike.
#
# ## 8. What production systems do · *intermediate*
#
# The pair of section 1 is Megatron-LM's (2019), and in one form or another it is in every system
# that trains large language models. In PyTorch a *plan* says by name how layers are split, and
# `DTensor`s do what you did by hand. Here it is, on your engines, over gloo. (Processes of
# torch.distributed meet when the course's gloo adds up its first vector.)


# %%
def torch_pair(comm):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import parallel

    gloo.allreduce(comm, np.zeros(1))
    network, mesh = mlp.mlp((64, 96, 10)).double(), init_device_mesh("cpu", (comm.size,))
    plan = {"linear1": parallel.ColwiseParallel(), "linear2": parallel.RowwiseParallel()}
    return parallel.parallelize_module(network, mesh, plan)(rows).detach().numpy()


# %%
rows, whole = data.digits(flat=True)[0][:8].double(), mlp.mlp((64, 96, 10)).double()
theirs = engines.run(torch_pair, trace=False, timeout=100).results[3]
assert np.allclose(theirs, whole(rows).detach().numpy(), atol=1e-12)
progress()

# %% [markdown]
# The same numbers as from the whole network, by the same two cuts. In the course's library the
# plan is one line, `split_pairs(network, Replicated(comm))`, and a test compares the two,
# gradients included.
#
# Splitting convolutions by space is rarer: it is done for
# images that do not fit into one GPU's memory, in weather, medicine and microscopy (Dryden et al.
# 2019).
#
# ## Three questions
#
# **1.** Three column layers in a row, without a row layer. What must happen between them, and what
# does it cost beside pairs?
#
# <details><summary>An answer</summary>
#
# Each needs all columns of the one before, so there is an all-gather after each layer, of the wide
# middle as well. A pair meets once, where it is thin, and never gathers its middle.
#
# </details>
#
# **2.** Dropout sets random activations to zero. Should all ranks draw the same random numbers?
#
# <details><summary>An answer</summary>
#
# Where all ranks hold the same activations, yes, or they are not the same any more. Between the
# two layers of a pair each rank has columns of its own, and there they must draw different ones,
# or whole columns would share their fate. Megatron keeps two random states for that.
#
# </details>
#
# **3.** A pooling of 2 x 2 with stride 2 needs no halo, a 3 x 3 convolution with stride 1 needs
# one row on each side. And 3 x 3 with stride 2 and padding 1?
#
# <details><summary>An answer</summary>
#
# One row above and none below. A strip of $2n$ rows makes $n$; the first window begins one row
# above the strip, and the last ends with its last row: $k - s - p = 3 - 2 - 1 = 0$.
#
# </details>
#
# ## Where to read on
#
# - M. Shoeybi et al., "Megatron-LM: training multi-billion parameter language models using model
#   parallelism", 2019: pairs, heads, the vocabulary.
# - V. Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022:
#   sequence parallelism.
# - A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014: the
#   hybrid, in three variants.
# - N. Dryden et al., "Improving strong-scaling of CNN training by exploiting finer-grained
#   parallelism", *IPDPS*, 2019: halos, overlapped with the inner part of a tile.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019, section 6: data, model and hybrid parallelism side by side.
# - `ddl_teach/networks/conjugates.py`: five operators, of which each does one thing forwards and
#   another one backwards. The whole library of this unit stands on them.
#
# Unit 10 splits a network the third way: layer by layer, each rank some of them, one after the
# other. Then somebody waits.
