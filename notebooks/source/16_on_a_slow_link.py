# %% [markdown]
# # On a slow link
#
# **How few bytes does a training need?**
#
# Unit 16 has forms in which a gradient can travel. Here they go into whole trainings, and every
# byte is counted. Then ranks gossip and send only what has *changed*. At last you train against
# time, on a link of 100 kB a second. You need unit 16; unit 15 helps with section 2. Sections 1
# and 2 are for *intermediate* readers, section 3 is for *advanced* ones. About 60 minutes.

# %%
from functools import partial

import numpy as np

from ddl_class import check, hint, judge, progress, simulate, yours
from ddl_class.plots import forms as plots
from ddl_teach.training.tasks.digits import Digits

# %%
task = Digits()

# %% [markdown]
# ## 1. A whole training · *intermediate*
#
# Four simulated ranks learn the digits. The ledger counts every byte. `train` takes a
# *consistency* (when ranks agree), a *distribution* (which ranks send to which), a *compressor*
# (what is sent), and an *update* rule. Here it is always synchronous, by all-reduce, with plain
# descent and four compressors. Each compressor gets the best of three rates.

# %%
from ddl_teach.training.compression import dense, powersgd, qsgd, top_k
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.trainer import train

forms = {"32 bits": dense.Dense(), "4 bits, at random": qsgd.QSGD(levels=7)}
forms["rank 1, memory"] = Feedback(powersgd.PowerSGD(1, shapes=task.shapes))
forms["2 entries, memory"] = Feedback(top_k.TopK(0.001))
given = {"task": task, "consistency": Synchronous(), "steps": 120, "trace": False}


# %%
def trained(form, rate):
    return simulate(train, 4, compressor=form, update=SGD(rate), **given).results


def final_loss(form, rate):
    return task.loss(trained(form, rate)[0].weights)


# %%
best = {name: min((0.2, 0.5, 1.0), key=partial(final_loss, form)) for name, form in forms.items()}
runs = {name: trained(form, best[name]) for name, form in forms.items()}
for name, ranks in runs.items():
    sent, accuracy = ranks[0].total_bytes, task.accuracy(ranks[0].weights)
    print(f"{name:18} {sent / 1e3:8.1f} kB sent by rank 0, {accuracy:.0%} right")
    assert accuracy > 0.9

# %% [markdown]
# Fewer bytes are worth something only if they lead to the same place. So the picture has bytes on
# its axis. Its title compares the bytes that two forms need until the first loss which *all* of
# them reach. (To run the same on real ranks, start engines as in unit 16, and write `engines.run`
# for `simulate`.)

# %%
losses = {name: np.mean([rank.losses for rank in ranks], axis=0) for name, ranks in runs.items()}
calm = {name: np.convolve(run, np.ones(20) / 20, "valid") for name, run in losses.items()}
reached = max(run.min() for run in calm.values())
sent = {name: ranks[0].bytes for name, ranks in runs.items()}
needed = {name: sent[name][19 + np.argmax(run <= reached)] for name, run in calm.items()}

# %%
times = needed["32 bits"] / needed["2 entries, memory"]
title = f"To a loss of {reached:.2g}: two entries need {times:.0f} times fewer bytes"
axes = {"unit": "bytes sent by a rank", "of": "loss of own samples (20 steps)", "smooth": 20}
plots.plot_descents(losses, title, across=sent, **axes)

# %% [markdown]
# ## 2. Only changes · *intermediate*
#
# In gossip (unit 15) ranks send their *weights* to their neighbours. Top-k of weights is no good:
# the entries that do not travel would count as zeros. But what has *changed* since the last
# message may lose entries. **Compressed gossip** (CHOCO-SGD; Koloskova, Stich and Jaggi, 2019)
# does that. Of each vector $x_i$ rank $i$ and its neighbours keep a copy $k_i$, the same on all of
# them. In each step
#
# $$q_i = Q(x_i - k_i),\qquad k_j \leftarrow k_j + q_j,\qquad
# x_i \leftarrow x_i + \gamma \sum_j W_{ij}\, (k_j - k_i).$$
#
# The copy lags behind the vector. What $Q$ leaves out is still a difference, so it is sent later:
# the copies do what the residual does in error feedback. A `pull` $\gamma$ below 1 keeps a rank
# from following old copies too fast.
#
# **Exercise.** One step, on a ring of three or more ranks. `known` has three rows: the copies of
# the left neighbour, of this rank, and of the right neighbour. Every weight $W_{ij}$ is 1/3, so
# the sum is the mean of the three rows minus the middle one. Change `x` and `known` in place. Both
# neighbours must receive the same message. Unless another form is given, `compress` rounds to
# whole numbers.


