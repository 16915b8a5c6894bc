"""The tables in the guides of labs are those of the recorded runs."""

from pathlib import Path

import pytest

from benchmarks.lab_tables import TABLES, orders_of_lab_5, words_of_lab_4, words_of_lab_7

LABS = Path(__file__).resolve().parents[2] / "labs"


@pytest.mark.parametrize("lab", TABLES)
def test_a_guide_has_every_row_of_its_recorded_runs(lab):
    [guide] = LABS.glob(f"{lab}_*/instructor.md")
    rows = TABLES[lab]()
    assert len(rows) >= 5
    assert [row for row in rows if row not in guide.read_text().splitlines()] == []


def test_lab_5_says_how_many_pairs_its_model_has_right():
    words = " ".join((LABS / "5_grids/instructor.md").read_text().split())
    computing, right, asleep, right_too = orders_of_lab_5()
    assert f"Of {computing} pairs told apart the model has {right}" in words
    assert f"of {asleep} pairs told apart the model has {right_too}" in words


def test_lab_7_says_how_much_longer_than_by_the_formula_it_took():
    words = " ".join((LABS / "7_compression/instructor.md").read_text().split())
    formula, took, dense, alone = words_of_lab_7()
    assert f"at 100 Mbit/s top 1% should take {formula} ms and takes {took}." in words
    assert f"Dense at 1 Gbit/s takes {dense} ms, where the bytes alone need {alone}:" in words


def test_lab_4_says_what_its_run_and_the_formula_give():
    words = " ".join((LABS / "4_cuda_aware/instructor.md").read_text().split())
    copy, wire, measured, formula, chunk = words_of_lab_4()
    assert f"So {copy} and {wire} MB/s;" in words
    assert (
        f"is {measured} measured and {formula} by the formula; the best chunk is {chunk} KiB"
        in words
    )
