"""Which path for which size: the table follows the times, and not the noise."""

import numpy as np
import pytest

from benchmarks.gpu.default_paths import CHUNKS, SIZES, computed, default_table
from ddl_measure.device_messages import (
    ALONE,
    BANDWIDTH,
    COPY_IN,
    COPY_OUT,
    IN_A_ROW,
    LATENCY,
)
from ddl_measure.device_paths import (
    ASSUMED,
    route_of,
    table_of,
)
from ddl_measure.device_run import (
    HOST,
    STAND_IN,
    DeviceRun,
    DeviceTiming,
    TransferPath,
    load,
    save,
)
from ddl_runtime.devices.choice import NOT_AWARE, Reach, chosen
from ddl_teach.theory import staging
from ddl_teach.theory.staging import TransferStage

STAGED, SMALL, LARGE = (
    TransferPath("staged"),
    TransferPath("pipelined", 1 << 16),
    TransferPath("pipelined", 1 << 20),
)


def test_the_communicators_default_is_the_formulas():
    assert default_table()["message"] == NOT_AWARE["message"]


@pytest.mark.parametrize("nbytes", SIZES)
def test_the_default_is_never_far_from_the_best_chunk(nbytes):
    reach = chosen(default_table(), "message", nbytes)
    taken = staging.pipelined(nbytes, reach.chunk or nbytes, ASSUMED)
    best = staging.pipelined(nbytes, staging.best_chunk(nbytes, ASSUMED), ASSUMED)
    assert taken <= 1.06 * best


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_table_of_measurements_takes_at_each_size_what_is_fastest(noise):
    generator = np.random.default_rng(0)
    slow = TransferStage(1e-6, 1 / 3e9, 2e-6)
    ways = [
        TransferPath("direct"),
        STAGED,
        *(TransferPath("pipelined", chunk) for chunk in CHUNKS),
    ]
    times = {
        way: {
            size: one * np.exp(noise * generator.standard_normal(15)) for size, one in row.items()
        }
        for way, row in computed(ASSUMED, ways, SIZES, slow).items()
    }
    table = table_of({"message": times})
    assert table["message"][0] == Reach(0, "direct")
    begins = [reach.begin for reach in table["message"]]
    assert begins == sorted(set(begins))
    for size in SIZES:
        reach = chosen(table, "message", size)
        medians = {way: np.median(times[way][size]) for way in ways}
        assert medians[TransferPath(reach.path, reach.chunk)] <= min(medians.values()) * (
            1 + 3 * noise
        )


def test_noise_alone_changes_nothing_and_the_simplest_stays():
    generator = np.random.default_rng(1)
    times = {
        way: {size: np.exp(0.2 * generator.standard_normal(15)) for size in SIZES[:4]}
        for way in (LARGE, SMALL, STAGED)
    }
    assert table_of({"message": times})["message"] == (Reach(0, "staged"),)


def test_a_path_that_pays_only_for_a_while_gives_way_again():
    flat = {size: np.full(9, 1.0) for size in SIZES[:3]}
    dip = {SIZES[0]: np.full(9, 2.0), SIZES[1]: np.full(9, 0.5), SIZES[2]: np.full(9, 2.0)}
    assert table_of({"message": {STAGED: flat, SMALL: dip}})["message"] == (
        Reach(0, "staged"),
        Reach(SIZES[1], "pipelined", 1 << 16),
        Reach(SIZES[2], "staged"),
    )


def a_run(route, sizes=tuple(4**power for power in range(4, 13)), repetitions=5):
    """As a measurement of that route without any noise would be."""
    rows = []
    tests = {
        (LATENCY, BANDWIDTH): (TransferPath(HOST), route.wire),
        (COPY_OUT, COPY_OUT + IN_A_ROW): (ALONE, route.copy_out),
        (COPY_IN, COPY_IN + IN_A_ROW): (ALONE, route.copy_in),
    }
    for (alone, in_a_row), (way, stage) in tests.items():
        for nbytes in sizes:
            one, many = stage.keeps(nbytes) + stage.delay, stage.keeps(nbytes)
            rows.append(DeviceTiming(alone, way, nbytes, (one,) * repetitions))
            rows.append(DeviceTiming(in_a_row, way, nbytes, (many,) * repetitions))
    return DeviceRun(STAND_IN, {"date": "2026-11-21"}, tuple(rows))


def test_the_stages_come_back_from_what_was_measured_of_each():
    found = route_of(a_run(ASSUMED))
    for one, other in zip(found.stages, ASSUMED.stages, strict=True):
        assert one.start == pytest.approx(other.start, rel=1e-4)
        assert one.per_byte == pytest.approx(other.per_byte, rel=1e-4)
        assert one.delay == pytest.approx(other.delay, rel=1e-3, abs=1e-9)


def test_a_run_is_read_as_it_was_kept_and_says_on_what_it_ran(tmp_path):
    run = a_run(ASSUMED)
    path = tmp_path / "new" / "run.json"
    save(path, run)
    found = load(path)
    assert (found.device, dict(found.about)) == (run.device, run.about)
    assert found.ways(LATENCY) == [TransferPath(HOST)]
    assert found.ways("nothing") == []
    for row, kept in zip(run.rows, found.rows, strict=True):
        assert (row.test, row.way, row.nbytes) == (kept.test, kept.way, kept.nbytes)
        assert kept.seconds == pytest.approx(row.seconds, abs=1e-10)
    assert "no GPU" in found.label
    path.write_text('{"rows": []}')
    with pytest.raises(ValueError, match="no recorded run"):
        load(path)
