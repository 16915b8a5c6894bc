"""torch.distributed beside our own collectives, with tensors on a GPU: gloo, and NCCL.

Gloo copies through the host, so any number of ranks may share a GPU. NCCL moves data from GPU to
GPU and refuses two ranks on one: there our collectives and gloo are what is left.
"""

import places
import pytest
import torch
from torch import distributed

from ddl_class.notebook import gloo
from ddl_teach.collectives import ring


def summed(comm, where, backend):
    """What torch's all-reduce gives, and ours of the same; or the library's error."""
    numbers = torch.arange(1003, dtype=torch.float64) + comm.rank
    theirs, ours = numbers.to(where), numbers.to(where)
    ring.allreduce(comm, ours)
    with gloo.meeting(comm):
        group = distributed.new_group(backend=backend)
        try:
            distributed.all_reduce(theirs, group=group)
            return torch.equal(theirs.cpu(), ours.cpu())  # whole numbers: no rounding
        except RuntimeError as error:
            return str(error)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("where", ["cpu", pytest.param("cuda", marks=places.on_gpu)])
def test_gloo_gives_the_same_sum_also_where_ranks_share_a_gpu(real, where, ranks):
    assert real(summed, ranks, where=where, backend="gloo").results == [True] * ranks


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason=places.NO_GPU)
def test_nccl_gives_the_same_sum_and_refuses_two_ranks_on_one_gpu(real):
    assert real(summed, 1, where="cuda", backend="nccl").results == [True]
    found = real(summed, 2, where="cuda", backend="nccl").results
    if torch.cuda.device_count() > 1:
        assert found == [True, True]
    else:
        said = " ".join(map(str, found)).lower()
        assert "duplicate gpu" in said or "invalid usage" in said


def behind_a_slow_kernel(comm):
    """Send what a kernel that has not ended yet will write."""
    x = torch.zeros(1 << 20, device="cuda")
    torch.cuda._sleep(200_000_000)  # cycles: a tenth of a second or so, before x is written
    x += 1 + comm.rank
    y = torch.empty_like(x)
    comm.sendrecv(x, (comm.rank + 1) % comm.size, y, (comm.rank - 1) % comm.size)
    y *= 2  # at once, on the current stream: the copy in has ended
    return y.unique().tolist()


@pytest.mark.parametrize("path", ["staged", "pipelined"])
@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason=places.NO_GPU)
def test_a_send_never_reads_what_a_slow_kernel_still_writes(real, path):

    def program(comm):
        comm.device_path = path
        return behind_a_slow_kernel(comm)

    assert real(program, 3).results == [[6.0], [2.0], [4.0]]
