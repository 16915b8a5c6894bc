# %% [markdown]
# # Validate
#
# **Is it right, and can another person repeat it?**
#
# A program that sorts wrongly is found out at once. A program that *learns* is not, because it
# makes up for its own mistakes. A gradient that is half as long is the right gradient at half the
# rate. An average that forgets one of four ranks averages three. The loss falls all the same, the
# curve looks like a curve, and no question is asked.
#
# In this unit you learn to ask. You write three checks that need no second author: one for
# gradients, one for update rules, one for whole trainings. Then you use them to look for planted
# bugs. You need units 06 and 08. *Beginners* take sections 1 to 3, *intermediate* readers all but
# section 7, *advanced* ones everything. About 80 minutes.
#
# ## 1. It still trains · *beginner*
#
# This course has a line-up of **suspects**. They are parts of its own library. Some are as they
# should be, some have a planted bug, and their order says nothing. Three of them are called Adam
# (Kingma and Ba, 2015). This update rule keeps two running means. The *first moment* is a mean of
# the gradients over about ten steps. The *second moment* is a mean of their squares over about a
# thousand steps. The step is the first moment over the root of the second.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.exercises.mutants.suspects import find, parts, suspects, tell
from ddl_measure.levels.training_level import rule_of
from ddl_teach.training.tasks.digits import Digits

adams = suspects("training.optimizers.adam.Adam")
adams = {f"number {each.number}": each.candidate for each in adams}

# %% [markdown]
# ### Predict
#
# At least one of them is wrong. In one of the wrong ones the second moment forgets as fast as the
# first: it is a mean over ten gradients, not over a thousand. All three learn handwritten digits
# for 300 steps. How many of 100 digits does this one recognise?
#
# And for section 2: the slope of a function can be measured as $(f(x+h)-f(x-h))/2h$. With which
# $h$ is this closest to the true slope?

# %%
predict("19.still", ...)
predict("19.step", ...)


# %%
def learn(candidate, rate=0.01, seed=0):
    task, adam = Digits(32, seed=seed), candidate(rate=rate)
    weights, rule, losses = task.initial(), rule_of(adam, adam.states), []
    for step in range(300):
        loss, gradient = task.gradient(weights, 0, 1, step)
        weights = rule(weights, gradient)
        losses.append(loss)
    return np.mean(losses[-30:]), 100 * task.accuracy(weights)


# %%
runs = {name: learn(candidate) for name, candidate in adams.items()}
for name, (loss, right) in runs.items():
    print(f"{name}: loss {loss:.3f} at the end, {right:.0f} of 100 digits right")
assert min(right for _, right in runs.values()) > 85

# %% [markdown]
# All of them learn. Their losses differ, but a loss is only a number if you do not know which Adam
# is right. If you had written one of these, and it recognised this many digits, would you have
# searched for a bug? **A training that works does not show that its parts are right.** So ask for
# something that a wrong part cannot do by luck.
#
# ## 2. Ask the gradient · *beginner*
#
# You can test a gradient without knowing how it was made, because it says how much a function will
# change. Let $y = f(x)$, and let $t$ be a vector as long as $y$. Then $L(x) = \langle t,
# f(x)\rangle$ is the sum of all $t_j y_j$. A function called *backward* claims to return $\partial
# L/\partial x$. Move one number of $x$ a little, up and down:
#
# $$\frac{\partial L}{\partial x_i} \approx \frac{L(x + h e_i) - L(x - h e_i)}{2h}$$
#
# **Exercise.** A warm-up of three minutes. Find all slopes of a loss, number by number. Each time
# only one number of `x` moves. The lines stand below, sorted by the alphabet, and one of them
# belongs nowhere: put the others in order. *Ctrl+/* makes code of comments, *Alt+↑* and *Alt+↓*
# move lines, *Tab* indents the selected lines.


