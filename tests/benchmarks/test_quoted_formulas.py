"""Numbers in the prose of units 05 to 07 and of lab 4 that a formula gives, computed once more.

A sentence has gaps; the test fills them by the formulas and by lab 4's recorded run, and looks for
the whole sentence in the text. Who changes a formula is told what to write.
"""

from collections.abc import Callable, Sequence
from itertools import product
from statistics import median

import pytest

from benchmarks.lab_tables import checker_of, recorded
from ddl_measure.device_messages import ALLREDUCE, BANDWIDTH, COPY_OUT, IN_A_ROW, LATENCY
from ddl_measure.device_run import HOST, TransferPath
from ddl_measure.zoo.resnet50 import STAGES
from ddl_runtime.devices import timed
from ddl_runtime.pictures.words import span
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import linear
from ddl_teach.collectives.on_devices import ONCE
from ddl_teach.theory import collectives, staging
from ddl_teach.theory.bounds import bus_bandwidth
from ddl_teach.theory.crossover import crossovers
from ddl_teach.theory.machine import Link
from ddl_teach.theory.staging import Route, TransferStage
from tests.benchmarks.quotations import plain

MIB = 2**20


# Unit 05.
FIRST = Link(2e-6, 1 / 1e9)
ASKED = Link(1e-6, 1 / 10e9)
PIECE = Link(10e-6, 1 / 10e9)


def half(latency: float, bandwidth: float) -> float:
    """The size of which half is latency."""
    return latency * bandwidth


def takes(link: Link, nbytes: float) -> float:
    return link.latency + nbytes * link.per_byte


def share_of_latency(link: Link, nbytes: float) -> float:
    return link.latency / takes(link, nbytes)


def sizes_of_latency() -> list[float]:
    """In kB: of which a half, a fifth, and in hundreds a twentieth is latency, at 5 us and 5 GB/s:
    n = n_half (1 / share - 1)."""
    whole = half(5e-6, 5e9) / 1e3
    return [whole, whole * (5 - 1), round(whole * (20 - 1), -2) / 1e3]


