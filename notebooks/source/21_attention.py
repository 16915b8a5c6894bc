# %% [markdown]
# # Attention
#
# **Why is the fastest attention the one that computes more?**
#
# In attention each position of a text looks at each other one. Written as its definition says, it
# stores a matrix with a number for each *pair* of positions. Nobody who trains a large model does
# that today. Here you build what they do: attention in tiles, with a softmax that runs.
#
# Sections 1 to 3 are for *beginners*, sections 4 to 6 for *intermediate* readers, section 7 is
# *advanced*. About 75 minutes. You need one device only; the notebook `21_long_texts` cuts the
# text over many. Units 01 and 09 help.

# %%
from functools import partial

import numpy as np
import torch

from ddl_class import check, hint, judge, predict, predictions, progress, reveal, yours
from ddl_class.plots.attention import plot_growth, plot_tiles
from ddl_teach.theory import attention as theory

# %% [markdown]
# ## 1. A number for each pair · *beginner*
#
# Each position has three vectors of width $d$: a **query** (what it looks for), a **key** (what it
# offers) and a **value** (what it gives). $Q$, $K$ and $V$ have a row for each of $N$ positions.
#
# $$S = \frac{Q K^\top}{\sqrt d},\qquad P = \mathrm{softmax}(S),\qquad O = P V,$$
#
# where the softmax goes row by row.
#
# Row $i$ of $P$ says how much position $i$ takes of each value. In a **causal** text it takes
# nothing of later positions. The products $Q K^\top$ and $P V$ need $4 N^2 d$ operations, and the
# matrices $S$ and $P$ have $N^2$ numbers each (Vaswani and others, 2017).


