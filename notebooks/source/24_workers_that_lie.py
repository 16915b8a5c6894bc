# %% [markdown]
# # Workers that lie
#
# **How does one train with workers that may send anything?**
#
# `24_without_a_centre` let strangers train together. Some of them lie: they send something wrong
# on purpose. You take a median in the place of a mean, and count the liars that it bears. Then you
# catch a liar by doing its work again. You need `24_without_a_centre` and unit 14. Both sections
# are for *intermediate* readers. About 30 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.plain import robust_aggregation
from ddl_teach.theory import byzantine

# %%
engines = Engines(4)

# %% [markdown]
# ## 1. Workers that lie · *intermediate*
#
# Strangers can send anything. One huge vector moves the mean as far as its sender likes. Workers
# that may send anything are called **Byzantine**. The median of each coordinate does not follow
# them (D. Yin et al., 2018).
#
# **Exercise.** Each row is the vector of one worker. Return the median of each coordinate.


# %% name="24.median" tags=["answer"]
def median_of(rows):
    """The median of each coordinate over the workers."""
    ### BEGIN SOLUTION
    return np.median(rows, axis=0)
    ### END SOLUTION


# %%
mine = yours("24.median", median_of, robust_aggregation.median)
rows = np.random.default_rng(0).normal(1.0, 0.3, (8, 2))
rows[6:] *= -5  # two lie

# %% [markdown]
# A circle is what one worker sends.

# %%
axes = plane("first coordinate", "second coordinate", height=3.4, width=6)
axes.scatter(*rows.T, facecolors="none", edgecolors="gray", label="workers")
for name, at in (("mean", rows.mean(0)), ("median", mine(rows))):
    axes.scatter(*at, label=name)
axes.finish("Two of eight lie", "Vectors of eight workers, and two means of them", legend="best")

# %% name="24.median" tags=["check"]
check("24.median", median_of)
### BEGIN HIDDEN TESTS
judge("24.median", median_of, seed=2463)
### END HIDDEN TESTS

# %% [markdown]
# How many liars does a rule bear? That number is its **breakdown point**.
#
# **Exercise.** Some of the workers lie. How many may lie, so that the median of a coordinate
# is still between two honest values, whatever the liars send?


# %% name="24.bears" tags=["answer"]
def median_bears(workers):
    """The most liars."""
    ### BEGIN SOLUTION
    return (workers - 1) // 2
    ### END SOLUTION


# %% name="24.bears" tags=["check"]
check("24.bears", median_bears)
### BEGIN HIDDEN TESTS
judge("24.bears", median_bears, seed=2464)
### END HIDDEN TESTS

# %% [markdown]
# Other rules: the **trimmed mean** leaves out the largest and the smallest values of each
# coordinate. **Krum** (P. Blanchard et al., 2017) takes the vector whose nearest others are the
# nearest. **Centred clipping** (S. P. Karimireddy et al., 2021) shortens each vector's difference
# from the last result, and then takes the mean.
#
# None of them is free. Suppose that no worker lies, and that each number is the right one plus
# normal noise. Then the median of $P$ numbers has a larger variance than their mean. For many
# workers it is $\pi/2$ times as large:

# %%
workers = range(1, 33)
predicted = [byzantine.median_variance(P) for P in workers]
lots = np.random.default_rng(0)
drawn = [P * np.median(lots.normal(size=(20_000, P)), axis=1).var() for P in workers[::3]]

# %%
axes = plane("workers", "variance, that of the mean is 1", height=3.4)
axes.draw_all({"predicted": {"median": (workers, predicted)},
               "simulated": {"median": (workers[::3], drawn)}})  # fmt: skip
axes.mark(8, f"8 workers: {predicted[7]:.2f}")
axes.finish("Variance", "What the median costs if no worker lies")

# %% [markdown]
# Which rule bears which lie? Eight workers learned the digits (*recorded*,
# `benchmarks/results/liars.txt`): 24 rounds of 8 steps, three seeds, and for each cell the best
# of four rates. There are three kinds of lies. Some liars send the opposite of their change.
# Others send a hundred times the opposite. The third kind knows what all others send, and adds a
# **small bias** of one and a half standard deviations (M. Baruch et al., 2019). For each kind
# there are four columns, for 0 to 3 liars. Numbers are percent of right digits; -1 is a training
# that was lost.

