"""Reading what was recorded: every row of a results file that has a median and an interval.

Rows that stand below each other, with the same number in front of their names if there is one,
were measured side by side in one run; a ratio is only ever taken of two of those. Its interval is
the widest that the two intervals allow, low / high to high / low.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
NUMBER = r"[\d,]*\.?\d+"
ROW = re.compile(
    rf"^(?:\s*(?P<before>\d[\d.]*%?)\s{{2,}})?\s*(?P<name>\S.*?)\s{{2,}}.*?"
    rf"(?P<median>{NUMBER}) ?(?:us|ms|s)? +\(?(?P<low>{NUMBER}) to +(?P<high>{NUMBER})"
)
RATES = re.compile(rf"({NUMBER}) +({NUMBER})-({NUMBER})")  # and no other number means anything


@dataclass(frozen=True)
class Measured:
    """A median and the two ends of its interval, in whatever unit its file has."""

    median: float
    low: float
    high: float

    def over(self, peer: Measured) -> Measured:
        """The ratio to another one, with the widest interval that the two allow."""
        return Measured(self.median / peer.median, self.low / peer.high, self.high / peer.low)


@dataclass(frozen=True)
class Side:
    """Rows that were measured side by side: by name, and the lines above that say of what."""

    of: str
    rows: dict[str, Measured]


def head(file: str) -> dict[str, str]:
    """Date, processor and so on, from the top of a results file."""
    lines = (RESULTS / file).read_text().split("\n\n")[0].splitlines()
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in lines)


def sides(file: str) -> Iterator[Side]:
    """All rows of a file, in groups that were measured together."""
    above: list[str] = []
    before, rows = "", {}
    for line in [*(RESULTS / file).read_text().splitlines(), ""]:
        found = ROW.match(line) if " to " in line else None
        number = (found["before"] or "") if found else ""
        if rows and (not found or number != before):
            yield Side(", ".join([*above, before] if before else above), rows)
            rows = {}
        if found:
            values = (float(found[name].replace(",", "")) for name in ("median", "low", "high"))
            before, rows = number, {**rows, found["name"]: Measured(*values)}
        elif not line:
            above = []
        elif "interval" not in line and not line.startswith("  chosen"):
            # A line that is further in is about what follows it alone.
            deep = len(line) - len(line.lstrip())
            above = [one for one in above[:1] if deep] + [line.strip()]


def rates(file: str) -> Iterator[Side]:
    """Rows with two rates and their ranges, ours and the peer's, as times of one thing."""
    for line in (RESULTS / file).read_text().splitlines():
        found = RATES.findall(line)
        if len(found) == 2:
            ours, peer = ([1 / float(number.replace(",", "")) for number in one] for one in found)
            name = " ".join(line.split()[:3])
            yield Side(name, {"ours": _ordered(ours), "peer": _ordered(peer)})


def _ordered(times: list[float]) -> Measured:
    median, high, low = times  # the fewest a second took longest
    return Measured(median, low, high)
