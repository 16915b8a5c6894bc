# %% [markdown]
# # Which convolution is fastest?
#
# **When does each of the four ways win, on this machine and on others?**
#
# `02_convolutions` has four ways with the same result. Here you predict which one is fastest,
# measure it, and see what Winograd pays with. You ask which of them libraries take, and find the
# steps of a small processor, against time. You need `02_convolutions`. *Beginners* can leave out
# what is marked *intermediate* or *advanced*. About 50 minutes.

# %%
import math
from functools import partial

import numpy as np
import torch

torch.set_num_threads(1)

# %%
from ddl_class import check, hint, judge, predict, progress, reveal
from ddl_class.plots.convolutions import Swept, plot_sweep
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.plain import fft_convolution

# %% [markdown]
# ## 1. Count, predict, measure · *beginner*
#
# Take eight images of 32 x 32 and 64 output channels, on *your* machine, with the library's im2col
# and its FFT. From which kernel size on will the FFT be faster with 3 input channels, as in the
# first layer of a network? And with 64 input channels? The third number is about Winograd, whose
# sums lose digits. How many times as large is the error of $F(6 \times 6, 3 \times 3)$ as that of
# the definition, both in float32?

# %%
predict("02.few_channels", ...)
predict("02.many_channels", ...)
predict("02.error", ...)

# %% [markdown]
# There are three answers. The first only counts. The second uses three numbers of your machine:
# how many operations of a large matrix product it does in a second, how many of a small one, and
# how many bytes it copies. The small matrix is as small as a tile. It takes a moment to measure
# them. Then the time of a method is
#
# $$T = \frac{\text{products}}{\text{their rate}} + \frac{\text{transforms}}{\text{their rate}}
# + \frac{\text{bytes moved}}{\text{bandwidth}}.$$
#
# The third answer measures. The methods take turns, again and again, so that other programs
# disturb all of them alike. These are the library's methods. They are written like yours, in torch
# instead of NumPy, with one difference: your FFT transforms the whole image with a fast algorithm.
# The library cuts the image into tiles, about four times as wide as the kernel. It multiplies
# first their columns and then their rows by Fourier's matrix. These are more operations, but they
# are operations of a product, and their results lie where the next product reads them. `sweep`
# finds all three answers for a list of problems.

# %%
from ddl_measure.experiments.convolutions import sweep
from ddl_teach.operators.convolution.rates import butterfly_rate, machine_rates

rates, kernels, found = machine_rates(), list(range(3, 16, 2)), {}
slower = rates.product / butterfly_rate()

