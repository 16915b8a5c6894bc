"""What is recorded of counting memory and of torch's large models keeps what was asked for."""

import re

import pytest

from benchmarks import memory_track, torch_sizes

COUNTED = re.findall(r"([\d.]+)\s+[\d.]+ to ([\d.]+)$", memory_track.RESULTS.read_text(), re.M)
SIZES = r"^(.+?) {2,}([\d,]+) +(\d+) +(\d+) +(\d+) +([\d.]+)$"
MODELS = {row[0]: row[1:] for row in re.findall(SIZES, torch_sizes.RESULTS.read_text(), re.M)}


def test_counting_memory_costs_at_most_a_third():
    """The ratio of both times, and the upper end of its interval."""
    assert len(COUNTED) == 3
    assert all(float(ratio) <= 4 / 3 and float(high) <= 4 / 3 for ratio, high in COUNTED)


@pytest.mark.parametrize("number", range(3))
def test_what_was_timed_holds_something(number, monkeypatch):
    monkeypatch.setattr(memory_track, "RANKS", 4)
    run = list(memory_track.programs().values())[number]
    assert run(trace=False, memory=float("inf")).memory.peak() > 0
    assert run(trace=False, memory=None).memory.peak() == 0


@pytest.mark.parametrize(
    ("name", "weights", "most"),
    [
        ("small, with data, 64 ranks", 1e5, 30),
        ("1 billion, 64 ranks", 1e9, 5 * 60),
        ("7 billion, 32 ranks", 6.7e9, 5 * 60),
    ],
)
def test_large_models_take_minutes_and_few_bytes(name, weights, most):
    trained, seconds, _, megabytes, of_formula = MODELS[name]
    assert int(trained.replace(",", "")) >= weights
    assert int(seconds) <= most
    assert int(megabytes) <= 4000
    assert float(of_formula) == 1.0
