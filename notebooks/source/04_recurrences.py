# %% [markdown]
# # Recurrences and precision
#
# **What must stay sequential?**
#
# A *recurrent* network reads a text word by word, and its state at each word depends on its state
# at the word before. So it looks as if no number of processors could make it faster. How much of
# it must really wait, and for what? The same question comes up at an unexpected place: a sum that
# is added up in one order is a chain too, and in half precision a long chain of additions goes
# wrong.
#
# In this unit you write a cell of a recurrent network with one product instead of four. You find
# all the cells that can be computed at the same time, and put layers on ranks. At the end you
# train in half precision without losing small gradients. *Beginners* can leave out what is marked
# *intermediate* or *advanced*. It takes about two hours. You need unit 00, and for section 5 unit
# 05.

# %%
from functools import partial

import numpy as np
from scipy.special import expit as sigmoid
from torch import cat, nn, randn, set_num_threads, tensor

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.recurrences import plot_wavefronts

# %%
engines = Engines(2)
set_num_threads(1)  # of torch: here only the order and the size of products differ

# %% [markdown]
# ## 1. A grid of cells · *beginner*
#
# A network of several recurrent layers, written out over the words that it reads, is a grid:
#
# ```text
#     layer 2    [ ] --> [ ] --> [ ] --> [ ] --> [ ]
#                 ^       ^       ^       ^       ^
#     layer 1    [ ] --> [ ] --> [ ] --> [ ] --> [ ]
#                 ^       ^       ^       ^       ^
#     layer 0    [ ] --> [ ] --> [ ] --> [ ] --> [ ]
#                 ^       ^       ^       ^       ^
#     words       I      think    it      will   rain
# ```
#
# Each cell needs two others: the one below it at the same step, and the one to its left, one step
# before. With $x_t$ from below and $h_{t-1}$ from the left, a cell of the simplest kind computes
#
# $$h_t = \tanh(x_t W + h_{t-1} U).$$
#
# Then $h_t$ goes to the right, and up as the $x_t$ of the next layer (Elman 1990). With $L$ layers
# and $T$ steps there are $L \cdot T$ cells.
#
# **Exercise.** A warm-up of three minutes: one layer reads its words, one after the other. Before
# the first word $h$ is zero. The lines stand below in alphabetical order, and one of them belongs
# nowhere: put the others in order. *Ctrl+/* turns comments into code, *Alt+↑* and *Alt+↓* move
# lines, *Tab* indents the selected lines.


# %% name="04.read" tags=["answer"]
def read(words, w, u):
    """All h of a layer of such cells as an array, one for each word x."""
    ### BEGIN SOLUTION
    h, outputs = np.zeros(len(u)), []
    for x in words:
        h = np.tanh(x @ w + h @ u)
        outputs.append(h)
    return np.array(outputs)
    ### END SOLUTION


# %% name="04.read" tags=["check"]
check("04.read", read)
### BEGIN HIDDEN TESTS
judge("04.read", read, seed=46)
### END HIDDEN TESTS

# %% [markdown]
# ### Predict
#
# Suppose that a cell takes one turn, and that you have as many processors as you want. In how many
# turns can a million cells be computed, 1,000 layers by 1,000 steps? Then put every layer on its
# own rank: how many times as fast as a single rank are 1,000 of them? The third question is
# different: what is the result if you add up 10,000 ones, one after the other, in half precision?

# %%
predict("04.turns", ...)
predict("04.ranks", ...)
predict("04.ones", ...)

# %% [markdown]
# ## 2. One cell · *beginner*
#
# The cells that are really used have *gates*. A long short-term memory, LSTM (Hochreiter and
# Schmidhuber 1997, with a gate to forget since Gers et al. 2000), passes two things from step to
# step: its output $h$ and its memory $c$. Four gates are computed from $x$ and $h$. They say what
# enters the memory, what part of it is kept, which new values there are, and what leaves the
# memory as the new $h$:
#
# $$\text{enter},\,\text{forget},\,\text{leave} = \sigma(\dots),\qquad
# \text{new} = \tanh(\dots)$$
# $$c' = \text{forget} \cdot c + \text{enter} \cdot \text{new},\qquad
# h' = \text{leave} \cdot \tanh(c')$$
#
# Each gate is a product of $(x, h)$ with a matrix of its own. Textbooks write four products. None
# of them waits for another, so put the four matrices side by side and multiply *once*.
#
# **Exercise.** Write it. `weight` has $4H$ columns: those of enter, forget, new and leave, in this
# order. If you are stuck, put `hint("04.fused")` into a cell of its own; asked again it says more.


