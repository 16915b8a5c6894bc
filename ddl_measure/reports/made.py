"""Which code made a report, with which packages: found out, not typed.

The code's version is git's where the package lies in its repository, with "+changes" where its
files differ from that commit; else the package's own. The lock's hash says which versions were
asked for, and what is installed is compared with it, package by package.
"""

import datetime
import hashlib
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from ddl_measure.machine import output_of, version_of
from ddl_measure.reports.report import Provenance
from ddl_runtime import OURS

ROOT = Path(__file__).resolve().parents[2]
SHOWN = 3  # packages that differ are named up to so many


def made(command: str, seeds: Sequence[int] = ()) -> Provenance:
    """Where a report comes from that is measured now, by `command`."""
    today = datetime.date.today().isoformat()
    return Provenance(today, command, code_version(ROOT), lock_hash(ROOT), tuple(seeds))


def code_version(root: Path) -> str | None:
    """The commit, or the version of the package where there is no repository; None: unknown."""
    git = ("git", "-C", str(root))
    commit = output_of(*git, "rev-parse", "HEAD") if (root / ".git").exists() else ""
    if not commit:
        version = version_of("ddl-teach")
        return f"ddl-teach {version}" if version else None
    changed = output_of(*git, "status", "--porcelain", "--untracked-files=no", "--", *OURS)
    return f"{commit[:12]}{'+changes' if changed else ''}"


def lock_hash(root: Path) -> str:
    """The hash of the lock, and what of it is installed otherwise; without one, of all."""
    installed = {
        _usual(package.name): package.version
        for package in metadata.distributions()
        if package.name
    }
    lock = root / "requirements.lock"
    if not lock.is_file():
        names = "\n".join(f"{name}=={installed[name]}" for name in sorted(installed))
        return f"installed packages, sha256 {_hash(names)}"
    text = lock.read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)
    pinned = {_usual(name): version for name, version in pins}
    other = [
        f"{name} {installed[name]}"
        for name, version in pinned.items()
        if installed.get(name, version).partition("+")[0] != version
    ]
    more = f" and {len(other) - SHOWN} more" if len(other) > SHOWN else ""
    kept = f"but {', '.join(other[:SHOWN])}{more}" if other else "all as locked"
    return f"requirements.lock, sha256 {_hash(text)}, {kept}"


def _usual(name: str) -> str:
    """A package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
