# %% [markdown]
# # Networks that scale
#
# **Can a search find a network that is good, and cheap on many ranks? And would you notice?**
#
# In unit 17 a search chose numbers: a rate, a width. Here it chooses what is connected with what.
# A network is bred by evolution, scored by weights that it shares with thousands of others,
# proposed by a controller that learns; and in the end it has to pay for the time of a training
# step on sixteen ranks. At each of these stations there is a way to fool oneself, and you will see
# most of them with numbers.
#
# There is nothing to be written in this notebook; it is to be run, read and changed. You need
# units 06, 08 and 17. *Beginners* read sections 1 to 3, *intermediate* readers all. About 40
# minutes.
#
# ## 1. A cell · *beginner*
#
# Many convolutional networks repeat one small piece, the **cell**. Whoever searches for the cell
# alone has a small space, and what is found can be stacked as high as one likes. A cell here has
# four places. Place 0 is what comes in, place 3 what goes out, and
#
# $$\text{place } j \;=\; \text{mean over all } i<j \text{ of } \;
# \text{operation}_{ij}(\text{place } i) .$$
#
# On each of the six edges stands one of five operations: `none`, `same` (hand on what came),
# `mean3` (a mean over 3 x 3 neighbours), `conv1` and `conv3` (convolutions with a ReLU). Two such
# cells follow each other, and a *head* sums up the last maps: as a whole (`mean`), in `quarters`
# or in `sixteenths`. All choices together are a **genotype**, plain data:

# %%
import numpy as np

from ddl_class.plots import searching as pictures
from ddl_teach.search.architectures.cells import CELLS, EDGES, living, text


# %%
def draw(genotype):
    return pictures.plot_cell({edge: genotype[edge] for edge in EDGES}, living(genotype))


draw(CELLS.sample(0, 0))

# %% [markdown]
# Pale edges hold an operation and count for nothing: no way from place 0 leads there, or none from
# there to place 3.
#
# **Predict**, on paper: there are $5^6 \cdot 3 = 46{,}875$ genotypes. How many of them are
# *different* networks? And how many are none at all, since nothing arrives at place 3?

# %%
from itertools import product

every = product(*(axis.options for axis in CELLS.axes.values()))
networks = [text(dict(zip(CELLS.axes, genes, strict=True))) for genes in every]
broken = sum(network.startswith("nothing") for network in networks)
print(f"{len(set(networks)):,} of {len(networks):,}; {broken:,} times nothing arrives")
assert len(set(networks)) < len(networks)

# %% [markdown]
# That matters for a search: it may train the same network twice, and believe it has learnt
# something.
#
# ## 2. Evolution with ageing · *beginner*
#
# You wrote it in unit 17. For each child a few of the population are drawn, the best
# of them is the parent, one choice is changed; the child is trained and joins, and the *oldest*
# leaves. Nothing has generations, so nobody waits for one to end. What a worker cannot know is
# what the others are just training: with `ahead=2` trial $n$ is proposed knowing the results 0 to
# $n - 2$, no fewer and no more. So two workers are busy, and the search is the same on any number
# of them.
#
# The trainings below are real ones: 40 steps on 1,149 of the handwritten digits, and the loss is
# the share of 288 others that is answered wrongly. The three ranks are simulated, rank 0 conducts,
# and time is made up: a second for each edge that counts, and one besides. (Take
# `engines = Engines(3)` and `engines.run` in place of `simulate`, without the pace, and your own
# ranks find the same cells.)

# %%
import torch

from ddl_class import simulate
from ddl_class.plots.search import plot_search
from ddl_teach.search import by_ranks
from ddl_teach.search.architectures.evolution import Evolution
from ddl_teach.search.architectures.train_cells import CellTraining

training = CellTraining()
evolution = Evolution(CELLS, trials=10, steps=40, seed=5, population=4, sample=2, ahead=2)