# %% name="19.slopes" tags=["answer"]
def slopes(loss, x, h):
    """The slope of loss(x), one number, in the direction of each number of the vector x."""
    ### BEGIN SOLUTION
    result = np.zeros(len(x))
    for i in range(len(x)):
        way = np.zeros(len(x))
        way[i] = h
        result[i] = (loss(x + way) - loss(x - way)) / (2 * h)
    return result
    ### END SOLUTION


# %% name="19.slopes" tags=["check"]
check("19.slopes", slopes)
### BEGIN HIDDEN TESTS
judge("19.slopes", slopes, seed=194)
### END HIDDEN TESTS

# %% [markdown]
# This has two errors. One is about $h^2$, because $f$ is not a straight line. The other is about
# $\epsilon / h$, because the difference of two similar numbers loses digits. $\epsilon \approx
# 10^{-16}$ is the rounding of a number in double precision. As the result take the *length* of
# what is wrong over the length of what is right. This is one number, whatever the units are.
#
# **Exercise.** `forward(x)` and `backward(x, towards)` are functions. `x` is an array of any
# shape, and `towards` has the shape of `forward(x)`. Return $|\text{backward} -
# \text{differences}| \,/\, |\text{differences}|$.


# %% name="19.gradient" tags=["answer"]
def gradient_error(forward, backward, x, towards, step):
    """Relative error of backward(x, towards) against central differences of every number."""
    ### BEGIN SOLUTION
    differences = np.empty(x.size)
    for place in range(x.size):
        way = np.zeros(x.size)
        way[place] = step
        way = way.reshape(x.shape)
        change = forward(x + way) - forward(x - way)
        differences[place] = np.sum(towards * change) / (2 * step)
    apart = np.ravel(backward(x, towards)) - differences
    return np.linalg.norm(apart) / np.linalg.norm(differences)
    ### END SOLUTION


# %% name="19.gradient" tags=["check"]
check("19.gradient", gradient_error)
### BEGIN HIDDEN TESTS
judge("19.gradient", gradient_error, seed=191)
### END HIDDEN TESTS

# %% [markdown]
# Which step is the best? Try many on a function with a known gradient: the sine of each number.

# %%
from ddl_measure.levels.operators import check_gradient


def library_error(forward, backward, x, towards, step):
    return check_gradient(forward, backward, x, step=step).relative


my_error = yours("19.gradient", gradient_error, library_error)

# %%
from ddl_class.plots import honesty as pictures

steps, x = 10.0 ** np.arange(-13, 0), np.linspace(-1, 1, 9)
row = [my_error(np.sin, lambda x, t: t * np.cos(x), x, np.ones(9), step) for step in steps]
assert 1e-8 < steps[np.argmin(row)] < 1e-2
assert min(row) < 1e-9
display(pictures.plot_checks(steps, {"central differences": row}))
reveal("19.step", steps[np.argmin(row)])

# %% [markdown]
# To the right of its best step the check takes a curve for a line. To the left it subtracts two
# numbers that agree in nearly all their digits, and mostly rounding is left. The two errors meet
# where $h^2 = \epsilon / h$, so near $h = \epsilon^{1/3}$. In the valley this right gradient was
# right to nine digits or more. So the rule is clear: in double precision, near that step, **an
# error of $10^{-2}$ is no rounding, it is a bug.**
#
# Now test the perceptron that learns the digits. `forward` gives the scores of four samples as a
# function of its *weights*. Some perceptrons in the line-up are wrong. `find` tries a check on all
# suspects of a part. It says which bugs the check caught, and which right suspects it accused.
# `tell` says what is wrong with one suspect, and shows the changed line.


# %%
def asked(candidate, step=1e-5):
    network, x = candidate(5, 7, 3), np.random.default_rng(0).normal(size=(4, 5))
    weights = network.initial(seed=1)

    def backward(weights, towards):
        return network.backward(weights, x, network.forward(weights, x)[0], towards)

    towards = np.random.default_rng(1).normal(size=(4, 3))
    return my_error(lambda w: network.forward(w, x)[1], backward, weights, towards, step)


