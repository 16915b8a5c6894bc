"""What all tests share: one pool of real MPI processes for the whole session."""

from collections.abc import Callable, Iterator

import pytest

from ddl_teach import Ranks, Run

RANK_COUNTS = (1, 2, 3, 4, 5, 8)  # the powers of two hide the bugs


@pytest.fixture(scope="session")
def pool() -> Iterator[Ranks]:
    with Ranks(max(RANK_COUNTS)) as ranks:
        yield ranks


@pytest.fixture
def real(pool: Ranks) -> Callable[..., Run]:
    """`real(program, ranks, **kwargs)` runs a program on that many real ranks."""

    def run(program: Callable, ranks: int, **kwargs: object) -> Run:
        return pool.run(program, ranks, **kwargs)

    return run
