# %% [markdown]
# # Searching in parallel
#
# **How do a thousand runs at once become one good network?**
#
# A good learning rate is not known beforehand. So we try several rates, and each try is a whole
# training. The tries do not depend on each other, so they are easy to run in parallel. Such a
# *search* can fill a cluster of any size. But if every try is trained to its end, nearly all of
# the work is wasted. A search that stops bad tries early must compare them, and to compare them it
# must wait.
#
# In this unit you write a search that stops early, and a second one that never waits. You find out
# when each of them is better. Then networks copy each other's weights, have children, vote
# together and teach each other. You need units 06 and 08. *Beginners* take sections 1 to 5,
# *intermediate* readers all but sections 8 and 9, *advanced* ones everything. About two hours.
#
# ## 1. Twenty-seven tries · *beginner*
#
# A *trial* is one choice of settings. Here the settings are a learning rate and a momentum, drawn
# at random from a *space*. Rates are drawn by their logarithm, because they range from 0.0003 up
# to 1. Each trial trains a small network with 32 hidden units on handwritten digits. Some pictures
# are held out, and the trials are compared on them: the **validation part**. Another part, the
# **test part**, is not used before the end.
#
# `training(settings, state, steps, seed)` continues from a state (`None` at the start) for the
# given number of further steps. It returns the new state and the loss on the validation part. The
# picture shows losses above 10 as 10.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots import searching as pictures
from ddl_teach.search.space import LogUniform, Space, UniformNumber
from ddl_teach.search.training import DigitsTraining, advanced

engines = Engines(5)

# %%
space = Space({"rate": LogUniform(3e-4, 1.0), "momentum": UniformNumber(0.0, 0.95)})
training, rungs, curves = DigitsTraining(), (5, 15, 45, 135), np.empty((27, 4))
for trial in range(27):
    state = None
    for rung, steps in enumerate(rungs):  # so many more
        state, loss = training(space.sample(0, trial), state, steps, seed=0)
        curves[trial, rung] = min(loss, 10.0) if np.isfinite(loss) else 10.0
trained = np.cumsum(rungs)
pictures.plot_curves(trained, curves)

# %% [markdown]
# Look at the left edge. After five steps it is not clear which trial will be the best. But many
# trials that will not be the best are already clear.
#
# **Exercise.** A warm-up of three minutes. Trials do not depend on each other, so they wait in a
# list, and a free worker takes the next one. When is the last trial done? The lines stand below,
# sorted by the alphabet, and two of them belong nowhere: put the others in order. *Ctrl+/* makes
# code of comments, *Alt+↑* and *Alt+↓* move lines, *Tab* indents the selected lines.


# %% name="17.workers" tags=["answer"]
def last_done(seconds, workers):
    """When the last of the trials is done; each takes its seconds, on one of so many workers."""
    ### BEGIN SOLUTION
    free = [0.0] * workers
    for own in seconds:
        first = free.index(min(free))
        free[first] += own
    return max(free)
    ### END SOLUTION


# %% name="17.workers" tags=["check"]
check("17.workers", last_done)
### BEGIN HIDDEN TESTS
judge("17.workers", last_done, seed=177)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. Successive halving · *beginner*
#
# The idea: train all trials for a short time and keep the best third. Train those three times as
# long, keep the best third of them, and so on. This is **successive halving** (it has this name
# although we keep a third, $\eta = 3$, and not a half). Each round is called a *rung*, like a step
# of a ladder. With $n$ trials and $r$ steps in the first rung, rung $k$ trains $n/\eta^k$ trials
# for $r\,\eta^k$ more steps. So every rung costs the same:
#
# $$\frac{n}{\eta^k}\cdot r\,\eta^k = n\,r .$$
#
# **Exercise.** `curves[trial, rung]` is the loss of a trial after that rung. Return a list with
# the trials of each rung. Rung 0 trains all trials. Each next rung trains the best `len(...) //
# eta` of the rung before, but at least one. A stopped trial is not trained further, so use only
# losses of trials that were trained in that rung. If two losses are equal, the trial with the
# lower number goes on.


