# %% [markdown]
# # When ranks agree
#
# **What if no rank waits?**
#
# In unit 08 all ranks averaged their gradients before every step. So $P$ ranks made exactly the
# steps of one. That has a price: in every step all ranks wait for the slowest. So let them wait
# less. They may run a few steps ahead of each other, or not wait at all. They may write into the
# same memory without a lock, or send messages only in every tenth step. All of that trains, and
# all of that is used. But none of it makes the steps of one rank any more.
#
# What is the price of *not* waiting? One line computes it, and it is the surprise of this unit.
# You need unit 08. *Beginners* take sections 1, 2, 7 and 9, *intermediate* readers all but section
# 6, *advanced* ones everything. About two hours.
#
# ## 1. Which worker waits · *beginner*
#
# The first cell starts four engines. The second cell simulates eight workers and a server. A
# gradient takes 10 ms on average. First every worker waits for all others, then no worker waits.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots import staleness
from ddl_teach import ANY
from ddl_teach.comm import Machine, TwoLevel, Uniform
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.tasks.quadratic import Quadratic

engines = Engines(4)

# %%
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.tasks.paces import ByChance, Even, OneSlow
from ddl_teach.training.trainer import train

fast = Uniform(1e-4, 1e9)
bowl = {"task": Quadratic(), "distribution": Server(), "steps": 5, "strict": False}
for when, how in ((Synchronous(), "All wait for the slowest"), (Asynchronous(), "No rank waits")):
    run = simulate(train, 9, network=fast, consistency=when, pace=ByChance(0.01), **bowl)
    display(run.timeline.plot(title=f"{how}: five steps in {run.time * 1e3:.0f} ms"))

# %% [markdown]
# Rank 0 is the server: it keeps the weights. A worker fetches the weights, computes a gradient and
# sends it to the server. In the first picture it then waits (yellow) until all others have done
# the same. In the second picture the server answers at once, and the yellow is gone. But look at
# one worker there. While it computed *one* gradient, each of the others sent about one as well.
# When its gradient arrives, the server's weights are no longer those that it was computed from.
# The **staleness** $\tau$ of a gradient is the number of updates in between: with $P$ workers
# about $P-1$.
#
# Does that do harm? Take the simplest loss, $\frac h2 w^2$. Its gradient is $h\,w$. With a
# learning rate $r$ and gradients that are $\tau$ steps old,
#
# $$w_{t+1} = w_t - a\, w_{t-\tau},\qquad a = r\,h.$$
#
# With $\tau=0$ this shrinks for every $a < 2$.
#
# ### Predict
#
# Give your numbers before you go on. First: 64 workers, and no worker waits, so $\tau = 63$. How
# many times smaller than 2 must $a$ be, so that the weight does not grow without end? Second: as a
# compromise, workers may be at most 16 steps apart. One of 256 workers is five times slower than
# the others. Each worker makes 400 steps. How many times as long does that take as without the
# slow worker?

# %%
predict("14.rate", ...)
predict("14.straggler", ...)

# %% [markdown]
# ## 2. Old gradients · *beginner*
#
# **Exercise.** Follow that weight. `delayed(step, staleness, count)` returns the list of $w_0,
# \ldots, w_\text{count}$, where `step` is $a$. It begins with $w_0 = 1$, and at all times before
# the weight was 1, too: `delayed(0.5, 1, 3)` is `[1.0, 0.5, 0.0, -0.25]`. Then look at gradients
# that are seven steps old, as with eight workers. Which $a$ is still stable?


# %% name="14.delayed" tags=["answer"]
def delayed(step, staleness, count):
    """w[t+1] = w[t] - step * w[t - staleness], from w[0] = 1; w is 1 before that, too."""
    ### BEGIN SOLUTION
    weights = [1.0]
    for t in range(count):
        old = weights[max(t - staleness, 0)]
        weights.append(weights[t] - step * old)
    return weights
    ### END SOLUTION


# %% name="14.delayed" tags=["check"]
check("14.delayed", delayed)
### BEGIN HIDDEN TESTS
judge("14.delayed", delayed, seed=141)
### END HIDDEN TESTS

# %%
from ddl_teach.theory import staleness as theory

