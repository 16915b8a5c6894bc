# %% [markdown]
# # A month of failures
#
# **What is left after a month?**
#
# On 16,384 GPUs something fails every three hours. Here you compute which share of a month is
# spent on training in spite of that, and what makes this share larger. You need units 06 and 20.
# Sections 1 and 2 are for *beginners*, sections 3 to 5 for *intermediate* readers, section 6 for
# *advanced* ones. The notebook `25_silent_errors` has errors that no machine reports. About 60
# minutes.

# %%
import numpy as np

from ddl_class import check, hint, judge, predict, progress, reveal, yours
from ddl_class.plots.frame import plane
from ddl_teach.planning import goodput
from ddl_teach.planning.goodput import LLAMA_3, FailureKind, Safeguards, finish
from ddl_teach.theory import failures
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits

# %%
HOUR, DAY, SCALES = 3600, 86_400, (1024, 16_384, 65_536, 100_000)

# %% [markdown]
# ## 1. What fails · *beginner*
#
# Llama 3 was trained on 16,384 GPUs. In 54 days there were 419 interruptions that were not planned
# (Dubey et al., 2024). The report counts them by kind. (We use its counts: they add up to 419. The
# shares that it prints beside them do not add up.)

# %%
names, counts = [kind.name for kind in LLAMA_3], [kind.count for kind in LLAMA_3]
of_gpus = sum(kind.count for kind in LLAMA_3 if kind.group == "GPU")
axes = plane("interruptions in 54 days", height=4.6)
axes.barh(range(len(names)), counts, color="#4477aa")
axes.name_rows(names)
takeaway = f"{of_gpus} of {sum(counts)} interruptions came from GPUs"
axes.finish("Interruptions of Llama 3 by kind", takeaway, grid="x")

# %% [markdown]
# All ranks wait for each other. So *one* failure stops all of them. Say that each GPU fails as
# often as in that training. How long does a training on more GPUs go on without a failure?
#
# **Exercise.** `failures` came in `days` days on `gpus` GPUs. How many hours lie between two
# failures on `on` GPUs?


# %% name="25.hours" tags=["answer"]
def hours_between(failures, days, gpus, on):
    """Mean hours between two failures on `on` GPUs."""
    ### BEGIN SOLUTION
    hours = 24 * days / failures
    return hours * gpus / on
    ### END SOLUTION


# %% name="25.hours" tags=["check"]
check("25.hours", hours_between)
### BEGIN HIDDEN TESTS
judge("25.hours", hours_between, seed=251)
### END HIDDEN TESTS


# %%
def as_llama_3(failures, days, gpus, on):
    return 24 * days / failures * gpus / on


mine = yours("25.hours", hours_between, as_llama_3)
for count in SCALES:
    print(f"{count:7,} GPUs: {mine(419, 54, 16_384, count):5.1f} hours between two failures")

# %% [markdown]
# Each kind has its own rate, and the rates add up. The next cell prints the days between two
# failures of one kind, on 16,384 GPUs. A **silent data corruption** is a wrong result without an
# error. The notebook `25_silent_errors` is about it.

# %%
for name in (
    "Faulty GPU",
    "Network switch/cable",
    "Software bug",
    "Silent data corruption",
    "CPU",
):
    days = 54 / counts[names.index(name)]
    print(f"{name:24} every {days:4.1f} days")

# %% [markdown]
# Other machines fail more often or less. A node of Llama 3 had 3.8 failures in 1,000 days. Meta's
# older clusters had from 2.3 to 6.5 (Kokolis et al., 2025). So the numbers of this notebook hold
# for Llama 3's rates only.
#
# ## 2. How often to save · *beginner*
#
# After a failure all ranks start again from the newest checkpoint. A training saves one every $T$
# seconds. Saving takes $C$ seconds. A failure comes every $M$ seconds, and a restart takes $R$.
# The work since the newest checkpoint is lost, half an interval in the mean. So the lost share of
# the time is
#
# $$\text{lost} \approx \frac{C}{T} + \frac{T}{2M} + \frac{R}{M}.$$
#
# **Exercise.** For which $T$ is the lost share least? (Young, 1974, found it.)


