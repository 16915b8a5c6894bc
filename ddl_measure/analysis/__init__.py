"""Whole networks: what each layer of any torch module computes, keeps and moves.

=============== ==========================================================================
analyse         the one function: `analyse(module, *inputs)` gives an `Analysis`
capture         from a module to its graph, by torch.export or torch.fx
not_traceable   or why there is none, with the line
recording       the graph run on shapes: who reads what, and what backward keeps
rules           what each operation computes, by the formulas of theory.work_depth
accounts        from these to operations and gradients
table, text     the result as plain data, and how it reads
=============== ==========================================================================
"""

from ddl_measure.analysis.analyse import analyse
from ddl_measure.analysis.not_traceable import NotTraceable
from ddl_measure.analysis.records import Call, OperationCost, Value
from ddl_measure.analysis.table import Analysis, LayerCosts, Operation, Pass

__all__ = [
    "Analysis",
    "Call",
    "LayerCosts",
    "NotTraceable",
    "Operation",
    "OperationCost",
    "Pass",
    "Value",
    "analyse",
]
