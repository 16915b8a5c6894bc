"""From what was recorded of a run to the film that a player shows."""

import ast
import inspect
import linecache
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ddl_class.plots.moving import Film, Flight
from ddl_class.plots.steps import RecordedSteps, finding, in_words, sent_text
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.diagnosis.page import paragraphs
from ddl_runtime.pictures.activity import KINDS, activity
from ddl_runtime.pictures.activity import finding as finding_of_timeline
from ddl_runtime.pictures.words import time_text
from ddl_runtime.records.timeline import Arrow, SpanEntry, Timeline
from ddl_teach import Run

MOST_LINES, MOST_MESSAGES = 44, 1000  # of a program, and of a run, that are shown
BITS: dict[Any, int] = {np.float64: 52, np.float32: 24}  # whole numbers of so many are exact

Ends = tuple[float, float]  # of the last event, and of the film
Way = Callable[[int, int], tuple[float, float]]
"""Between two ranks the latency and the seconds of a byte."""


class ProgramLine(NamedTuple):
    """A line of a program, and the first of the function that it belongs to."""

    file: str
    first: int
    number: int


def messages_with_bytes(run: Run) -> list[Arrow]:
    """All messages of a run that carry something."""
    return [message for message in run.timeline.messages if message.bytes]


def film_of(
    run: Run,
    messages: Sequence[Arrow],
    numbers: Sequence[int],
    steps: RecordedSteps | None = None,
    seen: Sequence[Any] = (),
    way: Way | None = None,
    error: DiagnosedError | None = None,
) -> Film:
    """The film of a run; `numbers` are the steps of its `messages`, those with bytes. Where an
    algorithm was recorded also its `steps`, what was `seen` of each rank, and the `way` between
    two of them; else perhaps the `error` with which the run ended."""
    flights = list(_flights(run, seen, way))
    error = steps.error if steps else error
    noted = [since for own in seen for since, _ in own.places]
    moved = (time for flight in flights for time in (flight.left, flight.end) if time < inf)
    last = max([run.time, *noted, *moved])
    end = last + (last / 3 or 1e-6) if error else last
    stops = list(_stops(messages, numbers, in_words(steps) if steps else None))
    title = finding(steps) if steps else finding_of_timeline(activity(run.timeline))
    if error:
        title = title if steps else str(error).splitlines()[0]
        stops.append((last, title))
    lines, places = _program(seen)
    waiting = getattr(error, "waits", ())
    stuck = {wait.rank for wait in waiting}
    stuck |= {rank for rank, own in enumerate(seen) if own.places and own.places[-1][1]}
    return Film(
        title=title,
        ranks=run.ranks,
        end=end,
        stops=stops,
        flights=flights,
        doings=list(_doings(run, flights, seen, stuck if error else (), (last, end))),
        boxes=sorted(_boxes(seen), key=lambda box: box[2]),
        lines=lines,
        places=places,
        waits=[(wait.rank, peer) for wait in waiting for peer in wait.peers],
        wrong=bool(steps.is_wrong if steps else error),
        story=paragraphs(str(error or "")),
    )


def _flights(run: Run, seen: Sequence[Any], way: Way | None) -> Iterator[Flight]:
    """All messages, and after them those that were sent and never received."""
    taken = Counter[tuple[int, int, int]]()
    asked = defaultdict[tuple[int, int, int], list[float]](list)
    for dest in range(run.ranks):
        for _, kind, begun, _, source, tag, _ in run.timeline.of(dest):
            if kind == "recv":
                asked[source, dest, tag].append(begun)
    for source, dest, start, end, tag, nbytes, left in run.timeline.messages:
        channel = source, dest, tag
        load, begun = _load(seen, channel, taken[channel], nbytes), asked[channel][taken[channel]]
        taken[channel] += 1
        lands = max(left, min(end, left + way(source, dest)[0])) if way else max(left, end)
        if nbytes:
            yield Flight(source, dest, start, left, lands, begun, max(end, lands), nbytes, load)
    sent = Counter[tuple[int, int, int]]()
    for source in range(run.ranks):
        for _, kind, start, left, dest, tag, nbytes in run.timeline.of(source):
            channel = source, dest, tag
            if kind == "send" and sent[channel] >= taken[channel] and nbytes:
                load = _load(seen, channel, sent[channel], nbytes)
                yield Flight(source, dest, start, left, left, inf, inf, nbytes, load)
            sent[channel] += kind == "send"


def _load(
    seen: Sequence[Any], channel: tuple[int, int, int], place: int, nbytes: int
) -> list[str]:
    """How often a message holds each rank's number, as text; empty if its data is not known."""
    source, dest, tag = channel
    known = seen[source].sent.get((dest, tag), []) if seen else []
    if place < len(known) and known[place].nbytes == nbytes and known[place].dtype.type in BITS:
        return [_counts(row) for row in contributions(known[place], len(seen))]
    return []


def _counts(counts: np.ndarray) -> str:
    return "?" if (counts < 0).any() else ",".join(map(str, counts.tolist()))


