# %% [markdown]
# # Without a centre
#
# **Can strangers train one network together?**
#
# `24_across_the_internet` had four sites that never fail. Now there are many workers. They come
# and go, and some of them lie: they send something wrong on purpose. You write an outer step for
# two workers, let a worker join, take a median, and catch a liar. At last the same programs run
# over MPI, gloo and gRPC. You need units 14 and 15. Sections 1 and 2 are for *beginners*, 3 and 4
# for *intermediate* readers, 5 is for *advanced* ones. About 55 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.collectives import rabenseifner
from ddl_teach.comm import Phantom
from ddl_teach.plain import robust_aggregation
from ddl_teach.theory import byzantine, collectives
from ddl_teach.theory.gossip import contraction, graphs
from ddl_teach.theory.machine import Link

# %%
engines = Engines(4)

# %% [markdown]
# ## 1. In pairs · *beginner*
#
# In DiLoCo all workers take part in each outer step. If one is late, all others wait. In
# **NoLoCo** (J. Kolehmainen et al., 2025) a worker makes its outer step with *one* partner. The
# partner is drawn anew in each round. In unit 15 an average with a neighbour was called gossip.
#
# Let $x_i$ be the weights with which worker $i$ began the round, and $d_i$ how much they changed
# in it. With partner $j$ it makes the step
#
# $$v_i \leftarrow \mu v_i + \frac{d_i + d_j}{2} + \left(\frac{x_i + x_j}{2} - x_i\right),\qquad
# x_i \leftarrow x_i + v_i.$$
#
# The mean of the two changes is as in DiLoCo. The last term is new: it pulls both workers to the
# middle between them. (The paper has a factor before each of these two terms.)
#
# **Exercise.** Put these lines in order: two of them belong nowhere. `slow` is $x_i$.


# %% name="24.pair" tags=["answer"]
def outer_step(comm, weights, slow, velocity, partner, momentum):
    """Change slow and velocity in place; weights are those at the end of the round."""
    ### BEGIN SOLUTION
    mine, theirs = np.stack((weights - slow, slow)), np.empty((2, slow.size))
    comm.sendrecv(mine, partner, theirs, partner)
    change, middle = (mine + theirs) / 2
    velocity[:] = momentum * velocity + change + middle - slow
    slow += velocity
    ### END SOLUTION


# %% name="24.pair" tags=["check"]
check("24.pair", outer_step)
### BEGIN HIDDEN TESTS
judge("24.pair", outer_step, ranks=(2, 6), seed=2461)
### END HIDDEN TESTS

# %% [markdown]
# How near do the workers stay to each other? Take one random vector for each worker, and average
# them in random pairs, again and again. Look at the square of each vector's distance from the mean
# of all. In a round the mean of these squares shrinks by a factor of
#
# $$\frac{P-2}{2(P-1)}$$
#
# for an even number of workers $P$. That is nearly one half for any large $P$. Commit to a number:

# %%
predict("24.pairs", ...)

# %%
reveal("24.pairs", contraction.steps_until(0.01**2, contraction.random_pairs(1024)))

# %% [markdown]
# In the next cell each rank averages with its partner, round after round. Then 16 and 64 workers
# do that, simulated.


# %%
def talk(comm, rounds):
    graph, x = graphs.random_pairs(comm.size), np.random.default_rng(comm.rank).normal(size=50)
    seen, theirs = [x.copy()], np.empty_like(x)
    for number in range(rounds):
        for partner in graph.sends_to(comm.rank, number):  # one, or none
            comm.sendrecv(x, partner, theirs, partner)
            x = (x + theirs) / 2
        seen.append(x.copy())
    return seen


# %%
rounds, predicted, simulated = range(11), {}, {}
for ranks in (16, 64):
    errors = contraction.consensus_errors(simulate(talk, ranks, rounds=10, trace=False).results)
    simulated[f"{ranks} workers"] = (rounds, errors)
    shrunk = contraction.random_pairs(ranks) ** (np.arange(11) / 2)
    predicted[f"{ranks} workers"] = (rounds, errors[0] * shrunk)


