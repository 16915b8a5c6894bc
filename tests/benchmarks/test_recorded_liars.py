"""What the notebooks without a centre say of recorded runs is what was recorded."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import runtimes

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results"
SOURCE = "".join(
    (ROOT / f"notebooks/source/24_{name}.py").read_text(encoding="utf-8")
    for name in ("without_a_centre", "workers_that_lie")
)
TABLES = [
    table.strip().splitlines() for table in (RESULTS / "liars.txt").read_text().split("\n\n")
]
LIES = {
    lines[0].partition(",")[0]: {
        line[:18].strip(): [-1.0 if cell == "lost" else float(cell) for cell in line[18:].split()]
        for line in lines[2:]
    }
    for lines in TABLES[1:]
}


def test_the_notebook_has_the_recorded_accuracies():
    text = re.search(r'recorded = """\n(.*?)\n"""', SOURCE, re.DOTALL)[1]
    shown = {line[:18].strip(): line[18:].replace("|", " ").split() for line in text.splitlines()}
    lies = ("opposite", "100 times opposite", "small bias")
    for rule, cells in shown.items():
        assert [*map(float, cells)] == [cell for lie in lies for cell in LIES[lie][rule]]


@pytest.mark.parametrize("lie", ["opposite", "small bias"])
def test_with_two_liars_the_mean_is_within_half_a_percent(lie):
    with_two = {rule: cells[2] for rule, cells in LIES[lie].items()}
    assert with_two["mean"] >= max(with_two.values()) - 0.5


def test_a_huge_lie_is_the_end_of_the_mean_alone():
    huge = LIES["100 times opposite"]
    assert huge["mean"][1:] == [-1.0] * 3
    assert min(min(cells) for rule, cells in huge.items() if rule != "mean") > 80
    without = {rule: cells[0] for rule, cells in LIES["no liars"].items()}
    assert min(without, key=without.get) == "Krum"


@pytest.mark.parametrize("rule", LIES["no liars"])
def test_it_says_what_unlike_data_do(rule):
    prose = " ".join(SOURCE.replace("\n# ", " ").split())
    assert f"{rule} {LIES['no liars'][rule][1]}" in prose


def test_it_has_the_recorded_milliseconds():
    rows = re.findall(r'^ +"(.*?)": \((.*?)\),$', SOURCE, re.MULTILINE)
    shown = {
        way: [*map(float, ends.split(", "))] for way, ends in rows if "own" in way or "over" in way
    }
    lines = (RESULTS / "runtimes.txt").read_text().strip().split("\n\n")[-1].splitlines()[2:]
    recorded = {}
    for line in lines:
        way, *numbers = re.match(r"(.+?)  +([\d,]+) +([\d,]+) to +([\d,]+)", line).groups()
        recorded[way] = [round(float(each.replace(",", "")) / 1000, 1) for each in numbers]
    assert shown == recorded
    assert len(shown) == 8


def test_all_runtimes_give_the_same(real):
    for rows in real(runtimes.sums, 3, grpc=runtimes.has_grpc(), timeout=120).results:
        assert all(np.array_equal(row, rows[0]) for row in rows)
