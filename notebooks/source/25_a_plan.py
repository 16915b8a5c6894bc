# %% [markdown]
# # A plan
#
# **What can be known about a training before it starts?**
#
# Llama 3 was trained on 16,384 GPUs for 54 days and longer. A hundred grids cannot be tried out at
# this size. So they are computed first: what a rank holds, how long a step takes, what it costs.
# Here you write the parts of such a **planner**, and then use the library's. It was compared with
# 336 published runs. You need units 10, 11 and 12. Sections 1 and 2 are for *beginners*, the
# others for *intermediate* readers. About 60 minutes.
#
# A *word* here is what a model reads at a time: a piece of a text, also called a token.

# %%
from dataclasses import replace

import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, yours
from ddl_class.plots.frame import plane
from ddl_class.plots.networks import plot_shares

# %%
from ddl_teach.planning.bill import bill
from ddl_teach.planning.explain import explained, plan_text
from ddl_teach.planning.plans import planned, rank_plans
from ddl_teach.planning.presets import ACCELERATORS, MODELS
from ddl_teach.planning.sizes import ParallelPlan, Software, TrainingJob
from ddl_teach.planning.step_time import FITTED, step_time
from ddl_teach.theory.transformer_memory import layer_activations

engines = Engines(4)

# %% [markdown]
# ## 1. What a rank holds · *beginner*
#
# A weight has 2 bytes (16 bits). Its gradient has 4, because many small gradients are added to
# it. Adam keeps 12 bytes of states: the weight in 32 bits, and two moments. In unit 11 you
# divided these among ranks that hold the same weights, in three stages. Stage 1 divides the
# states, stage 2 also the gradients, stage 3 also the weights.
#
# **Exercise.** How many bytes does a rank hold? `sharers` ranks share what is divided.


# %% name="25.states" tags=["answer"]
def bytes_held(weights, stage, sharers):
    """Weights, gradients and states of one rank."""
    ### BEGIN SOLUTION
    states = 12 / sharers if stage >= 1 else 12
    gradients = 4 / sharers if stage >= 2 else 4
    own = 2 / sharers if stage >= 3 else 2
    return weights * (own + gradients + states)
    ### END SOLUTION


# %%
def by_parts(weights, stage, sharers):
    parts = zip((2, 4, 12), (3, 2, 1), strict=True)
    return weights * sum(each / (sharers if stage >= least else 1) for each, least in parts)


# %%
mine, sharers = yours("25.states", bytes_held, by_parts), [2**k for k in range(11)]
lines = {}
for stage in range(4):
    lines[f"stage {stage}"] = (sharers, [mine(70.6e9 / 8, stage, n) / 1e9 for n in sharers])
axes = plane("ranks that share", "GB on a rank")
axes.draw_all({"predicted": lines})
axes.log_scale("x")
axes.log_scale("y")
axes.finish("70.6 billion weights over tensor 8", "What a rank holds, by stage", legend="best")

# %% [markdown]
# In stage 3, with twice as many ranks, each holds half as much. In stages 1 and 2 something stays
# whole on every rank, so the lines become flat.

# %% name="25.states" tags=["check"]
check("25.states", bytes_held)
### BEGIN HIDDEN TESTS
judge("25.states", bytes_held, seed=251)
### END HIDDEN TESTS

# %% [markdown]
# Besides these a rank keeps activations for the backward pass. V. Korthikanti et al., 2022,
# counted them. For $b$ texts of $s$ words each, width $h$ and $a$ heads, a layer keeps
#
# $$s\,b\,h\,(34 + 5\,a\,s/h)$$
#
# bytes. The second term is the scores of attention. Attention in tiles (unit 21) does not keep
# them. Tensor parallelism over $t$ ranks divides what is left by $t$, if each text is split among
# the ranks, too. Two of the 34 bytes are for dropout, which our GPT does not have. Is the formula
# true for our GPT?

# %%
import torch

from ddl_teach.networks.memory.measured import Activations
from ddl_teach.networks.models.gpt import Block

block, x = Block(128, 4), torch.zeros(2, 64, 128, requires_grad=True) + 0
with Activations(block.parameters()) as saved:
    y = block(x)
formula = layer_activations(64, 2, 128, 4, itemsize=4)
print(f"autograd keeps {saved.held:,} bytes, the formula says {formula:,.0f}")

