"""How far the engines' start is: one line that fills."""

from __future__ import annotations

import os
import sys
import time

from IPython.core.getipython import get_ipython

WIDTH = 24  # characters of a full bar


def watched() -> bool:
    """Whether a person looks on. The variable IPP_NONINTERACTIVE, known from ipyparallel, says
    that nobody does: for tests of notebooks."""
    on_screen = get_ipython() is not None or sys.stdout.isatty()
    return on_screen and not os.environ.get("IPP_NONINTERACTIVE")


class ProgressBar:
    """A bar that is drawn over itself, in a notebook or a terminal, for people to look at."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._silent = not watched()

    def __enter__(self) -> ProgressBar:
        self._begun = time.monotonic()
        self.show(0.0)
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if not self._silent:
            seconds = time.monotonic() - self._begun
            end = "could not be started" if failed else f"are ready ({seconds:.1f} s)"
            print(f"\r{self._ranks} engines {end}".ljust(WIDTH + 30), flush=True)

    def show(self, part: float) -> None:
        """Draw the bar, filled by this part of it."""
        if not self._silent:
            full = round(part * WIDTH)
            bar = "█" * full + "░" * (WIDTH - full)
            print(f"\rStarting {self._ranks} engines  {bar}", end="", flush=True)
