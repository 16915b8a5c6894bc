"""What a layer's curvature is made of: the two factors of K-FAC, and the gradient beside them.

A task that knows its layers computes them; `kfac` makes a step of them.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Factors:
    """What one layer's step is made of, as means over samples."""

    inputs: np.ndarray  # A, of inputs x inputs
    derivatives: np.ndarray  # D, of outputs x outputs
    gradient: np.ndarray  # G, of outputs x inputs


def factors(inputs: np.ndarray, drawn: np.ndarray, derivatives: np.ndarray) -> Factors:
    """Of (samples, inputs), and of derivatives (samples, outputs) for drawn and for true answers.

    A layer with a bias has one input more, which is always 1.
    """
    samples = len(inputs)
    return Factors(
        inputs.T @ inputs / samples, drawn.T @ drawn / samples, derivatives.T @ inputs / samples
    )
