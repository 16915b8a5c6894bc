"""Which notebooks the browser edition has: those that simulated ranks can carry.

Other units need torch from their first pages on, or machines.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDS = r"\b(torch|mpi4py|subprocess|client)\b"  # what no browser has
UNITS = ("00", "05", "06", "10", "13", "14", "15", "16", "17_searching", "20", "24", "25")


def names() -> list[str]:
    """The notebooks' names, the tour and the puzzle first."""
    every = (path.stem for path in (ROOT / "notebooks" / "source").glob("*.py"))
    chosen = sorted(name for name in every if name.startswith(UNITS))
    return sorted(chosen, key=lambda name: name not in ("00_tour", "00_puzzle"))


def for_browsers(notebook: Path) -> str:
    """A notebook for the browser edition: cells that need an installation may fail, and those
    below them run all the same."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if cell["cell_type"] == "code" and re.search(NEEDS, "".join(cell["source"])):
            tags = cell["metadata"].setdefault("tags", [])
            tags += [] if "raises-exception" in tags else ["raises-exception"]
    return json.dumps(content, indent=1, ensure_ascii=False)
