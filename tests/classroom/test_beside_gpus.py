"""Your own messages beside recorded ones: every panel says on what it was measured."""

import gzip
import json
import shutil

import numpy as np
import pytest
from torch.profiler import profile

from ddl_class.exercises.unit_08.traced import TracedRank
from ddl_class.notebook.beside_gpus import (
    TRACES,
    measure_here,
    plot_beside_recorded,
    recorded_traces,
)
from ddl_measure.device_messages import LATENCY
from ddl_measure.device_run import GPU, STAND_IN, DeviceRun, DeviceTiming, TransferPath, save

SIZES = (64, 4096)


def test_messages_of_real_ranks_are_said_to_be_between_hosts(pool, tmp_path):
    run = measure_here(pool, SIZES, repetitions=2)
    assert run.ways(LATENCY) == [TransferPath("host")]
    assert tuple(run.times(LATENCY, TransferPath("host"))) == SIZES
    figure = plot_beside_recorded(run, tmp_path)
    assert "yours: host memory: no GPU" in figure.axes[0].get_title(loc="left")
    assert "No run on a GPU has been recorded yet" in figure.alt
    assert "python -m benchmarks.on_a_gpu" in figure.alt


def made_up(device):
    rows = [
        DeviceTiming(LATENCY, TransferPath("direct"), size, (1e-6, 2e-6, 3e-6)) for size in SIZES
    ]
    return DeviceRun(device, {"GPU": "a card of this test", "date": "1999-01-01"}, tuple(rows))


def test_recorded_runs_stand_beside_it_under_their_own_label(tmp_path):
    save(tmp_path / "one.json", made_up(GPU))
    figure = plot_beside_recorded(made_up("none"), tmp_path)
    assert figure.axes[1].get_title(loc="left") == "recorded on a card of this test, 1999-01-01"
    assert "No run on a GPU" not in figure.alt


def test_what_is_no_gpu_is_not_shown_as_one(tmp_path):
    save(tmp_path / "one.json", made_up(STAND_IN))
    with pytest.raises(ValueError, match="runs of GPUs belong here"):
        plot_beside_recorded(made_up("none"), tmp_path)


def test_recorded_traces_say_on_what_and_those_of_gpus_come_first(tmp_path):
    recorded = recorded_traces()
    assert all("without a GPU" in label or "GPU" not in label for label in recorded)
    for run in recorded.values():
        assert run.ranks == 2
        assert {"work", "span"} <= {span.kind for span in run.timeline.of(0)}
    here = next(TRACES.glob("processor"))
    for name, about in (("processor", {}), ("a_card", {"GPU": "a card of this test"})):
        shutil.copytree(here, tmp_path / name)
        facts = {"ranks": "2", "date": "1999-01-01"} | about
        (tmp_path / name / "about.json").write_text(json.dumps(facts))
    assert list(recorded_traces(tmp_path)) == [
        "recorded on 2 ranks of a card of this test, 1999-01-01",
        "recorded on 2 ranks of a processor, without a GPU, 1999-01-01",
    ]


@pytest.mark.parametrize("path", [*TRACES.glob("*/trace-*.json.gz")], ids=lambda path: path.name)
def test_a_recorded_trace_names_no_machine_and_no_process(path):
    trace = json.loads(gzip.decompress(path.read_bytes()))
    events, inside = trace.pop("traceEvents"), {"ph", "cat", "name", "ts", "dur", "tid", "args"}
    assert set(trace) == {"schemaVersion", "baseTimeNanoseconds", "distributedInfo"}
    assert {name for event in events for name in event} == inside
    assert max(event["tid"] for event in events) < 100


def of_a_traced_rank(comm):
    rank = TracedRank(comm)
    mine, came = np.full(2500, comm.rank + 1.0), np.zeros((2, 2500))
    with profile() as profiler:
        requests = [rank.irecv(came[tag], 1 - comm.rank, tag) for tag in (0, 1)]
        begun = [rank.isend(mine, 1 - comm.rank, tag) for tag in (0, 1)]
        rank.work(0.01)
        late = []
        for request in requests:
            request.wait()
            late.append(comm.now() - request.there)
        for request in begun:
            request.wait()
    names = [event.name for event in profiler.events()]
    return came[:, 0], names.count("aten::mm"), late, requests[1].there - requests[0].there


def test_a_traced_ranks_work_is_seen_and_its_messages_come_as_by_the_cable(pool):
    for rank, (came, products, late, apart) in enumerate(pool.run(of_a_traced_rank, 2).results):
        assert came.tolist() == [2 - rank] * 2
        assert products > 0
        assert min(late) >= 0
        assert apart == pytest.approx(0.02)  # one message follows the other: 20 kB at 1 MB/s
