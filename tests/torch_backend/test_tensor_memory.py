"""What tensors hold: as torch's own allocator has it, as ZeRO's formula, and for sizes alone."""

import contextlib
from functools import partial

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from ddl_measure.allocations import peak_allocation
from ddl_runtime.records.memory import tally
from ddl_teach import simulate, torch_backend
from ddl_teach.comm import OutOfMemory
from ddl_teach.networks.memory.device import DeviceMemory
from ddl_teach.networks.memory.offload import Offloaded
from ddl_teach.theory import memory as theory
from ddl_teach.training.optimizers.momentum import Momentum

WIDTH, LAYERS = 60, 5  # the width is divided by 2, 3, 4 and 5
LAYER = WIDTH * WIDTH
COUNTERS = 4 * LAYERS  # of Adam's steps: a number for each weight


def steps(comm, fake, sharded=True, width=WIDTH, rows=2):
    """Two steps of Adam; the bytes that this rank holds before the second update."""
    assert torch_backend.use  # so that real ranks import it
    dist.init_process_group("ddl_teach")
    mesh = init_device_mesh("cpu", (comm.size,))
    with FakeTensorMode(allow_non_fake_inputs=True) if fake else contextlib.nullcontext():
        model = nn.Sequential(*[nn.Linear(width, width, bias=False) for _ in range(LAYERS)])
        for module in (*model, model) if sharded else ():
            fully_shard(module, mesh=mesh)
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        x = torch.ones(rows, width)
        with torch_backend.count_memory(model):
            for _ in range(2):
                optimizer.zero_grad()
                model(x).sum().backward()
                used = comm.context.memory.used
                optimizer.step()
    return used


@pytest.mark.parametrize("fake", [False, True], ids=["numbers", "sizes only"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.sampled(3)
def test_what_lasts_in_fsdp2_is_the_formula_to_the_byte(ranks, fake):
    """Weights, gradients and Adam's two states, all in shards, and its counters of steps."""
    run = simulate(steps, ranks, threads=True, fake=fake)
    wanted = theory.held(3, [LAYER] * LAYERS, ranks, weight=4, state=8).total + COUNTERS
    assert run.results == [wanted] * ranks
    peaks = [run.memory.peak(rank) for rank in range(ranks)]
    assert all(peak > wanted for peak in peaks)
    if ranks > 1:
        assert max(peaks) < wanted + 8 * 4 * LAYER
        assert all("gathered layers" in run.memory.at_peak(rank) for rank in range(ranks))


@pytest.mark.parametrize("ranks", [3])
def test_sizes_only_hold_what_numbers_do(ranks):
    numbers, sizes = (simulate(steps, ranks, threads=True, fake=fake) for fake in (False, True))
    there, here = (run.memory.peak(0) for run in (numbers, sizes))
    assert here == pytest.approx(there, rel=0.05)


@pytest.mark.parametrize("ranks", [1, 2])
def test_real_ranks_hold_the_same(real, ranks):
    run = real(steps, ranks, fake=False)
    again = simulate(steps, ranks, threads=True, fake=False)
    assert run.results == again.results
    assert abs(run.memory.peak(0) - again.memory.peak(0)) <= 4 * LAYER  # of what overlaps


def in_buckets(comm, views, before):
    """Steps of DDP, which is made before memory is counted or while it is: what each holds."""
    assert torch_backend.use
    dist.init_process_group("ddl_teach")
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])
    optimizer, kinds = torch.optim.Adam(model.parameters(), foreach=False), []
    make = partial(nn.parallel.DistributedDataParallel, model, gradient_as_bucket_view=views,
                   bucket_cap_mb=0.02)  # fmt: skip
    parallel = make() if before else None
    with torch_backend.count_memory(model):
        parallel = parallel or make()
        for _ in range(3):
            optimizer.zero_grad()
            parallel(torch.ones(2, WIDTH)).sum().backward()
            held = tally(comm.context.memory.changes)
            kinds.append({what: nbytes for what, (_, nbytes) in held.items()})
            optimizer.step()
    return kinds


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.sampled(2)
def test_ddp_s_buckets_count_from_the_first_pass_on(ranks, before, views):
    """DDP cuts them anew after its first pass. With `views` gradients lie in them."""
    run = simulate(in_buckets, ranks, threads=True, views=views, before=before)
    whole = 4 * LAYER * LAYERS
    wanted = {"weights": whole, "buckets": whole} | ({} if views else {"gradients": whole})
    later = wanted | {"others": 2 * whole + COUNTERS}
    assert run.results == [[wanted, later, later]] * ranks


def test_buckets_of_an_offload_are_held_too():
    def program(comm):
        weights, device = torch.zeros(1000), DeviceMemory(comm=comm)
        Offloaded(weights, Momentum(), 100, device).step(torch.ones(1000))
        return device.most

    run = simulate(program, 2)
    assert [run.memory.peak(rank) for rank in range(2)] == run.results == [2 * 100 * 4] * 2
    with pytest.raises(OutOfMemory, match="buckets of states"):
        simulate(program, 2, memory=700)


def plain(comm, measured):
    """Forward and backward of layers with activations worth counting, on one rank alone."""
    torch.manual_seed(0)
    layers = [part for _ in range(4) for part in (nn.Linear(64, 64), nn.Tanh())]
    model, x = nn.Sequential(*layers), torch.ones(512, 64)

    def go():
        model(x).sum().backward()

    if measured:
        return peak_allocation(go)
    with torch_backend.count_memory():
        go()
    return None


def test_on_one_rank_the_peak_is_the_one_that_torch_measures():
    """Not seen are temporaries inside an operation."""
    measured = simulate(plain, 1, threads=True, measured=True).results[0]
    run = simulate(plain, 1, threads=True, measured=False)
    assert run.memory.peak(0) == pytest.approx(measured, rel=0.05)
    assert set(run.memory.at_peak(0)) >= {"activations", "gradients"}


def test_a_model_of_which_no_rank_has_room_for_all_says_so():
    """Of 20 GB of weights, gradients and states eight ranks have 2.5 GB each, and some layers."""
    given = {"threads": True, "fake": True, "width": 16_000, "rows": 1}
    most = simulate(steps, 8, memory=8e9, **given).memory.peak()
    assert 2.5e9 < most < 8e9
    with pytest.raises(OutOfMemory, match=r"weights .* held, .* of 7\.45 GiB") as caught:
        simulate(steps, 2, memory=8e9, sharded=False, **given)
    assert caught.value.shortage.held["weights"] == (LAYERS, 4 * 16_000**2 * LAYERS)


def test_nothing_is_counted_where_ranks_count_nothing():
    def program(comm):
        dist.init_process_group("ddl_teach")
        model = nn.Linear(3, 3)
        with torch_backend.count_memory(model):
            model(torch.ones(2, 3)).sum().backward()

    assert not simulate(program, 2, threads=True, trace=False).memory


def test_one_count_inside_another_leaves_the_outer_one():
    def program(comm):
        with torch_backend.count_memory():
            with torch_backend.count_memory():
                torch.ones(4)
            torch.ones(8)
        return True

    assert simulate(program, 1, threads=True, memory=1e9).results == [True]
