# %% [markdown]
# # Rounding or bug?
#
# **Two runs differ in the sixth digit. Is one of them wrong?**
#
# In unit 19 a training was repeated to the last digit. On a graphics card that is not so: the same
# program gives other last digits each time it runs. And with numbers of 16 bits even the third
# digit is uncertain. So there is a *floor*: differences that a right program makes, too. In this
# notebook you measure the floor, and you see which bugs hide below it. At the end you catch
# sixteen bugs with as few numbers as you can.
#
# You need unit 19. *Beginners* read sections 1 and 2, *intermediate* readers all but section 5,
# *advanced* ones everything. About an hour.

# %%
import math

import numpy as np

from ddl_class import check, judge, yours

# %% [markdown]
# ## 1. One sum in many orders · *beginner*
#
# A card adds with thousands of threads. Often many threads add to the same place in memory, each
# by an *atomic add*: no addition is lost, but their order is the order in which the threads
# arrive. This order changes from run to run. In exact arithmetic that would not matter. With
# rounding $(a + b) + c$ and $a + (b + c)$ can differ.
#
# Your processor can show this without a card: add the same numbers in many orders, one after
# another.
#
# **Exercise.** A warm-up of three minutes. `orders` is a list of permutations of the places of
# `numbers`, which are in single precision. `np.cumsum` adds one number after another. How far
# apart are the sums, relative to the exact sum? `math.fsum` makes no rounding errors. The lines
# stand below, sorted by the alphabet, and one of them belongs nowhere: put the others in order.


# %% name="19.spread" tags=["answer"]
def spread(numbers, orders):
    """(largest sum - smallest sum) / |exact sum|, added in each of these orders."""
    ### BEGIN SOLUTION
    sums = []
    for order in orders:
        totals = np.cumsum(numbers[order])
        sums.append(float(totals[-1]))
    exact = math.fsum(numbers)
    return (max(sums) - min(sums)) / abs(exact)
    ### END SOLUTION


# %% name="19.spread" tags=["check"]
check("19.spread", spread)
### BEGIN HIDDEN TESTS
judge("19.spread", spread, seed=196)
### END HIDDEN TESTS

# %% [markdown]
# Ten thousand numbers in thirty orders. First all numbers are positive. Then they have both signs,
# so most of the sum cancels. **Predict**, on paper: which spread is larger, and how many times?

# %%
from ddl_class.notebook import rounding

dice = np.random.default_rng(0)
orders = [dice.permutation(10_000) for _ in range(30)]
positive = dice.uniform(0, 1, 10_000).astype(np.float32)
my_spread = yours("19.spread", spread, rounding.spread)
print(f"positive numbers: {my_spread(positive, orders):.1e}")
print(f"both signs:       {my_spread(positive - np.float32(0.5), orders):.1e}")

# %% [markdown]
# Single precision rounds to about $6\cdot10^{-8}$. A long sum of positive numbers loses one digit
# or two. A sum that cancels loses more, because its errors are compared with a small result.
# Gradients have both signs. No rank and no card is to blame, and no seed changes it.
#
# ## 2. The floor of a gradient · *beginner*
#
# Here is the gradient of each of the 1,437 training pictures, one row for each, at the first
# weights. The gradient of the whole batch is their mean. A card would add the rows in any order.

# %%
from ddl_teach.training.tasks.digits import Digits

rows = rounding.gradients_of_pictures(Digits(dtype="float64"))
exact = rows.mean(axis=0)
print(f"{len(rows):,} pictures, {rows.shape[1]:,} weights")


# %%
def single(rows):
    return np.cumsum(rows.astype(np.float32), axis=0)[-1].astype(float) / len(rows)


def in_orders(add, count=6):
    return np.array([add(rows[dice.permutation(len(rows))]) for _ in range(count)])


# %% [markdown]
# **Exercise.** `results` has a row for each run of the right program, in some order.
# `candidate` is one result of a program that may be wrong. Let $m$ be the mean of the results. The
# floor is the largest distance of a result from $m$. Return how many floors away from $m$ the
# candidate is. Distances are lengths of differences.


# %% name="19.floors" tags=["answer"]
def floors(results, candidate):
    """The distance of the candidate from the mean, over the largest distance of a result."""
    ### BEGIN SOLUTION
    middle = results.mean(axis=0)
    floor = max(np.linalg.norm(result - middle) for result in results)
    return np.linalg.norm(candidate - middle) / floor
    ### END SOLUTION


# %% name="19.floors" tags=["check"]
check("19.floors", floors)
### BEGIN HIDDEN TESTS
judge("19.floors", floors, seed=197)
### END HIDDEN TESTS

# %% [markdown]
# Four candidates, all in single precision: a right one in one more order, and three with a bug.
# One divides by $n - 1$, one has forgotten a picture, one has counted a picture twice.

