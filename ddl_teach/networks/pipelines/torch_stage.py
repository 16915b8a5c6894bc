"""A stage that computes: a stretch of a network's layers, with torch's gradients.

Between forward and backward it keeps its graph of each micro-batch, and so its activations. Losses
are weighted by the micro-batch's share of the batch: the sum of all gradients is that of the whole
batch's mean loss, also where micro-batches are not equally large.

With `split=True` each layer keeps a graph of its own: the gradient of the input walks back from
layer to layer, and those of the weights can wait. A block of several layers inside one child
computes its inner gradients twice. Qi, Wan, Huang and Lin, "Zero bubble pipeline parallelism",
ICLR 2024. What to look at: `_kept` grows in `forward` and shrinks in the backward pass: it is the
memory that schedules differ in.
"""

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from ddl_runtime.core.arrays import Array
from ddl_teach.networks.memory.measured import Activations
from ddl_teach.networks.models.loss import Batch, Loss, mean_loss
from ddl_teach.networks.pipelines.worker import Stage
from ddl_teach.networks.shares import share


def cut(model: nn.Sequential, stages: int) -> list[nn.Sequential]:
    """The network in `stages` stretches with about as many layers with weights in each."""
    children = list(model)
    weighty = [place for place, child in enumerate(children) if list(child.parameters())]
    if not 1 <= stages <= len(weighty):
        layers = f"this network has {len(weighty)} layers with weights"
        raise ValueError(f"{layers}: it can be cut into 1 to {len(weighty)} stages, not {stages}")
    begins = [weighty[share(len(weighty), stages, stage).start] for stage in range(stages)]
    begins[0] = 0
    parts = [model[begin:end] for begin, end in pairwise([*begins, len(children)])]
    counted = sum(len(list(part.parameters())) for part in parts)
    if counted > len(list(model.parameters())):
        raise ValueError("two stages share a parameter (tied weights): copy it, or cut elsewhere")
    return parts


def activation_shapes(parts: Sequence[nn.Module], inputs: torch.Tensor) -> list[torch.Size]:
    """The shapes that go into each stage and out of the last, without computing anything."""
    x = inputs.to("meta")
    shapes = [x.shape]
    with torch.no_grad():
        for part in parts:
            x = copy.deepcopy(part).to("meta")(x)
            shapes.append(x.shape)
    return shapes


class BatchStage(Stage):
    """What all stages of a network share. `shapes` are those of what goes in and what comes out;
    rows may differ. Give the batch to `load` before each step: what the stage needs of it goes to
    the device of its weights."""

    def __init__(
        self, layers: nn.Sequential, shapes: Sequence[torch.Size], *, first: bool, last: bool,
        loss: Loss = mean_loss, split: bool = False, counting: bool = False,
    ) -> None:  # fmt: skip
        self.layers, self._shapes = layers, shapes
        self._first, self._last, self._loss, self._split = first, last, loss, split
        self._weight = next(layers.parameters())
        self._kept: dict[int, list[Any]] = {}  # by micro-batch: from forward to backward
        self._put_off: dict[int, list[tuple[Any, ...]]] = {}  # until the weights' gradients
        self._counting = counting  # what autograd saves
        self._saved: dict[int, int] = {}  # bytes, by micro-batch
        self.losses: list[torch.Tensor] = []  # of one step, each its share; on the device

    def backward(self, micro_batch: int, gradient: Array | None) -> Array | None:
        of_input = self.backward_input(micro_batch, gradient)
        self.backward_weight(micro_batch)
        return of_input

    def load(self, batch: Batch, micro_batches: int) -> None:
        inputs, targets = batch
        if len(inputs) < micro_batches:
            whole = f"a batch of {len(inputs)}"
            raise ValueError(f"{whole} cannot be cut into {micro_batches} micro-batches")
        where = self._weight.device
        inputs = inputs.to(where) if self._first else inputs
        targets = targets.to(where) if self._last else targets
        self._inputs = inputs.tensor_split(micro_batches)
        self._targets = targets.tensor_split(micro_batches)
        self._rows = len(inputs)
        self.losses = []

    def kept_bytes(self, micro_batch: int) -> int:
        return self._saved.pop(micro_batch, 0)

    def room_for_input(self, micro_batch: int) -> Array:
        return self._room(micro_batch, self._shapes[0])

    def room_for_gradient(self, micro_batch: int) -> Array:
        return self._room(micro_batch, self._shapes[1])

    def _room(self, micro_batch: int, shape: torch.Size) -> Array:
        return self._weight.detach().new_empty((len(self._inputs[micro_batch]), *shape[1:]))

    def weight_gradients(self) -> torch.Tensor:
        weights = self.layers.parameters()
        gradients = [torch.zeros_like(w) if w.grad is None else w.grad for w in weights]
        return torch.cat([gradient.flatten() for gradient in gradients])

    def set_weight_gradients(self, gradients: torch.Tensor) -> None:
        weights = list(self.layers.parameters())
        parts = gradients.split([weight.numel() for weight in weights])
        for weight, part in zip(weights, parts, strict=True):
            weight.grad = part.view_as(weight).clone()


class TorchStage(BatchStage):
    """A stage of a pipeline, as `worker.Stage` asks for, with torch's own gradients."""

    def forward(self, micro_batch: int, x: torch.Tensor | None) -> torch.Tensor | None:
        if not self._counting:
            return self._forward(micro_batch, x)
        with Activations([*self.layers.parameters(), *self._inputs, *self._targets]) as saved:
            output = self._forward(micro_batch, x)
        self._saved[micro_batch] = saved.held
        return output

    def _forward(self, micro_batch: int, x: torch.Tensor | None) -> torch.Tensor | None:
        x = self._inputs[micro_batch] if self._first else x.requires_grad_()
        pieces: list[tuple[nn.Module, torch.Tensor, torch.Tensor]] = []  # layers, in, out
        for layers in self.layers if self._split else [self.layers]:
            if pieces:
                x = x.detach().requires_grad_()  # each layer's graph ends at its own input
            pieces.append((layers, x, layers(x)))
            x = pieces[-1][2]
        if self._last:
            error = self._loss(x, self._targets[micro_batch]) * (len(x) / self._rows)
            self.losses.append(error.detach().double())
            pieces[-1] = (*pieces[-1][:2], error)
        self._kept[micro_batch] = pieces
        return None if self._last else x.detach()

    def backward(self, micro_batch: int, gradient: torch.Tensor | None) -> torch.Tensor | None:
        if self._split:
            return super().backward(micro_batch, gradient)
        [(_, x, output)] = self._kept.pop(micro_batch)
        output.backward(gradient)
        return None if self._first else x.grad

    def backward_input(
        self, micro_batch: int, gradient: torch.Tensor | None
    ) -> torch.Tensor | None:
        if not self._split:
            raise RuntimeError("its backward pass cannot be split: make the stage with split=True")
        put_off = self._put_off[micro_batch] = []
        pieces = self._kept.pop(micro_batch)
        for place, (layers, x, output) in reversed(list(enumerate(pieces))):
            put_off.append((layers, output, gradient))
            if place or not self._first:
                [gradient] = torch.autograd.grad(output, x, gradient, retain_graph=True)
        return None if self._first else gradient

    def backward_weight(self, micro_batch: int) -> None:
        for layers, output, gradient in self._put_off.pop(micro_batch):
            if weights := [weight for weight in layers.parameters() if weight.requires_grad]:
                torch.autograd.backward(output, gradient, inputs=weights)
