"""What was measured beside each goal of speed, read from the recorded results.

A ratio is one of medians, with the widest interval that their two intervals allow, or what a
benchmark itself wrote down with an interval. What to look at: `beside` reads rows that were
measured together, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from benchmarks.recorded import NUMBER, RESULTS, Measured, Side, rates, sides
from ddl_runtime.pictures.words import size_text

FENCED = "copy, fence, add"
SPEED = "simulation_speed.txt"
DDP = ("torch's DDP", "the same, gradients as views", "the same, a static graph too")
LADDER = ("one bucket", "overlapped buckets", "sufficient factors", "shared weights")
ORDINARY = ("recursive_doubling", "rabenseifner", "ring", "shared_memory")
CONTEXT = ("torch's, alltoall", "torch's, allgather")


@dataclass(frozen=True)
class Case:
    """One measurement beside its goal: at most so much, or at least."""

    name: str
    measured: Measured
    goal: float
    at_least: bool = False
    spell: str = "{:.2f}"
    limit: Measured | None = None  # what stands in the way alone, as a ratio to the same

    @property
    def verdict(self) -> str:
        """Whether the whole interval reaches the goal, a part of it, or nothing."""
        sign = -1 if self.at_least else 1
        ends = [sign * end for end in (self.measured.low, self.measured.high)]
        if max(ends) <= sign * self.goal:
            return "met"
        return "open" if min(ends) <= sign * self.goal else "missed"

    def cells(self) -> list[str]:
        """A line of a table."""
        median, low, high, goal = (
            self.spell.format(number)
            for number in (self.measured.median, self.measured.low, self.measured.high, self.goal)
        )
        sign = "at least" if self.at_least else "at most"
        limit = self.spell.format(self.limit.median) if self.limit else ""
        interval = f"{low} to {high}" if low != high else ""
        return [f"`{self.name}`", median, interval, f"{sign} {goal}", self.verdict, limit]


def best(side: Side, names: Sequence[str]) -> Measured:
    """The least median of these rows."""
    return min((side.rows[one] for one in names if one in side.rows), key=lambda row: row.median)


def beside(
    file: str, ours: Sequence[str], peers: Sequence[str], goal: float, *, limit: str = ""
) -> list[Case]:
    """The best of ours over the best of the peers, in each group of rows that has both; and the
    row that no way of ours gets below."""
    return [
        Case(
            side.of, best(side, ours).over(peer := best(side, peers)), goal,
            limit=side.rows[limit].over(peer) if limit in side.rows else None,
        )
        for side in sides(file)
        if {*ours} & {*side.rows} and {*peers} & {*side.rows}
    ]  # fmt: skip


def allreduces(ways: Sequence[str], goal: Callable[[int, int], float]) -> list[Case]:
    """The best of these ways over native MPI's, for each rank count and size."""
    cases = []
    for case in beside("allreduce.txt", ways, ["native"], 0, limit=FENCED):
        ranks, nbytes = (int(number) for number in re.findall(r"\d+", case.name))
        name = f"{ranks} ranks, {size_text(nbytes)}"
        cases.append(replace(case, name=name, goal=goal(ranks, nbytes)))
    return cases


def ordinary(_ranks: int, nbytes: int) -> float:
    """The goal for vectors anywhere in memory."""
    return 0.5 if nbytes >= 64 << 20 else 1.0 if nbytes >= 16 << 10 else 1.2


def shared(ranks: int, _nbytes: int) -> float:
    """The goal for vectors in shared memory."""
    return 0.35 if ranks == 2 else 0.5


def simulated_links() -> list[Case]:
    """Our seconds a message over SimGrid's."""
    return [
        Case(side.of, side.rows["ours"].over(side.rows["peer"]), 1.0)
        for side in rates("simgrid.txt")
    ]


def links() -> list[float]:
    """Microseconds a message of a ring: ours without shared links and with them, and SimGrid's."""
    free, shared_out = (
        next(side for side in rates("simgrid.txt") if side.of.startswith(network))
        for network in ("uniform ring", "fat tree ring")
    )
    seconds = free.rows["ours"], shared_out.rows["ours"], shared_out.rows["peer"]
    return [1e6 * each.median for each in seconds]


