# %% [markdown]
# # Four dimensions and pruning
#
# **Which grid is best?**
#
# You know four ways to split training over ranks: the batch, the layers, every single layer, and
# the text. Nobody makes you choose one. A thousand ranks can be 1,024 copies of the network, or 16
# copies, each a pipeline of 8 stages, each stage split over 8 ranks. Which of all these mixtures
# is fastest? And how would you know before you have paid for a thousand ranks?
#
# In this unit you write a model down: the bytes and the seconds of a step on any grid, small
# enough to try all of them in a moment. Its answer hangs on what it assumes, and you will see how
# much. Then you meet a fifth way to save, which is not to train most of the weights at all. You
# need unit 06; units 08 to 10 help. *Beginners* can leave out what is marked *intermediate* or
# *advanced*. It takes about an hour and a half.
#
# The first cell starts four engines.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.networks import PARTS, plot_places, plot_shares
from ddl_teach.theory.grids import layers
from ddl_teach.theory.grids.grid import Grid, every
from ddl_teach.theory.machine import Cluster

engines = Engines(4)

# %% [markdown]
# ## 1. A grid of ranks · *beginner*
#
# Every rank gets four coordinates. Who has the same weights and another part of the batch differs
# along **data**. Who has the next layers differs along **pipeline**. Who has another part of the
# same layers differs along **tensor**, and who has other positions of the same texts along
# **context**. The second cell below draws 32 ranks, eight on a node.
#
# **Predict.** But first three numbers, before anything runs; write them in place of the dots. A
# bad guess costs nothing, and no guess teaches nothing.

# %%
predict("12.grids", ...)
predict("12.pure", ...)
predict("12.sparse", ...)

# %%
AXES, grid = ("data", "pipeline", "tensor", "context"), Grid(2, 4, 2, 2)
places = [tuple(getattr(place, axis) for axis in AXES) for place in map(grid.place, range(32))]
plot_places(places, 8, title="Whoever talks most sits on one node")

# %% [markdown]
# Ranks are numbered so that neighbours along tensor come first, then those along context, then
# along data, and those along the pipeline last. So who talks most is closest together. Each row of
# ranks along an axis has a communicator of its own, made with `comm.split`; a rank needs four.
#
# The ranks in a grid are the product of the four numbers. A grid is written
# `(data, pipeline, tensor, context)` from here on.
#
# **Exercise.** To learn how it goes: all grids of so many ranks, in any order. The first cell
# below is yours, the second checks it, and the third asks it how many there are for 1,024 ranks.
# If you are stuck, put `hint("12.grids")` into a cell of its own; asked again it says more.


