# %% [markdown]
# # Learning from answers
#
# **What if a model makes its own training data?**
#
# So far the data were there before the training began. Now the model answers questions, each
# answer gets a reward, and the model learns from that. Most of the time goes into answering. So
# some ranks, the *actors*, answer all the time. Another rank, the *learner*, trains. Then the
# answers come from older weights. You know this *staleness* from unit 14, but here it can be
# mended. You need unit 14, and attention from unit 21. Section 1 is for *beginners*, all others
# are for *intermediate* readers. About 45 minutes.

# %%
import math
from functools import partial

import numpy as np
import torch

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane

# %%
from ddl_teach.serving.actors import alone, learn
from ddl_teach.serving.sorting import Sorting
from ddl_teach.theory import policy_gradient, stragglers

engines = Engines(4)

# %% [markdown]
# ## 1. Better than the others · *beginner*
#
# A small GPT is to sort four digits. It has seen a few right answers, but too few. Now it gets a
# question, and answers it eight times. Each digit of an answer is drawn from the probabilities
# that the model gives. A right answer has the reward 1, a wrong one 0. The *ticket* is a number:
# it decides which questions come, and what is drawn.

# %%
policy = Sorting()
weights = policy.initial()
rows = policy.answers(weights, ticket=3)
for row in rows[:8]:
    print("question", row[:4].astype(int), "answer", row[4:8].astype(int), "reward", row[-1])

# %% [markdown]
# How does a reward become a gradient? Let $\pi(y)$ be the probability of the answer $y$, and
# $R(y)$ its reward. The mean reward is the sum of $\pi(y)\,R(y)$ over all answers. Its gradient is
# a mean over answers that the model itself gives (R. Williams, 1992):
#
# $$\nabla\, \mathbb{E}\,R \;=\; \mathbb{E}\Big[\,A(y) \sum_t \nabla \log \pi(y_t)\Big],
# \qquad A = R - b.$$
#
# Here $\mathbb{E}$ is the mean over drawn answers, and $y_t$ is token $t$ of the answer.
# A model that learns from rewards in this way is called a **policy**. $A$ is the **advantage**:
# the reward minus a number $b$ that does not depend on the answer. A good $b$ makes the gradient
# scatter less. **GRPO** (Shao et al., 2024) takes the mean reward of a *group*: all answers to the
# same question. It also divides by the group's standard deviation, which we leave out.
#
# **Exercise.** Return the advantages. `rewards` is one long vector: the first `group` rewards
# belong to one question, the next `group` to another, and so on.


# %% name="26.advantage" tags=["answer"]
def advantage_of(rewards, group):
    """Each reward minus the mean of its group."""
    ### BEGIN SOLUTION
    groups = rewards.reshape(-1, group)
    return (groups - groups.mean(axis=1, keepdims=True)).ravel()
    ### END SOLUTION


# %%
mine = yours("26.advantage", advantage_of, policy_gradient.advantages)
print(mine(rows[:8, -1], 8))

# %% [markdown]
# If all answers of a group are right, or all are wrong, what can be learnt from them?

# %% name="26.advantage" tags=["check"]
check("26.advantage", advantage_of)
### BEGIN HIDDEN TESTS
judge("26.advantage", advantage_of, seed=264)
### END HIDDEN TESTS

# %% [markdown]
# Nothing: all advantages are 0. Here are forty steps. Each step answers 16 questions eight times,
# and learns from these answers.

# %%
learnt = alone(policy, steps=40)
print(f"reward before {policy.reward(weights):.2f}, after {policy.reward(learnt):.2f}")

# %% [markdown]
# ## 2. Answers from old weights · *intermediate*
#
# The formula asks for answers from the weights that learn. Now older weights gave the answers,
# with probabilities $\mu$ instead of $\pi$. If $\pi$ gives an answer twice as often as $\mu$ did,
# it must count twice. So each answer counts as often as a *ratio* says, an **importance weight**.
# For a token the ratio is $r_t = \pi(y_t)/\mu(y_t)$. For a whole answer it is the product $r_1 r_2
# \cdots r_T$. The log of each token's probability is kept with the answer, so the ratio can be
# computed later.
#
# Which ratio makes the gradient right? We need not guess. Take two digits, each with three
# possible values. Then there are nine answers to a question. The next cell takes the mean over
# *all* of them. Each counts as often as the old weights give it.

