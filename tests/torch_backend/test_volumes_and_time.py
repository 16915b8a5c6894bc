"""The ledger has the volumes that are known, and computing takes the time that is said."""

import pytest
import torch
import training_programs as programs
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel
from torch.utils.flop_counter import FlopCounterMode
from training_programs import batch, begin, network, sharded

from ddl_teach import simulate, torch_backend
from ddl_teach.comm import Uniform

WIDTH = 60  # divided by 2, 3, 4 and 5


class Network(nn.Module):
    """Hidden layers, and weights of the whole network's own before and behind them."""

    def __init__(self, layers=3):
        super().__init__()
        self.first, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.hidden = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(layers)])

    def forward(self, x):
        return self.last(self.hidden(self.first(x)))


LAYER = 4 * (WIDTH * WIDTH + WIDTH)  # bytes of float32


def one_pass(comm, way, fake):
    """Forward and backward, once; returns the bytes that this rank has sent for it."""
    begin()
    mesh = init_device_mesh("cpu", (comm.size,))  # it reads numbers, which fake tensors lack
    with FakeTensorMode(allow_non_fake_inputs=True) if fake else torch.enable_grad():
        model = Network()
        if way == "DDP":
            model = DistributedDataParallel(model, init_sync=False)
        else:
            kept = {"reshard_after_forward": False} if way == "FSDP2, kept" else {}
            model.hidden = sharded(model.hidden, mesh, **kept)
            programs.fully_shard(model, mesh=mesh)
        before = comm.ledger.bytes_sent
        model(torch.ones(2, WIDTH)).sum().backward()
        return comm.ledger.bytes_sent - before


VOLUMES = [("DDP", 2), ("FSDP2", 3), ("FSDP2, kept", 2)]


@pytest.mark.slow
@pytest.mark.parametrize("fake", [False, True], ids=["real numbers", "sizes only"])
@pytest.mark.parametrize("ranks", [2, 3, 4, 5])
@pytest.mark.parametrize(("way", "times"), VOLUMES, ids=str)
@pytest.mark.sampled(8)
def test_bytes_are_those_of_zero(way, times, ranks, fake):
    """An all-reduce, or a reduce-scatter and one or two all-gathers, of all weights: (P-1)/P times
    2 or 3. FSDP2 keeps the weights that the whole network has of its own from the forward pass
    to the backward pass: it gathers those once."""
    check_bytes(simulate(one_pass, ranks, threads=True, way=way, fake=fake), times)


