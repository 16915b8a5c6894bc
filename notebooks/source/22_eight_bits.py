# %% [markdown]
# # Eight bits
#
# **How few bits carry a training?**
#
# Unit 04 trained with 16 bits. Today's GPUs multiply numbers of 8 bits, and of 4. You write the
# cast yourself, find a scale, cut a tensor into blocks, and repair a sum. Then a GPT learns with
# each format. You need units 06 and 16. Sections 1 to 3 are for *beginners*, sections 4 to 7 for
# *intermediate* readers, and section 8 is for *advanced* ones. About 90 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, yours
from ddl_class.exercises.unit_22 import format_judges as known
from ddl_class.plots.frame import plane
from ddl_teach.operators.precision import eight_bits as formats
from ddl_teach.theory import rounding

engines = Engines(4)

# %% [markdown]
# ## 1. Numbers on a line · *beginner*
#
# A **floating-point format** has a sign, an *exponent* and a *mantissa*. The exponent says how
# large a number is. The mantissa says where it lies between two powers of two. A byte leaves seven
# bits beside the sign. Two ways to share them are in use (Micikevicius et al., 2022):
#
# - **E4M3** has 4 bits of exponent and 3 of mantissa. It is for weights and activations.
# - **E5M2** has 5 and 2. It reaches further, with larger gaps. It is for gradients.
#
# Two patterns of E4M3 mean "not a number", and zero has two patterns as well. Predict first:

# %%
predict("22.numbers", ...)

# %%
every = np.unique(formats.cast(np.linspace(-500, 500, 2_000_001), formats.E4M3))
reveal("22.numbers", len(every))

# %% [markdown]
# The picture has all numbers from 0 to 16 of both formats. Between two powers of two they are
# equally far apart. Above each power of two the gaps double.

# %%
line = np.linspace(0, 16, 100_001)
ax = plane("number", "", height=2.4)
ax.name_rows(["E4M3", "E5M2"])
for row, kind in enumerate((formats.E4M3, formats.E5M2)):
    numbers = np.unique(formats.cast(line, kind))
    ax.plot(numbers, np.full(len(numbers), row), "|", markersize=20)
ax.finish("Numbers of two formats", "All numbers from 0 to 16 of two formats of eight bits")

# %% [markdown]
# `np.frexp(x)` gives two arrays. The second is the exponent $e$ of each number:
# $2^{e-1} \le |x| < 2^e$. With $m$ significant bits, neighbours are $2^{e-m}$ apart. E4M3 has
# $m = 4$: three bits are stored, and the first bit is always one.
#
# **Exercise.** Round each number of `x` to four significant bits. `np.round` takes the even one of
# two equally near numbers, and that is right here. No size is too small or too large yet.


# %% name="22.round" tags=["answer"]
def nearest(x):
    """The nearest numbers with four significant bits."""
    ### BEGIN SOLUTION
    _, exponent = np.frexp(x)
    spacing = 2.0 ** (exponent - 4)
    return np.round(x / spacing) * spacing
    ### END SOLUTION


# %%
my_nearest = yours("22.round", nearest, known.four_bits)
print(my_nearest(np.array([17.0, 18.0, 0.3, -100.0])))

# %% name="22.round" tags=["check"]
check("22.round", nearest)
### BEGIN HIDDEN TESTS
judge("22.round", nearest, seed=221)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. The two ends · *beginner*
#
# A real format ends. The largest number of E4M3 is 448. Its smallest exponent is $2^{-6}$. Below
# it neighbours stay $2^{-9}$ apart, down to zero. These are the **subnormal** numbers: they have
# fewer significant bits.
#
# **Exercise.** Write the cast to E4M3. What is larger than 448 becomes 448: the cast *saturates*.


# %% name="22.cast" tags=["answer"]
def to_e4m3(x):
    """The nearest numbers of E4M3."""
    ### BEGIN SOLUTION
    _, exponent = np.frexp(x)
    spacing = 2.0 ** (np.maximum(exponent, -5) - 4)
    return np.clip(np.round(x / spacing) * spacing, -448, 448)
    ### END SOLUTION


