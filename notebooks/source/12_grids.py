# %% [markdown]
# # Four dimensions
#
# **Which grid is best?**
#
# You know four ways to split training over ranks. They split the batch, the stack of layers, each
# single layer, and the text. You may combine them. A thousand ranks can be 1,024 copies of the
# network. Or they are 16 copies, each a pipeline of 8 stages, each stage split over 8 ranks. Which
# of all these grids is fastest? And how can you know before you pay for a thousand ranks?
#
# In this unit you count the bytes of a step on any grid, and make seconds of them. That is small
# enough to try all grids in a moment. Its answer depends on what it assumes, and you will see how
# much. At the end there is a puzzle: the best grid for a given machine. The second notebook of
# this unit, `12_pruning`, is about training only few of the weights. You need unit 06; units 08 to
# 10 help. *Beginners* can leave out what is marked *intermediate* or *advanced*. It takes about an
# hour and a half.
#
# The first cell starts four engines.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.networks import PARTS, plot_one_training, plot_places, plot_shares
from ddl_teach.collectives import ring
from ddl_teach.theory.grids import layers, memory
from ddl_teach.theory.grids.grid import Grid, every
from ddl_teach.theory.machine import Cluster

engines = Engines(4)

# %% [markdown]
# ## 1. A grid of ranks · *beginner*
#
# Each rank gets four coordinates.
#
# - Ranks that differ along **data** have the same weights and another part of the batch.
# - Ranks that differ along **pipeline** have other layers.
# - Ranks that differ along **tensor** have another part of the same layers.
# - Ranks that differ along **context** have other positions of the same texts.
#
# **Predict.** First two numbers, before anything runs. In how many ways can 1,024 ranks form a
# grid, data x pipeline x tensor x context? And take a GPT of 1.4 billion weights on 512
# ranks, of which eight share a node and its one network card. How many times as long as on the
# best grid does a step take if all ranks are along data? Write the numbers in place of the dots. A
# wrong guess costs nothing. The cell after that draws 32 ranks, eight on a node.

# %%
predict("12.grids", ...)
predict("12.pure", ...)

# %%
AXES, grid = ("data", "pipeline", "tensor", "context"), Grid(2, 4, 2, 2)
places = [tuple(getattr(place, axis) for axis in AXES) for place in map(grid.place, range(32))]
plot_places(places, 8, title="Ranks that talk most sit on one node")

# %% [markdown]
# The number of a rank runs fastest along tensor, then along context, then along data, and slowest
# along the pipeline. So the ranks that exchange most bytes sit closest together. The ranks in each
# row along an axis have a communicator of their own, made with `comm.split`. A rank needs four.
#
# A grid is written `(data, pipeline, tensor, context)` from here on. Its ranks are the product of
# these four numbers.
#
# **Exercise.** A warm-up of three minutes: where does a rank sit? Its number is taken apart digit
# by digit, the fastest axis first. The lines stand below, sorted by the alphabet, and one of them
# belongs nowhere: put the others in order. *Ctrl+/* makes code of comments, *Alt+↑* and *Alt+↓*
# move lines, *Tab* indents what is selected.


# %% name="12.place" tags=["answer"]
def place_of(rank, grid):
    """The rank's place in its grid: [tensor, context, data, pipeline], each counted from 0."""
    ### BEGIN SOLUTION
    place = []
    for axis in (2, 3, 0, 1):
        place.append(rank % grid[axis])
        rank = rank // grid[axis]
    return place
    ### END SOLUTION


# %% name="12.place" tags=["check"]
check("12.place", place_of)
### BEGIN HIDDEN TESTS
judge("12.place", place_of, seed=120)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** Return all grids that have `ranks` ranks, in any order. The first cell below is
# yours, the second checks it, and the third asks how many grids there are for 1,024 ranks. If you
# are stuck, put `hint("12.grids")` into a cell of its own. Ask again, and it says more.


