"""The doctor finds the missing link between a GPU and MPI; surroundings are planted."""

import os
import sys
import types
from dataclasses import replace

import pytest

from benchmarks.gpu.kept_tables import keep_tables
from ddl_class.doctor import gpu_checks
from ddl_runtime.devices import choice
from ddl_runtime.devices.awareness import Awareness

H200 = gpu_checks.Driver(("H200", "H200"), ("Default", "Default"), "550.54", (12, 4))


@pytest.fixture
def smi(monkeypatch, tmp_path):
    """`smi(script)` plants an nvidia-smi."""
    monkeypatch.setattr(gpu_checks, "DEVICE_FILES", ())
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def plant(script):
        path = tmp_path / "nvidia-smi"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    return plant


TWO_GPUS = """
case "$1" in
  --query*) printf 'NVIDIA H200, 550.54, Default\\nNVIDIA H200, 550.54, Exclusive_Process\\n';;
  *) echo '| NVIDIA-SMI 550.54    Driver Version: 550.54    CUDA Version: 12.4 |';;
esac"""


def plant_driver(monkeypatch, found):
    monkeypatch.setattr(gpu_checks, "driver", lambda: found)


def plant_torch(monkeypatch, cuda, usable=True, capability=(9, 0), built_for=("sm_80", "sm_90")):
    def init():
        raise RuntimeError("no kernel module\nmore")

    planted = types.SimpleNamespace(
        __version__="2.9",
        version=types.SimpleNamespace(cuda=cuda),
        cuda=types.SimpleNamespace(
            is_available=lambda: usable,
            init=init,
            get_device_capability=lambda: capability,
            get_arch_list=lambda: list(built_for),
        ),
    )
    monkeypatch.setitem(sys.modules, "torch", planted)


def test_nothing_is_wrong_without_a_gpu(smi, monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_checks.shutil, "which", lambda name: None)
    assert gpu_checks.driver() is None
    for check in (gpu_checks.gpu, gpu_checks.torch_and_gpu, gpu_checks.sharing, gpu_checks.paths):
        assert check().status == "ok"
    file = tmp_path / "nvidia0"
    file.touch()
    monkeypatch.setattr(gpu_checks, "DEVICE_FILES", (file,))
    assert "is there, but no nvidia-smi" in gpu_checks.gpu().found


def test_a_driver_that_answers(smi, monkeypatch):
    smi(TWO_GPUS)
    found = gpu_checks.driver()
    assert found.names == ("NVIDIA H200",) * 2
    assert (found.version, found.cuda) == ("550.54", (12, 4))
    assert gpu_checks.gpu().found == "2 x NVIDIA H200, driver 550.54 (CUDA up to 12.4)"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    hidden = gpu_checks.gpu()
    assert (hidden.status, "unset" in hidden.mend) == ("warn", True)


def test_a_driver_that_does_not_answer(smi):
    smi("echo 'NVIDIA-SMI has failed: no driver.'; exit 9")
    finding = gpu_checks.gpu()
    assert finding.status == "warn"
    assert "does not answer: NVIDIA-SMI has failed" in finding.found
    assert "--gpus all" in finding.mend


@pytest.mark.parametrize(
    ("torch", "found", "mend"),
    [
        ((None,), "for CPUs only, but there is a GPU", "CUDA up to 12.4"),
        (("13.0",), "newer than driver 550.54", "torch built for CUDA 12"),
        (("12.8", False), "cannot use the GPU: no kernel module", "CUDA_VISIBLE_DEVICES"),
        (("12.1", True, (10, 0)), "no code for a GPU of capability 10.0", "It has sm_80, sm_90"),
        (("12.1", True, (8, 0), ("sm_86",)), "no code for a GPU of capability 8.0", "sm_86"),
    ],
)
def test_what_keeps_torch_from_the_gpu(monkeypatch, torch, found, mend):
    plant_driver(monkeypatch, H200)
    plant_torch(monkeypatch, *torch)
    finding = gpu_checks.torch_and_gpu()
    assert finding.status == "warn"
    assert found in finding.found
    assert mend in finding.mend


@pytest.mark.parametrize(
    "torch", [("12.8",), ("11.8",), ("12.1", True, (8, 9), ("sm_86", "sm_90a"))]
)
def test_a_torch_that_fits(monkeypatch, torch):
    """Within a major version of CUDA drivers are compatible, as code is within one of GPUs."""
    plant_driver(monkeypatch, H200)
    plant_torch(monkeypatch, *torch)
    assert gpu_checks.torch_and_gpu().status == "ok"


OPEN_MPI = Awareness("Open MPI 5.0.8", False, False, "built without CUDA")


def plant_awareness(monkeypatch, found):
    run = types.SimpleNamespace(results=[found])
    monkeypatch.setattr(gpu_checks, "launch", lambda *_, **__: run)


