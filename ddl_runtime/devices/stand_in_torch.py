"""Torch tensors on the stand-in device: unchanged torch programs, without a GPU.

    x = torch.zeros(3, device="standin")      model.to("standin")      x.cpu()      x.item()

A program for CUDA needs another word for the device, and nothing else. Bits are those of torch on
the CPU, which runs in the kernels, save where torch takes another algorithm for each device
(scaled_dot_product_attention); random numbers come from the CPU's generator too. As with CUDA, a
backward pass runs its hooks on a thread that belongs to the device.

A tensor is a shell: shape and type are torch's own, the numbers are hidden. What torch asks
arrives in `run`, after autograd, one operation after another, and each is one of four:

    a view          memory looked at in another way: at once, and no number is touched
    a kernel        queued on the current stream; the result is an empty shell, whose shape the
                    same operation on zeros gives
    a question      whose answer depends on numbers, as `item` and `nonzero`: the host waits
    a copy          to the host, for which it waits; or from it

torch counts its devices at a process's first backward pass: import this module before that.
What to look at: `x.numpy()`, and the error; then `DEVICE.traffic` around a step of training.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.utils import backend_registration
from torch.utils._pytree import tree_map_only

from ddl_runtime.devices.stand_in import POISON, StandInDevice, not_for_the_host, refused

NAME = "standin"  # torch's own names for devices have no hyphen
DEVICE = StandInDevice("late")
"""Torch names devices by a number in the process, so that all shells share this one."""

aten = torch.ops.aten
COPY_IN = (aten.copy_.default, aten.index.Tensor, aten.index_put_.default)
EMPTY = (
    aten.new_empty.default, aten.new_empty_strided.default, aten.empty_like.default,
    aten.empty_permuted.default,
)  # fmt: skip
FACTORIES = (  # whose results torch would resize, which a shell does not allow
    aten.arange.default, aten.arange.start, aten.arange.start_step, aten.linspace.default,
    aten.eye.default, aten.eye.m, aten.randperm.default, aten.tril_indices.default,
    aten.triu_indices.default,
)  # fmt: skip


class StandInTensor(torch.Tensor):
    """A shell around numbers that only the device can read."""

    @staticmethod
    def __new__(cls, hidden: torch.Tensor) -> "StandInTensor":
        return torch.Tensor._make_wrapper_subclass(
            cls, hidden.shape, strides=hidden.stride(), storage_offset=hidden.storage_offset(),
            dtype=hidden.dtype, device=f"{NAME}:0",
        )  # fmt: skip

    def __init__(self, hidden: torch.Tensor) -> None:
        self._hidden = hidden

    @property
    def comm_device(self) -> StandInDevice:
        return DEVICE

    def memory_of(self, device: StandInDevice) -> torch.Tensor:
        return self._hidden

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        """Says that it is a shell. `module.to` then changes parameters where they are, so that
        those which are tied stay so, as on a GPU."""
        return ["_hidden"], None

    @staticmethod
    def __tensor_unflatten__(inside: dict[str, torch.Tensor], *_: Any) -> "StandInTensor":
        return StandInTensor(inside["_hidden"])

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
    def data(self, other: "StandInTensor") -> None:
        torch.Tensor.data.__set__(self, other)
        self._hidden = other.memory_of(DEVICE)

    def tolist(self) -> Any:
        """The numbers, for which the host waits."""
        return self.cpu().tolist()

    numpy = __array__ = __dlpack__ = refused("as a NumPy array", "Ask for a copy, x.cpu()")
    data_ptr = refused("by its address", "Ask for a copy, x.cpu()")
    __reduce_ex__ = refused("to another process by pickle", "Return a copy, x.cpu()")

    def untyped_storage(self) -> "HiddenStorage":
        """The memory behind this tensor and its views."""
        return HiddenStorage(self._hidden.untyped_storage())

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

    size = nbytes  # FSDP calls it so

    def data_ptr(self) -> int:
        return self._hidden.data_ptr()

    def resize_(self, nbytes: int) -> "HiddenStorage":
        """Give memory back, or take some, when all that was asked for has been done."""
        DEVICE.synchronise()
        self._hidden.resize_(nbytes)
        return self


def run(operation: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Carry out one of torch's operations on shells: a view, a question, a copy to the host, or a
    kernel."""
    tags, returns = operation.tags, _schema(operation).returns
    where = torch.device(kwargs.get("device") or NAME)
    if where.type == "meta":
        args = tree_map_only(torch.device, lambda _: where, args)
        return operation(*tree_map_only(torch.Tensor, _without_memory, args), **kwargs)
    if where.type != NAME:
        return _to_host(args[0], **kwargs)
    if operation is aten.copy_.default and not isinstance(args[0], StandInTensor):
        return args[0].copy_(_to_host(args[1]))

    def inside(x: Any) -> Any:
        """The numbers of a shell; what is not on the device is refused."""
        if isinstance(x, StandInTensor):
            return x.memory_of(DEVICE)
        if isinstance(x, torch.device):
            return torch.device("cpu")
        if not x.ndim:
            return x
        if operation not in COPY_IN:
            raise _mixed(operation, x)
        DEVICE.traffic.into(x.nbytes)
        return x.detach().clone()  # it may change as soon as this returns

    hidden, options = tree_map_only((torch.Tensor, torch.device), inside, (args, kwargs))
    views = [each.alias_info is not None and not each.alias_info.is_write for each in returns]
    if views and all(views) and not _schema(operation).is_mutable:
        return tree_map_only(torch.Tensor, StandInTensor, operation(*hidden, **options))
    if torch.Tag.data_dependent_output in tags or torch.Tag.dynamic_output_shape in tags:
        DEVICE.synchronise()  # the result's shape or value depends on the numbers
        answer = operation(*hidden, **options)
        if not isinstance(answer, torch.Tensor):
            DEVICE.traffic.out(hidden[0].itemsize)
        return tree_map_only(torch.Tensor, StandInTensor, answer)
    return _kernel(operation, (args, kwargs), hidden, options)


