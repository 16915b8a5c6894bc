# %% [markdown]
# # Four convolutions
#
# **Same result, same shapes: why do the times differ?**
#
# A convolutional network spends most of its time in its convolutions. There are at least four ways
# to compute one. All four give the same numbers, and one of them may take ten times as long as
# another. Which one is fastest depends on the shape of the layer. Libraries know that, and choose
# a way for each layer.
#
# In this unit you write three of the four ways, each in a few lines of NumPy. You count what they
# do, and find out when each of them wins. You need unit 01: what work is. *Beginners* can leave
# out what is marked *intermediate* or *advanced*. It takes about two hours.
#
# ## 1. One definition, four ways · *beginner*
#
# A layer has $C$ input channels and $K$ output channels. Output channel $k$ has a small kernel of
# $r \times r$ weights for each input channel. To compute an output, lay the kernels over the
# image, multiply each weight by the pixel below it, and add everything up:
#
# $$y_{n,k,p,q} = \sum_{c=1}^{C} \sum_{i=1}^{r} \sum_{j=1}^{r} w_{k,c,i,j}\; x_{n,c,p+i,q+j}.$$
#
# This is the definition. $n$ is the number of the image, and $p$ and $q$ are the place in it. The
# next cells write it as code: `windows` holds the pixels below the kernel for every place, and
# `einsum` multiplies and adds as its letters say. (There is no stride and no padding. If you want
# padding, pad the image first.) torch gets one thread, so that other programs disturb the
# measurements less.

# %%
import math
from functools import partial

import numpy as np
import torch

from ddl_class import check, definition, hint, judge, predict, progress, reveal, yours
from ddl_class.plots.convolutions import Swept, plot_im2col, plot_spread, plot_sweep
from ddl_teach.operators.convolution.problem import Convolution


# %%
def by_definition(x, weight):
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))
    return np.einsum("nchwij,kcij->nkhw", windows, weight)


torch.set_num_threads(1)
x, weight = np.random.randn(2, 3, 8, 9), np.random.randn(4, 3, 3, 3)
theirs = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(weight))
assert np.allclose(by_definition(x, weight), theirs)

# %% [markdown]
# **Exercise.** A warm-up of three minutes, in one dimension: one image with one channel and a
# single row of pixels. Lay the kernel on every place where it fits. The lines stand below in
# alphabetical order, and two of them belong nowhere: put the others in order. *Ctrl+/* turns
# comments into code, *Alt+↑* and *Alt+↓* move lines, *Tab* indents the selected lines.


# %% name="02.row" tags=["answer"]
def convolve_row(x, kernel):
    """The convolution of a row of pixels, one number for each place of the kernel."""
    ### BEGIN SOLUTION
    y = np.zeros(len(x) - len(kernel) + 1)
    for p in range(len(y)):
        for i in range(len(kernel)):
            y[p] += kernel[i] * x[p + i]
    return y
    ### END SOLUTION


# %% name="02.row" tags=["check"]
check("02.row", convolve_row)
### BEGIN HIDDEN TESTS
judge("02.row", convolve_row, seed=25)
### END HIDDEN TESTS

# %% [markdown]
# The library has each convolution of this unit on one screen, so that you can read it. Here is the
# definition, folded: click on the line to unfold it. The other ones are shown after your own, once
# `check` has found yours right.

# %%
definition("direct_convolution")

# %% [markdown]
# The four ways are
#
# | way | idea | pays with |
# |---|---|---|
# | **direct** | the definition, loop by loop | slow loops |
# | **im2col** | make each patch a column; then it is *one* matrix product | memory |
# | **Winograd** | fewer multiplications and more additions, tile by tile | additions, digits |
# | **FFT** | in frequencies a convolution is one product for each frequency | transforms, memory |
#
# Here is the idea of the second one. On the left is an image of 5 x 5 pixels, on the right the
# matrix for a kernel of 3 x 3. Each output has a column, with the nine pixels that it needs. A row
# of nine weights times this matrix is the convolution.

