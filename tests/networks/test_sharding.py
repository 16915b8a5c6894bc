"""Sharding in three stages: trained as the twin, and held and sent as the formulas say."""

from dataclasses import replace
from functools import partial

import numpy as np
import offloaded_step
import pytest
import torch
from deaf import Deaf
from torch import nn

from ddl_measure.experiments.layers import sharded_step
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_teach import simulate
from ddl_teach.networks.memory.device import DeviceMemory
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.offload import Offloaded
from ddl_teach.networks.memory.sharded_parameters import ShardedParameters
from ddl_teach.networks.memory.sharded_states import ShardedStates
from ddl_teach.networks.memory.train_sharded import STAGES
from ddl_teach.networks.memory.train_sharded import train as train_sharded
from ddl_teach.networks.models import data
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.models.seeds import seed_weights
from ddl_teach.networks.shares import share
from ddl_teach.networks.twin import largest_difference, train
from ddl_teach.theory import memory as theory
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.momentum import Momentum

STEPS, BATCH, BUCKET = 10, 16, 700


def small_mlp():
    """A network whose layers no number of ranks divides."""
    return mlp((64, 21, 13, 10)).double()


def small_gpt():
    return gpt(width=4, heads=2, blocks=1, length=8).double()


@pytest.fixture(scope="module")
def cases():
    """Networks, their batches, updates, and where the twin ends: made once, not on every rank."""
    images, labels = data.digits(flat=True)
    digits, characters = (
        data.batches(source, BATCH, STEPS)
        for source in ((images.double(), labels), data.characters(8))
    )
    adam = partial(torch.optim.Adam, lr=1e-2)
    return [
        (small_mlp, Momentum(0.1), digits, train(small_mlp(), digits).parameters),
        (
            small_gpt,
            Adam(1e-2),
            characters,
            train(small_gpt(), characters, optimizer=adam).parameters,
        ),
    ]


def go(comm, stage, model, batches, keep):
    """Train sharded: the weights at the end, what was held besides activations, what was sent."""
    trained = train_sharded(comm, stage, model, batches, keep)
    return trained.parameters, replace(trained.held, activations=0), trained.sent


def deaf_to_all(comm):
    deaf = Deaf(comm)
    deaf.ledger = comm.ledger
    return deaf


def layer_sizes(model):
    """Parameters of each child that has some."""
    sizes = [sum(p.numel() for p in child.parameters()) for child in model.children()]
    return [size for size in sizes if size]


def differences(comm, cases):
    """Every stage in every case; what is wrong, as texts."""
    wrong = []
    for make, update, batches, twin in cases:
        for stage in STAGES:
            case = f"{make.__name__}, {update}, stage {stage}"
            keep = resident(update)
            if comm.size > 1:
                alone, _, _ = go(deaf_to_all(comm), stage, make(), batches[:2], keep)
                if not largest_difference(alone, twin) > 1e-3:
                    wrong.append(f"{case}: without messages it is the twin's, too")
            mine, held, sent = go(comm, stage, make(), batches, keep)
            if not largest_difference(mine, twin) < 1e-10:
                wrong.append(f"{case}: {largest_difference(mine, twin)}")
            sizes, state = layer_sizes(make()), 8 * update.states
            place = {"ranks": comm.size, "rank": comm.rank, "weight": 8}
            if held != theory.held(stage, sizes, **place, state=state):
                wrong.append(f"{case}: holds {held}")
            if sent != STEPS * theory.sent(stage, sizes, **place):
                wrong.append(f"{case}: sends {sent}")
    return wrong


def other_ways(comm, batches, twin):
    """float32, how far from the twin; half precision, what is held; states on the host."""
    single = [(x.float(), y) for x, y in batches]
    mine, _, _ = go(comm, 3, small_mlp().float(), single, resident(Momentum()))
    halves = [(x.bfloat16(), y) for x, y in batches[:2]]
    _, half, _ = go(comm, 2, small_mlp().bfloat16(), halves, resident(Adam()))
    apart = []
    for stage in STAGES:
        exact, _, _ = go(comm, stage, small_mlp(), batches, resident(Adam()))
        device = DeviceMemory()
        hosted = partial(Offloaded, update=Adam(), bucket=BUCKET, device=device)
        offloaded, held, _ = go(comm, stage, small_mlp(), batches, hosted)
        apart.append((largest_difference(offloaded, exact), held.states, device.most))
    return largest_difference(mine, twin), half, apart


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 8])
@pytest.mark.sampled(8)
def test_ten_steps_are_the_twins_and_bytes_are_the_formulas(real, ranks, cases):
    assert real(differences, ranks, cases=cases, timeout=250).results == [[]] * ranks


