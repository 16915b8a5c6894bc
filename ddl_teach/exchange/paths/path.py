"""A path: who sends to whom. Opened on all ranks at once, it gives each of them a station."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.exchange.forms.form import Form
from ddl_teach.sgd.service import Service
from ddl_teach.sgd.station import Station


class Path(Protocol):
    """Frozen settings; `offers` are verbs of `sgd.when`.

    A path, a WHEN or a form with a method `objection(when, path, form, update) -> str | None` is
    asked for reasons of its own to refuse.
    """

    offers: ClassVar[tuple[str, ...]]

    def open(self, comm: Comm, weights: np.ndarray, form: Form, service: Service) -> Station:
        """This rank's station, for one training; all ranks call it, with equal weights."""