# %% name="04.fused" tags=["answer"]
def lstm_step(x, h, c, weight, bias):
    """One step of an LSTM with a single product for all gates. Returns the new h and the new c."""
    both = np.concatenate([x, h], axis=1)
    ### BEGIN SOLUTION
    enter, forget, new, leave = np.split(both @ weight + bias, 4, axis=1)
    c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(new)
    return sigmoid(leave) * np.tanh(c), c
    ### END SOLUTION


# %%
cell = nn.LSTMCell(3, 4).double().requires_grad_(False)
weight = cat([cell.weight_ih, cell.weight_hh], 1).T.numpy()
x, h, c = (np.random.default_rng(k).standard_normal((1, n)) for k, n in enumerate((3, 4, 4)))
my_h, my_c = lstm_step(x, h, c, weight, (cell.bias_ih + cell.bias_hh).numpy())
torchs_h, torchs_c = cell(tensor(x), (tensor(h), tensor(c)))
print("your h", my_h.round(4), "your c", my_c.round(4))
print("torch's h", torchs_h.numpy().round(4), "torch's c", torchs_c.numpy().round(4))

# %% name="04.fused" tags=["check"]
check("04.fused", lstm_step)
### BEGIN HIDDEN TESTS
judge("04.fused", lstm_step, seed=41)
### END HIDDEN TESTS

# %% [markdown]
# More work does not have to wait. The part of the product that comes from $x$ does not depend on
# any $h$. So a layer can multiply the inputs of *all* steps at once, before the first step. Only
# one product in each step is left in the chain, that of $h$ with $U$. The library has all of these
# ways, forward and backward. The next cell compares them for 32 steps of 64 units, with a batch of
# 4. The table is in units of the fused cell's time, and torch's own LSTM is the last row.

# %%
from ddl_measure.repetitions import side_by_side
from ddl_teach.operators.recurrence.module import Recurrent

torchs, words = nn.LSTM(64, 64).requires_grad_(False), randn(32, 4, 64)
ways = {way: Recurrent(torchs, way) for way in ("fused", "per_gate", "all_steps")}
ways["torch.nn.LSTM"] = torchs
times = side_by_side({name: partial(way, words) for name, way in ways.items()})
for name in ways:
    print(f"{name:15}{np.median(times[name] / times['fused']):6.2f}")

# %% [markdown]
# The number of multiplications is the same in all four ways. The small products are the problem: a
# small product does not use the whole processor, and each call costs the same, however small the
# product is. With a thousand units the ratios come closer to one. To put the matrices side by side
# costs nothing, and libraries do that first (Appleyard, Kocisky and Blunsom 2016).
#
# ## 3. Wavefronts · *beginner*
#
# Now take the grid. Cell (0, 0) is first. After it, both (0, 1) and (1, 0) have what they need.
#
# **Exercise.** Return the list of turns. Each turn is a list of cells `(layer, step)`. All cells
# of a turn can be computed at once, because what they need was computed in an *earlier* turn. Take
# as few turns as possible. The picture after yours has the number of its turn in each cell. The
# first turn is 0.


# %% name="04.wavefronts" tags=["answer"]
def wavefronts(layers, steps):
    """The turns in their order, each a list of cells (layer, step)."""
    turns = []
    ### BEGIN SOLUTION
    for turn in range(layers + steps - 1):
        cells = [(layer, turn - layer) for layer in range(layers)]
        turns.append([(layer, step) for layer, step in cells if 0 <= step < steps])
    ### END SOLUTION
    return turns


# %%
plot_wavefronts(wavefronts(4, 9), layers=4, steps=9)

