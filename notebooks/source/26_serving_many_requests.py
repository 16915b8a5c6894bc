# %% [markdown]
# # Serving many requests
#
# **Which requests share a step, and which cards share a model?**
#
# `26_serving` answered one request. A server has many at once. Some wait for the first token of
# their answer, others for the next one. Here you choose which requests enter a batch, compare
# grids of cards under load, and read prompts on cards of their own. At the end stands a puzzle
# with eight cards. You need `26_serving` and units 10 and 12. Section 1 is for *beginners*,
# sections 2 and 3 for *intermediate* readers. About 40 minutes.

# %%
import numpy as np
import torch

from ddl_class import Engines, check, hint, judge, predict, progress, reveal
from ddl_class.plots.frame import plane
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.serving import batching
from ddl_teach.serving.decoding import CachedGPT
from ddl_teach.theory import serving
from ddl_teach.theory.machine import Link

# %%
engines = Engines(4)

# %% [markdown]
# ## 1. Which requests enter the batch? · *beginner*
#
# A step reads all weights, for one request or for fifty. So many requests should share a step:
# they are a *batch*. A batch that is kept whole ends with its longest answer, and all others
# wait. **Continuous batching** asks between any two steps: which requests have ended, and which
# may enter?
#
# **Exercise.** Put these lines in order; one of them belongs nowhere. `waiting` is a list. For
# each request that waits it has the tokens for which the request needs cache; the oldest request
# stands first. `running` is the same list for the batch, which has at most `most` requests. `free`
# is how many tokens still fit into the cache.


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
# `serve` does the same in a simulated server, step by step. Requests come at random times. Two
# times count for a reader. The **time to first token** passes before anything appears. Then the
# *time per token* passes between two tokens.
#
# How long does a step take? A card must read the weights and the cache, and it must compute. The
# longer of the two counts. Let $N$ be the weights and $b$ the new tokens. A card computes $F$
# operations and reads $B$ bytes a second. If $t$ cards share each layer, a step takes
#
# $$T = \frac1t \max\left(\frac{2 N b}{F},\ \frac{\text{bytes of weights and cache}}{B}\right)
# + \text{messages}.$$
#
# Messages are two all-reduces a layer. In decode $b$ is small, so reading takes the longer time:
# it is *bound by memory*. A long prompt has many new tokens: prefill is *bound by operations*.

# %%
predict("26.waiting", ...)

# %%
small = serving.Lane(serving.ServedModel(weights=8e9, layers=32, width=4096, keys=1024))
step = batching.by_formula(small)
requests = batching.poisson(4, 400, np.random.default_rng(1), prompt=500, answer=100)
limits = {"most": 16, "room": small.room}
whole_batches = batching.serve(requests, step, keep_whole=True, **limits)
continuous = batching.serve(requests, step, **limits)
assert continuous.to_first.mean() < whole_batches.to_first.mean()

# %%
reveal("26.waiting", whole_batches.to_first.mean() / continuous.to_first.mean())

# %% [markdown]
# Both had the same 400 requests and the same limits. This is one seed, and no other limit was
# tried. With fewer requests a second the two times are nearer to each other. The next cell sorts
# all requests by their time to first token.

# %%
axes = plane("share of requests", "seconds to first token")
share = np.linspace(0, 1, 400)
axes.draw_lines(
    {
        "batch kept whole": (share, np.sort(whole_batches.to_first)),
        "continuous": (share, np.sort(continuous.to_first)),
    }
)
axes.set_yscale("log")
axes.finish("Waiting", "Time to first token of 400 requests, simulated", legend="best")

# %% [markdown]
# At 0.5 on the lower axis is the middle request: half of all wait less. Yu et al., 2022, call this
# scheduling by iterations. Their server Orca had 36.9 times the throughput of the one before, at
# the same latency, with a GPT of 175 billion weights.
#
# Now on real ranks. Does a step for many requests really cost little more than for one? Each run
# reads one prompt for each request, then takes the median time of ten steps.


