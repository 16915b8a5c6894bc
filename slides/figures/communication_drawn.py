"""Diagrams of messages: one message, four ways to add, walks of chunks, two levels, stages."""

from __future__ import annotations

from functools import partial

from ddl_class.plots.svg import Drawing
from ddl_runtime.pictures.style import algorithm_colour, rank_colour
from ddl_runtime.pictures.words import spoken, time_text
from ddl_teach import simulate
from ddl_teach.theory import collectives as formulas
from ddl_teach.theory.machine import Link
from slides.figures.communication import ALGORITHMS, BANDWIDTH, LATENCY, NETWORK, reduce
from slides.figures.sketch import (
    INK,
    PALE,
    QUIET,
    STRONG,
    WARM,
    WIDTH,
    Sketch,
    bars,
    between,
    round_a_circle,
    tint,
)

RANKS, STEPS = 8, 3
WHOLE = 8_000  # bytes of a vector


def one_message() -> Drawing:
    """A message as a latency and its bytes, for three sizes, to scale."""
    sizes = (100, 10_000, 30_000)
    times = [1e6 * (LATENCY + size / BANDWIDTH) for size in sizes]
    sketch = Sketch(
        "; ".join(f"{n:,} bytes take {t:.2f} µs" for n, t in zip(sizes, times, strict=True))
    )
    scale = 760 / max(times)
    for row, (size, took) in enumerate(zip(sizes, times, strict=True)):
        y, first = 30 + 130 * row, scale * 1e6 * LATENCY
        sketch.words(180, y + 45, f"{size:,} bytes", 25, "end")
        sketch.box(200, y, first, 90, "latency L", STRONG, 25)
        sketch.box(200 + first, y, scale * took - first, 90, "n G" if row else "", "#ddaa33", 25)
        sketch.words(215 + scale * took, y + 45, f"{took:.2f} µs", 25, "start")
    sketch.arrow((200, 430), (1000, 430), QUIET, 3)
    sketch.words(600, 462, "time; 1 µs of latency, 10 GB/s, computed", 21, colour=QUIET)
    return sketch.drawing


def four_ways() -> Drawing:
    """Who sends to whom in the four classical all-reduces on eight ranks, from their ledgers."""
    sketch = Sketch("Who sends to whom on eight ranks: " + ", ".join(map(spoken, ALGORITHMS)))
    link = Link.of(NETWORK)
    for number, name in enumerate(ALGORITHMS):
        x = 145 + 288 * number
        places = round_a_circle(RANKS, x, 165, 112)
        run = simulate(partial(reduce, algorithm=name, nbytes=WHOLE), RANKS, network=NETWORK)
        pairs = {
            (rank, span.peer)
            for rank, spans in enumerate(run.timeline.spans)
            for span in spans
            if span.kind == "send"
        }
        for begin, end in pairs:
            sketch.drawing.line(
                between(places[begin], places[end], 24), stroke=WARM, stroke_width=3
            )
        for rank, place in enumerate(places):
            sketch.rank(*place, rank, 24)
        sketch.words(x, 325, spoken(name), 24, bold=True, colour=STRONG)
        few, many = (formulas.formula(name)(RANKS, n, link) for n in (8, 2**26))
        sketch.words(x, 405, f"8 bytes: {time_text(few)}\n64 MiB: {time_text(many)}", 22)
    sketch.words(575, 475, "by formula, 1 µs, 10 GB/s", 20, colour=QUIET)
    return sketch.drawing


