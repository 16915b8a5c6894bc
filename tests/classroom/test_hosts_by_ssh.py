"""The README's rows for hosts, typed by an ordinary account of real hosts: nodes of a box, each
with Debian's sshd, PAM and host keys of its own, and a shared home."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from boxes import ROOT, box_or_skip, eventually
from debian import unpacked
from hub_site import make_accounts, opened, overlay
from readme_of_clusters import SNIPPETS, line
from test_slurm_box import ENGINES

pytestmark = [pytest.mark.box, pytest.mark.long, pytest.mark.timeout(1500)]

NAME, PASSWORD = "ada", "ada-says-friend"
# Types what a program asks at a terminal: its prompt comes as the first word.
ANSWERS = f"""#!/bin/sh
case "$1" in
*fingerprint*) echo yes ;;
*passphrase*) echo ;;
*) echo {PASSWORD} ;;
esac
"""
# What Debian's package does when it is installed.
INSTALLED = """
useradd --system --no-create-home --home-dir /run/sshd --shell /usr/sbin/nologin sshd
cp /usr/share/openssh/sshd_config /etc/ssh
ssh-keygen -q -A
mkdir /run/sshd
/usr/sbin/sshd
"""
# Answers at a host's own address, until its input ends.
SERVES = """
import sys, threading
from http.server import HTTPServer, SimpleHTTPRequestHandler
server = HTTPServer(("node0", 8443), SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
"""
CALLS = """
import time, urllib.request
for _ in range(300):
    try:
        print(urllib.request.urlopen("http://localhost:8443/").status)
        break
    except OSError:
        time.sleep(0.2)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ssh")


@pytest.fixture(scope="module")
def box(folder):
    """A head and two hosts, with an account that has a password and no keys."""
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("an account of a box's own needs root")
    packages = unpacked(["openssh-server"], folder / "packages")
    folder.chmod(0o711)
    make_accounts(folder, {NAME: PASSWORD})
    home = folder / "home" / NAME
    for name, text in {
        "answers": ANSWERS,
        "ddl-teach": f'#!/bin/sh\nexec {sys.executable} -m ddl_teach "$@"\n',
        "engines.py": ENGINES,
        "hosts": "node0 slots=2\nnode1 slots=2\n",
        "site.sh": f"SITE_PYTHON={sys.executable}\nSITE_HOSTFILE=/home/{NAME}/hosts\n",
    }.items():
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    shared = [str(ROOT), str(folder)]
    with box_or_skip(f"ssh-{os.getpid()}", share=shared) as made:
        for host in ("head", *made.nodes):
            changed = f"{folder}/etc" if packages is None else f"{folder}/etc:{packages}/etc"
            lines = [
                overlay(folder / host / "etc", "/etc", f"{changed}:/etc"),
                f"mount --bind {made.folder}/hosts /etc/hosts",
                f"mount --bind {folder}/home /home",
            ]
            if packages is not None:
                lines += [overlay(None, "/usr", packages / "usr")]
            if host != "head":
                lines += INSTALLED.splitlines()
            places = [sys.base_prefix, sys.prefix, ROOT]
            lines += opened([Path(place).resolve() for place in places])
            made.hosts.ask(host, ["sh", "-ec", "\n".join(lines)])
        yield made
    assert not made.folder.exists()


def words(box, command):
    """What starts a line in the account's shell on the head."""
    path = f"/home/{NAME}:{sys.prefix}/bin:/usr/bin:/bin"
    settings = [f"HOME=/home/{NAME}", f"USER={NAME}", f"PATH={path}", "LANG=C.UTF-8"]
    settings += [f"SSH_ASKPASS=/home/{NAME}/answers", "SSH_ASKPASS_REQUIRE=force"]
    settings += [f"DDL_TEACH_SITE=/home/{NAME}/site.sh", f"PYTHONPATH={ROOT}"]
    account = ["runuser", "--user", NAME, "--", "env", "-i", *settings]
    return box.hosts.words("head", [*account, "sh", "-c", f"cd; {command}"])


@pytest.fixture(scope="module")
def shell(box):
    """`shell(line, status)` is what a line prints that ends with that status."""

    def type_line(command, status=0, **options):
        pipes = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(words(box, command), **pipes, timeout=600, **options)
        assert done.returncode == status, f"{command}\n{done.stdout}"
        return done.stdout

    return type_line


@pytest.fixture(scope="module")
def keys(shell):
    """What the doctor says before there is a key, and then the README's lines for one."""
    check = line("ddl-teach cluster check hosts").replace("FILE", "hosts")
    before = [shell(check, 1)]
    shell(line("ssh-keygen"), input="\n")
    for host in ("node0", "node1"):
        shell(line("ssh-copy-id").replace("HOST", host))
    return before, shell(check)


def test_the_doctor_asks_for_keys_until_it_is_content(keys):
    before, after = keys
    assert "Its key is unknown" in before[0]
    assert "fit for the course" in after


def test_engines_that_outlive_a_notebook(shell, keys):
    assert "4 engines run" in shell(line("ddl-teach cluster start hosts").replace("FILE", "hosts"))
    try:
        snippet = SNIPPETS[1].replace('"laptop"', '"hosts"')
        told = shell(f"python - <<'END'\n{snippet}\nEND")
        assert [f"{rank} 4 {rank // 2}" in told for rank in range(4)] == [True] * 4, told
    finally:
        assert "They are gone" in shell(line("ddl-teach cluster stop hosts"))


def test_engines_of_a_notebook_deadlock_and_take_tasks(shell, keys):
    told = shell("python engines.py hosts")
    assert "ranks on node0 node0 node1" in told
    assert "ring of [0, 1, 2]" in told
    assert "tasks on [0, 1, 2]" in told


def test_a_hub_is_reached_by_a_tunnel(box, shell, keys):
    tunnel = line("ssh -L").replace("LOGIN", "node0")
    served = ["sh", "-c", f"cd /run/sshd; exec {sys.executable} -c '{SERVES}'"]
    commands = [box.hosts.words("node0", served), words(box, f"{tunnel} cat")]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE) for command in commands]
    try:
        assert shell(f"python -c '{CALLS}'") == "200\n"
    finally:
        for process in running:
            process.communicate()


def test_nothing_stays_on_the_hosts(box, keys):
    for node in box.nodes:
        eventually(lambda node=node: {p.name() for p in box.hosts.processes(node)} == {"sshd"})