def check_bytes(run, times):
    root, ranks = 2 * LAYER * 2, len(run.results)
    expected = (ranks - 1) * (3 * LAYER * times + root) / ranks
    assert sum(run.results) == pytest.approx(ranks * expected, rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize(("way", "times"), VOLUMES, ids=str)
def test_real_ranks_send_as_much(real, way, times, ranks):
    check_bytes(real(one_pass, ranks, way=way, fake=False, timeout=200), times)


class Layer(nn.Module):
    """A layer of a transformer: attention of 12 heads, and two linear layers."""

    def __init__(self):
        super().__init__()
        self.qkv, self.mixed = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])

    def forward(self, x):
        heads = self.qkv(self.norms[0](x)).unflatten(-1, (-1, 3, WIDTH // 12)).transpose(1, 2)
        attended = nn.functional.scaled_dot_product_attention(*heads.unbind(-2))
        x = x + self.mixed(attended.transpose(1, 2).flatten(2))
        return x + self.down(torch.relu(self.up(self.norms[1](x))))


def tensor_parallel_pass(comm, layers):
    begin()
    mesh = init_device_mesh("cpu", (comm.size,))
    model = nn.Sequential(*[Layer() for _ in range(layers)])
    for layer in model:
        plan = dict.fromkeys(["qkv", "up"], programs.ColwiseParallel())
        plan |= dict.fromkeys(["mixed", "down"], programs.RowwiseParallel())
        programs.parallelize_module(layer, mesh, plan)
    before = comm.ledger.bytes_sent, comm.ledger.messages_sent
    model(torch.ones(2, 3, WIDTH, requires_grad=True)).sum().backward()
    return comm.ledger.bytes_sent - before[0], comm.ledger.messages_sent - before[1]


@pytest.mark.slow
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_layer_of_tensor_parallelism_needs_four_all_reduces(ranks, layers):
    """Of all activations, two in the forward pass and two in the backward pass."""
    activations = 2 * 3 * WIDTH * 4
    once = 2 * (ranks - 1) * activations / ranks, 2 * (ranks - 1)  # bytes and messages of a ring
    sent = simulate(tensor_parallel_pass, ranks, threads=True, layers=layers).results
    assert sent == [(4 * layers * once[0], 4 * layers * once[1])] * ranks


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_real_ranks_need_as_many(real, ranks):
    simulated = simulate(tensor_parallel_pass, ranks, threads=True, layers=2).results
    assert real(tensor_parallel_pass, ranks, layers=2, timeout=200).results == simulated


def timed(comm, how):
    begin()
    model = DistributedDataParallel(network(), bucket_cap_mb=0.003)
    x, y = batch(0, comm.rank, comm.size)
    nn.functional.mse_loss(model(x), y).backward()  # DDP cuts its buckets after the first pass
    begun = comm.now()
    with torch_backend.computing(how) as computing:
        nn.functional.mse_loss(model(x), y).backward()
    return computing.flops, computing.seconds, comm.now() - begun


def flops_of_one_process(ranks):
    model, (x, y) = network(), batch(0, 0, ranks)
    with FlopCounterMode(display=False) as counter:
        nn.functional.mse_loss(model(x), y).backward()
    return counter.get_total_flops()


SLOW = torch_backend.Roofline(flops=1e6, bandwidth=1e18)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_roofline_counts_each_operation(ranks):
    run = simulate(timed, ranks, threads=True, how=SLOW, network=Uniform(1e-9, 1e15))
    flops = flops_of_one_process(ranks)
    assert [result[0] for result in run.results] == [flops] * ranks
    assert [result[2] for result in run.results] == pytest.approx([flops / 1e6] * ranks, rel=1e-3)


def test_messages_hide_under_computing():
    """Buckets of DDP travel beside the backward pass: together they take less than one after
    another, and no less than the longer of both."""
    network = Uniform(latency=1e-4, bandwidth=1e12)
    results = simulate(timed, 4, threads=True, how=SLOW, network=network).results
    alone = simulate(timed, 4, threads=True, how=torch_backend.Roofline(1e18, 1e18),
                     network=network).results  # fmt: skip
    _, computing, together = results[0]
    messages = alone[0][2]
    assert max(computing, messages) < together < computing + 0.7 * messages


def fsdp_timed(comm, how):
    begin()
    model = sharded(network(), init_device_mesh("cpu", (comm.size,)))
    x, y = batch(0, comm.rank, comm.size)
    begun = comm.now()
    with torch_backend.computing(how) as computing:
        nn.functional.mse_loss(model(x), y).backward()
    return computing.seconds, comm.now() - begun


@pytest.mark.slow
def test_fsdp_hides_messages_too():
    network = Uniform(latency=1e-4, bandwidth=1e12)
    (computing, together), *_ = simulate(
        fsdp_timed, 4, threads=True, how=SLOW, network=network
    ).results
    (_, messages), *_ = simulate(
        fsdp_timed, 4, threads=True, how=torch_backend.Roofline(1e18, 1e18), network=network
    ).results
    assert max(computing, messages) < together < computing + 0.9 * messages


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ddp", "fsdp", "hsdp", "tensor_parallel"])
@pytest.mark.sampled(4)
def test_what_is_timed_is_still_right(name):
    assert programs.distance(simulate(timed_way, 4, threads=True, name=name).results,
                             programs.one_process()) < 1e-12  # fmt: skip


def timed_way(comm, name):
    with torch_backend.computing(SLOW):
        return getattr(programs, name)(comm)


def test_measured_times_are_above_zero():
    run = simulate(timed, 2, threads=True, how="measured")
    assert all(seconds > 0 for _, seconds, _ in run.results)


def test_without_it_computing_takes_no_time():
    run = simulate(programs.ddp, 1, threads=True)
    assert run.time == 0


@pytest.mark.parametrize("how", ["fast", None])
def test_what_is_no_way_to_count_is_refused(how):
    with pytest.raises(Exception, match="a Roofline or 'measured'"):
        simulate(timed, 2, threads=True, how=how)