my_delayed = yours("14.delayed", delayed, lambda a, age, n: theory.delayed_descent(a, 1, age, n))
walks = {f"a = {a}": my_delayed(a, 7, 200) for a in (0.08, 0.2, 0.209, 0.22)}
staleness.plot_walks(walks)

# %% [markdown]
# A spring swings like that if it is pulled back too late. Where is the limit? (If complex numbers
# are new to you, read on at $a_\text{max}$: no more is needed later.) Try $w_t = z^t$: it
# solves the recursion if $a = z^\tau (1 - z)$. There are $\tau+1$ such numbers $z$. The weight
# goes to 0 if all of them lie inside the unit circle. On the circle, $z = e^{i\varphi}$. There the
# right side has the length $2\sin\frac\varphi2$ and the direction $(\tau+\frac12)\varphi -
# \frac\pi2$. It must be a positive number, so the direction must be 0: $\varphi = \pi/(2\tau+1)$,
# and
#
# $$a_\text{max} = 2 \sin\frac{\pi}{2\,(2\tau+1)} \;\approx\; \frac{\pi}{2\tau}.$$
#
# The next cell compares this with the roots themselves, and with your own weights. A little below
# the limit the weights must shrink, a little above it they must grow.

# %%
for age in (0, 1, 3, 7, 15):
    a, only = theory.stable_rate(age), [0] * age + [1]
    assert np.isclose(theory.growth(a, only), 1)  # the largest root lies on the circle
    walks = (np.abs(my_delayed(f * a, age, 99 * (age + 1))) for f in (0.97, 1.03))
    small, large = (walk[-4 * (age + 1) :].max() for walk in walks)
    assert small < 0.5 < 2 < large

reveal("14.rate", theory.stable_rate(0) / theory.stable_rate(63))

# %% [markdown]
# So **staleness shrinks the stable step size**, in proportion. With 64 workers 64 gradients come
# in the time of one, and each of them may only make an 81st of the step. If the step of one worker
# was as large as possible, not waiting gains nothing. Asynchronous training still helps, because
# the step is rarely that large: far from the minimum, the noise of small batches asks for small
# steps anyway.
#
# ## 3. Not too far ahead · *intermediate*
#
# A compromise puts a bound on the staleness. The server answers a worker at once, unless this
# worker is more than `bound` steps ahead of the slowest one. Then its answer waits. With bound 0
# every worker waits for all others; with an infinite bound no worker waits. Here is the worker's
# side. It computes (here it works for `seconds`), sends an update, and waits for the weights. The
# update adds 1 to the worker's own entry. So the weights that come back say how many steps each
# worker had made.


# %%
def work(comm, weights, seconds):
    update, seen = np.zeros(len(weights)), []
    update[comm.rank] = 1
    for pause in seconds:
        comm.work(seconds=pause)
        comm.send(update, 0)
        comm.recv(weights, 0)
        seen.append(weights.copy())
    return seen


# %% [markdown]
# **Exercise.** Write the server, rank 0. It receives an update from any worker (`recv` from `ANY`
# returns the worker's rank), adds it to `weights` in place, and counts. Then it answers, by
# sending `weights`, all waiting workers that are at most `bound` steps ahead of the slowest
# worker. One update may free several of them. Each worker makes `len(seconds)` steps. The cell
# after yours shows your server and three simulated workers, of which rank 3 is slow. Press *play*.


# %% name="14.bounded" tags=["answer"]
def bounded(comm, weights, seconds, bound):
    """Rank 0 adds up updates; a worker over `bound` steps ahead of the slowest waits."""
    if comm.rank > 0:
        return work(comm, weights, seconds)
    clocks = np.zeros(comm.size, int)  # steps that each worker has made; clocks[0] stays 0
    waiting = []
    ### BEGIN SOLUTION
    update = np.empty_like(weights)
    for _ in range(len(seconds) * (comm.size - 1)):
        worker = comm.recv(update, ANY)
        weights += update
        clocks[worker] += 1
        waiting.append(worker)
        slowest = clocks[1:].min()
        for other in list(waiting):
            if clocks[other] - slowest <= bound:
                comm.send(weights, other)
                waiting.remove(other)
    ### END SOLUTION


# %%
from ddl_class import animate