# %%
torch.set_num_threads(1)
given = {"training": training, "pace": lambda rank, job: 1 + len(living(job.settings))}
report = simulate(by_ranks.search, 3, decider=evolution, **given).results[0]
print(report)
plot_search(report.records)

# %%
trials = {it.trial: it for it in report.records}
for number, parent in report.decider.parents.items():
    old, new = trials[parent], trials[number]
    [gene] = [name for name in CELLS.axes if old.settings[name] != new.settings[name]]
    same, change = text(old.settings) == text(new.settings), f"{old.loss:.1%} -> {new.loss:.1%}"
    print(f"{number:2} is {parent}, {gene} {old.settings[gene]} -> {new.settings[gene]}:", end=" ")
    print(change, "the same network" * same)
    assert not same or old.loss == new.loss
draw(report.winner.settings)

# %% [markdown]
# In the first picture white is waiting: that is what `ahead=2` costs where run times differ. The
# list says who descends from whom, and what became of the errors; the cell is the winner.
# Where a pale edge was changed a whole training was spent on the same network. (All trials begin
# with the same weights, so its errors are the same to the last digit, and luck does not decide
# between trials.) Biologists call such mutations neutral. They are no nonsense: other networks are
# one mutation away from there.
#
# ## 3. What the search sees, and what it is worth · *beginner*
#
# 288 pictures are few. A network that truly errs in 5% of all cases is seen at 5% with a standard
# deviation of $\sqrt{0.05\cdot0.95/288} = 1.3\%$. A search takes the *best* of what it sees.
#
# **Predict**, on paper: forty networks all err in exactly 5% of all cases, each is seen on 288
# pictures of its own. How good does the best of them look?

# %%
seen = np.random.default_rng(0).binomial(288, 0.05, (10_000, 40)) / 288
for count in (1, 10, 40):
    print(f"the best of {count:2} is seen at {seen[:, :count].min(axis=1).mean():.1%} on average")
assert seen.min(axis=1).mean() < 0.03

# %% [markdown]
# Half of the errors have gone, and nothing has been found. (Here all networks are compared by the
# *same* pictures, which takes some of that luck away; initial weights and the order of samples add
# some.) So the winner is trained again, from three seeds that no search has used, and only now is
# the test part looked at:

# %%
again = [training(report.winner.settings, None, 40, seed) for seed in (1001, 1002, 1003)]
tested = [1 - training.test(report.winner.settings, state) for state, _ in again]
print(f"seen {report.winner.loss:.1%}; trained again:", *(f"{it:.1%}" for _, it in again))
print("on the test part:", *(f"{error:.1%}" for error in tested))
assert max(tested) < 0.5

# %% [markdown]
# One search says little, whatever came out. *Recorded* (two cores, 2026-11-21;
# `benchmarks/results/architectures.txt`, `python -m benchmarks.architectures` makes it anew): six
# searches of each kind, 2,400 steps of training for each, errors in percent, medians with 95%
# intervals. The controller comes in section 5; "shared weights" is a search that spends half of
# its steps on the network of section 4, scores 200 cells with it, and trains the best twenty.
#
# | search | seen by the search | trained again | test part |
# |---|---|---|---|
# | chance | 3.5 (2.1 to 4.9) | 4.8 (3.7 to 7.2) | 5.3 (4.8 to 6.9) |
# | evolution | 3.0 (2.1 to 4.9) | 5.1 (3.7 to 13.3) | 5.4 (5.1 to 12.4) |
# | controller | 3.6 (2.1 to 5.2) | 5.2 (3.2 to 7.5) | 5.7 (3.9 to 8.0) |
# | shared weights | 3.3 (2.1 to 3.8) | 6.0 (4.1 to 6.8) | 5.5 (3.9 to 7.6) |
#
# ### The surprise
#
# **Winners look better than they are, and no search can be told from chance.** The middle winner
# is seen at 3 to 3.6% and is worth 5 to 6%. By the column that the search saw evolution is ahead,
# by the next one chance is; and the intervals overlap so far that neither means anything. With 40
# trials in a space where many cells are good nothing else should be expected. With large networks
# random search, stopped early, did at least as well as ENAS, a leading search, on both of two
# tasks (Li and Talwalkar, 2019).
#
# ## 4. One network for all: shared weights · *intermediate*
#
# Ten cells, ten trainings. Could one do with a single one? A large network holds *every*
# operation on every edge. Each step draws a genotype at random, uses only what it names, and
# trains that:
#
# $$w \leftarrow w - \text{rate}\cdot\nabla\,\ell_{\text{a random genotype}}(w) .$$
#
# Afterwards any cell is scored by the weights it finds there, in one forward pass (Pham and
# others, 2018; Bender and others, 2018). It is a task as all others in this course: several
# workers draw a genotype each and average their gradients.