def pipelines() -> list[Case]:
    """The faster of our two ways over torch's same schedule; and GPipe over ShallowSpeed's."""
    cases = []
    for schedule in ("GPipe", "1F1B"):
        by_hand = f"{schedule}, ours, by hand"
        cases += [
            replace(case, name=f"{schedule}, {case.name}")
            for case in beside(
                "pipelines.txt", [f"{schedule}, ours", by_hand], [f"{schedule}, torch"], 0.6,
                limit=f"{by_hand}, no messages",
            )
        ]  # fmt: skip
    by_hand = "GPipe, ours, by hand"
    beside_it = beside("pipelines.txt", [by_hand], ["GPipe, ShallowSpeed"], 1.0,
                       limit=f"{by_hand}, no messages")  # fmt: skip
    return cases + [replace(one, name=f"/ ShallowSpeed, {one.name[:7]}") for one in beside_it]


def recurrences() -> list[Case]:
    """The better of our fast ways over torch's, from 256 units on."""
    return [
        case
        for case in beside(
            "recurrence.txt",
            ["all_steps", "packed"],
            ["torch.nn.LSTM"],
            1.3,
            limit="products alone",
        )
        if int(re.search(r"(\d+) units", case.name)[1]) >= 256
    ]


def servers() -> list[Case]:
    """A push, and an addition in place, over a memory copy: updates a second."""
    return [
        Case(
            f"{way}, {side.of}", side.rows[way].over(side.rows["memory copy"]), 0.5, at_least=True
        )
        for side in sides("servers.txt")
        for way in ("push", "add")
        if float(side.of.split(", ")[-1].split()[0]) >= 1
    ]


def line(file: str, begins: str, after: str = "") -> str:
    """The first line that begins so, below the first one that begins with `after`."""
    below = (RESULTS / file).read_text().partition(f"\n{after}")[2]
    return next(each.strip() for each in below.splitlines() if each.strip().startswith(begins))


def sentence(file: str, begins: str, after: str = "") -> str:
    """The same line, begun as a sentence is."""
    text = line(file, begins, after)
    return text[0].upper() + text[1:]


def on_far_cores() -> list[float]:
    """Of the second run of servers: microseconds for a block, and a push of 4 MB over a copy."""
    return [
        numbers(line("servers_on_far_cores.txt", begins, after="1,000,000 parameters"))[-1]
        for begins in ("a block is written", "push")
    ]


def numbers(text: str) -> list[float]:
    """All numbers of a line."""
    return [float(each.replace(",", "")) for each in re.findall(NUMBER, text)]


def spread(file: str, begins: str, place: int = 0) -> Measured:
    """The place-th `median (low to high)` of a line."""
    row = re.findall(rf"({NUMBER})(?: s)? \(({NUMBER})(?: to |-)({NUMBER})\)", line(file, begins))
    return Measured(*(float(number) for number in row[place]))


def choices() -> list[Case]:
    """Of real ranks: the largest picked / fastest, and how long the timetable took. Of simulated
    ones the largest."""
    cases = []
    for part in (RESULTS / "automatic.txt").read_text().split("\n\n")[1:]:
        first, *rows = part.splitlines()
        if "timetable took" in first:
            name, seconds = first.partition(";")[0], numbers(first)[-1]
            cases.append(Case(f"{name}, learning, s", exact(seconds), 5))
            table = [ratios(row) for row in rows[1:] if re.match(r"\s+\d", row)]
            picked, whole = (largest(column) for column in zip(*table, strict=True))
            cases.append(Case(f"{name}, auto itself, the largest of all sizes", whole, 1.05))
            cases.append(Case(f"{name}, the largest of all sizes", picked, 1.05))
        else:
            name, picked = first.partition(":")[0], exact(numbers(first)[-1])
            cases.append(Case(f"{name}, the largest", picked, 1.05))
    return cases


