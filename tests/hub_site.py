"""A site for tests: a box with Slurm, accounts of its own, and what the README has one install.

Nothing of it is on the machine: packages, accounts and homes are laid over the machine's own
(overlays, binds) in the namespaces of the box, and go with them.
"""

import ctypes
import hashlib
import json
import os
import shutil
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from boxes import PATIENCE, ROOT
from readme_of_clusters import line
from websocket import create_connection

INSTALLS = [line(".venv/bin/pip install"), line("npm install")]
SETTLES = [line("install -d"), line("export DDL_HUB_ADDRESS"), line(".venv/bin/jupyterhub")]
GROUP = "ddl-class"
CLONE_NEWNET = 0x40000000


def here(command):
    """The command, with this environment's programs."""
    return command.replace(".venv/bin/", f"{sys.prefix}/bin/")


def alone(script, **environment):
    """Have a shell run this with mounts of its own, over which it may lay what it likes."""
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script]
    return subprocess.run(
        words, env=os.environ | environment, cwd=ROOT, capture_output=True, text=True
    )


def overlay(over, on, lower):
    """The shell's line that lays the folder `over` on another; None: only to be read."""
    if over is None:
        return f"mount -t overlay overlay -o lowerdir={lower}:{on} {on}"
    for folder in (over, work := over.with_name(f"{over.name}-work")):
        folder.mkdir(parents=True, exist_ok=True)
    return f"mount -t overlay overlay -o lowerdir={lower},upperdir={over},workdir={work} {on}"


def installed():
    """The folder of what the README's first lines install, which is kept as Slurm's packages are:
    "python" lies over this Python's folder, "npm" is npm's own."""
    if shutil.which("npm") is None:
        pytest.skip("the hub's proxy comes by npm, and there is none")
    name = hashlib.sha256("\n".join([sys.version, *map(here, INSTALLS)]).encode()).hexdigest()[:12]
    kept = Path.home() / ".cache" / "ddl-teach" / f"hub-{name}"
    if not (kept / "whole").exists():
        shutil.rmtree(kept, ignore_errors=True)
        lines = [overlay(kept / "python", sys.prefix, sys.prefix), *map(here, INSTALLS)]
        done = alone("\n".join(lines), npm_config_prefix=str(kept / "npm"))
        if done.returncode:
            pytest.skip(f"the hub's packages cannot be had: {done.stderr.strip()[-300:]}")
        (kept / "whole").touch()
    return kept


def make_accounts(folder, passwords, outsiders=()):
    """Accounts with these passwords, of the class but for outsiders, by the system's own tools;
    the changed files of /etc come to lie in `folder`, homes beside them."""
    (folder / "home").mkdir()
    lines = [
        overlay(folder / "etc", "/etc", "/etc"),
        f"mount --bind {folder}/home /home",
        "mount -t tmpfs tmpfs /var",  # where useradd takes notes
        f"groupadd {GROUP}",
    ]
    for number, name in enumerate(passwords, start=7001):
        group = "" if name in outsiders else f"--groups {GROUP}"
        lines += [f"useradd --uid {number} --create-home --shell /bin/bash {group} {name}"]
    lines += ["chpasswd"]
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "\n".join(lines)]
    typed = "".join(f"{name}:{password}\n" for name, password in passwords.items())
    done = subprocess.run(words, input=typed, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def opened(paths):
    """The shell's lines after which everybody can enter these folders, whose parents may be
    closed: of a closed parent nothing but them is seen."""
    lines = []
    closed = {}
    for path in paths:
        for top in [*reversed(path.parents), path]:
            if not top.stat().st_mode & 0o001:
                closed.setdefault(top, []).append(path)
                break
    for number, (top, inside) in enumerate(closed.items()):
        aside = [f"/run/opened/{number}-{at}" for at in range(len(inside))]
        pairs = list(zip(inside, aside, strict=True))
        lines += [f"mkdir -p {to}; mount --rbind {path} {to}" for path, to in pairs]
        lines += [f"mount -t tmpfs -o mode=755 tmpfs {top}"]
        lines += [f"mkdir -p {path}; mount --rbind {to} {path}" for path, to in pairs]
    return lines


def furnish(box, folder, kept):
    """Every node and the head get packages, accounts, homes and Slurm's configuration."""
    seen = [Path(path).resolve() for path in (sys.base_prefix, sys.prefix, ROOT)]
    for host in ("head", *box.nodes):
        lines = [
            overlay(None, sys.prefix, kept / "python"),
            f"mkdir /run/npm; mount --bind {kept}/npm /run/npm",
            overlay(folder / host / "etc", "/etc", f"{folder}/etc:/etc"),
            f"mount --bind {box.folder}/hosts /etc/hosts",
            f"mkdir -p /etc/slurm; cp {box.folder}/slurm.conf /etc/slurm",
            f"mount --bind {folder}/home /home",
            *opened(seen),
        ]
        box.hosts.ask(host, ["sh", "-ec", "\n".join(lines)])


class Network:
    """Threads that are in the network of the box, as browsers of learners would be."""

    def __init__(self, box, threads):
        self._space = f"/proc/{box.hosts.head}/ns/net"
        self._threads = ThreadPoolExecutor(threads, initializer=self._enter)

    def _enter(self):
        with open(self._space) as space:
            if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "the box's network cannot be entered")

    def all(self, act, *of):
        """What `act` returns for each, all at the same time."""
        return list(self._threads.map(act, *of))

    def close(self):
        self._threads.shutdown()