# %%
sorting = {"digits": 2, "values": 3, "imitation": 20}
tokens = torch.tensor([[2, 0, a, b] for a in range(3) for b in range(3)])
rewards = (tokens[:, 2:] == torch.tensor([0, 2])).all(1).numpy()  # 2, 0 in order is 0, 2


def mean_gradient(weighting, weights, old):
    policy = Sorting(weighting=weighting, **sorting)
    then = policy.logs(old, tokens).detach().numpy()
    often = len(then) * np.exp(then.sum(1)) * (rewards - 0.5)
    return policy.gradient(weights, np.column_stack([tokens, then, often, rewards]))


# %% [markdown]
# `kept` has the weights after 0 to 8 steps. The last ones learn from answers that each of the
# others gave, without a ratio or with one. How far is the gradient from the right one?

# %%
from ddl_teach.theory.policy_gradient import per_answer, per_token, unweighted

ways = {"no ratio": unweighted, "per token": per_token, "per answer": per_answer}
beginner = Sorting(**sorting)
kept = [alone(beginner, steps) for steps in range(9)]
right = mean_gradient(unweighted, kept[8], kept[8])
errors = {}
for name, way in ways.items():
    apart = [mean_gradient(way, kept[8], old) - right for old in kept[7::-1]]
    errors[name] = np.linalg.norm(apart, axis=1) / np.linalg.norm(right)

# %%
axes = plane("how many steps old the answers are", "error of the mean gradient", height=3.4)
shown = {name: (range(1, 9), np.maximum(row, 1e-16)) for name, row in errors.items()}
axes.draw_all({"computed": shown})
axes.log_scale("y", "{:.0e}".format, at=[1, 1e-2, 1e-5, 1e-10, 1e-15])
worst, best = (errors[name].max() for name in ("no ratio", "per answer"))
most = f"Largest errors: no ratio {worst:.0%}, per answer {best:.0e}"
assert best < 1e-12
axes.finish("Error of the gradient", most, legend="beside")

# %% [markdown]
# With the ratio of the whole answer the gradient is right to the last digits. Without a ratio it
# is wrong after one step already. The ratio of each token alone is much better than none, but it
# is not right: it forgets that the tokens before were also drawn by old weights.
#
# Why do many programs not take the whole ratio? It is a product of many numbers. For long answers
# it is mostly near 0, and seldom huge. So the mean is right, but the gradient of one batch is far
# from the mean. A **cap** helps, a largest ratio, as in IMPALA (Espeholt et al., 2018). The mean
# is then a little wrong, but batches differ less.
#
# Two more facts follow from the same sum. First, a group's mean contains the answer's own reward.
# So with groups of $G$ answers the gradient is $1 - 1/G$ times as long as it should be, and its
# direction is right. Second, the first half of an answer may come from other weights than the
# second. The next cell shows that: half of each answer has the probabilities of step 0, half those
# of step 4.

# %%
old, newer = (Sorting(**sorting).logs(kept[step], tokens).detach().numpy() for step in (0, 4))
mixed = np.column_stack([old[:, :1], newer[:, 1:]])
half = np.column_stack([tokens, mixed, 9 * np.exp(mixed.sum(1)) * (rewards - 0.5), rewards])
half = Sorting(weighting=per_answer, **sorting).gradient(kept[8], half)
assert np.allclose(half, right, rtol=1e-9, atol=1e-12)

# %% [markdown]
# So an actor may load new weights in the middle of an answer. It only has to note the probability
# with which each token was really drawn.
#
# **PPO** (J. Schulman et al., 2017), and GRPO with it, takes the ratio of each token. Where a
# token has moved far enough, the factor is 0: in a good answer if its ratio is above
# $1+\varepsilon$, in a bad one if it is below $1-\varepsilon$. That is the gradient of
# $\min(rA,\ \mathrm{clip}(r, 1-\varepsilon, 1+\varepsilon)\,A)$.
#
# **Exercise.** Return that factor. `now` and `then` are logs of probabilities, a row for each
# answer. `apart` are the advantages, `width` is $\varepsilon$.


# %% name="26.clip" tags=["answer"]
def clipped_factors(now, then, apart, width):
    """The ratio of each token, or 0 where it has moved far enough."""
    ### BEGIN SOLUTION
    ratios = np.exp(now - then)
    moved = np.sign(apart)[:, None] * (ratios - 1)
    return np.where(moved > width, 0.0, ratios)
    ### END SOLUTION


