"""What each aten operation computes, by name.

=============== ==========================================================================
products        fully connected layers, matrix products, convolutions, attention
recurrent       LSTM, GRU and plain recurrent layers over a sequence
normalisation   batch, layer and group normalisation
reductions      sums, extremes, softmax, losses, pooling
elementwise     activations, arithmetic of two tensors, masks, dropout; views and copies
own             the course's convolutions, by their method
=============== ==========================================================================

An operation that is not here is named as uncounted in the analysis: `analyse(..., rules={...})`
takes a rule for it.
"""

from ddl_measure.analysis.records import Rule
from ddl_measure.analysis.rules import (
    elementwise,
    normalisation,
    own,
    products,
    recurrent,
    reductions,
)

FILES = (elementwise, reductions, normalisation, recurrent, products, own)
RULES: dict[str, Rule] = {name: rule for file in FILES for name, rule in file.RULES.items()}


def rule_for(operation: str, rules: dict[str, Rule]) -> Rule | None:
    """The rule of an operation, or of the one that it does in place."""
    return rules.get(operation) or rules.get(operation.removesuffix("_"))
