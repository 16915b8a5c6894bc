"""Questions come again after days, wrong ones sooner; what was answered is kept."""

import re
import sys
from datetime import date, timedelta

import pytest

from ddl_class import check, predict, review
from ddl_class.cli import main
from ddl_class.commands.mistake import Mistake
from ddl_class.exercises import record
from ddl_class.retrieval.bank import find_item, items
from ddl_class.retrieval.review import OPEN, still_open
from ddl_class.retrieval.terminal import clicker

FIRST = date(2026, 3, 2)


@pytest.fixture(autouse=True)
def clock(fresh_record, monkeypatch):
    """A day that the test moves: `clock(3)` is three days later."""
    days = [FIRST]
    monkeypatch.setattr(record, "today", lambda: days[-1])
    return lambda later: days.append(days[-1] + timedelta(days=later))


def worked(unit, ago, kind="exercises"):
    """The learner tried something of this unit so many days ago."""
    with record.changing() as kept:
        last = record.today() - timedelta(days=ago)
        record.of(kept, kind, f"{unit}.something").update(tries=1, last=str(last))


def shown():
    return {item.name: (item, options) for item, options in still_open(record.read())}


def answer(right=True):
    """Answer all open questions, rightly or by "I do not know"."""
    review(*(options.index(item.answer) + 1 if right else 0 for item, options in shown().values()))


def units_asked():
    return sorted(name[:2] for name in shown())


# -- which questions ----------------------------------------------------------------------------


def test_units_of_one_seven_and_thirty_days_ago(clock):
    for unit, ago in {"03": 0, "08": 1, "04": 3, "06": 7, "09": 14, "05": 30, "02": 200}.items():
        worked(unit, ago, "predictions" if unit == "06" else "exercises")
    review()
    assert units_asked() == ["05", "06", "08"]


def test_a_single_unit_gives_all_three(clock):
    worked("06", 1)
    review()
    assert units_asked() == ["06"] * 3


def test_a_wrong_one_comes_again_the_next_day_and_a_right_one_after_a_week(clock):
    worked("06", 0)
    review()
    before = set(shown())
    answer(right=False)
    review()
    assert not before & set(shown())
    answer()
    clock(1)
    review()
    assert set(shown()) == before
    answer()
    for _ in range(6):
        clock(1)
        review()
        assert not before & set(shown())
        answer()


@pytest.mark.parametrize(("streak", "wait"), [(0, 1), (1, 7), (2, 30), (3, 90), (9, 90)])
def test_a_question_waits_longer_each_time_it_was_right(clock, streak, wait):
    worked("06", 0)
    with record.changing() as kept:
        for item in items("06"):
            entry = record.of(kept, "reviews", item.name)
            entry |= {"streak": streak, "last": str(FIRST)}
    clock(wait - 1)
    review()
    assert shown() == {}
    clock(1)
    review()
    assert len(shown()) == 3


