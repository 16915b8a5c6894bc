"""The wheel holds the whole package, and runs where nothing else of the course is."""

import zipfile
from pathlib import Path

import pytest
from wheels import PACKAGES, ROOT, build, copy_project, fresh_environment, install, run

pytestmark = pytest.mark.slow
PROGRAM = """\
import ddl_teach
from ddl_teach.collectives import ring
from numpy import full

def program(comm):
    x = full(1000, comm.rank)
    ring.allreduce(comm, x)
    return int(x[0])

print(ddl_teach.__file__)
print(ddl_teach.simulate(program, ranks=4).results)
"""
LOADED = """
import sys
import sysconfig

site = sysconfig.get_paths()["purelib"], *open(sys.argv[1]).read().splitlines()
files = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
print(sorted({name.partition(".")[0] for name, file in files.items() if file.startswith(site)}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    copy_project(folder)
    return build(folder)


def test_the_wheel_holds_every_file_of_the_package(wheel):
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file()]
    here = {path.relative_to(ROOT).as_posix() for path in files if path.suffix != ".pyc"}
    with zipfile.ZipFile(wheel) as held:
        there = {name for name in held.namelist() if name.split("/")[0] in PACKAGES}
    assert there == here
    assert {f"{name}/py.typed" for name in PACKAGES} < there


def test_an_installed_wheel_runs_a_ring_in_another_folder(wheel, tmp_path):
    python, site = fresh_environment(tmp_path / "fresh")
    install(wheel, python)
    file, results = run(python, "-I", "-c", PROGRAM, cwd=tmp_path).splitlines()
    assert Path(file) == site / "ddl_teach" / "__init__.py"
    assert results == "[6, 6, 6, 6]"
    assert "ddl-teach" in run(tmp_path / "fresh" / "bin" / "ddl-teach", "--help", cwd=tmp_path)


def test_simulated_ranks_load_numpy_and_greenlet_alone(wheel, tmp_path):
    python, site = fresh_environment(tmp_path / "fresh")
    install(wheel, python)
    told = run(python, "-I", "-c", PROGRAM + LOADED, str(site / "others.pth"), cwd=tmp_path)
    assert told.splitlines()[-1] == "['ddl_runtime', 'ddl_teach', 'greenlet', 'numpy']"