slow = {"network": fast, "machine": Machine(stragglers={3: 4.0})}
run = simulate(bounded, 4, weights=np.zeros(4), seconds=[5e-3] * 6, bound=2, **slow)
animate(run)

# %% name="14.bounded" tags=["check"]
check("14.bounded", bounded)
### BEGIN HIDDEN TESTS
judge("14.bounded", bounded, ranks=(6, 7, 12), seed=142)
### END HIDDEN TESTS

# %% [markdown]
# In the picture of a right answer the others get two steps ahead of rank 3, and then wait for it.
#
# The library has a definition of each way to train on one screen, for reading. When your answer is
# right, the next cell shows it, folded. Click on the line to unfold it.

# %%
from ddl_class import definition

definition("stale_synchronous")

# %% [markdown]
# ## 4. Hundreds of workers · *intermediate*
#
# There are two kinds of delays. Delays of the *first* kind pass: each worker is late now and then.
# Let every gradient take a random time, exponentially distributed with mean 10 ms. To wait for all
# $P$ workers takes $H_P = 1 + \frac12 + \ldots + \frac1P$ times the mean. To wait for all but the
# last $b$ takes $H_P - H_b$ times the mean: those $b$ are **backup workers**. For a bound there is
# no formula, so 256 workers are simulated.

# %%
from ddl_teach.theory import stragglers
from ddl_teach.training.consistency.asynchronous import inverse
from ddl_teach.training.consistency.backup_workers import BackupWorkers
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous


def ends(consistency, pace, steps):
    given = bowl | {"consistency": consistency, "pace": pace, "steps": steps, "trace": False}
    fast = [worker.seconds for worker in simulate(train, 257, **given).results[2:]]
    return np.median([each for each in fast if len(each) == steps], axis=0)  # none was dropped


# %%
ways = (Synchronous(), BackupWorkers(8), StaleSynchronous(4), Asynchronous())
paces = {type(when).__name__: np.diff(ends(when, ByChance(0.01), 4)).mean() for when in ways}
print(*(f"{name}: {pace * 1e3:.1f} ms a step" for name, pace in paces.items()), sep="\n")
both = [stragglers.slowest(256, 0.01), stragglers.slowest(248, 0.01, 8)]  # the first two
assert np.allclose(list(paces.values())[:2], both, rtol=0.25)

# %% [markdown]
# To wait for all of 256 makes a step five or six times as long as a gradient. Eight backup
# workers, whose gradients are thrown away, save more than a third of that. A bound of a few steps
# saves more still, and loses no gradient: a late worker catches up before any other has to stop.
#
# Delays of the *second* kind stay: a *persistent* straggler. Let worker 0 always take five times
# as long as the others. A fast worker that may be $s$ steps ahead makes its $n$-th step at the
# time $\max(n\,t_\text{fast},\; (n-1-s)\,t_\text{slow} + t_\text{fast})$.

# %%
bounds = {0: Synchronous(), 2: StaleSynchronous(2), 99: Asynchronous()}
slow = OneSlow(0.01, times=5)
curves = {f"bound {bound}": ends(when, slow, 6) for bound, when in bounds.items()}
for bound, curve in zip(bounds, curves.values(), strict=True):
    assert np.isclose(curve[-1], stragglers.bounded_time(6, bound, 0.01, 0.05), rtol=0.02)
reveal("14.straggler", stragglers.bounded_time(400, 16, 0.01, 0.05) / (400 * 0.01))
curves["no bound"] = curves.pop("bound 99")
staleness.plot_paces(curves)

# %% [markdown]
# Every line with a bound bends at some step, and from there on has the slope of the slow worker.
# The bound only says when: $s\,t_\text{slow}/(t_\text{slow}-t_\text{fast})$ steps after the first,
# so with bound 0 at once. **No finite bound cures a persistent straggler**: in the end 256 workers
# go at the pace of one. Without a bound the others are free, and the slow worker's gradients are
# five times as stale. Or the slow worker gets less to do.
#
# ## 5. Your own ranks · *intermediate*
#
# How stale do gradients get on your machine? Engine 0 is the server, the other three are workers.
# They sleep two milliseconds for each gradient, as a processor does whose accelerator computes.
# Then the third worker sleeps ten.
#
# And the stable step? `stable_limit` of the library tries learning rates on a parabola. It returns
# the largest rate with which the weight stays small. Here the workers share their weights without
# a lock (section 6), and see the updates of all others. The line is the formula, squares are
# simulated ranks, dots are your engines.


