"""Every send and receive that a plain file begins is waited for."""

import numpy as np
import pytest
import test_plain_collectives as collectives
import test_plain_memory_and_context as memory
import test_plain_networks as networks
import test_plain_pipelines as pipelines
import test_plain_search as search
import test_plain_training as training

from ddl_teach import simulate


class Counting:
    """A communicator that knows how many requests nobody has waited for."""

    def __init__(self, comm):
        self._comm, self.begun, self.ended = comm, 0, set()

    def __getattr__(self, name):
        return getattr(self._comm, name)

    def isend(self, *arguments, **settings):
        return self._noted(self._comm.isend(*arguments, **settings))

    def irecv(self, *arguments, **settings):
        return self._noted(self._comm.irecv(*arguments, **settings))

    def wait_any(self, requests):
        place = self._comm.wait_any([request.request for request in requests])
        self.ended.add(requests[place].number)
        return place

    def _noted(self, request):
        self.begun += 1
        return Noted(self, request, self.begun)


class Noted:
    """A request that tells its communicator when it is waited for."""

    def __init__(self, counting, request, number):
        self.counting, self.request, self.number = counting, request, number

    def wait(self):
        self.counting.ended.add(self.number)
        return self.request.wait()


def unwaited(comm, plain, settings):
    counting = Counting(comm)
    plain(counting, **settings)
    return counting.begun, counting.begun - len(counting.ended)


PIPELINE = {"micro_batches": 4, "parts": pipelines.parts_of(4)}
CASES = {
    "halo": (networks.exchange, {"rows": 2}),
    "population_based": (
        search.population_plainly,
        {"plan": search.PLANS[0], "random": np.random.default_rng(1)},
    ),
    "gossip": (training.plainly, {"name": "gossip"}),
    "ring_attention": (memory.attention_plainly, {"length": 12}),
    "gpipe": (pipelines.plainly, {"name": "gpipe"} | PIPELINE),
    "one_f_one_b": (pipelines.plainly, {"name": "one_f_one_b"} | PIPELINE),
    "message_driven": (pipelines.plainly, {"name": "message_driven, 2 in flight"} | PIPELINE),
    "sparse_allreduce": (collectives.sparse_both, {"density": 0.1}),
}


@pytest.mark.parametrize("name", CASES)
def test_all_requests_are_waited_for(name):
    program, settings = CASES[name]
    run = simulate(unwaited, 4, plain=program, settings=settings)
    begun, left = np.sum(run.results, axis=0)
    assert begun > 0
    assert left == 0
