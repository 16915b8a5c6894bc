"""A real Slurm on the nodes of a box: jobs, engines, and long runs that are started again."""

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import pytest
from boxes import box_or_skip
from readme_of_clusters import SNIPPETS, line

from ddl_class.commands.mistake import Mistake
from ddl_runtime.launcher.mpiexec import mpi_family, mpiexec_path
from ddl_teach import simulate
from ddl_teach.fault_tolerance.checkpoints import steps
from ddl_teach.fault_tolerance.long_run import long_run

pytestmark = pytest.mark.box

ROOT = Path(__file__).resolve().parents[2]
NAME = f"slurm-{os.getpid()}"
PATIENCE = 120.0  # seconds for what must come
HELLO = """
import socket
from ddl_teach import join
run = join(lambda comm: socket.gethostname())
if run is not None:
    print("ranks on", *run.results, flush=True)
"""
BEGINS, WITHIN = line(". "), line("srun --mpi=pmix")
JOB = f"""#!/bin/sh
#SBATCH --ntasks-per-node=1
{BEGINS}
{line("$SITE_MPI").replace("program.py", "hello.py")}
# Twice, if need be: Open MPI under Slurm's PMIx can die in MPI_Init (see cluster_setup/README.md).
{WITHIN.replace("pmix", '"$1"')} python hello.py || srun --mpi="$1" python hello.py
"""


ENGINES = """
import sys
from ddl_class.engines.pool import Engines
from ddl_runtime.diagnosis.deadlock import Deadlock
engines = Engines(3, on=sys.argv[1], timeout=100)
engines.cell("import socket")
print("ranks on", *engines.pull("socket.gethostname()"))
try:
    engines.cell("comm.recv(np.zeros(3), (comm.rank + 1) % comm.size)")
except Deadlock as error:
    print("ring of", sorted(error.cycle))
print("tasks on", engines.client[:]["comm.rank"])
engines.stop()
"""
ENGINES_JOB = f"""#!/bin/sh
#SBATCH --ntasks-per-node=1
{BEGINS}
python engines.py job
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the course whose notes name this Python."""
    folder = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "cluster_setup", folder / "cluster_setup")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "ddl_teach", folder / "ddl_teach", ignore=ignored)
    with open(folder / "cluster_setup" / "site.sh", "a") as notes:
        notes.write(f"SITE_PYTHON='{sys.executable}'\nSITE_PERNODE=1\n")
    (folder / "engines.py").write_text(ENGINES)
    (folder / "engines_job").write_text(ENGINES_JOB)
    (folder / "hello.py").write_text(HELLO)
    (folder / "job").write_text(JOB)
    return folder


@pytest.fixture(scope="module")
def box(course):
    with box_or_skip(NAME, nodes=3, share=[str(course)], with_slurm=True) as made:
        yield made
    assert not made.folder.exists()


@pytest.fixture
def head(box, course, monkeypatch):
    """`head("squeue", ...)` is what a command on the head prints."""

    monkeypatch.chdir(course)

    def say(*words):
        told = box.hosts.run("head", words, text=True, capture_output=True, timeout=5 * PATIENCE)
        assert told.returncode == 0, told.stdout + told.stderr
        return told.stdout

    return say


def submit(head, *words):
    return head("cluster_setup/slurm/submit", *words)


