"""The communicator of a simulated rank: its clock and its groups."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

from ddl_teach.comm import arrays
from ddl_teach.comm.arrays import Array, Operation, Phantom
from ddl_teach.comm.interface import Comm, Request, check_work, whole_number
from ddl_teach.comm.shared_memory import SharedMemory
from ddl_teach.comm.simulated_rank import SimulatedRequest, Strand
from ddl_teach.comm.simulated_survivors import SimulatedSurvivors
from ddl_teach.comm.simulated_window import SimulatedWindow
from ddl_teach.comm.window import check_dtype, check_size


class SimulatedComm(SimulatedSurvivors):
    """A communicator in virtual time."""

    _splits = 0
    _memories = 0

    # -- time -------------------------------------------------------------------------------

    def now(self) -> float:
        return self._strand.clock

    @contextmanager
    def span(self, name: str, kind: str = "span"):
        begun = self._strand.clock
        try:
            yield
        finally:
            if self._host.spans is not None:
                self._host.spans.append((name, kind, begun, self._strand.clock, -1, -1, 0))

    def work(self, seconds: float = 0.0, flops: float = 0.0) -> None:
        check_work(seconds, flops)
        begun = self._strand.clock
        duration = self._simulation.duration(self._host, seconds, flops)
        self._strand.clock = begun + duration
        if self._host.spans is not None:
            self._host.spans.append(("work", "work", begun, begun + duration, -1, -1, 0))
        if self._simulation.memories:
            # What this rank finds in shared memory then is what had been written by that time.
            self._await_turn(self._strand.clock)

    def combine(self, a: Array, b: Array, out: Array, op: Operation = "sum") -> None:
        if out.__class__ is not Phantom:
            arrays.combine(op, a, b, out)
        if self._simulation.reduce_per_byte:
            begun = self._strand.clock
            self._strand.clock += a.nbytes * self._simulation.reduce_per_byte
            if self._host.spans is not None:
                end = self._strand.clock
                self._host.spans.append(("reduce", "reduce", begun, end, -1, -1, a.nbytes))

    # -- groups -----------------------------------------------------------------------------

    def _twin(self, strand: Strand, name: object, label: str = "") -> SimulatedComm:
        context = self._simulation.groups.context((self._context, name))
        twin = SimulatedComm(self._simulation, strand, self._members, self.rank, context, label)
        twin.family = self.family
        return twin

    def _meeting(self, label: str) -> SimulatedComm:
        return self._twin(self._strand, label, label)

    def _duplicate(self) -> SimulatedComm:
        return self._twin(Strand(self._host, 0.0), len(self._slots))

    def _announce(self, colour: int | None, key: int) -> None:
        self._splits += 1
        split = self._context, self._splits
        self._simulation.groups.announce(split, self.rank, (colour, key))

    def _form_group(self, colour: int | None, key: int) -> Comm | None:
        if colour is None:
            return None
        group = self._simulation.groups.of_split((self._context, self._splits))[colour]
        members = [self._members[rank] for rank in group.ranks]
        return SimulatedComm(
            self._simulation, self._strand, members, group.position[self.rank], group.context
        )

    def shared_memory(self, nbytes: int) -> SharedMemory:
        nodes = {self._simulation.network.node(member) for member in self._members}
        if len(nodes) > 1:
            raise ValueError(
                "shared_memory: these ranks are on several nodes, which share no memory; "
                "make a communicator for each node first: comm.split(comm.node)"
            )
        self._memories += 1
        parts = self._simulation.memories.setdefault((self._context, self._memories), {})
        parts[self.rank] = np.zeros(nbytes, np.uint8)
        self._meet("shared_memory")
        return SharedMemory([parts[r] for r in range(self.size)], lambda: self._meet("fence"))

    def window(self, size: int, dtype: Any = np.float64) -> SimulatedWindow:
        dtype, size = check_dtype(dtype), check_size(whole_number(size, "window: a size"))
        self._memories += 1
        arrays = self._simulation.memories.setdefault((self._context, self._memories), {})
        arrays[self.rank] = np.zeros(size, dtype)
        self._meet("window")
        return SimulatedWindow(self, [arrays[rank] for rank in range(self.size)])

    def _start(self, place: SimulatedComm, function: Callable[..., Any], args: tuple) -> Request:
        # One function after another runs on the strand of a place, so that its communicator and
        # all that was made from it stay of use.
        strand = place._strand
        strand.clock = self._strand.clock
        request = SimulatedRequest(self, "background")
        self._simulation.checks_who_waits = True
        self._host.strand_begins()
        self._simulation.spawn(strand, request, function, (place, *args))
        return request
