"""Gradients that no rank has: a zero that counts for nothing in a sum, and is known from others.

As with torch's DDP a parameter that no rank used keeps `.grad` None: optimizers leave it alone,
where a gradient of zero would let AdamW decay it. The sum shows, for not a byte more, that no rank
has a gradient: -0.0 is the sum of nothing but -0.0.
"""

import torch

MISSING = -0.0


def missing(total: torch.Tensor) -> torch.Tensor:
    """Which elements of a sum over ranks no rank had."""
    return (total == 0) & torch.signbit(total.real)
