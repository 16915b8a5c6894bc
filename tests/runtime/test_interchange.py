"""Runs in other tools' formats: written, and read by readers that share no code with them."""

import gzip
import json
import math
import re
from collections import defaultdict

import numpy as np
import pytest

from ddl_runtime.interchange.torch_trace import read_torch_traces
from ddl_teach import simulate
from ddl_teach.collectives import rabenseifner, ring, tree
from ddl_teach.comm import Uniform

LATENCY, PER_BYTE = 1e-6, 1e-9  # seconds
NETWORK = Uniform(LATENCY, 1 / PER_BYTE)


def trained(comm, allreduce):
    """Unequal work, a barrier, an all-reduce behind work, and a span around it all."""
    x = np.ones(1000)
    with comm.span("step"):
        comm.work(seconds=1e-6 * (comm.rank + 1))
        comm.barrier()
        allreduce(comm, x)
        comm.work(seconds=5e-6)
        comm.send(x[:10], (comm.rank + 1) % comm.size) if comm.rank % 2 else None
        comm.recv(x[:10], comm.rank - 1) if comm.rank % 2 == 0 and comm.rank else None


@pytest.fixture(params=[ring, rabenseifner, tree], ids=lambda each: each.__name__.split(".")[-1])
def run(request):
    return simulate(trained, 5, allreduce=request.param.allreduce, network=NETWORK, strict=False)


# -- GOAL ---------------------------------------------------------------------------------------


def read_goal(text):
    """The operations of each rank, and what they require."""
    ranks, required = [], []
    for line in text.splitlines():
        if line.startswith("rank"):
            ranks.append([])
            required.append(defaultdict(list))
        elif "requires" in line:
            later, earlier = map(int, re.findall(r"l(\d+)", line))
            required[-1][later - 1].append(earlier - 1)
        elif found := re.match(r"l\d+: (\w+) (\d+)b?(?: (?:to|from) (\d+) tag (\d+))?$", line):
            kind, number, peer, tag = found.groups()
            ranks[-1].append((kind, int(number), peer and int(peer), tag and int(tag)))
    return ranks, required


def replayed(text):
    """When the last operation ends: a port for each way, latency, and so long for each byte. A
    message that came while the port was idle has passed it, however late it is asked for."""
    ranks, required = read_goal(text)
    ends, sent = [{} for _ in ranks], defaultdict(list)
    out, into = defaultdict(float), defaultdict(list)

    def begins(rank, place):
        """When an operation could begin; infinite if it cannot yet."""
        kind, number, peer, tag = ranks[rank][place]
        needs = required[rank][place]
        if any(need not in ends[rank] for need in needs):
            return math.inf
        ready = max((ends[rank][need] for need in needs), default=0.0)
        if kind != "recv":
            return max(ready, out[rank]) if kind == "send" else ready
        if not (arriving := sent[peer, rank, tag]):
            return math.inf
        begin = arriving[0]
        for busy, free in sorted(into[rank]):
            if begin + (number - 1) * PER_BYTE > busy:
                begin = max(begin, free)
        return begin

    left = {(rank, place) for rank, own in enumerate(ranks) for place in range(len(own))}
    while left:
        begin, rank, place = min((begins(*each), *each) for each in left)
        assert begin < math.inf, "the schedule waits for ever"
        kind, number, peer, tag = ranks[rank][place]
        lasts = number * 1e-9 if kind == "calc" else (number - 1) * PER_BYTE
        end = begin + lasts
        if kind == "send":
            out[rank] = end
            sent[rank, peer, tag].append(begin + LATENCY)
        elif kind == "recv":
            sent[peer, rank, tag].pop(0)
            into[rank].append((begin, end))
            end = max([end, *(ends[rank][need] for need in required[rank][place])])
        ends[rank][place] = end
        left.remove((rank, place))
    return max(end for own in ends for end in own.values())


def test_a_goal_schedule_takes_as_long_as_the_run(run, tmp_path):
    text = run.timeline.save_goal(tmp_path / "run.goal").read_text()
    assert text.startswith("num_ranks 5\n")
    assert replayed(text) == pytest.approx(run.time, rel=1e-3)  # GOAL leaves a byte out


def test_a_goal_schedule_has_the_ledger_s_bytes(run, tmp_path):
    ranks, _ = read_goal(run.timeline.save_goal(tmp_path / "run.goal").read_text())
    for own, ledger in zip(ranks, run.ledger, strict=True):
        program = [(k, n) for k, n, _, tag in own if k == "send" and tag < 1 << 20]
        assert sum(n for _, n in program) == ledger.bytes_sent
        assert len(program) == ledger.by_kind()["host"]


# -- Chakra -------------------------------------------------------------------------------------