# %%
axes = plane("round", "distance from the mean")
axes.draw_all({"predicted": predicted, "simulated": simulated})
axes.set_yscale("log")
left = f"64 workers: after 10 rounds {errors[-1] / errors[0]:.1%} is left"
axes.finish("Random pairs", left, legend="best")

# %% [markdown]
# And on your engines:

# %%
here, there = engines.run(talk, rounds=10).results, simulate(talk, 4, rounds=10).results
assert np.array_equal(here, there)

# %% [markdown]
# Your engines gave the same as four simulated ranks, bit for bit. The formula is a mean over all
# drawings of pairs. With few workers one drawing can be far from it.
#
# What does a pair save? The two exchange vectors of $2n$ bytes at once, in $L + 2nG$ seconds. The
# next cell compares that with two all-reduces of $n$ bytes. The links have a latency $L$ of 50 ms
# and 100 Mbit/s: a byte takes $G$ seconds. The network has one million weights.

# %%
link, nbytes, workers = Link(0.05, 8 / 100e6), 4_000_000, [4, 16, 64, 256, 1024]
pair = link.latency + 2 * nbytes * link.per_byte
lines = {
    "ring": (workers, [collectives.ring(P, nbytes, link) for P in workers]),
    "Rabenseifner": (workers, [collectives.rabenseifner(P, nbytes, link) for P in workers]),
    "a pair": (workers, [pair] * len(workers)),
}


# %%
way = {"program": rabenseifner.allreduce, "network": link.network, "trace": False}
times = [simulate(ranks=P, x=Phantom(nbytes), **way).time for P in workers[:4]]

# %%
axes = plane("workers", "seconds of an outer step")
axes.draw_all({"predicted": lines, "simulated": {"Rabenseifner": (workers[:4], times)}})
axes.log_scale("x", base=2)
axes.log_scale("y")
gain = lines["Rabenseifner"][1][-1] / pair
found = f"1,024 workers: Rabenseifner takes {gain:.1f} times as long as a pair"
axes.finish("Outer steps", found, legend="best")

# %% [markdown]
# A ring is far behind, as it has 2046 latencies one after another. But a good all-reduce is near.
# The paper's own comparison is with an all-reduce along a tree, on links whose latencies vary.
# Pairs save something else: no worker waits for the slowest of all.
#
# Does it learn as well? `NoLoCo` is a consistency like the others of unit 14. Eight workers learn
# the digits in three ways: all together in each outer step, in pairs, and in pairs without the
# pull. Each way has two rates. *Distance* is that of the workers' weights from their mean.

# %%
from ddl_class.notebook import gloo
from ddl_teach.fault_tolerance.joining import train_in_open_rounds
from ddl_teach.training.consistency.block_momentum import BlockMomentum
from ddl_teach.training.consistency.noloco import NoLoCo
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.neighbours import Neighbours
from ddl_teach.training.distribution.robust import Robust
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

# %%
task, in_pairs = Digits(batch=8, hidden=16), Neighbours(graphs.random_pairs)


def learn(comm, consistency, distribution, rate=0.1, steps=192):
    parts = {"consistency": consistency, "distribution": distribution, "update": SGD(rate)}
    return train(comm, task, **parts, steps=steps).weights


# %%
ways = {
    "all": (BlockMomentum(8, 0.5), AllReduce()),
    "pairs": (NoLoCo(8, 0.5, 1.0, pull=1.0), in_pairs),
    "pairs, no pull": (NoLoCo(8, 0.5, 1.0, pull=0.0), in_pairs),
}
for name, (when, path) in ways.items():
    for rate in (0.1, 0.2):
        w = simulate(learn, 8, consistency=when, distribution=path, rate=rate).results
        loss, apart = np.mean([task.loss(x) for x in w]), contraction.consensus_error(w)
        print(f"{name:15} rate {rate}: loss of a worker {loss:.3f}, distance {apart:.2f}")

