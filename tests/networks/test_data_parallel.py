"""Data parallelism ends where the single process ends, and sends what the theory says."""

from functools import cache

import numpy as np
import pytest
import torch
from lenet import lenet
from torch import nn

from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.collectives import recursive_doubling, ring, shared_memory
from ddl_teach.networks import twin
from ddl_teach.networks.data_parallel import arrays
from ddl_teach.networks.data_parallel.averaging import average_gradients
from ddl_teach.networks.data_parallel.batch_normalisation import synchronise
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.overlapped import Overlapped, in_background
from ddl_teach.networks.data_parallel.shards import own_part
from ddl_teach.networks.data_parallel.train_replicas import train
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.models.resnet import resnet
from ddl_teach.networks.models.seeds import seed_weights
from ddl_teach.networks.shares import own_slice
from ddl_teach.theory import ring_bytes
from ddl_teach.theory.data_parallel import bytes_sent

STEPS = 10
ONE_NODE = TwoLevel(ranks_per_node=8)
SMALL = 1500  # bytes of a bucket: several for each network here


class Unused(nn.Module):
    """A layer that no sample ever comes through, beside one that all do."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(5, 3), nn.Linear(5, 3)
        seed_weights(self)

    def forward(self, x):
        return self.used(x)


def small_gpt():
    """The first and the last matrix are one; the places are frozen."""
    network = gpt(vocabulary=9, width=8, heads=2, blocks=1, length=4, tied=True)
    network.embedding.places.weight.requires_grad_(False)
    return network


NETWORKS = {
    "mlp": (lambda: mlp((5, 12, 9, 3)), (5,), 3),
    "lenet": (lambda: lenet((2, 3), (9, 7)), (1, 8, 8), 10),
    "resnet": (lambda: resnet((4, 6)), (1, 8, 8), 10),
    "gpt": (small_gpt, None, 9),
    "unused": (Unused, (5,), 3),
}


def data(shape, classes, dtype):
    """Ten batches; one is too short for all ranks to have a sample, two are divisible by none."""
    drawn = torch.Generator().manual_seed(1)
    made = []
    for size in (24, 24, 23, 3, 24, 17, 24, 24, 24, 24):
        if shape is None:
            words = torch.randint(0, classes, (size, 5), generator=drawn)
            made.append((words[:, :-1], words[:, 1:]))
        else:
            inputs = torch.randn(size, *shape, generator=drawn, dtype=torch.float64).to(dtype)
            made.append((inputs, torch.randint(0, classes, (size,), generator=drawn)))
    return made


def per_parameter(comm, parameters):
    def backward(error):
        error.backward()
        average_gradients(comm, parameters)

    return backward, [one.numel() for one in parameters]


def one_bucket(comm, parameters, allreduce=ring.allreduce):
    buckets = fill(parameters, float("inf"))

    def backward(error):
        error.backward()
        average_buckets(comm, buckets, allreduce)

    return backward, [len(bucket.flat) for bucket in buckets]


def doubled(comm, parameters):
    return one_bucket(comm, parameters, recursive_doubling.allreduce)[0], None


def overlapped(comm, parameters, algorithm="ring"):
    buckets = fill(parameters, SMALL)
    way = Overlapped(comm, buckets, in_background(algorithm))
    return way.backward, [len(bucket.flat) for bucket in buckets]


def in_native(comm, parameters):
    return overlapped(comm, parameters, "native")[0], []


def shared(comm, parameters):
    return one_bucket(comm, parameters, shared_memory.allreduce)[0], []


def alone(comm, parameters):
    return lambda error: error.backward(), []


def unequal(comm, batch):
    """The last rank gets half of what is there, all others share the rest."""
    most = len(batch[0]) if comm.size == 1 else len(batch[0]) // 2
    rest = len(batch[0]) - most
    ends = [rest * rank // max(1, comm.size - 1) for rank in range(comm.size)]
    mine = slice(*[*ends, len(batch[0])][comm.rank : comm.rank + 2])
    return batch[0][mine], batch[1][mine]


# network, way, pieces of a rank's part, type of number, and if it is not own_part, which part
CASES = [
    ("mlp", per_parameter, 1, torch.float64),
    ("mlp", one_bucket, 1, torch.float64, unequal),
    ("mlp", doubled, 2, torch.float64),
    ("mlp", overlapped, 1, torch.float64),
    ("mlp", overlapped, 1, torch.float32),
    ("mlp", shared, 2, torch.float64),
    ("lenet", overlapped, 3, torch.float64),
    ("lenet", shared, 1, torch.float32),
    ("resnet", overlapped, 1, torch.float64, unequal),
    ("gpt", per_parameter, 1, torch.float64),
    ("gpt", overlapped, 2, torch.float64),
    ("unused", overlapped, 1, torch.float64),
]
ONLY_REAL = [("mlp", in_native, 1, torch.float64)]
CLOSE = {torch.float64: 1e-10, torch.float32: 2e-5}


@cache
def single(name, dtype):
    """Where one process ends; made once, in the process of the tests."""
    make, shape, classes = NETWORKS[name]
    return twin.train(make().to(dtype), data(shape, classes, dtype))


def outcome(comm, twins, name, way, pieces, dtype, part=own_part, synchronised=True):
    """How far from the twin this rank ends, in parameters and losses; what it sent; buckets."""
    make, shape, classes = NETWORKS[name]
    network = make().to(dtype)
    if synchronised:
        synchronise(comm, network)
    backward, buckets = way(comm, [p for p in network.parameters() if p.requires_grad])
    before = comm.ledger.bytes_sent
    trained = train(comm, network, data(shape, classes, dtype), backward, pieces=pieces, part=part)
    sent = comm.ledger.bytes_sent - before
    of_one = twins[name, dtype]
    far = max(
        twin.largest_difference(getattr(trained, what), getattr(of_one, what))
        for what in ("parameters", "buffers")
    )
    losses = torch.tensor(trained.losses) - torch.tensor(of_one.losses)
    return far, losses.abs().max().item(), sent, buckets


def outcomes(comm, twins, cases):
    found = [outcome(comm, twins, *case) for case in cases]
    # What would pass without doing the one thing that it is about?
    names = [name for name in NETWORKS if name != "unused"]
    silent = [outcome(comm, twins, name, alone, 1, torch.float64)[0] for name in names]
    own = outcome(comm, twins, "resnet", one_bucket, 1, torch.float64, synchronised=False)[0]
    return found, min(silent), own


def twins_of(cases):
    return {(name, dtype): single(name, dtype) for name, _, _, dtype, *_ in cases}


def normalised(ranks):
    """Bytes of one step's batch statistics of the small residual network, forward and backward."""
    channels = (4, 4, 4, 6, 6, 6)
    return sum(2 * (ranks - 1) * (2 * each + 1) * 8 for each in channels)


