"""One nursery for all tests of a file, with either wall."""

import pytest

from ddl_teach.course.grading.sandbox import BOTH_WALLS, SECOND_WALL, Limits, NoWalls, Nursery
from ddl_teach.course.grading.untrusted_stage import UntrustedStage


@pytest.fixture(scope="module", params=[BOTH_WALLS, SECOND_WALL])
def nursery(request):
    try:
        nursery = Nursery(walls=request.param)
    except NoWalls as error:
        pytest.skip(str(error))
    with nursery:
        yield nursery


@pytest.fixture
def stage(nursery):
    """`stage(source, function)` with cells of that source."""
    stages = []

    def make(source, function="program", **limits):
        cells = [("the answer cell", source)]
        limits = Limits(**{"seconds": 100} | limits)
        stages.append(UntrustedStage(nursery, cells, function, limits))
        return stages[-1]

    yield make
    for one in stages:
        one.close()
