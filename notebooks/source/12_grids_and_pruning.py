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
# In this unit you write the answer down: the bytes and the seconds of a step on any grid, a model
# small enough to try all of them in a moment. Then you meet a fifth way to save, which is not to
# train most of the weights at all. You need unit 06; units 08 to 10 help. *Beginners* can leave
# out what is marked *intermediate* or *advanced*. It takes about an hour and a half.
#
# The first cell starts four engines.

# %%
import numpy as np

from ddl_teach import simulate
from ddl_teach.course import Engines, check, hint, judge, predict, progress, reveal, yours
from ddl_teach.plots.grids import PARTS, plot_places, plot_shares
from ddl_teach.theory.grids.cluster import Cluster
from ddl_teach.theory.grids.grid import Grid, every
from ddl_teach.theory.grids.search import search, why

engines = Engines(4)

# %% [markdown]
# ## 1. A grid of ranks · *beginner*
#
# Every rank gets four coordinates. Who has the same weights and another part of the batch differs
# along **data**. Who has the next layers differs along **pipeline**. Who has another part of the
# same layers differs along **tensor**, and who has other positions of the same texts along
# **context**. Below are 32 ranks, eight on a node.


# %%
AXES = ("data", "pipeline", "tensor", "context")
grid = Grid(data=2, pipeline=4, tensor=2, context=2)
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
# ### Predict
#
# Three numbers before anything runs. A bad guess costs nothing, and no guess teaches nothing.

# %%
predict("12.grids", ...)
predict("12.pure", ...)
predict("12.sparse", ...)

# %% [markdown]
# **Exercise.** To learn how it goes: all grids of so many ranks, in any order. The first cell
# below is yours, the second runs it, the third checks it. If you are stuck, put `hint("12.grids")`
# into a cell of its own; asked again it says more.


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


# %%
print(grids(4))

# %% name="12.grids" tags=["check"]
check("12.grids", grids)
### BEGIN HIDDEN TESTS
judge("12.grids", grids, seed=121)
### END HIDDEN TESTS

# %% [markdown]
# How many are there for 1,024 ranks?

# %%
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


# %%
job = {"blocks": 24, "width": 2048, "length": 2048, "batch": 512}  # 1.4 billion weights
for grid in [(512, 1, 1, 1), (1, 512, 1, 1), (1, 1, 512, 1), (1, 1, 1, 512), (32, 2, 4, 2)]:
    sent = step_bytes(grid, **job, micro_batches=1)
    print(f"{grid!s:17}", *(f"{nbytes / 1e9:9.3f} GB" for nbytes in sent))

# %% name="12.bytes" tags=["check"]
check("12.bytes", step_bytes)
### BEGIN HIDDEN TESTS
judge("12.bytes", step_bytes, seed=122)
### END HIDDEN TESTS

# %% [markdown]
# The first four are pure, and each pays one price only, a large one. (Two of them cannot even be:
# there are neither 512 blocks nor 512 heads.) A mixture pays four prices, and all four are small.
#
# ## 3. Count it on your ranks · *beginner*
#
# Is it true? Your engines now train a small GPT for one step, on some of the ten grids that four
# ranks can be: real tensors, real gradients, unit 08's averaging, unit 09's layers, unit 10's
# pipeline and ring attention put together. The ledger knows whom a rank has sent to, and so along
# which axis.


# %%
from ddl_teach.networks.grid.measured import seconds_on, sent_on

