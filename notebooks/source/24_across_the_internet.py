# %% [markdown]
# # Across the Internet
#
# **Can one train across the Internet?**
#
# Four sites, each with its own machines, want to train one network. The Internet between them
# carries 100 Mbit/s, and a message takes 50 ms. Inside a site a network is a thousand times as
# fast. You let the sites train alone for a *round* of many steps. You write what they do at its
# end, cut it into fragments, and let these travel while the training goes on. At last you plan a
# training on a very slow link. You need units 14 and 16. Sections 1 and 2 are for *beginners*,
# sections 3 and 4 for *intermediate* readers, section 5 is for *advanced* ones. About 60 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.collectives import ring
from ddl_teach.comm import Phantom, Star
from ddl_teach.theory.machine import Link
from ddl_teach.theory.slow_links import Round, starts

engines = Engines(4)

# %% [markdown]
# ## 1. The price of a step · *beginner*
#
# Data parallelism (unit 08) adds up the gradient in every step. $K$ sites do that with a ring: a
# message with latency $L$ and $B$ bytes a second, for $m$ bytes of gradient, takes
#
# $$e = 2(K-1)\left(L + \frac{m}{K B}\right).$$
#
# GPT-2 has 124 million weights in its smallest form (A. Radford et al., 2019), each with 4 bytes
# of gradient. How long does it take to add up one gradient over four sites? Commit to a number:

# %%
predict("24.every", ...)

# %%
internet = Link(latency=0.05, per_byte=8 / 100e6)  # 50 ms, 100 Mbit/s
weights = 124_000_000
every_step = Round(sites=4, nbytes=4 * weights, period=1, step_seconds=1.0)
reveal("24.every", every_step.under_way(internet))

# %% [markdown]
# Say that a step computes for one second. Then the sites compute for one second and wait for a
# minute, in every step. A faster link helps, but how fast must it be? And what if the sites add up
# only once in 10, 100 or 1000 steps? A `Round` is that: some steps (its *period*), then one
# sum.

# %%
megabits = np.geomspace(10, 1e5, 25)  # a second
lines = {}
for period in (1, 10, 100, 1000):
    way = Round(4, 4 * weights, period, 1.0)
    times = [way.seconds(Link(0.05, 8e-6 / fast)) / period for fast in megabits]
    lines[f"one average in {period}"] = (megabits, times)

# %%
axes = plane("Mbit/s between sites", "seconds of a step")
axes.draw_all({"predicted": lines})
axes.log_scale("x", at=[10, 100, 1000, 10_000, 100_000])
axes.log_scale("y")
at = Round(4, 4 * weights, 100, 1.0).seconds(internet) / 100
axes.mark(100, "100 Mbit/s")
found = f"At 100 Mbit/s, with one average in 100 steps, a step takes {at:.2f} s"
axes.finish("GPT-2", found, legend="best")

# %% [markdown]
# With one average in 100 steps a slow link costs little time. **Local SGD** (unit 14) does that:
# each worker trains alone for a round, and then all take the mean of their weights. But is the
# network as good in the end? That is the question of the next section.
#
# The messages can also be smaller. A number of 4 bits needs an eighth of 32 bits (unit 16).
#
# **Exercise.** How many times fewer bytes travel, compared with 32 bits in every step? Numbers
# have `bits` bits, and travel once in `period` steps.


# %% name="24.fewer" tags=["answer"]
def fewer_bytes(period, bits):
    """Bytes of every step in 32 bits, divided by these."""
    ### BEGIN SOLUTION
    return period * 32 / bits
    ### END SOLUTION


# %%
def by_formula(period, bits):
    every, seldom = (Round(4, size, steps, 1.0) for size, steps in ((32, 1), (bits, period)))
    return every.bytes_per_step / seldom.bytes_per_step


# %%
mine = yours("24.fewer", fewer_bytes, by_formula)
axes = plane("steps of a round", "times fewer bytes")
periods = [1, 3, 10, 30, 100, 300, 1000]
factors = {f"{bits} bits": (periods, [mine(p, bits) for p in periods]) for bits in (32, 8, 4)}
axes.draw_all({"predicted": factors})
axes.log_scale("x")
axes.log_scale("y")
axes.finish("Factors", "How many times fewer bytes travel", legend="upper left")

# %% [markdown]
# The two factors multiply: rounds of 100 steps in 4 bits send 800 times fewer bytes.

