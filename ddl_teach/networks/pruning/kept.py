"""The weights that are kept: their places, and the vector of their values alone.

A pruned matrix of N weights with f N kept can be a dense one with zeros, of b N bytes. It can also
be the values and their places, of (b + 4) f N bytes: those in the flat matrix, sorted. One set of
places serves gradient, master copy and every optimizer state. Han, Pool, Tran & Dally, "Learning
both weights and connections for efficient neural networks", 2015 (the smallest weights go); Singh
& Bhatele, 2023 (one shared set of places).
"""

from torch import Tensor, nn

from ddl_runtime.core.checks import amount


def largest(weights: Tensor, fraction: float) -> Tensor:
    """The places of the `fraction` of weights that are largest in magnitude, at least one."""
    amount(fraction, "fraction of the weights to keep", zero=False, most=1)
    count = max(1, round(fraction * weights.numel()))
    return weights.detach().abs().reshape(-1).topk(count).indices.sort().values.int()


def largest_of(model: nn.Module, fraction: float) -> dict[str, Tensor]:
    """The largest weights of each matrix or kernel, by its name; biases and norms stay whole."""
    matrices = ((name, weight) for name, weight in model.named_parameters() if weight.dim() > 1)
    return {name: largest(weight, fraction) for name, weight in matrices}


def compress(dense: Tensor, places: Tensor) -> Tensor:
    """The values at these places, as a vector."""
    return dense.detach().reshape(-1)[places]


def expand(values: Tensor, places: Tensor, out: Tensor) -> None:
    """Write the values to their places in the dense `out`; all else becomes zero."""
    if len(values) != len(places):
        raise ValueError(f"{len(values)} values for {len(places)} places: give a value for each")
    flat = out.detach().zero_().view(-1)
    flat[places] = values
