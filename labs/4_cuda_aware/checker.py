"""Marks for lab 4: the stages fitted anew, the paths compared turn by turn.

Where two paths cannot be told apart (the 95% interval of the ratio of their turns holds 1), either
answer is right. The best chunk of the formula is asked by what it costs: any chunk is right with
which the message takes at most a tenth longer than with the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ddl_class.labs.marking import Contradiction, Mark, choice, number, predicted, repeated
from ddl_measure.device_messages import (
    ALLREDUCE,
    ALONE,
    BANDWIDTH,
    COPY_IN,
    COPY_OUT,
    IN_A_ROW,
    LATENCY,
    SHORT,
    TURNS,
)
from ddl_measure.device_paths import route_of
from ddl_measure.device_run import GPU, HOST, STAND_IN, DeviceRun, TransferPath, from_plain
from ddl_measure.interval import ratio_of_turns
from ddl_teach.collectives.on_devices import ONCE, STEPS
from ddl_teach.theory import staging

KIB, MB = 1 << 10, 1e6
STAGED, IN_HOST_MEMORY = TransferPath("staged"), TransferPath(HOST)
HELP = "theory.staging.best_chunk, with your own stages"
DEARER = 1.1  # times the least time: so much a chunk may cost
STAGES = {
    "copy out": (COPY_OUT + IN_A_ROW, ALONE),
    "wire": (BANDWIDTH, IN_HOST_MEMORY),
    "copy in": (COPY_IN + IN_A_ROW, ALONE),
}


def mark(measured: Mapping[str, Any], answers: Mapping[str, Any]) -> list[Mark]:
    """Three predictions; what was measured, what the formula says of it, and which path won."""
    run = sound(measured)
    size = max(run.times(LATENCY, STAGED))
    keeps = {name: float(np.median(run.times(*of)[size])) for name, of in STAGES.items()}
    longest = max(keeps.values())
    straight = (
        TransferPath("direct") if TransferPath("direct") in run.ways(LATENCY) else IN_HOST_MEMORY
    )
    messages = {way: float(np.median(run.times(LATENCY, way)[size]))
                for way in run.ways(LATENCY) if size in run.times(LATENCY, way)}  # fmt: skip
    route = route_of(run)
    simple = sum(keeps.values()) / keeps["wire"]
    return [
        predicted(measured, "ratio"),
        predicted(measured, "chunk"),
        _told(predicted(measured, "allreduce"), measured),
        choice(answers, "device", [run.device], look="The first line of the tables says it."),
        *(number(answers, f"{name}_rate", size / keeps[stage] / MB, within=0.05,
                 look=f"Bytes of the largest size over its time in the line '{stage}'.")
          for name, stage in (("copy", "copy out"), ("wire", "wire"))),
        choice(answers, "slowest", [name for name, one in keeps.items() if one >= longest / 1.1],
               look="The largest number in the last column of the first table."),
        number(answers, "ratio_model",
               staging.staged(size, route) / staging.direct(size, route.wire),
               also=(0.95 * simple, 1.05 * simple), of=2,
               look="All three stages one after another, over the wire's alone."),
        number(answers, "ratio_measured", messages[STAGED] / messages[straight], within=0.05,
               look=f"'staged' over '{straight.name}', in the last column."),
        _affordable(answers["chunk_model"], size, (route, route_by_hand(run))),
        _among(answers, "chunk_measured", _best_chunks(run, size), "the last column"),
        _among(answers, "chunks_from", _chunks_from(run), "the lines 'staged' and 'pipelined'"),
        choice(answers, "allreduce_measured", _copies(run),
               look="The last column of the last table, without the line 'direct'."),
    ]  # fmt: skip


def sound(measured: Mapping[str, Any]) -> DeviceRun:
    """The run, if these messages can have been sent over these devices."""
    run = from_plain(measured["results"]["run"], "measured.json")
    settings, sent = measured["settings"], measured["results"]["messages by kind"]
    if run.device not in (GPU, STAND_IN) or run.about["GPU"].startswith("NONE") == (
        run.device == GPU
    ):
        raise Contradiction(f"arrays on a {run.device}, and as GPU {run.about['GPU']}")
    due = dict.fromkeys(("direct", "staged", "pipelined"), 0)
    for row in run.rows:
        what = f"{row.test}, {row.way.name}, {row.nbytes} bytes"
        repeated(row.seconds, settings["repetitions"], what)
        least = settings["link_start"] + row.nbytes / settings["link_bandwidth"]
        if run.device == STAND_IN and row.way == ALONE and min(row.seconds) < 0.99 * least:
            raise Contradiction(f"{what}: a copy of the link that was described takes {least:.3g}")
        if row.test == LATENCY and row.way.path in due:
            turns = TURNS if row.nbytes <= SHORT else 1
            due[row.way.path] += turns * (settings["repetitions"] + 1)
    for path, messages in due.items():
        if (told := sent.get(f"device {path}", 0)) < messages:
            raise Contradiction(
                f"rank 0's ledger has {told} messages of the path '{path}', and {messages} at "
                "least were measured"
            )
    size = max(run.times(LATENCY, STAGED))
    whole, wire = (run.times(LATENCY, way)[size] for way in (STAGED, IN_HOST_MEMORY))
    if np.median(whole) < np.median(wire) / 2:
        raise Contradiction("a staged message takes half as long as the wire that it goes over")
    return run


def _chunked(run: DeviceRun, size: int) -> dict[TransferPath, np.ndarray]:
    found = {way: run.times(LATENCY, way).get(size) for way in run.ways(LATENCY) if way.chunk}
    return {way: times for way, times in found.items() if times is not None}


def _best_chunks(run: DeviceRun, size: int) -> list[float]:
    """In KiB: the one with the least median, and those that are not certainly slower."""
    ways = _chunked(run, size)
    best = min(ways.values(), key=np.median)
    return [way.chunk / KIB for way, times in ways.items() if ratio_of_turns(times, best)[1] <= 1]


def _chunks_from(run: DeviceRun) -> list[float]:
    """The first size at which a chunk beats staging, by the table, by turns, and for certain."""
    staged = run.times(LATENCY, STAGED)
    pairs = [(size, own) for size in sorted(staged) for own in _chunked(run, size).values()]
    faster = (
        lambda own, whole: np.median(own) < np.median(whole),
        lambda own, whole: ratio_of_turns(own, whole)[0] < 1,
        lambda own, whole: ratio_of_turns(own, whole)[2] < 1,
    )
    return [
        next((size for size, own in pairs if beats(own, staged[size])), 0) / KIB
        for beats in faster
    ]


def _copies(run: DeviceRun) -> list[str]:
    once, steps = (run.times(ALLREDUCE, way) for way in (TransferPath(ONCE), STAGED))
    size = max(once)
    _, low, high = ratio_of_turns(once[size], steps[size])
    if low <= 1 <= high:
        return [ONCE, STEPS, "equal"]
    return [ONCE if high < 1 else STEPS]


def _told(mark: Mark, measured: Mapping[str, Any]) -> Mark:
    said = measured["predictions"]["allreduce"]
    if not mark.points or said.strip().casefold() in (ONCE, STEPS):
        return mark
    return Mark(mark.name, 0, mark.of, f"'{said}' was predicted; '{ONCE}' or '{STEPS}' was asked.")


def route_by_hand(run: DeviceRun) -> staging.Route:
    """The stages as a learner reads them off the first table: its last column, and its first."""
    stages = []
    for of in STAGES.values():
        medians = {size: float(np.median(seconds)) for size, seconds in run.times(*of).items()}
        least, most = min(medians), max(medians)
        per_byte = medians[most] / most
        stages.append(staging.TransferStage(max(0.0, medians[least] - least * per_byte), per_byte))
    return staging.Route(*stages)


def _affordable(
    said: float | None, size: int, routes: Sequence[staging.Route], of: float = 2
) -> Mark:
    """By the stages fitted to all times, or by those that one reads off the table."""
    look = f"The formula has {staging.best_chunk(size, routes[0]) / KIB:.3g} KiB: {HELP}."
    if said is None or not 0 < said * KIB < np.inf:
        why = "It was left empty" if said is None else f"{said:g} KiB is no chunk"
        return Mark("chunk_model", 0, of, f"{why}. {look}")
    times = min(
        staging.pipelined(size, max(1.0, said * KIB), route)
        / staging.pipelined(size, staging.best_chunk(size, route), route)
        for route in routes
    )
    if times <= DEARER:
        return Mark("chunk_model", of, of)
    why = f"In chunks of {said:g} KiB it takes {times:.2f} times the least. {look}"
    return Mark("chunk_model", 0, of, why)


def _among(answers: Mapping[str, Any], name: str, rights: list[float], where: str) -> Mark:
    """Any of these numbers."""
    said = answers[name]
    nearest = min(rights, key=lambda right: abs(right - said)) if said is not None else rights[0]
    return number(answers, name, nearest, within=0.01, look=f"Read {where} of the second table.")