# %% name="04.wavefronts" tags=["check"]
check("04.wavefronts", wavefronts)
### BEGIN HIDDEN TESTS
judge("04.wavefronts", wavefronts, seed=42)
### END HIDDEN TESTS

# %% [markdown]
# The diagonals are called **wavefronts**. The last cell is $L - 1$ layers up and $T - 1$ steps to
# the right, so it cannot be reached in fewer turns:
#
# $$\text{turns} = L + T - 1 \quad\text{instead of}\quad L \cdot T,\qquad
# \text{parallelism} = \frac{L\,T}{L + T - 1}.$$
#
# ### The surprise
#
# You can go from "one layer after the other" to "as parallel as possible" without changing a
# single number of the network. Only the order of the cells changes.

# %%
from ddl_teach.operators.recurrence.cells import wavefront_cells

turns = yours("04.wavefronts", wavefronts, wavefront_cells)(1000, 1000)
assert sum(map(len, turns)) == 1_000_000
reveal("04.turns", len(turns))

# %%
deep, narrow = nn.LSTM(32, 32, 16).requires_grad_(False), randn(64, 1, 32)
ways = {way: Recurrent(deep, way) for way in ("all_steps", "wavefront")}
ways["torch.nn.LSTM"] = deep
assert np.allclose(*(ways[name](narrow)[0] for name in ("wavefront", "torch.nn.LSTM")), atol=1e-6)
calls = {name: partial(way, narrow) for name, way in ways.items()}
for name, seconds in side_by_side(calls, repetitions=5).items():
    print(f"{name:15}{np.median(seconds) * 1e3:6.1f} ms")

# %% [markdown]
# These are 79 turns instead of 1,024, on the same processor: the small products of a turn are put
# together into larger ones. Compare the first two times with each other. torch's own LSTM goes
# through the cells in C++, so its steps have no cost in Python.
#
# ## 4. A layer on each rank · *intermediate*
#
# On ranks a wavefront needs no plan. Rank $r$ has layer $r$. In every step it receives the output
# of the layer below, computes, and sends its own output to the rank above. A rank that has its
# input works, and the other ranks wait. The diagonals appear by themselves.
#
# **Exercise.** Write it. Rank 0 has the words in `x`. On all other ranks `x` is an array of the
# same shape, into which they receive step by step. The picture after yours shows when each rank
# works. A cell is two lines, the time that it takes and what it computes:
#
# ```python
# comm.work(seconds)
# h = np.tanh(now @ w + h @ u)
# ```


# %% name="04.ranks" tags=["answer"]
def layer_on_rank(comm, x, w, u, seconds):
    """Run layer number comm.rank over all steps; returns its outputs (steps, batch, units)."""
    h, outputs = np.zeros((x.shape[1], u.shape[0])), []
    ### BEGIN SOLUTION
    for now in x:
        if comm.rank > 0:
            comm.recv(now, comm.rank - 1)
        comm.work(seconds)
        h = np.tanh(now @ w + h @ u)
        if comm.rank + 1 < comm.size:
            comm.send(h, comm.rank + 1)
        outputs.append(h)
    ### END SOLUTION
    return np.array(outputs)


# %%
small = {"x": np.ones((9, 1, 2)), "w": np.eye(2), "u": np.eye(2), "seconds": 10e-6}
run = simulate(layer_on_rank, 4, **small)
run.timeline.plot(title="Your layers on 4 simulated ranks, nine steps")

# %% name="04.ranks" tags=["check"]
check("04.ranks", layer_on_rank)
### BEGIN HIDDEN TESTS
judge("04.ranks", layer_on_rank, ranks=(6, 7, 9), seed=43)
### END HIDDEN TESTS

# %% [markdown]
# In the picture of a right answer the wavefront is a parallelogram.
#
# ### 1,000 ranks
#
# Now take 1,000 layers on 1,000 ranks, with 1,000 steps, first by the formula. A rank has $L / P$
# layers. The latency of messages counts once for each rank that the first step passes, and their
# bytes count in every step. The first step passes all ranks, and then the slowest stage does the
# other $T - 1$ steps:
#
# $$T_\text{ranks} = (P-1)\left(\text{cell} + \text{latency} + \frac{n}{B}\right) + \text{cell} +
# (T-1)\left(\text{cell} + \frac{n}{B}\right).$$
#
# A million cells send nearly a million messages. To keep the waiting short, your program runs with
# 100 steps. There formula and simulation must agree, and then the formula answers for more steps.