# %% name="12.grids" tags=["answer"]
def grids(ranks):
    """Return all (data, pipeline, tensor, context) of which the product is `ranks`."""
    divisors = [number for number in range(1, ranks + 1) if ranks % number == 0]
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
# So few: no clever search is needed. If a formula says what a step costs on one grid, you can try
# all of them. The next sections write that formula.
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
# - In the middle of a pipeline a rank sends an activation on *and* a gradient back. With two
#   stages no rank is in the middle, and each sends one of the two: $\min(2, p-1)$ messages for
#   each micro-batch.
# - Around the split layers all ranks along tensor hold the same activations. So tensor makes
#   neither the sums nor the messages of the pipeline smaller.
# - In **ring attention** (Liu et al. 2023) queries stay where they are. Blocks of keys and values
#   travel: $2 n h / t$ numbers in each block of layers. They go from rank to rank along context
#   until all ranks have seen all of them: $C - 1$ hops. Backward they travel again. Their
#   gradients travel with them and make one hop more, back to where they belong. Together these are
#   $3C - 2$ hops. A rank that is alone along context ($C = 1$) sends nothing.
#
# **Exercise.** Return the bytes along each axis, for the rank that sends most. A number has two
# bytes.


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
# The first three grids send along one axis only. Context alone also sends as much along data, for
# its ranks hold the same weights. (Two of the four cannot exist: there are neither 512 blocks nor
# 512 heads.) The mixture sends along all four axes, and together more than data alone. But it
# averages an eighth as much. Most of the rest it sends along tensor and context, which can stay
# inside a node. So the number of bytes does not decide. It matters where they travel.
#
# ## 3. Count it on your ranks · *beginner*
#
# Is it true? Your engines now train a small GPT for one step, on some of the ten grids that four
# ranks can be. Tensors and gradients are real. It is the averaging of unit 08, the split layers of
# unit 09, the pipeline of unit 10 and ring attention put together. The ledger knows where a rank
# has sent to, and so along which axis. The cell prints the bytes that the rank that sends most has
# sent along data, pipeline, tensor and context, and below that what `step_bytes` says. (A number
# of this network has four bytes.) The cell takes some seconds, on a slow machine most of a minute.

# %%
from ddl_class.notebook import gloo
from ddl_measure.experiments.grids import seconds_on, sent_on, simulated_seconds, simulated_step

small = {"blocks": 4, "width": 64, "length": 32, "batch": 8, "micro_batches": 2}
for grid in [(2, 2, 1, 1), (1, 2, 2, 1), (1, 1, 2, 2), (1, 1, 1, 4)]:
    run = engines.run(sent_on, timeout=120, trace=False, grid=Grid(*grid), heads=4, **small)
    most = [max(getattr(sent, axis) for sent in run.results) for axis in AXES]
    formula = [int(2 * nbytes) for nbytes in my_bytes(grid, **small)]
    print(f"{grid}  ledger {most}\n{'formula':>20} {formula}")
    assert (formula[1], formula[3]) == (most[1], most[3])

# %% [markdown]
# Pipeline and context agree to the byte. Along data and tensor the ledger has a little more.
# Biases, norms, embedding and scores have weights too. The embedding is also summed before the
# first block, and a few numbers of the loss behind the last one. `theory.grids.sent` counts those
# as well. The tests compare it with the ledgers of all 55 grids of 1, 2, 3, 4, 6 and 8 ranks, to
# the byte.
#
# ### One training, many ways
#
# A way of splitting decides which rank computes what. It must not decide what is learnt. So take
# one GPT, the course's own of 100 thousand weights, and a text that every Python has: the
# documentation that `help` shows. Train it by one process, then by four simulated ranks in each
# way of units 08 to 11 and 21, and on a grid. Each way starts from the same weights. The second
# cell trains nine times. That takes about a quarter of a minute, and a minute or two on a slow
# machine. It names each way when it has trained.
#
# **Question.** By which way does a rank send least for this training? By which most?

# %%
from functools import partial

from ddl_measure.experiments.one_model import ADAM, WAYS, on_grid
from ddl_teach.networks.models.data import batches, documentation
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.networks.twin import train

chosen = ("data", "stage 3", "tensor", "ring", "Ulysses", "1F1B", "zero bubble")
ways = {name: WAYS[name] for name in chosen}
ways["grid 2 x 2"], text = partial(on_grid, grid=Grid(1, 2, 2)), documentation(64)[0]

# %%
given = {"model": gpt_of("100k", tied=False).double(), "batches": batches(text, 8, 4)}
losses, runs = {}, {}
for name, way in ways.items():
    runs[name] = simulate(way, 4, threads=True, trace=False, **given)
    losses[name] = np.sum(runs[name].results, axis=0)
    print(name, "has trained", flush=True)
