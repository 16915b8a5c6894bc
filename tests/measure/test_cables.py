"""One slow cable is found out; a node's cards are read."""

from dataclasses import dataclass

import pytest

from ddl_measure.cables import cables, received, received_since
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate

LATENCY, FAST, SLOW = 3e-5, 8e-8, 8e-7


@dataclass(frozen=True)
class OneSlow(Uniform):
    """Messages go at the pace of the slower of two cables; one rank's is slow."""

    slow: int = 0
    fixed_link = None

    def link(self, source, dest):
        return LATENCY, SLOW if self.slow in (source, dest) else FAST


@pytest.mark.parametrize("ranks", [3, 4, 5, 8])
def test_one_slow_cable_is_found_and_its_neighbours_are_cleared(ranks):
    for slow in (0, 1, ranks - 1):
        for found in simulate(cables, ranks, network=OneSlow(slow=slow)).results:
            right = [SLOW if rank == slow else FAST for rank in range(ranks)]
            assert found.per_byte == pytest.approx(right, rel=1e-9)
            # The message that is called empty holds a few bytes.
            assert LATENCY < found.latency < LATENCY + 10 * SLOW


def test_two_ranks_cannot_tell_whose_it_is_and_one_has_none(real):
    found = simulate(cables, 2, network=OneSlow(slow=1)).results[0]
    assert found.per_byte == pytest.approx([SLOW, SLOW], rel=1e-9)
    with pytest.raises(Exception, match="one rank has none"):
        simulate(cables, 1)
    there = real(cables, 3, nbytes=2**10).results
    assert there[0] == there[1] == there[2]
    assert there[0].latency > 0
    assert min(there[0].per_byte) >= 0


def test_cards_count_upwards_and_the_loopback_is_none():
    before = received()
    assert "lo" not in before
    assert received_since(before) >= 0
    assert received_since({name: count - 7 for name, count in before.items()}) >= 7 * bool(before)
    assert received_since({}) == 0
