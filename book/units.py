"""The notebooks as chapters, with what their cells give back.

A chapter is what a learner sees who has done everything: of each exercise the stub, and folded
away one solution; no hidden tests. The cells are executed once, on this machine's own ranks, and
what they gave is kept under the digest of all that was executed. A cell that fails ends the build.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

from book import moving
from book.outputs import as_html
from ddl_class.release import release

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "notebooks" / "source"
SECONDS = 300  # for one cell, on a slow machine
QUIET = {"IPP_NONINTERACTIVE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


class CellError(Exception):
    """A cell of a notebook does not do what the book says it does."""


def chapter(source: Path, kept: Path | None, solutions: bool = True) -> str:
    """A notebook as Markdown; with outputs where `kept` is the folder that keeps them."""
    solved, stubs = reading(source)
    outputs = executed(source.stem, solved, kept) if kept else [[] for _ in solved.cells]
    blocks: list[str] = []
    for cell, stub, given in zip(solved.cells, stubs.cells, outputs, strict=True):
        if cell.cell_type == "markdown":
            blocks.append(linked(cell.source))
        else:
            blocks.extend(_code_cell(cell if solutions else stub, stub))
            blocks.extend(_shown(given))
    blocks[0] = blocks[0].replace("# ", f"# {source.stem[:2]} ", 1)
    return "\n\n".join(moving.before_formulas(source.stem, blocks)) + "\n"


def reading(source: Path) -> tuple[NotebookNode, NotebookNode]:
    """The notebook with solutions, and the same cells with stubs; both without hidden tests."""
    whole, _ = ClearHiddenTests().preprocess(release.instructors(source), {})
    stubs, _ = ClearSolutions(code_stub={"python": release.STUB}).preprocess(
        nbformat.from_dict(whole), {}
    )
    for cell in whole.cells:
        lines = cell.source.split("\n")
        cell.source = "\n".join(x for x in lines if not x.strip().startswith(release.MARKS))
    return whole, stubs


def _code_cell(cell: NotebookNode, stub: NotebookNode) -> Iterator[str]:
    language = "text" if cell.source.startswith("%%bash") else "python"
    if cell.source != stub.source:
        yield _fenced(stub.source, language)
        yield "<details class='solution'><summary>One solution</summary>"
        yield _fenced(cell.source, language)
        yield "</details>"
    elif cell.source.strip():
        yield _fenced(cell.source, language)


def _fenced(code: str, language: str) -> str:
    return f"````{language}\n{code}\n````"


def _shown(given: list[NotebookNode]) -> Iterator[str]:
    parts = [part for part in map(as_html, given) if part]
    if parts:
        inside = "\n".join(parts)
        yield f'`````{{raw}} html\n<div class="output">\n{inside}\n</div>\n`````'


def linked(text: str) -> str:
    """A cell's text, in which "unit 06" leads there and a file of ours to the reference."""
    numbered = {path.stem[:2]: path.stem for path in sorted(SOURCES.glob("*.py"), reverse=True)}

    def link(match: re.Match[str]) -> str:
        words, number = match[0], match[1]
        return f"[{words}]({numbered[number]}.md)" if number in numbered else words

    # Neither inside of code nor inside of a link.
    pieces = re.split(r"(```.*?```|`[^`\n]*`|\[[^\]]*\]\([^)]*\))", text, flags=re.DOTALL)
    return "".join(
        piece if odd % 2 else re.sub(r"\b[Uu]nits? (\d\d)\b", link, piece)
        for odd, piece in enumerate(pieces)
    )


def executed(name: str, notebook: NotebookNode, kept: Path) -> list[list[NotebookNode]]:
    """The outputs of each cell, of now or of an earlier time."""
    digest = hashlib.sha256(release.text(notebook).encode()).hexdigest()[:16]
    path = kept / f"{name}-{digest}.ipynb"
    if not path.exists():
        _execute(name, notebook)
        kept.mkdir(parents=True, exist_ok=True)
        for old in kept.glob(f"{name}-*.ipynb"):
            old.unlink()
        half = path.with_suffix(".half")
        half.write_text(release.text(notebook), encoding="utf-8")
        half.rename(path)
    return [cell.get("outputs", []) for cell in nbformat.read(path, 4).cells]


def _execute(name: str, notebook: NotebookNode) -> None:
    begun: list[NotebookNode] = []
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        extra_arguments=["--log-level=ERROR"],  # not a warning for each of its sockets
        resources={"metadata": {"path": str(SOURCES.parent)}},
        on_cell_start=lambda cell, cell_index: begun.append(cell),
    )
    with tempfile.TemporaryDirectory() as folder:
        # Nothing of the user's own: no profile of IPython, no exercises solved before.
        private = dict.fromkeys(("IPYTHONDIR", "DDL_TEACH_DATA"), folder)
        try:
            client.execute(env=os.environ | private | QUIET)
        except (CellExecutionError, CellTimeoutError) as error:
            where = f"{name}, cell {notebook.cells.index(begun[-1])}"
            raise CellError(f"{where}:\n\n{begun[-1].source}\n\n{error}") from None
