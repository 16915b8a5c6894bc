"""Everything the project claims about speed: one command, a table, a picture and a file.

    python -m benchmarks [--only pipeline]
    python -m benchmarks --run [--shallowspeed FOLDER] [--only pipeline] [--fresh] [--quick]

From the recorded results, each claim beside the peer that was measured in the same run: native
MPI, torch's gloo, DDP, pipelining, convolution and LSTM, ShallowSpeed, SimGrid. With --run
everything is measured anew first (`remeasure`), which takes the better part of an hour on a quiet
machine; what cannot be (SimGrid is not installed, say) stays as it was recorded, with its own
date, and the exit status is 1. Kept are the table (results/claims.txt), all ratios with their
intervals (results/claims.json) and the picture (docs/peers.png), which README.md shows.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.claims import SUBJECTS, Claim, Subject, claims
from benchmarks.pictures import plot_peers
from benchmarks.recorded import RESULTS
from benchmarks.remeasure import QUICK, ROOT, Round, measure_all, throw_away
from ddl_measure.machine import keep
from ddl_runtime.records.whole_file import write_whole

PICTURE = ROOT / "docs" / "peers.png"
INTERRUPTED = 130


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


def words_of(modules: Sequence[str], shallowspeed: str | None) -> dict[str, list[str]]:
    """What each benchmark is told; without the one that cannot be measured."""
    words: dict[str, list[str]] = {module: [] for module in modules}
    if "pipelines" in words and shallowspeed is None:
        print("pipelines: not measured, for want of --shallowspeed FOLDER; as recorded")
        del words["pipelines"]
    elif "pipelines" in words:
        words["pipelines"] = ["--shallowspeed", str(Path(shallowspeed).resolve())]
    return words


def try_out(modules: Sequence[str]) -> int:
    """Every command in its shortest form, in a copy that is thrown away; the exit status."""
    with throw_away() as folder:
        words = {module: QUICK[module].split() for module in modules}
        failed = measure_all(Round(words, folder), fresh=True)
    ended = len(modules) - len(failed)
    print(f"\n{ended} of {len(modules)} commands started and ended here; nothing was kept")
    return 1 if failed else 0


def show(subjects: Sequence[Subject], whole: bool) -> int:
    """Read, print, and keep what is whole; the exit status."""
    found, missing = {}, []
    for one in subjects:
        try:
            found[one.title, one.peer] = claims(one)
        except (ValueError, OSError) as error:
            missing.append(f"{one.title}, {one.peer}: {error}")
    if not found:
        print(*missing, sep="\n", file=sys.stderr)
        return 1
    text = table(found)
    print(f"{text}\n\n{machines(found)}")
    print(*missing, sep="\n", file=sys.stderr)
    if whole:  # a part is shown and not kept
        keep(RESULTS / "claims.txt", [machines(found), text])
        rows = [asdict(case) for cases in found.values() for case in cases]
        write_whole(RESULTS / "claims.json", json.dumps(rows, indent=1) + "\n")
        ratios = {pair: [case.ratio for case in cases] for pair, cases in found.items()}
        drawn, small = io.BytesIO(), io.BytesIO()
        plot_peers(ratios, machine=machines(found)).savefig(drawn, format="png", dpi=100)
        Image.open(drawn).convert("RGB").quantize(96).save(small, format="png", optimize=True)
        PICTURE.write_bytes(small.getvalue())
    return 1 if missing else 0


def main(words: Sequence[str] | None = None) -> int:
    """Measure if asked to; read, print, keep; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--run", action="store_true", help="measure everything anew first")
    parser.add_argument("--shallowspeed", help="a copy of that repository, to be measured too")
    parser.add_argument(
        "--only", default="", help="what has this in its title, its peer's name or its file's"
    )
    parser.add_argument("--fresh", action="store_true", help="forget a round that was interrupted")
    parser.add_argument(
        "--quick", action="store_true", help="with --run: does every command work? nothing is kept"
    )
    chosen = parser.parse_args(words)
    if (chosen.quick or chosen.fresh) and not chosen.run:
        parser.error("--quick and --fresh are about measuring: give --run as well")
    subjects = [one for one in SUBJECTS if chosen.only in f"{one.title} {one.peer} {one.module}"]
    if not subjects:
        parser.error(f"nothing has {chosen.only!r} in its title, its peer's name or its file's")
    modules = list(dict.fromkeys(one.module for one in subjects))
    if chosen.run and chosen.quick:
        return try_out(modules)
    failed: Sequence[str] = ()
    if chosen.run:
        round_ = Round(words_of(modules, chosen.shallowspeed), ROOT)
        try:
            failed = measure_all(round_, chosen.fresh)
        except KeyboardInterrupt as interrupt:
            print(f"\n{interrupt}", file=sys.stderr)
            return INTERRUPTED
    return max(1 if failed else 0, show(subjects, whole=not chosen.only))


if __name__ == "__main__":
    sys.exit(main())
