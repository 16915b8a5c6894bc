# %% [markdown]
# # Work and depth
#
# **How parallel can a layer be?**
#
# You have a thousand processors and one layer of a network. Will it be a thousand times as fast?
# That does not depend on the processors alone. Some operations need the result of others, and
# whoever waits for a result cannot be helped by more hands.
#
# Two numbers say nearly all of it, before anything runs: how many operations there are, and how
# many of them wait for each other in one chain. In this unit you write formulas for both, a
# counter that checks the formulas, and a scheduler that hands operations to processors, to two of
# them or to 65,536. Then you let real threads do the same. *Beginners* can leave out what is
# marked *intermediate* or *advanced*. It takes about an hour and a half.

# %%
from functools import partial

import numpy as np
import torch

from ddl_class import check, hint, judge, predict, progress, reveal, yours
from ddl_class.plots import work_depth as plots
from ddl_teach.operators.graphs import fully_connected as graphs
from ddl_teach.operators.graphs.execute import run_on_threads
from ddl_teach.operators.graphs.schedule import finished, greedy

# %% [markdown]
# ## 1. A sum · *beginner*
#
# Add eight numbers. That takes seven additions, whatever you do. You may add one after another:
# each addition waits for the one before, and seven steps go by. Or you add them two by two, then
# the sums two by two. Below, a list says for each addition which other additions it waits for;
# 0 to 3 add what is given and wait for nobody.

# %%
one_after_another = [[], [0], [1], [2], [3], [4], [5]]
two_by_two = [[], [], [], [], [0, 1], [2, 3], [4, 5]]
plots.plot_operation_graph(two_by_two, title="Seven additions, and only three of them in a chain")

# %% [markdown]
# All operations of one level can be done at the same time, so with four processors this sum takes
# three steps. Such lists are called an **operation graph**. Its **work** $W$ is the number of
# operations: what one processor needs. Its **depth** $D$ is the longest chain: what it needs on as
# many processors as one likes. For a sum of $n$ numbers, two by two,
#
# $$W = n - 1, \qquad D = \lceil \log_2 n \rceil,$$
#
# where the brackets round up. For a million numbers that is a million additions and 20 steps. The
# ratio $W / D$ is the **average parallelism**: about so many processors have something to do.
#
# **Exercise.** To learn how it goes: how many steps does the sum of `numbers` numbers take? The
# first cell below is yours, the second runs it, the third checks it. If you are stuck, put
# `hint("01.tree_sum")` into a cell of its own; asked again it says more.


# %% name="01.tree_sum" tags=["answer"]
def tree_sum(numbers):
    """Return the depth of a sum of so many numbers: ceil(log2(numbers))."""
    ### BEGIN SOLUTION
    steps = 0
    while numbers > 1:
        numbers, steps = (numbers + 1) // 2, steps + 1
    return steps
    ### END SOLUTION


# %%
print([tree_sum(numbers) for numbers in (1, 2, 3, 8, 1000, 1_000_000)])

# %% name="01.tree_sum" tags=["check"]
check("01.tree_sum", tree_sum)
### BEGIN HIDDEN TESTS
judge("01.tree_sum", tree_sum, seed=11)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. A layer is many sums · *beginner*
#
# A fully connected layer multiplies a batch $x$ of $N$ examples with a matrix of weights,
# $y = x\,w$. Each number of $y$ is a **dot product** over the $I$ inputs: $I$ multiplications,
# which wait for nobody, and above them a sum. That makes $2 I - 1$ operations and a depth of
# $1 + \lceil \log_2 I \rceil$. All $N \cdot O$ numbers of $y$ are computed side by side, so they
# multiply the work and leave the depth alone.
#
# Training needs two passes more, and both are matrix products too. Let $g$ be the gradient of $y$:
#
# | pass | computes | numbers of the result | each one sums over |
# |---|---|---|---|
# | forward | $y = x\,w$ | batch × outputs | inputs |
# | input gradient | $g\,w^T$ | batch × inputs | outputs |
# | weight gradient | $x^T g$ | inputs × outputs | batch |
#
# ### Predict
#
# Before you go on, commit yourself to three numbers in the next cell, in place of the dots. A bad
# guess costs nothing, and no guess teaches nothing.
#
# **Exercise.** Then work and depth of all three passes, with your `tree_sum`. Which logarithm
# belongs to which pass? They are easily mixed up.

