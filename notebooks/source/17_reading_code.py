# %% [markdown]
# # Reading code
#
# **Can a machine read a program and say what it does, and where it runs faster?**
#
# In `17_learning_to_choose` a question was a few numbers. Here the question is a *program*. It has
# no number of ranks and no size, only text. First you make a vector of each program. Then a
# classifier says which algorithm the program is. At last a chooser says which of two devices runs
# it faster. Programs that judge a chooser were never shown to it.
#
# You need units 01 and 16, and the notebook `17_learning_to_choose` helps. *Beginners* read
# sections 1 to 3, *intermediate* readers all. About 45 minutes. All numbers depend a little on
# your version of Python, because its library is read.
#
# ## 1. Forty-five small programs · *beginner*
#
# There are seven algorithms, such as sorting and convolution. Each is written in six or seven
# ways, by hand. Here are two ways to add up a list:

# %%
import numpy as np

from ddl_class import check, judge, yours
from ddl_measure.experiments.choosing.small_programs import small_programs

programs = small_programs()
for program in programs[14], programs[17]:
    print(program.text, end="\n\n")

# %% [markdown]
# Both give the same result, and they have no line in common. So it is not enough to compare texts.
# Names should not count at all: a variable may be called anything. As in `16_sparse_by_nature`, a
# *statement* is a line in which every name is `_` and every number is its type:

# %%
for program in programs[14], programs[17]:
    print(f"{program.algorithm}, {program.way}:", *program.statements, sep="\n    ")

# %%
algorithms = np.array([program.algorithm for program in programs])
names, counts = np.unique(algorithms, return_counts=True)
print(*(f"{count} ways of {name}" for name, count in zip(names, counts, strict=True)), sep="\n")

# %% [markdown]
# ## 2. From programs to vectors · *beginner*
#
# Forty-five programs are far too few to learn what a statement means. But Python's own library has
# thousands of functions. They have no labels, and none are needed: statements that
# stand in similar company get similar vectors (skip-gram, `16_sparse_by_nature`). The next cell
# reads five packages of the library and trains these vectors for 600 steps.

# %%
from ddl_teach.training.tasks.statements.corpus import read
from ddl_teach.training.tasks.statements.embedding import Statements

task = Statements(read(), batch=256)
table = task.initial()

# %%
for step in range(600):
    _, places, slope = task.touched(table, 0, 1, step)
    table[places] -= 20 * slope

# %%
vectors = dict(zip(task.corpus.vocabulary, task.vectors(table).astype(float), strict=True))
vectors = {text: vector / np.linalg.norm(vector) for text, vector in vectors.items()}
every = [text for program in programs for text in program.statements]
known = np.mean([text in vectors for text in every])
print(f"{len(vectors):,} statements have a vector: {known:.0%} of those in our programs")

# %% [markdown]
# More than half of our statements are not in the library often enough. The vector of a program is
# made of the others.
#
# **Exercise.** A warm-up of five minutes. `vectors` is a dict from a statement to its vector, and
# `width` is the length of each vector. Add up the vectors of the statements that have one. Bring
# the sum to length one. If no statement has a vector, return zeros.


# %% name="17.vector" tags=["answer"]
def program_vector(statements, vectors, width):
    """The sum of the known statements' vectors, brought to length one."""
    ### BEGIN SOLUTION
    total = np.zeros(width)
    for text in statements:
        if text in vectors:
            total += vectors[text]
    length = np.linalg.norm(total)
    return total / length if length > 0 else total
    ### END SOLUTION


# %% name="17.vector" tags=["check"]
check("17.vector", program_vector)
### BEGIN HIDDEN TESTS
judge("17.vector", program_vector, seed=1704)
### END HIDDEN TESTS

# %% [markdown]
# To see what the vectors are worth we need others to compare with:
#
# - *random*: every statement of the library has a vector at random;
# - *counts*: how often each statement stands in the program, without any learning;
# - *grammar*: how often each kind of expression stands in each other kind, such as *a product in
#   a sum*. This looks inside statements.


