# %% [markdown]
# # Serving
#
# **What changes when nobody trains?**
#
# A trained model answers many requests. It writes one token after another, and each token needs
# the one before. So the work cannot be done all at once, as in training. Here you build the parts
# of a server: a cache, its memory, its batches, and guesses. Then you choose a grid of cards. You
# need units 09 and 21. Sections 1 and 2 are for *beginners*, sections 3 to 5 for *intermediate*
# readers, section 6 is *advanced*. About 75 minutes.

# %%
import numpy as np
import torch

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, yours
from ddl_class.plots.frame import plane
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.serving import batching
from ddl_teach.serving.decoding import CachedGPT, generate
from ddl_teach.serving.pages import Pages
from ddl_teach.theory import serving

# %%
engines = Engines(4)

# %% [markdown]
# ## 1. A cache · *beginner*
#
# In attention a token looks at the keys and values of all tokens before it. These do not change
# when a new token comes. A **key-value cache** keeps them. So a step reads only the new token.
# Without a cache, token number $T$ needs the work of $T$ tokens again. With it, the work of one.
#
# **Exercise.** Here is the query `q`, the key `k` and the value `v` of a new token, and the cache
# of the earlier ones, one row for each token. What does attention give?


# %% name="26.decode" tags=["answer"]
def decode(q, k, v, keys, values):
    """softmax(keys q / sqrt(width)) values; the token sees itself, too."""
    ### BEGIN SOLUTION
    keys, values = np.vstack([keys, k]), np.vstack([values, v])
    weights = np.exp(keys @ q / np.sqrt(len(q)))
    return weights @ values / weights.sum()
    ### END SOLUTION


# %% name="26.decode" tags=["check"]
check("26.decode", decode)
### BEGIN HIDDEN TESTS
judge("26.decode", decode, seed=261)
### END HIDDEN TESTS

# %% [markdown]
# `CachedGPT` does this in each layer of the GPT of unit 21. `step` reads new tokens of some
# requests, and returns the scores of what comes next. The reading of a prompt is called
# **prefill**, all later steps are called *decode*. The next cell compares both with the whole
# model.

# %%
text = torch.tensor([[70, 14, 23, 94, 29, 17, 10, 27]])
model = gpt_of("100k").double()
whole = model(text)[0].detach()

# %%
decoder = CachedGPT(gpt_of("100k").double())
prefill = decoder.step([0], text[:, :5])
later = [decoder.step([0], text[:, at : at + 1])[0] for at in range(5, 8)]
assert torch.allclose(prefill[0], whole[4], atol=1e-12)
assert torch.allclose(torch.stack(later), whole[5:], atol=1e-12)

# %% [markdown]
# On several ranks the heads are split, as in unit 09. A rank caches the keys and values of its own
# heads only. There must be a head for each rank: else the decoder refuses. The ranks must draw the
# same tokens, so all of them get a generator with the same seed.


# %%
def answer(comm):
    decoder = CachedGPT(gpt_of("100k").double(), comm)
    prompts = torch.tensor([[70, 14, 23, 94]])
    answers = generate(decoder, prompts, 20, generator=torch.Generator().manual_seed(0))
    return answers.tokens, decoder.cache.nbytes


# %%
alone = generate(
    CachedGPT(gpt_of("100k").double()), text[:, :4], 20, generator=torch.Generator().manual_seed(0)
)
results = engines.run(answer, timeout=60).results
assert all(torch.equal(tokens, alone.tokens) for tokens, _ in results)
print([nbytes for _, nbytes in results], "bytes of cache on each rank")

# %% [markdown]
# Four real ranks say what one process says. But how large is a cache?
#
# **Exercise.** A model has `layers`, and each has so many `heads` of keys, of `width` numbers. A
# number has `itemsize` bytes. How many bytes of cache does one token need?


# %% name="26.cache_bytes" tags=["answer"]
def cache_bytes(layers, heads, width, itemsize):
    """Bytes of the keys and values of one token."""
    ### BEGIN SOLUTION
    return 2 * layers * heads * width * itemsize
    ### END SOLUTION


# %%
def by_formula(layers, heads, width, itemsize):
    return serving.ServedModel(0, layers, 0, heads * width, itemsize).cache_bytes


# %%
mine = yours("26.cache_bytes", cache_bytes, by_formula)
for heads in (64, 8):
    print(f"80 layers, {heads} heads of 128: {mine(80, heads, 128, 2):,} bytes a token")

