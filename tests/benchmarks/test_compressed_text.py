"""What unit 16 quotes of the GPT with compressed gradients is what was recorded."""

import re

import pytest

from benchmarks.compressed_text import RESULTS, WAYS, trained
from tests.benchmarks.quotations import plain

UNIT = "notebooks/source/16_fewer_bytes.py"
ROW = r"^{} +rate \S+ +(?P<right>\S+%) +\S+ +(?P<moved>\S+%) +(?P<sent>[\d,]+) "


def recorded(name):
    """The row of a way: the share that is right, the share of weights that moved, the bytes."""
    return re.search(ROW.format(re.escape(name)), RESULTS.read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", WAYS)
def test_a_row_of_the_table_is_the_recorded_one(name):
    row = recorded(name)
    assert f"| {name} | {row['sent']} | {row['right']} | {row['moved']} |" in plain(UNIT)


def test_the_steps_and_the_rates_are_the_recorded_ones():
    line = re.search(r"weights, (\d+) steps.* rates \((.*)\)", RESULTS.read_text())
    steps, rates = line.groups()
    *first, last = rates.split(", ")
    told = f"{steps} steps of plain descent, each way at the best of the rates"
    assert f"{told} {', '.join(first)} and {last}" in plain(UNIT)


def right(name):
    return float(recorded(name)["right"].rstrip("%"))


@pytest.mark.parametrize("name", ["1 bit", "top 1%", "top 0.1%"])
def test_a_memory_helped_as_the_unit_says(name):
    assert right(f"{name}, memory") > right(name)


@pytest.mark.parametrize("name", ["1 bit", "top 1%"])
def test_a_training_counts_the_bytes_that_a_form_sends(name):
    *_, moved, sent = trained(WAYS[name], 0.5, 1)
    assert sent == int(recorded(name)["sent"].replace(",", ""))
    assert 0 < moved <= 1
