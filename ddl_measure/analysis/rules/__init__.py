"""What each aten operation computes, by name.

=============== ==========================================================================
products        fully connected layers, matrix products, convolutions, attention
recurrent       LSTM, GRU and plain recurrent layers over a sequence
reductions      sums, extremes, softmax, losses, pooling, normalisation
elementwise     activations, arithmetic of two tensors, masks, dropout; views and copies
=============== ==========================================================================

An operation that is not here is named as uncounted in the analysis: `analyse(..., rules={...})`
takes a rule for it.
"""

from ddl_measure.analysis.records import Rule
from ddl_measure.analysis.rules import elementwise, products, recurrent, reductions

FILES = elementwise, reductions, recurrent, products
RULES: dict[str, Rule] = {name: rule for file in FILES for name, rule in file.RULES.items()}
