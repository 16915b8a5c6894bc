"""Direct convolution: the definition, seven loops around one multiplication.

    y[n, k, i, j] = sum over c, u, v of x[n, c, i + u, j + v] w[k, c, u, v]

Work: N K H' W' C R S multiplications, H' = H - R + 1 and W' = W - S + 1. Depth: one
multiplication and a sum of C R S numbers, 1 + ceil(log2 (C R S)).
LeCun et al., "Gradient-based learning applied to document recognition", 1998, for the layer.
What to look at: the four outer loops may run in any order, or all at once; the three inner loops
add to the same number.
"""

import numpy as np


def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Convolve images `x` (N, C, H, W) with filters `w` (K, C, R, S), without padding."""
    images, channels, height, width = x.shape
    filters, _, rows, columns = w.shape
    y = np.zeros((images, filters, height - rows + 1, width - columns + 1), x.dtype)
    for n in range(images):
        for k in range(filters):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    for c in range(channels):
                        for u in range(rows):
                            for v in range(columns):
                                y[n, k, i, j] += x[n, c, i + u, j + v] * w[k, c, u, v]
    return y
