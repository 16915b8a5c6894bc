# %% [markdown]
# # Searching in parallel
#
# **How do a thousand runs at once become one good network?**
#
# Nobody knows a good learning rate beforehand. One tries some, and each try is a whole training
# that needs nothing of the others: no parallelism is easier. Such a *search* can fill a cluster of
# any size. But whoever trains all tries to the end wastes nearly all of the work, whoever stops
# the bad ones early must compare them, and who compares waits.
#
# In this unit you write a search that stops early, and one that waits for nobody; you find out
# when that pays; you let networks copy each other's weights, breed, answer together and teach each
# other. You need units 06 and 08. *Beginners* take sections 1 to 5, *intermediate* readers all
# but sections 8 and 9, *advanced* ones everything. About two hours.
#
# ## 1. Twenty-seven tries · *beginner*
#
# A *trial* is one choice of settings. Here it is a learning rate and a momentum, drawn at random
# from a *space*: rates by their logarithm, for they span decades. Each trial trains a small
# network, with 32 hidden units, on the handwritten digits. Part of the pictures is held out to
# compare trials by, the **validation part**; another part, the **test part**, is not touched
# before the end.
#
# `training(settings, state, steps, seed)` goes on from a state, `None` at first, for so many steps
# more. It returns the new state and the loss on the validation part. Losses above 10, and what is
# no number any more, are drawn at 10.

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
# Look at the left edge. After five steps nobody knows who will win, but many who will not are
# known already.
#
# **Exercise.** A warm-up of three minutes. Trials need nothing of each other, so they wait in a
# list, and a worker that is free takes the next one. When is the last one done? The lines stand
# below, sorted by the alphabet, and two of them belong nowhere: put the others in order. *Ctrl+/*
# makes code of comments, *Alt+↑* and *Alt+↓* move lines, *Tab* indents what is selected.


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
# So: train all for a short time, keep the best third, train those three times as long, keep the
# best third of them, and so on. That is **successive halving** (by $\eta = 3$ and not by 2, but so
# it is called). Each of these rounds is a *rung*, as of a ladder. With $n$ trials and $r$ steps in
# the first rung, rung $k$ trains $n/\eta^k$ trials for $r\,\eta^k$ more steps, so all rungs cost
# the same:
#
# $$\frac{n}{\eta^k}\cdot r\,\eta^k = n\,r .$$
#
# **Exercise.** `curves[trial, rung]` is the loss of a trial after that rung. Return a list with
# the trials that are trained in each rung: all in rung 0, and of each rung the best
# `len(...) // eta`, but at least one, in the next. Whoever is stopped is not trained on, so look
# only at losses that have been paid for. Of equal losses the lower trial number goes on.


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
# Dotted is what nobody had to compute. In the library a search has two parts. A *decider*, such as
# `SuccessiveHalving`, gives out jobs, is told losses, and knows nothing of workers. A *driver*
# carries jobs to workers and knows nothing of losses. So any search runs on any ground.
#
# ## 3. Who waits for nobody · *beginner*
#
# Why must a rung be complete before anybody goes on? Only so that "the best third" is known. A
# trial that is in the best third of those that have finished *so far* will probably be in the end.
# So a worker that gets free asks: is there, in any rung, somebody among the best
# $\lfloor\text{finished}/\eta\rfloor$ who has not been promoted yet? If not, it begins a new
# trial. There is always something to do: that is **asynchronous halving** (Li and others, 2020).
#
# **Exercise.** `finished[rung]` is a dict from trial to loss, of all that have finished that rung;
# `promoted[rung]` lists the trials that have gone on from there. Return the trial and the rung in
# which it is to be trained next, or `None`. Look at the highest rung first, since what has gone
# furthest is worth most. Nobody is promoted from the last rung. Of equal losses the lower trial
# number goes first.


