"""The engines of a notebook, on the nodes of a cluster in a box."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.box

ROOT = Path(__file__).resolve().parents[2]
ENGINES = """
import os
from IPython.testing.globalipapp import start_ipython
start_ipython()
from ddl_class.clusters.box.box import Box
from ddl_class.engines.pool import Engines
with Box.up(2, name=f"test-{os.getpid()}") as box:
    engines = Engines(2, on=box)
    engines.cell("here = comm.node")
    print(engines.pull("here"))
    print("tasks on", engines.client[:]["comm.rank, here"])
    engines.client[0].execute("comm.send(np.ones(2), 1)")
    engines.client[1].execute("got = np.zeros(2); comm.recv(got, 0)", block=True)
    print("got", engines.client[1]["got"])
    print("balanced", engines.client.load_balanced_view().map_sync(abs, [-2, -3]))
    engines.stop()
"""


def test_engines_keep_their_variables_on_nodes():
    done = subprocess.run(
        [sys.executable, "-c", ENGINES],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if "No box could be made" in done.stderr or "The box" in done.stderr:
        pytest.skip("no box can be made here")
    assert done.returncode == 0, done.stderr
    assert "[0, 1]" in done.stdout
    assert "tasks on [(0, 0), (1, 1)]" in done.stdout
    assert "got [1. 1.]" in done.stdout
    assert "balanced [2, 3]" in done.stdout
