"""JupyterHub for a class, as the README says: learners log in by PAM, their servers are jobs of a
real Slurm under their own account, engines are on nodes, and nobody reads another's work."""

import ast
import json
import os
import re
import subprocess
import sys

import psutil
import pytest
from boxes import PATIENCE, ROOT, box_or_skip, eventually
from hub_site import SETTLES, Learner, Network, furnish, here, installed, make_accounts

pytestmark = [pytest.mark.box, pytest.mark.long, pytest.mark.timeout(1500)]

NAMES = ("ada", "ben", "cleo")
PASSWORDS = {name: f"{name}-says-friend" for name in (*NAMES, "outsider")}
UID = dict(zip(PASSWORDS, range(7001, 7005), strict=True))
OF_MPI = re.compile(r"(sm_segment|prted|prterun|ompi)\.")
OF_SLURM = {"munged", "slurmd", "slurmstepd", "sleep"}
NOTES = """SITE_PYTHON={python}
SITE_ENGINES=slurm
SITE_PERNODE=2
SITE_WAIT=280
"""
ENGINES = """
from ddl_class import Engines
engines = Engines(4)
def whoami(comm):
    import os, socket
    return os.getuid(), socket.gethostname(), os.getpid()
"""
WORK = {"cells": [], "metadata": {"solved": "secret"}, "nbformat": 4, "nbformat_minor": 5}
FILE = "notebooks/06_allreduce.ipynb"
READS = """
from pathlib import Path
try:
    print(Path({path!r}).expanduser().read_bytes()[:200])
except OSError as refused:
    print(type(refused).__name__)
"""
# A server believes only who has a certificate of the hub's own or of the proxy's.
CALLS = """
import os, ssl, socket
context = ssl._create_unverified_context()
own = (os.environ["JUPYTERHUB_SSL_" + part] for part in ("CERTFILE", "KEYFILE"))
context.load_cert_chain(*own)
try:
    with context.wrap_socket(socket.create_connection(({host!r}, {port}), timeout=60)) as line:
        line.sendall(b"GET /user/{owner}/api/status HTTP/1.0\\r\\n\\r\\n")
        print(line.recv(100))
except OSError as refused:
    print(type(refused).__name__)
"""


# What kernels print is published to whoever subscribes, without any key.
HEARS = """
import sys, zmq
ear = zmq.Context().socket(zmq.SUB)
ear.setsockopt(zmq.SUBSCRIBE, b"")
ear.setsockopt(zmq.LINGER, 0)
for address in sys.argv[1:]:
    ear.connect("tcp://" + address)
print("listens", flush=True)
sys.stdin.readline()
heard = []
while ear.poll(3000):
    heard.append(ear.recv_multipart()[-1])
print(heard, flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hub")


def hand_out(home):
    """A notebook that everybody may read, as it would come from an instructor's archive; others
    come with nothing."""
    file = home / "ddl-teach" / FILE
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(WORK | {"metadata": {}}))
    for path in (file, file.parent, file.parent.parent):
        os.chown(path, UID["ada"], UID["ada"])
        assert path.stat().st_mode & 0o044


@pytest.fixture(scope="module")
def box(folder):
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("several accounts in a box need root")
    kept = installed()
    folder.chmod(0o711)  # learners read the notes in it; to others outside its parent is closed
    make_accounts(folder, PASSWORDS, outsiders=("outsider",))
    hand_out(folder / "home" / "ada")
    (folder / "site.sh").write_text(NOTES.format(python=sys.executable))
    shared = [str(ROOT), str(folder), str(kept)]
    with box_or_skip(f"hub-{os.getpid()}", nodes=7, share=shared, with_slurm=True) as made:
        furnish(made, folder, kept)
        yield made
    assert not made.folder.exists()


def start_hub(words, log, attempts=5):
    """The process of a hub that runs. It gives its proxy ten seconds to begin: on a machine that
    is too busy for that it is started again, as the system does with a service."""
    with log.open("w") as file:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    ready = "JupyterHub is now running at"
    eventually(lambda: ready in log.read_text() or process.poll() is not None)
    if process.poll() is None:
        return process
    assert "didn't respond in 10 seconds" in log.read_text(), log.read_text()
    assert attempts > 1, log.read_text()
    return start_hub(words, log, attempts - 1)


@pytest.fixture(scope="module")
def hub(box, folder):
    """The address of a hub that the README's lines have started."""
    before = {node: {*box.hosts.ask(node, ["ls", "-A", "/tmp", "/dev/shm"]).splitlines()}
              for node in box.nodes}  # fmt: skip
    address = box.hosts.ask("head", ["hostname", "-I"]).strip()
    own = ["-subj", "/CN=hub", "-addext", f"subjectAltName=IP:{address}"]
    keys = ["-newkey", "rsa:2048", "-nodes", "-keyout", "hub.key", "-out", "hub.crt"]
    words = ["openssl", "req", "-x509", *own, *keys]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    made, exported, started = map(here, SETTLES)
    lines = [
        made,
        f"install -m 600 {folder}/hub.crt {folder}/hub.key /etc/jupyterhub",
        exported.replace("ADDRESS=ADDRESS", f"ADDRESS={address}"),
        f"export DDL_TEACH_SITE={folder}/site.sh PATH=/run/npm/bin:$PATH",
        f"cd {ROOT}",
        f"exec {started}",
    ]
    words = box.hosts.words("head", ["sh", "-ec", "\n".join(lines)])
    process = start_hub(words, folder / "log")
    try:
        yield f"https://{address}:8443"
        for inside in psutil.Process(process.pid).children():
            inside.terminate()
        process.wait(PATIENCE)
        eventually(lambda: not queue(box))  # servers that still ran have ended with their hub
        eventually(lambda: not {each for node in box.nodes for each in running(box, node)})
        for node in box.nodes:
            # What Open MPI leaves when it is killed is a site's to remove, as after any job.
            left = box.hosts.ask(node, ["ls", "-A", "/tmp", "/dev/shm"]).splitlines()
            assert {name for name in left if not OF_MPI.match(name)} <= before[node]
    finally:
        process.kill()
        print((folder / "log").read_text()[-5000:])