# %% [markdown]
# The difference is 16 bytes a word: two layer norms keep a mean and a spread for each word. With
# these both agree to the byte.
#
# A pipeline of $p$ stages cuts the layers. But its first stage runs ahead of the last one: under
# 1F1B up to $p$ micro-batches are **in flight**, and each keeps its activations.
#
# **Exercise.** How many bytes does the first stage keep? Put these lines in order: two of them
# belong nowhere. In each layer a word costs 34 bytes for each number of its width, divided by
# `tensor`.


# %% name="25.activations" tags=["answer"]
def kept_bytes(layers, width, words, tensor, stages, micro_batches):
    """The bytes of activations on the first stage under 1F1B."""
    ### BEGIN SOLUTION
    here = layers / stages
    each = here * words * width * 34 / tensor
    flying = min(micro_batches, stages)
    return each * flying
    ### END SOLUTION


# %% name="25.activations" tags=["check"]
check("25.activations", kept_bytes)
### BEGIN HIDDEN TESTS
judge("25.activations", kept_bytes, seed=252)
### END HIDDEN TESTS

# %% [markdown]
# So a deeper pipeline does not need less memory for activations. With twice the stages a rank has
# half the layers, and twice the micro-batches in flight.
#
# ## 2. What a step takes · *beginner*
#
# A rank computes $m$ micro-batches. It also waits while $p - 1$ micro-batches pass other ranks:
# the bubble of unit 10. If each rank has $v$ pieces of the pipeline (*interleaved*), a piece is
# shorter, and so is the waiting: it is divided by $v$.
#
# **Exercise.** What share of the step is the bubble? A step is computing and waiting.


# %% name="25.bubble" tags=["answer"]
def bubble_share(stages, micro_batches, pieces):
    """Waiting over the whole step."""
    ### BEGIN SOLUTION
    waits = (stages - 1) / pieces
    return waits / (micro_batches + waits)
    ### END SOLUTION


# %% name="25.bubble" tags=["check"]
check("25.bubble", bubble_share)
### BEGIN HIDDEN TESTS
judge("25.bubble", bubble_share, seed=253)
### END HIDDEN TESTS

# %% [markdown]
# The next cells draw it for 16 stages.


# %%
def waiting(stages, micro_batches, pieces):
    return (stages - 1) / pieces / (micro_batches + (stages - 1) / pieces)


# %%
mine, turns = yours("25.bubble", bubble_share, waiting), [16, 32, 64, 128, 256]
lines = {f"{v} a rank": (turns, [100 * mine(16, m, v) for m in turns]) for v in (1, 2, 8)}
axes = plane("micro-batches", "waiting, % of the step")
axes.draw_all({"predicted": lines})
axes.log_scale("x", at=turns)
axes.set_ylim(0, 50)
axes.finish("A pipeline of 16 stages", "The bubble, by pieces of a rank", legend="best")

# %% [markdown]
# More GPUs for the same batch mean fewer micro-batches for each, and so a larger bubble. That is
# why a step on twice the GPUs takes more than half the time.
#
# How well is a GPU used? A. Chowdhery et al., 2023, count only what the model needs: 6 operations
# for each weight and word, two forward and four backward. What is recomputed does not count.
# Divide that by what the GPUs could do in the same time. The result is the **model FLOPs
# utilisation**, MFU.
#
# **Exercise.** Compute it. `peak` is the operations that one GPU can do in a second.


# %% name="25.mfu" tags=["answer"]
def model_flops_utilisation(weights, words, seconds, gpus, peak):
    """The model's operations over those that were possible."""
    ### BEGIN SOLUTION
    return 6 * weights * words / (seconds * gpus * peak)
    ### END SOLUTION


# %% name="25.mfu" tags=["check"]
check("25.mfu", model_flops_utilisation)
### BEGIN HIDDEN TESTS
judge("25.mfu", model_flops_utilisation, seed=254)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. All plans · *intermediate*
#
# A grid has data x tensor x pipeline ranks. Tensor must divide the heads, and stay inside a node
# of 8 GPUs. Pipeline must divide the layers, and data the batch.
#
# **Exercise.** List all grids that use all GPUs and divide without a remainder.


# %% name="25.grids" tags=["answer"]
def fitting_grids(gpus, heads, layers, batch):
    """All (data, tensor, pipeline), tensor at most 8."""
    ### BEGIN SOLUTION
    grids = []
    for tensor in range(1, 9):
        for pipeline in range(1, layers + 1):
            data = gpus // (tensor * pipeline)
            whole = data * tensor * pipeline == gpus
            if whole and not heads % tensor and not layers % pipeline and not batch % data:
                grids.append((data, tensor, pipeline))
    return grids
    ### END SOLUTION


