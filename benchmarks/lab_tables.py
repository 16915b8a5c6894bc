"""The tables in the guides of labs 3 to 7 and 10, from runs that were recorded in a box.

    python -m benchmarks.lab_tables 5

`results/labs/` holds what `ddl-teach labs run` wrote on the nodes of a box, file for file:
`ground` says on what machine, `settings` with what. Whoever records anew prints them anew.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.recorded import RESULTS
from ddl_class.commands.program_file import import_file
from ddl_measure.device_messages import ALLREDUCE, BANDWIDTH, COPY_OUT, IN_A_ROW, LATENCY
from ddl_measure.device_run import HOST, TransferPath
from ddl_runtime.pictures.words import size_text, span
from ddl_teach.collectives.on_devices import ONCE
from ddl_teach.theory import compression, staging

LABS = Path(__file__).resolve().parents[1] / "labs"
Spell = Callable[[float], str]


def recorded(name: str) -> Any:
    """One run, as its program wrote it."""
    return json.loads((RESULTS / "labs" / f"{name}.json").read_text())


def checker_of(lab: int) -> Any:
    """A lab's checker."""
    [folder] = LABS.glob(f"{lab}_*")
    return import_file(folder / "checker.py")


def line(*cells: str) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def milliseconds(seconds: float) -> str:
    """In as many digits as can be told apart."""
    return f"{1e3 * seconds:.{1 if seconds < 0.01 else 0}f}"


def lab_3() -> list[str]:
    """Medians of three runs each, computing and asleep; then the answers on four ranks."""
    checker = checker_of(3)
    lines, answers = [], []
    for how in ("computing", "asleep"):
        runs = [recorded(f"3_{how}_{number}") for number in (1, 2, 3)]
        rows = [checker.sound(run) for run in runs]
        ways = dict.fromkeys(way for way, _, _ in rows[0])
        for ranks, work in dict.fromkeys((ranks, work) for _, ranks, work in rows[0]):
            times = ([median(run[way, ranks, work]) for run in rows] for way in ways)
            cells = [str(ranks), str(work), *(span(each, milliseconds) for each in times)]
            lines.append(line(*cells))
        answers.append([checker.right_answers(run) for run in runs])
    for name, (words, spell) in _SPELT.items():
        cells = (span([run[name][0] for run in runs], spell) for runs in answers)
        lines.append(line(f"`{name}`{words}", *cells))
    return lines


def _percent(number: float) -> str:
    return f"{number:.0f}%"


def _as_milliseconds(number: float) -> str:
    return milliseconds(number / 1e3)


_SPELT: dict[str, tuple[str, Spell]] = {
    "speed_up": (" (strong, DDP)", "{:.2g}".format),
    "efficiency": (" (weak, DDP)", _percent),
    "floor": (" (strong, no messages)", "{:.2g}".format),
    "serial": ("", _percent),
    "averaging": (", ms", _as_milliseconds),
    "model": (", ms", _as_milliseconds),
    "hidden": ("", _percent),
}


def lab_4() -> list[str]:
    """Milliseconds of stages, messages and all-reduces, of three sizes."""
    run = checker_of(4).sound(recorded("4"))
    chunks = {
        f"in chunks of {size_text(way.chunk)}": (LATENCY, way)
        for way in run.ways(LATENCY) if way.chunk
    }  # fmt: skip
    rows = {
        "copy out, of many in a row": (COPY_OUT + IN_A_ROW, TransferPath("copy")),
        "wire, of many in a row": (BANDWIDTH, TransferPath(HOST)),
        "message, direct": (LATENCY, TransferPath("direct")),
        "message, staged": (LATENCY, TransferPath("staged")),
        **chunks,
        "all-reduce in steps, direct": (ALLREDUCE, TransferPath("direct")),
        "all-reduce in steps, staged": (ALLREDUCE, TransferPath("staged")),
        "all-reduce, copied once": (ALLREDUCE, TransferPath(ONCE)),
    }
    lines = []
    for name, (test, way) in rows.items():
        times = run.times(test, way)
        cells = [f"{1e3 * median(times[n]):.3g}" if n in times else "" for n in _LAB_4_SIZES]
        lines.append(line(name, *cells).replace("|  ", "| "))
    return lines


_LAB_4_SIZES = 2**12, 2**16, 2**20


def words_of_lab_4() -> list[str]:
    """Of 1 MiB: rates of copies and wire in MB/s; staged over direct, measured and by the formula;
    the best chunk by the formula in KiB."""
    checker = checker_of(4)
    run, nbytes = checker.sound(recorded("4")), 2**20
    route = checker.route_of(run)
    copy, wire, direct, staged = (
        median(run.times(test, TransferPath(path))[nbytes])
        for test, path in (
            (COPY_OUT + IN_A_ROW, "copy"), (BANDWIDTH, HOST), (LATENCY, "direct"),
            (LATENCY, "staged"),
        )
    )  # fmt: skip
    formula = staging.staged(nbytes, route) / staging.direct(nbytes, route.wire)
    return [
        f"{nbytes / copy / 1e6:.1f}", f"{nbytes / wire / 1e6:.1f}", f"{staged / direct:.2f}",
        f"{formula:.2f}", f"{staging.best_chunk(nbytes, route) / 2**10:.0f}",
    ]  # fmt: skip


def lab_5() -> list[str]:
    """Each grid's step by the model and by the clock, computing and asleep."""
    checker = checker_of(5)
    rankings = [checker.rank_grids(recorded(f"5_{how}")) for how in ("computing", "asleep")]
    model = {name: one.total for name, one in rankings[0].model.items()}
    return [
        line(name, *(milliseconds(seconds) for ranking in rankings
                     for seconds in (ranking.model[name].total, ranking.clock[name][0])))
        for name in sorted(model, key=model.__getitem__)
    ]  # fmt: skip


