# %% [markdown]
# # Silent errors
#
# **What if a result is wrong, and no machine reports an error?**
#
# Some processors compute a wrong result now and then, and report nothing. A bit flips, and the
# training goes on with a wrong number. You write checks that find it, count their false alarms and
# their bytes, and find a broken rank among your own. You need units 06 and 20, and sections 1 and
# 2 of `25_a_month`. Section 1 is for *intermediate* readers, section 2 for *advanced* ones. About
# 45 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.collectives import ring

# %%
engines = Engines(4)

# %% [markdown]
# ## 1. A bit flips · *intermediate*
#
# How often does that happen? Google saw a few such cores in several thousand machines (Hochschild
# et al., 2021). Facebook found hundreds of such CPUs in hundreds of thousands of machines (Dixit
# et al., 2021). Gemini's team expected an event every week or two (Gemini Team, 2023). Llama 3 had
# six in 54 days. What does a wrong number do?
#
# We train the digits, with the gradients of 4 ranks in float32. In one step one bit of *one*
# number in the gradient of rank 1 flips. Then 30 steps follow. A float32 has 32 bits. Bit 31 is
# the sign, bits 23 to 30 are the exponent, and bits 0 to 22 the digits after the point (the
# *mantissa*). Commit to a number:

# %%
predict("25.bits", ...)

# %%
from ddl_teach.fault_tolerance import corruption
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits

task = Digits(hidden=16)


# %%
def trained(rule, weights, states, begin, end, place=0, bit=None):
    weights, states = weights.copy(), [state.copy() for state in states]
    for step in range(begin, end):
        parts = [task.gradient(weights, rank, 4, step)[1] for rank in range(4)]
        if bit is not None and step == begin:
            corruption.flip(parts[1], place, bit)
        rule(weights, np.mean(parts, axis=0), states, step + 1)
    return weights, states


# %% [markdown]
# The next cells flip each bit, at three places of the gradient. How far is the loss after 30 steps
# from the loss without the flip? The rates of SGD and Adam are those of earlier units, not tuned.
# So we do not compare the two rules. We compare each training with itself, without the flip. If
# the loss is not a number, it counts as infinite.


# %%
def changes(rule):
    empty = [np.zeros(len(task.initial()), "f4")] * rule.states
    start = trained(rule, task.initial(), empty, 0, 60)
    clean = task.loss(trained(rule, *start, 60, 90)[0])
    losses = [
        [task.loss(trained(rule, *start, 60, 90, place, bit)[0]) for bit in range(32)]
        for place in (100, 700, 1100)
    ]
    return np.nan_to_num(np.abs(np.array(losses) - clean), nan=np.inf).max(axis=0)


# %%
with np.errstate(all="ignore"):
    by_bit = {"SGD": changes(SGD(0.2)), "Adam": changes(Adam(3e-3))}
reveal("25.bits", (by_bit["SGD"] > 0.01).sum())

# %%
axes = plane("bit that flips", "change of the loss")
for (name, row), marker in zip(by_bit.items(), "os", strict=True):
    axes.plot(np.clip(row, 1e-9, 1e3), marker, label=name)
axes.set_yscale("log")
axes.mark(22.5, "mantissa | exponent", 0.6, ha="center")
worst = {name: int((row > 0.01).sum()) for name, row in by_bit.items()}
found = f"Bits that change the loss by over 0.01: SGD {worst['SGD']}, Adam {worst['Adam']} of 32"
axes.finish("Change of the loss by bit; above 1000: no number", found, legend="upper left")

# %% [markdown]
# Most flips change nearly nothing. The top bit of the exponent makes a small number extremely
# large. *SGD* then takes a step that is just as large. *Adam* divides by the size of recent
# gradients, so its step stays small, but the state of that weight is wrong for many steps. Real
# faults are more than single flips: on real faulty nodes losses jumped, and weights ended
# elsewhere (Ma et al., 2025). And an error that you do not see may still do harm: copies that
# differ never agree again.
#
# So there are four checks. You write two, and count what they find.
#
# **Same copies.** After an all-reduce all ranks must hold the *same bits*. That is checked
# exactly, with 8 bytes from each rank.
#
# **Exercise.** Return the list of ranks whose `x` differs from what most ranks hold. Each rank may
# send 8 bytes to each other. `x` is a vector of float64; `x.view(np.uint64)` are its bits as whole
# numbers. `ring.allgather(comm, numbers)` fills a vector in which rank r has filled place r.


