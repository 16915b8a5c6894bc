"""In which order Rabenseifner's algorithm meets its partners, as its docstring says."""

import numpy as np
import pytest

from ddl_teach import simulate
from ddl_teach.collectives import registry
from ddl_teach.plain import rabenseifner


def partners_and_lengths(allreduce, ranks):
    run = simulate(lambda comm: allreduce(comm, np.full(4 * ranks, 1.0)), ranks)
    sent = [message for message in run.timeline.messages if message.source == 0]
    sent.sort(key=lambda message: message.start)
    return [(message.dest, message.bytes // 8) for message in sent]


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize(
    "allreduce", [registry.get("rabenseifner").allreduce, rabenseifner.allreduce]
)
def test_the_farthest_partner_comes_first_and_gets_half(allreduce, ranks):
    distances = [ranks // 2**step for step in range(1, ranks.bit_length())]
    halves = [(distance, 4 * distance) for distance in distances]
    assert partners_and_lengths(allreduce, ranks) == halves + halves[::-1]
