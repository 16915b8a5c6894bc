# %% [markdown]
# # Networks that scale
#
# **Can a search find a network that is good, and cheap on many ranks? And would you notice?**
#
# In unit 17 a search chose numbers: a rate, a width. Here it chooses what is connected with what.
# Evolution breeds a network. Weights that thousands of networks share give it a score. A
# controller that learns proposes it. At the end the network must also pay for the time of a
# training step on sixteen ranks. At each of these stations one can fool oneself, and you will see
# most of these ways with numbers.
#
# You need units 06, 08 and 17. *Beginners* read sections 1 to 3, *intermediate* readers all. About
# an hour.
#
# ## 1. A cell · *beginner*
#
# Many convolutional networks repeat one small piece, the **cell**. A search for the cell alone has
# a small space, and the cell can be stacked as high as you like. A cell here has four places.
# Place 0 is the input, place 3 is the output, and
#
# $$\text{place } j \;=\; \text{mean over all } i<j \text{ of } \;
# \text{operation}_{ij}(\text{place } i) .$$
#
# Each of the six edges has one of five operations. `none` gives nothing, `same` gives its input,
# `mean3` is a mean over 3 x 3 neighbours, and `conv1` and `conv3` are convolutions with a ReLU.
# Two such cells follow each other. Then a *head* sums up the last maps: as a whole (`mean`), in
# `quarters` or in `sixteenths`. All these choices together are a **genotype**, which is plain
# data:

# %%
import numpy as np

from ddl_class import check, judge, simulate, yours
from ddl_class.plots import searching as pictures
from ddl_teach.search.architectures.cells import CELLS, EDGES, living, text


# %%
def draw(genotype):
    return pictures.plot_cell({edge: genotype[edge] for edge in EDGES}, living(genotype))


draw(CELLS.sample(0, 0))

# %% [markdown]
# Pale edges have an operation but do not count: they cannot be reached from place 0, or they do
# not lead to place 3.
#
# **Predict**, on paper: there are $5^6 \cdot 3 = 46{,}875$ genotypes. How many *different*
# networks are among them? And how many are no network at all, because nothing arrives at place 3?

# %%
from itertools import product

every = product(*(axis.options for axis in CELLS.axes.values()))
networks = [text(dict(zip(CELLS.axes, genes, strict=True))) for genes in every]
broken = sum(network.startswith("nothing") for network in networks)
print(f"{len(set(networks)):,} of {len(networks):,}; {broken:,} times nothing arrives")
assert len(set(networks)) < len(networks)

# %% [markdown]
# This matters for a search. It may train the same network twice and believe that it has learnt
# something new.
#
# ## 2. Evolution with ageing · *beginner*
#
# You wrote it in unit 17. For each child a few members of the population are drawn, and the best
# of them is the parent. One choice is changed. The child is trained and joins the population, and
# the *oldest* leaves. There are no generations, so no worker waits for one to end. But a worker
# cannot know the results of trainings that are still running. With `ahead=2`, trial $n$ is
# proposed when the results 0 to $n - 2$ are known, not fewer and not more. So two workers are
# busy, and the search is the same on any number of them.
#
# The trainings below are real: 40 steps on 1,149 of the handwritten digits. The loss is the share
# of wrong answers on 288 other digits. The three ranks are simulated, and rank 0 leads the search.
# The time is invented: one second, plus one for each edge that counts. (With `engines =
# Engines(3)`, and `engines.run` in place of `simulate` without the pace, your own ranks find the
# same cells.)

# %%
import torch

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
# In the first picture the points are the losses of the trials; those far above the others lie on
# its upper edge. White between the jobs of a worker is waiting. This is the price of `ahead=2`
# where run times differ. The list shows the parent of each child and the errors of both. The cell
# is the winner. Where a pale edge was changed, a whole training was spent on the same network.
# (All trials begin with the same weights. So such a child has exactly the same errors, and luck
# does not decide between trials.) Biologists call such mutations neutral. They are useful: other
# networks are one mutation away from there.
#
# ## 3. What the search sees, and what it is worth · *beginner*
#
# 288 pictures are few. Take a network that is wrong in 5% of all cases. On 288 pictures it shows
# 5% on average, with a standard deviation of $\sqrt{0.05\cdot0.95/288} = 1.3\%$. A search takes
# the *best* of what it sees.
#
# **Predict**, on paper: forty networks are all wrong in exactly 5% of all cases, and each is
# tested on 288 pictures of its own. How good does the best of them look?

