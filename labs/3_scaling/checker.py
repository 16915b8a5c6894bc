"""Marks lab 3: speed-ups against the stated baseline, and what of a step is messages.

The baseline is one rank that sends nothing. A step on P ranks takes T, without messages F: so a
speed-up T(1)/T(P) is (F(1)/F(P)) (F(P)/T(P)), and what is lost falls apart into what more ranks
on the same cores lose and what messages lose. Tolerances: a quotient of medians may be a tenth
off, or inside its 95% interval; a time of messages a quarter, or inside that of its difference.
"""

from __future__ import annotations

from typing import Any

from ddl_class.labs.marking import (
    Contradiction,
    Mark,
    choice,
    messages,
    number,
    predicted,
    ranks_of,
    repeated,
)
from ddl_measure.interval import interval
from ddl_measure.scaling import Baseline, Measured, ScalingRow, strong, weak
from ddl_teach.theory.collectives import ring
from ddl_teach.theory.fit import fit

FLOOR, BUCKET, DDP = "no messages", "one bucket", "torch's DDP"
CLOSE = 1e-3
FEW = 100  # resamples: only the line is asked for, not its intervals
QUOTIENT, TIME, ALIKE = 0.1, 0.25, 1.15
SCALING = "Give measure.scaling the times, and the baseline of the worksheet."
# How far off a number may be, and where to look when it is not right.
NUMBERS = {
    "speed_up": (QUOTIENT, SCALING),
    "efficiency": (QUOTIENT, SCALING),
    "floor": (QUOTIENT, SCALING),
    "serial": (QUOTIENT, "It is serial_share of DDP's row, in %."),
    "averaging": (
        TIME, "Median of 'one bucket' less median of 'no messages', weak, all ranks.",
    ),
    "model": (
        TIME,
        "2 (P-1) (L + n/P G), with the fit of the slower link and n the bytes of all gradients.",
    ),
    "hidden": (
        TIME,
        "100 (one bucket - DDP) / (one bucket - no messages); below 0 where DDP takes longer.",
    ),
}  # fmt: skip
ONE_RANK = "There was one rank: nobody to share the work with. Start more."


def mark(measured: dict[str, Any], answers: dict[str, Any]) -> list[Mark]:
    """A point for each prediction, two for each number but the last ones."""
    rows = sound(measured)
    marks = [
        predicted(measured, name) for name in ("speed_up", "efficiency", "averaging", "limit")
    ]
    if measured["ground"]["ranks"] == 1:
        marks += [Mark(name, 0, 2, ONE_RANK) for name in (*NUMBERS, "limit")]
        return [*marks, Mark("kind", 0, 1, ONE_RANK)]
    for name, (middle, *edges) in right_answers(measured).items():
        within, look = NUMBERS[name]
        marks.append(
            number(answers, name, middle, within=within, of=2, look=look, also=tuple(edges))
        )
    return marks + words(same_work(measured, rows), answers)


def right_answers(measured: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Each number as it is asked for, and from where to where it may be besides."""
    rows, results = sound(measured), measured["results"]
    ranks, samples = measured["ground"]["ranks"], measured["settings"]["samples"]
    same = same_work(measured, rows)
    grown = point(rows, DDP, ranks, samples * ranks, weak)
    floor, bucket, ddp = (
        tuple(1e3 * edge for edge in interval(rows[way, ranks, samples * ranks]))
        for way in (FLOOR, BUCKET, DDP)
    )
    added = bucket[0] - floor[0]
    way = "between" if results["between"] else "within"
    line = fit(*messages(results[way], way), resamples=FEW)
    model = 1e3 * float(ring(ranks, results["gradients"], line.link))
    hidden = 100 * (bucket[0] - ddp[0]) / added if added > 0 else 0.0
    serial = 100 * same[DDP].serial_share
    share, low, high = (100 * edge for edge in grown.efficiency)
    return {
        "speed_up": same[DDP].speed_up,
        "efficiency": (share, low, high),
        "floor": same[FLOOR].speed_up,
        "serial": (serial, serial - 3, serial + 3),
        "averaging": (added, bucket[1] - floor[2], bucket[2] - floor[1]),
        "model": (model, model, model),
        "hidden": (hidden, hidden - 10, hidden + 10),
    }


def same_work(measured: dict[str, Any], rows: dict) -> dict[str, ScalingRow]:
    """All ranks with the work of one, with messages and without."""
    ranks, samples = measured["ground"]["ranks"], measured["settings"]["samples"]
    return {way: point(rows, way, ranks, samples, strong) for way in (FLOOR, DDP)}


def words(same: dict[str, ScalingRow], answers: dict[str, Any]) -> list[Mark]:
    """Who loses more of the ideal, and what somebody else's number is to be called."""
    cores = same[FLOOR].ranks / same[FLOOR].speed_up[0]
    lost = same[FLOOR].speed_up[0] / same[DDP].speed_up[0]
    rights = [
        name
        for name, own, other in (("cores", cores, lost), ("messages", lost, cores))
        if own * ALIKE >= other
    ]
    look = f"Cores cost a factor of {cores:.2f} of the ideal, messages one of {lost:.2f}."
    return [
        choice(answers, "limit", rights, of=2, look=look),
        choice(answers, "kind", ["weak", "weak scaling"], look="measure.scaling would refuse it."),
    ]


def point(rows: dict, way: str, ranks: int, work: int, kind: Any) -> ScalingRow:
    """One row of a scaling, against one rank that sends nothing."""
    alone = min(work for _, ranks, work in rows if ranks == 1)
    baseline = Baseline(
        1, alone, rows[FLOOR, 1, alone], "one rank of the same program, no messages"
    )
    return kind([Measured(ranks, work, rows[way, ranks, work])], baseline).rows[0]


def sound(measured: dict[str, Any]) -> dict[tuple[str, int, int], list[float]]:
    """Seconds by way, ranks and samples; what cannot have been measured is refused."""
    settings, results = measured["settings"], measured["results"]
    samples, rows = settings["samples"], {}
    ranks_of(measured)
    for row in results["rows"]:
        what = f"'{row['way']}' on {row['ranks']} ranks"
        seconds = repeated(row["seconds"], settings["repetitions"], what)
        if row["work"] not in (samples, samples * row["ranks"]):
            raise Contradiction(f"{what}: {row['work']} samples are neither strong nor weak")
        alone = row["way"] == FLOOR and row["ranks"] > 1
        if row["apart"] > CLOSE and not alone:
            raise Contradiction(f"{what} ended with other weights than {DDP}")
        if alone and not row["apart"] > 0:
            raise Contradiction(f"{what} ended with the weights of {DDP}: it has averaged")
        rows[row["way"], row["ranks"], row["work"]] = seconds
    return rows