# %%
from ddl_teach.search.architectures.agreement import kendall_interval
from ddl_teach.search.architectures.shared import SharedTask, SharedTraining
from ddl_teach.search.training import advanced
from ddl_teach.training.optimizers.momentum import Momentum

task = SharedTask()
weights = advanced(task, Momentum(0.02), None, steps=300)["weights"]
print(f"{weights.size:,} weights hold all {len(set(networks)):,} networks")

# %% [markdown]
# Is a cell that is good with shared weights good by itself? Look whether two scores put cells in
# the same order: **Kendall's tau** is 1 if all pairs are ordered alike, 0 for dice. Beside it
# stands something much simpler that costs little as well: to train each cell alone, and stop after
# 15 steps.
#
# **Predict**, on paper: whose tau is larger?

# %%
cells, alone = zip(*((it.settings, it.loss) for it in report.records), strict=True)
scores = {"shared weights": [task.error(weights, cell) for cell in cells],
          "15 steps alone": [training(cell, None, 15, 1)[1] for cell in cells]}  # fmt: skip
taus = {name: kendall_interval(score, alone) for name, score in scores.items()}
pictures.plot_agreement({name: (score, alone) for name, score in scores.items()}, taus)

# %% [markdown]
# Look at the intervals: ten cells say nearly nothing about a tau. *Recorded*, with 40 cells
# (the same file), against cells trained alone for 60 steps:
#
# | score | steps it took in all | tau, all 40 | tau, the best 13 |
# |---|---|---|---|
# | alone, 60 steps, another seed | 2,400 | 0.79 (0.68 to 0.86) | 0.34 (-0.04 to 0.63) |
# | alone, 15 steps | 600 | 0.70 (0.55 to 0.82) | 0.53 (0.14 to 0.76) |
# | shared weights | 600 | 0.65 (0.51 to 0.76) | 0.39 (0.03 to 0.71) |
# | shared weights | 1,200 | 0.72 (0.62 to 0.81) | 0.34 (-0.07 to 0.67) |
#
# The first row is the ceiling: the very same training from other weights. Shared weights come near
# it, and so does stopping early, for as few steps; between these two nobody can tell. To tell bad
# cells from good ones is easy, and that is most of a tau. Among the best 13 all of them are lower,
# with intervals as wide as a barn door. (They are the best by the sum of the two long trainings,
# which makes just these two agree less.) Yu and others (2020) found worse.
#
# ## 5. A controller in thirty lines · *intermediate*
#
# Evolution keeps cells; a controller keeps *likelihoods*. It proposes by dice, and where a
# proposal did better than the mean so far, it makes these dice likelier: REINFORCE (Williams,
# 1992), with which Zoph and Le (2017) made this field known, on 800 GPUs. No loss is
# differentiated. Here is all of it. With shared weights a score costs milliseconds, so it may
# propose sixty cells in a few seconds; on one worker and on four, with the same result.

# %%
import inspect

from ddl_teach.search.architectures.reinforce import Reinforce

print(inspect.getsource(Reinforce))

