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
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_class.clusters.box.box import Box
from ddl_class.engines.pool import Engines
with Box.up(2, name=f"test-{os.getpid()}") as box:
    engines = Engines(2, on=box)
    engines.cell("here = comm.node")
    print(engines.pull("here"))
    try:
        engines.client
    except DiagnosedError as error:
        print(error)
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
    assert "Start ipyparallel's Cluster on the head" in done.stdout
