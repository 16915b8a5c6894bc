"""The grounds on which one test body runs: simulated ranks, and a pool of real ones."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ddl_teach import Run
from ddl_teach.collectives import registry

RANK_COUNTS = {"simulated": (*range(1, 9), 11), "real": (1, 2, 3, 4, 5, 8)}


@dataclass(frozen=True)
class Ground:
    """`run(program, ranks, **kwargs)` on the rank counts that are worth trying here."""

    name: str
    run: Callable[..., Run]

    @property
    def rank_counts(self) -> tuple[int, ...]:
        """The numbers of ranks that are worth trying here."""
        return RANK_COUNTS[self.name]


def algorithms(ground: str, collective: str) -> list[str]:
    """All that have a collective, and can do it on this ground."""
    names = registry.names(collective)
    return [name for name in names if name != "native" or ground == "real"]


def everywhere(
    collective: str, rank_counts: tuple[int, ...] = (), but: str = ""
) -> pytest.MarkDecorator:
    """Run a test on each ground, with each algorithm there and each number of ranks."""
    return pytest.mark.parametrize(
        ("ground", "algorithm", "ranks"),
        [
            (ground, algorithm, ranks)
            for ground, usual in RANK_COUNTS.items()
            for algorithm in algorithms(ground, collective)
            if algorithm != but
            for ranks in rank_counts or usual
        ],
        indirect=["ground"],
    )


on_all_counts = pytest.mark.parametrize(
    ("ground", "ranks"),
    [(ground, ranks) for ground, usual in RANK_COUNTS.items() for ranks in usual],
    indirect=["ground"],
)