# %%
image = np.arange(25.0).reshape(5, 5)
matrix = torch.nn.functional.unfold(torch.from_numpy(image)[None, None], 3)[0]
assert matrix.shape == (9, 9)
plot_im2col(image, matrix.numpy())

# %% [markdown]
# With padding there are as many outputs as pixels. Then every pixel stands in the matrix nine
# times, except those at the border. So the matrix has
#
# $$\text{numbers} = N \cdot C \cdot r^2 \cdot P \cdot Q,$$
#
# for $N$ images with $P \times Q$ outputs each.
#
# ### Predict
#
# VGG-16 is a network of 2014 with kernels of 3 x 3 in all its convolutions. Its second layer has
# 64 input and 64 output channels, and images of 224 x 224. For 16 images, with 4 bytes for each
# number, the input of the layer takes 196 MiB. How many MiB does the matrix of im2col take? Put a
# number in place of the dots.

# %%
predict("02.workspace", ...)

# %% [markdown]
# ## 2. im2col · *beginner*
#
# **Exercise.** Make the matrix. `x` has the axes (images, channels, height, width). The matrix has
# a row for each weight, in the order of `weight[k]`: channel by channel, and within a channel row
# by row. It has a column for each output, image by image. With a `stride` of 2 only every second
# place has an output, in both directions.
#
# You could go through all outputs and copy their patches. But there are very many outputs and few
# weights. So go through the places of the kernel instead.


# %% name="02.im2col" tags=["answer"]
def im2col(x, kernel, stride=1):
    """Return the patches of `x` as a matrix: (channels * kernel * kernel, outputs)."""
    batch, channels, height, width = x.shape
    high, wide = (height - kernel) // stride + 1, (width - kernel) // stride + 1
    ### BEGIN SOLUTION
    matrix = np.empty((channels, kernel, kernel, batch, high, wide), x.dtype)
    for i in range(kernel):
        for j in range(kernel):
            seen = x[:, :, i : i + stride * high : stride, j : j + stride * wide : stride]
            matrix[:, i, j] = seen.swapaxes(0, 1)
    return matrix.reshape(channels * kernel * kernel, -1)
    ### END SOLUTION


# %%
plot_im2col(image, im2col(image[None, None], kernel=3, stride=2))

# %% name="02.im2col" tags=["check"]
check("02.im2col", im2col)
### BEGIN HIDDEN TESTS
judge("02.im2col", im2col, seed=21)
### END HIDDEN TESTS

# %% [markdown]
# Now a convolution is a matrix product: one row of weights for each output channel, times your
# matrix (Chellapilla and others, 2006). This saves no multiplications. But processors are best at
# matrix products, and people have made them fast for decades. Both steps together, on one screen:

# %%
definition("im2col")

# %% [markdown]
# Your prediction was about the memory that this takes.


# %%
def library_im2col(x, kernel, stride):
    columns = torch.nn.functional.unfold(torch.from_numpy(x), kernel, stride=stride)
    return columns.transpose(0, 1).flatten(1).numpy()


matrix = yours("02.im2col", im2col, library_im2col)(x, 3, 1)
product = (weight.reshape(4, -1) @ matrix).reshape(4, 2, 6, 7).swapaxes(0, 1)
assert np.allclose(product, by_definition(x, weight))
reveal("02.workspace", 16 * 64 * 3**2 * 224 * 224 * 4 / 2**20)

