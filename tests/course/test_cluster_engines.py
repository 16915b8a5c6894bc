"""Engines of a ground: one command each to start and stop them, and keys that nobody sees."""

import json
import os
import stat

import psutil
import pytest

from ddl_teach.cli import main
from ddl_teach.course.cluster import engines


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
        ).get(60)  # and no longer for output, whose end may have come before anybody listened
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


def test_what_cannot_be_done_is_said(home, capsys):
    for words, said in (
        (["start", "hosts"], "--hostfile FILE"),
        (["start", "laptop", "--ranks", "2", "--nodes", "3"], "each node has at least one rank"),
        (["check", "hosts", "--hostfile", str(home / "none")], "cannot be read"),
    ):
        assert main(["cluster", *words]) == 2
        assert said in capsys.readouterr().err
