"""Files that are there whole or not at all."""

import os
from functools import partial
from pathlib import Path


def write_whole(path: Path, contents: str | bytes, mode: int = 0o666) -> None:
    """Write a file so that at no moment half of it is there; `mode` are its permissions. On return
    it is on the disk, under its name. A process killed before leaves the old file, and perhaps a
    draft beside it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(draft, "wb", opener=partial(os.open, mode=mode)) as file:
            file.write(contents.encode() if isinstance(contents, str) else contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # a name is part of its folder, not of the file
    finally:
        os.close(folder)


def drafts(folder: Path) -> list[Path]:
    """The unfinished files in this folder that killed processes have left."""
    return sorted(folder.glob(".*.part"))