# %%
my_cast = yours("22.cast", to_e4m3, known.to_e4m3)
sizes = np.logspace(-4, 3, 500)
ax = plane("number", "relative error of the cast", height=3)
ax.plot(sizes, np.abs(my_cast(sizes) / sizes - 1))
ax.set(xscale="log")
ax.finish("Errors of a cast", "The relative error of your cast to E4M3")

# %% name="22.cast" tags=["check"]
check("22.cast", to_e4m3)
### BEGIN HIDDEN TESTS
judge("22.cast", to_e4m3, seed=222)
### END HIDDEN TESTS

# %% [markdown]
# In the middle the error is at most 1/16. At both ends it grows. PyTorch has the same format.
# The next cell compares your cast with PyTorch's, on all finite numbers of 16 bits.

# %%
import torch


def torchs(x):
    return torch.tensor(x).to(torch.float8_e4m3fn).double().numpy()


every = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.float16)
every = every[every.isfinite()].double().numpy()
assert np.array_equal(my_cast(every), torchs(every))

# %% [markdown]
# ## 3. A scale · *beginner*
#
# Gradients are often smaller than $2^{-10}$, and E4M3 makes zeros of them. So multiply the tensor
# before the cast, and divide after it. The best **scale** brings the largest magnitude, called
# **amax**, to the largest number of the format:
#
# $$s = \frac{448}{\mathrm{amax}},\qquad \hat x = \frac{\mathrm{cast}(s\,x)}{s}.$$
#
# The scale is kept beside the tensor. Unit 04 had one scale for the whole network. Here each
# tensor has its own.
#
# **Exercise.** Put the lines in order: two of them belong nowhere. `cast` is that of PyTorch, and
# gives the same as yours.


# %% name="22.scale" tags=["answer"]
def scaled(x, cast=torchs):
    """What is left of x after it was scaled, cast and scaled back."""
    ### BEGIN SOLUTION
    amax = np.abs(x).max()
    scale = 448 / amax
    small = cast(x * scale)
    return small / scale
    ### END SOLUTION


# %%
my_scaled = yours("22.scale", scaled, formats.current)
gradient = np.random.default_rng(0).standard_normal(10_000) * 1e-4
for name, way in {"without": my_cast, "with": my_scaled}.items():
    print(f"{name} a scale: {np.mean(way(gradient) == 0):.1%} of the gradients are zero")

# %% name="22.scale" tags=["check"]
check("22.scale", scaled)
### BEGIN HIDDEN TESTS
judge("22.scale", scaled, seed=223)
### END HIDDEN TESTS

# %% [markdown]
# To find amax one reads the whole tensor, and to cast it one reads it again. **Delayed scaling**
# reads once: it takes amax from a history of past steps (Micikevicius et al., 2022). The price is
# an *outlier*, a number much larger than those before it. In the next cell the tensor of step 10
# is 50 times as large as usual.

# %%
quantise, errors = formats.Delayed(length=4), []
for step in range(20):
    x = np.random.default_rng(step).standard_normal(1000) * (50 if step == 10 else 1)
    errors.append(np.linalg.norm(quantise(x) - x) / np.linalg.norm(x))
ax = plane("step", "relative error", height=3)
ax.plot(errors, "o-")
ax.finish("Delayed scaling", f"Error at the outlier: {errors[10]:.0%}; before it {errors[9]:.1%}")

# %% [markdown]
# At the outlier most numbers are cut off. In the next steps the scale is 50 times smaller than it
# could be, and the error hardly changes: E4M3 has range enough for that. A longer history would
# have kept the small scale for longer.
#
# ## 4. Blocks · *intermediate*
#
# An outlier inside a tensor has the same effect on its neighbours: one scale must fit all. So give
# each **block** of numbers a scale of its own. DeepSeek-V3 takes 1 x 128 for activations and
# 128 x 128 for weights (DeepSeek-AI, 2024).
#
# **Exercise.** Cut the vector `x` into blocks, and give each block its scale. A block of zeros
# stays zero.