# %% name="25.grids" tags=["check"]
check("25.grids", fitting_grids)
### BEGIN HIDDEN TESTS
judge("25.grids", fitting_grids, seed=255)
### END HIDDEN TESTS

# %% [markdown]
# The library's planner knows more choices. *Context* ranks share the words of a text (unit 21),
# *expert* ranks the experts of a layer (unit 09). Besides, it varies schedules, stages, what is
# recomputed, precision, and the size of a micro-batch. For each plan it computes memory and time.
# It refuses what does not fit. Take Llama 3 with 405 billion weights. Texts have 8,192 words, and
# a step reads 2,048 of them. Two predictions:

# %%
predict("25.gpu_hours", ...)

# %%
predict("25.within", ...)

# %%
llama = TrainingJob(MODELS["llama3-405b"], ACCELERATORS["H100"], 8192, 2048)
ranking = rank_plans(llama, 16384)
best = ranking.grids[0]
print(len(ranking.possible), "plans are possible. Refused:")
print(*(f"{number:6}: {reason}" for reason, number in ranking.refused.most_common()), sep="\n")

# %% [markdown]
# The next cell explains the first plan. Each line says where its number comes from. "Fitted"
# means: chosen to fit a tenth of the published runs, and then used for all.

# %%
print("\n".join(explained(llama, best)))
whole = bill(llama, best, 15.6e12)
print(f"{whole.days:.0f} days if nothing fails, {whole.hours / 1e6:.1f} million hours of an H100")
reveal("25.gpu_hours", whole.hours / 1e6)

# %% [markdown]
# Meta's model card of Llama 3.1 states 30.84 million hours. Now look at the first plans, one for
# each grid.

# %%
for step in ranking.grids[:6]:
    behind = step.time.total / best.time.total
    print(f"{behind:.2f}  {step.held.total / 1e9:5.1f} GB  {plan_text(step.plan)}")
close = [step for step in ranking.possible if step.time.total < 1.25 * best.time.total]
reveal("25.within", len(close))

# %% [markdown]
# **The surprise.** There is no single best plan. Half of the published runs were predicted within
# 5.1%, and 97.6% of them within 25%. Many plans lie closer together than that. So a planner
# removes thousands of plans and leaves a few to try. It cannot choose among the last ones.
#
# ## 4. Beside what was published · *intermediate*
#
# A. Dubey et al., 2024, give three plans for this model and what each GPU reached: 430, 400 and
# 380 teraflops. The third one has texts of 131,072 words. None of the three was used in the fit.
# Of the models in the fit, only one is larger.
#
# A `ParallelPlan` names its data, tensor, context, expert and pipeline ranks, the schedule, the
# pieces of a rank and the stage. With `recompute="norms"` only small parts such as layer norms are
# computed again.

# %%
published = {
    "8,192 GPUs": (430, 8192, 2048, ParallelPlan(64, 8, 1, 1, 16, "interleaved", 8, 1)),
    "16,384 GPUs": (400, 8192, 2048, ParallelPlan(128, 8, 1, 1, 16, "interleaved", 8, 1)),
    "long texts": (380, 131072, 128, ParallelPlan(8, 8, 16, 1, 16, "interleaved", 8, 1)),
}

# %%
ours = {}
for name, (reached, sequence, batch, plan) in published.items():
    job = replace(llama, sequence=sequence, global_batch=batch)
    step = planned(job, replace(plan, recompute="norms"))
    ours[name] = step.mfu * 989.4
    print(f"{name:12} {reached} published, {ours[name]:.0f} planned, {step.time.total:.1f} s")
print(f"attention at {FITTED.attention * FITTED.h100:.0%} of the peak, products {FITTED.h100:.0%}")

# %%
axes, places = plane("", "teraflops a GPU"), np.arange(3)
reached = [published[name][0] for name in ours]
axes.draw_all({"measured": {"published": (places, reached)}})
axes.hlines([*ours.values()], places - 0.2, places + 0.2, label="planned")
axes.set_xticks(places, [*ours])
axes.set_ylim(0, 450)
low = 1 - np.mean([ours[name] / published[name][0] for name in list(ours)[:2]])
axes.finish("Three plans of Llama 3", f"8,192 words: planned {low:.0%} too low", legend="best")

