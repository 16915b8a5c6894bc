# %% [markdown]
# # Working in rounds
#
# **What is better than to take the mean after each round?**
#
# In local SGD (unit 14) each rank makes some steps of its own, then all take the mean. Such a
# *round* can be longer or shorter, it can have a momentum, and a rank can remember what its own
# data wanted otherwise. Here you write all three. At last you plan a whole training, against time,
# with a slow worker. You need sections 7 and 9 of unit 14. Sections 1 to 3 are for *intermediate*
# readers, section 4 is for *advanced* ones. About 70 minutes.

# %%
import math

import numpy as np

from ddl_class import check, hint, judge, progress, simulate, yours
from ddl_class.plots import forms as plots

# %%
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

# %% [markdown]
# ## 1. Shorter and shorter · *intermediate*
#
# Four workers learn the digits, and each sees other digits than the others (`skewed`). How long
# should a round be? Long rounds send little, but the workers drift apart, and the loss stops
# falling early. Short rounds go further, and send more.

# %%
skewed = {"task": Digits(skewed=True), "update": SGD(0.4), "steps": 160, "trace": False}


def by_rounds(when):
    ranks = simulate(train, 4, consistency=when, **skewed).results
    return skewed["task"].loss(ranks[0].weights), ranks[0].total_bytes


# %%
for period in (16, 4, 1):
    loss, sent = by_rounds(LocalSGD(period))
    print(f"rounds of {period:2} steps: loss {loss:.2f}, {sent / 1e3:5.0f} kB sent by a rank")

# %% [markdown]
# **Adaptive local SGD** (AdaComm; Wang and Joshi, 2019) begins with long rounds and makes them
# shorter as the loss $F$ falls. With at most $\tau_0$ steps in a round,
#
# $$\tau = \Big\lceil \sqrt{F_\text{now}/F_\text{first}}\;\tau_0 \Big\rceil .$$
#
# At first the loss is so large that drift does not matter. At the end drift is most of the loss.
#
# **Exercise.** After which steps do the ranks agree? `losses[t]` is the loss after `t` steps, so
# `losses[0]` is the first one. A round that begins after `t` steps has $\tau$ steps by the formula
# with `losses[t]`; but never more than `longest`, and at least one. The last round ends with the
# last step at the latest. Return the list of steps: `agreements([4, 2, 1, 1, 0], 2)` is `[2, 3,
# 4]`.


# %% name="14.agreements" tags=["answer"]
def agreements(losses, longest):
    """After which steps the ranks agree: ceil(sqrt(loss / first loss) * longest) steps a round."""
    ### BEGIN SOLUTION
    step, last, ends = 0, len(losses) - 1, []
    while step < last:
        wanted = math.ceil(math.sqrt(losses[step] / losses[0]) * longest)
        step = min(step + max(1, min(wanted, longest)), last)
        ends.append(step)
    return ends
    ### END SOLUTION


# %% name="14.agreements" tags=["check"]
check("14.agreements", agreements)
### BEGIN HIDDEN TESTS
judge("14.agreements", agreements, seed=146)
### END HIDDEN TESTS

# %% [markdown]
# The library's `AdaptiveLocalSGD` does this. All workers compute the loss of the same few samples,
# so they find the same period without a message.

# %%
from ddl_teach.training.consistency.adaptive_local import AdaptiveLocalSGD

loss, sent = by_rounds(AdaptiveLocalSGD(16))
print(f"from 16 steps down: loss {loss:.2f}, {sent / 1e3:5.0f} kB sent by a rank")
assert loss < by_rounds(LocalSGD(16))[0]
assert sent < by_rounds(LocalSGD(4))[1]

# %% [markdown]
# It lies between rounds of 16 and of 4 steps, in bytes and in loss. (All of these have one rate
# and one seed. So this shows what a period does, and not which way is best.)
#
# ## 2. A momentum for rounds · *intermediate*
#
# The mean of $P$ workers is *one* worker's round with less noise; it does not go $P$ times as far.
# **Block momentum** (BMUF; Chen and Huo, 2016) goes further. It takes the mean $\Delta$ of how far
# the workers came in a round, and keeps a velocity $u$:
#
# $$u \leftarrow \eta\, u + \Delta,\qquad w \leftarrow w_\text{agreed} + u .$$
#
# Changes in one direction add up, to $1/(1-\eta)$ times a change at most. Chen and Huo take
# $\eta = 1 - 1/P$. The next cells have three helpers: the mean over the ranks, the gradient of one
# sample of a linear fit, and a round of steps of one rank's own.


# %%
from ddl_teach.collectives import ring


def average(comm, vector):
    ring.allreduce(comm, vector)
    vector /= comm.size


# %%
def gradient(weights, x, y):
    return (x @ weights - y) * x


def alone(weights, inputs, answers, rate):
    for x, y in zip(inputs, answers, strict=True):
        weights -= rate * gradient(weights, x, y)


# %% [markdown]
# **Exercise.** `inputs` and `answers` are lists with one entry for each round. `alone` takes one
# entry of each. After each round all ranks have the same `weights`, changed in place. `average`
# changes its vector in place, too, and returns nothing.


