"""Both grounds for the same test bodies."""

from collections.abc import Callable

import pytest

from ddl_teach import Run, simulate


@pytest.fixture(params=[1, 2, 3, 4, 5, 8], ids="{} ranks".format)
def ranks(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(params=["simulated", "real"])
def ground(request: pytest.FixtureRequest) -> Callable[..., Run]:
    """`ground(program, ranks, **kwargs)` on simulated and on real ranks."""
    return simulate if request.param == "simulated" else request.getfixturevalue("real")
