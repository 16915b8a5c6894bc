# %% [markdown]
# # Twelve ways to fool
#
# **How are results faked?**
#
# No number has to be invented. It is enough to leave something out, and the first person to be
# fooled is oneself. In 1991 David Bailey collected twelve ways to fool the masses with parallel
# computers. In 2018 Torsten Hoefler did the same for deep learning. This unit carries out all
# twelve with *true* measurements, and then undoes them. Three tricks of today follow. You write
# what undoes them: an interval, a time to a target, an honest use of a card, and a small review
# that reads reports as a strict reader does.
#
# You need unit 08, and unit 13 helps. *Beginners* take sections 1 to 4, *intermediate* readers all
# but sections 10 and 11, *advanced* ones everything. About two hours.
#
# ## 1. A fine result · *beginner*
#
# The first cell starts four engines. The second reads measurements that were recorded: trainings
# on 1 to 8 ranks, searches, steps, messages. Each rank had an accelerator that only plays: it
# sleeps for the time of its computation. So eight of them scale on two cores.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, yours
from ddl_class.notebook.true_measurements import true_measurements
from ddl_class.plots.honesty import plot_panel, plot_trick
from ddl_measure.repetitions import slowest_of_all
from ddl_measure.reports.twelve_ways.all_ways import WAYS
from ddl_teach.collectives import ring

engines = Engines(4)

# %%
true = true_measurements()
tricks = {trick.way: trick for trick in (way(true) for way in WAYS)}
print(f"{len(true.entries)} configurations, {len(true.trials)} trainings, {true.made.date}")
plot_panel(tricks[1].fools)

# %% [markdown]
# Would you believe it? More ranks give more samples a second, and nothing in this picture is
# wrong. Before you look at the next one: what does it *not* show?
#
# ### Predict
#
# Commit to three numbers as well, in place of the dots. **1.** One program gets two names. How
# many times as fast is the best of 20 runs of the one as the median run of the other, on your
# machine? **2.** How often must one measure, at least, so that the true median lies between the
# smallest and the largest time in 95 of 100 cases? **3.** Gradients in float32 take less time than
# in float64. But a step also reads its pictures from text. How many times as fast is a whole step?
# The next cell first draws the same training again, now from another side.

# %%
display(plot_trick(tricks[1]))
predict("18.lucky", ...)
predict("18.repetitions", ...)
predict("18.step", ...)

# %% [markdown]
# Every rank brought its own 32 samples, so the batch grew eightfold. An epoch had an eighth of the
# steps, and the rate stayed the same. So far less was learnt in the same number of epochs. (In
# unit 13 the rate grows with the batch. Here it did not.) Samples a second do not show this. **The
# first rule:** no throughput without the accuracy that it led to, on data held out.
#
# ## 2. The luckiest run · *beginner*
#
# A time is never the same twice. So we measure several times and report the **median**: the time
# in the middle when all are put in order, with half of them below it. How we measure matters, too.
# The first call of a function is often slow, because caches are empty and libraries are still
# being loaded. It is a *warm-up* and does not count.
#
# **Exercise.** Three minutes. Measure `work()`: one warm-up that does not count, then
# `repetitions` measured calls. `clock()` returns the time in seconds. Return the median. The lines
# stand below, sorted by the alphabet, and one of them belongs nowhere: put the others in order.
# *Ctrl+/* makes code of comments, *Alt+↑* and *Alt+↓* move lines, *Tab* indents the selected
# lines.


# %% name="18.measured" tags=["answer"]
def measured(work, clock, repetitions):
    """The median seconds of work(), without those of the first call."""
    ### BEGIN SOLUTION
    seconds = []
    for _ in range(1 + repetitions):
        begun = clock()
        work()
        seconds.append(clock() - begun)
    return np.median(seconds[1:])
    ### END SOLUTION


# %% name="18.measured" tags=["check"]
check("18.measured", measured)
### BEGIN HIDDEN TESTS
judge("18.measured", measured, seed=181)
### END HIDDEN TESTS

