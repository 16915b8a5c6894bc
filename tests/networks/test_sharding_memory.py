"""Sharded training holds what the formulas say, to the byte, on its rank's own account."""

from dataclasses import asdict

import pytest
import torch
from test_sharding import layer_sizes, small_gpt, small_mlp

from ddl_measure.experiments.layers import sharded_step
from ddl_teach import simulate
from ddl_teach.comm import OutOfMemory
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import train as train_sharded
from ddl_teach.networks.models import data
from ddl_teach.theory import memory as theory
from ddl_teach.training.optimizers.adam import Adam

RANK_COUNTS = (1, 2, 3, 4, 5, 8)
STATE = 16  # bytes of Adam's two states in double precision


def two_steps(comm, stage, make):
    torch.set_num_threads(1)
    if make is small_gpt:
        batches = data.batches(data.characters(8), 16, 2)
    else:
        images, labels = data.digits(flat=True)
        batches = data.batches((images.double(), labels), 16, 2)
    return train_sharded(comm, stage, make(), batches, resident(Adam())).held


def formula(stage, make, ranks, rank):
    sizes = layer_sizes(make())
    held = asdict(theory.held(stage, sizes, ranks, rank, weight=8, state=STATE))
    return {what: nbytes for what, nbytes in held.items() if nbytes}


def check(run, stage, make, ranks):
    """What lasts is the formula's; at the peak a layer of the weights or gradients is beside it,
    and activations that autograd keeps."""
    layer, track = 8 * max(layer_sizes(make())), run.memory
    for rank, measured in enumerate(run.results):
        wanted = formula(stage, make, ranks, rank)
        lasting = dict(wanted)
        if stage == 1:
            lasting.pop("gradients")
        assert track.at_end(rank) == lasting
        top = track.at_peak(rank)
        assert {what: top[what] for what in lasting} == lasting
        assert measured.activations <= track.peak(rank) - sum(lasting.values())
        beside = wanted.get("gradients", 0) if stage == 1 else 2 * layer
        assert track.peak(rank) <= sum(lasting.values()) + measured.activations + beside


@pytest.mark.parametrize("ranks", RANK_COUNTS)
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_simulated_ranks_hold_what_the_formula_says(ranks, stage):
    run = simulate(two_steps, ranks, threads=True, stage=stage, make=small_mlp)
    check(run, stage, small_mlp, ranks)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_real_ranks_hold_the_same(real, ranks, stage):
    check(real(two_steps, ranks, stage=stage, make=small_gpt), stage, small_gpt, ranks)


@pytest.mark.parametrize("ranks", RANK_COUNTS)
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_without_numbers_peaks_are_the_formula_and_the_largest_layer(ranks, stage):
    weights = [1000, 77, 5]
    run = simulate(sharded_step, ranks, weights=weights, stage=stage, seconds=1.0)
    moment = {1: 0, 2: 2 * 1000, 3: 2 * 2 * 1000}[stage]
    for rank in range(ranks):
        wanted = theory.held(stage, weights, ranks, rank, weight=2, state=12)
        assert run.memory.peak(rank) == wanted.total + moment
        assert sum(run.memory.at_end(rank).values()) == wanted.total


def test_what_does_not_fit_whole_fits_in_shards():
    given = {"weights": [1000] * 20, "seconds": 1.0, "memory": 100_000}
    with pytest.raises(OutOfMemory, match=r"weights .* gradients .* held, .* more of states"):
        simulate(sharded_step, 8, stage=1, **given)
    assert simulate(sharded_step, 8, stage=3, **given).memory.peak() == 20_000 * 16 // 8 + 4000