# %%
from ddl_measure.experiments import recurrence as timing
from ddl_teach.comm import Machine, Uniform
from ddl_teach.operators.recurrence import on_ranks
from ddl_teach.theory import wavefront as theory
from ddl_teach.theory.machine import Link

my_layer = yours("04.ranks", layer_on_rank, on_ranks.simple_layer)
many = small | {"x": np.ones((100, 1, 2)), "seconds": 100e-6, "strict": False}
run = simulate(my_layer, 1000, network=Uniform(latency=1e-6, bandwidth=10e9), **many)
run.timeline.plot(title="1,000 ranks: yellow waits for its first step, white is done")

# %%
costs = {"cell": 100e-6, "nbytes": 16, "link": Link(1e-6, 1e-10)}
assert np.isclose(run.time, theory.time(1000, 100, 1000, **costs))
reveal("04.ranks", theory.parallelism(1000, 1000))
for steps in (100, 1000, 10_000, 100_000):
    print(f"{steps:7,}:{steps * 0.1 / theory.time(1000, steps, 1000, **costs):5.0f} times as fast")

# %% [markdown]
# With a thousand ranks and a thousand steps, half of the time is waiting: at the beginning for the
# first word, and at the end because nothing is left to do. Only with many more steps than layers
# is the pipeline full. Unit 10 has the same parallelogram with other names, and other ways to fill
# it.
#
# ## 5. Your own ranks · *intermediate*
#
# Now your two engines share six layers of a real LSTM, with 32 steps. Should there be a message
# for every step, or one message for a *chunk* of 2, 4, 8, ... steps? Each chunk has a fixed cost,
# however short it is. But the longer a chunk is, the later the rank above can begin. With $w$ for
# the time of one step on one rank and $o$ for the fixed cost of a chunk, two ranks need
#
# $$T_\text{two} = \left(\frac{T}{\text{chunk}} + 1\right)(\text{chunk} \cdot w + o),\qquad
# \text{best chunk} = \sqrt{\frac{o\,T}{w}}.$$
#
# First each engine measures how long its three layers take over 1, 2, 4, ... steps, while the
# other engine does the same. It also measures a message. A straight line through the times gives
# $w$ and the cost of beginning. This cost and half of a message are $o$. (Between two processes of
# one machine a message is all overhead: unit 05, section 10.) That is the prediction. Then come
# the simulation, and your engines with every chunk five times, in turns.


# %%
from ddl_teach.operators.recurrence.stack import Stack

chunks, x = [1, 2, 4, 8, 16, 32], randn(32, 8, 128)
six = Stack.of(nn.LSTM(128, 128, 6).requires_grad_(False))
setting = {"stack": six, "x": x, "chunks": chunks, "timeout": 60, "strict": False}
parts = engines.run(timing.parts, **setting).results
step, overhead = timing.step_and_overhead(parts, chunks)
print(f"a step takes {step * 1e6:.0f} µs, a chunk {overhead * 1e6:.0f} µs more")

# %%
here, machine = Uniform(0.0, 1e300, overhead=overhead), Machine(flops=3 / step)
costs = {"cell": step / 3, "nbytes": 0, "link": Link.of(here)}
predicted = [theory.time(6, 32, 2, chunk=chunk, **costs) for chunk in chunks]
grid = {"layers": 6, "steps": 32, "flops": 1, "nbytes": 4, "network": here, "machine": machine}
simulated = [simulate(on_ranks.only_time, 2, chunk=chunk, **grid).time for chunk in chunks]

# %%
from ddl_class.plots.recurrences import plot_chunks

assert np.allclose(simulated, predicted)
took = np.max(engines.run(timing.passes, **setting).results, axis=0)
low, measured, high = np.quantile(took, [0.25, 0.5, 0.75], axis=0)
curves = [(chunks, seconds) for seconds in (predicted, simulated, measured)]
plot_chunks(*curves, (low, high), alone=2 * 32 * step)

