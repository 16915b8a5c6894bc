# %% [markdown]
# # Divided convolution
#
# **How can less memory be faster?**
#
# In unit 02 four methods gave the same convolution, and the fast ones needed a *workspace*: memory
# for matrices, tiles or frequencies. A training run never has enough memory. So libraries ask
# "which is your fastest method that fits?", and the answer is often a slow one.
#
# There is another way. Cut the batch **of this one layer** into *pieces*, and do them one after
# another, each by the fast method, all in the same workspace. This needs a part of the memory and
# gives the same result. This course calls it **divided convolution**. Its authors (Oyama, Ben-Nun,
# Hoefler and Matsuoka, 2018, in their library mu-cuDNN) gave the pieces a name which pipelines use
# for something else. So here they are *pieces*.
#
# Which pieces should you take, and which method for each? In this unit you write the two classic
# ways to decide such a question: dynamic programming and an integer program. You need unit 02.
# *Beginners* take sections 1 to 3 and 6, *intermediate* readers all but section 5, *advanced* ones
# everything. It takes about two hours.

# %%
import numpy as np
from scipy.optimize import milp

from ddl_class import check, hint, judge, predict, progress, reveal, yours
from ddl_class.plots.memory import plot_divisions, plot_front, plot_limits
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches import dynamic, predicted
from ddl_teach.operators.divided_batches.front import desirable
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Offer
from ddl_teach.theory.convolution_time import Rates

# %% [markdown]
# ## 1. A method that does not fit · *beginner*
#
# Take a layer with a batch of 16 examples, and a limit of 8 MiB. Measurements have given four
# *offers*. An offer names a method and a number of examples. It says how many seconds and how many
# bytes these take.

# %%
MiB = 2**20
offers = (
    Offer("im2col", 16, 0.012, 6 * MiB),
    Offer("fft", 16, 0.006, 20 * MiB),
    Offer("fft", 8, 0.0033, 11 * MiB),
    Offer("fft", 4, 0.0019, 6 * MiB),
)
rows = {"fits: 12 ms": [("im2col", 16)], "20 MiB": [("fft", 16)], "11 MiB": [("fft", 8)] * 2}
rows["fits: 7.6 ms"] = [("fft", 4)] * 4
plot_divisions(rows, title="In four pieces the fast method fits into 8 MiB")

# %% [markdown]
# Four pieces by FFT take 4 times 1.9 ms. That is more than the whole batch at once, because each
# piece transforms the kernels again. But they use the *same* 6 MiB one after another, and 7.6 ms
# is much less than im2col's 12.
#
# So the seconds add up, but of the workspaces only the largest counts. With $t_i$ and $w_i$ for
# the pieces:
#
# $$T = \sum_i t_i, \qquad W = \max_i w_i .$$
#
# **Exercise.** A warm-up of three minutes. Return the seconds and the workspace of some pieces,
# given by their sizes; `seconds[size]` and `workspace[size]` are those of one piece. The lines
# stand below in alphabetical order, and two of them belong nowhere: put the others in order.
# *Ctrl+/* turns comments into code, *Alt+↑* and *Alt+↓* move lines, *Tab* indents the selected
# lines.


# %% name="03.costs" tags=["answer"]
def costs(sizes, seconds, workspace):
    """The time and the room of pieces of these sizes that come one after another."""
    ### BEGIN SOLUTION
    time, room = 0.0, 0
    for size in sizes:
        time += seconds[size]
        room = max(room, workspace[size])
    return time, room
    ### END SOLUTION


# %% name="03.costs" tags=["check"]
check("03.costs", costs)
### BEGIN HIDDEN TESTS
judge("03.costs", costs, seed=35)
### END HIDDEN TESTS

# %% [markdown]
# The objects of the library do the same. A `DivisibleBatch` has a batch and offers, and
# `desirable` finds all its divisions that can be the best one under some limit.

# %%
job = DivisibleBatch("a layer", 16, offers)
for division in desirable(job):
    print(f"{division.workspace / MiB:4.0f} MiB {division.seconds * 1e3:6.1f} ms   {division}")
assert [len(division.parts) for division in desirable(job)] == [4, 2, 1]