def tensors_of_resnet_101() -> list[int]:
    """Tensors; those of norms and of the last bias; the largest of these in kB (He et al., 2016:
    four stages of 3, 4, 23 and 3 blocks, three convolutions in each and one to widen)."""
    convolutions = 1 + sum(3 * blocks + 1 for blocks in (3, 4, 23, 3))
    widest = 4 * max(maps for maps, *_ in STAGES)
    return [3 * convolutions + 2, 2 * convolutions + 1, 4 * widest // 1000]


def through_one_port(ranks: int, nbytes: float, link: Link) -> float:
    return 2 * (link.latency + (ranks - 1) * nbytes * link.per_byte)


# Unit 06.
MANY, NUMBERS = 65_536, 4096


def crossing(first: str, second: str) -> float:
    [where] = crossovers(first, second, MANY, ASKED)
    return where.nbytes


def answers_of_one(ranks: int) -> int:
    """Messages that rank 0 sends where all sum at it."""
    return simulate(linear.allreduce, ranks, x=Phantom(8)).ledger[0].messages_sent


def steps_of_a_ring(ranks: int) -> int:
    return 2 * (ranks - 1)


# Unit 07.
COPY, WIRE = TransferStage(1e-5, 1 / 25e9), TransferStage(0, 1 / 25e9, delay=2e-6)
REAL = Route(COPY, WIRE, COPY)


def in_steps_over_once(ranks: int, nbytes: float = 100e6) -> float:
    part = nbytes / ranks
    chunk = staging.best_chunk(part, REAL)
    in_steps = staging.allreduce_in_steps(
        ranks, nbytes, lambda size: staging.pipelined(size, chunk, REAL)
    )
    return in_steps / staging.allreduce_once(ranks, nbytes, REAL)


def in_best_chunks(nbytes: float, route: Route) -> float:
    return staging.pipelined(nbytes, staging.best_chunk(nbytes, route), route)


def left_of_filling(times: float) -> tuple[float, float]:
    """Of chunks `times` the best: how much more in starts and less in filling, as shares."""
    return 1 / times - 1, 1 - times


# Lab 4.
def described() -> tuple[TransferStage, TransferStage]:
    """The copies and the cable of the box."""
    settings = recorded("4")["settings"]
    copy = TransferStage(settings["link_start"], 1 / settings["link_bandwidth"])
    return copy, TransferStage(0, 8 / 95e6)


def assumed(rate: float) -> Route:
    """Copies that start in 10 us, a wire of 2.5 us, all at this rate."""
    copy = TransferStage(10e-6, 1 / rate)
    return Route(copy, TransferStage(0, 1 / rate, delay=2.5e-6), copy)


def on_gpus() -> list[str]:
    routes = [assumed(rate) for rate in (12e9, 50e9)]

    def over_direct(nbytes: float, route: Route) -> float:
        return staging.staged(nbytes, route) / staging.direct(nbytes, route.wire)

    return [
        span([over_direct(16 * MIB, route) for route in routes], "{:.0f}".format),
        span([staging.best_chunk(16 * MIB, route) / MIB for route in routes], "{:.0f}".format),
        span([over_direct(kib * 1024, route) for kib, route in product((1, 4), routes)],
             "{:.0f}".format),
    ]  # fmt: skip


def milliseconds(test: str, *way: str | int, nbytes: int = MIB) -> float:
    """The median of lab 4's recorded run."""
    run = checker_of(4).sound(recorded("4"))
    return 1e3 * median(run.times(test, TransferPath(*way))[nbytes])


def chunks_beside_direct() -> list[float]:
    direct = milliseconds(LATENCY, "direct")
    return [milliseconds(LATENCY, "pipelined", 64 * 1024) - direct, direct]


def starts() -> list[float]:
    return [2e3 * described()[0].start, milliseconds(LATENCY, "staged", nbytes=4096)]


def bus_rates() -> list[float]:
    direct, staged, once = (milliseconds(ALLREDUCE, way) for way in ("direct", "staged", ONCE))
    rates = [bus_bandwidth("allreduce", 4, MIB, ms / 1e3) / 1e6 for ms in (direct, staged, once)]
    wire = MIB / milliseconds(BANDWIDTH, HOST) / 1e3
    return [1.5, MIB / 1e6, direct, rates[0], 100 * rates[0] / wire, wire, *rates[1:]]


def once_by_the_rates() -> list[float]:
    copy, wire = milliseconds(COPY_OUT + IN_A_ROW, "copy"), milliseconds(BANDWIDTH, HOST)
    steps = steps_of_a_ring(4)
    return [
        copy,
        steps,
        wire / 4,
        copy,
        2 * copy + steps * wire / 4,
        milliseconds(ALLREDUCE, ONCE),
    ]


def slow_link() -> list[float]:
    copy = described()[0].start + MIB / 5e6
    return [round(1e3 * copy, -1), milliseconds(BANDWIDTH, HOST)]


def gain_of_chunks(*stages: float) -> float:
    """What pipelining wins at most: the sum of the stages over the slowest."""
    return sum(stages) / max(stages)


TOUR = "notebooks/source/00_tour.py"
UNIT_05, UNIT_06 = "notebooks/source/05_messages.py", "notebooks/source/06_allreduce.py"
UNIT_07 = "notebooks/source/07_gpus.py"
WORKSHEET, GUIDE = (f"labs/4_cuda_aware/{name}.md" for name in ("worksheet", "instructor"))
QUOTED: dict[str, tuple[str, str, Callable[[], Sequence[object]]]] = {
    "along a tree": (TOUR, "are 65,536 ranks and {:,} messages.", lambda: [2 * (MANY - 1)]),
    "a message leaves": (
        UNIT_05, "and {:.0f} µs for 6,000 bytes.", lambda: [6000 * FIRST.per_byte * 1e6],
    ),
    "and arrives": (
        UNIT_05, "leaves after {:.0f} µs and arrives after {:.0f}",
        lambda: [6000 * FIRST.per_byte * 1e6, takes(FIRST, 6000) * 1e6],
    ),
    "a ball": (UNIT_05, "answer: 6,000 bytes take {:.0f} µs", lambda: [takes(FIRST, 6000) * 1e6]),
    "latency rules": (
        UNIT_05,
        "half of the time of a message of {:.0f} kB. It is a fifth at {:.0f} kB, and a twentieth",
        lambda: sizes_of_latency()[:2],
    ),
    "tensors": (
        UNIT_05, "has {} tensors. {} of them belong to norms and biases, and have at most {} kB",
        tensors_of_resnet_101,
    ),
    "typical networks": (
        UNIT_05,
        "has its $n_{{1/2}}$ at {:.0f} kB. InfiniBand of 200 Gbit/s and 1.5 µs has it at {:.0f} "
        "kB. Between two continents, 50 ms apart, 1 GB a second has it at {:.0f} MB.",
        lambda: [
            half(50e-6, 1e9 / 8) / 1e3, half(1.5e-6, 200e9 / 8) / 1e3, half(50e-3, 1e9) / 1e6,
        ],
    ),
    "incast": (
        UNIT_05, "each takes {:.0f} µs to come in", lambda: [10_000 * ASKED.per_byte * 1e6]
    ),
    "messages of incast": (UNIT_05, "sends {:,} messages and takes", lambda: [2 * (MANY - 1)]),
    "incast of many": (
        UNIT_05, "{:,} ranks wait for an answer that takes {:.1f} µs",
        lambda: [MANY - 1, 1000 * ASKED.per_byte * 1e6],
    ),
    "one's own message": (
        UNIT_05,
        "takes {0:.1f} µs to the server and {0:.1f} µs back. The rest, up to {1:.0f} ms, is",
        lambda: [takes(ASKED, 1000) * 1e6, through_one_port(MANY, 1000, ASKED) * 1e3],
    ),
    "pieces of 4 KiB": (
        UNIT_05,
        "A piece takes {:.0f} µs + {:.2f} µs, so {:.0f} percent. To reach half, a piece must have "
        "$n_{{1/2}}$ = {:,.0f} bytes.",
        lambda: [PIECE.latency * 1e6, 4096 * PIECE.per_byte * 1e6,
         100 * (1 - share_of_latency(PIECE, 4096)), half(10e-6, 10e9)],
    ),
    "to one rank": (
        UNIT_06, "With 1,000 ranks it is {0:.0f} and {0:.0f}.",
        lambda: [answers_of_one(1000)],
    ),
    "a ring of many": (
        UNIT_06, "it has {:,} steps and {:.1f} billion messages",
        lambda: [steps_of_a_ring(MANY), steps_of_a_ring(MANY) * MANY / 1e9],
    ),
    "where lines cross": (
        UNIT_06, "section 5 computes: {:.0f} MB.",
        lambda: [crossing("recursive_doubling", "ring") / 1e6],
    ),
    "lowest from": (
        UNIT_06, "From {:.0f} kB on Rabenseifner's line is the lowest",
        lambda: [crossing("recursive_doubling", "rabenseifner") / 1e3],
    ),
    "the stand-in": (
        UNIT_07, "A copy takes {:.1f} ms to start, and its link moves {:.0f} MB a second.",
        lambda: [timed.START * 1e3, timed.BANDWIDTH / 1e6],
    ),
    "in every step": (
        UNIT_07, "takes {:.1f} of the time of copying once", lambda: [in_steps_over_once(8)]
    ),
    "beginning to copy": (
        UNIT_07, "{:,} steps with two starts each take {:.0f} ms",
        lambda: [steps_of_a_ring(1024), steps_of_a_ring(1024) * 2 * COPY.start * 1e3],
    ),
    "a link and a cable": (
        WORKSHEET,
        "a copy needs {:.0f} ms + {:.0f} ns s for a chunk, the wire {:.0f} ns s.",
        lambda: [described()[0].start * 1e3, *(stage.per_byte * 1e9 for stage in described())],
    ),
    "what it is beside": (
        WORKSHEET, "{:.0f} MB/s for a link of", lambda: [1e-6 / described()[0].per_byte]
    ),
    "quarters": (WORKSHEET, "2 (P-1) = {} of them", lambda: [steps_of_a_ring(4)]),
    "a MiB": (WORKSHEET, "1 MiB is {:,}", lambda: [MIB]),
    "on GPUs": (
        GUIDE,
        "16 MiB take {} times as long staged as direct, the best chunk has {} MiB, and messages "
        "of 1 to 4 KiB take {} times as long.",
        on_gpus,
    ),
    "chunks beside direct": (
        GUIDE, "In the box 64 KiB lose {:.0f} ms on {:.0f}.", chunks_beside_direct
    ),
    "starts": (GUIDE, "the starts of the two copies, {:.0f} ms of {:.1f}.", starts),
    "bus bandwidth": (
        GUIDE,
        "{:.1f} x {:.3f} MB in {:.0f} ms are {:.1f} MB/s in steps, direct: {:.0f}% of the {:.1f} "
        "of the wire. Staged {:.1f}, copied once {:.1f}.",
        bus_rates,
    ),
    "copied once": (
        GUIDE, "{:.0f} + {} x {:.0f} + {:.0f} = {:.0f} ms, against {:.0f}:", once_by_the_rates
    ),
    "on 1,024 ranks": (
        GUIDE, "{:.3f} times for 1,024 ranks, and start {:,} copies instead of one",
        lambda: [steps_of_a_ring(1024) / 1024, steps_of_a_ring(1024)],
    ),
    "a slow link": (
        GUIDE, "about {:.0f} ms of each MiB against {:.0f} of the wire", slow_link
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", QUOTED)
def test_what_prose_says_of_a_formula_is_what_it_gives(name):
    place, sentence, values = QUOTED[name]
    assert sentence.format(*values()) in plain(place)


@pytest.mark.parametrize(
    ("place", "sentence", "value", "words"),
    [
        (UNIT_05, "a twentieth at half a megabyte", sizes_of_latency()[2], 0.5),
        (UNIT_05, "at $n_{1/2}$ three quarters",
         takes(Link(1, 0.5), 1) / takes(Link(1, 1), 1), 0.75),
        (UNIT_06, "Twelve steps, twelve microseconds",
         1e6 * float(collectives.recursive_doubling(NUMBERS, 8, ASKED)), 12),
        (UNIT_07, "about a hundred times slower", 25e9 / timed.BANDWIDTH, 100),
        (UNIT_07, "Staged the message takes three times as long as directly",
         staging.staged(64e6, REAL) / staging.direct(64e6, WIRE), 3),
        (UNIT_07, "in the best chunks a fifth longer",
         in_best_chunks(64e6, REAL) / staging.direct(64e6, WIRE), 1.2),
        (UNIT_07, "adds twice as much in starts as it saves in filling",
         left_of_filling(1 / 2)[0] / left_of_filling(1 / 2)[1], 2),
        (GUIDE, "a factor of 2 at most if one stage takes as long as the others together",
         gain_of_chunks(1, 1, 2), 2),
        (GUIDE, "three if all three are alike", gain_of_chunks(1, 1, 1), 3),
        (GUIDE, "nothing if one takes nearly all", gain_of_chunks(0.01, 0.01, 1), 1),
    ],
)  # fmt: skip
def test_what_prose_says_in_words_is_about_what_a_formula_gives(place, sentence, value, words):
    assert sentence in plain(place)
    assert value == pytest.approx(words, rel=0.25 if words == 100 else 0.05)