def check(run, cases):
    ranks = len(run.results)
    for rank, (found, silent, own_statistics) in enumerate(run.results):
        if ranks > 1:
            assert silent > 1e-4
            assert own_statistics > 1e-4
        for case, (far, losses, sent, buckets) in zip(cases, found, strict=True):
            name, _, _, dtype, *_ = case
            assert far < CLOSE[dtype], (case, far)
            assert losses < CLOSE[dtype], case
            if buckets is not None:
                step = bytes_sent(buckets, ranks, rank, dtype.itemsize)
                step += normalised(ranks) if name == "resnet" else 0
                at_the_end = ring_bytes.allreduce(STEPS, ranks, rank, 8)
                assert sent == STEPS * step + at_the_end, case


@pytest.mark.parametrize(
    "ranks", [3, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (1, 2, 4, 6, 8))]
)
def test_ten_steps_are_the_twins_on_real_ranks(real, ranks):
    cases = CASES + ONLY_REAL
    check(real(outcomes, ranks, cases=cases, twins=twins_of(cases), timeout=250), cases)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [3, 4])
@pytest.mark.long
def test_ten_steps_are_the_twins_on_simulated_ranks(ranks):
    check(
        simulate(
            outcomes, ranks, network=ONE_NODE, threads=True, cases=CASES, twins=twins_of(CASES)
        ),
        CASES,
    )


def in_channels_last(comm, way, rows):
    """The gradient of a weight whose elements lie in another order."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = nn.Conv2d(2, 3, 3, dtype=torch.float64).to(memory_format=torch.channels_last)
    x = torch.randn(rows, 2, 5, 5, dtype=torch.float64)
    backward, _ = way(comm, list(network.parameters()))
    backward(network(x.tensor_split(comm.size)[comm.rank]).square().mean())
    return network.weight.grad.clone()


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way", [per_parameter, one_bucket, overlapped, shared])
def test_gradients_may_lie_in_another_order(way, ranks):
    given = {"threads": True, "rows": 8, "network": ONE_NODE}
    [wanted] = simulate(in_channels_last, 1, way=alone, **given).results
    results = simulate(in_channels_last, ranks, way=way, **given).results
    torch.testing.assert_close(results, [wanted] * ranks)


def averaged(comm, way):
    """Rank r has r + 1 samples, whose means are r and 10 r."""
    means = [np.full(2, 1.0 * comm.rank), np.full(3, 10.0 * comm.rank)]
    getattr(arrays, way)(comm, means, *([comm.rank + 1] if way == "weighted" else []))
    return [mean.tolist() for mean in means]


@pytest.mark.parametrize(
    ("way", "ranks", "right"),
    [("average", 1, 0.0), ("average", 4, 1.5), ("weighted", 1, 0.0), ("weighted", 2, 2 / 3),
     ("weighted", 4, 2.0)],
)  # fmt: skip
def test_plain_arrays_become_means_over_ranks_or_over_all_samples(way, ranks, right):
    """Of r + 1 samples each: (0 + 2 + 6 + 12) / 10 = 2 on four ranks."""
    for means in simulate(averaged, ranks, way=way).results:
        assert means == [pytest.approx([right] * 2), pytest.approx([10 * right] * 3)]


def whole_batch(pixels):
    """A normalisation with weights of its own, a batch to learn from, and one to look at."""
    draw, kind = torch.Generator().manual_seed(2), nn.BatchNorm2d if pixels else nn.BatchNorm1d
    layer = kind(3).double()
    nn.init.uniform_(layer.weight, generator=draw)
    return nn.Sequential(layer), 5 + torch.randn(2, 7, 3, *pixels, generator=draw).double()


def normalised_in_parts(comm, pixels):
    network, (x, later) = whole_batch(pixels)
    synchronise(comm, network)
    return network(x[own_slice(len(x), comm)]).detach(), network.eval()(later).detach()


@pytest.mark.parametrize(("ranks", "pixels"), [(1, (2, 5)), (2, ()), (3, (2, 5))])
def test_a_normalisation_in_parts_is_that_of_the_whole_batch(ranks, pixels):
    network, (x, later) = whole_batch(pixels)
    right, right_later = network(x).detach(), network.eval()(later).detach()
    results = simulate(normalised_in_parts, ranks, threads=True, pixels=pixels).results
    torch.testing.assert_close(torch.cat([part for part, _ in results]), right)
    for _, ours in results:
        torch.testing.assert_close(ours, right_later)
