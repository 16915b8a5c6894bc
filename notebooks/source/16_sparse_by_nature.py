# %% [markdown]
# # Sparse by nature
#
# **Which networks have gradients that are nearly empty by themselves?**
#
# Unit 16 makes gradients small by leaving entries out. Here is a network whose gradients are
# sparse by themselves: a table of vectors, one row for each statement of a program. A step of
# training needs a few rows, and for all others the gradient is exactly zero. Sparse all-reduce and
# lock-free updates suit such networks well. The data are real, and you have them already: the
# source code of Python's own library.
#
# You write the gradient of one pair of statements, and a classifier of programs that it has never
# seen. The rest is to be run, read and changed. You need unit 16; units 14 and 15 help.
# *Beginners* read sections 1 to 3, *intermediate* readers all but sections 6 and 7, *advanced*
# ones everything. About 60 minutes. All numbers depend a little on your version of Python, because
# its code is what is read.
#
# ## 1. What code consists of · *beginner*
#
# The same line is hardly ever written twice. But leave out the names of variables, and write the
# type in place of a number or a text. Then many lines are alike:

# %%
import ast

import numpy as np

from ddl_class import check, hint, judge, progress, yours
from ddl_teach.training.tasks.statements.spelling import headers, spell

lines = "first = self.queue.pop(0)\nif first is None:\n    raise KeyError('empty')"
print(*(spell(header) for header in headers(ast.parse(lines).body)), sep="\n")

# %% [markdown]
# The next cell reads five packages in this way, some two thousand functions. Every third file is
# held out: nothing is learnt from it.

# %%
from ddl_teach.training.tasks.statements.corpus import read

corpus = read()
print(f"{len(corpus.vocabulary):,} statements that recur, {len(corpus.pairs):,} pairs of them")

# %%
for statement, count in zip(corpus.vocabulary[:6], corpus.counts, strict=False):
    print(f"{count:6} times  {statement}")

# %% [markdown]
# ## 2. Statements that stand together · *beginner*
#
# What does `_.close()` mean? A program cannot ask, but it can look at what stands nearby. Two
# statements are in *context* where one follows the other, or where one reads a variable that the
# other has set: control and data flow. Each statement $c$ gets a vector $v_c$ of 24 numbers, and
# another one, $u_c$, for its use as a context. The loss of a pair that was seen, $c$ with the
# context $o$, is
#
# $$-\log s(u_o\cdot v_c) \;-\; \sum_n \log s(-u_n\cdot v_c), \qquad s(x) = \frac1{1+e^{-x}} .$$
#
# Here $n$ are five contexts drawn at random. So training makes $u_o \cdot v_c$ large for pairs
# that were seen, and $u_n \cdot v_c$ small for others. Statements with the same contexts get
# similar vectors. This is *skip-gram with negative sampling*, made for words in 2013. A skip-gram
# of compiled code followed in 2018, with a similar loss.
#
# **Exercise.** The gradient of one pair. Since $-\log s(x)$ has the derivative $s(x) - 1$, and
# $-\log s(-x)$ has the derivative $s(x)$, the gradients are
#
# $$\big(s(u_o \cdot v) - 1\big)\, u_o + \sum_n s(u_n \cdot v)\, u_n,\qquad
# \big(s(u_o \cdot v) - 1\big)\, v,\qquad s(u_n \cdot v)\, v .$$
#
# `vector` is $v$, `context` is $u_o$, and the rows of `others` are the $u_n$. Return three arrays
# of the same shapes as these. `s` is given.


# %%
def s(x):
    return 1 / (1 + np.exp(-x))


# %% name="16.pair" tags=["answer"]
def pair(vector, context, others):
    """The gradients of the loss of one pair: of vector, context, and each row of others."""
    ### BEGIN SOLUTION
    seen, drawn = s(context @ vector) - 1, s(others @ vector)
    return seen * context + drawn @ others, seen * vector, np.outer(drawn, vector)
    ### END SOLUTION


# %% name="16.pair" tags=["check"]
check("16.pair", pair)
### BEGIN HIDDEN TESTS
judge("16.pair", pair, seed=169)
### END HIDDEN TESTS

# %% [markdown]
# Now the whole task: 64 pairs a step for each worker.

# %%
from ddl_teach.training.tasks.statements.embedding import Statements

