# %% [markdown]
# # Sharing loads evenly
#
# **How does one keep all experts, and all cables, equally busy?**
#
# A step waits for the fullest rank and for the fullest cable. `23_networks` showed cables on which
# flows meet. Here loads are made even. A bias moves tokens to experts that few choose. A spare
# copy takes half of the tokens of an expert that many choose. And a solver finds a schedule that
# keeps all cables of a machine busy. You need units 03 and 09. Section 1 is for *beginners*,
# sections 2 and 3 are for *intermediate* readers. About 50 minutes.

# %%
import numpy as np
import torch

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.collectives import fewest_steps
from ddl_teach.comm import DirectLinks, Phantom, Rails
from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.experts.spread import SpreadExperts
from ddl_teach.plain import balanced_experts

# %%
engines = Engines(4)

# %% [markdown]
# ## 1. Experts that all tokens choose · *beginner*
#
# In a mixture of experts (unit 09) tokens travel to the experts they choose. If many choose the
# same one, its rank has more to receive and to compute, and all wait. A loss that punishes
# imbalance changes the gradients. DeepSeek-V3 does without: it adds a *bias* to each expert's
# score when experts are *chosen*, and not when answers are weighted. After each step
#
# $$b_e \leftarrow b_e + \gamma\,\mathrm{sign}(\text{mean load} - \text{load}_e)$$
#
# with a small speed $\gamma$ (L. Wang et al., 2024; DeepSeek-AI, 2024).
#
# **Exercise.** One step of the bias.


# %% name="23.bias" tags=["answer"]
def next_bias(bias, loads, speed):
    """The bias of all experts after a step in which they had these loads."""
    ### BEGIN SOLUTION
    return bias + speed * np.sign(loads.mean() - loads)
    ### END SOLUTION


# %% name="23.bias" tags=["check"]
check("23.bias", next_bias)
### BEGIN HIDDEN TESTS
judge("23.bias", next_bias, seed=234)
### END HIDDEN TESTS

# %% [markdown]
# 64 experts, and in each step 4,096 tokens whose scores are drawn at random. Some experts are
# liked more than others. `worst` is the largest load, divided by the mean.

# %%
my_bias = yours("23.bias", next_bias, balanced_experts.next_bias)
dice, liking = np.random.default_rng(23), 0.5 / np.arange(1, 65) ** 0.5


def loads_of(bias, tokens=4_096):
    scores = liking + 0.1 * dice.standard_normal((tokens, 64))
    return np.bincount((scores + bias).argmax(axis=1), minlength=64)


# %%
def worst(speed, steps=200):
    bias, seen = np.zeros(64), []
    for _ in range(steps):
        loads = loads_of(bias)
        seen.append(loads.max() / loads.mean())
        bias = my_bias(bias, loads, speed)
    return seen, bias


runs = {f"speed {speed}": worst(speed)[0] for speed in (0.001, 0.003, 0.03)}

# %%
axes = plane("steps", "largest load / mean load")
axes.draw_runs(runs)
axes.log_scale("y")
end, name = min((np.mean(run[-20:]), name) for name, run in runs.items())
axes.finish("Loads with a bias", f"Best: {name} ends with {end:.2f}", legend="upper right")

# %% [markdown]
# A low speed needs many steps, and a high one never comes to rest: it jumps by its own size. Do
# real ranks choose the same with a bias? All of them know all loads, so each moves its bias by
# itself. Four ranks with the experts spread over them, against one process with all experts:


# %%
def biased(comm, tokens, steps=20):
    torch.manual_seed(0)
    layer, bias, loads = MixtureOfExperts(8, 16, 8, 1, float("inf")), np.zeros(8), []
    layer = SpreadExperts(comm, layer.to(comm.device))
    for _ in range(steps):
        layer.bias = torch.tensor(bias, dtype=torch.float32, device=comm.device)
        layer(torch.from_numpy(np.array_split(tokens, comm.size)[comm.rank]).to(comm.device))
        loads.append(layer.routing.rows.sum(0).cpu().numpy())
        bias = my_bias(bias, loads[-1], 0.01)
    return np.array(loads)