losses = {"one process": train(*given.values(), optimizer=ADAM).losses} | losses
assert np.ptp(list(losses.values()), axis=0).max() < 1e-9
sent = {name: run.ledger[1].bytes_sent for name, run in runs.items()}
plot_one_training(losses, {"one process": 0} | sent)

# %% [markdown]
# There is one curve: the ways differ in the last digits of a sum. In what rank 1 sends they differ
# by a large factor. A pipeline hands on what lies between two blocks, and nothing else. Data sends
# gradients, so a larger batch costs it nothing. Stage 3 sends weights and gradients: it costs
# nothing there either. (It has gathered the weights once more, to return them.) The others send
# activations, which grow with the batch.
#
# ## 4. From bytes to seconds · *beginner*
#
# In a step a rank is `busy` computing for some seconds. For each byte that it sends along an axis
# it waits `per_byte` seconds. That differs from axis to axis, as some stay inside a node. In a
# pipeline it also waits for other stages. A pipeline needs $p - 1$ micro-batches to fill and to
# drain, on top of the $m$ that there are. So all that a stage does for its micro-batches takes
# longer, by the factor $1 + (p-1)/m$. We say that the bubble *stretches* it.
#
# The averaging of gradients comes after the pipeline has drained, so nothing stretches it. (It can
# hide behind computing, as in unit 08. Here nothing is hidden. That is unfair to grids with many
# ranks along data: they average most.)
#
# A step has five terms: `busy`, and the waiting along the four axes. Which of them does a stage
# spend on its micro-batches? Those are stretched. The messages from stage to stage are not.
#
# **Predict.** A pipeline has 4 stages and 8 micro-batches. Without a bubble each of the five terms
# would take one second. How long does the step take?

# %%
predict("12.bubble", ...)

# %%
reveal("12.bubble", seconds_of_step((1, 4, 1, 1), 8, 1, [1, 1, 1, 1], [1, 1, 1, 1]))

# %% [markdown]
# Three of the five terms are stretched. A rank computes, sums along tensor and sends keys and
# values round for each micro-batch. Gradients are averaged when the pipeline is empty:
#
# $$T = (\text{busy} + \text{tensor} + \text{context})
# \left(1 + \frac{p-1}{m}\right) + \text{pipeline} + \text{data}.$$
#
# ## 5. Which grid is best? · *beginner*
#
# Take 512 ranks, eight on a node, 100 TFLOP/s each. Inside a node a rank has 200 GB/s. A node
# reaches the others by cards of 25 GB/s each, and all rings that leave the node share them. Along
# data with tensor 4 these are four rings, along data alone it is one. That is a `Cluster`, first
# with a single card.
#
# The next cell tries all grids with your model, each with 1, 4 and 16 micro-batches, and prints
# the five best. (There are 512 texts on 512 ranks. Each rank computes as much as one text needs:
# three times its forward pass.) The cell after it asks the course's own model, which counts a
# little more: embedding and scores, latencies, uneven stages, and what a rank has to *hold*. It
# also says what a grid spends its time on.

# %%
mine, slow, gpt = {}, Cluster(nodes=64), layers.transformer(**deep, heads=16, vocabulary=51200)
for grid in [grid for grid in my_grids(512) if grid[1] <= 24 and grid[2] <= 16]:
    per_byte = [Grid(*grid).link(slow, axis).per_byte for axis in AXES]
    for m in (m for m in (1, 4, 16) if 512 % (grid[0] * m) == 0):
        sent = my_bytes(grid, **deep, batch=512, micro_batches=m)
        mine[grid, m] = seconds_of_step(grid, m, 3 * gpt.work / slow.flops, sent, per_byte)
for choice in sorted(mine, key=mine.get)[:5]:
    print("{}, m = {}:".format(*choice), f"{mine[choice]:.3f} s")

# %%
from ddl_teach.theory.grids.search import search, why

ordered = search(gpt, slow, batch=512)
pure_ones = [choice for choice in ordered if 512 in vars(choice.grid).values()]
for choice in [*ordered[:3], *pure_ones]:
    print(why(choice, ordered[0]))
[pure] = [choice for choice in ordered if choice.grid == Grid(data=512)]
assert pure.seconds.data > pure.seconds.total / 2
reveal("12.pure", pure.seconds.total / ordered[0].seconds.total)