# %% [markdown]
# ## 3. Winograd · *intermediate*
#
# Take two neighbouring outputs of a kernel with three weights, in one dimension:
#
# $$y_0 = d_0 g_0 + d_1 g_1 + d_2 g_2, \qquad y_1 = d_1 g_0 + d_2 g_1 + d_3 g_2.$$
#
# These are six multiplications. Winograd (1980) needs four:
#
# $$m_1 = (d_0 - d_2)\, g_0, \quad m_2 = (d_1 + d_2)\,\frac{g_0 + g_1 + g_2}{2}, \quad
# m_3 = (d_2 - d_1)\,\frac{g_0 - g_1 + g_2}{2}, \quad m_4 = (d_1 - d_3)\, g_2,$$
#
# $$y_0 = m_1 + m_2 + m_3, \qquad y_1 = m_2 - m_3 - m_4.$$
#
# Insert the products into the sums, and you see that it is true. This is $F(2, 3)$: two outputs,
# three weights, and $2 + 3 - 1 = 4$ multiplications. The pixels $d$, the weights $g$ and the
# products $m$ go through sums, and each of these can be written as a matrix:
#
# $$y = A^T\,[\,(G\,g) \odot (B^T d)\,]$$
#
# where $\odot$ multiplies element by element. In two dimensions apply it to the rows and to the
# columns: $Y = A^T\,[\,(G\,g\,G^T) \odot (B^T d\,B)\,]\,A$. A tile of 4 x 4 pixels gives 2 x 2
# outputs with 16 multiplications, where the definition needs 36. Lavin and Gray brought this to
# networks in 2016. The sums cost something too. But a tile is transformed only once for all $K$
# output channels, and the sum over the channels can be taken *before* the transform back, by $A$.
#
# **Exercise.** Write $F(2 \times 2, 3 \times 3)$ for whole images. The tiles overlap: they begin
# every 2 pixels and have 4 x 4 pixels. `BT @ tiles @ BT.T` works on the last two axes of an array
# with any number of axes.
#
# If the result is the same, how can you see that a function really works by tiles? By a defect.
# Let one pixel be no number (`nan`), as after a fault in a camera or in a training. A sum with
# `nan` is `nan` too. So the spoiled outputs show which pixels were added up. The cell after yours
# draws them.


# %% name="02.winograd" tags=["answer"]
BT = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
AT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])


def winograd(x, weight):
    """Convolve with kernels of 3 x 3, without padding; the output has even height and width."""
    high, wide = x.shape[2] // 2 - 1, x.shape[3] // 2 - 1  # how many tiles
    ### BEGIN SOLUTION
    windows = np.lib.stride_tricks.sliding_window_view(x, (4, 4), (2, 3))
    tiles = BT @ windows[:, :, ::2, ::2] @ BT.T
    kernels = G @ weight @ G.T
    product = np.einsum("nchwij,kcij->nkhwij", tiles, kernels)
    out = (AT @ product @ AT.T).swapaxes(3, 4)
    return out.reshape(len(x), len(weight), 2 * high, 2 * wide)
    ### END SOLUTION


# %%
broken = np.random.randn(1, 1, 14, 14)
broken[0, 0, 6, 6] = np.nan
one = np.random.randn(1, 1, 3, 3)
ways = {"definition": by_definition, "yours": winograd}
plot_spread({name: way(broken, one)[0, 0] for name, way in ways.items()})

# %% name="02.winograd" tags=["check"]
check("02.winograd", winograd)
### BEGIN HIDDEN TESTS
judge("02.winograd", winograd, seed=22)
### END HIDDEN TESTS

# %% [markdown]
# The same on one screen, also for odd heights and widths:

# %%
definition("winograd")