# %%
def step_seconds(comm, requests):
    decoder, times = CachedGPT(gpt_of("1M"), comm, blocks=256), []
    tokens = torch.zeros((requests, 32), dtype=torch.int64)
    for _ in range(11):
        begin = comm.now()
        scores = decoder.step(range(requests), tokens).cpu()  # when a GPU has finished
        times.append(comm.now() - begin)
        tokens = scores.argmax(-1, keepdim=True)
    return float(np.median(times[1:]))


# %%
counts = [1, 4, 8, 16, 32]
measured = {}
for ranks in (1, 2):
    runs = [engines.run(step_seconds, ranks=ranks, requests=n, timeout=60) for n in counts]
    measured[f"ranks: {ranks}"] = [max(run.results) for run in runs]

# %%
axes, lines = plane("requests in the batch", "milliseconds of a step"), {}
dots = {name: (counts, 1e3 * np.array(times)) for name, times in measured.items()}
for name, (_, times) in dots.items():
    lines[name] = ([1, 32], [times[0], times[-1]])
axes.draw_all({"line through both ends": lines, "measured": dots})
grown = [f"{times[-1] / times[0]:.1f}" for times in measured.values()]
found = f"A step for 32 requests takes {' and '.join(grown)} times that for one"
axes.finish("Steps", found, legend="best")

# %% [markdown]
# The title names one rank first, then two. By the formula the dots lie on a line: one part of the
# time is for the weights, another for each request. Do yours? On a busy machine they may be far
# off. And on two ranks messages may cost more than the halved work saves.

# %% [markdown]
# ## 2. Which grid is best? · *intermediate*
#
# There are three ways to use many cards. *Tensor* ranks share each layer: a token comes sooner,
# but each layer costs messages. *Pipeline* stages share the layers. They cost few messages, but a
# token must pass all stages. So four stages have four batches under way, and no token comes
# sooner. *Replicas* are copies of the model that share nothing.
#
# The model is Llama's with 70 billion weights, from `26_serving`. We write tensor x pipeline.
# Commit to a number:

# %%
predict("26.best", ...)

# %% [markdown]
# `seconds(b, cached)` is the time of a decode step for a batch of `b` requests. It is the formula
# of section 1. `room` is how many tokens fit into the cache.

# %%
large = serving.ServedModel(weights=70e9, layers=80, width=8192, keys=8 * 128)


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
# These curves go from one request in the batch to as many as fit. They know nothing of waiting,
# and nothing of prompts. So the next cells simulate a server of 256 cards, step by step. Requests
# come at random, with 100 tokens of prompt and 200 of answer in the mean. The result is laid over
# the curves.


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
# Each curve begins at the lower left: one request, few tokens a second, a short time per token.
# With more requests it goes up, and then to the right. Which grid is the fastest for one request,
# and which gives the most tokens? With longer requests fewer fit into the cache:

# %%
for context in (300, 4000):
    best = {grid: curve(*grid, context) for grid in grids}
    fastest = min(grids, key=lambda grid: best[grid][0].min())
    most = max(grids, key=lambda grid: best[grid][1].max())
    print(f"{context} tokens: fastest {fastest}, most tokens a second and card {most}")
assert fastest == most == (8, 1)

# %% [markdown]
# **The surprise.** With short requests there is no best grid: 8 x 1 has the shortest time per
# token, and 2 x 4 the most tokens. Messages cost a pipeline little, and its four batches keep all
# cards busy. With long requests few fit into the cache. Then a pipeline has four small batches,
# and each of them reads all weights. So tensor ranks win both. Pope et al., 2023, found the same
# kind of curve on TPUs: 29 ms per token where the curve is fastest, for a model of 540 billion
# weights.
#
# The formula is a bound: real programs are slower than memory and operations allow.

# %% [markdown]
# ## 3. Prompts apart · *intermediate*
#
# A long prompt makes a step long. All other requests in the batch then wait for their next token.
# There are two ways out. The prompt can be read in *chunks*, a part in each step (Agrawal et
# al., 2024). Or other cards read it, and send the cache (Patel et al., 2024; Zhong et al., 2024).
# Here two of your ranks read, and two write. The readers send a cache of five tokens:


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
print("bytes sent by each rank:", [sent for sent, _ in results], "formula, in all:", formula)
assert sum(sent for sent, _ in results) == formula