# %%
seen = np.random.default_rng(0).binomial(288, 0.05, (10_000, 40)) / 288
for count in (1, 10, 40):
    print(f"the best of {count:2} is seen at {seen[:, :count].min(axis=1).mean():.1%} on average")
assert seen.min(axis=1).mean() < 0.03

# %% [markdown]
# Half of the errors are gone, and nothing has been found. (Here all networks are compared on the
# *same* pictures, which removes some of this luck. Initial weights and the order of samples add
# some.) So we train the winner again, from three seeds that the search did not use. Only now do we
# look at the test part:

# %%
again = [training(report.winner.settings, None, 40, seed) for seed in (1001, 1002, 1003)]
tested = [1 - training.test(report.winner.settings, state) for state, _ in again]
print(f"seen {report.winner.loss:.1%}; trained again:", *(f"{it:.1%}" for _, it in again))
print("on the test part:", *(f"{error:.1%}" for error in tested))
assert max(tested) < 0.5

# %% [markdown]
# One search says little. *Recorded* (two cores, 2026-11-21;
# `benchmarks/results/architectures.txt`, made by `python -m benchmarks.architectures`): six
# searches of each kind, with 2,400 steps of training for each. Errors are in percent: medians with
# 95% intervals. The controller comes in section 5. "Shared weights" is a search that spends half
# of its steps on the network of section 4. It scores 200 cells with it, and trains the best
# twenty.
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
# **Winners look better than they are, and no search can be told from chance.** The search sees its
# middle winner at 3 to 3.6%; its true value is 5 to 6%. Evolution is ahead in the column that the
# search saw, and chance is ahead in the next one. The intervals overlap so much that neither means
# anything. With 40 trials, in a space with many good cells, nothing else could be expected. With
# large networks random search with early stopping was at least as good as ENAS, a leading search.
# This was so on both of two tasks (Li and Talwalkar, 2019).
#
# ## 4. One network for all: shared weights · *intermediate*
#
# Ten cells need ten trainings. Could one training be enough? A large network holds *every*
# operation on every edge. Each step draws a genotype at random, uses only what it names, and
# trains that:
#
# $$w \leftarrow w - \text{rate}\cdot\nabla\,\ell_{\text{a random genotype}}(w) .$$
#
# Afterwards any cell is scored with the weights that it finds there, in one forward pass (Pham and
# others, 2018; Bender and others, 2018). It is a task like all others in this course: several
# workers each draw a genotype and average their gradients.

# %%
from ddl_teach.search.architectures.agreement import kendall_interval
from ddl_teach.search.architectures.shared import SharedTask, SharedTraining
from ddl_teach.search.training import advanced
from ddl_teach.training.optimizers.momentum import Momentum

task = SharedTask()
weights = advanced(task, Momentum(0.02), None, steps=300)["weights"]
print(f"{weights.size:,} weights hold all {len(set(networks)):,} networks")

# %% [markdown]
# Is a cell that is good with shared weights also good by itself? We look whether two scores put
# the cells in the same order. **Kendall's tau** is 1 if all pairs have the same order in both, and
# 0 on average for random scores. We compare with something much simpler that is also cheap: train
# each cell alone, and stop after 15 steps.
#
# **Predict**, on paper: which tau is larger?

# %%
cells, alone = zip(*((it.settings, it.loss) for it in report.records), strict=True)
scores = {"shared weights": [task.error(weights, cell) for cell in cells],
          "15 steps alone": [training(cell, None, 15, 1)[1] for cell in cells]}  # fmt: skip
taus = {name: kendall_interval(score, alone) for name, score in scores.items()}
pictures.plot_agreement({name: (score, alone) for name, score in scores.items()}, taus)