task = Statements(corpus, batch=64)
start = task.initial()

# %%
loss, places, values = task.touched(start, part=0, parts=4, step=0)
print(f"{len(places):,} of {len(start):,} numbers have a gradient: {len(places) / len(start):.0%}")

# %% [markdown]
# A pair needs one row of the table of $v$, and six of that of $u$. The other rows do not even have
# to be read. `task.gradient` gives the same as a whole vector, with all the zeros.

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
        print(statement, *(f"    {cosine:.2f}  {text}" for text, cosine in near), sep="\n")

# %% [markdown]
# For some statements the nearest make sense at once; for others you would have to look into the
# source, because there is little code to learn from. Is there something in the vectors or not? A
# number says more than examples. Take a task that was not trained for: *which package does this
# function come from?* A function is the mean of its statements' vectors.
#
# **Exercise.** A classifier for programs that it has never seen. `vectors` has a row for each
# function to learn from, `packages` its package, a number from 0 up. Each package has a *centre*:
# the mean of its rows. For each row of `asked` return the package whose centre has the largest
# cosine with it. The cosine of $a$ and $b$ is $a \cdot b / (\lVert a\rVert \lVert b\rVert)$.


# %% name="16.packages" tags=["answer"]
def which_package(vectors, packages, asked):
    """For each row of `asked` the package whose centre has the largest cosine with it."""
    ### BEGIN SOLUTION
    numbers = np.unique(packages)
    centres = np.array([vectors[packages == number].mean(axis=0) for number in numbers])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return numbers[(asked @ centres.T).argmax(axis=1)]
    ### END SOLUTION


# %% name="16.packages" tags=["check"]
check("16.packages", which_package)
### BEGIN HIDDEN TESTS
judge("16.packages", which_package, seed=170)
### END HIDDEN TESTS

# %% [markdown]
# Ask it about the functions held out. Two baselines: always the most frequent package, and vectors
# that have learnt nothing. The library has a stronger classifier, a linear one, for comparison.

# %%
from ddl_class.exercises.unit_16.embedding_judges import nearest_centre

my_packages = yours("16.packages", which_package, nearest_centre)
long = np.diff(corpus.begins) >= downstream.LEAST  # of so many statements or more
known, asked = long & ~corpus.held_out, long & corpus.held_out


def share_right(vectors):
    rows, packages = downstream.function_vectors(corpus, vectors), corpus.package
    return np.mean(my_packages(rows[known], packages[known], rows[asked]) == packages[asked])


# %%
print(f"always the most frequent package: {downstream.most_frequent(corpus):.0%} right")
for name, weights in {"learnt nothing": start, "learnt": table}.items():
    mine, theirs = share_right(task.vectors(weights)), task.accuracy(weights)
    print(f"vectors that {name}: {mine:.0%} right by centres, {theirs:.0%} by the library's way")
assert alone.loss(table) < 0.8 * alone.loss(start)

# %% [markdown]
# Do not believe these numbers yet. The packages and the width were chosen while looking at this
# very third of the files. For the two other thirds (`read(fold=0)`, `read(fold=2)`) the library's
# linear classifier was run once, afterwards: vectors that had learnt were right in 51% and 40%,
# and vectors that had not in 42% and 32%. The most frequent package is right in 38% and 36%
# (Python 3.11, `benchmarks/results/statements.txt`). So there is something in the vectors, and it
# is less than the best third says.
#
# ## 4. Four workers · *intermediate*
#
# Now four ranks average their gradients. With dense messages each step sends the whole table
# twice. With sparse ones a *stream* of indices and values travels, and grows while it is added up;
# it turns into a plain vector where that is smaller. The table at the end must be the same.

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
# The same table, up to rounding, with a part of the bytes: nothing was left out. There are two
# more ways. All workers may write into *one* table in shared memory, without messages, locks or
# waiting: HOGWILD (unit 14). It works because two workers seldom touch the same row at the same
# moment. And since four workers then make four steps where the others make one, each step must be
# a quarter as long. Or the table lies on parameter servers, in two shards (unit 15). Then two of
# the four ranks are servers, and the two others work twice as many steps. They send the rows that
# they have touched. And since the task knows which rows its next step needs, they fetch no others.
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
# Unit 16 says how a sum fills in if every rank has its entries at random places. Here the places
# are not random: some statements are in every batch, others in none. Count what 1 to 64 workers
# touch in one step. Two formulas are drawn beside it: all rows equally likely, and each row with
# its own probability, $\sum_i 1 - (1 - p_i)^P$, where $p_i$ is how often the first worker touched
# row $i$ in other steps.

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
print(f"64 workers fill {filled[-1]:.0%} of the rows, by count")
print(
    f"by formula {own[-1]:.0%}, with each row's own chances, and {equal[-1]:.0%} with equal ones"
)
assert filled[-1] < 0.9 * equal[-1]
assert np.allclose(filled, own, atol=0.08)

