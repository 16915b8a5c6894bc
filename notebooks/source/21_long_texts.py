# %% [markdown]
# # Attention across ranks
#
# **How do ranks share a text that is too long for one of them?**
#
# Outside of attention each position is computed by itself. So a long text is cut along its
# positions: each rank has a part. In attention each position needs the keys and values of all
# others. You compare two ways to bring them together, and compute where one beats the other.
#
# Sections 1 to 3 are for *beginners*, 4 and 5 for *intermediate* readers, section 6 is *advanced*.
# About 75 minutes. You need the notebook `21_attention`, and unit 06 for messages.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.attention import plot_growth, plot_steps
from ddl_teach.theory import context as theory

# %%
engines = Engines(4)

# %% [markdown]
# ## 1. Keys go round · *beginner*
#
# In **ring attention** (Liu, Zaharia and Abbeel, 2023) queries stay where they are. Each rank
# sends its block of keys and values to the rank above, and receives that of the rank below. After
# $P$ steps each rank has seen all blocks. Its softmax runs, as in `21_attention`, so the result is
# exact. While a rank computes with one block, the next is on its way.
#
# **Exercise.** In step 0 rank $r$ computes with its own block. Whose block is it in step `step`?


# %% name="21.turns" tags=["answer"]
def owner(rank, step, ranks):
    """The rank whose block `rank` computes with in this step."""
    ### BEGIN SOLUTION
    return (rank - step) % ranks
    ### END SOLUTION


# %% name="21.turns" tags=["check"]
check("21.turns", owner)
### BEGIN HIDDEN TESTS
judge("21.turns", owner, seed=216)
### END HIDDEN TESTS

# %% [markdown]
# Your engines do it with a small text now. Each has 128 of 512 positions and 8 heads. The next
# cells compare their outputs with attention on one device.

# %%
import torch
from torch.nn.functional import scaled_dot_product_attention

torch.manual_seed(21)
text = torch.randn(3, 1, 8, 512, 16, dtype=torch.float64)
whole = scaled_dot_product_attention(*text, is_causal=True)


# %%
def by_ring(comm, text, layout):
    from ddl_teach.networks.context import layouts, ring_attention

    positions = layouts.LAYOUTS[layout](text.shape[3], comm.size)
    q, k, v = text[:, :, :, positions[comm.rank]].to(comm.device)
    output = ring_attention.ring_attention(comm, q, k, v, positions)
    return output.cpu(), positions[comm.rank]


# %%
run = engines.run(by_ring, text=text, layout="contiguous", timeout=60)
for output, mine in run.results:
    assert torch.allclose(output, whole[:, :, mine], atol=1e-12)
sent = run.ledger[0].bytes_sent
block = 2 * text[0].nbytes // 4
print(f"rank 0 sent {sent:,} bytes: {sent / block:.0f} blocks of keys and values")

# %% [markdown]
# ## 2. Who has work? · *beginner*
#
# Under a causal mask a rank has nothing to do with keys that come later than all its queries. If
# neighbours stay together, the first rank is done after one step. But the last rank computes in
# every step, and all others wait for it. The picture counts pairs of a query and a key.


# %%
def work(positions):
    """For each step and rank the pairs that it computes."""
    ranks = range(len(positions))
    return [[theory.pairs(positions, rank, step) for rank in ranks] for step in ranks]


# %%
neighbours = np.split(np.arange(256), 8)
plot_steps(work(neighbours), title="Neighbours together")

# %% [markdown]
# **Exercise.** Cut the text into $2P$ equal parts, counted from 0. Each rank gets two of them, so
# that all ranks have the same work *in each step*. Return for each rank the list of its two parts.


# %% name="21.zigzag" tags=["answer"]
def zigzag(ranks):
    """For each rank its two parts of 2 * ranks."""
    ### BEGIN SOLUTION
    return [[rank, 2 * ranks - 1 - rank] for rank in range(ranks)]
    ### END SOLUTION


# %% name="21.zigzag" tags=["check"]
check("21.zigzag", zigzag)
### BEGIN HIDDEN TESTS
judge("21.zigzag", zigzag, seed=217)
### END HIDDEN TESTS

# %%
from ddl_class.exercises.unit_21.context_judges import two_parts

parts = np.split(np.arange(256), 16)
mine = yours("21.zigzag", zigzag, two_parts)(8)
balanced = [np.concatenate([parts[part] for part in each]) for each in mine]
plot_steps(work(balanced), title="Two parts for each rank")

