"""What tests of the classroom share."""

import pytest


@pytest.fixture
def fresh_record(tmp_path, monkeypatch):
    """A learner who has done nothing yet."""
    folder = tmp_path / "record"
    monkeypatch.setenv("DDL_TEACH_DATA", str(folder))
    return folder
