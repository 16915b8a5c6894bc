"""One box, and two processes or two checkouts of the course that know of it."""

import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from boxes import box_or_skip, owner_of

from ddl_class.cli import main
from ddl_class.clusters import many_nodes
from ddl_class.clusters.box import faults, plan
from ddl_class.clusters.box.box import Box
from ddl_class.clusters.box.links import Cable
from ddl_class.clusters.box.nodes import Nodes
from ddl_class.commands.mistake import Mistake
from ddl_runtime.diagnosis.deadlock import TimedOut
from ddl_teach import launch
from tests.house import PACKAGES

pytestmark = pytest.mark.box

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0  # seconds for what must come
NAME = f"shared-{os.getpid()}"


@pytest.fixture(scope="module")
def box():
    with box_or_skip(NAME) as made:
        yield made


@pytest.fixture
def sound(box):
    yield box
    for node in box.nodes:
        box.mend(node)


def in_another_terminal(*words):
    """`ddl-teach box ...`, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "ddl_teach", "box", words[0], "--name", NAME, *words[1:]],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pass_on_for_ever(comm, marks):
    x, y = np.zeros(1000), np.zeros(1000)
    comm.barrier()
    Path(marks).touch()
    while True:
        comm.sendrecv(x, 1 - comm.rank, y, 1 - comm.rank)


@pytest.mark.long
def test_a_cable_that_another_process_cuts_is_named(sound):
    marks = sound.folder / "passing"
    told = []

    def second_terminal():
        deadline = time.monotonic() + PATIENCE
        while not marks.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        told.append(in_another_terminal("fault", "node1", "cut"))

    other = threading.Thread(target=second_terminal)
    other.start()
    with pytest.raises(TimedOut) as caught:
        launch(pass_on_for_ever, 2, on=sound, timeout=10, marks=str(marks))
    other.join()
    cut = r"node1's cable is out, since \d\d:\d\d:\d\d, by process \d+ \(.* box fault .*\)"
    assert re.fullmatch(f"{cut}\n", told[0])
    assert re.search(rf"What is wrong there: {cut}\. Mend it first", str(caught.value))
    assert f"Mend it first: ddl-teach box mend --name {NAME}" in str(caught.value)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert error.cut_cable == "node1"
    assert "more time" not in str(caught.value)
    assert "sendrecv or" not in str(caught.value)
    in_another_terminal("mend")
    assert sound.troubles() == []


def test_changes_of_two_processes_add_up(sound):
    in_another_terminal("fault", "node0", "slow", "10mbit")
    faults.cut(sound, "node1")
    assert [not link.plugged for link in Box.find(NAME).links.values()] == [False, True]
    assert Box.find(NAME).links["node0"].rate == sound.asked.rate / 10
    assert Box.find(NAME).changes["node1"].process == os.getpid() != sound.changes["node0"].process


def test_changes_at_the_same_time_are_all_kept(sound):
    others = [threading.Thread(target=in_another_terminal, args=("fault", node, "slow", "20mbit"))
              for node in sound.nodes]  # fmt: skip
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert {link.rate for link in Box.find(NAME).links.values()} == {sound.asked.rate / 5}


@pytest.mark.parametrize("damage", ["half", "gone", "other"])
def test_what_was_known_of_cables_lasts_while_the_file_cannot_be_read(sound, damage):
    faults.cut(sound, "node1")
    file = sound.folder / "state.json"
    whole = file.read_text()
    try:
        file.write_text({"half": whole[: len(whole) // 2], "gone": "", "other": "{}"}[damage])
        if damage == "gone":
            file.unlink()
        assert [each.partition(",")[0] for each in sound.troubles()] == ["node1's cable is out"]
    finally:
        file.write_text(whole)


def test_of_a_box_that_is_gone_this_is_said():
    other = box_or_skip(f"{NAME}-g")
    seen = Box.find(f"{NAME}-g")
    other.down()
    assert seen.troubles() == [f"the box '{NAME}-g' is gone"]
    assert seen.cure == f"ddl-teach box up --name {NAME}-g"


@pytest.fixture
def elsewhere(tmp_path):
    """A box that another checkout of the course has made, and that checkout."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    with owner_of(f"{NAME}-e", tmp_path) as process:
        if not (head := process.stdout.readline()):
            pytest.skip("no box can be made here")
        yield psutil.Process(int(head)), tmp_path
        process.kill()


