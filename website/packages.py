"""What Pyodide's distribution lacks and notebooks need: the course itself, and plain wheels."""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from importlib.metadata import distribution, version
from pathlib import Path

from website.edition import ROOT
from website.tools import BUILT, fresh, pip

PLAIN = ("comm", "ipywidgets", "jupyter_core")  # in the versions of the course's environment
PYTHON = "3.14"  # Pyodide's
DIGITS = "sklearn/datasets/data/digits.csv.gz"


def wheels() -> list[Path]:
    """All of them."""
    return [course(), digits(), *plain({name: version(name) for name in PLAIN})]


def course() -> Path:
    """The wheel of this checkout; no older build beside it gets into it."""
    out = fresh(BUILT / "course")
    with tempfile.TemporaryDirectory() as folder:
        for package in ("ddl_teach", "ddl_runtime", "ddl_measure", "ddl_class"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, Path(folder, package), ignore=ignored)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, folder)
        words = "--no-deps --no-build-isolation --no-index --quiet --wheel-dir".split()
        pip("wheel", *words, str(out), folder)
    (made,) = out.iterdir()
    return made


def digits() -> Path:
    """Scikit-learn's table of handwritten digits: all that the course reads of 7 MB."""
    library = distribution("scikit-learn")
    files = {DIGITS: Path(str(library.locate_file(DIGITS))).read_bytes()}
    for entry in library.files or []:
        if entry.name in ("COPYING", "LICENSE") and "dist-info" in str(entry):
            files["sklearn/LICENSE"] = Path(str(entry.locate())).read_bytes()
    return written("digits_of_scikit_learn", library.version, files, fresh(BUILT / "digits"))


def plain(versions: dict[str, str]) -> list[Path]:
    """Wheels without machine code, from the package index."""
    out = BUILT / "plain"
    out.mkdir(parents=True, exist_ok=True)
    wanted = {(plain_name(name), number) for name, number in versions.items()}
    if missing := wanted - {named(path) for path in out.glob("*.whl")}:
        words = f"--no-deps --only-binary :all: --platform any --python-version {PYTHON} --dest"
        asked = [f"{name}=={number}" for name, number in missing]
        pip("download", "--quiet", *words.split(), str(out), *asked)
    return [path for path in sorted(out.glob("*.whl")) if named(path) in wanted]


def named(wheel: Path) -> tuple[str, str]:
    """The name and version of a wheel."""
    name, number, *_ = wheel.name.split("-")
    return plain_name(name), number


def plain_name(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def written(name: str, number: str, files: dict[str, bytes], folder: Path) -> Path:
    """A wheel of these files."""
    info, made = f"{name}-{number}.dist-info", folder / f"{name}-{number}-py3-none-any.whl"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n".encode()
    wheel = b"Wheel-Version: 1.0\nGenerator: website\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = files | {f"{info}/METADATA": about, f"{info}/WHEEL": wheel}
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"]).encode()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in (files | {f"{info}/RECORD": record}).items():
            archive.writestr(path, content)
    return made