# %% [markdown]
# The planner's times are too long for all three. Its share of the peak comes from smaller models,
# and some of those ran on GPUs limited to 500 W. The GPUs here have 700 W, and compute larger
# products. For long texts it is far off. No run of the fit had such texts. So the planner takes
# attention to be as slow as it was with shorter texts. Also, the paper does not say whether its
# teraflops count the pairs of words that a causal mask hides; ours do not count them. And it does
# not say into how many pieces each rank's part of the pipeline is cut: we took eight.
#
# Which **stage** is best in a pipeline? Meta divides states and gradients, and keeps weights that
# were gathered. That is stage 2. A rank then has only its part of the gradients. So it must
# scatter them after *each* micro-batch, and may not wait for the last one. In stage 3 it also
# gathers all weights of its layers twice for each micro-batch.

# %%
plan, times = published["8,192 GPUs"][-1], {}
for stage in (1, 2, 3):
    step = planned(llama, replace(plan, recompute="norms", sharding=stage))
    waits, times[stage] = step.time.gradients + step.time.bubble, step.time.total
    holds = step.held.total / 1e9
    print(f"stage {stage}: {holds:.0f} GB, {times[stage]:4.1f} s, {waits:4.1f} of them waiting")
assert times[1] < times[2] < times[3] / 2

# %% [markdown]
# Stage 2 saves memory, but a step takes longer. Stage 3 takes more than twice as long: computing
# hides a part of the messages only, and the bubble gets longer, too. So torchtitan keeps gathered
# weights wherever there is a pipeline. DeepSpeed's pipeline refuses stages 2 and 3. No published
# run of our table shards gradients in a pipeline, so we do not know the planner's error here.
# These formulas were only compared with simulated ranks that send.
#
# Is the *order* of plans better than their times? Where does the published grid stand?

# %%
grids = [step.grid for step in ranking.grids]
place = grids.index((128, 8, 1, 1, 16))
behind = ranking.grids[place].time.total / best.time.total
print(f"place {place + 1} of {len(grids)} grids; its step takes {behind:.2f} times the best one's")
assert place < len(grids) / 4

# %% [markdown]
# It is among the first few, within the error. Our first plans divide texts of 8,192 words over
# context ranks. So each micro-batch keeps less, and a rank needs less memory. Meta used context
# only for long texts. Two things speak against it, and the planner counts neither. Each rank's
# matrices get smaller, and small products are slower. And the keys share the network with all
# other messages.
#
# And memory? BigScience wrote down what a GPU held while it tried plans for BLOOM, with 72 layers
# of width 14,336. In these runs all activations were recomputed.

# %%
bloom = replace(MODELS["bloom-176b"], layers=72, vocabulary=51200)
old = Software(scores_kept=True, split_sequence=False, hidden_gradients=False)
a100 = TrainingJob(bloom, ACCELERATORS["A100"], 2048, 2048, old)
for data, pipeline, micro, seen in [(4, 12, 1, 29), (4, 12, 8, 69), (8, 6, 4, 56), (12, 4, 2, 53)]:
    plan = ParallelPlan(data, 8, 1, 1, pipeline, sharding=1, recompute="full", micro_batch=micro)
    holds = planned(a100, plan).held.total / 1e9
    print(f"pipeline {pipeline:2}, micro-batch {micro}: {seen} GB seen, {holds:.0f} by formulas")

# %% [markdown]
# The formulas are always a few gigabytes short: libraries, buffers, and holes between tensors. The
# planner adds 6 GB for these. That is near the median of 35 such runs.
#
# ## 5. Simulate, and measure · *intermediate*
#
# The planner adds up parts. Do they add up when messages really meet? The next cell simulates a
# whole step of 64 ranks: each message of each ring, on shared cables. The planner and the
# simulation get the same machine. On it, all products run at the peak.

# %%
from ddl_measure.experiments.grids import simulated_seconds, simulated_step
from ddl_teach.planning.sizes import Accelerator, TransformerSizes
from ddl_teach.theory.grids import layers
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.machine import Cluster

ideal = replace(FITTED, h100=1, attention=1, number_by_number=0, inside_node=1, between_nodes=1)
cluster = Cluster(nodes=8, cards=8)
rates = {"inside_rate": cluster.inside.bandwidth, "node_rate": 8 * cluster.between.bandwidth}
device = Accelerator("ideal", cluster.flops, 1e30, **rates)

# %% [markdown]
# The picture has fewer parts than the planner. What is neither a wait nor a message counts as
# computing.


