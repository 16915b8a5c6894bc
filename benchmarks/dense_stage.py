"""A stage of matrix products and ReLUs with its derivatives by hand: what the two halves are.

For y = x W^T + b and the gradient g of y

    gradient of the input      g W        the stage before waits for it
    gradient of the weights    g^T x      nobody does: it can be put off

Each takes as long as the forward pass, so B = 2 F, split or whole. What must be kept is x; a ReLU
needs only its output. Nothing is copied: each layer has one room for the rows of the whole batch,
micro-batches are views of it, and messages arrive in them. So the gradients of weights of several
micro-batches are one product, `together` at a time: it reads and writes the gradient once for all,
and keeps g and x until then. Rumelhart, Hinton and Williams, "Learning representations by
back-propagating errors", 1986.
What to look at: `backward_input` leaves `.grad` alone, and `backward_weight` all but it.
"""

from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import nn

from ddl_runtime.core.arrays import Array
from ddl_teach.networks.models.loss import Batch, mean_loss
from ddl_teach.networks.pipelines.torch_stage import BatchStage


class DenseStage(BatchStage):
    """As TorchStage, for layers that are `nn.Linear` with biases, some followed by `nn.ReLU`. What
    passes its borders are NumPy arrays, views of the tensors: they cost less to send. On a device
    there are none, and the tensors pass. For `together` above 1 micro-batches must all come here,
    in their order."""

    def __init__(
        self, layers: nn.Sequential, *arguments: Any, together: int = 1, **options: Any
    ) -> None:
        super().__init__(layers, *arguments, **options)
        pairs = pairwise([*layers, None])
        self._bent = [
            (layer.weight, layer.bias, isinstance(after, nn.ReLU))
            for layer, after in pairs
            if isinstance(layer, nn.Linear) and layer.bias is not None
        ]
        if len(self._bent) + sum(bent for *_, bent in self._bent) < len(layers):
            known = "derivatives by hand are for Linear with biases and ReLU after it"
            raise TypeError(f"{known}, not for {layers}: take TorchStage")
        if self._loss is not mean_loss:
            raise TypeError("by hand only the derivative of mean_loss is known: take TorchStage")
        self._together = together
        self._cut = (0, 0)  # rows and micro-batches that there are rooms for

    def load(self, batch: Batch, micro_batches: int) -> None:
        inputs, targets = batch
        if self._cut != (len(inputs), micro_batches):
            super().load(batch, micro_batches)
            self._make_rooms()
            self._cut = len(inputs), micro_batches
        if self._first:
            self._seen[0] = inputs.to(self._weight.device)
            for views, part in zip(
                self._seen_of, self._seen[0].tensor_split(micro_batches), strict=True
            ):
                views[0] = part
        if self._last:
            right = targets.to(self._weight.device).unsqueeze(1)
            self._right = right.tensor_split(micro_batches)
        self.losses = []
        self._ready: list[int] = []  # micro-batches whose weights' gradients are put off
        self._left = micro_batches

    def _make_rooms(self) -> None:
        """For the input and each layer's output, and for their gradients: room for the batch, and
        each micro-batch's part of it."""
        # Without what autograd knows of them, nothing below is written down for it.
        self._weights = [weight.detach() for weight, *_ in self._bent]
        self._layers = [
            (bias.detach(), weight.t(), bent)
            for weight, (_, bias, bent) in zip(self._weights, self._bent, strict=True)
        ]
        widths = [self._weights[0].shape[1], *map(len, self._weights)]
        parts, like = len(self._inputs), self._weights[0]
        self._starts = [0, *accumulate(map(len, self._inputs))]
        self._seen, self._slopes = (
            [like.new_empty(self._rows, width) for width in widths] for _ in range(2)
        )
        self._seen_of, self._slopes_of = (
            [*map(list, zip(*(room.tensor_split(parts) for room in rooms), strict=True))]
            for rooms in (self._seen, self._slopes)
        )
        self._minus = like.new_full((self._rows, 1), -1.0)
        self._arriving = [passed_on(views[0]) for views in self._seen_of]
        self._returning = [passed_on(views[-1]) for views in self._slopes_of]

    def room_for_input(self, micro_batch: int) -> Array:
        return self._arriving[micro_batch]

    def room_for_gradient(self, micro_batch: int) -> Array:
        return self._returning[micro_batch]

    def forward(self, micro_batch: int, x: Array | None) -> Array | None:
        seen = self._seen_of[micro_batch]
        if not self._first and x is not self._arriving[micro_batch]:
            seen[0].copy_(torch.as_tensor(x))
        for (bias, turned, bent), x, y in zip(self._layers, seen[:-1], seen[1:], strict=True):
            torch.addmm(bias, x, turned, out=y)
            if bent:
                y.relu_()
        if not self._last:
            return passed_on(seen[-1])
        # What will be needed of the scores is the gradient of the loss: softmax - right answer.
        gradient, right = self._slopes_of[micro_batch][-1], self._right[micro_batch]
        torch.softmax(seen[-1], 1, out=gradient)
        self.losses.append(-gradient.gather(1, right).log().sum().double() / self._rows)
        gradient.scatter_add_(1, right, self._minus)
        gradient /= self._rows
        return None

    def backward_input(self, micro_batch: int, gradient: Array | None) -> Array | None:
        seen, slopes = self._seen_of[micro_batch], self._slopes_of[micro_batch]
        if not self._last and gradient is not self._returning[micro_batch]:
            slopes[-1].copy_(torch.as_tensor(gradient))
        for place in reversed(range(len(self._weights))):
            after = slopes[place + 1]
            if self._layers[place][2]:
                # Nothing passes where the ReLU gave 0: a mask in one operation.
                MASKED(after, seen[place + 1], 0, grad_input=after)
            if place or not self._first:
                torch.mm(after, self._weights[place], out=slopes[place])
        return None if self._first else passed_on(slopes[0])

    def backward_weight(self, micro_batch: int) -> None:
        self._ready.append(micro_batch)
        self._left -= 1
        if len(self._ready) < self._together and self._left:
            return
        rows = slice(self._starts[self._ready[0]], self._starts[self._ready[-1] + 1])
        self._ready = []
        for place, (weight, bias, _) in enumerate(self._bent):
            x, gradient = self._seen[place][rows], self._slopes[place + 1][rows]
            if weight.grad is None:
                weight.grad, bias.grad = gradient.t() @ x, gradient.sum(0)
            else:
                weight.grad.addmm_(gradient.t(), x)
                bias.grad.add_(gradient.sum(0))


MASKED = torch.ops.aten.threshold_backward.grad_input


def passed_on(x: torch.Tensor) -> Array:
    """What is sent for it: the same memory as a NumPy array, if it is the host's."""
    return x.numpy() if x.device.type == "cpu" else x