def _mixed(operation: Any, x: Any) -> RuntimeError:
    """The error that torch raises too where tensors of several devices meet."""
    what = f"{_schema(operation).name} of a tensor on {x.device} and one on {NAME}"
    instead = f'Copy the other one to the device first, x.to("{NAME}")'
    return RuntimeError(str(not_for_the_host(what, instead)))


def _to_host(x: StandInTensor, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    DEVICE.synchronise()
    DEVICE.traffic.out(x.nbytes)
    return x.memory_of(DEVICE).detach().clone().to(dtype or x.dtype)


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
    for number, result in enumerate(expected if several else [expected]):
        alias = returns[number].alias_info if len(returns) > number else None
        if alias is not None and alias.is_write:
            results.append(written[frozenset(alias.before_set)])
            if results[-1].shape != result.shape:
                raise RuntimeError(
                    f"{_schema(operation).name}: a tensor on {NAME} keeps its shape "
                    f"{tuple(results[-1].shape)}: make room of shape {tuple(result.shape)} for it"
                )
            continue
        if isinstance(result, torch.Tensor) and not drawing:
            result = _filled(result, POISON)
            rooms.append((number, result))
        results.append(tree_map_only(torch.Tensor, StandInTensor, result))

    def compute() -> None:
        with torch.no_grad():
            computed = operation(*hidden, **options)
            for number, room in rooms:
                room.copy_(computed[number] if several else computed)

    if not drawing and operation not in EMPTY:
        DEVICE.launch(compute)
    return type(expected)(results) if several else results[0]


def _tried_out(operation: Any, hidden: Sequence[Any], options: dict[str, Any]) -> Any:
    """What it gives of zeros: shapes and types do not depend on the numbers, as far as is known.
    Where zeros are not good enough (whole numbers divided by them), the device is waited for."""
    given = hidden, options
    try:
        args, kwargs = tree_map_only(torch.Tensor, lambda x: _filled(x, 0), given)
        return operation(*args, **kwargs)
    except (RuntimeError, IndexError):
        DEVICE.synchronise()
        args, kwargs = tree_map_only(torch.Tensor, torch.clone, given)
        return operation(*args, **kwargs)


def _written(operation: Any, args: tuple, kwargs: dict[str, Any]) -> dict[frozenset, Any]:
    """The arguments that the operation writes into, by the name that its schema gives them."""
    written = {}
    for number, argument in enumerate(_schema(operation).arguments):
        alias = argument.alias_info
        if alias is not None and alias.is_write:
            value = args[number] if number < len(args) else kwargs.get(argument.name)
            if isinstance(value, torch.Tensor) and not isinstance(value, StandInTensor):
                raise _mixed(operation, value)
            written[frozenset(alias.before_set)] = value
    return written


def _without_memory(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")


def _filled(like: torch.Tensor, byte: int) -> torch.Tensor:
    """New memory of this shape and type; full of POISON, nothing in it looks right."""
    room = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype)
    room.untyped_storage().fill_(byte)
    return room


# What torch asks for without a tensor of the device at hand.


def _room(
    make: Callable[..., torch.Tensor], *shape: Sequence[int], dtype: Any = None, **_: Any
) -> StandInTensor:
    return StandInTensor(_filled(make(*shape, dtype=dtype, device="meta"), POISON))


def _copy_from(source: torch.Tensor, target: torch.Tensor, _: bool = False) -> torch.Tensor:
    return run(aten.copy_.default, (target, source), {})


def _made(operation: Any, *args: Any, **kwargs: Any) -> StandInTensor:
    return StandInTensor(operation(*args, **{**kwargs, "device": "cpu", "pin_memory": None}))


class _Module(backend_registration._DummyBackendModule):
    """Random numbers are the CPU generator's, also if the device is asked for its state."""

    def get_rng_state(self, _: Any = None) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, _: Any = None) -> None:
        torch.set_rng_state(state)


def _register() -> torch.library.Library:
    tell = getattr(backend_registration, "_setup_privateuseone_for_python_backend", None)
    if tell is None:
        raise ImportError(
            f"torch {torch.__version__} takes no device that is written in Python: tensors on the "
            "stand-in need a newer one, 2.13 for instance; its arrays (`stand_in`) need no torch"
        )
    tell(NAME, _Module())
    library = torch.library.Library("aten", "IMPL")
    library.impl("empty.memory_format", partial(_room, torch.empty), "PrivateUse1")
    library.impl("empty_strided", partial(_room, torch.empty_strided), "PrivateUse1")
    library.impl("_copy_from", _copy_from, "PrivateUse1")
    for operation in FACTORIES:
        library.impl(operation, partial(_made, operation), "PrivateUse1")
    return library


LIBRARY = _register()  # what is registered lasts as long as this does


def _schema(operation: Any) -> Any:
    return operation._schema  # what torch says of its arguments and results