# %% name="25.interval" tags=["answer"]
def save_every(save, between):
    """The seconds between two checkpoints, if one takes `save`, and failures come so far apart."""
    ### BEGIN SOLUTION
    return np.sqrt(2 * save * between)
    ### END SOLUTION


# %% name="25.interval" tags=["check"]
check("25.interval", save_every)
### BEGIN HIDDEN TESTS
judge("25.interval", save_every, seed=252)
### END HIDDEN TESTS

# %% [markdown]
# **Goodput** is the share of the time in which the training gets on. Llama 3's report calls it
# effective training time, others ETTR: the time spent on new steps, divided by the time that
# passes. Work that is done twice does not count, nor does a restart (Kokolis et al., 2025).
#
# Young's formula says *about*. Daly's is exact (Daly, 2006). If failures are as likely at any
# moment,
#
# $$\text{goodput} = \frac{T\, e^{-R/M}}{M\,(e^{(T+C)/M} - 1)}.$$
#
# We can also *draw* failures by chance, and follow the training from one to the next. `finish`
# does that for thousands of months at once. A month here is 30 days of training, and more days
# pass until it is done. Saving takes 40 seconds, as in the training of BLOOM. A restart takes 10
# minutes, which is our assumption.

# %%
SAVE, RESTART, MONTH = 40, 600, 30 * DAY
crash = [FailureKind("crash", 1)]
mean = goodput.mean_of(LLAMA_3, 16_384)

# %%
every = yours("25.interval", save_every, failures.young)(SAVE, mean)
months = finish(MONTH, crash, mean, Safeguards(every, SAVE, RESTART))
assert len(months.goodput) == 10_000
print(f"{months.goodput.mean():.2%} of 10,000 months, saved every {every / 60:.0f} minutes")

# %% [markdown]
# Does the mean agree with Daly's formula? A mean of 10,000 draws has a standard error. The next
# cell divides the difference by it. Up to 2 is chance.

# %%
expected = failures.expected(months.work, every, SAVE, RESTART, mean)
error = months.seconds.std() / np.sqrt(len(months.seconds))
print(f"drawn - computed: {(months.seconds.mean() - expected) / error:.1f} standard errors")

# %% [markdown]
# Other machines had other rates. The next cell takes published failures of a node in 1,000 days.
# RSC-1 is one of Meta's older clusters.
# The failures of OPT-175B are machines that went down, about two a day on 128 nodes. Each rate
# gets 2,048 nodes, our seconds, and Young's interval.

# %%
rates = {"BLOOM": 2.98, "Llama 3": 3.79, "RSC-1": 6.5, "OPT-175B": 15.6}
for name, rate in rates.items():
    between = 1000 * DAY / rate / 2048
    guards = Safeguards(failures.young(SAVE, between), SAVE, RESTART)
    others = finish(MONTH, crash, between, guards, runs=1000).goodput
    print(f"{name:8} {others.mean():.1%}, one month in 100 below {np.quantile(others, 0.01):.1%}")

# %% [markdown]
# So the same training would have four different goodputs. And for other intervals, on more GPUs?
# A line is Daly's formula, a hollow square the mean of
# drawn months, and a dotted line Young's interval.

# %%
intervals, lines, squares = np.geomspace(60, 7200, 13), {}, {}
for count in SCALES[1:]:
    between, name = goodput.mean_of(LLAMA_3, count), f"{count:,} GPUs"
    share = [failures.goodput(every, SAVE, RESTART, between) for every in intervals]
    lines[name] = (intervals, share)
    guards = [Safeguards(every, SAVE, RESTART) for every in intervals]
    means = [finish(MONTH, crash, between, g, runs=50).goodput.mean() for g in guards[3:10:3]]
    squares[name] = (intervals[3:10:3], means)

# %%
axes = plane("seconds between two checkpoints", "goodput")
colours = axes.draw_all({"computed": lines, "simulated": squares})
axes.log_scale("x")
axes.in_percent("y")
for colour, count in zip(colours.values(), SCALES[1:], strict=True):
    axes.mark(failures.young(SAVE, goodput.mean_of(LLAMA_3, count)), color=colour)
