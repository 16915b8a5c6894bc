"""Each row of the published trainings and processors says where its numbers were read."""

import csv
from pathlib import Path

import pytest

PUBLISHED = Path(__file__).resolve().parents[1] / "benchmarks" / "published"
ROWS = [
    pytest.param(row, id=f"{row['year']} {row.get('model') or row['device']}")
    for name in ("models.csv", "devices.csv")
    for row in csv.DictReader((PUBLISHED / name).open(encoding="utf-8", newline=""))
]


@pytest.mark.parametrize("row", ROWS)
def test_a_row_was_read_or_names_the_page_that_quotes_it(row):
    assert row["seen"] in {"yes", "quoted"}  # nothing from memory
    assert bool(row["read_at"]) == (row["seen"] == "quoted")
    assert row["source"]