# %% name="17.promote" tags=["answer"]
def promote(finished, promoted, eta):
    """(trial, its next rung) for the best that deserves it; None if nobody does."""
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
# What does it cost to wait? On $W$ workers a rung is over when its *last* job is. If all jobs take
# equally long, and there are enough for everybody, nobody waits. But run times differ: one network
# is wider than another, one machine is shared, one disk is slow. Let them be exponentially
# distributed around a mean of $s$ seconds. Then a rung of $n$ jobs ($n \ge W$) takes
#
# $$s\left(\frac nW - 1 + H_W\right),\qquad H_W = 1 + \frac12 + \dots + \frac1W \approx \ln W +
# 0.58,$$
#
# since all work until the queue is empty, and then everybody waits for the slowest of $W$ jobs.
#
# ### Predict
#
# A thousand workers have 3,000 trials to train for one second each (on the average), then the best
# 1,000 for three seconds more. Which part of their time do workers work?
#
# And a question about luck, for section 5: train *one* setting with 30 random seeds, and take the
# best on the validation part. How many percent fewer errors does it make there than the middle
# one?
#
# When you have said so in the first cell, look at the same search with eight workers in the
# second: first synchronous, then asynchronous, with your rule. `by_ranks.search` is a rank
# program: rank 0 conducts, all others train. On simulated ranks nothing need be computed; what
# counts is how long a job takes, its *pace*. So the losses on the left are made up; on the right
# you see who worked on which trial when.

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
# White is waiting. The synchronous search waits twice for its slowest job, and the second time
# jobs are three times as long. The other one has no gaps until its budget is given out.
#
# What is that worth? A fair measure is the time until *as many trials have been trained to the
# end*: $W$ of them, by $W$ workers. If nobody ever waited, and nothing were done in vain, that
# would be 6 seconds; `compared` says how many times as long both searches take. The first cell
# simulates it, with run times that are all equal and with such that differ, up to a thousand
# workers. The second cell runs the same program on your engines, where two or four work: a job
# sleeps as long as it would compute, a *second* being 15 milliseconds, and run times are drawn
# from the same seeds. So dots (measured) should fall into squares (simulated); where a machine is
# busy with other things they lie above. Lines are the formula.

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
# Four fifths of a thousand machines stand around, with the easiest parallelism of all. And yet:
# **asynchronous search wins when run times differ, and loses when they are equal**, if all rungs
# have a job for each worker. With equal run times nobody waits then anyway. But who promotes early
# promotes some that would not have been chosen with more patience, and trains new trials that
# nobody asked for: on sixteen workers more than a quarter of the work is in vain. With run times
# that differ, the synchronous search waits for the slowest of $W$ again and again, with every
# worker a little longer; the asynchronous one hardly notices how many there are.
#
# So before you choose, measure how much your run times differ, and count the jobs of your last
# rung: where there are fewer than workers, some idle, and then asynchronous search was the sooner
# one with equal times, too (`benchmarks/results/searches.txt`). (A square is the mean of one to
# four searches only, so it may lie beside its line.)
#
# ## 5. A search you can watch, and what it cost · *beginner*
#
# Now in earnest: real trainings, and run times that differ because networks do. In the first cell
# engines are given jobs by ipyparallel's load-balanced view, and your rule promotes. The picture
# grows while the search runs. With `journal="some folder"` you may interrupt it, or lose the whole
# notebook: the same call goes on where it was, and repeats nothing that was done.
#
# "Our network trains in one second." Yes; after so many runs. The report below the picture states
# every one: also those that were stopped, those that crashed, and the seconds of all workers
# together. **Not to report the runs it took to find the settings** is the third of Torsten
# Hoefler's *Twelve ways to fool the masses when reporting performance of deep learning workloads*
# (2018). It hides the cost. And it hides luck: the second cell has thirty runs of *one* setting,
# which differ by their seeds only.

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
# Whoever shows the best run as "our method", and the middle one as "the other method", has just
# proved that a method is far better than itself. Where nobody chose, on the test part, the
# champion is one among others. So: state how many runs it took, show the middle of several seeds,
# and look at the test part once, with the winner only. `report` does the first and the last for
# you; the seeds are yours to run.
#
# ## 6. Copy the best · *intermediate*
#
# Halving throws away what a stopped trial has learnt, and settings stay what they were. In
# **population-based training** (Jaderberg and others, 2017) all members train all the time. Now
# and then the worst *exploit* the best, they copy weights and settings; and *explore*, they change
# these settings a little. It costs no more than training all members once, and what comes out is
# not a rate but a *schedule* of rates. For ranks it is a beautiful little problem: nobody leads,
# and weights go straight from rank to rank.
#
# **Exercise.** The `pairs` worst ranks (highest loss) take over `weights` and `settings`, two
# arrays, of the `pairs` best, in place and to the last bit: each of the best gives to one of the
# worst. All others keep theirs. Send weights to nobody who does not need them. `add_up`, a small
# all-reduce, has told everybody all losses when your part begins.


# %%
def add_up(comm, x):  # everybody sends to everybody: `x` becomes the sum over all ranks
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
# The next cells train sixteen members on simulated ranks, and five on your engines. (`mine`
# carries the rank along with the settings, so that a copy tells where it comes from; to explore is
# to multiply each setting by 0.8 or 1.2.)


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
print(f"the best of 16: {best_apart:.3f} if nobody copies, {best:.3f} if the worst do")
assert best < best_apart
losses, parents, rates = np.transpose(copying, (2, 1, 0))
plot_population(losses, parents.astype(int), rates)