apart = max(abs(np.subtract(squares[n][1], lines[n][1][3:10:3])).max() for n in lines)
found = f"Drawn months and Daly's formula are at most {apart:.1%} apart"
axes.finish("Goodput over the interval", found, legend="lower left")

# %% [markdown]
# The top of each curve is flat: an interval that is wrong by a third costs little. When is Young's
# formula wrong? If saving takes long, compared with the time between failures. The next cell
# compares it with Daly's longer formula for the interval, and with the exact best one. It prints
# three intervals as parts of $M$, and the goodput of each in brackets.

# %%
for part in (0.001, 0.01, 0.1, 1.0):
    ways = failures.young(part, 1), failures.daly(part, 1), failures.best_interval(part, 1)
    shares = [failures.goodput(way, part, 0, 1) for way in ways]
    text = "  ".join(f"{way:.3f} ({share:.2%})" for way, share in zip(ways, shares, strict=True))
    print(f"C = {part:5} M: Young, Daly, exact = {text}")

# %% [markdown]
# All three agree as long as saving takes less than a hundredth of the time between failures. If
# it takes as long as that time, little is left in any case.
#
# The formulas also assume that failures are as likely at any moment. In the logs of 20 systems
# they came in bursts, by Weibull's law (Schroeder and Gibson, 2006). This law has a *shape*: 1
# means no bursts, and less than 1 means bursts. Then Daly's goodput is wrong. Is Young's interval
# wrong, too? The next cell draws months with 0.5, 0.8, 1, 1.25 and 2 times Young's interval, one
# column for each.

# %%
for shape in (1.0, 0.7, 0.5):
    guards = [Safeguards(part * every, SAVE, RESTART) for part in (0.5, 0.8, 1, 1.25, 2)]
    drawn = [finish(MONTH, crash, mean, g, 300, shape=shape).goodput.mean() for g in guards]
    print(f"shape {shape}: " + "  ".join(f"{share:.2%}" for share in drawn))
print(f"Daly says  {failures.goodput(every, SAVE, RESTART, mean):.2%} in the middle column")

# %% [markdown]
# With bursts the goodput is higher than Daly says: many failures come close together, and then
# none for long. But the middle column is still near the best of its row. So Young's interval is
# good.
#
# ## 3. Save and go on · *intermediate*
#
# Must all ranks stop until the checkpoint is on the disk? No. With an **asynchronous checkpoint**
# they stop only for a copy into the host's memory. Then the copy is written to disk while the
# training goes on (CheckFreq; Mohan et al., 2021).
#
# ```
# stop:    train | write write write | train
# behind:  train | copy | train train train
#                       | write write write | safe
# ```
#
# The copy is safe only when it is written. A failure before that throws it away.
#
# **Exercise.** Put these lines in order: two of them belong nowhere. A failure comes `until`
# seconds after a start. The start itself takes `restart`. Then `every` seconds of training and a
# copy that takes `stall` follow one another. A copy is safe `behind` seconds after it was made.
# How many seconds of training are kept?


# %% name="25.kept" tags=["answer"]
def kept(until, restart, every, stall, behind):
    """Seconds of training whose checkpoint was safe when the failure came."""
    ### BEGIN SOLUTION
    up = until - restart
    copied = up - behind
    cycle = every + stall
    whole = np.maximum(copied, 0) // cycle
    return whole * every
    ### END SOLUTION


# %% name="25.kept" tags=["check"]
check("25.kept", kept)
### BEGIN HIDDEN TESTS
judge("25.kept", kept, seed=253)
### END HIDDEN TESTS

# %% [markdown]
# In these lines `restart` and `behind` do the same: only their sum counts. So a write that takes
# $B$ seconds while the training goes on costs as much as a restart that is $B$ seconds longer. But
# a restart comes once a failure, and a write once a checkpoint. So the new way is better as long
# as failures are rarer than checkpoints.
#
# Two more ideas shorten the restart. **In-job restart**: if only a process died, processes are
# started anew on the same machines. **Memory of neighbours**: each machine keeps a copy of the
# state of another one. After a failure the state is read from there (Wang et al., 2023). Google's
# Gemini did so too, and its goodput rose from 85% to 97% (Gemini Team, 2023). We compare four
# ways. Each has all ideas of those before it. Their seconds are assumptions, except for BLOOM's
# 40.