def eventually(happened):
    """Wait for an event, however busy the machine is; what it has become."""
    ends = time.monotonic() + PATIENCE
    while not (found := happened()):
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def jobs(box, course):
    """Two that run beside the tests: ranks by each way there is, and the doctor of nodes."""
    way = "pmix" if mpi_family(mpiexec_path()) == "openmpi" else "pmi2"
    words = {
        "ranks": ["--nodes=3", "job", way],
        "doctor": ["--nodes=2", "cluster_setup/slurm/check.sbatch", "--folder", str(course)],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(course)
        for name, (nodes, *script) in words.items():
            command = ["cluster_setup/slurm/submit", nodes, f"--output={name}.out", *script]
            assert box.hosts.run("head", command).returncode == 0


def begun(log):
    """The steps at which a long run has begun, so far."""
    told = log.read_text(errors="replace") if log.exists() else ""
    return [int(step) for step in re.findall(r"begins at step (\d+) of", told)]


@pytest.mark.long
def test_a_long_run_is_asked_to_go_and_loses_a_node_and_ends_the_same(head, box, course, jobs):
    kept, log = course / "kept", course / "long.out"
    program = ["-m", "ddl_teach.fault_tolerance.long_run", "kept", "--steps=1000000", "--every=20"]
    options = ["--parsable", "--nodes=2", f"--output={log}", "--time=60"]
    script = "cluster_setup/slurm/long.sbatch"
    job = submit(head, *options, script, "kept/result.json", *program, "--seconds=0.02").strip()
    own = kept / "rank-1-of-2"
    eventually(lambda: own.is_dir() and steps(own))

    # Asked to go, as Slurm asks before the time is up, and once more while it goes.
    for _ in range(2):
        head(*line("scancel --batch").replace("JOB", job).split())
    eventually(lambda: len(begun(log)) == 2)
    assert begun(log)[1] > 0
    assert "It was asked to go, and ended with status 75." in log.read_text(errors="replace")

    # Thrown out without a word.
    saved = steps(own)[-1]
    eventually(lambda: steps(own)[-1] > saved)
    head(*line("scontrol requeue").replace("JOB", job).split())
    eventually(lambda: len(begun(log)) == 3)
    assert begun(log)[2] > begun(log)[1]

    # A node dies, and nobody waits until Slurm notices: it is given up, the job goes to others.
    eventually(lambda: head("squeue", "--noheader", "--format=%A").split() == [job])
    names = head("squeue", f"--job={job}", "--noheader", "--format=%N").strip()
    other = head("scontrol", "show", "hostnames", names).split()[-1]
    box.hosts.power_off(other)
    head("scontrol", "update", f"nodename={other}", "state=down", "reason=off")
    eventually(lambda: len(begun(log)) > 3)
    later = begun(log)[-1]
    eventually(lambda: steps(own)[-1] > later)
    head("scancel", job)
    eventually(lambda: not head("squeue", "--noheader"))

    assert sorted(begun(log)) == begun(log)
    ends = {"steps": steps(own)[-1] + 5, "every": 10**6}
    for folder in (kept, course / "alone"):
        assert simulate(long_run, 2, folder=str(folder), **ends).results == [True] * 2
    results = [json.loads((it / "result.json").read_text()) for it in (kept, course / "alone")]
    assert results[0] == results[1]
    box.mend(other)
    assert other in head("sinfo", "--noheader", "--Node", "--states=idle", "--format=%N")


def test_jobs_start_ranks_on_all_of_their_nodes(head, course, jobs):
    eventually(lambda: not head("squeue", "--noheader"))
    told = (course / "ranks.out").read_text()
    assert told.count("ranks on node0 node1 node2\n") == 2, told


def test_the_doctor_finds_the_nodes_of_a_job_fit(head, course, jobs):
    eventually(lambda: not head("squeue", "--noheader"))
    told = (course / "doctor.out").read_text()
    assert "This cluster is fit for the course" in told, told
    assert "2 ranks know of each other, on 2 nodes" in told


@pytest.mark.long
def test_engines_come_as_a_job_and_go(head, box, course):
    """By the README's words, on the three nodes that this box has. One of them stands for another
    login node: it has not started the engines."""
    around = ["env", f"IPYTHONDIR={course / 'ipython'}", f"PYTHONPATH={course}", sys.executable]

    def type_line(begins, *more):
        words = line(begins).replace("--nodes 4", "--nodes 3").split()
        return head(*around, "-m", "ddl_teach", *words[1:], *more)

    assert "8 engines run" in type_line("ddl-teach cluster start slurm", "--limit=600")
    (course / "script.py").write_text(SNIPPETS[1].replace('"laptop"', '"slurm"'))
    script = [*around, str(course / "script.py")]
    told = box.hosts.run("node2", script, text=True, capture_output=True, timeout=5 * PATIENCE)
    ranks = [
        sorted(re.findall(r"^(\d) 8 \d$", said, re.M)) for said in (head(*script), told.stdout)
    ]
    assert ranks == [list("01234567")] * 2, told.stderr
    assert "ddl-engines node[0-2]" in head("squeue", "--noheader", "--format=%j %N")
    assert "partitions: main, urgent" in type_line("ddl-teach cluster check slurm").replace(
        "*", ""
    )
    assert "They are gone" in type_line("ddl-teach cluster stop slurm")
    eventually(lambda: not head("squeue", "--noheader"))


@pytest.mark.parametrize("on", ["slurm", "job"])
@pytest.mark.sampled(2)
def test_a_notebook_s_engines_are_on_the_nodes_of_a_job(head, course, on):
    site = f"DDL_TEACH_SITE={course}/cluster_setup/site.sh", f"PYTHONPATH={ROOT}"
    if on == "slurm":
        answer = head("env", *site, sys.executable, "engines.py", on)
    else:
        words = ["cluster_setup/slurm/submit", "--wait", "--nodes=3", "--output=engines.out"]
        head("env", *site, *words, "engines_job")
        answer = (course / "engines.out").read_text()
    assert "ranks on node0 node1 node2" in answer
    assert "ring of [0, 1, 2]" in answer
    assert "tasks on [0, 1, 2]" in answer
    eventually(lambda: not head("squeue", "--noheader"))


def test_where_packages_cannot_be_had_it_is_said(monkeypatch, tmp_path):
    from ddl_class.clusters.box import slurm

    monkeypatch.setattr(slurm, "installed", lambda: False)
    monkeypatch.setattr(slurm.Path, "home", lambda: tmp_path)
    for apt, words in (
        ("", "no apt-get to download Debian's"),
        ("echo 'no route to host' >&2; exit 100", "apt-get install said\nno route to host"),
    ):
        folder = tmp_path / f"bin{len(apt)}"
        folder.mkdir()
        for name in ("apt-get", "dpkg") if apt else ():
            (folder / name).write_text(f"#!/bin/sh\n{apt}\n")
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        with pytest.raises(Mistake, match=words) as refused:
            slurm.over_usr()
        assert "leave --slurm away" in str(refused.value)
    kept = [it for it in tmp_path.rglob("*") if it.parent.name == "ddl-teach"]
    assert kept == []  # nothing half unpacked