class Learner:
    """One at a browser: logs in, has a server, and a kernel that runs cells."""

    def __init__(self, name, address, certificate):
        self.name, self.address = name, address
        self.certificate = str(certificate)
        self.http = requests.Session()
        self.http.trust_env = False  # no proxy of this machine's
        self.http.verify = self.certificate
        self.line = None

    def get(self, path, **options):
        return self.http.get(f"{self.address}{path}", timeout=PATIENCE, **options)

    def token(self, path):
        """What a page of that path must say so that it is believed to be the hub's own."""
        [token] = [each.value for each in self.http.cookies
                   if each.name == "_xsrf" and each.path == path]  # fmt: skip
        return token

    def log_in(self, password):
        """The status of the answer."""
        self.get("/hub/login")
        form = {"username": self.name, "password": password, "_xsrf": self.token("/hub/")}
        words = {"data": form, "allow_redirects": False, "timeout": PATIENCE}
        return self.http.post(f"{self.address}/hub/login", **words).status_code

    def spawn(self):
        """Ask for a server and wait for it, as the page does."""
        self.get("/hub/spawn")
        events = self.get(f"/hub/api/users/{self.name}/server/progress", stream=True)
        steps = [json.loads(line[5:]) for line in events.iter_lines() if line.startswith(b"data:")]
        assert steps[-1].get("ready"), steps

    def open(self):
        """The status of the first page; a kernel runs afterwards."""
        page = self.get(f"/user/{self.name}/lab")
        kernel = self.post("/api/kernels", {"name": "python3"}).json()["id"]
        cookies = "; ".join(f"{each.name}={each.value}" for each in self.http.cookies)
        self.line = create_connection(
            f"wss{self.address[5:]}/user/{self.name}/api/kernels/{kernel}/channels",
            cookie=cookies, origin=self.address, timeout=PATIENCE,
            sslopt={"ca_certs": self.certificate},
        )  # fmt: skip
        return page.status_code

    def post(self, path, words, verb="POST"):
        """Have the own server do something, through the hub's proxy."""
        return self.http.request(
            verb, f"{self.address}/user/{self.name}{path}", json=words, timeout=PATIENCE,
            headers={"X-XSRFToken": self.token(f"/user/{self.name}/")},
        )  # fmt: skip

    def run(self, cell):
        """What a cell prints."""
        number = uuid.uuid4().hex
        header = {"msg_id": number, "msg_type": "execute_request", "username": self.name}
        header |= {"session": number, "version": "5.3", "date": ""}
        content = {"code": cell, "silent": False, "allow_stdin": False, "stop_on_error": True}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        self.line.send(json.dumps(message | {"channel": "shell", "buffers": []}))
        printed, idle, reply = [], False, None
        while not (idle and reply):
            heard = json.loads(self.line.recv())
            if heard["parent_header"].get("msg_id") != number:
                continue
            content = heard["content"]
            if heard["msg_type"] == "stream":
                printed.append(content["text"])
            elif heard["msg_type"] == "status":
                idle = idle or content["execution_state"] == "idle"
            elif heard["msg_type"] == "execute_reply":
                reply = content
        assert reply["status"] == "ok", "\n".join(reply.get("traceback", []))
        return "".join(printed)

    def close(self):
        if self.line is not None:
            self.line.close()
        self.http.close()
