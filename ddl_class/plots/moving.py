"""What ranks do, in their own time: one moving picture for notebooks, decks, book and README.

A column is a rank: the boxes of its vector, its number, and what it does now. A message travels on
an arc, above to higher ranks and below to lower ones. It begins when its first byte leaves, and it
is as long as what has left and has not come. What it carries is written in its middle. The program
stands beside it, with each rank at its line. Below is a timeline of all ranks, under a cursor.

All of this is one SVG that moves by itself; `player.py` lets people turn its clock.
"""

import statistics
import textwrap
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import inf
from typing import Any, NamedTuple

from matplotlib.colors import to_hex

from ddl_class.plots.svg import element
from ddl_runtime.pictures.style import KIND_COLOURS, WRONG, ink_on, rank_colour
from ddl_runtime.pictures.words import size_text, time_text

FLIGHT, LONGEST = 1.5, 60.0  # seconds that a usual message takes, and all of a picture at most
FLASH, SHORTEST = 0.25, 0.3  # seconds that what is new stays lit, and of a picture at least
MOMENT = 0.001  # seconds: what is shorter cannot be seen
LATE = 0.01  # seconds after which a message is seen: a step ends before the next begins
REST = 2.0  # seconds that a file which repeats itself stands still at the end
LEFT, GAP, LETTER, ROW = 64, 4, 8.0, 18  # pixels: names, between boxes, a letter, a line of code
PAGE = 900  # pixels: what is wider is made smaller by the pages that show it
LANE = 13  # pixels from one rank's line to the next below the picture
DOOR = 20  # pixels from a rank to where what comes waits for it
DOES = {"work": "computes", "reduce": "adds", "send": "sends", "recv": "receives",
        "barrier": "waits", "span": "in a span", "stuck": "is stuck"}  # fmt: skip


class Flight(NamedTuple):
    """A message: its first byte leaves at `start`, its last at `left` and arrives at `lands`; the
    receiver, which has `asked` for it, has it at `end`, or never. `carries` has the counts of each
    chunk, as in a box."""

    source: int
    dest: int
    start: float
    left: float
    lands: float
    asked: float
    end: float
    bytes: int
    carries: Sequence[str]


@dataclass(frozen=True)
class Film:
    """All that a moving picture shows. Times are the run's own, in seconds."""

    title: str
    ranks: int
    end: float
    stops: Sequence[tuple[float, str]]  # where a step ends, and the words for it
    flights: Sequence[Flight]
    doings: Sequence[tuple[int, str, float, float]]  # rank, kind, from, to
    boxes: Sequence[tuple[int, int, float, str]] = ()  # rank, chunk, since when, its counts
    lines: Sequence[str] = ()  # of the program
    places: Sequence[tuple[int, float, int]] = ()  # rank, since when, number of its line or -1
    waits: Sequence[tuple[int, int]] = ()  # in the end: who for ever waits for whom
    wrong: bool = False
    story: str = ""  # what the diagnosis says of the end

    @property
    def chunks(self) -> int:
        return 1 + max((chunk for _, chunk, *_ in self.boxes), default=-1)


