"""The doctor of nodes: asked is this machine, as one node and by a planted ssh as several."""

import os
import sys

import pytest

from ddl_class.clusters import node_checks
from ddl_class.clusters.grounds import Hosts, Laptop, Site, Slurm, address_of, read_hostfile
from ddl_class.clusters.node_checks import NodeAnswers, ask_nodes, examine_nodes
from ddl_class.commands.mistake import Mistake

pytestmark = pytest.mark.real


@pytest.fixture
def ssh(tmp_path, monkeypatch):
    """`ssh(script)` plants one; $1 is then the host, $2 the line for its shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    def plant(script):
        file = folder / "ssh"
        file.write_text(f'#!/bin/sh\nwhile [ "$1" = -o ]; do shift 2; done\n{script}\n')
        file.chmod(0o755)

    return plant


@pytest.fixture
def hosts(tmp_path):
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("# two\nlocalhost slots=2\n\nnowhere.invalid\n")
    return Hosts(Site(), hostfile)


def statuses(findings):
    return {finding.name: finding.status for finding in findings}


def test_this_machine_is_fit_as_one_node(tmp_path):
    findings = examine_nodes(Laptop(Site()), tmp_path)
    assert set(statuses(findings).values()) == {"ok"}
    assert {"names", "shared folder", "ports", "MPI", "network", "clocks"} <= set(
        statuses(findings)
    )
    assert list(tmp_path.iterdir()) == []  # nothing is left where it looked


def test_each_node_answers_for_itself(ssh, hosts, tmp_path):
    ssh('[ "$1" = localhost ] || { echo "ssh: Could not resolve hostname $1" >&2; exit 255; }\n'
        'exec sh -c "$2"')  # fmt: skip
    folder = tmp_path / "a folder"  # ssh's other end is a shell: words must arrive whole
    folder.mkdir()
    answers = ask_nodes(hosts, folder)
    assert set(answers.failed) == {"nowhere.invalid"}
    said = answers.said["localhost"]
    assert said["mark"] == answers.mark
    assert answers.arrived == ("localhost",)
    assert said["addresses"]["nowhere.invalid"].startswith("unknown")
    assert not said["call"].startswith("failed")
    assert said["packages"]["numpy"]
    finding = node_checks.entered(answers)
    assert finding.status == "fail"
    assert "mend the hostfile" in finding.mend
    assert node_checks.names(hosts.nodes, answers).status == "fail"


@pytest.mark.parametrize(
    ("said", "mend"),
    [
        ("root@n1: Permission denied (publickey,password).", "ssh-copy-id localhost"),
        ("Host key verification failed.", "compare the fingerprint"),
        ("ssh: connect to host n1 port 22: Connection refused", "openssh-server"),
        ("ssh: connect to host n1 port 22: Connection timed out", "firewall"),
        ("sh: 1: /course/python: No such file or directory", "SITE_PYTHON"),
    ],
)
def test_a_node_that_cannot_be_entered_is_told_why(ssh, hosts, tmp_path, said, mend):
    ssh(f'echo "{said}" >&2; exit 255')
    findings = examine_nodes(hosts, tmp_path)
    assert [finding.name for finding in findings] == ["names", "entering"]  # no more can be said
    assert said in findings[1].found
    assert mend in findings[1].mend


# -- planted answers ------------------------------------------------------------------------

NODE = {
    "name": "n1",
    "python": "3.12 at /course/python",
    "packages": {"numpy": "2.1"},
    "addresses": {"n1": "10.0.0.1", "n2": "10.0.0.2"},
    "mark": "m",
    "call": "10.0.0.1",
    "gpus": ["GPU 0: H200"],
}


def answers(*changes, arrived=("n1", "n2")):
    said = {f"n{number}": NODE | change for number, change in enumerate(changes, start=1)}
    return NodeAnswers(said, {}, "m", arrived)


def test_nodes_that_differ(tmp_path):
    same = answers({}, {})
    assert node_checks.names(("n1", "n2"), same).status == "ok"
    assert node_checks.alike(same).status == "ok"
    assert node_checks.shared_folder(same, tmp_path).status == "ok"
    assert node_checks.ports(same, "10.0.0.9").status == "ok"
    assert node_checks.gpus(same, 1).status == "ok"
    debian = answers({"addresses": {"n1": "127.0.1.1", "n2": "10.0.0.2"}}, {})
    assert "127.0.1.1" in node_checks.names(("n1", "n2"), debian).found
    assert "n2: 3.11" in node_checks.alike(answers({}, {"python": "3.11 at x"}, {})).found
    lags = node_checks.alike(answers({}, {"packages": {"numpy": "2.0", "torch": "2"}}))
    assert "numpy 2.0 and 2.1; torch 2 and missing" in lags.found
    gone = answers({}, {"mark": "missing: No such file"})
    assert "n2: missing" in node_checks.shared_folder(gone, tmp_path).found
    away = node_checks.shared_folder(answers({}, {}, arrived=("n1",)), tmp_path)
    assert "n2: what it writes does not arrive" in away.found
    walled = node_checks.ports(answers({"call": "failed: timed out"}), "10.0.0.9")
    assert "firewall" in walled.mend
    assert "n1 1, n2 0; SITE_GPUS says 1" in node_checks.gpus(answers({}, {"gpus": []}), 1).found


MIB = 2**20
RANK = {
    "node": "n1",
    "ahead": 0.0,
    "bound": 1e-4,
    "listens": ["10.0.0.1"],
    "interfaces": ["eth0", "ib0"],
    "sent": {"eth0": 900, "ib0": 4 * MIB + 9000},
}


def ranks(*changes):
    return [RANK | change for change in ({}, {"node": "n2"} | changes[0] if changes else {})]


def test_the_interface_that_counted_the_bytes_is_the_one():
    two = ranks({})
    assert node_checks.network(two, "ib0").status == "ok"
    wrong = node_checks.network(two, "eth0")
    assert (wrong.status, wrong.found) == ("fail", "MPI crosses by ib0, not by eth0")
    assert "btl_tcp_if_include" in wrong.mend
    differ = ranks({"sent": {"eth0": 5 * MIB, "ib0": 0}})
    assert node_checks.network(differ, "").status == "warn"
    by_card = [rank | {"sent": {"eth0": 500}} for rank in two]
    assert "RDMA" in node_checks.network(by_card, "").found


def test_ranks_that_are_alone_or_on_the_wrong_nodes():
    assert node_checks.world(ranks({}), 2, {"n1", "n2"}).status == "ok"
    alone = node_checks.world(ranks({})[:1], 2, {"n1", "n2"})
    assert (alone.status, "SITE_MPI" in alone.mend) == ("fail", True)
    crowded = node_checks.world(ranks({"node": "n1"}), 2, {"n1", "n2"})
    assert "on n1 only" in crowded.found


@pytest.mark.parametrize(("ahead", "status"), [(-0.2, "ok"), (-9.0, "warn"), (301.0, "fail")])
def test_clocks_that_disagree(ahead, status):
    finding = node_checks.clocks(ranks({"ahead": ahead}))
    assert finding.status == status
    assert (status == "ok") == (finding.mend == "")


def test_who_listens_on_every_network_is_told():
    assert node_checks.listening(ranks({})).status == "ok"
    everywhere = ranks({"listens": ["0.0.0.0"]})
    assert "n2 at eth0, ib0" in node_checks.listening(everywhere).found
    one_network = [rank | {"interfaces": ["eth0"]} for rank in everywhere]
    assert node_checks.listening(one_network).status == "ok"


# -- the ways onto nodes --------------------------------------------------------------------


def test_hostfiles_of_both_libraries(tmp_path):
    file = tmp_path / "hostfile"
    file.write_text("n1 slots=4 # fast\nn2:2\nn3\n")
    assert read_hostfile(file) == {"n1": 4, "n2": 2, "n3": 1}
    for text, said in (
        ("n1 slots", "line 1: 'n1 slots' is not"),
        ("n1\nn1", "line 2: n1 stands there twice"),
        ("# none\n", "lists no host"),
    ):
        file.write_text(text)
        with pytest.raises(Mistake, match=said):
            read_hostfile(file)
    with pytest.raises(Mistake, match="cannot be read"):
        read_hostfile(tmp_path / "none")


def test_what_starts_ranks_names_the_network_for_each_library(hosts, monkeypatch):
    hosts.site = Site(interface="ib0")
    words = hosts.mpi_words(4, "mpiexec", "openmpi")
    assert words[words.index("btl_tcp_if_include") + 1] == "ib0"
    assert words[words.index("plm_ssh_agent") + 1] == "ssh -o BatchMode=yes -o ConnectTimeout=10"
    assert words[words.index("--map-by") + 1] == "ppr:2:node:OVERSUBSCRIBE"
    words = hosts.mpi_words(4, "mpiexec", "mpich")
    assert words[words.index("-ppn") + 1] == "2"
    assert words[words.index("-iface") + 1] == "ib0"
    assert words[words.index("-hosts") + 1] == "localhost,nowhere.invalid"


def test_a_job_of_slurm_knows_its_nodes(ssh, tmp_path, monkeypatch):
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.write_text("#!/bin/sh\necho \"$3\" | sed 's/n\\[1-2\\]/n1 n2/' | tr ' ' '\\n'\n")
    scontrol.chmod(0o755)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    job = Slurm(Site(mpi="srun --mpi=pmix", interface="lo", python=sys.executable))
    assert job.nodes == ("n1", "n2")
    assert job.words("n2", ["true"])[0] == "srun"
    assert "--nodelist=n2" in job.words("n2", ["true"])
    assert job.mpi_words(3, "mpiexec", "openmpi")[-1] == "--ntasks-per-node=2"
    monkeypatch.delenv("SLURM_JOB_NODELIST")
    assert Slurm(Site(interface="lo")).nodes == ()


def test_an_interface_that_is_not_there_is_told():
    assert address_of("lo", ["nowhere.invalid"]) == "127.0.0.1"
    with pytest.raises(Mistake, match="SITE_INTERFACE=ib7 has no address here"):
        address_of("ib7", ())
