"""The judges of unit 20's formulas: costs inside nodes and between them; the time of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Stage, Wrong, ranks_text
from ddl_class.exercises.kit.answers import numbers, several
from ddl_class.exercises.kit.compare import compare, within
from ddl_teach.theory import many_nodes as theory
from ddl_teach.theory.many_nodes import Link

CLOSE = 0.02  # relative: what is right is exact, and late pings are 3 to 9 times late
SHORT, LONG = 8, 2**18


def judge_levels(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Latency and time a byte of both levels, though some pings were late."""
    wanted = "return two pairs, (latency, per_byte) inside a node and (latency, per_byte) between"
    for _ in range(4):
        inside = Link(*generator.uniform((2e-6, 1e-10), (5e-5, 2e-9)))
        between = Link(*generator.uniform((8e-5, 5e-9), (9e-4, 9e-8)))
        node_of = [0, 0, 1, 1]
        pings = _pings(generator, node_of, inside, between)
        found = _two_pairs(stage.call(node_of, pings), wanted)
        for which, link, pair in zip(("inside", "between"), (inside, between), found, strict=True):
            if not np.allclose(pair, (link.latency, link.per_byte), rtol=CLOSE, atol=0):
                raise Wrong(_told_of_levels(which, link, pair, found, (inside, between), pings))


def _pings(
    generator: np.random.Generator, node_of: list[int], inside: Link, between: Link
) -> list[tuple[int, int, int, float]]:
    pings = []
    for a, b in ((0, 1), (0, 2), (1, 3), (2, 3)):
        link = inside if node_of[a] == node_of[b] else between
        for nbytes in (SHORT, LONG):
            late = generator.permutation([1.0] * 7 + [*generator.uniform(3, 9, 2)])
            time = link.latency + (nbytes - SHORT) * link.per_byte
            pings += [(a, b, nbytes, float(time * factor)) for factor in late]
    return [pings[place] for place in generator.permutation(len(pings))]


def _two_pairs(answer: Any, wanted: str) -> np.ndarray:
    levels = "inside", "between"
    return np.array([
        numbers(pair, (f"the latency {level}", f"the time a byte {level}"), wanted)
        for level, pair in zip(levels, several(answer, 2, wanted), strict=True)
    ])  # fmt: skip


def _told_of_levels(
    which: str,
    link: Link,
    pair: np.ndarray,
    found: np.ndarray,
    links: tuple[Link, Link],
    pings: list[tuple[int, int, int, float]],
) -> str:
    right = [(each.latency, each.per_byte) for each in links]
    if np.allclose(found[::-1], right, rtol=CLOSE, atol=0):
        return "These two are exchanged: inside a node comes first, then between nodes."
    if np.allclose(found[0], found[1], rtol=CLOSE, atol=0):
        return (
            "Both levels have the same numbers. A ping is inside a node if node_of[a] == "
            "node_of[b], and between nodes otherwise."
        )
    said = (
        f"{which}, {pair[0] * 1e6:.1f} µs and {pair[1] * 1e9:.3f} ns a byte came out, where "
        f"{link.latency * 1e6:.1f} µs and {link.per_byte * 1e9:.3f} ns are right"
    )
    if np.isclose(pair[1] * LONG, link.latency + LONG * link.per_byte, rtol=CLOSE, atol=0):
        return f"{said}. The long pings have a latency too: subtract it before you divide."
    if np.isclose(pair[1], 1 / link.per_byte, rtol=CLOSE, atol=0):
        return f"{said}. That is bytes a second; asked for are seconds a byte."
    if pair[0] > link.latency * (1 + CLOSE):
        return (
            f"{said}. Some pings are late, because something else had the processor, and a mean "
            "is drawn up by each of them: take the median."
        )
    return f"{said}. Compare the median of the short pings with that of the long ones."


def judge_step(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """A training step by a ring of all ranks, and by leaders."""
    wanted = "return two times, (by one ring of all ranks, by leaders)"
    names = "the step by one ring", "the step by leaders"
    for nodes, each in ((4, 2), (8, 8), (2, 3), (16, 1), (1, 4)):
        for large in (1e2, 1e7):  # where the hops decide, and where the cable does
            nbytes, work = int(large * generator.integers(10, 90)), float(generator.uniform(0.01))
            inside = Link(*generator.uniform((2e-6, 1e-11), (2e-5, 1e-10)))
            between = Link(*generator.uniform((3e-5, 1e-9), (3e-4, 9e-8)))
            case = nodes, each, nbytes, inside, between
            answer = stage.call(nodes, each, nbytes, work, tuple(inside), tuple(between))
            found = numbers(answer, names, wanted)
            right = [work + float(way(*case)) for way in (theory.one_ring, theory.by_leaders)]
            call = f"{nodes} nodes of {ranks_text(each)}, {nbytes:,} bytes, {work:.3g} s of work"
            for place, name in enumerate(names):
                usual = _usual(place, work, right, case)
                otherwise = "Go through it term by term"
                told = f"{call}: {name}"
                compare(told, found[place], right[place], usual, otherwise, within(1e-6))


def _usual(place: int, work: float, right: list[float], case: tuple[Any, ...]) -> dict[str, float]:
    """Usual mistakes, and what comes of them in this case."""
    nodes, each, nbytes, inside, between = case
    told = {
        "The step begins with the work: add it.": right[place] - work,
        "The two times are exchanged: first comes the ring of all ranks.": right[1 - place],
    }
    ranks, chunk = nodes * each, nbytes / (nodes * each)
    near, far = (link.latency + chunk * link.per_byte for link in (inside, between))
    hop, hops = (far + (each - 1) * near) / each, 2 * (ranks - 1)
    if place:
        inner = 2 * (inside.latency + (each - 1) * nbytes * inside.per_byte)
        ring = right[1] - inner * (each > 1)
        return told | {
            "The others' vectors come to the leader, and the sum goes back to them: that takes "
            "2 (L + (R-1) n G) inside the node.": ring,
            "Inside a node there are two ways, in and out again.": ring + inner / 2,
            "A node of one rank has nobody to collect from: its inner part takes no time.": (
                ring + inner
            ),
        }
    return told | {
        "With one node all messages stay inside it.": work
        + hops * max(chunk * between.per_byte, hop),
        "A ring is no march in step: of R hops only one goes to another node, and the mean of the "
        "hops counts, unless the cable takes longer.": work + hops * far,
        "A cable lets one chunk pass every c G': take the larger one of that and the mean of the "
        "hops.": work + hops * hop,
        "A chunk is not only kept by cables, its hops take time as well: take the larger of the "
        "two.": work + hops * chunk * between.per_byte,
    }
