"""The element types that can travel, of NumPy and of torch, and why other arrays cannot.

Torch is asked only where the caller's data is a tensor, and is never imported here.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

# The position of a name is its code on the wire: append, never reorder.
TYPE_NAMES = (
    "phantom bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 "
    "float64 longdouble complex64 complex128 clongdouble complex32"
).split()
CODE_OF_NAME = {name: code for code, name in enumerate(TYPE_NAMES)}
NUMPY_CODES = {
    np.dtype(name): code
    for name, code in CODE_OF_NAME.items()
    if name not in ("phantom", "bfloat16", "complex32")
}


def is_tensor(x: object) -> bool:
    """Whether `x` is a tensor of torch; False until torch has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def lies_plainly(x: Any) -> bool:
    """Whether a tensor's elements stand in memory one after another, as they are."""
    return (
        x.layout is sys.modules["torch"].strided
        and not (x.is_nested or x.is_conj() or x.is_neg())
        and x.is_contiguous()
    )


@functools.cache
def torch_codes() -> dict[Any, int]:
    """The code of each of torch's element types, once torch has been imported."""
    torch = sys.modules["torch"]
    codes = CODE_OF_NAME.items()
    return {getattr(torch, name): code for name, code in codes if hasattr(torch, name)}


def refusal(x: Any) -> TypeError:
    """Why `x` cannot travel, and what to do about it."""
    if is_tensor(x):
        if x.device.type not in ("cpu", "cuda"):
            return TypeError(f"this tensor lives on {x.device}: send x.cpu() instead")
        if x.dtype not in torch_codes():
            return TypeError(f"torch's element type {x.dtype} cannot travel: convert it first")
        if x.is_nested or x.layout is not sys.modules["torch"].strided:
            return TypeError("this tensor is sparse or nested: send its dense parts one by one")
        if x.is_conj() or x.is_neg():
            return TypeError(
                "this tensor's elements are only marked as conjugated or negated: send "
                "x.resolve_conj().resolve_neg()"
            )
        return TypeError(
            f"this tensor of shape {tuple(x.shape)} is not contiguous in memory (a transpose "
            "or a strided view?): send x.contiguous(), or receive into a contiguous tensor"
        )
    if isinstance(x, np.ndarray):
        if type(x) is not np.ndarray:
            return TypeError(f"a {type(x).__name__} is not a plain array: send numpy.asarray(x)")
        if not x.dtype.isnative:
            return TypeError(f"{x.dtype} has foreign byte order: send x.astype({x.dtype.name!r})")
        if x.dtype not in NUMPY_CODES:
            return TypeError(f"element type {x.dtype} cannot travel: use a number type")
        return TypeError(
            f"this array of shape {x.shape} is not C-contiguous in memory (a transpose or a "
            "strided view?): send numpy.ascontiguousarray(x), or receive into a contiguous array"
        )
    return TypeError(
        f"a {type(x).__name__} cannot travel: wrap it as a NumPy array or a torch tensor, for "
        "instance numpy.array([x])"
    )


_TORCH_OPERATIONS = {"sum": "add", "max": "maximum", "min": "minimum", "product": "mul"}


def combine_tensors(op: str, a: Any, b: Any, out: Any) -> None:
    """Combine torch tensors, on any device, into `out`."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        getattr(torch, _TORCH_OPERATIONS[op])(a, b, out=out.detach())


def at_end_of_backward(function: Callable[[], None]) -> None:
    """Call it when torch's backward pass under way has come to its end, before later callbacks.
    torch has no public way; its own DDP and FSDP take this one."""
    sys.modules["torch"].autograd.Variable._execution_engine.queue_callback(function)


def backward_on_this_thread() -> None:
    """Make backward passes run on the thread that calls them. For tensors on a device torch would
    use threads of its own, and a rank that sends messages in such a pass must not."""
    if "torch" in sys.modules:
        sys.modules["torch"].autograd.set_multithreading_enabled(False)
