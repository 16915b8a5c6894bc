"""Every call of torch's process groups gives on our ranks what one process computes."""

import pytest
import torch
import torch.distributed as dist
from torch_calls import CALLS

from ddl_teach import simulate, torch_backend

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.distributed:FutureWarning")
MIXED = {
    "allreduce": "recursive_doubling", "broadcast": "linear", "reduce": "linear",
    "allgather": "bruck", "gather": "linear", "scatter": "linear", "alltoall": "bruck",
}  # fmt: skip


def carry_out(comm, names, algorithms=None):
    """Some calls between the beginning and the end of a process group."""
    torch_backend.use(**algorithms or {})
    dist.init_process_group("ddl_teach", rank=comm.rank, world_size=comm.size)
    results = [CALLS[name].call(comm.rank, comm.size) for name in names]
    dist.destroy_process_group()
    return results


def wrong_calls(run, names):
    """The calls that gave something else than one process says."""
    ranks = len(run.results)
    return {
        name
        for rank, results in enumerate(run.results)
        for name, tensors in zip(names, results, strict=True)
        if not alike(tensors, CALLS[name].truth(rank, ranks))
    }


def alike(tensors, wanted):
    return len(tensors) == len(wanted) and all(map(torch.allclose, tensors, wanted))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.sampled(3)
def test_a_call_gives_what_one_process_says(name, ranks):
    run = simulate(carry_out, ranks, threads=True, names=[name])
    assert wrong_calls(run, [name]) == set()


@pytest.mark.parametrize("ranks", [3, 4])
def test_strict_ranks_accept_all_calls(ranks):
    run = simulate(carry_out, ranks, threads=True, strict=True, names=[*CALLS])
    assert wrong_calls(run, CALLS) == set()


def begin_without_a_backend(comm):
    dist.init_process_group()
    x = torch.tensor(comm.rank + 1.0)
    dist.all_reduce(x)
    return float(x)


def test_without_a_backend_it_is_ours():
    assert simulate(begin_without_a_backend, 3, threads=True).results == [6.0] * 3


def test_other_algorithms_give_the_same():
    run = simulate(carry_out, 5, threads=True, names=[*CALLS], algorithms=MIXED)
    assert wrong_calls(run, CALLS) == set()


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_real_ranks_give_the_same(real, ranks):
    assert wrong_calls(real(carry_out, ranks, names=[*CALLS]), CALLS) == set()


def test_the_comparison_sees_a_wrong_number():
    run = simulate(carry_out, 2, threads=True, names=["broadcast"])
    run.results[1][0][0][0, 0] += 1
    assert wrong_calls(run, ["broadcast"]) == {"broadcast"}