# %% [markdown]
# With fewer heads of keys the cache is smaller by their ratio.

# %% name="26.cache_bytes" tags=["check"]
check("26.cache_bytes", cache_bytes)
### BEGIN HIDDEN TESTS
judge("26.cache_bytes", cache_bytes, seed=262)
### END HIDDEN TESTS

# %% [markdown]
# 64 heads of queries can share 8 heads of keys: that is **grouped-query attention** (Ainslie et
# al., 2023). It saves cache, not work. Llama's model of 70 billion weights has these sizes.

# %%
predict("26.fit", ...)

# %%
large = serving.ServedModel(weights=70e9, layers=80, width=8192, keys=8 * 128)
reveal("26.fit", serving.Lane(large, tensor=8).room // 4000)

# %% [markdown]
# ## 2. Blocks and tables · *beginner*
#
# Nobody knows how long an answer will be. A cache in one piece must reserve room for the longest.
# A **paged cache** has blocks of a few tokens. A request gets a block when its last one is full.
# Its table says which block comes first, second, and so on. So nothing is copied when it grows.

# %%
pages = Pages(blocks=8, size=4)
pages.grow(request=1, tokens=6)
pages.grow(request=2, tokens=3)
pages.grow(request=1, tokens=5)
print(pages.tables, "free:", pages.free, "empty places:", pages.empty)

# %% [markdown]
# **Exercise.** Where does token number `at` of a request stand? A block `b` holds the places from
# `b * size` on.


# %% name="26.slot" tags=["answer"]
def slot(table, size, at):
    """The place in the cache of token `at`, of a request with this table of blocks."""
    ### BEGIN SOLUTION
    return table[at // size] * size + at % size
    ### END SOLUTION


# %%
def as_in_pages(table, size, at):
    pages = Pages(max(table) + 1, size)
    pages.tables[0], pages.lengths[0] = table, at + 1
    return pages.slots(0)[at]


# %%
mine = yours("26.slot", slot, as_in_pages)
print([mine(pages.tables[1], 4, at) for at in range(11)])

# %% [markdown]
# The list says where the tokens of request 1 stand. Its third block does not follow its second.

# %% name="26.slot" tags=["check"]
check("26.slot", slot)
### BEGIN HIDDEN TESTS
judge("26.slot", slot, seed=263)
### END HIDDEN TESTS

# %% [markdown]
# How much memory stays empty? The next cell draws answers with 100 tokens in the mean. Room in one
# piece is made for the longest of them.

# %%
lengths, sizes = np.random.default_rng(0).geometric(1 / 100, 400), [2**k for k in range(10)]
in_one_piece = 1 - lengths.sum() / (len(lengths) * lengths.max())


def empty(size):
    pages = Pages(4000 // size * 20 + 400, size)
    for request, length in enumerate(lengths):
        pages.grow(request, int(length))
    return pages.empty / (pages.empty + lengths.sum())


# %%
axes = plane("tokens of a block", "share of the cache that is empty")
axes.draw_lines(
    {
        "blocks": (sizes, [empty(size) for size in sizes]),
        "in one piece": (sizes, [in_one_piece] * len(sizes)),
    }
)
axes.log_scale("x", base=2)
axes.in_percent("y")
axes.finish("Empty places", f"Blocks of 16: {empty(16):.0%} of the cache is empty", legend="best")

# %% [markdown]
# Kwon et al., 2023, built this into vLLM, and measured 2 to 4 times the throughput of the systems
# before, at the same latency. vLLM's blocks have 16 tokens.
#
# ## 3. Who enters the batch? · *intermediate*
#
# A step reads all weights, for one request or for fifty. So many requests should share a step. A
# batch that is kept whole waits for its longest answer. **Continuous batching** asks between any
# two steps: who has ended, and who may enter?
#
# **Exercise.** Put these lines in order; one of them belongs nowhere. `waiting` holds the tokens
# that each request needs, the first that came stands first. `running` is the batch, of at most
# `most` requests, and `free` is how many tokens still fit into the cache.


# %% name="26.enter" tags=["answer"]
def enter(waiting, running, most, free):
    """Move requests from `waiting` to `running`; return running, and what is free then."""
    ### BEGIN SOLUTION
    while waiting and len(running) < most:
        if waiting[0] > free:
            break
        free -= waiting[0]
        running.append(waiting.pop(0))
    return running, free
    ### END SOLUTION


# %% name="26.enter" tags=["check"]
check("26.enter", enter)
### BEGIN HIDDEN TESTS
judge("26.enter", enter, seed=264)
### END HIDDEN TESTS

# %% [markdown]
# `serve` does the same in a simulated server, event by event. Requests come at random, as in a
# Poisson process. The **time to first token** is what a reader waits before anything appears. Then
# the *time per token* counts. How long does a step take? Decode is bound by memory, prefill by
# operations:
#
# $$T = \frac1t \max\left(\frac{2 N b}{F},\ \frac{\text{weights} + \text{cache}}{B}\right)
# + \text{messages}$$
#
# with $N$ weights, $b$ new tokens, $F$ operations and $B$ bytes a second of a card, and $t$ cards
# that share each layer. Messages are two all-reduces a layer.

# %%
predict("26.waiting", ...)

# %%
small = serving.Lane(serving.ServedModel(weights=8e9, layers=32, width=4096, keys=1024))
step = batching.by_formula(small)
requests = batching.poisson(4, 400, np.random.default_rng(1), prompt=500, answer=100)
limits = {"most": 16, "room": small.room}
whole_batches = batching.serve(requests, step, keep_whole=True, **limits)
in_and_out = batching.serve(requests, step, **limits)

# %%
reveal("26.waiting", whole_batches.to_first.mean() / in_and_out.to_first.mean())

# %% [markdown]
# Both had the same requests and the same limits, one seed, and no other limit was tried: with
# fewer requests a second the two are nearer. The next cell sorts all requests by this time.

# %%
axes = plane("share of requests", "seconds to first token")
share = np.linspace(0, 1, 400)
axes.draw_lines(
    {
        "batch kept whole": (share, np.sort(whole_batches.to_first)),
        "in and out": (share, np.sort(in_and_out.to_first)),
    }
)
axes.set_yscale("log")
axes.finish("Waiting", "Time to first token of 400 requests, simulated", legend="best")

# %% [markdown]
# Yu et al., 2022, call it scheduling by iterations. Their server Orca had 36.9 times the
# throughput of the one before, at the same latency, with a GPT of 175 billion weights.
#
# Now on real ranks. Does a step really cost little more for many requests than for one? Each run
# reads a prompt for each request, and takes the median of ten steps.


# %%
def step_seconds(comm, requests):
    decoder, times = CachedGPT(gpt_of("1M"), comm, blocks=256), []
    tokens = torch.zeros((requests, 32), dtype=torch.int64)
    for _ in range(11):
        begin = comm.now()
        scores = decoder.step(range(requests), tokens)
        times.append(comm.now() - begin)
        tokens = scores.argmax(-1, keepdim=True)
    return float(np.median(times[1:]))


# %%
counts = [1, 4, 8, 16, 32]
measured = {}
for ranks in (1, 2):
    runs = [engines.run(step_seconds, ranks=ranks, requests=n, timeout=60) for n in counts]
    measured[f"on {ranks}"] = [max(run.results) for run in runs]

# %%
axes, lines = plane("requests in the batch", "milliseconds of a step"), {}
dots = {name: (counts, 1e3 * np.array(times)) for name, times in measured.items()}
for name, (_, times) in dots.items():
    lines[name] = ([1, 32], [times[0], times[-1]])
axes.draw_all({"line through both ends": lines, "measured": dots})
grown = [f"{times[-1] / times[0]:.1f}" for times in measured.values()]
axes.finish("Steps", f"32 times the requests: {' and '.join(grown)} times as long", legend="best")

# %% [markdown]
# By the formula the dots lie on a line: a part for the weights, and a part for each request. Do
# yours? Two small ranks on a busy machine may be far off. And messages may cost more than the
# halved work saves.
#
# ## 4. Which grid is best? · *intermediate*
#
# Tensor ranks share each layer: a token is faster, but each layer costs messages. Pipeline stages
# cost few messages, but a token must pass all of them. So a pipeline of four stages has four
# batches under way, and each is as slow as without. Replicas share nothing.

# %%
predict("26.best", ...)


# %%
def curve(tensor, pipeline, context):
    lane = serving.Lane(large, tensor, pipeline)
    most = lane.room // context
    batch = np.unique(np.geomspace(1, most, 30).astype(int))
    seconds = np.array([lane.seconds(int(b), int(b) * context) for b in batch])
    return 1e3 * seconds, batch / seconds / tensor


# %%
grids = [(4, 1), (8, 1), (2, 4)]
curves = {f"{t} x {p}": curve(t, p, 300) for t, p in grids}
reveal("26.best", curves["2 x 4"][1].max() / curves["8 x 1"][1].max())

# %% [markdown]
# A line goes from one request at a time to as many as fit. The next cell lays over it what a
# server of 256 cards does under arrivals, simulated event by event. Requests have 100 tokens of
# prompt and 200 of answer in the mean. So in the middle of an answer there are 200 tokens or more
# in the cache, and prompts must be read, too.


# %%
def simulated(tensor, pipeline, rate):
    lane, replicas = serving.Lane(large, tensor, pipeline), 256 // tensor // pipeline
    requests = batching.poisson(rate, int(3 * rate), np.random.default_rng(2), 100, 200)
    times = batching.serve_on(lane, replicas, requests, most=1024, chunk=512)
    return 1e3 * np.median(times.per_token[len(requests) // 2 :])


# %%
per_card = np.array([1, 4, 8])  # requests a second, for each card
squares = {
    f"{t} x {p}": ([simulated(t, p, 256 * rate) for rate in per_card], 200 * per_card)
    for t, p in grids
}

# %%
axes = plane("milliseconds per token", "tokens a second and card")
axes.draw_all({"computed": curves, "simulated": squares})
axes.log_scale("x")
axes.log_scale("y")
axes.finish("Grids", "Requests of 300 tokens, tensor x pipeline", legend="beside")

# %% [markdown]
# Which grid is the fastest for one request, and which gives the most tokens? With longer requests
# fewer fit into the cache:

# %%
for context in (300, 4000):
    best = {grid: curve(*grid, context) for grid in grids}
    fastest = min(grids, key=lambda grid: best[grid][0].min())
    most = max(grids, key=lambda grid: best[grid][1].max())
    print(f"{context} tokens: fastest {fastest}, most tokens a second and card {most}")

# %% [markdown]
# With short requests throughput and latency have different best grids. That is the surprise.
# Messages cost a pipeline little, and with all four batches it uses each card. With long requests
# few fit into the cache. Then a pipeline cuts them into four small batches, each reads all
# weights, and tensor ranks win both. Pope et al., 2023, found the same kind of curve on TPUs: 29
# ms per token at the small end, for a model of 540 billion weights.
#
# The formula is a bound: real kernels are slower than memory and operations allow.
#
# ## 5. Prompts apart · *intermediate*
#
# A long prompt makes a step long, and all others in the batch wait for their next token. There are
# two ways out. The prompt can be read in chunks (Agrawal et al., 2024). Or other cards read it,
# and the cache travels (Patel et al., 2024; Zhong et al., 2024). Here two ranks read, and two
# write. A cache of five tokens travels:


# %%
def apart(comm):
    from ddl_teach.serving.handover import hand_over

    reads = comm.rank < 2
    decoder = CachedGPT(gpt_of("100k").double(), comm.split(int(reads)))
    if reads:
        decoder.step([0], torch.tensor([[70, 14, 23, 94, 29]]))
    before = comm.ledger.bytes_sent
    hand_over(comm, decoder, request=0, tokens=5, readers=2)
    return comm.ledger.bytes_sent - before, decoder.pages.lengths


# %%
results = engines.run(apart, timeout=60).results
formula = 5 * serving.ServedModel(0, layers=2, width=64, keys=64, itemsize=8).cache_bytes
print([sent for sent, _ in results], "bytes; in all, by the formula,", formula)
assert sum(sent for sent, _ in results) == formula

# %% [markdown]
# Which way is better? Four cards, prompts of 3000 tokens in the mean, 44 requests a second. All
# ways get the same requests. Of chunks and of splits the next cell tries several.

# %%
from ddl_teach.theory.machine import Link

requests = batching.poisson(44, 300, np.random.default_rng(3), prompt=3000, answer=100)
pair = serving.Lane(small.model, tensor=2)
between, late = Link(5e-6, 1 / 50e9), 10**9  # late: a chunk that holds any prompt
ways = {
    f"chunks of {chunk}": batching.serve_on(pair, 2, requests, most=64, chunk=chunk)
    for chunk in (256, 512, 1024, late)
}

# %%
splits = [((small, 2), (pair, 1)), ((small, 3), (small, 1)), ((pair, 1), (pair, 1))]
for readers, writers in splits:
    name = f"apart {readers[0].tensor}x{readers[1]} and {writers[0].tensor}x{writers[1]}"
    ways[name] = batching.serve_apart(readers, writers, requests, between, most=64)
for name, times in ways.items():
    first, each = np.quantile(times.to_first, 0.9), 1e3 * np.quantile(times.per_token, 0.9)
    print(f"{name.replace(str(late), 'any size'):22} {first:6.3f} s to first, {each:5.1f} ms")

# %% [markdown]
# Nine in ten requests have these times or better. Chunks cost time to the first token, and save
# time per token. Apart, no token waits for a prompt. But four cards are few to divide: readers
# cannot help writers. And our formula is kind to chunks: in one step it overlaps all reading of
# memory with all operations. Published systems measured gains by both ways on more cards.
#
# ## 6. Guesses · *advanced*
#
# Decode is bound by memory: a step for five tokens takes about as long as for one. In
# **speculative decoding** a small model guesses some tokens, and the large one checks all of them
# in one step. Its distribution is $p$, that of the small one $q$.
#
# **Exercise.** A guess `token` was drawn from `q`. It stays with probability min(1, p/q). Else a
# token is drawn from max(p - q, 0), which `np.searchsorted` does with the sums of these weights.


# %% name="26.accept" tags=["answer"]
def accept(p, q, token, number, second):
    """The token, or another; `number` and `second` are random numbers between 0 and 1."""
    ### BEGIN SOLUTION
    if number * q[token] < p[token]:
        return token
    left = np.cumsum(np.maximum(p - q, 0))
    return np.searchsorted(left, second * left[-1])
    ### END SOLUTION


# %%
from ddl_teach.plain import speculative_decoding


def as_defined(p, q, token, number, second):
    stays = speculative_decoding.accepted(p, q, token, number)
    left = speculative_decoding.remaining(p, q)
    return token if stays else speculative_decoding.draw(left, second)


# %%
p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.3, 0.1, 0.4])
random, mine = np.random.default_rng(4), yours("26.accept", accept, as_defined)
drawn = [mine(p, q, random.choice(4, p=q), *random.random(2)) for _ in range(4000)]
print("large", p, "small", q, "drawn", np.bincount(drawn, minlength=4) / 4000)

# %% [markdown]
# What was drawn is close to the large model's distribution, and far from that of the small one.

# %% name="26.accept" tags=["check"]
check("26.accept", accept)
### BEGIN HIDDEN TESTS
judge("26.accept", accept, seed=265)
### END HIDDEN TESTS

# %% [markdown]
# This is so for any small model: what comes out has the distribution of the large one. Leviathan
# et al., 2023, and Chen et al., 2023, found this at the same time. A guess is accepted with
# probability $a = \sum \min(p, q)$.
#
# **Exercise.** How many tokens does a step of the large model give, in the mean? After a rejected
# guess no later one counts. In any case the large model gives one token itself.


# %% name="26.expected" tags=["answer"]
def tokens_a_step(acceptance, guesses):
    """1 + a + a^2 + ... with one term for each guess."""
    ### BEGIN SOLUTION
    return sum(acceptance**k for k in range(guesses + 1))
    ### END SOLUTION


# %% name="26.expected" tags=["check"]
check("26.expected", tokens_a_step)
### BEGIN HIDDEN TESTS
judge("26.expected", tokens_a_step, seed=266)
### END HIDDEN TESTS

# %% [markdown]
# Now the same by drawing tokens, for the two models above:

# %%
acceptance, guesses = float(np.minimum(p, q).sum()), list(range(1, 8))
mine = yours("26.expected", tokens_a_step, serving.expected_tokens)


def drawn_tokens(count):
    random = np.random.default_rng(count)
    steps = [
        speculative_decoding.step(lambda _: p, lambda _: q, [], count, random) for _ in range(500)
    ]
    return np.mean([len(tokens) for tokens in steps])


# %%
axes = plane("guesses of a step", "tokens of a step")
predicted = {"tokens": (guesses, [mine(acceptance, count) for count in guesses])}
drawn = {"tokens": (guesses, [drawn_tokens(count) for count in guesses])}
axes.draw_all({"predicted": predicted, "simulated": drawn})
axes.finish("Guesses", f"Each guess is accepted with {acceptance:.2f}", legend="best")

# %% [markdown]
# More guesses help less and less, and each costs a step of the small model. `speedup` of
# `ddl_teach/theory/serving.py` has both.

# %%
for share in (0.02, 0.1, 0.3):
    gains = [serving.speedup(0.8, count, share) for count in range(1, 12)]
    print(
        f"a guess costs {share:.0%} of a step: best {1 + np.argmax(gains)}, {max(gains):.2f} times"
    )

# %% [markdown]
# ## Puzzle: eight cards
#
# 50 requests a second come, with 2000 tokens of prompt and 100 of answer in the mean. The model
# has 8 billion weights. Nine in ten requests must have their first token within 100 ms, and a
# token every 2.1 ms or faster. You have eight cards.
#
# **Exercise.** Return a list of pools, how many requests a batch may have, and how many prompt
# tokens a step may read. A pool is (tensor, replicas). With two pools the first only reads
# prompts. How small can you make the time per token?


# %%
from ddl_teach.theory.machine import Link

model = serving.ServedModel(weights=8e9, layers=32, width=4096, keys=1024)
between_pools = Link(5e-6, 1 / 50e9)


# %%
def served(pools, most, chunk):
    requests = batching.poisson(50, 400, np.random.default_rng(26), 2000, 100)
    lanes = [(serving.Lane(model, tensor), replicas) for tensor, replicas in pools]
    if len(lanes) == 2:
        times = batching.serve_apart(*lanes, requests, between_pools, most=most)
    else:
        times = batching.serve_on(*lanes[0], requests, most=most, chunk=chunk)
    return [1e3 * float(np.quantile(x, 0.9)) for x in (times.to_first, times.per_token)]


# %%
print(served([(2, 4)], 64, 512), "milliseconds to the first token, and per token")


# %% [markdown]
# That is within the first goal, and not within the second.


# %% name="26.serve" tags=["answer"]
def plan(cards):
    """The pools, the most requests of a batch, and the most prompt tokens of a step."""
    ### BEGIN SOLUTION
    return [(cards // 2, 2)], 64, 288
    ### END SOLUTION


# %% name="26.serve" tags=["check"]
check("26.serve", plan)
### BEGIN HIDDEN TESTS
judge("26.serve", plan, seed=267)
### END HIDDEN TESTS

# %% [markdown]
# ## What production does
#
# vLLM, SGLang and TensorRT-LLM have all of this: pages, requests that come and go, chunks of
# prompts, prompts apart, and guesses. In vLLM a grid and its limits are options:
#
#     vllm serve MODEL --tensor-parallel-size 4 --max-num-seqs 64 --max-num-batched-tokens 512
#
# DeepSeek-V2 stores no keys and values, but a short vector from which they are computed
# (DeepSeek-AI, 2024). The next notebook trains on what such a server writes.
#
# ## Three questions
#
# **1.** Why does a batch of 16 requests give nearly 16 times the tokens of one request?
#
# <details><summary>An answer</summary>
#
# Most of a decode step is the reading of weights. They are read once for all requests. Only the
# cache of each request is read on top.
#
# </details>
#
# **2.** Why is a prompt not read faster in a batch with other prompts?
#
# <details><summary>An answer</summary>
#
# A long prompt already has enough tokens to keep the card busy. It is bound by operations, and
# twice the tokens are twice the operations.
#
# </details>
#
# **3.** A draft model is bad. What happens to the answers?
#
# <details><summary>An answer</summary>
#
# Nothing but time: they have the same distribution. Most guesses are rejected, so a step gives
# little more than one token, and the guesses cost.
#
# </details>
#
# ## Where to read on
#
# - W. Kwon et al., "Efficient memory management for large language model serving with
#   PagedAttention", *SOSP*, 2023.
# - G.-I. Yu, J. S. Jeong, G.-W. Kim, S. Kim and B.-G. Chun, "Orca: a distributed serving system
#   for transformer-based generative models", *OSDI*, 2022.
# - R. Pope et al., "Efficiently scaling transformer inference", *MLSys*, 2023.
# - Y. Leviathan, M. Kalman and Y. Matias, "Fast inference from transformers via speculative
#   decoding", *ICML*, 2023.
# - Y. Zhong et al., "DistServe: disaggregating prefill and decoding for goodput-optimized large
#   language model serving", *OSDI*, 2024.
# - A. Agrawal et al., "Taming throughput-latency tradeoff in LLM inference with Sarathi-Serve",
#   *OSDI*, 2024.
#
# The decoder stands in `ddl_teach/serving/decoding.py`. `progress()` shows how far you have come.
