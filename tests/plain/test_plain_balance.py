"""Experts loaded alike: the plain bias is the product's, and copies are placed well."""

import numpy as np
import pytest
import torch
from comparing import assert_all_close, assert_differs, plain

from ddl_teach.networks.experts.balance import update_bias
from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.experts.spread import spread_experts

SPEED, STEPS = 0.01, 12


def both_biases(comm, change=None):
    """The bias after some steps, by the plain file and by the product on spread experts."""
    torch.manual_seed(3)
    mixture = MixtureOfExperts(4, 8, 6, chosen=2, factor=np.inf).double()
    network = torch.nn.Sequential(mixture)
    spread_experts(network, comm)
    file, mine = plain("balanced_experts", change), np.zeros(6)
    for step in range(STEPS):
        torch.manual_seed(100 * step + comm.rank)
        with torch.no_grad():
            network(torch.randn(5, 4, dtype=torch.float64) + 1)
        loads = network[0].routing.rows.sum(0).numpy()
        mine = file.next_bias(mine, loads, SPEED)
        update_bias(network, SPEED)
    return mine, network[0].bias.numpy()


def test_the_bias_is_that_of_the_product_and_the_same_on_all_ranks(run):
    results = run(both_biases).results
    assert_all_close(results)
    assert len({bias.tobytes() for bias, _ in results}) == 1


def test_another_sign_would_be_noticed(ranks):
    from ddl_teach import simulate

    change = ("loads.mean() - loads", "loads - loads.mean()")
    assert_differs(simulate(both_biases, ranks, change=change).results)


@pytest.mark.parametrize("seed", range(5))
def test_spare_places_make_the_heaviest_copy_as_light_as_possible(seed):
    """No other way to give the places makes the heaviest copy lighter: all small ones tried."""
    file = plain("balanced_experts")
    loads = np.random.default_rng(seed).integers(1, 50, 4).astype(float)
    copies = file.spare_copies(loads, 8)
    ways = [way + 1 for way in np.ndindex(5, 5, 5, 5) if sum(way) == 4 for way in [np.array(way)]]
    assert copies.sum() == 8
    assert (loads / copies).max() == min((loads / way).max() for way in ways)


@pytest.mark.parametrize(("places", "ranks"), [(8, 4), (12, 4), (16, 8), (8, 1)])
def test_every_copy_has_a_place_and_no_row_is_lost(places, ranks):
    file = plain("balanced_experts")
    loads = 1 / np.arange(1.0, 9)
    copies = file.spare_copies(loads, places)
    held = file.pack(loads, copies, ranks)
    assert {len(experts) for experts in held} == {places // ranks}
    assert np.bincount(np.concatenate(held)).tolist() == copies.tolist()
    on_ranks = [sum((loads / copies)[experts]) for experts in held]
    assert sum(on_ranks) == pytest.approx(loads.sum())
    in_order = loads.reshape(-1, max(1, 8 // ranks)).sum(axis=1)
    assert max(on_ranks) <= max(in_order)
