"""The ground of unit 20, with a box and without one: accidents are mended, nothing is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.box

ROOT = Path(__file__).resolve().parents[2]
BOX, LAPTOP = "ground = find_nodes(2, 2)", "Box.up = refuse; ground = find_nodes()"
SCRIPT = """
from functools import partial
from IPython.testing.globalipapp import start_ipython
start_ipython()
import numpy as np
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_class.notebook import among_nodes
from ddl_class.clusters.box.box import Box
from ddl_class.clusters.many_nodes import find_nodes
from ddl_class.commands.mistake import Mistake
from ddl_teach.fault_tolerance.checkpoints import Checkpoints
def refuse(*_, **__):
    raise Mistake("No box could be made here.")
def lasting(comm, folder, end):
    kept, step = Checkpoints(comm, folder), 0
    while step < end:
        step += 1
        kept.save(step, {"x": np.zeros(1)})
    return comm.rank
{ground}
print("folder", ground.folder)
assert ground.node_of == [0, 0, 1, 1]
way = partial(among_nodes.allreduce, node_of=ground.node_of)
ledger, cards = ground.sent(way, 2**13)
assert ledger == [2**13, 2**13]
assert all(card >= 2**13 for card in cards) if ground.box else cards == [0, 0]
assert ground.times([way], [8, 64], turns=2).shape == (3, 1, 2)
with ground.slowed("10mbit") as really:
    assert really == (ground.box is not None)
    assert not really or ground.box.troubles()
struck = "killed by signal 9" if ground.box is None else "node1's cable is out"
for limit in (2, 20, 200):  # on the busiest machine no step is saved in the shorter ones
    try:
        with ground.accident(ground.folder, step=3):
            ground.engines.run(lasting, folder=ground.folder, end=10**9, timeout=limit)
    except DiagnosedError as story:
        if struck in str(story):
            break
else:
    raise AssertionError("nothing was struck")
assert ground.box is None or not ground.box.troubles()
run = ground.engines.run(lasting, folder=ground.folder / "again", end=2, timeout=100)
assert run.results == [0, 1, 2, 3]
print("all is well")
"""


def told(ground, folder):
    """What the script says of such a ground."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("{ground}", ground)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert "all is well" in done.stdout, done.stdout + done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith("folder ")]
    assert not Path(line.removeprefix("folder ")).exists()
    return done.stdout


@pytest.mark.long
def test_a_box_is_made_and_its_cable_pulled(tmp_path):
    said = told(BOX, tmp_path)
    if "No nodes here" in said:
        pytest.skip("no box can be made here")
    assert "A cluster in a box: 2 nodes of 2 ranks, 100 Mbit/s" in said


def test_without_a_box_ranks_of_this_machine_play_nodes_and_one_is_killed(tmp_path):
    said = told(LAPTOP, tmp_path)
    assert "No nodes here, so ranks of this machine, two by two, play them" in said
    assert "No box could be made here." in said
