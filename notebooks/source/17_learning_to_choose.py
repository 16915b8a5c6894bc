# %% [markdown]
# # Learning to choose
#
# **Which all-reduce, which convolution: can a machine learn to tell from your own measurements?**
#
# Unit 06 had five ways to add up, units 02 and 03 five ways to convolve. None is always the
# fastest. A formula says which to take; but it knows nothing of your caches, and nothing of ranks
# that share a core. Your measurements know all of that. So let a tree and a small network learn
# from them, and see whether they choose better than the formula, and how one finds out without
# fooling oneself.
#
# There is nothing to be written in this notebook; it is to be run, read and changed. You need
# units 02, 05 and 06. *Beginners* read sections 1 to 3, *intermediate* readers all. About 40
# minutes.
#
# ## 1. Questions and answers · *beginner*
#
# A **question** is "so many ranks, so many bytes". The **choices** are five algorithms. A
# **point** is a question with measured times: every choice, several times, side by side. The next
# cell measures yours, on engines.

# %%
import numpy as np

from ddl_class import Engines
from ddl_class.plots.searching import plot_choices, plot_regrets
from ddl_measure.experiments.choosing import allreduces, convolutions
from ddl_measure.experiments.choosing.judge import judge, mean_with_interval

engines = Engines(4)

# %%
COUNTS, SIZES = (2, 3, 4), tuple(4**power for power in range(2, 11))
points = allreduces.measured(engines.run, COUNTS, SIZES, repetitions=10)
print(f"{len(points)} questions, {points.seconds.size:,} measured times")
assert points.seconds.shape == (27, 5, 10)

# %% [markdown]
# A map of who won, and beside it who would have won if every second repetition had never been
# made. Pale means **tied**: the interval of another choice's median reaches into the winner's, so
# nobody can tell who is the fastest.


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
# Where the maps differ, or are pale, the winner may be a matter of chance. Whoever learns
# *winners* from such points learns coin tosses, too. Therefore two numbers. **Accuracy** counts
# how often the winner was named, and **regret** what it costs where it was not:
#
# $$\text{regret} = \frac{\text{seconds of what was chosen}}{\text{seconds of the fastest}} - 1 .$$
#
# A wrong choice in a near tie is a mistake, and costs nothing.
#
# ## 2. Those who choose · *beginner*
#
# - **the cost model from two experiments**: latency, bandwidth and the rate of adding up, measured
#   by two ranks that only send and add (unit 05). It has never seen an all-reduce.
# - **the cost model, fitted**: the same formulas, with the three constants that explain the points
#   best.
# - **a decision tree**: is the number of bytes above a threshold? Are the ranks? And so on.
# - **a small network**: the perceptron of unit 13; it learns how likely each choice is the best.
# - **the most frequent winner**, whatever is asked. Who does not beat it has learnt nothing.
#
# They are judged on questions that they have never seen. Which? If a question with 1,024 bytes on
# 3 ranks is held out, and the ones with 1,024 bytes on 2 and on 4 ranks are not, then it is easy.
# So *all* questions of a size are held out together, one size after the other. And choosers learn
# from one half of the repetitions and are judged by the other, else luck would be on their side.
#
# **Predict**, on paper: who will regret least? And by how many percent?

# %%
from ddl_teach.search.choosing.cost_model import fitted
from ddl_teach.search.choosing.decision_tree import decision_tree
from ddl_teach.search.choosing.most_frequent import most_frequent
from ddl_teach.search.choosing.small_network import small_network

learners = {"tree": decision_tree, "small network": small_network, "most frequent": most_frequent}
model = allreduces.two_experiments(engines.run)
mine = {"model, two experiments": lambda _: allreduces.by_model(model)}
mine |= {"model, fitted": fitted(allreduces.counted)} | learners


# %%
def told(verdicts):
    for name, one in verdicts.items():
        print(f"{name:23} fastest {one.won.mean():4.0%}, or tied {one.tied.mean():4.0%}, ", end="")
        print(f"regret: mean {one.regret.mean():7.1%}, worst {one.regret.max():7.1%}")
    regrets = {name: one.regret for name, one in verdicts.items() if name != "best possible"}
    means = {name: mean_with_interval(one, verdicts[name].groups) for name, one in regrets.items()}
    return plot_regrets(regrets, means)


# %%
verdicts = judge(points, mine, "nbytes")
assert verdicts["best possible"].regret.max() == 0
told(verdicts)

