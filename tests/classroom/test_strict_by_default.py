"""Notebooks, engines, cells and rehearsals of labs run programs on strict ranks, unless told not
to by one word."""

import re
import time
from pathlib import Path

import numpy as np
import pytest

from ddl_class import launch, simulate
from ddl_class.labs import hand_in
from ddl_runtime.diagnosis.deadlock import CollectiveMismatch, Deadlock

SOURCES = sorted((Path(__file__).parents[2] / "notebooks" / "source").glob("*.py"))


def send_first(comm):
    x = np.zeros(1)
    comm.send(x, (comm.rank + 1) % comm.size)
    comm.recv(x, (comm.rank - 1) % comm.size)


@pytest.mark.parametrize(
    "run", [simulate, pytest.param(launch, marks=pytest.mark.real)], ids=["simulate", "launch"]
)
def test_what_notebooks_import(run):
    with pytest.raises(Deadlock, match="in a ring"):
        run(send_first, 2)
    run(send_first, 2, strict=False)
    assert "network" in simulate.__doc__


def test_many_simulated_ranks_say_how_far_they_are(monkeypatch, capsys):
    monkeypatch.setattr("ddl_class.engines.outputs.watched", lambda: True)
    monkeypatch.setattr("ddl_class.ranks.MANY", 3)
    monkeypatch.setattr("ddl_class.ranks.EVERY", 0.01)
    simulate(lambda comm: time.sleep(0.1), 3)
    shown = capsys.readouterr().out
    assert "3 simulated ranks: 0 messages sent, 1 ranks are done" in shown
    assert "3 simulated ranks took 0 s here" in shown
    simulate(lambda comm: time.sleep(0.1), 2)
    assert capsys.readouterr().out == ""


def test_programs_on_engines(engines):
    with pytest.raises(Deadlock, match="in a ring"):
        engines.run(send_first)
    engines.run(send_first, strict=False)


def test_a_cell_on_engines(engines):
    neighbour = "comm.send(np.zeros(1), (comm.rank + 1) % comm.size)"
    with pytest.raises(Deadlock, match="in a ring"):
        engines.cell(neighbour)


def test_simulated_ranks_in_a_cell(engines):
    engines.push(send_first=send_first)
    with pytest.raises(Exception, match="ranks wait for each other in a ring"):
        engines.cell("simulate(send_first, 2)")


def test_a_cell_whose_ranks_call_other_collectives(engines):
    same = "with comm.collective('a step', 8, {}):\n    comm.barrier()"
    engines.cell(same.format("'sum'"))
    with pytest.raises(CollectiveMismatch, match="rank 2 called a step of 8 bytes"):
        engines.cell(same.format("'max' if comm.rank == 2 else 'sum'"))
    engines.cell(same.format("'sum'"))
    engines.cell("with comm.collective('alone'):\n    pass", [2])


@pytest.mark.parametrize("words", [[], ["--short"]], ids=["measured", "rehearsed"])
def test_a_lab_that_is_rehearsed(monkeypatch, words):
    asked = []
    monkeypatch.setattr(hand_in, "join", lambda *_, **given: asked.append(given["strict"]))
    monkeypatch.setattr("sys.argv", ["program.py", *words])
    hand_in.main(hand_in.Lab("a_lab", send_first, {}, {}))
    assert asked == [bool(words)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_takes_them_from_here(path):
    taken = re.findall(r"^from ddl_teach\S* import (.*)$", path.read_text(), re.MULTILINE)
    assert not {"simulate", "launch", "Ranks"} & set(re.findall(r"\w+", " ".join(taken)))