# %%
found = find(lambda candidate: asked(candidate) < 1e-6, "training.tasks.perceptron.Perceptron")
print(found, tell(found.caught[0]), sep="\n")
assert found.all

# %% [markdown]
# It gives a gradient back to units that were silent. In a training this would look like bad
# tuning.
#
# ## 3. Two rules along the same way · *beginner*
#
# **Exercise.** Three minutes. Two curves should be the same. At which step do they part? The lines
# stand below, sorted by the alphabet, and one of them belongs nowhere: put the others in order.


# %% name="19.parted" tags=["answer"]
def parted(own, reference, close):
    """The first step, from 0 on, at which the curves are further apart than close, or None."""
    ### BEGIN SOLUTION
    for step in range(len(own)):
        if abs(own[step] - reference[step]) > close:
            return step
    return None
    ### END SOLUTION


# %% name="19.parted" tags=["check"]
check("19.parted", parted)
### BEGIN HIDDEN TESTS
judge("19.parted", parted, seed=195)
### END HIDDEN TESTS

# %% [markdown]
# An update rule has no derivative that you could test. But it has a definition, and other people
# have written it, too. So let two of them walk side by side. With gradients of their own they
# would part after the smallest difference, as two trainings do. Therefore both get the *same*
# gradients, those at the weights of the reference:
#
# $$\text{apart}_k = \frac{|w_k - r_k|}{|r_k - r_0|}$$
#
# **Exercise.** `rule(weights, gradient)` and `reference(weights, gradient)` return new weights,
# and remember what they need. `gradient(weights, step)` returns a gradient; steps are counted from
# 0. Return the `steps` values of $\text{apart}$, one after each step.


# %% name="19.apart" tags=["answer"]
def apart(rule, reference, gradient, weights, steps):
    """How far `rule` is from `reference` after each step, relative to the way that was gone."""
    ### BEGIN SOLUTION
    own, right, distances = weights.copy(), weights.copy(), []
    for step in range(steps):
        slope = gradient(right, step)
        own = rule(own, slope)
        right = reference(right, slope)
        distances.append(np.linalg.norm(own - right) / np.linalg.norm(right - weights))
    return np.array(distances)
    ### END SOLUTION


# %% name="19.apart" tags=["check"]
check("19.apart", apart)
### BEGIN HIDDEN TESTS
judge("19.apart", apart, seed=192)
### END HIDDEN TESTS

# %% [markdown]
# The reference is torch's Adam, the gradients are those of the digits, and twelve steps are
# enough. The dashed line in the picture is the most that rounding could do.

# %%
import torch

from ddl_measure.levels.torch_parts import torch_rule
from ddl_measure.levels.training_level import divergence

my_apart = yours("19.apart", apart, divergence)
task = Digits(32, dtype="float64")


# %%
def walk(candidate, steps=12):
    adam = candidate(rate=0.01)
    rules = rule_of(adam, adam.states), torch_rule(torch.optim.Adam, lr=0.01)
    return my_apart(*rules, lambda w, k: task.gradient(w, 0, 1, k)[1], task.initial(), steps)


# %%
walks = {name: walk(candidate) for name, candidate in adams.items()}
assert max(distances[0] for distances in walks.values()) < 1e-6
pictures.plot_apart(walks, good=1e-6)

# %% [markdown]
# Here is the same as a check. Which suspects does it accuse, and of what? And how good was the
# Adam in section 1 whose second moment forgets too fast?

# %%
found = find(lambda candidate: max(walk(candidate)) < 1e-6, "training.optimizers.adam.Adam")
whats = {f"number {it}": tell(it).splitlines()[0].split(": ")[1] for it in found.caught}
print(found, *(f"{name}: {what}" for name, what in whats.items()), sep="\n")
assert found.all
reveal("19.still", next(runs[name][1] for name, what in whats.items() if "decays" in what))

