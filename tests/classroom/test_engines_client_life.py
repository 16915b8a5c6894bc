"""Whatever ends, a client, its controller, a rank or the kernel: the others go on or end too."""

import os
import signal
import time

import pytest
from ipyparallel.error import CompositeError, RemoteError
from ipyparallel_tasks import all_reduce
from notebook import START, await_empty, await_end, notebook

from ddl_runtime.diagnosis.deadlock import DiagnosedError

pytestmark = pytest.mark.real

SIZE = 4


def test_ipyparallel_does_not_take_the_engines_away(own_engines, client):
    with pytest.raises(RemoteError, match=r"engines.stop\(\) ends them"):
        client.shutdown(block=True)
    client.close()
    assert own_engines.client is not client
    assert own_engines.client[:].apply_sync(os.getpid) == own_engines.pull(
        "__import__('os').getpid()"
    )


def test_a_controller_that_died_is_replaced_and_the_variables_stay(own_engines, client):
    own_engines.push(kept=5)
    waiting = client[:].execute("import time\ntime.sleep(1)", block=False)
    os.kill(own_engines._controller._process.pid, signal.SIGKILL)
    with pytest.raises(CompositeError, match="cannot be reached this way"):
        waiting.get(timeout=200)
    view = own_engines.client[:]
    assert view["kept"] == own_engines.pull("kept") == [5] * SIZE
    result = view.execute("print(comm.rank)")
    result.wait_for_output(200)
    assert result.stdout == [f"{rank}\n" for rank in range(SIZE)]


def test_nobody_waits_for_a_rank_that_died(own_engines, client, view):
    with pytest.raises(CompositeError, match="cannot be reached this way"):
        view.execute("import os\nif comm.rank == 1: os._exit(3)\ncomm.barrier()")
    assert own_engines.pull("comm.rank") == list(range(SIZE))
    with pytest.raises(DiagnosedError, match="gives a new client"):
        view.apply(os.getpid)
    with pytest.raises(DiagnosedError, match="gives a new client"):
        client.load_balanced_view().map(abs, range(3))
    assert own_engines.client[:].apply_sync(all_reduce, 1)[2] == [10.0]


def test_restart_and_stop_end_the_controller_too(own_engines, client):
    before, folders = own_engines.processes(), list(own_engines.folder.glob("ddl-*"))
    own_engines.restart()
    with pytest.raises(DiagnosedError, match="gives a new client"):
        client[:].apply_sync(os.getpid)
    assert await_end(before) == []
    assert len(folders) == 2, "the engines' and the controller's"
    assert [await_empty(own_engines.folder, folder.name) for folder in folders] == [[], []]
    assert own_engines.client[:].apply_sync(all_reduce, 1)[1] == [10.0]
    before = own_engines.processes()
    own_engines.stop()
    assert await_end(before) == []
    assert await_empty(own_engines.folder) == []
    with pytest.raises(DiagnosedError, match=r"restart\(\)"):
        _ = own_engines.client
    assert await_empty(own_engines.folder) == []


# -- behind a real kernel -------------------------------------------------------------------


@pytest.mark.long
def test_in_a_notebook_px_stays_ours_and_a_killed_kernel_leaves_nothing(tmp_path):
    with notebook(TMPDIR=str(tmp_path)) as opened:
        opened.run(START.format(2))
        view = "view = engines.client[:]\nview.apply_sync(lambda: comm.rank)"
        assert opened.run(view) == ("ok", "[0, 1]\n")
        assert opened.run("%px comm.rank") == ("ok", "[0] 0\n[1] 1\n")
        opened.start("view.apply_sync(lambda: comm.recv(np.zeros(1), 1 - comm.rank))")
        time.sleep(1)
        opened.interrupt()
        status, text = opened.run("%%px --timeout 1\nprint('late')")
        assert (status, "late" in text, "TimedOut" in text) == ("error", False, True)
        assert opened.run("%%px\nprint('on')") == ("ok", "[0] on\n[1] on\n")
        opened.start("view.execute('while True: pass')")
        time.sleep(0.5)
        started = opened.processes()
        assert len(started) >= 4  # the reaper, mpiexec and its two ranks
        opened.kill()
        assert await_end(started) == []
        assert await_empty(tmp_path) == []