# %% name="12.grids" tags=["answer"]
def grids(ranks):
    """Return all (data, pipeline, tensor, context) of which the product is `ranks`."""
    divisors = [one for one in range(1, ranks + 1) if ranks % one == 0]
    ### BEGIN SOLUTION
    return [
        (data, pipeline, tensor, ranks // (data * pipeline * tensor))
        for data in divisors
        for pipeline in divisors
        for tensor in divisors
        if ranks % (data * pipeline * tensor) == 0
    ]
    ### END SOLUTION


# %% name="12.grids" tags=["check"]
check("12.grids", grids)
### BEGIN HIDDEN TESTS
judge("12.grids", grids, seed=121)
### END HIDDEN TESTS

# %%
from ddl_class.exercises.unit_12.judges import bytes_of_step, seconds_of_step

my_grids = yours("12.grids", grids, lambda ranks: [tuple(vars(g).values()) for g in every(ranks)])
reveal("12.grids", len(my_grids(1024)))

# %% [markdown]
# So few! No clever search is needed. Try all of them on paper; what is needed is the paper.
#
# ## 2. What travels along each axis · *beginner*
#
# Take a transformer: `blocks` blocks of a `width` $h$, each with $12 h^2$ weights, on texts of
# `length` $T$. The batch is split over data $D$ and then into `micro_batches` $m$. A rank has
# $n = \frac{\text{batch}}{D\,m} \cdot \frac{T}{C}$ positions of a micro-batch, and
# $\text{blocks} / p$ of the blocks. In a step it sends, counted in numbers:
#
# | axis | what | how often | numbers |
# |---|---|---|---|
# | data | gradients, averaged over $R = D\,C$ ranks | once | $2\frac{R-1}{R} \cdot$ own weights |
# | pipeline | an activation on, its gradient back | $m$ | $n h$ each |
# | tensor | four sums a block, 2 forward and 2 backward | $m$ | $2\frac{t-1}{t} \, n h$ each |
# | context | keys and values of the own heads | $m$ | see below |
#
# Some lines need a second look.
#
# - Ranks along context hold the same weights as those along data: all $R$ of them average.
# - Own weights are $\frac{\text{blocks}}{p} \cdot \frac{12 h^2}{t}$.
# - In the middle of a pipeline a rank sends on *and* back. With two stages nobody is in the
#   middle, and each rank sends one of the two: $\min(2, p-1)$ messages a micro-batch.
# - Around the split layers all ranks along tensor hold the same activations. So tensor makes
#   neither the sums nor the messages of the pipeline smaller.
# - In **ring attention** (Liu et al. 2023) queries stay where they are. Blocks of keys and values,
#   $2 n h / t$ numbers in each block of layers, travel from rank to rank along context until all
#   have seen all: $C - 1$ hops. Backward they travel again, and their gradients travel behind them
#   and one hop more, because they have to come home: $3C - 2$ hops together. Whoever is alone
#   ($C = 1$) sends nothing.
#
# **Exercise.** The bytes along each axis, for the rank that sends most. A number has two bytes.


# %% name="12.bytes" tags=["answer"]
def step_bytes(grid, blocks, width, length, batch, micro_batches):
    """Return the bytes that a rank sends in a step along data, pipeline, tensor and context."""
    data, pipeline, tensor, context = grid
    ### BEGIN SOLUTION
    here = batch / data / micro_batches * length / context
    own, replicas = blocks / pipeline, data * context
    averaged = 2 * (replicas - 1) / replicas * own * 12 * width**2 / tensor
    passed = micro_batches * min(2, pipeline - 1) * here * width
    summed = micro_batches * own * 4 * 2 * (tensor - 1) / tensor * here * width
    hops = 3 * context - 2 if context > 1 else 0
    going_round = micro_batches * own * hops * 2 * here * width / tensor
    return 2 * averaged, 2 * passed, 2 * summed, 2 * going_round
    ### END SOLUTION


# %% name="12.bytes" tags=["check"]
check("12.bytes", step_bytes)
### BEGIN HIDDEN TESTS
judge("12.bytes", step_bytes, seed=122)
### END HIDDEN TESTS

# %%
my_bytes = yours("12.bytes", step_bytes, bytes_of_step)
deep = {"blocks": 24, "width": 2048, "length": 2048}  # 1.4 billion weights
for grid in [(512, 1, 1, 1), (1, 512, 1, 1), (1, 1, 512, 1), (1, 1, 1, 512), (32, 2, 4, 2)]:
    sent = my_bytes(grid, **deep, batch=512, micro_batches=1)
    print(f"{grid!s:17}", *(f"{nbytes / 1e9:9.3f} GB" for nbytes in sent))

# %% [markdown]
# The first three pay one price only; context pays that of data besides, for its ranks hold the
# same weights. (Two of the four cannot even be: there are neither 512 blocks nor 512 heads.) The
# mixture pays all four prices, and together it sends more than data alone. It averages an eighth
# as much, and most of the rest it sends along tensor and context, which can stay inside a node. So
# bytes do not decide; where they travel does.
#
# ## 3. Count it on your ranks · *beginner*
#
# Is it true? Your engines now train a small GPT for one step, on some of the ten grids that four
# ranks can be: real tensors, real gradients, unit 08's averaging, unit 09's layers, unit 10's
# pipeline and ring attention put together. The ledger knows whom a rank has sent to, and so along
# which axis. It prints what the rank that sends most has sent along data, pipeline, tensor and
# context, and below that what `step_bytes` says. (The numbers of this network have four bytes.)

# %%
from ddl_measure.experiments.grids import seconds_on, sent_on, simulated_seconds, simulated_step

small = {"blocks": 4, "width": 64, "length": 32, "batch": 8, "micro_batches": 2}
for grid in [(2, 2, 1, 1), (1, 2, 2, 1), (1, 1, 2, 2), (1, 1, 1, 4)]:
    run = engines.run(sent_on, timeout=120, trace=False, grid=Grid(*grid), heads=4, **small)
    most = [max(getattr(one, axis) for one in run.results) for axis in AXES]
    said = [int(2 * nbytes) for nbytes in my_bytes(grid, **small)]
    print(f"{grid}  ledger {most}\n{'formula':>20} {said}")
    assert (said[1], said[3]) == (most[1], most[3])

# %% [markdown]
# Pipeline and context agree to the byte. Along data and tensor the ledger has a little more:
# biases, norms, embedding and scores have weights too, and before the first block the embedding is
# summed as well, behind the last one a few numbers of the loss.
# `theory.grids.sent` counts those too, and the tests compare it with the ledgers of all 55 grids
# of 1, 2, 3, 4, 6 and 8 ranks, to the byte.
#
# ## 4. From bytes to seconds · *beginner*
#
# A rank is `busy` computing for so many seconds of a step. It waits for every byte that it sends
# along an axis `per_byte` seconds; that depends on the axis, since some stay inside a node. And in
# a pipeline it waits for others: it needs $p - 1$ micro-batches to fill and to drain, on top of
# the $m$ that there are. So all that a stage does for its micro-batches is stretched. The
# averaging of gradients comes after the pipeline has drained, and nothing stretches it. (It can be
# hidden behind computing, as in unit 08. Here nothing is hidden, and that is unfair to grids with
# many ranks along data: they average most.)
#
# **Exercise.** How long does a step take? It has five terms: `busy`, and the waiting along the
# four axes. Which of them does a stage spend on its micro-batches, and how much longer do those
# get? What a stage hands on to the next is not stretched. `sent` is what your `step_bytes`
# returns, and `per_byte` are four numbers in the same order.


# %% name="12.seconds" tags=["answer"]
def step_seconds(grid, micro_batches, busy, sent, per_byte):
    """How many seconds does a step take on this grid?"""
    ### BEGIN SOLUTION
    data, passed, tensor, context = np.array(sent) * per_byte
    bubble = (grid[1] - 1) / micro_batches
    return (busy + tensor + context) * (1 + bubble) + passed + data
    ### END SOLUTION


# %% name="12.seconds" tags=["check"]
check("12.seconds", step_seconds)
### BEGIN HIDDEN TESTS
judge("12.seconds", step_seconds, seed=123)
### END HIDDEN TESTS

# %% [markdown]
# So three of the five terms are stretched:
#
# $$T = (\text{busy} + \text{tensor} + \text{context})
# \left(1 + \frac{p-1}{m}\right) + \text{pipeline} + \text{data}.$$
#
# ## 5. Which grid is best? · *beginner*
#
# 512 ranks, eight on a node, 100 TFLOP/s each. Inside a node a rank has 200 GB/s. To the others a
# node has cards of 25 GB/s each, and all rings that leave it share them: along data with tensor 4
# these are four rings, along data alone it is one. That is a `Cluster`, first with a single card.
# The next cell tries all grids with your model, each with 1, 4 and 16 micro-batches, and prints
# the five best. (512 texts on 512 ranks: each computes as much as one text needs, three times its
# forward pass.) The cell behind it asks the course's own model, which counts a little more:
# embedding and scores, latencies, uneven stages, and what a rank has to *hold*. It says why, too,
# and shows what its first grids spend their time on.

# %%
my_seconds, mine = yours("12.seconds", step_seconds, seconds_of_step), {}
slow, gpt = Cluster(nodes=64), layers.transformer(**deep, heads=16, vocabulary=51200)
for grid in [one for one in my_grids(512) if one[1] <= 24 and one[2] <= 16]:
    per_byte = [Grid(*grid).link(slow, axis).per_byte for axis in AXES]
    for m in (m for m in (1, 4, 16) if 512 % (grid[0] * m) == 0):
        sent = my_bytes(grid, **deep, batch=512, micro_batches=m)
        mine[grid, m] = my_seconds(grid, m, 3 * gpt.work / slow.flops, sent, per_byte)
for choice in sorted(mine, key=mine.get)[:5]:
    print(*choice, f"{mine[choice]:.3f} s")

# %%
from ddl_teach.theory.grids.search import search, why

found = search(gpt, slow, batch=512)
for choice in [*found[:3], *(one for one in found if 512 in vars(one.grid).values())]:
    print(why(choice, found[0]))

# %%
[pure] = [choice for choice in found if choice.grid == Grid(data=512)]
assert pure.seconds.data > pure.seconds.total / 2
reveal("12.pure", pure.seconds.total / found[0].seconds.total)
shown = [*found[:7], pure]
spent = {part: [getattr(one.seconds, part) for one in shown] for part in PARTS}
plot_shares([str(one.grid) for one in shown], spent, title="A step by this model, one card a node")

# %% [markdown]
# With one card for eight ranks mixtures come first, and data alone takes longer: more than half of
# its step is averaging. Not because one ring were slower than four. As many bytes leave a node in
# both; a pipeline simply has fewer of them to average, as each rank holds fewer weights. **The
# surprise** comes when you count the cards. A DGX H100, by its user guide, has eight for eight
# GPUs.

# %%
for cards in (1, 2, 4, 8):
    order = search(gpt, Cluster(nodes=64, cards=cards), batch=512)
    [alone] = [choice for choice in order if choice.grid == Grid(data=512)]
    times = alone.seconds.total / order[0].seconds.total
    print(f"{cards} cards: first is {order[0].grid}, data alone takes {times:.2f} times as long")
    assert (order[0] == alone) == (cards >= 4)

# %% [markdown]
# And averaging can hide behind the backward pass (unit 08), as far as it fits. With one card and
# four times the batch it fits:

# %%
larger = search(gpt, slow, batch=2048, overlap=1.0)
print("hidden, with a batch of 2,048: first is", larger[0].grid)
assert larger[0].grid == Grid(data=512)

# %% [markdown]
# By this model, with four cards or eight, or with averaging that hides, nothing is faster for this
# network than data alone: all of it fits on a rank. So ask of every such table how many cards a
# node has, who shares them, and what is hidden. From here on `fast` has eight cards.
#
# ## 6. What must fit · *intermediate*
#
# A larger network does not fit on a rank at all: with Adam in half precision each weight takes 16
# bytes (unit 11). GPT-3 has 175 billion of them, 2.8 TB. Here activations are computed again in
# the backward pass, so that little of them is kept.

# %%
fast, half = Cluster(nodes=64, cards=8), Cluster(nodes=32, cards=8)
large = layers.transformer(blocks=96, width=12288, heads=96, length=2048, vocabulary=51200)
found = search(large, fast, batch=512, recompute=True)
can = [one.grid for one in found if not one.refused]
assert all(grid.pipeline > 1 for grid in can)
print(f"{len(can)} of {len(found)} grids can be")
for choice in [*found[:4], *found[-1:], *(one for one in found if one.grid == Grid(512))]:
    print(why(choice, found[0]))

# %% [markdown]
# Here data alone cannot be: without a pipeline nothing fits. The first grids differ by a few
# percent, which is less than this model may be wrong, so it does not decide among them.
# Megatron-LM's own example of GPT-3, for 1,024 A100s of eight to a node, takes tensor 8 and
# pipeline 16. No step of it ran here: what you see is arithmetic.
#
# ## 7. Simulate what nobody has at home, and measure what you have · *intermediate*
#
# A model that leaves things out may leave out the wrong ones. So run the whole step: the
# pipeline's real worker, every hop of every ring, 256 ranks on 32 nodes, four wide blocks. Only
# the numbers are missing; a `Phantom` takes their place, and the clock runs on by the operations.
# Here the cables of a node are really shared: messages that are on one at the same time slow each
# other down. The cell below lays it over the formula, which counts rings on paper and leaves
# out that they meet a pipeline's messages.

# %%
from ddl_teach.theory.grids.seconds import seconds

wide = layers.transformer(blocks=4, width=4096, heads=32, length=4096, vocabulary=8192)
split, chosen = {"batch": 128, "micro_batches": 2}, [Grid(8, 4, 8, 1), Grid(4, 4, 8, 2)]
formula = [seconds(wide, grid, half, **split) for grid in chosen]
steps = [simulated_step(wide, grid, half, **split) for grid in chosen]
virtual = {"simulated": [max(step.results) for step in steps]}
assert np.allclose([one.total for one in formula], virtual["simulated"], rtol=0.05)
spent, names = {part: [getattr(one, part) for one in formula] for part in PARTS}, map(str, chosen)
plot_shares([*names], spent, also=virtual, title="256 ranks, by formula and simulated")

# %% [markdown]
# Simulated ranks count what they hold, too. Does the formula of section 6 say the same? And what
# happens where ranks have less?

# %%
from ddl_teach.theory.grids import memory

for grid, step in zip(chosen, steps, strict=True):
    by_formula, most = memory.held(wide, grid, 0, **split).total, step.memory.peak(0)
    print(f"{grid}: {most / 2**30:.2f} GiB simulated, {by_formula / 2**30:.2f} by formula")
    assert most == by_formula

# %%
from ddl_teach.comm import OutOfMemory

try:
    simulated_step(wide, chosen[0], half, memory=2**30, **split)
except OutOfMemory as error:
    print(error.shortage)

# %% [markdown]
# And your ranks? The next cell asks your machine for two things: how fast a rank computes while
# three others compute beside it, and what a message costs. Then the one after it has five grids by
# formula, by simulation and by your clock, one over the other.

# %%
from ddl_class.notebook.this_machine import this_machine

sizes, job = {"blocks": 2, "width": 128, "heads": 4, "length": 64}, {"micro_batches": 4}
little, job["batch"] = layers.transformer(**sizes, vocabulary=100), 16
ways = [Grid(4), Grid(1, 4), Grid(1, 1, 4), Grid(1, 1, 1, 4), Grid(2, 2)]
timing = {"timeout": 300, "trace": False, "strict": False, "grids": [Grid(), *ways]}
alone, *measured = np.max(engines.run(seconds_on, **(timing | job | sizes)).results, axis=0)
here = this_machine(engines, flops=3 * 16 * little.work / alone)

# %%
formula = [seconds(little, way, here, itemsize=4, **job) for way in ways]
also = {"simulated": [simulated_seconds(little, way, here, itemsize=4, **job) for way in ways]}
also["measured"], title = measured, "A step of yours on five grids"
spent = {part: [getattr(one, part) for one in formula] for part in PARTS}
plot_shares([str(way) for way in ways], spent, also=also, title=title)

# %% [markdown]
# Where your clock says something else than the formula, three things can be the reason, and none
# of them is in the model. With fewer cores than ranks, a rank that waits for a message may have to
# wait for a core as well, so whatever talks often takes longer. A rank that waits in the bubble
# lends its core to the others, so that a pipeline can even be faster than on paper. And layers
# that are cut into pieces make small products, which run at a lower rate. A model of messages is a
# model of messages.
#
# ## 8. One product in three dimensions · *advanced*
#
# Along tensor a layer was cut in one direction. AxoNN cuts every product in three, and data
# parallelism is its fourth (Singh et al., 2023). Take $y = xW^T$ and ranks $X \times Y \times Z$.
# The inputs' columns are cut into $Y$ parts, the outputs into $X$, the samples into $Z$. So $W$
# falls into $X \times Y$ blocks. The $Z$ ranks that need the same block keep a share of its rows
# each; before they multiply, they gather it. And what a rank gets is one term only, of a sum over
# all inputs, which are spread along $Y$.
#
# **Exercise.** `inputs` are this rank's: the samples of its $z$, the columns of its $y$. `rows` is
# its share of block $(x, y)$: the shares of $z = 0, 1, \dots$ lie below each other. Return its
# outputs: the samples of its $z$, the outputs of its $x$. `comm.split(number)` is a group of all
# ranks that say the same number, in order; `ring.allgather(group, x)` fills in the others' parts
# of `x`, and `ring.allreduce(group, x)` sums up.

# %%
from ddl_teach.collectives import ring


# %% name="12.product" tags=["answer"]
def product(comm, inputs, rows, grid):
    """This rank's outputs of x W^T, on grid = (X, Y, Z)."""
    xs, ys, zs = grid
    x, y, z = comm.rank % xs, comm.rank // xs % ys, comm.rank // (xs * ys)
    ### BEGIN SOLUTION
    block = np.empty((zs, *rows.shape))
    block[z] = rows
    ring.allgather(comm.split(x + xs * y), block)
    outputs = inputs @ block.reshape(-1, rows.shape[1]).T
    ring.allreduce(comm.split(x + xs * z), outputs)
    return outputs
    ### END SOLUTION


# %% name="12.product" tags=["check"]
check("12.product", product)
### BEGIN HIDDEN TESTS
judge("12.product", product, ranks=(6, 8, 12), seed=127)
### END HIDDEN TESTS

# %% [markdown]
# Backwards the same happens the other way round: the gradient of the inputs is a sum along $X$,
# that of the weights a reduce-scatter along $Z$. Then what is left is averaged over copies. Five
# terms in all, as formulas in `theory.product_3d`; the library's layer sends just these bytes.

# %%
from ddl_teach.theory.product_3d import ProductGrid, layer_bytes

layer, sent = {"rows": 2048, "inputs": 4096, "outputs": 4096, "itemsize": 2}, {}
for shape in ((8, 1, 1), (1, 8, 1), (1, 1, 8), (2, 2, 2)):
    own = ProductGrid(*shape)
    sent[shape] = layer_bytes(own, own.place(0), **layer)
    parts = "".join(f"{name} {nbytes / 1e6:6.1f}   " for name, nbytes in vars(sent[shape]).items())
    print(f"X, Y, Z = {shape}:   {parts}sum {sent[shape].total / 1e6:5.1f} MB")
assert min(sent, key=lambda shape: sent[shape].total) == (2, 2, 2)

# %%
long, cube = (ProductGrid(*shape) for shape in ((64, 1, 1), (4, 4, 4)))
more, less = (layer_bytes(one, one.place(0), **layer).total for one in (long, cube))
print(f"on 64 ranks the cube sends {less / 1e6:.1f} MB, one direction {more / 1e6:.1f} MB")

# %% [markdown]
# Each of the three alone pays one price in full. The cube pays all three, each of a smaller piece,
# and sends least; on 64 ranks the gap is wider than on eight.
#
# ## 9. What need not be trained · *beginner*
#
# Now something else. Of a trained network's weights nine in ten can often go, if the rest is
# trained on: Han et al. (2015) left AlexNet a ninth of its weights, and it was as accurate. What
# does a network with 90% zeros save? A product with a tenth of the operations, one would think.
# Measure it.

# %%
from torch import rand, randn
from torch.nn.functional import linear

from ddl_measure.repetitions import side_by_side

x, weights = randn(1024, 1024), randn(1024, 1024) * (rand(1024, 1024) < 0.1)
sparse = weights.to_sparse_csr()  # torch may say that this is a beta
took = side_by_side({"dense": lambda: linear(x, weights), "sparse": lambda: linear(x, sparse)})
reveal("12.sparse", took["dense"].min() / took["sparse"].min())
assert np.allclose(linear(x, sparse), linear(x, weights), atol=1e-3)

# %% [markdown]
# Where this was written, the layer with a tenth of the operations took **5 to 7 times as long** as
# the dense one (`benchmarks/results/pruned_products.txt`). A dense product reads long rows into
# wide registers and uses each number many times; a sparse one looks up where each number belongs.
# In the form that suits it best, the matrix first and columns after it, it took 1.08 times as long
# as the dense one with 1024 x 1024 weights and 0.62 times with 512 x 512: a tenth of the
# operations, and at best 1.6 times as fast. At 99% zeros it took 0.18 and 0.25 times as long; the
# layer still took 1.07 times as long with 1024 x 1024 weights, and 0.70 times with 512 x 512.
# (These are medians on one thread. That 1.08 has a 95% interval from 0.83 to 1.90, and that 1.07
# from 0.98 to 1.16: nothing lost and nothing gained. The larger matrix met 512 samples and the
# smaller one 64; GPUs and other libraries were not tried.)
#
# So Singh and Bhatele (2023) leave the products dense and look elsewhere. The weights that are
# gone need no gradient, no momentum, and no message. Only what is *around* the products is
# compressed.
#
# **Exercise.** `places` are the places of the kept weights, counted in the flat array. What is
# left of an array when nothing else is kept, and all of that?


# %% name="12.compress" tags=["answer"]
def compress(dense, places):
    """What must be stored of `dense` if only the weights at `places` are kept?"""
    ### BEGIN SOLUTION
    return dense.reshape(-1)[places]
    ### END SOLUTION


# %% name="12.compress" tags=["check"]
check("12.compress", compress)
### BEGIN HIDDEN TESTS
judge("12.compress", compress, seed=124)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** And back: zeros everywhere else, in the given shape, of the values' type.


# %% name="12.expand" tags=["answer"]
def expand(values, places, shape):
    """Return an array of this shape with the values at their places and zeros elsewhere."""
    ### BEGIN SOLUTION
    dense = np.zeros(int(np.prod(shape)), values.dtype)
    dense[places] = values
    return dense.reshape(shape)
    ### END SOLUTION


# %% name="12.expand" tags=["check"]
check("12.expand", expand)
### BEGIN HIDDEN TESTS
judge("12.expand", expand, seed=125)
### END HIDDEN TESTS

# %% [markdown]
# ## 10. A step that only knows the kept weights · *intermediate*
#
# Now the training step of many ranks, with momentum. Each rank has a dense gradient, as the dense
# backward pass leaves it. The velocity has as many numbers as weights are kept: it is compressed
# for good. `add_up` is the ring of unit 06.
#
# **Exercise.** Average the gradient of the kept weights over all ranks; the velocity becomes 0.9
# times itself plus that; the kept weights go down by `rate` times the velocity. Change `weights`
# and `velocity` in place. A rank may send no more than the ring sends of the *kept* values.


# %%
def add_up(comm, x):
    chunks = np.array_split(x, comm.size)
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    for step in range(1, 2 * comm.size - 1):  # once round to add, once to hand out
        mine, coming = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        arriving = np.empty_like(chunks[coming])
        comm.sendrecv(chunks[mine], right, arriving, left)
        chunks[coming][:] = arriving + (chunks[coming] if step < comm.size else 0)


# %% name="12.pruned_step" tags=["answer"]
def pruned_step(comm, weights, gradient, velocity, places, rate):
    """velocity = 0.9 velocity + mean kept gradient; kept weights -= rate * velocity; in place."""
    ### BEGIN SOLUTION
    kept = compress(gradient, places)
    add_up(comm, kept)
    velocity[:] = 0.9 * velocity + kept / comm.size
    weights.reshape(-1)[places] -= rate * velocity
    ### END SOLUTION


# %% name="12.pruned_step" tags=["check"]
check("12.pruned_step", pruned_step)
### BEGIN HIDDEN TESTS
judge("12.pruned_step", pruned_step, ranks=(2, 5, 6), seed=126)
### END HIDDEN TESTS

# %% [markdown]
# What does it save? The first cell below counts messages: a tenth of the weights, a tenth of the
# bytes. The second counts memory, for a network of a billion weights in half precision, with
# Adam. The weights stay dense, for the dense products; the rest is a tenth, and so are a copy of
# the kept values, and their places of four bytes each. And what memory frees, the grid of section
# 6 can use.

# %%
my_step = yours("12.pruned_step", pruned_step,
                lambda comm, gradient, places, **_: add_up(comm, gradient[places]))  # fmt: skip
for every_so_many in (1, 10):
    places = np.arange(0, 100_000, every_so_many)
    given = {"weights": np.zeros(100_000), "gradient": np.ones(100_000), "places": places}
    run = simulate(my_step, 8, **given, velocity=np.zeros(len(places)), rate=0.1)
    print(f"kept 1 of {every_so_many:2}: {run.ledger[0].bytes_sent:9,} bytes a rank")
progress()

# %%
from ddl_teach.theory.memory import held, pruned

full, thin = held(0, [10**9], 1, weight=2, state=12), pruned(10**9, 10**8, weight=2, state=12)
for part in ("weights", "gradients", "states", "total"):
    print(f"{part:10}{getattr(full, part) / 1e9:6.1f} GB  {getattr(thin, part) / 1e9:6.1f} GB")
assert (full.total, thin.total) == (16e9, 4e9)

# %% [markdown]
# With so much less to hold, which grid comes first for the network of section 6?

# %%
freer = search(large, fast, batch=512, recompute=True, state=18, kept=0.1)
for name, one in (("all weights trained", found[0]), ("10% kept", freer[0])):
    print(f"{name:20} {one.grid}: {one.seconds.total:.1f} s, {one.held.total / 1e9:.0f} GB a rank")

# %%
before, after = found[0], freer[0]
saved = {part: getattr(before.seconds, part) - getattr(after.seconds, part) for part in PARTS}
assert max(saved, key=saved.get) == "bubble"
assert after.grid.data > before.grid.data
assert after.grid.pipeline < before.grid.pipeline

# %% [markdown]
# So the second surprise: 90% of zeros made the layer slower, and yet they save three quarters of
# the memory and nine tenths of the gradients' messages. Tensor and pipeline are there because a
# copy of the network did not fit. With less to hold, the first grid by this model has more copies
# and a shorter pipeline, and what shrinks most is the bubble.
#
# How much is kept depends on what is counted. Here each weight keeps its 2 bytes, and of each that
# is trained there are a copy (2), a gradient (2), Adam's weight and two moments in single
# precision (12) and its place (4): 20 bytes, so $2 + 20 \cdot 0.1 = 4.0$ bytes for each of all
# weights. AxoNN's published code, into which Singh and Bhatele (2023) built theirs, also keeps
# each gradient in single precision for the optimizer. These are 4 bytes more: 20 in place of 16
# before pruning, and $2 + 24 \cdot 0.1 = 4.4$ after it.
#
# ## 11. What production systems do · *advanced*
#
# PyTorch has the same grid: a `DeviceMesh`, which makes a process group for each axis. The last
# name runs fastest there as well. On your engines, beside the course's own:


# %%
from ddl_class.notebook import gloo


def meshes(comm):
    from torch.distributed.device_mesh import init_device_mesh

    with gloo.meeting(comm):
        return init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor")).get_coordinate()


# %%
theirs = engines.run(meshes, timeout=120, trace=False).results
ours = [[place.data, place.tensor] for place in map(Grid(data=2, tensor=2).place, range(4))]
assert [list(place) for place in theirs] == ours

# %% [markdown]
# Each rank sits where the course's own grid puts it, or the cell would have raised an error.
# Megatron-LM numbers its ranks in this order, too: tensor first, then data, and the pipeline last.
# What systems hide behind computing (the averaging of gradients, keys and values that go round,
# the sums along tensor in parts) makes the prices smaller, and changes which grid comes first.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("12")

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. Why does tensor parallelism make the averaging of gradients cheaper, and context does not?
# 2. You double the batch and leave the grid alone. Which shares of the step shrink?
# 3. Only 1% of the weights are kept. Does the memory of weights, gradients and states shrink by
#    another factor of ten?
#
# <details><summary>Answers</summary>
#
# 1. Along tensor ranks hold different weights, so each averages fewer. Along context all hold the
#    same ones and average the same number of bytes, over more ranks even. But where the ranks of a
#    node share a cable, as many bytes go over it as before.
# 2. The averaging, and with more micro-batches the bubble. All else doubles with the batch, and so
#    keeps its share or grows.
# 3. No. The dense weights stay, two bytes each. From 16 bytes a weight at the start it went to 4.0
#    with 10% kept, and with 1% it goes to 2.2, counted as in section 10: the products want their
#    zeros.
#
# </details>
#
# ## Where to read on
#
# - `ddl_teach/networks/grid/trainer.py`: training on any grid, on one screen.
# - `ddl_teach/networks/context/ring_attention.py`: exact attention over a text that no rank holds.
# - Narayanan et al., "Efficient large-scale language model training on GPU clusters using
#   Megatron-LM" (SC 2021): the grid, measured on thousands of GPUs.
# - Singh and Bhatele, "AxoNN" (IPDPS 2022), and "Exploiting sparsity in pruned neural networks to
#   optimize large model training" (IPDPS 2023): what the second half of this unit is made of.
# - Liu, Zaharia and Abbeel, "Ring attention with blockwise transformers for near-infinite context"
#   (2023).
#
# Stop your engines when you are done: `engines.stop()`. If you forget, they end with the notebook.