# %%
shown = [*ordered[:7], pure]
spent = {part: [getattr(choice.seconds, part) for choice in shown] for part in PARTS}
title = "A step by this model, one card a node"
plot_shares([str(choice.grid) for choice in shown], spent, title=title)

# %% [markdown]
# With one card for eight ranks mixtures come first. Data alone takes longer: more than half of its
# step is averaging. The reason is not that one ring is slower than four: as many bytes leave a
# node in both. But in a pipeline each rank holds fewer weights, so there are fewer to average.
#
# **The surprise** comes when you count the cards. A DGX H100, by its user guide, has eight cards
# for eight GPUs. And averaging can hide behind the backward pass (unit 08), as far as it fits.
# With one card and four times the batch it fits; that is the last line. The cell searches five
# times, for about ten seconds, longer on a slow machine.

# %%
for cards in (1, 2, 4, 8):
    order = search(gpt, Cluster(nodes=64, cards=cards), batch=512)
    [alone] = [choice for choice in order if choice.grid == Grid(data=512)]
    times = alone.seconds.total / order[0].seconds.total
    print(f"cards: {cards}; first is {order[0].grid}\n    data alone: {times:.2f} times as long")
    assert (order[0] == alone) == (cards >= 4)
larger = search(gpt, slow, batch=2048, overlap=1.0)
print("one card, averaging hidden, batch of 2,048: first is", larger[0].grid)
assert larger[0].grid == Grid(data=512)

# %% [markdown]
# By this model nothing is faster for this network than data alone, if there are four or eight
# cards, or if averaging hides. The whole network fits on a rank. So ask three things of each such
# table: how many cards does a node have, which messages share them, and what is hidden? From here
# on `fast` has eight cards.
#
# ## 6. What must fit · *intermediate*
#
# A larger network does not fit on a rank: with Adam in half precision each weight takes 16 bytes
# (unit 11). GPT-3 has 175 billion weights, which take 2.8 TB. Here activations are computed again
# in the backward pass, so that few of them are kept.

# %%
fast, half = Cluster(nodes=64, cards=8), Cluster(nodes=32, cards=8)
large = layers.transformer(blocks=96, width=12288, heads=96, length=2048, vocabulary=51200)
ordered = search(large, fast, batch=512, recompute=True)
can = [choice.grid for choice in ordered if not choice.refused]
assert all(grid.pipeline > 1 for grid in can)
print(f"{len(can)} of {len(ordered)} grids can be")
pure_ones = [choice for choice in ordered if choice.grid == Grid(512)]
for choice in [*ordered[:4], ordered[-1], *pure_ones]:
    print(why(choice, ordered[0]))

# %% [markdown]
# Here data alone cannot be: without a pipeline nothing fits. The first grids differ
# by a few percent. The model may be wrong by more than that, so it does not decide among them.
# Megatron-LM's own example of GPT-3, for 1,024 A100s of eight to a node, takes tensor 8 and
# pipeline 16. No step of it ran here: these are formulas.
#
# ## 7. Simulate a large machine, measure your own · *intermediate*
#
# A model may leave out what matters. So simulate the whole step: the pipeline's real worker, and
# each hop of each ring, on 256 ranks of 32 nodes with four wide blocks. A `Phantom` stands in the
# place of the numbers, and the clock advances by the operations. Here the cables of a node are
# really shared: messages that are on a cable at the same time slow each other down. The cell below
# compares it with the formula. The formula leaves out that rings meet a pipeline's messages. The
# simulation takes about ten seconds, and a minute on a slow machine.

# %%
from ddl_teach.theory.grids.seconds import seconds

wide = layers.transformer(blocks=4, width=4096, heads=32, length=4096, vocabulary=8192)
split, chosen = {"batch": 128, "micro_batches": 2}, [Grid(8, 4, 8, 1), Grid(4, 4, 8, 2)]
formula = [seconds(wide, grid, half, **split) for grid in chosen]
steps = [simulated_step(wide, grid, half, **split) for grid in chosen]
virtual = {"simulated": [max(step.results) for step in steps]}
assert np.allclose([each.total for each in formula], virtual["simulated"], rtol=0.05)
spent = {part: [getattr(each, part) for each in formula] for part in PARTS}
plot_shares([*map(str, chosen)], spent, also=virtual, title="256 ranks, by formula and simulated")

