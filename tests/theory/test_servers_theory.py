"""What passes a parameter server's port, by hand."""

import pytest

from ddl_teach.theory.machine import Link
from ddl_teach.theory.servers import ANSWER, REQUEST, ring_ingress, server_ingress, server_step


@pytest.mark.parametrize(("servers", "each"), [(1, 1000), (4, 250)])
def test_each_worker_brings_a_part_to_each_server_and_asks_twice(servers, each):
    assert server_ingress(6, 1000, servers) == 6 * (each + 2 * REQUEST)
    assert server_ingress(6, 1000) == 6 * (1000 + 2 * REQUEST)


def test_one_server_takes_in_half_as_many_times_as_much_as_a_rank_of_a_ring_as_there_are_ranks():
    assert ring_ingress(5, 1000) == 1600
    assert server_ingress(64, 1e9) / ring_ingress(64, 1e9) == pytest.approx(64 / 2, rel=0.02)


@pytest.mark.parametrize(
    ("workers", "servers", "vectors"),
    [(6, 1, 6), (6, 4, 1.5), (6, 6, 1), (2, 8, 1)],  # where servers are many, a worker's own port
)
def test_a_step_takes_two_latencies_and_what_the_busiest_port_carries(workers, servers, vectors):
    nbytes = 2 * vectors * 1000 + workers * (2 * REQUEST + ANSWER)
    seconds = server_step(workers, 1000, Link(0.5, 0.01), servers)
    assert seconds == pytest.approx(2 * 0.5 + nbytes * 0.01)
    if servers == 1:
        assert server_step(workers, 1000, Link(0.5, 0.01)) == seconds