# %% name="24.fewer" tags=["check"]
check("24.fewer", fewer_bytes)
### BEGIN HIDDEN TESTS
judge("24.fewer", fewer_bytes, seed=241)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. Two rules · *beginner*
#
# A mean of weights forgets in which direction the last rounds went. **DiLoCo** (A. Douillard et
# al., 2023) remembers it, with two rules. The *inner* rule makes the steps of a round: AdamW,
# which is Adam (unit 13) with smaller weights after each step. The *outer* rule makes one step at
# the end of a round: Nesterov's momentum. Its gradient is how far the workers came, with a minus.
# That is the **outer gradient** $d$:
#
# $$d = a - \frac1K \sum_i w_i,\qquad v \leftarrow \mu v + d,\qquad
# a \leftarrow a - \eta\,(d + \mu v).$$
#
# Here $a$ are the weights on which all agreed, and $w_i$ are those of worker $i$. The paper takes
# $\eta = 0.7$, $\mu = 0.9$ and rounds of 500 steps.
#
# **Exercise.** Make one outer step. `mean` is the mean of the workers' weights.


# %% name="24.outer" tags=["answer"]
def outer_step(agreed, mean, velocity, rate, momentum):
    """The new agreed weights and the new velocity: `return agreed, velocity`."""
    ### BEGIN SOLUTION
    gradient = agreed - mean
    velocity = momentum * velocity + gradient
    return agreed - rate * (gradient + momentum * velocity), velocity
    ### END SOLUTION


# %%
def by_nesterov(agreed, mean, velocity, rate, momentum):
    velocity = momentum * velocity + agreed - mean
    return agreed - rate * (agreed - mean + momentum * velocity), velocity


# %%
mine, agreed, velocity = yours("24.outer", outer_step, by_nesterov), np.zeros(1), np.zeros(1)
places = [0.0]
for _ in range(8):  # in each round the workers come a tenth further than the agreed weights
    agreed, velocity = mine(agreed, agreed + 0.1, velocity, 0.7, 0.9)
    places.append(agreed[0])
axes = plane("round", "agreed weight")
rounds = range(9)
axes.draw_all({"predicted": {"two rules": (rounds, places), "mean": (rounds, 0.1 * np.arange(9))}})
axes.finish("Outer step", f"After 8 rounds: {places[-1]:.1f} and not 0.8", legend="upper left")

# %% [markdown]
# If all rounds go in one direction, the steps become longer. If the direction changes, the
# velocity must change first.

# %% name="24.outer" tags=["check"]
check("24.outer", outer_step)
### BEGIN HIDDEN TESTS
judge("24.outer", outer_step, seed=242)
### END HIDDEN TESTS

# %% [markdown]
# Now on ranks. `ring.allreduce(comm, x)` makes `x` the sum over the ranks. At the end all three
# arrays have changed in place.
#
# **Exercise.** Put these lines in order. They stand in alphabetical order, and one of them belongs
# nowhere.


# %% name="24.round" tags=["answer"]
def end_of_round(comm, weights, agreed, velocity):
    """`weights` are this worker's own; `agreed` and `velocity` are the same on all ranks."""
    ### BEGIN SOLUTION
    gradient = agreed - weights
    ring.allreduce(comm, gradient)
    gradient /= comm.size
    velocity[:] = 0.9 * velocity + gradient
    agreed -= 0.7 * (gradient + 0.9 * velocity)
    weights[:] = agreed
    ### END SOLUTION


# %% name="24.round" tags=["check"]
check("24.round", end_of_round)
### BEGIN HIDDEN TESTS
judge("24.round", end_of_round, ranks=(2, 3, 5), seed=243)
### END HIDDEN TESTS

# %% [markdown]
# In the library DiLoCo is a *consistency*, as in unit 14. So it goes with any compressor of unit
# 16. `Blocks(7)` rounds to 15 levels, which need 4 bits, with a scale for each 64 numbers. Four
# simulated ranks stand for four sites. They learn the digits.

# %%
from ddl_teach.training.compression.blocks import Blocks
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.diloco import DiLoCo
from ddl_teach.training.consistency.streaming_diloco import StreamingDiLoCo
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.adamw import AdamW
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

# %%
task, sites = Digits(batch=8), {"network": internet.network, "trace": False}
size = len(task.initial())