# %%
print(f"An operation of a fast transform takes {slower:.1f} times as long as one of a product.")
for channels in (3, 64):
    layers = [Convolution(4, channels, 32, 32, 64, r, padding=r // 2) for r in kernels]
    found[channels] = sweep(layers, rates, ["im2col", "fft"], repetitions=3)
assert (found[64].operations["im2col"] > found[3].operations["im2col"]).all()

# %% [markdown]
# On the left there are 64 input channels, on the right 3. The pictures show time, operations, and
# the bytes that a method holds between its steps (if it does all images at once; the library works
# in smaller blocks). The vertical lines mark the kernel size from which on the FFT stays below
# im2col: by the operations, by the three rates, and as measured. If the FFT never wins, the first
# size that was not tried is used as the result for your prediction.

# %%
many, few = (found[channels].crossings(kernels)["measured"] for channels in (64, 3))
reveal("02.many_channels", many or kernels[-1] + 2)
reveal("02.few_channels", few or kernels[-1] + 2)
plot_sweep(*(Swept.of(f"kernel size, {c} channels", kernels, found[c]) for c in (64, 3)))

# %% [markdown]
# The operations and the memory of im2col grow with the square of the kernel, and its time follows.
# The operations of the FFT grow more slowly, and in steps. Its tiles grow with the kernel, and a
# whole number of tiles must cover the image. A transform of the whole image, like yours, hardly
# depends on the kernel.
#
# ## 2. The surprise · *beginner*
#
# "Small kernels: Winograd or im2col. Large kernels: FFT." That is only half of the truth.
# **Channels decide, not only the kernel.** With 3 channels im2col's product is short, $3 r^2$
# numbers for an output. But the FFT still transforms 64 channels back for each image: a share of
# $1/C = 1/3$ for each product, instead of $1/64$.
#
# Measure it. In the next cell the kernel stays 7 x 7, and the number of input channels grows.
# Beside it the batch grows, since $1/N$ stands in the formula of `02_convolutions` next to $1/C$.

# %%
from ddl_teach.theory.convolution_time import meeting_kernel, seconds

channels, batches = [1, 4, 16, 64, 128], [1, 2, 4, 8, 16]
layers = [Convolution(8, c, 32, 32, 64, 7, padding=3) for c in channels]
wider = sweep(layers, rates, ["im2col", "fft"], repetitions=3)

# %%
layers = [Convolution(n, 64, 32, 32, 64, 7, padding=3) for n in batches]
more = sweep(layers, rates, ["im2col", "fft"], repetitions=3)
plot_sweep(Swept.of("input channels", channels, wider), Swept.of("batch", batches, more))

# %% [markdown]
# On the left the time of im2col grows with the channels. The curve of the FFT is flat as long as
# transforming 64 channels back is most of its work. On the right both grow with the batch, but
# with a single image the FFT transforms all kernels for this one image. The formula says it in one
# line. The library's is called `meeting_kernel`; if you have written `crossover`, it gives the
# same. The last argument is how much slower transforms are here:

# %%
for came_in in (1, 3, 16, 64, 256):
    counted, timed = (meeting_kernel(8, came_in, 64, 32, factor) for factor in (1.0, slower))
    print(f"{came_in:4} channels: from r = {counted:4.1f} by count, {timed:4.1f} with your rates")
assert meeting_kernel(8, 3, 64, 32, slower) > meeting_kernel(8, 64, 64, 32, slower)

# %% [markdown]
# So the first layer of a network, with three input channels, gains least from an FFT, although it
# often has the largest kernel. By this count there are layers in the middle, with hundreds of
# channels, where the FFT would pay at 5 x 5. Such layers became rarer when networks changed to 3 x
# 3 (VGG, 2014), where Winograd is good. They became still rarer with 1 x 1 (ResNet, 2016), where
# nothing can be saved.
#
# Where prediction and measurement disagree, think of what the three rates leave out: how well a
# short product uses the processor, what stays in the caches, and what each call of a library
# costs.
#
# ### Does the size of the image matter?
#
# In the formula it stands in a logarithm. So a picture that is 20 times as wide should move the
# meeting point by little. Compare small images with a photograph of 427 x 640 pixels, which
# scikit-learn brings along. It is one image with one channel, so $1/N + 1/C + 1/K = 3$ is as large
# as it can be.

# %%
from scipy.signal import correlate
from sklearn.datasets import load_sample_image

from ddl_measure.repetitions import side_by_side

photo = load_sample_image("china.jpg").mean(axis=2)
pictures = {"32 x 32 pixels": photo[:32, :32], "427 x 640 pixels": photo}


# %%
def share_of_fft(picture, r):
    """The time of SciPy's FFT for a kernel of r x r, as a share of its direct way's."""
    given = picture, np.full((r, r), 1 / r**2), "valid"
    assert np.allclose(correlate(*given, method="fft"), correlate(*given, method="direct"))
    ways = {way: partial(correlate, *given, method=way) for way in ("fft", "direct")}
    took = side_by_side(ways, repetitions=5)
    return np.median(took["fft"]) / np.median(took["direct"])


# %%
for name, picture in pictures.items():
    shares = [f"{share_of_fft(picture, r):.2f} at r = {r}" for r in (3, 7, 11, 15)]
    counted = meeting_kernel(1, 1, 1, math.sqrt(picture.size))
    print(f"{name}: FFT over direct {', '.join(shares)}; by count they meet at r = {counted:.1f}")

# %% [markdown]
# By count the meeting point moves from 6.3 to 8.4, although the photograph has 267 times as many
# pixels. Is your last ratio below 1 for the photograph? There SciPy's own FFT is fast and few
# fixed costs are left. The FFT may win at smaller kernels than the count says: the count takes all
# operations as equally fast. At 32 x 32 the cost of each call hides the difference, so measure at
# the size that you need.
#
# ## 3. What Winograd pays with · *advanced*
#
# Why not tiles of 100 x 100? Winograd's sums contain numbers like 4, 5 and 21/4, and thousands in
# larger tiles. So large numbers are added that nearly cancel later, and the rest has fewer right
# digits. Take the definition in float64 as the truth, and see how far each tile is off in float32.

# %%
from ddl_class.plots.convolutions import plot_errors
from ddl_teach.operators.convolution.methods import find

x, weight = torch.randn(2, 64, 24, 24), torch.randn(32, 64, 3, 3)
tiles = [2, 3, 4, 6, 8, 10]
truth = torch.nn.functional.conv2d(x.double(), weight.double()).numpy()

# %%
methods = ["direct"] + [f"winograd_{m}x{m}" for m in tiles]
errors = [np.std(find(name).forward(x, weight).numpy() - truth) for name in methods]
reveal("02.error", errors[1 + tiles.index(6)] / errors[0])
assert errors[-1] > errors[0]
plot_errors(tiles, np.divide(errors[1:], errors[0]))

# %% [markdown]
# Each larger tile loses more digits, and saves less than the step before. NNPACK, a library for
# processors, uses $F(6 \times 6, 3 \times 3)$ in float32. With numbers of 16 bits the course's
# library refuses tiles of more than 8 x 8 values. Their result has hardly a right digit left, or
# overflows.
#
# ## 4. Predict for machines that you do not have · *intermediate*
#
# Three rates describe a machine. Take yours and two others. On one of them matrix products are ten
# times as fast and all else is unchanged: tensor cores did that to GPUs. On the other one products
# are unchanged and all else is ten times as fast. For each machine the next cells predict 510
# layers by three methods, and colour which method wins. Where a colour is pale, another method is
# nearly as fast. Winograd takes part only at 3 x 3: it could do other kernels, but its errors grow
# there too.

# %%
from ddl_teach.theory.convolution_cost import cost

channels, sizes = np.unique(np.geomspace(1, 1024, 40).astype(int)).tolist(), range(1, 16)


def predicted(way, machine):
    shapes = [[Convolution(16, c, 56, 56, 64, r, padding=r // 2) for c in channels] for r in sizes]
    times = np.array([[seconds(cost(way, one), machine) for one in row] for row in shapes])
    times[[way == "winograd_4x4" and r != 3 for r in sizes]] = np.inf
    return times


# %%
from dataclasses import replace

from ddl_class.plots.convolutions import plot_method_map

more = {name: 10 * rate for name, rate in vars(rates).items() if name != "product"}
machines = {"your machine": rates, "products 10 x": replace(rates, product=10 * rates.product)}
machines["all but products 10 x"] = replace(rates, **more)
ways = ["im2col", "winograd_4x4", "fft"]
maps = {name: {way: predicted(way, one) for way in ways} for name, one in machines.items()}
plot_method_map(maps, sizes, channels, row_quantity="kernel size", column_quantity="channels")

# %% [markdown]
# When products become faster and nothing else does, im2col gains on every method that saves
# products. When all else becomes faster, im2col loses. The rates decide, and they change.
#
# ## 5. What production systems do · *intermediate*
#
# cuDNN is the library behind torch on NVIDIA's GPUs. Its older interface names these algorithms
# for the forward pass: GEMM (this is im2col), implicit GEMM, FFT, FFT by tiles, and Winograd.
# (Implicit GEMM is im2col whose matrix is never stored, but made piece by piece where it is used.)
# The newer interface has numbered *engines* instead. oneDNN, behind torch on processors, has
# direct with blocked loops and GEMM, and on Arm also Winograd. Both choose by a heuristic. With
# cuDNN's algorithms torch can also try: `torch.backends.cudnn.benchmark = True` tries up to 10 of
# them once for each new shape, or as many as `benchmark_limit` says. An algorithm that needs more
# workspace than there is cannot be chosen. The course's chooser does the same, and gives its
# reason.
#
# Every method is also a *custom operator* of torch: a network can use it by name, differentiate
# through it and be compiled with it. The second cell below runs one network by each method: `use`
# changes the method in all its layers.

# %%
from ddl_teach.operators.convolution.chooser import choose
from ddl_teach.operators.convolution.methods import METHODS

deep = Convolution(4, 256, 28, 28, 256, padding=1)
for problem in (deep, Convolution(4, 3, 64, 64, 64, 11, padding=5)):
    print(choose(problem).why)
needs = {name: method.workspace(deep, torch.float32) for name, method in METHODS.items()}
less = choose(deep, limit=max(needs.values()) - 1)
print(f"With less workspace than {max(needs, key=needs.get)} needs: {less.why}")
assert less.refused

# %%
from ddl_teach.operators.convolution.layer import Convolution2d, use

first, second = Convolution2d(3, 8, 3, method="direct"), Convolution2d(8, 4, 5, method="direct")
network, x = torch.nn.Sequential(first, torch.nn.ReLU(), second), torch.ones(2, 3, 16, 16)
for name in METHODS:
    use(network, name)
    gradient, *_ = torch.autograd.grad(network(x).square().mean(), first.weight)
    print(f"{name:12} result {network(x).mean():9.6f}, gradient {gradient.norm():9.6f}")
assert network[0].method == name

# %% [markdown]
# Now compare with torch's own convolution. `torch.nn.functional.conv2d` calls oneDNN here, if
# torch was built with it. The library's methods and its FFT on one screen take turns with it, and
# the table is in units of torch's time.

# %%
x, weight = torch.randn(4, 32, 34, 34), torch.randn(32, 32, 3, 3)
race = {"torch": lambda: torch.nn.functional.conv2d(x, weight)}
race |= {f"ours, {name}": partial(way.forward, x, weight) for name, way in METHODS.items()}
race |= {"one screen, NumPy": lambda: fft_convolution.convolve(x.numpy(), weight.numpy())}
took = {name: np.min(times) for name, times in side_by_side(race, repetitions=5).items()}
print(*[f"{name:20} {time / took['torch']:6.1f}" for name, time in took.items()], sep="\n")
assert min(took.values()) > 0

# %% [markdown]
# oneDNN's direct way is the definition without any trick. It writes machine code for just this
# shape, keeps in registers what it needs again, and stores no matrix of patches. Tricks that save
# operations must first make up for the bytes that they move. `benchmarks/convolutions.py` in the
# repository makes this table for all layers of AlexNet, VGG-16 and ResNet-50, and says where the
# time goes. In its recorded results the library's fastest method takes 0.42 to 1.28 times as long
# as torch, layer by layer.
#
# On a GPU torch calls cuDNN. The next cell shows the layers of AlexNet as they were recorded on
# GPUs, with machine and date. If nothing is recorded yet, it says so.

# %%
from ddl_class.notebook.beside_gpus import recorded_table

print(f"torch, your processor, the layer above: {took['torch'] * 1e3:.3f} ms")
print(recorded_table("convolution, AlexNet"))

# %% [markdown]
# ## 6. A puzzle: four outputs · *intermediate*
#
# A small processor computes a row of pixels. Four outputs of a kernel with three weights need six
# pixels, `d0` to `d5`. It does one operation after another. **An addition or a subtraction takes 1
# ns, a product with a power of two 1 ns, and every other product 16 ns.** The weights do not
# change from row to row, so sums of them are computed beforehand and cost nothing.
#
# **Exercise, with a goal.** The definition takes 12 products and 8 additions: 200 ns. $F(2, 3)$
# twice takes 144 ns. Find steps that take **132 ns** at most. How is up to you. Return two things:
# the steps as texts, one operation each, which end with `y0` to `y3`; and the sums of weights that
# they use, each as three factors of $g_0$, $g_1$ and $g_2$. The cell below has $F(2, 3)$ for the
# first two outputs, as an example of how it is written. `matrices(4, 3)` shows what larger tiles
# need.


# %% name="02.program" tags=["answer"]
def four_outputs():
    """Return the steps, and the sums of weights in them as factors of g0, g1 and g2."""
    sums = {"k1": (1, 0, 0), "k2": (0.5, 0.5, 0.5), "k3": (0.5, -0.5, 0.5), "k4": (0, 0, 1)}
    steps = ["a = d0 - d2", "b = d1 + d2", "c = d2 - d1", "d = d1 - d3"]
    steps += ["m1 = a * k1", "m2 = b * k2", "m3 = c * k3", "m4 = d * k4"]
    steps += ["e = m2 + m3", "y0 = m1 + e", "f = m2 - m3", "y1 = f - m4"]
    ### BEGIN SOLUTION
    sums = {"k0": (1 / 4, 0, 0), "k1": (-1 / 6, -1 / 6, -1 / 6), "k2": (-1 / 6, 1 / 6, -1 / 6)}
    sums |= {"k3": (1 / 24, 1 / 12, 1 / 6), "k4": (1 / 24, -1 / 12, 1 / 6), "k5": (0, 0, 1)}
    steps = ["p = d4 - d2", "q = d3 - d1", "q = q * 2", "a3 = p + q", "a4 = p - q"]
    steps += ["s = d2 * 4", "s = d4 - s", "t4 = d1 * 4", "t = d3 - t4", "a1 = s + t"]
    steps += ["a2 = s - t", "u = d0 - d2", "u = u * 4", "a0 = u + p"]
    steps += ["v = d3 * 4", "w = d5 - d3", "w = w - v", "a5 = w + t4"]
    steps += [f"m{k} = a{k} * k{k}" for k in range(6)]
    steps += ["b = m1 + m2", "c = m1 - m2", "e = m3 + m4", "f = m3 - m4", "f2 = f * 2"]
    steps += ["e4 = e * 4", "f8 = f * 8", "y0 = m0 + b", "y0 = y0 + e", "y1 = c + f2"]
    steps += ["y2 = b + e4", "y3 = c + f8", "y3 = y3 + m5"]
    ### END SOLUTION
    return steps, sums


# %%
from ddl_class.exercises.unit_02.row_program import carried_out
from ddl_teach.operators.convolution.winograd_matrices import matrices

for name, small in zip(("BT", "G", "AT"), matrices(4, 3), strict=True):
    print(name, *[" ".join(map(str, row)) for row in small], sep="\n  ")
values, time = carried_out(*four_outputs(), pixels=[1, 2, 3, 4, 5, 6], weights=[1, 10, 100])
mine = [round(values.get(f"y{k}", math.nan), 6) for k in range(4)]
print(mine, "should be [321, 432, 543, 654]:", f"{time * 1e9:.0f} ns")

# %% name="02.program" tags=["check"]
check("02.program", four_outputs)
### BEGIN HIDDEN TESTS
judge("02.program", four_outputs, seed=26)
### END HIDDEN TESTS

# %% [markdown]
# With six products instead of twelve, the sums decide. Libraries write their transforms by hand
# in this way: they look for sums that two rows of a matrix share.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("02")
progress()

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. What is there to gain for kernels of 1 x 1?
# 2. A new machine does products ten times as fast, and all else as before. Which way gains?
# 3. Why does a library choose an algorithm for each layer, and not one for the whole network?
#
# <details><summary>Answers</summary>
#
# 1. Nothing by tricks: $r^2 = 1$, nothing is computed twice. The patches are the pixels
#    themselves, im2col's matrix is the image, and the layer is a matrix product from the start.
# 2. im2col, which is one large product. The other ways save products, and these are cheap now.
# 3. Channels, kernels and batches differ from layer to layer, and they decide. The workspace that
#    is left decides too.
#
# </details>
#
# ## Where to read on
#
# - Unit 03: what if the workspace does not fit? Split the batch, and choose for each part.
# - Fu et al., "FlashFFTConv: efficient convolutions for long sequences with tensor cores" (ICLR
#   2024): a filter as long as the text. There the FFT wins, once it is written as matrix
#   products and does not move its numbers back and forth.
# - Lohia, "NOVA: discovering well-conditioned Winograd transforms through numerical optimization
#   of Vandermonde arithmetic" (arXiv, 2025): larger tiles in 16 bits. Other points than whole
#   numbers round less badly.
