"""The order of the entries: who is certainly faster stands before, all others share a place.

    place = 1 + how many others are certainly faster: whose interval ends before this one begins

Medians are shown, but two whose 95% intervals overlap are not told apart: the next afternoon could
turn them round. A team has one entry; several would be the best of several.
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.competition.judge import faults, raced
from ddl_measure.interval import Interval, interval
from ddl_measure.reports.cases import find
from ddl_measure.reports.file import from_json, load
from ddl_measure.reports.report import Report
from ddl_measure.reports.review import review

HOUSE_FILE, MEASURED = "house.json", "measured.json"


@dataclass(frozen=True)
class BoardRow:
    """A team on the board."""

    place: int
    team: str
    ranks: int
    seconds: Interval
    epochs: Interval
    accuracy: Interval
    trainings: int
    searched: int
    file: str


@dataclass(frozen=True)
class RefusedEntry:
    """An entry that is not shown, and every reason."""

    file: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Board:
    """Lines by their places, what was refused, and the house's own report."""

    lines: tuple[BoardRow, ...]
    refused: tuple[RefusedEntry, ...]
    house: Report


def board(folder: str | os.PathLike) -> Board:
    """The entries of a folder, one of which is the house's: files, and folders of lab 9."""
    folder = Path(folder)
    files = sorted([*folder.glob("*.json"), *folder.glob(f"*/{MEASURED}")])
    house = read_house(house_in(folder))
    good: dict[str, Report] = {}
    refused = []
    for path in files:
        name = str(path.relative_to(folder))
        try:
            report = read_entry(path)
            reasons = faults(report, house)
        except (ValueError, OSError) as error:
            reasons = [str(error)]
        if reasons:
            refused.append(RefusedEntry(name, tuple(reasons)))
        else:
            good[name] = report
    teams = Counter(report.entries[0].name for report in good.values())
    for file in [file for file, report in good.items() if teams[report.entries[0].name] > 1]:
        name = good.pop(file).entries[0].name
        reason = f"{name} has {teams[name]} entries: the best of several is not shown"
        refused.append(RefusedEntry(file, (reason,)))
    return Board(_ordered(good), tuple(refused), house)


def read_entry(path: Path) -> Report:
    """A report, or the one in what lab 9 has measured."""
    if path.name != MEASURED:
        return load(path)
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))["results"]["entry"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: lab 9 has not written this ({error!r})") from None
    return from_json(json.dumps(entry))


def house_in(folder: Path) -> Path:
    """Where the house's entry is in a folder of entries."""
    own = folder / HOUSE_FILE.partition(".")[0] / MEASURED
    return own if own.is_file() else folder / HOUSE_FILE


def read_house(path: Path) -> Report:
    """The house's entry, which must be without fault itself."""
    if not path.is_file():
        raise Mistake(
            f"there is no {path}: the lab's own entry says which machine, cores, target and seeds "
            "are given. Make it first, by 'ddl-teach competition run' on the lab's machine"
        )
    house = read_entry(path)
    found = review(house)
    if found or len(house.entries or ()) != 1 or raced(house) is None:
        raise Mistake(f"{path} is no good example: {'; '.join(map(str, found)) or 'no entry'}")
    return house


def _ordered(reports: dict[str, Report]) -> tuple[BoardRow, ...]:
    times = {file: interval(raced(report).values) for file, report in reports.items()}
    lines = []
    for file, report in reports.items():
        [entry] = report.entries
        surely = sum(high < times[file][1] for _, _, high in times.values())
        lines.append(BoardRow(
            1 + surely, entry.name, entry.ranks, times[file], _middle(report, "epochs to target"),
            _middle(report, "accuracy"), len(raced(report).values), entry.searched or 0, file,
        ))  # fmt: skip
    return tuple(sorted(lines, key=lambda line: (line.place, line.seconds[0], line.team)))


def _middle(report: Report, quantity: str) -> Interval:
    every = find(report.entries[0], quantity)
    values: Sequence[float] = [value for series in every for value in series.values or ()]
    return interval(values) if values else (float("nan"),) * 3
