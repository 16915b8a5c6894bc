"""The GPT of the course: its text, its weights by formula, and its loss as that of one process."""

import re
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import torch

from ddl_measure.experiments import one_model
from ddl_measure.experiments.one_model import ADAM, WAYS
from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.networks import twin
from ddl_teach.networks.data_parallel.averaging import average_gradients
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.train_replicas import train
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import train as train_sharded
from ddl_teach.networks.models.data import ALPHABET, batches, documentation
from ddl_teach.networks.models.gpt import SIZES, gpt, gpt_of
from ddl_teach.plain.balanced_experts import pack, spare_copies
from ddl_teach.theory.grids.grid import Grid, every
from ddl_teach.theory.machine import Cluster
from ddl_teach.training.optimizers.adam import Adam

BUCKET = 100_000
PIPELINES = ("GPipe", "1F1B", "zero bubble", "interleaved")
DIVIDES = {"Ulysses": (1, 2, 4, 8)}  # heads; all others take any number of ranks up to eight


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
    """How far the weights end from those of one process."""
    model = gpt_of("100k").double()
    trained = train_sharded(comm, stage, model, text(), resident(Adam(1e-3)))
    return twin.largest_difference(trained.parameters, whole.parameters)


@pytest.fixture(scope="module")
def whole():
    return twin.train(gpt_of("100k").double(), text(), optimizer=ADAM)


@pytest.mark.slow
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
    run = simulate(far_of_sharded, ranks, threads=True, stage=stage, whole=whole)
    assert max(run.results) < 1e-9


def test_replicas_on_real_ranks_have_the_loss_of_one_process(real, whole):
    assert max(real(far_of_replicas, 3, way="buckets", whole=whole).results) < 1e-9


def model(blocks, tied, experts=0):
    """The GPT of 100 thousand weights with eight heads, and as many blocks as a pipeline needs."""
    made = gpt(100, 64, 8, blocks, 64, tied=tied).double()
    return one_model.with_experts(made, experts).double() if experts else made


@cache
def losses_of_one(**given):
    return twin.train(model(**given), text(), optimizer=ADAM).losses


def losses_by(comm, way, given):
    return way(comm, model(**given), text())


def far_from_one(run, given):
    together = [sum(parts) for parts in zip(*run.results, strict=True)]
    return max(abs(a - b) for a, b in zip(together, losses_of_one(**given), strict=True))


def given_for(way, ranks):
    """First and last stage of a pipeline hold no weight together; two stages a rank are many."""
    blocks = max(2, 2 * ranks - 3) if way == "interleaved" else max(2, ranks - 3)
    return {"blocks": blocks if way in PIPELINES else 2, "tied": way not in PIPELINES}


@pytest.mark.parametrize(
    ("way", "ranks"),
    [(way, ranks) for way in WAYS for ranks in DIVIDES.get(way, (1, 2, 3, 4, 5, 8))],
)
@pytest.mark.sampled(3)
def test_every_way_has_the_loss_curve_of_one_process(way, ranks):
    given = given_for(way, ranks)
    program = {"way": WAYS[way], "given": given}
    assert (
        far_from_one(simulate(losses_by, ranks, threads=True, trace=False, **program), given)
        < 1e-9
    )


@pytest.mark.parametrize("way", ["data, by parts over nodes", "tensor", "stage 3", "ring"])
@pytest.mark.parametrize(("nodes", "of_node"), [(2, 2), (2, 4), (4, 2)])
@pytest.mark.sampled(4)
def test_on_nodes_the_loss_curve_is_that_of_one_process(way, nodes, of_node):
    given = given_for(way, nodes * of_node)
    run = simulate(losses_by, nodes * of_node, threads=True, trace=False, way=WAYS[way],
                   given=given, network=Cluster(nodes, of_node).network)  # fmt: skip
    assert far_from_one(run, given) < 1e-9


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.sampled(3)
def test_every_way_on_real_ranks_has_the_loss_curve_of_one_process(way, real):
    given = given_for(way, 2)
    assert far_from_one(real(losses_by, 2, way=WAYS[way], given=given), given) < 1e-9


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_experts_on_ranks_have_the_loss_curve_of_experts_on_one(ranks):
    given = {"blocks": 2, "tied": True, "experts": 8}
    program = {"way": one_model.experts, "given": given}
    assert (
        far_from_one(simulate(losses_by, ranks, threads=True, trace=False, **program), given)
        < 1e-9
    )


@pytest.mark.parametrize("ranks", [2, 4])
def test_experts_with_copies_have_the_loss_curve_of_experts_on_one(ranks):
    places = pack(np.arange(8.0, 0, -1), spare_copies(np.arange(8.0, 0, -1), 12), ranks)
    given = {"blocks": 2, "tied": True, "experts": 8}
    program = {"way": partial(one_model.experts, places=places), "given": given}
    run = simulate(losses_by, ranks, threads=True, trace=False, **program)
    assert far_from_one(run, given) < 1e-9


def test_experts_on_real_ranks_have_the_loss_curve_of_experts_on_one(real):
    given = {"blocks": 2, "tied": True, "experts": 8}
    assert far_from_one(real(losses_by, 3, way=one_model.experts, given=given), given) < 1e-9


GRIDS = [grid for ranks in (1, 2, 3, 4, 5, 8) for grid in every(ranks)]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.sampled(6)
def test_every_grid_has_the_loss_curve_of_one_process(grid):
    given = {"blocks": max(2, grid.pipeline - 3), "tied": False}
    program = {"way": partial(one_model.on_grid, grid=grid), "given": given}
    run = simulate(losses_by, grid.ranks, threads=True, trace=False, **program)
    assert far_from_one(run, given) < 1e-9


def test_a_grid_of_real_ranks_has_the_loss_curve_of_one_process(real):
    given, way = {"blocks": 2, "tied": False}, partial(one_model.on_grid, grid=Grid(1, 2, 2))
    assert far_from_one(real(losses_by, 4, way=way, given=given), given) < 1e-9


def test_ranks_that_do_not_hear_each_other_have_another_loss_curve():
    given = given_for("data", 2)

    def alone(comm):
        return losses_by(comm.split(comm.rank), WAYS["data"], given)

    run = simulate(alone, 2, threads=True)
    assert not far_from_one(run, given) < 1e-3


UNITS = "08 09 10 11 12 13 20 21 22 23 24 25".split()
OURS = re.compile(r"models\.gpt import|models import .*\bgpt\b|experiments import one_model")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("unit", UNITS)
def test_each_of_these_units_takes_this_model(unit):
    texts = [path.read_text() for path in (ROOT / "notebooks/source").glob(f"{unit}_*.py")]
    recorded = re.findall(r"benchmarks/results/(\w+)\.txt", "".join(texts))
    programs = [ROOT / f"benchmarks/{name}.py" for name in recorded]
    if unit == "13":  # trained for hours, and recorded
        texts = [path.read_text() for path in programs if path.exists()]
    assert any(OURS.search(text) for text in texts)