# %%
tokens = np.random.default_rng(5).standard_normal((400, 8)).astype("float32") + 0.5
spread, alone = engines.run(biased, tokens=tokens).results, simulate(biased, 1, tokens=tokens)
print(f"most rows of an expert: first {spread[0][0].max()}, last {spread[0][-1].max()}")
assert all(np.array_equal(loads, alone.results[0]) for loads in spread)
assert np.all(spread[0].sum(axis=1) == 400)  # no token is lost

# %% [markdown]
# ## 2. Spare places · *intermediate*
#
# A bias changes which experts answer. In serving one may not do that. But an expert may have
# *copies*: ranks have spare places, and the most loaded experts are put there once more. Each
# copy takes its part of the tokens. DeepSeek-V3 calls them *redundant experts*, and its balancer
# (EPLB) works in two steps. It gives the places, and then it packs all copies onto ranks, the
# heaviest first. Each goes to the rank with the least load that has room.
#
# **Exercise.** Give the places: how many copies does each expert get?


# %% name="23.spare" tags=["answer"]
def spare_copies(loads, places):
    """How many copies each expert has, when all places are taken."""
    ### BEGIN SOLUTION
    copies = np.ones(len(loads), int)
    for _ in range(places - len(loads)):
        copies[np.argmax(loads / copies)] += 1
    return copies
    ### END SOLUTION


# %% name="23.spare" tags=["check"]
check("23.spare", spare_copies)
### BEGIN HIDDEN TESTS
judge("23.spare", spare_copies, seed=235)
### END HIDDEN TESTS

# %% [markdown]
# 256 experts on 64 simulated ranks, four on each. Loads fall like $1/e^{0.8}$, drawn in random
# order. With one spare place a rank there are 320. The network is the one of `23_networks` with
# rails: eight nodes of eight cards.

# %%
links = {"bandwidth": 50e9, "local_bandwidth": 450e9, "base_latency": 5e-6}
rails = Rails(8, 8, oversubscription=1, local_latency=1e-6, **links)

# %%
my_copies = yours("23.spare", spare_copies, balanced_experts.spare_copies)
likes = dice.permutation(1 / np.arange(1.0, 257) ** 0.8)
likes *= 4_096 / likes.sum()  # rows of one rank for each expert
held = {"in order": [list(range(4 * rank, 4 * rank + 4)) for rank in range(64)]}
held["packed"] = balanced_experts.pack(likes, np.ones(256, int), 64)
held["one spare place"] = balanced_experts.pack(likes, my_copies(likes, 320), 64)


# %%
def rows_to(held):
    copies = np.bincount(np.concatenate(held), minlength=256)
    return [sum((likes / copies)[experts]) for experts in held]


def tokens_to_experts(comm, rows):
    for step in range(1, comm.size):
        to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        mine, theirs = (Phantom(round(7_168 * rows[rank])) for rank in (comm.rank, to))
        comm.sendrecv(theirs, to, mine, source)


# %% [markdown]
# Every rank sends 4,096 tokens of 7 kB each. How long does the all-to-all take?

# %%
for name, places in held.items():
    rows = rows_to(places)
    time = simulate(tokens_to_experts, 64, network=rails, rows=rows, trace=False).time
    assert np.isclose(sum(rows), 4_096)  # all rows are sent, wherever copies are
    print(f"{name:16} fullest rank {max(rows) / np.mean(rows):.2f} x mean, {1e3 * time:.1f} ms")

# %% [markdown]
# Without copies the rank that holds the most liked expert has too much, however one packs. In
# training a copy has a price: its gradients must be added up with those of the other copies. Then
# all copies make the same step, and stay one expert.
#
# Your ranks train so now: the GPT of unit 08, with eight experts behind its blocks, of which each
# character takes two (unit 09). First one process counts what goes to each expert.

# %%
from ddl_measure.experiments import one_model
from ddl_teach.networks import twin
from ddl_teach.networks.models import data, gpt

mixed = one_model.with_experts(gpt.gpt_of("100k")).double()
batches = data.batches(data.documentation(64)[0], 8, 3)
with torch.no_grad():
    mixed(batches[0][0])