# %%
predict("01.steps", ...)
predict("01.many", ...)
predict("01.threads", ...)


# %% name="01.layer" tags=["answer"]
def layer_passes(batch, inputs, outputs):
    """Return three pairs (work, depth): forward, input gradient, weight gradient."""
    ### BEGIN SOLUTION
    passes = [(batch * outputs, inputs), (batch * inputs, outputs), (inputs * outputs, batch)]
    return [(results * (2 * n - 1), 1 + tree_sum(n)) for results, n in passes]
    ### END SOLUTION


# %% name="01.layer" tags=["check"]
check("01.layer", layer_passes)
### BEGIN HIDDEN TESTS
judge("01.layer", layer_passes, seed=12)
### END HIDDEN TESTS

# %% [markdown]
# All three have nearly the same work, and each is as deep as the logarithm of what *it* sums over.
#
# ## 3. Count it · *beginner*
#
# A formula can be wrong, and nobody notices. A graph that has been written down can be counted.
# The course writes them down for every kind of layer, one node for each multiplication and
# addition, at sizes one can still look at. Here is a layer of 4 inputs and 2 outputs, for one
# example.

# %%
small = graphs.forward(1, 4, 2, bias=False)
signs = [{"multiply": "×", "add": "+"}[name] for name in small.names()]
plots.plot_operation_graph(small.predecessors(), signs)

# %% [markdown]
# **Exercise.** Count the work and the depth of any graph. `predecessors[k]` lists the operations
# that operation `k` waits for; they always have smaller numbers than `k`. The cell after the check
# compares your count with your formulas. And is it the right graph? It can also be *computed*:
# given numbers, it must give what NumPy gives.


# %% name="01.count" tags=["answer"]
def count(predecessors):
    """Return the work, which is the number of operations, and the depth, the longest chain."""
    ### BEGIN SOLUTION
    levels = []
    for before in predecessors:
        levels.append(1 + max([levels[other] for other in before], default=0))
    return len(predecessors), max(levels)
    ### END SOLUTION


# %% name="01.count" tags=["check"]
check("01.count", count)
### BEGIN HIDDEN TESTS
judge("01.count", count, seed=13)
### END HIDDEN TESTS

# %%
sizes = {"batch": 6, "inputs": 11, "outputs": 5}
my_count = yours("01.count", count, lambda graph: (len(graph), int(finished(graph).max())))
x, weight = np.random.rand(6, 11), np.random.rand(11, 5)
graph = graphs.forward(**sizes, bias=False)
assert np.allclose(graph.evaluate(x=x, weight=weight)["y"], x @ weight)
for build in (graphs.forward, graphs.input_gradient, graphs.parameter_gradient):
    print(my_count(build(**sizes, bias=False).predecessors()), end=" ")
print("counted; and by your formulas", layer_passes(**sizes))

# %% [markdown]
# In the same way the course counts convolutions, pooling, normalisation, attention and recurrent
# layers, forwards and backwards, and its tests compare each formula with the count to the digit.
# Here are some of them, for sizes of an ordinary network and a batch of 16 images.

# %%
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.work_depth import batch_normalisation, direct, fully_connected, max_pooling

image = Convolution(16, 64, 56, 56, 64, kernel=(3, 3), padding=(1, 1))
layers = {"convolution": direct.forward(image), "pooling": max_pooling.forward(16 * 64, 56, 56)}
layers["weight gradient"] = direct.parameter_gradient(image)
layers["batch normalisation"] = batch_normalisation.forward(64, elements=16 * 56 * 56)
for name, it in layers.items():
    print(f"{name:20}work {it.work:13,}   depth {it.depth:3}   at once {it.parallelism:11,.0f}")
