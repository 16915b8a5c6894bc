"""Where one layer ends in a flat vector and the next one begins.

`layers` are offsets, beginning with 0 and ending with the size of the whole: (0, 2048, 2080) is a
matrix of 2048 weights and a bias of 32. A rule that needs a layer's norm needs the whole layer.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ddl_runtime.core.arrays import Array


def check_layers(layers: Sequence[int]) -> None:
    """Refuse what cannot be the boundaries of layers."""
    if len(layers) < 2 or layers[0] != 0 or any(end <= begin for begin, end in pairwise(layers)):
        raise ValueError(
            f"layers={tuple(layers)}: give the offsets at which layers begin, from 0 on and "
            "rising, and the size of the whole vector last, as in (0, 2048, 2080)"
        )


def pieces(layers: Sequence[int], *vectors: Array) -> Iterator[tuple[Array, ...]]:
    """The parts of each of the vectors that belong to one layer, as views, layer by layer."""
    for vector in vectors:
        if len(vector) != layers[-1]:
            raise ValueError(
                f"this vector has {len(vector)} numbers, but the layers end at {layers[-1]}. A "
                "rule that looks at the norm of a layer cannot work on a part of it: give it the "
                "whole vector, or take an element-wise rule where the vector is cut."
            )
    for begin, end in pairwise(layers):
        yield tuple(vector[begin:end] for vector in vectors)


def norm(vector: Array) -> float:
    """The Euclidean length."""
    length: float = float((vector * vector).sum()) ** 0.5
    return length
