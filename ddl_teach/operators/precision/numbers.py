"""What all sums ask of their numbers: floating-point, of NumPy or torch, along the first axis."""

import math

import numpy as np
import torch

from ddl_teach.operators.arrays import Array, library


def type_name(x: Array) -> str:
    """The element type as theory.rounding names its formats."""
    return str(x.dtype).removeprefix("torch.")


def converted(x: Array, name: str) -> Array:
    """`x` rounded to another format."""
    if isinstance(x, torch.Tensor):
        return x.to(getattr(torch, name))
    if name == "bfloat16":
        raise TypeError("accumulator='bfloat16': NumPy has no bfloat16; give torch tensors")
    return np.asarray(x).astype(name)


def zero(x: Array) -> Array:
    """What a sum of these terms begins with; refuses what is no array of floats."""
    if not isinstance(x, (np.ndarray, torch.Tensor)):
        raise TypeError(f"x must be a NumPy array or a torch tensor, not a {type(x).__name__}")
    if "float" not in type_name(x):
        advice = "Convert it, for instance with x.astype(np.float16)"
        raise TypeError(f"x holds {type_name(x)}: only floats are rounded. {advice}")
    if not x.ndim:
        raise ValueError("x is a single number: give an array, to be summed along its first axis")
    return library(x).zeros(x.shape[1:], dtype=x.dtype)


def exact(x: Array) -> np.ndarray:
    """The sums as float64, right to the last bit (math.fsum)."""
    columns = _columns(x)
    return np.array([math.fsum(column) for column in columns.T]).reshape(x.shape[1:])


def relative_error(total: Array, x: Array) -> np.ndarray:
    """The error of a sum, divided by the sum of absolute values: bounds limit this quotient."""
    computed = np.asarray(converted(library(x).asarray(total), "float64"))
    sizes = np.array([math.fsum(column) for column in np.abs(_columns(x)).T])
    return np.abs(computed - exact(x)) / sizes.reshape(x.shape[1:])


def _columns(x: Array) -> np.ndarray:
    zero(x)
    return np.asarray(converted(x, "float64")).reshape(len(x), -1)