# %% [markdown]
# ### Predict
#
# Now take a real layer: the second one of AlexNet with a batch of 64, five methods, and pieces of
# 1, 2, 4, ..., 64 examples in any mixture. There are exactly 630,839,681,260 such divisions. One
# of them is fastest, and one has the smallest workspace. **How many of them can be the best one
# under some limit?**
#
# And on your own machine: the fastest whole batch needs a certain workspace. Pieces may be as fast
# in a smaller one. **In how many percent of it?** Write numbers in place of the dots.

# %%
predict("03.points", ...)
predict("03.room", ...)

# %% [markdown]
# ## 2. What can be best at all · *beginner*
#
# One division *beats* another if it needs no more memory and no more time, and less of at least
# one of the two. A division that is beaten is never the best choice, whatever the limit is. The
# divisions that remain are called the **Pareto front**.
#
# **Exercise.** `workspace[k]` and `seconds[k]` are two arrays, with the workspace and the time of
# point $k$. Return the places of all points that no other point beats, in order of growing
# workspace. Of equal points keep one.
#
# The cell after yours draws the points that you keep as a staircase; no point may lie below it. If
# you are stuck, put `hint("03.pareto")` into a cell of its own. Asked again it says more.


# %% name="03.pareto" tags=["answer"]
def pareto(workspace, seconds):
    """Return the places of all points that no other point beats, by growing workspace."""
    ### BEGIN SOLUTION
    kept, least = [], np.inf
    for place in np.lexsort((seconds, workspace)):
        if seconds[place] < least:
            kept.append(int(place))
            least = seconds[place]
    return kept
    ### END SOLUTION


# %%
workspace = 2.0 ** np.random.default_rng(3).uniform(20, 30, 14)
seconds = workspace**-0.3 * np.random.default_rng(4).uniform(1, 3, 14)
kept = pareto(workspace, seconds)
others = {f"point {k}": (workspace[k], seconds[k]) for k in range(14) if k not in kept}
plot_front(workspace[kept], seconds[kept], others)

# %% name="03.pareto" tags=["check"]
check("03.pareto", pareto)
### BEGIN HIDDEN TESTS
judge("03.pareto", pareto, seed=31)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. The best division · *beginner*
#
# Choose a limit. Then for each size only the fastest method that fits matters: call its time
# $t(m)$. What is the best division of $b$ examples? Look at its last piece. Whatever its size $m$
# is, the examples before it must be divided in the best way too, or the whole could be faster. So
#
# $$T(0) = 0, \qquad T(b) = \min_{m \le b}\; T(b-m) + t(m).$$
#
# This is **dynamic programming**: solve all smaller problems first, each of them once. For a batch
# of $B$ and $k$ sizes this takes $B \cdot k$ steps, however many divisions there are. To find the
# pieces and not only the time, remember for each $b$ which $m$ was best, and go back from the end.
#
# **Exercise.** `seconds` is a dictionary from a size to $t(m)$; size 1 is always in it. Return the
# sizes of the pieces, in any order.


# %% name="03.divide" tags=["answer"]
def divide(batch, seconds):
    """Return the sizes of pieces that add up to the batch and take the least time together."""
    least, last = [0.0], [0]
    ### BEGIN SOLUTION
    for b in range(1, batch + 1):
        time, size = min((least[b - m] + seconds[m], m) for m in seconds if m <= b)
        least.append(time)
        last.append(size)
    pieces = []
    while batch:
        pieces.append(last[batch])
        batch -= last[batch]
    return pieces
    ### END SOLUTION


# %%
times = {1: 10.0, 3: 12.0, 4: 13.0}
pieces = divide(6, times)
print(pieces, "take", sum(times[size] for size in pieces))
rows = {"greedy: 33": [("fft", m) for m in (4, 1, 1)], "yours": [("fft", m) for m in pieces]}
plot_divisions(rows, title="Your division beside the greedy one")

# %% name="03.divide" tags=["check"]
check("03.divide", divide)
### BEGIN HIDDEN TESTS
judge("03.divide", divide, seed=32)
### END HIDDEN TESTS

# %% [markdown]
# Now take AlexNet's layer. Nothing has to be measured: the library's `predict` computes offers for
# a processor that is only described, from the counts of operations of unit 02. Here it is an
# accelerator. In a second it does 10 million million operations of products or 2 million million
# of transforms, and moves 500 GB. Each call takes 20 µs more. Your `divide` is called with one
# limit after another.