# %%
def with_length_one(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def counted(lists):
    words = sorted(set().union(*lists))
    return with_length_one(np.array([[row.count(word) for word in words] for row in lists], float))


# %%
from ddl_class.notebook import program_vectors

my_vector = yours("17.vector", program_vector, program_vectors.program_vector)
random = dict(zip(vectors, np.random.default_rng(0).normal(size=(len(vectors), 24)), strict=True))
made = {name: np.array([my_vector(program.statements, each, 24) for program in programs])
        for name, each in (("learnt", vectors), ("random", random))}  # fmt: skip

# %%
made["counts"] = counted([program.statements for program in programs])
made["grammar"] = counted([list(program.grammar.elements()) for program in programs])

# %% [markdown]
# ## 3. Which algorithm is it? · *beginner*
#
# The simplest classifier there is: an algorithm is the mean of its programs' vectors, and a
# program belongs to the algorithm whose mean points most nearly the same way. Each program is held
# out in turn: its own vector is in no mean.
#
# **Predict**, on paper: seven algorithms are about equally frequent, so a guess is right in about
# 15% of all cases. How often is each of the four right?


# %%
def classified(rows):
    """For each program the algorithm with the most similar mean, without that program."""
    guesses = []
    for place, row in enumerate(rows):
        others = np.arange(len(rows)) != place
        means = np.array([rows[others & (algorithms == name)].mean(axis=0) for name in names])
        guesses.append(names[(with_length_one(means) @ row).argmax()])
    return np.array(guesses)


# %%
from ddl_measure.experiments.choosing.judge import mean_with_interval

each, share = np.arange(len(programs)), {}

# %%
for name, rows in made.items():
    share[name] = mean_with_interval(classified(rows) == algorithms, each)
    print("{:8} right {:.0%} (95% interval {:.0%} to {:.0%})".format(name, *share[name]))
assert share["grammar"][0] > share["random"][0]

# %% [markdown]
# Are the learnt vectors ahead of random ones? No label was in the library, so that would be much.
# But it depends on which library was read. With Python 3.11.7 they are right about twice as often,
# with 3.11.2, whose library hardly differs, less often. Counts of statements and the grammar
# need no training, and do at least as well in both. With 45 programs the intervals are wide:
# learnt, counts and grammar cannot be told apart.
# Where does the grammar go wrong?

# %%
guesses = classified(made["grammar"])
for name in names:
    where = [guess for guess in guesses[algorithms == name].tolist() if guess != name]
    print(f"{name:15} {len(where)} wrong: {', '.join(where)}")
assert np.mean(guesses == algorithms) > 0.25

# %% [markdown]
# ## 4. Which device? · *intermediate*
#
# Two devices. The *narrow* one makes an operation in 1 ns, one after another. The *wide* one has
# 256 lanes, but each operation takes 4 ns there, and to start a program takes 1 µs. By unit 01, a
# program with work $W$ and depth $D$ takes about
#
# $$T_\text{narrow} = W \cdot 1\,\text{ns},\qquad
# T_\text{wide} = 1\,\text{µs} + \max\Big(\frac{W}{256},\, D\Big) \cdot 4\,\text{ns} .$$
#
# $W$ and $D$ are *counted*: each program runs once with numbers that remember how deep they lie. A
# comparison decides how the program goes on, so everything after it is deeper. (A real wide device
# can do better with comparisons. These times are computed, not measured.)
#
# **Predict**, on paper: which device is faster for the sum in a loop, and which for the tree?

# %%
seconds = np.array([program.counts(2048).seconds for program in programs])
slowdowns = seconds / seconds.min(axis=1, keepdims=True)
for place in (14, 17, 0, 27):
    program, (narrow, wide) = programs[place], 1e6 * seconds[place]
    print(f"{program.algorithm + ', ' + program.way:24} {narrow:6.2f} µs narrow, {wide:6.2f} wide")

# %%
print(f"the wide device is faster for {np.mean(slowdowns[:, 1] == 1):.0%} of the programs")

# %% [markdown]
# The sum in a loop and the tree make the same additions. Only one of them is fast on the wide
# device, so the *algorithm* is not enough: the way it is written decides.
#
# **Exercise.** Choose a device for a program that was never run. `vectors` has a row of length one
# for each known program. `slowdowns[program, device]` is its time over that of its better device.
# `asked` is the vector of the new program. Take the `k` known programs that are most similar.
# Return the device with the least sum of their slowdowns.


# %% name="17.neighbours" tags=["answer"]
def by_neighbours(vectors, slowdowns, asked, k):
    """The number of the device that costs the k most similar programs least."""
    ### BEGIN SOLUTION
    nearest = np.argsort(-(vectors @ asked), kind="stable")[:k]
    return int(slowdowns[nearest].sum(axis=0).argmin())
    ### END SOLUTION


# %% name="17.neighbours" tags=["check"]
check("17.neighbours", by_neighbours)
### BEGIN HIDDEN TESTS
judge("17.neighbours", by_neighbours, seed=1705)
### END HIDDEN TESTS

# %% [markdown]
# Each program is held out, and its regret says how much longer it takes on the chosen device than
# on the better one. Beside the four stand two choosers that read nothing.

# %%
my_neighbours = yours("17.neighbours", by_neighbours, program_vectors.by_neighbours)


# %%
def regrets(rows, groups, k=3):
    """The regret of each program, chosen by the programs of all other groups."""
    chosen = []
    for place, row in enumerate(rows):
        others = groups != groups[place]
        chosen.append(my_neighbours(rows[others], slowdowns[others], row, k))
    return slowdowns[each, chosen] - 1


# %%
from ddl_class.plots.searching import plot_regrets

fixed = {"always narrow": slowdowns[:, 0] - 1, "always wide": slowdowns[:, 1] - 1}
found_out = fixed | {name: regrets(rows, each) for name, rows in made.items()}
means = {name: mean_with_interval(regret, each) for name, regret in found_out.items()}
plot_regrets(found_out, means)

# %% [markdown]
# The next cell prints the numbers of this picture:

# %%
for name, regret in found_out.items():
    mean = means[name][0]
    print(f"{name:14} right {np.mean(regret == 0):4.0%}, mean regret {mean:5.2f}, "
          f"worst {regret.max():5.1f}")  # fmt: skip
assert means["grammar"][0] < means["always wide"][0]

# %% [markdown]
# By its grammar a program comes to the right device in 69% of all cases, and *always narrow* is
# right in 58%. The mean regret falls to about half. But the intervals overlap, so 45 programs give
# no ranking. A few programs go to a device on which they take ten times as long or more, and these
# make most of each mean. (`k` is 3 here. Try 1 and 5.)
#
# So far a program that sorts had neighbours that sort: the other ways. What if the whole
# *algorithm* is new? Then all programs of its algorithm are held out together.

# %%
number_of = np.searchsorted(names, algorithms)
for name, rows in made.items():
    regret = regrets(rows, number_of)
    mean, low, high = mean_with_interval(regret, number_of)
    right = np.mean(regret == 0)
    print(f"{name:8} right {right:4.0%}, mean regret {mean:5.2f} ({low:.2f} to {high:.2f})")

# %% [markdown]
# ### The surprise
#
# **What says which algorithm it is need not say where it is fast.** For the device learnt vectors
# do no better than random ones. Statements such as `_ += _` stand in the loop and in the tree's
# company alike, and a mean of vectors forgets their order. The grammar sees comprehensions, and
# those have no decisions in them. It loses little when the algorithm is new.
#
# Ben-Nun and others (2018) gave each statement 200 numbers. In place of a mean they had a
# recurrent network, which reads statements in their order, and they had far more programs: 104
# algorithms with 500 programs each. For the choice between a processor and a graphics card they
# held out a tenth of the programs at a time, and no whole algorithms.
#
# ## 5. What production systems do · *intermediate*
#
# | system | reads | and predicts |
# |---|---|---|
# | inst2vec (Ben-Nun and others, 2018) | statements of LLVM's language | algorithm, device |
# | LLVM's MLGO (Trofin and others, 2021) | numbers about a function | whether to inline it |
# | TVM's Ansor (Zheng and others, 2020) | features of loops | its time, then measures |
#
# The last two have one thing in common: a wrong prediction costs time, and never a wrong result.
#
# ## Three questions
#
# **1.** The vectors were trained on the library, and no small program was among it. Would it be
# cheating to train them on the small programs as well, without their algorithms?
#
# <details><summary>An answer</summary>
#
# It would be if the held-out programs are among them: their statements would have got vectors that
# a new program does not have. Train them anew for each held-out program, without it. That costs 45
# trainings.
#
# </details>
#
# **2.** Why is the regret of *always wide* not zero for programs with much work, such as bubble
# sort?
#
# <details><summary>An answer</summary>
#
# Work alone does not help a wide device. Each comparison of bubble sort decides what comes next,
# so its depth is its work, and each operation takes four times as long there.
#
# </details>
#
# **3.** Your chooser was right for 69% of the programs. What else must a report say?
#
# <details><summary>An answer</summary>
#
# What a fixed choice gets (58% here), the interval, and what was held out. How much a wrong choice
# costs, and that these times are computed, not measured.
#
# </details>
#
# ## Where to read on
#
# - T. Ben-Nun, A. Jakobovits and T. Hoefler, "Neural code comprehension: a learnable
#   representation of code semantics", *NeurIPS*, 2018.
# - M. Trofin et al., "MLGO: a machine learning guided compiler optimizations framework", 2021.
# - L. Zheng et al., "Ansor: generating high-performance tensor programs for deep learning",
#   *OSDI*, 2020.
# - R. Brent, "The parallel evaluation of general arithmetic expressions", *Journal of the ACM*,
#   1974: the rule behind the two devices.
# - C. Cummins, Z. Fisches, T. Ben-Nun, T. Hoefler, M. O'Boyle and H. Leather, "ProGraML: a
#   graph-based program representation for data flow analysis and compiler optimizations",
#   *ICML*, 2021: the same group goes from statements in a row to a graph of control, data and
#   calls.
#
# The programs stand in `ddl_measure/experiments/choosing/small_programs.txt`; what counts their
# work in `counted_numbers.py` beside it.
