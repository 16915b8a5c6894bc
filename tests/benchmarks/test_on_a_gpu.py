"""The command for a GPU: it says kindly that there is none, and what it would record can be read.

A run is made up here from the formula, so that each table and picture of a report is made once.
"""

import re

import numpy as np
import pytest

from benchmarks import device_messages, on_a_gpu
from benchmarks.gpu import report
from benchmarks.gpu.default_paths import computed
from benchmarks.gpu.provenance import about
from ddl_class.notebook.beside_gpus import plot_beside_recorded, recorded_runs, recorded_table
from ddl_measure.device_messages import (
    ALLREDUCE,
    ALONE,
    BANDWIDTH,
    BOTH_WAYS,
    COPY_IN,
    COPY_OUT,
    IN_A_ROW,
    LATENCY,
)
from ddl_measure.device_paths import ASSUMED
from ddl_measure.device_run import (
    GPU,
    HOST,
    STAND_IN,
    DeviceRun,
    DeviceTiming,
    TransferPath,
    load,
    save,
)
from ddl_teach.theory.staging import TransferStage, allreduce_in_steps, allreduce_once, staged

SIZES = device_messages.powers_of_four(1 << 22)
WAYS = [
    TransferPath(HOST),
    TransferPath("direct"),
    TransferPath("staged"),
    TransferPath("pipelined", 1 << 18),
]
ABOUT = {"date": "2026-11-21", "GPU": "Imagined GPU", "GPUs": "1 for 2 ranks", "ranks": "2"}


def a_run(device):
    """What would be measured on the assumed route, were there no noise but a little."""
    dice = np.random.default_rng(0)

    def noisy(seconds):
        return tuple((seconds * np.exp(0.01 * dice.standard_normal(9))).tolist())

    rows = []
    straight = TransferStage(2e-6, 1 / 20e9)
    for way, times in computed(ASSUMED, WAYS, SIZES, straight).items():
        for test in (LATENCY, BANDWIDTH, BOTH_WAYS, ALLREDUCE):
            rows += [
                DeviceTiming(test, way, size, noisy(float(seconds[0])))
                for size, seconds in times.items()
                if way.chunk < size
            ]
    rows += [
        DeviceTiming(
            ALLREDUCE, TransferPath("once"), size, noisy(allreduce_once(2, size, ASSUMED))
        )
        for size in SIZES
    ]
    for test, stage in ((COPY_OUT, ASSUMED.copy_out), (COPY_IN, ASSUMED.copy_in)):
        for more in ("", IN_A_ROW):
            rows += [
                DeviceTiming(test + more, ALONE, size, noisy(stage.keeps(size))) for size in SIZES
            ]
    rows += [
        DeviceTiming("data-parallel step", TransferPath(name), 1 << 20, noisy(seconds))
        for name, seconds in (
            ("no averaging", 5e-4),
            ("one bucket", 2e-3),
            ("torch's DDP, gloo", 1e-3),
        )
    ]
    return DeviceRun(device, ABOUT, tuple(rows))


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(on_a_gpu, "device_here", lambda: STAND_IN)


def test_without_a_gpu_it_says_so_and_measures_nothing(no_gpu, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["on_a_gpu"])
    monkeypatch.setattr(on_a_gpu, "Ranks", None)  # whoever started ranks would fail
    on_a_gpu.main()
    said = capsys.readouterr().out
    assert "There is no GPU here" in said
    assert "nothing was measured" in said


@pytest.mark.parametrize("words", [["--largest", "500"], ["--chunks", "99999999"]], ids=" ".join)
def test_what_no_line_can_be_fitted_to_is_refused_before_it_is_measured(words):
    chosen = device_messages.arguments("A benchmark.").parse_args(words)
    with pytest.raises(SystemExit, match="stages are fitted to 4 sizes"):
        device_messages.sizes_of(chosen, STAND_IN)