# %%
rates = Rates(product=10e12, transform=2e12, bandwidth=500e9)
layer = Convolution(64, 64, 27, 27, 192, kernel=(5, 5), padding=(2, 2))
job = predicted.predict(layer, rates, launch=20e-6)["forward"]
my_divide, rows = yours("03.divide", divide, dynamic.best_sizes), {}
for limit in (2, 5, 8, 16, 64, 100, 200):
    fitting = {offer.size: offer for offer in job.within(limit * MiB)}
    pieces = my_divide(64, {size: offer.seconds for size, offer in fitting.items()})
    rows[f"{limit} MiB"] = [(fitting[size].method, size) for size in pieces]
plot_divisions(rows, title="AlexNet's second layer: the pieces under each limit")

# %% [markdown]
# Only the limit changes from row to row. Often a limit is set once for a whole network, in a
# configuration file. It decides which algorithms the network runs.
#
# ### The surprise
#
# How large is the front of this layer? The next cell finds it without trying limits. It applies
# the rule of section 2 in every step of section 3: of all divisions of $b$ examples it keeps only
# those that no other division beats. A part that is beaten can always be replaced by a better one.

# %%
front = desirable(job)
whole = {o.method: (o.workspace, o.seconds) for o in job.offers if o.size == 64}
ways = [1] + [0] * 64  # how many divisions of b examples there are, offer by offer
for offer in job.offers:
    for b in range(offer.size, 65):
        ways[b] += ways[b - offer.size]
assert ways[64] == 630_839_681_260
reveal("03.points", len(front))
plot_front([d.workspace for d in front], [d.seconds for d in front], whole)

# %% [markdown]
# Of 630 thousand million divisions only a few points remain. The hollow squares are whole batches
# by one method, which are all that a library can choose from without pieces. Some of them lie far
# to the right of the staircase: pieces are as fast in a part of the memory.
#
# ## 4. As an integer program · *intermediate*
#
# Dynamic programming is a way to *compute*. An integer program is a way to *state* what is wanted,
# and a solver computes it. Let $x_i$ be how often offer $i$ is taken. Then
#
# $$\min_x\; \sum_i t_i\,x_i \qquad\text{with}\qquad \sum_i m_i\,x_i = B,
# \qquad x_i \in \{0, 1, 2, \dots\}.$$
#
# Solvers want this as $\min\, c\cdot x$ with $A\,x = b$, where $A$ is a matrix, here with a single
# row. Offers that do not fit are left out.
#
# **Exercise.** A warm-up of three minutes: build $c$, $A$ and $b$. `sizes`, `seconds` and
# `workspace` are arrays with one number for each offer.


# %% name="03.program" tags=["answer"]
def program(batch, sizes, seconds, workspace, limit):
    """Return c, A and b such that minimal c @ x with A @ x = b is the best division's time."""
    ### BEGIN SOLUTION
    fits = workspace <= limit
    return seconds[fits], sizes[fits][None, :], np.array([batch])
    ### END SOLUTION


# %%
small = np.array([1, 3, 4]), np.array([10.0, 12.0, 13.0]), np.array([100, 300, 400])
c, matrix, b = program(6, *small, limit=400)
solution = milp(c, constraints=(matrix, b, b), integrality=np.ones(len(c)))
print("counts of 1, 3 and 4:", solution.x, "time:", solution.fun)

# %% name="03.program" tags=["check"]
check("03.program", program)
### BEGIN HIDDEN TESTS
judge("03.program", program, seed=33)
### END HIDDEN TESTS

