"""The part of a Pyodide distribution that the browser edition loads, with the course added.

A distribution is a folder with Pyodide's own files, wheels, and `pyodide-lock.json`, which says
what each wheel needs, and its hash. The site gets a lock of its own, with what is there: a package
that is missing is named at once, and nothing is asked of another site.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from website.packages import named, plain_name
from website.tools import BuildError

OWN = (
    *("pyodide.mjs", "pyodide.js", "pyodide.asm.mjs", "pyodide.asm.wasm"),
    *("python_stdlib.zip", "package.json"),
)
LOCK = "pyodide-lock.json"
ASKED = ("numpy", "matplotlib", "scipy", "ipython", "jedi", "micropip", "platformdirs")
COURSE_NEEDS = [
    *("numpy", "matplotlib", "ipython", "ipywidgets", "jupyter-core", "platformdirs"),
    "digits-of-scikit-learn",
]


def install(distribution: Path, wheels: Iterable[Path], folder: Path) -> None:
    """Put all of it into the folder."""
    folder.mkdir(parents=True)
    lock = json.loads((distribution / LOCK).read_text())
    chosen = needed(lock["packages"], ASKED)
    for name in (*OWN, *(entry["file_name"] for entry in chosen.values())):
        if not (distribution / name).is_file():
            raise BuildError(f"{distribution} has no {name}: is it a whole Pyodide distribution?")
        shutil.copy(distribution / name, folder)
    for entry in chosen.values():
        if entry["sha256"] != hash_of(folder / entry["file_name"]):
            raise BuildError(f"{entry['file_name']} is not what {LOCK} says")
    for wheel in wheels:
        entry = entry_of(wheel)
        shutil.copy(wheel, folder)
        chosen[entry["name"]] = entry
    chosen["ddl-teach"]["depends"] = COURSE_NEEDS
    chosen["ipywidgets"]["depends"] = ["comm", "traitlets", "ipython"]
    chosen["jupyter-core"]["depends"] = ["platformdirs", "traitlets"]
    (folder / LOCK).write_text(json.dumps(lock | {"packages": chosen}))


def needed(packages: dict[str, Any], asked: Iterable[str]) -> dict[str, Any]:
    """These packages and all that they need, by name."""
    chosen: dict[str, Any] = {}
    waiting = [*asked]
    while waiting:
        name = plain_name(waiting.pop())
        if name not in packages:
            raise BuildError(f"{LOCK} does not know {name}")
        if name not in chosen:
            chosen[name] = packages[name]
            waiting += packages[name]["depends"]
    return chosen


def entry_of(wheel: Path) -> dict[str, Any]:
    """What a lock says of a wheel that needs nothing."""
    name, number = named(wheel)
    tops = {path.partition("/")[0] for path in zipfile.ZipFile(wheel).namelist()}
    imports = sorted(
        top.removesuffix(".py") for top in tops if not top.endswith((".dist-info", ".data"))
    )
    return {
        "name": name, "version": number, "file_name": wheel.name, "sha256": hash_of(wheel),
        "depends": [], "imports": imports, "install_dir": "site", "package_type": "package",
        "unvendored_tests": False,
    }  # fmt: skip


def hash_of(path: Path) -> str:
    """The hash of a file, as locks have it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
