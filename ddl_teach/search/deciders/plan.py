"""What all plans of a search are checked for."""

from typing import Any

from ddl_runtime.core.checks import whole_number
from ddl_teach.search.space import Space


def check_plan(decider: Any, *counts: str) -> None:
    """Refuse a decider whose space is none, or whose seed or these counts cannot be."""
    name = type(decider).__name__
    if not isinstance(decider.space, Space):
        raise TypeError(f"{name}: space must be a Space({{...}}), not {decider.space!r}")
    for what in (*counts, "seed"):
        least = {"seed": 0, "eta": 2}.get(what, 1)
        whole_number(getattr(decider, what), f"{name}: {what}", least)
