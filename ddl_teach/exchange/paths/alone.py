"""One rank alone: server and worker in one, without messages; the form still loses what it loses.

What to look at: the ledger stays empty, and the books are those of any server.
"""

from __future__ import annotations

import numpy as np

from ddl_teach.exchange.forms.form import Form
from ddl_teach.exchange.paths.books import Books
from ddl_teach.sgd.rows import Rows
from ddl_teach.sgd.service import Service
from ddl_teach.sgd.station import Shift


class Alone:
    """The station of a rank that is alone: server and worker, without messages."""

    worker, workers, serves = 0, 1, True

    def __init__(self, weights: np.ndarray, form: Form, service: Service) -> None:
        self.books = Books(weights, 1, service)
        self._form = form
        self._link = form.link()

    def push(self, update: np.ndarray) -> None:
        """Hand an update in."""
        seen = self._form.decode(self._link.encode(update), update.size)
        self.books.push(0, self.books.version, seen)

    def pull(self, weights: np.ndarray, rows: Rows | None = None) -> int:
        """Fill `weights`, for nothing travels; returns the clock to go on from."""
        self.books.pull(0)
        self.books.answers()
        weights[...] = self.books.weights
        return self.books.clock[0]

    def average(self, vector: np.ndarray) -> None:
        """The mean over one worker: what the form leaves of it."""
        self.push(vector)
        self.pull(vector)

    @property
    def shift(self) -> Shift:
        """What a server would tell."""
        return self.books.shift()

    def leave(self) -> None:
        """Say that there is nothing more to come."""
        self.books.leave(0)
