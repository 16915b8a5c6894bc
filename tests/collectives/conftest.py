"""The grounds on which one test body runs: simulated ranks, and a pool of real ones."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ddl_teach import Run, simulate
from ddl_teach.collectives import registry


@dataclass(frozen=True)
class Ground:
    """`run(program, ranks, **kwargs)` on the rank counts that are worth trying here."""

    name: str
    rank_counts: tuple[int, ...]
    run: Callable[..., Run]

    def algorithms(self, collective: str) -> list[str]:
        """Everybody who has a collective, and can do it here."""
        names = registry.names(collective)
        return [name for name in names if name != "native" or self.name == "real"]


@pytest.fixture(params=["simulated", "real"])
def ground(request: pytest.FixtureRequest) -> Ground:
    if request.param == "real":
        return Ground("real", (1, 2, 3, 4, 5, 8), request.getfixturevalue("real"))
    return Ground("simulated", (*range(1, 9), 11), simulate)