def ratios(row: str) -> list[Measured]:
    """The two ratios of a line of real ranks, each with its interval if it has one."""
    cells = re.findall(rf"({NUMBER})(?: \(({NUMBER}) to ({NUMBER})\))?", row)[1:3]
    return [
        Measured(*(float(end or median) for end in (median, *ends))) for median, *ends in cells
    ]


def largest(sizes: Sequence[Measured]) -> Measured:
    """The largest of all sizes, and of each end: so a goal is met if it is at each size."""
    return Measured(*(max(getattr(size, end) for size in sizes) for end in vars(sizes[0])))


def exact(number: float) -> Measured:
    """What has no interval: a time that is computed, or the largest of many."""
    return Measured(number, number, number)


def watching() -> list[Case]:
    """Each program watched over the same not watched: strict, its memory counted, its timeline."""
    rows = (RESULTS / SPEED).read_text().partition("watched / not")[2].splitlines()
    names = rows[0].split()
    return [
        Case(f"{how}: {row.split('  ')[0]}", spread(SPEED, row.split("  ")[0], place), 1.3)
        for place, how in enumerate(names[:3])
        for row in takewhile(str.strip, rows[1:])
    ]


def many_ranks() -> list[Case]:
    """Messages a second, and seconds and GB of 65,536 ranks."""
    cases = [
        Case("ring of 1,024 ranks, million messages a second", spread(SPEED, "simulated"), 3, True)
    ]
    for place, which in enumerate(("its first program", "those that follow")):
        row = spread("in_pypy.txt", "ring of 1,024 ranks, PyPy", place)
        cases.append(Case(f"the same in PyPy, {which}", row, 3, True))
    for program in ("recursive doubling", "barrier"):
        for place, (unit, goal) in enumerate((("s", 3), ("GB", 0.5))):
            cases.append(
                Case(f"65,536 ranks, {program}, {unit}", spread(SPEED, program, place), goal)
            )
    for way in ("ring", "Rabenseifner", "recursive doubling", "pairwise"):
        row = next(each for each in (RESULTS / "many_ranks.txt").read_text().splitlines()
                   if each.startswith(way) and "1048576" in each)  # fmt: skip
        seconds = numbers(row)[-1]
        cases.append(Case(f"a million ranks, {way}, s", exact(seconds), 10, spell="{:.0f}"))
    return cases


def waiting() -> list[Case]:
    """Seconds from a kernel's start, in unit 06 and in the first one that draws."""
    return [
        Case(what, spread("first_picture.txt", what), goal)
        for what, goal in (
            ("06_allreduce: engines", 2), ("06_allreduce: result on engines", 2),
            ("06_allreduce: picture", 6), ("01_work_and_depth: picture", 6),
        )
    ]  # fmt: skip


def grading() -> list[Case]:
    """Seconds by the clock for each hand-in, four at a time."""
    return [Case("a hand-in of 06, four at a time, s", spread("grading.txt", "4  "), 3)]


def births() -> list[Any]:
    """What is started for a hand-in, and what each takes."""
    ways = "a rank that starts", "a verb, in grader", "a bare message"
    return [sentence("grading.txt", "30 hand-ins"),
            *(numbers(line("grading.txt", way))[0] for way in ways)]  # fmt: skip


def convolutions() -> list[Case]:
    """Of the targets that the benchmark itself names: the worst layer."""
    goals = {"regret, near ties tried": 1.1, "chosen, near ties tried / torch": 1.5,
             "fft / im2col": 1.0}  # fmt: skip
    cases = []
    for what, goal in goals.items():
        text = line("convolutions.txt", what, after="targets")
        kept, count, median, worst = numbers(text)[-4:]
        name = f"{what}, the worst layer ({kept:.0f} of {count:.0f} met it, median {median:.2f})"
        cases.append(Case(name, exact(worst), goal))
    return cases


def thin_products() -> list[float]:
    """How fast the Fourier transform computes what it counts, over im2col's: least and most."""
    pairs = re.findall(
        r"transforms run at (\d+), im2col's at (\d+)", (RESULTS / "convolutions.txt").read_text()
    )
    shares = sorted(int(ours) / int(other) for ours, other in pairs)
    return [shares[0], shares[-1]]
