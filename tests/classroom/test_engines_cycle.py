"""Start, run, fail, recover, stop, in every way to fail: nothing fails then, nothing is left."""

import numpy as np
import psutil
import pytest
from notebook import await_empty, await_end

from ddl_class import Engines
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_teach.collectives import ring

pytestmark = [pytest.mark.real, pytest.mark.long]

SIZE = 3

MPI = "from mpi4py import MPI\nworld = MPI.COMM_WORLD\n"
FAILURES = [
    "if comm.rank == 1: raise ValueError\ncomm.barrier()",
    "comm.recv(np.zeros(2), (comm.rank + 1) % comm.size)",
    f"{MPI}if comm.rank == 1: raise ValueError\nworld.Barrier()",
    "import os\nif comm.rank == 2: os._exit(1)\ncomm.barrier()",
    f"{MPI}if comm.rank: world.Recv(bytearray(1), 0)",
    "while True: pass",
    "import ctypes\nif comm.rank == 0: ctypes.string_at(0)\ncomm.barrier()",
]


def program(comm):
    x = np.full(1000, comm.rank + 1.0)
    ring.allreduce(comm, x)
    return x[0]


@pytest.mark.usefixtures("little_patience_with_engines")
def test_no_way_to_fail_leaves_a_process_or_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = set(psutil.Process().children(recursive=True))
    for failure in FAILURES:
        engines = Engines(SIZE)
        processes = set(psutil.Process().children(recursive=True)) - before
        assert engines.run(program).results == [6.0] * SIZE
        with pytest.raises(DiagnosedError):
            engines.cell(failure, timeout=0.5)
        assert engines.pull("(comm.rank, comm.size)") == [(rank, SIZE) for rank in range(SIZE)]
        assert engines.run(program).results == [6.0] * SIZE
        processes |= set(psutil.Process().children(recursive=True)) - before
        engines.stop()
        assert await_end(processes) == []
        assert await_empty(tmp_path) == []
