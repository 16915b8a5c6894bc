"""Where the memory goes: weights, gradients and optimizer states, whole or sharded, on each rank.

Training holds for each parameter b bytes of weight, b of gradient and K of optimizer states. Adam
in half precision has b = 2 and K = 12: a weight and two moments in single precision.

    stage   weights   gradients   states   a rank sends in a step
    0       b N       b N         K N      2 (P-1)/P b N    all-reduce of the gradients
    1       b N       b N         K N/P    2 (P-1)/P b N    reduce-scatter them, all-gather weights
    2       b N       b N/P       K N/P    2 (P-1)/P b N    the same, layer by layer
    3       b N/P     b N/P       K N/P    3 (P-1)/P b N    all-gather the weights twice

Rajbhandari et al., "ZeRO", 2020. What to look at: stages 1 and 2 cost no byte more than stage 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ddl_teach.theory import ring_bytes

STAGES = (0, 1, 2, 3)
INDEX = 4  # bytes of the place of a kept weight


@dataclass(frozen=True)
class HeldBytes:
    """Bytes on one rank."""

    weights: int
    gradients: int
    states: int
    activations: int = 0

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.states + self.activations


def held(
    stage: int,
    layers: Sequence[int],
    ranks: int,
    rank: int = 0,
    *,
    weight: int = 4,
    state: int = 8,
) -> HeldBytes:
    """What a rank holds, but for the layer that stages 2 and 3 hold for a moment. `layers` are the
    numbers of parameters of what is cut as one vector, `weight` and `state` bytes of each.
    """
    whole = sum(layers)
    own = sum(ring_bytes.even(layer, ranks)[rank] for layer in layers)
    weights, gradients, states = (
        own if check_stage(stage) >= part else whole for part in (3, 2, 1)
    )
    return HeldBytes(weight * weights, weight * gradients, state * states)


def sent(stage: int, layers: Sequence[int], ranks: int, rank: int = 0, *, weight: int = 4) -> int:
    """The bytes that a rank sends in a step, round rings, to the byte."""
    gathers = 2 if check_stage(stage) == 3 else 1
    total = 0
    for layer in layers:
        pieces = ring_bytes.even(layer, ranks)
        total += ring_bytes.reduce_scatter(pieces, rank, weight)
        total += gathers * ring_bytes.allgather(pieces, rank, weight)
    return total


def check_stage(stage: int) -> int:
    """The stage, if there is such a one."""
    if stage not in STAGES:
        raise ValueError(
            f"there is no stage {stage!r}: 0 shards nothing, 1 the optimizer states, 2 also the "
            "gradients, 3 also the weights"
        )
    return stage


def offloaded(parameters: int, bucket: int, *, weight: int = 4, state: int = 8) -> int:
    """The bytes on a device whose optimizer states live on the host: 2 b N + 2 K bucket, for one
    bucket of them is updated while the other comes or goes.

    Singh and Bhatele, "AxoNN", 2022.
    """
    return 2 * weight * parameters + 2 * state * min(parameters, bucket)


def pruned(parameters: int, kept: int, *, weight: int = 4, state: int = 8) -> HeldBytes:
    """What is held when only `kept` parameters are trained: dense weights, and of those that are
    kept a compressed copy of the weight, gradient and states, and the place of each:
    b N + (2 b + K + 4) kept.

    Singh & Bhatele, "Exploiting sparsity in pruned neural networks to optimize large model
    training", 2023.
    """
    return HeldBytes(weight * (parameters + kept), weight * kept, (state + INDEX) * kept)
