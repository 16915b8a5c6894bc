"""What scores depend on beside a submission: the judges, the library, the grader, the arithmetic.

A verdict is kept under a digest of all of it, so a corrected judge means that it is reached anew.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from ddl_class.grading.inside.project import ROOT, packages

LIBRARIES = ("numpy", "scipy", "torch")


def fingerprint(
    folders: Sequence[Path] | None = None, libraries: Sequence[str] = LIBRARIES
) -> str:
    """A digest of the packages' files and of the versions of Python and of these libraries."""
    parts = [f"python {platform.python_version()}"]
    for name in sorted(libraries):
        try:
            parts.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            parts.append(f"{name} is not installed")
    files = {
        f"{number}/{path.relative_to(folder).as_posix()}": path
        for number, folder in enumerate(folders or [ROOT / name for name in sorted(packages())])
        for path in folder.rglob("*")
        if path.is_file() and not _is_by_product(path.relative_to(folder))
    }
    for name in sorted(files):
        parts.append(f"{name} {hashlib.sha256(files[name].read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_by_product(path: Path) -> bool:
    """Whether Python or an editor made it from another file."""
    hidden = any(part.startswith(".") for part in path.parts)
    return hidden or "__pycache__" in path.parts or path.suffix == ".pyc"