# %% [markdown]
# In each step all wait for the slowest rank. The next cell adds up the pairs of these ranks.

# %%
for name, positions in {"neighbours": neighbours, "two parts": balanced}.items():
    print(f"{name:10} the slowest ranks of all steps have {theory.slowest(positions):,} pairs")

# %% [markdown]
# Nearly half of the time is saved. Llama 3 was trained with such parts (Dubey and others, 2024).
# **Striped attention** (Brandon and others, 2023) deals positions like cards: rank $r$ has every
# $P$-th one. That is balanced too, up to one pair for each query.
#
# ## 3. Change to heads · *beginner*
#
# A head never looks at another head. So there is another way, **Ulysses** (Jacobs and others,
# 2023). Before attention the ranks exchange: each gives up positions and gets heads. Then it has
# *all positions* of *some heads*, and attends as on one device. Another exchange brings outputs
# back.
#
# **Exercise.** Put these lines in order: one of them belongs nowhere. `x` has the axes (heads, own
# positions, width). Each rank returns (own heads, all positions, width).


# %% name="21.to_heads" tags=["answer"]
def to_heads(comm, x):
    """All positions of own heads, from all heads of own positions."""
    ### BEGIN SOLUTION
    parts = np.split(x, comm.size)
    arrived = [part.copy() for part in parts]
    for k in range(1, comm.size):
        above, below = (comm.rank + k) % comm.size, (comm.rank - k) % comm.size
        comm.sendrecv(parts[above], above, arrived[below], below)
    return np.concatenate(arrived, axis=1)
    ### END SOLUTION


# %% name="21.to_heads" tags=["check"]
check("21.to_heads", to_heads)
### BEGIN HIDDEN TESTS
judge("21.to_heads", to_heads, ranks=(6, 7, 12), seed=218)
### END HIDDEN TESTS

# %% [markdown]
# This is an **all-to-all**: each rank has something else for each other rank. A rank's queries
# have $n$ bytes; keys, values and outputs have as many. A ring sends a block of keys and values in
# each of $P - 1$ steps: $2 (P - 1)\, n$ bytes.
#
# **Exercise.** How many bytes does a rank send, forward, if the ranks change to heads and back?


# %% name="21.exchanged" tags=["answer"]
def exchanged(nbytes, ranks):
    """The bytes that a rank sends, where its queries have `nbytes`."""
    ### BEGIN SOLUTION
    return 4 * nbytes * (ranks - 1) / ranks
    ### END SOLUTION


# %% name="21.exchanged" tags=["check"]
check("21.exchanged", exchanged)
### BEGIN HIDDEN TESTS
judge("21.exchanged", exchanged, seed=219)
### END HIDDEN TESTS

# %% [markdown]
# **Predict.** From how many ranks on does the exchange send fewer bytes than the ring?

# %%
predict("21.crossing", ...)

# %%
n = 2**20
fewer = [P for P in range(2, 33) if 4 * n * (P - 1) / P < 2 * n * (P - 1)]
reveal("21.crossing", fewer[0])

# %% [markdown]
# With two ranks both send the same. With 16 ranks the ring sends eight times as much. The next
# cells count it on your engines, and compare the outputs.


# %%
def by_heads(comm, text):
    from ddl_teach.networks.context import layouts, ulysses

    positions = layouts.contiguous(text.shape[3], comm.size)
    q, k, v = text[:, :, :, positions[comm.rank]].to(comm.device)
    return ulysses.ulysses(comm, q, k, v, positions).cpu(), positions[comm.rank]


# %%
run = engines.run(by_heads, text=text, timeout=60)
for output, mine in run.results:
    assert torch.allclose(output, whole[:, :, mine], atol=1e-12)
own = text[0].nbytes // 4
print(f"rank 0 sent {run.ledger[0].bytes_sent:,} bytes, by the formula {4 * own * 3 // 4:,}")
assert run.ledger[0].bytes_sent == 4 * own * 3 // 4

# %% [markdown]
# ## 4. Where they cross · *intermediate*
#
# The exchange sends fewer bytes, but nothing can be computed meanwhile. The ring sends more, under
# the work. And the exchange has a limit: there cannot be more ranks than heads. `LongText` has
# formulas for the time of one layer, forward, on equal ranks with zigzag parts:
#
# $$T_{ring} = (P-1)\,\max\!\left(\tfrac WP,\ \alpha + 2 n \beta\right) + \tfrac WP,\qquad
# T_{heads} = 4 (P-1) \left(\alpha + \tfrac nP \beta\right) + W,$$
#
# where $W$ are a rank's seconds of work, $n$ the bytes of its queries, and a message of $m$ bytes
# takes $\alpha + m\beta$.

