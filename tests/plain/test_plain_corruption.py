"""The plain checks answer as their products, of clean numbers and of each kind of corruption."""

import numpy as np
import pytest
from comparing import assert_close, plain, vector

from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.fault_tolerance import corruption
from ddl_teach.plain import silent_corruption

WRONG = {"nothing": None, "a low bit": 3, "a high bit": 60}


def all_checks(comm, module, bit):
    """What the four checks of a module answer if a bit of the last rank's gradient flips, and then
    one of its sum."""
    own, last = vector(comm.rank), comm.rank == comm.size - 1
    if last and bit is not None:
        module.flip(own, 5, bit)
    total = own.copy()
    ring.allreduce(comm, total)
    given = own if module is not corruption else corruption.checksums(own)
    gap = module.sum_gap(comm, given, total)
    if last and bit is not None:
        module.flip(total, 6, bit)
    answers = (
        module.other_copies(comm, total),
        module.replays_differ(comm, own, vector((comm.rank - 1) % comm.size)),
        module.outliers(comm, own, 2.0),
    )
    return np.array(gap), answers


@pytest.mark.parametrize("bit", WRONG.values(), ids=WRONG)
def test_it_answers_as_its_product(run, bit):
    outcome = run(both, bit=bit)
    for (gap, answers), (product_gap, product_answers) in outcome.results:
        assert answers == product_answers
        assert_close(gap[1:], product_gap[1:])
        np.testing.assert_allclose(gap[0], product_gap[0], atol=gap[1])


def both(comm, bit):
    return all_checks(comm, silent_corruption, bit), all_checks(comm, corruption, bit)


def test_a_flipped_bit_is_the_same_in_both():
    x, y = vector(0), vector(0)
    silent_corruption.flip(x, 3, 40)
    corruption.flip(y, 3, 40)
    assert x.tobytes() == y.tobytes() != vector(0).tobytes()


def test_a_changed_file_answers_otherwise():
    changed = plain("silent_corruption", ("(int(rank) - 1)", "(int(rank) + 1)"))
    right = simulate(all_checks, 5, module=silent_corruption, bit=3).results[0][1]
    assert right[1] == [4]
    assert simulate(all_checks, 5, module=changed, bit=3).results[0][1] != right
