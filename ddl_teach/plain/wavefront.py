"""Wavefront: the cells of a recurrent network of L layers and T steps, diagonal by diagonal.

    h[l, t] = tanh(W_l h[l-1, t] + U_l h[l, t-1] + b_l)

A cell needs the cell below and the cell before, so all cells with the same l + t are independent.
Cost: L + T - 1 diagonals, one after another, in place of L T cells. The work stays the same; the
average parallelism is L T / (L + T - 1), and at most min(L, T) cells run at once.
Appleyard, Kocisky and Blunsom, "Optimizing performance of recurrent neural networks on GPUs",
2016.
What to look at: the first and the last diagonals are short; there processors wait.
"""

import numpy as np


def forward(x: np.ndarray, w: np.ndarray, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return all hidden states (L, T, N, H) for inputs `x` (T, N, H); the first states are zero.

    `w` and `u` (L, H, H) multiply what comes from below and from before; `b` is (L, 1, H).
    """
    layers, steps = len(w), len(x)
    # Row 0 is below the first layer: the inputs. Column 0 is before the first step: zeros.
    h = np.zeros((layers + 1, steps + 1, *x.shape[1:]), x.dtype)
    h[0, 1:] = x
    for diagonal in range(layers + steps - 1):
        layer = np.arange(max(0, diagonal - steps + 1), min(layers, diagonal + 1))
        step = diagonal - layer
        below, before = h[layer, step + 1], h[layer + 1, step]
        # One product for all cells of the diagonal: (cells, N, H) by (cells, H, H).
        sums = below @ w[layer].mT + before @ u[layer].mT + b[layer]
        h[layer + 1, step + 1] = np.tanh(sums)
    return h[1:, 1:]