# %% [markdown]
# Two ways lead to the same answer, and they have nothing in common. That is a strong check: in the
# tests of this course both decide on three thousand random layers. Without `integrality` the
# solver may take half a piece. Try it: what does it find, and why is that never more than the
# right answer?
#
# ## 5. One workspace for a whole network · *advanced*
#
# So far each layer had the whole limit, because layers run one after another. Several may run at
# the same time (on a GPU, in branches of a network). Then their workspaces exist at the same time,
# and one total must be *divided* among them. The layer that saves most time with it should get
# most. Let layer $l$ have the front points $(w_{lc}, t_{lc})$, and take exactly one of them:
#
# $$\min_x \sum_{l,c} t_{lc}\,x_{lc} \quad\text{with}\quad \sum_c x_{lc} = 1 \text{ for each } l,
# \qquad \sum_{l,c} w_{lc}\,x_{lc} \le M, \qquad x_{lc} \in \{0, 1\}.$$
#
# **Exercise.** `workspace` and `seconds` are lists with an array for each layer. Return $c$, $A$,
# `low` and `high` with `low <= A @ x <= high`: first a row for each layer, then one row for the
# total.


# %% name="03.share" tags=["answer"]
def share(workspace, seconds, room):
    """Return c, A, low and high of the program that takes one point of each layer's front."""
    layers, c = len(workspace), np.concatenate(seconds)
    matrix = np.zeros((layers + 1, len(c)))
    ### BEGIN SOLUTION
    first = 0
    for layer, points in enumerate(workspace):
        matrix[layer, first : first + len(points)] = 1
        first += len(points)
    matrix[layers] = np.concatenate(workspace)
    low, high = np.ones(layers + 1), np.ones(layers + 1)
    low[layers], high[layers] = 0, room
    return c, matrix, low, high
    ### END SOLUTION


# %%
fronts = [[0, 60], [0, 50, 100]], [[9.0, 1.0], [8.0, 6.0, 1.0]]
for room in (50, 60, 110, 160):
    c, matrix, low, high = share(*([np.array(own) for own in part] for part in fronts), room)
    found = milp(c, constraints=(matrix, low, high), bounds=(0, 1), integrality=np.ones(5))
    print(f"room {room}: points {np.flatnonzero(found.x > 0.5)}, time {found.fun}")

# %% name="03.share" tags=["check"]
check("03.share", share)
### BEGIN HIDDEN TESTS
judge("03.share", share, seed=34)
### END HIDDEN TESTS

# %% [markdown]
# ### A large network
#
# Take ResNet-50 with a batch of 64 on the accelerator from above. It has 53 convolutions, each
# with a forward pass and two gradients: 159 jobs. `sites` finds them in the network without
# computing anything: the tensors are on torch's device `meta`, and have shapes but no numbers.

# %%
import torch

from ddl_measure.zoo.resnet50 import ResNet50
from ddl_teach.operators.divided_batches.integer import share as library_share
from ddl_teach.operators.divided_batches.transform import sites

with torch.device("meta"):
    places = sites(ResNet50(), torch.empty(64, 3, 224, 224))


# %%
def network_times(sizes):
    """The network's time in each of the rooms, its batches cut into pieces of these sizes."""
    how = {"launch": 20e-6, "sizes": sizes}
    problems = {place.problem for place in places}
    jobs = {problem: predicted.predict(problem, rates, **how) for problem in problems}
    known = {problem: [*map(desirable, by.values())] for problem, by in jobs.items()}
    fronts = [front for place in places for front in known[place.problem]]
    print(f"{len(fronts)} jobs, {sum(map(len, fronts))} points on their fronts")
    return [sum(d.seconds for d in library_share(fronts, room)) for room in rooms]


# %%
rooms = 2.0 ** np.arange(28, 39)
whole, pieces = network_times("undivided"), network_times("powers_of_two")
assert all(cut <= at_once * (1 + 1e-6) for cut, at_once in zip(pieces, whole, strict=True))
title = f"In {rooms[3] / 2**30:.0f} GiB: {whole[3] / pieces[3]:.2f} times as fast in pieces"
plot_limits(rooms, {"whole batches": whole, "pieces": pieces}, title=title)

# %% [markdown]
# The blue curve is what a solver finds with whole batches only, one method for each job. With
# little memory it has to take slow methods, and pieces keep the fast ones. On the right the curves
# meet: in this model, with enough memory for everything, nothing needs to be cut. Whether that is
# true can only be measured.
#
# ## 6. Measure yours · *beginner*
#
# Take a convolution on your machine. `measure` runs every method on every size, some pieces in a
# row, and counts the bytes that were allocated. To be quick it does only the forward pass. It runs
# on one core, since two threads that share a busy core wait for each other: the next line tells
# torch so.

# %%
import torch

torch.set_num_threads(1)

