"""Marks for lab 5: the model's ranking beside the clock's, with intervals.

Two grids whose 95% intervals overlap are not told apart, and either is right where one is asked
for. The model is computed again from the machine's own numbers, and what was sent must be, to the
byte, what a step on such a grid sends (`theory.grids.sent`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from program import machine, paper

from ddl_class.labs.marking import (
    Contradiction,
    Mark,
    choice,
    messages,
    number,
    positive,
    predicted,
    ranks_of,
    repeated,
)
from ddl_measure.interval import Interval, interval
from ddl_teach.theory.grids.grid import AXES, Grid
from ddl_teach.theory.grids.search import in_order
from ddl_teach.theory.grids.seconds import Seconds
from ddl_teach.theory.grids.sent import sent

ALIKE = 1.02  # the model's own order is not asked more sharply: its numbers were rounded
ROUNDED = 0.05e-3  # seconds, of what the table shows
MOST_BLOCKS = 256  # a pipeline's stages are searched for among them
SOONEST = 0.25  # of the time of its bytes by ping-pong: below that nothing can end
NAMED = re.compile(rf"({'|'.join(AXES)})\s*=?\s*(\d{{1,9}})", re.IGNORECASE)


@dataclass(frozen=True)
class Ranking:
    """Each grid by name: the seconds of the model, and those of the clock with their interval."""

    model: Mapping[str, Seconds]
    clock: Mapping[str, Interval]

    def apart(self, one: str, other: str, slack: float = 0.0) -> bool:
        """Whether their intervals do not overlap."""
        (_, low, high), (_, least, most) = self.clock[one], self.clock[other]
        return high < least - slack or most < low - slack

    def pairs_apart(self) -> list[tuple[str, str]]:
        """All pairs that the clock tells apart, the faster one first."""
        ordered = sorted(self.clock, key=lambda name: self.clock[name][0])
        return [pair for pair in combinations(ordered, 2) if self.apart(*pair)]

    def reversed(self, alike: float = 1.0) -> list[tuple[str, str]]:
        """Those of them that the model has in the other order, and not by a hair."""
        seconds = {name: one.total for name, one in self.model.items()}
        pairs = self.pairs_apart()
        return [(fast, slow) for fast, slow in pairs if seconds[fast] > alike * seconds[slow]]


def mark(measured: Mapping[str, Any], answers: Mapping[str, Any]) -> list[Mark]:
    """Three predictions, three answers by the model, five by the clock."""
    ranking, network = rank_grids(measured), paper(measured["settings"])
    seconds = {name: one.total for name, one in ranking.model.items()}
    best, worst = (pick(seconds, key=seconds.get) for pick in (min, max))
    medians = {name: times[0] for name, times in ranking.clock.items()}
    fastest = min(medians, key=medians.get)
    tied = [name for name in medians if not ranking.apart(fastest, name)]
    closer = [name for name in medians if not ranking.apart(fastest, name, -2 * ROUNDED)]
    wider = [name for name in medians if not ranking.apart(fastest, name, 2 * ROUNDED)]
    prices = {
        name
        for grid, one in ranking.model.items()
        if ALIKE * seconds[grid] >= seconds[worst]
        for name, price in asdict(one).items()
        if name != "compute" and ALIKE * price >= getattr(one, one.largest_price)
    }
    names = {name: _name(answers[name]) for name in ("model_best", "measured_best")}
    ranks = len(measured["results"]["nodes"])
    split = {"batch": measured["settings"]["batch"], "micro_batches": 1}
    most = max(sent(network, Grid(ranks), rank, **split).data for rank in range(ranks)) / 1e6
    return [
        *(_known(predicted(measured, name), measured, seconds) for name in ("best", "worst")),
        predicted(measured, "ratio"),
        choice(names, "model_best", _near(seconds, best), of=2,
               look="Give model.py the numbers of the program's first lines."),
        number(answers, "model_ratio", seconds[worst] / seconds[best], within=0.05,
               look="The last total that model.py prints over its first."),
        choice(answers, "price", prices, look=f"Read the row of {worst} in model.py's table."),
        choice(names, "measured_best", tied, of=2,
               look=f"These are within the interval of the fastest, {fastest}."),
        number(answers, "measured_ratio", max(medians.values()) / medians[fastest], within=0.03),
        number(answers, "tied", len(tied), within=0, also=(len(closer), len(wider)),
               look="Count intervals that begin before that of the fastest ends."),
        number(answers, "sent", most, within=0.05,
               look="2 (P-1)/P times the weights' bytes; the program prints it as well."),
        _wrong(answers["wrong"], ranking),
    ]  # fmt: skip


def rank_grids(measured: Mapping[str, Any]) -> Ranking:
    """Both, once it is certain that ranks have trained on these grids."""
    found, sizes = measured["results"], measured["settings"]
    ranks, batch = ranks_of(measured), sizes["batch"]
    if sizes["blocks"] > MOST_BLOCKS:
        raise Contradiction(f"{sizes['blocks']} blocks: a lab's network has up to {MOST_BLOCKS}")
    played = [messages(one, way) for way, one in found["pings"].items() if one]
    positive(found["alone"], "seconds of a rank alone")
    network, here = paper(sizes), machine(found, sizes)
    order = in_order(network, here, batch=batch, micro_batches=sizes["micro_batches"])
    model = {str(one.grid): one for one in order if not one.refused}
    rows = {str(Grid(**row["grid"])): row for row in found["grids"]}
    if rows.keys() != model.keys():
        raise Contradiction(f"{ranks} ranks can be {', '.join(model)}, and not {', '.join(rows)}")
    pace = min(s / n for way in played for n, s in zip(*way, strict=True))
    for name, row in rows.items():
        split = {"batch": batch, "micro_batches": model[name].micro_batches}
        each = [sent(network, model[name].grid, rank, **split) for rank in range(ranks)]
        if row["sent"] != (most := {axis: max(getattr(one, axis) for one in each)
                                    for axis in row["sent"]}):  # fmt: skip
            raise Contradiction(f"a step on {name} sends {most} bytes, and not {row['sent']}")
        times = repeated(row["seconds"], sizes["repetitions"], name)
        least = SOONEST * pace * max(one.total for one in each)
        if min(times) < least:
            raise Contradiction(
                f"a step on {name} in {min(times):.3g} s: its bytes alone need {least:.3g} s at "
                f"{1 / SOONEST:g} times the pace of the ping-pongs"
            )
    clock = {name: interval(row["seconds"]) for name, row in rows.items()}
    return Ranking({name: one.seconds for name, one in model.items()}, clock)


def _near(seconds: Mapping[str, float], best: str) -> list[str]:
    return [name for name, time in seconds.items() if time <= ALIKE * seconds[best]]


def _name(said: Any) -> str | None:
    """How the program writes a grid, however it was written."""
    axes = {axis.lower(): int(ranks) for axis, ranks in NAMED.findall(str(said))}
    return str(Grid(**axes)) if axes and min(axes.values()) else said


def _known(mark: Mark, measured: Mapping[str, Any], grids: Mapping[str, float]) -> Mark:
    said = measured["predictions"][mark.name]
    if not mark.points or _name(said) in grids:
        return mark
    return Mark(mark.name, 0, mark.of, f"'{said}' is no grid that these ranks can be.")


def _wrong(said: str | None, ranking: Ranking, of: float = 2) -> Mark:
    """A pair that clock and model have in different orders, or the answer that there is none."""
    pairs, wrong = len(ranking.pairs_apart()), ranking.reversed()
    score = (
        f"Of {pairs} pairs that the clock tells apart the model has {pairs - len(wrong)} in the "
        "right order."
    )
    if said is None:
        return Mark("wrong", 0, of, f"It was left empty. {score}")
    if said.strip().casefold() == "none":
        clear = ranking.reversed(ALIKE)
        why = f"{score} Not so {clear[0][0]}, which is faster than {clear[0][1]}." if clear else ""
        return Mark("wrong", 0 if clear else of, of, why)
    names = [_name(part) for part in said.split(",")]
    if len(names) != 2 or not set(names) <= ranking.model.keys():
        return Mark("wrong", 0, of, f"'{said}' are not two of the grids, with a comma between.")
    if set(names) in map(set, wrong):
        return Mark("wrong", of, of)
    why = "the model has them in the clock's order"
    if not ranking.apart(*names):
        why = "their intervals overlap, so the clock does not tell them apart"
    return Mark("wrong", 0, of, f"{names[0]} and {names[1]}: {why}. {score}")
