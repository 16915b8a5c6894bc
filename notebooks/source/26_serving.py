# %% [markdown]
# # Serving
#
# **What changes when the training is over?**
#
# A trained model answers many requests. A *request* is a text, the *prompt*, that the model
# continues. It writes one token after another, and each needs the one before. So the tokens of an
# answer cannot be computed all at once, as in training. Here you build three parts of a server: a
# cache, the table of its memory, and guesses. `26_serving_many_requests` puts many requests
# together, and chooses a grid of cards. You need units 09 and 21. Sections 1 and 2 are for
# *beginners*, section 3 is *advanced*. About 75 minutes, with the second notebook.
#
# A *token* is a piece of a text. In the GPT of this course it is one character. A *card* is a
# GPU here.

# %%
import numpy as np
import torch

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, yours
from ddl_class.plots.frame import plane
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.serving.decoding import CachedGPT, generate
from ddl_teach.serving.pages import Pages
from ddl_teach.theory import serving

# %%
engines = Engines(4)

# %% [markdown]
# ## 1. A cache · *beginner*
#
# In attention a token looks at the keys and values of all tokens before it. These do not change
# when a new token comes. A **key-value cache** keeps them. So a step computes the new token only.
# Without a cache, token number $T$ needs the work of $T$ tokens. With it, the work of one.
#
# **Exercise.** A new token has the query `q`, the key `k` and the value `v`. The cache has `keys`
# and `values` of the earlier tokens, one row for each. What does attention give?


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
# `CachedGPT` does this in each layer of the GPT of unit 21. Its `step` reads new tokens of some
# requests, and returns the scores of what comes next. There are two kinds of steps. **Prefill**
# reads the whole prompt at once. Each later step, *decode*, reads one token.
#
# The next cell computes a text of eight tokens without a cache. The one after it reads five tokens
# in one step, and then three, one by one. The scores must be the same.

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
# heads only. Each rank needs at least one head. The next token is drawn by chance, and all ranks
# must draw the same one. So all of them get a generator with the same seed.


# %%
def answer(comm):
    decoder = CachedGPT(gpt_of("100k").double(), comm)
    prompts = torch.tensor([[70, 14, 23, 94]])
    answers = generate(decoder, prompts, 20, generator=torch.Generator().manual_seed(0))
    return answers.tokens, decoder.cache.nbytes


# %%
decoder, seed = CachedGPT(gpt_of("100k").double()), torch.Generator().manual_seed(0)
alone = generate(decoder, text[:, :4], 20, generator=seed)
results = engines.run(answer, timeout=60).results
assert all(torch.equal(tokens, alone.tokens) for tokens, _ in results)
print([nbytes for _, nbytes in results], "bytes of cache on each rank")

# %% [markdown]
# Four real ranks wrote the same 20 tokens as one process. But how large is a cache?
#
# **Exercise.** A model has `layers` layers, and each layer has `heads` heads. In each head a token
# has a key of `width` numbers, and a value of `width` numbers. A number has `itemsize` bytes. How
# many bytes of cache does one token need?


# %% name="26.cache_bytes" tags=["answer"]
def cache_bytes(layers, heads, width, itemsize):
    """Bytes of the keys and values of one token."""
    ### BEGIN SOLUTION
    return 2 * layers * heads * width * itemsize
    ### END SOLUTION


# %%
def by_formula(layers, heads, width, itemsize):
    keys = heads * width  # numbers of all keys of a token, in one layer
    return serving.ServedModel(0, layers, width=0, keys=keys, itemsize=itemsize).cache_bytes


# %%
mine = yours("26.cache_bytes", cache_bytes, by_formula)
for heads in (64, 8):
    print(f"80 layers, {heads} heads of 128: {mine(80, heads, 128, 2):,} bytes a token")

# %% [markdown]
# With 8 heads of keys instead of 64 the cache is 8 times smaller.

# %% name="26.cache_bytes" tags=["check"]
check("26.cache_bytes", cache_bytes)
### BEGIN HIDDEN TESTS
judge("26.cache_bytes", cache_bytes, seed=262)
### END HIDDEN TESTS

