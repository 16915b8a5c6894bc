"""Both grounds for the same test bodies."""

from collections.abc import Callable
from functools import partial

import pytest

from ddl_teach import Run, simulate


@pytest.fixture(params=[1, 2, 3, 4, 5, 8], ids="{} ranks".format)
def ranks(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(params=["simulated", "on threads", "real"])
def ground(request: pytest.FixtureRequest) -> Callable[..., Run]:
    """`ground(program, ranks, **kwargs)` on simulated ranks of both kinds and on real ones."""
    if request.param == "real":
        return request.getfixturevalue("real")
    return simulate if request.param == "simulated" else partial(simulate, threads=True)