# %% [markdown]
# Both did the same number of steps. Real ranks end with the same numbers as simulated ones, to the
# last bit: it is the same program. Two things to notice. Most lines die out: in the end all are
# children of one or two, and if these have gone wrong all have. And the copied ones begin where
# others have been, so "the loss of this rate" means little any more.
#
# ## 7. Evolution · *intermediate*
#
# What if not a rate is sought but a network: how wide, how deep, what is connected with what? Such
# things cannot be multiplied by 1.2; they can be *inherited*. A network is described by its
# *genes*, small whole numbers. Draw a few members of a population, let the best of them have a
# child, with one gene changed; train it. And who leaves? Not the worst. **The oldest**, however
# good it is: one that had luck when it was scored is gone after a while, and only what is good
# again and again, as a child, as a grandchild, remains (Real and others, 2019).
#
# **Exercise.** `score[genes]` is what a network is worth, the more the better: it stands for its
# training. `population` is a list of tuples of genes, the oldest first. For each step there is a
# tournament, a list of places in the population as it is then, and a mutation, `(place, value)`.
# Return the population after all steps, again the oldest first. Every step: the best of the
# tournament is the parent; a copy of it, with gene `place` set to `value`, comes to the end; the
# oldest leaves.


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
# That was all there is to find, in a space so small that every network could be trained; its score
# is the probability that it gives to the right answer, on (geometric) average. Now the search may
# train 24 of the 120, 8 at random and then 16 children. How good is the best that it has met? To
# see more than luck, a thousand searches; beside each, 24 networks drawn at random.


# %%
ends, born = [], 16
for random in map(np.random.default_rng, range(1000)):
    drawn = [tuple(random.integers(score.shape).tolist()) for _ in range(8 + born)]
    cups = [random.permutation(8)[:3].tolist() for _ in range(born)]
    changes = [(g, int(random.integers(score.shape[g]))) for g in random.integers(4, size=born)]
    met = [it for n in range(born + 1) for it in evolve(score, drawn[:8], cups[:n], changes[:n])]
    ends.append([max(score[genes] for genes in each) for each in (met, drawn)])

# %%
bred, at_random = np.transpose(ends)
gap, error = np.mean(bred - at_random), 1.96 * np.std(bred - at_random) / len(ends) ** 0.5
print(f"the best met: {bred.mean():.3f} by evolution, {at_random.mean():.3f} at random")
print(f"ahead {np.mean(bred > at_random):.0%}, behind {np.mean(bred < at_random):.0%} of the time")
print(f"difference: {gap:+.3f}, 95% interval {gap - error:+.3f} to {gap + error:+.3f}")
assert abs(gap) < error

# %% [markdown]
# A thousand searches cannot tell evolution from dice here: the interval of the difference holds
# 0. Whoever shows a single search shows mostly its luck. With large networks random search,
# stopped early, did at least as well as ENAS, a leading search, on both of two tasks (Li and
# Talwalkar, 2019). Whoever wants to go on finds evolution over convolutional cells, shared
# weights, a controller, and networks that *scale* in the notebook `17_architectures`, and one a
# file in `ddl_teach/search/architectures`.
#
# ## 8. Ask them all · *advanced*
#
# After a search there are many trained networks. Why keep one? An **ensemble** takes the mean of
# what its members say; and on ranks, each with a network of its own, that is an all-reduce of a
# few numbers for each picture. What may be averaged? Not scores: networks that were trained apart
# agree on what a probability of 0.9 is, and not on what a score of 5 is.
#
# **Exercise.** `scores` is this rank's own, a row for each sample and a column for each class.
# Return the mean over the ranks of $e^{s_j}/\sum_k e^{s_k}$, the same on every rank.
# `add_up(comm, x)` of section 6 replaces `x` by its sum over the ranks. Scores may be large.


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
# Five engines train a network each, with seeds of their own, and answer together. And since an
# all-reduce is so cheap, why not average the *weights*, and have one network in the end? Look at
# what comes of it; the last column is explained below.


# %%
def together(comm, ensemble, task):
    own = training({"rate": 0.02}, None, 240, seed=comm.rank)[0]["weights"]
    mean, matched = own.copy(), matched_mean(comm, task.network, [own]).mean
    add_up(comm, mean)
    said = ensemble(comm, task.network.forward(own, task.pictures.held_out)[1])
    right = np.mean(said.argmax(axis=1) == task.pictures.held_out_answers)
    rest = [task.accuracy(weights) for weights in (own, mean / comm.size, matched)]
    names = "ensemble", "one alone", "average", "matched average"
    return own, dict(zip(names, (right, *rest), strict=True))


# %%
from ddl_class.plots.searching import plot_consolidated
from ddl_teach.search.consolidation.matching import matched_mean
from ddl_teach.training.optimizers.momentum import Momentum

