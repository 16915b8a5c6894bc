"""The puzzle of unit 15: the sum of four workers, and three machines to spare."""

import numpy as np

from ddl_class.exercises.kit import Attempt, judge_seconds, run_ranks, texts
from ddl_class.exercises.kit.puzzle import LENGTH
from ddl_runtime.topologies.shared_links import Star
from ddl_teach import Comm
from ddl_teach.collectives import ring

(SPARES,) = texts(__package__, "spares")
WORKERS, RANKS = 4, 7
SWITCH = Star(ports=RANKS, base_latency=5e-6, bandwidth=1e9, overhead=5e-7)
GOAL = 1.5e-3  # seconds


def in_a_ring(comm: Comm, x: np.ndarray) -> None:
    """What takes the learner's place until theirs is right: the workers alone."""
    group = comm.split(int(comm.rank < WORKERS))
    if comm.rank < WORKERS:
        ring.allreduce(group, x)


def judge_spares(attempt: Attempt) -> None:
    """Each worker has the workers' sum, sooner than by a ring of them."""
    for length in (1003, LENGTH):
        vectors = attempt.generator.integers(1, 1000, (RANKS, length)).astype(float)
        vectors[WORKERS:] += 1e6  # must not come into the sum
        right = vectors[:WORKERS].sum(axis=0)
        given = [(x,) for x in vectors]
        call, outcome = run_ranks(attempt, SPARES, given, network=SWITCH, length=length)
        for rank, (x,) in enumerate(outcome.arguments[:WORKERS]):
            same = np.asarray(x) == right
            SPARES.refuse_if(
                {"call": call, "rank": rank, "place": same.argmin()},
                unchanged=np.array_equal(x, vectors[rank]),
                spare_too=(np.asarray(x) >= 1e6).any(),
                wrong=not same.all(),
            )
    judge_seconds(attempt, SPARES, outcome.time, GOAL)