# %%
def parts_of(job, grid, assumed):
    """The planner's step in the parts of the picture."""
    plan = ParallelPlan(grid.data, grid.tensor, grid.context, pipeline=grid.pipeline)
    time = step_time(job, replace(plan, micro_batch=job.global_batch / grid.data / 4), assumed)
    named = {"bubble": time.bubble, "tensor": time.tensor_messages}
    named |= {"context": time.context_messages, "data": time.gradients}
    return {"compute": time.total - sum(named.values())} | named


# %%
sizes = TransformerSizes(4, 4096, 32, 16384, 8192, 32, tied=False, causal=False)
job = TrainingJob(sizes, device, 4096, 16, Software(hidden_gradients=False))
wide = layers.transformer(blocks=4, width=4096, heads=32, length=4096, vocabulary=8192)
chosen = [Grid(4, 2, 8, 1), Grid(4, 4, 4, 1)]
parts = [parts_of(job, grid, ideal) for grid in chosen]
runs = [simulated_step(wide, grid, cluster, batch=16, micro_batches=4) for grid in chosen]
simulated = [max(run.results) for run in runs]

# %%
spent = {name: [each[name] for each in parts] for name in parts[0]}
apart = max(abs(sum(p.values()) / s - 1) for p, s in zip(parts, simulated, strict=True))
title = f"64 ranks: plan and simulation at most {apart:.0%} apart"
assert apart < 0.15
plot_shares([*map(str, chosen)], spent, also={"simulated": simulated}, title=title)

# %% [markdown]
# The simulation takes a little longer. It also counts latencies and messages between stages. And
# while the last stage computes the scores of all words, the others wait.
#
# And your own ranks? The next cell trains a small GPT on four of them, by two grids. The planner
# gets one number from your machine: how fast a rank computes while the others compute too. The
# cell also shows steps of a GPT of 124 million weights that were recorded on GPUs. If nothing is
# recorded yet, it says so.

# %%
from ddl_class.notebook.beside_gpus import recorded_table
from ddl_class.notebook.this_machine import this_machine
from ddl_measure.experiments.grids import seconds_on

small, split = {"blocks": 2, "width": 128, "heads": 4, "length": 64}, {"micro_batches": 4}
little, ways = layers.transformer(**small, vocabulary=100), [Grid(4), Grid(2, 2)]
given = {"batch": 16, "grids": [Grid(), *ways], "trace": False, "strict": False} | split | small
alone, *measured = np.max(engines.run(seconds_on, timeout=300, **given).results, axis=0)
here = this_machine(engines, flops=3 * 16 * little.work / alone)
print(f"yours, one rank: {alone * 1e3:.1f} ms", recorded_table("step of a GPT"), sep="\n")

# %%
rates = {"inside_rate": here.inside.bandwidth / 2, "node_rate": here.inside.bandwidth / 2}
own = Accelerator("ideal", here.flops, 1e30, **rates)  # numbers of four bytes: half as many
sizes = TransformerSizes(2, 128, 4, 512, 100, 4, tied=False, causal=False)
job = TrainingJob(sizes, own, 64, 16, Software(hidden_gradients=False))
parts = [parts_of(job, way, ideal) for way in ways]
spent = {name: [each[name] for each in parts] for name in parts[0]}
split |= {"batch": 16, "itemsize": 4}
also = {"simulated": [simulated_seconds(little, way, here, **split) for way in ways]}
also["measured"], title = measured, "A step of a small GPT on four ranks"
plot_shares([*map(str, ways)], spent, also=also, title=title)

# %% [markdown]
# Where the clock differs from the plan, think of what the plan leaves out. Four ranks may share
# two cores. Small products run at another rate than large ones. And a message of a small network
# costs latency, which the planner does not count: it was made for gigabytes.
#
# ## 6. Dollars and carbon · *intermediate*
#
# Energy is the number of GPUs, times hours, times watts, times the **PUE**: what the building
# takes for each watt of its machines. Carbon is energy times the grams of CO2 for each
# kilowatt-hour. E. Strubell et al., 2019, began to count it. D. Patterson et al., 2021, showed
# that the choice of model, data centre and processor can change it by a factor of a hundred and
# more. A. S. Luccioni et al., 2023, counted BLOOM: 1,082,990 hours of an A100 at 400 W make
# 433,196 kWh, and 24.7 tonnes in France at 57 grams.

