"""The doctor finds what is there, and names what is wrong with the way to mend it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from ddl_class.doctor import machine_checks, mpi_checks, whole_class
from ddl_class.doctor.finding import CheckResult, ask, report

pytestmark = pytest.mark.real


def test_this_machine_is_fit():
    findings = whole_class.examine()
    assert [f for f in findings if f.status == "fail"] == []
    assert {f.name for f in findings} >= {"Python", "torch", "MPI library", "mpiexec", "two ranks"}
    assert [f for f in findings if "could not be checked" in f.found] == []
    assert all(f.mend for f in findings if f.status != "ok")


def test_a_broken_check_hides_no_other():
    def shaky_ground():
        raise OSError("no such thing")

    findings = whole_class.examine([shaky_ground, machine_checks.python])
    assert (findings[0].name, findings[0].status) == ("shaky ground", "warn")
    assert "OSError: no such thing" in findings[0].found
    assert findings[1].name == "Python"


def test_report_counts_and_mends():
    text = report(
        [
            CheckResult("cores", "ok", "2"),
            CheckResult("mpiexec", "fail", "a mixture", "Take the other."),
        ]
    )
    assert "fail  mpiexec  a mixture\n" in text
    assert "> Take the other." in text
    assert "1 to mend" in text


def fake_mpiexec(folder, version):
    path = folder / "mpiexec"
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "version", ["mpiexec (Open MPI) 4.1.4", "HYDRA build details:\n    Version:   4.3.1"]
)
def test_a_foreign_mpiexec_is_a_mixture(monkeypatch, tmp_path, version):
    monkeypatch.setattr(mpi_checks, "mpiexec_path", lambda: fake_mpiexec(tmp_path, version))
    finding = mpi_checks.starter()
    assert finding.status == "fail"
    assert "a mixture" in finding.found


def test_another_mpiexec_on_the_path_is_named(monkeypatch, tmp_path):
    other = fake_mpiexec(tmp_path, "mpiexec (Open MPI) 4.1.4")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    finding = mpi_checks.starter()
    assert finding.status == "warn"
    assert f"Open MPI 4.1.4, {other}" in finding.found


def test_ranks_that_each_believe_to_be_alone(monkeypatch):
    alone = ["sh", "-c", '"$0" "$@"; "$0" "$@"']  # what the wrong mpiexec does
    monkeypatch.setattr(mpi_checks, "mpi_command", lambda ranks: alone)
    finding = mpi_checks.two_ranks()
    assert finding.status == "fail"
    assert "each in a world of [1]" in finding.found


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        ("[0, 2]\n[1, 2]\n", [[0, 2], [1, 2]]),
        ("[0, 2][1, 2]\n\n", [[0, 2], [1, 2]]),
        ("[vm:4711] mca: no component\n[1,0] no line of ours\n[0, 2]\n", [[0, 2]]),
        ('{"name": "a"} \n[vm', [{"name": "a"}]),
    ],
    ids=["lines", "joined", "a starter's own", "cut"],
)
def test_answers_are_read_from_among_what_a_starter_says(said, answers):
    assert ask([sys.executable, "-c", f"print({said!r}, end='')"]) == answers


def test_ranks_that_do_not_start(monkeypatch):
    monkeypatch.setattr(
        mpi_checks, "mpi_command", lambda ranks: ["sh", "-c", "echo no >&2; exit 3"]
    )
    assert mpi_checks.two_ranks().found == "2 ranks did not start: no"


def test_settings_of_another_installation(monkeypatch):
    monkeypatch.setenv("OPAL_PREFIX", "elsewhere")
    finding = mpi_checks.settings()
    assert (finding.status, "unset OPAL_PREFIX" in finding.mend) == ("warn", True)


def test_who_chooses_a_library_that_is_there_is_let_alone(monkeypatch):
    monkeypatch.setattr(mpi_checks, "_library", lambda: ("MPICH", "4.3.2", "libmpi.so.12"))
    monkeypatch.setenv("MPI4PY_MPIABI", "mpich")
    assert mpi_checks.settings().status == "ok"
    monkeypatch.setattr(mpi_checks, "_library", lambda: "cannot load MPI library")
    assert "unset MPI4PY_MPIABI" in mpi_checks.settings().mend


@pytest.mark.parametrize(("free", "status"), [(64, "warn"), (8, "fail"), (1024, "ok")])
def test_little_shared_memory(monkeypatch, tmp_path, free, status):
    monkeypatch.setattr(machine_checks, "SHARED_MEMORY", tmp_path)
    usage = machine_checks.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        machine_checks.shutil,
        "disk_usage",
        lambda _: usage._replace(free=free * 2**20),
    )
    assert machine_checks.shared_memory().status == status


@pytest.mark.parametrize("module", ["ddl_runtime.launcher.worker", "ddl_class.engines.engine"])
def test_left_over_ranks_and_engines_are_found(module):
    """A starter that dies leaves its worker to init; the doctor names it."""
    idle = "import time; time.sleep(60)"
    words = f"[sys.executable, '-c', {idle!r}, {module!r}]"
    start = f"import subprocess, sys; print(subprocess.Popen({words}, stdout=2).pid)"
    done = subprocess.run([sys.executable, "-c", start], stdout=subprocess.PIPE, text=True)
    number = int(done.stdout)
    try:
        deadline = time.monotonic() + 20
        while str(number) not in machine_checks.leftovers().mend:
            assert time.monotonic() < deadline
    finally:
        os.kill(number, signal.SIGKILL)


def test_packages_that_differ_from_the_lock(monkeypatch, tmp_path):
    (tmp_path / "requirements.lock").write_text("numpy==0.1\nno-such-package==2\n")
    monkeypatch.setattr(machine_checks, "ROOT", tmp_path)
    finding = machine_checks.packages()
    assert finding.status == "warn"
    assert "(not 0.1), no-such-package missing (not 2)" in finding.found