# %%
from ddl_measure.experiments.divided_batches import measure

layer = Convolution(16, 32, 24, 24, 32, kernel=(3, 3), padding=(1, 1))
job = measure(layer, passes=["forward"])["forward"]
front = desirable(job)
whole = {o.method: (o.workspace, o.seconds) for o in job.offers if o.size == 16}
room, time = min(whole.values(), key=lambda point: point[1])
as_fast = next(d for d in front if d.seconds <= 1.02 * time)
reveal("03.room", 100 * as_fast.workspace / room)
plot_front([d.workspace for d in front], [d.seconds for d in front], whole)

# %% [markdown]
# "As fast" means within two percent, since no measurement is more exact. Is the share below 100
# percent? On a processor small pieces have a second advantage, which the model of section 5 does
# not contain: a workspace that fits into the **cache** is read much faster than one in main
# memory. So pieces can beat every whole batch, even without a limit. Then less memory *is* faster.
# In the results recorded with the course, divisions into pieces were at best 1.01 times as fast as
# the fastest whole batch. If your share is 100, the caches may be large enough for the whole
# batch, or other programs have hidden the difference. With less memory than the whole batch needs,
# pieces still give the lower points of the staircase.
#
# **Does the size matter?** Set `24, 24` to `48, 48` in the cell above, and run it again. With four
# times as many pixels the measurement takes about four times as long. The workspace of the whole
# batch is four times as large. Predict your new share first. Which of the two sizes is nearer to
# the layers of a network that you would train?
#
# ## 7. A network in pieces · *intermediate*
#
# Now take a whole network, with three convolutions and what is between them. `plan` measures each
# of them and divides under a limit. `in_divided_batches` writes the network down as a graph, and
# replaces every convolution by an operator that does the same in pieces. It leaves everything else
# as it is. In the graph layer 3 of the network is called `_3`.

# %%
from torch import nn

from ddl_measure.experiments.divided_batches import plan
from ddl_teach.operators.divided_batches.transform import in_divided_batches, sites

layers = [nn.Conv2d(8, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()]
layers += [nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 5, padding=2)]
network, x = nn.Sequential(*layers), torch.randn(16, 8, 20, 20)
planned = plan(network, x, limit=MiB, passes=["forward"])
print(planned)

# %%
cut = in_divided_batches(network, planned.recipes)
torch.testing.assert_close(cut(x), network(x), rtol=1e-4, atol=1e-4)
assert cut.state_dict().keys() == network.state_dict().keys()
calls = [one for one in cut.graph.nodes if one.op.startswith("call")]
print([getattr(one.target, "__name__", one.target) for one in calls])

# %% [markdown]
# The output is the same up to rounding, the parameters have the same names, and batch
# normalisation, layer 1, is unchanged. In the plan, the indented lines give the reason for the
# line above them.
#
# ### Prediction, formula, measurement
#
# The next cells compare three numbers under five limits. They are the sum of the measured pieces,
# the formula with three rates of your machine, and the time of the transformed network. The
# dynamic program uses the first. `decide` divides for all layers under a limit; the plan has kept
# their measured jobs. `rooms_of` counts the memory that each convolution takes while the whole
# network runs: it is never more than planned.

# %%
from functools import partial

from ddl_measure.repetitions import side_by_side
from ddl_teach.operators.convolution.rates import machine_rates
from ddl_teach.operators.divided_batches.planning import decide

least = max(min(o.workspace for o in by["forward"].offers) for by in planned.jobs.values())
limits = least * 2.0 ** np.arange(0, 10, 2)
plans = [decide(planned.jobs, limit) for limit in limits]
cuts = {one.limit: in_divided_batches(network, one.recipes) for one in plans}

# %%
with torch.no_grad():
    taken = side_by_side({m: partial(run, x) for m, run in cuts.items()}, repetitions=7)
pieces, measured = [one.seconds for one in plans], [np.median(taken[m]) for m in limits]
shapes, mine = {place.name: place.problem for place in sites(network, x)}, machine_rates()
formula = [predicted.seconds_of(one.divisions, shapes, mine) for one in plans]
factor = np.median(np.divide(measured, pieces))
title = f"The network takes {factor:.2f} times what its measured pieces add up to"
curves = {"pieces added up": pieces, "formula, three rates": formula}
plot_limits(limits, curves, {"the whole network": measured}, title=title)

