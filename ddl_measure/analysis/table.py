"""What a network costs, operation by operation and layer by layer: plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ddl_teach.operators.analysis.text import as_html, as_text
from ddl_teach.theory.work_depth.counting import WorkDepth


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
        """Operations for each byte that moves."""
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


@dataclass(frozen=True)
class Layer:
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
    layers: tuple[Layer, ...]
    parameters: int
    activation_bytes: int
    forward: Pass
    backward: Pass

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Operations without a rule: what they compute is missing from all numbers here."""
        return tuple(sorted({it.operation for it in self.operations if not it.counted}))

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)
