"""The site's notes mean the same to Python and to a shell; batch scripts get what they name."""

import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from ddl_class.clusters.grounds import SETUP, Site, login_node, read_site, submission
from ddl_class.commands.mistake import Mistake

FILLED = """
SITE_PARTITION=gpu   # the small one
SITE_ACCOUNT='class 2026'
SITE_RESERVATION=monday
SITE_CONSTRAINT="haswell|knl"
SITE_GRES=tmp:4
SITE_TIME=01:00:00
SITE_GPUS=2
SITE_MODULES="gcc openmpi"
SITE_MPI="srun --mpi=pmix"
SITE_INTERFACE=ib0
"""


@pytest.fixture
def setup(tmp_path):
    """A copy of the files, beside a course whose Python is this one."""
    copy = tmp_path / "course" / "cluster_setup"
    shutil.copytree(SETUP, copy)
    return copy


@pytest.fixture
def command(tmp_path, monkeypatch):
    """`command(name, script)` plants one on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    def plant(name, script):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return plant


def variables(done):
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_the_notes_that_are_handed_out_ask_for_nothing():
    assert read_site() == Site()
    named = re.findall(r"^SITE_(\w+)=", (SETUP / "site.sh").read_text(), re.MULTILINE)
    assert {name.lower() for name in named} == set(Site.__dataclass_fields__)


def profile(name):
    return (SETUP / "sites" / name).read_text()


PROFILES = sorted(path.name for path in (SETUP / "sites").glob("*.sh"))


@pytest.fixture(params=["handed out", "none", "filled", *PROFILES])
def notes(request, setup, monkeypatch):
    """A site's notes, beside which no others count."""
    for name in [
        name for name in os.environ if name.startswith(("SITE_", "DDL_TEACH_", "SLURM_"))
    ]:
        monkeypatch.delenv(name)
    texts = {"handed out": (setup / "site.sh").read_text(), "none": "", "filled": FILLED}
    text = texts[request.param] if request.param in texts else profile(request.param)
    (setup / "site.sh").write_text(text)
    return read_site(setup / "site.sh")


@pytest.mark.parametrize(("script", "program"), [("submit", "sbatch"), ("allocate", "salloc")])
def test_a_shell_and_python_submit_alike(setup, command, notes, script, program, monkeypatch):
    monkeypatch.setenv("SLURM_NTASKS", "7")  # of a job in which this may run
    command(program, 'for word; do echo "$word"; done; env')
    done = subprocess.run(
        [setup / "slurm" / script, "--nodes=2", "job"],
        capture_output=True,
        text=True,
        check=True,
    )
    words = done.stdout.splitlines()
    named = ["--job-name=ddl-engines"] if script == "allocate" else []
    expected = [*submission(notes), *named, "--nodes=2", "job"]
    assert words[: len(expected)] == expected
    assert f"DDL_TEACH_COURSE={setup.parent}" in words
    assert ("SLURM_NTASKS=7" in words) == (script == "submit")


MODULE = 'module() { echo loaded="$*"; }'


def begin(setup, *lines, known=MODULE, shell="sh", **environment):
    script = "\n".join([f". {setup}/slurm/begin.sh", "env", 'echo "MPI=$SITE_MPI"', *lines])
    return subprocess.run(
        [shell, "-c", f"{known}\n{script}"],
        env=os.environ | {"DDL_TEACH_COURSE": str(setup.parent)} | environment,
        capture_output=True,
        text=True,
    )


def test_a_batch_script_begins_with_the_site_s_own(setup):
    (setup / "site.sh").write_text(f"{FILLED}\nSITE_PYTHON='{sys.executable}'\n")
    found = variables(begin(setup, "command -v python | sed s/^/which=/"))
    assert found["loaded"] == "load gcc openmpi"
    assert found["MPI"] == "srun --mpi=pmix"
    assert Path(found["which"]).parent == Path(sys.executable).parent
    for name in ("OMPI_MCA_btl_tcp_if_include", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        assert found[name] == "ib0"
    assert "SLURM_MPI_TYPE" not in found


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("named", ["SITE_MODULEFILE", "MODULESHOME"])
def test_modules_are_loaded_by_a_shell_that_did_not_know_them(setup, tmp_path, shell, named):
    file = tmp_path / "init" / "sh"
    file.parent.mkdir()
    file.write_text(f"{MODULE}\n")
    (setup / "site.sh").write_text(
        f"SITE_MODULES='gcc mpi'\nSITE_PYTHON='{sys.executable}'\n"
        + (f"SITE_MODULEFILE={file}\n" if named == "SITE_MODULEFILE" else "")
    )
    home = {"MODULESHOME": str(tmp_path)} if named == "MODULESHOME" else {}
    done = begin(setup, known="", shell=shell, **home)
    assert variables(done)["loaded"] == "load gcc mpi"


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("", "Name the file that defines it as SITE_MODULEFILE"),
        ("module() { return 1; }", "`module load gcc` failed. Mend SITE_MODULES"),
    ],
)
def test_modules_that_cannot_be_loaded_end_the_job(setup, known, words):
    (setup / "site.sh").write_text(f"SITE_MODULES=gcc\nSITE_PYTHON='{sys.executable}'\n")
    done = begin(setup, "echo went on", known=known, MODULESHOME="", LMOD_PKG="")
    assert done.returncode == 1
    assert words in done.stderr
    assert "went on" not in done.stdout