# %% name="22.blocks" tags=["answer"]
def in_blocks(x, block, cast=torchs):
    """What is left of x with a scale of its own for each block."""
    ### BEGIN SOLUTION
    rows = x.reshape(-1, block)
    amax = np.abs(rows).max(axis=1, keepdims=True)
    scale = 448 / np.where(amax > 0, amax, 1)
    return (cast(rows * scale) / scale).reshape(x.shape)
    ### END SOLUTION


# %%
my_blocks = yours("22.blocks", in_blocks, known.in_blocks)
x = np.random.default_rng(1).standard_normal(4096) * 0.01
np.put(x, 1000, 10_000)
zeros = {"one scale": my_scaled(x), "blocks of 128": my_blocks(x, 128)}
print({name: f"{np.mean(left == 0):.1%} became zero" for name, left in zeros.items()})

# %% name="22.blocks" tags=["check"]
check("22.blocks", in_blocks)
### BEGIN HIDDEN TESTS
judge("22.blocks", in_blocks, seed=224)
### END HIDDEN TESTS

# %% [markdown]
# The **microscaling** formats (MX) go further: 32 numbers share a scale, and the scale is a power
# of two, of which only 8 bits of exponent are stored (Rouhani et al., 2023; Open Compute Project,
# 2023). **MXFP8** has elements of E4M3. MXFP4 has elements of **E2M1**: four bits, of which the
# magnitudes are 0, 0.5, 1, 1.5, 2, 3, 4 and 6. NVIDIA's NVFP4 has a scale of E4M3 for each 16.
# With the scales, how many bits does a number take? The next cell also measures the error on
# normal numbers.

# %%
x = np.random.default_rng(2).standard_normal((64, 1024))
ways = {"one scale": (8, 0, 0, formats.current), "1 x 128": (8, 128, 32, formats.by_blocks)}
ways |= {"MXFP8": (8, 32, 8, formats.mx), "NVFP4": (4, 16, 8, formats.nvfp4)}
for name, (bits, block, scale, way) in ways.items():
    stored = formats.bytes_of(x.size, bits, block, scale)
    error = np.linalg.norm(way(x) - x) / np.linalg.norm(x)
    print(f"{name:10} {8 * stored / x.size:5.2f} bits a number, error {error:.1%}")

# %% [markdown]
# On normal numbers blocks help E4M3 little: nothing there needs a long range. They help where
# outliers are. How much is saved in a model of 70 billion weights?

# %%
weights = 70_000_000_000
for name, stored in {"float32": (32,), "bfloat16": (16,), "MXFP8": (8, 32, 8)}.items():
    print(f"{name:9} {formats.bytes_of(weights, *stored) / 1e9:6.1f} GB")

# %% [markdown]
# That is one copy of the weights, computed. A training keeps more: a copy in float32 or bfloat16
# that the optimizer changes, and the optimizer's states (unit 11). The other notebook of this unit
# keeps states in bytes.
#
# ## 5. Where it breaks: the sum · *intermediate*
#
# A product of matrices adds up $K$ products for each result. Products of two E4M3 numbers have
# eight significant bits, and each fits into float32. But the sum is another matter. DeepSeek-V3
# reports that FP8 products on NVIDIA's H800 keep *about 14 bits* while they add up (DeepSeek-AI,
# 2024). What is beyond these bits is cut off.

# %%
predict("22.short_sum", ...)

# %%
terms = np.random.default_rng(3).uniform(0, 1, (4096, 16))
lost = 1 - formats.accumulate(terms, 14).sum() / terms.sum()
reveal("22.short_sum", 100 * lost)