# %% [markdown]
# Look at the intervals: ten cells say nearly nothing about a tau. *Recorded* with 40 cells (the
# same file), against cells trained alone for 60 steps:
#
# | score | steps it took in all | tau, all 40 | tau, the best 13 |
# |---|---|---|---|
# | alone, 60 steps, another seed | 2,400 | 0.79 (0.68 to 0.86) | 0.34 (-0.04 to 0.63) |
# | alone, 15 steps | 600 | 0.70 (0.55 to 0.82) | 0.53 (0.14 to 0.76) |
# | shared weights | 600 | 0.65 (0.51 to 0.76) | 0.39 (0.03 to 0.71) |
# | shared weights | 1,200 | 0.72 (0.62 to 0.81) | 0.34 (-0.07 to 0.67) |
#
# The first row is the best that is possible: the same training from other weights. Shared weights
# come near it, and early stopping does, too, for equally few steps. These numbers cannot tell
# which of the two is better. It is easy to tell bad cells from good ones, and this makes most of a
# tau. Among the best 13 all numbers are lower, and their intervals are very wide. (These are the
# best by the sum of the two long trainings, which makes just these two agree less.) Yu and others
# (2020) found worse.
#
# ## 5. A controller that learns · *intermediate*
#
# Evolution keeps cells. A controller keeps *probabilities*: for each choice, how likely each of
# its options is. It draws a proposal from them. If the proposal was better than usual, it makes
# these options more likely. This is REINFORCE (Williams, 1992). With it Zoph and Le (2017) made
# this field known, on 800 GPUs. For one choice, with logits $z$ and probabilities $p =
# \text{softmax}(z)$, the step after drawing option $i$ is
#
# $$z \leftarrow z + \text{rate}\,(\text{baseline} - \text{loss})\,(e_i - p),$$
#
# where $e_i$ is 1 for option $i$ and 0 for the others. $e_i - p$ is the gradient of $\log p_i$ by
# the logits. So the loss itself is never differentiated. The baseline is a running mean of earlier
# losses.
#
# **Exercise.** Return the new logits of one choice. Logits may be large.


# %% name="17.controller" tags=["answer"]
def reinforced(logits, drawn, loss, baseline, rate):
    """The logits of one choice after its option `drawn` led to this loss."""
    ### BEGIN SOLUTION
    powers = np.exp(logits - logits.max())
    slope = np.eye(len(logits))[drawn] - powers / powers.sum()
    return logits + rate * (baseline - loss) * slope
    ### END SOLUTION


# %% name="17.controller" tags=["check"]
check("17.controller", reinforced)
### BEGIN HIDDEN TESTS
judge("17.controller", reinforced, seed=178)
### END HIDDEN TESTS

# %% [markdown]
# The library's controller makes this step for every choice after every proposal. It has no more
# lines than this. With shared weights a score costs milliseconds, so it can propose sixty cells in
# a few seconds. It does so on one worker and on four, with the same result.

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
# What has it learnt? It learnt the head, and that the direct edge from 0 to 3 should not stay
# empty. With five seeds (try `seed=1`) it learnt the same in both. The other probabilities have
# moved as well, but in another way with each seed: the differences are small, and sixty proposals
# are few. The table also assumes that choices do not depend on each other. It cannot say "a
# convolution here, if there is none there". Zoph and Le's controller could: it was a recurrent
# network.
#
# ## 6. Networks that scale · *intermediate*
#
# So far time was free. Now the network is trained on $P = 16$ ranks with 8 pictures each,
# data-parallel (unit 08). The counters of unit 01 give the work $W$, the depth $D$, and the bytes
# $n$ of all weights. A step without overlap takes
#
# $$T = \frac{W}{\text{flops}} + 2(P-1)L + 2\,\frac{P-1}{P}\,n\,G, \qquad
# \text{efficiency} = \frac{W/\text{flops}}{T}$$
#
# with a ring all-reduce (unit 06), $10^{10}$ operations a second, $L$ = 5 µs and 125 MB/s.
#
# **Predict**, on paper, for three cells made by hand: which one is the most *efficient* on 16
# ranks, and which one has the shortest *step*? The first has a 3 x 3 convolution on every edge.
# The second has a single convolution. The third has none: its cells hand on their input, and only
# the stem and a large head learn.

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
# **The most efficient network is the slowest.** A network that computes more than it needs is busy
# all the time. Efficiency alone is a bad goal; seconds tell these networks apart.
#
# Is the formula right? Here is the same step on up to 64 simulated ranks:


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
# Errors, seconds, work, depth: which cell is the best? This depends on what each of them is worth
# to you. But one thing can be said without a price. A cell is **dominated** if another cell is
# nowhere worse and somewhere better. Dominated cells can be left out at any price. The others are
# the *Pareto front*.
#
# **Exercise.** A warm-up of three minutes: find the front. `points` has a row for each network and
# a column for each price, and less is better in all columns. The lines stand below, sorted by the
# alphabet, and one of them belongs nowhere: put the others in order.


