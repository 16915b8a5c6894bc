"""Split over ranks in any way, a network trains as its twin does, and sends what theory says."""

from functools import cache, partial

import numpy as np
import pytest
import torch
from deaf import Deaf
from lenet import lenet
from torch import nn

from ddl_teach import simulate
from ddl_teach.networks.models import data
from ddl_teach.networks.models.alexnet import alexnet
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.models.resnet import resnet
from ddl_teach.networks.models.seeds import seed_weights
from ddl_teach.networks.partitions import Parted, Replicated
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.spatial.network import split_images
from ddl_teach.networks.spatial.tiles import tiles
from ddl_teach.networks.tensor.gpt import split_gpt
from ddl_teach.networks.tensor.linear import ColumnLinear
from ddl_teach.networks.tensor.mlp import split_pairs
from ddl_teach.networks.tensor.one_weird_trick import split_alexnet
from ddl_teach.networks.tensor.one_weird_trick import train as train_alexnet
from ddl_teach.networks.tensor.split import full_parameters
from ddl_teach.networks.tensor.vocabulary import vocabulary_loss
from ddl_teach.networks.twin import largest_difference, train
from ddl_teach.theory import split_layers as theory

RANKS = (1, 2, 3, 4, 6, 8)
GRIDS = {1: (1, 1), 2: (1, 2), 3: (3, 1), 4: (2, 2), 6: (3, 2), 8: (4, 2)}
CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5}
STEPS, BATCH, LENGTH, WIDTH, BLOCKS = 10, 8, 12, 16, 1
SIZES, MAPS, HIDDEN, SIDE = (64, 20, 12, 16, 10), (2, 3, 2, 3, 2), 16, 24

small_gpt = partial(gpt, width=WIDTH, heads=8, blocks=BLOCKS, length=LENGTH)
NETWORKS = {
    "mlp": lambda: mlp(SIZES),
    "gpt": small_gpt,
    "tied gpt": lambda: small_gpt(tied=True),
    "alexnet": lambda: alexnet(MAPS, HIDDEN),
    "lenet": lambda: lenet((2, 3), (12, 8), (1, SIDE, SIDE)),
    "resnet": lambda: resnet((2, 3), normalisation=lambda _: nn.Identity()),
}


@cache
def batches_for(name, kind):
    if "gpt" in name:
        return data.batches(data.characters(LENGTH), BATCH, STEPS)
    images, labels = data.digits()
    if name in ("lenet", "resnet"):
        images, labels = images[:100].repeat(1, 1, 3, 3), labels[:100]
    images = images.flatten(1) if name == "mlp" else images
    return [(x.to(kind), y) for x, y in data.batches((images, labels), BATCH, STEPS)]


def split_mlp(comm, network):
    split_pairs(network, Replicated(comm))
    return mean_loss, lambda x: x


def split_rows(comm, network):
    """The batch parted: linear1 to linear4 are pairs, and each rank has the loss of its rows."""
    rows = Parted(comm, 0, BATCH)
    split_pairs(network, rows)
    share = own_slice(BATCH, comm)

    def loss(scores, answers):
        return mean_loss(scores, answers[share]) * len(scores) / BATCH

    return loss, lambda x: x[share]


def split_text(comm, network, sequence):
    return split_gpt(network, comm, sequence=sequence), lambda x: x


def split_weirdly(comm, network):
    share = own_slice(BATCH, comm)
    return split_alexnet(network, comm, BATCH), lambda x: x[share]


def split_tiles(comm, network, overlap=False):
    grid = tiles(comm, *GRIDS[comm.size])
    return mean_loss, split_images(network, grid, (1, SIDE, SIDE), overlap=overlap)


WAYS = {
    "pairs": ("mlp", split_mlp),
    "heads and words": ("gpt", partial(split_text, sequence=False)),
    "sequence": ("gpt", partial(split_text, sequence=True)),
    "one weird trick": ("alexnet", split_weirdly),
    "tiles": ("lenet", split_tiles),
    # Variants of these, for a few ranks.
    "pairs, batch parted": ("mlp", split_rows),
    "heads and words, tied": ("tied gpt", partial(split_text, sequence=False)),
    "sequence, tied": ("tied gpt", partial(split_text, sequence=True)),
    "tiles, overlapped": ("lenet", partial(split_tiles, overlap=True)),
    "tiles of residuals": ("resnet", split_tiles),
}
FIRST = list(WAYS)[:5]


@cache
def twin(name, kind, steps):
    return train(NETWORKS[name]().to(kind), batches_for(name, kind)[:steps]).parameters


def every_way(comm, kind, ways):
    """Of each way what it has after ten steps, and its bytes; and after one step when deaf."""
    found = {}
    for way in ways:
        name, split = WAYS[way]
        for heard, steps in ((False, 1), (True, STEPS)):
            network = NETWORKS[name]().to(kind)
            loss, own = split(comm if heard else Deaf(comm), network)
            batches = [(own(x), y) for x, y in batches_for(name, kind)[:steps]]
            before = comm.ledger.bytes_sent
            train(network, batches, loss=loss)
            sent = comm.ledger.bytes_sent - before
            found[way, heard] = full_parameters(network), sent
    return found


def pairs_step(ring):
    """Each pair sums its outputs forwards, and all but the first their inputs backwards."""
    *middle, last = SIZES[2::2]
    return sum(2 * ring.summed(BATCH * size) for size in middle) + ring.summed(BATCH * last)


