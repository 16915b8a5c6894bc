"""Which notebooks the browser edition has: those that simulated ranks can carry.

Other units need torch from their first pages on, or machines.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNITS = ("00", "05", "06", "10", "13", "14", "15", "16", "17_searching", "20", "24", "25")


def names() -> list[str]:
    """The notebooks' names, the tour and the puzzle first."""
    every = (path.stem for path in (ROOT / "notebooks" / "source").glob("*.py"))
    chosen = sorted(name for name in every if name.startswith(UNITS))
    return sorted(chosen, key=lambda name: name not in ("00_tour", "00_puzzle"))
