"""Energy, where the machine tells it: joules of the processor's and the GPUs' own counters.

Intel's and AMD's processors count microjoules (RAPL) in files that Linux shows; since 2020 only to
root, as they betray what others compute. NVIDIA's library counts millijoules since Volta.
Joules = counter afterwards - counter before, and a counter of RAPL begins anew after some minutes.
What to look at: a counter sees the whole chip, idle cores and other people's work included; what
the machine takes when nothing runs has to be measured as well, and be said.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POWERCAP = Path("/sys/class/powercap")
NVML = "libnvidia-ml.so.1"
OKAY = 0  # what NVIDIA's functions return when all went well


@dataclass(frozen=True)
class Meter:
    """A counter of joules; `wraps` is where it begins anew (infinite: never)."""

    name: str
    read: Callable[[], float]
    wraps: float = float("inf")


@dataclass(frozen=True)
class Energy:
    """Joules by the meters' names, and the seconds that the work took.

    Without meters `joules` is empty and `not_told` says why; it is never a guess.
    """

    joules: dict[str, float]
    seconds: float
    not_told: tuple[str, ...]

    @property
    def watts(self) -> dict[str, float]:
        """Mean power."""
        return {name: joules / self.seconds for name, joules in self.joules.items()}


def energy(work: Callable[[], Any], meters: Sequence[Meter] | None = None) -> Energy:
    """Do the work once between two looks at the meters; without `meters`, at all there are."""
    found, not_told = find_meters() if meters is None else (list(meters), ())
    before = [meter.read() for meter in found]
    begun = time.perf_counter()
    work()
    seconds = time.perf_counter() - begun
    joules = {
        meter.name: _between(before_it, meter.read(), meter.wraps)
        for meter, before_it in zip(found, before, strict=True)
    }
    return Energy(joules, seconds, tuple(not_told))


def find_meters(powercap: Path = POWERCAP, nvml: str = NVML) -> tuple[list[Meter], list[str]]:
    """All meters of this machine that can be read, and why others cannot."""
    meters, not_told = [], []
    for find, where in ((processor_meters, powercap), (gpu_meters, nvml)):
        found, reason = find(where)
        meters += found
        not_told += [reason] if reason else []
    return meters, not_told


def processor_meters(powercap: Path = POWERCAP) -> tuple[list[Meter], str]:
    """The packages of processors, and the memory beside them where that is counted apart."""
    folders = sorted(powercap.glob("intel-rapl:*")) if powercap.is_dir() else []
    if not folders:
        return [], f"processor: not told here, there is no {powercap}/intel-rapl:*"
    meters = []
    for folder in folders:
        counter = folder / "energy_uj"
        try:
            name = (folder / "name").read_text().strip()
            wraps = int((folder / "max_energy_range_uj").read_text()) / 1e6
            int(counter.read_text())
        except PermissionError:
            return [], f"processor: not told here, {counter} is for root only; ask who runs it"
        except (OSError, ValueError) as error:
            return [], f"processor: not told here, {counter} cannot be read: {error}"
        # Cores and graphics lie inside of their package, and packages inside of a "psys".
        if name.startswith(("package", "dram")):
            read = _reader(counter)
            meters.append(Meter(f"{name} ({folder.name})", read, wraps))
    return meters, "" if meters else f"processor: not told here, no package in {powercap}"


def gpu_meters(library: str | Any = NVML) -> tuple[list[Meter], str]:
    """NVIDIA's GPUs; `library` is the name of theirs, or what has its functions."""
    try:
        nvml = ctypes.CDLL(library) if isinstance(library, str) else library
    except OSError:
        return [], f"GPU: not told here, there is no {library}"
    count = ctypes.c_uint()
    if nvml.nvmlInit_v2() != OKAY or nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != OKAY:
        return [], f"GPU: not told here, {library} finds no driver"
    meters = []
    for index in range(count.value):
        device, counted = ctypes.c_void_p(), ctypes.c_ulonglong()
        nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
        if nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(counted)) != OKAY:
            return meters, f"GPU {index}: not told here, it is older than Volta"
        meters.append(Meter(f"GPU {index}", _gpu_reader(nvml, device)))
    return meters, "" if meters else "GPU: not told here, there is none"


def _between(before: float, after: float, wraps: float) -> float:
    return after - before if after >= before else after + wraps - before


def _reader(counter: Path) -> Callable[[], float]:
    return lambda: int(counter.read_text()) / 1e6


def _gpu_reader(nvml: Any, device: ctypes.c_void_p) -> Callable[[], float]:
    def read() -> float:
        counted = ctypes.c_ulonglong()
        nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(counted))
        return counted.value / 1e3

    return read
