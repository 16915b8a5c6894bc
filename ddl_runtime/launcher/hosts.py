"""Where real ranks run, if not simply on this machine: nodes with addresses of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

STARTED_FOR = "DDL_TEACH_STARTED_FOR"  # in the environment of all that one mpiexec has started


class Place(Protocol):
    """Nodes that see one folder at the same path, and an mpiexec that reaches them all."""

    folder: Path
    python: str  # what ranks there run

    @property
    def cure(self) -> str:
        """The command that mends its troubles."""

    def mpi_words(self, ranks: int, mpiexec: str, family: str) -> list[str]:
        """What comes before `python` to start so many ranks there with `mpiexec`, which is an
        "openmpi" or an "mpich"."""

    def end(self, folder: Path) -> None:
        """End whatever runs there with this path in its environment, as STARTED_FOR."""

    def moving(self) -> bool:
        """Whether messages may be under way between its nodes, as long as cables can take. It is
        asked again and again by who suspects that none are."""

    def troubles(self) -> list[str]:
        """What is wrong with nodes and cables, a line each: for stories about ranks that wait."""

    @property
    def cut_cable(self) -> str | None:
        """The node whose cable is out, the first one of several."""
