"""The change log's table of moves is true, and its script rewrites what names an old place."""

import importlib

import pytest

from tests.moves import ROOT, ROW, TABLE, move, rewrite

MOVES = dict(ROW.findall(TABLE.read_text()))
PLAIN = {old.rstrip("/"): new.rstrip("/") for old, new in MOVES.items()}


def test_each_new_place_is_there_and_no_old_one():
    assert [new for new in MOVES.values() if not (ROOT / new).exists()] == []
    assert [old for old in MOVES if (ROOT / old).exists()] == []


def test_the_old_classroom_names_the_new_one():
    with pytest.raises(ImportError, match="from ddl_class import check"):
        importlib.import_module("ddl_teach.course")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from ddl_teach.comm.networks import Uniform\n",
            "from ddl_runtime.topologies.point_to_point import Uniform\n",
        ),
        (
            "from ddl_teach.comm import Comm, story\nraise story.Deadlock\n",
            "from ddl_teach.comm import Comm\n"
            "from ddl_runtime.diagnosis import deadlock\nraise deadlock.Deadlock\n",
        ),
        (
            "from ddl_teach.comm import story\nexcept story.Deadlock as deadlock:\n",
            "from ddl_runtime.diagnosis import deadlock as story\n"
            "except story.Deadlock as deadlock:\n",
        ),
        ("from ddl_teach.comm import ANY, Comm\n", "from ddl_teach.comm import ANY, Comm\n"),
        ("from ddl_teach.course import check\n", "from ddl_class import check\n"),
        ("see `comm/ledger.py` and sgd.updates.adam", None),
    ],
)
def test_what_names_an_old_place_is_rewritten(before, after):
    after = after or "see `ddl_runtime/records/ledger.py` and training.optimizers.adam"
    assert rewrite(before, PLAIN) == after


def test_the_longest_row_says_where_a_file_goes():
    assert move("ddl_teach/course/box/plan.py", PLAIN) == "ddl_class/clusters/box/plan.py"
    assert move("ddl_teach/theory/tree.py", PLAIN) == "ddl_teach/theory/tree.py"