small = {"blocks": 4, "width": 64, "length": 32, "batch": 8, "micro_batches": 2}
for grid in [(2, 2, 1, 1), (1, 2, 2, 1), (1, 1, 2, 2), (1, 1, 1, 4)]:
    run = engines.run(sent_on, timeout=120, trace=False, grid=Grid(*grid), heads=4, **small)
    most = [max(getattr(one, axis) for one in run.results) for axis in AXES]
    said = [int(2 * nbytes) for nbytes in step_bytes(grid, **small)]  # its numbers have four bytes
    print(f"{grid}  ledger {most}\n{'you':>20} {said}")
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
# a pipeline it waits for others. The pipeline needs $p - 1$ micro-batches to fill and to drain, on
# top of the $m$ that there are, so all that a stage does for its micro-batches is stretched:
#
# $$T = (\text{busy} + \text{tensor} + \text{context})
# \left(1 + \frac{p-1}{m}\right) + \text{pipeline} + \text{data}.$$
#
# The averaging of gradients comes after the pipeline has drained, and nothing stretches it. (It
# can be hidden behind computing, as in unit 08. Here nothing is hidden: the model is simple, and
# errs alike for all.)
#
# **Exercise.** The seconds of a step. `sent` is what your `step_bytes` returns, and `per_byte` are
# four numbers in the same order.


# %% name="12.seconds" tags=["answer"]
def step_seconds(grid, micro_batches, busy, sent, per_byte):
    """Return (busy + tensor + context) (1 + (pipeline - 1) / micro_batches) + pipeline + data."""
    ### BEGIN SOLUTION
    data, passed, tensor, context = np.array(sent) * per_byte
    bubble = (grid[1] - 1) / micro_batches
    return (busy + tensor + context) * (1 + bubble) + passed + data
    ### END SOLUTION


# %%
print(step_seconds((2, 2, 1, 1), 4, busy=1.0, sent=(8e9, 1e9, 0, 0), per_byte=(4e-11,) * 4))

# %% name="12.seconds" tags=["check"]
check("12.seconds", step_seconds)
### BEGIN HIDDEN TESTS
judge("12.seconds", step_seconds, seed=123)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. Which grid is best? · *beginner*
#
# 512 ranks, eight on a node, 100 TFLOP/s each. Inside a node 200 GB/s, between nodes 25 GB/s. All
# grids, each with its best number of micro-batches, by your model. A step has
# $6 \cdot \text{batch} \cdot T \,(12 h^2 + 2 T h) \cdot \text{blocks}$ operations.


# %%
cluster = Cluster()
work = 6 * 512 * 2048 * (12 * 2048**2 + 2 * 2048 * 2048) * 24


def my_time(grid, m):
    per_byte = [cluster.link(Grid(*grid), axis)[1] for axis in AXES]
    sent = step_bytes(grid, **job, micro_batches=m)
    return step_seconds(grid, m, work / 512 / cluster.flops, sent, per_byte)


# %%
splits = [(grid, m) for grid in my_grids(512) for m in (1, 4, 16) if 512 % (grid[0] * m) == 0]
mine = {one: my_time(*one) for one in splits if one[0][1] <= 24 and one[0][2] <= 16}
for choice in sorted(mine, key=mine.get)[:5]:
    print(*choice, f"{mine[choice]:.3f} s")

# %% [markdown]
# The course's own model counts a little more: embedding and scores, latencies, uneven stages, and
# what a rank has to *hold*. It says why, too.

# %%
from ddl_teach.theory.grids.layers import transformer

gpt = transformer(blocks=24, width=2048, heads=16, length=2048, vocabulary=51200)
found = search(gpt, 512, cluster, batch=512)

# %%
for choice in [*found[:3], *(one for one in found if 512 in vars(one.grid).values())]:
    print(why(choice, found[0]))
[pure] = [choice for choice in found if choice.grid == Grid(data=512)]
reveal("12.pure", pure.seconds.total / found[0].seconds.total)

# %%
shown = [*found[:7], pure]
spent = {part: [getattr(one.seconds, part) for one in shown] for part in PARTS}
plot_shares([str(one.grid) for one in shown], spent, title="The best grids are mixtures")

# %% [markdown]
# **The surprise** is how it wins. The best grid does not avoid a price, it pays a bit of several.
# Tensor stays within a node, where bytes are cheap, and makes the gradients that data must average
# smaller. And the second best is hardly worse: once the worst is avoided, a rough model is enough.
#
# ## 6. What must fit · *intermediate*
#
# A larger network does not fit on a rank at all: with Adam in half precision each weight takes 16
# bytes (unit 11). GPT-3 has 175 billion of them. Here activations are computed again in the
# backward pass, so that little of them is kept.

