"""The all-reduce that asks the table: the sum by either way, and by which the ledger tells."""

import numpy as np
import pytest

from ddl_runtime.devices.choice import Reach
from ddl_runtime.devices.stand_in import StandInDevice
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.topologies.point_to_point import HostLink, Uniform
from ddl_teach import simulate
from ddl_teach.collectives import on_devices

STAGED = (Reach(0, "staged"),)
TABLES = {
    "none": (None, {"small": "device staged", "large": "device staged"}),
    "messages only": (
        {"message": STAGED},
        {"small": "device staged", "large": "device staged"},
    ),
    "by size": (
        {"message": STAGED, "allreduce": (Reach(0, "once"), Reach(1000, "steps"))},
        {"small": "host", "large": "device staged"},
    ),
}


def program(comm, table):
    comm.device_table = table
    device = StandInDevice("late")
    found = {}
    for name, size in (("small", 24), ("large", 2400)):
        x, host = device.array(np.full(size, 1.0, np.float32)), np.full(size, 1.0, np.float32)
        before = comm.ledger.by_kind()
        on_devices.allreduce(comm, x)
        kinds = set(comm.ledger.by_kind() - before)
        on_devices.allreduce(comm, host)
        right = bool((x.to_host() == comm.size).all() and (host == comm.size).all())
        found[name] = kinds, right
    return found


def judge(results, expected):
    for found in results:
        assert {name: kinds for name, (kinds, _) in found.items()} == {
            name: {kind} for name, kind in expected.items()
        }
        assert all(right for _, right in found.values())


@pytest.mark.parametrize("name", TABLES)
def test_both_ways_give_the_sum(name):
    table, expected = TABLES[name]
    for ranks in (2, 3, 5):
        network = Uniform(host_link=HostLink())
        judge(simulate(program, ranks, table=table, network=network).results, expected)


@pytest.mark.parametrize("name", TABLES)
def test_both_ways_give_the_sum_on_real_ranks(real, name):
    table, expected = TABLES[name]
    judge(real(program, 3, table=table).results, expected)


def test_a_way_that_does_not_exist_is_named():
    table = {"message": STAGED, "allreduce": (Reach(0, "staged"),)}
    with pytest.raises(DiagnosedError, match="must be 'once', 'steps' or 'nccl', not 'staged'"):
        simulate(program, 2, table=table)
