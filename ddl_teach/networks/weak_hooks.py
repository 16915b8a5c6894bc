"""Hooks of parameters that let their owner go.

torch keeps a parameter's hooks where Python's garbage collector does not see them. If a hook kept
its owner alive, and the owner its parameters, their memory would never be freed.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod


def weakly(method: Callable[..., None]) -> Callable[..., None]:
    """A hook that calls `method` while something else keeps its owner, and later does nothing."""
    reference = WeakMethod(method)

    def hook(*args: Any) -> None:
        if (bound := reference()) is not None:
            bound(*args)

    return hook
