"""What else runs on the nodes of a box: torchrun, and a JupyterLab reached from outside."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from boxes import box_or_skip

pytestmark = pytest.mark.box

ROOT = Path(__file__).resolve().parents[2]
NAME = f"tools-{os.getpid()}"
WHO = """
import os, socket
print(os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "on", socket.gethostname(), flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("work")
    (made / "who.py").write_text(WHO)
    return made


@pytest.fixture(scope="module")
def box(folder):
    with box_or_skip(NAME, rate="1gbit", share=[str(ROOT), str(folder)]) as made:
        yield made


@pytest.mark.long
def test_torchrun_meets_on_its_first_node(box, folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = [box.python, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    words += ["--rdzv-backend=c10d", "--rdzv-endpoint=node0:29400", "who.py"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    started = [subprocess.Popen(box.hosts.words(node, words), **pipes) for node in box.nodes]
    told = [process.communicate(timeout=120)[0] for process in started]
    ranks = {line for said in told for line in said.splitlines() if " of 2 on node" in line}
    first, second = box.nodes
    assert ranks in (
        {f"0 of 2 on {first}", f"1 of 2 on {second}"},
        {f"1 of 2 on {first}", f"0 of 2 on {second}"},
    ), told


@pytest.mark.long
def test_a_browser_outside_reaches_the_lab_inside(box, folder, monkeypatch):
    monkeypatch.chdir(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "ddl_teach", "box", "lab", "--name", NAME, f"--port={port}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JUPYTER_CONFIG_DIR": str(folder / "no")}
    lab = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        line = next(line for line in lab.stdout if "JupyterLab on the head" in line)
        address = line.split()[-1]
        assert address.startswith(f"http://127.0.0.1:{port}/lab?token=")
        said = json.loads(fetched(address.replace("/lab?", "/api/contents?")))
        assert "who.py" in [each["name"] for each in said["content"]]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            fetched(address.replace("/lab?", "/api/contents?not"))
        # The token is on no command line, where everybody could read it.
        token = address.partition("=")[2]
        commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        assert token not in commands
    finally:
        lab.send_signal(signal.SIGINT)
        lab.wait(timeout=60)


def fetched(address):
    """What the server answers, once it listens."""
    ends = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError:
            raise
        except OSError:
            assert time.monotonic() < ends, "it did not answer"
            time.sleep(0.05)
