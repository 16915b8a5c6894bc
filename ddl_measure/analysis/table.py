"""What a network costs, by operation and by layer: plain data, and how it reads."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ddl_runtime.pictures.words import count_in_short
from ddl_teach.theory.work_depth.counting import WorkDepth

NOTE = (
    "Of the forward pass: work in scalar operations, depth along the longest chain, bytes moved. "
    "Kept: bytes for backward. To input, to parameters: work of both gradients."
)

HEADS = (
    "layer", "kind", "output", "parameters", "kept", "work", "depth", "moved", "work/byte",
    "to input", "to parameters",
)  # fmt: skip
TEXTS = 3  # columns of words, the others are numbers


@dataclass(frozen=True)
class Pass:
    """One pass through an operation, a layer or a network.

    `work` counts every scalar operation, `multiply_adds` the products that are added up at once.
    `nbytes` must be read and written if nothing is in a cache.
    """

    work: int = 0
    depth: int = 0
    multiply_adds: int = 0
    nbytes: int = 0

    @property
    def intensity(self) -> float:
        return self.work / self.nbytes if self.nbytes else 0.0

    @property
    def parallelism(self) -> float:
        """W / D: for how many processors there is work, on average."""
        return WorkDepth(self.work, self.depth).parallelism


def total(parts: Sequence[Pass], depth: int) -> Pass:
    """The sum of several passes, with the depth that they have together."""
    return Pass(
        sum(part.work for part in parts),
        depth,
        sum(part.multiply_adds for part in parts),
        sum(part.nbytes for part in parts),
    )


def side_by_side(parts: Iterable[Pass]) -> Pass:
    """The sum of passes that do not need each other: their depth is that of the deepest."""
    parts = tuple(parts)
    return total(parts, max((part.depth for part in parts), default=0))


def in_turn(*parts: Pass) -> Pass:
    """The sum of passes that each need the one before: their depths add up."""
    return total(parts, sum(part.depth for part in parts))


@dataclass(frozen=True)
class LayerCosts:
    """All operations that a module does itself, without those of modules inside it.

    Its depths are those of the longest chain of its own operations. Where an operation has no
    rule, the layer is not `counted`, and its passes know of no work.
    """

    name: str
    kind: str  # its class
    output: tuple[int, ...]
    forward: Pass
    input_gradient: Pass
    parameter_gradient: Pass
    parameters: int
    activation_bytes: int
    counted: bool


@dataclass(frozen=True)
class Operation(LayerCosts):
    """One aten operation of a network, which stands in a `layer` of that `kind`.

    `gradient_sum` adds up the gradients that come back from several users of the result.
    """

    layer: str
    operation: str
    line: str
    inputs: tuple[tuple[int, ...], ...]
    gradient_sum: Pass
    needs: tuple[int, ...]  # places of the operations whose results it reads
    gradients_to: tuple[int, ...]  # ... and of those to which it sends gradients

    @property
    def gradients(self) -> tuple[Pass, Pass, Pass]:
        return self.gradient_sum, self.input_gradient, self.parameter_gradient


@dataclass(frozen=True)
class Analysis:
    """A network's operations in the order in which they run, and what they come to.

    `parameters` counts shared ones once, and those that no operation uses too. `activation_bytes`
    is what backward must keep, beside the parameters. The depths of `forward` and `backward` are
    those of the longest chains through the network, not sums over its layers.
    """

    network: str
    operations: tuple[Operation, ...]
    layers: tuple[LayerCosts, ...]
    parameters: int
    activation_bytes: int
    forward: Pass
    backward: Pass

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Operations without a rule: what they compute is missing from all numbers here."""
        return tuple(
            sorted({operation.operation for operation in self.operations if not operation.counted})
        )

    @property
    def rows(self) -> list[list[str]]:
        """The table's cells: a row for each layer and one for the network.

        A number in which something uncounted is missing is marked.
        """
        works = [
            (layer.input_gradient.work, layer.parameter_gradient.work) for layer in self.layers
        ]
        rows = [
            _row(
                (layer.name or "(itself)", layer.kind),
                layer.output,
                layer.counted,
                layer,
                gradients,
            )
            for layer, gradients in zip(self.layers, works, strict=True)
        ]
        both = [sum(column) for column in zip((0, 0), *works, strict=True)]
        return [*rows, _row((self.network, "network"), (), not self.uncounted, self, both)]

    @property
    def notes(self) -> list[str]:
        """What stands below the table."""
        back = self.backward
        texts = [
            NOTE,
            f"Backward: {count_in_short(back.work)} operations, depth {back.depth}. "
            f"Multiply-adds: {self.forward.multiply_adds:,} forward, "
            f"{back.multiply_adds:,} backward.",
        ]
        if self.uncounted:
            texts.append(
                f"Not counted, and missing wherever a question mark stands: "
                f"{', '.join(self.uncounted)}. analyse(..., rules=...) takes rules for them."
            )
        return texts

    def __str__(self) -> str:
        """For a terminal; the last row is the network's."""
        table = [HEADS, *self.rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for row in table:
            cells = list(zip(row, widths, strict=True))
            words = [cell.ljust(width) for cell, width in cells[:TEXTS]]
            numbers = [cell.rjust(width) for cell, width in cells[TEXTS:]]
            lines.append("  ".join([*words, *numbers]).rstrip())
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        """For a notebook; the last row is the network's."""
        *layers, network = self.rows
        body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in layers)
        last = f'<tr style="font-weight:bold">{_cells(network, "td")}</tr>'
        below = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table><thead><tr>{_cells(HEADS, 'th')}</tr></thead>{body}{last}</table>{below}"


def _row(
    name: tuple[str, str], output: Sequence[int], counted: bool, costs: LayerCosts | Analysis,
    gradients: Iterable[int],
) -> list[str]:  # fmt: skip
    forward, mark = costs.forward, "" if counted else "+ ?"
    return [
        *name,
        " x ".join(map(str, output)),
        count_in_short(costs.parameters),
        f"{count_in_short(costs.activation_bytes)}B",
        f"{count_in_short(forward.work)}{mark}",
        f"{forward.depth}{mark}",
        f"{count_in_short(forward.nbytes)}B",
        f"{forward.intensity:.2f}{mark}",
        *(f"{count_in_short(work)}{mark}" for work in gradients),
    ]


def _cells(row: Sequence[str], tag: str) -> str:
    sides = ["left"] * TEXTS + ["right"] * (len(HEADS) - TEXTS)
    return "".join(
        f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>'
        for cell, side in zip(row, sides, strict=True)
    )
