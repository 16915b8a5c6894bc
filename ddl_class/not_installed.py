"""What is not installed is named in one line, with the command that installs it.

Most lessons need NumPy and greenlet alone, and a browser runs them. Real ranks, torch and the like
are parts of the course that one installs on a computer.
"""

import inspect
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from types import ModuleType

PARTS = {
    "ipyparallel": "class", "matplotlib": "science", "mpi4py": "mpi", "psutil": "mpi",
    "scipy": "science", "sklearn": "science", "torch": "torch",
}  # fmt: skip
HOW = 'pip install "ddl-teach[{}]"'
NO_MPI = "There is no MPI here, so {} ranks are simulated. Times are computed, not measured."
NO_MPI += f"\nFor real ranks, on a computer: {HOW.format('mpi')}"


class NotHere(ModuleNotFoundError):
    """In a notebook the message stands alone."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class NotInstalled(MetaPathFinder):
    """Asked last, when no other finder knows the module. Only an import is refused: who asks
    `importlib.util.find_spec` whether it is installed gets None."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        frame = inspect.currentframe()
        asking = frame and frame.f_back and frame.f_back.f_back  # who asks all finders
        imports = asking is not None and asking.f_code.co_name == "_find_and_load_unlocked"
        if imports and (part := PARTS.get(name)) is not None:
            how = HOW.format(part)
            raise NotHere(f"{name} is not here. On a computer: {how}", name=name)


def has_mpi() -> bool:
    """Whether there can be real ranks."""
    return PathFinder.find_spec("mpi4py") is not None


sys.meta_path.append(NotInstalled())
