"""The collectives by name: what a command line, a benchmark or a slider can choose from.

get("ring").allreduce(comm, x)      the file of that name
function("ring", "allgather")       one collective of it
names("alltoall")                   the algorithms that have an all-to-all
offers("tree")                      what a tree can do
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from ddl_runtime.core.checks import one_of
from ddl_runtime.core.checks import unknown as unknown  # for those who name collectives, too

ALGORITHMS = (
    "linear", "tree", "ring", "recursive_doubling", "rabenseifner", "leaders", "hierarchical",
    "shared_memory", "bruck", "pairwise", "dissemination", "double_binary_tree", "pat", "direct",
    "one_shot", "native", "auto",
)  # fmt: skip
COLLECTIVES = (
    "allreduce", "reduce_scatter", "allgather", "broadcast", "reduce", "gather", "scatter",
    "alltoall", "scan", "barrier",
)  # fmt: skip


def get(algorithm: str) -> ModuleType:
    """The file of that name, whose functions are its collectives."""
    one_of(algorithm, "algorithm", ALGORITHMS)
    return import_module(f"ddl_teach.collectives.{algorithm}")


def function(algorithm: str, collective: str) -> Callable[..., Any]:
    """One collective of one algorithm."""
    if collective not in offers(algorithm):
        able = names(collective)
        raise ValueError(
            f"{algorithm} has no {collective}; it has {', '.join(offers(algorithm))}; "
            f"algorithms with {collective}: {', '.join(able)}"
        )
    function: Callable[..., Any] = getattr(get(algorithm), collective)
    return function


def offers(algorithm: str) -> tuple[str, ...]:
    """The collectives that an algorithm has."""
    module = get(algorithm)
    return tuple(collective for collective in COLLECTIVES if hasattr(module, collective))


def names(collective: str = "allreduce") -> tuple[str, ...]:
    """The algorithms that have a collective."""
    one_of(collective, "collective", COLLECTIVES)
    return tuple(name for name in ALGORITHMS if collective in offers(name))
