"""A stage of matrix products and ReLUs with its derivatives by hand: what the two halves are.

For y = x W^T + b and the gradient g of y

    gradient of the input      g W        the stage before waits for it
    gradient of the weights    g^T x      nobody does: it can be put off

Each takes as long as the forward pass, so B = 2 F, split or whole. What must be kept is x; a ReLU
needs only its output. Within a step the weights stay, so they are transposed once for all
micro-batches, which makes small products faster. Rumelhart, Hinton and Williams, "Learning
representations by back-propagating errors", 1986.
What to look at: `backward_input` leaves `.grad` alone, and `backward_weight` all but it.
"""

from itertools import pairwise
from typing import Any

import torch
from torch import nn

from ddl_runtime.core.arrays import Array
from ddl_teach.networks.models.loss import Batch, mean_loss
from ddl_teach.networks.pipelines.torch_stage import BatchStage


class DenseStage(BatchStage):
    """As TorchStage, for layers that are `nn.Linear` with biases, some followed by `nn.ReLU`. What
    passes its borders are NumPy arrays, views of the tensors: they cost less to send. On a device
    there are none, and the tensors pass."""

    def __init__(self, layers: nn.Sequential, *arguments: Any, **options: Any) -> None:
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

    def load(self, batch: Batch, micro_batches: int) -> None:
        super().load(batch, micro_batches)
        self._transposed = [weight.detach().t().contiguous() for weight, *_ in self._bent]

    def _room(self, micro_batch: int, shape: torch.Size) -> Array:
        return passed_on(super()._room(micro_batch, shape))

    @torch.no_grad()
    def forward(self, micro_batch: int, x: Array | None) -> Array | None:
        x = self._inputs[micro_batch] if self._first else torch.as_tensor(x)
        seen = self._kept[micro_batch] = [x]
        for (_, bias, bent), transposed in zip(self._bent, self._transposed, strict=True):
            x = torch.addmm(bias, x, transposed)
            seen.append(x.relu_() if bent else x)
        if not self._last:
            return passed_on(x)
        # What will be needed of the scores is the gradient of the loss: softmax - right answer.
        gradient = seen[-1] = torch.softmax(x, dim=1)
        right = self._targets[micro_batch].unsqueeze(1)
        self.losses.append(-gradient.gather(1, right).log().sum().double() / self._rows)
        gradient.scatter_add_(1, right, gradient.new_full(right.shape, -1.0))
        gradient /= self._rows
        return None

    @torch.no_grad()
    def backward_input(self, micro_batch: int, gradient: Array | None) -> Array | None:
        seen, put_off = self._kept.pop(micro_batch), []
        gradient = seen[-1] if self._last else torch.as_tensor(gradient)
        for place in reversed(range(len(self._bent))):
            weight, bias, bent = self._bent[place]
            if bent:
                # Nothing passes where the ReLU gave 0: a mask in one operation.
                gradient = torch.ops.aten.threshold_backward(gradient, seen[place + 1], 0)
            put_off.append((weight, bias, gradient, seen[place]))
            if place or not self._first:
                gradient = gradient @ weight
        self._put_off[micro_batch] = put_off
        return None if self._first else passed_on(gradient)

    @torch.no_grad()
    def backward_weight(self, micro_batch: int) -> None:
        for weight, bias, gradient, x in self._put_off.pop(micro_batch):
            if weight.grad is None:
                weight.grad, bias.grad = gradient.t() @ x, gradient.sum(0)
            else:
                weight.grad.addmm_(gradient.t(), x)
                bias.grad.add_(gradient.sum(0))


def passed_on(x: torch.Tensor) -> Array:
    """What is sent for it: the same memory as a NumPy array, if it is the host's."""
    return x.numpy() if x.device.type == "cpu" else x
