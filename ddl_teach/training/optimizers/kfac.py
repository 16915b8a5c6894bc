"""K-FAC: undo how inputs stretch a layer's gradient on one side, and derivatives on the other.

    A = mean of a a^T,   D = mean of d d^T,   step = (D + x I)^-1  G  (A + y I)^-1

for a layer with inputs a, derivatives d of the loss by its outputs, and gradient G = mean of d a^T
(outputs x inputs). The layer's Fisher matrix has (inputs outputs)^2 numbers. It is about the
Kronecker product of A and D; the inverse of that costs inputs^3 + outputs^3 only. Over ranks, A, D
and G are averaged, then each layer is inverted by one rank and its step broadcast. Martens and
Grosse 2015, damped as in section 6.3; over ranks Osawa et al. 2019.
What to look at: on linear least squares, where the factors are exact, one step is all it takes. d
should come from answers that the network itself draws (the Fisher matrix), not from the labels.
"""

from collections.abc import Sequence

import numpy as np

from ddl_runtime.core.checks import amount
from ddl_teach.collectives import ring, tree
from ddl_teach.comm import Comm
from ddl_teach.training.tasks.task import Factors, offsets


def step(layer: Factors, damping: float) -> np.ndarray:
    """The step for the layer's weights, in the gradient's shape: weights -= rate * step(...)."""
    amount(damping, "kfac.step: damping")
    # The damping is shared out so that both factors are shifted by the same part of their size.
    size_in = float(np.trace(layer.inputs)) / len(layer.inputs)
    size_out = float(np.trace(layer.derivatives)) / len(layer.derivatives)
    alive = size_in > 0 and size_out > 0  # a network that is sure of all samples has no curvature
    share = (size_in / size_out) ** 0.5 if alive else 1.0
    shifted_in = layer.inputs + np.sqrt(damping) * share * np.eye(len(layer.inputs))
    shifted_out = layer.derivatives + np.sqrt(damping) / share * np.eye(len(layer.derivatives))
    halfway = np.linalg.solve(shifted_out, layer.gradient)
    towards = np.linalg.solve(shifted_in, halfway.T).T
    return np.ascontiguousarray(towards, layer.gradient.dtype)


def flattened(layers: Sequence[Factors]) -> np.ndarray:
    """All factors of all layers, one after another, as one vector that can travel."""
    return np.concatenate([part.ravel() for layer in layers for part in vars(layer).values()])


def restored(flat: np.ndarray, like: Sequence[Factors]) -> list[Factors]:
    """The factors in such a vector, of the shapes of those given."""
    shapes = tuple(part.shape for layer in like for part in vars(layer).values())
    cuts = offsets(shapes)[1:-1]
    parts = [p.reshape(shape) for p, shape in zip(np.split(flat, cuts), shapes, strict=True)]
    return [Factors(*parts[at : at + 3]) for at in range(0, len(parts), 3)]


def distributed(comm: Comm, layers: Sequence[Factors], damping: float) -> list[np.ndarray]:
    """The steps of all layers, on all ranks; each rank has equally many samples of its own."""
    steps: list[np.ndarray] = []
    for layer in layers:
        flat = flattened([layer])
        ring.allreduce(comm, flat)
        flat /= comm.size
        [mean] = restored(flat, [layer])
        mine = len(steps) % comm.size == comm.rank
        steps.append(step(mean, damping) if mine else np.empty_like(mean.gradient))
    for number, towards in enumerate(steps):
        tree.broadcast(comm, towards, root=number % comm.size)
    return steps
