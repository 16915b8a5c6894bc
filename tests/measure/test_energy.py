"""Joules are differences of counters, which begin anew; where nothing counts it is said."""

import threading
from types import SimpleNamespace

import pytest

from ddl_measure.energy import (
    Meter,
    Tally,
    energy,
    find_meters,
    gpu_meters,
    processor_meters,
)


def powercap(folder, **zones):
    """Files as Linux shows them: microjoules, and where the counter begins anew."""
    for place, (name, counted) in enumerate(zones.items()):
        zone = folder / f"intel-rapl:{place}"
        zone.mkdir()
        (zone / "name").write_text(f"{name.replace('_', '-')}\n")
        (zone / "energy_uj").write_text(f"{counted}\n")
        (zone / "max_energy_range_uj").write_text("10000000\n")
    return folder


def test_the_processors_counters_are_read_and_begin_anew(tmp_path):
    folder = powercap(tmp_path, package_0=9_000_000, core=5, dram=0, psys=1)
    meters, reason = processor_meters(folder)
    assert ([meter.name for meter in meters], reason) == (
        ["package-0 (intel-rapl:0)", "dram (intel-rapl:2)"], "",
    )  # fmt: skip

    def work():
        (folder / "intel-rapl:0" / "energy_uj").write_text("500000\n")
        (folder / "intel-rapl:2" / "energy_uj").write_text("250000\n")

    found = energy(work, meters)
    assert found.joules == pytest.approx(
        dict(zip((m.name for m in meters), (1.5, 0.25), strict=True))
    )
    assert found.watts[meters[1].name] == pytest.approx(0.25 / found.seconds)
    assert found.not_told == ()


def fake_nvml(counted, fails=None):
    """A library of two GPUs whose counters go up by a joule at each look."""

    def give(pointer, value):
        pointer._obj.value = value

    def consumption(device, pointer):
        counted[device.value] += 1000
        give(pointer, counted[device.value])

    functions = {
        "nvmlInit_v2": lambda: None,
        "nvmlDeviceGetCount_v2": lambda pointer: give(pointer, 2),
        "nvmlDeviceGetHandleByIndex_v2": lambda index, pointer: give(pointer, index + 7),
        "nvmlDeviceGetTotalEnergyConsumption": consumption,
    }
    return SimpleNamespace(**{
        name: (lambda *args, call=call, bad=name == fails: 1 if bad else call(*args) or 0)
        for name, call in functions.items()
    })  # fmt: skip


def test_gpus_are_asked_by_their_own_library():
    meters, reason = gpu_meters(fake_nvml({7: 0, 8: 5000}))
    assert ([meter.name for meter in meters], reason) == (["GPU 0", "GPU 1"], "")
    assert energy(lambda: None, meters).joules == {"GPU 0": 1, "GPU 1": 1}
    for fails, words in (
        ("nvmlInit_v2", "finds no driver"),
        ("nvmlDeviceGetTotalEnergyConsumption", "does not say its energy (error 1)"),
    ):
        meters, reason = gpu_meters(fake_nvml({7: 0, 8: 0}, fails))
        assert meters == []
        assert words in reason


def test_a_gpu_that_does_not_tell_hides_no_other():
    def consumption(device, pointer):
        if device.value == 7:
            return 3
        pointer._obj.value += 4000
        return 0

    library = fake_nvml({7: 0, 8: 0})
    library.nvmlDeviceGetTotalEnergyConsumption = consumption
    meters, reason = gpu_meters(library)
    assert [meter.name for meter in meters] == ["GPU 1"]
    assert reason.startswith("GPU 0: not told here, it does not count energy")
    del library.nvmlDeviceGetTotalEnergyConsumption
    assert "too old" in gpu_meters(library)[1]
    with pytest.raises(OSError, match="too old"):
        meters[0].read()
    library = fake_nvml({7: 0, 8: 0}, "nvmlDeviceGetHandleByIndex_v2")
    assert "gives no handle of it (error 1)" in gpu_meters(library)[1]


def test_a_meter_that_fails_in_the_middle_is_told_and_the_others_count():
    def refuse():
        raise OSError("the driver was reset")

    counted = iter([1.0, 3.0])
    looks = iter([lambda: 5.0, refuse])
    good, bad = Meter("good", counted.__next__), Meter("bad", lambda: next(looks)())
    backwards = Meter("backwards", iter([5.0, 4.0]).__next__)
    found = energy(lambda: None, [good, bad, backwards])
    assert found.joules == {"good": 2.0}
    assert found.not_told == (
        "bad: not told, the driver was reset",
        "backwards: not told, its counter went backwards",
    )


def test_a_counter_may_begin_anew_many_times(monkeypatch):
    shown = iter([8.0, 2.0, 1.0, 9.0])
    tally = Tally(Meter("mine", shown.__next__, 10.0))
    for joules in (4.0, 13.0, 21.0):
        tally.look()
        assert tally.joules == joules
    # While the work is done somebody looks: the work itself waits until ten looks have been made.
    monkeypatch.setattr("ddl_measure.energy.WATCHED", 0.001)
    looked, enough = [], threading.Event()

    def read():
        looked.append(6.0 * len(looked) % 10.0)
        if len(looked) >= 10:
            enough.set()
        return looked[-1]

    found = energy(lambda: enough.wait(60), [Meter("turning", read, 10.0)])
    assert len(looked) >= 11
    assert found.joules["turning"] == pytest.approx(6.0 * (len(looked) - 1))


def test_what_is_not_told_is_said_and_never_guessed(tmp_path, monkeypatch):
    meters, reasons = find_meters(tmp_path / "none", "libnone.so")
    assert meters == []
    assert [reason.split(", ")[0] for reason in reasons] == [
        "processor: not told here", "GPU: not told here",
    ]  # fmt: skip
    monkeypatch.setattr("ddl_measure.energy.find_meters", lambda: (meters, reasons))
    found = energy(lambda: None)
    assert (found.joules, found.watts, found.not_told) == ({}, {}, tuple(reasons))


def test_counters_for_root_only_or_of_nonsense_are_told(tmp_path, monkeypatch):
    folder = powercap(tmp_path, package_0=1)
    (folder / "intel-rapl:0" / "energy_uj").write_text("?")
    assert "cannot be read" in processor_meters(folder)[1]

    def refuse(self):
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    assert "energy_uj is for root only" in processor_meters(folder)[1]


def test_this_machine_tells_or_says_why_not():
    found = energy(lambda: sum(range(1000)))
    assert found.joules or found.not_told
    assert all(joules >= 0 for joules in found.joules.values())
    assert energy(lambda: None, [Meter("mine", iter([5.0, 7.0]).__next__)]).joules == {"mine": 2}