# %%
controller = Reinforce(CELLS, trials=60, steps=1, ahead=4)
given = {"training": SharedTraining(weights), "decider": controller}
told = [simulate(by_ranks.search, ranks, **given).results[0].decider for ranks in (2, 5)]
for name, likely in told[0].likely.items():
    shares = zip(CELLS.axes[name].options, likely, strict=True)
    print(f"{name:5}", *(f"{option} {share:4.0%}  " for option, share in shares))
    assert np.array_equal(likely, told[1].likely[name])

# %% [markdown]
# What has it learnt? The head, and that the straight way from 0 to 3 should not stay empty: with
# five seeds (try `seed=1`) it came to the same in both. The other dice have moved as well, but
# with each seed elsewhere: small differences, and sixty proposals. The table also believes that
# choices add up; it cannot say "a convolution here, if there is none there". Zoph and Le's
# controller could, it was a recurrent network.
#
# ## 6. Networks that scale · *intermediate*
#
# So far time was free. Now the network is to be trained on $P = 16$ ranks with 8 pictures each,
# data-parallel (unit 08). The counters of unit 01 give work $W$, depth $D$ and the bytes $n$ of
# all weights; a step takes, without overlap,
#
# $$T = \frac{W}{\text{flops}} + 2(P-1)L + 2\,\frac{P-1}{P}\,n\,G, \qquad
# \text{efficiency} = \frac{W/\text{flops}}{T}$$
#
# with a ring all-reduce (unit 06), $10^{10}$ operations a second, $L$ = 5 µs and 125 MB/s.
#
# **Predict**, on paper, of three cells by hand: which one is the most *efficient* on 16 ranks, and
# which takes the shortest *step*? One has a 3 x 3 convolution on every edge, one has a single
# convolution, and one has none at all: its cells hand on what comes, and only the stem and a large
# head learn.

# %%
from ddl_measure.experiments.architectures import PlannedJob, costs
from ddl_teach.collectives import ring
from ddl_teach.comm import Machine, Phantom, Uniform

nothing = dict.fromkeys(EDGES, "none")
by_hand = {"all conv3": dict.fromkeys(EDGES, "conv3") | {"head": "mean"},
           "one conv3": nothing | {"0-3": "conv3", "head": "quarters"},
           "no conv": nothing | {"0-3": "same", "head": "sixteenths"}}  # fmt: skip
ground = {"network": Uniform(latency=5e-6, bandwidth=1.25e8), "machine": Machine(flops=1e10)}

# %%
prices = {name: costs(cell, PlannedJob(ranks=16, samples=8)) for name, cell in by_hand.items()}
for name, price in prices.items():
    print(f"{name}:", ", ".join(f"{what} {number:.3g}" for what, number in vars(price).items()))
assert max(prices, key=lambda name: prices[name].efficiency) == "all conv3"
assert max(prices, key=lambda name: prices[name].seconds) == "all conv3"

# %% [markdown]
# **The most efficient network is the slowest.** Whoever computes more than it needs is busy all
# the time. Efficiency alone is a bad goal, for networks as for people; seconds tell them apart.
#
# Is the formula right? The same step on simulated ranks, on up to 64 of them:


# %%
def step(comm, cell):
    comm.work(flops=cell.work)
    ring.allreduce(comm, Phantom(cell.nbytes))


for ranks in (1, 4, 16, 64):
    times = [simulate(step, ranks, cell=it, **ground).time for it in prices.values()]
    formula = [it.work / 1e10 + PlannedJob(ranks).messages(it.nbytes) for it in prices.values()]
    assert np.allclose(times, formula, rtol=0.01)
    print(f"{ranks:2} ranks:", *(f"{1e6 * time:5,.0f} µs" for time in times))