def program(comm, consistency, compressor, steps=100):
    given = {"compressor": compressor, "update": AdamW(0.01), "steps": steps}
    # A gradient takes a tenth of a second.
    return train(comm, task, consistency, pace=lambda worker, step: 0.1, **given)


# %%
ways = {"every step": (Synchronous(), Dense()), "DiLoCo, 32 bits": (DiLoCo(20), Dense())}
ways["DiLoCo, 4 bits"] = (DiLoCo(20), Blocks(7))
for name, (consistency, compressor) in ways.items():
    run = simulate(program, 4, consistency=consistency, compressor=compressor, **sites)
    sent, right = run.ledger[0].bytes_sent, task.accuracy(run.results[0].weights)
    print(f"{name:16} {run.time:5.1f} s, {sent:9,} bytes, {right:.0%} right")

# %% [markdown]
# This is one seed and one rate. So it shows that all three learn, and not which is better. How
# exact are 4 bits? The next cell rounds one outer gradient, and compares.

# %%
alone = simulate(program, 1, consistency=Synchronous(), compressor=Dense(), steps=20)
gradient = task.initial() - alone.results[0].weights
message = Blocks(7).encode(gradient, np.random.default_rng(0))
lost = Blocks(7).decode(message, size) - gradient
print(f"the error has {np.linalg.norm(lost) / np.linalg.norm(gradient):.0%} of its length")

# %% [markdown]
# That is a coarse gradient. But the errors of four workers and of many rounds partly cancel. And
# how many bytes are saved? Each block has a scale, too. Commit to a number:

# %%
predict("24.times", ...)

# %%
every, seldom = Round(4, 4 * size, 1, 0.1), Round(4, Blocks(7).nbytes(size), 100, 0.1)
reveal("24.times", every.bytes_per_step / seldom.bytes_per_step)

# %% [markdown]
# How many bytes does a site really send? With rounds of $H$ steps the formula says
# $2(K-1)/K\,m/H$ bytes a step. Here are formula, simulated ranks and your own ranks:


# %%
def in_rounds(comm, period):
    return program(comm, DiLoCo(period), Blocks(7), steps=40)


periods, simulated, measured = [5, 10, 20, 40], [], []
for period in periods:
    simulated.append(simulate(in_rounds, 4, period=period).ledger[0].bytes_sent / 40)
    measured.append(engines.run(in_rounds, period=period).ledger[0].bytes_sent / 40)

# %%
axes = plane("steps of a round", "bytes a step")
parts = sum(Blocks(7).nbytes(len(part)) for part in np.array_split(gradient, 4))
computed = [Round(4, parts, period, 0.1).bytes_per_step for period in periods]
grounds = {"predicted": computed, "simulated": simulated, "measured": measured}
axes.draw_all({name: {"a site": (periods, values)} for name, values in grounds.items()})
error = max(abs(np.array(measured) / computed - 1))
axes.finish("Bytes", f"Ledgers differ from the formula by {error:.1%} at most", legend="best")

# %% [markdown]
# ## 3. Fragments in turn · *intermediate*
#
# In DiLoCo the whole outer gradient travels at the end of a round, and all wait. **Streaming
# DiLoCo** (A. Douillard et al., 2025) cuts the weights into $F$ **fragments**. Each fragment
# travels once in a round, at a time of its own. And no rank waits: the mean of a fragment is used
# `delay` steps later. Until then the worker goes on with its own weights $w$. Then it takes
# $\alpha w + (1-\alpha) a$, where $\alpha$ is the `mixing`. So it keeps a part of its last steps.
#
# Fragment $f$ begins after $\lfloor (f+1) H / F \rfloor$ steps of each round of $H$ steps.
#
# **Exercise.** Which fragment begins after this step, counted from 1 over all rounds? Return -1 if
# none does.


# %% name="24.turn" tags=["answer"]
def turn(step, period, fragments):
    """The number of the fragment whose change begins to travel, or -1."""
    ### BEGIN SOLUTION
    for number in range(fragments):
        if step % period == (number + 1) * period // fragments % period:
            return number
    return -1
    ### END SOLUTION


# %%
def by_table(step, period, fragments):
    begun, within = starts(period, fragments), (step - 1) % period + 1
    return begun.index(within) if within in begun else -1


# %%
mine = yours("24.turn", turn, by_table)
axes = plane("step", "fragment", height=2.4)
steps = range(2, 25, 2)
axes.plot(steps, [mine(step, 8, 4) for step in steps], "s")
axes.finish("Turns", "Which fragment begins: rounds of 8 steps, 4 fragments")