@pytest.mark.parametrize("device", [GPU, STAND_IN])
def test_every_part_of_the_report_says_on_what_it_was_measured(device):
    run = a_run(device)
    head, crossings, table, *tables = on_a_gpu.text_of(run)
    assert "2026-11-21" in head
    assert len(tables) == 6
    for part in (crossings, table, *tables):
        assert run.label in part
    assert ("no GPU" in run.label) == (device == STAND_IN)
    assert "predicted 512 KiB, of those measured 256 KiB" in crossings
    assert "direct too    message     from      0 B   direct" in table
    assert "direct too    allreduce   from      0 B   steps" in table
    assert "staging only  message     from    1 MiB   pipelined, 256 KiB" in table
    assert "2.0" in next(line for line in tables[-2].splitlines() if "one bucket" in line)
    sent = allreduce_in_steps(2, 1 << 20, lambda part: staged(part, ASSUMED))
    [ratio] = re.findall(r"([\d.]+) of it", tables[-1])
    assert float(ratio) == pytest.approx(2e-3 / (5e-4 + sent), rel=0.1)


@pytest.mark.slow
def test_pictures_are_labelled_too(tmp_path):
    run = a_run(STAND_IN)
    drawn = report.pictures(run)
    assert set(drawn) == {"latency", "bandwidth", "chunks", "decisions"}
    assert all("no GPU" in figure.alt for figure in drawn.values())
    report.draw(drawn.values(), tmp_path / "all.png")
    assert (tmp_path / "all.png").stat().st_size > 10_000


def test_the_slowest_rank_counts_where_all_work_together():
    rows = [
        [DeviceTiming(test, TransferPath(HOST), 8, (number, 3.0)) for test in (LATENCY, ALLREDUCE)]
        for number in (1.0, 2.0)
    ]
    of_messages, of_all = device_messages.slowest(rows)
    assert of_messages.seconds == (1.0, 3.0)
    assert of_all.seconds == (2.0, 3.0)


def test_only_runs_of_gpus_are_shown_as_recorded(tmp_path):
    assert all(run.device == GPU for run in recorded_runs())
    assert recorded_runs(tmp_path) == []
    save(tmp_path / "one.json", a_run(GPU))
    [found] = recorded_runs(tmp_path)
    assert found.label == "recorded on Imagined GPU, 2026-11-21"
    assert on_a_gpu.name_of(load(tmp_path / "one.json")) == "imagined_gpu_1x_2026_11_21"
    save(tmp_path / "two.json", a_run(STAND_IN))
    with pytest.raises(ValueError, match="stand-in device"):
        recorded_runs(tmp_path)


def test_a_stand_in_is_called_one_in_the_provenance():
    facts = about(STAND_IN, 2, "command")
    assert facts["GPU"].startswith("NONE")
    assert "described" in facts["its link"]


def parts_on_a_stand_in(comm):
    """As on a GPU, but for torch's own DDP, which knows no stand-in."""
    from benchmarks.gpu import operators, training

    given = {"device": STAND_IN, "repetitions": 1}
    rows = training.data_parallel(comm, **given) + training.pipeline(comm, **given)
    rows += operators.convolutions(comm, **given)[0]
    return {(row.test.partition(",")[0], row.way.path) for row in rows}


@pytest.mark.long
def test_what_needs_a_gpu_runs_on_the_stand_in(real):
    """Weights and results are compared inside; here only that nobody is missing."""
    first, second = real(parts_on_a_stand_in, 2, timeout=300).results
    steps = {
        *(("data-parallel step", name) for name in (
            "no averaging", "per parameter", "one bucket", "overlapped buckets",
            "overlapped native", "sufficient factors",
        )),
        *(("pipeline step", f"{schedule}, {where}")
          for schedule in ("GPipe", "1F1B") for where in (STAND_IN, "host memory")),
    }  # fmt: skip
    assert second == steps
    methods = {way for test, way in first - steps if test == "convolution"}
    assert methods == {"torch", "direct", "im2col", "fft", "winograd_2x2", "winograd_4x4"}


