"""Pictures of what a learner sees: of each station where asked for, and of every failure."""

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from slides.chromium import Page

COLOURS = 200


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pictures", type=Path, help="a folder for pictures of the browser's test")


@pytest.fixture
def pictures(tmp_path, pytestconfig):
    """`with pictures(page) as see:` then `see("a_station")` keeps a picture, where asked for."""
    folder = pytestconfig.getoption("pictures", default=None)

    @contextlib.contextmanager
    def watched(page: Page) -> Iterator[Callable[[str], None]]:
        def see(name: str) -> None:
            if folder is not None:
                (folder / f"{name}.png").write_bytes(small(page.picture()))

        try:
            yield see
        except BaseException as error:
            seen = tmp_path / "failure.png"
            seen.write_bytes(page.picture())
            error.add_note(f"What could be seen then: {seen}")
            raise

    return watched


def small(picture: bytes) -> bytes:
    """The same picture with few colours."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    written = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return written.getvalue()
