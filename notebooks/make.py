"""Make the notebooks from their sources.

    python notebooks/make.py

Each file of `notebooks/source` becomes a notebook beside this file, without outputs and always to
the same bytes. Edit the source, never the notebook; `tests/test_notebooks.py` compares them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import jupytext
import nbformat

HERE = Path(__file__).resolve().parent
SOURCES = sorted((HERE / "source").glob("*.py"))
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def notebook_path(source: Path) -> Path:
    """Where the notebook of this source stands."""
    return HERE / f"{source.stem}.ipynb"


def notebook_text(source: Path) -> str:
    """What stands in the notebook of this source."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    seen: set[str] = set()
    for cell in notebook.cells:
        # From its content: a cell keeps its id when others are put before it.
        repeated = sum(other.startswith(_digest(cell.source)) for other in seen)
        cell.id = _digest(cell.source) + (f"-{repeated}" if repeated else "")
        seen.add(cell.id)
    return nbformat.writes(notebook) + "\n"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


if __name__ == "__main__":
    for source in SOURCES:
        notebook_path(source).write_text(notebook_text(source), encoding="utf-8")
        print(f"made {notebook_path(source).name} from source/{source.name}")
