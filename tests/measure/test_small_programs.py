"""All ways to write an algorithm do the same, and what counts them counts what is known."""

import numpy as np
import pytest

from ddl_measure.experiments.choosing.counted_numbers import Counted
from ddl_measure.experiments.choosing.small_programs import inputs, small_programs

RIGHT = {
    "sorting": sorted,
    "searching": lambda x, wanted: x.index(wanted),
    "reduction": sum,
    "prefix_sum": lambda x: np.cumsum(x).tolist(),
    "convolution": lambda x, w: np.correlate(x, w).tolist(),
    "matrix_product": lambda a, b: (np.array(a) @ b).tolist(),
    "histogram": lambda x, size: np.bincount(x, minlength=size).tolist(),
}
PROGRAMS = {f"{each.algorithm} {each.way}": each for each in small_programs()}


def plain(value):
    """What counted numbers are worth."""
    if isinstance(value, Counted):
        return value.value
    return [plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_way_gives_what_the_algorithm_gives(name):
    program = PROGRAMS[name]
    given = [plain(each) for each in inputs(program.algorithm, 64)]
    right = RIGHT[program.algorithm](*given)
    assert program.run(*given) == right


@pytest.mark.parametrize(
    ("name", "work", "depth"),
    [
        ("reduction loop", 64, 64),
        ("reduction tree", 63, 6),
        ("prefix_sum in_place", 63, 63),
        ("prefix_sum doubling", 63 + 62 + 60 + 56 + 48 + 32, 6),
        ("sorting selection", 28, 28),  # eight numbers
        ("convolution windows", 57 * 16, 9),
    ],
)
def test_work_and_depth_are_those_that_one_counts_by_hand(name, work, depth):
    counts = PROGRAMS[name].counts(64)
    assert (counts.work, counts.depth) == (work, depth)


def test_names_say_nothing():
    words = " ".join(" ".join(program.statements) for program in PROGRAMS.values())
    assert not [name for name in RIGHT if name in words]