# %% [markdown]
# Cutting off always errs to the same side, so errors add up. The larger the sum is, the more each
# addition loses. Therefore DeepSeek-V3 uses **promotion**. After every 128 terms the sum is
# added to one of float32, and the short one begins again at zero.
#
# The next cell is the addition of an accumulator of 8 bits.

# %%
import math


def short_add(total, term):
    _, exponent = math.frexp(total + term)
    return math.ldexp(math.trunc(math.ldexp(total + term, 8 - exponent)), exponent - 8)


# %% [markdown]
# **Exercise.** Write the promotion. Only sums of up to `every` terms may go through `short_add`.
# The last block may be shorter.


# %% name="22.promote" tags=["answer"]
def promoted(terms, every):
    """The sum of the terms, promoted after each block of `every` terms."""
    ### BEGIN SOLUTION
    total = 0.0
    for begin in range(0, len(terms), every):
        part = 0.0
        for term in terms[begin : begin + every]:
            part = short_add(part, term)
        total += part
    return total
    ### END SOLUTION


# %%
my_promoted = yours("22.promote", promoted, known.handed_on)
few = terms[:1024, 0]
for every in (8, 32, 1024):
    print(f"every {every:4}: {my_promoted(few, every):6.1f} of {few.sum():.1f}")

# %% name="22.promote" tags=["check"]
check("22.promote", promoted)
### BEGIN HIDDEN TESTS
judge("22.promote", promoted, seed=225)
### END HIDDEN TESTS

# %% [markdown]
# Each term of a sum of $K$ passes up to $K$ roundings. With $u = 2^{1-14}$ for an accumulator that
# cuts, the relative error of positive terms is at most $Ku/(1-Ku)$. With promotion after $N$ terms
# $N$ takes the place of $K$, and a term for float32 is added
# (`ddl_teach/theory/rounding.py`). The lines of the picture are these bounds. The squares are
# simulated sums.

# %%
lengths = [2**k for k in range(5, 13)]
ax = plane("terms of the sum", "relative error")
for every, colour in ((None, "#ee6677"), (128, "#4477aa")):
    bound = [rounding.promoted(n, 14, every or n) for n in lengths]
    sums = [formats.accumulate(terms[:n], 14, every).sum() / terms[:n].sum() for n in lengths]
    ax.draw_curve("bound", (lengths, bound), colour, f"bound, promoted: {every}")
    ax.draw_curve("simulated", (lengths, 1 - np.array(sums)), colour, f"promoted: {every}")
ax.set(xscale="log", yscale="log")
ax.finish("Errors of short accumulators", "Sums in 14 bits", legend="beside")

# %% [markdown]
# **The surprise.** Storing numbers in eight bits costs a few percent for each number, but these
# errors have both signs, and most of them cancel. The errors of the sum do not cancel. So
# accumulation, not storage, is where eight bits break first. The remembered losses of unit 04
# (Kahan) would repair it too, with four additions for each term. Promotion adds once for 128.
#
# ## 6. Rounded by chance · *intermediate*
#
# Weights in eight bits meet another problem. An update of 0.01 to a weight of 1 is less than half
# of the gap, and the nearest number is 1 again. The weight never moves. **Stochastic rounding**
# goes up with the probability $(x-a)/(b-a)$ between the neighbours $a < b$. The mean is right.
#
# **Exercise.** Round the numbers of `x` to multiples of `spacing`, up or down by the `draws` from
# $[0, 1)$.


# %% name="22.stochastic" tags=["answer"]
def by_chance(x, spacing, draws):
    """Each number's upper or lower neighbour, right on average."""
    ### BEGIN SOLUTION
    return np.floor(x / spacing + draws) * spacing
    ### END SOLUTION


# %%
draw = np.random.default_rng(4)
my_chance = yours("22.stochastic", by_chance, lambda x, gap, u: np.floor(x / gap + u) * gap)
stuck, moving = np.ones(1000), np.ones(1000)
for _ in range(50):
    stuck = my_cast(stuck + 0.01)
    moving = my_chance(moving + 0.01, 1 / 8, draw.random(1000))