# %% [markdown]
# ### The surprise
#
# The sum of 64 workers is much emptier than with random places, and the second formula says how
# much. Other choices are not random either: the largest entries of several ranks' gradients are
# often the same, as the next cells count for the digits of unit 16. So a measurement of your own
# network is worth more than the formula with equal probabilities. That formula is the worst case,
# as long as ranks choose independently.

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
# A sum that grows on its way can be sent in three ways (Renggli and others, SC 2019). *Recursive
# doubling*, as in unit 16, sends the sum so far in each of $\log_2 P$ steps. In *split and
# all-gather* rank $r$ adds up part $r$ of all streams, then the parts are gathered: each entry
# travels once before the sum and once after it. And where the sum is dense anyway, a *dense second
# phase* gathers plain vectors, without indices. These may then have 4 bits a number. What does a
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
# With few entries the first way has the fewest messages, and as few bytes as the others. With many
# entries it sends the same indices again and again, and more bytes than a ring of whole vectors.
# Measured on real ranks, beside MPI's and gloo's own: `benchmarks/results/sparse_allreduce.txt`.
#
# ## 7. What others use · *advanced*
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
# The same sum. For it gloo gathers the lists of all ranks, $(P-1)$ times $k$ entries, even where
# they have rows in common. `DistributedDataParallel` does the same with such gradients there. Over
# NCCL torch refuses to add up sparse tensors. Recommendation systems have tables with billions of
# rows; they shard the table instead and send rows to where they are needed. The word2vec program
# of 2013 trained lock-free, by many threads.
#
# And the forms of unit 16? With `network.register_comm_hook(state, hook)`
# `DistributedDataParallel` gives a *hook* each bucket of gradients. Here two workers learn the
# digits. Their gradients go through two hooks of torch, and through our forms `Half()` and
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
# Rounding to float16 is the same everywhere. And of rank 4 there is one best matrix: both come
# near it after enough steps.
#
# ## Three questions
#
# **1.** Momentum keeps a velocity for each number, and every velocity moves its weight in every
# step. What does that do to a sparse gradient, and what would you do?
#
# <details><summary>An answer</summary>
#
# The update becomes dense, though the gradient is not: rows that were not touched go on moving.
# Plain descent and AdaGrad leave them where they are. Torch's `SparseAdam` changes moments and
# rows only where they were touched ("lazy" updates); that is not the same training. Or one keeps a
# step number for each row, and makes up for the missed steps when the row is read next.
#
# </details>
#
# **2.** You double the batch of each worker. What happens to the bytes of a step, and to those of
# an epoch?
#
# <details><summary>An answer</summary>
#
# A step touches more rows, but less than twice as many, because frequent rows are shared. An epoch
# has half as many steps. So an epoch sends less: the frequent rows are sent less often.
#
# </details>
#
# **3.** Why is every third *file* held out, and not every third function?
#
# <details><summary>An answer</summary>
#
# Functions of one file share their helpers and their habits. If the others in its file were learnt
# from, a function would be recognised by what is particular to this file. Then the accuracy would
# say little about code that is really new.
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
# - S. Agarwal, C. Yan, Z. Zhang and S. Venkataraman, "Bagpipe: accelerating deep recommendation
#   model training", *SOSP*, 2023: it looks into the next batches, sees which rows of an
#   embedding they need, and fetches these rows before.
#
# The corpus and the task stand in `ddl_teach/training/tasks/statements`, the three ways of adding
# streams up in `ddl_teach/collectives/sparse`. Longer trainings along all paths stand in
# `benchmarks/results/statements.txt`. `progress()` shows how far you have come.
