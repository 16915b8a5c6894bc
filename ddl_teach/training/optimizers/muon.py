"""Muon: a matrix steps by its momentum with all singular values made about equal.

    m = mu m + (1 - mu) g;   u = mu m + (1 - mu) g            momentum, one step ahead
    X = u / |u|;   five times  X = a X + (b A + c A^2) X,  A = X X^T
    W -= rate sqrt(max(1, rows / columns)) X

Each round takes every singular value s to a s + b s^3 + c s^5. The three numbers lift small values
fast, and leave them between about 0.7 and 1.2. A gradient has a few large directions and many
small ones; here all of them step alike. Biases, norms, the embedding and the head take `rest`.
Jordan, Jin, Boza, You, Cesista, Newhouse and Bernstein, "Muon: an optimizer for hidden layers in
neural networks", 2024; Liu et al., "Muon is scalable for LLM training", 2025.
What to look at: one state a weight where Adam has two, and matrix products in every step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ddl_runtime.core.arrays import Array
from ddl_runtime.core.checks import amount
from ddl_teach.collectives import ring, tree
from ddl_teach.comm import Comm
from ddl_teach.theory.muon import owners
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.settings import Rate, States, at, norm
from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.tasks.task import offsets

COEFFICIENTS = 3.4445, -4.775, 2.0315
ADAM = Adam()


def orthogonal(matrix: Array, rounds: int = 5) -> Array:
    """A matrix with the same singular vectors, and singular values near 1."""
    a, b, c = COEFFICIENTS
    wide = len(matrix) <= matrix.shape[1]
    x = matrix if wide else matrix.T
    x = x / max(norm(x), 1e-7)
    for _ in range(rounds):
        gram = x @ x.T  # the smaller of the two products
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x if wide else x.T


@dataclass(frozen=True)
class Muon:
    """For a flat vector of weights of these shapes. Where a shape is no matrix, or its place is in
    `kept`, the rule `rest` is used, which must be element-wise."""

    shapes: tuple[tuple[int, ...], ...]
    rate: Rate = 0.02
    momentum: float = 0.95
    rest: Update = ADAM
    kept: tuple[int, ...] = ()
    elementwise = False

    def __post_init__(self) -> None:
        amount(self.momentum, "Muon: momentum", below=1)
        if not callable(self.rate):
            amount(self.rate, "Muon: rate", example=", or a function of the step")
        if not self.rest.elementwise:
            raise ValueError(f"Muon: rest={self.rest} must be element-wise: take Adam() or SGD()")

    @property
    def states(self) -> int:
        return max(1, self.rest.states)

    def __call__(self, weights: Array, gradient: Array, states: States, step: int) -> None:
        cuts = offsets(self.shapes)
        if len(weights) != cuts[-1]:
            sizes = f"this vector has {len(weights)} numbers, and the shapes have {cuts[-1]}"
            raise ValueError(f"Muon: {sizes}: give the shapes of all parameters, in their order")
        for place, (begin, end) in enumerate(pairwise(cuts)):
            own, slope = weights[begin:end], gradient[begin:end]
            moments = [state[begin:end] for state in states]
            shape = self.shapes[place]
            if len(shape) != 2 or place in self.kept:
                self.rest(own, slope, moments[: self.rest.states], step)
                continue
            moment, mu = moments[0], self.momentum
            moment *= mu
            moment += (1 - mu) * slope
            towards = orthogonal((mu * moment + (1 - mu) * slope).reshape(shape)).reshape(-1)
            own -= at(self.rate, step) * max(1, shape[0] / shape[1]) ** 0.5 * towards


def by_owners(comm: Comm, matrices: Sequence[Array]) -> None:
    """Each matrix is added up on its owner, made orthogonal there alone, and sent to all ranks."""
    owner = owners([matrix.shape for matrix in matrices], comm.size)
    for matrix, root in zip(matrices, owner, strict=True):
        tree.reduce(comm, matrix, root)
    for matrix, root in zip(matrices, owner, strict=True):
        if comm.rank == root:
            matrix[...] = orthogonal(matrix)
    for matrix, root in zip(matrices, owner, strict=True):
        tree.broadcast(comm, matrix, root)


def everywhere(comm: Comm, matrices: Sequence[Array]) -> None:
    """All ranks get all sums and make all of them orthogonal: the same steps, P times the work."""
    for matrix in matrices:
        ring.allreduce(comm, matrix)
        matrix[...] = orthogonal(matrix)
