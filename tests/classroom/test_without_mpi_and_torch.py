"""Without MPI, torch and psutil: what needs none of them imports, and ranks are simulated.

Each program runs in a Python that cannot find them; so does a browser.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from website import edition

ROOT = Path(__file__).resolve().parents[2]
ABSENT = """
import sys
from importlib.machinery import PathFinder

ABSENT = "torch mpi4py psutil ipyparallel resource pwd grp _posixshmem".split()
finding = PathFinder.find_spec
PathFinder.find_spec = lambda name, path=None, target=None: (
    None if name.split(".")[0] in ABSENT else finding(name, path, target)
)
"""
LEARNERS_OWN = ("torch", "mpi4py")  # what cells import themselves
OF_TORCH = (
    "networks.twin networks.models networks.pipelines.train_pipeline notebook.torchs_runtime"
)
OF_TORCH += " networks.memory.measured experiments.one_model training.tasks.network_task"


def run_without(code, *words):
    return subprocess.run(
        [sys.executable, "-c", ABSENT + code, *words],
        capture_output=True, text=True, timeout=120, cwd=ROOT,
    )  # fmt: skip


def imports_of(source):
    code = "".join(
        "pass\n" if line.startswith(("%", "!")) else line
        for line in source.read_text(encoding="utf-8").splitlines(keepends=True)
    )
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from ([alias.name, ""] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ([node.module, alias.name] for alias in node.names)


TRY_ALL = """
import importlib, json

failed = []
for module, name in json.loads(sys.argv[1]):
    try:
        loaded = importlib.import_module(module)
        if name and not hasattr(loaded, name):
            importlib.import_module(f"{module}.{name}")
    except ImportError as error:
        failed.append([f"{module}.{name}", str(error)])
print(json.dumps(failed))
"""


@pytest.mark.slow
def test_notebooks_of_the_browser_edition_import_all_that_needs_no_torch():
    sources = [ROOT / "notebooks" / "source" / f"{name}.py" for name in edition.names()]
    asked = {tuple(pair) for source in sources for pair in imports_of(source)}
    assert len(asked) > 100
    ran = run_without(TRY_ALL, json.dumps(sorted(asked)))
    assert ran.returncode == 0, ran.stderr
    failed = json.loads(ran.stdout.splitlines()[-1])
    rest = [
        [module, text]
        for module, text in failed
        if module.split(".")[0] not in LEARNERS_OWN
        and not any(module.split(".", 1)[1].startswith(room) for room in OF_TORCH.split())
    ]
    assert rest == []
    assert {text for _, text in failed} <= {
        'torch is not here. On a computer: pip install "ddl-teach[torch]"',
        'mpi4py is not here. On a computer: pip install "ddl-teach[mpi]"',
    }


def test_who_asks_whether_a_module_is_installed_gets_an_answer():
    ran = run_without("""
import importlib
from importlib.util import find_spec
import ddl_class
for name in ("torch", "mpi4py"):
    print(find_spec(name))
for way in (importlib.import_module, __import__):
    try:
        way("torch")
    except ModuleNotFoundError as error:
        print(error)
""")
    says = 'torch is not here. On a computer: pip install "ddl-teach[torch]"'
    assert ran.stdout.splitlines() == ["None", "None", says, says], ran.stderr


def test_engines_stand_for_simulated_ranks_and_say_so():
    ran = run_without("""
from ddl_class import Engines, launch
from ddl_class.engines.pool import EngineMagics
from ddl_teach.comm import DiagnosedError

engines = Engines(3)
engines.push(x=[1])
engines.cell("x.append(comm.rank)\\nprint('mine')\\ntotal = np.array([x[-1]])\\ncomm.rank * 2")
engines.cell("from ddl_teach.collectives import ring\\nring.allreduce(comm, total)", [0, 1, 2])
assert engines.pull("x") == [[1, 0], [1, 1], [1, 2]]
assert [int(total[0]) for total in engines.pull("total")] == [3, 3, 3]
engines.cell("x = 'changed'", ranks=iter([1]))
assert engines.pull("x") == [[1, 0], "changed", [1, 2]]
try:
    engines.cell("x = 0", ranks=[7])
except ValueError as error:
    assert "none has the number 7" in str(error)
try:
    engines.cell("y = 1\\ncomm.recv(np.zeros(1), 1 - comm.rank) if comm.rank < 2 else None")
except DiagnosedError as error:
    assert "cell [ ]" in str(error), error
assert engines.pull("y") == [1, 1, 1]
assert engines.run(lambda comm: comm.rank, 2).results == [0, 1]
assert launch(lambda comm: comm.size, ranks=5, survivors=True).results == [5] * 5
try:
    engines.client
except DiagnosedError as error:
    print(error)
engines.restart()
print(engines, "x" in engines._names[0])
""")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[:2] == [
        "There is no MPI here, so these 3 ranks are simulated. Times are computed, not measured.",
        'For real ranks, on a computer: pip install "ddl-teach[mpi]"',
    ]
    assert lines[2:8] == ["[0] mine", "[0] 0", "[1] mine", "[1] 2", "[2] mine", "[2] 4"]
    assert 'pip install "ddl-teach[class]"' in " ".join(lines)
    assert lines[-1] == "3 simulated ranks; a cell may take 20 s False"


def test_unit_20_finds_simulated_nodes():
    ran = run_without("""
from ddl_class.clusters.many_nodes import find_nodes
from ddl_teach.collectives import ring

ground = find_nodes(nodes=3, each=2, rate="100mbit")
print(ground.node_of)
sent, cards = ground.sent(ring.allreduce, 8_000)
print(sent, cards)
with ground.slowed("10mbit") as slow:
    print(slow)
ground.close()
""")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0] == "3 simulated nodes of 2 ranks, cables of 100mbit" or lines[2]
    assert "[0, 0, 1, 1, 2, 2]" in lines
    assert "False" in lines