# %% [markdown]
# The squares are on the line: simulation and formula agree. At the right end all steps are in one
# message. So the second rank begins when the first is done, and two ranks take as long as one. At
# the left end every rank begins early, and pays the fixed cost 32 times. Between them is the best
# chunk. Where the dots leave the line, your machine did something that two numbers cannot
# describe.
#
# And the backward pass? It is the same grid upside down: gradients go down and to the left, in as
# many turns. `on_ranks.gradients` does it. The gradients of the weights are not even in the chain:
# they are products over all steps at once, after the chain.
#
# ## 6. A sum that stops · *beginner*
#
# Networks are trained with numbers of 16 bits: half the bytes, and on GPUs several times the
# speed. `float16` keeps 11 significant bits. So it has the number 2048, and the next larger one is
# 2050. Add up 10,000 ones:

# %%
total = np.float16(0)
for _ in range(10_000):
    total += np.float16(1)
reveal("04.ones", total)
assert total == 2048

# %% [markdown]
# The sum stops at 2048: the number 2049 does not exist, and is rounded back to 2048. `bfloat16`,
# with its 8 bits, stops at 256. Even float32 stops, at 16,777,216. There is no error and no
# warning. And training is full of long sums: averages over a batch, gradients over many examples,
# norms of layers.
#
# A chain of additions is the depth of a sum, and the error grows with the depth: each term is
# rounded as often as something is added after it. With a relative error of $u = 2^{-11}$ for each
# addition, the error is at most about $n\,u$ of the sum of absolute values. You know another order
# from unit 01: a tree of $\log_2 n$ levels, and so an error of at most about $u \log_2 n$ (Higham
# 1993). *What is good for the depth is good for the error.*
#
# There are other ways. Kahan (1965) keeps the order and remembers what each addition lost; this
# takes four additions instead of one. Neumaier's variant adds up all losses beside the total. And
# one can use a *wider accumulator*: terms of 16 bits, added in float32, as the matrix units of
# GPUs do.
#
# **Exercise.** A warm-up of three minutes. Write the tree: the sum of the first half plus the sum
# of the second half, each computed in the same way. Everything stays float16, and `x` is not
# empty. The cell after yours draws it beside the others, under the name *pairwise*; the dotted
# lines are the bounds of theory.


# %% name="04.pairwise" tags=["answer"]
def pairwise_sum(x):
    """The sum of the numbers in x, as a tree."""
    ### BEGIN SOLUTION
    if len(x) == 1:
        return x[0]
    middle = len(x) // 2
    return pairwise_sum(x[:middle]) + pairwise_sum(x[middle:])
    ### END SOLUTION


# %%
from ddl_class.plots.recurrences import plot_sum_errors
from ddl_measure.experiments import precision

terms, ways = [2**k for k in range(3, 15)], precision.SUMS | {"pairwise": pairwise_sum}
bounds = precision.sum_bounds(["in_order", "pairwise"], terms)
plot_sum_errors(precision.sum_errors(ways, terms), bounds, unit_roundoff=2**-11)

# %% name="04.pairwise" tags=["check"]
check("04.pairwise", pairwise_sum)
### BEGIN HIDDEN TESTS
judge("04.pairwise", pairwise_sum, seed=44)
### END HIDDEN TESTS

# %% [markdown]
# Where the total passes 2048 the error of the sum in order grows fast: half of the terms and more
# are lost. The error of Neumaier's sum follows later, because its second sum is a sum in order
# too. Kahan, pairwise and the wider accumulator stay near one rounding, so one curve may hide
# another. *Stochastic rounding* rounds up or down by chance. A sum with it is right on average,
# and the error of a single one grows like $\sqrt{n}\,u$ (Connolly, Higham and Mary 2021;
# `ddl_teach/operators/precision/eight_bits.py`).
#
# ## 7. Gradients that vanish · *intermediate*
#
# Short numbers have a second weakness: a short range. The smallest number of float16 is $2^{-24} =
# 6 \cdot 10^{-8}$; half of that and less becomes zero. Gradients can be that small: they are
# divided by the size of the batch, and multiplied by small weights from layer to layer. The next
# cell has a network with two hidden layers, which computes in millimetres, while its targets, and
# so its loss, are in metres. `loss_and_gradient` gives the loss, and the gradients of loss times
# `scale` in float16.