print(f"should be 1.5: {stuck.mean():.2f} by the nearest, {moving.mean():.2f} by chance")

# %% name="22.stochastic" tags=["check"]
check("22.stochastic", by_chance)
### BEGIN HIDDEN TESTS
judge("22.stochastic", by_chance, seed=226)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. A GPT in each format · *intermediate*
#
# Now a GPT learns Python's source, character by character. The factors of all products in its
# linear layers are rounded, forward and backward. Weights, sums and the last layer stay in
# float32. `emulate` puts this into a network. This shows what rounding does to a training, and not
# how fast it is: only a GPU with such units is faster.

# %%
from functools import partial

from torch.nn import functional

from ddl_teach.networks.models.data import batches, characters
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.operators.precision.scaled_linear import emulate

without = partial(formats.cast, kind=formats.E4M3)
ways = {"float32": torch.clone, "MXFP8": formats.mx, "E4M3, no scale": without}


# %%
def losses(way, steps=60):
    network, seen = gpt(), []
    emulate(network, lambda: way, lambda: way)
    rule = torch.optim.Adam(network.parameters(), 0.01)
    for x, y in batches(characters(), 16, steps):
        seen.append(functional.cross_entropy(network(x).flatten(0, 1), y.flatten()))
        rule.zero_grad()
        seen[-1].backward()
        rule.step()
    return [loss.item() for loss in seen]


# %%
runs = {name: losses(way) for name, way in ways.items()}
ax = plane("step", "loss of a batch", height=3.4)
ax.draw_runs(runs)
ax.finish("A GPT in three formats", "One seed and one rate, not tuned", legend="upper right")

# %% [markdown]
# Without a scale, many gradients become zero. This picture has one seed and one rate.
#
# And the time? The next cell rounds one factor of a product on your processor, which makes it
# slower. Below that are products in 8 bits on GPUs that have units for them. If nothing is
# recorded yet, it says so.

# %%
from ddl_class.notebook.beside_gpus import recorded_table
from ddl_measure.repetitions import side_by_side

x = torch.ones(512, 512)
calls = {"float32": lambda: x @ x, "MXFP8, emulated": lambda: formats.mx(x) @ x}
for name, times in side_by_side(calls).items():
    print(f"yours, {name}: {np.median(times) * 1e3:.2f} ms")
print(recorded_table("product in 8 bits"))

# %% [markdown]
# *Recorded* (`benchmarks/results/eight_bits.txt`): each format at the best of the same three
# rates, with three seeds, after 200 steps of Adam, on pieces held out. The mean loss was 2.430
# with float32, 2.425 with bfloat16, and 2.424 with FP8 and one scale. It was 2.418 with delayed
# scales, 2.427 with blocks of 32, and 2.427 with MXFP8. All these lie within the losses of the
# three seeds of FP8 with blocks, from 2.410 to 2.439. So eight bits with scales cannot be told
# from float32 here. MXFP4, with four bits, reached 2.464. E4M3 without scales reached 2.725. Its
# best rate was the largest of the three, so a still larger one may do better.
#
# That GPT is 32 wide. Blocks of 128 x 128 need a wider one. *Recorded*
# (`benchmarks/results/eight_bits_wide.txt`), with 100 steps, three rates and three seeds, for a
# GPT 128 wide: with blocks as in DeepSeek-V3 the mean loss was 2.491, from 2.468 to 2.525. With
# float32 it was 2.493, from 2.465 to 2.530.
#
# ## 8. Ranks must agree · *advanced*
#
# A tensor may lie on many ranks, as shards (unit 11) or as parts of a layer (unit 09). If each
# rank took its own amax, the parts would have different scales. Their bytes could not be put
# together as one tensor. So ranks agree first: an all-reduce of the *maximum*, of one number.
#
# **Exercise.** Return the scale that all ranks use: 448 divided by the largest magnitude on any
# rank. `x` is this rank's part. Use `comm.sendrecv`, and any number of ranks.