liked = mixed.experts.routing.rows.sum(0).numpy()

# %%
places = balanced_experts.pack(liked, my_copies(liked, 12), 4)
share = liked / np.bincount(np.concatenate(places))
fullest = max(liked.reshape(4, 2).sum(1)), max(share[held].sum() for held in places)
print("the fullest rank has {} rows, with copies {:.0f}".format(*fullest))
print("experts of each rank:", places)

# %%
given = {"model": mixed, "batches": batches, "timeout": 120}
for where in (None, places):
    run = engines.run(one_model.experts, places=where, **given)
    losses = np.sum(run.results, axis=0)
    sent = sum(part.bytes_sent for part in run.ledger)
    print("copies: " if where else "without:", losses.round(4), f"{sent / 1e6:.1f} MB sent")

# %% [markdown]
# The losses are the same. Is training with copies the same as in one process?

# %%
alone = twin.train(mixed, batches, optimizer=one_model.ADAM).losses
assert np.allclose(losses, alone, rtol=0, atol=1e-9)

# %% [markdown]
# It is. What copies cost are the bytes of their gradients. These stay the same, however many
# tokens a step has.
#
# ## 3. The fewest steps · *intermediate*
#
# Some networks have no name. The first DGX-1 has eight GPUs with six NVLink cables each, two of
# them between some pairs and none between others. How does one gather there? Each rank has a
# chunk, and in the end all ranks have all chunks. Write a **schedule** as a list of steps, and
# each step as a list of messages (chunk, from, to). It is *valid* if three things hold. A rank
# sends only what it had before the step. A cable carries one chunk in a step and direction. In the
# end every rank has all chunks.
#
# **Exercise.** A ring of cables, and the fewest steps: $\lfloor P/2 \rfloor$. With three ranks,
# for example, one step is enough: each sends to both neighbours.


