"""Programs of torch's that hang or fail everywhere, each on a line that its error must name."""

import torch
import torch.distributed as dist
from torch import nn


def begun(comm):
    from ddl_teach import torch_backend  # noqa: F401, real ranks carry it out as well

    dist.init_process_group("ddl_teach", rank=comm.rank, world_size=comm.size)


def skips(comm):
    begun(comm)
    if comm.rank != 1:
        dist.all_reduce(torch.ones(3))  # the line
    dist.barrier()


def skips_the_last(comm):
    begun(comm)
    if comm.rank != 1:
        dist.all_reduce(torch.ones(3))  # the line


def skips_asynchronously(comm):
    begun(comm)
    if comm.rank != 1:
        dist.all_reduce(torch.ones(3), async_op=True).wait()  # the line


def skips_in_a_group(comm):
    begun(comm)
    pair = dist.new_group([0, 1])
    if comm.rank == 0:
        dist.all_reduce(torch.ones(3), group=pair)  # the line
    dist.barrier()


def swaps(comm):
    begun(comm)
    x, y = torch.ones(4), torch.ones(2)
    for call in (dist.all_reduce, dist.broadcast)[:: -1 if comm.rank else 1]:
        call(*((x,) if call is dist.all_reduce else (y, 0)))  # the line


def another_operation(comm):
    begun(comm)
    dist.all_reduce(torch.ones(4))
    op = dist.ReduceOp.MAX if comm.rank == 2 else dist.ReduceOp.SUM
    dist.all_reduce(torch.ones(4), op)  # the line


def a_mean_and_a_sum(comm):
    begun(comm)
    op = dist.ReduceOp.AVG if comm.rank else dist.ReduceOp.SUM
    out, group = torch.ones(2), dist.new_group()
    x = torch.ones(2 * comm.size)
    dist.reduce_scatter_single(out, x, op, group=group, async_op=True).wait()  # the line


def wrong_shape(comm):
    begun(comm)
    dist.all_reduce(torch.ones(4 + 2 * comm.rank))  # the line


def wrong_shape_asynchronously(comm):
    begun(comm)
    dist.all_reduce(torch.ones(4 + 2 * comm.rank), async_op=True).wait()  # the line


def wrong_type(comm):
    begun(comm)
    dist.all_reduce(torch.ones(4, dtype=(torch.float32, torch.float64)[comm.rank % 2]))  # the line


def gathers_into_another_type(comm):
    begun(comm)
    out = torch.empty(2 * comm.size, dtype=torch.float64)
    dist.all_gather_single(out, torch.ones(2))  # the line


def scatters_sums_into_another_type(comm):
    begun(comm)
    dist.reduce_scatter_single(torch.empty(2).half(), torch.ones(2 * comm.size))  # the line


def splits_that_disagree(comm):
    begun(comm)
    out, x, both = torch.empty(6), torch.ones(3), ([2] * comm.size, [1] * comm.size)
    dist.all_to_all_single(out, x, *both)  # the line


def sums_of_eight_bits(comm):
    begun(comm)
    dist.all_reduce(torch.ones(2).to(torch.float8_e4m3fn))  # the line


def begins_with_another_backend(comm):
    from ddl_teach import torch_backend  # noqa: F401

    dist.init_process_group("gloo")  # the line


def wrong_length_of_a_list(comm):
    begun(comm)
    dist.all_gather([torch.empty(2)], torch.ones(2))  # the line


def gathers_more_than_there_is_room_for(comm):
    begun(comm)
    out = [torch.empty(2) for _ in range(comm.size)]
    dist.all_gather(out, torch.ones(2 + comm.rank % 2))  # the line


def reads_a_key_of_another_rank(comm):
    begun(comm)
    dist.distributed_c10d._get_default_store().get(f"of rank {comm.rank + 1}")  # the line


def average_of_whole_numbers(comm):
    begun(comm)
    dist.all_reduce(torch.ones(2, dtype=torch.int64), dist.ReduceOp.AVG)  # the line


def bits_of_fractions(comm):
    begun(comm)
    dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND)  # the line


def sparse(comm):
    begun(comm)
    dist.all_reduce(torch.eye(3).to_sparse())  # the line


def not_contiguous(comm):
    begun(comm)
    dist.all_reduce(torch.ones(2, 3).t())  # the line


def receives_what_nobody_sends(comm):
    begun(comm)
    dist.recv(torch.empty(2), (comm.rank + 1) % comm.size)  # the line


def one_rank_leaves_ddp(comm):
    begun(comm)
    model = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
    if comm.rank != 1:
        model(torch.ones(1, 3)).sum().backward()  # the line


PROGRAMS = [
    skips, skips_the_last, skips_asynchronously, skips_in_a_group,
    swaps, another_operation, a_mean_and_a_sum, wrong_shape, wrong_shape_asynchronously,
    wrong_type, wrong_length_of_a_list, gathers_more_than_there_is_room_for,
    reads_a_key_of_another_rank, average_of_whole_numbers, bits_of_fractions,
    sparse, not_contiguous,
    gathers_into_another_type, scatters_sums_into_another_type, splits_that_disagree,
    sums_of_eight_bits, begins_with_another_backend,
    receives_what_nobody_sends, one_rank_leaves_ddp,
]  # fmt: skip
