"""The spans as arrays: the same spans, only without an object for each."""

import pytest

from ddl_teach import simulate
from ddl_teach.comm import Phantom


def program(comm):
    if comm.size > 1:
        left = (comm.rank - 1) % comm.size
        comm.sendrecv(Phantom(8), (comm.rank + 1) % comm.size, Phantom(8), left)
    for step in range(comm.rank % 3):
        comm.work(seconds=1e-6 * step)
    comm.barrier()


@pytest.mark.parametrize("chosen", [None, [4, 0], [], range(1, 3)])
def test_columns_hold_the_spans_of_the_ranks_asked_for(chosen):
    timeline = simulate(program, ranks=5).timeline
    columns = timeline.columns(chosen)
    kinds = [columns.kinds[code] for code in columns.kind]
    found = list(zip(columns.row, kinds, columns.start, columns.end, strict=True))
    assert found == [
        (row, span.kind, span.start, span.end)
        for row, rank in enumerate(range(5) if chosen is None else chosen)
        for span in timeline.of(rank)
    ]