# %%
print(f"BLOOM: {1_082_990 * 0.4:,.0f} kWh, {1_082_990 * 0.4 * 57 / 1e6:.1f} t")
for place, grams in (("France, 57 g", 57), ("the United States, 429 g", 429)):
    cost = bill(llama, best, 15.6e12, price=2.0, pue=1.1, grams=grams)
    hours, dollars = cost.kilowatt_hours / 1e6, cost.dollars / 1e6
    print(f"Llama 3, {place}: {hours:.1f} GWh, {cost.tonnes:,.0f} t, {dollars:.0f} million USD")

# %% [markdown]
# The model card of Llama 3.1 states 8,930 tonnes for this model, from GPU hours and 700 W. The
# price of an hour, 2 dollars, is what DeepSeek-AI, 2024, assumes. Nothing failed in this plan.
# `25_a_month` says what a month of failures leaves of it.
#
# ## 7. The cheapest plan · *intermediate*
#
# **Puzzle.** A model with 70 billion weights must read 2 trillion words within 30 days, for at
# most 950,000 dollars. Texts have 8,192 words, a batch 512 texts. You may rent a multiple of 8
# GPUs, up to 2,048. An hour of an A100 costs 1.20 dollars, of an H100 2.20, of an H200 2.80. (The
# prices are ours.) Return the device, the number of GPUs, and the fields of a plan. The next cell
# shows the planner's first plan for one choice.


# %%
def try_out(device, gpus, price, precision="bf16", words=2e12):
    job = TrainingJob(MODELS["llama3-70b"], ACCELERATORS[device], 8192, 512)
    first = rank_plans(job, gpus, precision).grids[0]
    cost = bill(job, first, words, price)
    return f"{cost.days:.1f} days, {cost.dollars:,.0f} dollars: {vars(first.plan)}"


print(try_out("A100", 2048, 1.2))


# %% name="25.plan" tags=["answer"]
def cheapest(words, days):
    """A device, a number of GPUs, and the fields of a `ParallelPlan`."""
    ### BEGIN SOLUTION
    grid = {"data": 256, "tensor": 2, "context": 2, "sharding": 3, "micro_batch": 2}
    return "H100", 1024, grid | {"recompute": "norms", "precision": "fp8"}
    ### END SOLUTION


# %% name="25.plan" tags=["check"]
check("25.plan", cheapest)
### BEGIN HIDDEN TESTS
judge("25.plan", cheapest, seed=256)
### END HIDDEN TESTS

# %% [markdown]
# On the command line the same planner is `ddl-teach plan llama3-70b --gpus 1024 --precision fp8`.
#
# ## What production does
#
# Z. Jiang et al., 2024, trained on 12,288 GPUs and reached 55.2% MFU: they hid nearly all
# messages and fused kernels. P. Qi et al., 2024, fill the bubble with gradients of weights.
# DeepSeek-AI, 2024, train in eight bits, with experts on 64 ranks and without tensor parallelism.
# Those who own such clusters keep planners of their own, fitted to their own machine.
#
# ## Three questions
#
# **1.** Why does the planner not simply take the plan with the least time?
#
# <details><summary>An answer</summary>
#
# The next plans are closer than its error. Try the first few for some steps each.
#
# </details>
#
# **2.** Twice the GPUs, the same batch. Why is a step not twice as fast?
#
# <details><summary>An answer</summary>
#
# Each rank has half the micro-batches, but the bubble is as long as before.
#
# </details>
#
# **3.** Why does a deeper pipeline not help against too many activations?
#
# <details><summary>An answer</summary>
#
# With twice the stages a rank has half the layers, but twice as many micro-batches in flight.
#
# </details>
#
# ## Where to read on
#
# - D. Narayanan et al., "Efficient large-scale language model training on GPU clusters using
#   Megatron-LM", *SC*, 2021.
# - V. Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022.
# - A. Dubey et al., "The Llama 3 herd of models", 2024.
# - Z. Jiang et al., "MegaScale: scaling large language model training to more than 10,000 GPUs",
#   *NSDI*, 2024.
# - D. Patterson et al., "Carbon emissions and large neural network training", 2021.
# - Z. Yan et al., "Scalable training of mixture-of-experts models with Megatron Core", *arXiv*,
#   2026: plans for models with experts, with another grid for these.
# - V. Singh et al., "Arcee Trinity Large technical report", *arXiv*, 2026: a model of 400 billion
#   weights, trained without tensor parallelism and without a pipeline.
#
# The planner stands in `ddl_teach/planning/`. `progress()` shows how far you have come.
