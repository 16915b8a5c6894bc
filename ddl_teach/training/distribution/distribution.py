"""A distribution: which rank sends to which. Opened on all ranks, it gives each a handle."""

from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from ddl_teach.comm import Comm
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.consistency import OwnHandle
from ddl_teach.training.consistency.handles import Dedicated, Requirements, Service
from ddl_teach.training.optimizers.update import Update


@runtime_checkable
class Distribution(Protocol[OwnHandle]):
    """Frozen settings; what its handles can do, it `offers`."""

    offers: ClassVar[tuple[type, ...]]  # Protocols such as `training.consistency.handles.Averages`

    def objection(
        self, consistency: Requirements, compressor: Compressor, update: Update | None
    ) -> str | None:
        return None

    def open(
        self, comm: Comm, weights: np.ndarray, compressor: Compressor, service: Service
    ) -> OwnHandle | Dedicated:
        """This rank's handle, for one training; all ranks call it, with equal weights."""
