"""A path: who sends to whom. Opened on all ranks at once, it gives each of them a station."""

from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.compression.form import Form
from ddl_teach.training.consistency.station import Dedicated, Requirements, Service
from ddl_teach.training.consistency.when import OwnStation
from ddl_teach.training.optimizers.update import Update


@runtime_checkable
class Path(Protocol[OwnStation]):
    """Frozen settings; what its stations can do, it `offers`."""

    offers: ClassVar[tuple[type, ...]]  # Protocols such as `training.consistency.station.Averages`

    def objection(self, when: Requirements, form: Form, update: Update | None) -> str | None:
        """Why this path makes no sense in such a training: a reason, or None."""
        return None

    def open(
        self, comm: Comm, weights: np.ndarray, form: Form, service: Service
    ) -> OwnStation | Dedicated:
        """This rank's station, for one training; all ranks call it, with equal weights."""
