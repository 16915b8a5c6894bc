"""Diagrams of a job on a cluster: where it runs, how it begins, who may listen, how it ends."""

from __future__ import annotations

import re
from textwrap import fill

from ddl_class.clusters import grounds
from ddl_class.clusters.grounds import SETUP
from ddl_class.competition.race import DISCIPLINES
from ddl_class.plots.svg import Drawing
from ddl_runtime.core.fault_tolerance import RankLost
from ddl_teach import Comm, simulate
from slides.figures import cluster
from slides.figures.sketch import INK, PALE, QUIET, STRONG, WARM, WIDTH, Sketch, tint

GREEN, RED, GOLD = "#228833", "#cc3311", "#ddaa33"
FRAME, HEADERS = 1514, {"Ethernet": 14, "IP": 20, "TCP": 32}  # bytes; TCP with its time stamps
ASKED, RANKS, STEPS = 1, 4, 4  # the rank that the batch system asks first; of a picture
DEAD, LIVING_FROM = 2, 5  # the rank that dies, of so many


def four_grounds() -> Drawing:
    """Where the ranks of one program can live, and what starts them there."""
    each = (grounds.Laptop, grounds.InBox, grounds.Hosts, grounds.Slurm)
    said = [(ground.__name__, ground.__doc__.splitlines()[0]) for ground in each]
    sketch = Sketch("One program on four grounds. " + " ".join(f"{n}: {w}" for n, w in said))
    sketch.box(375, 0, 400, 62, "program.py:main", STRONG, 28, bold=True)
    for place, (name, what) in enumerate(said):
        x = 290 * place
        sketch.arrow((575, 62), (x + 140, 128), QUIET, 3)
        sketch.box(x, 130, 280, 330, fill="#f7f6fb", edge=STRONG)
        sketch.words(x + 140, 160, name, 27, bold=True, colour=STRONG)
        for rank in range(4):
            middle = x + 50 + 60 * rank
            if place:
                sketch.box(middle - 27, 205, 54, 92, fill=PALE, edge=GOLD)
            sketch.rank(middle, 250, rank, 22)
        if place == 0:
            sketch.box(x + 18, 205, 244, 92, edge=GOLD, fill="none")
        else:
            sketch.box(x + 18, 312, 244, 14, fill=GOLD)
        sketch.words(x + 140, 395, fill(what, 22), 21)
    sketch.words(575, 484, "gold: one node, or the cable between nodes", 20, colour=QUIET)
    return sketch.drawing


def frame() -> Drawing:
    """What of a cable's 100 Mbit/s is left for the payload: a frame to scale, and as measured."""
    payload = FRAME - sum(HEADERS.values())
    left = 100 * payload / FRAME
    fitted = float(re.search(r"([\d.]+) Mbit/s", cluster.network_of_the_box())[1])
    sketch = Sketch(
        f"{payload:,} of the {FRAME:,} bytes of a frame are payload: of 100 Mbit/s at most "
        f"{left:.1f} are left, {fitted:.1f} were measured"
    )
    scale, x = WIDTH / FRAME, 0.0
    for name, size in (*HEADERS.items(), ("payload", payload)):
        colour = "#4477aa" if name == "payload" else WARM
        sketch.box(x, 40, size * scale - 1, 110, fill=colour)
        if name == "payload":
            sketch.words(x + size * scale / 2, 95, f"payload: {size:,} bytes", 28, colour="#fff")
        x += size * scale
    sketch.words(0, 18, f"one frame: {FRAME:,} bytes", 22, "start", QUIET)
    headers = ", ".join(f"{name} {size}" for name, size in HEADERS.items())
    sketch.words(0, 176, f"headers: {headers}", 22, "start", WARM)
    rows = (("the cable", 100.0, QUIET), ("without headers", left, "#4477aa"),
            ("measured", fitted, STRONG))  # fmt: skip
    for place, (name, rate, colour) in enumerate(rows):
        y = 240 + 78 * place
        sketch.words(215, y + 28, name, 24, "end")
        sketch.box(230, y, 7 * rate, 56, fill=colour)
        sketch.words(245 + 7 * rate, y + 28, f"{rate:g} Mbit/s" if rate == 100 else
                     f"{rate:.1f} Mbit/s", 24, "start", bold=True)  # fmt: skip
    return sketch.drawing


