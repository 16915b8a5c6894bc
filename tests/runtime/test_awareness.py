"""MPI is asked whether it takes GPU memory, and tried where a crash does no harm."""

import ctypes
import sys
from types import SimpleNamespace

import pytest

from ddl_runtime.devices import awareness as module
from ddl_runtime.devices.awareness import Awareness, try_it

ENDS = {
    "print('direct')": (True, "sent a message", True),
    "import os; os.kill(os.getpid(), 11)": (False, "died of signal 11", True),
    "raise RuntimeError('cuInit failed')": (False, "RuntimeError: cuInit failed", True),
    "print('direct'); raise SystemExit(3)": (False, "failed", True),
    "print('something else')": (False, "something else", True),
}


@pytest.mark.parametrize("program", ENDS)
def test_what_becomes_of_the_child_is_the_answer(program):
    found, why, certain = try_it([sys.executable, "-c", program], 60)
    assert (found, certain) == (ENDS[program][0], ENDS[program][2])
    assert ENDS[program][1] in why


def test_a_child_that_hangs_or_cannot_start_says_nothing_for_certain():
    hanging = try_it([sys.executable, "-c", "import time; time.sleep(1000)"], 0.2)
    assert hanging == (False, "a message on device memory was not through after 0.2 s", False)
    assert try_it(["no such program"], 60)[::2] == (False, False)


def mpi(kinds):
    return SimpleNamespace(COMM_WORLD=SimpleNamespace(Get_info=lambda: Info(kinds)))


class Info:
    def __init__(self, kinds):
        self.Get = {"mpi_memory_alloc_kinds": kinds}.get


def test_each_library_has_its_own_question():
    def mpich_says(kind, into):
        ctypes.cast(into, ctypes.POINTER(ctypes.c_int)).contents.value = 1
        return 0

    open_mpi = SimpleNamespace(MPIX_Query_cuda_support=lambda: 0)
    mpich = SimpleNamespace(MPIX_GPU_query_support=mpich_says)
    failing = SimpleNamespace(MPIX_GPU_query_support=lambda kind, into: 15)
    answers = [dict(module._answers(library, mpi(None))) for library in (open_mpi, mpich, failing)]
    assert [list(each.values()) for each in answers] == [[False], [True], []]
    assert dict(module._answers(failing, mpi("mpi,system,cuda"))) == {
        "mpi_memory_alloc_kinds": True
    }


def test_an_answer_is_kept_for_the_same_library_and_settings(tmp_path):
    file, found = tmp_path / "folder" / "kept.json", Awareness("some MPI", True, False, "it died")
    assert module._remembered(file, "key") is None
    module._remember(file, "key", found)
    assert module._remembered(file, "key") == found
    assert module._remembered(file, "another") is None
    file.write_text("half a fi")
    assert module._remembered(file, "key") is None


def test_real_ranks_know_their_own_library_and_believe_who_knows_better(real):
    def program(comm):
        import os

        from ddl_runtime.devices.awareness import BELIEVED, awareness

        found = awareness()
        same = awareness() is found
        awareness.cache_clear()
        os.environ[BELIEVED] = "yes"
        told = awareness()
        awareness.cache_clear()
        del os.environ[BELIEVED]
        return found, same, told.direct

    for found, same, told in real(program, 2).results:
        assert found.library.startswith(("Open MPI", "MPICH"))
        assert found.library_says in (True, False)
        assert same
        assert told