# %% [markdown]
# Simulated ranks also count what they hold. Does a formula say the same?

# %%
for grid, step in zip(chosen, steps, strict=True):
    by_formula, most = memory.held(wide, grid, 0, **split).total, step.memory.peak(0)
    print(f"{grid}: {most / 2**30:.2f} GiB simulated, {by_formula / 2**30:.2f} by formula")
    assert most == by_formula

# %% [markdown]
# And your ranks? The next cell measures two things on your machine: how fast a rank computes while
# three others compute beside it, and what a message costs. It takes a minute where cores are few.
# The cell after it shows five grids by formula, by simulation and by your clock.
#
# If products take less time on a GPU, a message counts for more. So that cell also prints what was
# recorded there: steps of a GPT along the data axis alone, by replicas and by the three stages of
# unit 11. If nothing is recorded yet, it says so.

# %%
from ddl_class.notebook.this_machine import this_machine

sizes, job = {"blocks": 2, "width": 128, "heads": 4, "length": 64}, {"micro_batches": 4}
little, job["batch"] = layers.transformer(**sizes, vocabulary=100), 16
ways = [Grid(4), Grid(1, 4), Grid(1, 1, 4), Grid(1, 1, 1, 4), Grid(2, 2)]
timing = {"timeout": 300, "trace": False, "strict": False, "grids": [Grid(), *ways]}
alone, *measured = np.max(engines.run(seconds_on, **(timing | job | sizes)).results, axis=0)
here = this_machine(engines, flops=3 * 16 * little.work / alone)

# %%
from ddl_class.notebook.beside_gpus import recorded_table

print(f"yours, {ways[0]}: {measured[0] * 1e3:.1f} ms", recorded_table("step of a GPT"), sep="\n")
formula = [seconds(little, way, here, itemsize=4, **job) for way in ways]
also = {"simulated": [simulated_seconds(little, way, here, itemsize=4, **job) for way in ways]}
also["measured"], title = measured, "A step of yours on five grids"
spent = {part: [getattr(each, part) for each in formula] for part in PARTS}
plot_shares([str(way) for way in ways], spent, also=also, title=title)

# %% [markdown]
# Where your clock differs from the formula, there can be three reasons, and none of
# them is in the model. First, with fewer cores than ranks, a rank that waits for a message may
# also have to wait for a core. So grids with many messages take longer. Second, a rank that waits
# in the bubble leaves its core to the others, so a pipeline can even be faster than by the
# formula. Third, layers that are cut into pieces make small products, which run at a lower rate.
#
# ## 8. The best grid for a given machine · *intermediate*
#
# Four nodes of eight ranks train a network of 440 million weights. A node has one card, and a
# rank has room for **1.25 GiB**. Nothing is computed again.

# %%
given = Cluster(nodes=4)
network = layers.transformer(blocks=8, width=2048, heads=16, length=2048, vocabulary=8192)


def look(grid, micro_batches):
    split = {"batch": 32, "micro_batches": micro_batches}
    takes = seconds(network, grid, given, **split).total
    holds = max(memory.held(network, grid, rank, **split).total for rank in range(32))
    print(f"{grid}, m = {micro_batches}: {takes * 1e3:.1f} ms by formula, {holds / 2**30:.2f} GiB")


# %% [markdown]
# **Exercise, with a goal.** Find a grid and a number of micro-batches for simulated ranks. Each
# rank may hold at most **1.25 GiB**, and a step may take at most **122 ms**. The batch has 32
# texts. How is up to you: by thinking, by trial with `look`, or by a program that searches. What
# makes activations smaller? And what do more micro-batches cost? The cell after yours looks at
# four grids with one micro-batch, and then at yours. The check also says how fast the best grid
# is.


# %% name="12.plan" tags=["answer"]
def my_plan(ranks, batch):
    """Return a grid (data, pipeline, tensor, context) and the number of micro-batches."""
    ### BEGIN SOLUTION
    return (2, 8, 2, 1), batch // 2  # as many micro-batches as there are texts
    ### END SOLUTION


# %%
for grid in (Grid(data=32), Grid(4, 8), Grid(4, 1, 8), Grid(2, 2, 4, 2)):
    look(grid, 1)
look(Grid(*my_plan(32, 32)[0]), my_plan(32, 32)[1])

