"""Your own messages beside recorded ones: every panel says on what it was measured."""

import pytest

from ddl_class.notebook.beside_gpus import measure_here, plot_beside_recorded
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