# %%
large = transformer(blocks=96, width=12288, heads=96, length=2048, vocabulary=51200)
print(f"{large.weights / 1e9:.1f} billion weights, {16 * large.weights / 1e12:.1f} TB")

# %%
found = search(large, 512, cluster, batch=512, recompute=True)
possible = [choice for choice in found if not choice.refused]
print(f"{len(possible)} of {len(found)} grids can be")

# %%
for choice in [*found[:4], *found[-1:], *(one for one in found if one.grid == Grid(512))]:
    print(why(choice, found[0]))

# %% [markdown]
# Four axes are not a luxury here: without tensor and pipeline nothing fits, without data nothing
# is left to hide the bubble behind. On 1,024 GPUs of eight to a node Narayanan et al. (2021) took
# tensor 8 and pipeline 8 for a network of this size. No step of theirs ran here: it is arithmetic.
#
# ## 7. Simulate what nobody has at home · *intermediate*
#
# A model that leaves things out may leave out the wrong ones. So run the whole step: the
# pipeline's real worker, every hop of every ring, 1,024 ranks on 128 nodes, four wide blocks. Only
# the numbers are missing; a `Phantom` takes their place, and the clock runs on by the operations.
# The formula beside it.

# %%
from ddl_teach.networks.grid.only_time import simulated_seconds
from ddl_teach.theory.grids.seconds import seconds

wide = transformer(blocks=4, width=4096, heads=32, length=4096, vocabulary=8192)
split = {"batch": 512, "micro_batches": 2}
chosen = [Grid(32, 4, 8, 1), Grid(16, 4, 8, 2)]
formula = [seconds(wide, grid, cluster, **split) for grid in chosen]
virtual = [simulated_seconds(wide, grid, cluster, **split) for grid in chosen]

# %%
spent = {part: [getattr(one, part) for one in formula] for part in PARTS}
assert np.allclose([one.total for one in formula], virtual, rtol=0.15)
look = {"title": "1,024 ranks: right within a tenth", "also": {"simulated": virtual}}
plot_shares([str(one) for one in chosen], spent, **look)

# %% [markdown]
# The formula is a little too slow where stages are unequal: it lets all of them be as slow as the
# slowest. Where there is no pipeline both agree to the last digit.
#
# ## 8. Measure · *intermediate*
#
# And your ranks? First two numbers of your machine: what a message costs, and how fast a rank
# computes while three others compute beside it. Then five grids, by formula, simulation and clock.


# %%
job_here = {"batch": 16, "micro_batches": 4}
sizes = {"blocks": 2, "width": 128, "heads": 4, "length": 64}

# %%
ways = [Grid(4), Grid(1, 4), Grid(1, 1, 4), Grid(1, 1, 1, 4), Grid(2, 2)]
timing = {"timeout": 300, "trace": False, "grids": [Grid(), *ways]}
run = engines.run(seconds_on, **timing, **job_here, **sizes)
whole, *measured = np.max(run.results, axis=0)

# %%
from ddl_teach.measure.ping_pong import ping_pong
from ddl_teach.theory.fit import fit

balls = 4 ** np.arange(4, 11)
run = engines.run(lambda comm: [ping_pong(comm, ball, 50) for ball in balls], 2, trace=False)
model, little = fit(balls, run.results[0]), transformer(**sizes, vocabulary=100)
link = {"latency_inside": model.latency, "per_byte_inside": model.per_byte}
here = Cluster(ranks_per_node=4, flops=3 * 16 * little.work / whole, **link)

# %% [markdown]
# Now the three answers, one over the other.

# %%
costs = {"cluster": here, "itemsize": 4, **job_here}
formula = [seconds(little, way, **costs) for way in ways]
virtual = [simulated_seconds(little, way, **costs) for way in ways]
spent = {part: [getattr(one, part) for one in formula] for part in PARTS}
also, title = {"simulated": virtual, "measured": measured}, "Whoever talks often pays on few cores"
assert min(measured) > 0
plot_shares([str(way) for way in ways], spent, also=also, title=title)

