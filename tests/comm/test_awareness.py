"""MPI is asked whether it takes GPU memory, and tried where a crash does no harm."""

import ctypes
import sys

import pytest

from ddl_teach.comm.devices import awareness as module
from ddl_teach.comm.devices.awareness import BELIEVED, tried

GPU = {"CUDA_VISIBLE_DEVICES": "0"}


def plant(monkeypatch, program):
    monkeypatch.setattr(module, "PROBE", (sys.executable, "-c", program))


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("pass", (True, "the bytes arrived")),
        ("import os; os.kill(os.getpid(), 11)", (False, "it died of SIGSEGV")),
        ("raise RuntimeError('cuInit failed')", (False, "RuntimeError: cuInit failed")),
        ("raise SystemExit(3)", (False, "it ended with status 3")),
    ],
    ids=["arrives", "crashes", "raises", "exits"],
)
def test_what_becomes_of_the_child_is_the_answer(monkeypatch, program, expected):
    plant(monkeypatch, program)
    assert tried(GPU) == expected


def test_a_child_that_hangs_is_ended(monkeypatch):
    plant(monkeypatch, "import time; time.sleep(1000)")
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    assert tried(GPU) == (False, "no answer within 0.2 s")


def test_without_a_gpu_nobody_asks(monkeypatch):
    plant(monkeypatch, "pass")
    assert tried({"CUDA_VISIBLE_DEVICES": ""}) == (None, "no GPU here")


def test_who_knows_better_is_believed(monkeypatch):
    plant(monkeypatch, "raise SystemExit(3)")
    assert tried(GPU | {BELIEVED: "yes"})[0] is True
    assert tried({BELIEVED: "no"})[0] is False
    with pytest.raises(ValueError, match="may be 'yes' or 'no'"):
        tried({BELIEVED: "1"})


class Silent:
    """A library that knows neither question."""


class OpenMPI(Silent):
    def __init__(self, answer):
        self.MPIX_Query_cuda_support = lambda: answer


class MPICH(Silent):
    def __init__(self, answer, failed=0):
        def question(kind, into):
            ctypes.cast(into, ctypes.POINTER(ctypes.c_int)).contents.value = answer
            return failed

        self.MPIX_GPU_query_support = question


def test_each_library_has_its_own_question():
    says = module._library_says
    assert says(OpenMPI(1)) is says(MPICH(1)) is True
    assert says(OpenMPI(0)) is says(MPICH(0)) is False
    assert says(Silent()) is says(MPICH(1, failed=15)) is None


def test_real_ranks_know_their_own_library(real):
    def program(comm):
        from ddl_teach.comm.devices.awareness import awareness

        found = awareness()
        return found.library, found.library_says, awareness() is found

    for library, says, once in real(program, 2).results:
        assert library.startswith(("Open MPI", "MPICH"))
        assert says in (True, False)
        assert once


def test_the_probe_without_a_driver_says_so():
    """Where there is one, the probe is tried for what it is, by the tests marked gpu."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        found, why = tried(GPU)
        assert found is False
        assert "libcuda.so.1" in why