# %% [markdown]
# Larger tiles save more: $F(m \times m, r \times r)$ takes $(m + r - 1)^2$ multiplications for
# $m^2$ outputs. The tile has $m + r - 1$ pixels a side, and the square of the *tile* counts. For
# kernels of 3 x 3, which take 9 multiplications by the definition, this gives
#
# | outputs of a tile | 2 x 2 | 3 x 3 | 4 x 4 | 6 x 6 | 10 x 10 |
# |---|---|---|---|---|---|
# | multiplications for an output | 4 | 2.78 | 2.25 | 1.78 | 1.44 |
# | times fewer | 2.25 | 3.24 | 4 | 5.06 | 6.25 |
#
# Why not take tiles of 100 x 100, then? Section 8 answers that.
#
# ## 4. Frequencies · *intermediate*
#
# A Fourier transform writes an image as a sum of waves. If you move the image by a pixel, only the
# phases of the waves change. A convolution is a sum of moved images with weights. So it multiplies
# each wave by a number, and these numbers are the Fourier transform of the kernel:
#
# $$\hat y_{n,k}(f) = \sum_{c} \hat x_{n,c}(f) \; \overline{\hat w_{k,c}(f)} .$$
#
# The bar is the complex conjugate. It is needed because deep learning does not flip the kernel, as
# mathematics does. (Mathieu, Henaff and LeCun used this in 2014.) Note three things:
#
# - The kernel must be as large as the image, with zeros around it. `rfft2` does that if you give
#   it the size.
# - For a wave the image has no border: its right side continues at the left. So the last $r - 1$
#   rows and columns of the result mix both sides, and must be cut off.
# - The images are real, so half of the frequencies are enough; `rfft2` and `irfft2` use that. Half
#   of the frequencies do not show whether the width was 6 or 7, so give `irfft2` the size.
#
# **Exercise.** Write it.


# %% name="02.fft" tags=["answer"]
def fft_convolution(x, weight):
    """Convolve by way of frequencies, without padding; kernels of any size."""
    size = height, width = x.shape[2:]
    kernel = weight.shape[2]
    ### BEGIN SOLUTION
    images, kernels = np.fft.rfft2(x), np.fft.rfft2(weight, size)
    product = np.einsum("nchw,kchw->nkhw", images, kernels.conj())
    whole = np.fft.irfft2(product, size)
    return whole[:, :, : height - kernel + 1, : width - kernel + 1]
    ### END SOLUTION


# %%
ways = {"definition": by_definition, "FFT": fft_convolution}
plot_spread({name: way(broken, one)[0, 0] for name, way in ways.items()})

# %% name="02.fft" tags=["check"]
check("02.fft", fft_convolution)
### BEGIN HIDDEN TESTS
judge("02.fft", fft_convolution, seed=23)
### END HIDDEN TESTS

# %% [markdown]
# One bad pixel spoils the whole image, since every wave goes through every pixel. It is the same
# with rounding: a bright spot in one corner takes digits away in the opposite corner. On one
# screen:

# %%
definition("fft_convolution")

# %% [markdown]
# ## 5. Where they meet · *intermediate*
#
# For the definition, and so for im2col, an operation is a multiplication or an addition. For
# images of $n \times n$ there are $2\, r^2 n^2 \cdot N C K$ of them. With frequencies there are
#
# - the transforms, each with about $5\, n^2 \log_2 n$ operations: $N C$ for the images, $C K$ for
#   the kernels, $N K$ for the way back;
# - the products: half of $n^2$ frequencies, and for each a complex multiplication and addition,
#   which are 8 operations with real numbers: $4\, n^2 \cdot N C K$ together.
#
# The kernel size $r$ is only in the first count. So from some kernel size on the FFT takes fewer
# operations. But do not only count operations: a matrix product runs nearly as fast as the
# processor can, and a transform does not. Let `slower` say how many times as long an operation of
# a transform takes as one of a product.
#
# $$2\, r^2 n^2\, N C K = 4\, n^2\, N C K
# + \text{slower} \cdot 5\, n^2 \log_2 n\;(N C + C K + N K)$$
#
# **Exercise.** At which kernel size $r$ are both equal? Before you write code, divide by $n^2 N C
# K$, and look at what is left of the three sets of transforms.


# %% name="02.crossover" tags=["answer"]
def crossover(batch, in_channels, out_channels, size, slower=1.0):
    """Return the kernel size r, not always a whole number, at which both take the same time."""
    ### BEGIN SOLUTION
    shares = 1 / batch + 1 / in_channels + 1 / out_channels
    return math.sqrt(2 + 2.5 * slower * math.log2(size) * shares)
    ### END SOLUTION