# %%
from ddl_class.plots.recurrences import plot_magnitudes

task = precision.make_task()
_, large = precision.loss_and_gradient(task, task.weights, scale=2.0**16)
exact = large.astype(float)
span = {"smallest": 2.0**-24, "smallest_normal": 2.0**-14, "largest": 65504.0}
plot_magnitudes({"loss": exact / 2**16, "loss x 65,536": exact}, **span)

# %% [markdown]
# Many gradients of the loss are too small for the format, while half of its range is empty. So
# move them to the right: **multiply the loss by a large number**. By the chain rule this
# multiplies all gradients. Divide them again in float32, which has the range for it (Micikevicius
# et al. 2018). How large should the number be? As large as possible, without any gradient becoming
# infinite. That can be tested:
#
# - if a gradient contains an `inf` or a `nan`, **skip the step**, and halve the scale;
# - after `interval` good steps in a row, double the scale.
#
# The weights stay in float32, and only copies of them are rounded: an update is often less than
# $2^{-11}$ of its weight, and would be rounded away in float16.
#
# **Exercise.** Write one such step. `gradient` is the gradient of the scaled loss, in float16;
# `good` counts the good steps in a row so far. The cell after yours trains with it: once without a
# scale (that is, with one of 1 that never grows), once with one that begins at 65,536.


# %% name="04.scaling" tags=["answer"]
def scaled_step(weights, gradient, scale, good, interval, rate):
    """One step of gradient descent. Returns the weights, the next scale, and the next good."""
    ### BEGIN SOLUTION
    gradient = gradient.astype(np.float32) / scale
    if not np.isfinite(gradient).all():
        return weights, scale / 2, 0
    good += 1
    weights = weights - rate * gradient
    return (weights, 2 * scale, 0) if good == interval else (weights, scale, good)
    ### END SOLUTION


# %%
from ddl_class.plots.recurrences import plot_loss_scale

plain = precision.train(task, scaled_step, scale=1.0, interval=10**9)
scaled = precision.train(task, scaled_step, scale=2.0**16, interval=10)
both = {"unscaled": plain, "dynamic scale": scaled}
plot_loss_scale({name: (run.losses, run.scales) for name, run in both.items()})

# %% name="04.scaling" tags=["check"]
check("04.scaling", scaled_step)
### BEGIN HIDDEN TESTS
judge("04.scaling", scaled_step, seed=45)
### END HIDDEN TESTS

# %% [markdown]
# Without a scale every gradient was zero, and the network learned nothing, without an error and
# without a warning. With a scale it learns. The scale stays near the upper end of the range: it
# doubles until something overflows, loses one step, and is halved again.
#
# `bfloat16` has the exponents of float32, so it needs no scale. Its price is three bits of
# precision: in section 6 it stopped already at 256.
#
# ## 8. What production systems do · *intermediate*
#
# For loss scaling PyTorch has `torch.amp.GradScaler`. The next cell gives it the same gradients as
# your step got, and compares the scales.

# %%
my_step = yours("04.scaling", scaled_step, precision.scaled_step)
plain = precision.train(task, my_step, scale=1.0, interval=10**9)
mine, torchs = (
    precision.train(task, step, scale=2.0**16, interval=10)
    for step in (my_step, precision.torchs_step(task, interval=10))
)
assert plain.losses[-1] == plain.losses[0] > 2 * mine.losses[-1]
assert torchs.scales == mine.scales

