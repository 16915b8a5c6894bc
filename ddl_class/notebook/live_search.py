"""A search to look at while it runs: one picture in a notebook, drawn anew in its place.

    search(view, training, decider, watch=LiveSearch(decider.planned))

A bar with jobs and steps done, time left and the best so far; every trial's losses; what each
worker does. It is drawn at most four times a second, and once more when all is over. In a terminal
a line says how far it is; elsewhere nothing is shown.
"""

import math
import sys
import time
from collections.abc import Sequence

from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle

from ddl_class.plots.search import finding, plot_search, progress
from ddl_teach.search.report import Record

EVERY = 0.25  # seconds between two pictures
WIDE = 110  # letters of a line


class LiveSearch:
    """What a driver may `watch` with; `planned` is how many steps it will be in all."""

    def __init__(self, planned: int | None = None) -> None:
        self._planned = planned
        self._shown = DisplayHandle()
        self._drawn = -math.inf
        self._latest, self._seen = 0.0, time.monotonic()  # the last event, and when it came here
        self._in_notebook = get_ipython() is not None

    def __call__(self, records: Sequence[Record]) -> None:
        """Show these records, unless others were shown a moment ago and the search still runs."""
        looked = time.monotonic()
        latest = max((max(record.start, record.end or 0.0) for record in records), default=0.0)
        if latest != self._latest:
            self._latest, self._seen = latest, looked
        over = {record.decision for record in records}.isdisjoint(("running", "waiting"))
        if over or looked - self._drawn >= EVERY:
            now = latest if over else latest + looked - self._seen
            if self._in_notebook:
                show = self._shown.display if self._drawn < 0 else self._shown.update
                show(plot_search(records, planned=self._planned, now=now))
            elif sys.stdout.isatty():
                line = f"{finding(records)}; {progress(records, now, self._planned)}"
                print(f"\r{line[:WIDE]:<{WIDE}}", end="\n" if over else "", flush=True)
            self._drawn = time.monotonic()