# %% [markdown]
# Each fragment begins once in a round, and never two after the same step.

# %% name="24.turn" tags=["check"]
check("24.turn", turn)
### BEGIN HIDDEN TESTS
judge("24.turn", turn, seed=244)
### END HIDDEN TESTS

# %% [markdown]
# A fragment is under way for $e = 2(K-1)(L + m/(FKB))$ seconds. A step takes $c$ seconds. So with
# a delay of $T$ steps the workers compute for $T c$ of these seconds, and wait for the rest, if
# any.
#
# **Exercise.** How long does a round take? `under_way` is $e$, and `step` is $c$.


# %% name="24.waiting" tags=["answer"]
def seconds_of_round(period, step, fragments, delay, under_way):
    """The seconds of all steps of a round, and of all waiting."""
    ### BEGIN SOLUTION
    waiting = max(0, under_way - delay * step)
    return period * step + fragments * waiting
    ### END SOLUTION


# %% name="24.waiting" tags=["check"]
check("24.waiting", seconds_of_round)
### BEGIN HIDDEN TESTS
judge("24.waiting", seconds_of_round, seed=245)
### END HIDDEN TESTS

# %% [markdown]
# The next cell simulates two rounds of 20 steps, by DiLoCo and in two fragments with a delay of 5
# steps. Look at the messages: are they beside the gradients or between them? (In the first gap
# the ranks only meet, once.)

# %%
two = StreamingDiLoCo(20, fragments=2, delay=5, mixing=0.5)
for name, way in {"Two fragments": two, "DiLoCo": DiLoCo(20)}.items():
    watched = {"consistency": way, "compressor": Blocks(7), "steps": 40}
    run = simulate(program, 4, network=internet.network, **watched)
    display(run.timeline.plot(title=f"{name}: 40 steps in {run.time:.1f} s"))

# %% [markdown]
# Each fragment pays all latencies again. So a tiny network gains nothing from fragments. They help
# where bytes count. Take GPT-2, in 4 bits, with rounds of 100 steps of one second. How many steps
# of delay hide a fragment? And how many steps lie between two fragments?

# %%
for fragments in (1, 2, 4, 10):
    under_way = Round(4, weights * 4.5 / 8, 100, 1.0, fragments).under_way(internet)
    apart = 100 // fragments
    print(f"{fragments:2} fragments: {under_way:3.1f} steps hide one, {apart:3} between two")

# %% [markdown]
# ## 4. Four sites of 16 ranks · *intermediate*
#
# A site has many ranks. Inside, they add up gradients in every step, over a fast network. At the
# end of a round each rank sends its part of the outer gradient to the other sites. So the ranks of
# a site share one cable to the Internet. Computing a gradient takes 1 s. All messages are
# Phantoms: they have a size and no numbers.

# %%
cables = {"base_latency": 0.05, "bandwidth": 12.5e6, "local_latency": 5e-6}
world = Star(ports=4, ranks_per_node=16, local_bandwidth=25e9, **cables)