def alexnet_step(ring):
    """Convolutions by data, the classifier by neurons."""
    convolutions = [
        weights.numel() for name, weights in alexnet(MAPS, HIDDEN).named_parameters()
        if name.startswith("convolution")
    ]  # fmt: skip
    through = [
        ring.gathered(BATCH, size) + ring.scattered(BATCH, size)
        for size in (MAPS[-1], HIDDEN, HIDDEN)
    ]
    loss_and_bias = ring.summed(BATCH) + ring.summed(2 * BATCH) + ring.summed(HIDDEN)
    return sum(map(ring.summed, convolutions)) + sum(through) + loss_and_bias


def step_bytes(way, ring):
    """What the formulas say of a step; nothing where the ledger of tiles has a test of its own."""
    text = {"batch": BATCH, "length": LENGTH, "width": WIDTH, "blocks": BLOCKS}
    if way == "pairs":
        return pairs_step(ring)
    if way.startswith(("heads", "sequence")):
        return theory.total(theory.gpt_step(ring, **text, sequence=way.startswith("sequence")))
    if way == "one weird trick":
        return alexnet_step(ring)
    return None


def assert_as_theory_says(run, kind):
    ranks = len(run.results)
    for rank, found in enumerate(run.results):
        for (way, heard), (parameters, sent) in found.items():
            whole = twin(WAYS[way][0], kind, STEPS if heard else 1)
            difference = largest_difference(parameters, whole)
            if not heard:
                assert ranks == 1 or not difference < 1e-3, (way, rank)
                continue
            assert difference < CLOSE[kind], way
            ring = theory.Ring(ranks, rank, kind.itemsize)
            if (one_step := step_bytes(way, ring)) is not None:
                assert sent == STEPS * one_step, (way, rank)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(4)
def test_real_ranks_train_as_the_twin(ranks, real):
    ways = WAYS if ranks in (2, 3) else FIRST
    given = {"kind": torch.float64, "ways": list(ways)}
    assert_as_theory_says(real(every_way, ranks, timeout=900, trace=False, **given), torch.float64)


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "kind"), [(3, torch.float64), (4, torch.float32)])
@pytest.mark.long
def test_simulated_ranks_do_too_in_both_precisions(ranks, kind):
    given = {"kind": kind, "ways": list(WAYS)}
    assert_as_theory_says(simulate(every_way, ranks, threads=True, trace=False, **given), kind)


def side_by_side_with_torch(comm):
    """Outputs and gradients of a pair split by us and by torch's plan, and how far apart."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    from ddl_class.notebook import gloo

    gloo.allreduce(comm, np.zeros(1))  # at which the ranks of torch.distributed meet
    x = torch.randn(BATCH, 64, generator=torch.Generator().manual_seed(3)).double()
    ours, theirs = (mlp((64, 21, 12)).double() for _ in range(2))
    split_pairs(ours, Replicated(comm))
    plan = {"linear1": ColwiseParallel(), "linear2": RowwiseParallel()}
    parallelize_module(theirs, init_device_mesh("cpu", (comm.size,)), plan)
    outputs = [network(x) for network in (ours, theirs)]
    for y in outputs:
        y.square().sum().backward()
    found = [(outputs[0] - outputs[1]).abs().max().item()]
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        own = other.grad.to_local()
        found.append((one.grad - own).abs().max().item() if one.shape == own.shape else None)
    return found


def test_a_pair_is_what_torch_makes_of_it(real):
    for found in real(side_by_side_with_torch, 3, timeout=900, trace=False).results:
        assert max(found) < 1e-10


def test_a_training_without_batches_is_refused():
    with pytest.raises(Exception, match="train: there is no batch"):
        simulate(lambda comm: train_alexnet(comm, alexnet(MAPS, HIDDEN), []), 2)


@pytest.mark.parametrize("own", [(4, 5), (3, 6), (4, 3, 6)], ids=str)
def test_scores_of_other_words_or_other_answers_are_refused(own):
    def loss(comm):
        return vocabulary_loss(comm, 12, torch.zeros(own), torch.zeros(4, dtype=torch.int64))

    with pytest.raises(Exception, match=r"own_scores have the shape .* and must have \(4, 6\)"):
        simulate(loss, 2)


def cut_in_units(comm, unit):
    """How many columns a rank holds of a layer with twelve, and the whole of it again."""
    whole = nn.Linear(4, 12)
    seed_weights(whole)
    mine = ColumnLinear(Replicated(comm), whole, unit)
    return len(mine.weight), len(mine.bias), [mine.full(name) for name in ("weight", "bias")]


@pytest.mark.parametrize(
    ("ranks", "unit", "held"), [(1, 1, [12]), (2, 4, [4, 8]), (3, 3, [3, 3, 6])]
)
def test_a_layer_is_cut_between_units_and_put_together_again(ranks, unit, held):
    whole = nn.Linear(4, 12)
    seed_weights(whole)
    results = simulate(cut_in_units, ranks, unit=unit).results
    assert [(rows, numbers) for rows, numbers, _ in results] == [(rows, rows) for rows in held]
    assert all(torch.equal(weight, whole.weight) for *_, (weight, _) in results)
    assert all(torch.equal(bias, whole.bias) for *_, (_, bias) in results)
