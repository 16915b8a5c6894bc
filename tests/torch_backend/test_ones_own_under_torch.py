"""A learner's own collectives under torch's DDP and FSDP2: the weights of one process."""

import numpy as np
import pytest
import training_programs as programs
from training_programs import distance, one_process

from ddl_teach import simulate, torch_backend


def own_allreduce(comm, x):
    """Every rank sends all to all others, with NumPy alone."""
    mine, other = x.copy(), np.empty_like(x)
    for step in range(1, comm.size):
        to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        comm.sendrecv(mine, to, other, source)
        x += other


def own_reduce_scatter(comm, x):
    own_allreduce(comm, x)
    return np.array_split(x, comm.size)[comm.rank]


def own_allgather(comm, x):
    parts = np.array_split(x, comm.size)
    for step in range(1, comm.size):
        to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        comm.sendrecv(parts[comm.rank], to, parts[source], source)


OWN = {
    "allreduce": own_allreduce, "reduce_scatter": own_reduce_scatter, "allgather": own_allgather,
}  # fmt: skip
# What torch's way of training calls, and how often in three steps at least.
WAYS = {
    "DDP": (programs.ddp, {"allreduce": 3}),
    "FSDP2": (programs.fsdp, {"reduce_scatter": 3 * 5, "allgather": 3 * 5}),
}


def with_ones_own(comm, way):
    """The weights after torch's training, and how often the learner's functions were called."""
    program, wanted = WAYS[way]
    calls = dict.fromkeys(wanted, 0)

    def counted(verb):
        def carried_out(*args):
            calls[verb] += 1
            return OWN[verb](*args)

        return carried_out

    torch_backend.use(**{verb: counted(verb) for verb in wanted})
    return program(comm), calls


def check(run, way):
    assert distance([weights for weights, _ in run.results], one_process()) < 1e-12
    for _, calls in run.results:
        assert all(calls[verb] >= least for verb, least in WAYS[way][1].items())


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.slow
@pytest.mark.sampled(3)
def test_on_simulated_ranks(way, ranks):
    check(simulate(with_ones_own, ranks, way=way, threads=True), way)


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.long
def test_on_real_ranks(real, way, ranks):
    check(real(with_ones_own, ranks, way=way, timeout=200), way)
