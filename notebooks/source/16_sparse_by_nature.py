# %% [markdown]
# # Sparse by nature
#
# **Whose gradients are nearly empty, without anybody throwing anything away?**
#
# Unit 16 makes gradients small by leaving things out. Here is a network whose gradients are sparse
# by themselves: a table of vectors, one row for each statement of a program. A step of training
# looks at a few rows, and for all others the gradient is exactly zero. Sparse all-reduce and
# lock-free updates suit such networks well. The data are real, and you have them already: the
# source code of Python's own library.
#
# There is nothing to be written in this notebook; it is to be run, read and changed. You need unit
# 16; units 14 and 15 help. *Beginners* read sections 1 to 3, *intermediate* readers all
# but sections 6 and 7, *advanced* ones everything. About 40 minutes. All numbers depend a little
# on your version of Python, for it is its code that is read.
#
# ## 1. What code consists of · *beginner*
#
# Hardly anybody writes the same line twice. But leave out the names of variables and write the
# type in place of a number or a text, and lines begin to recur:

# %%
import ast

import numpy as np

from ddl_teach.training.tasks.statements.spelling import headers, spell

lines = "first = self.queue.pop(0)\nif first is None:\n    raise KeyError('empty')"
print(*(spell(header) for header in headers(ast.parse(lines).body)), sep="\n")

# %% [markdown]
# The next cell reads five packages like that, some two thousand functions. Every third file is
# held out: nothing is learnt from it.

# %%
from ddl_teach.training.tasks.statements.corpus import read

corpus = read()
print(f"{len(corpus.vocabulary):,} statements that recur, {len(corpus.pairs):,} pairs of them")

# %%
for statement, count in zip(corpus.vocabulary[:6], corpus.counts, strict=False):
    print(f"{count:6} times  {statement}")

# %% [markdown]
# ## 2. Known by its company · *beginner*
#
# What does `_.close()` mean? A program cannot ask, but it can look what stands nearby. Two
# statements are in *context* where one follows the other, or where one reads a variable that the
# other has set: control and data flow. Each statement $c$ gets a vector $v_c$ of 24 numbers, and
# as a context $o$ another one, $u_o$. For a pair that was seen, and for five contexts $n$ that
# were drawn at random, the loss is
#
# $$-\log s(u_o\cdot v_c) \;-\; \sum_n \log s(-u_n\cdot v_c), \qquad s(x) = \frac1{1+e^{-x}} .$$
#
# So vectors of statements that keep the same company are pulled the same way. This is *skip-gram
# with negative sampling*, made for words in 2013. A skip-gram of compiled code followed in 2018,
# with a loss much like this one.

# %%
from ddl_teach.training.tasks.statements.embedding import Statements

task = Statements(corpus, batch=64)
start = task.initial()

# %%
loss, places, values = task.touched(start, part=0, parts=4, step=0)
print(f"{len(places):,} of {len(start):,} numbers have a gradient: {len(places) / len(start):.0%}")

# %% [markdown]
# A pair touches one row of the table of $v$, and six of that of $u$. The other rows do not even
# have to be read. `task.gradient` gives the same as a whole vector, with all the zeros.

# %%
whole = task.gradient(start, part=0, parts=4, step=0)[1]
assert np.array_equal(whole[places], values)
assert np.count_nonzero(whole) <= len(places)

# %% [markdown]
# ## 3. One worker learns · *beginner*
#
# Three lines. Note what the update costs: it is as long as the gradient, not as the table.

# %%
from ddl_teach.training.tasks.statements import downstream

alone, table = Statements(corpus, batch=256), start.copy()
for step in range(600):
    _, indices, slope = alone.touched(table, 0, 1, step)
    table[indices] -= 20 * slope
print(f"loss on the files held out: {alone.loss(start):.2f}, then {alone.loss(table):.2f}")

# %%
for statement in ("_, _ = get_cfws(_)", "raise ValueError(str)", "except OSError:", "_ = []"):
    if statement in corpus.vocabulary:
        near = downstream.nearest(corpus, task.vectors(table), statement, 3)
        print(f"{statement:24}", *(f"{text} ({cosine:.2f})" for text, cosine in near), sep="   ")

# %% [markdown]
# Some neighbours make sense at once, others you would have to look for in the source: the corpus
# is small. Is there something in the vectors or not? A number says more than examples. Take a task
# that was not trained for: *which package does this function come from?* A function is the mean of
# its statements' vectors; a linear classifier learns from some files and is asked about others.
# Two baselines: always the most frequent package, and vectors that have learnt nothing.

