"""Convolution by Fourier transform: a sum over shifts becomes one product for each frequency.

    Y[n, k, f] = sum over c of X[n, c, f] conj(W[k, c, f])

Work: N K C H (W/2 + 1) complex multiplications for a filter of any size. Transforms of N C images,
K C filters and N K results take H W log(H W) operations each. Real images need only half of the
frequencies.
Mathieu, Henaff and LeCun, "Fast training of convolutional networks through FFTs", 2014.
What to look at: a transform is used K, N or C times, so with many channels they cost little.
"""

import numpy as np


def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Convolve images `x` (N, C, H, W) with filters `w` (K, C, R, S), without padding."""
    height, width = x.shape[2:]
    rows, columns = w.shape[2:]
    image_spectra = np.fft.rfft2(x)
    filter_spectra = np.fft.rfft2(w, (height, width))  # filters, filled up with zeros
    # The conjugate turns the filter round: a layer's convolution is a correlation.
    spectra = np.einsum("ncab,kcab->nkab", image_spectra, filter_spectra.conj())
    y = np.fft.irfft2(spectra, (height, width))
    # The last outputs are wrong: there the filter leaves the image and comes in again opposite.
    return y[:, :, : height - rows + 1, : width - columns + 1]
