"""One nursery for all tests of a file, with either wall."""

import pytest
from behind_walls import nursery_or_skip

from ddl_class.grading import batch
from ddl_class.grading.sandbox import BOTH_WALLS, SECOND_WALL, Limits
from ddl_class.grading.scoring import UntrustedStage


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items):
    """What answers are worth is asked behind the second wall in `test --all` only."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        of_answers = item.path.name in ("test_answers.py", "test_one_environment.py")
        if of_answers and parameters.get("nursery") == SECOND_WALL:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_a_quiet_machine():
    """Other tests run beside these: a second try would wait for their end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "PATIENCE", 0.0)
        patch.setattr(batch, "LONGER", 1.0)
        yield


@pytest.fixture(scope="module", params=[BOTH_WALLS, SECOND_WALL])
def nursery(request):
    with nursery_or_skip(request.param) as nursery:
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
