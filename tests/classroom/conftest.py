"""What tests of the classroom share."""

from collections.abc import Iterator

import psutil
import pytest

from ddl_class import Engines
from ddl_class.engines.outputs import ProgramWatchdog
from ddl_class.exercises import check
from ddl_runtime.launcher.watchdog import Watchdog


@pytest.fixture(scope="session", autouse=True)
def patience_with_engines(patience) -> Iterator[None]:
    """Engines stop when they can, as other ranks do, and checks take as long as they take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProgramWatchdog, "stop_limit", Watchdog.stop_limit)
        patch.setattr(check, "SECONDS", 200.0)
        yield


@pytest.fixture
def little_patience_with_engines(monkeypatch) -> None:
    """For engines that cannot be stopped, so that nobody waits for them long."""
    monkeypatch.setattr(ProgramWatchdog, "stop_limit", 0.8)


@pytest.fixture(scope="session")
def engines() -> Iterator[Engines]:
    """Four engines, as plain Python sees them."""
    with Engines(4) as engines:
        yield engines


@pytest.fixture
def fresh_record(tmp_path, monkeypatch):
    """A learner who has done nothing yet."""
    folder = tmp_path / "record"
    monkeypatch.setenv("DDL_TEACH_DATA", str(folder))
    return folder


@pytest.fixture(scope="module")
def own_engines(tmp_path_factory):
    """Four engines whose files lie in a folder of their own."""
    folder = tmp_path_factory.mktemp("temporary")
    others = set(psutil.Process().children(recursive=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(folder))
        patch.setenv("TMPDIR", str(folder))
        with Engines(4) as engines:
            engines.folder = folder
            engines.processes = lambda: set(psutil.Process().children(recursive=True)) - others
            yield engines


@pytest.fixture
def client(own_engines):
    return own_engines.client


@pytest.fixture
def view(client):
    """All engines; each call waits for its results."""
    view = client[:]
    view.block = True
    return view
