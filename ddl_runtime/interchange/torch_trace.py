"""A trace of torch's profiler, read back as a `Run`: real GPUs beside simulated ranks.

    with torch.profiler.profile() as profiler: ...
    profiler.export_chrome_trace(f"trace-{rank}.json")      # on each rank
    run = read_torch_traces(["trace-0.json", "trace-1.json"])
    run.timeline.plot()

A file a rank (Kineto's, of Chrome's trace event format). Kernels and copies of a GPU are work,
NCCL's and gloo's collectives are messages without a known peer. What the program named is a span.
Without a GPU work is torch's outermost operations. Times begin at 0 with the first event of all
files; clocks of several machines are not set against each other. What to look at: NCCL's kernels
spin while they wait, so they look like work to a GPU, and are none.
"""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ddl_runtime.records.ledger import Entry, Ledger
from ddl_runtime.records.run import Run
from ddl_runtime.records.timeline import SpanEntry, Timeline

ON_GPU = {"kernel": "work", "gpu_memcpy": "work", "gpu_memset": "work"}
# What the events of each category are, with a GPU in the trace and without.
KINDS = {
    True: {**ON_GPU, "gpu_user_annotation": "span"},
    False: {"cpu_op": "work", "user_annotation": "span"},
}
COLLECTIVES = ("nccl", "gloo:")
ITEMSIZES = {"Double": 8, "Long": 8, "Float": 4, "Int": 4, "Half": 2, "BFloat16": 2, "Byte": 1}
Event = tuple[str, str, float, float, int]  # name, kind, begin and end in seconds, bytes


def read_torch_traces(paths: Sequence[str | Path]) -> Run:
    """One rank from each file; a file that says which rank it is stands in that place."""
    if not paths:
        raise ValueError("read_torch_traces: give a file for each rank, at least one")
    traces = [_read(Path(path)) for path in paths]
    ranks = [trace.get("distributedInfo", {}).get("rank", n) for n, trace in enumerate(traces)]
    if sorted(ranks) != list(range(len(traces))):
        raise ValueError(
            f"these files are of the ranks {sorted(ranks)}: give those of ranks 0 to "
            f"{len(traces) - 1}, each once"
        )
    placed = [trace for _, trace in sorted(zip(ranks, traces, strict=True), key=lambda x: x[0])]
    events = [_events(trace) for trace in placed]
    first = min(begin for own in events for _, _, begin, _, _ in own)
    spans: list[list[SpanEntry]] = [
        [(name, kind, begin - first, end - first, -1, -1, n) for name, kind, begin, end, n in own]
        for own in events
    ]
    # What a library sends inside a collective is not known: a call, and no bytes sent.
    calls: list[list[Entry]] = [
        [(-1, -1, n, "native") for _, kind, *_, n in own if kind == "send"] for own in events
    ]
    time = max(end for own in spans for _, _, _, end, *_ in own)
    return Run([None] * len(spans), time, [Ledger(own) for own in calls], Timeline(spans))


def _read(path: Path) -> Any:
    raw = path.read_bytes()
    try:
        trace = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
        if not isinstance(trace["traceEvents"], list):
            raise TypeError
    except (ValueError, KeyError, TypeError, OSError, EOFError):
        raise ValueError(
            f"{path} is no trace of torch's profiler: export_chrome_trace(...) writes one"
        ) from None
    return trace


def _events(trace: Any) -> list[Event]:
    whole = [event for event in trace["traceEvents"] if event.get("ph") == "X" and "dur" in event]
    on_gpu = any(event.get("cat") in ON_GPU for event in whole)
    offset = trace.get("baseTimeNanoseconds", 0) / 1e9
    events, under_way = [], dict[Any, float]()  # by thread: the end of its outermost operation
    for event in sorted(whole, key=lambda event: (event["ts"], -event["dur"])):
        kind = KINDS[on_gpu].get(event.get("cat"), "")
        begin, end = event["ts"], event["ts"] + event["dur"]
        if event["name"].lower().startswith(COLLECTIVES) and kind:
            if event.get("cat") == "gpu_user_annotation":
                continue  # its kernel is there too
            kind = "send"
        elif kind == "work":
            if begin < under_way.get(event["tid"], begin):
                continue
            under_way[event["tid"]] = end
        if kind:
            # What goes into a collective, where the trace has its size and type.
            about, times = event.get("args", {}), (offset + begin / 1e6, offset + end / 1e6)
            size = int(about.get("In msg nelems", 0)) * ITEMSIZES.get(about.get("dtype", ""), 0)
            events.append((event["name"], kind, *times, size))
    if not events:
        raise ValueError("a trace without a single operation: was anything run while it recorded?")
    return events