def begun() -> Drawing:
    """A job from your terminal to its ranks, with the lines of the course's own script."""
    script = (SETUP / "slurm" / "check.sbatch").read_text()
    a_node = re.search(r"--ntasks-per-node=(\d+)", script)[1]
    last = script.rstrip().splitlines()[-1].removeprefix("exec ").split(' "')[0]
    assert "begin.sh" in script
    steps = (
        ("you", "submit check.sbatch", STRONG),
        ("the queue", "waits until\nnodes are free", QUIET),
        ("first node", "begin.sh reads\nsite.sh", WARM),
        ("all nodes", "$SITE_MPI\nstarts ranks", GREEN),
    )
    sketch = Sketch("A job: " + ", then ".join(f"{a}: {b}" for a, b, _ in steps))
    for place, (who, what, colour) in enumerate(steps):
        x = 296 * place
        sketch.box(x, 20, 256, 74, who, colour, 27, bold=True)
        sketch.words(x + 128, 145, what, 24)
        if place:
            sketch.arrow((x - 36, 57), (x - 4, 57), INK, 4)
    for node in range(4):
        x = 40 + 280 * node
        sketch.box(x, 220, 230, 190, fill=PALE, edge=GREEN)
        sketch.words(x + 115, 250, f"node {node}", 23, bold=True, colour=GREEN)
        sketch.rank(x + 115, 330, node, 44)
    sketch.box(40, 418, 1070, 20, fill=GOLD)
    words = f"#SBATCH --ntasks-per-node={a_node}   then   {last}"
    sketch.words(575, 472, words, 23, colour=STRONG)
    return sketch.drawing


def lost(comm: Comm) -> int:
    """One rank dies, the others notice, agree and shrink; returns a rank's new number."""
    try:
        if comm.rank == DEAD:
            comm.die()
        comm.barrier()
    except RankLost:
        comm.revoke()
    assert not comm.agree(False)
    return comm.shrink().rank


def shrunk() -> Drawing:
    """Ranks before a death, and with the numbers that a run of the simulator gave them after."""
    numbers = simulate(lost, LIVING_FROM).results
    steps = ("a rank dies", "revoke", "agree", "shrink")
    after = ", ".join(f"{old} becomes {new}" for old, new in enumerate(numbers) if old != DEAD)
    sketch = Sketch(f"Rank {DEAD} of {LIVING_FROM} dies: revoke, agree, shrink; {after}")
    told = ("one rank notices", "all waits end", "the same answer\non all", "new numbers,\ngo on")
    for place, (name, what) in enumerate(zip(steps, told, strict=True)):
        x = 296 * place
        sketch.box(x, 0, 256, 64, name, RED if place == 0 else STRONG, 27, bold=True)
        if place:
            sketch.arrow((x - 36, 32), (x - 4, 32), INK, 4)
        for old in range(LIVING_FROM):
            y = 115 + 66 * old
            gone = old == DEAD
            if gone:
                sketch.drawing.circle(x + 60, y, 27, fill="#dddddd")
                sketch.words(x + 60, y, "x", 30, colour=RED, bold=True)
            else:
                new = numbers[old] if place == 3 else old
                sketch.rank(x + 60, y, new, 27)
                notice = place == 1 or (place == 0 and old == DEAD + 1)
                word = ("RankLost" if notice else "waits" if place == 0 else
                        "no" if place == 2 else f"was {old}")  # fmt: skip
                colour = RED if notice else QUIET
                sketch.words(x + 105, y, word, 22, "start", colour, notice)
        sketch.words(x + 128, 460, what, 22)
    return sketch.drawing