# %% name="02.crossover" tags=["check"]
check("02.crossover", crossover)
### BEGIN HIDDEN TESTS
judge("02.crossover", crossover, seed=24)
### END HIDDEN TESTS

# %% [markdown]
# $1/N + 1/C + 1/K$: each transform is shared. The transform of an image serves all $K$ output
# channels, and that of a kernel serves all $N$ images. The transform back comes after the sum over
# all $C$ channels. If one of the three numbers is small, few products share the cost of its
# transforms.
#
# ### Predict
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
# ## 6. Count, predict, measure · *beginner*
#
# There are three answers again. The first only counts. The second uses three numbers of your
# machine: how many operations of a large matrix product it does in a second, how many of a product
# with a matrix as small as a tile, and how many bytes it copies. It takes a moment to measure
# them. Then the time of a method is
#
# $$T = \frac{\text{products}}{\text{their rate}} + \frac{\text{transforms}}{\text{their rate}}
# + \frac{\text{bytes moved}}{\text{bandwidth}}.$$
#
# The third answer measures. The methods take turns, again and again, so that other programs
# disturb all of them alike. These are the library's methods. They are written like yours, in torch
# instead of NumPy, with one difference: your FFT transforms the whole image with a fast algorithm.
# The library cuts tiles of four kernels, and multiplies first their columns and then their rows by
# Fourier's matrix. These are more operations, but they are operations of a product, and their
# results lie where the next product reads them. `sweep` finds all three answers for a list of
# problems.

# %%
from ddl_measure.experiments.convolutions import sweep
from ddl_teach.operators.convolution.rates import butterfly_rate, machine_rates

rates, kernels, found = machine_rates(), list(range(3, 16, 2)), {}
slower = rates.product / butterfly_rate()
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
# The operations of the FFT grow more slowly, and in steps, because its tiles grow with the kernel
# and a whole number of tiles must cover the image. A transform of the whole image, like yours,
# hardly depends on the kernel.
#
# ## 7. The surprise · *beginner*
#
# "Small kernels: Winograd or im2col. Large kernels: FFT." That is only half of the truth.
# **Channels decide, not only the kernel.** With 3 channels im2col's product is short, $3 r^2$
# numbers for an output. But the FFT still transforms 64 channels back for each image: a share of
# $1/C = 1/3$ for each product, instead of $1/64$.
#
# Measure it. In the next cell the kernel stays 7 x 7, and the number of input channels grows.
# Beside it the batch grows, since $1/N$ stands in the formula of section 5 next to $1/C$.

# %%
from ddl_teach.theory.convolution_time import meeting_kernel, seconds

channels, batches = [1, 4, 16, 64, 128], [1, 2, 4, 8, 16]
layers = [Convolution(8, c, 32, 32, 64, 7, padding=3) for c in channels]
wider = sweep(layers, rates, ["im2col", "fft"], repetitions=3)
layers = [Convolution(n, 64, 32, 32, 64, 7, padding=3) for n in batches]
more = sweep(layers, rates, ["im2col", "fft"], repetitions=3)
plot_sweep(Swept.of("input channels", channels, wider), Swept.of("batch", batches, more))

# %% [markdown]
# On the left the time of im2col grows with the channels. The curve of the FFT is flat as long as
# transforming 64 channels back is most of its work. On the right both grow with the batch, but
# with a single image the FFT transforms all kernels for this one image. The formula says it in one
# line. The library's is called `meeting_kernel`; if you have written `crossover` in section 5, you
# can put yours in its place. The last argument is how much slower transforms are here:

# %%
for came_in in (1, 3, 16, 64, 256):
    counted, timed = (meeting_kernel(8, came_in, 64, 32, factor) for factor in (1.0, slower))
    print(f"{came_in:4} channels: from r = {counted:4.1f} by count, {timed:4.1f} with your rates")
