"""A beginner runs two units in a real kernel and leaves out what is for others."""

from pathlib import Path

import pytest
from notebook import notebook
from notebook_paths import on_the_way

from ddl_class.release import release

pytestmark = pytest.mark.real

SOURCE = Path(__file__).resolve().parents[2] / "notebooks/source"


@pytest.mark.parametrize("unit", ["05_messages", "06_allreduce"])
@pytest.mark.sampled(2)
def test_a_beginner_comes_to_the_end(unit):
    with notebook() as opened:
        for cell in on_the_way("beginner", release.solved(SOURCE / f"{unit}.py")):
            status, text = opened.run(cell.source)
            assert status == "ok", f"{cell.source}\n\n{text}"