# %%
from ddl_measure.experiments.divided_batches import rooms_of

largest = [max(one.nbytes for one in rooms_of(partial(run, x))) for run in cuts.values()]
assert all(np.less_equal(largest, [one.workspace for one in plans])), "more than was planned"

# %% [markdown]
# The sum of the pieces leaves out all layers that are no convolutions, and other programs
# disturbed every measurement. Is the order of the limits right? A decision needs no more than
# that. The formula did not use any measured piece. Where it is far from the dots, the reason is
# mostly small pieces, whose calls cost more than their operations.
#
# ## 8. Why not cut the batch of the whole network? · *intermediate*
#
# This is done too, and it is called *gradient accumulation*: several small batches go forward and
# backward, then there is one update. It saves the memory of activations, which divided
# convolution does not. But it is **not** the same computation when layers look across the batch:

# %%
at_once, in_pieces = network(x), cut(x)
halves = torch.cat([network(x[:8]), network(x[8:])])
off = [(one - at_once).abs().max().item() for one in (halves, in_pieces)]
print(f"off by: halves of the batch {off[0]:.1e}, pieces of convolutions {off[1]:.1e}")
assert off[0] > 100 * off[1]

# %% [markdown]
# Batch normalisation takes mean and variance over the batch that it gets. When only the
# *convolutions* are cut, it still gets the whole batch.
#
# ## 9. What production systems do · *intermediate*
#
# - **cuDNN** offers several algorithms for a convolution, and each says what workspace it needs.
#   Frameworks set limits: Caffe's cuDNN layer has 8 MiB written in its code, PaddlePaddle's flag
#   `FLAGS_conv_workspace_size_limit` is 512 MB by default. `torch.backends.cudnn.benchmark = True`
#   times up to 10 of them once for each shape and keeps the fastest that fits.
# - **mu-cuDNN** sits between framework and cuDNN, measures pieces, and decides by the two programs
#   that you have written: 1.63 times as fast for AlexNet, 1.21 times for ResNet-18, on a P100-SXM2
#   (Oyama et al., 2018).
# - **torch on processors** calls oneDNN, whose convolutions work in blocks that fit into caches,
#   so they need little memory. Does cutting help there? Measure it:

# %%
weight, data = torch.randn(32, 32, 3, 3), torch.randn(16, 32, 24, 24)


def in_pieces(size):
    return [torch.conv2d(part, weight, padding=1) for part in data.split(size)]


# %%
ways = {size: partial(in_pieces, size) for size in (16, 8, 4, 1)}
native = {size: np.median(t) for size, t in side_by_side(ways, repetitions=15).items()}
print({size: f"{time / native[16]:.2f}" for size, time in native.items()})
assert min(native.values()) > 0
progress()

# %% [markdown]
# The line above the picture has for each size the time, divided by the time of the whole batch.
# Much above 1 means that each call has its cost. Near 1 means that pieces change nothing.
#
# ## 10. A puzzle: two streams share a workspace · *intermediate*
#
# A GPU can run two convolutions at the same time, on two *streams*. Each stream does its jobs one
# after another. Here are ten jobs, the forward passes of ten convolutions, in any order and on any
# stream. Each job has a front, as in section 2. Both streams share **one workspace of 16 MiB**. A
# job begins as soon as its stream is free and enough of the workspace is free; until then its
# stream waits. If two jobs could begin at the same moment, the job of the first stream begins
# first. When a job ends it gives its workspace back. The next cell prints each front in two rows:
# workspaces in MiB, and below each of them its time in ms.

# %%
from ddl_class.exercises.unit_03 import two_streams
from ddl_class.plots.work_depth import plot_schedule

workspace, seconds = two_streams.fronts()
for k, (rooms, times) in enumerate(zip(workspace, seconds, strict=True)):
    print(f"job {k} MiB", *(f"{room / MiB:6.1f}" for room in rooms))
    print("ms".rjust(9), *(f"{1e3 * time:6.2f}" for time in times))

