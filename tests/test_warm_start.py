"""A copy of the process that has loaded torch looks like any process to who started it."""

import signal
import subprocess
import sys

import pytest

from tests import warm_start

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only this system can watch the copies"),
]
PROGRAM = """
import os, sys
print("torch" in sys.modules, *sys.argv[1:], flush=True)
{}
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return warm_start.begin(str(tmp_path_factory.mktemp("warm") / "line"))


@pytest.fixture
def run(address, monkeypatch, tmp_path):
    """The start of a program with these last lines in a copy."""
    monkeypatch.setenv(warm_start.ADDRESS, address)

    def started(lines):
        (tmp_path / "program.py").write_text(PROGRAM.format(lines))
        command = [sys.executable, warm_start.__file__, "-m", "program", "a word"]
        return subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE)

    return started


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("os._exit(4)", 4),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("os.kill(os.getpid(), 11)", -signal.SIGSEGV),
    ],
)
def test_it_prints_and_ends_as_a_process_of_its_own(run, lines, status):
    process = run(lines)
    said, _ = process.communicate(timeout=100)
    assert (said, process.returncode) == ("True a word\n", status)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_ends_the_one_who_asked_ends_the_copy(run, number):
    process = run("sys.stderr = open(os.devnull, 'w')\nimport time\ntime.sleep(1000)")
    assert process.stdout.readline() == "True a word\n"
    process.send_signal(number)
    process.stdout.read()  # its other end closes when the copy ends, too
    assert process.wait(timeout=100) == -number