# %% [markdown]
# ### The surprise
#
# Look at the first step of the picture. All Adams agree in it, except for rounding. A test of one
# step finds nothing. And a whole training? In section 1 all had the same rate, and the losses
# differed. But rates are tuned. The next cells give each Adam the same eight rates and three
# seeds, and keep the rate with the lowest mean loss at the end. That is 72 trainings, so it takes
# a while.


# %%
def tuned(candidate):
    runs = {
        rate: np.transpose([learn(candidate, rate, seed) for seed in range(3)])
        for rate in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
    }
    return min((losses.mean(), rate, right) for rate, (losses, right) in runs.items())


# %%
ends = {name: tuned(candidate) for name, candidate in adams.items()}
ranges = [(min(right), max(right)) for *_, right in ends.values()]
assert max(low for low, _ in ranges) < min(high for _, high in ranges)  # they overlap

# %%
for name, (loss, rate, right) in ends.items():
    print(f"{name}: {whats.get(name, 'right')}\n    at rate {rate}: loss {loss:.3f}, "
          f"{min(right):.0f} to {max(right):.0f} of 100 digits right")  # fmt: skip

# %% [markdown]
# At its best rate each wrong Adam reads as many digits as the right one, as far as three seeds can
# say. **Tuning hides a bug**: it finds the rate at which a wrong rule does the least harm. Between
# one step and a whole training are the few steps in which the bug *must* show itself. Both rules
# had the same gradients and the same rate, so nothing else can explain a difference. (The task is
# small. With thirty times as many weights the result was the same: `19_within_rounding`, section
# 4.)
#
# ## 4. Ranks that agree · *intermediate*
#
# Several ranks together have a reference, too: one rank that has all the data. An all-reduce must
# give the sum, on every rank, in every number. Here is such a check. It tries four ranks, because
# most people have four.


# %%
def summed(comm, candidate, size=11):
    x = np.arange(size) + 100.0 * comm.rank
    candidate(comm, x)
    right = comm.size * np.arange(size) + 50.0 * comm.size * (comm.size - 1)
    return bool(np.allclose(x, right))


def adds_up(candidate, counts=(4,), run=simulate):
    return all(all(run(summed, p, candidate=candidate).results) for p in counts)


# %%
for part in ("collectives.ring.allreduce", "collectives.recursive_doubling.allreduce"):
    print(f"{part:<42} {find(adds_up, part)}")
missed = find(adds_up, part)
assert missed.missed

# %% [markdown]
# One of the two bugs escapes. Four is a power of two, and so are two and eight: people try these
# numbers. On any other number recursive doubling takes one more step before and one after, and the
# bug is in one of them. So this course checks what you write on 1, 2, 3, 4, 5 and 8 ranks. Try all
# of these, and some on your own engines as well.

# %%
engines = Engines(4)
many = find(lambda candidate: adds_up(candidate, (1, 2, 3, 4, 5, 8)), part)
real = find(lambda candidate: adds_up(candidate, (2, 3), engines.run), part)
print(f"simulated ranks: {many}\nreal ranks:      {real}")
assert all(found.all for found in (many, real))

# %% [markdown]
# Simulated and real ranks accuse the same suspect, with the same check. What is *not* caught by a
# comparison with one rank? A bug that one rank has as well. For that you have the gradient check,
# and the walk beside another author's rule.
#
# ### A hunt
#
# `parts()` has the names of 24 parts with suspects: of pipelines, servers, compression, gossip.
# What else can you find? `help(suspects(part)[0].candidate)` says how a part is called.
# `find(your_check, part)` says what your check is worth, and `tell(number)` what was wrong. Use a
# new cell, and begin with the easy ones:
#
# | part | to begin with |
# |---|---|
# | `training.optimizers.rmsprop.RMSProp` | a `walk`, beside torch's rule of that name |
# | `training.tasks.perceptron.softmax` | what must be true of every row? |
# | `collectives.rabenseifner.allreduce` | it adds up, on 1 to 8 ranks; what else is it for? |
# | `training.compression.top_k.TopK` | a `TopK(0.25)` encodes four numbers: which one stays? |
# | `networks.pipelines.one_f_one_b.order` | every gradient is right; what does a stage hold? |
#
# ## 5. Has the recipe worked? · *intermediate*
#
# Now the whole training. Others can repeat it only if they know what was **fixed**, what was
# **free**, and which **target** had to be reached. And the answer to "was it reached?" must not
# depend on the person who looks, or on the seed that is shown. So there are three rules:
#
# - every seed counts, and a training that crashed has not reached the target;
# - the accuracy on held-out data goes up and down, so it must be at the target for several looks
#   *in a row*;
# - if it was there for that many looks once, it has been there.
#
# **Exercise.** `trainings` is a list with one list of accuracies for each seed, look after look. A
# training that crashed has an empty list. Return True if the recipe has worked, else False.