# %% name="25.differ" tags=["answer"]
def differ(comm, x):
    """The ranks whose bits of x are not those of most ranks, on all ranks."""
    ### BEGIN SOLUTION
    prints = np.zeros(comm.size, np.uint64)
    prints[comm.rank] = x.view(np.uint64).sum()
    ring.allgather(comm, prints)
    values, counts = np.unique(prints, return_counts=True)
    most = values[counts.argmax()]
    return np.flatnonzero(prints != most).tolist()
    ### END SOLUTION


# %% name="25.differ" tags=["check"]
check("25.differ", differ)
### BEGIN HIDDEN TESTS
judge("25.differ", differ, ranks=(3, 5), seed=255)
### END HIDDEN TESTS

# %% [markdown]
# **Same sum.** A *checksum* is the sum of all numbers of a vector. Add up the checksums of all
# ranks: that is the checksum of the ranks' sum, *up to rounding*. This check finds a sum that is
# wrong on all ranks. K.-H. Huang and J. A. Abraham had the idea for matrices in 1984.
#
# **Replay.** If the gradient was wrong before it was sent, neither check sees that. So the right
# neighbour computes the same gradient again, and compares bits. That is exact, and costs a
# gradient. If the two differ, one of them is wrong. Which?
#
# **Exercise.** `differs[r]` says whether ranks r and r + 1 computed different gradients for rank
# r. (After the last rank comes rank 0.) A broken rank is wrong in its own gradient, and in the one
# that it computes for its left neighbour. Which ranks are wrong in both?


# %% name="25.blame" tags=["answer"]
def always_wrong(differs):
    """The ranks that are wrong in their own gradient and in the one they compute again."""
    ### BEGIN SOLUTION
    return [rank for rank in range(len(differs)) if differs[rank] and differs[rank - 1]]
    ### END SOLUTION


# %% name="25.blame" tags=["check"]
check("25.blame", always_wrong)
### BEGIN HIDDEN TESTS
judge("25.blame", always_wrong, seed=256)
### END HIDDEN TESTS

# %% [markdown]
# **Norms.** The fourth check is cheap: is a rank's gradient far longer than the median of all
# gradients? It needs a limit. A limit has **false alarms**: steps that it calls wrong though
# nothing flipped. So we run 300 clean steps on 8 simulated ranks. For each step we note the
# largest norm, divided by the median. We also note the difference of the two checksums, divided by
# the largest difference that rounding can make.


# %%
def norms_of(comm, gradient):
    norms = np.full(comm.size, np.linalg.norm(gradient))
    ring.allgather(comm, norms)
    return norms


# %%
def clean_steps(comm, steps, weights):
    seen = []
    for step in range(steps):
        gradient = task.gradient(weights, comm.rank, comm.size, step)[1]
        norms, before = norms_of(comm, gradient), corruption.checksums(gradient)
        ring.allreduce(comm, gradient)
        gap, most = corruption.sum_gap(comm, before, gradient)
        seen.append((norms.max() / np.median(norms), gap / most))
        weights = weights - 0.2 * gradient / comm.size
    return np.array(seen).T


# %%
run = simulate(clean_steps, 8, steps=300, weights=task.initial(), trace=False)
norms, gaps = run.results[0]

# %% [markdown]
# **Exercise.** At most `alarms` of the numbers may lie above the limit. What is the lowest such
# limit?


# %% name="25.limit" tags=["answer"]
def limit(clean, alarms):
    """The lowest limit above which lie at most `alarms` of the clean steps' numbers."""
    ### BEGIN SOLUTION
    falling = np.sort(clean)[::-1]
    return falling[alarms]
    ### END SOLUTION


# %% name="25.limit" tags=["check"]
check("25.limit", limit)
### BEGIN HIDDEN TESTS
judge("25.limit", limit, seed=257)
### END HIDDEN TESTS


# %%
def by_place(clean, alarms):
    return np.sort(clean)[::-1][alarms]


lowest = yours("25.limit", limit, by_place)
for alarms in (30, 3, 0):
    print(f"{alarms:2} alarms in 300: norm {lowest(norms, alarms):.1f} times the median")
