"""Make the notebooks from their sources.

    python notebooks/make.py

Each file of `notebooks/source` becomes the learner's notebook beside this file and, where it has
exercises, the solved one in `notebooks/solved`; without outputs and always to the same bytes. Edit
the source, never the notebook; `tests/test_notebooks.py` compares them. How a source is written
stands in `ddl_class/release/release.py`.

What cells show is compared in the tests where it is the same on any machine. It is kept in
`notebooks/outputs.json`, by the cells' ids. When you have changed such a cell, run its notebook:

    python -m tests.outputs 06_allreduce
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # also where the package is not installed

from ddl_class.release import release


def made() -> dict[Path, str]:
    """What should stand in which notebook."""
    texts = {}
    for source in sorted((HERE / "source").glob("*.py")):
        texts[HERE / f"{source.stem}.ipynb"] = release.text(release.learners(source))
        solved = release.solved(source)
        if solved is not None:
            texts[HERE / "solved" / f"{source.stem}.ipynb"] = release.text(solved)
    return texts


if __name__ == "__main__":
    for path, text in made().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"made {path.relative_to(HERE)}")
