"""What is known of one operation of a graph, and what a rule says it costs."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ddl_teach.theory.work_depth.counting import NOTHING, WorkDepth


@dataclass(frozen=True)
class Value:
    """A tensor without its numbers; two with the same `storage` share memory.

    `parameter` is the name under which the module knows it, "" for all that is computed or given.
    `maker` is the place of the operation that wrote it, -1 for what was there before. `offset` and
    `stride` say which of the `stored` numbers of its storage it shows.
    """

    shape: tuple[int, ...]
    itemsize: int
    storage: int
    parameter: str
    needs_gradient: bool
    maker: int
    stored: int
    offset: int
    stride: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def distinct(self) -> int:
        """How many numbers it has, those that it repeats counted once."""
        pairs = zip(self.shape, self.stride, strict=True)
        return math.prod(size for size, step in pairs if step)

    @property
    def nbytes(self) -> int:
        return self.distinct * self.itemsize


@dataclass(frozen=True)
class Call:
    """An aten operation with its arguments by name; a `Value` stands for each tensor."""

    operation: str
    arguments: Mapping[str, Any]
    outputs: tuple[Value, ...]

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def get(self, name: str, default: Any = None) -> Any:
        """An argument, or `default` where the operation has none of that name."""
        return self.arguments.get(name, default)

    @property
    def output(self) -> Value:
        """The first result, mostly the only one."""
        return self.outputs[0]

    @property
    def inputs(self) -> tuple[Value, ...]:
        return tuple(values_in(self.arguments.values()))

    def values(self, name: str) -> tuple[Value, ...]:
        """The tensors of one argument: several where it is a list, none where it is a number."""
        return tuple(values_in([self.get(name)]))


@dataclass(frozen=True)
class OperationCost:
    """What an operation computes: forward, and for the gradient of each of its arguments.

    `multiply_adds` are the products among that which are added up at once, the number that
    published tables of networks give; of a gradient too. `read` says how many bytes of an argument
    are touched, where that is not all of them.
    """

    forward: WorkDepth = NOTHING
    gradients: Mapping[str, WorkDepth] = field(default_factory=dict)
    multiply_adds: int = 0
    gradient_multiply_adds: Mapping[str, int] = field(default_factory=dict)
    read: Mapping[str, int] = field(default_factory=dict)


Rule = Callable[[Call], OperationCost | None]
"""What an operation costs, from the shapes of its arguments and results; None: can't be said."""


def values_in(arguments: Iterable[Any]) -> Iterator[Value]:
    """All tensors among arguments, lists of them included."""
    for argument in arguments:
        if isinstance(argument, Value):
            yield argument
        elif isinstance(argument, (list, tuple)):
            yield from values_in(argument)
