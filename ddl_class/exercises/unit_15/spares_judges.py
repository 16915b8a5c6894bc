"""The puzzle of unit 15: the sum of four workers, and three machines to spare."""

import numpy as np

from ddl_class.exercises.exercise import Attempt
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.puzzle import LENGTH, times
from ddl_class.exercises.kit.texts import texts
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
        given, right = [(x.copy(),) for x in vectors], vectors[:WORKERS].sum(axis=0)
        call, causes = SPARES("call", length=length), ranks.general(SPARES("advice"))
        outcome = ranks.run(attempt, RANKS, given, call, causes, SWITCH)
        for rank, (held,) in enumerate(outcome.arguments[:WORKERS]):
            same = np.asarray(held) == right
            SPARES.refuse_if(
                {"call": call, "rank": rank, "place": same.argmin()},
                unchanged=np.array_equal(held, vectors[rank]),
                spare_too=(np.asarray(held) >= 1e6).any(),
                wrong=not same.all(),
            )
    SPARES.refuse_if(times(outcome, GOAL), too_slow=outcome.time > GOAL)
    attempt.note(outcome.time)
