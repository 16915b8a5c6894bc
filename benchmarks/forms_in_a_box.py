"""Below which bandwidth does a form win? On shaped links of a cluster in a box, not make-believe.

    python -m benchmarks.forms_in_a_box [--nodes 2] [--numbers 1000000] [--turns 9]

One rank on each node. Packing is measured there, by all ranks at once, and the bandwidth below
which a form beats dense is computed from it. Then all cables are given one rate after the other;
what they really carry is measured by ping-pongs, and all forms take turns. Shown are dense's time
over the form's, medians of the turns' quotients with nonparametric 95% intervals, and the
bandwidth at which that quotient crosses 1, between two rates. `forms.txt` asks the same of links
slowed by injected delay. Who has no quiet machine gives this command precedence:
`chrt -r 5 python -m benchmarks.forms_in_a_box`, as root.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.forms import FORMS
from ddl_class.clusters.box.box import Box
from ddl_class.clusters.box.links import read_rate
from ddl_measure.cables import Cables, cables
from ddl_measure.experiments.compression import in_turns, packing
from ddl_measure.interval import Interval, ratio_of_turns
from ddl_measure.machine import describe, heading, keep
from ddl_teach import Comm, Ranks
from ddl_teach.theory import compression
from ddl_teach.training.compression.averaging import way_of

RESULTS = Path(__file__).parent / "results" / "forms_in_a_box.txt"
NAMES = ("dense", "1 bit", "QSGD, 7 levels", "TernGrad", "top 1%", "1 bit, feedback")
RATES = ("10mbit", "30mbit", "100mbit", "200mbit", "400mbit", "800mbit", "1600mbit", "3200mbit")


def packed(comm: Comm, numbers: int, turns: int) -> dict[str, tuple[float, float]]:
    """Seconds to pack and to unpack, by form."""
    return packing(comm, {name: FORMS[name] for name in NAMES}, numbers, turns)


def averaged(comm: Comm, numbers: int, turns: int) -> tuple[Cables, dict[str, np.ndarray]]:
    """What the cables carry now, and seconds of an average by form."""
    return cables(comm), in_turns(comm, {name: FORMS[name] for name in NAMES}, numbers, turns)


def pays_below(name: str, ranks: int, numbers: int, seconds: tuple[float, float]) -> float:
    """The bandwidth from the formula, in bytes a second."""
    form = FORMS[name]
    way = getattr(compression, way_of(form, numbers))
    packed = way(ranks, form.nbytes(numbers), *seconds)
    return compression.break_even(compression.dense(ranks, 4 * numbers), packed)


def crosses(rates: Sequence[float], quotients: Sequence[float]) -> str:
    """Where the quotient falls below 1 for the last time, on a logarithmic scale; in MB/s."""
    found = "never" if quotients[-1] < 1 else f"> {rates[-1] / 1e6:.0f}"
    for (slow, above), (fast, below) in pairwise(zip(rates, quotients, strict=True)):
        if above >= 1 > below:
            part = math.log(above) / math.log(above / below)
            found = f"{slow * (fast / slow) ** part / 1e6:.0f}"
    return found


def lines(box: Box, numbers: int, turns: int) -> list[str]:
    """What was measured, as a table."""
    ranks = len(box.nodes)
    given = {"numbers": numbers, "turns": turns, "trace": False, "timeout": 600}
    with Ranks(ranks, on=box) as pool:
        seconds = pool.run(packed, **given).results[0]
        carried, quotients = [], {name: [] for name in NAMES[1:]}
        for rate in RATES:
            for node in box.nodes:
                box.set_link(node, rate=read_rate(rate))
            found, took = pool.run(averaged, **given).results[0]
            carried.append(1 / found.slowest)
            for name, all_of_it in quotients.items():
                all_of_it.append(ratio_of_turns(took["dense"], took[name]))
    table = [
        f"{ranks} nodes, a rank on each; {numbers:,} float32 numbers, {turns} turns",
        "",
        f"{'':<18}{'pack':>9}{'unpack':>10}{'wins below, MB/s':>27}",
        f"{'':<37}{'computed':>15}{'measured':>12}",
    ]
    for name, all_of_it in quotients.items():
        pack, unpack = seconds[name]
        computed = pays_below(name, ranks, numbers, seconds[name]) / 1e6
        table.append(
            f"{name:<18}{pack * 1e3:>6.1f} ms{unpack * 1e3:>7.1f} ms{computed:>15.0f}"
            f"{crosses(carried, [one[0] for one in all_of_it]):>12}"
        )
    table += ["", "dense's time over the form's, by what the cables carried:"]
    table.append(f"{'asked':<10}{'MB/s':>7}" + "".join(f"{name:>23}" for name in quotients))
    for place, (rate, each) in enumerate(zip(RATES, carried, strict=True)):
        row = "".join(f"{_text(all_of_it[place]):>23}" for all_of_it in quotients.values())
        table.append(f"{rate:<10}{each / 1e6:>7.1f}{row}")
    return table


def _text(quotient: Interval) -> str:
    middle, low, high = quotient
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    """Make a box, measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--numbers", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=9)
    chosen = parser.parse_args()
    with Box.up(chosen.nodes, RATES[0], name="forms") as box:
        parts = [heading(describe()), "\n".join(lines(box, chosen.numbers, chosen.turns))]
    print("\n\n".join(parts))
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