# %% [markdown]
# Errors, seconds, work, depth: which cell is the best? Nobody can say without a price. But who is
# **dominated**, nowhere better and somewhere worse than another one, can be forgotten at any
# price. The others are the *Pareto front*. To *search* for such networks, a price must be named.
# MnasNet (Tan and others, 2019) multiplies the accuracy by a small negative power of the time. In
# the same manner, here
# $\text{error}\cdot(\text{seconds}/\text{target})^{\text{power}}$: with a power of 0.3, twice as
# fast may have 23% more errors. (In the library `Priced(training, seconds)` is the same for any
# search.) Here are the cells of your evolution and the three by hand; who wins, at which power?

# %%
from ddl_teach.search.architectures.front import undominated

once = {text(it.settings): it for it in report.records}  # each network
bred = {name: (it.loss, costs(it.settings)) for name, it in once.items()}
hand = {text(it): (training(it, None, 40, 5)[1], prices[name]) for name, it in by_hand.items()}
found = hand | bred
rows = np.array([(error, it.seconds, it.work, it.depth) for error, it in found.values()])
sizes = [len(undominated(rows[:, :columns])) for columns in (2, 3, 4)]
print("on the front by errors and seconds, with work, with depth as well:", *sizes)
assert sizes == sorted(sizes)

# %%
front, mine = undominated(rows[:, :2]), np.array([name in bred for name in found])
clouds = {"evolution": rows[mine][:, [1, 0]].T, "by hand": rows[~mine][:, [1, 0]].T}
axis = "predicted seconds of a step on 16 ranks"
pictures.plot_architectures(clouds, rows[front][:, [1, 0]].T, price=axis)

# %%
for power in (0.1, 0.3, 3.0):
    best = int((rows[:, 0] * (rows[:, 1] / 1e-3) ** power).argmin())
    print(f"power {power}: {list(found)[best]}, {rows[best, 0]:.1%}, {1e6 * rows[best, 1]:.0f} µs")
    assert best in front

