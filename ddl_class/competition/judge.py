"""What is wrong with an entry: what any careful reader would find, and what the rules ask besides.

`measure.reports.review` reads it as it reads all reports. The rules of the lab are those of the
house's own entry: the same machine, no more cores, the same data, target, seeds and code. So
nobody has to write rules down twice, and a new machine needs one new entry of the house.
What to look at: what no judge can see in a file is whether it is true. That is why the lab runs
every program itself, and why teams read each other's code.
"""

from collections.abc import Iterator

from ddl_class.competition.ground import NETWORK, NODES, same_network
from ddl_measure.interval import FEWEST
from ddl_measure.reports.cases import find
from ddl_measure.reports.report import A_TRAINING, Report, Series
from ddl_measure.reports.review import review

GIVEN = ("data", "target")  # of a report, as the house has them
MACHINE = (
    "processor", "cores", "memory", "system", "python", "MPI library", "packages", NODES,
)  # fmt: skip
MADE = ("code", "lock", "seeds")


def faults(entry: Report, house: Report) -> list[str]:
    """All reasons to refuse an entry; none: it may be shown."""
    return [*map(str, review(entry)), *_breaches(entry, house)]


def raced(report: Report) -> Series | None:
    """The seconds to the target of a report's only entry."""
    own = find(report.entries[0], "seconds to target") if report.entries else ()
    return next((it for it in own if it.of == A_TRAINING and it.values), None)


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