# %% name="19.worked" tags=["answer"]
def has_worked(trainings, target, in_a_row):
    """Whether every training was at the target or above for `in_a_row` looks in a row."""
    ### BEGIN SOLUTION
    for looks in trainings:
        run, there = 0, False
        for accuracy in looks:
            run = run + 1 if accuracy >= target else 0
            there = there or run == in_a_row
        if not there:
            return False
    return True
    ### END SOLUTION


# %% name="19.worked" tags=["check"]
check("19.worked", has_worked)
### BEGIN HIDDEN TESTS
judge("19.worked", has_worked, seed=193)
### END HIDDEN TESTS

# %% [markdown]
# So here is a recipe: the digits on two of your ranks, at most eight epochs, three seeds; 95% on
# held-out data, twice in a row. The rate is free. The harness of this course counts and times.
# Your function gives the verdict, if it is right.


# %%
from ddl_measure.levels.training_level import measure_training
from ddl_teach.collectives import ring


def stir(comm, task, weights, rate, step):
    loss, gradient = task.gradient(weights, comm.rank, comm.size, step)
    ring.allreduce(comm, gradient)
    weights -= rate / comm.size * gradient
    return loss


# %%
from functools import partial


def cook(comm, seed, rate):
    task = Digits(batch=16, seed=seed)
    weights = task.initial()
    learn = partial(stir, comm, task, weights, rate)
    # The number of a step (int) is all that a batch has to be here; one look in 15 steps.
    given = {"steps": 360, "samples": 32, "epoch": 1437, "every": 15}
    return measure_training(int, learn, lambda: task.accuracy(weights), **given).checkpoints


# %%
def library_worked(trainings, target, in_a_row):
    def there(looks):
        rows = [looks[i : i + in_a_row] for i in range(len(looks) - in_a_row + 1)]
        return any(min(row) >= target for row in rows)

    return all(there(looks) for looks in trainings)


my_verdict = yours("19.worked", has_worked, library_worked)

# %% [markdown]
# Two rates: which of them works?

# %%
for rate in (0.02, 0.4):
    looks = [engines.run(cook, 2, seed=seed, rate=rate).results[0] for seed in range(3)]
    accuracies = [[look.accuracy for look in each] for each in looks]
    print(f"rate {rate}: at the end {[f'{each[-1]:.0%}' for each in accuracies]}, "
          f"worked: {my_verdict(accuracies, 0.95, 2)}")  # fmt: skip
assert my_verdict(accuracies, 0.95, 2)

# %% [markdown]
# Whether a recipe has worked is an *exit status*, so a script can ask. In a clone of this course,
#
#     ddl-teach recipe run benchmarks/recipes/digits_on_two_ranks.toml --out mine.json
#
# ends with 0 if every seed reached the target and with 1 if one did not. `mine.json` holds the
# version of the code, a hash of the versions of all packages, the machine, the seeds, and every
# training. With `--beside theirs.json` another person repeats it with one command and sees both
# side by side. The learning must then be the same to the last digit; the seconds need not.
#
# ## 6. Is it repeated? · *intermediate*
#
# Try that here: the same seed, twice on real ranks and once on simulated ones. Are the accuracies
# the same?