assert meeting_kernel(8, 3, 64, 32, slower) > meeting_kernel(8, 64, 64, 32, slower)

# %% [markdown]
# So the first layer of a network, with three input channels, gains least from an FFT, although it
# often has the largest kernel. By this count there are layers in the middle, with hundreds of
# channels, where the FFT would pay at 5 x 5. Such layers became rarer when networks changed to 3 x
# 3 (VGG, 2014), where Winograd is good, and to 1 x 1 (ResNet, 2016), where nothing can be saved.
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
# fixed costs are left. At 32 x 32 the cost of each call hides the difference, so measure at the
# size that you need.
#
# ## 8. What Winograd pays with · *advanced*
#
# Why not tiles of 100 x 100? Winograd's sums contain numbers like 4, 5 and 21/4, and thousands in
# larger tiles. So large numbers are added that nearly cancel later, and the rest has fewer right
# digits. Take the definition in float64 as the truth, and see how far each tile is off in float32.

# %%
from ddl_class.plots.convolutions import plot_errors
from ddl_teach.operators.convolution.methods import find

x, weight = torch.randn(2, 64, 24, 24), torch.randn(32, 64, 3, 3)
truth, tiles = by_definition(x.double().numpy(), weight.double().numpy()), [2, 3, 4, 6, 8, 10]
methods = ["direct"] + [f"winograd_{m}x{m}" for m in tiles]
errors = [np.std(find(name).forward(x, weight).numpy() - truth) for name in methods]
reveal("02.error", errors[1 + tiles.index(6)] / errors[0])
assert errors[-1] > errors[0]
plot_errors(tiles, np.divide(errors[1:], errors[0]))

# %% [markdown]
# Each larger tile loses more digits, and saves less than the step before. NNPACK, a library for
# processors, uses $F(6 \times 6, 3 \times 3)$ in float32. With numbers of 16 bits the course's
# library refuses tiles of more than 8 x 8 values, because the result has hardly a right digit
# left, or overflows.
#
# ## 9. Predict for machines that you do not have · *intermediate*
#
# Three rates describe a machine. Take yours and two others. On one of them matrix products are ten
# times as fast and all else is unchanged, as tensor cores did it to GPUs. On the other all else is
# ten times as fast. For each machine the next cells predict 510 layers by three methods, and
# colour which method wins. Winograd takes part only at 3 x 3: it could do other kernels, but its
# errors grow there too.

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

more = {name: 10 * rate for name, rate in vars(rates).items()}
machines = {"your machine": rates, "products 10 x": replace(rates, product=more["product"])}
machines["all but products 10 x"] = replace(rates, **more | {"product": rates.product})
ways = ["im2col", "winograd_4x4", "fft"]
maps = {name: {way: predicted(way, one) for way in ways} for name, one in machines.items()}
plot_method_map(maps, sizes, channels, row_quantity="kernel size", column_quantity="channels")

# %% [markdown]
# When products become faster and nothing else does, im2col gains on every method that saves
# products. When all else becomes faster, im2col loses. The rates decide, and they change.
#
# ## 10. What production systems do · *intermediate*
#
# cuDNN is the library behind torch on NVIDIA's GPUs. Its older interface names these algorithms
# for the forward pass: GEMM (this is im2col), implicit GEMM (im2col whose matrix is never stored,
# but made piece by piece where it is used), FFT, FFT by tiles, and Winograd. The newer interface
# has numbered *engines* instead. oneDNN, behind torch on processors, has direct with blocked loops
# and GEMM, and on Arm also Winograd. Both choose by a heuristic. With cuDNN's algorithms torch can
# also try: `torch.backends.cudnn.benchmark = True` tries up to 10 of them once for each new shape,
# or as many as `benchmark_limit` says. An algorithm that needs more workspace than there is cannot
# be chosen. The course's chooser does the same, and gives its reason.
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
# torch was built with it. The library's methods and your own function take turns with it, and the
# table is in units of torch's time.

