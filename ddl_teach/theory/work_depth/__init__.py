"""Work and depth of every operator: how many scalar operations, and how many in one chain.

Each operator has a `forward`, an `input_gradient` and, where there is something to learn, a
`parameter_gradient`. All take the operator's sizes, the same for each pass, and give a
`WorkDepth`, whose `parallelism` is W / D.

=========== =================== ======================================== =======================
counting    what everything else is made of: sums, dot products, matrix products
layers      activation          relu, sigmoid, tanh, gelu                depth constant
            fully_connected     y = x W + b                              log of what is summed
            max_pooling         the largest of each window               log of the window
            average_pooling     the mean of each window                  log of the window
            batch_normalisation statistics over the batch                two sums over everything
            layer_normalisation statistics over the features             two sums over one row
            softmax             exp over its sum                         two trees over one row
            attention           softmax(Q K^T) V                         log of the sequence
recurrent   rnn, lstm, gru      step after step                          linear in the sequence
convolution direct              by the definition                        log of C_in K_h K_w
            im2col              as one matrix product                    as direct; more memory
            fft                 by frequencies                           log of the plane
winograd    convolution by small tiles                                   the tile's transforms
windows     how many windows lie over a pixel: what gradients sum over
=========== =================== ======================================== =======================

What counts: an addition, a multiplication, a division, a comparison, a choice and a function of
one number (exp, tanh, square root, ...) are one operation each, and take one step. Copying,
turning, padding, looking up and a minus sign within a sum cost nothing. Sums are trees that take
the two numbers that came first. Zeros of a padding are multiplied and added as other numbers are.
Constants (1/n, 1/sqrt(d), transform matrices) are there before. `ddl_teach.operators.graphs`
builds such graphs and counts them.

Ben-Nun & Hoefler, "Demystifying Parallel and Distributed Deep Learning", ACM CSUR 52(4), 2019,
section 4, gives the leading orders.
"""

from ddl_teach.theory.work_depth.convolution import direct, fft, im2col
from ddl_teach.theory.work_depth.layers import (
    activation,
    attention,
    average_pooling,
    batch_normalisation,
    fully_connected,
    layer_normalisation,
    max_pooling,
    softmax,
)
from ddl_teach.theory.work_depth.recurrent import gru, lstm, rnn

__all__ = [
    "activation", "attention", "average_pooling", "batch_normalisation", "direct", "fft",
    "fully_connected", "gru", "im2col", "layer_normalisation", "lstm", "max_pooling", "rnn",
    "softmax",
]  # fmt: skip