# %% name="17.front" tags=["answer"]
def on_front(points):
    """The numbers of the rows that no other row dominates."""
    ### BEGIN SOLUTION
    front = []
    for number, row in enumerate(points):
        beaten = [all(other <= row) and any(other < row) for other in points]
        if not any(beaten):
            front.append(number)
    return front
    ### END SOLUTION


# %% name="17.front" tags=["check"]
check("17.front", on_front)
### BEGIN HIDDEN TESTS
judge("17.front", on_front, seed=179)
### END HIDDEN TESTS

# %% [markdown]
# To *search* for such networks, a price must be named. MnasNet (Tan and others, 2019) multiplies
# the accuracy by a small negative power of the time. In the same way we take
# $\text{error}\cdot(\text{seconds}/\text{target})^{\text{power}}$. With a power of 0.3, a network
# that is twice as fast may have 23% more errors. (In the library `Priced(training, seconds)` does
# this for any search.) Here are the cells of your evolution and the three by hand. Which one wins,
# at which power?

# %%
from ddl_teach.search.architectures.front import undominated

my_front = yours("17.front", on_front, undominated)

# %% [markdown]
# Two cells of the evolution can be one network, and each network counts once.

# %%
once = {text(it.settings): it for it in report.records}  # each network
bred = {name: (it.loss, costs(it.settings)) for name, it in once.items()}
hand = {text(it): (training(it, None, 40, 5)[1], prices[name]) for name, it in by_hand.items()}
found = hand | bred
rows = np.array([(error, it.seconds, it.work, it.depth) for error, it in found.values()])
sizes = [len(my_front(rows[:, :columns])) for columns in (2, 3, 4)]
print("on the front by errors and seconds, with work, with depth as well:", *sizes)
assert sizes == sorted(sizes)

# %%
front, mine = my_front(rows[:, :2]), np.array([name in bred for name in found])
clouds = {"evolution": rows[mine][:, [1, 0]].T, "by hand": rows[~mine][:, [1, 0]].T}
axis = "predicted seconds of a step on 16 ranks"
pictures.plot_architectures(clouds, rows[front][:, [1, 0]].T, price=axis)

# %%
for power in (0.1, 0.3, 3.0):
    best = int((rows[:, 0] * (rows[:, 1] / 1e-3) ** power).argmin())
    print(f"power {power}: {list(found)[best]}, {rows[best, 0]:.1%}, {1e6 * rows[best, 1]:.0f} µs")
    assert best in front

