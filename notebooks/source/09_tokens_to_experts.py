# %% [markdown]
# # Experts
#
# **What if each token needs only a few of the weights, and they lie on another rank?**
#
# In `09_splitting_layers` all ranks worked on all tokens, each with a part of the weights. Here
# each rank has whole layers of its own, and the *tokens* travel to them. A network can then have
# many times the weights for the same operations. You write the routing, the exchange and the
# layer. At the end is a puzzle: where should the experts lie?
#
# You need sections 1 and 2 of `09_splitting_layers`. *Intermediate* readers take sections 1 to 5,
# *advanced* ones everything. About 60 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, progress, simulate
from ddl_measure.experiments import layers
from ddl_teach.comm import Machine, Uniform

engines = Engines(4)

# %% [markdown]
# ## 1. Experts · *intermediate*
#
# Take many pairs of layers, as in section 1 of `09_splitting_layers`, and put them side by side.
# These are the **experts**. A small layer, the *gate*, scores all experts for each token. The
# token goes to the best one or two of them (Shazeer et al. 2017). The others are not computed for
# it. With 16 experts, and one for each token, the layer has 16 times the weights of one pair and
# does the work of one.
#
# Experts lie on different ranks. So tokens travel to their experts and the answers travel back.
# The weights of experts never travel. In this notebook a token takes one expert, and rank $r$ has
# expert $r$.
#
# ## 2. Capacity · *intermediate*
#
# It is not known in advance how many tokens choose an expert. But arrays want fixed sizes. So each
# rank gives each expert a number of places, its *capacity*. Tokens are taken in their order, and a
# token that finds no room passes by on the residual path: nothing is added to it (Lepikhin et al.
# 2020; Fedus et al. 2021).
#
# **Exercise.** A warm-up. `wanted[t]` is the expert that token $t$ wants, and an expert has so
# much `room`. Return the place of each token at its expert: 0 for the first token that wants it,
# then 1, and so on; and -1 for a token that finds no room. `places([1, 0, 1, 1], 2, 2)` is
# `[0, 0, 1, -1]`.


# %% name="09.capacity" tags=["answer"]
def places(wanted, experts, room):
    """For each token its place at its expert, 0 to room - 1, or -1 if the expert is full."""
    taken, own = [0] * experts, []
    ### BEGIN SOLUTION
    for expert in wanted:
        if taken[expert] < room:
            own.append(taken[expert])
            taken[expert] += 1
        else:
            own.append(-1)
    return own
    ### END SOLUTION


# %% name="09.capacity" tags=["check"]
check("09.capacity", places)
### BEGIN HIDDEN TESTS
judge("09.capacity", places, seed=98)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. All to all · *intermediate*
#
# Now each rank has a box for each expert: an array of `room` rows. What finds no token stays zero,
# so all boxes are equally large. Box $r$ of each rank must go to rank $r$. That is an
# **all-to-all**: each rank has something else for each other rank.
#
# In step $k$ a rank sends to the rank $k$ above it and receives from the rank $k$ below it, round
# the ring. So in each step each rank sends one box and receives one.
#
# **Exercise.** `boxes[r]` is for rank $r$. Return an array of the same shape: its part $r$ is what
# came from rank $r$. Your own box does not travel. `comm.sendrecv(out, to, into, source)` sends
# and receives at the same time, and `into` may be a part of an array, such as `arrived[0]`.


# %% name="09.all_to_all" tags=["answer"]
def all_to_all(comm, boxes):
    """An array like `boxes`, whose part r is what rank r had for this rank."""
    arrived = np.array(boxes)
    ### BEGIN SOLUTION
    for step in range(1, comm.size):
        above, below = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        comm.sendrecv(boxes[above], above, arrived[below], below)
    return arrived
    ### END SOLUTION


# %% name="09.all_to_all" tags=["check"]
check("09.all_to_all", all_to_all)
### BEGIN HIDDEN TESTS
judge("09.all_to_all", all_to_all, ranks=(2, 6, 7), seed=99)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. A layer of experts · *intermediate*
#
# The next cell puts tokens into boxes, and takes answers out of them.