def a_round(comm, period, message):
    inside, across = comm.split(comm.node), comm.split(comm.rank % 16)
    for _ in range(period):
        comm.work(seconds=1.0)
        ring.allreduce(inside, Phantom(4 * weights))
    ring.allreduce(across, Phantom(message // 16))


# %%
four_bits = int(weights * 4.5 / 8)
ways = {"every step, 32 bits": (1, 4 * weights), "one in 20, 32 bits": (20, 4 * weights)}
ways |= {"one in 20, 4 bits": (20, four_bits), "one in 100, 4 bits": (100, four_bits)}
for name, (period, message) in ways.items():
    run = simulate(a_round, 64, network=world, period=period, message=message, trace=False)
    formula = Round(4, message, period, 1.0).seconds(internet)
    print(f"{name:20} {run.time / period:6.2f} s a step; formula {formula / period:6.2f} s")

# %% [markdown]
# The formula has no ranks inside a site, and yet it is close: the Internet takes most of the time.
# With one average in 100 steps, in 4 bits, four sites are nearly as fast as one. The bytes are
# hundreds of times fewer.
#
# ### The same loss?
#
# Take rounds of one step, plain SGD inside, and an outer step that adds the mean as it is. Then
# DiLoCo is data parallelism: it must have the losses of one process. Longer rounds are another
# training. The GPT of unit 08 shows both on your engines.

# %%
from ddl_teach.networks.models import data, gpt
from ddl_teach.training.tasks.network_task import NetworkTask

# %%
text = [part[:400] for part in data.documentation(64)[0]]
four, one = (NetworkTask(gpt.gpt_of("100k").double(), text, batch) for batch in (2, 8))
given = {"update": SGD(0.1), "steps": 8}
alone = simulate(train, 1, task=one, consistency=Synchronous(), **given).results[0].losses
for period in (1, 4):
    way = DiLoCo(period, outer=SGD(1.0))
    run = engines.run(train, task=four, consistency=way, timeout=120, **given)
    losses = np.mean([result.losses for result in run.results], axis=0)
    print(f"rounds of {period}: {losses.round(3)}")
    assert np.allclose(losses, alone, rtol=0, atol=1e-9) == (period == 1)

# %% [markdown]
# And a whole training? A smaller GPT, of 30 thousand weights, reads the documentation of Python.
# Each of four sites is one worker. The rates of the inner rule were searched on one grid. This was
# done for averages at every step, for the mean of weights and for one site alone; for DiLoCo also
# three outer rules. The search had one seed, and the losses are means of three others, on text
# held out. All other ways took the rates of DiLoCo with 1200 steps in 32 bits, so they are not at
# their best. Bytes are those of a whole training. `benchmarks/results/slow_links.txt` has all
# numbers:
#
# | what | steps | times fewer bytes | loss |
# |:--|--:|--:|--:|
# | every step, 32 bits | 800 | 1 | 1.732 |
# | DiLoCo, rounds of 50, 4 bits | 800 | 356 | 2.043 |
# | DiLoCo, rounds of 50, 4 bits | 1200 | 237 | 1.830 |
# | DiLoCo, rounds of 50, 4 bits | 1600 | 178 | 1.714 |
# | DiLoCo, rounds of 50, 32 bits | 1200 | 33 | 1.827 |
# | DiLoCo, rounds of 100, 4 bits | 1200 | 474 | 1.874 |
# | 4 fragments, delay of 10, 4 bits | 1200 | 237 | 1.873 |
# | mean of weights, rounds of 50, 32 bits | 1200 | 33 | 1.906 |
# | one site of four, alone | 1200 | | 1.995 |
#
# That is the surprise: at the *same number of steps* DiLoCo is far behind, in a training as short
# as this one. It needs twice the steps for the loss of every step, and still sends 178 times fewer
# bytes. One site alone has no messages at all, but a quarter of the data in each step. After 1200
# steps it has a loss of 1.995. In as many steps four sites have 1.830 by DiLoCo in 4 bits.
#
# 4 bits cost less than seeds differ. The best outer rule had a rate of 1 and a momentum of 0.5,
# and not the paper's. A training here has only 12 to 32 rounds, and the paper's have more.
#
# ### In a box
#
# What does that mean in seconds? `benchmarks/slow_links_in_a_box.py` trains the same GPT on four
# nodes of a box (unit 20) whose cables have 100 Mbit/s and 50 ms. A step sleeps for 100 ms
# besides, as if a device computed. Measured on two cores, a step took:
#
# | what | ms a step |
# |:--|--:|
# | every step, inside one site | 116 |
# | every step, four sites | 435 |
# | DiLoCo, rounds of 50, 4 bits, four sites | 114 |
# | 4 fragments, delay of 10, 4 bits, four sites | 122 |
#
# Between four sites DiLoCo's step costs no more than a step inside one site. Fragments won nothing
# for such a small network. Its messages are short, and the threads that carry them need a part of
# the two cores.
#
# Now to the end: `benchmarks/slow_links_to_the_end.py` makes whole trainings in this box, with
# three seeds. One site makes 800 steps and agrees in each: 93 s, and a loss of 1.732. Four sites
# make 1600 steps of DiLoCo: 182 s, and a loss of 1.714. By three seeds the losses cannot be told
# apart: 1.697 to 1.734 beside 1.731 to 1.732. So four sites take twice as long to learn as much,
# and send 178 times fewer bytes. Agreeing in each of 800 steps would take them 348 s, by the
# table.
#
# ## 5. A plan for a slow link · *advanced*
#
# **A puzzle.** Four sites learn the digits over a link of 256 kbit/s and 50 ms. A step takes 20
# ms. You choose five numbers: all steps, the steps of a round, fragments, delay, and levels on
# either side of zero (7 are 4 bits, 3 are 3 bits). Both rules are given: AdamW with a rate of
# 0.01, Nesterov with 0.7 and 0.6, and mixing of one half. The loss on digits held out must be at
# most **0.16** for two seeds. How many simulated seconds does that take? The next cell tries three
# plans.

# %%
from ddl_class.exercises.unit_24.internet_judges import outcome_of

for plan in ((160, 10, 1, 0, 7), (160, 20, 1, 18, 7), (200, 400, 1, 0, 7)):
    seconds, loss = outcome_of(*plan)
    print(plan, f"{seconds:.2f} s, a loss of {loss:.3f}")

# %% [markdown]
# The first is good enough and too slow. The other two lose too much. The goal is **4 s**.
#
# **Exercise.** Return your plan. How you find it is up to you.


# %% name="24.plan" tags=["answer"]
def plan():
    """`return steps, period, fragments, delay, levels`"""
    ### BEGIN SOLUTION
    return 160, 40, 2, 18, 7
    ### END SOLUTION


# %% name="24.plan" tags=["check"]
check("24.plan", plan)
### BEGIN HIDDEN TESTS
judge("24.plan", plan, seed=246)
### END HIDDEN TESTS

# %% [markdown]
# ## In production
#
# torchft, a library for PyTorch, has the same as `torchft.local_sgd.DiLoCo`: `sync_every` is the
# period, `fragment_sync_delay` the delay, and the outer rule is
# `torch.optim.SGD(..., nesterov=True)`. A test of this course trains with torch's AdamW and SGD in
# a plain loop, and gets the same weights. *INTELLECT-1* (S. Jaghouar et al., 2024) has 10 billion
# weights. Up to 14 nodes on three continents trained it with DiLoCo and outer gradients in 8 bits.
# The authors report 400 times less communication than data parallelism, and that machines
# computed for 83% to 96% of the time.
#
# ## Three questions
#
# **1.** Why is the mean of the weights not enough, although it is the same mean?
#
# <details><summary>An answer</summary>
#
# A round's mean has less noise than one worker, but it goes no further. The outer momentum adds up
# what rounds have in common, so the agreed weights go further where all rounds go one way.
#
# </details>
#
# **2.** Do fragments save bytes?
#
# <details><summary>An answer</summary>
#
# No. Each weight travels once in a round, as before. Less travels at once, so a shorter delay
# hides it, and a slower link is enough. But each fragment pays the latencies again.
#
# </details>
#
# **3.** Why must the delay not be longer than the steps between two fragments, here?
#
# <details><summary>An answer</summary>
#
# Then two fragments would share the link, and both would be slower. A mean that comes late is also
# worth less: it is about weights that the worker has left long ago.
#
# </details>
#
# ## Where to read on
#
# - A. Douillard et al., "DiLoCo: distributed low-communication training of language models",
#   *arXiv*, 2023.
# - A. Douillard et al., "Streaming DiLoCo with overlapping communication: towards a distributed
#   free lunch", *arXiv*, 2025.
# - S. Jaghouar, J. M. Ong and J. Hagemann, "OpenDiLoCo: an open-source framework for globally
#   distributed low-communication training", *arXiv*, 2024.
# - Z. Charles et al., "Communication-efficient language model training scales reliably and
#   robustly: scaling laws for DiLoCo", *NeurIPS*, 2025: how the rates and the loss change with the
#   size of the model and the number of workers.
# - S. Kale et al., "Eager updates for overlapped communication and computation in DiLoCo",
#   *arXiv*, 2025: while the mean is under way, a worker steps with its own part of it.
# - B. Peng, J. Quesnelle and D. P. Kingma, "DeMo: decoupled momentum optimization", *arXiv*, 2024:
#   the other way, a few numbers of the momentum in every step.
# - B. Thérien et al., "MuLoCo: Muon is a practical inner optimizer for DiLoCo", *arXiv*, 2025.
# - A. Douillard et al., "Decoupled DiLoCo for resilient distributed pre-training", *arXiv*, 2026:
#   sites that send when they can, and a mean that waits for enough of them.
#
# DiLoCo stands in `ddl_teach/training/consistency/diloco.py`, fragments in `streaming_diloco.py`
# beside it. `progress()` shows how far you have come. The next notebook, `24_without_a_centre`,
# has workers that come and go, and `24_workers_that_lie` some that lie.