# %%
most, blank = downstream.most_frequent(corpus), task.accuracy(start)
learnt = alone.accuracy(table)
print(f"most frequent: {most:.0%}; vectors that learnt nothing: {blank:.0%}; learnt: {learnt:.0%}")
assert alone.loss(table) < 0.8 * alone.loss(start)

# %% [markdown]
# Do not believe that number yet. The packages and the width were chosen while looking at this very
# third of the files. Asked afterwards about the two other thirds (`read(fold=0)`, `read(fold=2)`),
# vectors that had learnt were right in 51% and 40%, vectors that had not in 42% and 32%, and the
# most frequent package in 38% and 36% (Python 3.11, `benchmarks/results/statements.txt`). So there
# is something in the vectors, and it is less than the best third says.
#
# ## 4. Four workers · *intermediate*
#
# Now four ranks, which must average their gradients. Dense, each step sends the whole table twice.
# Sparse, a *stream* of indices and values travels, and grows while it is added up; it turns into a
# plain vector where that is smaller. The table they end with must be the same.

# %%
from ddl_class import Engines
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.nonzero import NonZero
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.sparse_all_reduce import SparseAllReduce
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.trainer import train

engines = Engines(4)


# %%
def trained(consistency, distribution, compressor, rate, steps=150):
    given = {"consistency": consistency, "distribution": distribution, "compressor": compressor}
    given |= {"task": task, "update": SGD(rate), "steps": steps, "trace": False, "timeout": 200}
    ranks = engines.run(train, **given).results
    return ranks[-1].weights, sum(rank.total_bytes for rank in ranks) / steps / 4


# %%
dense, full = trained(Synchronous(), AllReduce("recursive_doubling"), Dense(), rate=40)
sparse, few = trained(Synchronous(), SparseAllReduce(), NonZero(), rate=40)
print(f"a rank sends {full / 1e3:.0f} kB a step densely, {few / 1e3:.0f} kB sparsely")
assert np.abs(sparse - dense).max() < 1e-2
assert few < full / 2

# %% [markdown]
# The same table, up to rounding, with a part of the bytes: nothing was thrown away. There are two
# more ways. All workers may write into *one* table in shared memory, without messages, locks or
# waiting: HOGWILD (unit 14). It works because two workers seldom touch the same row at the same
# moment; and since four workers then make four steps where the others make one, each step must be
# a quarter as long. Or the table lies on parameter servers, in two shards (unit 15). Of four ranks
# two serve then, and the two that are left work twice as many steps. They push what they have
# touched, and since the task knows which rows its next step will look at, they pull no others.
# (Each way has one rate and one seed: this shows that all of them learn, not which is best.)

# %%
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.distribution.server import Sharded
from ddl_teach.training.distribution.shared_vector import SharedVector

free, nothing = trained(Hogwild(), SharedVector(), Dense(), rate=10)
served, rows_only = trained(StaleSynchronous(0), Sharded(2), NonZero(), rate=20, steps=300)
print(f"through servers a rank sends {rows_only / 1e3:.0f} kB a step, the shared table nothing")

# %%
tables = {"dense": dense, "sparse": sparse, "lock-free": free, "two shards": served}
for name, weights in tables.items():
    accuracy = task.accuracy(weights)
    print(f"{name:11} loss {task.loss(weights):.2f}, {accuracy:.0%} of the packages found")
    assert task.loss(weights) < 0.9 * task.loss(start)
assert nothing == 0 < rows_only < full / 2

# %% [markdown]
# ## 5. Do they fill in? · *intermediate*
#
# Unit 16 says how a sum fills in if every rank has its entries at random places. Here nobody draws
# places: some statements are in every batch, others in none. Count what 1 to 64 workers touch in
# one step, and lay it over two formulas: all rows equally likely, and each with its own chance,
# $\sum_i 1 - (1 - p_i)^P$, where $p_i$ is how often the first worker touched row $i$ in other
# steps.