def test_what_mpi_says_and_what_happens(monkeypatch):
    plant_driver(monkeypatch, H200)
    plant_awareness(monkeypatch, OPEN_MPI)
    finding = gpu_checks.mpi_and_gpu()
    assert finding.status == "warn"
    assert "says no; sending GPU memory: fails (built without CUDA)" in finding.found
    assert "conda-forge's openmpi" in finding.mend
    plant_awareness(monkeypatch, replace(OPEN_MPI, library_says=True, probe_says=True, why=""))
    assert gpu_checks.mpi_and_gpu().status == "ok"
    plant_awareness(monkeypatch, OPEN_MPI)
    plant_driver(monkeypatch, None)
    assert gpu_checks.mpi_and_gpu().status == "ok"


def test_in_conda_only_the_switch_is_missing(monkeypatch, tmp_path):
    plant_driver(monkeypatch, H200)
    plant_awareness(monkeypatch, OPEN_MPI)
    (tmp_path / "conda-meta").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("OMPI_MCA_pml", "ucx")
    assert "export OMPI_MCA_opal_cuda_support=true UCX_" in gpu_checks.mpi_and_gpu().mend
    for name, value in gpu_checks.SWITCHES.items():
        monkeypatch.setenv(name, value)
    assert "conda list" in gpu_checks.mpi_and_gpu().mend
    plant_awareness(monkeypatch, replace(OPEN_MPI, library="MPICH 4.3"))
    assert "take its openmpi" in gpu_checks.mpi_and_gpu().mend


def test_ucx_with_and_without_its_modules_for_cuda(monkeypatch, tmp_path):
    plant_driver(monkeypatch, H200)
    monkeypatch.delenv("UCX_MODULE_DIR", raising=False)
    monkeypatch.setattr(gpu_checks, "loaded_files", lambda _: [str(tmp_path / "libuct.so.0")])
    finding = gpu_checks.ucx()
    assert (finding.status, "libucx-cu12" in finding.mend) == ("warn", True)
    (tmp_path / "ucx").mkdir()
    (tmp_path / "ucx" / "libuct_cuda.so.0").touch()
    assert gpu_checks.ucx().found.endswith("with libuct_cuda")
    monkeypatch.setattr(gpu_checks, "loaded_files", lambda _: [])
    assert gpu_checks.ucx().status == "ok"


def test_several_ranks_on_one_gpu(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(gpu_checks, "visible_gpus", lambda _: ["0", "1"])
    monkeypatch.setattr(gpu_checks, "usable_cores", lambda: 8)
    plant_driver(monkeypatch, H200)
    finding = gpu_checks.sharing()
    assert finding.status == "ok"
    assert "2 GPUs for 8 cores" in finding.found
    assert "NCCL refuses" in finding.found
    plant_driver(monkeypatch, replace(H200, modes=("Default", "Exclusive_Process")))
    finding = gpu_checks.sharing()
    assert (finding.status, "at most 2 ranks" in finding.mend) == ("warn", True)


@pytest.mark.parametrize(
    "check", [gpu_checks.gpu, gpu_checks.torch_and_gpu, gpu_checks.ucx, gpu_checks.sharing]
)
def test_this_machine_s_own_chain_is_looked_at(check):
    """Nothing planted: each link is looked at, with or without a GPU."""
    assert check().found


def test_this_machine_s_own_mpi_is_asked_about_gpu_memory():
    assert "sending GPU memory" in gpu_checks.mpi_and_gpu().found


@pytest.mark.parametrize("direct", [False, True])
def test_many_ranks_on_one_gpu_are_told_their_path_and_of_mps(monkeypatch, tmp_path, direct):
    plant_driver(monkeypatch, replace(H200, names=("H200",), modes=("Default",)))
    plant_awareness(monkeypatch, replace(OPEN_MPI, library_says=direct, probe_says=direct))
    monkeypatch.setattr(gpu_checks, "usable_cores", lambda: 4)
    monkeypatch.setattr(gpu_checks, "visible_gpus", lambda environment: ["0"])
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    text = gpu_checks.sharing().found
    assert ("CUDA IPC" in text, "staged" in text) == (direct, not direct)
    assert "MPS is off" in text
    (tmp_path / "control").touch()
    assert "MPS lets their kernels" in gpu_checks.sharing().found


def test_the_table_that_was_measured_is_shown(monkeypatch, tmp_path):
    monkeypatch.setattr(choice, "KEPT_IN", tmp_path / "cache" / "table.json")
    choice.kept_table.cache_clear()
    plant_driver(monkeypatch, H200)
    plant_awareness(monkeypatch, OPEN_MPI)
    assert "device_messages" in gpu_checks.paths().mend
    table = {"message": (choice.Reach(0, "staged"), choice.Reach(1 << 20, "pipelined", 1 << 18))}
    keep_tables({False: table})
    assert choice.kept_table(False) == table
    assert choice.kept_table(True) is None
    finding = gpu_checks.paths()
    assert (finding.status, "message from 1 MiB pipelined" in finding.found) == ("ok", True)
    measured = choice.Preference().reach(1 << 21, False, choice.kept_table(False))
    assert measured == choice.Reach(1 << 20, "pipelined", 1 << 18)
    choice.kept_table.cache_clear()
