# %% [markdown]
# # Schedules
#
# **Which work can fill the time in which ranks wait?**
#
# In `10_pipelines` every order had the same bubble: the ranks wait for $P-1$ turns, whatever they
# do in between. That holds as long as a backward pass is one piece. In this notebook you cut it in
# two, and put one half where a rank would wait. Then you see other ways to shorten the waiting. At
# the end is a puzzle: a schedule of your own, against a time and a memory, which torch carries out
# as well.
#
# You need `10_pipelines`. *Intermediate* readers take sections 1 to 4, *advanced* ones everything.
# About 60 minutes.

# %%
from ddl_class import check, hint, judge, progress, simulate, yours
from ddl_class.plots.networks import plot_pipeline, plot_wait_and_memory
from ddl_measure.experiments.pipelines import PassSeconds, timed
from ddl_teach.comm import Uniform
from ddl_teach.networks.pipelines.cells import schedule_of, written
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b

free = Uniform(latency=0.0, bandwidth=float("inf"))

# %% [markdown]
# ## 1. Two halves of a backward pass · *intermediate*
#
# A backward pass computes two gradients: that of its input and that of its weights. The stage
# before waits for the gradient of the input. No other rank waits for the gradient of the weights;
# it only has to be ready when the step ends. So write the two as two words: `I3` is the gradient
# of the input for micro-batch 3, `W3` that of the weights. `W3` needs what `I3` has computed, so
# it comes after it. The activations stay in memory until `W3` is done.
#
# Here is 1F1B with each `B` cut in two, and nothing else changed:

# %%
rows = [[], [], [], []]
for rank in range(4):
    for word in one_f_one_b(4, 8).words(rank):
        halves = [word.replace("B", "I"), word.replace("B", "W")]
        rows[rank] += halves if "B" in word else [word]
run = simulate(timed, 4, network=free, schedule=written("halves", rows))
plot_pipeline(run.timeline, title="1F1B with each B cut in two")

# %% [markdown]
# That alone saves 3 of the 33 s, because the rank before waits for the `I` only. But near the end
# ranks 0 to 2 still wait between one `I` and the next. Which work could fill these gaps?
#
# **Exercise.** `I` as soon as possible, `W` later: this is the order H1 of **zero bubble** (Qi et
# al., 2024). Run ahead as in 1F1B, `ranks - 1 - rank` micro-batches. Then do one `F` and one `I`
# in turns. Rank $r$ leaves its first few `W` undone; after that it does one `W` after each `I`.
# The ones left undone come at the end. How many may rank $r$ leave undone, if no rank may keep
# more than $P$ micro-batches? Remember that rank $r$ keeps $P - r$ in 1F1B.


# %% name="10.zero_bubble" tags=["answer"]
def zero_bubble_order(rank, ranks, micro_batches):
    """What `rank` does, in the words F, I and W: each W as late as the memory allows."""
    ### BEGIN SOLUTION
    ahead, undone = min(ranks - 1 - rank, micro_batches), rank
    words = [f"F{part}" for part in range(ahead)]
    for part in range(micro_batches):
        if part + ahead < micro_batches:
            words.append(f"F{part + ahead}")
        words.append(f"I{part}")
        if part >= undone:
            words.append(f"W{part - undone}")
    for part in range(max(0, micro_batches - undone), micro_batches):
        words.append(f"W{part}")
    return words
    ### END SOLUTION


# %%
run = simulate(timed, 4, network=free, schedule=schedule_of(zero_bubble_order, 4, 8))
print(f"{run.time:g} s; kept at most, by rank:", [passed.peak for passed in run.results])
plot_pipeline(run.timeline, title="Your zero bubble")

# %% name="10.zero_bubble" tags=["check"]
check("10.zero_bubble", zero_bubble_order)
### BEGIN HIDDEN TESTS
judge("10.zero_bubble", zero_bubble_order, seed=107)
### END HIDDEN TESTS

# %% [markdown]
# In a right answer the `W` have moved to where 1F1B had nothing to do. A step takes 27 s in place
# of 33 s. There is a price: the activations must be kept until the weights' gradient has been
# computed. So now *all* ranks keep four micro-batches, where the last one kept one.
#
# In H2 ranks run ahead twice as far, and keep seven micro-batches. In the first step its bubble is
# as long as that of H1. But a rank that has updated its weights may begin the next step at once.
# Then H2 has **no bubble at all**, as the next cell shows: a pipeline is filled once and drained
# once, however many steps there are. (Clipping the norm of all gradients would let all ranks wait
# for each other again.)