# %%
def into_boxes(x, wanted, own, experts, room):
    boxes = np.zeros((experts, room, x.shape[1]))
    for token in range(len(x)):
        if own[token] >= 0:
            boxes[wanted[token], own[token]] = x[token]
    return boxes


# %%
def out_of_boxes(boxes, wanted, own):
    answers = np.zeros((len(wanted), boxes.shape[2]))
    for token in range(len(wanted)):
        if own[token] >= 0:
            answers[token] = boxes[wanted[token], own[token]]
    return answers


# %% [markdown]
# **Exercise.** The layer, $y = x + \text{expert}(x)$. Rank $r$ has its tokens `x`, the expert that
# each of them wants, and the weights `w` of expert $r$, which makes $\mathrm{relu}(x\,w)$ of what
# it is given. The lines stand below, sorted by the alphabet, and one of them belongs nowhere: put
# the others in order. They call your `places` and your `all_to_all`: both must be right first.


# %% name="09.experts" tags=["answer"]
def expert_layer(comm, x, wanted, room, w):
    """This rank's tokens with the answers of their experts added."""
    ### BEGIN SOLUTION
    own = places(wanted, comm.size, room)
    boxes = into_boxes(x, wanted, own, comm.size, room)
    arrived = all_to_all(comm, boxes)
    answers = np.maximum(arrived @ w, 0)
    returned = all_to_all(comm, answers)
    return x + out_of_boxes(returned, wanted, own)
    ### END SOLUTION


# %% name="09.experts" tags=["check"]
check("09.experts", expert_layer)
### BEGIN HIDDEN TESTS
judge("09.experts", expert_layer, ranks=(2, 6, 7), seed=100)
### END HIDDEN TESTS

# %% [markdown]
# What goes there and back is two boxes for each pair of ranks, full or not. Backwards it is the
# same once more, in opposite order: an all-to-all of gradients is again an all-to-all. An expert's
# gradient is complete where the expert lies, and needs no sum.
#
# ### Experts in a GPT
#
# Behind the blocks of the GPT of unit 08 now stand eight experts, of which each character takes
# two. Four simulated ranks have two experts each, and two of eight texts. They hold the gate, the
# blocks and all other weights whole.
#
# **Question.** How many times larger is the model with its experts? And how many times as much
# does a rank hold? The next cell trains it on four simulated ranks and in one process. That takes
# some seconds, and a minute on a slow machine.

# %%
from ddl_measure.experiments.one_model import ADAM, experts, with_experts
from ddl_teach.networks import twin
from ddl_teach.networks.models.data import batches, documentation
from ddl_teach.networks.models.gpt import gpt_of

plain, mixed = gpt_of("100k"), with_experts(gpt_of("100k")).double()
texts = batches(documentation(64)[0], 8, steps=5)
run = simulate(experts, 4, threads=True, trace=False, model=mixed, batches=texts)
alone = twin.train(mixed, texts, optimizer=ADAM).losses
assert np.allclose(np.sum(run.results, axis=0), alone, rtol=0, atol=1e-9)

# %%
print("one process and four ranks have the losses", *np.round(alone, 3))
parts = mixed, plain, mixed.experts.experts
whole, without, spread = (sum(w.numel() for w in part.parameters()) for part in parts)
larger = whole / without, (whole - spread * 3 / 4) / without
print("with experts {:.1f} times the weights, on a rank {:.1f} times".format(*larger))

# %% [markdown]
# The ranks have the losses of one process. Each rank sees the tokens of its own texts only. But an
# expert's capacity counts the tokens of all ranks, so the same tokens find room as on one.
#
# ## 5. If one expert is popular · *intermediate*
#
# All is well if all experts are chosen equally often. The next cells have eight ranks with two
# experts each and 4,096 tokens, without a capacity. First all experts get the same; then a third
# of the tokens choose one expert. The picture shows the second run: in `dispatch` tokens go to
# their experts, and in `return` the answers come back.

