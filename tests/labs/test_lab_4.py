"""Lab 4 on two nodes and on paper: honest numbers of any device are right, others are not."""

import copy
import json

import numpy as np
import pytest

from benchmarks.gpu.default_paths import computed
from ddl_class.commands.mistake import Mistake
from ddl_measure.device_messages import (
    ALLREDUCE,
    ALONE,
    BANDWIDTH,
    COPY_IN,
    COPY_OUT,
    IN_A_ROW,
    LATENCY,
)
from ddl_measure.device_paths import route_of
from ddl_measure.device_run import (
    GPU,
    HOST,
    STAND_IN,
    DeviceRun,
    DeviceTiming,
    TransferPath,
    as_plain,
    from_plain,
)
from ddl_teach.collectives.on_devices import ONCE
from ddl_teach.theory import staging
from ddl_teach.theory.staging import Route, TransferStage

PREDICTED = {"ratio": 2, "chunk": 64, "allreduce": "once"}
KIB = 1024
BOX = Route(
    TransferStage(1e-3, 4e-8), TransferStage(2e-5, 8.4e-8, 1e-5), TransferStage(1e-3, 4e-8)
)
FAST = Route(
    TransferStage(8e-6, 1 / 25e9),
    TransferStage(1e-6, 1 / 12e9, 2e-6),
    TransferStage(9e-6, 1 / 20e9),
)


@pytest.fixture(scope="module")
def folder(short_form):
    link = ["--set", "link_start=1e-4", "--set", "link_bandwidth=25e7"]
    return short_form("4_cuda_aware", *link, ranks=2, nodes=2, **PREDICTED)


@pytest.fixture(scope="module")
def measured(folder):
    return json.loads((folder / "measured.json").read_text())


def on(route, device, direct, measured):
    """The same on a machine that keeps to the formulas."""
    found = copy.deepcopy(measured)
    settings = found["settings"]
    sizes, chunks = [4 * KIB << 2 * k for k in range(5)], [16 * KIB, 64 * KIB, 256 * KIB]
    ways = [TransferPath(HOST), *[TransferPath("direct")][: int(direct)], TransferPath("staged")]
    ways += [TransferPath("pipelined", chunk) for chunk in chunks]

    def rows(test, way, times):
        return [DeviceTiming(test, way, n, (float(s),) * settings["repetitions"])
                for n, s in times.items() if way.chunk < n]  # fmt: skip

    kept = []
    for way, times in computed(route, ways, sizes, route.wire).items():
        kept += rows(LATENCY, way, {n: s[0] for n, s in times.items()})
    kept += rows(BANDWIDTH, TransferPath(HOST), {n: route.wire.keeps(n) for n in sizes})
    for test, stage in ((COPY_OUT, route.copy_out), (COPY_IN, route.copy_in)):
        for more in ("", IN_A_ROW):
            kept += rows(test + more, ALONE, {n: stage.keeps(n) for n in sizes})
    once = {n: staging.allreduce_once(4, n, route) for n in sizes}
    steps = {n: staging.allreduce_in_steps(4, n, lambda part: staging.staged(part, route))
             for n in sizes}  # fmt: skip
    kept += rows(ALLREDUCE, TransferPath(ONCE), once) + rows(
        ALLREDUCE, TransferPath("staged"), steps
    )
    name = "Imagined GPU" if device == GPU else "NONE: a stand-in"
    run = DeviceRun(device, {"GPU": name, "date": "2026-11-22"}, tuple(kept))
    messages = {f"device {path}": 9999 for path in ("direct", "staged", "pipelined")}
    found["results"] = {"messages by kind": messages, "run": as_plain(run)}
    return found


def right(measured):
    """What a learner reads off the tables, and computes by the worksheet."""
    run = from_plain(measured["results"]["run"], "here")
    tables = {way: {n: float(np.median(s)) for n, s in run.times(LATENCY, way).items()}
              for way in run.ways(LATENCY)}  # fmt: skip
    size = max(tables[TransferPath("staged")])
    keeps = {
        "copy out": np.median(run.times(COPY_OUT + IN_A_ROW, ALONE)[size]),
        "wire": np.median(run.times(BANDWIDTH, TransferPath(HOST))[size]),
        "copy in": np.median(run.times(COPY_IN + IN_A_ROW, ALONE)[size]),
    }
    straight = tables.get(TransferPath("direct"), tables[TransferPath(HOST)])
    chunked = {way: times for way, times in tables.items() if way.chunk}
    beats = [n for way, times in chunked.items() for n in times
             if times[n] < tables[TransferPath("staged")][n]]  # fmt: skip
    once, steps = (
        np.median(run.times(ALLREDUCE, TransferPath(path))[size]) for path in (ONCE, "staged")
    )
    return {
        "device": run.device,
        "copy_rate": size / keeps["copy out"] / 1e6,
        "wire_rate": size / keeps["wire"] / 1e6,
        "slowest": max(keeps, key=keeps.get),
        "ratio_model": sum(keeps.values()) / keeps["wire"],
        "ratio_measured": tables[TransferPath("staged")][size] / straight[size],
        "chunk_model": staging.best_chunk(size, route_of(run)) / KIB,
        "chunk_measured": min(chunked, key=lambda way: chunked[way].get(size, np.inf)).chunk / KIB,
        "chunks_from": min(beats, default=0) / KIB,
        "allreduce_measured": "once" if once < steps else "steps",
    }


