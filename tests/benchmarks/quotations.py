"""The text of units, labs and guides in which tests look for sentences."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def plain(path: str) -> str:
    """The text of a file in one line, without comment signs and emphasis."""
    lines = (ROOT / path).read_text().splitlines()
    return " ".join(" ".join(line.removeprefix("#") for line in lines).replace("**", "").split())