# %% name="14.blocks" tags=["answer"]
def blocks(comm, weights, inputs, answers, rate, momentum):
    """Rounds: velocity = momentum * velocity + mean change; weights = agreed + velocity."""
    agreed, velocity = weights.copy(), np.zeros_like(weights)
    ### BEGIN SOLUTION
    for some_inputs, some_answers in zip(inputs, answers, strict=True):
        alone(weights, some_inputs, some_answers, rate)
        change = weights - agreed
        average(comm, change)
        velocity = momentum * velocity + change
        agreed += velocity
        weights[...] = agreed
    ### END SOLUTION


# %% name="14.blocks" tags=["check"]
check("14.blocks", blocks)
### BEGIN HIDDEN TESTS
judge("14.blocks", blocks, ranks=(6, 7, 12), seed=147)
### END HIDDEN TESTS

# %% [markdown]
# Eight workers learn the digits in eight rounds of eight steps, from one seed. With `nesterov` a
# round begins where the velocity alone would lead.

# %%
from ddl_teach.training.consistency.block_momentum import BlockMomentum


def last_loss(when, rate):
    given = {"task": Digits(), "update": SGD(rate), "steps": 64, "trace": False}
    return Digits().loss(simulate(train, 8, consistency=when, **given).results[0].weights)


# %%
ways = {"the mean": LocalSGD(8), "with momentum": BlockMomentum(8)}
ways["with Nesterov's"] = BlockMomentum(8, nesterov=True)
rates = (0.1, 0.2, 0.4, 0.8)
print("rate" + " " * 12, *(f"{rate:5}" for rate in rates))
for name, when in ways.items():
    print(f"{name:16}", *(f"{last_loss(when, rate):5.2f}" for rate in rates))

# %% [markdown]
# At small rates both kinds of momentum help. At the best rate, 0.4 for all three, the plain
# momentum is behind the mean here, and Nesterov's is ahead of it. So a larger rate and a momentum
# partly do the same, and a comparison at one rate says little.
#
# ## 3. A price for what others want · *intermediate*
#
# Give every rank its own loss $f_i(w) = \frac{h_i}2 (w - m_i)^2$. The sum of all has its minimum
# at the mean of the $m_i$ with the weights $h_i$. In a long round each rank goes nearly to its own
# $m_i$, and the plain mean of those is another point. **Consensus ADMM** (Boyd and others, 2011)
# gives each rank a *price* $u_i$: how far the agreed point $z$ differs from what it wants itself.
#
# $$x_i = \arg\min_x\; f_i(x) + \tfrac\rho2 (x - z + u_i)^2,\qquad
# z = \frac1P \sum_i (x_i + u_i),\qquad u_i \leftarrow u_i + x_i - z .$$
#
# **Exercise.** Write the rounds. `own_minimum(centre, ...)` is given: it minimises $f_i(x) +
# \frac\rho2 (x - \text{centre})^2$, where `curvature` is $h_i$, `wanted` is $m_i$ and `penalty`
# $\rho$. Begin with $z$ = `weights` and all prices 0. In the end `weights` is $z$, in place.


# %%
def own_minimum(centre, curvature, wanted, penalty):
    return (curvature * wanted + penalty * centre) / (curvature + penalty)


# %% name="14.admm" tags=["answer"]
def admm(comm, weights, curvature, wanted, penalty, rounds):
    """x = own_minimum(z - u, ...); z = mean of x + u; u += x - z. In the end weights is z."""
    prices = np.zeros_like(weights)
    ### BEGIN SOLUTION
    for _ in range(rounds):
        own = own_minimum(weights - prices, curvature, wanted, penalty)
        total = own + prices
        average(comm, total)
        weights[...] = total
        prices += own - weights
    ### END SOLUTION


# %% name="14.admm" tags=["check"]
check("14.admm", admm)
### BEGIN HIDDEN TESTS
judge("14.admm", admm, ranks=(6, 7, 12), seed=148)
### END HIDDEN TESTS

# %% [markdown]
# Four ranks: the first wants 4 with curvature 3, the others want 0 with curvature 1. So the sum
# has its minimum at 2, and the mean of the wishes is 1. Long rounds of local SGD stop at 1; ADMM
# does not.

# %%
from ddl_class.exercises.unit_14.rounds_judges import by_prices

my_admm = yours("14.admm", admm, by_prices)


def agreed_after(comm, rounds, penalty):
    weights, first = np.zeros(1), comm.rank == 0
    my_admm(comm, weights, 3.0 if first else 1.0, 4.0 if first else 0.0, penalty, rounds)
    return weights[0]


# %%
for penalty in (0.01, 1.0, 10.0):
    points = [simulate(agreed_after, 4, rounds=n, penalty=penalty).results[0] for n in (1, 5, 40)]
    print(f"penalty {penalty:5}: after 1, 5 and 40 rounds", *(f"{point:.3f}" for point in points))
assert abs(simulate(agreed_after, 4, rounds=60, penalty=1.0).results[0] - 2) < 1e-3

