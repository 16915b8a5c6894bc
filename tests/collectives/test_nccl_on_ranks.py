"""The all-reduce of a library of torch's: where ranks meet, and what is refused, without a GPU.

gloo goes the same way as NCCL, but for the process group's name, and needs no GPU.
"""

import socket
from unittest import mock

import numpy as np
import pytest
import torch
from places import on_gpu

from ddl_runtime.devices.choice import Reach
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_teach import simulate
from ddl_teach.collectives import nccl, on_devices

EXPECTED = {"sum": 6, "max": 3, "min": 1, "product": 6}


def reduced(comm, op):
    x = torch.full((1003,), float(comm.rank + 1))
    nccl.allreduce(comm, x, op, library="gloo")
    first = x.unique().tolist()
    half = comm.split(comm.rank // 2)
    nccl.allreduce(half, x, op, library="gloo")  # another communicator meets by itself
    return first


@pytest.mark.parametrize("op", EXPECTED)
def test_ranks_meet_and_combine(real, op):
    assert real(reduced, 3, op=op).results == [[EXPECTED[op]]] * 3


def where_they_listen(comm):
    with mock.patch("socket.create_server", side_effect=socket.create_server) as listening:
        nccl.allreduce(comm, torch.zeros(3), library="gloo")
    return [call.args[0] for call in listening.call_args_list]


def test_ranks_of_one_machine_listen_to_none_but_this_machine(real):
    assert real(where_they_listen, 2).results == [[("localhost", 0)], []]


def meeting(comm):
    nccl.allreduce(comm, torch.zeros(3), library="gloo")


def test_the_first_rank_sends_its_place_to_the_others_with_room_for_the_longest_name(real):
    longest = len(f"{'n' * 255} 65535")
    nodes = 3 * 2 * 8  # an all-gather of one number
    sent = [ledger.bytes_sent for ledger in real(meeting, 3).ledger]
    assert sum(sent) == nodes + 2 * longest


def sharing(comm, numbers):
    nccl.gpu_number = lambda: numbers[comm.rank]
    try:
        nccl.allreduce(comm, torch.zeros(3))
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    ("numbers", "reason"), [((7, 8, 7), r"ranks [0, 2] share one GPU"), ((7, 0, 8), "rank 1 has")]
)
def test_ranks_that_share_a_gpu_are_refused_on_all_of_them_with_a_way_out(real, numbers, reason):
    for text in real(sharing, 3, numbers=numbers).results:
        assert reason in text
        assert '"once" or "steps"' in text
        assert "MPS" in text or "no GPU" in text


@pytest.mark.parametrize(
    ("op", "why"), [("sum", "no process of their own"), (max, "op is one of")]
)
def test_what_it_cannot_do_is_said(real, op, why):
    def program(comm):
        nccl.allreduce(comm, np.zeros(3), op)

    with pytest.raises(DiagnosedError, match=why):
        simulate(program, 2) if op == "sum" else real(program, 2)


def by_table(comm):
    comm.device_table = {"message": (Reach(0, "staged"),), "allreduce": (Reach(0, "nccl"),)}
    x = torch.full((5,), comm.rank + 1.0, device="cuda")
    try:
        on_devices.allreduce(comm, x)
        return x.tolist()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("_", [pytest.param("cuda", marks=on_gpu)])
def test_the_table_can_choose_it(real, _):
    assert real(by_table, 1).results == [[1.0] * 5]
    expected = [[3.0] * 5] * 2 if torch.cuda.device_count() > 1 else "share one GPU"
    found = real(by_table, 2).results
    assert found == expected or all(expected in text for text in found)