# %%
from ddl_teach import Phantom
from ddl_teach.theory.machine import Link

link = Link(latency=5e-6, per_byte=1 / 50e9)
lengths = [2**k for k in range(12, 21)]
texts = [theory.LongText(length, 32, 128, per_second=4e14) for length in lengths]


# %%
def times(ranks):
    ways = {"ring": theory.LongText.by_ring, "heads": theory.LongText.by_heads}
    ways["gathered first"] = theory.LongText.by_gathering
    return {
        name: (lengths, [way(each, ranks, link) for each in texts]) for name, way in ways.items()
    }


# %%
curves = times(16)
ring, heads = (np.array(curves[name][1]) for name in ("ring", "heads"))
first = int(np.argmax(ring < heads))
ahead = f"from {lengths[first]:,} positions on" if ring[-1] < heads[-1] else "never"
print(f"the ring is ahead of the heads {ahead}")
plot_growth(curves, {}, "One layer forward on 16 ranks", "seconds")

# %% [markdown]
# Work grows with the square of the length, messages only with the length. So in a long text the
# ring hides its messages, and the exchange pays for its own in full. In a short text the ring's
# messages stand in the way, and fewer bytes win. *Gathered first* is what Llama 3's training did:
# all keys and values are collected before attention, which needs memory for all of them. Backward
# their gradients are added up on the way home.
#
# So far there were as many heads of keys as of queries. Models of today have fewer: several heads
# of queries look at the same keys. These are *grouped queries* (Ainslie and others, 2023). Llama
# 3 has 8 heads of keys for 128 of queries. In a ring and in a gathering only keys and values
# travel, so their messages are 16 times shorter. Your engines do both, with two heads of keys for
# eight of queries.


# %%
def grouped(comm, text, way):
    from ddl_teach.networks.context import gathering, layouts, ring_attention

    attend = {"ring": ring_attention.ring_attention, "gathered": gathering.gathering_attention}
    positions = layouts.zigzag(text.shape[3], comm.size)
    q, k, v = text[:, :, :, positions[comm.rank]].to(comm.device)
    output = attend[way](comm, q, k[:, :2], v[:, :2], positions)
    return output.cpu(), positions[comm.rank]