# %%
from ddl_teach.training.stability import stable_limit

even, slow = Even(0.002), OneSlow(0.002, times=5, worker=2)
given = bowl | {"steps": 40}
runs = {
    "even": engines.run(train, consistency=Asynchronous(), pace=even, **given),
    "one slow": engines.run(train, consistency=Asynchronous(), pace=slow, **given),
    "bounded": engines.run(train, consistency=StaleSynchronous(3), pace=slow, **given),
}
staleness.plot_ages({name: run.results[0].report.staleness for name, run in runs.items()})

# %%
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.distribution.shared_vector import SharedVector

free = {"consistency": Hogwild(), "distribution": SharedVector()}
free |= {"steps": 28, "pace": even, "trace": False, "strict": False}
ideal = [simulate(stable_limit, n, network=TwoLevel(n), **free) for n in (1, 2, 4, 8)]
real = [engines.run(stable_limit, n, **free) for n in (2, 3, 4)]
limits = ([run.results[0] for run in some] for some in (ideal, real))
points = [np.transpose([(np.mean(limit.ages), limit.rate) for limit in some]) for some in limits]
staleness.plot_stable_steps(theory.stable_rate, *points)

# %% [markdown]
# Workers that are equally fast take turns: if your machine does little else, most gradients are
# two updates old. The slow worker sends few gradients, and they are much older: the tail on the
# right. The bound cuts the tail off, and makes the others wait. (On a busy machine every worker is
# late now and then. Then the three runs look alike, and there is no tail.)
#
# In the second picture the squares lie on the line. The dots lie on it or above: your workers'
# gradients are not all equally old, and mixed ages allow larger steps than equal ones
# (`theory.stable_step` computes it from a histogram). So the formula holds on real ranks too,
# where no rank waits.
#
# What can be done? Divide: a gradient that is $\tau$ steps old is applied with $1/\tau$ of the
# rate. With these **staleness-aware steps** (Zhang and others, 2016) a rate that was chosen for
# one worker stays stable. Sixteen workers learn to read digits:

# %%
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits

digits = {"task": Digits(), "distribution": Server(), "update": SGD(0.3), "steps": 30}
digits["pace"] = even
for name, damp in {"the same rate": None, "rate / staleness": inverse}.items():
    when = {"consistency": Asynchronous(damp=damp), "trace": False}
    learnt = simulate(train, 17, **(digits | when)).results[1].weights
    print(f"{name:16} {Digits().accuracy(learnt):.1%} of the digits are read rightly")
assert Digits().accuracy(learnt) > 0.8

# %% [markdown]
# ## 6. Without a lock · *advanced*
#
# On one machine there need be no server. All workers have the weights in common memory. They read
# the weights at any time, and write when they have a gradient. With a lock the workers would wait
# for each other. **HOGWILD** (Recht and others, 2011) takes no lock. What can happen between a
# read and a write?
#
# **Exercise.** Replay it. `events` is a list such as `[(0, "read"), (1, "read"), (0, "write"), (1,
# "write")]`. When a worker reads, it copies the weights as they are. When it writes, it subtracts
# `step` times the gradient at its *copy*. The loss is $w^2/2$, so the gradient is the copy itself.
# Return two things: the weights, an array that you may change in place, and a list with the age of
# each write. The age is how many writes there were since that worker read.


# %% name="14.lockfree" tags=["answer"]
def lock_free(weights, step, events):
    """A write subtracts step * what its worker read last. Return weights, [age of each write]."""
    copies, ages = {}, []
    ### BEGIN SOLUTION
    for worker, verb in events:
        if verb == "read":
            copies[worker] = weights.copy(), len(ages)
        else:
            seen, writes = copies[worker]
            ages.append(len(ages) - writes)
            weights -= step * seen
    return weights, ages
    ### END SOLUTION


# %% name="14.lockfree" tags=["check"]
check("14.lockfree", lock_free)
### BEGIN HIDDEN TESTS
judge("14.lockfree", lock_free, seed=143)
### END HIDDEN TESTS