# %%
ways = {
    "stop and write": {"stall": 40, "restart": 600},
    "write behind": {"stall": 4, "behind": 40, "restart": 600},
    "and in-job restart": {"stall": 4, "behind": 40, "restart": 600, "in_job": 120},
    "neighbours' memory": {"stall": 0.5, "behind": 5, "restart": 180, "in_job": 60},
}
grid = np.geomspace(10, 3600, 40)


# %% [markdown]
# Each way gets its own best interval, of one grid for all. The formula finds it. Then months are
# drawn with all kinds of failures. We count a failure of a GPU, a host, the network or maintenance
# as a lost machine, and any other as a lost process.


# %%
def best(way, between):
    usable = [t for t in grid if way.get("behind", 0) <= t + way["stall"]]
    cost = (way["stall"], way["restart"], between, way.get("behind", 0))
    every = max(usable, key=lambda t: failures.goodput(t, *cost))
    return Safeguards(every, **way)


# %%
drawn = {}
for name, way in ways.items():
    runs = []
    for count in SCALES[1:]:
        between = goodput.mean_of(LLAMA_3, count)
        runs.append(finish(MONTH, LLAMA_3, between, best(way, between), runs=100))
    drawn[name] = [run.goodput.mean() for run in runs]
    print(f"{name:20} " + "  ".join(f"{share:.1%}" for share in drawn[name]))

# %%
axes = plane("GPUs", "goodput")
axes.draw_all(
    {"simulated": {name: (SCALES[1:], row) for name, row in drawn.items()}}, linestyle="-"
)
axes.in_percent("y")
axes.set_ylim(0, 1)
first, last = drawn["stop and write"][2], drawn["neighbours' memory"][2]
axes.finish(
    "Goodput of four ways", f"100,000 GPUs: {first:.0%} to {last:.0%}", legend="lower left"
)

# %% [markdown]
# What if both neighbours are lost? The training of OPT-175B lost five hosts together on one day
# (its log of 6 December 2021). So a checkpoint on disks is still written now and then. Bamboo has
# another idea: in idle moments each stage of a pipeline also computes what its neighbour computes.
# So a lost stage is replaced at once (Thorpe et al., 2023).
#
# ## 4. A mean is not a month · *intermediate*
#
# A lost machine must be replaced. If there is a **spare** machine, the training goes on with it.
# If not, all others wait for a repair. Repairs take from less than an hour to more than a day, and
# a few take very long (Schroeder and Gibson, 2006). A list says for each spare at which time it is
# ready. The lost machine becomes a spare, too, once it is repaired.
#
# **Exercise.** A machine is lost `now`, and will be repaired at `repaired`. `back` is the list of
# the times at which spares are ready. The first that is ready is taken. Return how long the
# training waits for it, and the new list.


# %% name="25.spare" tags=["answer"]
def next_machine(now, back, repaired):
    """The seconds until a machine takes the place of the lost one, and the list from then on."""
    ### BEGIN SOLUTION
    times = sorted([*back, repaired])
    first = times.pop(0)
    return max(first - now, 0), times
    ### END SOLUTION


# %% name="25.spare" tags=["check"]
check("25.spare", next_machine)
### BEGIN HIDDEN TESTS
judge("25.spare", next_machine, seed=254)
### END HIDDEN TESTS

# %% [markdown]
# `finish` does the same with `spares`. Now a smaller training: 1,024 GPUs and one spare machine.
# It saves every half hour. A repair takes a day in the mean, which is our assumption. Commit to a
# number:

# %%
predict("25.months", ...)

# %%
guards = Safeguards(1800, SAVE, RESTART, spares=1, repair=DAY, spread=1.5)
small = finish(MONTH, LLAMA_3, goodput.mean_of(LLAMA_3, 1024), guards).goodput
worst, middle = np.quantile(small, [0.01, 0.5])
reveal("25.months", 100 * (1 - worst))