print(f"the same-sum check needs {gaps.max():.2%} of its bound in clean steps: no alarm")

# %% [markdown]
# The norms of small batches differ very much. So the limit must be high, and small errors stay
# below it. Now we try all four checks together. The flip is in a gradient, or in one rank's copy
# of the sum, or in the sum that all ranks get. Which of the 32 bits does each check find?


# %%
def two_gradients(comm, weights, step):
    parts = comm.rank, (comm.rank - 1) % comm.size
    return [task.gradient(weights, part, comm.size, step)[1] for part in parts]


# %%
def checks(comm, bit, where, weights, factor):
    own, again = two_gradients(comm, weights, 7)
    if where == "a gradient" and comm.rank == 1:
        corruption.flip(own, 100, bit)
    before, total = corruption.checksums(own), own.copy()
    ring.allreduce(comm, total)
    return verdicts(comm, where, bit, before, own, again, total, factor)


# %%
def verdicts(comm, where, bit, before, sent, again, total, factor):
    if where == "the sum" or (where == "a copy" and comm.rank == 1):
        corruption.flip(total, 100, bit)
    gap, most = corruption.sum_gap(comm, before, total)
    replayed = corruption.replays_differ(comm, sent, again)
    copies, far = corruption.other_copies(comm, total), corruption.outliers(comm, sent, factor)
    return bool(copies), not gap <= most, bool(replayed), bool(far)


# %% [markdown]
# The norms have the lowest limit that gives no false alarm in the clean steps.

# %%
given = {"weights": task.initial(), "factor": by_place(norms, 0), "trace": False}
print("bits found of 32       copies   sum  replay  norm")
with np.errstate(all="ignore"):
    for where in ("a gradient", "a copy", "the sum"):
        runs = [simulate(checks, 4, bit=bit, where=where, **given) for bit in range(32)]
        numbers = np.sum([run.results[0] for run in runs], axis=0)
        print(f"flip in {where:14}", " ".join(f"{number:6}" for number in numbers))

# %% [markdown]
# No check finds all. Copies find any bit in a wrong copy. Replay finds any bit in a wrong
# gradient. If the sum is wrong on all ranks, only the checksum finds it, and only if the error is
# larger than rounding can be. The first and the third check compare bits. So they have no false
# alarms, as long as all ranks add in the same order.
#
# What do the checks cost? The ledger counts bytes. The next cell has a function for each check,
# and its arguments:

# %%
x = np.ones(100_000, "f4")
four = {
    "copies": (corruption.other_copies, x),
    "sum": (corruption.sum_gap, corruption.checksums(x), x),
    "replay": (corruption.replays_differ, x, x),
    "norm": (corruption.outliers, x, 3.0),
}


# %%
def bytes_of(comm, name):
    check_of, *given = four[name]
    check_of(comm, *given)
    return comm.ledger.bytes_sent


# %%
for name in four:
    print(f"{name:6} {simulate(bytes_of, 8, name=name).results[0]:4} bytes of rank 0 on 8 ranks")

# %% [markdown]
# The bytes are few, but replay also costs a gradient. If it is done in one of $k$ steps, it costs
# $1/k$ of the time of gradients. Then a fault that stays is noticed $k/2$ steps late on average,
# and these steps must be done again.
#
# ## 2. On your own ranks · *advanced*
#
# The library does this in a training. `Replay` stands between the trainer and the task. It replays
# each gradient, or those of one step in `every`. If bits differ, all ranks compute the step again.
# On your engines one bit flips on rank 2, in each of the steps 5 to 9. It flips once only.

# %%
from functools import partial
from types import SimpleNamespace

from ddl_teach.fault_tolerance.replay import Replay
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.trainer import train


# %%
def flipping(comm, done, stays, weights, part, parts, step):
    loss, own = task.gradient(weights, part, parts, step)
    if comm.rank == 2 and 5 <= step < 10 and (stays or step not in done):
        corruption.flip(own, 3, 12)
        done.add(step)
    return loss, own


# %% [markdown]
# Only bit 12 of one number flips: no norm would show it. The next cell trains for 40 steps with
# these flips, and then without them.