# %% [markdown]
# Take the better rate of each, on this one seed. In pairs a worker's loss is higher than with all:
# a worker has only a part of what the others learned. Without the pull the workers drift apart.
#
# ## 2. Workers come and go · *beginner*
#
# A worker that joins needs what the others have: the weights and the velocity.
#
# **Exercise.** Rank `joiner` receives the state of rank `giver`. All ranks call the function.


# %% name="24.joiner" tags=["answer"]
def take_over(comm, state, giver, joiner):
    """state has two rows, weights and velocity; change it in place."""
    ### BEGIN SOLUTION
    if comm.rank == giver:
        comm.send(state, joiner)
    if comm.rank == joiner:
        comm.recv(state, giver)
    ### END SOLUTION


# %% name="24.joiner" tags=["check"]
check("24.joiner", take_over)
### BEGIN HIDDEN TESTS
judge("24.joiner", take_over, ranks=(2, 4), seed=2462)
### END HIDDEN TESTS

# %% [markdown]
# What if a worker leaves? If it says so, it leaves between two rounds, and nothing is lost. If it
# *dies* in a round, its work in this round is lost. The others wait for it in vain. Then they
# agree on which workers are left, as in unit 20. They still have their own changes, and average
# these. `train_in_open_rounds` does both. Here rank 4 joins in round 2, and rank 1 dies in round
# 3:


# %%
def open_training(comm, joins):
    first = comm.rank  # a rank gets another number when others die

    def before(group, step):
        if first == 1 and step == 3 * 8 + 5:
            group.die()

    rounds = {"rounds": 6, "period": 8, "momentum": 0.5}
    return train_in_open_rounds(comm, task, joins, **rounds, before=before)


# %%
there = simulate(open_training, 5, joins=[0, 0, 0, 0, 2], trace=False).results
for number, members in there[0][1].items():
    print("round", number, "members", members)
assert there[1] is None
assert np.array_equal(there[0][0], there[4][0])

# %% [markdown]
# After that the rounds go on with four, and the joiner ends with the same weights, bit for bit.
# Real ranks do the same. They are started with `survivors=True`, so that one may die and the
# others go on (Open MPI 5):

# %%
from ddl_class import launch

here = launch(open_training, 5, survivors=True, joins=[0, 0, 0, 0, 2]).results
print("members at the end", here[0][1][5])
assert here[1] is None
assert all(np.array_equal(here[0][0], here[rank][0]) for rank in (2, 3, 4))

# %% [markdown]
# In practice groups are small. **Moshpit SGD** (M. Ryabinin et al., 2021) averages in small groups
# that change from round to round, so a death disturbs one group only. DeDLOC (M. Diskin et al.,
# 2021) lets volunteers with unlike machines collect one large batch; so did A. Borzunov et al.,
# 2022, for a picture model. SWARM (M. Ryabinin et al., 2023) cuts a network into stages whose
# workers may change. Petals (A. Borzunov et al., 2023) serves large networks in this way.
#
# ## 3. Workers that lie · *intermediate*
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
# **Exercise.** Of so many workers some lie. At most how many, so that the median of a coordinate
# still lies between two honest values, whatever the liars send?


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
# `benchmarks/results/liars.txt`): 24 rounds of 8 steps, three seeds, and for each cell the best of
# four rates. There are three kinds of lies. Some liars send the opposite of their change. Others
# send a hundred times the opposite. The last know what all others send, and add a **small bias**
# of one and a half standard deviations (M. Baruch et al., 2019). For each kind there are four
# columns, for 0 to 3 liars. Numbers are percent of right digits; -1 is a training that was lost.

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
# ## 4. Replay · *intermediate*
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
print(sorted(engines.run(audited, is_honest=mine).results))

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
# ## 5. MPI, gloo, gRPC · *advanced*
#
# Strangers have no MPI. Programs on the Internet call each other's functions. **gRPC** is such a
# way: a *remote procedure call* over HTTP/2. TensorFlow's parameter server used it. **Gloo** is
# the library of collectives that torch takes on processors. How much do they cost?
#
# The file `benchmarks/runtimes.py` writes send, recv and sendrecv with each of the three. Then the
# *same* ring and the same parameter server run over all. Two ranks ran on one node whose two cores
# were busy with other programs too (*recorded*, `benchmarks/results/runtimes.txt`). The numbers
# are milliseconds: a median, and the ends of its 95% interval.

