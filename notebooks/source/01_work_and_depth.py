# %% [markdown]
# # Work and depth
#
# **How parallel can a layer be?**
#
# You have a thousand processors and one layer of a network. Will it run a thousand times as fast?
# That does not depend on the processors alone. Some operations need the results of others, and
# more processors cannot help an operation that waits for a result.
#
# Two numbers say nearly everything, before anything runs: how many operations there are, and how
# many of them wait for each other in one chain. In this unit you write formulas for both numbers,
# and a counter that checks the formulas. Then you write a scheduler, which gives operations to
# processors: to two of them, or to 65,536. At last real threads do the same. *Beginners* can leave
# out what is marked *intermediate* or *advanced*. It takes about two hours.

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
# Add eight numbers. That always takes seven additions. You can add one number after another: then
# each addition waits for the one before it, and that takes seven steps. Or you add the numbers two
# by two, then the sums two by two, and so on. In the next cell a list says for each addition which
# other additions it waits for. Additions 0 to 3 add given numbers, so they wait for nothing. In
# the picture a circle is an addition, and a line leads to the one that waits for it. A longest
# chain is orange.

# %%
one_after_another = [[], [0], [1], [2], [3], [4], [5]]
two_by_two = [[], [], [], [], [0, 1], [2, 3], [4, 5]]
plots.plot_operation_graph(two_by_two, title="Seven additions, and only three of them in a chain")

# %% [markdown]
# All operations of one level can be done at the same time. So with four processors this sum takes
# three steps. Such a list is called an **operation graph**. Its **work** $W$ is the number of
# operations: the steps that one processor needs. Its **depth** $D$ is the length of the longest
# chain: the steps that are needed with as many processors as you like. For a sum of $n$ numbers,
# two by two,
#
# $$W = n - 1, \qquad D = \lceil \log_2 n \rceil,$$
#
# where the brackets mean "round up". For a million numbers these are a million additions and 20
# steps. The ratio $W / D$ is the **average parallelism**: on average that many processors have
# something to do.
#
# **Exercise.** A warm-up of three minutes: add numbers two by two, and count the steps. The lines
# stand below in alphabetical order, and two of them belong nowhere: put the others in order.
# *Ctrl+/* turns comments into code, *Alt+↑* and *Alt+↓* move lines, *Tab* indents the selected
# lines. The first cell below is yours, the second runs it, the third checks it.


# %% name="01.pairs" tags=["answer"]
def add_pairs(numbers):
    """The sum of the numbers, added two by two, and how many steps that takes."""
    ### BEGIN SOLUTION
    steps = 0
    while len(numbers) > 1:
        numbers = [sum(numbers[k : k + 2]) for k in range(0, len(numbers), 2)]
        steps += 1
    return numbers[0], steps
    ### END SOLUTION


# %%
print(add_pairs([3, 1, 4, 1, 5, 9, 2, 6]), "should be (31, 3)")

# %% name="01.pairs" tags=["check"]
check("01.pairs", add_pairs)
### BEGIN HIDDEN TESTS
judge("01.pairs", add_pairs, seed=16)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** Now the number of steps alone, without adding anything: how many steps does the sum
# of `numbers` numbers take? If you are stuck, put `hint("01.tree_sum")` into a cell of its own;
# asked again it says more.


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
# A fully connected layer multiplies a batch $x$ of $N$ examples with a matrix of weights, $y =
# x\,w$. Each number of $y$ is a **dot product** over the $I$ inputs. It has $I$ multiplications,
# which wait for nothing, and then a sum. Together these are $2 I - 1$ operations, with a depth of
# $1 + \lceil \log_2 I \rceil$. All $N \cdot O$ numbers of $y$ can be computed at the same time. So
# they multiply the work and do not change the depth.
#
# Training needs two more passes, and both are matrix products too. Let $g$ be the gradient of $y$:
#
# | pass | computes | numbers of the result | each one sums over |
# |---|---|---|---|
# | forward | $y = x\,w$ | batch × outputs | inputs |
# | input gradient | $g\,w^T$ | batch × inputs | outputs |
# | weight gradient | $x^T g$ | inputs × outputs | batch |
#
# ### Predict
#
# Before you go on, write three numbers into the next cell, in place of the dots. **1.** A fully
# connected layer has 4,096 inputs, 4,096 outputs and a batch of 64. With as many processors as you
# like, how many steps does its forward pass take? **2.** A layer of 64 inputs and 64 outputs with
# a batch of 16 has 130,048 operations. How many times as fast as one processor are 65,536 of them?
# **3.** In section 7 each number becomes a block of numbers, and real threads compute. How many
# times as fast as one of your cores are all of them? A wrong guess costs nothing, and you learn
# more from a result that you tried to predict.

# %%
predict("01.steps", ...)
predict("01.many", ...)
predict("01.threads", ...)