# %% [markdown]
# That was honest. Now fool yourself. Run *our* program $n$ times and report its *best* run.
# Compare it with the *median* run of the other program. The next cell does this with *the same*
# work under two names, A and B, 20 times each. The two take turns (`side_by_side` also rotates the
# order), so neither always has the warm caches. How many times as fast as itself is A?

# %%
from math import comb

from ddl_measure.repetitions import side_by_side

numbers = np.random.default_rng(0).normal(size=200_000)
both = side_by_side({name: lambda: np.sort(numbers) for name in "AB"}, repetitions=20)
for runs in (1, 2, 5, 20):
    luck = np.median(both["B"]) / np.min(both["A"][:runs])
    print(f"best of {runs:2}: {luck:.3f} times as fast as itself")
reveal("18.lucky", luck)

# %% [markdown]
# ## 3. How sure is a median? · *beginner*
#
# An interval undoes luck. Behind your few times there is the *true* median, which endlessly many
# times would have. Half of these lie below it; that is what a median is. So each of your $n$ times
# is like the toss of a coin: it is below the true median or above it. This is true whatever the
# times are like, if no time depends on another. The chance that exactly $i$ of them are below is
# $\binom{n}{i} 2^{-n}$.
#
# Now put them in order. The $\ell$-th smallest (counted from 0) is above the true median if at
# most $\ell$ of them are below it:
#
# $$\Pr[\,t_{(\ell)} > \text{true median}\,] = \sum_{i=0}^{\ell} \binom{n}{i}\, 2^{-n} .$$
#
# Leave out times at the lower end, as many as you can while this chance stays at or below 0.025.
# Leave out equally many at the upper end. The smallest and the largest of the other times are the
# ends of the interval. It contains the true median in 95 of 100 experiments or more. No bell curve
# is needed. Times seldom follow one (Hoefler and Belli, 2015): they have a floor on one side and a
# long tail on the other.
#
# With few times nothing can be left out, and even the interval from the smallest to the largest
# may not be enough.
#
# **Exercise.** `times` has $n \ge 6$ numbers, so that an interval exists. Return the median and
# both ends. `comb(n, i)` is the binomial coefficient.


# %% name="18.interval" tags=["answer"]
def interval(times):
    """Median, low end, high end: with the most times left out at each end that 0.025 allows."""
    ### BEGIN SOLUTION
    ordered, n = np.sort(times), len(times)
    left, missed = 0, 1 / 2**n
    while (missed := missed + comb(n, left + 1) / 2**n) <= 0.025:
        left += 1
    return np.median(ordered), ordered[left], ordered[n - 1 - left]
    ### END SOLUTION


# %% name="18.interval" tags=["check"]
check("18.interval", interval)
### BEGIN HIDDEN TESTS
judge("18.interval", interval, seed=182)
### END HIDDEN TESTS

# %%
from ddl_measure import interval as library

my_interval = yours("18.interval", interval, library.interval)
shown = "{:.3f} ({:.3f} to {:.3f})"
print("A over B, turn by turn:", shown.format(*my_interval(both["A"] / both["B"])))
rows = np.random.default_rng(18).lognormal(0.0, 0.5, size=(2000, 15))  # their true median is 1
kept = np.mean([low <= 1 <= high for _, low, high in map(my_interval, rows)])
print(f"the true median was inside in {kept:.1%} of 2,000 experiments")
assert kept > 0.94
reveal("18.repetitions", next(n for n in range(1, 99) if 2 / 2**n <= 0.05))

# %% [markdown]
# A and B took turns. A disturbance that lasts longer than a turn is in both, and it leaves their
# quotient. If the interval of the quotients contains 1, these runs cannot tell A from B, and a
# report should say that. The interval also keeps its promise for times with a long tail. Here 15
# times were drawn, 2,000 times over, from a distribution with a known median.
#
# ## 4. Whose time is it? · *beginner*
#
# With several ranks each rank has its own clock and its own time. A step is over when the last
# rank has ended it. So in each repetition the time of the slowest rank counts, and the slowest
# rank changes from one repetition to the next.
#
# **Exercise.** `ring.allreduce(comm, x, "max")` leaves the largest value of all ranks in `x`.


