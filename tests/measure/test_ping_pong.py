"""The course's ping-pong: the model's time on simulated ranks, the right messages on both."""

import numpy as np
import pytest

from ddl_measure.ping_pong import ping_pong
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("nbytes", [0, 1, 6000])
def test_simulated_it_is_the_time_of_one_message(ranks, nbytes):
    network = Uniform(latency=2e-6, bandwidth=1e9)
    first, *others = simulate(ping_pong, ranks, network=network, nbytes=nbytes, turns=7).results
    assert np.isclose(first, 2e-6 + nbytes / 1e9)
    assert others == [None] * (ranks - 1)


@pytest.mark.parametrize("ranks", [2, 3])
def test_on_real_ranks_the_same_messages_go_to_and_fro(real, ranks):
    run = real(ping_pong, ranks, nbytes=1000, turns=3)
    assert run.results[0] > 0
    assert [ledger.bytes_sent for ledger in run.ledger] == [3000, 3000, *[0] * (ranks - 2)]