# %%
rows, ranks = len(start) // task.width, 2 ** np.arange(7)
seen = [task.touched(start, part, 64, 1)[1][:: task.width] // task.width for part in range(64)]
filled = [len(np.unique(np.concatenate(seen[:P]))) / rows for P in ranks]
steps = [
    task.touched(start, 0, 64, step)[1][:: task.width] // task.width for step in range(2, 202)
]
chances = np.bincount(np.concatenate(steps), minlength=rows) / len(steps)

# %%
from ddl_class.plots.forms import plot_fill_in
from ddl_teach.theory import sparse as fills

equal = [fills.union(rows, len(seen[0]), int(P)) / rows for P in ranks]
own = [fills.union_of_chances(chances, int(P)) / rows for P in ranks]
lines = {"equal chances": (ranks, equal), "each its own": (ranks, own)}
title = "Ranks that read the same language touch the same rows"
plot_fill_in(lines, {"statements": (ranks, filled)}, how="counted", title=title)

# %%
assert filled[-1] < 0.9 * equal[-1]
assert np.allclose(filled, own, atol=0.08)

# %% [markdown]
# ### The surprise
#
# The sum of 64 workers is much emptier than random places would make it, and the second formula
# knows. Other choices are not random either: the largest entries of several ranks' gradients have
# much in common, as the next cells count for the digits of unit 16. So a measurement of your own
# network is worth more than the formula with equal chances. That is the worst case, as long as
# ranks choose independently.

# %%
from ddl_teach.training.tasks.digits import Digits

digits = Digits()
whole = [digits.gradient(digits.initial(), worker, 64, 0)[1] for worker in range(64)]

# %%
largest = np.argsort(np.abs(whole), axis=1)[:, -24:]  # 1% of 2,410
shares = len(np.unique(largest)) / 2_410, fills.union(2_410, 24, 64) / 2_410
print(f"the largest 1% of 64 workers fill {shares[0]:.0%} of the sum; random ones {shares[1]:.0%}")
assert shares[0] < shares[1] / 2

# %% [markdown]
# ## 6. Three ways to add them up · *advanced*
#
# What grows on the way can be sent in three ways (Renggli and others, SC 2019). *Recursive
# doubling*, as in unit 16, sends the sum so far in each of $\log_2 P$ steps. In *split and
# all-gather* rank $r$ adds up part $r$ of all streams, then the parts are gathered: each entry
# travels once before the sum and once after it. And where the sum is dense anyway, a *dense second
# phase* gathers plain vectors, without indices, which may then have 4 bits a number. What does a
# rank send, by formula, if 64 ranks have $k$ of a million entries each, at random places?

# %%
N, P = 1_000_000, 64


def ways(k):
    split, doubling = fills.split_bytes(N, k, P), fills.recursive_doubling_bytes(N, k, P)
    dense32, dense4 = (fills.dense_gather_bytes(N, P, bits) for bits in (32, 4))
    return doubling, split + fills.gather_bytes(N, k, P), split + dense32, split + dense4


# %%
print(" entries" + "".join(f"{name:>13}" for name in ("doubling", "split", "dense 2nd", "4 bits")))
for k in (100, 1_000, 10_000, 100_000):
    print(f"{k:8,}" + "".join(f"{nbytes / 1e3:10,.0f} kB" for nbytes in ways(k)))
print(f"a ring of whole vectors: {2 * (P - 1) / P * 4 * N / 1e3:,.0f} kB")

# %% [markdown]
# With few entries the first has the fewest messages and as few bytes; with many it sends the same
# indices again and again, and more than a ring of whole vectors does. Measured on real ranks,
# beside MPI's and gloo's own: `benchmarks/results/sparse_allreduce.txt`.
#
# ## 7. What everybody else uses · *advanced*
#
# In torch a table of vectors is `nn.Embedding`, and `sparse=True` makes its gradient a list of
# rows. The next cells compute one gradient of the table $v$ in both ways.

# %%
import torch

vectors = torch.nn.Embedding(len(corpus.vocabulary), task.width, sparse=True)
contexts = torch.nn.Embedding(len(corpus.vocabulary), task.width, sparse=True)
halves = torch.from_numpy(table).reshape(2, len(corpus.vocabulary), task.width)
vectors.weight.data, contexts.weight.data = halves[0].clone(), halves[1].clone()

# %%
centres, around = torch.tensor(corpus.pairs[:64]).T
scores = (vectors(centres) * contexts(around)).sum(dim=1)
torch.nn.functional.softplus(-scores).mean().backward()  # seen pairs only: no contexts drawn
theirs = vectors.weight.grad.coalesce()
print(f"torch lists {theirs.indices().shape[1]} rows of {len(corpus.vocabulary):,}")

# %%
seen_only = Statements(corpus, batch=64, negatives=0)
_, rows_of_both, slopes = seen_only.loss_and_rows(table, corpus.pairs[:64], np.empty((64, 0), int))
ours = np.zeros((len(corpus.vocabulary), task.width))
np.add.at(ours, rows_of_both[:64], slopes[:64])
assert np.allclose(ours, vectors.weight.grad.to_dense().numpy(), atol=1e-6)

# %% [markdown]
# And gloo adds up such lists: an all-reduce of sparse tensors. Two of your engines, each with rows
# of its own, beside our sparse all-reduce:


# %%
def both_ways(comm, task, weights):
    _, places, values = task.touched(weights, comm.rank, comm.size, 0)
    ours = recursive_doubling.allreduce(comm, Stream.listed(len(weights), places, values))
    gloo.allreduce(comm, np.zeros(1))  # here torch's ranks meet
    theirs = sparse_coo_tensor(places[None], values, weights.shape, check_invariants=True)
    distributed.all_reduce(theirs)
    return ours.dense(), theirs.to_dense().numpy()


# %%
from torch import distributed, sparse_coo_tensor

from ddl_class.notebook import gloo
from ddl_teach.collectives.sparse import recursive_doubling
from ddl_teach.collectives.sparse.stream import Stream

run = engines.run(both_ways, 2, task=task, weights=table, timeout=100)
assert np.allclose(*run.results[0], atol=1e-6)

# %% [markdown]
# The same sum. gloo gathers everybody's list for it, $(P-1)$ times $k$ entries, whatever they have
# in common, and that is what `DistributedDataParallel` does with such gradients there; over NCCL
# torch refuses to add up sparse tensors. Recommendation systems, whose tables have billions of
# rows, shard the table instead and send rows to where they are needed. The word2vec program of
# 2013 trained lock-free, by many threads, with no more thought than that.
#
# And the forms of unit 16? `network.register_comm_hook(state, hook)` makes
# `DistributedDataParallel` hand a *hook* each bucket of gradients. Here are those of two workers
# who learn the digits, once through two hooks of torch and once through our forms `Half()` and
# `PowerSGD(4)`. How far from the exact mean is what arrives? (Each guess of PowerSGD begins where
# the last one ended, so both may try eight times with the same gradients, and without a memory.)

# %%
from ddl_class.notebook import beside_torch

own = [digits.gradient(digits.initial(), worker, 2, 0)[1] for worker in (0, 1)]
run = engines.run(beside_torch.by_hooks, 2, gradients=own, shapes=digits.shapes, timeout=100)
for name, (ours, theirs) in run.results[0].items():
    print(f"{name}: ours is {ours:.2%} off, torch's {theirs:.2%}")
    assert np.isclose(ours, theirs, rtol=0.1)

# %% [markdown]
# Nobody's float16 is better than anybody's, and of rank 4 there is one best matrix, which all who
# try often enough come near to.
#
# ## Three questions
#
# **1.** Momentum keeps a velocity for each number, and every velocity moves its weight in every
# step. What does that do to a sparse gradient, and what would you do?
#
# <details><summary>An answer</summary>
#
# The update becomes dense, though the gradient is not: rows that nobody touched go on moving.
# Plain descent and AdaGrad leave them where they are. Torch's `SparseAdam` lets moments and rows
# that nobody touched stand still ("lazy" updates); it is not the same training. Or one keeps a
# step number for each row, and makes up for the missed steps when the row is read next.
#
# </details>
#
# **2.** You double the batch of each worker. What happens to the bytes of a step, and to those of
# an epoch?
#
# <details><summary>An answer</summary>
#
# A step touches more rows, but less than twice as many, for frequent ones are shared. An epoch has
# half as many steps. So the epoch sends less; it is the frequent rows that are saved.
#
# </details>
#
# **3.** Why is every third *file* held out, and not every third function?
#
# <details><summary>An answer</summary>
#
# Functions of one file share their helpers and their habits. If its neighbours were learnt from, a
# function would be recognised by what is particular to its file, and the accuracy would say little
# about code that nobody has seen.
#
# </details>
#
# ## Where to read on
#
# - T. Mikolov et al., "Distributed representations of words and phrases and their
#   compositionality", *NIPS*, 2013.
# - T. Ben-Nun, A. Jakobovits and T. Hoefler, "Neural code comprehension: a learnable
#   representation of code semantics", *NeurIPS*, 2018.
# - C. Renggli et al., "SparCML: high-performance sparse communication for machine learning",
#   *SC*, 2019.
# - B. Recht et al., "HOGWILD!: a lock-free approach to parallelizing stochastic gradient descent",
#   *NIPS*, 2011.
#
# The corpus and the task stand in `ddl_teach/training/tasks/statements`, the three ways of adding
# streams up in `ddl_teach/collectives/sparse`, and longer trainings along all paths in
# `benchmarks/results/statements.txt`.
