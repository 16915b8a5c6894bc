"""The GPT of the course: its text, its weights by formula, and its loss as that of one process."""

from functools import partial

import pytest
import torch

from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.networks import twin
from ddl_teach.networks.data_parallel.averaging import average_gradients
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.train_replicas import train
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import train as train_sharded
from ddl_teach.networks.models.data import ALPHABET, batches, documentation
from ddl_teach.networks.models.gpt import SIZES, gpt_of
from ddl_teach.training.optimizers.adam import Adam

BUCKET = 100_000
ADAM = partial(torch.optim.Adam, lr=1e-3)


def text():
    """Three batches of eight pieces of the documentation."""
    return batches(documentation(64)[0], 8, 3)


def far_of_replicas(comm, way, whole):
    """How far the losses of data parallelism are from those of one process."""
    model = gpt_of("100k").double()
    weights = list(model.parameters())
    buckets = fill(weights, BUCKET)

    def one_by_one(error):
        error.backward()
        average_gradients(comm, weights)

    def in_buckets(error):
        error.backward()
        average_buckets(comm, buckets, ring.allreduce)

    ways = {
        "gradients": one_by_one,
        "buckets": in_buckets,
        "alone": lambda error: error.backward(),
    }
    trained = train(comm, model, text(), ways[way], optimizer=ADAM)
    return max(abs(a - b) for a, b in zip(trained.losses, whole.losses, strict=True))


def far_of_sharded(comm, stage, whole):
    """How far the weights end from those of one process. Stage 3 refuses one matrix in two layers,
    so that it trains an untied GPT."""
    model = gpt_of("100k", tied=stage != 3).double()
    trained = train_sharded(comm, stage, model, text(), resident(Adam(1e-3)))
    return twin.largest_difference(trained.parameters, whole.parameters)


@pytest.fixture(scope="module")
def whole():
    return twin.train(gpt_of("100k").double(), text(), optimizer=ADAM)


@pytest.mark.parametrize("size", SIZES)
def test_weights_are_those_of_the_formula(size):
    vocabulary, d, _, blocks, length = SIZES[size]
    with torch.device("meta"):
        model = gpt_of(size)
    formula = blocks * (12 * d**2 + 13 * d) + (vocabulary + length + 2) * d
    assert sum(weight.numel() for weight in model.parameters()) == formula


def test_an_unknown_size_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="124M"):
        gpt_of("2k")


@pytest.mark.parametrize("length", [8, 64])
def test_documentation_is_for_training_and_held_out_without_overlap(length):
    parts = documentation(length)
    sizes = [inputs.numel() for inputs, _ in parts]
    assert sizes[0] > 300_000
    assert sizes[1] > 10_000
    for inputs, targets in parts:
        assert inputs.shape == targets.shape
        assert inputs.shape[1] == length
        assert int(inputs.min()) >= 0
        assert int(inputs.max()) < len(ALPHABET)
        assert torch.equal(inputs[:, 1:], targets[:, :-1])


RANKS = [2, 3, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (1, 4, 5, 8))]


@pytest.mark.parametrize("way", ["gradients", "buckets"])
@pytest.mark.parametrize("ranks", RANKS)
def test_replicas_have_the_loss_of_one_process(whole, way, ranks):
    run = simulate(far_of_replicas, ranks, threads=True, way=way, whole=whole)
    assert max(run.results) < 1e-9


def test_without_messages_the_loss_is_another(whole):
    run = simulate(far_of_replicas, 2, threads=True, way="alone", whole=whole)
    assert min(run.results) > 1e-6


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("ranks", RANKS)
def test_sharded_weights_are_those_of_one_process(whole, stage, ranks):
    if stage == 3:
        whole = twin.train(gpt_of("100k", tied=False).double(), text(), optimizer=ADAM)
    run = simulate(far_of_sharded, ranks, threads=True, stage=stage, whole=whole)
    assert max(run.results) < 1e-9


def test_replicas_on_real_ranks_have_the_loss_of_one_process(real, whole):
    assert max(real(far_of_replicas, 3, way="buckets", whole=whole).results) < 1e-9