# %% [markdown]
# "Measured" is not a chooser: it takes the winner of the other half of the repetitions of the very
# same question. What *it* regrets is the noise of the stopwatch, and nobody can be expected to do
# better. If all intervals overlap, then no ranking follows from your points, and that is a result:
# with so few points and so much noise, take the simplest one, the formula.
#
# One word about the mean: a single question where the choice was ten times too slow may make all
# of it. That is why every question is drawn as a dot.
#
# ## 3. Questions without noise · *beginner*
#
# Simulated ranks have no noise, and networks to order. Here questions tell of the network, too:
# its latency, its seconds a byte, and how many ranks share a node. Held out is *all that was asked
# about a network*. So the question is: you have measured some clusters; what about the next one?

# %%
networks = [allreduces.NetworkShape(latency, per_byte, node)
            for latency, per_byte in ((1e-6, 1e-10), (5e-6, 1e-9), (5e-5, 1e-8))
            for node in (1, 4)]  # fmt: skip
simulated = allreduces.simulated(networks, (2, 4, 6, 8, 16), SIZES[1::2])
others = {"model, fitted": fitted(allreduces.counted)} | learners
flat = simulated.only(simulated.column("ranks_per_node") == 1)

# %%
verdicts = judge(flat, others, "latency", "per_byte")
assert verdicts["model, fitted"].regret.mean() < verdicts["tree"].regret.mean()
told(verdicts)

# %% [markdown]
# On networks of one level the formula is nearly perfect, since it *is* how those networks work;
# what others have to learn from points, it knows. Now the same with nodes of four ranks among
# them, of which the formula knows nothing:

# %%
verdicts = judge(simulated, others, "latency", "per_byte", "ranks_per_node")
told(verdicts)

# %% [markdown]
# ### The surprise
#
# **Nobody wins everywhere, and who wins depends on what is held out.** A formula that knows the
# structure needs three numbers and goes where no point has been. Where the world is other than it
# believes, those who learn catch up or get ahead. And a chooser with the better accuracy can have
# the larger regret. On more points, in `benchmarks/results/choices.txt`, it was the same: on one
# level the formula was better than tree and network; with nodes the network was better than the
# fitted formula where networks were held out, and the tree could not be told from either.
#
# ## 4. Convolutions · *intermediate*
#
# The same for unit 03's question: a convolution of this shape, in a workspace of at most so many
# bytes; a method that does not fit does the batch in pieces. All limits of a shape are one group.

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
told(judge(measured, ours, *convolutions.SHAPE))

# %% [markdown]
# Ten shapes are few: read the intervals before the names. With 48 shapes
# (`benchmarks/results/choices.txt`) the network regretted less than the model with three measured
# rates where shapes were held out, and the tree could not be told from either. Where a whole
# kernel size was held out, neither could be told from that model. All were well above the noise.
#
# ## 5. What production systems do · *intermediate*
#
# | who | chooses |
# |---|---|
# | Open MPI's `tuned`, MPICH | by rules for ranks and bytes, tuned elsewhere, or of your own |
# | NCCL | by a cost model, with constants for each kind of link |
# | cuDNN's heuristics | by rules and models that were made beforehand |
# | `torch.backends.cudnn.benchmark = True` | by trying up to 10, once for each new shape |
# | here, `Auto` in unit 06 | by the cost model, from two experiments |
#
# ## Three questions
#
# **1.** You hold out single questions at random instead of groups. Who gains?
#
# <details><summary>An answer</summary>
#
# Those who look up: the tree, and any nearest neighbour. A held-out question then has neighbours
# that differ by one rank, and the winner is mostly the same. The judgement would be about
# filling gaps in a table, not about new sizes or clusters.
#
# </details>
#
# **2.** Trying all costs something. When does it pay to choose by prediction?
#
# <details><summary>An answer</summary>
#
# If a question is asked $n$ times and there are $k$ ways, trying costs about $k - 1$ times the
# mean slowdown of the others, once; a chooser with regret $r$ costs $n\,r$. For a layer that runs
# a million times with the same shape, try. For shapes that change in every call, predict.
#
# </details>
#
# **3.** The tree says of 1 GB what it says of its largest size. Is that good?
#
# <details><summary>An answer</summary>
#
# By luck here: by the cost model the winner for very large vectors stays the same. With ranks it
# is bad, since what wins on 4 may lose on 4,000. A formula goes on; a network does along straight
# lines.
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
#
# Choosers stand in `ddl_teach/search/choosing`, one a file; `python -m benchmarks.choices` judges
# them on more points. `points.save("mine.csv")` keeps yours, as plain rows.