@pytest.mark.slow
def test_simulated_ranks_train_alike(cases):
    run = simulate(differences, 3, threads=True, trace=False, cases=cases)
    assert run.results == [[]] * 3


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.sampled(3)
def test_other_precisions_and_states_on_the_host(real, ranks, cases):
    sizes, (_, _, batches, twin) = layer_sizes(small_mlp()), cases[0]
    run = real(other_ways, ranks, batches=batches, twin=twin)
    for rank, (single, half, apart) in enumerate(run.results):
        assert single < 1e-5
        assert half == theory.held(2, sizes, ranks, rank, weight=2, state=12)
        owned = [len(share(size, ranks, rank)) for size in sizes]
        for difference, states, most in apart:
            assert difference == 0
            assert states == 0
            assert most == 2 * 2 * 8 * min(BUCKET, max(owned))


class Partly(nn.Module):
    """The loss does not depend on all of its parameters."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.used(x)


def partly(frozen):
    model = nn.Sequential(Partly(), nn.Tanh(), nn.Linear(8, 4)).double()
    model[2].bias.requires_grad_(not frozen)
    seed_weights(model)
    return model


def accumulate(comm, x, y, frozen):
    """Two backward passes before each step: the weights after three steps, by stage."""
    torch.set_num_threads(1)
    own, found = share(len(x), comm.size, comm.rank), []
    for stage, sharding in STAGES.items():
        model = partly(frozen)
        sharded = sharding(comm, model, resident(Momentum()))
        for _ in range(3):
            for part in (own[: len(own) // 2], own[len(own) // 2 :]):
                rows = slice(part.start, part.stop)
                scores = (sharded if stage == 3 else model)(x[rows])
                (mean_loss(scores, y[rows]) * (len(part) / len(x))).backward()
            sharded.step()
        found.append(sharded.parameters())
    return found


def accumulated(run, ranks, frozen):
    """The twin's weights after three steps, and each stage's on the first rank."""
    generator = torch.Generator().manual_seed(6)
    x = torch.randn(12, 8, generator=generator).double()
    y = torch.randint(4, (12,), generator=generator)
    twin = train(partly(frozen), [(x, y)] * 3).parameters
    return twin, run(accumulate, ranks, x=x, y=y, frozen=frozen).results[0]


@pytest.mark.parametrize("frozen", [False, True])
def test_accumulated_unused_and_frozen(real, frozen):
    twin, stages = accumulated(real, 3, frozen)
    assert max(largest_difference(mine, twin) for mine in stages) < 1e-10


@pytest.mark.parametrize(("ranks", "frozen"), [(1, False), (2, True), (3, False)])
def test_accumulated_unused_and_frozen_on_simulated_ranks(ranks, frozen):
    twin, stages = accumulated(partial(simulate, threads=True), ranks, frozen)
    assert max(largest_difference(mine, twin) for mine in stages) < 1e-10


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_parameters_of_two_layers(real, stage):
    batches = data.batches(data.characters(8), 4, 3)
    build = partial(gpt, width=4, heads=2, blocks=1, length=8, tied=True)
    twin = train(build().double(), batches).parameters

    def tied(comm, stage):
        keep = resident(Momentum())
        mine, _, _ = go(comm, stage, build().double(), batches, keep)
        return largest_difference(mine, twin)

    assert max(real(tied, 2, stage=stage).results) < 1e-10


class WithItsOwn(nn.Sequential):
    """A sequence that has a parameter of its own."""

    def __init__(self):
        super().__init__(nn.Linear(2, 2))
        self.scale = nn.Parameter(torch.ones(1))


def test_a_parameter_of_no_child_needs_stage_2():
    with pytest.raises(ValueError, match=r"scale: put each into a child .* or use stage 2"):
        ShardedParameters(None, WithItsOwn(), None)


def test_mixed_types_in_one_layer_are_refused():
    model = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double()))
    with pytest.raises(TypeError, match="one vector holds one"):
        ShardedStates(None, model, None)


def test_there_is_no_fourth_stage():
    with pytest.raises(ValueError, match="no stage 4"):
        theory.held(4, [10], 2)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize(
    ("stage", "words"),
    [
        (0, "stage 0 shards nothing.* take stage 1"),
        (4, "there is no stage 4"),
        ("two", "there is no stage 'two'"),
        (None, "there is no stage None"),
    ],
)
def test_training_in_a_stage_that_is_none_is_refused(stage, words, ranks, cases):
    make, update, batches, _ = cases[0]
    given = {"stage": stage, "model": make(), "batches": batches, "keep": resident(update)}
    with pytest.raises(Exception, match=words):
        simulate(train_sharded, ranks, threads=True, **given)


@pytest.mark.parametrize("stage", STAGES)
def test_training_without_a_batch_is_refused(stage, cases):
    make, update, _, _ = cases[0]
    given = {"stage": stage, "model": make(), "batches": [], "keep": resident(update)}
    with pytest.raises(Exception, match="give at least one batch"):
        simulate(train_sharded, 2, threads=True, **given)


@pytest.mark.parametrize("length", [1, 2, 8, 9])
def test_no_bucket_is_larger_than_the_vector(length):
    """Two places on the device, for the moments of at most eight parameters of eight bytes."""
    device, weights = DeviceMemory(), torch.ones(length, dtype=torch.float64)
    Offloaded(weights, Momentum(0.1), 8, device).step(torch.ones_like(weights))
    torch.testing.assert_close(weights, torch.full_like(weights, 0.9))
    assert device.most == 2 * 8 * min(length, 8)
    assert device.held == 0


def offloaded_beside_plain(comm, length, bucket):
    """How far the offloaded step on plain vectors is from a plain one."""
    weights, gradient, moment = np.random.default_rng(1).standard_normal((3, length))
    wanted_moment = 0.9 * moment + gradient
    wanted = weights - 0.1 * wanted_moment
    device, host = (weights, gradient, None), (None, None, moment)
    offloaded_step.offloaded(
        comm, *{0: device, 1: host}.get(comm.rank, (None, None, None)), bucket, 0.1
    )
    error = {0: weights - wanted, 1: moment - wanted_moment}.get(comm.rank, np.zeros(1))
    return np.abs(error).max(initial=0)


@pytest.mark.parametrize(("ranks", "length", "bucket"), [(2, 10, 10), (3, 25, 4), (4, 3, 1)])
def test_an_offloaded_step_on_plain_vectors(real, ranks, length, bucket):
    for run in (real, simulate):
        results = run(offloaded_beside_plain, ranks, length=length, bucket=bucket).results
        assert max(results) < 1e-14


@pytest.mark.parametrize("buckets", [1, 2, 3, 8])
@pytest.mark.parametrize("update", [1e-3, 0.5, 1.0, 3.0])
def test_an_offloaded_step_takes_the_formulas_time(buckets, update):
    def step(comm, buckets, bucket):
        vectors = (np.ones(buckets * bucket), np.ones(buckets * bucket), None)
        given = vectors if comm.rank == 0 else (None, None, vectors[0])
        offloaded_step.offloaded(comm, *given, bucket, 0.1)

    link = Uniform(latency=1e-9, bandwidth=800.0)
    machine = Machine(flops=400 / update)
    run = simulate(step, 2, network=link, machine=machine, buckets=buckets, bucket=100)
    assert run.time == pytest.approx(buckets + 1 + buckets * update, rel=1e-6)


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_without_numbers_the_bytes_are_the_same(ranks, stage):
    weights = [1000, 77, 5]
    run = simulate(sharded_step, ranks, weights=weights, stage=stage, seconds=1.0)
    for rank, ledger in enumerate(run.ledger):
        assert ledger.bytes_sent == theory.sent(stage, weights, ranks, rank, weight=2)
    assert run.time >= 3
