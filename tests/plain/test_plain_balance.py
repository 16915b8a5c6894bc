"""Experts loaded alike: the plain bias is the product's, and copies are placed well."""

import numpy as np
import pytest
import torch
from comparing import assert_all_close, assert_differs, plain

from ddl_teach import simulate
from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.experts.spread import spread_experts

SPEED, STEPS = 0.01, 12


def both_choices(comm, change=None):
    """The loads of some steps on spread experts, and those that the plain file's rule gives."""
    torch.manual_seed(3)
    mixture = MixtureOfExperts(4, 8, 6, chosen=1, factor=np.inf).double()
    gate = mixture.gate.weight.detach().numpy().T.copy()
    network = torch.nn.Sequential(mixture)
    spread_experts(network, comm)
    file, bias, loads, theirs = plain("balanced_experts", change), np.zeros(6), [], []
    for step in range(STEPS):
        drawn = [np.random.default_rng([step, rank]).standard_normal((5, 4)) + 1
                 for rank in range(comm.size)]  # fmt: skip
        network[0].bias = torch.from_numpy(bias)
        with torch.no_grad():
            network(torch.from_numpy(drawn[comm.rank]))
        theirs.append(network[0].routing.rows.sum(0).numpy().astype(float))
        scores = np.exp(np.concatenate(drawn) @ gate)
        chosen = (scores / scores.sum(1, keepdims=True) + bias).argmax(1)
        loads.append(np.bincount(chosen, minlength=6).astype(float))
        bias = plain("balanced_experts").next_bias(bias, loads[-1], SPEED)
        loads[-1] = file.next_bias(0 * bias, loads[-1], SPEED)
        theirs[-1] = SPEED * np.sign(theirs[-1].mean() - theirs[-1])
    return loads, theirs


def test_experts_are_chosen_with_the_bias_as_the_definition_says(run):
    assert_all_close(run(both_choices).results)


def test_another_sign_would_be_noticed(ranks):
    change = ("loads.mean() - loads", "loads - loads.mean()")
    assert_differs(simulate(both_choices, ranks, change=change).results)


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