# %% [markdown]
# **Exercise, with a goal.** If each stream has half of the workspace for itself, the best plan
# takes 16.3 ms. Find a plan of at most **14 ms**. How is up to you: you may search with a program
# of your own in other cells, and write here the plan that it found. Return two lists, one for each
# stream, with its jobs in their order, as pairs `(job, point)`. `workspace[job][point]` and
# `seconds[job][point]` are the points of a job's front, from the smallest workspace to the
# largest.


# %% name="03.streams" tags=["answer"]
def my_plan(workspace, seconds, room):
    """Return for each of two streams its jobs in their order, as pairs (job, point)."""
    ### BEGIN SOLUTION
    first = [(6, 5), (2, 3), (8, 3), (7, 1), (3, 3), (9, 3)]
    second = [(4, 2), (0, 2), (5, 4), (1, 3)]
    return [first, second]
    ### END SOLUTION


# %%
own = two_streams.carried_out(my_plan(workspace, seconds, two_streams.ROOM))
look = {"unit": "s", "title": "Your plan: a box is a job, a row is a stream"}
plot_schedule(own.start, own.duration, own.processor, 2, **look)

# %% name="03.streams" tags=["check"]
check("03.streams", my_plan)
### BEGIN HIDDEN TESTS
judge("03.streams", my_plan, seed=36)
### END HIDDEN TESTS

# %% [markdown]
# A fixed half for each stream is simple, and wastes the places where one job needs a little more
# and its neighbour much less.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("03")

# %% [markdown]
# ## Three questions
#
# **1.** The weight gradient of a layer is a sum over the batch. When it is computed in pieces,
# which additions change their order? Which results of the network can therefore differ in their
# last digits?
#
# <details><summary>An answer</summary>
#
# Each piece adds up its own examples, then the pieces are added. So the weight's gradient can
# differ in the last digits, and after an update everything else. Outputs and input gradients of an
# example are computed from that example alone; they differ only where another *method* was chosen.
#
# </details>
#
# **2.** A layer has very many divisions. Why does its front have so few points?
#
# <details><summary>An answer</summary>
#
# The workspace of a division is that of one of its offers, the largest. With 35 offers there are
# at most 35 different workspaces, and for each of them the front has one point: the fastest. Most
# of these are beaten by a smaller one. If layers share a workspace, their workspaces add up, so
# the front of a *network* can have very many points. That is why section 5 is not done by dynamic
# programming.
#
# </details>
#
# **3.** The last batch of an epoch is smaller. What should a network in pieces do with it?
#
# <details><summary>An answer</summary>
#
# Anything that is right and stays below the limit. The course's operator goes through its pieces
# until the examples are used up, and cuts the last one. So it needs no more memory than planned.
# It is perhaps not the fastest division of that batch, but it comes once in an epoch.
#
# </details>
#
# ## Where to read on
#
# - Y. Oyama, T. Ben-Nun, T. Hoefler and S. Matsuoka, "Accelerating deep learning frameworks with
#   micro-batches", *CLUSTER*, 2018: the whole idea, on GPUs, as mu-cuDNN.
# - R. Bellman, "Dynamic programming", 1957: the classic. S. Dreyfus, "Richard Bellman on the birth
#   of dynamic programming", *Operations Research*, 2002: how he found it and its name.
# - Q. Huangfu and J. A. J. Hall, "Parallelizing the dual revised simplex method", *Mathematical
#   Programming Computation*, 2018: the beginnings of HiGHS, the solver behind SciPy's `milp`.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019: this method among all the other kinds of concurrency.
# - L. Zheng et al., "Alpa: automating inter- and intra-operator parallelism for distributed deep
#   learning", *OSDI*, 2022: the same two tools, an integer program and a dynamic program. They
#   choose how a whole network is split over GPUs.
# - M. Marek et al., "Small batch size training for language models: when vanilla SGD works, and
#   why gradient accumulation is wasteful", *arXiv*, 2025: the other question. Must the small
#   pieces be added up at all, or is each a step of its own?
# - B. Steiner et al., "MODeL: memory optimizations for deep learning", *ICML*, 2023: an integer
#   program for all tensors of a training. It says when each is computed, and where in memory it
#   lies.
# - `ddl_teach/operators/divided_batches`: the two programs, the front, the operator, one a file.
#
# Unit 04 turns to layers whose steps wait for each other: recurrences.
