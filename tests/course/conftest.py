"""What tests of the classroom share."""

from collections.abc import Iterator

import pytest

from ddl_teach.course import Engines


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