# %% [markdown]
# Formula and simulation lie together, and your clock says something else. Two things are missing
# in the model, and both have the same reason: four processes on a machine with fewer cores. A rank
# that waits for a message may then have to wait for a core as well, so whatever talks often takes
# longer. And a rank that waits in the bubble lends its core to the others, so that a pipeline can
# even be faster than on paper. On as many cores as ranks the bubble would be back. Besides, layers
# that are cut into pieces get small, and small products are slow ones: Narayanan et al. (2021)
# measure that on GPUs, too. A model of messages is a model of messages.
#
# ## 9. What need not be trained · *beginner*
#
# Now something else. In a trained network most weights are nearly zero, and 90% of them can often
# go, if the rest is trained on (Han et al. 2015). What does a network with 90% zeros save? A
# product with a tenth of the operations, one would think. Measure it.

# %%
from torch import rand, randn
from torch.nn.functional import linear

from ddl_teach.measure.repetitions import side_by_side

x, weights = randn(1024, 1024), randn(1024, 1024) * (rand(1024, 1024) < 0.1)
sparse = weights.to_sparse_csr()  # torch may say that this is a beta
took = side_by_side({"dense": lambda: linear(x, weights), "sparse": lambda: linear(x, sparse)})
reveal("12.sparse", took["dense"].min() / took["sparse"].min())
assert np.allclose(linear(x, sparse), linear(x, weights), atol=1e-3)

# %% [markdown]
# Where this was written, the layer with a tenth of the operations took **5 to 7 times as long** as
# the dense one (`benchmarks/results/pruned_products.txt`). A dense product reads long rows into
# wide registers and uses each number many times; a sparse one looks up where each number belongs.
# In the form that suits it best, the matrix first and columns after it, it took about as long as
# the dense one: ten times fewer operations, and nothing gained. At 99% zeros sparse wins.
#
# So Singh and Bhatele (2023) leave the products dense and look elsewhere. The weights that are
# gone need no gradient, no momentum, and no message. Only what is *around* the products is
# compressed.
#
# **Exercise.** `places` are the places of the kept weights, counted in the flat array. Compress.


# %% name="12.compress" tags=["answer"]
def compress(dense, places):
    """Return a vector of the values at these places of the flat array."""
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


# %%
def add_up(comm, x):
    chunks = np.array_split(x, comm.size)
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    for step in range(1, 2 * comm.size - 1):  # once round to add, once to hand out
        mine, coming = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        arriving = np.empty_like(chunks[coming])
        comm.sendrecv(chunks[mine], right, arriving, left)
        chunks[coming][:] = arriving + (chunks[coming] if step < comm.size else 0)


# %% [markdown]
# **Exercise.** Average the gradient of the kept weights over all ranks; the velocity becomes 0.9
# times itself plus that; the kept weights go down by `rate` times the velocity. Change `weights`
# and `velocity` in place. A rank may send no more than the ring sends of the *kept* values.


# %% name="12.pruned_step" tags=["answer"]
def pruned_step(comm, weights, gradient, velocity, places, rate):
    """velocity = 0.9 velocity + mean kept gradient; kept weights -= rate * velocity; in place."""
    ### BEGIN SOLUTION
    kept = compress(gradient, places)
    add_up(comm, kept)
    velocity[:] = 0.9 * velocity + kept / comm.size
    weights.reshape(-1)[places] -= rate * velocity
    ### END SOLUTION


# %%
def one_step(comm, keep):
    places = np.arange(0, 100_000, round(1 / keep))
    weights, gradient = np.zeros((100, 1000)), np.ones((100, 1000))
    pruned_step(comm, weights, gradient, np.zeros(len(places)), places, rate=0.1)


for keep in (1.0, 0.1):
    run = simulate(one_step, 8, keep=keep)
    print(f"kept {keep:4.0%}: {run.ledger[0].bytes_sent:9,} bytes a rank")

