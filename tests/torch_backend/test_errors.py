"""What is wrong in a program of torch's is told, with its line, and nothing hangs."""

import inspect
import subprocess
import sys

import faulty_programs
import pytest
import torch
import torch.distributed as dist
from faulty_programs import PROGRAMS

from ddl_teach import simulate, torch_backend
from ddl_teach.comm import Deadlock, DiagnosedError, RankFailed
from ddl_teach.torch_backend import internals


def lines_of(program):
    """Where the faulty line is: file and number, as a traceback or a diagnosis has it."""
    lines, first = inspect.getsourcelines(program)
    return [first + i for i, line in enumerate(lines) if "# the line" in line]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_line_is_named(program, strict):
    with pytest.raises(DiagnosedError) as caught:
        simulate(program, 3, threads=True, strict=strict)
    (line,) = lines_of(program)
    text = str(caught.value)
    both = f"faulty_programs.py:{line}", f'faulty_programs.py", line {line}'
    if program is not faulty_programs.skips:  # what does not fit is the next call
        assert any(words in text for words in both)
    assert "faulty_programs.py" in text


@pytest.mark.parametrize(
    ("program", "ranks"),
    [
        (faulty_programs.wrong_shape, 3),
        (faulty_programs.skips_the_last, 3),
        (faulty_programs.begins_with_another_backend, 3),
        (faulty_programs.swaps, 2),  # whose messages have one length, and so none waits for ever
        (faulty_programs.swaps, 4),
        (faulty_programs.another_operation, 3),
        (faulty_programs.reads_a_key_of_another_rank, 2),
        (faulty_programs.skips_in_a_group, 3),
    ],
)
def test_real_ranks_tell_it_too(real, program, ranks):
    with pytest.raises(DiagnosedError, match=rf"faulty_programs.py.*{lines_of(program)[0]}"):
        real(program, ranks, timeout=100)  # most of it may be the import of torch


def test_all_torch_groups_are_gone_after_an_error():
    before = sys.excepthook
    with pytest.raises(DiagnosedError):
        simulate(faulty_programs.wrong_shape, 3, threads=True)
    assert sys.excepthook is before
    assert not dist.is_initialized()
    assert simulate(sums, 2, threads=True).results == [3.0, 3.0]


def sums(comm):
    dist.init_process_group("ddl_teach")
    x = torch.tensor(comm.rank + 1.0)
    dist.all_reduce(x)
    return float(x)


@pytest.mark.parametrize(
    ("program", "first", "second"),
    [
        (
            faulty_programs.swaps,
            "rank 0 .*allreduce of 16 bytes .sum.",
            "rank 1 .*broadcast of 8 b",
        ),
        (faulty_programs.another_operation, r"rank 0 .*\(sum\)", r"rank 2 .*\(max\)"),
        (faulty_programs.a_mean_and_a_sum, r"rank 0 .*\(sum\)", r"rank 1 .*\(mean\)"),
    ],
)
def test_the_two_collectives_are_named(program, first, second):
    with pytest.raises(DiagnosedError, match=f"{first}, at .*\n  {second}"):
        simulate(program, 3, threads=True)


def test_a_collective_that_a_member_of_a_group_skips_closes_a_ring():
    with pytest.raises(Deadlock, match=r"in a group of 2\n.*skips_in_a_group") as caught:
        simulate(faulty_programs.skips_in_a_group, 3, threads=True)
    assert {0, 1} <= set(caught.value.cycle)
    assert "must send, or call a collective, before it waits" in str(caught.value)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (faulty_programs.wrong_length_of_a_list, "all_gather, tensors in the list: 1 where 3 are"),
        (
            faulty_programs.gathers_more_than_there_is_room_for,
            "rank 1: all_gather, elements for this rank: 2 where 3 are needed on 3 ranks: change",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_named(program, words):
    with pytest.raises(RankFailed, match=words):
        simulate(program, 3, threads=True)


def factors(comm):
    dist.init_process_group("ddl_teach")
    x = torch.tensor(1.0)
    dist.all_reduce(x, dist._make_nccl_premul_sum(comm.rank + 1.0))
    return float(x)


def test_each_rank_may_have_a_factor_of_its_own():
    assert simulate(factors, 3, threads=True).results == [6.0] * 3


def in_two_groups(comm):
    dist.init_process_group("ddl_teach")
    other = dist.new_group()
    least, total = torch.tensor(comm.rank + 1.0), torch.tensor(comm.rank + 1.0)
    calls = [
        lambda: dist.all_reduce(least, dist.ReduceOp.MIN, group=other, async_op=True),
        lambda: dist.all_reduce(total, async_op=True),
    ]
    for work in [call() for call in (calls if comm.rank else calls[::-1])]:
        work.wait()
    return least.item(), total.item()


def test_ranks_may_begin_operations_of_two_groups_in_another_order():
    assert simulate(in_two_groups, 3, threads=True).results == [(1.0, 6.0)] * 3


def test_greenlets_are_refused():
    with pytest.raises(RankFailed, match=r"simulate\(..., threads=True\)"):
        simulate(sums, 2)


def begins_wrongly(comm):
    dist.init_process_group("ddl_teach", rank=0, world_size=comm.size)


def test_a_wrong_rank_is_refused():
    with pytest.raises(RankFailed, match=r"was given rank 0 of 2, but this is rank 1 of 2"):
        simulate(begins_wrongly, 2, threads=True)


def test_outside_of_a_program_it_says_what_to_do():
    with pytest.raises(RuntimeError, match=r"simulate\(program, ranks, threads=True\)"):
        torch_backend.use(allreduce="ring")


@pytest.mark.parametrize(
    ("algorithms", "error"),
    [
        ({"allreduce": "rign"}, "did you mean 'ring'"),
        ({"all_reduce": "ring"}, "did you mean 'allreduce'"),
        ({"allreduce": 7}, "or your function"),
    ],
)
def test_what_is_no_algorithm_is_refused(algorithms, error):
    with pytest.raises(RankFailed, match=error):
        simulate(lambda comm: torch_backend.use(**algorithms), 2, threads=True)


def test_the_installed_torch_was_tried():
    internals.check_version()


@pytest.mark.parametrize("version", ["2.12.1", "2.15.0+cpu", "3.0.1"])
def test_another_torch_is_refused(version):
    with pytest.raises(ImportError, match=f"this is torch {version[:4]}"):
        internals.check_version(version)


def test_the_package_alone_does_not_import_torch():
    code = "import ddl_teach, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
