"""The mean over ranks in any compressor: the same bits everywhere, exactly the bytes of the
formula."""

import numpy as np
import pytest
from form_table import FORMS, WITH_FEEDBACK

from ddl_runtime.core.arrays import split_evenly
from ddl_teach import simulate
from ddl_teach.collectives import recursive_doubling, ring
from ddl_teach.training.compression.averaging import averager, gathered, through_owners
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.half import Half
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.powersgd import PowerSGD
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.top_k import TopK

ALL = [compressor for compressor, _ in FORMS] + WITH_FEEDBACK
SIZE, STEPS = 53, 4


def own(rank, step, size=SIZE):
    return np.random.default_rng((rank, step)).standard_normal(size)


def mean(ranks, step, size=SIZE):
    return np.mean([own(rank, step, size) for rank in range(ranks)], axis=0)


def average_all(comm, compressors, allreduce, size, steps):
    """Every compressor's averages on this rank: compressor, step, entry; and the bytes of each
    compressor."""
    found, sent = np.empty((len(compressors), steps, size)), []
    for place, compressor in enumerate(compressors):
        before = comm.ledger.bytes_sent
        average = averager(comm, compressor, size, allreduce)
        for step in range(steps):
            found[place, step] = own(comm.rank, step, size)
            average(found[place, step])
        sent.append(comm.ledger.bytes_sent - before)
    return found, sent


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(3)
def test_all_ranks_get_the_same_bits_on_every_ground(real, ranks):
    given = {"compressors": ALL, "allreduce": ring.allreduce, "size": SIZE, "steps": STEPS}
    run = real(average_all, ranks, **given)
    first, _ = run.results[0]
    for found, _ in run.results[1:]:
        assert np.array_equal(found, first)
    simulated = simulate(average_all, ranks, **given, trace=False)
    assert np.array_equal(simulated.results[0][0], first)
    right = np.array([mean(ranks, step) for step in range(STEPS)])
    for compressor, found in zip(ALL, first, strict=True):
        assert np.isfinite(found).all()
        apart = np.abs(found - right).max()
        if compressor.faithful:
            assert apart < 1e-2 if isinstance(compressor, Half) else apart < 1e-12
        elif compressor.error(SIZE) > 1e-6:
            assert apart > 1e-6  # something has been thrown away


def expected_bytes(compressor, rank, ranks, size):
    """Of one average, from the table in the module's docstring."""
    parts = [len(part) for part in split_evenly(np.empty(size), ranks)]
    if isinstance(compressor, Dense):
        return 8 * (2 * size - parts[rank] - parts[(rank + 1) % ranks])
    if compressor.sparse:
        return (ranks - 1) * compressor.nbytes(size)
    lengths = [compressor.nbytes(part) for part in parts]
    return sum(lengths) - lengths[rank] + sum(lengths) - lengths[(rank + 1) % ranks]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_the_ledger_says_the_bytes_of_the_formula(ranks):
    compressors = [
        Dense(),
        OneBit(8),
        Feedback(OneBit(8)),
        QSGD(7, 16),
        TopK(0.1),
        Feedback(TopK(0.1)),
    ]
    run = simulate(
        average_all, ranks, compressors=compressors, allreduce=ring.allreduce, size=61, steps=3
    )
    for rank, (_, sent) in enumerate(run.results):
        assert sent == [
            3 * expected_bytes(compressor, rank, ranks, 61) for compressor in compressors
        ]


@pytest.mark.parametrize("compressor", [OneBit(16), TopK(0.2)], ids=str)
@pytest.mark.parametrize("way", [gathered, through_owners])
@pytest.mark.sampled(2)
def test_with_feedback_averages_of_many_steps_lose_nothing(way, compressor):
    def program(comm, compressor, steps):
        average, total = way(comm, compressor, SIZE), np.zeros(SIZE)
        for step in range(steps):
            x = own(comm.rank, step)
            average(x)
            total += x
        return total

    apart = {
        (kept, steps): np.linalg.norm(
            simulate(
                program, 3, compressor=Feedback(compressor) if kept else compressor, steps=steps
            ).results[0]
            - sum(mean(3, step) for step in range(steps))
        )
        for kept in (True, False)
        for steps in (20, 60)
    }
    assert apart[True, 60] < 2 * apart[True, 20]  # what is still owed, and no more
    assert apart[False, 60] > 2 * apart[True, 60]


def test_powersgd_of_many_ranks_is_that_of_their_mean():
    compressor = PowerSGD(2, shapes=((8, 6), (5,)))

    def program(comm, steps):
        average, found = averager(comm, compressor, SIZE, recursive_doubling.allreduce), []
        for step in range(steps):
            found.append(own(comm.rank, step))
            average(found[-1])
        return found

    together = simulate(program, 4, steps=STEPS).results[0]
    stream = compressor.stream()
    alone = [compressor.decode(stream.encode(mean(4, step)), SIZE) for step in range(STEPS)]
    assert np.allclose(together, alone, atol=1e-4)


def test_unbiased_forms_stay_unbiased_through_owners():
    def program(comm, steps):
        average, total = averager(comm, QSGD(3, 16), SIZE, ring.allreduce), np.zeros(SIZE)
        for _ in range(steps):
            x = own(comm.rank, 0)
            average(x)
            total += x
        return total / steps

    apart = np.abs(simulate(program, 3, steps=100).results[0] - mean(3, 0))
    assert apart.max() < 0.25  # of one step 1.2