# %%
mine = yours("26.clip", clipped_factors, lambda now, then, *more: per_token(now - then, *more))
ratios, curves = np.linspace(0.5, 1.5, 201), {}
for name, sign in (("a good answer", 1.0), ("a bad answer", -1.0)):
    apart, then = np.full(201, sign), np.zeros((201, 1))
    curves[name] = (ratios, mine(np.log(ratios)[:, None], then, apart, 0.2)[:, 0])
axes = plane("ratio of a token", "factor", height=3.0)
axes.draw_all({"computed": curves})
axes.finish("PPO's factor", "Factors with a width of 0.2", legend="upper left")

# %% [markdown]
# Where a line is not 0, it is the ratio itself. A good answer that is already much more likely
# gets 0, and so does a bad one that is already much less likely.

# %% name="26.clip" tags=["check"]
check("26.clip", clipped_factors)
### BEGIN HIDDEN TESTS
judge("26.clip", clipped_factors, seed=265)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** Put these lines in order; two of them belong nowhere. They make a loss. Its
# gradient uses the ratio of the whole answer, with a cap. (The factor is taken as a constant: in
# torch one would `detach` it.)


# %% name="26.loss" tags=["answer"]
def loss_of(now, then, rewards, group, cap):
    """The loss of answers in groups, drawn when their tokens' logs were `then`."""
    ### BEGIN SOLUTION
    rows = rewards.reshape(-1, group)
    apart = (rows - rows.mean(axis=1, keepdims=True)).ravel()
    whole = np.exp((now - then).sum(axis=1))
    factor = np.minimum(whole, cap)
    return -(factor * apart * now.sum(axis=1)).mean()
    ### END SOLUTION


# %% name="26.loss" tags=["check"]
check("26.loss", loss_of)
### BEGIN HIDDEN TESTS
judge("26.loss", loss_of, seed=266)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. A bound, again · *intermediate*
#
# One rank is the **learner**, all others are **actors**. The learner hands out *tickets*: a number
# and the weights to answer with. Tickets are counted from 0. Step $v$ learns from the tickets
# $vB, \ldots, vB + B - 1$, always in this order, whichever answers come first. If a ticket is
# given after the learner has made $u$ steps, its answers are $v - u$ steps old. A bound on that is
# unit 14's `StaleSynchronous(bound)`, with the learner in the place of the slowest worker.
#
# **Exercise.** How many steps must the learner have made, at least, before `ticket` is given?