# %% name="18.slowest" tags=["answer"]
def slowest(comm, seconds):
    """For each repetition the time of the rank that was slowest in it; `seconds` stays."""
    ### BEGIN SOLUTION
    slow = seconds.copy()
    ring.allreduce(comm, slow, "max")
    return slow
    ### END SOLUTION


# %% name="18.slowest" tags=["check"]
check("18.slowest", slowest, engines=engines)
### BEGIN HIDDEN TESTS
judge("18.slowest", slowest, ranks=(6, 7, 12), seed=183)
### END HIDDEN TESTS


# %%
def whose(comm):
    own = side_by_side({"": lambda: np.sort(numbers)}, repetitions=30, before=comm.barrier)[""]
    return np.median(own), np.median(my_slowest(comm, own))


my_slowest = yours("18.slowest", slowest, slowest_of_all)
for rank, (own, slow) in enumerate(engines.run(whose).results):
    print(f"rank {rank} by its own clock {own * 1e3:5.1f} ms, the slowest {slow * 1e3:5.1f} ms")

# %% [markdown]
# ## 5. Weak or strong · *intermediate*
#
# Way 11. A given training with a given batch on more ranks is **strong** scaling (Amdahl, 1967):
# each rank has less to do, and the messages stay. If every rank brings its own samples it is
# **weak** scaling (Gustafson, 1988): the work grows with the ranks. Both are useful, but they are
# not the same. With $T_P$ for the seconds of a step on $P$ ranks, the efficiency (at best 1) is
#
# $$E_\text{strong} = \frac{T_1}{P\,T_P},\qquad E_\text{weak} = \frac{T_1}{T_P}.$$
#
# **Exercise.** Each point is `(ranks, batch, seconds of a step)`, and the batch is that of all
# ranks together. Which scaling is it? And how efficient is the last point, compared with the
# first? The first point may itself have several ranks.


# %% name="18.scaling" tags=["answer"]
def scaling(points):
    """("strong" or "weak", efficiency), or ("neither", None)."""
    ### BEGIN SOLUTION
    (first, batch, before), (last, _, after) = points[0], points[-1]
    if all(samples == batch for _, samples, _ in points):
        return "strong", before * first / (after * last)
    if all(samples * first == batch * ranks for ranks, samples, _ in points):
        return "weak", before / after
    return "neither", None
    ### END SOLUTION


# %% name="18.scaling" tags=["check"]
check("18.scaling", scaling)
### BEGIN HIDDEN TESTS
judge("18.scaling", scaling, seed=184)
### END HIDDEN TESTS

# %% [markdown]
# Here are both, on more ranks than you have. A step computes 1 ms for each sample, then a ring
# averages 4 MB of gradients. The times are simulated on up to 64 ranks, and the formula says
# $T_P = b\,c + 2(P-1)(L + n/(P B))$. In it $b$ are the samples of a rank, $c$ = 1 ms, the latency
# $L$ is 10 µs, $n$ = 4 MB, and the bandwidth $B$ is 1 GB/s. The second picture shows both again,
# measured on real ranks whose accelerators only play. The left side fools, the right side does
# not.

# %%
from ddl_class import simulate
from ddl_measure.reports.twelve_ways.trick import Panel, ReportedCurve
from ddl_teach.comm import Phantom, Uniform


def step(comm, samples):
    comm.work(seconds=1e-3 * samples)
    ring.allreduce(comm, Phantom(4_000_000))


