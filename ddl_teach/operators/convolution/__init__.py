"""Four convolutions: the same result in four orders, and everything that depends on the order.

    problem             of torch's tensors and settings: which convolutions the methods compute
    direct              the definition, one kernel position at a time
    im2col              one matrix product, paid with memory
    fft                 a product per frequency
    winograd            fewer multiplications per tile, for any tile
    winograd_matrices   its transforms, in exact fractions
    methods             all of them by name
    operator            any of them as a differentiable torch operator
    layer               a network that uses any of them by name
    chooser             the method that is expected to be the fastest
    rates               what this machine does per second, measured
    phases              a stride as more channels
    tiles               images cut into tiles, and put together again
    fourier             the matrices of a tile's Fourier transform
    filters             the weight, laid out for transforms, and turned for the input's gradient
    blocks              work that stays in the caches

An algorithm is a file, or an object, with the same four functions:

    forward(x, weight, problem)                  the output
    input_gradient(gradient, weight, problem)    the gradient of the loss by the input
    weight_gradient(x, gradient, problem)        and per weight
    workspace(problem, dtype)                    bytes beyond input, weight and output

with x (batch, in_channels, height, width) and weight (out_channels, in_channels / groups,
kernel_height, kernel_width). A `Method` is one of them under its name: it makes the problem from
stride, padding and groups, checks it, and says why it cannot be done this way.
"""

from ddl_teach.operators.convolution.layer import Convolution2d, use, use_torch
from ddl_teach.operators.convolution.methods import METHODS, Method
from ddl_teach.operators.convolution.operator import convolve
from ddl_teach.operators.convolution.problem import Convolution

__all__ = ["METHODS", "Convolution", "Convolution2d", "Method", "convolve", "use", "use_torch"]
