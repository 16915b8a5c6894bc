"""What all tests share: one pool of real MPI processes for the whole session."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ddl_runtime.launcher import watchdog
from ddl_teach import Ranks, Run

RANK_COUNTS = (1, 2, 3, 4, 5, 8)  # the powers of two hide the bugs
PATIENCE = 20.0  # seconds
# A script's background commands ignore Ctrl-C, and so would all that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """A rank that is slow to stop because the machine is busy keeps its process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watchdog.Watchdog, "stop_limit", PATIENCE)
        yield


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """For ranks that cannot be stopped, so that nobody waits for them long."""
    monkeypatch.setattr(watchdog.Watchdog, "stop_limit", 0.8)


@pytest.fixture
def hourglass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[int], str]:
    """`mark = hourglass(4)`: the time of a program is up once four ranks have run `mark`.

    However busy the machine is, everybody has come to that line then; and nobody waits longer.
    """

    def turned(ranks: int) -> str:
        marks = tmp_path / "marks"
        marks.touch()
        looks = []  # at the clock, since all marks are there

        def monotonic() -> float:
            if marks.stat().st_size >= ranks:
                looks.append(1)
            # The first look may be the one from which the time is counted.
            return time.monotonic() + 1e6 * (len(looks) > 1)

        monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=monotonic))
        return f"open({str(marks)!r}, 'a').write('x')"

    return turned


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