def lost(folder, hand_in, answers, measured):
    marked = hand_in(folder, measured, answers)
    assert marked.of == 15
    return {one.name: one.why for one in marked.lost}


@pytest.mark.long
def test_in_a_box_the_device_is_called_a_stand_in_and_right_answers_have_all_points(
    folder, measured, hand_in
):
    assert measured["results"]["run"]["device"] == STAND_IN
    assert measured["results"]["run"]["about"]["GPU"].startswith("NONE")
    assert measured["ground"]["nodes"] == ["node0", "node1"]
    assert lost(folder, hand_in, right(measured), measured) == {}


@pytest.mark.parametrize("route", [BOX, FAST], ids=["box", "fast"])
@pytest.mark.parametrize("direct", [True, False], ids=["aware", "not aware"])
def test_honest_numbers_of_a_gpu_are_right_too(folder, measured, hand_in, route, direct):
    gpu = on(route, GPU, direct, measured)
    assert lost(folder, hand_in, right(gpu), gpu) == {}


@pytest.mark.parametrize(
    ("name", "slip", "said"),
    [
        ("device", lambda _: "GPU", "stand-in is right"),
        ("copy_rate", lambda rate: rate * 8, "bits for bytes"),
        ("wire_rate", lambda rate: rate / 1e6, "million"),
        ("slowest", lambda _: "the network", "wire is right"),
        ("ratio_model", lambda ratio: 3.0, "one after another"),
        ("ratio_measured", lambda ratio: 1 / ratio, "'staged' over 'direct'"),
        ("chunk_model", lambda chunk: chunk * KIB, "times the least"),
        ("chunk_model", lambda _: -1, "is no chunk"),
        ("chunk_measured", lambda _: 256, "second table"),
        ("chunks_from", lambda _: "", "left empty"),
        ("allreduce_measured", lambda _: "steps", "once is right"),
    ],
    ids=[
        "GPU", "bits", "bytes", "network", "three", "reverse", "chunk in bytes", "negative",
        "another chunk", "empty", "steps",
    ],
)  # fmt: skip
@pytest.mark.sampled(2)
def test_a_wrong_answer_loses_its_own_points_and_is_told_why(
    folder, measured, hand_in, name, slip, said
):
    quiet = on(BOX, STAND_IN, True, measured)
    answers = right(quiet)
    wrong = lost(folder, hand_in, answers | {name: slip(answers[name])}, quiet)
    assert list(wrong) == [name]
    assert said in wrong[name]


def test_who_has_predicted_nothing_or_nonsense_loses_that(folder, measured, hand_in):
    quiet = on(BOX, STAND_IN, True, measured)
    quiet["predictions"] = {"ratio": -2.0, "allreduce": "both"}
    wrong = lost(folder, hand_in, right(quiet), quiet)
    assert set(wrong) == {"ratio", "chunk", "allreduce"}
    assert "'both' was predicted" in wrong["allreduce"]


def change_row(test, seconds):
    def change(results):
        rows = [row for row in results["run"]["rows"] if row["test"] == test]
        rows[-1]["seconds"] = [seconds] * len(rows[-1]["seconds"])

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (change_row(LATENCY, -1.0), "above 0"),
        (change_row(COPY_OUT, 1e-9), "the link that was described"),
        (lambda results: results["run"].update(device=GPU), "as GPU NONE"),
        (lambda results: results["run"].update(format="mine"), "no recorded run"),
        (lambda results: results["run"]["rows"][0]["seconds"].pop(), "for 2"),
        (lambda results: results["messages by kind"].clear(), "rank 0's ledger has 0 messages"),
        (lambda results: results.pop("run"), "is not as"),
    ],
    ids=["negative", "fast copy", "GPU", "format", "one missing", "no ledger", "no run"],
)
def test_what_nothing_can_have_measured_is_refused(folder, measured, hand_in, change, said):
    forged = copy.deepcopy(measured)
    change(forged["results"])
    with pytest.raises(Mistake, match=said):
        lost(folder, hand_in, right(measured), forged)
