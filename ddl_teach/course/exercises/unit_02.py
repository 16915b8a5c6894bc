"""Unit 02, four convolutions: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import convolution_judges as judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "02",
    "Four convolutions",
    exercises=(
        Exercise(
            "02.im2col",
            "A convolution as one matrix product",
            points=3,
            hints=(
                "Go through the kernel's positions, not through the outputs: position (i, j) sees "
                "the whole image, shifted by i rows and j columns, every `stride`-th pixel of it.",
                "Make room with np.empty((channels, kernel, kernel, batch, high, wide)), put "
                "x[:, :, i : i + stride * high : stride, j : j + stride * wide : stride] with its "
                "first two axes swapped into [:, i, j], and reshape at the end.",
            ),
            judge=judges.judge_im2col,
            right="Weights times this matrix is the convolution, for every kernel and stride.",
            parameters=("x", "kernel", "stride"),
            ranks=(),
        ),
        Exercise(
            "02.winograd",
            "Winograd's F(2x2, 3x3)",
            points=4,
            hints=(
                "Tiles of 4 x 4 pixels begin every 2 pixels: sliding_window_view(x, (4, 4), "
                "(2, 3)) has all of them, and [:, :, ::2, ::2] takes every second. The products "
                "BT @ tiles @ BT.T work on the last two axes and leave the others alone.",
                'np.einsum("nchwij,kcij->nkhwij", tiles, kernels) multiplies element by element '
                "and sums over the channels. AT @ product @ AT.T has the axes (images, out, high, "
                "wide, 2, 2): swap the two in the middle, axes 3 and 4, then reshape.",
            ),
            judge=judges.judge_winograd,
            right="Right for every shape, and by tiles: 16 multiplications where the definition "
            "has 36.",
            parameters=("x", "weight"),
            ranks=(),
        ),
        Exercise(
            "02.fft",
            "A convolution by way of frequencies",
            points=3,
            hints=(
                "Three lines: transform both to the same size, multiply the images' frequencies "
                "by the conjugate of the kernels', sum over channels, go back. Then cut.",
                "np.fft.rfft2(weight, size) puts zeros around the kernel; "
                'np.einsum("nchw,kchw->nkhw", images, kernels.conj()); np.fft.irfft2(product, '
                "size). Right are the first height - kernel + 1 rows; columns likewise.",
            ),
            judge=judges.judge_fft,
            right="Right for odd and even sizes, and however large the kernel is, it costs the "
            "same.",
            parameters=("x", "weight"),
            ranks=(),
        ),
        Exercise(
            "02.crossover",
            "The kernel size at which the FFT begins to win",
            points=2,
            hints=(
                "Divide both times by n * n * B * C * K. On the side of the transforms B * C + "
                "C * K + B * K becomes 1 / K + 1 / B + 1 / C.",
                "Left 2 * r**2 is left, right 4 + 5 * slower * log2(n) * (1/B + 1/C + 1/K). Solve "
                "for r.",
            ),
            judge=judges.judge_crossover,
            right="The more channels share a transform, the smaller the kernel at which it pays.",
            parameters=("batch", "in_channels", "out_channels", "size", "slower"),
            ranks=(),
        ),
    ),
    predictions=(
        Prediction(
            "02.workspace",
            "VGG-16's second layer has 64 channels in and out, images of 224 x 224 and kernels of "
            "3 x 3. For 16 images its input has 196 MiB. How many MiB has im2col's matrix?",
            "MiB",
            close=1.2,
        ),
        Prediction(
            "02.few_channels",
            "With 3 channels coming in: from which kernel size on is the FFT faster than im2col "
            "on your machine?",
            "pixels",
            close=1.5,
        ),
        Prediction(
            "02.many_channels",
            "And with 64 channels coming in?",
            "pixels",
            close=1.5,
        ),
        Prediction(
            "02.error",
            "In float32, how many times as large is the error of Winograd's F(6x6, 3x3) as that "
            "of the definition?",
            "times",
            close=3.0,
        ),
    ),
)