def test_a_job_without_the_course_s_python_says_so(setup):
    done = begin(setup)
    assert done.returncode == 1
    assert "Run start.py once, or mend SITE_PYTHON" in done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("SITE_PARTITON=gpu", "SITE_PARTITON is unknown; there are SITE_ACCOUNT"),
        ("SITE_MODULES=gcc openmpi", "not NAME=value"),
        ("module load gcc", "not NAME=value"),
        ("SITE_QOS='open", "No closing quotation"),
        ("SITE_GPUS=two", "whole number"),
    ],
)
def test_a_note_that_is_not_understood_is_named(tmp_path, line, said):
    notes = tmp_path / "site.sh"
    notes.write_text(f"# a page\nSITE_TIME=1\n{line}\n")
    with pytest.raises(Mistake, match=re.escape(said)):
        read_site(notes)


def test_notes_that_are_missing(tmp_path):
    with pytest.raises(Mistake, match="cannot be read"):
        read_site(tmp_path / "site.sh")


def test_a_login_node_is_asked_what_it_would_take(command):
    command("sinfo", "echo 'class up 1:00:00 idle'; echo 'gpu up 1:00:00 down'")
    command("sbatch", 'echo "sbatch: Job 7 to start at noon, $3" >&2')
    well = login_node(Site(partition="gpu", account="ours"))
    assert [finding.status for finding in well] == ["ok", "ok"]
    assert well[1].found == "Job 7 to start at noon, --account=ours"
    command("sbatch", "echo 'allocation failure: Invalid account' >&2; exit 1")
    ill = login_node(Site(partition="fast"))
    assert [finding.status for finding in ill] == ["ok", "fail", "fail"]
    assert "one of class, gpu" in ill[1].mend
    assert "Invalid account" in ill[2].found


def test_no_slurm_at_all(command, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert login_node(Site())[0].found == "no sbatch here"
    command("sbatch", "true")
    command("sinfo", "exit 1")
    assert "does not answer" in login_node(Site())[0].found


def test_every_shell_file_can_be_read_by_a_shell():
    scripts = [*(SETUP / "slurm").iterdir(), *(SETUP / "sites").iterdir(), SETUP / "site.sh"]
    assert len(scripts) >= 12
    for script in scripts:
        assert subprocess.run(["sh", "-n", script]).returncode == 0


# -- a hub for a class, and a container ------------------------------------------------------


class Settings(types.SimpleNamespace):
    """What traitlets' configuration is: any name, any depth."""

    def __getattr__(self, name):
        self.__dict__[name] = Settings()
        return self.__dict__[name]


def test_the_hub_encrypts_and_listens_where_it_should(setup, command, monkeypatch):
    command("sinfo", "printf 'n1\\nn2\\nn1\\n'")
    monkeypatch.setenv("DDL_HUB_FOLDER", "/keys")
    for name, one in (
        ("batchspawner", "SlurmSpawner"),
        ("jupyterhub.spawner", "LocalProcessSpawner"),
    ):
        planted = types.ModuleType(name)
        setattr(planted, one, type(one, (), {"move_certs": print}))
        monkeypatch.setitem(sys.modules, name, planted)
    monkeypatch.setitem(sys.modules, "jupyterhub", types.ModuleType("jupyterhub"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    (setup / "site.sh").write_text("SITE_INTERFACE=lo\nSITE_PARTITION=class\n")
    config = Settings()
    file = setup / "jupyterhub" / "jupyterhub_config.py"
    exec(
        compile(file.read_text(), file, "exec"),
        {"get_config": lambda: config, "__file__": str(file), "__name__": "config"},
    )
    hub = config.JupyterHub
    assert hub.internal_ssl is True
    assert hub.ssl_cert == "/keys/hub.crt"
    for url in (hub.bind_url, hub.hub_bind_url, hub.hub_connect_url):
        assert url.startswith("https://127.0.0.1:")
    assert config.Spawner.ssl_alt_names == ["DNS:n1", "DNS:n2"]
    assert config.NodeSpawner.req_partition == "class"
    assert "begin.sh" in config.NodeSpawner.req_prologue
    assert '{{cmd}} --ip="$(hostname)"' in config.NodeSpawner.batch_script


def test_the_container_is_made_of_files_that_exist():
    text = (SETUP / "apptainer" / "ddl-teach.def").read_text()
    files = re.search(r"%files\n(.*?)\n\n", text, re.DOTALL)[1].split()
    for name in [word for word in files if word != "/course/"]:
        assert (SETUP.parent / name).exists(), name
    sections = re.findall(r"^%(\w+)", text, re.MULTILINE)
    assert {"files", "post", "test", "runscript", "help"} <= set(sections)
