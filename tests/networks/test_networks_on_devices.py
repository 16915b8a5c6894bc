"""Everything in networks that communicates, with tensors on a device: the host's bits and bytes.

Each room trains on the host and on the device, on the same ranks, and must end with the same
parameters and have sent the same bytes to the same ranks.
"""

from collections import Counter
from functools import partial

import pytest
import torch
from lenet import lenet
from networks.mixture import mixture_network
from pipeline_cases import every_schedule
from places import TENSORS, on_device
from torch import nn

from benchmarks.dense_stage import DenseStage
from ddl_runtime.devices.choice import Reach
from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.networks.data_parallel.averaging import average_gradients
from ddl_teach.networks.data_parallel.batch_normalisation import synchronise
from ddl_teach.networks.data_parallel.ladder import rungs, step_of
from ddl_teach.networks.data_parallel.shards import own_part, weighted_loss
from ddl_teach.networks.data_parallel.train_replicas import train as train_parallel
from ddl_teach.networks.experts.spread import full_parameters as experts_of
from ddl_teach.networks.experts.spread import spread_experts
from ddl_teach.networks.grid.trainer import Trainer
from ddl_teach.networks.memory.device import DeviceMemory
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.offload import Offloaded
from ddl_teach.networks.memory.train_sharded import train as train_sharded
from ddl_teach.networks.models import data
from ddl_teach.networks.models.alexnet import alexnet
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.models.seeds import seed_weights
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.train_pipeline import train as train_pipeline
from ddl_teach.networks.pruning.kept import largest_of
from ddl_teach.networks.pruning.train_pruned import Pruned
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.spatial.network import split_images
from ddl_teach.networks.spatial.tiles import tiles
from ddl_teach.networks.tensor.gpt import split_gpt
from ddl_teach.networks.tensor.one_weird_trick import train as train_weirdly
from ddl_teach.networks.tensor.split import full_parameters
from ddl_teach.networks.twin import copies, largest_difference, train
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.training.optimizers.adam import Adam

STEPS, ROWS, LENGTH, UPDATE = 1, 17, 8, Adam(1e-2)
small_gpt = partial(gpt, width=8, heads=8, blocks=1, length=LENGTH)


def digits(where, flat=True, rows=ROWS):
    images, labels = data.digits(flat=flat)
    return there(data.batches((images[:40], labels[:40]), rows, STEPS), where)


def there(batches, where):
    return [(x.to(where), y.to(where)) for x, y in batches]


def texts(where, rows=8):
    return there(data.batches(data.characters(LENGTH), rows, STEPS), where)


# One room each: train on a device, and give back what the ranks end with, on the host.