reveal("01.steps", fully_connected.forward(64, 4096, 4096, bias=False).depth)

# %% [markdown]
# Look at the depth of the weight gradient: a kernel's weight has been used at every position of
# every image, so its gradient is one long sum over batch *and* positions. And batch normalisation,
# with less than a hundredth of the convolution's work, is nearly four times as deep: it needs a
# mean over the whole batch, and then a variance.
#
# ## 4. Fewer processors than operations · *beginner*
#
# Nobody has as many processors as a layer has operations. So some of those that are ready must
# wait, and somebody has to choose. The **greedy** way does not think: whenever a processor is free
# and an operation is ready, it does it. An operation is ready when all that it waits for are done.
#
# **Exercise.** Write it. All operations take one step. Return for each operation the step in
# which it is done; the first step is 0. `waiting` says how many an operation still waits for, and
# `following` who waits for it.


# %% name="01.greedy" tags=["answer"]
def greedy_steps(predecessors, processors):
    """Return the step of each operation; in each step up to `processors` of those ready."""
    waiting = [len(before) for before in predecessors]
    following = [[] for _ in predecessors]
    for one, before in enumerate(predecessors):
        for other in before:
            following[other].append(one)
    ### BEGIN SOLUTION
    ready = [one for one, many in enumerate(waiting) if many == 0]
    steps, step = [None] * len(predecessors), 0
    while ready:
        chosen, ready = ready[:processors], ready[processors:]
        for one in chosen:
            steps[one] = step
            for other in following[one]:
                waiting[other] -= 1
                if waiting[other] == 0:
                    ready.append(other)
        step += 1
    return steps
    ### END SOLUTION


# %%
graph = graphs.forward(2, 8, 2, bias=False)
steps = np.array(greedy_steps(graph.predecessors(), 6))
seat = [int((steps[:one] == steps[one]).sum()) for one in range(len(steps))]
look = {"kinds": graph.names(), "depth": graph.depth}
plots.plot_schedule(steps, np.ones(len(steps)), seat, 6, **look)

# %% name="01.greedy" tags=["check"]
check("01.greedy", greedy_steps)
### BEGIN HIDDEN TESTS
judge("01.greedy", greedy_steps, seed=14)
### END HIDDEN TESTS

# %% [markdown]
# The boxes are operations, and white is a processor that has nothing to do. The dotted line is the
# longest chain: with more processors the schedule would end there, and never before.
#
# ## 5. Between two bounds · *beginner*
#
# How long does it take on $p$ processors? Nobody needs a scheduler to know that nearly:
#
# $$\max\left(\frac{W}{p},\; D\right) \;\le\; T_p \;\le\; \frac{W - D}{p} + D.$$
#
# - **No schedule is faster than the left side.** All the work must be done by $p$ processors,
#   *and* the longest chain must be gone through. Both hold, so the larger one counts.
# - **No greedy schedule is slower than the right side.** In each step either all processors work,
#   or some idle. If some idle, then all that is ready is being done, so every longest chain that
#   is left gets shorter; there are at most $D$ such steps. (Graham 1969, Brent 1974. The sum
#   $W/p + D$, which is often printed, is true as well and a little larger.)
#
# **Exercise.** Both bounds, in this order, not rounded.


# %% name="01.bounds" tags=["answer"]
def bounds(work, depth, processors):
    """Return the least and the most that a greedy schedule can take."""
    ### BEGIN SOLUTION
    return max(work / processors, depth), (work - depth) / processors + depth
    ### END SOLUTION


# %% name="01.bounds" tags=["check"]
check("01.bounds", bounds)
### BEGIN HIDDEN TESTS
judge("01.bounds", bounds, seed=15)
### END HIDDEN TESTS

# %% [markdown]
# ## 6. Simulate what nobody has at home · *beginner*
#
# A layer of 64 inputs and 64 outputs, a batch of 16: that is small, and yet it has 130,048
# operations. Your scheduler gives them to 16 processors, to 256, and so on up to 65,536. It takes
# some seconds. Then the two bounds, and what came out between them.


