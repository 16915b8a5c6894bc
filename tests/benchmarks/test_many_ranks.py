"""What is recorded of 65,536 simulated ranks: formulas, virtual times, and what quotes them."""

import re

import pytest

from benchmarks import many_ranks
from benchmarks.many_ranks import (
    LINK,
    MILLION,
    RANKS,
    RESULTS,
    SYMMETRIC,
    WAYS,
    seconds,
    summed,
    symmetric_seconds,
)
from ddl_teach import simulate
from ddl_teach.theory import collectives
from tests.benchmarks.quotations import plain

ROW = r"^(\S.*?) +(\d+) +(\d+) +([\d.]+) ms +([\d.]+) ms"
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


@pytest.mark.parametrize("chunks", [1, 2, 8])
def test_two_trees_send_so_many_messages_a_chunk_and_stay_near_their_formula(chunks):
    ranks, nbytes = 128, chunks * 2**17
    run = simulate(summed, ranks, nbytes=nbytes, network=LINK.network, trace=False)
    assert sum(part.messages_sent for part in run.ledger) == 4 * (ranks - 1) * chunks
    formula = collectives.double_binary_tree(ranks, nbytes, LINK, chunks)
    assert 0.8 * formula < run.time < formula


def test_what_the_benchmark_says_of_1_mib_is_so():
    assert f"{4 * (RANKS - 1) * 8 / 1e6:.1f} million" in " ".join(many_ranks.__doc__.split())


@pytest.mark.parametrize("way", SYMMETRIC)
def test_a_million_symmetric_ranks_took_what_their_formula_says(way):
    size, ranks, simulated, computed = map(float, RECORDED[way])
    assert (size, ranks) == (2**23, MILLION)
    assert f"{1e3 * SYMMETRIC[way][1](MILLION):.4f}" == f"{computed:.4f}" == f"{simulated:.4f}"


@pytest.mark.parametrize("way", SYMMETRIC)
def test_a_symmetric_simulation_takes_as_long_as_its_formula_says(way):
    assert symmetric_seconds(way, 4096) == pytest.approx(SYMMETRIC[way][1](4096), rel=1e-9)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", WAYS)
def test_65536_ranks_take_the_virtual_time_that_is_recorded(way):
    assert f"{1e3 * seconds(way):.4f}" == RECORDED[way][2]


@pytest.mark.parametrize("way", WAYS)
def test_unit_23_says_what_is_recorded(way):
    *_, simulated, computed = RECORDED[way]
    prose = plain("notebooks/source/23_collectives.py")
    *others, longest = sorted(map(int, re.findall(r"(\d+) s$", RESULTS.read_text(), re.MULTILINE)))
    assert max(others) < 30 < 120 < longest
    assert re.search(
        rf"{simulated} ms, (?:and the formula says|by the formula) {computed} ms", prose
    )