def contributions(values: np.ndarray, ranks: int) -> np.ndarray:
    """How often each rank is in each number: a row per number, -1 where it is no such sum.

    >>> contributions(np.array([1.0, 1.0 + 2.0**26, 0.5]), ranks=2)
    array([[ 1,  0],
           [ 1,  1],
           [-1, -1]])
    """
    base = base_of(ranks, values.dtype.type)
    sums = np.isfinite(values) & (values >= 0) & (values < float(base) ** ranks)
    sums[sums] = values[sums] == np.floor(values[sums])
    whole = np.where(sums, values, 0.0).astype(np.int64)
    digits = whole[:, None] // base ** np.arange(ranks) % base
    return np.where(sums[:, None], digits, -1)


def base_of(ranks: int, dtype: type) -> int:
    """Rank r's vector holds the r-th power of this."""
    return 1 << BITS[dtype] // ranks


def _stops(
    messages: Sequence[Arrow], numbers: Sequence[int], words: Sequence[str] | None
) -> Iterator[tuple[float, str]]:
    """When each step has ended, and what it was."""
    now, last = 0.0, max(numbers, default=0)
    for step in range(last + 1):
        own = [m for m, number in zip(messages, numbers, strict=True) if number == step]
        now = max([now, *(message.end for message in own)])
        if words is not None:
            yield now, words[step]
        elif own:
            left = max(message.left for message in own)
            when = f"the last byte leaves after {time_text(left)}, arrives after {time_text(now)}"
            yield now, f"Step {step} of {last}: {sent_text(own)}; {when}."
        else:
            yield now, "Before the first message."


def _doings(
    run: Run, flights: Sequence[Flight], seen: Sequence[Any], stuck: Container[int], ends: Ends
) -> Iterator[tuple[int, str, float, float]]:
    """(rank, doing, begin, end): one doing at each moment. A rank receives while bytes come in,
    and waits before that. Between the calls of a watched program a rank only waits. A rank that
    has not returned is stuck from the last event on."""
    last, end = ends
    rows: list[list[SpanEntry]] = [[] for _ in range(run.ranks)]
    for rank, row in enumerate(rows):
        for span in run.timeline.of(rank):
            row.append(span._replace(kind="barrier") if span.kind == "recv" else span)
        if rank in stuck or (seen and seen[rank].places):
            since = last if rank in stuck else seen[rank].places[-1][0]
            row.append(("", "barrier", 0.0, since, -1, -1, 0))
    for flight in flights:
        first = max(flight.asked, flight.end - (flight.left - flight.start))
        if first < flight.end:
            rows[flight.dest].append(("", "recv", first, flight.end, -1, -1, 0))
    pieces = activity(Timeline(rows), end=last)
    for rank, kind, begin, until in zip(*pieces[3:], strict=True):
        yield int(rank), KINDS[kind], float(begin), float(until)
    yield from ((rank, "stuck", last, end) for rank in range(run.ranks) if rank in stuck)


def _boxes(seen: Sequence[Any]) -> Iterator[tuple[int, int, float, str]]:
    """(rank, chunk, time, text) for each change of what a chunk holds."""
    for rank, own in enumerate(seen):
        before: list[str] = [""] * len(own.notes[0][1])
        for _, vector, since in own.notes:
            now = [_counts(row) for row in contributions(vector, len(seen))]
            for chunk, (old, new) in enumerate(zip(before, now, strict=True)):
                if old != new:
                    yield rank, chunk, since, new
            before = now


def _program(seen: Sequence[Any]) -> tuple[list[str], list[tuple[int, float, int]]]:
    """The functions in which ranks were, as lines, and since when each rank was in which line."""
    met = dict.fromkeys(
        line[:2] for own in seen for _, lines in own.places for line in reversed(lines)
    )
    lines: list[str] = []
    row_of: dict[tuple[str, int], int] = {}
    for file, first in met:
        for number, text in _source(file, first):
            if len(lines) < MOST_LINES:
                row_of[file, number] = len(lines)
                lines.append(text)
    places = [
        (rank, since, next((row_of[k.file, k.number] for k in inner
                            if (k.file, k.number) in row_of), -1))
        for rank, own in enumerate(seen)
        for since, inner in own.places
    ]  # fmt: skip
    return lines, places


def _source(file: str, first: int) -> Iterator[tuple[int, str]]:
    """The numbered lines of a function, without types and other words that do nothing."""
    block = textwrap.dedent("".join(inspect.getblock(linecache.getlines(file)[first - 1 :])))
    lines = dict(enumerate(block.splitlines(), 1))
    with suppress(SyntaxError):  # of a function inside an expression
        for function in ast.parse(block).body:
            if isinstance(function, ast.FunctionDef):
                [begin, *_] = function.body
                words = begin.end_lineno if ast.get_docstring(function) else begin.lineno - 1
                for part in ast.walk(function.args):
                    vars(part)["annotation"] = None
                lines.update(dict.fromkeys(range(function.lineno, (words or 0) + 1), ""))
                if lines[function.lineno] == "":  # else all of it is one line
                    lines[function.lineno] = f"def {function.name}({ast.unparse(function.args)}):"
    for number, line in lines.items():
        if line.strip() and not line.lstrip().startswith(("#", "@")):
            yield first + number - 1, line.rstrip()
