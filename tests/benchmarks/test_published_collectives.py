"""Published times of all-reduces beside NCCL's own model: what is recorded is what it says now."""

import numpy as np

from benchmarks import published_collectives
from ddl_teach.theory import nccl

ROWS, OTHERS = published_collectives.read_collectives()


def test_the_recorded_report_is_the_report():
    recorded = published_collectives.RESULTS.read_text()
    assert recorded == published_collectives.report(ROWS, OTHERS) + "\n"


def test_the_fit_helps_on_rows_that_it_has_not_seen():
    fitted = published_collectives.fit(ROWS[::2])
    before, after = (
        published_collectives.typical(published_collectives.factors(ROWS[1::2], *numbers))
        for numbers in ((), fitted)
    )
    assert after < 1.5 < before


def test_without_a_fit_most_times_are_too_short():
    assert (published_collectives.factors(ROWS) < 1).mean() > 0.85


def test_long_vectors_on_one_node_take_the_bandwidth_that_was_measured():
    long = [row for row in ROWS if row.nodes == 1 and row.nbytes >= 2**30 and row.gpu == "A100"]
    assert len(long) >= 2
    assert np.all(np.abs(published_collectives.factors(long) - 1) < 0.2)


def test_each_row_of_the_table_is_read_or_named():
    assert len(ROWS) + len(OTHERS) == 113
    assert {row.gpu for row in ROWS} == set(nccl.GENERATIONS)