def partners() -> Drawing:
    """Recursive doubling: what each rank knows after each step."""
    sketch = Sketch("In steps 0, 1, 2 a rank's partner is its number XOR 1, 2, 4", 640, 500)
    knows = [{rank} for rank in range(RANKS)]
    for row in range(STEPS + 1):
        y = 60 + 128 * row
        for rank in range(RANKS):
            x = 55 + 76 * rank
            if row < STEPS:
                sketch.drawing.line(
                    [(x, y + 24), (55 + 76 * (rank ^ 2**row), y + 104)],
                    stroke=rank_colour(rank),
                    stroke_width=4,
                )
            sketch.rank(x, y, rank, 25, str(sum(knows[rank])))
        knows = [knows[r] | knows[r ^ 2**row] for r in range(RANKS)] if row < STEPS else knows
    sketch.words(
        320, 485, "each disc: the sum that its rank has, of ranks' numbers", 19, colour=QUIET
    )
    return sketch.drawing


def walk(adding: bool) -> Drawing:
    """The chunks of a ring on four ranks after each step; dark: how many summands a chunk has."""
    name = "A chunk grows on its way" if adding else "Finished chunks go round"
    count = 4
    sketch = Sketch(f"{name}: {count} ranks, {count - 1} steps", 640, 500)
    has = [
        [1 if adding else (count if chunk == rank else 1) for chunk in range(count)]
        for rank in range(count)
    ]
    for step in range(count):
        y = 60 + 120 * step
        sketch.words(10, y + 38, "start" if step == 0 else f"step {step}", 20, "start")
        for rank in range(count):
            x = 105 + 137 * rank
            for chunk in range(count):
                full = has[rank][chunk]
                sketch.box(
                    x + 30 * chunk,
                    y + 76 * (1 - full / count),
                    27,
                    76 * full / count,
                    fill=rank_colour(rank) if full > 1 else "#cfcfcf",
                )
                sketch.box(x + 30 * chunk, y, 27, 76, fill="none", edge="#aaaaaa")
            if step == 0:
                sketch.rank(x + 58, 30, rank, 24)
        before = [list(row) for row in has]
        for rank in range(count):  # as in the code: what comes in is chunk rank - step - 1
            incoming = (rank - step - 2) % count if adding else (rank - step - 1) % count
            left = before[(rank - 1) % count][incoming]
            has[rank][incoming] = left + before[rank][incoming] if adding else left
    return sketch.drawing


def ledgers() -> Drawing:
    """What the busiest of eight ranks sends for 1 MiB, as its ledger has it."""
    rows = []
    for name in ALGORITHMS:
        books = simulate(partial(reduce, algorithm=name, nbytes=2**20), 8, network=NETWORK).ledger
        most = max(books, key=lambda book: book.bytes_sent)
        share = most.bytes_sent / 2**20
        rows.append((spoken(name), share, f"{share:.3g} n, {most.messages_sent} messages"))
    return bars(
        "What the busiest of 8 ranks sends of 1 MiB",
        rows,
        "times the vector, counted by the ledger, not by a formula",
        left=250,
        colours=[algorithm_colour(name) for name in ALGORITHMS],
    )