def pre_empted() -> Drawing:
    """A signal that reaches one rank first: without a vote two waits, with one all save."""
    sketch = Sketch(
        f"A signal reaches rank {ASKED} in step 2. Alone it saves, and the others wait in step 3 "
        "for ever; with a vote all save after step 2"
    )
    for side, title in enumerate(("that rank leaves alone", "all ask each other first")):
        left = 590 * side
        colour = GREEN if side else RED
        sketch.words(left + 280, 24, title, 27, bold=True, colour=colour)
        for rank in range(RANKS):
            y = 70 + 84 * rank
            sketch.rank(left + 34, y + 30, rank, 28)
            for step in range(STEPS):
                x = left + 80 + 118 * step
                saved = step == 3 and (side or rank == ASKED)
                waits = step == 3 and not saved
                fills = "#f6d5cf" if waits else tint(GREEN, 0.25) if saved else PALE
                words = "waits" if waits else "save" if saved else f"step {step}"
                sketch.box(x, y, 108, 60, words, fills, 22)
            if rank == ASKED:
                x = left + 80 + 118 * 2 + 54
                sketch.arrow((x, y - 24), (x, y + 4), WARM, 5)
        if side:
            x = left + 80 + 118 * 3 - 5
            sketch.drawing.line([(x, 60), (x, 400)], stroke=STRONG, stroke_width=6)
            sketch.words(x, 424, "agreed", 22, bold=True, colour=STRONG)
    sketch.words(10, 470, "orange: the signal of the batch system", 22, "start", WARM)
    sketch.words(870, 470, "then each leaves, to be queued again", 22, colour=GREEN)
    return sketch.drawing


def races() -> Drawing:
    """The disciplines of the competition: how long each may take, and its target."""
    all_of = list(DISCIPLINES.values())
    sketch = Sketch("; ".join(
        f"{each.title}: {each.accuracy:.0%} right within {each.limit:g} s" for each in all_of
    ))  # fmt: skip
    scale = 760 / max(each.limit for each in all_of)
    for place, each in enumerate(all_of):
        y, end = 50 + 170 * place, 20 + scale * each.limit  # all start at the left
        sketch.words(20, y - 24, each.title, 26, "start", STRONG, True)
        sketch.box(20, y, scale * each.limit, 90, fill=PALE, edge=STRONG)
        for runner in range(RANKS):
            sketch.rank(50 + 54 * runner, y + 45, runner, 24)
        sketch.drawing.line([(end, y - 14), (end, y + 104)], stroke=RED, stroke_width=5)
        words = (f"stopped after {each.limit:g} s\ntarget: {each.accuracy:.0%} right,\n"
                 f"{each.in_a_row} looks in a row")  # fmt: skip
        sketch.words(end + 24, y + 45, words, 23, "start")
    sketch.box(20, 390, 540, 76, "given: network, data, seeds, machine", QUIET, 25)
    sketch.box(590, 390, 540, 76, "yours: all else", GREEN, 25, bold=True)
    return sketch.drawing


def listeners() -> Drawing:
    """Which way is encrypted and which is open, and where the open one belongs."""
    sketch = Sketch(
        "From notebook to engines all is encrypted and signed; between ranks MPI's messages are "
        "open, and stay on the cluster's own network"
    )
    sketch.box(0, 150, 240, 150, "notebook", STRONG, 28, bold=True)
    sketch.box(430, 20, 720, 420, fill="#f7f6fb", edge=GOLD)
    sketch.words(790, 52, "the cluster's own network", 26, bold=True, colour="#7a5a00")
    corners = [(560, 150), (1020, 150), (560, 350), (1020, 350)]
    for a in range(4):
        for b in range(a):
            sketch.drawing.line([corners[a], corners[b]], stroke=WARM, stroke_width=4,
                                stroke_dasharray="12 9")  # fmt: skip
    for rank, place in enumerate(corners):
        sketch.rank(*place, rank, 46)
    sketch.box(705, 222, 170, 58, "open", "#fdf1e4", 27, WARM, bold=True)
    sketch.arrow((240, 225), (498, 160), GREEN, 7)
    sketch.words(120, 345, "encrypted\nand signed", 25, colour=GREEN, bold=True)
    sketch.words(790, 415, "MPI's messages: all on this network can read them", 21)
    sketch.words(205, 440, "campus, Internet:\nkeep ranks away from here", 22, colour=QUIET)
    return sketch.drawing
