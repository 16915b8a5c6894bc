"""A test before and after: both sheets ask the same, and the analysis finds what is known."""

import csv
import math
import re
from random import Random

import numpy as np
import pytest

from ddl_class.cli import main
from ddl_class.release.curriculum import LESSONS
from ddl_class.retrieval.analysis import discrimination, gain, interval, paired, report
from ddl_class.retrieval.bank import find_item, items

UNITS, EACH = "05,06,08", 2


@pytest.fixture
def folder(tmp_path, capsys):
    """Sheets of six questions, not yet filled in."""
    made = tmp_path / "class"
    assert main(["survey", "make", str(made), "--units", UNITS, "--each", str(EACH)]) == 0
    capsys.readouterr()
    return made


def key(folder):
    """By sheet and question: its place, and the letter of each answer."""
    places, letters = {}, {}
    with open(folder / "key.csv", newline="") as file:
        for row in csv.DictReader(file):
            places[row["sheet"], row["question"]] = row["place"]
            letters.setdefault((row["sheet"], row["question"]), {})[row["answer"]] = row["letter"]
    return places, letters


def hand_in(folder, sheets):
    """Add a line for each (word, sheet, {question: answer}); what is left out is not marked."""
    places, letters = key(folder)
    with open(folder / "answers.csv", "a", newline="") as file:
        table = csv.writer(file)
        for word, sheet, answers in sheets:
            row = {places[sheet, name]: letters[sheet, name][text]
                   for name, text in answers.items()}  # fmt: skip
            count = len({place for (which, _), place in places.items() if which == sheet})
            table.writerow([word, sheet, *(row.get(str(k), "") for k in range(1, count + 1))])


def questions(folder):
    return [find_item(name) for name in sorted({name for _, name in key(folder)[0]})]


def answers_of(folder, knows):
    """An answer to each question: the right one where `knows(item)`, else its first mistake."""
    return {item.name: item.answer if knows(item) else item.wrong[0].text
            for item in questions(folder)}  # fmt: skip


def a_class(folder, learners, before, after, seed=0):
    """Learners who know each question with these chances, before and after."""
    lots = Random(seed)
    for number in range(learners):
        for sheet, chance in (("before", before), ("after", after)):
            known = answers_of(folder, lambda item, chance=chance: lots.random() < chance)
            hand_in(folder, [(f"word {number}", sheet, known)])


# -- sheets -------------------------------------------------------------------------------------


def test_both_sheets_ask_the_same_in_another_order(folder):
    pages = [(folder / f"{sheet}.md").read_text() for sheet in ("before", "after")]
    asked = [re.findall(r"^\*\*\d+\.\*\* (.+)$", page, re.MULTILINE) for page in pages]
    assert len(asked[0]) == 6
    assert asked[0] == asked[1][::-1]
    units = sorted(item.unit for item in questions(folder))
    assert units == sorted(2 * UNITS.split(","))


@pytest.mark.parametrize("sheet", ["before", "after"])
def test_the_key_says_what_stands_on_the_sheets(folder, sheet):
    places, letters = key(folder)
    item = questions(folder)[0]
    page = (folder / f"{sheet}.md").read_text()
    own = page.split(f"**{places[sheet, item.name]}.** ")[1].split("\n\n**")[0]
    shown = {text: letter for letter, text in re.findall(r"\*\*(\w)\*\* (.+)", own)}
    assert shown == letters[sheet, item.name]
    assert item.question in own


@pytest.mark.parametrize(("seed", "same"), [(0, True), (1, False)])
def test_the_same_seed_makes_the_same_sheets(folder, tmp_path, seed, same):
    other = tmp_path / "other"
    words = ["--units", UNITS, "--each", str(EACH), "--seed", str(seed)]
    assert main(["survey", "make", str(other), *words]) == 0
    pages = [(each / "before.md").read_text() for each in (folder, other)]
    assert (pages[0] == pages[1]) == same


def test_without_units_those_with_a_star_are_asked(tmp_path):
    assert main(["survey", "make", str(tmp_path / "class")]) == 0
    starred = [number for number, lesson in LESSONS.items() if lesson.starred]
    assert sorted(item.unit for item in questions(tmp_path / "class")) == starred


def test_a_unit_that_is_named_twice_is_asked_once(tmp_path):
    assert main(["survey", "make", str(tmp_path / "class"), "--units", "05, 06,05"]) == 0
    assert sorted(item.unit for item in questions(tmp_path / "class")) == ["05", "06"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--units", "05,99"], "no unit '99' has questions"),
        (["--units", "05", "--each", "50"], "unit 05 has 12 questions, not 50"),
    ],
)
def test_sheets_that_cannot_be_made(tmp_path, capsys, words, complaint):
    assert main(["survey", "make", str(tmp_path / "class"), *words]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "class").exists()


def test_answers_are_never_overwritten(folder, capsys):
    assert main(["survey", "make", str(folder)]) == 2
    assert "exists already" in capsys.readouterr().err


# -- analysis -----------------------------------------------------------------------------------


def test_a_gain_is_what_was_won_of_what_could_be():
    assert gain(0.25, 0.625) == 0.5
    assert gain(0.5, 0.25) == -0.5
    assert math.isnan(gain(1.0, 1.0))


