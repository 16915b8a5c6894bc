"""Who may have a cluster in a box, and what is said to those who may not."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from ddl_class.clusters.box.plan import check_system, refusal
from ddl_class.commands.mistake import Mistake

pytestmark = pytest.mark.box

ROOT = Path(__file__).resolve().parents[2]
SOMEBODY = 54321
BECOME = ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
PACKAGES = sysconfig.get_path("purelib")
ENVIRONMENT = {
    "PATH": f"{Path(sys.prefix) / 'bin'}:{os.defpath}",
    "PYTHONPATH": f"{ROOT}:{PACKAGES}",
    "HOME": "/",
    "OMP_NUM_THREADS": "1",
}
HELLO = """
from mpi4py import MPI
import socket
every = MPI.COMM_WORLD.allgather(socket.gethostname())
if MPI.COMM_WORLD.rank == 0:
    print(every)
"""


def as_somebody(*words):
    command = [*BECOME, *words]
    return subprocess.run(command, env=ENVIRONMENT, cwd="/", capture_output=True, text=True)


@pytest.fixture
def python():
    """A Python that an ordinary user may start, and in a namespace of theirs too."""
    if sys.platform != "linux" or os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root, on Linux, can become somebody else")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for found in (sys.executable, f"/usr/bin/{version}"):
        words = ["unshare", "--user", "--map-root-user", found, "-c", "import ddl_teach, psutil"]
        if as_somebody(*words).returncode == 0:
            return found
    pytest.skip("an ordinary user may make no namespaces here, or start no Python of this version")


def test_an_ordinary_user_needs_nobody(python):
    def tool(*words):
        return as_somebody(python, "-m", "ddl_teach", "box", *words)

    done = tool("up", "--nodes", "2", "--share", sys.prefix)
    assert done.returncode == 0, done.stderr
    try:
        assert tool("exec", "node1", "hostname").stdout == "node1\n"
        if python == sys.executable:  # another one would not find this environment's MPI
            mpi = tool("exec", "head", "mpiexec", "-n", "2", python, "-c", HELLO)
            assert mpi.stdout.splitlines()[-1] == "['node0', 'node1']", mpi.stderr
    finally:
        assert tool("down").returncode == 0
        shutil.rmtree(f"/tmp/ddl-box-{SOMEBODY}")


def test_where_there_can_be_no_box_it_says_why(monkeypatch, tmp_path):
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("1\n")
    told = str(refusal("unshare: denied", root=False, system=tmp_path))
    assert "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0" in told
    assert "unshare: denied" in told
    assert "sysctl" not in str(refusal("", root=True, system=tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr("ddl_class.clusters.box.plan.search_path", lambda: str(tmp_path))
        with pytest.raises(Mistake, match="iproute2 and util-linux"):
            check_system()
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(Mistake, match="WSL2"):
        check_system()
