"""One function for NumPy arrays and torch tensors alike."""

from typing import Any

import numpy as np
import torch

Array = Any  # a NumPy array or a torch tensor


def library(x: Array) -> Any:
    """Where the functions for arrays of this type are: many have the same name in both."""
    return torch if isinstance(x, torch.Tensor) else np