def halving() -> Drawing:
    """Which part of the vector each rank still adds up in a reduce-scatter by halving: partners
    and bytes are those of a run."""
    run = simulate(partial(reduce, algorithm="rabenseifner", nbytes=WHOLE), RANKS, network=NETWORK)
    sends = [[s for s in spans if s.kind == "send"] for spans in run.timeline.spans]
    sketch = Sketch("Each rank halves its part of the vector in three steps: " + ", ".join(
        f"{WHOLE // s.bytes} parts with rank {s.peer}" for s in sends[0][:STEPS]
    ))  # fmt: skip
    parts = [(0, RANKS)] * RANKS  # from this part on, so many parts
    for step in range(STEPS + 1):
        left = 70 + 298 * step
        for rank in range(RANKS):
            y, (first, many) = 56 + 50 * rank, parts[rank]
            if step == 0:
                sketch.rank(28, y + 19, rank, 22)
            for part in range(RANKS):
                mine = first <= part < first + many
                shade = 2 ** (0.6 * (step - STEPS))
                colour = tint(rank_colour(rank), shade) if mine else "#f0f0f0"
                sketch.box(left + 22 * part, y, 20, 38, fill=colour)
            if step < STEPS:
                peer = sends[rank][step].peer
                ends = [(left + 182, y + 19), (left + 290, 56 + 50 * peer + 19)]
                sketch.drawing.line(ends, stroke=rank_colour(rank), stroke_width=3)
        sketch.words(left + 88, 24, f"{RANKS >> step} of {RANKS} parts", 22, bold=True)
        if step < STEPS:
            share = WHOLE // sends[0][step].bytes
            sketch.words(left + 236, 24, f"n/{share}", 24, colour="#8a3a00", bold=True)
            parts = [
                (first + (many // 2 if rank > sends[rank][step].peer else 0), many // 2)
                for rank, (first, many) in enumerate(parts)
            ]
    sketch.words(575, 480, "darker: more ranks are in the sum; the way back is the same, from "
                 "right to left", 22, colour=QUIET)  # fmt: skip
    return sketch.drawing


def ring_bytes() -> Drawing:
    """What a rank of a ring sends of its vector, and what its latencies take, over ranks."""
    rows = []
    for ranks in (2, 4, 16, 256, 65_536):
        share = 2 * (ranks - 1) / ranks
        alone = time_text(formulas.ring(ranks, 0, Link.of(NETWORK)))
        rows.append((f"{ranks:,} ranks", share, f"{share:.4g} n + {alone}"))
    return bars(
        "Bytes that a rank of a ring sends",
        rows,
        "times the vector of n bytes; latencies at 1 µs each, by formula",
        "",
        left=210,
    )


def levels() -> Drawing:
    """Two nodes of four ranks: add up inside, then parts go between the nodes, then back."""
    sketch = Sketch("Three phases on two nodes: inside, between parts, inside again")
    for phase, name in enumerate(("1. inside", "2. between", "3. inside")):
        y, apart = 15 + 165 * phase, 490
        sketch.words(5, y + 70, name, 26, "start", STRONG, True)
        places = [((250, 570)[k in (1, 2)], y + (22, 54, 118, 86)[k]) for k in range(4)]
        for node in range(2):
            sketch.box(190 + apart * node, y, 450, 140, fill=PALE, edge="#999999")
        for k, (x, high) in enumerate(places):
            for node in range(2) if phase != 1 else ():
                there = places[(k + 1) % 4]
                ends = (x + apart * node, high), (there[0] + apart * node, there[1])
                sketch.drawing.line(between(*ends, 19), stroke=WARM, stroke_width=5)
            if phase == 1:
                ends = (x, high), (x + apart, high)
                sketch.drawing.line(between(*ends, 19), stroke=rank_colour(k), stroke_width=5)
        for node in range(2):
            for k, (x, high) in enumerate(places):
                sketch.rank(x + apart * node, high, k, 19, str(4 * node + k))
    return sketch.drawing


def stages() -> Drawing:
    """Four chunks through three stages, one after another and at once."""
    sketch = Sketch("Staged: 12 turns. In chunks that overlap: 6 turns for the same bytes")
    names, wide = ("copy out", "send", "copy in"), 74
    for half, overlapped in enumerate((False, True)):
        top = 40 + 235 * half
        for stage, name in enumerate(names):
            y = top + 58 * stage
            sketch.words(140, y + 26, name, 22, "end")
            for chunk in range(4):
                turn = stage + chunk if overlapped else 4 * stage + chunk
                sketch.box(160 + wide * turn, y, wide - 4, 50, str(chunk), rank_colour(chunk), 22)
        turns = len(names) + 3 if overlapped else 4 * len(names)
        sketch.words(
            160,
            top - 22,
            ("pipelined" if overlapped else "staged") + f": {turns} turns",
            24,
            "start",
            STRONG,
            True,
        )
    sketch.words(WIDTH - 8, 478, "each box: a chunk in a stage", 20, "end", colour=QUIET)
    sketch.drawing.line([(160, 222), (160 + 12 * wide, 222)], stroke=INK)
    return sketch.drawing
