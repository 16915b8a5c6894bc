"""Work and depth of every operator: how many scalar operations, and how many in one chain.

One module per operator; in each `forward`, `input_gradient` and, where there is something to
learn, `parameter_gradient`. All take the operator's sizes, the same for each pass, and give a
`WorkDepth`, whose `parallelism` is W / D.

=================== ======================================== ===================================
counting            sums, dot products, matrix products      what everything else is made of
activation          relu, sigmoid, tanh, gelu                depth constant
fully_connected     y = x W + b                              depth log of what is summed
direct              convolution, by its definition           depth log of C_in K_h K_w
im2col              convolution as one matrix product        the same work, more memory
fft                 convolution by frequencies               depth log of the plane
winograd            convolution by small tiles               depth of the tile's transforms
max_pooling         the largest of each window               depth log of the window
average_pooling     the mean of each window                  depth log of the window
batch_normalisation statistics over the batch                two sums over everything
layer_normalisation statistics over the features             two sums over one row
softmax             exp over its sum                         two trees over one row
attention           softmax(Q K^T) V                         depth log of the sequence
rnn, lstm, gru      recurrent layers                         depth linear in the sequence
through_time        gradients of their weights               depth of the way back, and a sum
windows             how many windows lie over a pixel        what gradients sum over
=================== ======================================== ===================================

What counts, so that a formula can be wrong by not even one: an addition, a multiplication, a
division, a comparison, a choice and a function of one number (exp, tanh, square root, ...) are
one operation each, and take one step. Copying, turning, padding and looking up cost nothing, and
neither does a minus sign within a sum. Sums are trees that take the two numbers that came first;
so n numbers that are there at once need n - 1 operations and ceil(log2 n) steps. Zeros of a
padding are multiplied and added as other numbers are. Nothing is computed for a number that
nobody asked for: the gradient of the padding, say. Constants (1/n, 1/sqrt(d), transform matrices)
are there before. Tests build every one of these graphs with `ddl_teach.operators.graphs`, and
count them.

Ben-Nun & Hoefler, "Demystifying Parallel and Distributed Deep Learning", ACM CSUR 52(4), 2019,
section 4, gives the leading orders.
"""