# %%
from ddl_teach.networks.pipelines.gems import gems
from ddl_teach.networks.pipelines.interleaved import interleaved
from ddl_teach.networks.pipelines.naive import naive
from ddl_teach.networks.pipelines.zb_v import zb_v
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble

# %%
for lookahead in (1, 2):
    way = {"network": free, "schedule": zero_bubble(4, 8, lookahead)}
    first, both = (simulate(timed, 4, **way, steps=steps).time for steps in (1, 2))
    print(f"H{lookahead}: one step {first:g} s, the next one {both - first:g} s; work is 24 s")

# %% [markdown]
# ## 2. What else can be moved · *intermediate*
#
# Here are three more ideas, each a file of the library that fits on a screen. To draw one, change
# the name in the next cell.
#
# - **Interleaved** (Narayanan et al., 2021). Each rank gets several thin stages, so that the first
#   micro-batch reaches the last rank sooner. With $v$ stages a rank, the bubble is $v$ times
#   shorter, and there are $v$ times as many messages.
# - **ZB-V** (Qi et al., 2024). Two thin stages a rank, in the shape of a V: down to the last rank
#   and up again. Rank 0 computes the loss and can go backward at once. It has nearly no bubble,
#   and no more memory than 1F1B.
# - **GEMS** (Jain et al., 2020). Two replicas of the network, laid on the ranks in opposite order.
#   While gradients come back from the last rank, the next micro-batch follows them in the same
#   direction, through the other replica.

# %%
thin = PassSeconds(0.5, 0.5, 0.5)  # half as many layers in a stage
shown = zb_v(4, 8)
run = simulate(timed, 4, network=free, schedule=shown, costs=thin)
plot_pipeline(run.timeline, title=shown.name)

# %% [markdown]
# The next picture has all of them, with 16 micro-batches. To the left is fast, down is small.

# %%
points = {}
for schedule in (naive(4, 16), gpipe(4, 16), one_f_one_b(4, 16), zero_bubble(4, 16),
                 zero_bubble(4, 16, 2), interleaved(4, 16), zb_v(4, 16), gems(4, 16)):  # fmt: skip
    a_rank = schedule.stages // 4
    costs = thin if a_rank > 1 else PassSeconds()
    run = simulate(timed, 4, network=free, schedule=schedule, costs=costs)
    points[schedule.name] = 1 - 16 * 3 / run.time, max(r.peak for r in run.results) / a_rank
assert points["GPipe"][0] == points["1F1B"][0] > points["zero bubble H1"][0] > points["ZB-V"][0]
plot_wait_and_memory(points, kept="micro-batches kept at most")

# %% [markdown]
# Two of them are better than they look here. GEMS waits long, but it keeps one micro-batch only,
# and can make that one larger. And of H2 the picture shows the first step alone.
#
# ## 3. A schedule that cannot be · *intermediate*
#
# A wrong order seldom computes something wrong. Mostly some rank waits for ever. Since schedules
# are data, the *validator* can follow them before any rank has started. In the next cell rank 0
# goes one at a time, and rank 1 all forward first. In the message `1RA1` means "stage 1 receives
# the activation of micro-batch 1", and `0SA1` is the send that it waits for. `RG` and `SG` receive
# and send gradients.

# %%
from ddl_teach.networks.pipelines.validator import refusal, validate

mixed = written("mixed", [["F0", "B0", "F1", "B1"], ["F0", "F1", "B0", "B1"]])
print(mixed, refusal(mixed), sep="\n\n")
assert "1RA1: waits for 0SA1 of rank 0, which is itself stuck" in refusal(mixed)

# %% [markdown]
# ## 4. What production systems do · *intermediate*
#
# torch has pipelines as well, and builds them in the same way: an order of passes for each rank,
# as data. One can look at it without starting any process.

# %%
from types import SimpleNamespace

from torch.distributed.pipelining import Schedule1F1B

theirs = Schedule1F1B(SimpleNamespace(num_stages=4), 8).pipeline_order
ours = one_f_one_b(4, 8)
for rank in range(3):
    listed = [str(word) for word in theirs[rank] if str(word)[-1].isdigit()]
    assert listed == [str(word) for word in ours.computation(rank)]
print(*theirs[2], *theirs[3], sep="  ")

