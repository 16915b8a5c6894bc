"""Optimizer states on the host: they are needed once a step, so they come bucket by bucket.

The device holds weights and gradients; master copy and moments stay in the host's memory. A step
fetches those of one bucket, updates it, and stores them again, while the next bucket is on its way
into a second place: 2 K bucket bytes instead of K N.
Singh and Bhatele, "AxoNN", 2022; on the host's processor: Ren et al., "ZeRO-Offload", 2021.
What to look at: `device.most` does not depend on the size of the model.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ddl_runtime.core.checks import whole_number
from ddl_teach.networks.memory.device import DeviceMemory, Wait
from ddl_teach.networks.memory.keeping import Rule, master_copy


class Offloaded:
    """Updates weights on a device whose states are on the host; a `Keeper`, as `Resident` is."""

    def __init__(self, weights: Tensor, update: Rule, bucket: int, device: DeviceMemory) -> None:
        whole_number(bucket, "bucket in parameters", 1)
        self._weights, self._update, self._steps = weights, update, 0
        self._bucket, self._device = min(bucket, max(1, weights.numel())), device
        master = master_copy(weights)
        moments = [torch.zeros_like(master) for _ in range(update.states)]
        kept = moments if master is weights else [master, *moments]
        self.host = [device.on_host(vector) for vector in kept]

    def step(self, gradient: Tensor) -> None:
        self._steps += 1
        rows, kind = len(self.host), master_copy(self._weights[:0]).dtype
        starts = range(0, self._weights.numel(), self._bucket)
        with (
            self._device.room(2 * rows, self._bucket, kind) as places,
            self._device.copying() as copy,
        ):
            going: list[Wait] = []
            coming = [copy(there, host) for host, there in self._pairs(0, places[:rows])]
            for start in starts:
                for wait in coming:
                    wait()
                here, there = places[:rows], places[rows:]
                # The copy engine keeps the order: what was in `there` is stored by then.
                later = self._pairs(start + self._bucket, there)
                coming = [copy(place, host) for host, place in later]
                part = slice(start, start + self._bucket)
                weights = self._weights[part]
                states = [vector[: weights.numel()] for vector in here]
                master = states.pop(0) if len(states) > self._update.states else weights
                self._update(master, gradient[part].to(master.dtype), states, self._steps)
                if master is not weights:
                    weights.copy_(master)
                going += [copy(host, place) for host, place in self._pairs(start, here)]
                places = [*there, *here]
            for wait in going:
                wait()

    def _pairs(self, start: int, place: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
        """A bucket of each vector on the host, and its place on the device."""
        parts = [vector[start : start + self._bucket] for vector in self.host]
        return [(part, there[: part.numel()]) for part, there in zip(parts, place, strict=True)]

    def states(self) -> Sequence[Tensor]:
        return []