# %% [markdown]
# With each further price the front can only grow, and whatever the power, the winner stands on
# it. *Recorded* (the same file), the winners of six evolutions by error alone, and of six that
# paid for seconds:
#
# | evolution by | errors, trained again | a step of 16 ranks | efficiency |
# |---|---|---|---|
# | error alone | 5.1% (3.7 to 13.3) | 555 µs (285 to 844) | 45% (18 to 56) |
# | priced error | 4.4% (3.5 to 6.8) | 427 µs (266 to 844) | 33% (12 to 56) |
#
# Faster, *less* efficient, and no worse in the middle; though with six searches of each kind
# neither column can really be told apart. One search of each kind in the first table, four in
# all, trained 127 networks. By errors and seconds 7 of them are on the front, with work 8, with
# depth as well 9. The first ones, as they were *seen*:
#
# | errors seen | step | operations | weights | efficiency | cell |
# |---|---|---|---|---|---|
# | 13.5% | 238 µs | 528,934 | 2.3 kB | 22% | 0-2 same, 2-3 conv1; quarters |
# | 11.1% | 248 µs | 632,870 | 2.3 kB | 25% | 0-1 mean3, 0-3 same, 1-3 conv1; quarters |
# | 3.8% | 266 µs | 316,150 | 5.6 kB | 12% | 0-3 same; sixteenths |
# | 3.1% | 276 µs | 420,086 | 5.6 kB | 15% | 0-1 mean3, 0-3 same, 1-3 same; sixteenths |
# | 2.4% | 546 µs | 2,418,278 | 10.3 kB | 44% | 0-1 conv3, 0-3 same, 1-3 same; sixteenths |
#
# A cell with no convolution at all stands in its middle. A convolution's weights are used at every
# position, a large head's once: so heads cost bytes, and convolutions cost work. (Two cells of
# still less time, and more than half of all digits wrong, are left out.) From the third row to the
# last, the errors differ by four pictures of 288. After section 3 you know what to say of that.
#
# ## 7. What production systems do · *intermediate*
#
# | who | proposes | scores | pays for |
# |---|---|---|---|
# | NASNet | a controller | short trainings | nothing |
# | AmoebaNet | evolution with ageing | short trainings | nothing |
# | ENAS | a controller | shared weights | nothing |
# | MnasNet | a controller | short trainings | milliseconds, measured on phones |
# | Once-for-all | evolution | shared weights | milliseconds, predicted for each device |
# | Puzzle | an integer program | blocks that imitate a larger model's | time, memory |
#
# (Zoph and others, 2018; Real, 2019; Pham, 2018; Tan, 2019; Cai, 2020; Bercovich, 2025.) The
# network MobileNetV3 began with such a search, and the last one made some of the Nemotron language
# models. That is unit 03 again: many parts, each in several forms, for each form a time and a
# loss, and a solver that picks. What has lasted is the price, seconds on the machine where it
# will run. Mostly they are those of inference; those of training on many ranks, as here, hardly
# ever.
#
# ## Three questions
#
# **1.** Your search of 40 trials reports 3.0% errors, a colleague's of 400 reports 2.6%. Has the
# longer search found the better network?
#
# <details><summary>An answer</summary>
#
# Nobody knows. The best of 400 looks better than the best of 40 if all of them are equal: by the
# law of section 3. Train both winners again from new seeds, several times, and compare these
# numbers; and tell how many runs it took.
#
# </details>
#
# **2.** With shared weights you score 10,000 cells and train the best one alone. Why not the best
# twenty?
#
# <details><summary>An answer</summary>
#
# Do. Shared weights tell good from bad, and hardly good from good (tau among the best 13: 0.34,
# and its interval holds 0). Their first twenty are a good population to begin with; who of them is
# the best they do not know.
#
# </details>
#
# **3.** The cell without convolutions takes 266 µs a step, 12% of it computing. What would you
# change first: the cell, or something else?
#
# <details><summary>An answer</summary>
#
# The all-reduce. Of 266 µs, 30 messages of a ring wait 150 µs, bytes take 84 and computing 32.
# Rabenseifner's all-reduce needs $2\log_2 16 = 8$ messages in a row, 40 µs, for the same bytes:
# 156 µs a step, without touching the network. Then search again, since the front has moved:
# architecture and communication have to be chosen together.
#
# </details>
#
# ## Where to read on
#
# - E. Real, A. Aggarwal, Y. Huang and Q. Le, "Regularized evolution for image classifier
#   architecture search", *AAAI*, 2019.
# - B. Zoph and Q. Le, "Neural architecture search with reinforcement learning", *ICLR*, 2017.
# - B. Zoph, V. Vasudevan, J. Shlens and Q. Le, "Learning transferable architectures for scalable
#   image recognition", *CVPR*, 2018.
# - R. Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement
#   learning", *Machine Learning* 8, 1992.
# - H. Pham et al., "Efficient neural architecture search via parameter sharing", *ICML*, 2018.
# - G. Bender et al., "Understanding and simplifying one-shot architecture search", *ICML*, 2018.
# - K. Yu et al., "Evaluating the search phase of neural architecture search", *ICLR*, 2020.
# - L. Li and A. Talwalkar, "Random search and reproducibility for neural architecture search",
#   *UAI*, 2019.
# - X. Dong and Y. Yang, "NAS-Bench-201", *ICLR*, 2020: a table of all 15,625 cells like these,
#   trained beforehand, so that searches can be compared in seconds.
# - M. Tan et al., "MnasNet: platform-aware neural architecture search for mobile", *CVPR*, 2019.
# - H. Cai et al., "Once-for-all: train one network and specialize it for efficient deployment",
#   *ICLR*, 2020.
# - A. Bercovich et al., "Puzzle: distillation-based NAS for inference-optimized LLMs", *ICML*,
#   2025.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019: on architecture search, too.
#
# Cells, searches and prices stand in `ddl_teach/search/architectures`.