# %% [markdown]
# The words are the same on the first three ranks. On the last one, torch 2.13 counts the forward
# passes from 1, up to a micro-batch 8 that does not exist. Only the list is wrong: torch's step
# does not read it. Our validator would have refused this list, because a list can be tested.
#
# The table has torch's names, and ours for the same things:
#
# | | torch.distributed.pipelining | this course |
# |---|---|---|
# | a stage | `PipelineStage(module, index, stages, device)` | `TorchStage(layers, shapes, ...)` |
# | an order | `ScheduleGPipe`, `Schedule1F1B` | `gpipe(4, 8)`, `one_f_one_b(4, 8)` |
# | thin stages | `ScheduleInterleaved1F1B` | `interleaved(4, 8)` |
# | split backward | `ScheduleInterleavedZeroBubble` | `zero_bubble`, `interleaved_zero_bubble` |
# | all at one stage | `ScheduleLoopedBFS` | `breadth_first(4, 8)` |
# | in a V | `ScheduleZBVZeroBubble`, `ScheduleDualPipeV` | `zb_v(4, 8)`, `dualpipe_v(4, 8)` |
# | a file | `_load_csv(path)`, `_dump_csv(path)` | `read_schedule`, `write_schedule` |
# | a step | `schedule.step(x, target=y)` | `Worker(comm, schedule, stages).step()` |
#
# `benchmarks/results/pipelines.txt` has both on the same model, batch and ranks.

# %% [markdown]
# ## 5. Write your own · *advanced*
#
# **A puzzle.** There are four ranks, and a network of eight equal layers. You may cut it into four
# stages, or into eight thin ones, and lay them on the ranks as you like. A rank holds a quarter of
# the network. For each micro-batch this takes 1 s forward, 1 s for the gradient of the input and 1
# s for that of the weights. A thin stage takes half of that, and what it keeps counts half.
#
# With eight micro-batches 1F1B takes 33 s and keeps four of them. Find a schedule that takes **30
# s** at most and keeps three micro-batches at most on any rank. For more micro-batches, up to 16,
# the goal is the same: three seconds less than 1F1B, and three kept. How is up to you: by hand, or
# by a program that plays the pipeline turn by turn. `2F0` is stage 2 forward with micro-batch 0,
# `2B0` backward, `2I0` and `2W0` are the halves of that.


# %% name="10.schedule" tags=["answer"]
def my_schedule(ranks, micro_batches):
    """Return for each rank its list of words, such as 2F0 and 2B0, or 2I0 and 2W0."""
    ### BEGIN SOLUTION
    rows, ended, last = [[] for _ in range(ranks)], set(), 2 * ranks - 1
    while len(ended) < 3 * (last + 1) * micro_batches:
        there = set(ended)  # what has ended when this turn begins
        for rank, row in enumerate(rows):
            kept = sum("F" in word for word in row) - sum("W" in word for word in row)
            for kind, stage in [(k, s) for k in "FIW" for s in (last - rank, rank)]:
                one = sum(word.startswith(f"{stage}{kind}") for word in row)
                needs = {"F": [("F", stage - 1)], "I": [("F", stage), ("I", stage + 1)],
                         "W": [("I", stage)]}[kind]  # fmt: skip
                begun = all((k, s, one) in there for k, s in needs if 0 <= s <= last)
                room = kind != "F" or kept < 6 - (stage == rank)
                if one < micro_batches and begun and room:
                    row.append(f"{stage}{kind}{one}")
                    ended.add((kind, stage, one))
                    break
    return rows
    ### END SOLUTION


# %%
own = written("yours", my_schedule(4, 8))
validate(own)
a_rank, seconds = own.stages / 4, 4 / own.stages
costs = PassSeconds(seconds, seconds, seconds)
run = simulate(timed, 4, network=free, schedule=own, costs=costs)
print(f"{run.time:g} s, kept at most {[passed.peak / a_rank for passed in run.results]}")
plot_pipeline(run.timeline, title="Your schedule")

# %% name="10.schedule" tags=["check"]
check("10.schedule", my_schedule)
### BEGIN HIDDEN TESTS
judge("10.schedule", my_schedule, seed=105)
### END HIDDEN TESTS

