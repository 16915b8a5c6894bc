"""On what machine and device a result was measured, by which code, with which command."""

import os

from ddl_class.doctor.gpu_checks import Driver, driver
from ddl_class.notebook.device_places import about_device
from ddl_measure.device_run import GPU
from ddl_measure.machine import describe
from ddl_measure.reports.made import ROOT, code_version


def about(device: str, ranks: int, command: str) -> dict[str, str]:
    """Machine, date, versions, GPU and driver, and the command."""
    facts = describe() | {"code": code_version(ROOT) or "unknown"}
    facts |= about_device(device, ranks)
    if device == GPU:
        gpu = driver()
        facts["driver"] = gpu.version if isinstance(gpu, Driver) else "unknown"
    if hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) == os.SCHED_RR:
        facts["scheduling"] = "real time (chrt -r), because other programs ran beside it"
    facts["ranks"] = f"{ranks}"
    facts["command"] = command
    return facts