def orders_of_lab_5() -> list[str]:
    """Of so many pairs told apart, how many the model has in the right order: both runs."""
    checker = checker_of(5)
    words = []
    for how in ("computing", "asleep"):
        ranking = checker.rank_grids(recorded(f"5_{how}"))
        pairs = ranking.pairs_apart()
        words += [str(len(pairs)), str(len(pairs) - len(ranking.reversed()))]
    return words


def lab_6() -> list[str]:
    """Gradients a second and seconds until accurate, by way; then the answers."""
    checker = checker_of(6)
    runs = [recorded(name) for name in ("6", "6_slow")]
    trainings = [checker.trainings_of(run) for run in runs]
    lines = []
    for way, _ in list(trainings[0])[: len(trainings[0]) // 2]:
        of_way = [found[way, slow] for found in trainings for slow in (False, True)]
        cells = []
        for one in of_way:
            there = one["to target"]
            cells += [f"{checker.gradients_a_second(one):.1f}"]
            cells += ["never" if there is None else f"{there:.2f}"]
        lines.append(line(way, *cells))
    columns = [_answers_of_lab_6(checker, *pair) for pair in zip(runs, trainings, strict=True)]
    return lines + [line(name, *(column[name] for column in columns)) for name in columns[0]]


def _answers_of_lab_6(checker: Any, run: Any, trainings: Any) -> dict[str, str]:
    right = checker.right_answers(run)

    def exchange(way: str) -> str:
        one = trainings[way, False]
        step = one["workers"] / checker.gradients_a_second(one)
        return f"{1e3 * (step - run['settings']['gradient']):.1f} ms"

    return {
        "into the server, a step": f"{right['ingress']:.1f} kB",
        "card over ledger": f"{right['card_over_ledger']:.3f}",
        "exchange by the formula: server": f"{right['server_ms']:.1f} ms",
        "exchange by the formula: ring": f"{right['ring_ms']:.1f} ms",
        "exchange measured: server": exchange("server"),
        "exchange measured: ring": exchange("all-reduce"),
        "kept by the all-reduce, by the formula": f"{right['kept_formula']:.2f}",
        "kept by the all-reduce, measured": f"{right['kept_all_reduce']:.2f}",
        'kept by "server, nobody waits"': f"{right['kept_nobody_waits']:.2f}",
    }


def lab_7() -> list[str]:
    """Dense at three rates; of each form its bytes, packing, break-even and times as fast."""
    checker = checker_of(7)
    runs = [recorded(f"7_{rate}") for rate in (10, 100, 1000)]
    fastest = runs[-1]["results"]
    ranks, numbers = len(runs[0]["ground"]["nodes"]), runs[0]["settings"]["numbers"]
    dense = [median(run["results"]["dense"]) for run in runs]
    payload = [f"{8e-6 / run['results']['per byte']:.3g}" for run in runs]
    lines = [
        line("", "bytes", "pack", "unpack", "wins below", f"{payload[0]} Mbit/s", *payload[1:]),
        line(
            "dense", f"{4 * numbers:,}", "", "", "", *(milliseconds(one) + " ms" for one in dense)
        ),
    ]
    for name, form in fastest["forms"].items():
        way = checker.cost_of(ranks, name, form, numbers)
        even = compression.break_even(compression.dense(ranks, 4 * numbers), way)
        took = [median(run["results"]["forms"][name]["seconds"]) for run in runs]
        quotients = [f"{mine / other:.2g}" for mine, other in zip(dense, took, strict=True)]
        quotients[0] += " times faster" if name == next(iter(fastest["forms"])) else ""
        lines.append(line(
            name, f"{form['message']:,}", f"{1e3 * form['pack']:.2g} ms",
            f"{1e3 * form['unpack']:.2g} ms", f"{8e-9 * even:.2g} Gbit/s", *quotients,
        ))  # fmt: skip
    return lines


def words_of_lab_7() -> list[str]:
    """Top 1% at 100 Mbit/s and dense at 1 Gbit/s: milliseconds by the formula, and measured."""
    checker = checker_of(7)
    run, fast = recorded("7_100"), recorded("7_1000")
    ranks, numbers = len(run["ground"]["nodes"]), run["settings"]["numbers"]
    form = run["results"]["forms"]["top 1%"]
    way = checker.cost_of(ranks, "top 1%", form, numbers)
    dense = compression.dense(ranks, 4 * numbers)
    seconds = (
        way.bytes * run["results"]["per byte"] + way.packing, median(form["seconds"]),
        median(fast["results"]["dense"]), dense.bytes * fast["results"]["per byte"],
    )  # fmt: skip
    return [milliseconds(one) for one in seconds]


def lab_10() -> list[str]:
    """The right answers of the recorded training, in the units of the worksheet."""
    rights = checker_of(10).right_answers(recorded("10"))
    spelt = {
        "tokens": "{:,.0f}",
        "fewer": "{:.2g}",
        "again": "{}",
        "down": "{:.2g} s",
        "apart": "{:.2g}",
        "young": "{:.2g} s",
    }
    return [
        line(f"`{name}`", spelt.get(name, "{:.2g}%").format(right))
        for name, right in rights.items()
    ]  # fmt: skip


TABLES: dict[str, Callable[[], list[str]]] = {
    "3": lab_3, "4": lab_4, "5": lab_5, "6": lab_6, "7": lab_7, "10": lab_10,
}  # fmt: skip


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables of one lab."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lab", choices=TABLES)
    print("\n".join(TABLES[parser.parse_args(words).lab]()))


if __name__ == "__main__":
    main()