# %% [markdown]
# The check says how long your schedule takes, and how long the best known one takes. No schedule
# can take less than 25.5 s: a rank has 24 s of work, and one of the four must wait for three thin
# stages before its first pass. We do not know whether that can be reached in this memory.
#
# **Torch runs it too.** A file of schedules has a row for each rank and a pass in each cell. torch
# reads it, and adds the sends and receives by itself. In the next cells `gradients` gives your
# schedule to torch, which carries it out with stages that compute, on the same simulated ranks.

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

from ddl_teach.networks.pipelines.schedule_file import read_schedule, write_schedule

# %%
in_a_v = [zb_v(4, 8).words(rank) for rank in range(4)]
own = written("yours", yours("10.schedule", my_schedule, lambda *_: in_a_v)(4, 8))
with TemporaryDirectory() as folder:
    write_schedule(own, path := Path(folder, "yours.csv"))
    print(path.read_text())
    assert read_schedule(path).orders == own.orders

# %%
from ddl_class.notebook.torchs_runtime import gradients
from ddl_teach.networks import twin
from ddl_teach.networks.models.data import batches, digits
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp

deep, batch = mlp((64, *[48] * 7, 10)), batches(digits(flat=True), 32, steps=1)[0]
run = simulate(gradients, 4, threads=True, schedule=own, model=deep, batch=batch)
print("gradients on each rank, of stages:")
print(*(", ".join(sorted(part)) for part in run.results), sep="\n")

# %% [markdown]
# And one process, for comparison:

# %%
mean_loss(deep(batch[0]), batch[1]).backward()
wanted = {name: weight.grad for name, weight in deep.named_parameters()}
for part in run.results:
    assert twin.largest_difference(part, {name: wanted[name] for name in part}) < 1e-6

# %% [markdown]
# Torch did not know this order before, and its gradients are those of one process. An order of
# passes is all that it needs.

# %%
progress()

# %% [markdown]
# ## Three questions
#
# **1.** A backward pass is cut into `I` and `W`. Why not cut the forward pass in two halves as
# well?
#
# <details><summary>An answer</summary>
#
# The next stage waits for all of the forward pass: it has no part that no other rank needs. A
# backward pass has such a part, the gradient of the weights. So it can be moved.
#
# </details>
#
# **2.** In H1, how much shorter is the bubble than in 1F1B, if `F`, `I` and `W` take 1 s each? And
# which rank pays most for it in memory?
#
# <details><summary>An answer</summary>
#
# In 1F1B a rank waits for $(P-1)(F+I+W)$, which is $3\,(P-1)$ seconds. In H1 it is $(P-1)(F+I-W)$:
# a third of that. The last rank pays most: it keeps $P$ micro-batches in place of one. Rank 0
# keeps as many as before.
#
# </details>
#
# **3.** A colleague measures ZB-V on four GPUs and finds no gain over 1F1B. What would you ask
# first?
#
# <details><summary>An answer</summary>
#
# How long the messages take, and how many micro-batches there are. Two stages a rank mean twice as
# many messages, and a thin stage has half the work to hide them. With many micro-batches the
# bubble of 1F1B is small anyway. And do `F`, `I` and `W` take about the same time, as the schedule
# assumes?
#
# </details>
#
# ## Where to read on
#
# - D. Narayanan, M. Shoeybi, J. Casper et al., "Efficient large-scale language model training on
#   GPU clusters using Megatron-LM", *SC*, 2021: interleaved, in a grid.
# - P. Qi, X. Wan, G. Huang and M. Lin, "Zero bubble pipeline parallelism", *ICLR*, 2024.
# - P. Qi, X. Wan, N. Amar and M. Lin, "Pipeline parallelism with controllable memory", *NeurIPS*,
#   2024: a family of schedules in a V, some with half of 1F1B's memory and less.
# - A. Jain, A. A. Awan, A. M. Aljuhani et al., "GEMS: GPU-enabled memory-aware model-parallelism
#   system for distributed DNN training", *SC*, 2020.
# - S. Li and T. Hoefler, "Chimera: efficiently training large-scale neural networks with
#   bidirectional pipelines", *SC*, 2021: two directions at once, and a table that compares many.
# - M. T. Yeung, P. Qi, M. Lin and X. Wan, "Balancing pipeline parallelism with vocabulary
#   parallelism", *MLSys*, 2025: the last stage of a language model also has the vocabulary, and
#   all others wait for it. Here each stage computes a part of it.
#
# The schedules stand in `ddl_teach/networks/pipelines`, one a file. Unit 11 asks where the memory
# of *one* rank goes.
