# %% [markdown]
# # Splitting layers
#
# **Where must the all-reduce go?**
#
# In unit 08 each rank had the whole network and a part of the examples. Sometimes that is not
# possible. A layer may be too large for one device, or its gradients too many to be summed in
# every step. Or there are more ranks than examples. Then the *layer* itself is split: its neurons,
# or the image that it looks at.
#
# Splitting is easy. The question is where ranks must exchange something, and where they need not.
# You write a pair of layers with only one sum, and a block of a transformer with two. Then you
# write the exchange of edges between parts of an image. Last comes a network whose two halves are
# split in different ways. A second notebook, `09_tokens_to_experts`, sends tokens to experts on
# other ranks. You need unit 06; unit 08 helps. *Beginners* can leave out what is marked
# *intermediate* or *advanced*. It takes about two hours.
#
# **Predict.** Three numbers, before anything runs: write them in place of the dots in the second
# cell below. **1.** AlexNet, a network of 2012, has five convolutions and then three fully
# connected layers. The convolutions hold 4% of its parameters. How many percent of the operations
# do they do? **2.** 1,024 ranks share an image of 1,024 x 1,024 points, for a convolution of 3 x
# 3. Each rank needs the edges of its neighbours. How many times as many numbers does a rank send
# if it has one row of the image, not a tile of 32 x 32? **3.** AlexNet's first fully connected
# layer has 9,216 inputs and 4,096 outputs. From how many images in a batch on is it better split
# by data than by model, that is, by its outputs?

# %%
import numpy as np
from torch import device, from_numpy, randn

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_teach.collectives import ring
from ddl_teach.comm import Uniform, split_evenly

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
# these are complete. With some **rows** of $B$ it needs only the same columns of the input, and
# its result is one part of a sum: the ranks' results must be added up. So cut $A$ by columns and
# $B$ by rows, and they fit together.

# %%
from ddl_class.plots.networks import plot_cuts, plot_either_way, plot_ways
from ddl_teach.networks.spatial.halo import with_halo as library

matrices = [("x", 4, 5, ""), ("A", 5, 8, "columns"), ("relu(x A)", 4, 8, "columns"),
            ("B", 8, 5, "rows"), ("y", 4, 5, "sum")]  # fmt: skip
plot_cuts(matrices, 4, title="Columns, then rows: the ranks send nothing before y")

# %% [markdown]
# And the other way round, rows first? Then $x\,A$ is a sum of parts. Could each rank go on with
# its *part*, and all be added up once, at the end? The second cell below tries it, once without a
# ReLU and once with one. What do you expect? The first cell adds up: it is a ring as in unit 06 in
# a few lines. Chunks travel to the right, once round to be added up, and once more to be handed
# out.


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


# %%
def rows_first(comm, bend):
    own = np.array_split(np.arange(8), comm.size)[comm.rank]
    return all_reduce(comm, bend(x[:, own] @ a[own]) @ b)


x, a, b = (np.random.default_rng(9).normal(size=size) for size in ((6, 8), (8, 64), (64, 8)))
for name, bend in (("no ReLU", np.positive), ("ReLU", lambda h: np.maximum(h, 0))):
    apart = simulate(rows_first, 4, bend=bend).results[0] - bend(x @ a) @ b
    print(f"{name:7}: at most {abs(apart).max():.1e} from y")


# %% [markdown]
# **The nonlinearity decides.** Without it the sum can wait until the end, but two layers without
# one are only one layer. With it the sum cannot wait. If one rank has 3 and another has -5, the
# ReLU of the sum is 0, and the sum of the ReLUs is 3. So the ranks would have to sum *before* the
# ReLU, where the pair is wide, and once more after $B$. Columns first need only the second sum.
#
# **Exercise.** A warm-up of three minutes: the second layer alone, without its bias. All ranks
# have all of $x$, and each has its rows of $B$; all parts are equally large. The lines stand
# below, sorted by the alphabet, and two of them belong nowhere: put the others in order. *Ctrl+/*
# makes code of comments, *Alt+↑* and *Alt+↓* move lines.


