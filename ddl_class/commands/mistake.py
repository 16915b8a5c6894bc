"""A user's mistake, as distinct from a failing program: no traceback, and what to type instead."""

from pathlib import Path


class Mistake(Exception):
    """What was typed cannot be done; the text says why and what can be."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def noted_lines(file: Path, what: str) -> dict[int, str]:
    """The lines of a file that lists one `what` a line, by their numbers; what follows a # is a
    remark."""
    try:
        lines = file.read_text().splitlines()
    except OSError as error:
        unread = f"{file} cannot be read: {error.strerror}. It has a line for each {what}."
        raise Mistake(unread) from None
    contents = (line.partition("#")[0].strip() for line in lines)
    return {number: line for number, line in enumerate(contents, start=1) if line}
