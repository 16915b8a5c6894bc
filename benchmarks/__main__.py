"""Everything the project claims about speed: one command, a table, a picture and a file.

    python -m benchmarks [--run [--shallowspeed FOLDER]] [--only pipeline]

From the recorded results, each claim beside the peer that was measured in the same run: native
MPI, torch's gloo, DDP, pipelining, convolution and LSTM, ShallowSpeed, SimGrid. With --run
everything is measured anew first, which takes the better part of an hour on a quiet machine; what
cannot be (SimGrid is not installed, say) stays as it was recorded, with its own date. Kept
are the table (results/claims.txt), all ratios with their intervals (results/claims.json) and the
picture (docs/peers.png), which README.md shows.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.claims import SUBJECTS, Claim, claims, full_name
from benchmarks.recorded import RESULTS
from ddl_teach.measure.machine import keep
from ddl_teach.plots.peers import plot_peers

PICTURE = Path(__file__).parents[1] / "docs" / "peers.png"


def table(found: dict[tuple[str, str], list[Claim]]) -> str:
    """A row for each way of ours and peer: in how many cases, and how the ratios lie."""
    lines = [
        "our time / the peer's, over all cases that were measured side by side",
        f"{'':<34}{'peer':<22}{'cases':>6}{'least':>9}{'median':>9}{'most':>9}{'faster':>8}"
        f"{'slower':>8}   measured",
    ]
    for (title, peer), cases in found.items():
        ratios = [case.ratio for case in cases]
        faster, slower = sum(c.high < 1 for c in cases), sum(c.low > 1 for c in cases)
        lines.append(
            f"{title:<34}{peer:<22}{len(cases):>6}{min(ratios):>9.3g}{np.median(ratios):>9.3g}"
            f"{max(ratios):>9.3g}{faster:>8}{slower:>8}   {cases[0].date}"
        )
    lines.append("faster, slower: cases whose whole interval lies on that side of 1")
    return "\n".join(lines)


def machines(found: dict[tuple[str, str], list[Claim]]) -> str:
    """On what, and when: short enough for a picture."""
    all_of = [case for cases in found.values() for case in cases]
    dates = sorted({case.date for case in all_of})
    processors = sorted({case.processor for case in all_of})
    period = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"{', '.join(processors)}; {period}"


def measure(module: str, shallowspeed: str | None) -> None:
    """Measure one results file anew; where that cannot be done, say so and keep the old one."""
    command = [sys.executable, "-m", full_name(module)]
    if module == "pipelines":
        if shallowspeed is None:
            print("pipelines: not measured, for want of --shallowspeed FOLDER; as recorded")
            return
        command += ["--shallowspeed", shallowspeed]
    done = subprocess.run(command, check=False)
    if done.returncode:
        print(f"{module}: not measured, {' '.join(command[1:])} failed; as recorded")


def main() -> None:
    """Measure if asked to; read, print, keep."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--run", action="store_true", help="measure everything anew first")
    parser.add_argument("--shallowspeed", help="a copy of that repository, to be measured too")
    parser.add_argument("--only", default="", help="what has this in its title or its peer's name")
    chosen = parser.parse_args()
    subjects = [one for one in SUBJECTS if chosen.only in f"{one.title} {one.peer}"]
    if not subjects:
        parser.error(f"nothing has {chosen.only!r} in its title or its peer's name")
    if chosen.run:
        for module in dict.fromkeys(one.module for one in subjects):
            measure(module, chosen.shallowspeed)
    found = {(one.title, one.peer): claims(one) for one in subjects}
    text = table(found)
    print(f"{text}\n\n{machines(found)}")
    if chosen.only:
        return  # a part is shown and not kept
    keep(RESULTS / "claims.txt", [machines(found), text])
    rows = [asdict(case) for cases in found.values() for case in cases]
    (RESULTS / "claims.json").write_text(json.dumps(rows, indent=1) + "\n")
    ratios = {pair: [case.ratio for case in cases] for pair, cases in found.items()}
    drawn = io.BytesIO()
    plot_peers(ratios, machine=machines(found)).savefig(drawn, format="png", dpi=100)
    Image.open(drawn).convert("RGB").quantize(96).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
