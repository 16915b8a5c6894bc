# %% [markdown]
# # Learning to choose
#
# **Which all-reduce, which convolution: can a machine learn this from your own measurements?**
#
# Unit 06 had five ways to add up, units 02 and 03 had five ways to convolve. None is always the
# fastest. A formula says which one to take, but it knows nothing about your caches, or about ranks
# that share a core. Your measurements know all of that. So a decision tree and a small network
# learn from them here. Do they choose better than the formula? And how do you find out without
# fooling yourself?
#
# You need units 02, 05 and 06. *Beginners* read sections 1 to 3, *intermediate* readers all. About
# an hour.
#
# ## 1. Questions and answers · *beginner*
#
# A **question** is "this number of ranks, this number of bytes". The **choices** are five
# algorithms. A **point** is a question with measured times: every choice, several times, side by
# side. The next cell measures yours on engines.

# %%
from functools import partial

import numpy as np

from ddl_class import Engines, check, judge
from ddl_class.plots.searching import plot_choices, plot_regrets
from ddl_measure.experiments.choosing import allreduces, convolutions
from ddl_measure.experiments.choosing.judge import judge as held_out
from ddl_measure.experiments.choosing.judge import mean_with_interval

# %%
engines = Engines(4)
COUNTS, SIZES = (2, 3, 4), tuple(4**power for power in range(2, 11))
patient = partial(engines.run, timeout=100)
points = allreduces.measured(patient, COUNTS, SIZES, repetitions=10)
print(f"{len(points)} questions, {points.seconds.size:,} measured times")
assert points.seconds.shape == (27, 5, 10)

# %% [markdown]
# The left map shows which choice won. The right map shows which one would have won with only half
# of the repetitions. Pale means **tied**: the interval of another choice's median reaches into the
# winner's interval, so the fastest is not known.


# %%
def on_map(points, chosen):
    return np.reshape([points.choices[one] for one in chosen], (len(COUNTS), len(SIZES)))


half, _ = points.halves()
both = {"all repetitions": on_map(points, points.winners), "half": on_map(points, half.winners)}
tied = np.reshape(points.tied.sum(axis=1) > 1, (len(COUNTS), len(SIZES)))
axes = {"row_quantity": "ranks", "column_quantity": "bytes", "tied": tied}
same = np.mean(points.winners == half.winners)
plot_choices(both, COUNTS, [f"{size:,}" for size in SIZES], **axes)

# %%
print(f"half of the repetitions name the same winner in {same:.0%}; {tied.mean():.0%} are tied")
assert same > 1 / len(points.choices)  # more often than a die with a side for each choice

# %% [markdown]
# Where the maps differ, or are pale, the winner may be chance. A chooser that learns *winners*
# from such points learns tosses of a coin, too. So we need two numbers. **Accuracy** counts how
# often the fastest was chosen. **Regret** says what a wrong choice costs:
#
# $$\text{regret} = \frac{\text{seconds of what was chosen}}{\text{seconds of the fastest}} - 1 .$$
#
# A wrong choice in a near tie is a mistake, but it costs nearly nothing.
#
# ## 2. Five choosers · *beginner*
#
# - **the cost model from two experiments**: latency, bandwidth and the rate of adding up, measured
#   by two ranks that only send and add (unit 05). It has never seen an all-reduce.
# - **the cost model, fitted**: the same formulas, with the three constants that explain the points
#   best.
# - **a decision tree**: it asks whether the number of bytes is above a threshold, or the number of
#   ranks, and so on.
# - **a small network**: the perceptron of unit 13. It learns how likely each choice is the best.
# - **the most frequent winner**, for every question. A chooser that is not better has learnt
#   nothing.
#
# **Exercise.** A warm-up of three minutes: a tree with a single question. `numbers` has a number
# for each point, such as its bytes. `slowdowns[point, choice]` is the time of a choice over that
# of the fastest. A threshold divides the points into two sides, and each side takes the choice
# with the least sum of slowdowns. Which threshold is the best? The lines stand below, sorted by
# the alphabet, and one of them belongs nowhere: put the others in order.


# %% name="17.threshold" tags=["answer"]
def best_threshold(numbers, slowdowns):
    """The threshold whose two sides, each with its own best choice, have the least sum."""
    ### BEGIN SOLUTION
    costs = []
    for threshold in numbers:
        below = numbers <= threshold
        sums = slowdowns[below].sum(axis=0), slowdowns[~below].sum(axis=0)
        costs.append(sums[0].min() + sums[1].min())
    return numbers[np.argmin(costs)]
    ### END SOLUTION