# %%
def guarded(comm, stays=False, every=1):
    flips = partial(flipping, comm, set(), stays)
    faulty = SimpleNamespace(initial=task.initial, gradient=flips)
    replay = Replay(comm, faulty, every)
    result = train(comm, replay, Synchronous(), update=SGD(0.2), steps=40)
    return replay.alarms, replay.replayed, result.weights


# %%
alarms, replayed, weights = engines.run(guarded).results[3]
clean = engines.run(train, task=task, consistency=Synchronous(), update=SGD(0.2), steps=40)
print(dict(alarms), "after", replayed, "replays")
assert [step for step, _ in alarms] == list(range(5, 10))
assert np.array_equal(weights, clean.results[3].weights)

# %% [markdown]
# All five alarms are right, and 35 clean steps have none. The weights at the end are those of the
# training without flips, to the last bit. Now rank 2 stays broken: its bit flips whenever it
# computes, also for its neighbour. One step in five is replayed. Computing again does not help.

# %%
from ddl_runtime.diagnosis.deadlock import DiagnosedError

try:
    engines.run(guarded, stays=True, every=5)
except DiagnosedError as failure:
    print(next(line for line in str(failure).splitlines() if "Replace" in line))

# %% [markdown]
# **False alarms.** A replay compares bits. So what if a rank is right, but rounds otherwise? Here
# rank 1 computes in float64, and rounds at the end. A GPU of another kind would do so, too. With
# `retries=None` alarms are only counted.


# %%
def in_double(weights, part, parts, step):
    loss, own = Digits(hidden=16, dtype="float64").gradient(
        weights.astype("f8"), part, parts, step
    )
    return loss, own.astype("f4")


# %%
def rounding(comm):
    other = SimpleNamespace(initial=task.initial, gradient=in_double)
    replay = Replay(comm, other if comm.rank == 1 else task, retries=None)
    train(comm, replay, Synchronous(), update=SGD(0.2), steps=40)
    return len(replay.alarms), replay.replayed


# %%
false, replayed = engines.run(rounding).results[0]
print(f"{false} of {replayed} replays are false alarms")
assert false == replayed

# %% [markdown]
# Every replay is a false alarm. So all ranks need the same program, the same kind of processor,
# and sums in a fixed order. Or the check needs a limit, as norms do, and small errors stay below
# it.
#
# ## The surprise
#
# Most flips change nothing that you would see. And the checks that find the others send few bytes.
# Only replay is expensive. A look at the loss, which is the usual check, finds only very large
# errors.
#
# *What production does.* Google replays steps to find wrong chips, and scans idle machines for
# them (Gemini Team, 2023).
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("25")

# %% [markdown]
# ## Three questions
#
# **1.** Why does the same-copies check not see a gradient that was computed wrongly?
#
# <details><summary>An answer</summary>
#
# The wrong gradient goes into the sum, and all ranks get the same wrong sum. Copies of something
# wrong are alike.
#
# </details>
#
# **2.** Why has the same-sum check a bound, and the same-copies check none?
#
# <details><summary>An answer</summary>
#
# Sums in another order are rounded differently, so two right sums may differ a little. Copies
# of one result are equal to the last bit.
#
# </details>
#
# **3.** Replay finds that two neighbours disagree. Which of them do you replace?
#
# <details><summary>An answer</summary>
#
# One disagreement does not say. A rank that is wrong both in its own gradient and in the one
# that it computes again is the broken one.
#
# </details>
#
# ## Where to read on
#
# - P. H. Hochschild et al., "Cores that don't count", *HotOS*, 2021.
# - H. D. Dixit et al., "Silent data corruptions at scale", *arXiv*, 2021.
# - J. J. Ma, H. Pei, L. Lausen and G. Karypis, "Understanding silent data corruption in LLM
#   training", *ACL*, 2025.
# - A. Altenbernd, P. Wiesner and O. Kao, "Exploring silent data corruption as a reliability
#   challenge in LLM training", *arXiv*, 2026: bits flipped on purpose.
# - K.-H. Huang and J. A. Abraham, "Algorithm-based fault tolerance for matrix operations", *IEEE
#   Transactions on Computers*, 1984.
# - Gemini Team, "Gemini: a family of highly capable multimodal models", 2023: on silent
#   corruption.
#
# The checks stand in `ddl_teach/plain/silent_corruption.py`, and the training that replays in
# `ddl_teach/fault_tolerance/replay.py`. `progress()` shows how far you have
# come.