# %% [markdown]
# With each further price the front can only grow. Whatever the power, the winner is on the front.
# *Recorded* (the same file): the winners of six evolutions by error alone, and of six that paid
# for seconds:
#
# | evolution by | errors, trained again | a step of 16 ranks | efficiency |
# |---|---|---|---|
# | error alone | 5.1% (3.7 to 13.3) | 555 µs (285 to 844) | 45% (18 to 56) |
# | priced error | 4.4% (3.5 to 6.8) | 427 µs (266 to 844) | 33% (12 to 56) |
#
# The second kind is faster, *less* efficient, and not worse in the middle. But with six searches
# of each kind neither column can really be told apart. One search of each kind in the first table,
# four in all, trained 127 networks. By errors and seconds 7 of them are on the front, with work 8,
# with depth as well 9. The first ones, as the search *saw* them:
#
# | errors seen | step | operations | weights | efficiency | cell |
# |---|---|---|---|---|---|
# | 13.5% | 238 µs | 528,934 | 2.3 kB | 22% | 0-2 same, 2-3 conv1; quarters |
# | 11.1% | 248 µs | 632,870 | 2.3 kB | 25% | 0-1 mean3, 0-3 same, 1-3 conv1; quarters |
# | 3.8% | 266 µs | 316,150 | 5.6 kB | 12% | 0-3 same; sixteenths |
# | 3.1% | 276 µs | 420,086 | 5.6 kB | 15% | 0-1 mean3, 0-3 same, 1-3 same; sixteenths |
# | 2.4% | 546 µs | 2,418,278 | 10.3 kB | 44% | 0-1 conv3, 0-3 same, 1-3 same; sixteenths |
#
# A cell without any convolution stands in the middle of this front. The weights of a convolution
# are used at every position, those of a large head only once. So heads cost bytes, and
# convolutions cost work. (Two cells with still less time, and more than half of all digits wrong,
# are left out.) From the third row to the last the errors differ by four pictures of 288. After
# section 3 you know what to say about that.
#
# ## 7. What production systems do · *intermediate*
#
# | system | proposes | scores | pays for |
# |---|---|---|---|
# | NASNet | a controller | short trainings | nothing |
# | AmoebaNet | evolution with ageing | short trainings | nothing |
# | ENAS | a controller | shared weights | nothing |
# | MnasNet | a controller | short trainings | milliseconds, measured on phones |
# | Once-for-all | evolution | shared weights | milliseconds, predicted for each device |
# | Puzzle | an integer program | blocks that imitate a larger model's | time, memory |
#
# (Zoph and others, 2018; Real, 2019; Pham, 2018; Tan, 2019; Cai, 2020; Bercovich, 2025.) The
# network MobileNetV3 began with such a search. The last one made some of the Nemotron language
# models, and it is unit 03 again: many parts, each in several forms, a time and a loss for each
# form, and a solver that chooses. One idea has lasted: to pay with seconds on the machine where
# the network will run. Mostly these are seconds of inference, and hardly ever those of training on
# many ranks, as here.
#
# ## Three questions
#
# **1.** Your search of 40 trials reports 3.0% errors, a colleague's of 400 reports 2.6%. Has the
# longer search found the better network?
#
# <details><summary>An answer</summary>
#
# That is not known. By the law of section 3, the best of 400 looks better than the best of 40 even
# if all networks are equal. Train both winners again from new seeds, several times, and compare
# these numbers. And say how many runs each search took.
#
# </details>
#
# **2.** With shared weights you score 10,000 cells and train the best one alone. Why not the best
# twenty?
#
# <details><summary>An answer</summary>
#
# Train the best twenty. Shared weights tell good from bad, but hardly good from good (tau among
# the best 13: 0.34, and its interval holds 0). Their first twenty are a good population to begin
# with. Which of them is the best, shared weights do not know.
#
# </details>
#
# **3.** The cell without convolutions takes 266 µs a step, and 12% of it is computing. What would
# you change first: the cell, or something else?
#
# <details><summary>An answer</summary>
#
# The all-reduce. Of the 266 µs, the 30 messages of a ring wait 150 µs, the bytes take 84 and
# computing takes 32. Rabenseifner's all-reduce needs $2\log_2 16 = 8$ messages in a row, 40 µs,
# for the same bytes. That makes 156 µs a step, without any change to the network. Then search
# again, because the front has moved: choose architecture and communication together.
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
# - A. Bercovich et al., "Puzzle: distillation-based NAS for inference-optimized LLMs",
#   *ICML*, 2025.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019: on architecture search, too.
# - S. P. Adhikari, R. Timofte and D. Ignatov, "Convergence theory for iterative LLM-based neural
#   architecture search: a parametric cross-entropy framework with closed-form proxy reliability",
#   *arXiv*, 2026: a language model writes the candidates.
#
# Cells, searches and prices stand in `ddl_teach/search/architectures`.