# %%
even = np.full((8, 16), 32)
crowd = np.full((8, 16), 23) + 9 * 16 * (np.arange(16) == 5)
shape = {"owners": np.arange(16) // 2, "width": 1024, "hidden": 4096}
ground = {"network": Uniform(5e-6, 10e9), "machine": Machine(flops=10e12)}
once, crowded = (
    simulate(layers.experts, 8, rows=rows, **(shape | ground)) for rows in (even, crowd)
)
print(f"A third of all tokens choose one expert: {crowded.time / once.time:.1f} times as long")
assert crowded.results[2] == crowd[:, 4:6].sum() == 1520

# %%
crowded.timeline.plot(title="A third of all tokens choose one expert, on rank 2")

# %% [markdown]
# Seven ranks wait for rank 2. A capacity cuts off the long bar, and drops tokens. The *balance
# loss* asks the gate to choose all experts equally often: it is small when they are.
# `ddl_teach/networks/experts` has both, forwards and backwards, and equals a single process in
# every number. Here is its capacity, with a factor of 1.25 over the even share:

# %%
from ddl_teach.theory.experts import capacity

room = capacity(4096, experts=16, chosen=1, factor=1.25)
print(f"an expert takes {room} of {crowd[:, 5].sum()} tokens that choose it")
assert room == 320

# %% [markdown]
# ## 6. Where should experts lie? · *advanced*
#
# **A puzzle.** In a model that serves users no token may be dropped. But experts can be *copied*
# (DeepSeek-AI, 2024). Here are two nodes of four ranks, and 16 experts. Each rank has 512 tokens,
# each a *row* of its array, and room for three experts. A row goes to the nearest copy of its
# expert: the one on its own rank; else those of its own node, in turns; else all copies, in turns.
# Inside a node a rank sends 20 GB a second, to the other node 2 GB a second. An expert takes 1.7
# µs for a row. No expert is wanted by as many rows as expert 5. Ranks 0 to 3 have more rows for
# even experts, and ranks 4 to 7 for odd ones:

# %%
from ddl_class.exercises.unit_09 import machine

rows = np.array(machine.wanted())
print("expert   each of ranks 0 to 3   each of ranks 4 to 7   all together")
for expert in range(16):
    first, last = rows[0, expert], rows[4, expert]
    print(f"{expert:6} {first:22} {last:22} {rows[:, expert].sum():14}")
assert rows.sum() == 8 * 512

# %% [markdown]
# With experts 0 and 1 on rank 0, 2 and 3 on rank 1, and so on, a forward pass takes 6.2 ms. The
# goal is **1.9 ms**. The work alone, if it were perfectly spread, would take 0.86 ms. How is up to
# you: by hand, or by a program. `machine.layer(held).time` tries an answer. Use it in cells of
# your own, and let `place` return what you have found.


# %% name="09.place" tags=["answer"]
def place(rows):
    """The experts of each rank, at most three; rows[r][e] is how many rows of rank r want e."""
    ### BEGIN SOLUTION
    held = [[5] for _ in range(8)]
    total = [sum(row[expert] for row in rows) for expert in range(16)]
    for expert in sorted(range(16), key=lambda e: -total[e]):
        if expert != 5:
            node = [0, 1, 2, 3] if expert % 2 == 0 else [4, 5, 6, 7]
            free = [rank for rank in node if len(held[rank]) < 3]
            least = min(free, key=lambda rank: sum(total[e] for e in held[rank]))
            held[least].append(expert)
    return held
    ### END SOLUTION


# %%
held = place(rows.tolist())
run = machine.layer(held, trace=True)
print(f"{1e3 * run.time:.2f} ms; rows that each rank computes: {run.results}")
run.timeline.plot(title="Your experts on 8 ranks")

# %% name="09.place" tags=["check"]
check("09.place", place)
### BEGIN HIDDEN TESTS
judge("09.place", place, seed=95)
### END HIDDEN TESTS

# %% [markdown]
# Three things help. Copies of the popular expert spread its work, and rows that stay on their rank
# need no message. Experts lie on the node that asks most for them, so fewer rows cross between
# nodes. And popular experts share a rank with unpopular ones. There is a fourth: each copy of
# expert 5 takes room from another copy, so it need not lie everywhere.
#
# The best known was found by a search that swapped, added and removed copies at random. We do not
# know whether there is a better one.
#
# ## 7. What production systems do · *intermediate*
#
# | | how many experts, and what happens to a full one |
# |---|---|
# | GShard, Switch transformers | a capacity; tokens without room pass by; a balance loss |
# | DeepSeek-V3 | no capacity; a bias at the gate; popular experts are copied to serve |
# | here | `SpreadExperts`: a capacity or none, a balance loss; counts travel first, then rows |
#
# Counts first: `networks/experts/exchange.py` sends only rows that exist. So ranks first tell each
# other, in a small message, how many rows will come. The next cells compare four engines with one
# process. They load torch on each engine, which takes some seconds.

# %%
from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.experts.spread import spread_experts


def spread(comm, mixture, x):
    spread_experts(mixture.to(comm.device), comm)
    own = x.chunk(comm.size)[comm.rank].to(comm.device)
    return mixture[0](own).detach().cpu().numpy()


# %%
import torch

torch.manual_seed(9)
mixture, x = torch.nn.Sequential(MixtureOfExperts(8, 32, experts=8)), torch.randn(64, 8)
apart = np.concatenate(engines.run(spread, mixture=mixture, x=x, timeout=100).results)
assert np.allclose(apart, mixture(x).detach().numpy(), atol=1e-6)
print(f"{apart.size} numbers are the same to one in a million")

# %% [markdown]
# Four engines with two experts each gave the same numbers as one process.

# %%
progress()

# %% [markdown]
# ## Three questions
#
# **1.** You double the number of experts, and the ranks with them. What happens to the work of a
# rank, to its messages, and to the weights of the model?
#
# <details><summary>An answer</summary>
#
# If each rank keeps its number of tokens, its work stays the same, and about as many rows travel:
# a smaller share of them stays at home. The rows go to more ranks, in smaller messages, so latency
# counts more. The weights of the model double.
#
# </details>
#
# **2.** Why does a larger capacity factor cost time even where no token is dropped?
#
# <details><summary>An answer</summary>
#
# Boxes have a fixed size. With a larger factor more zeros travel, and experts compute more rows
# that no token needs.
#
# </details>
#
# **3.** Experts are usually spread inside a node, or over few nodes. Why?
#
# <details><summary>An answer</summary>
#
# An all-to-all sends nearly all rows away from their rank, in each layer, there and back, and it
# cannot be hidden easily: the expert waits for its rows. So it wants fast links.
#
# </details>
#
# ## Where to read on
#
# - N. Shazeer et al., "Outrageously large neural networks: the sparsely-gated mixture-of-experts
#   layer", *ICLR*, 2017.
# - D. Lepikhin et al., "GShard: scaling giant models with conditional computation and automatic
#   sharding", 2020.
# - W. Fedus, B. Zoph and N. Shazeer, "Switch transformers: scaling to trillion parameter models
#   with simple and efficient sparsity", 2021.
# - DeepSeek-AI, "DeepSeek-V3 technical report", 2024: copies of popular experts.
# - T. Gale, D. Narayanan, C. Young and M. Zaharia, "MegaBlocks: efficient sparse training with
#   mixture-of-experts", *MLSys*, 2023: no capacity at all. Products of blocks of unequal sizes
#   drop no token and pad none.
# - Z. Yan et al., "Scalable training of mixture-of-experts models with Megatron Core", *arXiv*,
#   2026: memory, messages and products of experts, on thousands of GPUs.
#
# `ddl_teach/networks/experts/spread.py` has experts on ranks of their own, to which tokens travel.