# %%
recorded = """
mean              96.4 96.0 94.7 86.9 | 96.4 -1 -1 -1 | 96.4 95.6 94.2 93.3
median            96.1 95.1 94.5 90.5 | 96.1 95.3 94.0 88.4 | 96.1 95.3 93.6 92.5
trimmed mean      96.4 95.9 94.5 90.5 | 96.4 95.6 94.4 88.4 | 96.4 95.6 93.6 92.5
Krum              92.0 91.9 90.8 88.8 | 92.0 92.5 92.3 91.4 | 92.0 92.6 92.3 88.8
centred clipping  96.3 96.0 94.8 89.3 | 96.3 96.0 93.2 87.7 | 96.3 96.3 94.3 93.1
"""
table = {line[:18].strip(): np.array(line[18:].replace("|", " ").split(), float)
         for line in recorded.strip().splitlines()}  # fmt: skip

# %%
for number, lie in enumerate(("opposite", "100 times opposite", "small bias")):
    axes = plane("liars of eight", "percent right", height=2.8)
    cells = {rule: row[4 * number : 4 * number + 4] for rule, row in table.items()}
    axes.draw_all({"recorded": {rule: (range(4), row) for rule, row in cells.items()}})
    axes.set_ylim(80, 100)
    axes.set_xticks(range(4))
    best = f"{lie}: with 2 liars the best rule has {max(row[2] for row in cells.values()):.0f}%"
    display(axes.finish(lie, best, legend="beside"))

# %% [markdown]
# With a huge lie the mean is lost at every rate, already with one liar: its line leaves the
# picture. All other rules hold. But with two liars of the other two kinds the mean is within half
# a percent of the best rule. The opposite only makes the step shorter, and a higher rate makes up
# for it. Without any liar Krum is the worst: it throws away seven vectors of eight.
#
# `Robust` is a distribution: it goes with all consistencies that take a mean. Each rank receives
# all vectors, so it sends more than in a ring. Here one of your four engines lies:


# %%
from ddl_teach.training.consistency.block_momentum import BlockMomentum
from ddl_teach.training.distribution.robust import Robust
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

# %%
task = Digits(batch=8, hidden=16)


def learn(comm, consistency, distribution):
    parts = {"consistency": consistency, "distribution": distribution, "update": SGD(0.1)}
    return train(comm, task, **parts, steps=192).weights


def huge(rows, liars):
    return -100 * rows[-liars:]


# %%
setting = {"consistency": BlockMomentum(8, 0.5), "distribution": Robust("median", 1, huge)}
here = engines.run(learn, **setting).results
there = simulate(learn, 4, trace=False, **setting).results
print(f"accuracy with one liar of four: {task.accuracy(here[0]):.1%}")
assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))

# %% [markdown]
# Now no worker lies, but their data differ: each has only a few of the ten digits. They take the
# median, as they cannot know that all are honest. Commit to a number:

# %%
predict("24.unlike", ...)

# %%
task, right = Digits(batch=8, hidden=16, skewed=True), {}
for rule in ("mean", "centred clipping", "median", "Krum"):
    setting = {"consistency": BlockMomentum(8, 0.5), "distribution": Robust(rule, 2)}
    w = simulate(learn, 8, trace=False, **setting).results[0]
    right[rule] = 100 * task.accuracy(w)
    print(f"{rule:17} {right[rule]:.0f} % right")

# %%
reveal("24.unlike", right["median"])
task = Digits(batch=8, hidden=16)

# %% [markdown]
# (One rate for all here, not tuned. In the recorded runs, at the best of four rates, it is: mean
# 92.8, centred clipping 91.7, trimmed mean 75.7, median 72.8, Krum 20.3 percent.) If only one
# worker has seen a digit, it looks like a liar. There are ways out: mix the vectors of a few
# workers before the rule sees them, or remember the past, as centred clipping does.
#
# ## 2. Replay · *intermediate*
#
# A small bias hides in the noise. But what a worker *should* have sent has no noise. Its data are
# known, and so are its weights at the beginning. So another worker can do the same steps again: a
# **replay**. The same operations in the same order, on the same kind of machine, give the same
# bits.
#
# **Exercise.** A worker sent the change `claimed`. Is that what its steps give? `steps` are the
# numbers of the round's steps. `gradient(weights, worker, workers, step)` returns a new vector.


# %% name="24.replay" tags=["answer"]
def is_honest(claimed, weights, gradient, rate, worker, workers, steps):
    """Whether plain steps of w -= rate * gradient, from these weights, give this change."""
    ### BEGIN SOLUTION
    mine = weights.copy()
    for step in steps:
        mine -= rate * gradient(mine, worker, workers, step)
    return np.array_equal(mine - weights, claimed)
    ### END SOLUTION