# %% [markdown]
# 64 heads of queries can share 8 heads of keys: that is **grouped-query attention** (Ainslie et
# al., 2023). It saves cache, not work. Llama's model of 70 billion weights has these sizes. How
# many requests have room beside its weights? Commit to a number:

# %%
predict("26.fit", ...)

# %% [markdown]
# A `Lane` is one copy of a model on its cards. Here eight cards share each layer. `room` is the
# number of tokens for which there is cache.

# %%
large = serving.ServedModel(weights=70e9, layers=80, width=8192, keys=8 * 128)
reveal("26.fit", serving.Lane(large, tensor=8).room // 4000)

# %% [markdown]
# ## 2. Blocks and tables · *beginner*
#
# The length of an answer is not known before. If the cache of a request is one piece of memory, it
# must have room for the longest answer. A **paged cache** has blocks, each for a few tokens. A
# request gets a new block when its last one is full. Its *table* says which block comes first,
# second, and so on. So nothing is copied when it grows. The next cell has blocks of 4 tokens, and
# two requests that grow in turn.

# %%
pages = Pages(blocks=8, size=4)
pages.grow(request=1, tokens=6)
pages.grow(request=2, tokens=3)
pages.grow(request=1, tokens=5)
print(pages.tables, "free:", pages.free, "empty places:", pages.empty)

# %% [markdown]
# Request 1 has 11 tokens in the blocks 0, 1 and 3. Its last block has one empty place.
#
# **Exercise.** At which place of the memory is token number `at` of a request? Block `b` begins at
# place `b * size`. Count tokens from 0.


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
# These are the places of the 11 tokens of request 1. After place 7 comes 12: block 2 belongs to
# the other request.

# %% name="26.slot" tags=["check"]
check("26.slot", slot)
### BEGIN HIDDEN TESTS
judge("26.slot", slot, seed=263)
### END HIDDEN TESTS

# %% [markdown]
# How much memory stays empty? The next cell draws the lengths of 400 answers, 100 tokens in the
# mean. If each answer has one piece of memory, every piece must have room for the longest answer.

# %%
lengths, sizes = np.random.default_rng(0).geometric(1 / 100, 400), [2**k for k in range(10)]
in_one_piece = 1 - lengths.sum() / (len(lengths) * lengths.max())


def empty(size):
    pages = Pages(blocks=50_000, size=size)
    for request, length in enumerate(lengths):
        pages.grow(request, int(length))
    return pages.empty / (pages.empty + lengths.sum())


# %%
axes = plane("tokens of a block", "share of the cache that is empty")
lines = {"blocks": (sizes, [empty(size) for size in sizes])}
lines["in one piece"] = (sizes, [in_one_piece] * len(sizes))
axes.draw_lines(lines)
axes.log_scale("x", base=2)
axes.in_percent("y")
axes.mark(16, "16 tokens", 0.6)
axes.finish("Empty places", f"Blocks of 16: {empty(16):.0%} of the cache is empty", legend="best")

# %% [markdown]
# Kwon et al., 2023, built this into vLLM, and measured 2 to 4 times the throughput of the systems
# before, at the same latency. vLLM's blocks have 16 tokens. In smaller ones little stays empty,
# but the GPU reads them less well in parallel.

# %% [markdown]
# ## 3. Guesses · *advanced*
#
# A decode step reads all weights from memory, and computes little with them. So a step for a few
# tokens should take about as long as a step for one. Does it, on your ranks? The next cells read a
# prompt of 32 tokens, and take the median time of seven steps.


# %%
def step_seconds(comm, tokens):
    decoder, times = CachedGPT(gpt_of("1M"), comm), []
    for request in range(8):
        decoder.step([request], torch.zeros((1, 32), dtype=torch.int64))
        begin = comm.now()
        decoder.step([request], torch.zeros((1, tokens), dtype=torch.int64)).cpu()
        times.append(comm.now() - begin)
    return float(np.median(times[1:]))


# %%
counts, measured = [1, 2, 4, 8, 16], {}
for ranks in (1, 2):
    runs = [engines.run(step_seconds, ranks=ranks, tokens=n, timeout=60) for n in counts]
    measured[f"ranks: {ranks}"] = (counts, [1e3 * max(run.results) for run in runs])

# %%
axes = plane("tokens of one request in a step", "milliseconds of a step")
axes.draw_all({"measured": measured})
axes.set_ylim(bottom=0)
grown = [f"{times[-1] / times[0]:.1f}" for _, times in measured.values()]
found = f"A step for 16 tokens takes {' and '.join(grown)} times that for one"
axes.finish("Tokens of a step", found, legend="best")

# %% [markdown]
# The title names one rank first, then two. Sixteen times the tokens should cost far less than 16
# times the time. **Speculative decoding** uses that. A small model guesses some tokens, one after
# another. Then the large model checks all of them in one step. Let $p$ be the probabilities of the
# next token in the large model, and $q$ those in the small one.
#
# **Exercise.** A guess `token` was drawn with the probabilities `q`. It stays with probability
# min(1, p/q). Else another token is drawn, with weights max(p - q, 0). (`np.cumsum` adds up these
# weights. `np.searchsorted` finds the token in whose part of the sum the number `second` lies.)


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
for name, row in {"large": p, "small": q, "drawn": np.bincount(drawn) / 4000}.items():
    print(name, "  ".join(f"{share:.3f}" for share in row))

# %% [markdown]
# Each column is a token. 4000 tokens were drawn. Their shares are close to the large model's
# probabilities, and far from those of the small one.

# %% name="26.accept" tags=["check"]
check("26.accept", accept)
### BEGIN HIDDEN TESTS
judge("26.accept", accept, seed=265)
### END HIDDEN TESTS

# %% [markdown]
# This is so for any small model: the tokens come as often as in the large model alone. Leviathan
# et al., 2023, and Chen et al., 2023, found this at the same time. A guess is accepted with
# probability $a = \sum \min(p, q)$.
#
# **Exercise.** How many tokens does a step of the large model give on average? A guess counts only
# if all guesses before it were accepted. And the large model always gives one token itself.


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
# The next cell finds the same number by drawing tokens, for the two models above:

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
axes.finish("Guesses", f"{acceptance:.0%} of guesses are accepted", legend="best")

# %% [markdown]
# More guesses help less and less, and each costs a step of the small model. How many are best?
# Say that 80% are accepted. `speedup` says how many times as fast the answer comes.

# %%
for share in (0.02, 0.1, 0.3):
    gains = [serving.speedup(0.8, count, share) for count in range(1, 40)]
    best = f"{1 + np.argmax(gains):2} guesses, {max(gains):.2f} times as fast"
    print(f"a guess costs {share:3.0%} of a step; the best are {best}")

# %% [markdown]
# ## What production does
#
# vLLM, SGLang and TensorRT-LLM have a cache in pages, and guesses. DeepSeek-V2 stores no keys and
# values, but a short vector from which they are computed (DeepSeek-AI, 2024).
#
# ## Three questions
#
# **1.** Why does a decode step not compute the keys of earlier tokens again?
#
# <details><summary>An answer</summary>
#
# A token sees only tokens before it. So its keys and values do not change when new ones come.
#
# </details>
#
# **2.** Blocks are larger. What gets better, and what gets worse?
#
# <details><summary>An answer</summary>
#
# Tables are shorter, and a GPU reads a block better in parallel. But the last block of each
# request has more empty places.
#
# </details>
#
# **3.** The small model guesses badly. What happens to the answers?
#
# <details><summary>An answer</summary>
#
# They come later, and nothing else changes: they have the same distribution. Most guesses are
# rejected. So a step gives little more than one token, and the guesses cost time.
#
# </details>
#
# ## Where to read on
#
# - J. Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
#   checkpoints", *EMNLP*, 2023.
# - W. Kwon et al., "Efficient memory management for large language model serving with
#   PagedAttention", *SOSP*, 2023.
# - Y. Leviathan, M. Kalman and Y. Matias, "Fast inference from transformers via speculative
#   decoding", *ICML*, 2023.
#
# The decoder stands in `ddl_teach/serving/decoding.py`. `progress()` shows how far you have come.
# Go on with `26_serving_many_requests`. `26_learning_from_answers` trains on what a server writes.