def varint(data, place):
    value = shift = 0
    while True:
        value |= (data[place] & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if data[place - 1] < 0x80:
            return value, place


def fields(data):
    """What a protocol buffer holds: by field, numbers and bytes."""
    held, place = defaultdict(list), 0
    while place < len(data):
        key, place = varint(data, place)
        value, place = varint(data, place)
        if key & 7 == 2:
            value, place = data[place : place + value], place + value
        held[key >> 3].append(value)
    return held


def nodes(path):
    data, place, messages = path.read_bytes(), 0, []
    while place < len(data):
        length, place = varint(data, place)
        messages.append(fields(data[place : place + length]))
        place += length
    assert messages[0][1] == [b"1.0.0"]
    return messages[1:]


def attributes(node):
    told = {}
    for each in map(fields, node[10]):
        [name] = each.pop(1)
        [[value]] = each.values()
        told[name.decode()] = value
    return told


def test_chakra_s_nodes_are_the_ledger_s_messages_and_name_earlier_nodes(run, tmp_path):
    paths = run.timeline.save_chakra(tmp_path / "run")
    assert [path.name for path in paths] == [f"run.{rank}.et" for rank in range(5)]
    for rank, (path, ledger) in enumerate(zip(paths, run.ledger, strict=True)):
        own = nodes(path)
        told = [attributes(node) for node in own if node[3] == [5]]
        sizes = [each["comm_size"] for each in told if each["comm_tag"] < 1 << 20]
        assert sizes == [message.bytes for message in ledger.messages if message.kind == "host"]
        assert {each["comm_src"] for each in told} == {rank}
        for place, node in enumerate(own):
            assert (node[1] or [0]) == [place]
            packed = node[5][0] if node[5] else b""
            assert all(before < place for before in packed)


def test_a_barrier_of_some_ranks_is_refused(tmp_path):
    def program(comm):
        comm.split(comm.rank % 2)
        if comm.rank < 2:
            comm.subgroup([0, 1]).barrier()

    timeline = simulate(program, 4).timeline
    with pytest.raises(ValueError, match="in 0 barriers and others in 1"):
        timeline.save_goal(tmp_path / "run.goal")
    assert list(tmp_path.iterdir()) == []


# -- torch's profiler ---------------------------------------------------------------------------


def kineto(rank, size, events):
    return {
        "distributedInfo": {"rank": rank, "world_size": size},
        "baseTimeNanoseconds": 10**18,
        "traceEvents": [
            {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "tid": tid, "args": args}
            for cat, name, ts, dur, tid, args in events
        ],
    }


NCCL = {"In msg nelems": 250, "dtype": "Float", "Collective name": "allreduce", "Group size": 2}
ON_GPU = [
    ("cpu_op", "aten::mm", 5.0, 2.0, 1, {}),
    ("kernel", "ampere_sgemm", 10.0, 20.0, 7, {}),
    ("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20.0, 30.0, 20, NCCL),
    ("gpu_user_annotation", "nccl:all_reduce", 20.0, 30.0, 20, {}),
    ("gpu_user_annotation", "step", 10.0, 40.0, 7, {}),
]


def test_traces_of_gpus_become_a_run(tmp_path):
    paths = [tmp_path / "first.json", tmp_path / "second.json.gz"]
    late = [(c, n, ts + 5, dur, tid, args) for c, n, ts, dur, tid, args in ON_GPU]
    paths[0].write_text(json.dumps(kineto(1, 2, late)))
    paths[1].write_bytes(gzip.compress(json.dumps(kineto(0, 2, ON_GPU)).encode()))
    run = read_torch_traces(paths)
    assert run.time == pytest.approx(45e-6, abs=1e-6)
    spans = [(span.name, span.kind) for span in run.timeline.of(0)]
    assert sorted(spans) == [
        ("ampere_sgemm", "work"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "send"),
        ("step", "span"),
    ]
    assert run.timeline.of(1)[0].start == pytest.approx(5e-6, abs=1e-6)
    [message] = run.ledger[0].messages
    assert (message.bytes, message.kind) == (1000, "native")
    assert run.timeline.plot()


def test_torch_s_own_profiler_is_read(tmp_path):
    import torch
    from torch.profiler import profile, record_function

    with profile() as profiler, record_function("my step"):
        torch.nn.Linear(50, 50)(torch.ones(20, 50)).sum().backward()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    run = read_torch_traces([tmp_path / "trace.json"])
    kinds = {span.name: span.kind for span in run.timeline.of(0)}
    assert kinds["my step"] == "span"
    assert "work" in kinds.values()
    assert "aten::addmm" not in kinds  # it is inside aten::linear
    assert 0 < run.time < 60


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ("no trace", "is no trace of torch's profiler"),
        ("{}", "is no trace of torch's profiler"),
        ('{"traceEvents": 3}', "is no trace of torch's profiler"),
        ('{"traceEvents": []}', "without a single operation"),
        (json.dumps(kineto(3, 4, ON_GPU)), r"ranks \[3\]: give those of ranks 0 to 0"),
    ],
)
def test_what_is_no_trace_is_named(tmp_path, contents, words):
    (tmp_path / "trace.json").write_text(contents)
    with pytest.raises(ValueError, match=words):
        read_torch_traces([tmp_path / "trace.json"])


def test_no_file_is_no_run():
    with pytest.raises(ValueError, match="at least one"):
        read_torch_traces([])