# %% name="23.schedule" tags=["answer"]
def around_both_ways(ranks):
    """The steps of an all-gather, each a list of (chunk, from, to)."""
    ### BEGIN SOLUTION
    steps = []
    for s in range(1, ranks // 2 + 1):
        up = [(c, (c + s - 1) % ranks, (c + s) % ranks) for c in range(ranks)]
        down = [(c, (c - s + 1) % ranks, (c - s) % ranks) for c in range(ranks)]
        steps.append(up if 2 * s == ranks else up + down)
    return steps
    ### END SOLUTION


# %% name="23.schedule" tags=["check"]
check("23.schedule", around_both_ways)
### BEGIN HIDDEN TESTS
judge("23.schedule", around_both_ways, seed=233)
### END HIDDEN TESTS

# %% [markdown]
# ### Predict
#
# Now the cables of the DGX-1. How many steps will the solver find for its eight GPUs?

# %%
predict("23.steps", ...)

# %% [markdown]
# For other cables let a solver do it. For each chunk $c$, cable $u \to v$ and step $t$ there is a
# variable $x$, 1 if the chunk is sent then and 0 if not. The rules become inequalities:
#
# $$\sum_{u,t} x_{c,u \to v,t} = 1\ \ (v \ne c),\qquad
# x_{c,u \to v,t} \le \sum_{w,\,s<t} x_{c,w \to u,s}\ \ (u \ne c),\qquad
# \sum_c x_{c,u \to v,t} \le \text{width}.$$
#
# They are an integer program, as in unit 03, and the same solver takes it. It is asked for one
# step, for two, and so on. The first number with an answer is the fewest. (Z. Cai et al., 2021,
# ask a solver for logic and get whole families of schedules; A. Shah et al., 2023, go to larger
# machines.)

# %%
dgx_1 = ((0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 2))
dgx_1 += ((2, 6, 1), (3, 7, 1), (4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2))
cube = tuple((a, a + step, 1) for step in (1, 2, 4) for a in range(8) if not a & step)
star = ((0, 1, 3), (0, 2, 1), (0, 3, 2), (0, 4, 1))

# %%
schedules = {}
for name, cables in (("DGX-1", dgx_1), ("cube of 8", cube), ("unequal star", star)):
    schedules[name] = fewest_steps.fewest_steps(DirectLinks(cables).widths)
    print(f"{name}: messages in each step {[len(step) for step in schedules[name]]}")

# %%
reveal("23.steps", len(schedules["DGX-1"]))

# %% [markdown]
# No GPU of the DGX-1 has a cable to all others, so one step is impossible, and two steps are
# enough. Cai et al. found the same number. A ring takes seven. Read backwards, with adding, a
# schedule of an all-gather is one of a reduce-scatter, and both together are an all-reduce. Does
# the schedule run? First on its own cables, against a ring, which is a schedule too:

# %%
dgx = DirectLinks(dgx_1, base_latency=5e-6, bandwidth=25e9)
cycle = [0, 3, 2, 1, 5, 6, 7, 4]  # all of them neighbours, on double cables
hops = [(place, cycle[place], cycle[(place + 1) % 8]) for place in range(8)]
around = [[(cycle[place - s], a, b) for place, a, b in hops] for s in range(7)]


def by_schedule(comm, nbytes, schedule):
    fewest_steps.allreduce(comm, Phantom(nbytes), schedule=schedule)


# %%
for nbytes in (10**4, 10**6, 10**8):
    given = {"network": dgx, "nbytes": nbytes, "trace": False}
    both = (around, schedules["DGX-1"])
    one, other = [simulate(by_schedule, 8, schedule=steps, **given).time for steps in both]
    print(f"{nbytes:11,} bytes: ring {1e6 * one:7.1f} µs, fewest steps {1e6 * other:7.1f} µs")

# %% [markdown]
# The ring uses double cables only, one message at a time on each. The schedule uses all cables.
# With smaller chunks a solver finds better ones for long vectors; here each rank has one chunk.
#
# Now on your ranks. Four real ranks on a ring of cables: your schedule, if it is right.

# %%
four = ((0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1))
four_steps = fewest_steps.fewest_steps(DirectLinks(four).widths)
mine = yours("23.schedule", around_both_ways, lambda ranks: four_steps)


def sums(comm, steps):
    x = np.arange(8.0) + comm.rank
    fewest_steps.allreduce(comm, x, schedule=steps)
    return x


# %%
results = engines.run(sums, steps=mine(4)).results
assert all(np.array_equal(x, 4 * np.arange(8.0) + 6) for x in results)

# %% [markdown]
# Real networks take no notice of your cables: on your machine any rank reaches any other. So here
# only the result is checked, and no time.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("23")
progress()

# %% [markdown]
# ## Three questions
#
# **1.** Bias or copies: which of the two would you use in training, and which in serving?
#
# <details><summary>An answer</summary>
#
# In training a bias: it costs nothing, and the weights learn around it. Copies are possible, but
# their gradients must be sent. In serving the weights are fixed, so other experts would give other
# answers. Copies give the same answers, and there are no gradients to add up.
#
# </details>
#
# **2.** The bias decides which experts are chosen. Why does it not take part in the weights of
# their answers?
#
# <details><summary>An answer</summary>
#
# A weight says how well an expert fits a token. The bias only says how busy the expert is. In the
# weights it would change the answer of the layer for a reason that has nothing to do with the
# token.
#
# </details>
#
# **3.** The solver says that an all-gather on the DGX-1 takes two steps. Is this the fastest
# all-gather for a vector of 1 GB?
#
# <details><summary>An answer</summary>
#
# Not for sure. Here each rank has one chunk, and in a step a cable carries one chunk or nothing.
# With more and smaller chunks a cable has less idle time. Steps count latencies, and for 1 GB
# bytes count.
#
# </details>
#
# ## Where to read on
#
# - L. Wang et al., "Auxiliary-loss-free load balancing strategy for mixture-of-experts",
#   *arXiv*, 2024.
# - Z. Cai et al., "Synthesizing optimal collective algorithms", *PPoPP*, 2021.
#
# The bias and the copies stand in `ddl_teach/plain/balanced_experts.py`. The solver's program is
# `ddl_teach/collectives/fewest_steps.py`.