# %% name="09.rows" tags=["answer"]
def row_layer(comm, x, b):
    """All of x @ B on every rank, from this rank's rows b of B."""
    ### BEGIN SOLUTION
    start = comm.rank * len(b)
    x_here = x[:, start : start + len(b)]
    part = x_here @ b
    return all_reduce(comm, part)
    ### END SOLUTION


# %% name="09.rows" tags=["check"]
check("09.rows", row_layer)
### BEGIN HIDDEN TESTS
judge("09.rows", row_layer, ranks=(2, 6, 7), seed=90)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** The pair. Rank $r$ is given all of `x`, its columns `a` of $A$, its rows `b` of
# $B$, and the bias of the second layer, which all ranks have. Each must return all of $y$.


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
# Did the check say something about the bias? A vector that is on every rank, and is added before
# the sum, is added P times. It is an easy mistake, and training goes on as if nothing were wrong.
#
# ## 2. Backwards · *intermediate*
#
# Where does the sum go in the backward pass? $x$ was *copied* to all ranks, and each used it for
# its own columns. So the gradient of $x$ is the **sum** over all ranks. $y$ was a *sum* of the
# ranks' parts. So each part has the gradient of the sum itself: **copied**. A copy forwards is a
# sum backwards, and a sum forwards is a copy backwards:
#
# | | forwards | backwards |
# |---|---|---|
# | into the pair: $x$ | copy | all-reduce |
# | out of the pair: $y$ | all-reduce | copy |
#
# The gradients of $A$ and $B$ need no messages. Each rank has its own columns and rows, and all
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

# %% [markdown]
# There is one sum forwards and one backwards, each as large as $x$ or $y$. With a batch of $N$
# rows of $d$ numbers a rank sends $2\cdot\frac{2(P-1)}{P}\,N d$ numbers a step; both checks
# counted the bytes in the ledger. The width of the middle is not in this formula: *however wide it
# is, it never travels*.
#
# ## 3. A whole transformer · *intermediate*
#
# A block of a transformer is two such pairs. The first is **attention**. Each *head* makes its
# queries, keys and values from $x$, by three matrices of its own; it needs nothing from other
# heads. So each rank takes some of the heads. Their matrices are columns of larger ones, and the
# projection that follows is cut by rows: a column layer, attention as the nonlinearity, a row
# layer. The second pair is the MLP of section 1. Around each pair is a residual path, which adds
# what goes in:
#
# $$y = x + \text{attention}(x), \qquad z = y + \mathrm{relu}(y\,A)\,B.$$
#
# The next cell is the attention of one head.


# %%
def attend(q, k, v):  # one head: each row of q takes a weighted mean of the rows of v
    weights = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    return weights / weights.sum(axis=1, keepdims=True) @ v


# %% [markdown]
# **Exercise.** A block on $P$ ranks. `heads` lists this rank's heads, each as its three matrices
# `(q, k, v)`. `out` holds the rows of the projection for these heads, in their order: a rank's
# answers stand side by side (`np.hstack`). `a` and `b` are as before. Each rank returns all of
# $z$. How many sums are needed, and where?


# %% name="09.block" tags=["answer"]
def block(comm, x, heads, out, a, b):
    """z on every rank, from its own heads, rows of the projection, and parts of the MLP."""
    ### BEGIN SOLUTION
    answers = [attend(x @ q, x @ k, x @ v) for q, k, v in heads]
    y = x + all_reduce(comm, np.hstack(answers) @ out)
    return y + all_reduce(comm, np.maximum(y @ a, 0) @ b)
    ### END SOLUTION


# %% name="09.block" tags=["check"]
check("09.block", block)
### BEGIN HIDDEN TESTS
judge("09.block", block, ranks=(2, 6, 7), seed=97)
### END HIDDEN TESTS

# %% [markdown]
# **The vocabulary** is split as well: each rank embeds and scores its own words. For the loss a
# rank needs the largest of all scores, the sum of all exponentials, and the score of the right
# word: *three numbers for each answer travel*, however many words there are.
#
# In the library a split layer takes the place of a layer. `Region` says what is around it: copied
# to all (`Replicated`), or cut along an axis (`Parted`). If it is cut, the sum on the way out
# becomes a *reduce-scatter*, and an *all-gather* on the way in fetches the rest. Along the axis of
# positions this is called sequence parallelism. The next cells train the GPT of unit 08 on your
# four engines for five steps, and once more alone, and compare every parameter.