# %%
x, weight = torch.randn(4, 32, 34, 34), torch.randn(32, 32, 3, 3)
race = {"torch": lambda: torch.nn.functional.conv2d(x, weight)}
race |= {f"ours, {name}": partial(way.forward, x, weight) for name, way in METHODS.items()}
race |= {"yours, NumPy": lambda: fft_convolution(x.numpy(), weight.numpy())}
took = {name: np.min(times) for name, times in side_by_side(race, repetitions=5).items()}
print(*[f"{name:20} {time / took['torch']:6.1f}" for name, time in took.items()], sep="\n")
assert min(took.values()) > 0
progress()

# %% [markdown]
# oneDNN's direct way is the definition without any trick. It writes machine code for just this
# shape, keeps in registers what it needs again, and stores no matrix of patches. Tricks that save
# operations must first make up for the bytes that they move. `benchmarks/convolutions.py` in the
# repository makes this table for all layers of AlexNet, VGG-16 and ResNet-50, and says where the
# time goes. In its recorded results the library's fastest method takes 0.46 to 2.00 times as long
# as torch, layer by layer.
#
# On a GPU torch calls cuDNN. The next cell shows the layers of AlexNet as they were recorded on
# GPUs, with machine and date. If nothing is recorded yet, it says so.

# %%
from ddl_class.notebook.beside_gpus import recorded_table

print(f"torch, your processor, the layer above: {took['torch'] * 1e3:.3f} ms")
print(recorded_table("convolution, AlexNet"))

# %% [markdown]
# ## 11. A puzzle: four outputs · *intermediate*
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
mine = [values.get(f"y{k}") for k in range(4)]
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

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. In inference often a single image comes in at a time. What does that do to the FFT?
# 2. A layer has a stride of 2. What do Winograd and the FFT lose, and what does im2col?
# 3. What is there to gain for kernels of 1 x 1?
#
# <details><summary>Answers</summary>
#
# 1. The share $1/N$ is 1 then: each kernel is transformed for one image alone. Unless kernels are
#    kept as frequencies: they do not change any more, only they need $n^2/r^2$ times the memory.
# 2. Both compute all outputs, and three quarters are thrown away. im2col makes only the columns
#    that are needed, a quarter of them.
# 3. Nothing by tricks: $r^2 = 1$, nothing is computed twice. The patches are the pixels
#    themselves, im2col's matrix is the image, and the layer is a matrix product from the start.
#
# </details>
#
# ## Where to read on
#
# - Unit 03: what if the workspace does not fit? Split the batch, and choose for each part.
# - `ddl_teach/operators/convolution/`: the four methods with both gradients, stride, padding and
#   groups. `ddl_teach/theory/convolution_cost.py`: every count of this unit.
# - Lavin and Gray, "Fast algorithms for convolutional neural networks" (CVPR 2016).
# - Mathieu, Henaff and LeCun, "Fast training of convolutional networks through FFTs" (2014), and
#   Vasilache et al., "Fast convolutional nets with fbfft" (2015).
# - Chellapilla, Puri and Simard, "High performance convolutional neural networks for document
#   processing" (2006): im2col.
# - Ben-Nun and Hoefler, "Demystifying parallel and distributed deep learning" (ACM Computing
#   Surveys, 2019): the methods side by side, with their work and depth.
# - Fu et al., "FlashFFTConv: efficient convolutions for long sequences with tensor cores" (ICLR
#   2024): a filter as long as the text. There the FFT wins, once it is written as matrix
#   products and does not move its numbers back and forth.
# - Lohia, "NOVA: discovering well-conditioned Winograd transforms through numerical optimization
#   of Vandermonde arithmetic" (arXiv, 2025): larger tiles in 16 bits. Other points than whole
#   numbers round less badly.
