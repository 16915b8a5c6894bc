"""Energy, where the machine counts it: joules of the processor's and the GPUs' own counters.

Intel's and AMD's processors count microjoules (RAPL) in files that Linux shows; since 2020 only to
root, as they betray what others compute. NVIDIA's library counts millijoules since Volta.
Joules = counter afterwards - counter before. A counter of RAPL begins anew after some minutes, so
long work is watched meanwhile; a GPU's moves in steps of tens of milliseconds, so short work is
repeated in a row; and work that only *began* something on a GPU has to wait for it, or its joules
are counted for later work.
What to look at: a counter sees the whole chip, idle cores and other people's work included; what
the machine takes when nothing runs has to be measured as well, and be said.
"""

import ctypes
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

POWERCAP = Path("/sys/class/powercap")
NVML = "libnvidia-ml.so.1"
OKAY, NOT_SUPPORTED = 0, 3  # what NVIDIA's functions return
WATCHED = 30.0  # seconds between two looks: no processor turns a counter round in so few


@dataclass(frozen=True)
class Meter:
    """A counter of joules; `wraps` is where it begins anew (infinite: never). `read` raises an
    OSError where it cannot be read."""

    name: str
    read: Callable[[], float]
    wraps: float = math.inf


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
        return {name: joules / self.seconds for name, joules in self.joules.items()}


class Tally:
    """What a meter has counted since this began, however often it began anew meanwhile.

    Right as long as it is looked at once in every turn of the counter.
    """

    def __init__(self, meter: Meter) -> None:
        self.meter, self.joules, self.failed = meter, 0.0, ""
        self._last: float | None = None
        self.look()

    def look(self) -> None:
        """Add what has come since the last look; once it cannot be read the sum is worthless."""
        try:
            shown = self.meter.read()
        except OSError as error:
            self.failed = f"{self.meter.name}: not told, {error}"
            return
        counted = 0.0 if self._last is None else shown - self._last
        if counted < 0 and self.meter.wraps == math.inf:
            self.failed = f"{self.meter.name}: not told, its counter went backwards"
        self.joules += counted if counted >= 0 else counted + self.meter.wraps
        self._last = shown


def energy(work: Callable[[], Any], meters: Sequence[Meter] | None = None) -> Energy:
    """Do the work once between two looks at the meters; without `meters`, at all there are."""
    used, not_told = find_meters() if meters is None else (list(meters), ())
    tallies = [Tally(meter) for meter in used]
    with _watched([tally for tally in tallies if tally.meter.wraps < math.inf]):
        begun = time.perf_counter()
        work()
        seconds = time.perf_counter() - begun
    for tally in tallies:
        tally.look()
    joules = {tally.meter.name: tally.joules for tally in tallies if not tally.failed}
    return Energy(
        joules, seconds, (*not_told, *(tally.failed for tally in tallies if tally.failed))
    )


@contextmanager
def _watched(tallies: Sequence[Tally]) -> Iterator[None]:
    """Look at counters that begin anew from time to time, as long as the work takes."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WATCHED):
            for tally in tallies:
                tally.look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def find_meters(powercap: Path = POWERCAP, nvml: str = NVML) -> tuple[list[Meter], list[str]]:
    """The energy meters of this machine that can be read, and the reasons why others cannot."""
    meters, not_told = [], []
    for find, where in ((processor_meters, powercap), (gpu_meters, nvml)):
        readable, reason = find(where)
        meters += readable
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
            _joules(counter)
        except PermissionError:
            return [], f"processor: not told here, {counter} is for root only; ask who runs it"
        except (OSError, ValueError) as error:
            return [], f"processor: not told here, {counter} cannot be read: {error}"
        # Cores and graphics lie inside of their package, and packages inside of a "psys".
        if name.startswith(("package", "dram")):
            meters.append(Meter(f"{name} ({folder.name})", partial(_joules, counter), wraps))
    return meters, "" if meters else f"processor: not told here, no package in {powercap}"


def gpu_meters(library: str | Any = NVML) -> tuple[list[Meter], str]:
    """The meters of NVIDIA's GPUs, and a text that says why some are missing. `library` is the
    name of NVIDIA's library, or an object with its functions."""
    try:
        nvml = ctypes.CDLL(library) if isinstance(library, str) else library
    except OSError:
        return [], f"GPU: not told here, there is no {library}"
    count = ctypes.c_uint()
    if nvml.nvmlInit_v2() != OKAY or nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != OKAY:
        return [], f"GPU: not told here, {library} finds no driver"
    meters, reasons = [], []
    for index in range(count.value):
        device = ctypes.c_void_p()
        status = nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
        meter = Meter(f"GPU {index}", partial(_joules_of_gpu, nvml, device))
        try:
            if status != OKAY:
                raise OSError(f"NVIDIA's library gives no handle of it (error {status})")
            meter.read()
        except OSError as error:
            reasons.append(f"GPU {index}: not told here, {error}")
        else:
            meters.append(meter)
    return meters, "; ".join(reasons) if meters or reasons else "GPU: not told here, there is none"


def _joules(counter: Path) -> float:
    return int(counter.read_text()) / 1e6


def _joules_of_gpu(nvml: Any, device: ctypes.c_void_p) -> float:
    counted = ctypes.c_ulonglong()
    try:
        status = nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(counted))
    except AttributeError:
        raise OSError("the driver is too old to count energy") from None
    if status == NOT_SUPPORTED:
        raise OSError("it does not count energy: it is older than Volta, or a part of one")
    if status != OKAY:
        raise OSError(f"NVIDIA's library does not say its energy (error {status})")
    return counted.value / 1e3
