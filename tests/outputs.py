"""What cells of notebooks show, where that is the same on any machine: nbval compares it.

    python -m tests.outputs [NOTEBOOK ...]    # as 06_allreduce; without names: all of them

Runs the notebooks twice. The second time there is one processor, with plainer arithmetic and other
hashes. What a cell shows is kept if it was the same text both times; so what depends on time, on
the machine or on chance is not compared. Some notebooks read Python's own library, which changes
with each of its releases: the comparison is made on the system and the Python that the file names.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "notebooks" / "outputs.json"
ONE_PROCESSOR = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
PLAIN = {
    "PYTHONHASHSEED": "7",
    "OPENBLAS_CORETYPE": "Prescott",
    "ATEN_CPU_CAPABILITY": "default",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}
SYSTEM = f"{sys.platform}, Python {platform.python_version()}"
RUN = "import pytest; raise SystemExit(pytest.main())"

Outputs = list[dict[str, Any]]
KINDS = {"text/plain", "image/png"}  # nbval does not look at the latter
# `check` draws one of its counts, and folds the rest of what it says by that.
CHANCE = r"(?s)\s+and\s+\d+\s+simulated\s+ranks.*"
# Ranks race: which line comes first, which rank an error names, where all are when it is late.
RACE = r"(?m)^\[\d+\] |^rank \d+ raised|^The time was up"
WHAT = ("output_type", "name", "text", "ename", "evalue")


def kept() -> tuple[str, dict[str, dict[str, Outputs]]]:
    """The system and the Python that it was made on, and for each notebook what its cells show, by
    their ids."""
    file = json.loads(KEPT.read_text(encoding="utf-8"))
    return file["on"], file["shown"]


def expected() -> dict[str, dict[str, Outputs]]:
    """What is kept, where it was made on such a system with such a Python; else nothing."""
    on, shown = kept()
    return shown if on == SYSTEM else {}


def expect(item: Any, outputs: Outputs) -> None:
    """Have nbval compare what this cell shows with these outputs."""
    item.cell.outputs, item.cell.execution_count = nbformat.from_dict(outputs), 1
    item.parent.sanitize_patterns[CHANCE] = ""


def comparable(outputs: Outputs) -> Outputs:
    """The texts that a cell has shown without pictures; none if it showed more than both, or
    depends on a race of ranks."""
    plain = []
    for output in outputs:
        if not KINDS.issuperset(output.get("data", ())):
            return []
        plain.append({key: output[key] for key in WHAT if key in output})
        if any(re.search(RACE, str(value)) for value in plain[-1].values()):
            return []
        if "text" in output:
            plain[-1]["text"] = re.sub(CHANCE, "", output["text"])
        if "data" in output:
            plain[-1]["data"] = {"text/plain": output["data"].get("text/plain", "")}
    return plain


# -- as a plugin of pytest: records what the cells of a run show ----------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file to record into."""
    parser.addoption("--record", help="write what the notebooks' cells show into this file")


def pytest_runtest_teardown(item: Any) -> None:
    """Add what a cell has shown to the file."""
    if shown := comparable(getattr(item, "test_outputs", None) or []):
        with open(item.config.option.record, "a", encoding="utf-8") as file:
            print(json.dumps([item.path.stem, item.cell.id, shown]), file=file)


def recorded(paths: list[Path], start: str, more: dict[str, str]) -> list[Any]:
    """What the cells of these notebooks show in one run, in such a process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "shown")
        options = ["-q", "-p", "no:cacheprovider", "-p", "tests.outputs", f"--record={file}"]
        command = [sys.executable, "-c", f"{start}\n{RUN}", *options, *map(str, paths)]
        if subprocess.run(command, cwd=ROOT, env=os.environ | more).returncode:
            raise SystemExit("A cell has failed: nothing is kept.")
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def main(names: list[str]) -> None:
    """Run the notebooks of these names, and keep what they show."""
    learners = [ROOT / "notebooks" / f"{name}.ipynb" for name in names]
    learners = learners or sorted(ROOT.glob("notebooks/*.ipynb"))
    solved = [path.parent / "solved" / path.name for path in learners]
    paths = [own if own.exists() else path for own, path in zip(solved, learners, strict=True)]
    first, second = recorded(paths, "", {}), recorded(paths, ONE_PROCESSOR, PLAIN)
    known = {name: cells for name, cells in expected().items() if names}
    known |= {path.stem: {} for path in paths}
    for name, cell, shown in first:
        if [name, cell, shown] in second:
            known[name][cell] = shown
    text = json.dumps({"on": SYSTEM, "shown": known}, indent=1, sort_keys=True, ensure_ascii=False)
    KEPT.write_text(f"{text}\n", encoding="utf-8")
    print(*(f"{name}: {len(cells)} cells" for name, cells in sorted(known.items())), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