# %% name="12.pruned_step" tags=["check"]
check("12.pruned_step", pruned_step)
### BEGIN HIDDEN TESTS
judge("12.pruned_step", pruned_step, ranks=(2, 5, 6), seed=126)
### END HIDDEN TESTS

# %% [markdown]
# A tenth of the messages. And the memory? The weights stay dense, for the dense products; the rest
# is a tenth, and so are a copy of the kept values and their places, four bytes each. In half
# precision, with Adam:

# %%
from ddl_teach.theory.memory import held, pruned

full = held(0, [10**9], 1, weight=2, state=12)
thin = pruned(10**9, 10**8, weight=2, state=12)
for name in ("weights", "gradients", "states", "total"):
    print(f"{name:10}{getattr(full, name) / 1e9:6.1f} GB  {getattr(thin, name) / 1e9:6.1f} GB")
assert thin.total < 0.3 * full.total

# %% [markdown]
# So the second surprise: 90% of zeros make no product faster, and yet they save three quarters of
# the memory and nine tenths of the gradients' messages. And what memory frees, the grid can use:
# tensor and pipeline are there because a copy of the network did not fit. With less to hold, the
# best grid has more copies and fewer pieces, and *that* is what makes training faster.

# %%
thinner = search(large, 512, cluster, batch=512, recompute=True, state=18, kept=0.1)
for name, one in (("all weights trained", found[0]), ("10% kept", thinner[0])):
    print(f"{name:20} {one.grid}: {one.seconds.total:.1f} s, {one.held.total / 1e9:.0f} GB a rank")
assert thinner[0].seconds.total < found[0].seconds.total
progress()

# %% [markdown]
# ## 11. What production systems do · *advanced*
#
# PyTorch has the same grid: a `DeviceMesh`, which makes a process group for each axis. The last
# name runs fastest there as well. On your engines, beside the course's own:


# %%
def meshes(comm, file):
    from torch import distributed as dist

    dist.init_process_group("gloo", file, rank=comm.rank, world_size=4)
    names = {"mesh_dim_names": ("data", "tensor")}
    mesh = dist.device_mesh.init_device_mesh("cpu", (2, 2), **names)
    dist.destroy_process_group()
    return mesh.get_coordinate()


# %%
from tempfile import mkdtemp

run = engines.run(meshes, timeout=120, trace=False, file=f"file://{mkdtemp()}/meeting")
ours = [Grid(data=2, tensor=2).place(rank) for rank in range(4)]
print("DeviceMesh:", run.results)
assert [[one.data, one.tensor] for one in ours] == [list(one) for one in run.results]

# %% [markdown]
# Megatron-LM, DeepSpeed and AxoNN put their axes on such groups, in this order, tensor within a
# node. What they hide behind computing (the averaging of gradients, keys and values that go round,
# the sums along tensor in parts) makes the prices smaller, and the order of the grids mostly
# stays.
#
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
#    same ones and average the same number of bytes, over more ranks even.
# 2. The averaging, and with more micro-batches the bubble. All else doubles with the batch, and so
#    keeps its share or grows.
# 3. No. The dense weights stay, two bytes each. From 16 bytes a weight at the start it went to 4.0
#    with 10% kept, and with 1% it goes to 2.2: the products want their zeros.
#
# </details>
#
# ## Where to read on
#
# - `ddl_teach/networks/grid/trainer.py`: training on any grid, on one screen.
# - `ddl_teach/networks/context/ring_attention.py`: exact attention over a text that no rank holds.
# - Narayanan et al., *Efficient large-scale language model training on GPU clusters using
#   Megatron-LM* (SC 2021): the grid, measured on thousands of GPUs.
# - Singh and Bhatele, *AxoNN* (IPDPS 2022), and *Exploiting sparsity in pruned neural networks to
#   optimize large model training* (IPDPS 2023): what the second half of this unit is made of.
# - Liu, Zaharia and Abbeel, *Ring attention with blockwise transformers for near-infinite context*
#   (2023).
#
# Stop your engines when you are done: `engines.stop()`. If you forget, they end with the notebook.
