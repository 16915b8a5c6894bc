"""Rules for what only moves numbers, or looks at them in another way: no operations.

A view costs nothing at all, a copy costs time for its bytes alone. Their gradients are moves too,
except where one number went to several places: there its gradients are added up.
"""

from __future__ import annotations

from ddl_measure.analysis.records import Call, OperationCost, Rule
from ddl_measure.analysis.rules.products import broadcast_gradient
from ddl_teach.theory.work_depth.counting import NOTHING, elementwise


def move(call: Call) -> OperationCost:
    """Nothing to compute; copies of one number send their gradients back to it."""
    gradients = {}
    for name in call.arguments:
        values = call.values(name)
        if len(values) == 1 and values[0].storage != call.output.storage:
            gradients[name] = broadcast_gradient(call.output.elements, values[0].elements)
    return OperationCost(gradients=gradients)


def lookup(table: str) -> Rule:
    """Rows of a table by their numbers: only those are read; the gradients of a row are summed."""

    def rule(call: Call) -> OperationCost:
        taken = call.output.elements
        gradient = broadcast_gradient(taken, min(taken, call[table].elements))
        return OperationCost(gradients={table: gradient}, read={table: call.output.nbytes})

    return rule


def scattered(values: str) -> Rule:
    """Numbers written to chosen places, or added to what is there: then one addition each."""

    def rule(call: Call) -> OperationCost:
        adds = call.get("accumulate", True)
        return OperationCost(elementwise(call[values].elements) if adds else NOTHING)

    return rule


VIEWS = (
    "view reshape flatten unflatten transpose t permute squeeze unsqueeze expand expand_as select "
    "slice narrow chunk split split_with_sizes unbind detach alias view_as movedim swapaxes "
    "numpy_T mT unfold diagonal contiguous _unsafe_view _reshape_alias lift_fresh unsafe_chunk "
    "lift_fresh_copy unsafe_split unsafe_split_with_sizes real imag"
)
COPIES = (
    "clone copy copy_ to _to_copy type_as cat stack concat pad constant_pad_nd zero_pad2d repeat "
    "repeat_interleave roll flip channel_shuffle pixel_shuffle pixel_unshuffle im2col "
    "upsample_nearest1d upsample_nearest2d reflection_pad2d replication_pad2d one_hot"
)
NEW = (
    "zeros ones full empty arange zeros_like ones_like full_like empty_like new_zeros new_ones "
    "new_full new_empty scalar_tensor eye fill_ zero_ fill _assert_tensor_metadata sym_size "
    "_assert_async _assert_scalar empty_strided new_empty_strided linspace"
)
RULES: dict[str, Rule] = {
    **{f"aten::{name}": move for name in f"{VIEWS} {COPIES}".split()},
    **{f"aten::{name}": lambda call: OperationCost() for name in NEW.split()},
    "aten::embedding": lookup("weight"),
    "aten::index_select": lookup("self"),
    "aten::gather": lookup("self"),
    "aten::index": lookup("self"),
    "aten::index_put": scattered("values"),
    "aten::scatter_add": scattered("src"),
    "aten::index_add": scattered("source"),
}