# %% [markdown]
# The gradient is old, and that is all. What others wrote is not lost, because a write *adds* to
# the weights and does not replace them. (If two workers add to the same number in the same
# nanosecond, one addition can still be lost.) Try it on your engines. Each of them adds 1 to 1,000
# numbers in common memory, 150 times: once by adding, once by writing back what it had read plus
# 1.

# %% tags=["nbval-ignore-output"]
from ddl_teach.training.consistency.lost_updates import lost_share

lost = [engines.run(lost_share, write_back=way, strict=False).results[0] for way in (False, True)]
print(f"lost: {lost[0]:.2%} of what was added, {lost[1]:.0%} of what was written back")
assert lost[0] < lost[1]

# %% [markdown]
# What each worker runs fits on one screen. There a gradient touches few of the weights:

# %%
definition("hogwild")

# %% [markdown]
# ## 7. Now and then · *beginner*
#
# So far the ranks saved *waiting*. They can also save *messages*: each rank makes a few steps of
# its own, then all average their weights. That is **local SGD**. Where the ranks are telephones it
# is called federated averaging. The next cell has two helpers. `average` puts the mean over all
# ranks into its vector, and returns nothing; all ranks must call it. `gradient` returns the
# gradient of one sample of a linear fit, $\frac12 (x\cdot w - y)^2$.
#
# **Exercise.** A warm-up of three minutes. Make a step for each of the `inputs` and `answers`,
# from this rank's own weights.
# After every `period` steps, and after the last one, average the *weights*, in place.


# %%
def average(comm, vector):
    parts, right = [vector.copy()], (comm.rank + 1) % comm.size
    for _ in range(comm.size - 1):
        parts.append(np.empty_like(vector))
        comm.sendrecv(parts[-2], right, parts[-1], (comm.rank - 1) % comm.size)
    vector[...] = sum(parts[comm.rank - rank] for rank in range(comm.size)) / comm.size


def gradient(weights, x, y):
    return (x @ weights - y) * x


# %% name="14.local" tags=["answer"]
def local(comm, weights, inputs, answers, rate, period):
    """Steps of one's own; the mean of all weights after each `period` steps and the last."""
    ### BEGIN SOLUTION
    for step, (x, y) in enumerate(zip(inputs, answers, strict=True), start=1):
        weights -= rate * gradient(weights, x, y)
        if step % period == 0 or step == len(inputs):
            average(comm, weights)
    ### END SOLUTION


# %% name="14.local" tags=["check"]
check("14.local", local)
### BEGIN HIDDEN TESTS
judge("14.local", local, ranks=(6, 7, 12), seed=144)
### END HIDDEN TESTS

# %% [markdown]
# When your answer is right, the next cell shows the library's definition on one screen, folded.
# Click on the line to unfold it.

# %%
from ddl_class import definition

definition("local_sgd")

# %% [markdown]
# ## 8. On springs · *intermediate*
#
# Or the ranks never agree fully. In **elastic averaging** (Zhang, Choromanska and LeCun, 2015) a
# spring of strength $\alpha$ pulls every rank $i$ to a common centre $c$, and the centre to the
# ranks:
#
# $$w_i \leftarrow w_i - r\,g_i(w_i) - \alpha\,(w_i - c),\qquad
# c \leftarrow c + \alpha \sum_i (w_i - c).$$
#
# On the right sides all $w_i$ and $c$ are those before the step. Each rank explores on its own.
# The centre is the result that is kept.
#
# **Exercise.** A warm-up of three minutes: five lines to order. Every rank has a copy of the
# `centre`; the function changes the centre and the `weights` in place. The lines stand below,
# sorted by the alphabet, and two of them belong nowhere: put the others in order. *Ctrl+/* makes
# code of comments, *Alt+↑* and *Alt+↓* move lines.


# %% name="14.elastic" tags=["answer"]
def elastic(comm, weights, centre, inputs, answers, rate, spring):
    """w -= rate * g(w) + spring * (w - c); c += spring * sum over ranks of (w - c)."""
    ### BEGIN SOLUTION
    for x, y in zip(inputs, answers, strict=True):
        slope, gap = gradient(weights, x, y), weights - centre
        weights -= rate * slope + spring * gap
        average(comm, gap)
        centre += spring * comm.size * gap
    ### END SOLUTION