def ladder(comm, where):
    made = rungs(comm, lambda: mlp((64, 24, 10)).to(where), -(-ROWS // comm.size), 1000)
    made.pop("shared weights", None)  # a device has none
    if not hasattr(comm, "native"):
        del made["overlapped native"]  # simulated ranks have no library
    ended = {}
    for name, (network, backward) in made.items():
        for batch in digits(where):
            step_of(network, backward, own_part(comm, batch))()
        ended |= {f"{name} {key}": x for key, x in copies(network.named_parameters()).items()}
    return ended


def parallel_with_batch_norm(comm, where):
    layers = nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 10)
    network = nn.Sequential(*layers)
    seed_weights(network)
    network.to(where)
    synchronise(comm, network)

    def backward(error):
        error.backward()
        average_gradients(comm, network.parameters())

    ended = train_parallel(comm, network, digits(where, flat=False), backward, pieces=2)
    return ended.parameters | ended.buffers


def pipelines(comm, where):
    ended = {}
    micro_batches = max(2, comm.size)
    # All schedules where ranks are few, and those with most messages under way where many.
    schedules = every_schedule(comm.size, micro_batches)
    some = schedules[2:4] if comm.size < 8 else schedules[2:3]
    for schedule in schedules if comm.size == 3 else some:
        network = mlp((64, *[10] * 2 * comm.size)).to(where)
        share = train_pipeline(comm, network, digits(where), schedule)
        for replica, held in share.replicas.items():
            ended |= {f"{schedule.name} {replica} {key}": x for key, x in held.parameters.items()}
    network = mlp((64, *[10] * comm.size)).to(where)
    schedule = one_f_one_b(comm.size, micro_batches)
    [held] = train_pipeline(
        comm, network, digits(where), schedule, kind=DenseStage
    ).replicas.values()
    return ended | held.parameters


def tensor_parallel(comm, where):
    network = small_gpt().to(where)
    loss = split_gpt(network, comm, sequence=comm.size != 2)
    train(network, texts(where), loss=loss)
    return full_parameters(network)


def one_weird_trick(comm, where):
    return train_weirdly(comm, alexnet((2, 3, 2, 3, 2), 16).to(where), digits(where, flat=False))[
        1
    ]


def spatial(comm, where):
    network = lenet((2, 3), (12, 8), (1, 24, 24)).to(where)
    batches = [(x.repeat(1, 1, 3, 3), y) for x, y in digits(where, flat=False, rows=3)]
    cut = split_images(network, tiles(comm, 1, comm.size), (1, 24, 24), overlap=True)
    ended = train(network, [(cut(x), y) for x, y in batches])
    return ended.parameters


def grid(comm, where):
    """Along all axes that fit: context and tensor, or data and pipeline."""
    ended = {}
    shapes = {1: [(1, 1, 1, 1)], 2: [(1, 1, 1, 2)], 4: [(2, 2, 1, 1)], 8: [(1, 2, 2, 2)]}
    for shape in shapes.get(comm.size, ()):
        trainer = Trainer(comm, small_gpt().to(where), Grid(*shape), micro_batches=2)
        for batch in texts(where):
            trainer.step(batch)
        ended |= trainer.parameters()
    return ended


def experts(comm, where):
    network = mixture_network(64, 6, 8, 5).to(where)
    spread_experts(network, comm)

    def loss(scores, targets):
        return weighted_loss(mean_loss, scores, targets, ROWS, 1)

    train(network, [own_part(comm, batch) for batch in digits(where)], loss=loss)
    return experts_of(network, comm)


def sharded(comm, where):
    ended = {}
    keeps = {
        "resident": resident(UPDATE),
        "offloaded": lambda own: Offloaded(own, UPDATE, 70, DeviceMemory(where=where)),
    }
    for stage in (1, 2, 3):
        for name in keeps if stage == 2 else ["resident"]:
            network = mlp((64, 9, 10)).to(where)
            found = train_sharded(comm, stage, network, digits(where), keeps[name]).parameters
            ended |= {f"{stage} {name} {key}": x for key, x in found.items()}
    return ended


def pruned(comm, where):
    network = mlp((64, 9, 10)).to(where)
    trainer = Pruned(comm, network, largest_of(network, 0.2), resident(UPDATE))
    for x, y in digits(where):
        rows = own_slice(len(x), comm)
        (mean_loss(network(x[rows]), y[rows]) * (len(x[rows]) / len(x))).backward()
        trainer.step()
    return trainer.parameters()


ROOMS = (
    ladder, parallel_with_batch_norm, pipelines, tensor_parallel, one_weird_trick, spatial, grid,
    experts, sharded, pruned,
)  # fmt: skip
ON_SIMULATED = (ladder, pipelines, tensor_parallel, sharded)
BESIDES = {1: (), 4: (grid, sharded), 5: (experts,), 8: ()}  # data parallelism and pipelines


def sent(comm, since):
    new = [m for m in comm.ledger.messages[since:] if m.kind.startswith(("host", "device"))]
    return Counter(message[:3] for message in new), Counter(m.kind for m in new if m.bytes)


def compare(comm, where, rooms):
    """What differs between host and device, and how messages of the device went."""
    on_device(where, "late")
    torch.backends.cudnn.allow_tf32 = False  # cuDNN would round what it multiplies to 10 bits
    wrong, ways = [], Counter()
    for room in rooms:
        start = len(comm.ledger.messages)
        comm.device = "cpu"
        right = room(comm, "cpu")
        expected, _ = sent(comm, start)
        start = len(comm.ledger.messages)
        comm.device, comm.device_table = where, {"message": (Reach(0, "staged"),)}
        found = room(comm, where)
        counted, kinds = sent(comm, start)
        ways += kinds
        far = largest_difference(found, right)
        # torch itself computes attention in another way on each kind of device.
        close = 1e-5 if where == "cuda" or room is tensor_parallel else 0.0
        if far > close or counted != expected:
            wrong.append((room.__name__, far, expected - counted, counted - expected))
    return wrong, ways


@pytest.mark.parametrize("where", TENSORS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.sampled(9)
def test_every_room_ends_with_the_hosts_bits(real, where, ranks):
    rooms = (ladder, pipelines, *BESIDES[ranks]) if ranks in BESIDES else ROOMS
    run = real(compare, ranks, trace=False, where=where, rooms=rooms)
    for wrong, ways in run.results:
        assert wrong == []
        assert ways["device staged"] > 20 or ranks == 1


@pytest.mark.slow
@pytest.mark.parametrize("where", TENSORS)
@pytest.mark.sampled(2)
def test_simulated_ranks_do_as_well(where):
    node = TwoLevel(ranks_per_node=4)
    run = simulate(compare, 3, network=node, threads=True, where=where, rooms=ON_SIMULATED)
    assert [wrong for wrong, _ in run.results] == [[]] * 3
