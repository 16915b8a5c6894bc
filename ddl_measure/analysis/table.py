"""What a network costs, operation by operation and layer by layer: plain data."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ddl_measure.analysis.text import as_html, as_text, count_text
from ddl_teach.theory.work_depth.counting import WorkDepth

NOTE = (
    "Of the forward pass: work in scalar operations, depth along the longest chain, bytes moved. "
    "Kept: bytes for backward. To input, to parameters: work of both gradients."
)


@dataclass(frozen=True)
class Pass:
    """One pass through an operation, a layer or a network.

    `work` counts every scalar operation, `multiply_adds` the products that are added up at once,
    `nbytes` what must be read and written if nothing of it is in a cache.
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
    """Everything that several passes do, with the depth that they have together."""
    return Pass(
        sum(part.work for part in parts),
        depth,
        sum(part.multiply_adds for part in parts),
        sum(part.nbytes for part in parts),
    )


def side_by_side(parts: Iterable[Pass]) -> Pass:
    """Passes none of which needs another."""
    parts = tuple(parts)
    return total(parts, max((part.depth for part in parts), default=0))


def in_turn(*parts: Pass) -> Pass:
    """Passes each of which needs the one before."""
    return total(parts, sum(part.depth for part in parts))


@dataclass(frozen=True)
class Operation:
    """One aten operation of a network.

    `gradient_sum` adds up the gradients that come back from several users of the result. Without a
    rule, an operation is not `counted`, and its passes know of no work.
    """

    name: str
    layer: str
    kind: str  # of the layer: its class
    operation: str
    line: str
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    forward: Pass
    gradient_sum: Pass
    input_gradient: Pass
    parameter_gradient: Pass
    parameters: int
    activation_bytes: int
    counted: bool
    needs: tuple[int, ...]  # places of the operations whose results it reads
    gradients_to: tuple[int, ...]  # ... and of those to which it sends gradients

    @property
    def gradients(self) -> tuple[Pass, Pass, Pass]:
        return self.gradient_sum, self.input_gradient, self.parameter_gradient


@dataclass(frozen=True)
class LayerCosts:
    """All operations that a module does itself, without those of modules inside it.

    Its depths are those of the longest chain of its own operations.
    """

    name: str
    kind: str
    output: tuple[int, ...]
    forward: Pass
    input_gradient: Pass
    parameter_gradient: Pass
    parameters: int
    activation_bytes: int
    counted: bool


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
        return tuple(sorted({it.operation for it in self.operations if not it.counted}))

    @property
    def rows(self) -> list[list[str]]:
        """The table's cells: a row for each layer and one for the network.

        A number in which something uncounted is missing is marked.
        """
        works = [(it.input_gradient.work, it.parameter_gradient.work) for it in self.layers]
        both = tuple(sum(column) for column in zip((0, 0), *works, strict=True))
        named = [((it.name or "(itself)", it.kind), it.output, it.counted) for it in self.layers]
        named.append(((self.network, "network"), (), not self.uncounted))
        every = zip(named, (*self.layers, self), (*works, both), strict=True)
        return [_row(*name, costs, gradients) for name, costs, gradients in every]

    @property
    def notes(self) -> list[str]:
        """What stands below the table."""
        back = self.backward
        texts = [
            NOTE,
            f"Backward: {count_text(back.work)} operations, depth {back.depth}. Multiply-adds: "
            f"{self.forward.multiply_adds:,} forward, {back.multiply_adds:,} backward.",
        ]
        if self.uncounted:
            texts.append(
                f"Not counted, and missing wherever a question mark stands: "
                f"{', '.join(self.uncounted)}. analyse(..., rules=...) takes rules for them."
            )
        return texts

    def __str__(self) -> str:
        return as_text(self.rows, self.notes)

    def _repr_html_(self) -> str:
        return as_html(self.rows, self.notes)


def _row(
    name: tuple[str, str], output: Sequence[int], counted: bool, costs: LayerCosts | Analysis,
    gradients: Iterable[int],
) -> list[str]:  # fmt: skip
    forward, mark = costs.forward, "" if counted else "+ ?"
    return [
        *name,
        " x ".join(map(str, output)),
        count_text(costs.parameters),
        f"{count_text(costs.activation_bytes)}B",
        f"{count_text(forward.work)}{mark}",
        f"{forward.depth}{mark}",
        f"{count_text(forward.nbytes)}B",
        f"{forward.intensity:.2f}{mark}",
        *(f"{count_text(work)}{mark}" for work in gradients),
    ]