# %% [markdown]
# With a small penalty the first round ends near 1, as local SGD does; with a large one a rank
# hardly leaves $z$. In between few rounds are enough. The library's `ConsensusADMM` takes a few
# steps of any rule in place of the exact minimum.
#
# ## 4. A plan against time · *advanced*
#
# **A puzzle.** Eight workers train in rounds. A step takes 2 ms, on worker 7 it takes 10 ms. A
# round lasts as long as its slowest worker, and 10 ms more for the mean of all. Your plan says for
# each round the learning rate, and how many steps each worker makes; 0 is allowed.
#
# The loss is $\frac12 (w_1^2 + 0.1\, w_2^2)$. Each worker's own minimum is elsewhere: at -0.4 in
# both directions for the first seven, at 2.8 for worker 7, so that the mean is 0. All begin at -3,
# and each gradient has noise of size 1. Here the *expected* loss after each round can be computed
# exactly, so no dice are thrown.

# %%
from ddl_class.exercises.unit_14.rounds_judges import SECONDS, expected

print("seconds of a step:", *SECONDS)
equal = expected([(0.2, [8] * 8)] * 20)
print(f"8 steps at the rate 0.2: {equal.losses[-1]:.3f} after {equal.times[-1] * 1e3:.0f} ms")

# %% [markdown]
# How soon is the expected loss 0.02? With equal steps at one rate it takes a second, at best. The
# goal is **0.3 s**. Return a list of pairs: a rate, and a list of eight numbers of steps. Rounds
# after the one that reaches 0.02 do not count. The check says how long yours takes, and how long
# the best takes that is known.


# %% name="14.plan" tags=["answer"]
def plan(seconds):
    """Rounds as pairs (rate, [steps of each worker]); worker i needs seconds[i] for a step."""
    ### BEGIN SOLUTION
    rounds = []
    for rate, most in ((1.0, 20), (0.3, 40), (0.15, 60)):
        steps = [int(most * min(seconds) / each) for each in seconds]
        rounds.append((rate, steps))
    return rounds
    ### END SOLUTION


# %%
runs = {"8 steps at the rate 0.2": equal}
if yours("14.plan", plan, lambda seconds: [(0.2, [8] * 8)] * 20) is plan:
    runs["mine"] = expected(plan(SECONDS))
falls, times = {n: r.losses for n, r in runs.items()}, {n: r.times for n, r in runs.items()}
plots.plot_descents(falls, "Simulated plans", across=times, unit="seconds", of="expected loss")

# %% name="14.plan" tags=["check"]
check("14.plan", plan)
### BEGIN HIDDEN TESTS
judge("14.plan", plan, seed=149)
### END HIDDEN TESTS

# %% [markdown]
# Early rounds may be wrong in many ways: what counts is to come near. In the last round noise and
# the ranks' own minima count. Which of your rounds could be shorter? Here are the first three:

# %%
for name, run in runs.items():
    for place in range(min(3, len(run.losses))):
        after = f"{run.losses[place]:.3f} after {run.times[place] * 1e3:.0f} ms"
        print(f"{name}, round {place + 1}: expected loss {after}")

# %% [markdown]
#
# ## Three questions
#
# **1.** Why do workers with different data need shorter rounds than workers with the same data?
#
# <details><summary>An answer</summary>
#
# With the same data all workers go to the same minimum, and only noise drives them apart; the mean
# makes it smaller. With different data each goes to its own minimum. The mean of where they are is
# not where the minimum of all is, and the longer the round, the larger is the difference.
#
# </details>
#
# **2.** Block momentum with $\eta = 1 - 1/P$ and 64 workers: how long does an old change go on?
#
# <details><summary>An answer</summary>
#
# Each round takes 1/64 of the velocity away. So after 64 rounds 37% of a change are still there.
# If the rounds are few, they may all be over before that; and if the loss turns, the velocity goes
# on in the old direction for long.
#
# </details>
#
# **3.** At the end of ADMM the prices of all ranks sum to zero. Why?
#
# <details><summary>An answer</summary>
#
# $z$ is the mean of $x_i + u_i$, and the new price is $x_i + u_i - z$. Numbers minus their mean
# sum to zero. So what some ranks give in, others get.
#
# </details>
#
# ## Where to read on
#
# - J. Wang and G. Joshi, "Adaptive communication strategies to achieve the best error-runtime
#   trade-off in local-update SGD", *MLSys*, 2019.
# - K. Chen and Q. Huo, "Scalable training of deep learning machines by incremental block training
#   with intra-block parallel optimization and blockwise model-update filtering", *ICASSP*, 2016.
# - S. Boyd, N. Parikh, E. Chu, B. Peleato and J. Eckstein, "Distributed optimization and
#   statistical learning via the alternating direction method of multipliers", 2011.
# - X. Gu, K. Lyu, S. Arora, J. Zhang and L. Huang, "A quadratic synchronization rule for
#   distributed deep learning", *ICLR*, 2024: another rule for the length of a round. It grows as
#   one over the square of the rate, while the rate falls.
#
# The ways stand in `ddl_teach/training/consistency`: `adaptive_local.py`, `block_momentum.py` and
# `consensus_admm.py`. `progress()` shows how far you have come.