# %%
my_floors = yours("19.floors", floors, rounding.floors)
right = in_orders(single)
count, twice = len(rows), np.vstack([rows, rows[:1]])
candidates = {"right": single(rows[dice.permutation(count)]),
              "n - 1": single(rows) * count / (count - 1),
              "one forgotten": single(rows[1:]) * (count - 1) / count,
              "one twice": single(twice) * (count + 1) / count}  # fmt: skip

# %%
for name, candidate in candidates.items():
    print(f"{name:14} {my_floors(right, candidate):9,.1f} floors")
assert my_floors(right, candidates["right"]) < 3 < my_floors(right, candidates["n - 1"]) / 100

# %% [markdown]
# A right program is about one floor away. The bugs are thousands of floors away. So the rule for
# single precision: **a few floors are rounding, a hundred floors are a bug.** You need no exact
# result for that, only some runs of a program that you trust.
#
# ## 3. Sixteen bits · *intermediate*
#
# A number of *bfloat16* has the range of single precision, but only 8 bits for its digits: it
# rounds to about $4\cdot10^{-3}$. There are two ways to add such numbers. Matrix units round the
# *terms* and add them in single precision. A sum that itself lives in 16 bits is rounded after
# every addition.


# %%
def terms(rows):
    return np.cumsum(rounding.bf16(rows), axis=0, dtype=np.float32)[-1].astype(float) / len(rows)


def sums(rows):
    total = np.zeros(rows.shape[1], np.float32)
    for row in rounding.bf16(rows):
        total = rounding.bf16(total + row)
    return total.astype(float) / len(rows)


# %% [markdown]
# **Predict**, on paper: how many percent of the gradient is the floor of each? And how far is each
# from the exact gradient?

# %%
ways = {"single precision": single, "terms in bf16": terms, "sums in bf16": sums}
length, floor_of, off = np.linalg.norm(exact), {}, {}
for name, add in ways.items():
    results = in_orders(add)
    apart = np.linalg.norm(results - results.mean(axis=0), axis=1)
    floor_of[name] = apart.max() / length
    off[name] = np.linalg.norm(results.mean(axis=0) - exact) / length
    print(f"{name:17} floor {floor_of[name]:.1e}, from the exact gradient {off[name]:.1e}")
assert off["terms in bf16"] > 100 * floor_of["terms in bf16"]

# %% [markdown]
# ### The surprise
#
# Look at the second line. **The floor of orders does not see what all orders share.** Terms that
# were rounded to bf16 are wrong in every order in the same way. The sums differ by less than
# $10^{-7}$ and are more than $10^{-4}$ from the truth. So runs that agree with each other can all
# be wrong, and a floor needs a second part: the distance from the same computation in double
# precision.
#
# And the third line: a sum in 16 bits is off by more than a sixth of the whole gradient. Once a
# total is 256 times as large as a term, adding the term changes nothing (unit 04).
#
# ## 4. Bugs below the floor · *intermediate*
#
# How large must a bug be to be seen in each format? The whole floor of a format is now the sum of
# both parts. The bugs are computed in double precision, so their sizes are exact. In the picture
# dark grey is the floor and pale grey three floors; a line should lie to the right of both.

# %%
from ddl_class.plots.honesty import plot_floors