# %% [markdown]
# Which way is better? There are four cards. 44 requests come in a second, with 3000 tokens of
# prompt in the mean. All ways get the same requests. First come chunks of several sizes, on two
# pairs of cards. A chunk of 10**9 tokens holds any prompt.

# %%
requests = batching.poisson(44, 300, np.random.default_rng(3), prompt=3000, answer=100)
pair, between = serving.Lane(small.model, tensor=2), Link(5e-6, 1 / 50e9)
ways = {}
for name, chunk in {"256": 256, "512": 512, "1024": 1024, "any size": 10**9}.items():
    ways[f"chunks of {name}"] = batching.serve_on(pair, 2, requests, most=64, chunk=chunk)

# %% [markdown]
# Then prompts are read apart, with the four cards divided in three ways: readers first, then
# writers.

# %%
splits = {
    "2 cards read, a pair writes": ((small, 2), (pair, 1)),
    "3 cards read, 1 writes": ((small, 3), (small, 1)),
    "a pair reads, a pair writes": ((pair, 1), (pair, 1)),
}
for name, (readers, writers) in splits.items():
    ways[name] = batching.serve_apart(readers, writers, requests, between, most=64)

# %%
for name, times in ways.items():
    first, each = np.quantile(times.to_first, 0.9), 1e3 * np.quantile(times.per_token, 0.9)
    print(f"{name:28} {first:5.3f} s to the first token, {each:4.1f} ms per token")

# %% [markdown]
# Nine in ten requests have these times or better. Smaller chunks save time per token, and the
# smallest cost time to the first token. With prompts apart no token waits for a prompt. But four
# cards are few to divide: readers cannot help writers. And our formula is kind to chunks: in one
# step it overlaps all reading of memory with all operations. Published systems measured gains by
# both ways on more cards.

# %% [markdown]
# ## Puzzle: eight cards
#
# 50 requests a second come, with 2000 tokens of prompt and 100 of answer in the mean. The model
# has 8 billion weights. You have eight cards. There are two goals for nine in ten requests: the
# first token within 100 ms, and then a token every 2.1 ms or faster.
#
# **Exercise.** Return three things: a list of pools, how many requests a batch may have, and how
# many prompt tokens a step may read. A pool is (tensor, replicas): `(2, 4)` is four copies of the
# model, on two cards each. With two pools the first only reads prompts. How small can you make the
# time per token?


# %%
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
first, each = served([(2, 4)], most=64, chunk=512)
print(f"{first:.0f} ms to the first token, {each:.2f} ms per token")


# %% [markdown]
# That meets the first goal, and not the second.


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
# vLLM, SGLang and TensorRT-LLM have all of this: requests that come and go, chunks of prompts, and
# prompts apart. In vLLM a grid and its limits are options:
#
#     vllm serve MODEL --tensor-parallel-size 4 --max-num-seqs 64 --max-num-batched-tokens 512
#
# ## What you said
#
# Your predictions of this unit, beside what was found. You made one of them in `26_serving`.

# %%
from ddl_class import predictions

predictions("26")

# %% [markdown]
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
# **3.** A reader wants the shortest time per token, and the owner of the cards wants the most
# tokens. Which grids do they choose?
#
# <details><summary>An answer</summary>
#
# The reader chooses tensor ranks, with few requests in a batch. The owner chooses what uses each
# card best: with short requests a pipeline with large batches.
#
# </details>
#
# ## Where to read on
#
# - G.-I. Yu, J. S. Jeong, G.-W. Kim, S. Kim and B.-G. Chun, "Orca: a distributed serving system
#   for transformer-based generative models", *OSDI*, 2022.
# - R. Pope et al., "Efficiently scaling transformer inference", *MLSys*, 2023.
# - Y. Zhong et al., "DistServe: disaggregating prefill and decoding for goodput-optimized large
#   language model serving", *OSDI*, 2024.
# - A. Agrawal et al., "Taming throughput-latency tradeoff in LLM inference with Sarathi-Serve",
#   *OSDI*, 2024.
#
# The server stands in `ddl_teach/serving/batching.py`. `progress()` shows how far you have come.
# `26_learning_from_answers` trains on what such a server writes.
