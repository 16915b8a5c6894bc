"""The ground that a test asks for; without `grounds.everywhere` it runs on both."""

import pytest
from grounds import RANK_COUNTS, Ground

from ddl_teach import simulate


@pytest.fixture(params=RANK_COUNTS)
def ground(request: pytest.FixtureRequest) -> Ground:
    run = request.getfixturevalue("real") if request.param == "real" else simulate
    return Ground(request.param, run)