# %%
long_vectors = {  # 4 MiB
    "ring over MPI": (6.8, 5.4, 11.0),
    "ring over gloo": (12.1, 8.8, 14.4),
    "ring over gRPC": (22.4, 20.6, 26.0),
    "MPI's own": (7.3, 6.0, 10.4),
    "gloo's own": (11.7, 9.9, 12.6),
    "server over MPI": (2.8, 2.0, 3.8),
    "server over gloo": (6.4, 5.7, 9.6),
    "server over gRPC": (28.7, 23.7, 34.2),
}

# %%
axes = plane("milliseconds, recorded", "", height=3.4)
for place, (median, low, high) in enumerate(long_vectors.values()):
    axes.errorbar(median, place, xerr=[[median - low], [high - median]], fmt="o")
axes.set_yticks(range(len(long_vectors)), list(long_vectors))
axes.set_xlim(left=0)
ratio = long_vectors["server over gRPC"][0] / long_vectors["server over MPI"][0]
axes.finish(
    "4 MiB on two ranks", f"The server over gRPC takes {ratio:.1f} times as long as over MPI"
)

# %% [markdown]
# MPI goes through shared memory here, the other two through TCP. gRPC copies each message into
# bytes and out of them again, and wraps it for HTTP/2. For short messages the intervals were too
# wide to tell, so they are not shown. Gloo gives your engines the same sum:


# %%
def both(comm):
    ours, theirs = np.arange(5.0) + comm.rank, np.arange(5.0) + comm.rank
    rabenseifner.allreduce(comm, ours)
    gloo.allreduce(comm, theirs)
    return np.array_equal(ours, theirs)


# %%
print(engines.run(both).results)

# %% [markdown]
# ## Three questions
#
# **1.** NoLoCo's outer step takes as long for 1,000 workers as for two. What do the workers pay?
#
# <details><summary>An answer</summary>
#
# They never have the same weights. Their distance shrinks by about one half in the mean square in
# each round, and each round's noise adds to it.
#
# </details>
#
# **2.** Four of eight workers lie. Which rule helps?
#
# <details><summary>An answer</summary>
#
# None: no rule can know which half is honest. A replay can, since it asks what is right and not
# what the others say.
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
# - J. Kolehmainen et al., "NoLoCo: no-all-reduce low communication training method for large
#   models", *arXiv*, 2025.
# - M. Ryabinin et al., "Moshpit SGD: communication-efficient decentralized training on
#   heterogeneous unreliable devices", *NeurIPS*, 2021.
# - M. Diskin et al., "Distributed deep learning in open collaborations", *NeurIPS*, 2021.
# - A. Borzunov et al., "Training transformers together", *NeurIPS demonstrations*, 2022.
# - M. Ryabinin et al., "SWARM parallelism: training large models can be surprisingly
#   communication-efficient", *ICML*, 2023.
# - A. Borzunov et al., "Petals: collaborative inference and fine-tuning of large models", *ACL
#   demonstrations*, 2023.
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
# The rules stand in `ddl_teach/plain/robust_aggregation.py`, the outer step in pairs in
# `ddl_teach/training/consistency/noloco.py`. `progress()` shows how far you have come.
