"""im2col: copy what each output sees into a column, and a convolution is one matrix product.

Work: N K H' W' C R S multiplications, as in the definition. They are one product of (K, C R S) by
(C R S, N H' W'), which every library computes fast. Memory: N C R S H' W' numbers for the columns,
up to R S times as many as the images have. Chellapilla, Puri and Simard, "High performance
convolutional neural networks for document processing", 2006.
What to look at: each number of an image stands in up to R S columns.
"""

import numpy as np


def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Convolve images `x` (N, C, H, W) with filters `w` (K, C, R, S), without padding."""
    images, channels, height, width = x.shape
    filters, _, rows, columns = w.shape
    high, wide = height - rows + 1, width - columns + 1
    matrix = np.empty((channels, rows, columns, images, high, wide), x.dtype)
    for u in range(rows):
        for v in range(columns):
            # What all outputs see at place (u, v) of the filter: the images, shifted.
            matrix[:, u, v] = x[:, :, u : u + high, v : v + wide].swapaxes(0, 1)
    y = w.reshape(filters, -1) @ matrix.reshape(channels * rows * columns, -1)
    return y.reshape(filters, images, high, wide).swapaxes(0, 1)
