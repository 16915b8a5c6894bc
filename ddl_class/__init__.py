"""The classroom: what surrounds the lessons, from opening the notebooks to the doctor.

What notebooks use stands here by name. Each is imported when first asked for, so that the doctor
need not load the lessons, nor an engine the exercises.
"""

from importlib import import_module
from typing import Any

from ddl_class.not_installed import has_mpi

_HOMES = {
    "Engines": "engines.pool",
    "animate": "notebook.animation",
    "check": "exercises.check",
    "definition": "exercises.definitions",
    "explore": "notebook.explorer",
    "hint": "exercises.check",
    "judge": "exercises.check",
    "launch": "ranks",
    "predict": "exercises.predictions",
    "predictions": "exercises.predictions",
    "progress": "exercises.progress",
    "reveal": "exercises.predictions",
    "review": "retrieval.review",
    "simulate": "notebook.hanging",
    "stopwatch": "notebook.timing",
    "yours": "exercises.check",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "Engines" and not has_mpi():
        return import_module(f"{__name__}.engines.simulated").SimulatedEngines
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