# %%
my_greedy = yours("01.greedy", greedy_steps, lambda *it: greedy(*it).start.astype(int))
my_bounds = yours("01.bounds", bounds, lambda w, d, p: (max(w / p, d), (w - d) / p + d))
layer = graphs.forward(16, 64, 64, bias=False)
operations = layer.predecessors()
simulated = {crew: max(my_greedy(operations, crew)) + 1 for crew in (16, 256, 4096, 65_536)}
for crew, time in simulated.items():
    least, most = my_bounds(layer.work, layer.depth, crew)
    assert least <= time <= most
reveal("01.many", layer.work / simulated[65_536])
plots.plot_bounds(layer.work, layer.depth, simulated)

# %% [markdown]
# It falls in a straight line, twice as many processors in half of the time, until about $W / D$ of
# them. From there on it lies flat on the depth: 7 steps. The room between the bounds is narrow
# everywhere and widest at the bend, where it is nearly a factor of two. So two numbers, which you
# can compute on paper, tell the time on any number of processors within a factor of two.
#
# ## 7. Measure · *intermediate*
#
# Is that true of real processors? A thread needs some millionths of a second to find its next
# operation, and one multiplication takes a billionth. So nobody schedules single numbers. But the
# graph says nothing of numbers: let it be one of *blocks*. Put a matrix of 512 × 64 in place of
# each input and one of 64 × 512 in place of each weight. Then each multiplication is a product of
# matrices, each addition adds two matrices, and the graph for 64 inputs and one output is a layer
# of 4,096 inputs and 512 outputs for a batch of 512.
#
# `run_on_threads` is a greedy scheduler in the flesh: every thread takes an operation that is
# ready, does it, and looks for the next. Nobody plans. Six times on each number of threads, in
# turns, and of each the fastest.

# %%
cores = torch.get_num_threads()
tree = graphs.forward(1, 64, 1, bias=False).predecessors()
inputs, weights = torch.rand(64, 512, 64), torch.rand(64, 64, 512)
blocks = [None] * len(tree)


def operate(one):
    torch.set_num_threads(1)  # or every thread would bring helpers of its own
    before = [blocks[other] for other in tree[one]]
    blocks[one] = before[0] + before[1] if before else inputs[one] @ weights[one]


# %%
tasks = [partial(operate, block) for block in range(len(tree))]
runs = [{p: run_on_threads(tree, tasks, p) for p in {1, 2, cores, 2 * cores}} for _ in range(6)]
fastest = {p: min((run[p] for run in runs), key=lambda it: it.makespan) for p in runs[0]}
torch.set_num_threads(cores)

# %%
assert torch.allclose(blocks[-1], torch.einsum("kni,kio->no", inputs, weights), rtol=1e-3)
kinds, two = ["add" if before else "multiply" for before in tree], fastest[2]
look = {"kinds": kinds, "unit": "s", "title": "Two threads, and nobody planned it"}
plots.plot_schedule(two.start, two.duration, two.processor, 2, **look)

# %% [markdown]
# ## 8. Prediction, simulation, measurement · *intermediate*
#
# What one thread needed for each block, at best, is the work of that block, in seconds; all of
# them are $W$, and the longest chain of them $D$. Out of these the formula gives the bounds, the
# greedy scheduler a time for any number of processors, and your threads have given theirs.

# %%
durations = np.min([run[1].duration for run in runs], axis=0)
work, depth = durations.sum(), finished(tree, durations).max()
simulated = {2**k: greedy(tree, 2**k, durations).makespan for k in range(0, 17, 2)}
measured = {crew: plan.makespan for crew, plan in fastest.items()}
assert all(max(work / crew, depth) <= 1.001 * time for crew, time in simulated.items())
reveal("01.threads", work / measured[cores])
plots.plot_bounds(work, depth, simulated, measured=measured, unit="s")