# %% name="12.plan" tags=["check"]
check("12.plan", my_plan)
### BEGIN HIDDEN TESTS
judge("12.plan", my_plan)
### END HIDDEN TESTS

# %% [markdown]
# There are 237 pairs of a possible grid and a number of micro-batches (a power of
# two), and 32 of them fit. We computed the seconds of all 32 by the formula, and simulated the
# fastest 14; the best known is the best of these. The grid that would be fastest without the limit
# needs 1.31 GiB.
#
# ## 9. A fifth axis: experts · *advanced*
#
# Networks with experts (unit 09) have one more choice. A layer has $E$ experts, and each token
# goes to $k$ of them. All $R$ ranks that hold the same weights could hold all experts. Or an
# expert axis of $x$ ranks shares them out: each rank holds $E/x$ experts, and tokens travel to
# the ranks of their experts. Then an expert's gradient is averaged over the $R/x$ ranks that hold
# it. Tokens travel in four all-to-alls a step: forward to their experts and back, and backward the
# same again. A rank makes $k$ copies of each of its tokens. In each all-to-all it sends
# $\frac{x-1}{x}$ of all these copies, if all experts get equally many.
#
# **Exercise.** Return two numbers for one layer: the bytes that a rank sends for the averaging of
# its experts' gradients, by a ring, and those for its tokens. `ranks` is $R$, `axis` is $x$,
# `experts` is $E$, and `chosen` is $k$. `weights` are those of one expert, `tokens` are a rank's,
# and a token has `width` numbers. A number has two bytes.


# %% name="12.experts" tags=["answer"]
def expert_bytes(ranks, axis, experts, weights, tokens, chosen, width):
    """Bytes for averaging and for tokens, with `axis` ranks along the expert axis."""
    ### BEGIN SOLUTION
    copies, own = ranks / axis, experts / axis * weights
    averaged = 2 * (copies - 1) / copies * own
    exchanged = 4 * (axis - 1) / axis * chosen * tokens * width
    return 2 * averaged, 2 * exchanged
    ### END SOLUTION


# %% name="12.experts" tags=["check"]
check("12.experts", expert_bytes)
### BEGIN HIDDEN TESTS
judge("12.experts", expert_bytes, seed=128)
### END HIDDEN TESTS

# %% [markdown]
# Now 64 ranks and 64 experts of 4.2 million weights each, two for each token. What is best depends
# on the tokens, for gradients are sent once a step, however many tokens there are. The next cell
# asks your function, so its numbers are right if your check is:

# %%
layer = {"experts": 64, "weights": 2 * 2048 * 1024, "chosen": 2, "width": 2048}
for tokens in (2048, 65_536):
    for axis in (1, 8, 64):
        averaged, exchanged = expert_bytes(64, axis, tokens=tokens, **layer)
        print(f"{tokens:6} tokens a rank, expert axis {axis:2}: {averaged / 1e9:5.2f} GB of "
              f"gradients, {exchanged / 1e9:5.2f} GB of tokens")  # fmt: skip

# %% [markdown]
# Along the longest axis no gradient of an expert travels. With many tokens that is no longer the
# least. But there is one more reason for a long axis: without it each rank holds all experts, 268
# million weights in each such layer.
#
# ## 10. One product in three dimensions · *advanced*
#
# Along tensor a layer was cut in one direction. AxoNN cuts each product in three, and data
# parallelism is its fourth (Singh et al., 2023). Take $y = xW^T$ and ranks $X \times Y \times Z$.
# The inputs' columns are cut into $Y$ parts, the outputs into $X$, the samples into $Z$. So $W$ is
# cut into $X \times Y$ blocks. The $Z$ ranks that need the same block keep a share of its rows
# each, and gather the block before they multiply. What a rank then computes is only one term of a
# sum over all inputs. The other terms are on the ranks along $Y$.
#
# **Exercise.** `inputs` are this rank's: the samples of its $z$, the columns of its $y$. `rows` is
# its share of block $(x, y)$: the shares of $z = 0, 1, \dots$ lie below each other. Return its
# outputs: the samples of its $z$, the outputs of its $x$. `comm.split(number)` makes a group of
# all ranks that give the same number, in order. `ring.allgather(group, x)` fills in the other
# ranks' parts of `x`, and `ring.allreduce(group, x)` sums up.


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
# In the backward pass the gradient of the inputs is a sum along $X$, and that of the weights is a
# reduce-scatter along $Z$. What is left is averaged over copies of the network. These are five
# terms in all, as formulas in `theory.product_3d`; the library's layer sends just these bytes. The
# next cell prints them for a layer of 4,096 x 4,096 weights on 8 ranks: what a rank sends of
# weights (gathered), outputs (summed), the inputs' gradients (summed), and the weights' gradients
# (reduce-scatter). There is one copy, so nothing is averaged.