# %% name="26.ticket" tags=["answer"]
def needed(ticket, per_step, bound):
    """The least number of steps, so that no answer is more than `bound` steps old."""
    ### BEGIN SOLUTION
    return max(0, ticket // per_step - bound)
    ### END SOLUTION


# %% name="26.ticket" tags=["check"]
check("26.ticket", needed)
### BEGIN HIDDEN TESTS
judge("26.ticket", needed, seed=267)
### END HIDDEN TESTS

# %% [markdown]
# AReaL (Fu et al., 2025) bounds the age of its answers in this way. Here are three actors,
# simulated. An answer takes a random time: a few are very long. In the first picture actors answer
# only for the step that comes next: nothing is *ahead*. In the second they may be one step ahead.

# %%
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.tasks.paces import ByChance


# %%
def answering(ticket, mean=0.03):
    return ByChance(mean)(0, ticket)


# %%
small = {"policy": Sorting(**sorting), "per_step": 3, "answering": answering, "training": 0.02}
for when in (Synchronous(), StaleSynchronous(1)):
    run = simulate(learn, 4, consistency=when, steps=5, **small)
    oldest = max(run.results[0].report.staleness)
    idle = 1 - sum(map(answering, range(15))) / (3 * run.time)
    title = f"Five steps in {run.time * 1e3:.0f} ms, actors idle {idle:.0%}, ages up to {oldest}"
    display(run.timeline.plot(title=title))

# %% [markdown]
# Rank 0 is the learner. In the first picture the actors wait for the longest answer, and then for
# the learner. In the second the learner trains while they answer.
#
# With nothing ahead it does not matter how long an answer takes: what a ticket draws depends on
# its number only. So your engines must learn what one process learns, up to rounding.


# %%
def on_ranks(comm, when):
    policy = Sorting(digits=2, values=3, imitation=20)
    return learn(comm, policy, when, steps=6, per_step=3, answering=answering, training=0.01)


# %%
run = engines.run(on_ranks, when=Synchronous(), timeout=60)
twin = alone(Sorting(**sorting), steps=6, per_step=3)
assert np.allclose(run.results[0].weights, twin, rtol=1e-6, atol=1e-8)
out, back = run.ledger[0].bytes_sent, run.bytes_to(0)
print(f"for 18 tickets the learner sent {out:,} bytes and received {back:,}")
behind = engines.run(on_ranks, when=StaleSynchronous(1), timeout=60).results[0]
print("ages of the answers with a bound of 1:", behind.report.staleness)

# %% [markdown]
# ## 4. Which ranks wait? · *intermediate*
#
# Answers to a ticket take $g$ seconds on average, a training step $t$ seconds. Sending the weights
# to one actor takes $c$ seconds. $A$ actors answer one ticket each for a step. If all wait for the
# longest, a step takes
#
# $$g\,H_A + A\,c + t, \qquad H_A = 1 + \tfrac12 + \ldots + \tfrac1A,$$
#
# as in unit 14. Without a bound no actor ever waits. Then a step of $B$ tickets takes the longest
# of three times, those of the actors, of sending, and of training:
#
# $$\max\big(B\,(g + c)/A,\;\; B\,c,\;\; t\big).$$
#
# 255 actors answer, in 1 s on average. The learner trains for half a second. Compare nothing ahead
# with no bound, and commit to a number:

# %%
predict("26.ahead", ...)

# %% [markdown]
# **Exercise.** A step needs `per_step` tickets. How many actors answer that many tickets while the
# learner trains once? `mean` is $g$, `training` is $t$, `transfer` is $c$.


# %% name="26.balance" tags=["answer"]
def actors_for(per_step, mean, training, transfer):
    """The least number of actors with which the learner need not wait in the long run."""
    ### BEGIN SOLUTION
    return math.ceil(per_step * (mean + transfer) / training)
    ### END SOLUTION


# %% name="26.balance" tags=["check"]
check("26.balance", actors_for)
### BEGIN HIDDEN TESTS
judge("26.balance", actors_for, seed=268)
### END HIDDEN TESTS

# %% [markdown]
# To simulate hundreds of actors, no model is needed: only how many bytes its weights and answers
# have, and how long it takes. `described` makes a policy without numbers. On your engines it sends
# zeros.

# %%
from types import SimpleNamespace

from ddl_teach.comm import Phantom
from ddl_teach.training.optimizers.sgd import SGD


def zeros(nbytes):
    return np.zeros(nbytes // 8)


# %%
def described(make):
    """A policy of 80 kB, whose answers to a ticket have 8 kB; `make(n)` makes n bytes."""
    policy = SimpleNamespace(rule=SGD(0.0), initial=partial(make, 80_000))
    policy.room = partial(make, 8_000)
    policy.answers = lambda weights, ticket: make(8_000)
    policy.gradient = lambda weights, rows: 0 * weights
    return policy


# %% [markdown]
# `pace` is the seconds of a step, as a multiple of the mean time of an answer.


# %%
sizes = (1, 3, 15, 63, 255)


def pace(run_on, actors, when, make, mean=0.03, steps=20):
    given = {"answering": partial(answering, mean=mean), "training": mean / 2}
    given |= {"policy": described(make), "per_step": actors, "steps": steps, "trace": False}
    return run_on(learn, actors + 1, consistency=when, **given).time / steps / mean


# %%
bounds = {"nothing ahead": Synchronous(), "no bound": Asynchronous()}
simulated = {
    name: (sizes, [pace(simulate, actors, when, Phantom) for actors in sizes])
    for name, when in bounds.items()
}

# %% [markdown]
# On your engines an actor sleeps, like a process that waits for its accelerator. An answer takes
# 0.1 s on average.

# %%
own, slowly = (1, 2, 3), {"mean": 0.1, "steps": 10}
measured = {
    name: (own, [pace(engines.run, actors, when, zeros, **slowly) for actors in own])
    for name, when in bounds.items()
}

# %%
lines = range(1, 256)
computed = {
    "nothing ahead": (lines, [stragglers.answered_in_turn(a, 1, 0.5) for a in lines]),
    "no bound": (lines, [stragglers.answered_ahead(a, a, 1, 0.5) for a in lines]),
}
axes = plane("actors", "step / mean time of an answer")
axes.draw_all({"predicted": computed, "simulated": simulated, "measured": measured})
axes.log_scale("x", at=sizes)
times = simulated["nothing ahead"][1][-1] / simulated["no bound"][1][-1]
axes.finish("A step", f"255 actors, nothing ahead: {times:.1f} times as long", legend="upper left")

# %%
in_turn = stragglers.answered_in_turn(255, 1.0, 0.5)
reveal("26.ahead", in_turn / stragglers.answered_ahead(255, 255, 1.0, 0.5))

# %% [markdown]
# Squares without a bound lie a little above their line: at the beginning the learner has no
# answers, and waits once for the longest of all first answers. Dots have few steps, so they
# scatter. They lie higher if your machine is busy. With nothing ahead the time grows with the
# logarithm of the number of actors. Without a bound it does not grow. For a bound in between there
# is no formula here, so it is simulated:

# %%
ahead = (0, 1, 2, 4, 8)
steps = [pace(simulate, 63, StaleSynchronous(bound), Phantom) for bound in ahead]
axes = plane("bound", "step / mean time of an answer", height=3.2)
axes.draw_all({"simulated": {"63 actors": (ahead, steps)}})
free = stragglers.answered_ahead(63, 63, 1, 0.5)
axes.axhline(free, label="no bound, predicted")
saved = (steps[0] - steps[1]) / (steps[0] - free)
assert saved > 0.4
axes.finish("Bounds", f"One step ahead saves {saved:.0%} of the waiting", legend="upper right")

# %% [markdown]
# So a bound of one saves about half. An actor whose answer was short goes on with a ticket of the
# next step. So the others wait less often for a long answer.
#
# With each ticket the learner sends its weights. For $n$ bytes of weights it sends $B\,n$ bytes in
# a step. With hundreds of actors that is too much for one rank. Then a broadcast along a tree
# takes its place (unit 06).
#
# ## 5. What do old answers cost? · *intermediate*
#
# The other question is the reward. Here the sorting GPT learns from answers that are four steps
# old, with one seed. Each way has the rate that was best for it in the recorded runs below.

# %%
from ddl_teach.training.optimizers.adam import Adam

cases = {
    "fresh answers": (unweighted, 0.003, 0),
    "four steps old, no ratio": (unweighted, 0.0003, 4),
    "four steps old, PPO's factor": (partial(per_token, width=0.2), 0.003, 4),
}
for name, (weighting, rate, age) in cases.items():
    policy = Sorting(Adam(rate), weighting)
    print(f"{name:30} reward {policy.reward(alone(policy, 40, age=age)):.2f}")

# %% [markdown]
# One seed says little. *Recorded* (`benchmarks/results/old_answers.txt`): each way at the best of
# the same four rates, with three seeds, after 80 steps. The numbers are mean rewards.
#
# | answers | no ratio | PPO's factor | ratio of the whole answer, at most 2 |
# |:--|--:|--:|--:|
# | fresh | 0.843 | | |
# | one step old | 0.639 | 0.846 | 0.831 |
# | four steps old | 0.460 | 0.732 | 0.666 |
#
# Before any step the mean reward was 0.346. With answers four steps old and no ratio, the best
# rate was the smallest of the four. So a still smaller rate may do better.
#
# As in unit 14, old answers need a smaller rate. One step of age already costs a quarter of the
# reward. But here there is a cure. With a ratio the best rate is that of fresh answers again, and
# the lost quarter of the reward comes back.
#
# At an age of four steps a ratio mends only a part. The ratio with the right mean is not the best
# here: its batches differ more. Ratios cost nothing, as the learner computes these probabilities
# for its gradient anyway. And a small age is cheap: a bound of one saved about half of the
# waiting.
#
# Even equal weights do not give equal probabilities. Actors often answer with a fast program for
# serving, and the learner trains with another one. The two round differently, so $\mu$ is not
# $\pi$, even for fresh answers. F. Yao et al., 2025, mend that with the same capped ratio.
#
# ## 6. The longest answer · *intermediate*
#
# May the learner leave out an answer that takes too long? Take a model that can do two things. It
# guesses at once, and is right in 50% of the cases. Or it thinks, and is right in 90%. But 70% of
# its thoughts are longer than the limit. There are three rules: all answers are waited for, long
# answers are left out, or they count as wrong. The next cell follows the exact gradient of each.


# %%
def thinking(rule, steps=40):
    score, shares = -1.0, []
    for _ in range(steps):
        share = 1 / (1 + np.exp(-score))
        chance = np.array([1 - share, 0.3 * share, 0.7 * share])  # guess, thought, long thought
        chance[2] *= rule != "long is left out"
        reward = np.array([0.5, 0.9, 0.0 if rule == "long is wrong" else 0.9])
        apart = reward - chance @ reward / chance.sum()
        shares, score = [*shares, share], score + 2 * chance @ (apart * ([0, 1, 1] - share))
    return shares


# %%
rules = ("all are waited for", "long is left out", "long is wrong")
shares = {rule: thinking(rule) for rule in rules}
axes = plane("step", "share of answers with a thought", height=3.2)
axes.draw_runs(shares)
axes.in_percent("y")
ends = ", ".join(f"{rule} {row[-1]:.0%}" for rule, row in shares.items())
axes.finish("Three rules for long answers", f"At the end: {ends}", legend="beside")

# %% [markdown]
# If a long answer counts as wrong, the model learns to guess, although thinking is right more
# often. If long answers are left out, it learns to think, but more slowly. In a real model that is
# worse. Hard questions need long answers, so it learns from easy questions only. If the learner
# took the first answers that arrive, it would also prefer short ones. That is why it uses tickets
# in their order.
#
# There is another way, the **partial rollout**. At the limit an actor keeps what it has written,
# loads the new weights, and goes on in the next step. By section 2 this needs only the probability
# of each token as it was drawn.
#
# ## What others do
#
# | here | elsewhere |
# |---|---|
# | `Synchronous()` | verl (HybridFlow: G. Sheng et al., 2025), OpenRLHF (J. Hu et al., 2024) |
# | `StaleSynchronous(1)` | asynchronous RLHF (M. Noukhovitch et al., 2025) |
# | a bound, partial rollouts | AReaL (W. Fu et al., 2025) |
# | new weights in the middle of an answer | PipelineRL (A. Piché et al., 2025) |
# | a rule for answers that are too long | DAPO (Q. Yu et al., 2025) |
#
# DeepSeek-R1 (DeepSeek-AI, 2025) learnt to reason in this way: by GRPO, and by rewards that a
# program can compute.
#
# ## Three questions
#
# **1.** In unit 14 a stale gradient could not be mended. Why can a stale answer?
#
# <details><summary>An answer</summary>
#
# The learner computes the gradient itself, at its own weights. Only the draw is old, and its
# probability was noted. A gradient at old weights is a vector that says nothing about new ones.
#
# </details>
#
# **2.** Twice as many actors, and no bound. When is that of no use?
#
# <details><summary>An answer</summary>
#
# If the learner, or its port, is the longest of the three times. Then tickets wait for it, and the
# answers only get older.
#
# </details>
#
# **3.** Why does a cap on the ratio of a whole answer make a small error, and a bound on the age
# none?
#
# <details><summary>An answer</summary>
#
# A cap changes how much an answer counts, so the mean changes. A bound only says when an actor may
# begin. If answers are not old, the ratios are near 1, and few reach the cap.
#
# </details>
#
# ## Where to read on
#
# - L. Espeholt et al., "IMPALA: scalable distributed deep-RL with importance weighted
#   actor-learner architectures", *ICML*, 2018.
# - Z. Shao et al., "DeepSeekMath: pushing the limits of mathematical reasoning in open language
#   models", *arXiv*, 2024.
# - W. Fu et al., "AReaL: a large-scale asynchronous reinforcement learning system for language
#   reasoning", *arXiv*, 2025.
# - M. Noukhovitch et al., "Asynchronous RLHF: faster and more efficient off-policy RL for language
#   models", *ICLR*, 2025.
# - A. Piché et al., "PipelineRL: faster on-policy reinforcement learning for long sequence
#   generation", *arXiv*, 2025.
# - H. Xu, J. Su, Y. Tian, L. Diao, Z. Qian and C. Wu, "GAC: stabilizing asynchronous RL training
#   for LLMs via gradient alignment control", *arXiv*, 2026: old answers make gradients alike, one
#   step after the other.
# - GLM-5 Team, "GLM-5: from vibe coding to agentic engineering", *arXiv*, 2026: actors and a
#   learner apart, in production.
#
# The learner stands in `ddl_teach/serving/actors.py`. `progress()` shows how far you have come.
