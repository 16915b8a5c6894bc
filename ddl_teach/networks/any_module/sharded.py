"""Stages 1 to 3 for any module: this rank's optimizer updates its own part of every unit.

    stage 1    gradients are summed when the backward pass has ended; each rank keeps its part
    stage 2    each unit's as soon as they and those of later units are complete
    stage 3    also the weights: gathered when the unit is called, and again for its gradients

A rank's parts are parameters: `own.grad` is the average over the ranks. When an optimizer has
changed them, the units are gathered at their next use, because torch counts how often a tensor was
changed. Bytes: 2 (P-1)/P of the weights a step, in stage 3 three times (P-1)/P. In mixed precision
the parts keep their type: they are the master weights. Weights are cast to the `compute` type
before they are gathered, and gradients are summed in it. Half of the bits are half of the bytes.
Rajbhandari et al., "ZeRO", 2020; Zhao et al., "PyTorch FSDP", VLDB 2023; Micikevicius et al.,
"Mixed precision training", 2018.
What to look at: without hooks a training script would have to call each of these by hand.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import accumulate, takewhile
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ddl_runtime.core.arrays import split_evenly
from ddl_teach.collectives.ring import allgather, reduce_scatter
from ddl_teach.comm import Comm
from ddl_teach.networks.any_module.clipping import clip
from ddl_teach.networks.any_module.passes import BackwardPasses, refuse_sparse
from ddl_teach.networks.any_module.units import Kinds, parameters_of_units
from ddl_teach.networks.data_parallel.buckets import fill
from ddl_teach.networks.data_parallel.overlapped import Overlapped
from ddl_teach.networks.memory.flat import FlatLayer
from ddl_teach.networks.missing import missing
from ddl_teach.networks.weak_hooks import weakly

UNCALLED = (
    "In stage 3 a unit's weights are whole only while the unit is called; else a weight is this "
    "rank's part of it. If a module uses weights of a child without calling it, make the module "
    "the unit: wrap(..., units=TheModulesClass)"
)


class ShardedUnit:
    """One unit's weights end to end, and this rank's part of them, a parameter."""

    def __init__(
        self, comm: Comm, name: str, parameters: list[nn.Parameter], freed: bool,
        compute: torch.dtype | None,
    ) -> None:  # fmt: skip
        self.comm, self.flat, self._freed = comm, FlatLayer(name, parameters), freed
        part = self._own_part(self.flat.weights)
        self.own = nn.Parameter(part.clone() if freed or compute else part)
        if compute:
            self.flat.weights = self.flat.weights.to(compute)
            self.flat.put(self.flat.weights)
        self.is_whole, self._gathered = True, self._changes
        self.summed = self.complete = True  # in this backward pass
        self._shown: list[nn.Parameter] = []
        # Where each parameter ends in this rank's part.
        first = sum(map(len, split_evenly(self.flat.weights, comm.size)[: comm.rank]))
        ends = accumulate(shape.numel() for shape in self.flat.shapes)
        self._cuts = [min(max(end - first, 0), len(part)) for end in ends][:-1]

    def _own_part(self, vector: Tensor) -> Tensor:
        own: Tensor = split_evenly(vector, self.comm.size)[self.comm.rank]
        return own

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
            self._own_part(self.flat.weights).copy_(self.own.detach())
            allgather(self.comm, self.flat.weights)
        self.is_whole, self._gathered = True, self._changes
        self._show()

    def forget(self) -> None:
        """Give the memory back."""
        if self._freed and self.is_whole:
            self.flat.forget()
            self.is_whole = False
            self._show()

    def _show(self) -> None:
        """Where weights are not whole, a parameter is what this rank has of it, as a vector."""
        if self.is_whole:
            self.flat.put(self.flat.weights)
            return
        for parameter, part in self._parts(self.own.detach()):
            parameter.data = part

    def _parts(self, own: Tensor) -> Iterator[tuple[nn.Parameter, Tensor]]:
        return zip(self.flat.parameters, own.tensor_split(self._cuts), strict=True)

    def show_gradients(self) -> None:
        """Of the averages, too, a parameter shows this rank's part, until the next pass."""
        if self._freed and self.own.grad is not None:
            for parameter, part in self._parts(self.own.grad):
                if parameter.grad is None:
                    parameter.grad = part
                    self._shown.append(parameter)

    def hide_gradients(self) -> None:
        """Take back the gradients. If the caller removed them all, this rank's own goes too."""
        if self._shown and all(parameter.grad is None for parameter in self._shown):
            self.own.grad = None
        while self._shown:
            self._shown.pop().grad = None

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
            self.own.grad = average.to(self.own.dtype, copy=True)
        self.summed = True
        self.forget()

    @contextmanager
    def whole(self, changed: bool) -> Iterator[None]:
        """All weights in the module, of the type of the parts; if they were `changed` there, this
        rank takes its part."""
        weights = self.own.new_empty(len(self.flat.weights))
        self._own_part(weights).copy_(self.own.detach())
        allgather(self.comm, weights)
        with torch.no_grad():
            self.flat.put(weights)
            try:
                yield
                if changed:
                    self.own.copy_(self._own_part(weights))
            finally:
                self._show()


