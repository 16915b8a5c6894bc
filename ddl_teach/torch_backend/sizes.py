"""Tensors without data, faster: what an operation gives is looked up by the sizes it is given.

All ranks carry out the same operations. Torch's `FakeTensorMode` keeps what it knows of them, too,
but needs two to six times as long to look it up. In rank programs this table is asked before:

    changes in place    give the tensor that is changed
    views               are made anew, as each shares its base's memory
    all others          give new tensors of sizes that are known

What the table does not know takes torch's way, and is noted where it is one of these three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch._C import (
    _dispatch_has_kernel_for_dispatch_key,
    _set_throw_on_mutable_data_ptr,
    _set_warn_deprecated_on_mutable_data_ptr,
)
from torch._functorch import config as functorch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from ddl_runtime.core.running import running_comm

PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout,
         torch.memory_format)  # fmt: skip
NOT_PLAIN = {torch.Tag.inplace_view, torch.Tag.data_dependent_output,
             torch.Tag.dynamic_output_shape}  # fmt: skip
_usual_dispatch = FakeTensorMode.dispatch
_subclass: Any = torch.Tensor._make_subclass
_table: dict[Any, Effect] = {}


class Effect(NamedTuple):
    """What an operation gives: the argument at a place, a view, or tensors of these sizes."""

    place: int | None = None
    view: bool = False
    outputs: tuple[tuple[Any, ...], ...] = ()  # size, strides, type and torch's notes of each
    several: type | None = None  # the kind of sequence that they are in


class _UnknownError(Exception):
    """An argument that the table does not know."""


def _key_of(value: Any) -> Any:
    """What of an argument decides about the sizes of the outcome."""
    if isinstance(value, FakeTensor):
        if value.constant is not None or value.layout is not torch.strided or value.is_complex():
            raise _UnknownError
        return (value.shape, value.stride(), value.storage_offset(), value.dtype,
                value.fake_device, value.requires_grad)  # fmt: skip
    if isinstance(value, (list, tuple)):
        return value.__class__, *map(_key_of, value)
    if isinstance(value, PLAIN):
        return value.__class__, value  # 1 and 1.0 are equal
    raise _UnknownError


def _dispatch(
    self: Any, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
) -> Any:  # fmt: skip
    kwargs = kwargs or {}
    if self.shape_env is not None or not self.cache_enabled or running_comm() is None:
        return _usual_dispatch(self, func, types, args, kwargs)
    try:
        modes = torch.get_default_dtype(), torch.is_inference_mode_enabled()
        key = func, modes, *map(_key_of, args), *((k, _key_of(v)) for k, v in kwargs.items())
    except _UnknownError:
        return _usual_dispatch(self, func, types, args, kwargs)
    effect = _table.get(key)
    if effect is None:
        out = _usual_dispatch(self, func, types, args, kwargs)
        effect = _effect(func, args, kwargs, out)
        if effect is not None:
            _table[key] = effect
        return out
    if effect.place is not None:
        return args[effect.place]
    with fake_tensor.in_kernel_invocation_manager(self):
        if effect.view:
            made = func(*args, **kwargs)
            made = [made] if effect.several is None else made
        else:
            made = [
                torch.empty_strided(size, strides, dtype=dtype, device="meta")
                for size, strides, dtype, _ in effect.outputs
            ]
        guard = (
            _set_warn_deprecated_on_mutable_data_ptr
            if functorch.fake_tensor_allow_unsafe_data_ptr_access  # where the mode has it from
            else _set_throw_on_mutable_data_ptr
        )
        outs = [_fake(self, x, out[3], guard) for x, out in zip(made, effect.outputs, strict=True)]
    return outs[0] if effect.several is None else effect.several(outs)


def _fake(
    mode: Any, meta: torch.Tensor, notes: dict[str, Any], guard: Callable[[Any], object]
) -> Any:
    """What `FakeTensor(mode, meta, device)` makes, with the notes of one that was made so."""
    made: Any = _subclass(
        FakeTensor, meta, meta.requires_grad, dispatch_device=True,
        device_for_backend_keys=notes["_fake_device"],
    )  # fmt: skip
    guard(made)
    made.__dict__.update(notes)
    made.fake_mode = mode
    return made


def _effect(func: Any, args: Sequence[Any], kwargs: Any, out: Any) -> Effect | None:
    """What is to be noted of an operation; None where the next must ask torch again."""
    name = func.name()
    if func.namespace != "aten" or NOT_PLAIN & {*func.tags} or "resize" in name:
        return None
    if _dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"):
        return None  # what is composed of others may give a view or a copy
    for place, arg in enumerate(args):
        if arg is out:
            return Effect(place)
    outs = [out] if isinstance(out, FakeTensor) else out
    if not outs or not isinstance(outs, (list, tuple)):
        return None
    if not all(isinstance(x, FakeTensor) and x.constant is None for x in outs):
        return None
    known = tuple((x.shape, x.stride(), x.dtype, dict(x.__dict__)) for x in outs)
    kind = None if outs[0] is out else list if isinstance(out, list) else tuple
    if func.is_view:
        return Effect(view=True, outputs=known, several=kind)
    memory = [_memory(x) for x in outs]
    shared = set(memory) & {_memory(x) for x in tensors_in((*args, *kwargs.values()))}
    if shared or len(set(memory)) < len(memory) or any(x.storage_offset() for x in outs):
        return None
    return Effect(outputs=known, several=kind)


def _memory(x: Any) -> int:
    return id(x.untyped_storage())


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors among the arguments of an operation, those in lists included."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def install() -> None:
    """From now on rank programs ask the table first."""
    FakeTensorMode.dispatch = _dispatch  # type: ignore[method-assign]
