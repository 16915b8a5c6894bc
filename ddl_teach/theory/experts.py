"""What experts that are spread over ranks send: tokens instead of weights.

A step of T tokens of width d, each taking k of E experts, on P ranks. Each rank sends

    counts      (P-1) k E  numbers of 8 bytes, first of all: how many rows each rank will send
    forwards    its rows to their experts, and the answers of its experts back
    backwards   the gradients of both, the other way round

so a row between two ranks costs d numbers four times. If all experts are liked alike and none is
full, that is 4 (P-1)/P k T/P d numbers. With data parallelism it would be 2 (P-1)/P of all their
weights. Lepikhin et al., "GShard", 2020; Fedus, Zoph and Shazeer, "Switch transformers", 2021.
What to look at: the weights of an expert never travel, however many experts there are.
"""

import math

from ddl_teach.theory.inputs import count

COUNT = 8  # bytes of a number that says how many rows will come


def capacity(tokens: int, experts: int, chosen: int, factor: float) -> int:
    """How many rows an expert takes: `factor` times its even share, rounded up."""
    if not factor > 0:
        raise ValueError(
            f"factor={factor} must be above 0: an expert takes `factor` times its even share"
        )
    if not 1 <= chosen <= count("experts", experts):
        raise ValueError(f"chosen={chosen}: a token takes between 1 and all {experts} experts")
    if math.isinf(factor):
        return chosen * tokens
    return math.ceil(factor * chosen * tokens / experts)