# %% name="17.threshold" tags=["check"]
check("17.threshold", best_threshold)
### BEGIN HIDDEN TESTS
judge("17.threshold", best_threshold, seed=1701)
### END HIDDEN TESTS

# %% [markdown]
# All choosers are judged on questions that they have never seen. Which questions? Suppose that
# 1,024 bytes on 3 ranks is held out, and 1,024 bytes on 2 and on 4 ranks is not. Then the question
# is easy. So *all* questions of a size are held out together, one size after the other. And
# choosers learn from one half of the repetitions and are judged by the other half, or luck would
# be on their side.
#
# **Exercise.** `groups[point]` is the group of a point. For each group, learn from all other
# groups and choose for this one: `learn_and_choose(questions, seconds, asked)` takes the questions
# and the times to learn from, and the questions to choose for. It returns the number of a choice
# for each of these. Return the regret of every point.


# %% name="17.held_out" tags=["answer"]
def regrets(questions, seconds, groups, learn_and_choose):
    """The regret of each point, chosen by what was learnt from all other groups."""
    ### BEGIN SOLUTION
    regret = np.empty(len(questions))
    for group in set(groups.tolist()):
        held = groups == group
        chosen = learn_and_choose(questions[~held], seconds[~held], questions[held])
        times = seconds[held]
        regret[held] = times[np.arange(len(times)), chosen] / times.min(axis=1) - 1
    return regret
    ### END SOLUTION


# %% name="17.held_out" tags=["check"]
check("17.held_out", regrets)
### BEGIN HIDDEN TESTS
judge("17.held_out", regrets, seed=1702)
### END HIDDEN TESTS

# %% [markdown]
# The library's `held_out` does this with halves of repetitions, for several choosers at a time.
#
# **Predict**, on paper: which chooser will have the least regret? And how many percent?

# %%
from ddl_teach.search.choosing.cost_model import fitted
from ddl_teach.search.choosing.decision_tree import decision_tree
from ddl_teach.search.choosing.most_frequent import most_frequent
from ddl_teach.search.choosing.small_network import small_network

learners = {"tree": decision_tree, "small network": small_network, "most frequent": most_frequent}
model = allreduces.two_experiments(patient)
mine = {"model, two experiments": lambda _: allreduces.by_model(model)}
mine |= {"model, fitted": fitted(allreduces.counted)} | learners


# %%
def told(verdicts):
    for name, one in verdicts.items():
        print(f"{name:22} fastest {one.won.mean():4.0%}, or tied {one.tied.mean():4.0%}, ", end="")
        print(f"regret {one.regret.mean():6.1%}, worst {one.regret.max():6.0%}")
    regrets = {name: one.regret for name, one in verdicts.items() if name != "best possible"}
    means = {name: mean_with_interval(one, verdicts[name].groups) for name, one in regrets.items()}
    return plot_regrets(regrets, means)


# %%
verdicts = held_out(points, mine, "nbytes")
assert verdicts["best possible"].regret.max() == 0
told(verdicts)

# %% [markdown]
# "Measured" is not a chooser. It takes the winner of the other half of the repetitions of the same
# question. *Its* regret is the noise of the clock, and no chooser can be expected to do better. If
# all intervals overlap, your points give no ranking, and that is a result, too. With so few points
# and so much noise, take the simplest chooser, the formula.
#
# A warning about the mean: one question where the choice was ten times too slow can make nearly
# all of it. That is why every question is drawn as a dot.
#
# ## 3. Questions without noise · *beginner*
#
# Simulated ranks have no noise, and we can choose their network. So here a question also has the
# numbers of a network: its latency, its seconds a byte, and the ranks of a node. *All questions
# about a network* are held out together. So this asks: you have measured some clusters; what about
# the next one?

# %%
networks = [allreduces.NetworkShape(latency, per_byte, node)
            for latency, per_byte in ((1e-6, 1e-10), (5e-6, 1e-9), (5e-5, 1e-8))
            for node in (1, 4)]  # fmt: skip
simulated = allreduces.simulated(networks, (2, 4, 6, 8, 16), SIZES[1::2])
others = {"model, fitted": fitted(allreduces.counted)} | learners
flat = simulated.only(simulated.column("ranks_per_node") == 1)

# %%
verdicts = held_out(flat, others, "latency", "per_byte")
assert verdicts["model, fitted"].regret.mean() < verdicts["tree"].regret.mean()
told(verdicts)

# %% [markdown]
# On networks with one level the formula is nearly perfect, because these networks *work* by this
# formula. It knows what the others have to learn from points. Now we add networks with nodes of
# four ranks. The formula knows nothing about nodes:

# %%
verdicts = held_out(simulated, others, "latency", "per_byte", "ranks_per_node")
told(verdicts)

# %% [markdown]
# ### The surprise
#
# **No chooser wins everywhere. Which one wins depends on what is held out.** A formula that knows
# the structure needs only three numbers, and it also works far from all points. Where the world is
# not as the formula believes, choosers that learn catch up or get ahead. And a chooser with the
# better accuracy can have the larger regret. With more points (`benchmarks/results/choices.txt`)
# the result was the same. On one level the formula was better than tree and network. With nodes,
# and whole networks held out, the network was better than the fitted formula, and the tree could
# not be told from either.
#
# ## 4. Convolutions · *intermediate*
#
# Now the question of unit 03: a convolution of a given shape, and a limit for its workspace in
# bytes. A method that needs more workspace does the batch in pieces. All limits of a shape are one
# group.

# %%
import torch

from ddl_teach.operators.convolution.rates import machine_rates

torch.set_num_threads(1)
rates = machine_rates()
shapes = convolutions.drawn(10, most=2e7)
measured = convolutions.measured(shapes, repetitions=6)
assert len(measured) > 10

# %%
ours = {"model, three rates": lambda _: convolutions.by_rates(rates)}
ours |= {"model, fitted": fitted(convolutions.counted)} | learners
told(held_out(measured, ours, *convolutions.SHAPE))

# %% [markdown]
# Ten shapes are few: read the intervals before the names. With 48 shapes
# (`benchmarks/results/choices.txt`), and shapes held out, the network regretted less than the
# model with three measured rates. The tree could not be told from either. Where a whole kernel
# size was held out, neither could be told from that model. All were well above the noise.
#
# ## 5. What production systems do · *intermediate*
#
# | system | chooses |
# |---|---|
# | Open MPI's `tuned`, MPICH | by rules for ranks and bytes, tuned elsewhere, or of your own |
# | NCCL | by a cost model, with constants for each kind of link |
# | cuDNN's heuristics | by rules and models that were made beforehand |
# | `torch.backends.cudnn.benchmark = True` | by trying up to 10, once for each new shape |
# | here, `Auto` in unit 06 | by the cost model, from two experiments |
#
# ## Three questions
#
# **1.** You hold out single questions at random, and not groups. Which choosers gain?
#
# <details><summary>An answer</summary>
#
# The choosers that look up gain: the tree, and any nearest neighbour. A held-out question then has
# neighbours that differ by one rank, and mostly the same choice wins there. You would judge how
# well a chooser fills gaps in a table, and not how it does on new sizes or clusters.
#
# </details>
#
# **2.** To try all choices costs something. When is it better to predict?
#
# <details><summary>An answer</summary>
#
# Let a question be asked $n$ times, with $k$ ways to choose from. To try all costs about $k - 1$
# times the mean slowdown of the others, once. A chooser with regret $r$ costs $n\,r$. For a layer
# that runs a million times with the same shape, try. For shapes that change in every call,
# predict.
#
# </details>
#
# **3.** The tree gives the same answer for 1 GB as for its largest size. Is that good?
#
# <details><summary>An answer</summary>
#
# Here it is good by luck: by the cost model the winner stays the same for very large vectors. For
# ranks it is bad, because a winner on 4 ranks may lose on 4,000. A formula goes on beyond its
# points. A network goes on along straight lines.
#
# </details>
#
# ## Where to read on
#
# - S. Hunold, A. Bhatele, G. Bosilca and P. Knees, "Predicting MPI collective communication
#   performance using machine learning", *CLUSTER*, 2020.
# - Y. Oyama, T. Ben-Nun, T. Hoefler and S. Matsuoka, "Accelerating deep learning frameworks with
#   micro-batches", *CLUSTER*, 2018: what limits of the workspace do.
# - "Tuning collectives" in the documentation of Open MPI 5.0, and "MPICH tuning parameters" beside
#   MPICH's source: how their rules came about, and the file in which you write your own.
# - L. Breiman, J. Friedman, R. Olshen and C. Stone, *Classification and regression trees*, 1984.
# - M. Wilkins et al., "ACCLAiM: advancing the practicality of MPI collective communication
#   autotuning using machine learning", *CLUSTER*, 2022: in earlier work measuring the points
#   cost more than the better choice saved. Here the next point is measured where the model is
#   least sure.
#
# Choosers stand in `ddl_teach/search/choosing`, one a file; `python -m benchmarks.choices` judges
# them on more points. `points.save("mine.csv")` keeps yours, as plain rows. The notebook
# `17_reading_code` goes on: it chooses from the code of a program.