# %% [markdown]
# Look at three things.
#
# - **Up to your cores** the measured points should fall with the line, and stay above it. Threads
#   share one memory, and adding two matrices does little else than wait for it; and whatever else
#   runs on your machine takes its turn. The model knows nothing of that: for it an operation takes
#   its time, whoever else is at work. Far above the line? Then a core was busy with something
#   else. Run the last three cells again.
# - **With more threads than cores** nothing is gained. The bounds speak of processors, and threads
#   that take turns on one are none.
# - **The bend**, where the dotted line stands, was at 18,578 for single numbers. Here it is at
#   some tens of processors, or fewer. That is the price of blocks: 64 products side by side have
#   no work for more than 64. Small pieces keep many processors busy, large ones keep the effort
#   per piece down, and every system looks for a size in between.
#
# ## 9. The surprise · *beginner*
#
# Let a layer grow, twice as large in each of its directions, again and again. Its work explodes.
# And its depth? Guess before you run: from 8 inputs, 8 outputs and a batch of 8 to 8,192 of each,
# the work grows a billionfold.
#
# Then a whole network. Layers follow one another, so their depths add up. The second cell takes
# ResNet-50 apart, on one image, and draws all layers that compute something.

# %%
from ddl_measure.analysis import analyse
from ddl_measure.zoo.resnet50 import ResNet50

for n in (8, 64, 512, 4096, 8192):
    it = fully_connected.forward(n, n, n, bias=False)
    print(f"{n:5}   work {it.work:17,}   depth {it.depth:3}   at once {it.parallelism:14,.0f}")
    assert it.depth == 1 + np.log2(n)

# %%
with torch.device("meta"):
    table = analyse(ResNet50(), torch.empty(1, 3, 224, 224))
busy = [one for one in table.layers if one.forward.work]
depths = {kind: sum(one.forward.depth for one in busy if one.kind == kind)
          for kind in ("Conv2d", "BatchNorm2d")}  # fmt: skip
print(f"work {table.forward.work:,}, depth {table.forward.depth:,}; by kind of layer:", depths)
assert depths["BatchNorm2d"] > depths["Conv2d"]
columns = zip(*((one.name, one.forward.work, one.forward.depth) for one in busy), strict=True)
plots.plot_layers(*columns, kinds=[one.kind for one in busy])

# %% [markdown]
# Ten steps more, for a billion times the work. Depth grows like a logarithm while work explodes:
# **the larger a layer, the more parallel it is.** That suits processors with ten thousand
# arithmetic units and more, as GPUs have them.
#
# And ResNet-50? Eight billion operations, and fewer than two thousand of them in a chain: work
# for four million processors, for one image. And most of that chain is not in the convolutions.
# Batch normalisation does one percent of the work, and holds more than half of the depth.
#
# ## 10. What is sequential for good · *intermediate*
#
# Not everything has a small depth. A recurrent layer reads a sentence word by word, and each step
# needs the state that the last one left. Attention looks at all words at once. Both for sentences
# of 64 to 4,096 words, 512 features:

# %%
from ddl_teach.theory.work_depth import attention, lstm

found = {}
for words in (64, 256, 1024, 4096):
    found["LSTM", words] = lstm.forward(batch=16, steps=words, inputs=512, hidden=512)
    found["attention", words] = attention.forward(16, 8, words, words, features=64)
names, kinds = [f"{kind}, {words} words" for kind, words in found], [kind for kind, _ in found]
plots.plot_layers(names, [it.work for it in found.values()], [it.depth for it in found.values()],
            kinds=kinds)  # fmt: skip

# %% [markdown]
# Sixty-four times as many words: the LSTM's depth is 64 times as large, attention's grows by 18
# steps. For that attention pays with work, which grows with the square of the length: at 4,096
# words it does twice as much as the LSTM. But the LSTM has no work for more than four million
# processors, however long the sentence, and attention has some for ten billion. Unit 04 asks what
# can still be done for recurrent layers.
#
# ## 11. What production systems do · *intermediate*
#
# No library schedules single operations. torch cuts a layer into as many large pieces as it has
# threads; for a GPU it is cut into many blocks, which the hardware hands out greedily. Work and
# depth still say when that pays. Here is torch's own layer, small and large, on one thread and
# on all.