def test_a_class_whose_gain_is_known(folder):
    a_class(folder, 60, before=0.3, after=0.65)
    answers = paired(folder)
    before, after = answers.right("before"), answers.right("after")
    low, high = interval(before, after)
    assert low < 0.5 < high
    assert high - low < 0.25
    row = re.search(r"\| all \| 6 \| (\d+)% \| (\d+)% \| ([\d.]+) \| (.+) \|", report(answers))
    assert [int(row[1]), int(row[2])] == [round(100 * part.mean()) for part in (before, after)]
    assert float(row[3]) == pytest.approx(float(gain(before.mean(), after.mean())), abs=0.005)
    assert row[4] == f"{low:.2f} to {high:.2f}"


def test_a_class_that_learnt_nothing_is_not_given_a_gain(folder):
    a_class(folder, 40, before=0.4, after=0.4, seed=1)
    assert "may be none" in report(paired(folder)).split("| all |")[1].splitlines()[0]


def test_intervals_hold_the_truth_as_often_as_they_say():
    lots, held = np.random.default_rng(5), 0
    for _ in range(100):
        before, after = (lots.random((30, 6)) < chance for chance in (0.3, 0.65))
        low, high = interval(before.astype(float), after.astype(float))
        held += low <= 0.5 <= high
    assert 88 <= held <= 100


def test_only_the_unit_that_was_taught_gains(folder):
    a_class(folder, 1, before=0.0, after=0.0)
    for number in range(20):
        for sheet in ("before", "after"):
            known = answers_of(folder, lambda item, s=sheet: s == "after" and item.unit == "06")
            hand_in(folder, [(f"other {number}", sheet, known)])
    rows = dict(re.findall(r"^\| (\d\d|all) \| \d \| (.+) \|$", report(paired(folder)), re.M))
    assert rows["06"].startswith("0% | 95% | 0.95")
    assert rows["05"] == "0% | 0% | 0.00 | 0.00 to 0.00: may be none"


def test_the_mistake_that_most_have_chosen_is_named(folder):
    item, *others = questions(folder)
    for number in range(12):
        wrong = item.wrong[1 if number < 7 else 0].text
        sheets = [(f"w{number}", sheet, {item.name: wrong}) for sheet in ("before", "after")]
        hand_in(folder, sheets)
    text = report(paired(folder))
    assert f"7 of 12: {item.wrong[1].text} (that {item.wrong[1].mistake})" in text
    assert text.count("| none |") == len(others)


def test_a_question_that_splits_good_from_bad_is_told_from_one_of_chance():
    lots = np.random.default_rng(0)
    skill = lots.random((300, 1))
    right = (lots.random((300, 8)) < skill).astype(float)
    right[:, 0] = lots.random(300) < 0.5
    assert abs(discrimination(right, 0)) < 0.15
    assert all(discrimination(right, item) > 0.3 for item in range(1, 8))
    assert math.isnan(discrimination(np.ones((5, 3)), 0))
    assert math.isnan(discrimination(np.ones((5, 1)), 0))


def test_what_too_few_cannot_show_is_not_shown(folder):
    a_class(folder, 6, before=0.3, after=0.9)
    text = report(paired(folder))
    assert "6 pairs are too few for intervals" in text
    assert not re.search(r"\d to \d", text.split("\n\n")[1])
    assert text.count("| too few |") == len(questions(folder)) + len(UNITS.split(",")) + 1
    assert "without the course" in text


def test_pairs_are_found_by_their_words(folder, capsys):
    right = answers_of(folder, lambda item: True)
    hand_in(
        folder, [("Tulip", "before", {}), (" tulip ", "after", right), ("oak", "after", right)]
    )
    assert main(["survey", "analyse", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "Both sheets of 1 learners; 1 sheets have no other half." in shown
    assert "| all | 6 | 0% | 100% | 1.00 | too few |" in shown


def test_without_pairs_nothing_is_said(folder):
    hand_in(folder, [("oak", "after", {})])
    assert "Without pairs nothing can be said" in report(paired(folder))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("oak,during,A", "line 2: sheet must be before or after, not 'during'"),
        ("oak,after,X", "line 2: question 1 has no answer 'X'"),
        ("oak,after,\noak,after,", "line 3: 'oak' has handed in this sheet already"),
    ],
)
def test_answers_that_cannot_be_are_named(folder, capsys, line, complaint):
    with open(folder / "answers.csv", "a") as file:
        file.write(f"{line}\n")
    assert main(["survey", "analyse", str(folder)]) == 2
    assert complaint in capsys.readouterr().err


def test_a_folder_without_sheets(tmp_path, capsys):
    assert main(["survey", "analyse", str(tmp_path)]) == 2
    assert "survey make FOLDER" in capsys.readouterr().err


def test_a_table_without_its_columns(folder, capsys):
    (folder / "answers.csv").write_text("name,1\n")
    assert main(["survey", "analyse", str(folder)]) == 2
    assert "has no column 'word'" in capsys.readouterr().err


def test_a_question_that_a_release_has_dropped(folder, capsys):
    file = folder / "key.csv"
    file.write_text(file.read_text().replace(questions(folder)[0].name, "06.dropped"))
    assert main(["survey", "analyse", str(folder)]) == 2
    assert "that this release does not have" in capsys.readouterr().err


def test_sheets_never_ask_for_more_than_there_is():
    assert min(len(items(unit)) for unit in UNITS.split(",")) >= EACH
