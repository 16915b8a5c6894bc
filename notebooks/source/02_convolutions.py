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
# do. `02_which_is_fastest` then finds out when each of them wins. You need unit 01: what work is.
# *Beginners* can leave out what is marked *intermediate* or *advanced*. About 80 minutes.
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
# `einsum` multiplies and adds as its letters say. Each letter is an axis. A letter that is missing
# after the arrow, such as `c`, is summed over. (There is no stride and no padding. If you want
# padding, pad the image first.) torch gets one thread, so that other programs disturb the
# measurements less.

# %%
import math

import numpy as np
import torch

from ddl_class import check, definition, hint, judge, predict, reveal, yours
from ddl_class.plots.convolutions import plot_im2col, plot_spread


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
# **Exercise.** A second warm-up. How many outputs has a row? `padding` is the number of zeros that
# are added at *each* end of the row. With a `stride` of 2 the kernel moves by two pixels. A place
# where it does not fit has no output.


# %% name="02.outputs" tags=["answer"]
def outputs(pixels, kernel, stride, padding):
    """How many places a kernel has on a row of pixels."""
    ### BEGIN SOLUTION
    return (pixels + 2 * padding - kernel) // stride + 1
    ### END SOLUTION


# %% name="02.outputs" tags=["check"]
check("02.outputs", outputs)
### BEGIN HIDDEN TESTS
judge("02.outputs", outputs, seed=27)
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
# weights. So go through the places of the kernel instead. The cell after yours draws your matrix
# for a stride of 2. The first row of a right one has the pixels 0, 2, 10 and 12.


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
# $$m_1 = (d_0 - d_2)\, g_0, \qquad m_2 = (d_1 + d_2)\,\frac{g_0 + g_1 + g_2}{2},$$
#
# $$m_3 = (d_2 - d_1)\,\frac{g_0 - g_1 + g_2}{2}, \qquad m_4 = (d_1 - d_3)\, g_2,$$
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
# draws them in red. A tile that holds the pixel spoils all its outputs. So by tiles there must be
# more red than by the definition.


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
# Why not take tiles of 100 x 100, then? `02_which_is_fastest` answers that.
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
# **Exercise.** Write it. The cell after yours draws which outputs the broken pixel spoils now.
# How many will it be?


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
ways = {"definition": by_definition, "your FFT": fft_convolution}
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
# So the sums decide, and the machine. `02_which_is_fastest` measures them, and predicts which of
# the four ways wins.
#
# ## Three questions
#
# Think first, then unfold.
#
# 1. A network that is in use often gets one image at a time. What does that do to the FFT?
# 2. A layer has a stride of 2. What do Winograd and the FFT lose, and what does im2col?
# 3. Why does the matrix of im2col take nine times the memory of the images, for kernels of 3 x 3?
#
# <details><summary>Answers</summary>
#
# 1. The share $1/N$ is 1 then: each kernel is transformed for one image alone. After training the
#    kernels do not change any more, so they can be kept as frequencies. Then they need $n^2/r^2$
#    times the memory.
# 2. Both compute all outputs, and three quarters are thrown away. im2col makes only the columns
#    that are needed, a quarter of them.
# 3. Each pixel lies under nine places of the kernel, and the matrix has it once for each of them.
#
# </details>
#
# ## Where to read on
#
# - `ddl_teach/operators/convolution/`: the four methods with both gradients, stride, padding and
#   groups. `ddl_teach/theory/convolution_cost.py`: every count of this unit.
# - Lavin and Gray, "Fast algorithms for convolutional neural networks" (CVPR 2016).
# - Mathieu, Henaff and LeCun, "Fast training of convolutional networks through FFTs" (2014), and
#   Vasilache et al., "Fast convolutional nets with fbfft" (2015).
# - Chellapilla, Puri and Simard, "High performance convolutional neural networks for document
#   processing" (2006): im2col.
# - Ben-Nun and Hoefler, "Demystifying parallel and distributed deep learning" (ACM Computing
#   Surveys, 2019): the methods side by side, with their work and depth.