# %% name="17.halving" tags=["answer"]
def halving(curves, eta):
    """The trials of each rung, as a list for each column of curves: [all, the best 1/eta, ...]."""
    ### BEGIN SOLUTION
    trained = [list(range(len(curves)))]
    for losses in curves.T[:-1]:
        ranked = sorted(trained[-1], key=lambda trial: losses[trial])
        trained.append(ranked[: max(1, len(ranked) // eta)])
    return trained
    ### END SOLUTION


# %% name="17.halving" tags=["check"]
check("17.halving", halving)
### BEGIN HIDDEN TESTS
judge("17.halving", halving, seed=171)
### END HIDDEN TESTS

# %%
kept = halving(curves, 3)
costs = [len(trials) * steps for trials, steps in zip(kept, rungs, strict=True)]
print("trials:", *map(len, kept), " steps of each rung:", *costs)
assert len(set(costs)) == 1
pictures.plot_curves(trained, curves, kept)

# %% [markdown]
# The dotted parts did not have to be computed. In the library a search has two parts. A *decider*,
# such as `SuccessiveHalving`, chooses the jobs and receives the losses; it knows nothing about
# workers. A *driver* brings jobs to workers; it knows nothing about losses. So every search runs
# on simulated ranks, on engines and on a cluster.
#
# ## 3. A search that never waits · *beginner*
#
# Why must a rung be complete before a trial may go on? Because only then "the best third" is
# known. But a trial in the best third of those that have finished *so far* will probably be in the
# best third at the end. So a free worker asks: is there, in any rung, a trial among the best
# $\lfloor\text{finished}/\eta\rfloor$ that was not promoted yet? If yes, the worker trains this
# trial in the next rung. If not, it begins a new trial. There is always something to do. This is
# **asynchronous halving** (Li and others, 2020).
#
# **Exercise.** `finished[rung]` is a dict from trial to loss. It holds all trials that have
# finished this rung. `promoted[rung]` lists the trials that were already promoted from this rung.
# Return the trial to train next and the rung in which to train it, or `None`. Look at the highest
# rung first, because a trial that is nearly done is worth most. No trial is promoted from the last
# rung. If two losses are equal, the trial with the lower number goes first.


# %% name="17.promote" tags=["answer"]
def promote(finished, promoted, eta):
    """(trial, its next rung) for the best that may go on; None if none may."""
    ### BEGIN SOLUTION
    for rung in reversed(range(len(finished) - 1)):
        losses = finished[rung]
        ranked = sorted(losses, key=lambda trial: (losses[trial], trial))
        for trial in ranked[: len(ranked) // eta]:
            if trial not in promoted[rung]:
                return trial, rung + 1
    return None
    ### END SOLUTION


# %% name="17.promote" tags=["check"]
check("17.promote", promote)
### BEGIN HIDDEN TESTS
judge("17.promote", promote, seed=172)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. A thousand workers · *beginner*
#
# What does waiting cost? A rung on $W$ workers is over when its *last* job is over. If all jobs
# take equally long, and there are enough jobs, no worker waits. But run times differ: one network
# is wider than another, one machine is shared, one disk is slow. Let the run times be
# exponentially distributed with a mean of $s$ seconds. Then a rung of $n$ jobs ($n \ge W$) takes
#
# $$s\left(\frac nW - 1 + H_W\right),\qquad H_W = 1 + \frac12 + \dots + \frac1W \approx \ln W +
# 0.58.$$
#
# First all workers work until the list is empty. Then all wait for the slowest of the last $W$
# jobs.
#
# ### Predict
#
# A thousand workers have 3,000 trials to train for one second each, on average. Then they train
# the best 1,000 for three more seconds each. For which share of the time do the workers work?
#
# A second question is about luck, for section 5. Train *one* setting with 30 random seeds, and
# take the run with the fewest errors on the validation part. How many percent fewer errors does it
# make there than the middle one?
#
# Answer both in the next cell. The cells after it show the same kind of search with eight workers:
# first synchronous, then asynchronous with your rule. `by_ranks.search` is a rank program: rank 0
# gives out the jobs, the others train. On simulated ranks nothing has to be computed. What counts
# is how long a job takes, its *pace*. So the losses on the left are invented. On the right you see
# which worker trained which trial, and when.

# %%
predict("17.busy", ...)
predict("17.seeds", ...)

# %%
from ddl_class.plots.search import plot_search
from ddl_measure.experiments.searches import PLAN, Pace, compared, pretended, told
from ddl_teach.search import by_ranks
from ddl_teach.search.deciders.asynchronous_halving import AsynchronousHalving
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving

mine = {"promote": yours("17.promote", promote, None)}
own = AsynchronousHalving(budget=48, **(PLAN | mine))

# %%
for search in SuccessiveHalving(trials=24, **PLAN), own:
    given = {"training": pretended, "decider": search, "pace": Pace(differ=True)}
    display(plot_search(simulate(by_ranks.search, 9, **given).results[0].records))

# %% [markdown]
# White is waiting. The synchronous search waits twice for its slowest job, and the second time the
# jobs are three times as long. The asynchronous search has no gaps until its budget is used up.
#
# How much is that worth? A fair measure is the time until *the same number of trials has been
# trained to the end*: $W$ trials by $W$ workers. Without any waiting and any useless work this
# would take 6 seconds. `compared` says how many times as long both searches take. The first cell
# simulates them with up to a thousand workers, with equal and with different run times. This takes
# a while. The second cell runs the same program on your engines, where two or four work. There a
# job only sleeps, and a *second* is 15 milliseconds. The run times are drawn from the same seeds.
# So dots (measured) should lie on squares (simulated); on a busy machine they lie above. Lines are
# the formula.

# %%
simulated = compared(simulate, Pace(differ=False), [2, 4, 16])
simulated |= compared(simulate, Pace(differ=True), [2, 4, 16, 64, 1000])
reveal("17.busy", 100 / simulated["halving, times differ"][1][-1])
assert simulated["asynchronous, times equal"][1][-1] > 4 / 3  # a quarter of it was in vain

# %%
measured, lines = {}, {}
for differ in (False, True):
    measured |= compared(engines.run, Pace(differ, second=0.015), [2, 4])
    lines |= told(Pace(differ), [2**power for power in range(11)])
pictures.plot_waiting(lines, simulated, measured)

# %% [markdown]
# ### The surprise
#
# This is the easiest parallelism of all, and yet a thousand machines wait for four fifths of the
# time. **Asynchronous search wins when run times differ. It loses when they are equal**, if every
# rung has a job for each worker. With equal run times no worker waits anyway. But early promotion
# has a price. It promotes some trials that a complete rung would not have chosen, and it begins
# new trials that are not needed. With sixteen workers more than a quarter of the work is useless.
# With different run times the synchronous search waits for the slowest of $W$ jobs again and
# again, and more workers make this worse. For the asynchronous search the number of workers hardly
# matters.
#
# So before you choose, measure how much your run times differ, and count the jobs of your last
# rung. If that rung has fewer jobs than there are workers, some workers are idle. Then the
# asynchronous search was faster with equal run times, too (`benchmarks/results/searches.txt`). (A
# square is the mean of only one to four searches, so it may lie beside its line.)
#
# ## 5. A search you can watch, and what it cost · *beginner*
#
# Now a real search: real trainings, whose run times differ because the networks differ. In the
# first cell ipyparallel's load-balanced view gives jobs to the engines, and your rule promotes
# trials. The picture grows while the search runs. With `journal="some folder"` you may interrupt
# the search or even lose the notebook: the same call then continues where the search was, and
# repeats nothing.
#
# "Our network trains in one second." That is true, but after how many runs? The report below the
# picture lists all of them: also stopped runs, crashed runs, and the seconds of all workers
# together. **To leave out the runs that found the settings** is the third way in a talk by Torsten
# Hoefler. (It is *Twelve ways to fool the masses when reporting performance of deep learning
# workloads*, 2018.) It hides the cost. It also hides luck: the second cell makes thirty runs of
# *one* setting, which differ only in their seeds.

# %%
from ddl_class.engines import by_view
from ddl_class.notebook.live_search import LiveSearch
from ddl_teach.search.space import Choice
from ddl_teach.training.tasks.digits import Digits

wide = Space(space.axes | {"hidden": Choice(8, 32, 128), "batch": Choice(8, 32, 128)})
decider = AsynchronousHalving(wide, budget=2700, rungs=3, eta=3, least=20, **mine)
view, live = engines.client.load_balanced_view(), LiveSearch(decider.planned)
report = by_view.search(view, training, decider, test=training.test, watch=live)
print(report)

# %%
runs = [training({"rate": 0.02}, None, 150, seed)[0] for seed in range(30)]
validated = [1 - Digits(validation=True).accuracy(state["weights"]) for state in runs]
assert min(validated) < 0.9 * np.median(validated)
reveal("17.seeds", 100 * (1 - min(validated) / np.median(validated)))
pictures.plot_luck(validated, [1 - training.test({}, state) for state in runs])

# %% [markdown]
# Suppose a paper shows the best run as "our method" and the middle run as "the other method". It
# has then proved that a method is far better than itself. On the test part, which played no role
# in the choice, the best run is one among the others. So do three things. State how many runs
# there were. Show the middle of several seeds. Use the test part once, with the winner only.
# `report` does the first and the last for you; running the seeds is your task.
#
# ## 6. Copy the best · *intermediate*
#
# Halving throws away what a stopped trial has learnt, and its settings never change. In
# **population-based training** (Jaderberg and others, 2017) all members train all the time. From
# time to time the worst members *exploit* the best: they copy weights and settings. Then they
# *explore*: they change the settings a little. This costs no more than training all members once.
# The result is not one rate but a *schedule* of rates. For ranks it is a nice small problem: there
# is no leader, and weights go directly from rank to rank.
#
# **Exercise.** The `pairs` ranks with the highest losses take over `weights` and `settings`, two
# arrays, from the `pairs` ranks with the lowest losses. They do so in place and exactly, to the
# last bit. Each of the best ranks gives to one of the worst. All other ranks keep theirs. Send
# weights only to ranks that need them. When your part begins, `add_up`, a small all-reduce, has
# given all losses to all ranks.


# %%
def add_up(comm, x):  # each rank sends to all others: `x` becomes the sum over all ranks
    me, size, parts = comm.rank, comm.size, [x.copy() for _ in range(comm.size)]
    for k in range(1, size):
        comm.sendrecv(x, (me + k) % size, parts[me - k], (me - k) % size)
    x[...] = sum(parts)


# %% name="17.exploit" tags=["answer"]
def exploit(comm, weights, settings, loss, pairs):
    """The worst ranks copy weights and settings of the best, in place."""
    losses = np.where(np.arange(comm.size) == comm.rank, loss, 0.0)
    add_up(comm, losses)  # now all ranks know all losses
    ### BEGIN SOLUTION
    order = np.argsort(losses, kind="stable")
    for good, bad in zip(order[:pairs], order[::-1], strict=False):
        for array in (weights, settings):
            if comm.rank == good:
                comm.send(array, bad)
            elif comm.rank == bad:
                comm.recv(array, good)
    ### END SOLUTION


# %% name="17.exploit" tags=["check"]
check("17.exploit", exploit)
### BEGIN HIDDEN TESTS
judge("17.exploit", exploit, ranks=(6, 7, 12), seed=173)
### END HIDDEN TESTS

# %% [markdown]
# The next cells train sixteen members on simulated ranks, and five on your engines. `mine` carries
# the rank together with the settings, so a copy shows where it comes from. To explore means to
# multiply each setting by 0.8 or 1.2.


# %%
def member(comm, exploit):
    settings, me, state, mine, story = space.sample(1, comm.rank), comm.rank, None, [comm.rank], []
    for age in range(10):
        state, loss = training(settings, state, 15, seed=0)
        story.append((loss, mine[-1], settings["rate"]))
        mine = np.array([*settings.values(), me])
        exploit(comm, state["weights"], mine, loss, comm.size // 4)
        if mine[-1] != me:  # explore
            settings = space.perturb(dict(zip(settings, mine.tolist(), strict=False)), me, age)
    return story


# %%
from ddl_class.plots.searching import plot_population

apart = simulate(member, 16, exploit=lambda *_: None).results
copying = simulate(member, 16, exploit=exploit).results
assert engines.run(member, exploit=exploit).results == simulate(member, 5, exploit=exploit).results
best, best_apart = (min(story[-1][0] for story in run) for run in (copying, apart))
print(f"the best of 16: {best_apart:.3f} if none copies, {best:.3f} if the worst do")
assert best < best_apart, "17.exploit is not right yet"
losses, parents, rates = np.transpose(copying, (2, 1, 0))
plot_population(losses, parents.astype(int), rates)

# %% [markdown]
# Both made the same number of steps. Real ranks end with the same numbers as simulated ranks, to
# the last bit, because it is the same program. Notice two things. First, most families end: at the
# end all members descend from one or two, and if these have learnt something bad, all have.
# Second, a copy begins where another member has been. So "the loss of this rate" no longer means
# much.
#
# ## 7. Evolution · *intermediate*
#
# What if we search for a network and not for a rate: how wide, how deep, what is connected with
# what? We cannot multiply a connection by 1.2, but a child can *inherit* it. A network is
# described by its *genes*, small whole numbers. Draw a few members of a population at random. Let
# the best of them have a child with one changed gene, and train the child. Which member leaves?
# Not the worst, but *the oldest*, even if it is good. A network that was lucky when it was
# scored leaves after a while. Only what is good again in children and grandchildren stays (Real
# and others, 2019).
#
# **Exercise.** `score[genes]` says how good a network is, and a higher score is better. It takes
# the place of a training. `population` is a list of tuples of genes, the oldest first. Each step
# has a tournament and a mutation. A tournament is a list of places in the population of that
# moment. A mutation is a pair `(place, value)`. In every step the best of the tournament is the
# parent. A copy of it, with gene `place` set to `value`, is added at the end, and the oldest
# leaves. Return the population after all steps, again with the oldest first.


# %% name="17.evolve" tags=["answer"]
def evolve(score, population, tournaments, mutations):
    """The population after all steps: the best of a few has a child, and the oldest leaves."""
    population = list(population)
    ### BEGIN SOLUTION
    for tournament, (place, value) in zip(tournaments, mutations, strict=True):
        parent = max((population[i] for i in tournament), key=lambda genes: score[genes])
        child = (*parent[:place], value, *parent[place + 1 :])
        population = [*population[1:], child]
    return population
    ### END SOLUTION


# %% name="17.evolve" tags=["check"]
check("17.evolve", evolve)
### BEGIN HIDDEN TESTS
judge("17.evolve", evolve, seed=174)
### END HIDDEN TESTS

# %%
from itertools import product

axes = {"hidden": (4, 8, 16, 32), "rate": (0.003, 0.01, 0.03, 0.1, 0.3),
        "batch": (4, 8, 16), "momentum": (0.0, 0.9)}  # fmt: skip
networks = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
losses = np.array([training(each, None, 40, seed=0)[1] for each in networks])
score = np.nan_to_num(np.exp(-losses)).reshape([len(values) for values in axes.values()])
print(f"{score.size} networks: the best {score.max():.2f}, the middle one {np.median(score):.2f}")

# %% [markdown]
# This space is so small that every network in it was trained. The score is the probability that
# the network gives to the right answer, as a geometric mean. Now the search may train only 24 of
# the 120: 8 at random and then 16 children. How good is the best network that it meets? One search
# would show mostly luck, so we make a thousand. Beside each we draw 24 networks at random.


# %%
ends, born = [], 16
for random in map(np.random.default_rng, range(1000)):
    drawn = [tuple(random.integers(score.shape).tolist()) for _ in range(8 + born)]
    cups = [random.permutation(8)[:3].tolist() for _ in range(born)]
    changes = [(g, int(random.integers(score.shape[g]))) for g in random.integers(4, size=born)]
    met = [it for n in range(born + 1) for it in evolve(score, drawn[:8], cups[:n], changes[:n])]
    ends.append([max(score[genes] for genes in each) for each in (met, drawn)])

# %%
assert ends, "17.evolve is not right yet"
bred, at_random = np.transpose(ends)
gap, error = np.mean(bred - at_random), 1.96 * np.std(bred - at_random) / len(ends) ** 0.5
print(f"the best met: {bred.mean():.3f} by evolution, {at_random.mean():.3f} at random")
print(f"ahead {np.mean(bred > at_random):.0%}, behind {np.mean(bred < at_random):.0%} of the time")
print(f"difference: {gap:+.3f}, 95% interval {gap - error:+.3f} to {gap + error:+.3f}")
assert abs(gap) < error, "17.evolve is not right yet"

# %% [markdown]
# A thousand searches cannot tell evolution from chance here: the interval of the difference
# contains 0. A single search shows mostly luck. Is that so for large networks, too? There random
# search with early stopping was at least as good as ENAS, a leading search, on both of two tasks
# (Li and Talwalkar, 2019). If you want to know more, the notebook `17_architectures` has evolution
# over convolutional cells, shared weights, a controller, and networks that *scale*. The algorithms
# stand in `ddl_teach/search/architectures`, one a file.
#
# ## 8. Ask all networks · *advanced*
#
# After a search there are many trained networks. Why keep only one? An **ensemble** takes the mean
# of its members' answers. If each rank has a network of its own, this is an all-reduce of a few
# numbers for each picture. But which numbers may we average? Not scores. Networks that were
# trained separately agree on the meaning of a probability of 0.9, but not on the meaning of a
# score of 5.
#
# **Exercise.** `scores` belongs to this rank: one row for each sample, one column for each class.
# Return the mean over the ranks of $e^{s_j}/\sum_k e^{s_k}$, the same on every rank. `add_up(comm,
# x)` of section 6 replaces `x` by its sum over the ranks. Scores may be large.


# %% name="17.ensemble" tags=["answer"]
def ensemble(comm, scores):
    """The mean over all ranks of softmax(scores), row by row."""
    ### BEGIN SOLUTION
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    likely = powers / powers.sum(axis=1, keepdims=True)
    add_up(comm, likely)
    return likely / comm.size
    ### END SOLUTION


# %% name="17.ensemble" tags=["check"]
check("17.ensemble", ensemble)
### BEGIN HIDDEN TESTS
judge("17.ensemble", ensemble, ranks=(6, 7, 12), seed=175)
### END HIDDEN TESTS

# %% [markdown]
# Five engines train a network each, with seeds of their own, and answer together. An all-reduce is
# cheap, so why not average the *weights* and keep one network? Look at the result. The last column
# is explained below.


# %%
def together(comm, members, ensemble, task):
    own = members[comm.rank]
    mean, matched = own.copy(), matched_mean(comm, task.network, [own]).mean
    add_up(comm, mean)
    said = ensemble(comm, task.network.forward(own, task.pictures.held_out)[1])
    right = np.mean(said.argmax(axis=1) == task.pictures.held_out_answers)
    rest = [task.accuracy(weights) for weights in (own, mean / comm.size, matched)]
    names = "ensemble", "one alone", "average", "matched average"
    return dict(zip(names, (right, *rest), strict=True))


# %%
def alone(comm):
    return training({"rate": 0.02}, None, 240, seed=comm.rank)[0]["weights"]


members = engines.run(alone, timeout=60).results

# %%
from ddl_class.plots.searching import plot_consolidated
from ddl_teach.search.consolidation.matching import matched_mean
from ddl_teach.training.optimizers.momentum import Momentum

run = engines.run(together, members=members, ensemble=ensemble, task=Digits(), timeout=60)
found = {name: [each[name] for each in run.results] for name in run.results[0]}
assert found["ensemble"][0] > found["matched average"][0] > found["average"][0]
plot_consolidated(found)

# %% [markdown]
# The ensemble is better than its members are on average. The network with averaged weights gets
# nearly half of the pictures wrong, although each of its parents is good. The reason: hidden units
# have no order. Unit 3 of one network may do what unit 17 of another does. Every order of the
# units gives a **twin**, a network that computes exactly the same function. So an average mixes
# units that have nothing in common. First *match* the units, each with the most similar one, by
# the Hungarian algorithm. Then the average is a good network again.
#
# ## 9. One network that learns from all · *advanced*
#
# An ensemble costs the work of all its members in every answer. **Distillation** lets one small
# student learn from it (Hinton, Vinyals and Dean, 2015). A label says "7". The teacher says "7, a
# little like 1, and not at all like 8". A temperature $T$ makes the small ones of these numbers
# visible. Let $q$ be the teacher's probabilities at that temperature. Let $s$ be the student's
# scores and $y$ the right answer. Then
#
# $$\ell = \text{soft}\cdot T^2\Big(-\sum_j q_j \log p_j(T)\Big) + (1 - \text{soft})\,
# \big(-\log p_y(1)\big),\qquad p(T) = \text{softmax}(s / T).$$
#
# **Exercise.** Return this loss, as a mean over the samples, and its gradient by the scores. The
# gradient of $-\sum q_j \log p_j(1)$ is $p(1) - q$. `softmax(scores, temperature)` is given.
# `teacher` has a row of $q$ for each sample; `answers` holds the numbers of the right classes.


# %% name="17.distil" tags=["answer"]
def softmax(scores, temperature=1.0):
    powers = np.exp((scores - scores.max(axis=1, keepdims=True)) / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def distil(scores, teacher, answers, temperature, soft):
    """The loss of a student with these scores, a mean over samples; and its gradient by them."""
    ### BEGIN SOLUTION
    right = np.eye(scores.shape[1])[answers]
    warm, cold = softmax(scores, temperature), softmax(scores)
    from_teacher = -np.sum(teacher * np.log(warm), axis=1).mean()
    from_answers = -np.sum(right * np.log(cold), axis=1).mean()
    loss = soft * temperature**2 * from_teacher + (1 - soft) * from_answers
    gradient = soft * temperature * (warm - teacher) + (1 - soft) * (cold - right)
    return loss, gradient / len(scores)
    ### END SOLUTION


# %% name="17.distil" tags=["check"]
check("17.distil", distil)
### BEGIN HIDDEN TESTS
judge("17.distil", distil, seed=176)
### END HIDDEN TESTS

# %% [markdown]
# The students have 8 hidden units, their teachers have 32. Each engine trains one student with a
# seed of its own. Some students learn from labels alone (soft = 0). Others learn from the ensemble
# alone (soft = 1) and never see a label. Both kinds try three learning rates.


# %%
def student(comm, distil, teacher, soft, rate):
    digits = Digits(batch=16, hidden=8, seed=comm.rank, validation=True)
    task = distillation.Distilled(digits, teacher, soft=soft, rule=distil)
    weights = advanced(task, Momentum(rate, 0.0), None, steps=400)["weights"]
    return Digits(hidden=8).accuracy(weights)


# %%
from ddl_teach.search.consolidation import distillation

learnt, network = Digits(validation=True).pictures.learnt, Digits().network
opinions = [softmax(network.forward(weights, learnt)[1], 3.0) for weights in members]
given = {"teacher": np.mean(opinions, axis=0), "timeout": 60}
given["distil"] = yours("17.distil", distil, distillation.loss)
found = {f"{name}, rate {rate}": engines.run(student, soft=soft, rate=rate, **given).results
         for name, soft in (("labels", 0.0), ("teacher", 1.0))
         for rate in (0.05, 0.1, 0.2)}  # fmt: skip
plot_consolidated(found)

# %% [markdown]
# At the lowest rate the students of the teacher are ahead. At the highest rate the students of the
# labels are ahead. The two losses are not equally steep, so each has its own best rate. If each
# side uses its best rate, hardly any difference is left. A report with only the lowest rate would
# have been impressive and false. To count all tries is not enough: give *both sides the same
# number of tries*.
#
# One result remains, and it is useful. At its best rate the teacher's students are as good as the
# others, although they have never seen a label. Pictures without labels are cheap.
#
# ## 10. A search against time · *intermediate*
#
# **A puzzle.** The machine is given: eight workers and 81 trials. A trial has four rungs, of 1, 3,
# 9 and 27 steps. Its losses stand in a table, so nothing has to be trained. A step takes some
# trials ten times as long as others. A free worker asks your rule for a job. The search ends when
# one of the best three trials of all 81 is trained to its end. Sixteen such searches are given,
# and their mean time counts.
#
# Asynchronous halving takes about 46 s. The goal is **32 s**. `losses[trial]` is the list of the
# losses of a trial so far, one for each rung, and `seconds[trial]` how long these rungs took. The
# trials in `busy` are in training. Return the trial that is trained in its next rung, or `None` if
# the worker is to wait. Look at a table first: how do losses go on after rung 0? The check says
# how long yours takes and how long the best takes that is known.

# %%
from ddl_class.exercises.unit_17.race import SEARCHES, race

for trial in range(6):
    print(f"trial {trial}: losses {SEARCHES[0].losses[trial]}, a step {SEARCHES[0].pace[trial]} s")


# %% name="17.race" tags=["answer"]
def next_job(losses, seconds, busy):
    """The trial that a free worker trains next, or None to wait."""
    ### BEGIN SOLUTION
    to_come, best, least = [0.6, 0.3, 0.0], None, np.inf
    for trial in range(len(losses)):
        rung = len(losses[trial])  # the next one
        if trial in busy or rung == 4:
            continue
        expected = 0.3
        if rung > 0:
            expected = losses[trial][-1] - to_come[rung - 1] + 0.3 * np.log(seconds[trial][0])
        if expected < least:
            best, least = trial, expected
    return best
    ### END SOLUTION


# %% name="17.race" tags=["check"]
check("17.race", next_job)
### BEGIN HIDDEN TESTS
judge("17.race", next_job, seed=1703)
### END HIDDEN TESTS

# %% [markdown]
# A rule that is good at these sixteen searches may be good at them by luck. So the check also
# tries a few that it draws. The best known was tuned to the given sixteen, and on others it is no
# better than a simple rule: section 5 again.
#
# ## 11. What production systems do · *intermediate*
#
# | here | elsewhere |
# |---|---|
# | `RandomSearch`, `Space` | Optuna's `RandomSampler` and `suggest_float(log=True)`, Ray Tune |
# | `SuccessiveHalving` | `HalvingRandomSearchCV`, and several at once Optuna's `HyperbandPruner` |
# | `AsynchronousHalving` | `ASHAScheduler` in Ray Tune, `SuccessiveHalvingPruner` in Optuna |
# | `train_population` | `PopulationBasedTraining` in Ray Tune |
# | `journal="folder"` | Optuna's storage: a database, or a journal file |
# | `by_view.search` | the same over Dask, Ray, Kubernetes, or arrays of Slurm jobs |
# | `distil` | `T * T * torch.nn.functional.kl_div(log_p, q, reduction="batchmean")` |
# | average of one training's weights | `torch.optim.swa_utils.AveragedModel` |
#
# None of them knows whether your run times differ. Optuna can also *learn* where to look (its TPE
# sampler). `benchmarks/searches.py` compares it with the searches here: the same space, the same
# budget, one run.
#
# ## What you said
#
# Your predictions of this unit, beside the results.

# %%
from ddl_class import predictions

predictions("17")

# %% [markdown]
# ## Three questions
#
# **1.** On your cluster all runs take the same time, to a percent. Which search do you take?
#
# <details><summary>An answer</summary>
#
# The synchronous one, if the sizes of its rungs are multiples of the number of workers. Then no
# worker waits, each promotion uses all that can be known, and the same seeds give the same search
# on any number of workers. If a rung has fewer jobs than there are workers, most workers are idle
# anyway, and something must fill the gaps. That can be a second halving beside the first (this is
# what Hyperband offers), or the asynchronous form.
#
# </details>
#
# **2.** You report an accuracy on the test part, and your search used the loss on the same part.
# How wrong is your number?
#
# <details><summary>An answer</summary>
#
# That can no longer be known, and this is the problem. It is wrong at least by the luck of section
# 5, which grows with the number of trials. There the best of thirty equal runs had some 20 to 50%
# fewer errors.
#
# </details>
#
# **3.** In population-based training only the *worst* members copy. Why do not all members copy
# the very best?
#
# <details><summary>An answer</summary>
#
# Then after one generation all members have the same weights. The search has one member with many
# rates, and what the others had learnt is lost. Early losses also say little: a member that learns
# fast at the beginning would always win. Slow copying keeps other possibilities alive.
#
# </details>
#
# ## Where to read on
#
# - L. Li et al., "A system for massively parallel hyperparameter tuning", *MLSys*, 2020: the
#   asynchronous halving.
# - K. Jamieson and A. Talwalkar, "Non-stochastic best arm identification and hyperparameter
#   optimization", *AISTATS*, 2016: halving.
# - L. Li et al., "Hyperband", *JMLR*, 2018.
# - J. Bergstra and Y. Bengio, "Random search for hyper-parameter optimization", *JMLR*, 2012.
# - M. Jaderberg et al., "Population based training of neural networks", 2017.
# - E. Real et al., "Regularized evolution for image classifier architecture search", *AAAI*, 2019.
# - L. Li and A. Talwalkar, "Random search and reproducibility for neural architecture search",
#   *UAI*, 2019.
# - G. Hinton, O. Vinyals and J. Dean, "Distilling the knowledge in a neural network", 2015.
# - S. Ainsworth, J. Hayase and S. Srinivasa, "Git re-basin: merging models modulo permutation
#   symmetries", *ICLR*, 2023.
# - T. Hoefler, "Twelve ways to fool the masses when reporting performance of deep learning
#   workloads", 2018: all twelve are in unit 18.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019: on averaging networks, and on searches.
# - M. Wortsman et al., "Model soups: averaging weights of multiple fine-tuned models improves
#   accuracy without increasing inference time", *ICML*, 2022: why throw away all runs of a
#   search but one? Runs that begin at the same trained network can be averaged.
#
# Searches stand in `ddl_teach/search`, one a file. `progress()` shows how far you have come. The
# notebook `17_learning_to_choose` goes on from here: can a network learn which all-reduce, and
# which convolution, is fastest? In `17_reading_code` it chooses from the code of a program.