# %%
axes = plane("goodput", "months of 10,000")
axes.hist(small, bins=60, color="#4477aa")
axes.in_percent("x")
axes.set_ylim(0, 2700)
axes.mark(worst, "1 in 100")
axes.mark(small.mean(), "mean", ha="right")
axes.mark(middle, "median")
found = f"mean {small.mean():.0%}, median {middle:.0%}, one month in 100 below {worst:.0%}"
axes.finish("10,000 months on 1,024 GPUs with one spare", found, grid="y")

# %% [markdown]
# More than half of all months are better than the mean, and a few are much worse. If you promise a
# date, a mean is not enough: use a quantile, such as "1 in 100". How many spares does the large
# training need, for the mean and for 99 of 100 months?

# %%
spares, rows = (6, 8, 10, 12, 14, 16, 20), []
for number in spares:
    guards = Safeguards(120, 4, 600, 40, in_job=120, spares=number, repair=DAY, spread=1.5)
    share = finish(MONTH, LLAMA_3, mean, guards, runs=500).goodput
    rows.append([np.quantile(share, 0.01), share.mean(), np.quantile(share, 0.99)])
low, middle, high = np.transpose(rows)

# %%
axes = plane("spare machines for 2,048", "goodput")
axes.draw_curve("simulated", (spares, middle, (low, high)), "#4477aa", "mean; 98 of 100 months")
axes.in_percent("y")
at = spares.index(10)
found = f"10 spares: mean {middle[at]:.0%}, 1 month in 100 below {low[at]:.0%}"
axes.finish("Goodput on 16,384 GPUs over spares", found, legend="lower right")

# %% [markdown]
# With enough spares the bar is short: hundreds of small losses add up to nearly the same in each
# month. With few spares there are a few large losses, and the mean hides them.
#
# ## 5. A slow rank · *intermediate*
#
# Some machines do not fail. They get slow, and all others wait for them. One slow node cost 6% of
# BLOOM's speed (140 instead of 149 TFLOP/s a GPU). In `finish` a slow rank is a failure that is
# noticed `late` seconds after it began. Until then a share `harm` of the work is lost. Then it is
# replaced, like a lost machine. Say that one machine gets slow every day.

# %%
SLOW, guards = 0.06, Safeguards(600, 4, 600, 40)
for late in (60, 600, HOUR, 4 * HOUR, DAY):
    slow = [FailureKind("slow rank", 1, late=late, harm=SLOW)]
    lost = 1 - finish(MONTH, slow, DAY, guards, runs=500).goodput.mean()
    print(f"noticed after {late / HOUR:5.2f} hours: {lost:.2%} lost")

# %% [markdown]
# To replace it costs a restart and half an interval. To keep it costs 6% of the time that is left.
# So it should be replaced if the training still takes longer than

# %%
evict = guards.restart + guards.every / 2
print(f"{evict / SLOW / HOUR:.1f} hours")

# %% [markdown]
# Production looks for slow ranks all the time: MegaScale compares the times of the same step on
# all ranks, and replaces those that differ (Jiang et al., 2024).
#
# ## 6. On your own ranks · *advanced*
#
# Now a real failure. Three real ranks train a small network on the digits, for 60 steps of 50 ms,
# and save every ten. In step 37 the process of rank 1 is killed. That ends all ranks. Then the
# program is started again, and goes on from its newest checkpoint. Each rank writes the time of
# each step to a log.

# %%
import os
import tempfile
import time
from pathlib import Path

from ddl_class import launch
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_teach.fault_tolerance.progress import TrainingPlan
from ddl_teach.fault_tolerance.restarting import resume


# %%
def training(comm, folder, plan, kill):
    def before(comm, step):
        time.sleep(0.05)
        if comm.rank == 1 and step == kill:
            os.kill(os.getpid(), 9)
        with (Path(folder) / f"log {comm.rank}").open("a") as log:
            print(step, time.time(), file=log)

    return task.loss(resume(comm, plan, folder, 10, before=before))


