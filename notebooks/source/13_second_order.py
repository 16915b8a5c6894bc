# %% [markdown]
# # Large batches: curvature, and a schedule
#
# **Can the wall be moved?**
#
# The first notebook of this unit, `13_large_batches`, found a wall: above some batch, more samples
# save no more steps. What is left then is the shape of the loss. Here you write a step that knows
# something of that shape, K-FAC, and see what it costs. Then comes a puzzle: choose the batch and
# the rate of each step, and reach a target on a given machine as early as you can.
#
# Sections 1 and 4 are for *intermediate* readers, sections 2 and 3 are *advanced*. You need
# `13_large_batches`. It takes about an hour.

# %%
import numpy as np

from ddl_class import check, hint, judge, progress, simulate
from ddl_class.plots import large_batches as pictures

# %% [markdown]
# ## 1. Where the wall comes from · *intermediate*
#
# Here is the bowl of the first notebook once more, now without any noise, as with an endless
# batch. One direction is steep (curvature 2), the other is flat (curvature 0.3). A step at a rate
# $r$ multiplies the distance from the bottom by $1 - r h$ in a direction of curvature $h$. In the
# steep direction that goes wrong above $r = 2/2 = 1$. At such rates the flat direction still needs
# many steps. That is the wall.

# %%
curvatures = np.array([0.3, 2.0])


def roll(steps_along, steps=8):
    points = [np.array([-2.0, 1.0])]
    for _ in range(steps):
        points.append(points[-1] - steps_along(curvatures * points[-1]))
    return np.array(points)


# %%
paths = {"rate 0.2": roll(lambda gradient: 0.2 * gradient)}
paths["rate 0.9"] = roll(lambda gradient: 0.9 * gradient)
paths["gradient / curvature"] = roll(lambda gradient: gradient / curvatures)
assert np.allclose(paths["gradient / curvature"][-1], 0)
pictures.plot_descents(paths, (0.3, 2.0))

# %% [markdown]
# A step of the gradient *divided by the curvature* is at the bottom at once, in each
# direction. This is Newton's step. A network has no list of curvatures. It has a matrix of them,
# with a row and a column for each weight. For a layer of 1,000 inputs and 1,000 outputs, that
# matrix has $10^{12}$ numbers. It cannot be stored, and even less inverted.
#
# ## 2. K-FAC · *advanced*
#
# Martens and Grosse (2015) replace the matrix of a layer by two small ones. Let $a$ be the inputs
# of the layer for a sample, and $d$ the derivatives of the loss by its outputs. The gradient of a
# sample is $d\,a^T$. With
#
# $$A = \text{mean of } a\,a^T,\qquad D = \text{mean of } d\,d^T,$$
#
# the large matrix is about the Kronecker product of $A$ and $D$. Then the step for a gradient $G$
# (outputs x inputs) is
#
# $$D^{-1}\, G\, A^{-1}.$$
#
# For 1,000 inputs and outputs these are two matrices of a million numbers. Two details: with few
# samples the matrices have no inverse, so a damping $\lambda$ is added to their diagonals. And
# $d$ comes from answers that the network itself draws, not from the labels.
#
# **Exercise.** Write that step. `inputs` has a row $a$ for each sample, `drawn` a row $d$, and
# `gradient` is $G$.


# %% name="13.kfac" tags=["answer"]
def kfac_step(inputs, drawn, gradient, damping):
    """(D + damping I)^-1 G (A + damping I)^-1, with the means A of a a^T and D of d d^T."""
    ### BEGIN SOLUTION
    samples = len(inputs)
    a = inputs.T @ inputs / samples + damping * np.eye(inputs.shape[1])
    d = drawn.T @ drawn / samples + damping * np.eye(drawn.shape[1])
    return np.linalg.inv(d) @ gradient @ np.linalg.inv(a)
    ### END SOLUTION