@pytest.fixture(scope="module")
def network(box, hub):
    made = Network(box, len(NAMES))
    yield made
    made.close()


@pytest.fixture
def visitor(hub, folder):
    """`visitor(name)` has a browser of its own."""
    return lambda name: Learner(name, hub, folder / "hub.crt")


@pytest.fixture(scope="module")
def learners(hub, network, folder):
    """All three, by name, before a running kernel."""

    def come(name):
        learner = Learner(name, hub, folder / "hub.crt")
        assert learner.log_in(PASSWORDS[name]) == 302
        learner.spawn()
        assert learner.open() == 200
        return learner

    made = dict(zip(NAMES, network.all(come, NAMES), strict=True))
    yield made
    for learner in made.values():
        learner.close()


@pytest.fixture(scope="module")
def engines(learners, network):
    """What the four ranks of each learner's engines say of themselves: (user, node, process)."""

    def start(learner):
        answer = learner.run(f"{ENGINES}\nprint(engines.run(whoami, timeout=200).results)")
        return ast.literal_eval(answer.splitlines()[-1])

    return dict(zip(NAMES, network.all(start, learners.values()), strict=True))


def queue(box):
    """The jobs that run: (user, name, nodes)."""
    listed = box.hosts.ask("head", ["squeue", "--noheader", "--format=%u %j %N"])
    return {tuple(line.split()) for line in listed.splitlines()}


def running(box, node):
    """The processes of a node that are not Slurm's."""
    return [each for each in box.hosts.processes(node) if each.name() not in OF_SLURM]


def server_of(box, name):
    """The node of a learner's server."""
    [node] = [node for user, job, node in queue(box) if (user, job) == (name, "ddl-notebook")]
    return node


@pytest.mark.parametrize(
    ("name", "password"),
    [("ada", "friend"), ("ada", ""), ("root", ""), ("outsider", PASSWORDS["outsider"])],
)
def test_whoever_has_no_password_or_is_not_of_the_class_stays_outside(
    network, visitor, name, password
):
    guest = visitor(name)
    assert network.all(lambda word: guest.log_in(word), [password]) == [403]
    [answer] = network.all(guest.get, ["/hub/api/user"])
    assert answer.status_code == 403


def test_each_server_is_a_job_on_a_node_under_the_learner_s_own_account(box, learners):
    nodes = {name: server_of(box, name) for name in NAMES}
    assert len(set(nodes.values())) == 3
    for name, node in nodes.items():
        assert {each.uids().real for each in running(box, node)} == {UID[name]}
        answer = learners[name].run("import os, socket; print(os.getuid(), socket.gethostname())")
        assert answer == f"{UID[name]} {node}\n"


