"""Published times of MPI beside the formulas: what is recorded is what the program says now."""

import re

import pytest

from benchmarks import published_mpi
from ddl_teach.theory import collectives
from ddl_teach.theory.machine import Link
from tests.benchmarks.quotations import plain

MESSAGE, MEASURED = published_mpi.read_times()
UNIT = plain("notebooks/source/23_collectives.py")


def test_the_recorded_report_is_the_report():
    recorded = published_mpi.RESULTS.read_text()
    assert recorded == published_mpi.report(MESSAGE, MEASURED) + "\n"


@pytest.mark.parametrize("name", ["recursive doubling", "Rabenseifner", "ring"])
@pytest.mark.parametrize("nodes", [2, 4, 8, 128])
def test_the_ways_are_the_formulas_of_theory(name, nodes):
    link = Link(2e-6, 1e-10)
    formula = collectives.formula(name.lower().replace(" ", "_"))
    ways = published_mpi.expected(nodes, 2**20, lambda nbytes: 2e-6 + nbytes * 1e-10)
    assert ways[name] == pytest.approx(formula(nodes, 2**20, link), rel=1e-9)


@pytest.mark.parametrize("nodes", [4, 8, 16, 64])
@pytest.mark.parametrize("nbytes", [2**power for power in range(2, 12)])
def test_short_vectors_take_what_a_ping_pong_says(nodes, nbytes):
    """Recursive doubling is the way that is nearest to the times."""
    ways, measured = published_mpi.expected(nodes, nbytes, MESSAGE), MEASURED[nodes, nbytes]
    off = {name: abs(time / measured - 1) for name, time in ways.items()}
    assert min(off, key=off.get) == "recursive doubling"
    assert off["recursive doubling"] < 0.2


def test_where_a_fixed_size_misleads_more_bytes_take_less_time():
    assert published_mpi.fallen(MEASURED) == [(32, 2**18), (64, 2**18)]
    assert MEASURED[8, 2**20] > 2 * MEASURED[16, 2**20]


def test_the_unit_quotes_what_is_recorded():
    report = published_mpi.RESULTS.read_text()
    typical, short = re.search(r"Typical factor: ([\d.]+); too short: (\d+%)", report).groups()
    assert f"takes {len(MEASURED)} all-reduces on up to 128 nodes" in UNIT
    assert f"off by a factor of {typical}, and in {short} of all cases it is too short" in UNIT


@pytest.mark.parametrize("nodes", [8, 16, 64])
def test_the_unit_shows_the_times_that_were_published(nodes):
    times = " | ".join(f"{MEASURED[nodes, 2**power]:.1f}" for power in (18, 19, 20))
    assert f"| {nodes} | {times} |" in UNIT
