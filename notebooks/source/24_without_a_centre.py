# %% [markdown]
# # Without a centre
#
# **Can strangers train one network together?**
#
# `24_across_the_internet` had four sites that never fail. Now there are many workers, and they
# come and go. You write an outer step for two workers, and let a worker join. At last the same
# programs run over MPI, gloo and gRPC. You need units 14 and 15. Sections 1 and 2 are for
# *beginners*, section 3 is for *advanced* readers. About 35 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.collectives import rabenseifner
from ddl_teach.comm import Phantom
from ddl_teach.theory import collectives
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
from ddl_teach.fault_tolerance.joining import train_in_open_rounds
from ddl_teach.training.consistency.block_momentum import BlockMomentum
from ddl_teach.training.consistency.noloco import NoLoCo
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.neighbours import Neighbours
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

task, in_pairs = Digits(batch=8, hidden=16), Neighbours(graphs.random_pairs)


# %%
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
# ## 3. MPI, gloo, gRPC · *advanced*
#
# Strangers have no MPI. Programs on the Internet call each other's functions. **gRPC** is such a
# way: a *remote procedure call* over HTTP/2, which carries web pages, too. TensorFlow's parameter
# server used it. **Gloo** is the library of collectives that torch takes on processors. How much
# do they cost?
#
# The file `benchmarks/runtimes.py` writes `send`, `recv` and `sendrecv` with each of the three.
# Then the *same* ring and the same parameter server run over all. Two ranks ran on one node of two
# cores (*recorded*, `benchmarks/results/runtimes.txt`). The numbers are milliseconds: a median,
# and the ends of its 95% interval.

# %%
long_vectors = {  # 4 MiB
    "ring over MPI": (0.9, 0.8, 1.1),
    "ring over gloo": (5.0, 4.2, 6.1),
    "ring over gRPC": (10.2, 9.0, 11.1),
    "MPI's own": (2.3, 2.0, 3.3),
    "gloo's own": (4.9, 4.0, 5.9),
    "server over MPI": (1.7, 1.5, 2.0),
    "server over gloo": (5.2, 4.4, 5.7),
    "server over gRPC": (22.5, 21.7, 24.1),
}

# %%
axes = plane("milliseconds, recorded", "", height=3.4)
for place, (median, low, high) in enumerate(long_vectors.values()):
    axes.errorbar(median, place, xerr=[[median - low], [high - median]], fmt="o", color="#4477aa")
axes.set_yticks(range(len(long_vectors)), list(long_vectors))
axes.set_xlim(left=0)
ratio = long_vectors["server over gRPC"][0] / long_vectors["server over MPI"][0]
axes.finish(
    "4 MiB on two ranks", f"The server over gRPC takes {ratio:.1f} times as long as over MPI"
)

# %% [markdown]
# MPI goes through shared memory here, the other two through TCP. gRPC copies each message into
# bytes and out of them again, and wraps it for HTTP/2. For short messages the intervals of MPI and
# gloo are too wide to compare, so they are not shown. Gloo gives your engines the same sum:


# %%
def both(comm):
    ours, theirs = np.arange(5.0) + comm.rank, np.arange(5.0) + comm.rank
    rabenseifner.allreduce(comm, ours)
    gloo.allreduce(comm, theirs)
    return np.array_equal(ours, theirs)


# %%
from ddl_class.notebook import gloo

print(engines.run(both, timeout=60).results)

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
# **2.** A worker says that it leaves, or it dies. What is lost?
#
# <details><summary>An answer</summary>
#
# If it says so, nothing: it leaves between two rounds. If it dies, its work in this round is lost,
# and the others wait until they know.
#
# </details>
#
# **3.** Why does a worker that joins need the velocity too, and not only the weights?
#
# <details><summary>An answer</summary>
#
# The next outer step goes on along the velocity. With another velocity the joiner would make
# another step than all others, from the same weights.
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
#
# The outer step in pairs stands in `ddl_teach/training/consistency/noloco.py`. `progress()` shows
# how far you have come. Go on with `24_workers_that_lie`.