# %%
def by_definition(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v


# %% [markdown]
# The largest score of each row is subtracted before `np.exp`, or the numbers overflow. The result
# is the same, as numerator and denominator shrink alike.
#
# **Predict.** The longest text of Llama 3 has 131,072 positions (Dubey and others, 2024). How many
# GiB are the scores of *one* head, with 2 bytes for each? (The largest model has 128 heads and 126
# layers.)

# %%
predict("21.scores", ...)

# %%
reveal("21.scores", 2 * 131_072**2 / 2**30)

# %% [markdown]
# ## 2. A softmax that runs · *beginner*
#
# A softmax seems to need the whole row at once: its largest score, and its sum. But both can be
# had from parts (Milakov and Gimelshein, 2018). Of some of the keys we keep three things for each
# query:
#
# $$m = \max_j s_j,\qquad t = \sum_j e^{s_j - m},\qquad u = \sum_j e^{s_j - m}\, v_j.$$
#
# If these are all keys, the output is $u / t$. If there is another part with a larger $m'$, what
# was summed up is too large by a factor that we know: $e^{s - m'} = e^{s - m}\, e^{m - m'}$.
#
# **Exercise.** Merge two parts. `left` and `right` are tuples `(largest, total, sums)`, with a row
# for each query. Return the same three for both parts together. Do not divide yet.


# %% name="21.merge" tags=["answer"]
def merge(left, right):
    """(largest, total, sums) of the keys of both parts."""
    ### BEGIN SOLUTION
    largest = np.maximum(left[0], right[0])
    a, b = np.exp(left[0] - largest), np.exp(right[0] - largest)
    return largest, a * left[1] + b * right[1], a * left[2] + b * right[2]
    ### END SOLUTION


# %%
q, k, v = np.random.default_rng(21).standard_normal((3, 6, 4))


def part(keys):
    scores = q @ k[keys].T / np.sqrt(q.shape[1])
    m = scores.max(axis=1, keepdims=True)
    return m, np.exp(scores - m).sum(axis=1, keepdims=True), np.exp(scores - m) @ v[keys]


# %% name="21.merge" tags=["check"]
check("21.merge", merge)
### BEGIN HIDDEN TESTS
judge("21.merge", merge, seed=211)
### END HIDDEN TESTS

# %% [markdown]
# If yours is right, it is used from here on. Two keys and the four others give what all six give:

# %%
from ddl_class.exercises.unit_21.tile_judges import merged

my_merge = yours("21.merge", merge, merged)
_, total, sums = my_merge(part(slice(0, 2)), part(slice(2, 6)))
print("off by", abs(sums / total - by_definition(q, k, v)).max())
assert np.allclose(sums / total, by_definition(q, k, v))

# %% [markdown]
# The order of the parts does not matter, and there may be many. So attention is a *sum* like those
# of unit 06, only with another `+`. Ranks can share it out: this is what ring attention does.
#
# ## 3. Tile after tile · *beginner*
#
# On one device the parts come one after another. A **tile** is a few queries, or a few keys with
# their values. A tile of queries stays, and tiles of keys come by. Only the scores of one pair of
# tiles exist at a time.
#
# **Exercise.** Put these lines in order: one of them belongs nowhere. The function takes one more
# tile of keys into the three running sums.


# %% name="21.tile" tags=["answer"]
def take(q, k, v, largest, total, sums):
    """(largest, total, sums) after the keys `k` with their values `v`."""
    ### BEGIN SOLUTION
    scores = q @ k.T / np.sqrt(q.shape[1])
    larger = np.maximum(largest, scores.max(axis=1, keepdims=True))
    weights, shrink = np.exp(scores - larger), np.exp(largest - larger)
    total = shrink * total + weights.sum(axis=1, keepdims=True)
    sums = shrink * sums + weights @ v
    return larger, total, sums
    ### END SOLUTION


# %% name="21.tile" tags=["check"]
check("21.tile", take)
### BEGIN HIDDEN TESTS
judge("21.tile", take, seed=212)
### END HIDDEN TESTS

# %% [markdown]
# Under a causal mask half of all scores are not needed. A tile in which *no* query may look at any
# key is left out. One that is seen in part is computed, and the rest of it is masked.
#
# **Exercise.** Row `row` of tiles has the queries `row * queries` to `(row + 1) * queries - 1`,
# counted from 0. How many tiles of `keys` keys does it meet?


# %% name="21.seen" tags=["answer"]
def seen_tiles(row, queries, keys):
    """How many tiles of keys the queries of this row need."""
    ### BEGIN SOLUTION
    return -(-(row + 1) * queries // keys)
    ### END SOLUTION


# %% name="21.seen" tags=["check"]
check("21.seen", seen_tiles)
### BEGIN HIDDEN TESTS
judge("21.seen", seen_tiles, seed=213)
### END HIDDEN TESTS

# %%
from ddl_class.exercises.unit_21.tile_judges import tiles_met

my_seen = yours("21.seen", seen_tiles, tiles_met)
plot_tiles(64, 8, [my_seen(row, 8, 8) for row in range(8)], 8)

# %% [markdown]
# With tiles of one position just over half is left: $(N + 1) / 2N$. Larger tiles compute a few
# scores in vain, along the diagonal.
#
# ## 4. The way back · *intermediate*
#
# A backward pass needs $P$. To store it would need $N^2$ numbers again. The trick is to store one
# number for each query, $\ell = m + \log t$, and to compute the scores a second time:
#
# $$P_{ij} = e^{S_{ij} - \ell_i},\qquad
# \partial S_{ij} = P_{ij}\,\bigl(\partial O_i \cdot V_j - D_i\bigr),\qquad
# D_i = \partial O_i \cdot O_i .$$
#
# Each row of $P$ has the sum 1, so one entry grows at the cost of the others: that is $D$. From
# $\partial S$ follow $\partial Q = \partial S\, K / \sqrt d$, $\;\partial K = \partial S^\top Q /
# \sqrt d$ and $\partial V = P^\top \partial O$.
#
# **Exercise.** Do it for one pair of tiles without a mask. `log_total` is $\ell$, `gradient` is
# $\partial O$, and `shared` is $D$; each has a row for each query. Return what this pair adds to
# the gradients of `q`, `k` and `v`.


# %% name="21.back" tags=["answer"]
def back(q, k, v, log_total, gradient, shared):
    """What this pair of tiles adds to the gradients of q, k and v."""
    ### BEGIN SOLUTION
    scale = 1 / np.sqrt(q.shape[1])
    p = np.exp(scale * q @ k.T - log_total)
    ds = scale * p * (gradient @ v.T - shared)
    return ds @ k, ds.T @ q, p.T @ gradient
    ### END SOLUTION


# %% name="21.back" tags=["check"]
check("21.back", back)
### BEGIN HIDDEN TESTS
judge("21.back", back, seed=214)
### END HIDDEN TESTS

# %% [markdown]
# That was all of FlashAttention's mathematics (Dao and others, 2022). The next cell counts its
# price and its gain for one head of width 64, forward and backward together.

# %%
N, d = 4096, 64
once, anew = (theory.operations(N, d, anew=again) for again in (False, True))
whole, tiled = (theory.stored(N, d, tiled=tiles) for tiles in (False, True))
print(f"operations: {once:.3g}, with scores computed anew {anew:.3g}: {anew / once - 1:.0%} more")
print(f"stored: {whole:,} numbers, in tiles {tiled:,}: {whole / tiled:.0f} times less")

# %% [markdown]
# The library's `tiled_attention` does the same for tensors of torch, with gradients. What autograd
# keeps can be counted. The next cells compare that with the formula.

# %%
from ddl_teach.networks.memory.measured import Activations
from ddl_teach.operators.attention.definition import attention
from ddl_teach.operators.attention.tiled import TileSizes, tiled_attention

ways = {"the definition": attention, "in tiles": tiled_attention}
lengths = [256, 512, 1024, 2048]


# %%
def drawn(length, width=64):
    torch.manual_seed(21)
    return [torch.randn(1, 1, length, width, requires_grad=True) for _ in range(3)]


def kept(way, length):
    with Activations() as saved:
        output = way(*drawn(length), causal=False)
        return saved.held + (0 if saved.holds(output) else output.nbytes)


# %%
measured = {name: (lengths, [kept(way, n) for n in lengths]) for name, way in ways.items()}
predicted = {
    name: (lengths, [4 * theory.stored(n, 64, tiled=name == "in tiles") for n in lengths])
    for name in ways
}
plot_growth(predicted, measured, "Stored for the way back", "bytes")

# %% [markdown]
# The dots lie on the lines. Twice the length needs twice the memory in tiles. By the definition it
# needs nearly four times at the right end, where the matrix is most of it.
#
# ## 5. The bytes decide · *intermediate*
#
# Tiles need less memory. But why are they *faster*? A GPU has two memories: a large one far from
# where it computes, and a small one close by. An A100 has 40 GB that move 1.555 TB/s, and 192 KiB
# at each of its 108 processors (NVIDIA, 2020). It computes $312 \cdot 10^{12}$ operations a second
# with 16-bit numbers. So it makes 200 operations in the time in which it moves one byte.
#
# What is *moved* between the memories, forward? The definition writes $S$, reads it for the
# softmax, writes $P$, and reads that: $4 N^2 + 4 N d$ numbers. In tiles nothing of size $N^2$
# leaves the small memory.
#
# **Exercise.** How many numbers do tiles move, without a mask? Queries are read once and outputs
# written once, each with `length * width` numbers. One log is written for each query. All keys and
# all values come by once for each tile of `queries` queries (which divide `length`).


# %% name="21.moved" tags=["answer"]
def moved(length, width, queries):
    """The numbers read and written by a forward pass in tiles."""
    ### BEGIN SOLUTION
    own = 2 * length * width + length
    return own + length // queries * 2 * length * width
    ### END SOLUTION


# %% name="21.moved" tags=["check"]
check("21.moved", moved)
### BEGIN HIDDEN TESTS
judge("21.moved", moved, seed=215)
### END HIDDEN TESTS

# %% [markdown]
# The library counts what its tiles load and store. It must be your formula, to the byte.

# %%
from ddl_class.exercises.unit_21.tile_judges import moved_by_tiles
from ddl_teach.operators.attention.traffic import MemoryTraffic

my_moved = yours("21.moved", moved, moved_by_tiles)
traffic, x = MemoryTraffic(), [each[0, 0] for each in drawn(512)]
tiled_attention(*x, causal=False, tiles=TileSizes(64, 64), traffic=traffic)
print(f"counted {traffic.moved:,} bytes, by the formula {4 * my_moved(512, 64, 64):,}")
assert traffic.moved == 4 * my_moved(512, 64, 64)

# %% [markdown]
# Now the time by a **roofline**: computing and moving happen at the same time, and the longer of
# both counts. The tiles are as large as fit into the small memory, with 2 bytes for each number.
#
# **Predict.** One head of width 64 on 4,096 positions, forward, all processors at work on it. How
# many times faster are tiles than the definition on this machine?

# %%
predict("21.faster", ...)

# %%
PER_SECOND, BANDWIDTH, NEAR = 312e12, 1.555e12, 192 * 2**10  # an A100's
queries, keys = theory.largest_tiles(64, NEAR // 2)
moves = {"definition": theory.definition_traffic(N, d)}
moves["tiles"] = theory.tiled_traffic(N, d, (queries, keys))
limits = PER_SECOND, BANDWIDTH
times = {way: theory.seconds(4 * N**2 * d, 2 * each, *limits) for way, each in moves.items()}
print(f"computing alone: {1e6 * 4 * N**2 * d / PER_SECOND:.1f} µs")
for way, seconds in times.items():
    print(f"{way}: {1e6 * seconds:.1f} µs")

# %%
reveal("21.faster", times["definition"] / times["tiles"])

# %% [markdown]
# By the definition the device waits for its memory most of the time. In tiles it moves about as
# long as it computes. That is the answer to the question above: **operations are cheap, bytes are
# not**. Dao and others (2022) measured 7.6 times less time for the attention of GPT-2 than with
# PyTorch's kernels of that year. Our count leaves out masks, dropout, and how well a kernel is
# written.
#
# How far does it go? A small memory of $M$ numbers allows tiles of about $M / 4d$ queries: then
# $8 N^2 d^2 / M$ numbers move, and no exact attention does better for all $M$ (their theorem 2).

# %%
lengths = [2**n for n in range(10, 21)]
bytes_moved = {
    "the definition": (lengths, [2 * theory.definition_traffic(n, d) for n in lengths]),
    "in tiles": (lengths, [2 * theory.tiled_traffic(n, d, (queries, keys)) for n in lengths]),
}
plot_growth(bytes_moved, {}, "Moved forward", "bytes")

# %% [markdown]
# Both curves are as steep: tiles still move a number of bytes that grows with $N^2$, divided by
# the size of a tile. Only *stored* numbers grow with $N$.
#
# ## 6. On your machine · *intermediate*
#
# A processor has two memories, too: its caches and the main memory. The next cells measure the
# forward pass on one core: by the definition, in our tiles, and by torch's own kernel. This kernel
# is FlashAttention for processors.

# %%
from torch.nn.functional import scaled_dot_product_attention

from ddl_measure.repetitions import side_by_side

torch.set_num_threads(1)
ways = {"definition": attention, "our tiles": partial(tiled_attention, tiles=TileSizes(128, 128))}
ways["torch's"] = lambda q, k, v, causal: scaled_dot_product_attention(q, k, v, is_causal=causal)


# %%
def medians(length):
    with torch.no_grad():
        x = drawn(length)
        calls = {name: partial(way, *x, causal=True) for name, way in ways.items()}
        return {name: np.median(took) for name, took in side_by_side(calls, repetitions=5).items()}


# %%
lengths = [256, 512, 1024, 2048]
took = [medians(length) for length in lengths]
curves = {name: (lengths, [each[name] for each in took]) for name in ways}
plot_growth({}, curves, "Forward pass", "seconds")

# %% [markdown]
# Our tiles are a loop in Python, and each step of it costs some microseconds. So at short lengths
# they lose. Are they ahead at your longest one? They leave out nearly half of the scores, which
# the definition computes and then masks. torch's kernel does the same in compiled code.
#
# A training also needs the way back. The next cell measures forward and backward together. There
# the definition reads the matrix that it has stored, and the two others compute it anew.


# %%
def both_ways(way):
    x = drawn(lengths[-1])
    return lambda: way(*x, causal=True).sum().backward()


calls = {name: both_ways(way) for name, way in ways.items()}
for name, seconds in side_by_side(calls, repetitions=5).items():
    print(f"{lengths[-1]} positions, both ways, {name}: {1e3 * np.median(seconds):.1f} ms")

# %% [markdown]
# The next cell shows the same ways as they were recorded on GPUs, in bfloat16, forward alone and
# with the way back. There torch's kernel and the course's own are written for the GPU. If nothing
# is recorded yet, it says so.

# %%
from ddl_class.notebook.beside_gpus import recorded_table

for name, seconds in took[-1].items():
    print(f"yours, {lengths[-1]} positions, {name}: {seconds * 1e3:.2f} ms")
print(recorded_table("attention"))

# %% [markdown]
# Does a *training* notice which attention it uses? A small GPT learns characters twice, with the
# same seeds. `attend` is what its heads call.

# %%
from ddl_teach.networks.models import data, gpt


def losses(attend):
    network = gpt.gpt(length=32)
    for block in list(network)[1:-2]:
        block.attention.attend = attend
    optimizer = torch.optim.AdamW(network.double().parameters(), 1e-2)
    return [one_step(network, optimizer, *batch) for batch in batches]


# %%
from torch.nn.functional import cross_entropy


def one_step(network, optimizer, tokens, targets):
    loss = cross_entropy(network(tokens).flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# %%
batches = data.batches(data.characters(32), size=8, steps=20)
whole, in_tiles = losses(attention), losses(partial(tiled_attention, tiles=TileSizes(8, 8)))
apart = abs(np.subtract(whole, in_tiles)).max()
print(f"loss {whole[0]:.3f} to {whole[-1]:.3f}, and never further apart than {apart:.0e}")
assert apart < 1e-9

# %% [markdown]
# ## 7. What production does · *advanced*
#
# In PyTorch `scaled_dot_product_attention` chooses a kernel: FlashAttention where the device and
# the numbers suit it, the definition otherwise. The loop over *queries* outside, as here, is that
# of FlashAttention-2 (Dao, 2023): each tile of queries can go to another processor of the GPU, and
# nothing is written twice. FlashAttention-3 (Shah and others, 2024) lets copies and products of a
# Hopper GPU overlap, and uses 8-bit numbers (unit 22). When one *generates* text there is only one
# query at a time. Then the keys are split over processors, and the parts are merged as you did.
#
# The course has such a kernel, too: `ddl_teach/operators/attention/fused.py`, in **Triton**, a
# language for kernels that looks like Python. A program of it has one tile of queries. Triton's
# interpreter runs it without a GPU, and a test compares its numbers with the definition.
#
# Each tile's size is a choice. The next cell shows what a small memory of other sizes would move.

# %%
for kibibytes in (24, 48, 96, 192, 384):
    tiles = theory.largest_tiles(64, kibibytes * 2**10 // 2)
    numbers = theory.tiled_traffic(N, d, tiles)
    share = numbers / theory.definition_traffic(N, d)
    print(f"{kibibytes:4} KiB: tiles of {tiles[0]:3}, {2 * numbers / 2**20:5.1f} MiB, {share:.0%}")

# %%
predictions("21")

# %% [markdown]
# ## Three questions
#
# **1.** Checkpointing (unit 11) drops activations and computes them again: slower, less memory.
# Tiles drop the scores and compute them again. Why are they not slower?
#
# <details><summary>An answer</summary>
#
# A layer that is dropped as a whole is computed again from the large memory: all its bytes move a
# second time. Scores of a tile are computed from what is already in the small memory. The
# operations cost little, and the bytes that one does not store need not be read back.
#
# </details>
#
# **2.** Why does the merge need the largest score of both parts, and not just the totals?
#
# <details><summary>An answer</summary>
#
# Without it each part would have to use $e^{s}$ itself, and that overflows: in 16 bits already for
# scores above 11. With the own largest score each part is safe, and the merge knows by how much
# the parts differ.
#
# </details>
#
# **3.** A text is twice as long. What of tiled attention doubles, and what grows fourfold?
#
# <details><summary>An answer</summary>
#
# The memory doubles. Operations grow fourfold. So do the bytes that move, as there are twice as
# many tiles of queries and each reads twice as many keys. So long texts stay expensive. To share
# them out over ranks is the subject of `21_long_texts`.
#
# </details>
#
# ## Where to read on
#
# - T. Dao, D. Fu, S. Ermon, A. Rudra and C. Ré, "FlashAttention: fast and memory-efficient exact
#   attention with IO-awareness", *NeurIPS*, 2022.
# - T. Dao, "FlashAttention-2: faster attention with better parallelism and work partitioning",
#   arXiv 2307.08691, 2023.
# - J. Shah et al., "FlashAttention-3: fast and accurate attention with asynchrony and
#   low-precision", *NeurIPS*, 2024.
# - M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv
#   1805.02867, 2018.
# - NVIDIA, "NVIDIA A100 tensor core GPU architecture", white paper, 2020.
# - T. Zadouri, M. Hoehnerbach, J. Shah, T. Liu, V. Thakkar and T. Dao, "FlashAttention-4:
#   algorithm and kernel pipelining co-design for asymmetric hardware scaling", arXiv 2603.05451,
#   2026: products became faster than exponentials, so some of these are polynomials now.
#
# The code stands in `ddl_teach/operators/attention` and `ddl_teach/plain/flash_attention.py`.
# `progress()` shows how far you have come.