# %%
def slope(weights, worker, workers, step):
    return task.gradient(weights, worker, workers, step)[1]


# %%
def by_replay(claimed, weights, gradient, rate, worker, workers, steps):
    own = weights.copy()
    for step in steps:
        own -= rate * gradient(own, worker, workers, step)
    return (own - weights).tobytes() == claimed.tobytes()


# %% [markdown]
# On your engines each worker makes a round, and its right neighbour replays it. Worker 2 changes
# one number of 1,210 by its last bit.


# %%
def audited(comm, is_honest):
    w, start = task.initial(), task.initial()
    for step in range(8):
        w -= 0.1 * slope(w, comm.rank, comm.size, step)
    change, theirs = w - start, np.empty_like(w)
    if comm.rank == 2:
        change[7] = np.nextafter(change[7], np.float32(1))
    left = (comm.rank - 1) % comm.size
    comm.sendrecv(change, (comm.rank + 1) % comm.size, theirs, left)
    return left, is_honest(theirs, start, slope, 0.1, left, comm.size, range(8))


# %%
mine = yours("24.replay", is_honest, by_replay)
verdicts = sorted(engines.run(audited, is_honest=mine).results)
print(verdicts)
assert verdicts == [(0, True), (1, True), (2, False), (3, True)]

# %% name="24.replay" tags=["check"]
check("24.replay", is_honest)
### BEGIN HIDDEN TESTS
judge("24.replay", is_honest, seed=2465)
### END HIDDEN TESTS

# %% [markdown]
# If all is replayed, all work is done twice. So only a share $q$ of the workers is replayed in
# each round, drawn by chance *after* they have sent. Then a liar is found within $k$ rounds with
# the probability $1 - (1-q)^k$.

# %%
rounds, curves = range(41), {"predicted": {}, "simulated": {}}
for share in (1 / 32, 1 / 8, 1 / 4):
    chances = [byzantine.found_within(k, share) for k in rounds]
    curves["predicted"][f"{share:.1%} replayed"] = (rounds, chances)
    first = np.random.default_rng(1).geometric(share, 2000)  # the round in which it is found
    curves["simulated"][f"{share:.1%} replayed"] = (rounds, [np.mean(first <= k) for k in rounds])

# %%
axes = plane("rounds", "probability that a liar is found", height=3.4)
axes.draw_all(curves)
axes.finish("Replay", "How soon a liar is found", legend="lower right")

# %% [markdown]
# Two warnings. First, GPUs of different kinds add in different orders, so the last bits differ.
# Then operations need a fixed order, as in Verde (A. Arun et al., 2025). A tolerance would do,
# too, but lies can hide in it. Second, the worker that replays may lie as well. In Verde the two
# look for the first operation in which they differ, and a referee computes only that one. H. Jia
# et al., 2021, keep weights from time to time as a *proof of learning*, which others can replay
# later.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("24")
progress()

# %% [markdown]
# ## Three questions
#
# **1.** Four of eight workers lie. Which rule helps?
#
# <details><summary>An answer</summary>
#
# None: no rule can know which half is honest. A replay can, since it asks what is right and not
# what the others say.
#
# </details>
#
# **2.** No worker lies. What does the median cost then?
#
# <details><summary>An answer</summary>
#
# For many workers its variance is $\pi/2$ times that of the mean. And where the data of the
# workers differ, it leaves out what only few of them have seen.
#
# </details>
#
# **3.** Why are the workers to be replayed drawn only after all have sent?
#
# <details><summary>An answer</summary>
#
# A liar that knows beforehand that it will not be replayed lies only then.
#
# </details>
#
# ## Where to read on
#
# - P. Blanchard et al., "Machine learning with adversaries: Byzantine tolerant gradient descent",
#   *NIPS*, 2017.
# - D. Yin et al., "Byzantine-robust distributed learning: towards optimal statistical rates",
#   *ICML*, 2018.
# - M. Baruch, G. Baruch and Y. Goldberg, "A little is enough: circumventing defenses for
#   distributed learning", *NeurIPS*, 2019.
# - S. P. Karimireddy, L. He and M. Jaggi, "Learning from history for Byzantine robust
#   optimization", *ICML*, 2021.
# - H. Jia et al., "Proof-of-learning: definitions and practice", *IEEE S&P*, 2021.
# - A. Arun et al., "Verde: verification via refereed delegation for machine learning programs",
#   *arXiv*, 2025.
#
# The rules stand in `ddl_teach/plain/robust_aggregation.py`.