# %% name="13.kfac" tags=["check"]
check("13.kfac", kfac_step)
### BEGIN HIDDEN TESTS
judge("13.kfac", kfac_step, seed=136)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Fewer steps, more bytes · *advanced*
#
# Does it move the wall? The next cells train the digits of the first notebook with batches of 512:
# 256 on each of two simulated ranks. Over ranks (Osawa et al., 2019), $A$, $D$ and $G$ of each
# layer are averaged. Then each layer is inverted by *one* rank, which broadcasts the layer's step.
# So the work of the inverses is shared out. `kfac.distributed` does that.

# %%
from ddl_teach.collectives import recursive_doubling
from ddl_teach.training.optimizers import kfac
from ddl_teach.training.tasks.digits import Digits


def gradient_step(comm, task, weights, step, rate):
    gradient = task.gradient(weights, comm.rank, comm.size, step)[1]
    recursive_doubling.allreduce(comm, gradient)
    return rate / comm.size * gradient


# %%
def curved_step(comm, task, weights, step, rate, damping):
    factors = task.curvature(weights, comm.rank, comm.size, step)[1]
    steps = kfac.distributed(comm, factors, damping)
    return rate * np.concatenate([towards.T.ravel() for towards in steps])


# %%
def descend(comm, choose, **settings):
    """Steps until a loss of 0.2 on held-out digits."""
    task, step = Digits(256), 0
    weights = task.initial()
    while step < 60 and task.loss(weights) > 0.2:
        step += 1
        weights -= choose(comm, task, weights, step, **settings)
    return step if task.loss(weights) <= 0.2 else np.inf


# %% [markdown]
# Each method gets eight settings: eight rates, or four rates with two values of damping. A
# training that is not there after 60 steps counts as endless. (One seed each.)

# %%
settings = {"plain": [{"rate": rate} for rate in (0.12, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)]}
settings["K-FAC"] = [
    {"rate": rate, "damping": damping} for rate in (0.1, 0.2, 0.4, 0.8) for damping in (0.01, 0.1)
]
methods, best = {"plain": gradient_step, "K-FAC": curved_step}, {}

# %%
for name, choose in methods.items():
    runs = [simulate(descend, 2, choose=choose, trace=False, **given) for given in settings[name]]
    run = min(runs, key=lambda run: run.results[0])
    steps, sent = run.results[0], run.ledger[0].bytes_sent
    best[name] = steps
    print(f"{name:6}: {steps} steps, {sent / steps:,.0f} bytes a step, {sent:,} in all")
assert best["K-FAC"] < best["plain"] / 3

# %% [markdown]
# A few steps in place of some thirty, with the same batch. But each step sends the factors too,
# several times as many bytes as the gradient, and it inverts matrices. For layers of 1,000 inputs
# and more that work counts; systems then renew the factors only every some steps. So K-FAC pays
# where a batch is large, its noise is small, and the curvature is what is left. Try it with a
# batch of 32, `Digits(16)`: how large is the gain there?
#
# ## 4. A schedule for a given machine · *intermediate*
#
# Back to plain steps. Early in a training the gradient is large and its noise matters little.
# Late, the noise is all there is. So a good schedule changes the batch, the rate, or both.
#
# The task is a bowl with 20 directions, of curvatures from 1 down to 0.02. Each gradient has
# noise. What is counted is the mean loss over all chance, which can be computed exactly (Zhang et
# al., 2019): so the same schedule always takes the same time. The mean loss begins at 2.64, and
# the target is **0.01**. The machine has 64 ranks. A step takes 4 ms, and 1 ms for each sample on
# the fullest rank.
#
# For each step your function gets its number, from 1 on, the noise $\operatorname{tr}\Sigma$ of
# one sample, and the signal $|G|^2$. It returns the batch and the rate. First a schedule that
# never changes:

# %%
from ddl_class.exercises.unit_13.machine import rolls


def constant(step, noise, signal):
    return 2048, 0.34