# %%
from ddl_class import stopwatch
from ddl_class.notebook import gloo
from ddl_teach.networks import twin
from ddl_teach.networks.models import alexnet, data, gpt, mlp
from ddl_teach.networks.tensor import one_weird_trick
from ddl_teach.networks.tensor.gpt import train_split
from ddl_teach.theory import ring_bytes, split_layers
from ddl_teach.theory.fit import fit

# %%
texts = data.batches(data.documentation(64)[0], size=4, steps=5)
small, given = {"blocks": 2, "width": 64}, {"trace": False, "timeout": 100, "batches": texts}
alone = twin.train(gpt.gpt_of("100k").double(), texts).parameters
for sequence in (False, True):
    run = engines.run(train_split, network=gpt.gpt_of("100k").double(), sequence=sequence, **given)
    difference = twin.largest_difference(run.results[0], alone)
    step = split_layers.Ring(4, 0, 8), {"batch": 4, "length": 64, "sequence": sequence}
    nbytes = split_layers.total(split_layers.gpt_step(step[0], **(step[1] | small)))
    print(f"largest difference {difference:.0e}, {nbytes:,} bytes a step by the formula")
    assert difference < 1e-10

# %% [markdown]
# It is the same network to the last digits. Its embedding and its scores are one matrix, and both
# cut it by words: so one share serves both. Both ways send nearly the same. Cut along the
# sequence, a rank keeps only a quarter of what lies between the split layers. The price is small:
# the gradients of the norms, which see a part of the sequence on each rank, must be summed.
#
# ## 4. Splitting the image · *beginner*
#
# A convolution has few weights and large images. So leave the weights whole, on every rank, and
# cut the *image*: rank 0 has the top strip, rank 1 the next, and so on. A 3 x 3 kernel at the edge
# of a strip needs one row of the neighbour's strip. These rows are called a **halo**. At the
# border of the image there is no neighbour, and the row is zeros, as padding would be.
#
# **Exercise.** Give the strip a row above and a row below. A row of an array can be sent as it is.
# Do not exchange with one neighbour first and then with the other: it may be waiting for *its*
# other one, and so on up to rank 0. `comm.isend(row, to)` and `comm.irecv(row, source)` only begin
# a message and return a request. Begin all of them, then `wait()` for each. The cell after yours
# shows which messages travel between four strips.


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


# %%
from ddl_class import animate

animate(simulate(with_halo, 4, strip=np.ones((3, 8))))

# %% name="09.with_halo" tags=["check"]
check("09.with_halo", with_halo)
### BEGIN HIDDEN TESTS
judge("09.with_halo", with_halo, ranks=(2, 6, 7), seed=93)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** *(intermediate)* Backwards. You are given the gradient of the wide strip, its two
# outer rows included. But these rows were copies of the neighbours' rows. So their gradients must
# go back to the neighbours and be **added** there: a copy forwards is a sum backwards, once more.


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
def ours(comm, strip):
    return library(comm, from_numpy(strip), 0, 1, 1).numpy()


