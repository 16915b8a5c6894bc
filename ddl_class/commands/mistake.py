"""A user's mistake, as distinct from a failing program: no traceback, and what to type instead."""


class Mistake(Exception):
    """What was typed cannot be done; the text says why and what can be."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()