# %% [markdown]
# The scale is the same in each of 400 steps. `torch.autocast` around the forward pass picks half
# precision for products and float32 for long sums. Together the two are *automatic mixed
# precision*.
#
# For recurrent layers there is `torch.nn.LSTM`. On GPUs it calls cuDNN, which does what you did
# and more: all gates in one product, the inputs of several steps in one product, and layers in
# wavefronts on several streams. The arithmetic of the gates is one kernel. Together that made it
# an order of magnitude faster than a naive implementation (Appleyard, Kocisky and Blunsom 2016).
# On processors it runs layer after layer: you saw it beside the library's wavefronts in section 3.
#
# ## 9. What even the chain allows · *advanced*
#
# Wavefronts leave $T$ steps in a row. Must these really wait? Take the tanh away:
#
# $$h_t = a_t\,h_{t-1} + b_t.$$
#
# Two such steps in a row are one step of the same kind, with $a' a$ and $a' b + b'$. So brackets
# may stand anywhere, as in a sum, and all $h_t$ are found in $\log_2 T$ rounds (Hillis and Steele
# 1986): in round $k$ each step takes in the result that ended $2^k$ steps before it. This is a
# *scan*.

# %%
from ddl_teach.operators.recurrence import scan

a, b = np.random.default_rng(2).uniform(-1, 1, (2, 4096, 8))
assert np.allclose(scan.doubling(a, b), scan.in_order(a, b))
ways = {way.__name__: way for way in (scan.in_order, scan.doubling, scan.sweeps)}
times = side_by_side({name: partial(way, a, b) for name, way in ways.items()})
print({name: f"{np.median(times[name]) * 1e3:.2f} ms" for name in ways})

# %% [markdown]
# These are 12 rounds instead of 4,096 steps, though `doubling` computes 12 times as much; `sweeps`
# (Blelloch 1990) computes twice as much in 24 rounds. On ranks, `scan_on_ranks.py` gives each rank
# its part of the sequence.
#
# With the tanh between the steps a scan alone is not enough: two steps together are no longer a
# step of the same kind. So many models for very long sequences keep the recurrence linear. They
# put the nonlinearity between the layers (Martin and Cundy 2018, and the state space models
# since). But a nonlinear recurrence need not be sequential either. Guess all states at once.
# Replace the tanh by its tangent at the guess: this gives a linear recurrence, and a scan finds a
# better guess. This is Newton's method (DEER: Lim et al. 2024). The next cells first compute the
# states step by step, to compare with, and then the guesses:

# %%
states, guess, rounds = [np.zeros(8)], np.zeros_like(b), 0
for decay, more in zip(a, b, strict=True):
    states.append(np.tanh(decay * states[-1] + more))

# %%
while np.abs(guess - states[1:]).max() > 1e-12:
    before = np.concatenate([states[:1], guess[:-1]])
    value = np.tanh(a * before + b)
    slope = a * (1 - value**2)
    guess, rounds = scan.doubling(slope, value - slope * before), rounds + 1
print(f"{rounds} scans of 12 rounds each, instead of 4,096 steps")
assert rounds < 10
progress()

# %% [markdown]
# Only the guesses remain in a row, and their number depends on the network. A network that forgets
# needs few. With weights three times as large it needs about four times as many scans here, and
# with weights five times as large the numbers overflow. Gonzalez et al. (2024) shorten the steps
# against that. A state of $H$ numbers has a slope of $H \times H$ numbers. ParaRNN takes cells
# whose slopes are diagonal or small blocks, and trains nonlinear networks of 7 billion parameters
# with them (Danieli et al. 2025).
#
# ## 10. A puzzle: blocks of cells · *intermediate*
#
# A network of 6 layers reads 64 words. There are four ranks, and a cell takes 100 µs. So one
# rank takes 38.4 ms, and four ranks need at least 9.6 ms. You may give the cells to the ranks as
# you like, in *blocks*: `(layer, first, last)` is the part of a layer from step `first` up to, not
# including, step `last`. If a block needs something from a block of another rank, that rank sends
# it a message. **A message costs its sender and its receiver 40 µs of their own time each, and
# travels 50 µs.** It is sent when the block is done.
#
# **Exercise, with a goal.** With whole layers on ranks (2, 1, 1 and 2) the best plan that we know
# takes 15.2 ms, with chunks of 3 steps. Find a plan of at most **13.5 ms**. How is up to you.
# Return a list for each rank, with its blocks in their order. The plan runs on simulated ranks of
# the strict network. Hint: the best plans that we know do not give a whole layer to one rank.