mine = yours("09.with_halo", with_halo, ours)
good = Uniform(latency=1e-6, bandwidth=10e9)
for ranks in (2, 4, 64, 1024):
    run = simulate(mine, ranks, network=good, strip=np.ones((1024 // ranks, 1024)), trace=False)
    print(f"{ranks:5} ranks: {run.time * 1e6:.2f} µs a halo, {run.ledger[1].bytes_sent:,} bytes")

# %% [markdown]
# The weights are on all ranks, and each rank has seen a part of the image. So the gradient of the
# weights is a sum over the ranks, as in data parallelism. The library does all this for any kernel
# $k$, stride $s$ and padding $p$ for which strips stay strips, $2p < k \le 2p + s$. It cuts images
# both ways if asked (`ddl_teach/networks/spatial`).
#
# ### What nobody has at home
#
# The last cell ran your function on up to 1,024 simulated ranks, which share an image of 1,024 by
# 1,024. With more ranks a strip has fewer rows, and its edges stay as long: a halo costs the same
# on 4 ranks and on 1,024, where a strip is one row, *all* edge. If the image is cut both ways,
# tiles have edges that shrink with them. (Corners come in two hops: rows first, then columns of
# the longer tile. So a tile of 32 x 32 sends two rows of 32 and two columns of 34.)
#
# Must a rank wait for a halo at all? Most windows of a tile lie inside it. So begin the messages,
# compute the inner part meanwhile, and then the edges. While rows travel a rank then takes the
# *longer* of travelling and computing, not their sum. The next cells ask formula and simulation
# for 16 to 1,024 tiles of 16 such images. There are 64 maps in and out, and ranks of 100 TFLOP/s.
# The library does the same with `overlap=True`, forwards and backwards.
#
# The pair of section 1 has the same problem as strips: its sums are as large on 1,024 ranks as on
# two. The last of these cells has a layer of a large language model: 12,288 wide, 2,048 tokens, in
# half precision. It is on up to 1,024 ranks, with 100 GB a second between all of them. `Phantom`
# stands for an array of that size, and Rabenseifner's algorithm adds up.

# %%
from ddl_measure.experiments import layers

# %%
reveal("09.tiles", 2 * 1024 / (2 * 32 + 2 * (32 + 2)))
lines, squares = layers.compare_tiles(4 ** np.arange(2, 6), 1024, maps=64, images=16, network=good)
assert all(np.allclose(lines[name][1], squares[name][1]) for name in lines)
plot_ways("ranks", lines, squares, title="A convolution on tiles: halos first, or meanwhile")

# %%
tiles, first = lines["halo first"]
work = 16 * 2 * 9 * 64**2 * 1024**2 / np.array(tiles) / 100e12
hidden = (first - np.array(lines["overlapped"][1])) / (first - work)
print(*(f"{share:.0%}" for share in hidden), "of a halo are hidden on", *tiles, "tiles")
assert [round(10 * share) for share in hidden] == [5, 5, 5, 4]

# %% [markdown]
# And now the pair.

# %%
lines, squares = layers.compare_pairs(2 ** np.arange(11), tokens=2048, width=12_288)
assert np.allclose(lines["with its sum"][1], squares["with its sum"][1])
(_, alone), (ranks, both) = lines["work alone"], lines["with its sum"]
assert (min(np.array(ranks)[np.divide(both, alone) > 2]), round(both[0] / both[-1])) == (64, 45)
plot_ways("ranks", lines, squares, title="A pair of layers: its work, and with its sum")

# %% [markdown]
# The squares lie on the lines: simulation and formula agree. Overlap hides about half of a halo
# while tiles are large. Rows travel while the inside of a tile is computed. Columns come after
# them, and by then little is left to compute. On the smallest tiles even rows travel longer than
# the inside is computed.
#
# With the pair, from 64 ranks on, most of the time is the sum, which does not shrink. 1,024 ranks
# are 45 times as fast as one. That is why systems split layers only as far as fast links reach.
# Mostly these join the 8 GPUs of one machine, as those of Narayanan et al. (2021) and of Llama 3
# (Dubey et al., 2024). There are also racks of 72 GPUs with such links between all of them
# (NVIDIA's GB200 NVL72). Between machines one does something else: units 10 and 12.
#
# ## 5. Which split for which layer? · *beginner*
#
# Now AlexNet, the network that won the ImageNet contest of 2012, in its later form for one GPU
# (Krizhevsky 2014). The course's analysis counts its operations and parameters, layer by layer.
# The second cell draws two bars for each layer, for a batch of 128 images. One is the number of
# its weights: their gradients travel if it is split by data. The other is the number of its
# inputs: they travel if it is split by model.

# %%
from ddl_measure.analysis import analyse
from ddl_measure.zoo.alexnet import OneColumn

with device("meta"):
    table = analyse(OneColumn(), randn(1, 3, 224, 224))
counts = [(row.parameters, row.forward.work) for row in table.layers if row.parameters]
weights, work = np.array(counts).T
print(f"convolutions: {weights[:5].sum() / weights.sum():.1%} of the parameters")
reveal("09.work", 100 * work[:5].sum() / work.sum())

# %%
wide = [3 * 224**2, 64 * 27**2, 192 * 13**2, 384 * 13**2, 256 * 13**2, 9216, 4096, 4096]
names = [f"convolution {k}" for k in range(1, 6)] + [f"fully connected {k}" for k in range(1, 4)]
reveal("09.crossover", 9216 * 4096 / 9216)
assert [f"{part[:5].sum() / part.sum():.0%}" for part in (weights, work)] == ["4%", "92%"]
assert (weights < 128 * np.array(wide)).tolist() == 5 * [True] + 3 * [False]
plot_either_way(names, weights.tolist(), [128 * numbers for numbers in wide])

# %% [markdown]
# That is the surprise of this unit, and Krizhevsky's "one weird trick" of 2014. **Four percent of
# the parameters do 92 percent of the work.** Convolutions are nearly all the work and have nearly
# no weights. The classifier behind them has nearly all weights and little work. Why should both be
# split alike?
#
# - **By data** a rank sends the gradients of the weights: all-reduced, $2\frac{P-1}{P}$ times the
#   number of *weights*.
# - **By model**, if images are spread over the ranks, a rank must first fetch the inputs of the
#   layer for *all* images (an all-gather). On the way back it spreads their gradients (a
#   reduce-scatter). That is $2\frac{P-1}{P}$ times the *activations of the whole batch*.
#
# With a batch of 128 the bars change sides exactly where the convolutions end. With some thousand
# images in a batch the classifier, too, would be better split by data: its first layer from 4,096
# on, the number of its outputs. *What decides is weights against batch times activations.*
#
# ## 6. The hybrid · *intermediate*
#
# So: convolutions by data, classifier by model. Between them each rank has the features of its own
# images, and the classifier needs those of all images: an `all_gather` forwards. Backwards each
# rank has a part of the gradient of all features, the part that comes from its own classes. So
# that is a `reduce_scatter`. Each of the two is the other one's backward pass.
#
# **Exercise.** Here a matrix `c`, whole on every rank, stands for all convolutions, and `w` holds
# this rank's columns of the classifier, a few classes. `of_scores` is the gradient of this rank's
# scores, for all images; the loss is that of the whole batch. Three things travel between the
# ranks. Which, and where? (The next cell defines both functions; the library's send half as much.)


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
# And now with a real network, if a small one: five convolutions, three fully connected layers,
# handwritten digits. The library needs two lines for the split; read it in
# `ddl_teach/networks/tensor/one_weird_trick.py`. Again it is compared with a single process.

# %%
tens = [(x.double(), y) for x, y in data.batches(data.digits(), size=24, steps=5)]
given = {"network": alexnet.alexnet(width=512).double(), "batches": tens, "timeout": 100}
sent, together = engines.run(one_weird_trick.train, **given, trace=False).results[0]
by_data = ring_bytes.allreduce(sum(part.numel() for part in together.values()), 4, 0, 8)
print(f"a step: {sent:,} bytes; by data {by_data:,}, {by_data / sent:.0f} times as many")
assert twin.largest_difference(together, twin.train(given["network"], tens).parameters) < 1e-10

# %% [markdown]
# ## 7. Your own ranks · *intermediate*
#
# Where do weights and activations cross on *your* machine? A layer of 512 inputs and 512 outputs
# has 262,144 weights. By data they are all-reduced, whatever the batch. By model there is an
# all-gather and a reduce-scatter of 512 numbers for each image; together they cost as much as an
# all-reduce of these numbers. First your engines measure what a step round the ring costs, by an
# all-gather. That gives latency and bandwidth, and with them the prediction.

# %%
images, tried = 2 ** np.arange(5, 12), [2**k for k in range(12, 21, 2)]
plainly = {"trace": False, "strict": False, "timeout": 100}
run = engines.run(stopwatch, sizes=tried, ways=[ring.allgather], **plainly)
took = np.max(run.results, axis=0)[:, 0]
model = fit(np.tile(tried, len(took)) / 4, took.ravel() / 3)  # three steps of a quarter each
ways = [lambda comm, _: ring.allreduce(comm, np.ones(512 * 512)), ring.allreduce]
setting = plainly | {"sizes": images * 512 * 8, "ways": ways}
simulated = simulate(stopwatch, 4, network=model.link.network, turns=1, **setting).results[0][0]
slowest = np.max(engines.run(stopwatch, turns=7, **setting).results, axis=0)
low, middle, high = np.quantile(slowest, [0.25, 0.5, 0.75], axis=0)

# %%
names, sizes = [*enumerate(("by data", "by model"))], (0 * images + 512**2 * 8, images * 512 * 8)
predicted = [model.predict("ring", 4, size) for size in sizes]
assert np.allclose(simulated, predicted)
lines, squares = ({name: (images, it[k]) for k, name in names} for it in (predicted, simulated))
dots = {name: (images, middle[k], (low[k], high[k])) for k, name in names}
title = "Predicted to be equal at 512 images, where weights = batch x inputs"
plot_ways("images in a batch", lines, squares, dots, title=title)

# %% [markdown]
# Lines, squares and dots are prediction, simulation and your machine. The lines meet where the
# formula says, at 512 images, *whatever latency and bandwidth are*: both ways go round the same
# ring, and there only the size counts. (On a busy machine the latency can be so long that they lie
# on each other everywhere.) Where your dots leave their lines, look whether both ways do so.
#
# The next cell shows steps of a GPT of 124 million weights that were recorded on GPUs. One of the
# ways is split by heads, as in section 3. If nothing is recorded yet, the cell says so.

# %%
from ddl_class.notebook.beside_gpus import recorded_table

print(f"yours, an all-reduce of 512 x 512 numbers: {middle[0][0] * 1e3:.1f} ms")
print(recorded_table("step of a GPT"))

# %% [markdown]
# ## 8. What production systems do · *intermediate*
#
# The pair of section 1 is Megatron-LM's (2019). In PyTorch a *plan* says by name how layers are
# split, and `DTensor`s do what you did by hand. Here it is, on your engines, over gloo. (Processes
# of torch.distributed meet when the course's gloo adds up its first vector.)


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
# These are the same numbers as from the whole network, by the same two cuts. In the course's
# library the plan is one line, `split_pairs(network, Replicated(comm))`, and a test compares the
# two, gradients included.
#
# Convolutions are split by space where images are so large that memory does not suffice for a
# batch of them (Dryden et al. 2019).
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("09")

# %% [markdown]
# ## Three questions
#
# **1.** Three column layers in a row, without a row layer. What must happen between them, and what
# does it cost beside pairs?
#
# <details><summary>An answer</summary>
#
# Each needs all columns of the one before, so there is an all-gather after each layer, of the wide
# middle as well. A pair has one sum, where it is thin, and never gathers its middle.
#
# </details>
#
# **2.** Dropout sets random activations to zero. Should all ranks draw the same random numbers?
#
# <details><summary>An answer</summary>
#
# Where all ranks hold the same activations, yes, or they would become different. Between the two
# layers of a pair each rank has columns of its own. There they must draw different numbers, or the
# same places would be dropped on all ranks. Megatron keeps two random states for that.
#
# </details>
#
# **3.** A pooling of 2 x 2 with stride 2 needs no halo. A 3 x 3 convolution with stride 1 needs
# one row on each side. And 3 x 3 with stride 2 and padding 1?
#
# <details><summary>An answer</summary>
#
# One row above and none below. A strip of $2n$ rows makes $n$. The first window begins one row
# above the strip, and the last one ends with its last row: $k - s - p = 3 - 2 - 1 = 0$.
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
# - S. Wang et al., "Overlap communication with dependent computation via decomposition in large
#   deep learning models", *ASPLOS*, 2023: the matrix product after an all-gather need not wait
#   for all of it. It is cut into the steps of a ring, and each part is multiplied while the next
#   one travels.
# - `ddl_teach/networks/autograd_collectives.py`: five operators, of which each does one thing
#   forwards and another one backwards. The whole library of this unit uses them.
# - `ddl_teach/networks/spatial/network.py`: a whole network on strips of its images.
#
# `09_tokens_to_experts` uses ranks in yet another way. Unit 10 splits a network layer by layer:
# each rank has some of them, one after the other. Then ranks must wait.
