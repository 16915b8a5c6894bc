"""The board of a competition: what is wrong with an entry, and the order of the others.

`measure.reports.review` reads an entry as it reads all reports. The rules of the lab are those of
the house's own entry: the same machine, no more cores, the same data, target, seeds and code. So
rules are written down once, and a new machine needs one new entry of the house.

    place = 1 + how many others are certainly faster: whose interval ends before this one begins

Medians are shown, but of two whose 95% intervals overlap neither is said to be faster: the next
afternoon could turn them round. A team has one entry; several would be the best of several. The
page is one file, with nothing to load and nothing that runs.
What to look at: what no judge can see in a file is whether it is true. That is why the lab runs
every program itself, and why teams read each other's code.
"""

import argparse
import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Template

from ddl_class.commands.mistake import Mistake
from ddl_class.competition.race import NETWORK, NODES, same_network
from ddl_measure.interval import FEWEST, Interval, interval
from ddl_measure.reports.cases import find
from ddl_measure.reports.file import from_json, load
from ddl_measure.reports.report import A_TRAINING, Report, Series
from ddl_measure.reports.review import review
from ddl_runtime.records.whole_file import write_whole

GIVEN = ("data", "target")  # of a report, as the house has them
MACHINE = (
    "processor", "cores", "memory", "system", "python", "MPI library", "packages", NODES,
)  # fmt: skip
MADE = ("code", "lock", "seeds")
PAGE = Path(__file__).with_suffix(".html.j2")


def faults(entry: Report, house: Report) -> list[str]:
    """The reasons to refuse an entry; an empty list if there is none."""
    return [*map(str, review(entry)), *_breaches(entry, house)]


def raced(report: Report) -> Series | None:
    """The seconds to the target of a report's only entry."""
    own = find(report.entries[0], "seconds to target") if report.entries else ()
    return next((series for series in own if series.of == A_TRAINING and series.values), None)


def _breaches(entry: Report, house: Report) -> Iterator[str]:
    if len(entry.entries or ()) != 1 or raced(entry) is None:
        yield "a report of one team, with its seconds to target in every training, is an entry"
        return
    [team], [first] = entry.entries, house.entries
    if len(raced(entry).values) < FEWEST:
        yield f"{len(raced(entry).values)} trainings: at least {FEWEST} are needed for an interval"
    if raced(entry).ground != "measured":
        yield f"its times are {raced(entry).ground}, not measured"
    for name in GIVEN:
        if getattr(entry, name) != getattr(house, name):
            yield f"{name}: {getattr(entry, name)}, where the lab has {getattr(house, name)}"
    for name in MADE:
        own, asked = getattr(entry.made, name, None), getattr(house.made, name)
        if own != asked:
            yield f"made.{name}: {own}, where the lab has {asked}"
    own = (entry.machines or {}).get(team.machine) or {}
    asked = house.machines[first.machine]
    for name in MACHINE:
        if own.get(name) != asked.get(name):
            yield f"its machine's {name}: {own.get(name)}, where the lab has {asked.get(name)}"
    if not same_network(own.get(NETWORK), asked.get(NETWORK)):
        yield f"its network: {own.get(NETWORK)}, where the lab has {asked.get(NETWORK)}"
    if (team.cores or 0) > (first.cores or 0) or (team.ranks or 0) > (first.cores or 0):
        yield f"{team.ranks} ranks on {team.cores} cores: {first.cores} cores are given"
    about = {(claim.about, claim.quantity) for claim in entry.claims or ()}
    if about != {("training", "seconds to target")}:
        yield "an entry claims how long its training takes to the target, and nothing else"


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
    """The board of a folder's entries: files, and folders of lab 9. One of them must be the
    house's own."""
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
    times = {file: interval(raced(report).values) for file, report in good.items()}
    rows = []
    for file, report in good.items():
        [entry] = report.entries
        surely = sum(high < times[file][1] for _, _, high in times.values())
        rows.append(BoardRow(
            1 + surely, entry.name, entry.ranks, times[file], _middle(report, "epochs to target"),
            _middle(report, "accuracy"), len(raced(report).values), entry.searched or 0,
        ))  # fmt: skip
    rows.sort(key=lambda row: (row.place, row.seconds[0], row.team))
    return Board(tuple(rows), tuple(refused), house)


def read_entry(path: Path) -> Report:
    """A report, or the one in what lab 9 has measured."""
    if path.name != MEASURED:
        return load(path)
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))["results"]["entry"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is no entry that lab 9 has written ({error!r})") from None
    return from_json(json.dumps(entry))


def house_in(folder: Path) -> Path:
    """The path of the course's own entry in a folder of entries."""
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
    findings = review(house)
    if findings or len(house.entries or ()) != 1 or raced(house) is None:
        raise Mistake(f"{path} is no good example: {'; '.join(map(str, findings)) or 'no entry'}")
    return house


def _middle(report: Report, quantity: str) -> Interval:
    every = find(report.entries[0], quantity)
    values: Sequence[float] = [value for series in every for value in series.values or ()]
    return interval(values) if values else (float("nan"),) * 3


def page_of(board: Board) -> str:
    """The board as HTML: the table, and below it the refused entries with the reasons."""
    ends = [end for line in board.lines for end in line.seconds if math.isfinite(end)]
    longest = max(ends, default=1.0)

    def bar(line: BoardRow) -> tuple[float, float]:
        """Where the bar of an interval begins, and how long it is, in percent."""
        low, high = (100 * min(edge / longest, 1) for edge in line.seconds[1:])
        return low, max(high - low, 0.8)

    template = Template(PAGE.read_text("utf-8"), autoescape=True)
    names = {"nodes": NODES, "network": NETWORK}
    return template.render(board=board, bar=bar, three=_three, **names) + "\n"


def _three(numbers: Interval, form: str) -> str:
    middle, low, high = (
        form.format(number) if math.isfinite(number) else "never" for number in numbers
    )
    return f"{middle} ({low} to {high})"


def check(options: argparse.Namespace) -> int:
    """Say what is wrong with an entry."""
    beside = options.entry.parents[options.entry.name == MEASURED]
    house = read_house(options.house or house_in(beside))
    try:
        findings = faults(read_entry(options.entry), house)
    except (ValueError, OSError) as error:
        raise Mistake(str(error)) from error
    print("\n".join(findings) or f"{options.entry}: nothing found; it may be shown")
    return 1 if findings else 0


def page(options: argparse.Namespace) -> int:
    """Build the leaderboard from a folder of entries."""
    entries = board(options.folder)
    write_whole(options.out, page_of(entries))
    print(f"{options.out}: {len(entries.lines)} entries, {len(entries.refused)} refused")
    return 0