# %% [markdown]
# **Exercise.** Compute work and depth of all three passes, with your `tree_sum`. Which logarithm
# belongs to which pass? They are easy to mix up.


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
# All three have nearly the same work. The depth of each pass is one more than the logarithm of the
# number of terms that *this* pass adds up.
#
# ## 3. Count it · *beginner*
#
# A formula can be wrong without anyone seeing it. A graph that is written down can be counted. The
# course writes graphs down for every kind of layer: one node for each multiplication and addition,
# at sizes that are still small enough to look at. Here is a layer of 4 inputs and 2 outputs, for
# one example.

# %%
small = graphs.forward(1, 4, 2, bias=False)
signs = [{"multiply": "×", "add": "+"}[name] for name in small.names()]
plots.plot_operation_graph(small.predecessors(), signs)

# %% [markdown]
# **Exercise.** Count the work and the depth of any graph. `predecessors[k]` is the list of
# operations that operation `k` waits for; they always have smaller numbers than `k`. The cell
# after the check compares your count with your formulas. It also *computes* the graph: with
# numbers put in, the graph must give the same result as NumPy.


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
print("counted")
print(*layer_passes(**sizes), "by your formulas")

# %% [markdown]
# In the same way the course counts convolutions, pooling, normalisation, attention and recurrent
# layers, forward and backward. Its tests compare each formula with the count, digit by digit. Here
# are some of them, with the sizes of an ordinary network and a batch of 16 images.

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
# Look at the depth of the weight gradient. A weight of the kernel is used at every position of
# every image, so its gradient is one long sum over batch *and* positions. Batch normalisation has
# less than a hundredth of the convolution's work, and is nearly four times as deep. It needs a
# mean over the whole batch, and after that a variance.
#
# ## 4. Fewer processors than operations · *beginner*
#
# No machine has as many processors as a layer has operations. So some operations are ready and
# must still wait, and something has to choose between them. The **greedy** scheduler does not
# plan: whenever a processor is free and an operation is ready, it starts the operation. An
# operation is ready when all operations that it waits for are done.
#
# **Exercise.** Write it. Each operation takes one step. Return for each operation the step in
# which it is done; the first step is 0. `waiting[k]` is the number of operations that operation
# `k` still waits for, and `following[k]` lists the operations that wait for `k`. The cell after
# yours draws your steps on six processors. If it has more rows than six, a step has too many
# operations.


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
plots.plot_schedule(steps, np.ones(len(steps)), seat, max(6, 1 + max(seat)), **look)

# %% name="01.greedy" tags=["check"]
check("01.greedy", greedy_steps)
### BEGIN HIDDEN TESTS
judge("01.greedy", greedy_steps, seed=14)
### END HIDDEN TESTS

# %% [markdown]
# The boxes are operations, and white means that a processor has nothing to do. The dotted line
# marks the depth, the length of the longest chain. With more processors the schedule could end
# there, but not before.
#
# ## 5. Between two bounds · *beginner*
#
# How long does it take on $p$ processors? You can know that nearly exactly without a scheduler:
#
# $$\max\left(\frac{W}{p},\; D\right) \;\le\; T_p \;\le\; \frac{W - D}{p} + D.$$
#
# - **No schedule is faster than the left side.** The $p$ processors must do all the work, *and*
#   the longest chain must be done one operation after the other. Both hold, so the larger one
#   counts.
# - **No greedy schedule is slower than the right side.** In each step either all processors work,
#   or some idle. If some idle, then everything that is ready is being done, so every longest
#   remaining chain gets shorter. There are at most $D$ such steps. (Graham 1969, Brent 1974. The
#   sum $W/p + D$, which is often printed, is also true, and a little larger.)
#
# **Exercise.** Return both bounds in this order, not rounded.


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
# ## 6. Simulate a machine that you do not have · *beginner*
#
# A layer of 64 inputs and 64 outputs with a batch of 16 is small, and it still has 130,048
# operations. Your scheduler gives them to 16 processors, to 256, and so on up to 65,536. This
# takes some seconds. Then you see the two bounds, and between them the simulated times.


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
# The time falls in a straight line: twice as many processors take half of the time. This holds up
# to about $W / D$ processors. From there on the curve is flat, at the depth of 7 steps. The two
# bounds are close everywhere. They differ most at the bend, by nearly a factor of two. So two
# numbers that you can compute on paper give the time on any number of processors within a factor
# of two.
#
# ## 7. Measure · *intermediate*
#
# Is that true for real processors? A thread needs some millionths of a second to find its next
# operation, and one multiplication takes a billionth of a second. So real programs do not schedule
# single numbers. But the graph does not say what its operations are, so let them be operations on
# *blocks*. Put a matrix of 512 × 64 in place of each input, and one of 64 × 512 in place of each
# weight. Then each multiplication is a product of matrices, and each addition adds two matrices.
# The graph for 64 inputs and one output is now a layer of 4,096 inputs and 512 outputs for a batch
# of 512.
#
# `run_on_threads` is a greedy scheduler made of real threads: each thread takes an operation that
# is ready, does it, and looks for the next one. There is no plan. The next cells run the graph six
# times on each number of threads, in turns, and keep the fastest run of each.

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
look = {"kinds": kinds, "unit": "s", "title": "Two threads without a plan"}
plots.plot_schedule(two.start, two.duration, two.processor, 2, **look)

