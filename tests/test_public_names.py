"""The net under every move: what is used of the packages from outside is there and usable."""

import inspect
import json
from collections import defaultdict

import pytest

import ddl_class
from ddl_class import cli
from tests import public_names

KEPT = json.loads(public_names.KEPT.read_text())

BY_HOME = defaultdict(dict)  # the module, or its class, that a name stands in: its names
for full_name, calls in KEPT["names"].items():
    BY_HOME[full_name.rpartition(".")[0]][full_name] = calls


def refusals(function, calls):
    """The calls that this function does not take; none where Python cannot tell."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in
        return []
    refused = []
    for call in calls:
        count, *words = call.split()
        try:
            signature.bind(*[None] * int(count), **dict.fromkeys(words))
        except TypeError as error:
            refused.append(f"{call}: {error}")
    return refused


@pytest.mark.parametrize("home", BY_HOME)
def test_names_are_there_and_take_the_calls_that_are_made(home):
    wrong = {
        name: refused
        for name, calls in BY_HOME[home].items()
        if (refused := refusals(public_names.found(name), calls))
    }
    assert wrong == {}


@pytest.mark.parametrize("name", KEPT["members"])
def test_members_that_somebody_reads_are_there(name):
    kind = public_names.found(name)
    assert set(KEPT["members"][name]) - public_names.members_of(kind) == set()


def test_commands_and_their_options_are_there():
    now = public_names.commands(cli.parser())
    lost = {
        name: sorted({*words} - {*now.get(name, ())}) for name, words in KEPT["commands"].items()
    }
    assert {name: words for name, words in lost.items() if words or name not in now} == {}


@pytest.mark.parametrize("name", KEPT["programs"])
def test_programs_that_a_guide_starts_are_there(name):
    path = public_names.ROOT.joinpath(*name.split("."))
    assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def test_nothing_is_used_that_the_net_does_not_hold():
    more = public_names.merged(KEPT, public_names.used_today())
    assert more == KEPT, "run: python -m tests.public_names"


def test_the_net_notices_a_call_that_is_no_longer_taken():
    def moved(comm, x, *, chunks):
        """In place of one that took a tag."""

    assert refusals(moved, ["2 chunks"]) == []
    assert len(refusals(moved, ["2", "2 chunks tag"])) == 2


def test_the_net_notices_a_name_that_is_gone():
    with pytest.raises(AttributeError, match=r"there is no ddl_teach\.collectives\.rings"):
        public_names.found("ddl_teach.collectives.rings.allreduce")


def test_a_folder_that_its_files_have_left_is_no_module(monkeypatch, tmp_path):
    (tmp_path / "left_over").mkdir()
    monkeypatch.setattr(ddl_class, "__path__", [*ddl_class.__path__, str(tmp_path)])
    with pytest.raises(AttributeError, match="left_over"):
        public_names.found("ddl_class.left_over")