# %% name="04.blocks" tags=["answer"]
def my_blocks(layers, steps, ranks):
    """Return for each rank the list of its blocks (layer, first, last), in their order."""
    ### BEGIN SOLUTION
    rows = [[] for _ in range(ranks)]
    for number, first in enumerate(range(0, steps, 4)):
        for layer in range(layers):
            rows[number % ranks].append((layer, first, first + 4))
    return rows
    ### END SOLUTION


# %%
from ddl_class.exercises.unit_04 import blocks

run = blocks.carried_out(my_blocks(blocks.LAYERS, blocks.STEPS, blocks.RANKS))
print(f"{run.time * 1e3:.2f} ms")
run.timeline.plot(title="Your blocks on four simulated ranks")

# %% name="04.blocks" tags=["check"]
check("04.blocks", my_blocks)
### BEGIN HIDDEN TESTS
judge("04.blocks", my_blocks, seed=47)
### END HIDDEN TESTS

# %% [markdown]
# A wavefront needs only that left and lower neighbours come first. Which rank computes which cell
# is free, and it decides how many messages there are and how evenly the ranks are busy.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("04")

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. A network has 8 layers and reads 512 words. How many times as fast can any number of
#    processors make it, if they compute whole cells? And one layer with 512 words?
# 2. You add a million numbers between 0 and 1 in float16, pairwise. Is the result any good?
# 3. The loss is multiplied by 65,536, and the optimizer is told nothing of it but gets the
#    gradients as they are, without dividing. Plain gradient descent goes wrong. Adam does not.
#    Why?
#
# <details><summary>Answers</summary>
#
# 1. $8 \cdot 512 / 519 = 7.9$ times: nearly one processor's worth for each layer, and not more. A
#    single layer gains nothing: its wavefronts are single cells. What is inside of a cell,
#    products and samples of a batch, can still be computed in parallel.
# 2. No: it is infinite. The sum is about 500,000, and float16 ends at 65,504. The order of a sum
#    helps against rounding, and not against the range. A wider accumulator helps against both.
# 3. Adam divides the mean gradient by the root of the mean square gradient, and a constant factor
#    cancels, but for its small epsilon. While the scale changes, though, the two means mix
#    gradients of different scales. So one divides there, too.
#
# </details>
#
# ## Where to read on
#
# - J. Appleyard, T. Kocisky and P. Blunsom, "Optimizing performance of recurrent neural networks
#   on GPUs", 2016: from one cell to a layer to the whole grid.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019: where recurrent layers stand among all operators.
# - N. Higham, "The accuracy of floating point summation", *SIAM Journal on Scientific Computing*,
#   1993: all these sums and their bounds.
# - P. Micikevicius et al., "Mixed precision training", *ICLR*, 2018: loss scaling and master
#   weights.
# - E. Martin and C. Cundy, "Parallelizing linear recurrent neural nets over sequence length",
#   *ICLR*, 2018.
# - Y. H. Lim, Q. Zhu, J. Selfridge and M. F. Kasim, "Parallelizing non-linear sequential models
#   over the sequence length", *ICLR*, 2024, and X. Gonzalez, A. Warrington, J. Smith and S.
#   Linderman, "Towards scalable and stable parallelization of nonlinear RNNs", *NeurIPS*, 2024:
#   Newton's method over all steps.
# - F. Danieli, P. Rodriguez, M. Sarabia, X. Suau and L. Zappella, "ParaRNN: unlocking parallel
#   training of nonlinear RNNs for large language models", 2025.
# - S. Hochreiter and J. Schmidhuber, "Long short-term memory", *Neural Computation*, 1997; F.
#   Gers, J. Schmidhuber and F. Cummins, "Learning to forget: continual prediction with LSTM",
#   *Neural Computation*, 2000; J. Elman, "Finding structure in time", *Cognitive Science*, 1990.
# - A. Gu and T. Dao, "Mamba: linear-time sequence modeling with selective state spaces", 2023: a
#   recurrence whose step depends on the word that it reads, and is still linear in the state. So
#   it runs as the scan of this unit, fused into one kernel.
#
# Stop your engines when you are done: `engines.stop()`. If you forget, they end with the notebook.
# The library's cells, wavefronts and scans are in `ddl_teach/operators/recurrence`, the sums and
# scales in `ddl_teach/operators/precision`, one idea a file.
