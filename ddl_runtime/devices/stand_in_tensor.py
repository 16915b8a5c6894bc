"""A torch tensor whose numbers are on the stand-in device: a shell, and what torch asks of it.

Shape and type are torch's own, the numbers are hidden. What torch asks arrives here, after
autograd, one operation after another, and each is one of four:

    a view          memory looked at in another way: at once, and no number is touched
    a kernel        queued on the current stream; the result is an empty shell, whose shape the
                    same operation on zeros has told
    a question      whose answer depends on numbers, as `item` and `nonzero`: the host waits
    a copy          to the host, for which it waits; or from it

What to look at: `run`, which tells them apart by what torch's schema says of each operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch.utils._pytree import tree_map

from ddl_runtime.devices.stand_in import POISON, StandInDevice
from ddl_runtime.devices.stand_in_array import not_for_the_host

NAME = "standin"  # torch's own names for devices have no hyphen
DEVICE = StandInDevice("late")
"""Torch names devices by a number in the process, so that all shells share this one."""

aten = torch.ops.aten
COPY_IN = (aten.copy_.default, aten.index.Tensor, aten.index_put_.default)
EMPTY = (
    aten.new_empty.default, aten.new_empty_strided.default, aten.empty_like.default,
    aten.empty_permuted.default,
)  # fmt: skip


class StandInTensor(torch.Tensor):
    """A shell around numbers that only the device can read."""

    @staticmethod
    def __new__(cls, hidden: torch.Tensor) -> StandInTensor:
        return torch.Tensor._make_wrapper_subclass(
            cls, hidden.shape, strides=hidden.stride(), storage_offset=hidden.storage_offset(),
            dtype=hidden.dtype, device=f"{NAME}:0",
        )  # fmt: skip

    def __init__(self, hidden: torch.Tensor) -> None:
        self._hidden = hidden

    @property
    def comm_device(self) -> StandInDevice:
        """The device of the numbers."""
        return DEVICE

    def memory_of(self, device: StandInDevice) -> torch.Tensor:
        """The numbers, for the device's own kernels and copies."""
        return self._hidden

    @classmethod
    def __torch_dispatch__(
        cls, operation: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return run(operation, args, kwargs or {})

    @property
    def data(self) -> torch.Tensor:
        """The tensor without its history."""
        return self.detach()

    @data.setter
    def data(self, other: StandInTensor) -> None:
        torch.Tensor.data.__set__(self, other)
        self._hidden = other._hidden

    def tolist(self) -> Any:
        """The numbers, for which the host waits."""
        return self.cpu().tolist()

    def numpy(self, *_: Any, **__: Any) -> NoReturn:
        """Never: NumPy reads host memory."""
        raise not_for_the_host("as a NumPy array", "Ask for a copy, x.cpu()")

    __array__ = __dlpack__ = numpy

    def data_ptr(self) -> NoReturn:
        """Never: the address would mean nothing to the host."""
        raise not_for_the_host("by its address", "Ask for a copy, x.cpu()")

    def untyped_storage(self) -> HiddenStorage:
        """The memory behind this tensor and its views."""
        return HiddenStorage(self._hidden.untyped_storage())

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise not_for_the_host("to another process by pickle", "Return a copy, x.cpu()")

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        if id(self) not in memo:
            twin = self.detach().clone()
            alike = torch.nn.Parameter(twin) if isinstance(self, torch.nn.Parameter) else twin
            memo[id(self)] = alike.requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"StandInTensor(shape={tuple(self.shape)}, dtype={self.dtype}, device='{NAME}')"


@dataclass(frozen=True)
class HiddenStorage:
    """What may be known of a tensor's memory: how much it is, and that it is the same."""

    _hidden: torch.UntypedStorage

    def nbytes(self) -> int:
        return self._hidden.nbytes()

    def data_ptr(self) -> int:
        return self._hidden.data_ptr()

    def resize_(self, nbytes: int) -> HiddenStorage:
        """Give memory back, or take some, when all that was asked for has been done."""
        DEVICE.synchronise()
        self._hidden.resize_(nbytes)
        return self


def run(operation: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """One operation of torch on shells: a view, a question, a copy to the host, or a kernel."""
    tags, schema = operation.tags, _schema(operation)
    where = torch.device(kwargs.get("device") or NAME)
    if where.type == "meta":
        return operation(*tree_map(_meta, args), **kwargs)
    if where.type != NAME:
        return _to_host(args[0], **kwargs)
    if operation is aten.copy_.default and not isinstance(args[0], StandInTensor):
        return args[0].copy_(_to_host(args[1]))
    inside = _Inside(operation)
    hidden, options = tree_map(inside, args), tree_map(inside, kwargs)
    views = schema.returns and all(_is_view(each) for each in schema.returns)
    if views and not schema.is_mutable:
        return tree_map(_shell, operation(*hidden, **options))
    if torch.Tag.data_dependent_output in tags or torch.Tag.dynamic_output_shape in tags:
        return _answer(operation, hidden, options)
    return _kernel(operation, (args, kwargs), hidden, options)


class _Inside:
    """Turns shells into their numbers, and refuses what is not on the device."""

    def __init__(self, operation: Any) -> None:
        self._operation = operation

    def __call__(self, x: Any) -> Any:
        if isinstance(x, StandInTensor):
            return x.memory_of(DEVICE)
        if isinstance(x, torch.device):
            return torch.device("cpu")
        if isinstance(x, torch.Tensor) and x.ndim:
            if self._operation not in COPY_IN:
                raise _mixed(self._operation, x)
            return _carried_in(x)
        return x


def _mixed(operation: Any, x: Any) -> RuntimeError:
    """The error that torch raises too where tensors of several devices meet."""
    what = f"{_schema(operation).name} of a tensor on {x.device} and one on {NAME}"
    instead = f'Copy the other one to the device first, x.to("{NAME}")'
    return RuntimeError(str(not_for_the_host(what, instead)))


def _carried_in(x: torch.Tensor) -> torch.Tensor:
    """What the device will hold of a host tensor; it may change as soon as this returns."""
    DEVICE.traffic.copies_to_device += 1
    DEVICE.traffic.bytes_to_device += x.nbytes
    return x.detach().clone()


def _to_host(x: StandInTensor, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    DEVICE.synchronise()
    DEVICE.traffic.copies_to_host += 1
    DEVICE.traffic.bytes_to_host += x.nbytes
    return x.memory_of(DEVICE).detach().clone().to(dtype or x.dtype)


def _answer(operation: Any, hidden: Sequence[Any], options: dict[str, Any]) -> Any:
    """What depends on the numbers themselves: the host waits for it."""
    DEVICE.synchronise()
    found = operation(*hidden, **options)
    if not isinstance(found, torch.Tensor):
        DEVICE.traffic.copies_to_host += 1
        DEVICE.traffic.bytes_to_host += hidden[0].itemsize
    return tree_map(_shell, found)


def _kernel(operation: Any, shells: tuple, hidden: Sequence[Any], options: dict[str, Any]) -> Any:
    """Queue it on the current stream; what it returns are empty shells, or its arguments."""
    drawing = torch.Tag.nondeterministic_seeded in operation.tags
    if drawing:
        DEVICE.synchronise()  # random numbers are drawn in the order in which the program asks
        expected = operation(*hidden, **options)
    else:
        expected = _tried_out(operation, hidden, options)
    several = isinstance(expected, (tuple, list))
    returns = _schema(operation).returns
    written = _written(operation, *shells)
    rooms: list[tuple[int, torch.Tensor]] = []
    results = []
    for number, found in enumerate(expected if several else [expected]):
        alias = returns[number].alias_info if len(returns) > number else None
        if alias is not None and alias.is_write:
            results.append(written[frozenset(alias.before_set)])
            if results[-1].shape != found.shape:
                raise RuntimeError(
                    f"{_schema(operation).name}: a tensor on {NAME} keeps its shape "
                    f"{tuple(results[-1].shape)}: make room of shape {tuple(found.shape)} for it"
                )
        else:
            if isinstance(found, torch.Tensor) and not drawing:
                found = poisoned(found)
                rooms.append((number, found))
            results.append(_shell(found))

    def compute() -> None:
        with torch.no_grad():
            found = operation(*hidden, **options)
            for number, room in rooms:
                room.copy_(found[number] if several else found)

    if not drawing and operation not in EMPTY:
        DEVICE.launch(compute)
    if several:
        return type(expected)(results)
    return results[0]


def _tried_out(operation: Any, hidden: Sequence[Any], options: dict[str, Any]) -> Any:
    """What it gives of zeros: shapes and types do not depend on the numbers, as far as is known.

    Where zeros are not good enough (whole numbers divided by them), the device is waited for.
    """
    try:
        return operation(*tree_map(_zeros, hidden), **tree_map(_zeros, options))
    except (RuntimeError, IndexError):
        DEVICE.synchronise()
        return operation(*tree_map(_copied, hidden), **tree_map(_copied, options))


def _written(operation: Any, args: tuple, kwargs: dict[str, Any]) -> dict[frozenset, Any]:
    """The arguments that the operation writes into, by the name that its schema gives them."""
    found = {}
    for number, argument in enumerate(_schema(operation).arguments):
        alias = argument.alias_info
        if alias is not None and alias.is_write:
            value = args[number] if number < len(args) else kwargs.get(argument.name)
            if isinstance(value, torch.Tensor) and not isinstance(value, StandInTensor):
                raise _mixed(operation, value)
            found[frozenset(alias.before_set)] = value
    return found


def _schema(operation: Any) -> Any:
    return operation._schema  # what torch says of its arguments and results


def _is_view(returned: Any) -> bool:
    return returned.alias_info is not None and not returned.alias_info.is_write


def _shell(x: Any) -> Any:
    return StandInTensor(x) if isinstance(x, torch.Tensor) else x


def _copied(x: Any) -> Any:
    return x.clone() if isinstance(x, torch.Tensor) else x


def _meta(x: Any) -> Any:
    if isinstance(x, torch.device):
        return torch.device("meta")
    if isinstance(x, torch.Tensor):
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
    return x


def _zeros(x: Any) -> Any:
    return _filled(x, 0) if isinstance(x, torch.Tensor) else x


def poisoned(like: torch.Tensor) -> torch.Tensor:
    """New memory of this shape and type, in which nothing looks right."""
    return _filled(like, POISON)


def _filled(like: torch.Tensor, byte: int) -> torch.Tensor:
    room = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype)
    room.untyped_storage().fill_(byte)
    return room
