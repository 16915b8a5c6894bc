"""Draw the map of the course, docs/course_map.png, from what the course knows of its units.

    python docs/make_map.py

The picture carries its text with it, by which tests/test_course_map.py tells whether it is the map
of today.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, PngImagePlugin

from ddl_class.release.curriculum import course_map

COLOURS = 64  # a third of the file, and no difference to be seen
PATH = Path(__file__).resolve().parent / "course_map.png"


def main() -> None:
    """Draw it."""
    picture = course_map()
    drawn, words = io.BytesIO(), PngImagePlugin.PngInfo()
    picture.savefig(drawn, dpi=110)
    words.add_itxt("Description", picture.alt)
    few = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(PATH, optimize=True, pnginfo=words)
    print(f"{PATH.name}: {PATH.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
