"""Names of mpi4py and of torch that a communicator does not have: the error says what to write."""

import importlib

import numpy as np
import pytest

from ddl_runtime.core.unknown_verbs import ELSEWHERE
from ddl_teach import simulate
from ddl_teach.comm import RankFailed

ADVICE = {
    "allreduce": "`ring.allreduce(comm, x)`, after `from ddl_teach.collectives import ring`",
    "Bcast": "`tree.broadcast(comm, x, root)`",
    "all_gather": "`ring.allgather(comm, x)`",
    "Get_rank": "write comm.rank",
    "get_size": "write comm.size",
    "Send": "write comm.send",
    "recieve": "did you mean comm.recv?",
}


def ask_for(comm, name):
    return getattr(comm, name)


@pytest.mark.parametrize("name", ADVICE)
def test_the_error_says_what_to_write(name):
    with pytest.raises(RankFailed) as caught:
        simulate(ask_for, 2, name=name)
    assert f"a communicator has no {name}" in str(caught.value)
    assert ADVICE[name] in str(caught.value)


def test_real_ranks_say_the_same(real):
    with pytest.raises(RankFailed, match=r"`ring\.allreduce"):
        real(ask_for, 2, name="allreduce")


def test_what_is_like_nothing_is_only_named():
    with pytest.raises(RankFailed, match=r"a communicator has no fly\n"):
        simulate(ask_for, 1, name="fly")


@pytest.mark.parametrize("call", ELSEWHERE.values())
def test_the_library_has_what_is_advised(call):
    module, function = call.partition("(")[0].split(".")
    assert callable(getattr(importlib.import_module(f"ddl_teach.collectives.{module}"), function))


def test_the_advised_line_runs():
    def program(comm):
        from ddl_teach.collectives import ring

        x = np.ones(3)
        ring.allreduce(comm, x)
        return x[0]

    assert simulate(program, 4).results == [4] * 4