class ShardedModule:
    """As FullyShardedDataParallel, for stages 1, 2 and 3."""

    def __init__(
        self, comm: Comm, module: nn.Module, stage: int, kinds: Kinds | None, rest_whole: bool,
        nbytes: float, compute: torch.dtype | None,
    ) -> None:  # fmt: skip
        self._comm, self._stage = comm, stage
        self.passes = BackwardPasses(weakly(self._end))
        self.units: list[ShardedUnit] = []
        self._rest: dict[nn.Parameter, str] = {}
        # One for each unit; an earlier module on this communicator may have made them.
        places: list[Comm] = comm.attributes.setdefault(ShardedUnit, [])
        names = {parameter: name for name, parameter in module.named_parameters()}
        for name, called, parameters in parameters_of_units(module, kinds):
            for parameter in parameters:
                begin = partial(weakly(self._begin), parameter.shape)
                parameter.register_hook(begin)  # type: ignore[no-untyped-call]
            if rest_whole and not name:
                self._rest = {parameter: names[parameter] for parameter in parameters}
                continue
            if stage == 3 and len(self.units) == len(places):
                places.append(comm.subgroup(range(comm.size)))  # no two units mix up
            place = places[len(self.units)] if stage == 3 else comm
            unit = ShardedUnit(place, name, parameters, stage == 3, compute)
            self.units.append(unit)
            unit.flat.when_complete(partial(self._complete, unit))
            if stage == 3:
                called.register_forward_pre_hook(partial(self._before, unit))
                called.register_forward_hook(partial(self._after, unit, name == ""))
                unit.forget()
        self._averages = Overlapped(comm, fill(self._rest, nbytes))

    def before_forward(self) -> None:
        """Whole weights, in stages 1 and 2. A backward pass that failed is forgotten."""
        broken = self.passes.broken_off()
        if broken:
            self._averages.give_up()
        for unit in self.units:
            if unit.own.grad is None:
                unit.hide_gradients()
            if broken:
                unit.flat.missing.clear()
                unit.forget()
            if self._stage < 3:
                unit.gather()

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        yield from ((unit.flat.name or "itself", unit.own) for unit in self.units)
        yield from ((name, parameter) for parameter, name in self._rest.items())

    def clip(self, limit: float) -> float:
        """Together: no rank has all gradients."""
        own = [parameter for _, parameter in self.named_parameters()]
        return clip(self._comm, own, limit, lambda p: self._comm.size if p in self._rest else 1)

    @property
    def all_are_whole(self) -> bool:
        return all(unit.is_whole for unit in self.units)

    @contextmanager
    def whole(self, changed: bool = False) -> Iterator[None]:
        """All weights in the module; if they were `changed` there, each rank takes its parts."""
        with ExitStack() as stack:
            for unit in self.units:
                stack.enter_context(unit.whole(changed))
            yield

    # -- around a unit's call ---------------------------------------------------------------

    def _before(self, unit: ShardedUnit, *_: Any) -> None:
        unit.gather()

    def _after(self, unit: ShardedUnit, itself: bool, _: nn.Module, __: Any, result: Any) -> None:
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and tensor.requires_grad:
                tensor.register_hook(partial(self._before, unit))  # type: ignore[no-untyped-call]
        keep = itself and torch.is_grad_enabled()
        if not keep and not self.passes.under_way:  # in a backward pass it is computed again
            unit.forget()

    # -- in the backward pass ---------------------------------------------------------------

    def _begin(self, shape: torch.Size, gradient: Tensor) -> None:
        refuse_sparse(gradient)
        if gradient.shape != shape:
            raise RuntimeError(UNCALLED)
        if self.passes.arrived():
            if not self.passes.quiet:
                self._averages.begin()
            for unit in self.units:
                unit.hide_gradients()
                unit.summed, unit.complete = self.passes.quiet, False

    def _complete(self, unit: ShardedUnit) -> None:
        unit.complete = True
        if self._stage == 2:  # in one order, whatever units the ranks come through
            for each in takewhile(lambda u: u.summed or u.complete, reversed(self.units)):
                if not each.summed:
                    each.sum()
        elif self._stage == 3 and not unit.summed:
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
            unit.show_gradients()
        self._averages.finish()