# %% name="22.agree" tags=["answer"]
def agree(comm, x):
    """The scale for the parts x of all ranks."""
    ### BEGIN SOLUTION
    own = np.array([np.abs(x).max()])
    largest, arrived = own.copy(), np.empty(1)
    for distance in range(1, comm.size):
        to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(own, to, arrived, source)
        largest = np.maximum(largest, arrived)
    return 448 / largest[0]
    ### END SOLUTION


# %% name="22.agree" tags=["check"]
check("22.agree", agree)
### BEGIN HIDDEN TESTS
judge("22.agree", agree, seed=227)
### END HIDDEN TESTS

# %% [markdown]
# Now on your engines. Each of four ranks has a part, and one of them has an outlier. The ranks
# agree on the amax of three tensors in one all-reduce. The cell after it shows your predictions of
# this unit, beside what was found. Two of them belong to the second notebook.

# %%
from ddl_teach.operators.precision.agreed import agreed_amax


def three_tensors(comm):
    draw = np.random.default_rng(comm.rank)
    parts = [draw.standard_normal(1000) * (1 + 99 * (comm.rank == number)) for number in range(3)]
    return agreed_amax(comm, parts)


# %%
run = engines.run(three_tensors)
assert all(np.array_equal(amax, run.results[0]) for amax in run.results)
print(f"{run.results[0]} on every rank, {run.ledger[0].bytes_sent} bytes sent by rank 0")

# %%
from ddl_class import predictions

engines.stop()
predictions("22")

# %% [markdown]
# A maximum is exact in any order, so all ranks have the same bits. A message has 8 bytes for each
# tensor, however large the tensor is.
#
# **What production does.** NVIDIA's Transformer Engine has recipes with current, delayed and block
# scales; its delayed recipe keeps a history of amax, 1,024 steps long if not told otherwise.
# PyTorch's `torchao.float8` gathers weights in eight bits for sharded training, which halves the
# bytes of bfloat16. Its function `precompute_float8_dynamic_scale_for_fsdp` finds the scales of
# all weights with one all-reduce after each step.
#
# ## Three questions
#
# **1.** Why do gradients get E5M2 with one scale for each tensor, and E4M3 with blocks?
#
# <details><summary>An answer</summary>
#
# Gradients of one tensor differ much in size. One scale cannot serve all of them, so the format
# itself needs a long range. Within a block sizes differ less, and the scale does the rest. Then
# one more bit of mantissa is worth more than range.
#
# </details>
#
# **2.** Why is the scale of MX a power of two?
#
# <details><summary>An answer</summary>
#
# It takes 8 bits of exponent and no mantissa, and multiplying by it rounds nothing. The price: the
# largest number of a block lies anywhere in the top power of two. Some of the range is unused, and
# what is above the largest number of the format is cut off.
#
# </details>
#
# **3.** A product has $K = 128$. Does it need promotion?
#
# <details><summary>An answer</summary>
#
# No: promotion after 128 terms would happen once, at the end. The errors matter where $K$ is in
# the thousands, as in wide layers, and for gradients of weights, whose sum runs over all tokens.
#
# </details>
#
# ## Where to read on
#
# - P. Micikevicius et al., "FP8 formats for deep learning", 2022: the formats
#   and the scales.
# - B. D. Rouhani et al., "Microscaling data formats for deep learning", 2023.
# - Open Compute Project, "OCP Microscaling formats (MX) specification version 1.0", 2023.
# - DeepSeek-AI, "DeepSeek-V3 technical report", 2024: blocks and promotion.
#
# The casts stand in `ddl_teach/operators/precision/eight_bits.py`, the linear layer in
# `scaled_linear.py` beside it. The notebook `22_few_bits_many_ranks` sends eight bits.