class FilmStage:
    """Where everything of a film lies, and when it is seen: always, or frozen `at` a time."""

    def __init__(
        self,
        film: Film,
        name: str,
        at: float | None = None,
        again: str = "",
        rest: float = REST,
        longest: float = LONGEST,
    ) -> None:
        self.film, self.name, self.at, self.again, self.rest = film, name, at, again, rest
        all_counts = [counts for *_, counts in film.boxes]
        all_counts += [counts for flight in film.flights for counts in flight.carries]
        self.patterns = {c: f"{name}p{n}" for n, c in enumerate(dict.fromkeys(all_counts))}
        took = [flight.lands - flight.start for flight in film.flights]
        usual = statistics.median(took) if took else film.end
        self.scale = min(FLIGHT / (usual or 1.0), longest / (film.end or 1.0))
        self.seconds = max(SHORTEST, film.end * self.scale)
        self.column = max(52.0, min(76.0 if film.lines else 200.0, 820 / film.ranks))
        self.box = self.column * 0.84, (26.0 if film.chunks <= 8 else 16.0)
        rises = [0.0, 0.0]
        for source, dest in [*(flight[:2] for flight in film.flights), *film.waits]:
            rises[dest > source] = max(rises[dest > source], self._rise(source, dest))
        self.top = 18 + DOOR + rises[True] / 2
        self.below = self.top + film.chunks * (self.box[1] + GAP) + 42
        self.floor = self.below + DOOR + 14 + rises[False] / 2
        self.right = LEFT + self.column * film.ranks
        beside = film.ranks <= 5
        self.code = (self.right + 22, 22.0) if beside else (8.0, self.floor + 20)
        self.gutter = 8 + 15.0 * film.ranks
        room = int((PAGE - 8 - self.gutter - self.code[0]) / LETTER)
        self.rows = [_wrapped(line, room) for line in film.lines]
        long = 30.0 + ROW * sum(map(len, self.rows)) if film.lines else 0.0
        story = 16 + LETTER * max(map(len, film.story.splitlines()), default=0)
        self.width = PAGE if film.lines else max(self.right + 8, 640.0, story)
        self.lanes = max(self.floor, long) if beside else self.floor + long
        self.height = self.lanes + 34 + LANE * film.ranks + 22

    def _rise(self, source: int, dest: int) -> float:
        return 34 + 128 * abs(dest - source) / max(self.film.ranks - 1, 1)

    def middle(self, rank: int) -> float:
        return LEFT + self.column * (rank + 0.5)

    # -- time ---------------------------------------------------------------------------------

    def part(
        self, drawn: str, begin: float, end: float = inf, after: float = 0.0, late: float = 0.0
    ) -> str:
        """What is seen from `begin` to `end`: it comes `late` and stays `after`, in seconds of the
        show."""
        whole = self.seconds + self.rest
        first, last = begin * self.scale + late, min(end * self.scale + after, whole)
        if last - first < MOMENT:  # a set without a duration would never end
            return ""
        if self.at is not None:
            return drawn if first <= self.at * self.scale < last else ""
        if first > 0:
            seen = {"attributeName": "visibility", "to": "visible"}
            timed = element("set", **seen, **self._timed(first, last - first))
            return element("g", drawn, timed, visibility="hidden")
        gone = {"attributeName": "visibility", "to": "hidden"}
        timed = element("set", **gone, **self._timed(last, whole - last)) if last < whole else ""
        return element("g", drawn, timed)

    def _moved(self, values: Sequence[object], times: Sequence[float]) -> dict[str, Any]:
        """How an attribute changes evenly from one value to the next."""
        span = times[-1] - times[0]
        shares = [f"{(time - times[0]) / (span or 1.0):.4g}" for time in times]
        timed = self._timed(times[0] * self.scale, max(span * self.scale, 0.001))
        listed = ";".join(map(str, values))
        return {"values": listed, "keyTimes": ";".join(shares), "fill": "freeze", **timed}

    def _timed(self, begin: float, dur: float) -> dict[str, str]:
        return {"begin": f"{self.again}{begin:.3f}s", "dur": f"{dur:.3f}s"}

    # -- what is drawn ------------------------------------------------------------------------

    def picture(self) -> str:
        """Ranks and messages."""
        return "".join([*self._columns(), *self._waits(), *self._flights()])

    def drawn(self) -> str:
        """All of it."""
        return "".join([self.symbols(), self.picture(), *self._program(), *self._lanes()])

    def symbols(self, only: Container[str] | None = None) -> str:
        """What is drawn often, under names of this picture's own; of boxes perhaps `only` some."""
        tip = element("path", d="M0,0 L8,4 L0,8 z", fill="context-stroke")
        look = {"viewBox": "0 0 8 8", "refX": 7, "refY": 4, "orient": "auto"}
        head = {"id": f"{self.name}tip", "markerUnits": "userSpaceOnUse", "markerHeight": 9}
        drawn = [element("marker", tip, markerWidth=9, **look, **head)]
        drawn += [self._pattern(text, name) for text, name in self.patterns.items()
                  if only is None or name in only]  # fmt: skip
        for rank in range(self.film.ranks):
            colour = to_hex(rank_colour(rank))
            words = element("text", str(rank), y=4, fill=ink_on(colour), class_="mv-b")
            disc = element("circle", r=7, fill=colour, class_="mv-edge")
            drawn.append(element("g", disc, words, id=f"{self.name}r{rank}"))
            wide, high = self.box[0] / self.film.ranks, self.box[1]  # of its place in a box
            slot = element("rect", x=rank * wide, width=wide, height=high, fill=colour)
            if wide >= 9:
                look = {"x": (rank + 0.5) * wide, "y": high / 2 + 4}
                slot += element("text", str(rank), fill=ink_on(colour), **look)
            drawn.append(element("g", slot, id=f"{self.name}s{rank}"))
        for kind in {kind for _, kind, *_ in self.film.doings}:
            colour = KIND_COLOURS.get(kind, WRONG)
            wide = self.column * 0.84
            plate = element("rect", x=-wide / 2, width=wide, height=15, rx=3, fill=colour)
            size = min(12.0, wide / (0.62 * len(DOES[kind])))
            text = element("text", DOES[kind], y=11, fill=ink_on(colour), font_size=size)
            drawn.append(element("g", plate, text, id=f"{self.name}{kind}"))
        for source, dest in sorted({flight[:2] for flight in self.film.flights}):
            drawn.append(element("path", d=self._arc(source, dest), id=self._way(source, dest)))
        return element("defs", *drawn)

    def _pattern(self, text: str, name: str) -> str:
        """A box: each contributor has its place, so that it reads without colours too."""
        wide, high = self.box
        counts = [] if text == "?" else list(map(int, text.split(",")))
        wrong = text == "?" or max(counts, default=0) > 1
        drawn = [element("rect", width=wide, height=high, class_="mv-empty")]
        drawn += [
            element("use", href=f"#{self.name}s{rank}")
            for rank, count in enumerate(counts)
            if count > 0
        ]
        done = bool(counts) and set(counts) == {1}
        kind = "mv-wrong" if wrong else "mv-done" if done else "mv-open"
        drawn.append(element("rect", width=wide, height=high, class_=kind))
        if wrong:
            most = max(counts, default=0)
            words = "no sum" if not counts else f"{most}× rank {counts.index(most)}"
            words = words if wide > 60 else f"{most}×"
            long = 7.2 * len(words)
            plate = {"x": (wide - long) / 2, "y": high / 2 - 8, "width": long, "height": 16}
            drawn.append(element("rect", rx=3, fill="var(--paper)", **plate))
            look = {"x": wide / 2, "y": high / 2 + 4, "class_": "mv-b mv-red"}
            drawn.append(element("text", words, **look))
        return element("g", *drawn, id=name)

    def _columns(self) -> Iterator[str]:
        wide, high = self.box
        until: dict[tuple[int, int], float] = {}
        for rank, chunk, since, counts in reversed(self.film.boxes):
            x, y = self.middle(rank) - wide / 2, self.top + chunk * (high + GAP)
            box = element("use", href=f"#{self.patterns[counts]}", x=x, y=y)
            yield self.part(box, since, until.get((rank, chunk), inf))
            if since > 0:
                lit = {"x": x - 2, "y": y - 2, "width": wide + 4, "height": high + 4, "rx": 3}
                yield self.part(element("rect", class_="mv-new", **lit), since, since, FLASH)
            until[rank, chunk] = since
        for chunk in range(self.film.chunks):
            y = self.top + chunk * (high + GAP) + high / 2 + 4
            yield element("text", f"chunk {chunk}", x=LEFT - 4, y=y, class_="mv-name")
        y = self.below - 32
        yield element("text", "rank", x=LEFT - 4, y=y + 4, class_="mv-name")
        for rank in range(self.film.ranks):
            yield element("use", href=f"#{self.name}r{rank}", x=self.middle(rank), y=y)
        for rank, kind, begin, end in self.film.doings:
            place = {"x": self.middle(rank), "y": self.below - 20}
            until_end = inf if kind == "stuck" else end
            yield self.part(element("use", href=f"#{self.name}{kind}", **place), begin, until_end)

    def _way(self, source: int, dest: int) -> str:
        return f"{self.name}w{source}-{dest}"

    def _arc(self, source: int, dest: int) -> str:
        up = dest > source
        base = self.top - DOOR if up else self.below + DOOR
        bend = self._rise(source, dest) * (-1 if up else 1)
        x, to = self.middle(source), self.middle(dest)
        if source == dest:  # a little way out and back
            return f"M{x:.1f},{base:.1f} c-30,34 30,34 0,0"
        return f"M{x:.1f},{base:.1f} Q{(x + to) / 2:.1f},{base + bend:.1f} {to:.1f},{base:.1f}"

    def _flights(self) -> Iterator[str]:
        for flight in self.film.flights:
            if flight.end == inf:  # nobody takes it: it stays at its sender
                y = self.top - DOOR if flight.dest > flight.source else self.below + DOOR
                where = f"translate({self.middle(flight.source):.1f} {y:.1f})"
                rests = element("g", self._freight(flight), transform=where)
                yield self.part(rests, flight.start, late=LATE)
                continue
            colour = to_hex(rank_colour(flight.source))
            way = {"href": f"#{self._way(*flight[:2])}", "stroke": colour}
            track = element("use", **way, class_="mv-track", marker_end=f"url(#{self.name}tip)")
            yield self.part(track, flight.start, flight.end, FLASH, LATE)
            if self.at is not None:
                continue
            yield self.part(self._train(flight, colour), flight.start, flight.lands, late=LATE)
            yield self.part(self._load(flight), flight.start, flight.end, late=LATE)

    def _train(self, flight: Flight, colour: str) -> str:
        """What has left and has not come: a part of the way, from its first byte to its last."""
        times, heads, tails = _on_its_way(flight)
        dashes = [f"{head - tail:.3f} 2" for head, tail in zip(heads, tails, strict=True)]
        offsets = [f"{-tail:.3f}" for tail in tails]
        inside = [
            element("animate", attributeName=f"stroke-{name}", **self._moved(values, times))
            for name, values in (("dasharray", dashes), ("dashoffset", offsets))
        ]
        look = {"d": self._arc(*flight[:2]), "pathLength": 1, "stroke": colour}
        return element("path", *inside, class_="mv-train", stroke_dasharray="0 2", **look)

    def _load(self, flight: Flight) -> str:
        """What a message carries, in the middle between its first byte and its last."""
        times, heads, tails = _on_its_way(flight)
        middles = [(head + tail) / 2 for head, tail in zip(heads, tails, strict=True)]
        how = self._moved([f"{middle:.4g}" for middle in [*middles, 1]], [*times, flight.end])
        how["keyPoints"] = how.pop("values")
        way = element("mpath", href=f"#{self._way(*flight[:2])}")
        moved = element("animateMotion", way, calcMode="linear", **how)
        return element("g", self._freight(flight), moved, class_="mv-load")

    def _freight(self, flight: Flight) -> str:
        wide, high = self.box
        small = min(0.63, 40 / wide)
        rows = flight.carries[:8]
        tall = 0.5 * high * (1.0 if len(rows) < 4 else 0.6)
        drawn = [
            element("use", href=f"#{self.patterns[counts]}", transform=(
                f"translate({-wide * small / 2:.1f} {(row - len(rows) / 2) * tall:.1f}) "
                f"scale({small:.2f} {0.9 * tall / high:.2f})"))
            for row, counts in enumerate(rows)
        ]  # fmt: skip
        if not rows:
            colour = to_hex(rank_colour(flight.source))
            drawn = [element("circle", r=7, fill=colour, class_="mv-edge")]
        down = len(rows) * tall / 2 + 12 if rows else 19
        if flight.end < inf:
            drawn.append(element("text", size_text(flight.bytes), y=down, class_="mv-halo"))
        return "".join(drawn)

    def _waits(self) -> Iterator[str]:
        for source, dest in self.film.waits:
            look = {"d": self._arc(source, dest), "class_": "mv-wait"}
            arrow = element("path", marker_end=f"url(#{self.name}tip)", **look)
            yield self.part(arrow, self.film.stops[-1][0])

    def _program(self) -> Iterator[str]:
        x, y = self.code
        tops = [y + ROW * sum(map(len, self.rows[:line])) for line in range(len(self.rows))]
        for top, rows in zip(tops, self.rows, strict=True):
            for number, row in enumerate(rows):
                indent = self.gutter + LETTER * (len(row) - len(row.lstrip()))
                where = {"x": x + indent, "y": top + ROW * number}
                yield element("text", escape(row.strip()), class_="mv-code", **where)
        until: dict[int, float] = {}
        for rank, since, line in reversed(self.film.places):
            if line >= 0 and until.get(rank, inf) > since:
                where = {"x": x + 8 + 15 * rank, "y": tops[line] - 4}
                chip = element("use", href=f"#{self.name}r{rank}", **where)
                yield self.part(chip, since, until.get(rank, inf))
            until[rank] = since

    def _lanes(self) -> Iterator[str]:
        """All doings over time, and a cursor at now."""
        film, left, top = self.film, 30.0, self.lanes + 26
        per_second = (self.width - left - 10) / (film.end or 1.0)
        for rank in range(film.ranks):
            look = {"x": left - 12, "y": top + LANE * rank + 10}
            yield element("text", str(rank), class_="mv-name", **look)
        for rank, kind, begin, end in film.doings:
            where = {"x": left + begin * per_second, "width": (end - begin) * per_second}
            where |= {"y": top + LANE * rank, "height": LANE - 2}
            colour = KIND_COLOURS.get(kind, WRONG)
            yield element("rect", class_="mv-edge", fill=colour, **where)
        x = left
        for kind in dict.fromkeys(["send", "recv", "barrier", *(k for _, k, *_ in film.doings)]):
            colour, place = KIND_COLOURS.get(kind, WRONG), {"x": x, "y": top - 19}
            yield element("rect", width=12, height=9, class_="mv-edge", fill=colour, **place)
            yield element("text", DOES[kind], x=x + 16, y=top - 11, class_="mv-legend")
            x += 34 + 7.4 * len(DOES[kind])
        bottom = top + LANE * film.ranks
        yield element("text", "0", x=left, y=bottom + 14, class_="mv-legend")
        ends = {"x": self.width - 10, "y": bottom + 14}
        yield element("text", time_text(film.end), class_="mv-name", **ends)
        run = {"attributeName": "transform", "type": "translate", "fill": "freeze"}
        run |= {"from": "0 0", "to": f"{film.end * per_second:.1f} 0"}
        moved = element("animateTransform", **run, **self._timed(0, self.seconds))
        line = {"x1": left, "x2": left, "y1": top - 4, "y2": bottom + 3}
        yield element("g", element("line", class_="mv-cursor", **line), moved)


def _wrapped(line: str, room: int) -> list[str]:
    """A line of code, cut into rows of at most `room` letters; later rows stand further right."""
    own = " " * (len(line) - len(line.lstrip()))
    further = own + " " * 8
    return textwrap.wrap(
        line.strip(), room, initial_indent=own, subsequent_indent=further, break_on_hyphens=False
    )


def _on_its_way(flight: Flight) -> tuple[list[float], list[float], list[float]]:
    """Times, and where the first byte and the last one are then, from 0 to 1 of the way."""
    start, left, lands = flight.start, flight.left, flight.lands
    if lands <= left:  # of the way itself nothing is known
        left = start
    way = (lands - left) or 1.0
    times = sorted([start, min(start + way, left), max(start + way, left), lands])
    heads, tails = (
        [min(1.0, max(0.0, (time - since) / way)) for time in times] for since in (start, left)
    )
    return times, heads, tails
