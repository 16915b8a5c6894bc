"""Where engines run: chosen once for a class, and what each place does to start and end them."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from ddl_class import Engines
from ddl_class.clusters import grounds, places
from ddl_class.clusters.many_nodes import find_nodes
from ddl_class.commands.mistake import Mistake
from ddl_runtime.diagnosis.deadlock import Deadlock, RankFailed, TimedOut

ROOT = Path(__file__).resolve().parents[2]
SLURM = ROOT / "cluster_setup" / "slurm"
PATIENCE = 100


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """`notes(engines="slurm", ...)` are those of this site."""
    monkeypatch.delenv(places.VARIABLE, raising=False)

    def write(**values):
        file = tmp_path / "site.sh"
        file.write_text("".join(f"SITE_{k.upper()}='{v}'\n" for k, v in values.items()))
        monkeypatch.setenv("DDL_TEACH_SITE", str(file))

    write()
    return write


@pytest.mark.parametrize(
    ("on", "variable", "noted", "expected"),
    [
        (None, None, "", "laptop"),
        (None, None, "slurm", "slurm"),
        (None, "hosts", "slurm", "hosts"),
        ("laptop", "hosts", "slurm", "laptop"),
    ],
)
def test_the_nearest_word_counts(notes, monkeypatch, on, variable, noted, expected):
    notes(engines=noted)
    if variable:
        monkeypatch.setenv(places.VARIABLE, variable)
    assert places.chosen(on) == expected


@pytest.mark.parametrize(
    ("on", "noted", "refusal"),
    [
        ("cloud", {}, r'Engines\(on="..."\) is \'cloud\': it must be one of laptop, box'),
        (None, {"engines": "moon"}, "SITE_ENGINES is 'moon'"),
        ("job", {}, "a batch job of Slurm's"),
        ("hosts", {}, "SITE_HOSTFILE"),
        ("hosts", {"hostfile": "/none"}, "cannot be read"),
        ("slurm", {"wait": "long"}, "SITE_WAIT is a whole number"),
    ],
)
def test_a_place_that_cannot_be_is_refused_by_name(notes, monkeypatch, on, noted, refusal):
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    notes(**noted)
    with pytest.raises(Mistake, match=refusal):
        Engines(2, on=on)


def test_an_installed_course_has_no_notes(monkeypatch, tmp_path):
    monkeypatch.delenv("DDL_TEACH_SITE", raising=False)
    monkeypatch.setattr(grounds, "SETUP", tmp_path / "none")
    assert places.find_place() is None


def test_nodes_are_still_once_their_cards_send_no_more_than_small_talk(notes, monkeypatch):
    nodes, now = places.find_place("slurm"), [0.0]
    monkeypatch.setattr(places.time, "monotonic", lambda: now[0])
    assert nodes.moving(10**9)
    now[0] = 1.0
    assert nodes.moving(2 * 10**9)
    now[0] = 2.0
    assert nodes.moving(2 * 10**9 + 100)
    now[0] = 3.0
    assert not nodes.moving(2 * 10**9 + 200)


# -- a job of Slurm's: what is asked of it, by a planted one -----------------------------------

SALLOC = """#!/bin/sh
echo "salloc $*" >> {log}
while [ "${{1#-}}" != "$1" ]; do shift; done
exec env SLURM_JOB_ID=7 "$@"
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch, notes):
    """A Slurm whose nodes are this machine; the words that were said to it."""
    folder, log = tmp_path / "bin", tmp_path / "log"
    folder.mkdir()
    for name, text in (
        ("salloc", SALLOC.format(log=log)),
        ("scancel", f'#!/bin/sh\necho "scancel $*" >> {log}\n'),
        ("sinfo", "#!/bin/sh\necho localhost\n"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "3")  # of the job that a notebook may run in
    notes(engines="slurm", python=sys.executable, partition="class", pernode="2")
    return log


@pytest.mark.real
def test_engines_come_as_a_job_with_the_site_s_words(slurm):
    with Engines(3) as engines:
        engines.cell("here = comm.rank")
        assert engines.pull("here") == [0, 1, 2]
        assert "3 engines on slurm" in repr(engines)
        job, threads = engines.pull("(__import__('os').environ['SLURM_JOB_ID'], "
                                    "__import__('os').environ['OMP_NUM_THREADS'])")[0]  # fmt: skip
    assert (job, threads) == ("7", "1")
    words = {"--partition=class", "--ntasks=3", "--nodes=2", "--ntasks-per-node=2"}
    assert words <= set(slurm.read_text().split())
    assert re.search(r"--job-name=ddl-\w+", slurm.read_text())


@pytest.mark.real
@pytest.mark.long
def test_a_job_that_is_never_given_nodes_is_given_up_in_time(slurm, tmp_path, notes):
    waits = "#!/bin/sh\necho 'salloc: Pending job allocation 7'\nexec sleep 600\n"
    (tmp_path / "bin" / "salloc").write_text(waits)
    notes(engines="slurm", python=sys.executable, wait="2")
    with pytest.raises(Exception, match="Pending job allocation 7") as refused:
        Engines(2)
    assert "ddl-teach cluster check slurm" in str(refused.value)
    assert "scancel --quiet --name=ddl-" in slurm.read_text()


def test_ranks_of_a_job_are_started_by_what_the_site_names(tmp_path, notes):
    program = tmp_path / "srun"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    notes(mpi="srun --mpi=cray_shasta", python=sys.executable)
    done = subprocess.run(
        [SLURM / "ranks", "4", "true"],
        env=os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "--mpi=cray_shasta --overlap -n 4 true"


# -- hosts: this machine by its name, for which Open MPI needs no ssh --------------------------


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    """Two engines that know the notebook by its address alone, as those of another machine."""
    folder = tmp_path_factory.mktemp("far")
    (folder / "hosts").write_text("localhost slots=4\n")
    (folder / "site.sh").write_text(f"SITE_ENGINES=hosts\nSITE_HOSTFILE={folder}/hosts\n")
    InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DDL_TEACH_SITE", str(folder / "site.sh"))
        patch.setattr(places, "CALL_LIMIT", 1)
        with Engines(2, timeout=PATIENCE) as engines:
            yield engines
    InteractiveShell.clear_instance()


@pytest.mark.real
def test_far_engines_are_engines_as_any(far):
    far.cell("here = comm.rank", timeout=PATIENCE)
    assert far.pull("here") == [0, 1]
    assert far.run(lambda comm: comm.size).results == [2, 2]


@pytest.mark.real
def test_the_readmes_first_lines_run_where_the_notes_say(far, monkeypatch):
    text = (ROOT / "cluster_setup" / "README.md").read_text()
    [snippet] = [
        it for it in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Engines" in it
    ]
    *lines, last = snippet.replace("Engines(4)", "Engines(2)").strip().splitlines()
    exec("\n".join(lines), names := {})
    assert names["engines"]._process_pool is far._process_pool  # the very same ranks
    assert eval(last, names) == [0, 0]
    far._stopped = False


@pytest.mark.real
def test_they_join_a_controller_of_ipyparallel_encrypted(far):
    far.push(kept=5)
    client = far.client
    assert client[:]["kept"] == [5, 5]
    assert client[:].apply_sync(socket.gethostname) == [socket.gethostname()] * 2
    assert "curve_serverkey" in far._controller.connection


@pytest.mark.real
def test_a_deadlock_is_told_as_data(far):
    with pytest.raises(Deadlock) as refused:
        far.cell("comm.recv(np.zeros(3), 1 - comm.rank)", timeout=PATIENCE)
    assert sorted(refused.value.cycle) == [0, 1]


@pytest.mark.real
def test_a_rank_that_holds_python_tells_where_it_is(far):
    code = "import ctypes\nif comm.rank: ctypes.PyDLL(None).sleep(1000)"
    with pytest.raises(TimedOut, match=r"rank 1  at line 2 of cell"):
        far.cell(code, timeout=3)


@pytest.mark.real
def test_a_rank_that_dies_costs_the_engines_and_they_come_again(far):
    with pytest.raises(RankFailed):
        far.cell("import os\nif comm.rank: os._exit(3)\ncomm.barrier()", timeout=PATIENCE)
    far.cell("here = comm.size", timeout=PATIENCE)
    assert far.pull("here") == [2, 2]


@pytest.mark.real
def test_a_node_that_does_not_answer_is_named(far, monkeypatch):
    monkeypatch.setattr(grounds, "SSH", ("false",))
    assert far._process_pool.place.troubles() == ["localhost does not answer"]


@pytest.mark.real
def test_unit_20_takes_the_nodes_that_the_site_names(far, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ground = find_nodes(1, 2)
    assert ground.what == "2 engines on hosts"
    with ground.accident(tmp_path, step=1):  # real nodes stay whole
        assert ground.engines.run(lambda comm: comm.rank).results == [0, 1]