# %%
from ddl_measure.repetitions import side_by_side


def square(x, threads):
    torch.set_num_threads(threads)
    return x @ x


# %%
for x in (torch.rand(32, 32), torch.rand(1024, 1024)):
    ways = {p: partial(square, x, p) for p in {1, cores}}
    seconds = {p: times.min() for p, times in side_by_side(ways).items()}
    gain = seconds[1] / seconds[cores]
    print(f"{len(x):5} numbers a side: {cores} threads are {gain:.2f} times as fast as one")
    assert gain > 0
torch.set_num_threads(cores)
progress()

# %% [markdown]
# The large product can gain as many times as there are cores that nobody else uses. By its
# parallelism even the small one would keep ten thousand processors busy. But waking a thread takes
# about as long as the whole of it, so a second thread can even make it slower. A GPU has the same
# trouble with its kernels, each of which takes some microseconds to start. The cures are the same
# everywhere: larger batches, *fused* operations (several in one start), and CUDA graphs (many
# starts recorded and handed over at once).
#
# There is an even closer relative of this unit: **split-K**. If a product has few results and
# each is a long sum, as weight gradients often are, then the results alone cannot keep a GPU
# busy. So cuBLAS cuts the sum itself into pieces, on different processors, and adds these up
# afterwards: the tree from section 1.
#
# ## 12. Greed can hurt · *advanced*
#
# A greedy schedule is never twice as long as the best one. But it may do strange things when
# operations take different times. Nine tasks, with the times below; four of them wait for task 3,
# and one for task 0. Three processors need 12 units of time. Now buy a fourth.

# %%
nine = [[], [], [], [], [3], [3], [3], [3], [0]]
times = [3, 2, 2, 2, 4, 4, 4, 4, 9]
three, four = greedy(nine, 3, times), greedy(nine, 4, times)
assert three.makespan == 12 < 15 == four.makespan
plots.plot_schedule(four.start, four.duration, four.processor, 4, unit="steps", depth=12)

# %% [markdown]
# With four processors task 3 is done at once, and then its four followers are ready before task 8,
# the long one, which has to wait for a processor. This is one of Graham's anomalies (1969): more
# processors, shorter tasks or fewer arrows can all make a greedy schedule longer. Both bounds hold
# nevertheless. A little thought helps: let those go first that have the longest chain before them.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("01")

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. A layer has a work of a million and a depth of 20. How long does it take on 100 processors, at
#    least and at most? And on 100,000?
# 2. You double the batch. What becomes of work, depth and average parallelism of each of the three
#    passes?
# 3. Adding numbers one after another is a chain, and yet compilers do not turn it into a tree on
#    their own. Why not?
#
# <details><summary>Answers</summary>
#
# 1. On 100: at least 10,000, at most 9,999.8 + 20, so 10,000 to 10,020. On 100,000: at least 20,
#    at most 30.
# 2. Work doubles; that of the weight gradient grows by a little more. The depth of the forward
#    pass and of the input gradient stays, that of the weight gradient grows by one step. So the
#    parallelism doubles for the first two and nearly doubles for the third.
# 3. Floating point numbers are rounded after each addition, so another order gives another result.
#    Unit 04 shows that the tree's is usually the better one.
#
# </details>
#
# ## Where to read on
#
# - Unit 02: one convolution, four graphs. The same result with different work, depth and memory.
# - `ddl_teach/theory/work_depth/`: a formula for every kind of layer. In the course's repository,
#   `tests/operators/graphs/built/` has the graph that proves it.
# - Ben-Nun and Hoefler, "Demystifying parallel and distributed deep learning" (ACM Computing
#   Surveys, 2019): work and depth of layers and of whole networks.
# - Blelloch, "Programming parallel algorithms" (CACM, 1996): thinking in work and depth.
# - Graham, "Bounds on multiprocessing timing anomalies" (1969), and Brent, "The parallel
#   evaluation of general arithmetic expressions" (1974): where the two bounds come from.