# %% [markdown]
# ## 8. Prediction, simulation, measurement · *intermediate*
#
# For each block we take the shortest time that one thread needed for it. The sum of these times is
# $W$, in seconds, and the longest chain is $D$. From these two numbers the formula gives the
# bounds. The greedy scheduler gives a time for any number of processors. Your threads gave the
# measured times.

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
# - **Up to your number of cores** the measured points should follow the line, a little above it.
#   The threads share one memory, and adding two matrices mostly waits for memory. Other programs
#   on your machine take their share too. The model leaves that out: in it an operation
#   always takes the same time. If a point lies far above the line, a core was busy with something
#   else. Then run the last three cells again.
# - **With more threads than cores** nothing is gained. The bounds speak of processors, and two
#   threads that take turns on one core are only one processor.
# - **The bend**, at the dotted line, was at 18,578 processors for single numbers. Here it is at
#   some tens of processors, or fewer. This is the price of blocks: 64 products that can run at the
#   same time have no work for more than 64 processors. Small pieces keep many processors busy, and
#   large pieces cost less effort for each piece. Every system looks for a size in between.
#
# ## 9. The surprise · *beginner*
#
# Let a layer grow: twice as many inputs, outputs and examples, again and again. Its work explodes.
# What happens to its depth? Guess before you run the cell: from 8 inputs, 8 outputs and a batch of
# 8 to 8,192 of each, the work grows a billionfold.
#
# Then look at a whole network. Layers follow one another, so their depths add up. The second cell
# analyses ResNet-50 on one image, and draws all layers that compute something. Along a dotted line
# the average parallelism is the same: "1 M at once" means work for a million processors. The two
# words beside dots are names of layers.

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
# The layer has a billion times the work, and only ten more steps. Depth grows like a logarithm
# while work explodes: **the larger a layer, the more parallel it is.** That fits processors with
# ten thousand arithmetic units and more, such as GPUs.
#
# ResNet-50 has eight billion operations, and fewer than two thousand of them are in one chain. So
# for one image it has work for four million processors. Most of that chain is not in the
# convolutions. Batch normalisation does one percent of the work and has more than half of the
# depth.
#
# ## 10. What stays sequential · *intermediate*
#
# Not everything has a small depth. A recurrent layer reads a sentence word by word, and each step
# needs the state of the step before. Attention looks at all words at once. The next cell compares
# both for sentences of 64 to 4,096 words, with 512 features:

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
# With 64 times as many words the LSTM's depth is 64 times as large, and attention's depth grows by
# 18 steps. Attention pays with work, which grows with the square of the length: at 4,096 words it
# does twice as much as the LSTM. But the LSTM never has work for more than four million
# processors, however long the sentence is, and attention has work for ten billion. Unit 04 asks
# what can still be done for recurrent layers.
#
# ## 11. What production systems do · *intermediate*
#
# No library schedules single operations. torch cuts a layer into as many large pieces as it has
# threads. On a GPU a layer is cut into many blocks, and the hardware is their greedy scheduler.
# Work and depth still say when this pays. Here is torch's own matrix product, small and large, on
# one thread and on all threads.

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
# The large product can become as many times faster as there are free cores. By its parallelism the
# small product could keep ten thousand processors busy too. But it takes about as long to wake up
# a thread as to compute the whole product. So a second thread can even make it slower. A GPU has
# the same problem with its kernels: each takes some microseconds to start. The remedies are the
# same everywhere: larger batches, *fused* operations (several with one start), and CUDA graphs
# (many starts, recorded once and sent together).
#
# A method that is even closer to this unit is **split-K**. Suppose that a product has few results
# and each is a long sum, as in many weight gradients. Then the results alone cannot keep a GPU
# busy. So cuBLAS cuts the sum itself into pieces, gives them to different processors, and adds the
# partial sums afterwards: the tree from section 1.
#
# ## 12. A greedy schedule can be bad · *intermediate*
#
# A greedy schedule is never twice as long as the best one. But when operations take different
# times, it can behave strangely. Here are nine tasks, with their times below. Four of them wait
# for task 3, and task 8 waits for task 0. Three processors need 12 units of time. Now take a
# fourth processor.