def test_a_gpu_that_is_known_stands_beside_its_data_sheet():
    """The step is simulated on the measured roof and on the data sheet's; a tiny GPT here."""
    rows = [
        DeviceTiming(test, TransferPath(way), nbytes, (seconds,) * 5)
        for test, way, nbytes, seconds in (
            ("matrix product, 1000", "bfloat16", 4, 2e9 / 494.7e12),  # half of the data sheet's
            ("copy within the device", "copy", 10**9, 2e9 / 3.6e12),  # three quarters
            ("launch of a kernel", "add", 4, 1e-9),
            ("step of a GPT, 100k, 2 ranks", "one rank alone, bfloat16", 8, 2e-3),
        )
    ]
    run = DeviceRun(STAND_IN, ABOUT | {"GPU": "NVIDIA H200"}, tuple(rows))
    [text] = report.beside_data_sheet(run)
    assert re.findall(r"\d+%", text) == ["50%", "75%"]
    [text] = report.simulated_steps(run)
    on_measured, on_sheet = re.findall(r"([\d.]+) of it", text)
    assert 1 < float(on_measured) < float(on_sheet)
    assert "data sheet, H200" in text
    assert report.beside_data_sheet(a_run(GPU)) == []


def test_a_unit_shows_what_was_recorded_or_says_that_nothing_was(tmp_path):
    assert "No run on a GPU has been recorded yet" in recorded_table(
        "data-parallel step", tmp_path
    )
    save(tmp_path / "one.json", a_run(GPU))
    text = recorded_table("data-parallel step", tmp_path)
    assert "recorded on Imagined GPU, 2026-11-21" in text
    assert "torch's DDP, gloo" in text
    assert "No run" in recorded_table("attention", tmp_path)


@pytest.mark.slow
def test_what_a_gpu_measured_is_kept_and_units_show_it(monkeypatch, capsys, tmp_path):
    """All that the command does once its parts have measured."""
    tables = {}
    monkeypatch.setattr("sys.argv", ["on_a_gpu"])
    monkeypatch.setattr(on_a_gpu, "device_here", lambda: GPU)
    monkeypatch.setattr(on_a_gpu, "measure", lambda parts, device, *_: a_run(device))
    monkeypatch.setattr(on_a_gpu, "keep_tables", tables.update)
    monkeypatch.setattr(on_a_gpu, "RAW", tmp_path / "raw")
    monkeypatch.setattr(on_a_gpu, "TABLES", tmp_path / "tables")
    on_a_gpu.main()
    assert "recorded: " in capsys.readouterr().out
    name = "imagined_gpu_1x_2026_11_21"
    kept = {file.name for file in tmp_path.glob("*/*")}
    assert kept == {f"{name}.json", f"{name}.txt", f"{name}.png"}
    assert set(tables) == {False, True}
    assert "torch's DDP, gloo" in recorded_table("data-parallel step", tmp_path / "raw")
    figure = plot_beside_recorded(a_run(STAND_IN), tmp_path / "raw")
    assert "recorded on Imagined GPU, 2026-11-21" in figure.alt


MOST = ("messages", "numbers", "operators", "data_parallel", "pipeline", "language_model", "trace")
TABLES = (
    "latency:", "matrix product, 64", "launch of a kernel", "attention, 2 heads",
    "causal, bfloat16, forward and backward", "product in 8 bits, 64 x 64",
    "convolution, a small layer", "data-parallel step", "pipeline step",
    "torch's GPipe, our messages", "step of a GPT, 100k, 2 ranks", "ZeRO, stage 3",
    "torch's FSDP2, our messages", "a step of 2 ranks", "predicted from messages",
    "simulated on a roof",
)  # fmt: skip
ON_FOUR = ("step of a GPT, 100k, 4 ranks", "split by heads, all texts")


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(1200)  # one part that hangs is ended by its own time, and tells where
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["--parts", *MOST], TABLES, id="all but four ranks"),
        pytest.param([], TABLES + ON_FOUR, id="all", marks=pytest.mark.long),
    ],
)
def test_the_whole_command_runs_on_the_stand_in(words, expected, monkeypatch, capsys, tmp_path):
    """What the first one with a GPU starts, at tiny sizes: every part leaves its table."""
    monkeypatch.setattr("sys.argv", ["on_a_gpu", "--stand-in", "--small", *words])
    monkeypatch.setattr(on_a_gpu, "RAW", tmp_path)
    on_a_gpu.main()
    shown, errors = capsys.readouterr()
    assert [part for part in expected if part not in shown] == [], errors
    assert "nothing was recorded" in shown
    left_out = [line for line in shown.splitlines() if "not measured:" in line]
    assert all("NCCL" in line or "one kernel" in line for line in left_out)
    assert list(tmp_path.iterdir()) == []
