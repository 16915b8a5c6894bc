"""Engines of a ground: one command each to start and stop them, and keys that nobody sees."""

import json
import os
import re
import stat
from pathlib import Path

import ipyparallel
import psutil
import pytest

from ddl_class.cli import main
from ddl_class.clusters import engines
from ddl_class.commands.mistake import Mistake

pytestmark = pytest.mark.box

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "cluster_setup" / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
PATIENCE = 20.0  # seconds for what must come


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    yield tmp_path
    engines.stop("laptop")


def processes(folder):
    """Those that belong to ipyparallel's profiles in this folder: words and surroundings."""
    for process in psutil.process_iter():
        try:
            words, around = process.cmdline(), process.environ()
        except psutil.Error:
            continue
        if around.get("IPYTHONDIR") == str(folder) and process.pid != os.getpid():
            yield process, words, around


def test_engines_start_work_and_go(home, capsys):
    assert main(["cluster", "stop", "laptop"]) == 0
    assert main(["cluster", "start", "laptop", "--ranks", "3"]) == 0
    assert 'connect("laptop")' in capsys.readouterr().out
    security = engines.make_profile("laptop") / "security"
    told = json.loads((security / "ipcontroller-engine.json").read_text())
    assert told["interface"] == "tcp://127.0.0.1"
    assert told["signature_scheme"] == "hmac-sha256"
    secrets = told["key"], told["curve_serverkey"]
    assert all(len(secret) >= 32 for secret in secrets)
    assert stat.S_IMODE(security.stat().st_mode) == 0o700
    assert stat.S_IMODE((security / "ipcontroller-engine.json").stat().st_mode) == 0o600
    started = list(processes(home))
    assert any("ipyparallel.engine" in words for _, words, _ in started)
    for _, words, around in started:
        for secret in secrets:
            assert not any(secret in text for text in (*words, *around.values()))
    with engines.connect("laptop") as client:
        client[:].execute(
            "import numpy as np\n"
            "from ddl_teach.collectives import ring\n"
            "x = np.full(5, comm.rank + 1.0)\n"
            "ring.allreduce(comm, x)"
        ).get(60)
        assert [x.tolist() for x in client[:]["x"]] == [[6.0] * 5] * 3
    assert main(["cluster", "start", "laptop"]) == 2  # they run already
    assert "run already" in capsys.readouterr().err
    security.chmod(0o755)
    assert "chmod go=" in engines.secrets_kept("laptop").mend
    security.chmod(0o700)
    assert engines.secrets_kept("laptop").status == "ok"
    assert main(["cluster", "stop", "laptop"]) == 0
    psutil.wait_procs([process for process, _, _ in started], timeout=60)
    assert list(processes(home)) == []
    assert not (security / "ipcontroller-engine.json").exists()


@pytest.fixture
def started(home):
    assert main(["cluster", "start", "laptop", "--ranks", "2"]) == 0
    return engines.make_profile("laptop") / "security"


def test_the_readmes_first_lines_do_what_they_say(started, capsys):
    [snippet] = [each for each in SNIPPETS if "connect(" in each]
    capsys.readouterr()
    exec(snippet, names := {})
    names["client"].close()
    assert sorted(re.findall(r"^\d \d \d$", capsys.readouterr().out, re.MULTILINE)) == [
        "0 2 0",
        "1 2 0",
    ]


@pytest.mark.long
def test_a_new_client_gets_what_engines_print_at_once(started, monkeypatch):
    """As if the news of a listener were long under way: the first messages are lost."""
    heard, dispatch = [], ipyparallel.Client._dispatch_iopub

    def late(self, message):
        heard.append(message)
        if len(heard) > 12:
            dispatch(self, message)

    monkeypatch.setattr(ipyparallel.Client, "_dispatch_iopub", late)
    with engines.connect("laptop") as client:
        said = client[:].execute("print(comm.rank)")
        assert said.wait_for_output(PATIENCE)
        assert said.stdout == ["0\n", "1\n"]


def as_from_elsewhere(security, **changes):
    """The files as another machine sees them: it knows no process of this one."""
    told = json.loads((security / "ipcontroller-client.json").read_text())
    told |= {"location": "192.0.2.1"} | changes
    (security / "ipcontroller-client.json").write_text(json.dumps(told))
    file = security / "cluster-.json"
    cluster = json.loads(file.read_text())
    cluster["controller"]["state"]["pid"] = 2**22 + 1
    file.write_text(json.dumps(cluster))
    return file.read_text()


@pytest.fixture
def mended(started):
    """The files are as before, for whoever stops the engines."""
    files = {file: file.read_text() for file in started.glob("*.json")}
    yield started
    for file, text in files.items():
        file.write_text(text)


@pytest.mark.filterwarnings(r"ignore:\s*Controller appears:RuntimeWarning")
@pytest.mark.long
def test_engines_are_reached_from_another_machine(mended):
    seen = as_from_elsewhere(mended)
    with engines.connect("laptop") as client:
        assert client[:]["comm.size"] == [2, 2]
    assert (mended / "cluster-.json").read_text() == seen  # whoever may stop them still can


@pytest.mark.filterwarnings(r"ignore:\s*Controller appears:RuntimeWarning")
def test_a_controller_that_cannot_be_called_from_here_is_named(mended, monkeypatch):
    monkeypatch.setattr(engines, "CALL_LIMIT", 0.2)
    as_from_elsewhere(mended, registration=1)
    with pytest.raises(Mistake, match=r"was started on 192\.0\.2\.1, and does not answer"):
        engines.connect("laptop")


def test_engines_that_were_never_started_are_not_waited_for(home):
    with pytest.raises(Mistake, match="no engines run on laptop"):
        engines.connect("laptop")


def test_what_cannot_be_done_is_said(home, capsys):
    for words, said in (
        (["start", "hosts"], "--hostfile FILE"),
        (["start", "laptop", "--ranks", "2", "--nodes", "3"], "each node has at least one rank"),
        (["check", "hosts", "--hostfile", str(home / "none")], "cannot be read"),
    ):
        assert main(["cluster", *words]) == 2
        assert said in capsys.readouterr().err