# %% name="16.changes" tags=["answer"]
def changes(comm, x, known, pull, compress=np.round):
    """known += q of left, own, right; x += pull * (mean of the copies - own copy)."""
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    ### BEGIN SOLUTION
    change = compress(x - known[1])
    from_left, from_right = np.empty_like(x), np.empty_like(x)
    comm.sendrecv(change, right, from_left, left)
    comm.sendrecv(change, left, from_right, right)
    known += np.array([from_left, change, from_right])
    x += pull * (known.mean(axis=0) - known[1])
    ### END SOLUTION


# %% name="16.changes" tags=["check"]
check("16.changes", changes)
### BEGIN HIDDEN TESTS
judge("16.changes", changes, ranks=(6, 7, 12), seed=167)
### END HIDDEN TESTS

# %% [markdown]
# Now eight ranks gossip, each with a vector of 100 random numbers. Only the 10 largest entries of
# each change travel. For comparison the ranks also gossip *without* copies: then `known` is zero
# before each step, and the 10 largest entries of the vector itself travel.

# %%
from ddl_class.exercises.unit_16.gossip_judges import changed
from ddl_class.plots.gossip import plot_consensus
from ddl_teach.theory.gossip import contraction

my_changes = yours("16.changes", changes, changed)


def ten_of(vector):
    return np.bincount(*top_k.largest(vector, 10), minlength=len(vector))


# %%
def gossip(comm, copies, steps=150):
    x, known, seen = np.random.default_rng(comm.rank).standard_normal(100), np.zeros((3, 100)), []
    for _ in range(steps):
        my_changes(comm, x, known, 0.3, ten_of)
        known *= copies  # 1 keeps them, 0 forgets them
        seen.append(x.copy())
    return seen


# %%
ways = {"with copies": 1.0, "without copies": 0.0}
apart = {
    name: contraction.consensus_errors(simulate(gossip, 8, copies=keep, trace=False).results)
    for name, keep in ways.items()
}
assert apart["with copies"][-1] < apart["without copies"][-1] / 10
plot_consensus(apart, how="simulated")

# %% [markdown]
# With copies the ranks agree, although nine tenths of each change are left out. Without copies
# they stay apart: below the ten largest, entries never travel. Now a training, once by gossip with
# whole vectors and once with a twentieth of the changes. Each way has one rate and one seed, so
# this shows that both learn, and not which is better.

# %%
from ddl_teach.theory.gossip import graphs
from ddl_teach.training.consistency.compressed_gossip import CompressedGossip
from ddl_teach.training.consistency.gossip import Gossip
from ddl_teach.training.distribution.neighbours import Neighbours

on_a_ring = {"task": task, "distribution": Neighbours(graphs.ring), "update": SGD(0.3)}
on_a_ring |= {"steps": 120, "trace": False}
pairs = {"whole vectors": (Gossip(), dense.Dense())}
pairs["changes, a twentieth"] = CompressedGossip(pull=0.3), top_k.TopK(0.05)

# %%
for name, (when, form) in pairs.items():
    ranks = simulate(train, 8, consistency=when, compressor=form, **on_a_ring).results
    sent, right = ranks[0].total_bytes / 1e3, [task.accuracy(rank.weights) for rank in ranks]
    print(f"{name:21} {sent:5.0f} kB sent by a rank, {min(right):.0%} to {max(right):.0%} right")
    assert min(right) > 0.8

# %% [markdown]
# ## 3. A training against time · *advanced*
#
# **A puzzle.** Four workers learn the digits over a slow link. A step takes 4 ms for the gradients
# and 1 ms of latency; then each worker's message goes to the three others, at 100 kB a second. In
# each step your function gets an array of four rows: each worker's gradient plus its residual. It
# returns what arrives of them, an array of four rows again, and the learning rate of this step.
# What does not arrive stays in the residuals.
#
# What a message costs is counted from what arrives: the places of its entries and their values. If
# there are only a few *different* values, an entry needs only a few bits.


# %%
from ddl_class.exercises.unit_16.link_judges import message_bytes, race

row = np.zeros(2_410)
print(f"no entry: {message_bytes(row)} bytes")