def test_nothing_is_left_for_a_day(clock, capsys):
    worked("06", 0)
    for _ in range(len(items("06")) // 3 + 1):
        review()
        answer()
    capsys.readouterr()
    review()
    assert "Come back tomorrow" in capsys.readouterr().out


def test_a_unit_can_be_named(clock):
    worked("06", 1)
    review(unit="07")
    assert units_asked() == ["07"] * 3
    with pytest.raises(Mistake, match="There are 00, "):
        review(unit="seven")


# -- what is recorded ---------------------------------------------------------------------------


def test_checks_and_predictions_note_the_day(clock):
    check("01.tree_sum", lambda numbers: (numbers - 1).bit_length())
    predict("05.latency", 3)
    kept = record.read()
    assert kept["exercises"]["01.tree_sum"]["last"] == str(FIRST)
    assert kept["predictions"]["05.latency"]["last"] == str(FIRST)
    review()
    assert set(units_asked()) == {"01", "05"}


def test_nobody_who_has_done_nothing_is_asked(capsys):
    review()
    assert "no unit that you have worked in" in capsys.readouterr().out
    assert shown() == {}


def test_a_broken_record_begins_anew(fresh_record, capsys):
    fresh_record.mkdir()
    (fresh_record / "progress.json").write_text("{")
    with pytest.warns(UserWarning, match="begins anew"):
        review()
    assert "no unit that you have worked in" in capsys.readouterr().out


@pytest.mark.parametrize(
    "entry", [{}, {"last": 5}, {"last": "yesterday"}, {"last": "2999-01-01", "streak": "many"}]
)
def test_entries_without_a_day_do_no_harm(clock, entry):
    with record.changing() as kept:
        kept["exercises"]["06.ring"] = dict(entry)
        kept["reviews"] = {item.name: dict(entry) for item in items("06")}
        kept["reviews"][OPEN] = {"06.ring_bytes": 3, "no.such": [], "06.ring_steps": ["7"]}
    review()
    clock(1)
    if entry.get("last") != "2999-01-01":
        assert units_asked() == ["06"] * 3


# -- in a notebook ------------------------------------------------------------------------------


def test_questions_stay_until_they_are_answered(clock, capsys):
    worked("06", 1)
    review()
    first = capsys.readouterr().out
    clock(1)
    review()
    assert capsys.readouterr().out == first
    assert re.findall(r"^(\d)\. ", first, re.MULTILINE) == ["1", "2", "3"]
    assert first.count("\n   1  ") == 3


def test_each_answer_gets_its_verdict(clock, capsys):
    worked("06", 1)
    review()
    (right, at), (wrong, other), (unknown, _) = shown().values()
    mistake = wrong.wrong[0]
    capsys.readouterr()
    review(at.index(right.answer) + 1, other.index(mistake.text) + 1, 0)
    told = " ".join(capsys.readouterr().out.split())
    assert f"✓ {right.name}: {right.answer}." in told
    assert f"✗ {wrong.name}: not {mistake.text}. {mistake.reply} Right is: {wrong.answer}." in told
    assert f"✗ {unknown.name}: right is: {unknown.answer}." in told
    streaks = [record.read()["reviews"][item.name]["streak"] for item in (right, wrong, unknown)]
    assert streaks == [1, 0, 0]
    review(1, 1, 1)
    assert capsys.readouterr().out == "No question is open. review() shows some.\n"


@pytest.mark.parametrize("numbers", [(1,), (1, 2, 3, 1), (1, 2, 5), (1, -1, 2), ("a", "b", "c")])
def test_answers_that_cannot_be(clock, numbers):
    worked("06", 1)
    review()
    before = record.read()
    with pytest.raises(Mistake, match=r"3 questions are open|has answers 1 to 4"):
        review(*numbers)
    assert record.read() == before


# -- in a terminal ------------------------------------------------------------------------------


@pytest.fixture
def typed(monkeypatch):
    """What is typed, line by line; then the input ends."""

    def type_(*lines):
        left = list(lines)

        def line(prompt):
            if not left:
                raise EOFError
            return left.pop(0)

        monkeypatch.setattr("builtins.input", line)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)

    return type_


def test_a_review_in_a_terminal(clock, typed, capsys):
    worked("06", 1)
    typed("five", "9", "1", "")
    assert main(["review"]) == 0
    told = capsys.readouterr().out
    assert "'five' is none of the numbers" in told
    assert told.count("06.") >= 2
    assert "stays open" in told
    assert len(shown()) == 1
    typed("2")
    assert main(["review", "--unit", "06"]) == 0
    assert shown() == {}


def test_without_a_terminal_it_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert main(["review"]) == 2
    assert "review(2, 1, 3)" in capsys.readouterr().err


# -- for a class --------------------------------------------------------------------------------


def test_slides_for_a_class(capsys):
    assert main(["review", "--clicker", "06"]) == 0
    first, *slides = capsys.readouterr().out.split("\n---\n")
    assert first.strip() == "# Questions on unit 06: All-reduce from scratch"
    assert len(slides) == len(items("06"))
    names = [re.search(r"^## \d+\. (.+)$", slide, re.MULTILINE)[1] for slide in slides]
    assert {*names} == {item.question for item in items("06")}


def test_the_notes_of_a_slide_say_what_is_right_and_what_others_believe():
    item = find_item("06.ring_steps")
    [slide] = [text for text in clicker("06").split("\n---\n") if item.question in text]
    face, notes = slide.split("<!-- Notes: ")
    answers = dict(re.findall(r"- \*\*(\w)\*\* (.+)", face))
    [right] = [letter for letter, text in answers.items() if text == item.answer]
    assert notes.startswith(f"{right} is right")
    assert "is right" not in face
    for wrong in item.wrong:
        [letter] = [letter for letter, text in answers.items() if text == wrong.text]
        assert f"{letter}: believes that {wrong.mistake}. {wrong.reply}" in notes


def test_the_order_on_slides_is_that_of_the_seed():
    assert clicker("06", 1) == clicker("06", 1) != clicker("06", 2)