# %%
task, folder, begun = Digits(hidden=16), tempfile.mkdtemp(), time.time()
plan = TrainingPlan(task, SGD(0.2), steps=60, ranks=3)
for kill in (37, None):
    try:
        launch(training, 3, folder=folder, plan=plan, kill=kill)
    except DiagnosedError as failure:
        print(str(failure).splitlines()[0])
passed = time.time() - begun

# %% [markdown]
# Its goodput, from its own log: steps that count, times the median time of a step, divided by
# the time that passed.

# %%
steps, times = np.loadtxt(Path(folder) / "log 0").T
step = np.median(np.diff(times))
twice = len(steps) - len(set(steps))

# %%
assert set(steps) == set(range(60))
print(f"goodput {60 * step / passed:.0%}: {twice} steps done twice, {twice * step / passed:.0%}")
print(f"starting and restarting took {1 - len(steps) * step / passed:.0%}")

# %% [markdown]
# In so short a training, starting takes most of the time. A large training has the same trouble:
# there is little time between two failures, compared with a restart.
#
# ## The surprise
#
# Near its best the interval between checkpoints hardly matters: the top of the curve is flat. It
# matters more how fast all ranks are back, and whether a spare machine is ready. And a mean hides
# the few months in which nearly a third of the time is lost.
#
# *What production does.* ByteDance keeps machines warm beside the training, swaps them in
# without a new job, and reports 97% on 9,600 GPUs over three months (Wan et al., 2025).
# "ML productivity goodput" multiplies ours with two more shares: the time in which a job has its
# machines, and how well its program uses them (Wongpanich et al., 2025).
#
# ## Three questions
#
# **1.** Failures come twice as often. By how much should the interval between checkpoints
# shrink?
#
# <details><summary>An answer</summary>
#
# By the root of two: T = sqrt(2 C M). The share that is lost by saving and redoing grows by the
# same root, and the one lost by restarts doubles.
#
# </details>
#
# **2.** Writing behind the training costs as much as a longer restart. When does it still pay?
#
# <details><summary>An answer</summary>
#
# If checkpoints are more frequent than failures: each of them no longer stops the training, and
# only a failure pays for what was not yet written.
#
# </details>
#
# **3.** The mean goodput is 92%, but in some months all wait for machines for days. What do you
# tell the people who pay?
#
# <details><summary>An answer</summary>
#
# Both: the mean says what many months cost together, a quantile when one training will be done.
# One training is one draw.
#
# </details>
#
# ## Where to read on
#
# - A. Dubey et al., "The Llama 3 herd of models", 2024: section 3.3.4, and its table 5.
# - J. W. Young, "A first order approximation to the optimum checkpoint interval", *Communications
#   of the ACM*, 1974.
# - J. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps",
#   *Future Generation Computer Systems*, 2006.
# - B. Schroeder and G. A. Gibson, "A large-scale study of failures in high-performance computing
#   systems", *DSN*, 2006.
# - A. Kokolis et al., "Revisiting reliability in large-scale machine learning research clusters",
#   *HPCA*, 2025.
# - J. Mohan, A. Phanishayee and V. Chidambaram, "CheckFreq: frequent, fine-grained DNN
#   checkpointing", *FAST*, 2021.
# - Z. Wang et al., "GEMINI: fast failure recovery in distributed training with in-memory
#   checkpoints", *SOSP*, 2023.
# - J. Thorpe et al., "Bamboo: making preemptible instances resilient for affordable training of
#   large DNNs", *NSDI*, 2023.
# - Gemini Team, "Gemini: a family of highly capable multimodal models", 2023: on goodput and on
#   silent corruption.
# - Z. Jiang et al., "MegaScale: scaling large language model training to more than 10,000 GPUs",
#   *NSDI*, 2024.
# - B. Wan et al., "Robust LLM training infrastructure at ByteDance", *SOSP*, 2025.
# - A. Wongpanich et al., "Machine learning fleet efficiency: analyzing and optimizing large-scale
#   Google TPU systems with ML productivity goodput", *arXiv*, 2025.
# - A. Douillard et al., "Decoupled DiLoCo for resilient distributed pre-training", *arXiv*, 2026:
#   parts that do not wait for each other lose no time when one of them fails.
#
# `progress()` shows how far you have come.
