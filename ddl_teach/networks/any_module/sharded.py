"""Stages 1 to 3 for any module: this rank's optimizer updates its own part of every unit.

    stage 1    gradients are summed when the backward pass has ended; each rank keeps its part
    stage 2    each unit's as soon as they are complete
    stage 3    also the weights: gathered when the unit is called, and again for its gradients

A rank's parts are parameters: `own.grad` is the average over the ranks, and whatever optimizer
changes them, the units are gathered when they are next needed, because torch counts how often a
tensor was changed. Bytes: 2 (P-1)/P of the weights a step, in stage 3 three times (P-1)/P.
Rajbhandari et al., "ZeRO", 2020; Zhao et al., "PyTorch FSDP", VLDB 2023.
What to look at: without hooks a training script would have to call each of these by hand.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ddl_runtime.core.arrays import split_evenly
from ddl_teach.collectives.ring import allgather, reduce_scatter
from ddl_teach.comm import Comm
from ddl_teach.networks.any_module.clipping import clip
from ddl_teach.networks.any_module.passes import BackwardPasses
from ddl_teach.networks.any_module.units import Kinds, parameters_of_units
from ddl_teach.networks.memory.flat import FlatLayer
from ddl_teach.networks.missing import missing


class ShardedUnit:
    """One unit's weights end to end, and this rank's part of them, a parameter."""

    def __init__(self, comm: Comm, name: str, parameters: list[nn.Parameter], freed: bool) -> None:
        self.comm, self.flat, self._freed = comm, FlatLayer(name, parameters), freed
        self._views = [parameter.data for parameter in parameters]
        part = split_evenly(self.flat.weights, comm.size)[comm.rank]
        self.own = nn.Parameter(part.clone() if freed else part)
        self.is_whole, self.summed, self._gathered = True, True, self._changes

    @property
    def _changes(self) -> int:
        """How often torch has changed this rank's part in place."""
        return self.own._version

    def gather(self) -> None:
        """The weights of all ranks, as they are now; nothing is sent where they are here."""
        if self.is_whole and self._changes == self._gathered:
            return
        if self._freed:
            self.flat.gather(self.comm, self.own.detach())
        else:
            allgather(self.comm, self.flat.weights)
        for parameter, view in zip(self.flat.parameters, self._views, strict=True):
            parameter.data = view
        self.is_whole, self._gathered = True, self._changes

    def forget(self) -> None:
        """Give the memory back. Without its weights a parameter is an empty tensor, so that using
        it without calling its unit is an error."""
        if self._freed and self.is_whole:
            self.flat.forget()
            for parameter in self.flat.parameters:
                parameter.data = parameter.new_empty(0)
            self.is_whole = False

    def sum(self) -> None:
        """The gradients of this pass, averaged over the ranks; of them this rank's part."""
        self.gather()  # a gradient that is missing is as large as its weight
        averages = self.flat.take_gradient() / self.comm.size
        average = known = reduce_scatter(self.comm, averages)
        if len(averages) < self.comm.size:  # some have no element to see what all must know alike
            allgather(self.comm, averages)
            known = averages
        if self.own.grad is not None:
            self.own.grad = self.own.grad + average
        elif not missing(known).all():
            self.own.grad = average.clone()
        self.summed = True
        self.forget()

    def take_part(self) -> None:
        """Weights that were put into the module become this rank's part."""
        with torch.no_grad():
            self.own.copy_(split_evenly(self.flat.weights, self.comm.size)[self.comm.rank])
        self._gathered = self._changes


class ShardedModule:
    """As FullyShardedDataParallel, for stages 1, 2 and 3."""

    def __init__(self, comm: Comm, module: nn.Module, stage: int, kinds: Kinds | None) -> None:
        self._comm, self._stage = comm, stage
        self.passes = BackwardPasses(self._end)
        self.units: list[ShardedUnit] = []
        for name, called, parameters in parameters_of_units(module, kinds):
            unit = ShardedUnit(comm, name, parameters, freed=stage == 3)
            self.units.append(unit)
            unit.flat.when_complete(partial(self._complete, unit))
            for parameter in parameters:
                parameter.register_hook(self._begin)  # type: ignore[no-untyped-call]
            if stage == 3:
                called.register_forward_pre_hook(partial(self._before, unit))
                called.register_forward_hook(partial(self._after, unit, name == ""))
                unit.forget()

    def before_forward(self) -> None:
        """Whole weights, in stages 1 and 2. A backward pass that ended with an error is
        forgotten."""
        broken = self.passes.broken_off()
        for unit in self.units:
            if broken:
                unit.flat.missing.clear()
                unit.forget()
            if self._stage < 3:
                unit.gather()

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        return ((unit.flat.name or "itself", unit.own) for unit in self.units)

    def clip(self, limit: float) -> float:
        """Together: no rank has all gradients."""
        return clip(self._comm, [unit.own for unit in self.units], limit)

    @property
    def all_are_whole(self) -> bool:
        return all(unit.is_whole for unit in self.units)

    @contextmanager
    def whole(self, changed: bool = False) -> Iterator[None]:
        """All weights in the module; if they were `changed` there, each rank takes its parts."""
        for unit in self.units:
            unit.gather()
        try:
            yield
            if changed:
                for unit in self.units:
                    unit.take_part()
        finally:
            for unit in self.units:
                unit.forget()

    # -- around a unit's call ---------------------------------------------------------------

    def _before(self, unit: ShardedUnit, *_: Any) -> None:
        unit.gather()

    def _after(self, unit: ShardedUnit, itself: bool, _: nn.Module, __: Any, result: Any) -> None:
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and tensor.requires_grad:
                tensor.register_hook(lambda _: unit.gather())  # type: ignore[no-untyped-call]
        keep = itself and torch.is_grad_enabled()
        if not keep and not self.passes.under_way:  # in a backward pass it is computed again
            unit.forget()

    # -- in the backward pass ---------------------------------------------------------------

    def _begin(self, _: Tensor) -> None:
        if self.passes.arrived():
            for unit in self.units:
                unit.summed = self.passes.quiet

    def _complete(self, unit: ShardedUnit) -> None:
        if self._stage > 1 and not unit.summed:
            unit.sum()
        elif self.passes.quiet:
            unit.forget()

    def _end(self) -> None:
        """What this pass has not come through counts as zero, so that all ranks send alike. A unit
        that no rank came through has no gradient; a part of one is zero, as in torch's FSDP."""
        for unit in reversed(self.units):
            unit.flat.missing.clear()
            if not unit.summed:
                unit.sum()
            unit.forget()
