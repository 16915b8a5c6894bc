"""Debian's own Open MPI and MPICH: mpi4py is built against each by the one command, and ranks run.

Nothing is installed. The packages are downloaded, unpacked and laid over /usr, in a world of
mounts that only the commands of this test see.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from debian import LIMIT, said, unpacked
from readme_of_clusters import line

from ddl_class.clusters.box.plan import as_root

pytestmark = [pytest.mark.long, pytest.mark.real, pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"openmpi": ["libopenmpi-dev", "openmpi-bin"], "mpich": ["libmpich-dev", "mpich"]}
OVER = """
for part in usr etc; do
    [ ! -d "$0/$part" ] || mount -t overlay overlay -o "lowerdir=$0/$part:/$part" "/$part" || exit
done
exec "$@"
"""
PROGRAM = """
from ddl_class import Engines
from ddl_runtime.diagnosis.deadlock import Deadlock
from ddl_teach import launch
from ddl_teach.collectives import ring
def program(comm):
    from mpi4py import MPI
    import numpy as np
    ring.allreduce(comm, total := np.full(5, 1.0 + comm.rank))
    return total[0], MPI.Get_library_version()
for total, library in launch(program, ranks=3).results:
    print("sum", total, "by", *library.split()[:3])
with Engines(3, timeout=100) as engines:
    try:
        engines.cell("comm.recv(np.zeros(3), (comm.rank + 1) % comm.size)")
    except Deadlock as error:
        print("ring of", sorted(error.cycle))
    print("tasks on", engines.client[:]["comm.rank"])
"""


@pytest.fixture(params=PACKAGES)
def system(request, tmp_path):
    """`system(command)` runs where this MPI is the system's own."""
    family = request.param
    root = unpacked(PACKAGES[family], tmp_path / "packages")
    if root is None:
        pytest.skip("it is installed, and whether it works the doctor says")
    for name in ("mpicc", "mpiexec"):  # names that installing would make
        (root / "usr/bin" / name).symlink_to(f"{name}.{family}")
    inside = ["unshare", *as_root(os.geteuid() == 0), "--mount", "sh", "-c", OVER, root]
    said([*inside, "mpicc", "-show"])

    python = tmp_path / "venv" / "bin" / "python"
    venv.create(tmp_path / "venv", with_pip=True)
    [packages] = (tmp_path / "venv").glob("lib/*/site-packages")
    (packages / "course.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n")
    (tmp_path / "site.sh").write_text(f"SITE_PYTHON='{python}'\n")
    clean = os.environ | {"DDL_TEACH_SITE": str(tmp_path / "site.sh")}
    beside = str(Path(sys.prefix) / "bin")  # where the mpiexec of the course's own MPI is
    folders = [folder for folder in os.get_exec_path() if folder != beside]
    clean |= {"PATH": os.pathsep.join(["/usr/bin", *folders]), "CFLAGS": "-O0"}  # builds sooner

    def run(*words):
        return subprocess.run(
            [*inside, *words], env=clean, text=True, capture_output=True, timeout=LIMIT
        )

    yield family, run, python
    shutil.rmtree(root)


def test_the_one_command_and_then_ranks_of_the_system_s_own_mpi(system):
    family, run, python = system
    built = run(ROOT / line("cluster_setup/system_mpi"))
    if "Could not find a version" in built.stdout + built.stderr:
        pytest.skip("the source of mpi4py cannot be downloaded here")
    assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-3000:]
    library = {"openmpi": "Open MPI v4.1", "mpich": "MPICH Version: 4.0"}[family]
    assert library in " ".join(built.stdout.split())
    done = run(python, "-c", PROGRAM)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f"sum 6.0 by {library}") == 3, done.stdout
    assert "ring of [0, 1, 2]" in done.stdout
    assert "tasks on [0, 1, 2]" in done.stdout