def test_engines_are_on_other_nodes_under_the_learner_s_own_account(box, learners, engines):
    for name, ranks in engines.items():
        assert {user for user, _, _ in ranks} == {UID[name]}
        nodes = [node for _, node, _ in ranks]
        assert len(set(nodes)) == 2
        assert server_of(box, name) not in nodes
    for node in box.nodes:
        users = {each.uids().real for each in running(box, node)}
        assert users <= set(UID.values()), "a process of root's for a learner"


def test_a_notebook_is_read_by_its_owner_alone(learners, network):
    ada, ben = learners["ada"], learners["ben"]
    content = {"type": "notebook", "content": WORK}
    [saved] = network.all(lambda path: ada.post(path, content, "PUT"), [f"/api/contents/{FILE}"])
    assert saved.status_code == 200  # it was there
    cell = READS.format(path=f"~/../ada/ddl-teach/{FILE}")
    assert "secret" in ada.run(cell)
    assert ben.run(cell) == "PermissionError\n"


@pytest.mark.parametrize("path", ["lab", f"api/contents/{FILE}"])
def test_another_s_server_is_not_reached_through_the_proxy(learners, network, path):
    [answer] = network.all(learners["ben"].get, [f"/user/ada/{path}"])
    assert answer.status_code in (403, 404)
    assert "secret" not in answer.text


def listening(box, node):
    """Which programs listen on a node, and at which addresses."""
    lines = [line.split() for line in box.hosts.ask(node, ["ss", "-H", "-ltnp"]).splitlines()]
    return {(line[5].split('"')[1], line[3]) for line in lines}


def test_nobody_can_call_another_s_server_or_kernel(box, learners):
    node = server_of(box, "ada")
    [(host, port)] = [address.split(":") for name, address in listening(box, node)
                      if name.startswith("batchspawner")]  # fmt: skip
    assert host == box.hosts.address(node)
    call = CALLS.format(host=host, port=port, owner="ada")
    assert learners["ben"].run(call).startswith("SSL"), "taken for the proxy"
    inside = [address for name, address in listening(box, node) if address.startswith("127.")]
    words = ["runuser", "--user", "ben", "--", sys.executable, "-c", HEARS, *inside]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(box.hosts.words(node, words), **pipes) as ear:
        assert ear.stdout.readline() == "listens\n"
        assert learners["ada"].run("print('secret')") == "secret\n"
        assert ear.communicate("\n")[0] == "[]\n"


# What a learner on the node sees of another's process, whose number ps says to everybody.
LOOKS = """
import os, pathlib, stat, sys
owner = int(sys.argv[1])
opened = set()
for place in ("/tmp", "/dev/shm"):
    for folder, _, names in os.walk(place):
        for path in (os.path.join(folder, name) for name in names):
            if os.lstat(path).st_uid == owner and os.access(path, os.R_OK):
                opened.add(path)
for number in sys.argv[2:]:
    for part in ("environ", "mem", "cwd", "fd"):
        if os.access(f"/proc/{number}/{part}", os.R_OK):
            opened.add((number, part))
    words = pathlib.Path(f"/proc/{number}/cmdline").read_text()
    assert "DDL_TEACH_KEY" not in words
print(sorted(opened))
"""


def test_nobody_can_look_into_another_s_engines(box, engines):
    for user, node, number in engines["ada"]:
        words = ["runuser", "--user", "ben", "--", sys.executable, "-c", LOOKS, user, number]
        assert box.hosts.ask(node, [str(word) for word in words]) == "[]\n"


def test_a_server_that_its_learner_stops_takes_the_engines_along(box, learners, engines, network):
    cleo = learners["cleo"]

    def stop():
        headers = {"X-XSRFToken": cleo.token("/hub/")}
        address = f"{cleo.address}/hub/api/users/cleo/server"
        return cleo.http.delete(address, headers=headers, timeout=PATIENCE).status_code

    assert {job for user, job, _ in queue(box) if user == "cleo"} != {"ddl-notebook"}
    assert network.all(lambda act: act(), [stop])[0] in (202, 204)
    eventually(lambda: "cleo" not in {user for user, _, _ in queue(box)})
