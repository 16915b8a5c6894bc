"""Where each case of this folder runs: every rank count on simulated and on real ranks."""

from collections.abc import Callable

import pytest

from ddl_teach import Run, simulate

RANK_COUNTS = (1, 2, 3, 4, 5, 8)


@pytest.fixture(params=RANK_COUNTS, ids="{} ranks".format)
def ranks(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(params=["simulated", "real"])
def run(request: pytest.FixtureRequest, ranks: int) -> Callable[..., Run]:
    """`run(program, **kwargs)` runs a program on so many ranks.

    Simulated ranks get a thread each if `threads`: a product that sends during torch's backward
    pass needs that.
    """

    def on_ranks(program: Callable, *, threads: bool = False, **kwargs: object) -> Run:
        if request.param == "real":
            return request.getfixturevalue("real")(program, ranks, **kwargs)
        return simulate(program, ranks, threads=threads, **kwargs)

    return on_ranks
