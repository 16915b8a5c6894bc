"""What is recorded of 65,536 simulated ranks: formulas, virtual times, and what quotes them."""

import re

import pytest

from benchmarks.many_ranks import RANKS, RESULTS, WAYS, seconds
from tests.benchmarks.quotations import plain

ROW = r"^(PAT|two trees, short|two trees) +(\d+) +(\d+) +([\d.]+) ms +([\d.]+) ms"
RECORDED = {row[0]: row[1:] for row in re.findall(ROW, RESULTS.read_text(), re.MULTILINE)}


@pytest.mark.parametrize("way", WAYS)
def test_the_formula_is_the_one_recorded_and_near_the_simulation(way):
    _, nbytes, formula = WAYS[way]
    size, ranks, simulated, computed = map(float, RECORDED[way])
    assert (size, ranks) == (nbytes, RANKS)
    assert f"{1e3 * formula(RANKS):.4f}" == f"{computed:.4f}"
    assert simulated == pytest.approx(computed, rel=1e-3 if way == "PAT" else 0.1)


@pytest.mark.parametrize("way", WAYS)
def test_on_fewer_ranks_a_simulation_is_as_near_to_its_formula(way):
    formula = WAYS[way][2](512)
    assert seconds(way, 512) == pytest.approx(formula, rel=1e-3 if way == "PAT" else 0.15)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_65536_ranks_take_the_virtual_time_that_is_recorded(way):
    assert f"{1e3 * seconds(way):.4f}" == RECORDED[way][2]


@pytest.mark.parametrize("way", WAYS)
def test_unit_23_says_what_is_recorded(way):
    *_, simulated, computed = RECORDED[way]
    prose = plain("notebooks/source/23_collectives.py")
    assert max(map(int, re.findall(r"(\d+) s$", RESULTS.read_text(), re.MULTILINE))) < 30
    assert re.search(
        rf"{simulated} ms, (?:and the formula says|by the formula) {computed} ms", prose
    )