# %%
row[:20] = np.arange(1, 21)
print(f"20 entries, all different: {message_bytes(row)} bytes")
row[:20] = np.where(np.arange(20) % 3, 0.5, -0.5)
print(f"20 entries, two values: {message_bytes(row)} bytes")

# %% [markdown]
# How many seconds are simulated until the loss on pictures held out is 0.15? The loss is a mean of
# five steps, and the time a mean of two seeds, so that luck counts less. Whole gradients need more
# than ten seconds. The 10 largest entries need about 0.65 s, and so does one bit for each entry.
# The goal is **0.35 s**. The next cell defines the way with the 10 largest entries.


# %%
def largest_ten(totals, step):
    arrived = np.zeros_like(totals)
    for row, total in zip(arrived, totals, strict=True):
        places = np.argsort(np.abs(total))[-10:]
        row[places] = total[places]
    return arrived, 1.0


# %%
print(f"the 10 largest entries: {race(largest_ten).seconds:.3f} s")

# %% [markdown]
# **Exercise.** Write your own, and be faster. How is up to you. The check says how long yours
# takes, and how long the best takes that is known.


# %% name="16.link" tags=["answer"]
def on_the_link(totals, step):
    """What arrives of the four rows of `totals`, and this step's rate: `return arrived, rate`."""
    ### BEGIN SOLUTION
    arrived = np.zeros_like(totals)
    for row, total in zip(arrived, totals, strict=True):
        places = np.argsort(np.abs(total))[-30:]
        row[places] = np.sign(total[places]) * np.abs(total[places]).mean()
    return arrived, 1.5
    ### END SOLUTION


# %%
runs = {"the 10 largest": race(largest_ten)}
if yours("16.link", on_the_link, largest_ten) is on_the_link:
    runs["mine"] = race(on_the_link)
falls, times = {n: r.losses for n, r in runs.items()}, {n: r.times for n, r in runs.items()}
plots.plot_descents(falls, "On a slow link, first of two seeds", across=times, unit="seconds")

# %% name="16.link" tags=["check"]
check("16.link", on_the_link)
### BEGIN HIDDEN TESTS
judge("16.link", on_the_link, seed=168)
### END HIDDEN TESTS

# %% [markdown]
# A step takes 5 ms even without bytes. So below about 150 bytes a message, fewer bytes hardly save
# time, and fewer *steps* do. What makes a step go further: the entries, their values, or the rate?
#
# ## Three questions
#
# **1.** Compressed gossip keeps a copy of each neighbour's vector. What does that cost on an
# exponential graph of 1,024 ranks, and on a ring?
#
# <details><summary>An answer</summary>
#
# On a ring two neighbours' copies and one of the rank's own vector, however many ranks there are.
# On an exponential graph of 1,024 ranks there are ten neighbours, so ten copies more. With a large
# network that is memory that one may not have. On a graph whose links change, copies would be
# needed for all ranks that ever are neighbours.
#
# </details>
#
# **2.** Could two neighbours get different messages, each only what it does not know yet?
#
# <details><summary>An answer</summary>
#
# Then the sender must keep another copy for each neighbour. And what one rank gains in a step is
# no longer what the other one loses: the mean of all would drift. With the same message for both,
# the copies of a vector are the same everywhere, and the mean stays.
#
# </details>
#
# **3.** In the puzzle each worker sends its message to three others. With 64 workers, what is
# better: the same way, or one where messages add up on the way?
#
# <details><summary>An answer</summary>
#
# Each worker would receive 63 messages in a step, so a step's time grows with the workers. Lists
# of chosen entries fill in when they are added up (section 7 of the unit). Forms whose messages
# add up, such as rank 1, go through an all-reduce, whose bytes hardly grow with the workers.
#
# </details>
#
# ## Where to read on
#
# - A. Koloskova, S. Stich and M. Jaggi, "Decentralized stochastic optimization and gossip
#   algorithms with compressed communication", *ICML*, 2019.
# - T. Vogels et al., "PowerSGD: practical low-rank gradient compression for distributed
#   optimization", *NeurIPS*, 2019.
# - H. Tang et al., "1-bit Adam: communication efficient large-scale training with Adam's
#   convergence speed", *ICML*, 2021: error feedback fits a momentum, but not the squares of
#   Adam. So the squares are fixed after a first phase, and from then on one bit a number is
#   sent.
#
# Compressed gossip stands in `ddl_teach/training/consistency/compressed_gossip.py`. `progress()`
# shows how far you have come. The notebook `16_sparse_by_nature` has gradients that are sparse by
# themselves.
