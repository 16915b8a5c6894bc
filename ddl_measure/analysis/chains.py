"""The longest chain through a network: its depth, forwards and back.

An operation begins when all that it reads is there. Backwards it begins when the gradients of its
result have come from all of its users and are added up; the gradient of a parameter ends a chain,
that of an input hands it on. Branches that do not need each other run side by side, so wherever a
network has branches, its depth is less than the sum of its layers' depths.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ddl_measure.analysis.table import Operation


def forward_chain(operations: Sequence[Operation], among: Collection[int] | None = None) -> int:
    """Depth of the forward pass; if told so, of those operations alone that stand `among`."""
    finished: list[int] = []
    for place, operation in enumerate(operations):
        begun = max((finished[needed] for needed in operation.needs), default=0)
        own = operation.forward.depth if among is None or place in among else 0
        finished.append(begun + own)
    return max(finished, default=0)


def backward_chain(
    operations: Sequence[Operation],
    among: Collection[int] | None = None,
    to_parameters: bool = True,
) -> int:
    """Depth of the gradients, from those of the results on, with or without the parameters'."""
    begun = [0] * len(operations)
    longest = 0
    for place in reversed(range(len(operations))):
        operation = operations[place]
        summed = handed_on = begun[place]
        if among is None or place in among:
            summed += operation.gradient_sum.depth
            handed_on = summed + operation.input_gradient.depth
            aside = operation.parameter_gradient.depth if to_parameters else 0
            longest = max(longest, handed_on, summed + aside)
        for maker in operation.gradients_to:
            begun[maker] = max(begun[maker], handed_on)
    return longest
