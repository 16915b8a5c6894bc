"""Whole networks: what each layer of any torch module computes, keeps and moves.

=========== ==========================================================================
accounts    the one function: `analyse(module, *inputs)` gives an `Analysis`
recording   the module run on shapes: what each operation reads and keeps; or why not
rules       what each operation computes, by the formulas of theory.work_depth
table       the result as plain data, and how it reads
=========== ==========================================================================
"""

from ddl_measure.analysis.accounts import analyse
from ddl_measure.analysis.recording import NotTraceable
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