def test_two_checkouts_have_a_box_of_one_name_side_by_side(elsewhere, capsys):
    head, course = elsewhere
    there = f"The course in {course} has one of that name, whose nodes run that code."
    with pytest.raises(Mistake, match=re.escape(there)):
        Box.find(f"{NAME}-e")
    assert main(["box", "down", "--name", f"{NAME}-e"]) == 2
    assert there in capsys.readouterr().err
    with box_or_skip(f"{NAME}-e", nodes=2) as own:
        assert own.hosts.head != head.pid
        faults.cut(own, "node0")
        theirs = plan.read_state(plan.path_of(f"{NAME}-e", course))
        assert theirs["owner"] == str(course)
        assert all(link.plugged for link in theirs["links"].values())
        assert main(["box", "status", "--name", f"{NAME}-e"]) == 0
        assert f"of the course in {plan.PACKAGE}\n" in capsys.readouterr().out
    assert head.is_running()


def test_unit_20_takes_the_box_that_is_up(box, monkeypatch, capsys):
    monkeypatch.setattr(plan, "path_of", lambda name: box.folder)
    assert many_nodes._box(2, "100mbit").hosts.head == box.hosts.head
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("place", ["a", "a/b", "a/b/box"])
@pytest.mark.parametrize("to", ["folder", "nothing"])
def test_a_link_in_the_place_of_a_boxes_folder_is_not_followed(tmp_path, monkeypatch, to, place):
    monkeypatch.setattr(plan, "path_of", lambda name: tmp_path / "a" / "b" / name)
    inside = tmp_path / "folder" / "b" / "box"
    inside.mkdir(parents=True)
    (inside / "mine").touch()
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).symlink_to(tmp_path / to)
    for act in (plan.new_folder, Box.find):
        with pytest.raises(Mistake, match="to remove it"):
            act("box")
    assert (inside / "mine").exists()


def test_a_folder_that_was_open_to_others_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "path_of", lambda name: tmp_path / "a" / "b" / name)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a").chmod(0o777)
    assert plan.new_folder("box").is_dir()
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700


@pytest.fixture
def paper_box(tmp_path, monkeypatch):
    """What a box writes down, without any node: its first one is on unless it was powered off."""
    hosts = Nodes(tmp_path, ("node0", "node1"), True, 1, 0.0, "")
    on = {"node0": 10, "node1": 11}
    monkeypatch.setattr(Nodes, "numbers", lambda self: on)
    monkeypatch.setattr(Nodes, "power_off", lambda self, node: on.pop(node))
    monkeypatch.setattr(Nodes, "power_on", lambda self, node: on.setdefault(node, 12))
    monkeypatch.setattr(Box, "apply", lambda self, node: None)
    cable = Cable(12.5e6)
    made = Box(hosts, "kernel", cable, dict.fromkeys(hosts.nodes, cable), str(plan.PACKAGE))
    made.save()
    return made


def test_who_changed_what_is_written_down_until_it_is_mended(paper_box):
    faults.slow(paper_box, "node0", "10mbit")
    faults.off(paper_box, "node1")
    kept = plan.read_state(paper_box.folder)
    assert kept["links"]["node0"].rate == paper_box.asked.rate / 10
    changes = {node: (each.what, each.process) for node, each in kept["changes"].items()}
    assert changes == {"node0": ("cable", os.getpid()), "node1": ("power", os.getpid())}
    slow, off = paper_box.troubles()
    assert re.fullmatch(r"node0's cable .*: 10 Mbit/s, since [\d:]+, by process \d+ \(.*\)", slow)
    assert re.fullmatch(r"node1 is off, since [\d:]+, by process \d+ \(.*\)", off)
    for node in paper_box.nodes:
        paper_box.mend(node)
    assert paper_box.troubles() == []
    assert plan.read_state(paper_box.folder)["changes"] == {}