# %%
nine = [[], [], [], [], [3], [3], [3], [3], [0]]
times = [3, 2, 2, 2, 4, 4, 4, 4, 9]
three, four = greedy(nine, 3, times), greedy(nine, 4, times)
assert three.makespan == 12 < 15 == four.makespan
plots.plot_schedule(four.start, four.duration, four.processor, 4, unit="steps", depth=12)

# %% [markdown]
# With four processors task 3 starts at once. Then its four followers are ready before task 8, the
# long one, and take all processors. Task 8 has to wait. This is one of Graham's anomalies (1969):
# more processors, shorter tasks or fewer arrows can all make a greedy schedule longer. Both bounds
# still hold. A rule helps: **start the operation first that has the longest chain after it**, its
# own time included.
#
# ## 13. A puzzle: schedule a training step · *intermediate*
#
# The given graph is a training step of a small network whose two modules have three branches each,
# as in GoogLeNet. There are 40 operations: forward passes (`F`), the gradients of inputs (`I`) and
# of weights (`W`), sums where branches meet (`J`), and the loss. Their times are given in seconds.
# The machine has **three processors, and a result takes 2 seconds to reach another processor**. On
# the same processor it is there at once.
#
# **Exercise, with a goal.** One processor takes 106 s, and no schedule can take less than 40 s,
# the depth. The greedy rule of section 4 takes 61 s. Find a schedule of at most **50 s**. How is
# up to you: by hand, or by a program. Return for each processor the list of its operations, in the
# order in which it does them. A processor starts its next operation as soon as all results that it
# needs are there. The check also tells you the best schedule that we know.


# %% name="01.schedule" tags=["answer"]
def my_schedule(predecessors, seconds, processors):
    """Return for each processor the list of its operations, in their order."""
    ### BEGIN SOLUTION
    chains = list(seconds)  # the longest chain that begins with each operation
    for one in reversed(range(len(seconds))):
        for other in predecessors[one]:
            chains[other] = max(chains[other], seconds[other] + chains[one])
    rows, free, ended = [[] for _ in range(processors)], [0] * processors, {}
    while len(ended) < len(seconds):
        place = free.index(min(free))
        arrives = {}  # of each operation that can be next: when all that it needs is there
        for one, before in enumerate(predecessors):
            if one not in ended and all(other in ended for other in before):
                late = [ended[other] + 2 * (other not in rows[place]) for other in before]
                arrives[one] = max(late, default=0)
        there = [one for one in arrives if arrives[one] <= free[place]]
        if there:
            one = max(there, key=lambda one: chains[one])
            rows[place].append(one)
            ended[one] = free[place] = free[place] + seconds[one]
        else:
            times = [*arrives.values(), *free]
            free[place] = min(time for time in times if time > free[place])
    return rows
    ### END SOLUTION


# %%
from ddl_class.exercises.unit_01 import training_step as step

own = step.carried_out(my_schedule(step.PREDECESSORS, step.SECONDS, step.PROCESSORS))
look = {"kinds": step.KINDS, "unit": "s", "depth": 40, "title": "Your schedule"}
plots.plot_schedule(own.start, own.duration, own.processor, 3, **look)

# %% name="01.schedule" tags=["check"]
check("01.schedule", my_schedule)
### BEGIN HIDDEN TESTS
judge("01.schedule", my_schedule, seed=17)
### END HIDDEN TESTS

# %% [markdown]
# Look at the operations `W` in a good schedule. Nothing in this step waits for the gradients of
# weights, so they can fill the gaps. Unit 10 uses the same idea for pipelines.
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
# 2. You double the batch. What happens to work, depth and average parallelism of each of the three
#    passes?
# 3. Adding numbers one after another is a chain. Still compilers do not turn it into a tree on
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
# - Unit 02: one convolution, four graphs. They have the same result and different work, depth and
#   memory.
# - `ddl_teach/theory/work_depth/`: a formula for every kind of layer. In the course's repository,
#   `tests/operators/graphs/built/` has the graph that proves it.
# - Ben-Nun and Hoefler, "Demystifying parallel and distributed deep learning" (ACM Computing
#   Surveys, 2019): work and depth of layers and of whole networks.
# - Blelloch, "Programming parallel algorithms" (CACM, 1996): how to think in work and depth.
# - Graham, "Bounds on multiprocessing timing anomalies" (1969), and Brent, "The parallel
#   evaluation of general arithmetic expressions" (1974): where the two bounds come from.
# - Merrill and Sabharwal, "The parallelism tradeoff: limitations of log-precision transformers"
#   (TACL, 2023): what little depth costs. A transformer has the same depth for a text of any
#   length. So some problems are out of its reach (if two classes of problems differ, as most
#   believe).
# - Merrill and Sabharwal, "A little depth goes a long way: the expressive power of log-depth
#   transformers" (arXiv, 2025): what changes if the depth grows with the logarithm of the text.