# %% name="14.elastic" tags=["check"]
check("14.elastic", elastic)
### BEGIN HIDDEN TESTS
judge("14.elastic", elastic, ranks=(6, 7, 12), seed=145)
### END HIDDEN TESTS

# %% [markdown]
# In the paper a server keeps the centre. A worker waits there only for its own answer. So it is in
# the definition on one screen:

# %%
definition("elastic_averaging")

# %% [markdown]
# ## 9. Which is best? · *beginner*
#
# That depends on what you count. Your engines learn the digits in four ways, and one worker always
# takes five times as long as the others. A comparison is fair if each way is shown at its best
# (unit 18). So each way gets the same five rates and the same three seeds, on simulated ranks, and
# 40 steps for each worker. Your engines then take the rate with the smallest mean loss at the end.

# %%
from functools import partial

from ddl_teach.training.consistency.elastic import Elastic
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits

# %%
RATES, pace = (0.1, 0.2, 0.4, 0.8, 1.6), OneSlow(0.002, times=5, worker=2)
four = {
    "synchronous": {"consistency": Synchronous(), "distribution": AllReduce()},
    "local (8 steps)": {"consistency": LocalSGD(8), "distribution": AllReduce()},
    "elastic (8 steps)": {"consistency": Elastic(8), "distribution": AllReduce()},
    "asynchronous": {"consistency": Asynchronous(), "distribution": Server()},
}

# %% [markdown]
# The workers keep records of three trainings: losses, seconds, bytes. `learn` returns their means.


# %%
def learn(run, way, rate):
    diaries, common = [], {"steps": 40, "pace": pace, "update": SGD(rate), "strict": False} | way
    for seed in range(3):
        ranks = run(train, 4, task=Digits(seed=seed), **common).results
        diaries += [(w.losses, w.seconds, w.bytes) for w in ranks if w.weights is not None]
    return staleness.mean_curve(diaries, epochs_a_step=16 * len(diaries) / 3 / 1438)


# %%
untraced = partial(simulate, trace=False)
last = {name: [learn(untraced, way, r).losses[-1] for r in RATES] for name, way in four.items()}
best = {name: RATES[int(np.argmin(ends))] for name, ends in last.items()}
print("rate" + " " * 16, *(f"{rate:6}" for rate in RATES))
for name, ends in last.items():
    print(f"{name:20}", *(f"{end:6.2f}" for end in ends))
assert {*best.values()}.isdisjoint({RATES[0], RATES[-1]})  # no best rate lies at the grid's edge

# %% [markdown]
# A rate that suits one way is too large for another: what is best for synchronous steps is too
# much for all others. Now each way learns on your engines at its best rate, with the same three
# seeds. The same losses are drawn against epochs (how often all pictures have been seen), seconds,
# and bytes.

# %%
engines.run(lambda comm: Digits().initial(), timeout=60)  # loads the pictures
patient = partial(engines.run, timeout=60)
curves = {name: learn(patient, way, best[name]) for name, way in four.items()}
staleness.plot_losses(curves)

# %% [markdown]
# In epochs the asynchronous run leads, although its gradients are old. It makes a step with each
# of them, where the others average four gradients into one step. Ranks that agree only after eight
# steps lag behind the synchronous ones, because their weights drift apart in between. In seconds
# the ways that do not wait for the slow worker lead. (On a busy machine each message waits for a
# core, too. Then the ways with few messages may lead.) In bytes the ways with few messages lead.
# So each of the three pictures, shown alone, would give another answer.
#
# The notebook `14_working_in_rounds` goes on from here: rounds that become shorter, rounds with a
# momentum, rounds for workers whose data differ, and a puzzle, a training against time.
#
# ## 10. What others use · *intermediate*
#
# `torch.distributed` has an averager of weights, which is called after every step. The next cell
# fits the same samples with it as you did in section 7, on two of your engines over gloo. In short
# (all of it: `ddl_class/notebook/beside_torch.py`):
#
# ```python
# averager = PeriodicModelAverager(period, warmup_steps=period - 1)
# ...                                          # and after each step of one's own:
# averager.average_parameters([weights])
# ```
#
# In the first `warmup_steps` it averages nothing, because there `DistributedDataParallel` still
# averages gradients (this is *post-local* SGD). After them it averages at once, and then after
# each `period` steps.