# %%
from ddl_teach.theory.product_3d import ProductGrid, layer_bytes

layer = {"rows": 2048, "inputs": 4096, "outputs": 4096, "itemsize": 2}
print("X, Y, Z      weights    outputs     inputs  gradients    average   sum (MB)")
for shape in ((8, 1, 1), (1, 8, 1), (1, 1, 8), (2, 2, 2)):
    own = ProductGrid(*shape)
    sent = layer_bytes(own, own.place(0), **layer)
    print(shape, *(f"{nbytes / 1e6:10.1f}" for nbytes in (*vars(sent).values(), sent.total)))

# %% [markdown]
# $X$ alone sends the inputs' gradients, $Y$ alone the outputs, $Z$ alone weights and their
# gradients. The cube sends all four, each of a smaller piece, and in sum it sends least.
#
# ## 11. What production systems do · *advanced*
#
# PyTorch has the same grid: a `DeviceMesh`, which makes a process group for each axis. The last
# name runs fastest there as well. The next cell compares it with the course's own, on your
# engines. If both agree, it prints nothing.


# %%
def meshes(comm):
    from torch.distributed.device_mesh import init_device_mesh

    with gloo.meeting(comm):
        return init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor")).get_coordinate()


theirs = engines.run(meshes, timeout=120, trace=False).results
ours = [[place.data, place.tensor] for place in map(Grid(data=2, tensor=2).place, range(4))]
assert [list(place) for place in theirs] == ours

# %% [markdown]
# Each rank sits where the course's own grid puts it: else the assertion would have failed.
# Megatron-LM also numbers its ranks in this order: tensor first, then data, and the pipeline last.
# Systems hide messages behind computing: the averaging of gradients, keys and values that go
# round, the sums along tensor in parts. That changes which grid comes first.
#
# ## What you said
#
# Your predictions of this unit, beside what was found. One of them belongs to the second notebook.

# %%
from ddl_class import predictions

predictions("12")
progress()

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. Why does tensor parallelism make the averaging of gradients cheaper, and context does not?
# 2. You double the batch and leave the grid alone. Which shares of the step shrink?
# 3. More micro-batches make the bubble smaller. Which messages do they make smaller, and what do
#    they not change?
#
# <details><summary>Answers</summary>
#
# 1. Along tensor ranks hold different weights, so each averages fewer. Along context all hold the
#    same weights. They average the same number of bytes, and over more ranks. But where the ranks
#    of a node share a cable, as many bytes travel over it as before.
# 2. The averaging, and with more micro-batches the bubble. All else doubles with the batch, so its
#    share stays or grows.
# 3. Each message along pipeline, tensor and context gets smaller, and there are more of them: the
#    sum of their bytes stays, and the latencies add up. The averaging does not change.
#
# </details>
#
# ## Where to read on
#
# - `ddl_teach/networks/grid/trainer.py`: training on any grid, on one screen.
# - `ddl_teach/networks/context/ring_attention.py`: exact attention over a text that no rank holds.
# - Narayanan et al., "Efficient large-scale language model training on GPU clusters using
#   Megatron-LM" (SC 2021): the grid, measured on thousands of GPUs.
# - Lepikhin et al., "GShard" (2020): experts spread over ranks.
# - Liu, Zaharia and Abbeel, "Ring attention with blockwise transformers for near-infinite context"
#   (2023).
# - Singh et al., "Democratizing AI: open-source scalable LLM training on GPU-based
#   supercomputers" (2025): the grid of four dimensions on three supercomputers. A model of its
#   communication chooses the grid, as in this notebook.
# - Zheng et al., "Alpa: automating inter- and intra-operator parallelism for distributed deep
#   learning" (OSDI 2022): a grid for each part of the network, chosen by a program.
#
# Go on with `12_pruning`. Stop your engines when you are done: `engines.stop()`. If you forget,
# they end with the notebook.
