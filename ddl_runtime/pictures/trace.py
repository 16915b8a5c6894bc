"""A timeline as a file for a trace viewer: Perfetto (ui.perfetto.dev) or chrome://tracing.

Chrome's trace event format: every rank is a process, and its program, sends and receives are
threads of it. A span is a complete event ("X") and a message a flow from one to another ("s" to
"f"). The format wants the events of one thread to nest, so spans which overlap get a further
thread. Times are written so that a reader who multiplies by 1000 and cuts off, as Perfetto does,
gets whole nanoseconds and the nesting survives.
"""

import gzip
import json
import math
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from ddl_runtime.pictures.activity import Spans
from ddl_runtime.pictures.style import Look

THREAD_OF_KIND = {"send": "send", "recv": "receive"}  # all other kinds: the program itself
THREADS = ("program", "send", "receive")


def write_trace(timeline: Spans, path: str | Path) -> Path:
    """Write the trace file and return its path; compressed if its name ends in ".gz". The file
    appears only when it is whole, and needs no memory beyond one rank's spans."""
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        opened: Any = partial(gzip.open, compresslevel=3) if path.suffix == ".gz" else open
        with opened(unfinished, "wt", encoding="utf-8") as file:
            file.write('{"displayTimeUnit":"ns","traceEvents":[')
            separator = "\n"
            encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
            for event in _events(timeline):
                file.write(separator + encode(event))
                separator = ",\n"
            file.write("\n]}\n")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def _events(timeline: Spans) -> Iterator[dict[str, Any]]:
    numbers = count(1)  # a viewer knows threads by number alone, whatever their process
    flows = _Flows()
    for rank in range(timeline.ranks):
        threads: dict[str, list[Any]] = {name: [] for name in THREADS}
        for span in timeline.of(rank):
            threads[THREAD_OF_KIND.get(span[1], "program")].append(span)
        process = None
        for name, spans in threads.items():
            for lane, nested in enumerate(nesting_lanes(map(_whole, reversed(spans)))):
                thread = next(numbers)
                if process is None:
                    process = thread
                    yield _about("process_name", process, thread, name=f"rank {rank}")
                    yield _about("process_sort_index", process, thread, sort_index=rank)
                title = name if lane == 0 else f"{name} {lane + 1}"
                yield _about("thread_name", process, thread, name=title)
                yield _about("thread_sort_index", process, thread, sort_index=thread)
                for begins, ends, span in nested:
                    yield from _span_events(rank, process, thread, begins, ends, span, flows)


def _whole(span: Any) -> tuple[int, int, Any]:
    """Begin and end in whole nanoseconds; a message lasts one at least, or no flow finds it."""
    begins, ends = round(span[2] * 1e9), round(span[3] * 1e9)
    if span[1] in THREAD_OF_KIND:
        ends = max(ends, begins + 1)
    return begins, ends, span


def nesting_lanes(spans: Iterable[tuple[int, int, Any]]) -> list[list[tuple[int, int, Any]]]:
    """Spread `(begins, ends, anything)` over few lanes, in each of which two of them are either
    apart or one inside the other; a lane lists an outer one before those inside it. Of two that
    begin and end together the one given first is the outer."""
    lanes: list[list[tuple[int, int, Any]]] = []
    around: list[list[int]] = []  # for each lane, when those that are still open end
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        begins, ends, _ = span
        for open_ends in around:
            while open_ends and open_ends[-1] <= begins:
                open_ends.pop()
        fits = (not open_ends or open_ends[-1] >= ends for open_ends in around)
        lane = next((lane for lane, fit in enumerate(fits) if fit), len(lanes))
        if lane == len(lanes):
            lanes.append([])
            around.append([])
        lanes[lane].append(span)
        around[lane].append(ends)
    return lanes


class _Flows:
    """Numbers for messages: on one channel the k-th send and the k-th receive get the same."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._unpaired: dict[tuple[str, int, int, int], deque[int]] = defaultdict(deque)

    def number(self, kind: str, source: int, dest: int, tag: int) -> int:
        other = "recv" if kind == "send" else "send"
        waiting = self._unpaired[other, source, dest, tag]
        if waiting:
            return waiting.popleft()
        number = next(self._numbers)
        self._unpaired[kind, source, dest, tag].append(number)
        return number


def _span_events(
    rank: int, process: int, thread: int, begins: int, ends: int, span: Any, flows: _Flows
) -> Iterator[dict[str, Any]]:
    """The event of one span and, if it is half of a message, the half of its flow."""
    name, kind, _, _, peer, tag, nbytes = span
    place: Look = {"pid": process, "tid": thread}
    times: Look = {"ts": _microseconds(begins), "dur": _microseconds(ends - begins)}
    event = {"ph": "X", "name": name, "cat": kind, **place, **times}
    if kind not in THREAD_OF_KIND:
        if nbytes:
            event["args"] = {"bytes": nbytes}
        yield event
        return
    preposition = "to" if kind == "send" else "from"
    event["name"] = f"{name} {preposition} {peer}"
    event["args"] = {"peer": peer, "tag": tag, "bytes": nbytes}
    yield event
    flow: Look = {"name": "message", "cat": "message", **place}
    if kind == "send":
        number = flows.number(kind, rank, peer, tag)
        yield {"ph": "s", "id": number, "ts": _microseconds(begins), **flow}
    else:
        # In the last nanosecond: later than the send's begin, and still inside the receive.
        number = flows.number(kind, peer, rank, tag)
        yield {"ph": "f", "bp": "e", "id": number, "ts": _microseconds(ends - 1), **flow}


def _microseconds(nanoseconds: int) -> float:
    """The unit of the format, as a number that becomes `nanoseconds` again times 1000, cut off."""
    number = nanoseconds / 1000
    return number if int(number * 1000) == nanoseconds else math.nextafter(number, math.inf)


def _about(what: str, process: int, thread: int, **value: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": value}