# %%
q, k, v = text[0], text[1, :, :2], text[2, :, :2]
expected = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
predicted, _ = theory.sent([2 * 2 * own // 8] * 4, rank=0)
for way in ("ring", "gathered"):
    run = engines.run(grouped, text=text, way=way, timeout=60)
    for output, mine in run.results:
        assert torch.allclose(output, expected[:, :, mine], atol=1e-12)
    print(f"{way}: rank 0 sent {run.ledger[0].bytes_sent:,} bytes, by the formula {predicted:,}")
    assert run.ledger[0].bytes_sent == predicted

# %% [markdown]
# An exchange gains less: queries and outputs still travel with all their heads. So where ring and
# heads cross depends on the heads of keys, and on the network. The next cell asks the formulas, on
# 16 ranks with 32 heads of queries.


# %%
def where_heads_win(of_keys, link):
    texts = [theory.LongText(n, 32, 128, per_second=4e14, of_keys=of_keys) for n in lengths]
    wins = [text.length for text in texts if text.by_heads(16, link) < text.by_ring(16, link)]
    return f"from {wins[0]:,} to {wins[-1]:,} positions" if wins else "nowhere"


# %%
for speed in (12.5e9, 50e9, 450e9):
    for of_keys in (32, 8, 2):
        where = where_heads_win(of_keys, Link(5e-6, 1 / speed))
        print(f"{speed / 1e9:5} GB/s, {of_keys:2} heads of keys: heads win {where}")

# %% [markdown]
# The faster the network and the fewer the heads of keys, the sooner the ring wins. With 2 heads of
# keys the exchange never wins here. It must copy each of them to 8 ranks. In very short texts with
# few keys the ring is ahead as well: it sends fewer messages.
#
# Now the same as programs, on simulated ranks. `Phantom` is a message that has only a size.


# %%
def keys_go_round(comm, text):
    block, above, below = int(2 * text.block(comm.size)), comm.rank + 1, comm.rank - 1
    for _ in range(comm.size):
        coming = comm.irecv(Phantom(block), below % comm.size)
        going = comm.isend(Phantom(block), above % comm.size)
        comm.work(seconds=text.work(comm.size) / comm.size)
        coming.wait()
        going.wait()


# %%
from ddl_teach.comm import Uniform

network = Uniform(latency=5e-6, bandwidth=50e9)
for ranks in (4, 16, 64, 128, 256):
    simulated = simulate(keys_go_round, ranks, text=texts[-1], network=network, trace=False).time
    predicted = texts[-1].by_ring(ranks, link)
    print(
        f"{ranks:5} ranks: {1e3 * simulated:6.1f} ms simulated, {1e3 * predicted:6.1f} predicted"
    )

# %% [markdown]
# (This program sends one block more than needed, so that all steps are alike.) Up to some number
# of ranks twice the ranks need half the time. Then a step's work is shorter than its message, and
# more ranks do not help: each block still visits all of them.
#
# ## 5. Both at once · *intermediate*
#
# The two ways can be combined (Fang and Zhao, 2024). Ranks of a node exchange heads over fast
# links. Nodes are a ring, whose messages go under the work. So 8 heads suffice for any number of
# nodes. `hybrid` of `ddl_teach/networks/context/ulysses.py` takes one communicator of each kind.


# %%
def in_both_ways(comm, text):
    from ddl_teach.networks.context import layouts, ulysses

    heads, ring = comm.split(comm.rank // 2), comm.split(comm.rank % 2)
    parts = layouts.zigzag(text.shape[3], comm.size)
    q, k, v = text[:, :, :, parts[comm.rank]].to(comm.device)
    output = ulysses.hybrid(heads, ring, q, k, v, [parts[:2], parts[2:]])
    return output.cpu(), parts[comm.rank]


# %%
run = engines.run(in_both_ways, text=text, timeout=60)
for output, mine in run.results:
    assert torch.allclose(output, whole[:, :, mine], atol=1e-12)
own = text[0].nbytes // 4
predicted, _ = theory.sent_in_both([[own, own], [own, own]], group=0, rank=0)
print(f"rank 0 sent {run.ledger[0].bytes_sent:,} bytes, by the formula {predicted:,}")

# %% [markdown]
# Which of the two belongs inside the nodes? Take 8 nodes of 8 ranks. Each rank has a card of
# 50 GB/s to other nodes, and 200 GB/s inside its node. `by_both` takes the link of the ring and
# the link of the heads. For comparison there is one ring of all 64 ranks. In it only one message
# at a time leaves a node. It may use all eight cards, so the links inside are the slower ones.

# %%
from ddl_teach.theory.machine import Cluster

machine = Cluster(nodes=8, ranks_per_node=8, cards=8, between=link)
slow, fast = machine.by_card(8), machine.inside
ways = {"one ring": [each.by_ring(64, fast) for each in texts]}
ways["heads inside"] = [each.by_both(8, 8, ring=slow, heads=fast) for each in texts]
ways["ring inside"] = [each.by_both(8, 8, ring=fast, heads=slow) for each in texts]

# %%
best = [list(ways)[row] for row in np.argmin(list(ways.values()), axis=0)]
for name, length in zip(best, lengths, strict=True):
    print(f"{length:9,} positions: {name}")
assert best == sorted(best, key=["ring inside", "heads inside", "one ring"].index)

# %%
grids = {name: (lengths, seconds) for name, seconds in ways.items()}
plot_growth(grids, {}, "One layer forward on 8 nodes", "seconds")

# %% [markdown]
# The less steep a curve, the less of its time is work. It depends on the length again. Over the
# slow cards the exchange of heads sends fewer bytes than a ring of nodes, but nothing can be
# computed meanwhile. So short texts want the ring inside, and longer ones the heads. In the
# longest texts work hides even one ring over all ranks.
#
# The 32 heads of this example are enough for 8 ranks. If there are fewer heads of keys than ranks,
# `ulysses` copies each of them to several ranks. Or fewer ranks exchange heads, in a longer ring.
#
# ## 6. Unequal ranks · *advanced*
#
# **A puzzle.** Eight ranks share a text of 64 chunks in a ring. Ranks 4 to 7 are half as fast as
# ranks 0 to 3. A rank's memory has room for 12 chunks. A pair of chunks takes 50 µs on a fast
# rank. Zigzag parts take 25.6 ms, for all wait for the slow ranks. The goal is **18 ms**.

# %%
from ddl_class.exercises.unit_21.context_judges import dealt, pairs, pass_of

SPEEDS = [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5]
equal = dealt(64, 8)
print("rank 0 holds", equal[0])
print("rank 7 holds", equal[7])
print(f"with zigzag parts: {1e3 * pass_of(equal).time:.2f} ms")

# %% [markdown]
# **Exercise.** Return eight lists of chunks, from rank 0 to rank 7. Each chunk from 0 to 63
# stands in one of them. A chunk sees half of itself and all chunks before it. So chunk $c$ has
# $c + \frac12$ pairs in all.


# %% name="21.layout" tags=["answer"]
def unequal_layout():
    """For each rank the list of its chunks."""
    ### BEGIN SOLUTION
    chunks, load = [[] for _ in SPEEDS], np.zeros(8)
    for chunk in reversed(range(64)):  # those with most pairs first
        ends = (load + chunk + 0.5) / SPEEDS
        ends[[len(each) == 12 for each in chunks]] = np.inf
        rank = int(np.argmin(ends))
        chunks[rank].append(chunk)
        load[rank] += chunk + 0.5
    return chunks
    ### END SOLUTION


# %% name="21.layout" tags=["check"]
check("21.layout", unequal_layout)
### BEGIN HIDDEN TESTS
judge("21.layout", unequal_layout, seed=220)
### END HIDDEN TESTS

# %%
mine = yours("21.layout", unequal_layout, lambda: equal)()
seconds = [[50e-6 * pairs(mine[rank], mine[rank - step]) / SPEEDS[rank] for rank in range(8)]
           for step in range(8)]  # fmt: skip
plot_steps(seconds, title="On unequal ranks", unit="seconds")

# %% [markdown]
# A rank that is slow in one step may be fast in the next, so ranks need not be equal in each step.
#
# ## What production does
#
# torch's `context_parallel` shards a text in zigzag parts and lets `scaled_dot_product_attention`
# run as a ring or after a gathering. A test runs it on our ranks, beside ring, heads and gathered
# keys: all four give the attention of one device. DeepSpeed has
# Ulysses. Megatron-LM has an option for it, `cp_comm_type`: `p2p` is the ring, `all_gather`
# gathers first, `a2a` changes to heads, and `a2a+p2p` is both. The user chooses.

# %%
from ddl_class import predictions

engines.stop()
predictions("21")

# %% [markdown]
# ## Three questions
#
# **1.** A model has 8 heads of keys and 64 heads of queries, and there are 32 ranks. What can the
# exchange do?
#
# <details><summary>An answer</summary>
#
# Only 8 ranks can have heads of keys of their own. There are two ways. Each of these heads is
# copied to 4 ranks, which costs memory and bytes. Or 8 ranks exchange and 4 groups of them are a
# ring.
#
# </details>
#
# **2.** Why does the exchange need no balanced layout, although the mask is causal?
#
# <details><summary>An answer</summary>
#
# After the exchange each rank has all positions of its heads. Heads have all the same work.
#
# </details>
#
# **3.** Backward, gradients of keys and values go round with their blocks, and then home. What
# does a rank send then, in a ring and with exchanges?
#
# <details><summary>An answer</summary>
#
# In a ring the blocks once more, and as many bytes of gradients with one hop more: $2 (P-1) n$ and
# $2 P n$. With exchanges the gradients take the same ways back: $4 (P - 1)/P \cdot n$ again.
#
# </details>
#
# ## Where to read on
#
# - H. Liu, M. Zaharia and P. Abbeel, "Ring attention with blockwise transformers for near-infinite
#   context", arXiv 2310.01889, 2023.
# - S. A. Jacobs et al., "DeepSpeed Ulysses: system optimizations for enabling training of extreme
#   long sequence transformer models", arXiv 2309.14509, 2023.
# - J. Fang and S. Zhao, "USP: a unified sequence parallelism approach for long context generative
#   AI", arXiv 2405.07719, 2024.
# - J. Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
#   checkpoints", *EMNLP*, 2023.
# - W. Brandon et al., "Striped attention: faster ring attention for causal transformers", 2023.
# - DeepSeek-AI, "DeepSeek-V4: towards highly efficient million-token context intelligence",
#   *arXiv*, 2026: keys of many positions are pressed into few.
#
# The code stands in `ddl_teach/networks/context` and `ddl_teach/plain/ulysses.py`. `progress()`
# shows how far you have come.