# %%
again = [run(cook, 2, seed=2, rate=0.4).results[0] for run in (engines.run, simulate)]
repeated = [[look.accuracy for look in each] for each in again]
print("as before on real ranks:", repeated[0] == accuracies[2])
print("and on simulated ones:  ", repeated[1] == accuracies[2])
assert repeated[0] == repeated[1] == accuracies[2]

# %% [markdown]
# To the last digit. This is not luck. The seed fixes the weights and the samples, and the ring
# always adds in the same order. On other hardware, or with a collective that adds in the order in
# which messages arrive, last digits can differ, and later the curves. Then one compares medians
# over seeds, with their intervals (unit 18). How large such differences are, and how a bug can
# hide among them, stands in the notebook `19_within_rounding`.
#
# ## 7. What production systems do · *advanced*
#
# | here | elsewhere |
# |---|---|
# | `gradient_error` | `torch.autograd.gradcheck`, `jax.test_util.check_grads` |
# | `apart` | tests of apex: its fused optimizers beside those of `torch.optim`, step by step |
# | one rank that has everything | the model without DDP, in the tests of torch's DDP |
# | suspects | mutation testing: `mutmut`, `cosmic-ray` |
# | a recipe with a target | MLPerf's closed division; Deep500's level 2 and 3 |
#
# Here is torch's own gradient check, on a layer with a bug in its backward pass, and on one
# without:


# %%
class Square(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(context, towards):
        return factor * context.saved_tensors[0] * towards


# %%
x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
factor = 2
assert torch.autograd.gradcheck(Square.apply, x)
factor = 1.9
assert not torch.autograd.gradcheck(Square.apply, x, raise_exception=False)

# %% [markdown]
# ## What you said
#
# Your predictions of this unit, beside the results.

# %%
from ddl_class import predictions

predictions("19")

# %% [markdown]
# ## Three questions
#
# **1.** Your gradient check says $10^{-3}$, in single precision, at $h = 10^{-5}$. Is there a bug?
#
# <details><summary>An answer</summary>
#
# You cannot know. Single precision has $\epsilon \approx 10^{-7}$, so rounding alone makes
# $\epsilon/h = 10^{-2}$. Check in double precision, even if the training uses less.
#
# </details>
#
# **2.** The gradient of `max(x, 0)` at $x = 0$ fails your check. Is it wrong?
#
# <details><summary>An answer</summary>
#
# No. There is a kink, and the difference sees both sides of it. Random numbers do not meet the
# kink; weights that begin at exactly zero do.
#
# </details>
#
# **3.** A data-parallel training gives the same loss as one rank, to ten digits, on two and on
# four ranks. What may still be wrong?
#
# <details><summary>An answer</summary>
#
# Everything that both have: the network's own gradient, the update rule, data that are in the
# held-out set and in the training set. And everything that shows only on three ranks, or only if
# the ranks do not divide the samples.
#
# </details>
#
# ## Where to read on
#
# - T. Ben-Nun, M. Besta, S. Huber, A. Ziogas, D. Peter and T. Hoefler, "A modular benchmarking
#   infrastructure for high-performance and reproducible deep learning", *IPDPS*, 2019: Deep500,
#   whose four levels the harness of this course follows.
# - P. Mattson et al., "MLPerf training benchmark", *MLSys*, 2020: what is fixed, what is free.
# - D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", *ICLR*, 2015.
# - R. DeMillo, R. Lipton and F. Sayward, "Hints on test data selection: help for the practicing
#   programmer", *Computer*, 1978: planting bugs to test the tests.
# - Y. Jiang et al., "Training with confidence: catching silent errors in deep learning training
#   with automated proactive checks", *OSDI*, 2025: laws that hold in every good training, found
#   by a program. They find 18 of 20 real bugs within one step.
#
# `progress()` shows how far you have come. In unit 20 all of it runs on many nodes.
