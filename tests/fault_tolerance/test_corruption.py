"""What each check finds, misses and never says of clean numbers, on simulated and real ranks."""

import numpy as np
import pytest
import torch

from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.fault_tolerance import corruption

RANKS = (1, 2, 3, 4, 5, 8)
TYPES = ("float64", "float32", "bfloat16", "float16")


@pytest.fixture(params=RANKS, ids="{} ranks".format)
def ranks(request):
    return request.param


@pytest.fixture(params=["simulated", "real"])
def run(request, ranks):
    def on_ranks(program, **kwargs):
        if request.param == "real":
            return request.getfixturevalue("real")(program, ranks, **kwargs)
        return simulate(program, ranks, **kwargs)

    return on_ranks


def gradient(rank, kind="float64", length=301, step=0):
    return torch.from_numpy(
        np.random.default_rng([rank, step]).standard_normal(length).clip(-1.9, 1.9)
    ).to(getattr(torch, kind))


def checked(comm, kind, bit=None, of="gradient"):
    """All four checks in a step in which a bit of the last rank may flip."""
    own, last = gradient(comm.rank, kind), comm.rank == comm.size - 1
    if last and of == "gradient" and bit is not None:
        corruption.flip(own, 7, bit)
    before = corruption.checksums(own)
    total = own.clone()
    ring.allreduce(comm, total)
    if of == "sum" and bit is not None:
        corruption.flip(total, 7, bit)  # the same on all ranks: no copy differs
    if last and of == "copy" and bit is not None:
        corruption.flip(total, 7, bit)
    gap, rounding = corruption.sum_gap(comm, before, total)
    again = gradient((comm.rank - 1) % comm.size, kind)
    return {
        "copies": corruption.other_copies(comm, total),
        "sum": not gap <= rounding,
        "replay": corruption.replays_differ(comm, own, again),
        "norm": corruption.outliers(comm, own, 3.0),
    }


def test_no_check_is_alarmed_by_clean_numbers(run):
    assert checked_alike(run(checked, kind="float32")) == NOTHING


@pytest.mark.parametrize("kind", TYPES)
def test_nor_by_clean_numbers_of_any_type(ranks, kind):
    assert checked_alike(simulate(checked, ranks, kind=kind)) == NOTHING


NOTHING = {"copies": [], "sum": False, "replay": [], "norm": []}


def checked_alike(outcome):
    """What all ranks answer alike."""
    assert all(result == outcome.results[0] for result in outcome.results)
    return outcome.results[0]


def test_a_replay_finds_a_small_bit_of_a_gradient_and_its_rank(run, ranks):
    answer = checked_alike(run(checked, kind="float32", bit=0))
    assert answer["replay"] == [ranks - 1]
    # The sum is that of the wrong gradient, and its copies are alike: these checks see nothing.
    assert answer["copies"] == []
    assert answer["sum"] is False


def test_a_norm_finds_a_high_bit_of_one_of_many_gradients_and_no_low_one(ranks):
    high = checked_alike(simulate(checked, ranks, kind="float32", bit=30))
    assert high["norm"] == ([ranks - 1] if ranks > 2 else [])
    assert checked_alike(simulate(checked, ranks, kind="float32", bit=20))["norm"] == []


@pytest.mark.parametrize("bit", [0, 3, 15])
@pytest.mark.parametrize("kind", TYPES)
def test_a_copy_that_differs_in_any_bit_is_known_where_most_agree(ranks, kind, bit):
    results = simulate(checked, ranks, kind=kind, bit=bit, of="copy").results
    expected = [ranks - 1] if ranks > 2 else list(range(ranks)) if ranks == 2 else []
    assert [result["copies"] for result in results] == [expected] * ranks


def test_a_wrong_sum_on_all_ranks_is_found_by_checksums_alone(run):
    answer = checked_alike(run(checked, kind="float32", bit=29, of="sum"))
    assert answer == {**NOTHING, "sum": True}


def test_below_rounding_a_wrong_sum_on_all_ranks_is_not_found(ranks):
    below = simulate(checked, ranks, kind="float32", bit=0, of="sum")
    assert checked_alike(below) == NOTHING


def many_gaps(comm, kind, steps):
    gaps = []
    for step in range(steps):
        x = gradient(comm.rank, kind, 64, step)
        before = corruption.checksums(x)
        ring.allreduce(comm, x)
        gap, rounding = corruption.sum_gap(comm, before, x)
        gaps.append(gap / rounding)
    return max(gaps)


@pytest.mark.parametrize("kind", TYPES)
def test_rounding_never_goes_above_its_bound(ranks, kind):
    assert simulate(many_gaps, ranks, kind=kind, steps=40, trace=False).results[0] <= 1


@pytest.mark.parametrize("kind", TYPES)
def test_a_bit_flips_and_flips_back_and_changes_the_fingerprint(kind):
    x = gradient(0, kind, 5)
    clean, bits = corruption.fingerprint(x), 8 * x.element_size()
    for bit in range(bits):
        corruption.flip(x, 4, bit)
        assert corruption.fingerprint(x) != clean
        corruption.flip(x, 4, bit)
    assert corruption.fingerprint(x) == clean
    corruption.flip(x, 4, bits - 1)
    assert x[4] == -gradient(0, kind, 5)[4]


def test_a_matrix_and_numbers_of_numpy_are_taken_too():
    matrix = np.arange(6.0).reshape(2, 3)
    assert corruption.fingerprint(matrix.T) == corruption.fingerprint(matrix.T.ravel())
    assert corruption.checksums(matrix - 2) == (3.0, 9.0)


@pytest.mark.parametrize(("place", "bit"), [(5, 0), (-1, 0), (0, 64), (0, -1)])
def test_a_bit_that_is_not_there_is_refused(place, bit):
    with pytest.raises(ValueError, match="there is no bit"):
        corruption.flip(np.zeros(5), place, bit)


def of_a_broken_rank(comm):
    """Rank 1 always computes wrongly, its neighbour's gradient too."""
    own, again = gradient(comm.rank), gradient((comm.rank - 1) % comm.size)
    if comm.rank == 1:
        corruption.flip(own, 0, 0)
        corruption.flip(again, 0, 1)
    return corruption.replays_differ(comm, own, again)


def test_of_a_rank_that_is_always_wrong_both_sides_differ():
    assert simulate(of_a_broken_rank, 4).results == [[0, 1]] * 4