# %%
from ddl_class.notebook import beside_torch

my_local = yours("14.local", local, beside_torch.local_by_hand)
ours, theirs = engines.run(beside_torch.local_fits, 2, local=my_local, timeout=60).results[0]
assert np.allclose(ours, theirs)

# %% [markdown]
# The same weights, to the last digits. Side by side:
#
# | here | elsewhere |
# |---|---|
# | `Synchronous()` | torch's `DistributedDataParallel`; nearly all large trainings |
# | `LocalSGD(8)` | `PeriodicModelAverager(period=8)`, as above |
# | `PostLocalSGD(...)` | `PostLocalSGDOptimizer`, and `post_localSGD_hook` before the switch |
# | `Hogwild()` | `model.share_memory()`, then `torch.multiprocessing` processes that train it |
# | `Asynchronous()`, `StaleSynchronous()` | parameter servers: TensorFlow's, for recommendations |
# | `LocalSGD`, on telephones | federated learning |
#
# Large models are trained synchronously today: machines are alike, networks fast, and a run that
# can be repeated is worth more than a little waiting. The other ways are used where workers
# differ, where they come and go, or where a slow network joins them.
#
# ## What you said
#
# Your predictions of this unit, beside what was computed.

# %%
from ddl_class import predictions

predictions("14")

# %% [markdown]
# ## Three questions
#
# **1.** Twice the workers of an asynchronous run give twice the gradients per second. When does
# that make training faster?
#
# <details><summary>An answer</summary>
#
# As long as the rate that the noise of the batches asks for is below the stable one. Each doubling
# of the workers halves the stable rate. Once the stable rate is the smaller of the two, there are
# twice the gradients, and each goes half as far: nothing is gained.
#
# </details>
#
# **2.** Why does a bound help against delays that reach each worker now and then, but not against
# one worker that is always slow?
#
# <details><summary>An answer</summary>
#
# Delays by chance average out: a worker that is behind now is ahead later, and the bound is seldom
# reached. A slow worker falls behind further with each step, until the bound is reached. From then
# on the others make one step for each step of the slow worker.
#
# </details>
#
# **3.** Local SGD with a period of one is synchronous SGD. With momentum too? With Adam?
#
# <details><summary>An answer</summary>
#
# With momentum it is: velocities are linear in the gradients, so the mean of the weights is what
# the mean gradient would have given. With Adam it is not. Adam divides by the square root of *its
# own* squares, and the mean of quotients is not the quotient of means.
#
# </details>
#
# ## Where to read on
#
# - B. Recht et al., "HOGWILD!: a lock-free approach to parallelizing stochastic gradient descent",
#   *NIPS*, 2011.
# - Q. Ho et al., "More effective distributed ML via a stale synchronous parallel parameter
#   server", *NIPS*, 2013.
# - J. Chen et al., "Revisiting distributed synchronous SGD", 2016: backup workers.
# - W. Zhang et al., "Staleness-aware async-SGD for distributed deep learning", *IJCAI*, 2016.
# - S. Zhang, A. Choromanska and Y. LeCun, "Deep learning with elastic averaging SGD",
#   *NIPS*, 2015.
# - I. Mitliagkas et al., "Asynchrony begets momentum", 2016: old gradients act as a momentum.
# - S. Levin and R. May, "A note on difference-delay equations", 1976: the formula, found for
#   animals.
# - K. Mishchenko, F. Bach, M. Even and B. Woodworth, "Asynchronous SGD beats minibatch SGD under
#   arbitrary delays", *NeurIPS*, 2022: with steps that shrink with the delay, the number of
#   workers counts, and not how late the latest is.
# - G. Begunov and A. Tyurin, "Do we need asynchronous SGD? On the near-optimality of synchronous
#   methods", 2026: the other side. A synchronous step may go on without the slowest workers, as
#   with our backup workers. In many cases this is nearly as good as anything can be.
#
# The library's ways stand in `ddl_teach/training/consistency`, one a file. `progress()` shows how
# far you have come, and `review()` asks short questions. Unit 15 asks along which paths the
# updates travel.
