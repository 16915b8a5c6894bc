"""The trace file: valid by the rules of the trace event format, and nothing lost."""

import gzip
import json
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddl_runtime.pictures.trace import _microseconds, nesting_lanes, write_trace
from ddl_runtime.records.timeline import Timeline
from ddl_teach import simulate
from ddl_teach.comm import Phantom


def busy(comm):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    with comm.span('a "quoted" \n name'):
        requests = [comm.isend(Phantom(1000 * tag), right, tag) for tag in range(3)]
        requests += [comm.irecv(Phantom(1000 * tag), left, tag) for tag in range(3)]
        comm.work(seconds=1e-7)
        for request in requests:
            request.wait()
        comm.sendrecv(np.zeros(7), right, np.empty(7), left)
    comm.barrier()


def nanoseconds(number):
    return int(number * 1000)  # as a viewer does


def check_format(trace):
    """The rules that viewers hold a file to."""
    assert trace["displayTimeUnit"] in ("ms", "ns")
    process_of = {}
    slices = defaultdict(list)
    for event in trace["traceEvents"]:
        assert event["ph"] in "XMsf"
        assert isinstance(event["pid"], int)
        assert process_of.setdefault(event["tid"], event["pid"]) == event["pid"]
        if event["ph"] == "M":
            continue
        assert event["ts"] >= 0
        assert event["name"]
        if event["ph"] == "X":
            begins = nanoseconds(event["ts"])
            slices[event["tid"]].append((begins, begins + nanoseconds(event["dur"])))
    for thread in slices.values():
        open_ends = []
        for begins, ends in thread:  # a viewer sorts by time and keeps the file's order otherwise
            while open_ends and open_ends[-1] <= begins:
                open_ends.pop()
            assert not open_ends or ends <= open_ends[-1]
            open_ends.append(ends)
        assert [begins for begins, _ in thread] == sorted(begins for begins, _ in thread)
    return slices


def flow_ends(trace, phase):
    """For each flow, the slice that its end lies in: the innermost open one."""
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    found = {}
    for event in (event for event in trace["traceEvents"] if event["ph"] == phase):
        time = nanoseconds(event["ts"])
        around = [
            one
            for one in slices
            if one["tid"] == event["tid"]
            and nanoseconds(one["ts"]) <= time < nanoseconds(one["ts"]) + nanoseconds(one["dur"])
        ]
        assert event["id"] not in found
        found[event["id"]] = (time, around)
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_the_file_keeps_the_rules_and_every_span(ranks, tmp_path):
    run = simulate(busy, ranks=ranks)
    path = run.timeline.save_trace(tmp_path / "trace.json")
    trace = json.loads(path.read_text())
    check_format(trace)
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    names = {
        event["pid"]: event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "process_name"
    }
    assert sorted(names.values()) == sorted(f"rank {rank}" for rank in range(ranks))
    expected = Counter(
        (f"rank {rank}", span.kind, round(span.start * 1e9))
        for rank, spans in enumerate(run.timeline.spans)
        for span in spans
    )
    found = Counter((names[e["pid"]], e["cat"], nanoseconds(e["ts"])) for e in events)
    assert found == expected


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_every_message_is_a_flow_from_its_send_to_its_receive(ranks, tmp_path):
    run = simulate(busy, ranks=ranks)
    trace = json.loads(run.timeline.save_trace(tmp_path / "trace.json").read_text())
    starts, ends = flow_ends(trace, "s"), flow_ends(trace, "f")
    assert len(run.timeline.messages) == len(starts) == len(ends) == 4 * ranks
    for number, (left, senders) in starts.items():
        arrived, receivers = ends[number]
        assert left <= arrived
        sent = {(s["args"]["tag"], s["args"]["bytes"]) for s in senders if s["cat"] == "send"}
        assert sent & {(r["args"]["tag"], r["args"]["bytes"]) for r in receivers}


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda p: (p[0], p[0] + p[1], p)),
        max_size=30,
    )
)
@pytest.mark.slow
def test_in_each_lane_spans_are_apart_or_nested_and_none_is_lost(spans):
    lanes = nesting_lanes(spans)
    assert sorted(span for lane in lanes for span in lane) == sorted(spans)
    for lane in lanes:
        for place, (begins, ends, _) in enumerate(lane):
            for later_begins, later_ends, _ in lane[place + 1 :]:
                assert later_begins >= ends or later_ends <= ends
                assert later_begins >= begins


@given(st.integers(0, 10**14))
def test_a_viewer_reads_the_very_nanosecond(number):
    assert int(json.loads(json.dumps(_microseconds(number))) * 1000) == number


def test_a_name_that_ends_in_gz_is_compressed(tmp_path):
    path = simulate(busy, ranks=2).timeline.save_trace(tmp_path / "trace.json.gz")
    with gzip.open(path, "rt") as file:
        check_format(json.load(file))


def test_a_file_that_cannot_be_finished_leaves_nothing_and_keeps_the_old(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text("old")

    class Broken(Timeline):
        def of(self, rank):
            if rank == 1:
                raise RuntimeError
            return super().of(rank)

    with pytest.raises(RuntimeError):
        write_trace(Broken([[("work", "work", 0.0, 1.0, -1, -1, 0)], []]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_timeline_is_a_valid_file(tmp_path):
    trace = json.loads(write_trace(Timeline([[], []]), tmp_path / "t.json").read_text())
    assert trace["traceEvents"] == []