# %%
def summary(schedule):
    steps = list(rolls(schedule))
    for rolled in [*steps[:: max(1, len(steps) // 5)], steps[-1]]:
        print(f"step {rolled.step:3}, after {rolled.seconds:.2f} s: batch {rolled.batch:5}, "
              f"rate {rolled.rate:.2f}, loss {rolled.loss:.4f}")  # fmt: skip


# %%
summary(constant)
assert list(rolls(constant))[-1].loss <= 0.01

# %% [markdown]
# By a search over batches and rates this is about the best schedule that never changes.
#
# **Exercise, with a goal.** Reach the target within **1.5 s**. Which batch and which rate are good
# while the loss is large? And when the loss no longer falls, what can you change? Look at what
# `summary` prints, and change your schedule.


# %% name="13.schedule" tags=["answer"]
def my_schedule(step, noise, signal):
    """The batch and the rate of this step."""
    ### BEGIN SOLUTION
    if step <= 30:
        return 1088, 1.9  # just below 2, where the steepest direction goes wrong
    if step <= 34:
        return 4352, 1.3
    return 3072, 0.35
    ### END SOLUTION


# %%
summary(my_schedule)

# %% name="13.schedule" tags=["check"]
check("13.schedule", my_schedule)
### BEGIN HIDDEN TESTS
judge("13.schedule", my_schedule)
### END HIDDEN TESTS

# %% [markdown]
# The picture shows the mean loss of both schedules over their steps. At step 0 it is 2.64.

# %%
from ddl_class.exercises.unit_13.machine import CURVATURES

ways = {"constant": constant, "yours": my_schedule}
first = CURVATURES.sum() / 2
losses = {name: [first, *(rolled.loss for rolled in rolls(way))] for name, way in ways.items()}
ends = (f"{name}: {len(of) - 1} steps to a loss of {of[-1]:.3g}" for name, of in losses.items())
pictures.plot_losses(losses, "of the bowl", target=0.01, title="; ".join(ends))

# %%
progress()

# %% [markdown]
# With long steps and small batches the loss soon stops falling: the noise of the steep directions
# hides everything else. But behind it the flat directions come down, and they need long steps.
# When the batch grows, the noise goes, and the loss drops below that of the constant schedule. So
# a loss that stands still does not mean that nothing is learnt.
#
# The best schedule that we know changes batch and rate in each step. A program found it: gradient
# descent on the batches and rates of all steps. We do not know whether a better one exists. (The
# loss of a real network is no bowl, and its noise changes on the way.)
#
# ## Three questions
#
# **1.** A rate that falls by half, or a batch that doubles: what do both do to the noise of a
# step? What is different?
#
# <details><summary>An answer</summary>
#
# A step at rate $r$ with a batch $B$ adds noise of $r^2 \operatorname{tr}\Sigma / B$. Over the
# time in which the ball forgets where it was, about $1/(r h)$ steps, that sums up to about $r
# \operatorname{tr}\Sigma / B$. Both halve it. With the smaller rate the ball also moves more
# slowly; with the larger batch each step takes longer.
#
# </details>
#
# **2.** A machine with a slower network takes 40 ms a step before any sample is computed. How does
# the best schedule change?
#
# <details><summary>An answer</summary>
#
# Steps are expensive now and samples are cheap beside them. So the batches grow, and there are
# fewer steps, at higher rates.
#
# </details>
#
# **3.** Over ranks, K-FAC inverts each layer on one rank. Why not on all?
#
# <details><summary>An answer</summary>
#
# All ranks have the same averaged factors, so all would compute the same inverses. Shared out, the
# work of a step is that of the largest layer, or of a rank's layers. The price is one broadcast of
# the step of each layer, as many bytes as its gradient.
#
# </details>
#
# ## Where to read on
#
# - J. Martens and R. Grosse, "Optimizing neural networks with Kronecker-factored approximate
#   curvature", *ICML*, 2015.
# - K. Osawa et al., "Large-scale distributed second-order optimization using Kronecker-factored
#   approximate curvature", *CVPR*, 2019: ResNet-50 in large batches.
# - G. Zhang et al., "Which algorithmic choices matter at which batch sizes? Insights from a noisy
#   quadratic model", *NeurIPS*, 2019: the bowl of section 4, and what it says of real networks.
# - J. G. Pauloski et al., "KAISA: an adaptive second-order optimizer framework for deep neural
#   networks", *SC*, 2021: how many ranks keep the inverse of a layer. Few save memory, many save
#   messages; one number goes from one end to the other.
#
# The library's K-FAC stands in `ddl_teach/training/optimizers/kfac.py`.