whole = {name: floor_of[name] + off[name] for name in ways}
bugs = {"n - 1": exact * len(rows) / (len(rows) - 1),
        "one forgotten": rows[1:].sum(axis=0) / len(rows),
        "1 of 4 ranks forgotten": rows[len(rows) // 4 :].sum(axis=0) / len(rows),
        "half as long": exact / 2}  # fmt: skip
sizes = {name: np.linalg.norm(bug - exact) / length for name, bug in bugs.items()}

# %%
plot_floors(whole, sizes)

# %%
for name, size in sizes.items():
    seen = [way for way in ways if size > 3 * whole[way]]
    print(f"{name:23} {size:.0e}: seen in {', '.join(seen) or 'none of them'}")
assert sizes["n - 1"] < 3 * whole["terms in bf16"] < sizes["half as long"]

# %% [markdown]
# In 16 bits the smallest bug cannot be told from rounding, although it makes every step of a
# training wrong. There are three ways out. Run the same *code* in double precision: bugs stay, and
# the floor falls. Or ask for order: deterministic algorithms remove the first part of the floor.
# Or take the mean over many batches: rounding goes up and down, a bug always goes the same way.
#
# Does a larger task show more? *Recorded* (`benchmarks/results/adams.txt`): the three Adams of
# unit 19 on the embedding of Python's library, which has 70,656 weights in place of 2,410. Each
# Adam had the same six rates and three seeds. At its best rate the right one ends with a mean loss
# of 2.268. The one whose second moment forgets too fast ends with 2.252, and the other wrong one
# with 2.287. So also on a task that is thirty times as large, tuning hides both bugs. Only the
# rates are another matter: at 0.03 the first wrong one has a loss of 4.8, and the right one 2.8.
#
# ## 5. Catch them all · *advanced*
#
# **A puzzle.** Sixteen all-reduces are given, and each has another bug. A test is a list of
# vectors, one for each rank, all of one length. An all-reduce is caught if some rank does not get
# the sum. You choose how many tests there are, how many ranks each has, how long its vectors are,
# and the whole numbers in them. The price is how many *numbers* all vectors of all tests have
# together, because each must be made, sent and compared.
#
# The tests of section 4 of unit 19, with 1, 2, 3, 4, 5 and 8 ranks and 11 numbers each, have 253
# numbers. The goal is **24 numbers**. The cell after the answer says which bugs still escape. The
# check says how many numbers yours have, and how many the best has that is known.


# %% name="19.cases" tags=["answer"]
def my_tests():
    """A list of tests; each is a list of vectors, one for each rank."""
    ### BEGIN SOLUTION
    large = 2**25 + 1
    alone = [[7]]
    two = [[large, -2, 3, 4], [5, 6, -70, 800]]
    six = [[large, -2], [-3, 4], [5, -6], [-7, 8], [9, 10], [-11, 1200]]
    return [alone, two, six]
    ### END SOLUTION


# %%
from ddl_class.exercises.unit_19.wrong_sums import WRONG, escaped, numbers_of

mine = yours("19.cases", my_tests, rounding.long_tests)()
print(f"{numbers_of(mine)} numbers; {len(escaped(mine))} of {len(WRONG)} bugs escape")
print(*escaped(mine), sep="\n")

# %% name="19.cases" tags=["check"]
check("19.cases", my_tests)
### BEGIN HIDDEN TESTS
judge("19.cases", my_tests, seed=198)
### END HIDDEN TESTS

# %% [markdown]
# The best known is the least that there is: a program has tried all numbers of ranks and all
# lengths up to that price. But it knows these sixteen bugs. A test that must catch a bug that no
# author has thought of yet should not be the cheapest.
#
# ## 6. What production systems do · *intermediate*
#
# | here | elsewhere |
# |---|---|
# | sums in a fixed order | `torch.use_deterministic_algorithms(True)`; an option of XLA |
# | `floors` | tests with a tolerance for each number format, in torch and in JAX |
# | terms in bf16, sums in single precision | matrix units of cards and of TPUs |
# | the same code in double precision | `torch.autograd.gradcheck` asks for it |
#
# Deterministic algorithms cost time, and some operations have none. And they fix the order on one
# kind of card with one version of a library: on another one the last digits differ again.
#
# ## Three questions
#
# **1.** Two runs of the same training agree to the last bit. Is the program right?
#
# <details><summary>An answer</summary>
#
# That does not follow. A wrong program repeats its mistake as exactly as a right one repeats its
# result. Repeatability makes bugs easier to find; it does not remove any.
#
# </details>
#
# **2.** Your all-reduce differs from MPI's by $3\cdot10^{-7}$ of the length, in single precision.
# What do you do?
#
# <details><summary>An answer</summary>
#
# Measure the floor: add the same vectors in several orders. If they differ by as much, it is
# rounding. Then compare once in double precision, or with whole numbers, which have no rounding at
# all (that is what the checks of this course do).
#
# </details>
#
# **3.** A training in bf16 ends with a slightly worse loss than one in single precision. Bug or
# floor?
#
# <details><summary>An answer</summary>
#
# One pair of runs cannot say. Run both with several seeds, and compare intervals. If they differ,
# run the bf16 *code* in single precision: if the loss is still worse, it is a bug.
#
# </details>
#
# ## Where to read on
#
# - N. Higham, "The accuracy of floating point summation", *SIAM J. Sci. Comput.*, 1993: how errors
#   of sums grow.
# - P. Micikevicius et al., "Mixed precision training", *ICLR*, 2018: what may have 16 bits.
# - P. Nagarajan, G. Warnell and P. Stone, "Deterministic implementations for reproducibility in
#   deep reinforcement learning", 2018: where a card's order comes in, and what it costs to fix it.
# - P. Xie, Y. Gao, Y. Wang and J. Xue, "Revealing floating-point accumulation orders in
#   software/hardware implementations", *USENIX ATC*, 2025: sums of one huge number, its negative
#   and ones. From what is lost one reads in which order a library adds.
# - T. Fu et al., "Beyond reproducibility: token probabilities expose large language model
#   nondeterminism", *arXiv*, 2026: how far the order of sums moves what a model says.
#
# The wrong all-reduces stand in `ddl_class/exercises/unit_19/wrong_sums.py`.