# %%
grid, lines = (1, 4, 16, 64), []
how = {"network": Uniform(latency=1e-5, bandwidth=1e9), "trace": False}
for kind, shares in {"weak": [256] * 4, "strong": [256 // p for p in grid]}.items():
    points = list(zip(grid, shares, strict=True))
    took = [simulate(step, p, **how, samples=b).time for p, b in points]
    formula = [1e-3 * b + 2 * (p - 1) * (1e-5 + 4e-3 / p) for p, b in points]
    assert np.allclose(took, formula, rtol=1e-3)
    lines.append(ReportedCurve(kind, grid, tuple(np.prod(points, axis=1) / took / 1e3)))

# %%
lines.append(ReportedCurve("ideal", grid, grid, ideal=True))
title = "Simulated: 256 samples on each rank (weak), or in all (strong)"
display(plot_panel(Panel(title, "ranks", "speed-up in samples a second", lines, logarithmic=True)))
display(plot_trick(tricks[11]))

# %% [markdown]
# ## 6. Time to a target · *intermediate*
#
# Way 10: train just for the right time. Where two curves of accuracy cross, the choice of the
# moment decides which of them wins.
#
# **Exercise.** One number undoes ways 1, 10 and 11 at once: the time to an accuracy that was fixed
# *before*. The same training was run several times, each with its own seed. For each run you have
# two arrays: seconds, and the accuracies on held-out data at these moments. A training that never
# reaches the target has taken infinitely long, and it counts.
#
# Then look at four ranks with slow links. Each of them sees only a few of the ten digits. `quick`
# averages weights at every ninth step, `good` averages gradients at every step. Both have the same
# rate, which was not searched. At which target does `quick` look best? That is the trick.


# %% name="18.target" tags=["answer"]
def to_target(curves, target):
    """The median over the curves, pairs (seconds, right), of the first second at the target."""
    ### BEGIN SOLUTION
    firsts = []
    for seconds, right in curves:
        there = np.flatnonzero(right >= target)
        firsts.append(seconds[there[0]] if len(there) else np.inf)
    return np.median(firsts)
    ### END SOLUTION


# %% name="18.target" tags=["check"]
check("18.target", to_target)
### BEGIN HIDDEN TESTS
judge("18.target", to_target, seed=185)
### END HIDDEN TESTS

# %%
from ddl_measure.reports.twelve_ways import curves
from ddl_measure.reports.twelve_ways.trick import entry_of

named = [entry_of(true, f"average {when}") for when in ("now and then", "at every step")]
pairs = [list(zip(curves.seconds(it), curves.accuracies(it), strict=True)) for it in named]
my_target = yours("18.target", to_target, curves.to_target)

# %% [markdown]
# Seconds until this share of the pictures is read right, for both curves. (The picture calls
# `quick` *ours*, and `good` *theirs*.)

# %%
for target in (0.7, 0.8, 0.85, 0.9, 0.93):
    quick, good = (my_target(each, target) for each in pairs)
    print(f"{target:.0%} of the pictures: quick {quick:5.2f} s, good {good:5.2f} s")
    assert (quick < good) == (target < 0.9)
plot_trick(tricks[10])

# %% [markdown]
# Up to 85% `quick` is there first. From 90% on it did not get there in the time that it had
# (`inf`). So if you may name the target afterwards you can sell either of them. If you named it
# before, you have no choice.
#
# ## 7. The part and the whole · *intermediate*
#
# Ways 5 and 6: show a kernel, and leave the input out. A part has the share $f$ of the time and
# becomes $s$ times as fast. Then the whole becomes $1/(1 - f + f/s)$ times as fast (Amdahl, 1967).
#
# Measure it on your own machine: gradients in float64 and in float32, first alone, then in a step
# that reads its pictures from text.

# %%
from functools import partial
from itertools import product

from ddl_teach.training.tasks.digits import Digits

tasks = {it: Digits(256, 256, dtype=it) for it in ("float64", "float32")}
start = {it: task.initial() for it, task in tasks.items()}
text = ",".join(f"{it:.4f}" for it in tasks["float64"].pictures.learnt[:256].flat)


# %%
def gradient(dtype, read=0):
    if read:  # the pictures, as they come
        np.fromstring(text, dtype, sep=",")
    return tasks[dtype].gradient(start[dtype], 0, 1, 0)[1]


# %%
own = side_by_side({it: partial(gradient, *it) for it in product(tasks, (0, 1))}, repetitions=15)
ratios = [own["float64", read] / own["float32", read] for read in (0, 1)]
for name, each in zip(("gradients", "with input"), ratios, strict=True):
    print(f"{name:10}", shown.format(*my_interval(each)), "times as fast in float32")
reveal("18.step", my_interval(ratios[1])[0])

# %% [markdown]
# ## 8. Three tricks of today · *intermediate*
#
# Large language models have brought new ways. A model with $N$ weights needs about $2N$ operations
# forward and $4N$ backward for each token. So a step with $D$ tokens has $6ND$ *useful*
# operations. On $C$ cards with a peak of $F$ operations a second, a step of $T$ seconds has the
# **model FLOPs utilisation**
#
# $$\text{MFU} = \frac{6\,N D}{T\, C F} .$$
#
# - **The peak with sparsity.** The data sheet of an H100 says 1,979 TFLOP/s for bf16. A footnote
#   says: with sparsity, if half of all weights are zeros in a fixed pattern. For the usual dense
#   product it is half of that, 989 TFLOP/s.
# - **Recomputation counted as useful.** To save memory, the forward pass is computed again before
#   the backward pass (unit 11): $8ND$ operations are done. With $8$ in place of $6$ the number is
#   called *hardware* FLOPs utilisation, **HFU**. It is up to a third larger, and it grows when the
#   program wastes more work. So PaLM's authors report MFU (Chowdhery et al., 2023).
# - **The best of the nodes.** One node is measured, the fastest, and the number is multiplied by
#   the number of nodes. But a step is over when the slowest node is done.
#
# **Exercise.** Return MFU and HFU of a step, both of the *dense* peak. `peak` is the number of the
# data sheet, and `sparse` says whether it is with sparsity; `recomputed` says whether the whole
# forward pass was computed twice.


# %% name="18.utilisation" tags=["answer"]
def utilisation(weights, tokens, seconds, cards, peak, sparse, recomputed):
    """(model, hardware) FLOPs utilisation of a step, both of the dense peak."""
    ### BEGIN SOLUTION
    dense = peak / 2 if sparse else peak
    possible = dense * cards * seconds
    useful = 6 * weights * tokens
    done = 8 * weights * tokens if recomputed else useful
    return useful / possible, done / possible
    ### END SOLUTION


# %% name="18.utilisation" tags=["check"]
check("18.utilisation", utilisation)
### BEGIN HIDDEN TESTS
judge("18.utilisation", utilisation, seed=187)
### END HIDDEN TESTS

# %% [markdown]
# One step, told in several ways. It is an example with round numbers: 7 billion weights, 4 million
# tokens, 64 cards, 7 seconds. And 64 nodes whose speeds were drawn: most are within 3% of the
# middle.

# %%
from ddl_teach.theory import utilisation as theory

mine = yours("18.utilisation", utilisation, theory.utilisation)
step_of = {"weights": 7e9, "tokens": 4e6, "seconds": 7.0, "cards": 64, "peak": 1979e12}
model, hardware = mine(**step_of, sparse=True, recomputed=True)
print(f"the machine: {64 * 1979e12 / 1e15:.0f} PFLOP/s with sparsity, {64 * 0.9895:.0f} without")
print(f"HFU {hardware:.1%}, MFU {model:.1%}")
assert np.isclose(hardware, model * 8 / 6)

# %%
speeds = np.random.default_rng(18).normal(1.0, 0.03, 64)  # tokens a second of each node, relative
told_as = {"best node x 64": 64 * speeds.max(), "best 8 x 8": 8 * np.sort(speeds)[-8:].sum(),
           "sum of all": speeds.sum(), "a step of all": 64 * speeds.min()}  # fmt: skip
for name, rate in told_as.items():
    print(f"{name:15} {rate:5.1f} times the tokens of a usual node")
assert told_as["best node x 64"] > 1.1 * told_as["a step of all"]

# %% [markdown]
# All these numbers are true, and only one of them says how long the training takes: MFU of the
# dense peak, from the time of whole steps on all nodes. The best node runs ahead, and then it
# waits for the slowest.
#
# ## 9. The other nine · *intermediate*
#
# Look at the left picture of each. Try to say what is missing before you look at the right one.
#
# - **5, 6**: you have just seen these on your own machine. A part is shown, and the text speaks of
#   the whole.
# - **2**: *accuracy* without the name of its data is that of the training data.
# - **3**: a training whose rate is the best of 24 took 25 trainings.
# - **4**: machine and program change at once, and the program gets the credit for both.
# - **7**: operations are a cost, not a result. A matrix that is the product of two thin ones need
#   not be multiplied as a whole. Its two factors give the same numbers with far fewer operations.
# - **8**: fast with these options, accurate with those, and no training had both.
# - **9**: pictures blown up to four times the pixels mean more work for each message. So they
#   scale better, and they tell the network nothing new.
# - **12**: there is always somebody whom one can beat.

# %%
for way in (5, 6, 2, 3, 4, 7, 8, 9, 12):
    display(plot_trick(tricks[way]))
    print("What undoes it:", tricks[way].undone, end="\n\n")

# %% [markdown]
# ## 10. A review of your own · *advanced*
#
# A program can ask all this, if reports are data. Here is a small report:
#
#     {"values": [1.0, 1.1, ...],        # all repetitions, seconds of a step
#      "repeated": 6,                    # how often it was measured
#      "includes": ["input", "forward", "backward", "communication", "update"],
#      "accuracy": {"training": 0.99, "held out": 0.95},   # {}: none was measured
#      "scaling": "strong",              # or "weak", or None: no scaling is claimed
#      "batches": {1: 64, 8: 64}}        # ranks: samples of a step, on all ranks
#
# **Exercise.** Return the set of the faults that it has:
#
# | fault | what is wrong |
# |---|---|
# | `"no interval"` | fewer than six values |
# | `"best of n"` | not all repetitions are shown |
# | `"no input time"` | input is not among the parts |
# | `"throughput without accuracy"` | no accuracy at all |
# | `"no test accuracy"` | there is one, but none on held-out data |
# | `"weak scaling sold as strong"` | called strong, and the batch is not the same |
#
# To accuse an honest report is as bad as to miss a fault. The library's `review` asks for more,
# and says what to do next. After your check it reads the twelve reports that fooled you, and
# prints the fault of each. It also reads the true measurements behind them.


# %% name="18.review" tags=["answer"]
def faults(report):
    """The set of the names of its faults; an empty set for an honest report."""
    ### BEGIN SOLUTION
    found = set()
    if len(report["values"]) < 6:
        found.add("no interval")
    if report["repeated"] > len(report["values"]):
        found.add("best of n")
    if "input" not in report["includes"]:
        found.add("no input time")
    if not report["accuracy"]:
        found.add("throughput without accuracy")
    elif "held out" not in report["accuracy"]:
        found.add("no test accuracy")
    if report["scaling"] == "strong" and len(set(report["batches"].values())) > 1:
        found.add("weak scaling sold as strong")
    return found
    ### END SOLUTION


# %% name="18.review" tags=["check"]
check("18.review", faults)
### BEGIN HIDDEN TESTS
judge("18.review", faults, seed=186)
### END HIDDEN TESTS

# %%
from ddl_measure.reports.review import review
from ddl_measure.reports.review import told as said

assert review(true) == ()
for way, trick in tricks.items():
    assert trick.fault in {finding.fault for finding in review(trick.fooling)}
    print(f"{way:2}  {trick.fooling.title}", f"    fault: {trick.fault}", sep="\n")

# %% [markdown]
# ## 11. A report of your own · *advanced*
#
# Your gradients of section 7 become a report. All repetitions go in, `made` finds out which code
# and which packages it was, and the machine describes itself. What does the review say?
#
# The first report claims something about training, and nothing was trained. One way out is to
# train. The other is to claim less: these are gradients, an *operator*. And half of the digits
# have a price, an error that must stand in the report. The second report says this.

# %%
from ddl_measure.machine import describe
from ddl_measure.reports import report as r
from ddl_measure.reports.made import made


def entry(dtype, *more):
    times = tuple(map(float, own[dtype, 0]))
    clock = r.Series("seconds", "a call", "s", times, len(times), "measured", False, ("gradient",))
    return r.Entry(dtype, "mine", 1, 1, {"precision": dtype}, (clock, *more))


# %%
def reviewed(about, *entries):
    factor = float(f"{my_interval(ratios[0])[0]:.3g}")
    pair = ("paired ratios", ("float32",), "float64", "best known")
    claim = r.Claim("float32 is faster.", about, "seconds", "a call", factor, *pair)
    whence = made("my notebook", [0]), {"mine": describe()}, None
    found = review(r.Report("Two precisions", *whence, entries, None, None, (claim,), ()))
    print(said(found), end="\n\n")
    return {finding.fault for finding in found}


# %%
assert "throughput without accuracy" in reviewed("training", *map(entry, tasks))
exact, rounded = map(gradient, tasks)
error = float(np.abs(exact - rounded).max() / np.abs(exact).max())
wrong_by = r.Series("error", "the gradient", "1", (error,), 1, "measured", True)
found = reviewed("an operator", entry("float64"), entry("float32", wrong_by))
assert found <= {"not repeatable", "within the noise", "missing"}

# %% [markdown]
# (It may still find *not repeatable*: then the code of the course was changed and not committed.
# Or *within the noise*: then your machine cannot tell the two apart today. Both are true.)
#
# ## 12. A puzzle: how many runs? · *intermediate*
#
# You compare three methods with a first one. The table says how many seconds a run of each
# takes. It also says how much this time varies from run to run: its standard deviation $s$.
#
# | method | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | seconds of a run | 2.0 | 1.9 | 2.1 | 1.5 |
# | $s$, in seconds | 0.1 | 0.3 | 0.05 | 0.6 |
#
# After $n_0$ and $n_i$ runs the difference of two means is known to within $1.96\sqrt{s_0^2/n_0 +
# s_i^2/n_i}$ seconds, in 95 of 100 cases, if the noise is normal. For each of the three
# differences this must be at most 0.1 seconds. With equally many runs of all four, 143 are needed,
# and all together take 1,072 seconds.
#
# **Exercise, with a goal.** Find numbers of runs that take **420 seconds** at most. How is up to
# you. The cell below your answer is to try numbers by hand.


# %% name="18.runs" tags=["answer"]
def how_often(seconds, spreads, width):
    """How many runs of each method, as a list of whole numbers."""
    ### BEGIN SOLUTION
    allowed = (width / 1.96) ** 2
    first = np.ceil(4 * spreads[0] ** 2 / allowed)  # a quarter of it is for the first
    others = np.ceil(spreads[1:] ** 2 / (allowed - spreads[0] ** 2 / first))
    return [int(first), *map(int, others)]
    ### END SOLUTION


# %%
from ddl_class.exercises.unit_18.judges import SECONDS, SPREADS

runs = [143, 143, 143, 143]
widths = 1.96 * np.sqrt(SPREADS[0] ** 2 / runs[0] + SPREADS[1:] ** 2 / np.array(runs[1:]))
print(f"runs {runs}: {SECONDS @ runs:.1f} s, to within", widths.round(4))

# %% name="18.runs" tags=["check"]
check("18.runs", how_often)
### BEGIN HIDDEN TESTS
judge("18.runs", how_often, seed=187)
### END HIDDEN TESTS

# %% [markdown]
# The first method is in all three differences, so its runs help three times. And a method that
# hardly varies needs hardly any runs.
#
# ## 13. What production systems do · *intermediate*
#
# | here | elsewhere |
# |---|---|
# | `side_by_side`, `interval` | `torch.utils.benchmark.Timer`: median, middle half; no turns |
# | `to_target` | DAWNBench (2017), MLPerf (from 2018): time to a quality that is fixed |
# | `Report`, `made` | MLPerf's `mlperf_logging`; ReproZip; artifact descriptions of SC and PPoPP |
# | `review` | MLPerf's compliance checker; artifact evaluation by people |
#
# In MLPerf a training runs several times. The fastest and the slowest run are dropped, and the
# others are averaged (Mattson et al., 2020; its rules of 2026 say so too). Here is torch's timer
# on your work of section 2, beside yours.

# %%
from torch.utils.benchmark import Timer

theirs = Timer("np.sort(numbers)", globals=globals()).blocked_autorange(min_run_time=0.3)
print(f"torch: median {theirs.median * 1e3:.3f} ms, middle half {theirs.iqr * 1e3:.3f} ms wide")
print("yours:", shown.format(*my_interval(1e3 * both["A"])), "ms")

# %% [markdown]
# ## What you said
#
# Your predictions of this unit, beside the results.

# %%
from ddl_class import predictions

predictions("18")

# %% [markdown]
# ## Three questions
#
# **1.** You have three trainings of a week each, and no time for a fourth. What may you say?
#
# <details><summary>An answer</summary>
#
# Say all three numbers, and that the true median is between the smallest and the largest of three
# in 3 of 4 cases ($1 - 2 \cdot 2^{-3}$). That is an honest report with a low confidence, and it
# says so. The mean with a standard deviation looks better and says less.
#
# </details>
#
# **2.** A paper reports a speed-up of 50 on 64 GPUs, with a batch of 32 samples for each. What do
# you ask first?
#
# <details><summary>An answer</summary>
#
# Whether one GPU had a batch of 32 or of 2,048. With 32 it is weak scaling, and the accuracy on
# held-out data with 64 GPUs belongs to the result as much as the 50. Then: compared with which
# program on one GPU, with the input or without?
#
# </details>
#
# **3.** Your colleague's interval does not contain your median, and yours does not contain hers.
# The code is the same, and the machine is the same. Which of you is wrong?
#
# <details><summary>An answer</summary>
#
# Perhaps neither. An interval covers what varied *while* you measured. A machine changes from hour
# to hour, and repetitions in a row are not independent. Measure both in turns.
#
# </details>
#
# ## Where to read on
#
# - D. H. Bailey, "Twelve ways to fool the masses when giving performance results on parallel
#   computers", *Supercomputing Review*, August 1991.
# - T. Hoefler, "Twelve ways to fool the masses when reporting performance of deep learning
#   workloads", blog of his group at ETH Zurich, November 2018. His order is kept here; the names
#   of the ways are ours.
# - T. Hoefler, "Benchmarking data science: twelve ways to lie with statistics and performance on
#   parallel computers", preprint, 2022: the same as an article.
# - T. Hoefler and R. Belli, "Scientific benchmarking of parallel computing systems", *SC*, 2015:
#   twelve rules, and how to keep them.
# - A. Chowdhery et al., "PaLM: scaling language modeling with pathways", *JMLR*, 2023: model FLOPs
#   utilisation, and why recomputation does not count.
# - C. Coleman et al., "Analysis of DAWNBench, a time-to-accuracy machine learning performance
#   benchmark", 2018.
# - P. Mattson et al., "MLPerf training benchmark", *MLSys*, 2020.
# - G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing
#   capabilities", 1967.
# - J. L. Gustafson, "Reevaluating Amdahl's law", *CACM*, 1988.
# - M. Dehghani, Y. Tay, A. Arnab, L. Beyer and A. Vaswani, "The efficiency misnomer", *ICLR*,
#   2022: operations, weights and seconds rank the same networks in different orders. A report
#   that shows one of them alone can choose the winner.
# - P. Kasimbeg et al., "Accelerating neural network training: an analysis of the AlgoPerf
#   competition", *ICLR*, 2025: update rules compared by the time to a result, with rules for the
#   tuning itself.
#
# The ways stand in `ddl_measure/reports/twelve_ways`, one a function; what finds them stands in
# `ddl_measure/reports`. `progress()` shows how far you have come. Unit 19 asks whether it is right
# at all, and whether another person can repeat it.
