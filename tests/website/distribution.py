"""A Pyodide distribution for tests: npm has its core, the package index the plain wheels.

NumPy, SciPy and matplotlib for Pyodide are in neither. Stand-ins take their places, in wheels
under their names: a NumPy for small arrays, a matplotlib that draws nothing, an empty SciPy. The
published site is built from Pyodide's own distribution instead.
"""

import json
import shutil
from pathlib import Path

import tools

from website import packages, pyodide

HERE = Path(__file__).resolve().parent
STAND_IN = HERE / "stand_in"
STANDING = ("numpy", "matplotlib", "scipy")


def distribution() -> Path:
    """The folder; made anew each time, but downloads are kept."""
    core = tools.npm_packages() / "pyodide"
    folder = packages.fresh(HERE / "built" / "pyodide")
    for name in pyodide.OWN:
        shutil.copy(core / name, folder)
    lock = json.loads((core / pyodide.LOCK).read_text())
    known = lock["packages"]
    for name in STANDING:
        files = {
            f"{path.relative_to(STAND_IN)}": path.read_bytes()
            for path in (STAND_IN / name).rglob("*.py")
        } or {f"{name}/__init__.py": b""}
        wheel = packages.written(name, known[name]["version"], files, folder)
        known[name] = pyodide.entry_of(wheel)
    chosen = pyodide.needed(known, pyodide.ASKED)
    versions = {
        entry["name"]: entry["version"]
        for entry in chosen.values()
        if entry["name"] not in STANDING
    }
    for wheel in packages.plain(versions):
        shutil.copy(wheel, folder)
        entry = pyodide.entry_of(wheel)
        chosen[entry["name"]] = chosen[entry["name"]] | {
            "file_name": wheel.name, "sha256": entry["sha256"]
        }  # fmt: skip
    (folder / pyodide.LOCK).write_text(json.dumps(lock | {"packages": chosen}))
    return folder