run = engines.run(together, ensemble=ensemble, task=Digits(), timeout=60)
members, told = zip(*run.results, strict=True)
found = {name: [each[name] for each in told] for name in told[0]}
assert found["ensemble"][0] > found["matched average"][0] > found["average"][0]
plot_consolidated(found)

# %% [markdown]
# The ensemble is better than its members on the average. The averaged network gets nearly half of
# the pictures wrong, though each of its parents is good. Hidden units have no order: what is unit
# 3 of one network may be unit 17 of the other, for every permutation is a **twin** that computes
# the very same function. An average mixes units that have nothing to do with each other. If they
# are *matched* first, each unit with its nearest, by the Hungarian algorithm, it becomes a network
# again.
#
# ## 9. One that learnt from all · *advanced*
#
# An ensemble costs the work of all its members, in every answer, for ever. **Distillation** has a
# small student learn from it (Hinton, Vinyals and Dean, 2015). A label says "7". The teacher says
# "7, and a little like 1, not at all like 8"; a temperature $T$ makes the small ones of these
# numbers visible. With $q$ the teacher's probabilities at that temperature and $s$ the student's
# scores, of which $y$ belongs to the right answer,
#
# $$\ell = \text{soft}\cdot T^2\Big(-\sum_j q_j \log p_j(T)\Big) + (1 - \text{soft})\,
# \big(-\log p_y(1)\big),\qquad p(T) = \text{softmax}(s / T).$$
#
# **Exercise.** Return this loss, as a mean over the samples, and its gradient by the scores. Of
# $-\sum q_j \log p_j(1)$ the gradient is $p(1) - q$. `softmax(scores, temperature)` is there;
# `teacher` has a row of $q$ for each sample, `answers` the numbers of the right classes.


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
# Students have 8 hidden units, their teachers 32; each engine trains one, with a seed of its own.
# Some learn from labels alone (soft = 0), some from the ensemble alone (soft = 1): they never see
# a label. And both try three learning rates.


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
# At the lowest rate the teacher's students are ahead, at the highest those of the labels: the two
# losses are not equally steep, and each has a best rate of its own. Where each side is at its best
# rate, hardly anything is left of the difference. A report with the lowest rate alone would have
# been impressive, and false. *The same number of tries for both sides* belongs to counting them
# all.
#
# What does remain is worth having: at its best rate the teacher's students are as good as those
# that learnt from labels, and have never seen one. Pictures without labels are cheap.
#
# ## 10. What everybody else uses · *intermediate*
#
# | here | elsewhere |
# |---|---|
# | `RandomSearch`, `Space` | Optuna's `RandomSampler` and `suggest_float(log=True)`, Ray Tune |
# | `SuccessiveHalving`, `Hyperband` | Optuna's `HyperbandPruner`, `HalvingRandomSearchCV` |
# | `AsynchronousHalving` | `ASHAScheduler` in Ray Tune, `SuccessiveHalvingPruner` in Optuna |
# | `train_population` | `PopulationBasedTraining` in Ray Tune |
# | `journal="folder"` | Optuna's storage: a database, or a journal file |
# | `by_view.search` | the same over Dask, Ray, Kubernetes, or arrays of Slurm jobs |
# | `distil` | `T * T * torch.nn.functional.kl_div(log_p, q, reduction="batchmean")` |
# | average of one training's weights | `torch.optim.swa_utils.AveragedModel` |
#
# None of them knows whether your run times differ. Optuna also *learns* where to look (its TPE
# sampler); `benchmarks/searches.py` compares it with the searches here, on one space, at one
# budget, in one run.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

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
# The synchronous one, if its rungs are multiples of the workers: nobody waits, each promotion is
# decided by all that can be known, and the same seeds give the same search on any number of
# workers. If rungs become smaller than the number of workers most of them idle anyway, and then
# something must fill the gaps: a second halving beside the first (that is what Hyperband has to
# offer), or the asynchronous form.
#
# </details>
#
# **2.** You report an accuracy on the test part, and searched with the loss on the same part. By
# how much are you wrong?
#
# <details><summary>An answer</summary>
#
# Nobody can say any more, that is the problem. At least by the luck of section 5, which grows with
# the number of trials: the best of thirty equal runs had some 20 to 50% fewer errors there.
#
# </details>
#
# **3.** In population-based training, why do only the *worst* copy? Why not all the very best?
#
# <details><summary>An answer</summary>
#
# Then after one generation all members have the same weights, and the search has one member with
# many rates. What others knew would be lost, and early losses say little: whoever learns fast at
# the beginning would win for ever. Copying slowly keeps alternatives alive.
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
#
# Searches stand in `ddl_teach/search`, one a file. `progress()` shows how far you have come. The
# notebook `17_learning_to_choose` goes on from here: can a network learn which all-reduce, and
# which convolution, is fastest?
