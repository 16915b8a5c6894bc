"""Gradient descent with momentum: v = momentum v + gradient, weights -= rate v.

The state v is as large as the weights and never sent: equal gradients keep it equal on all ranks.
Polyak, "Some methods of speeding up the convergence of iteration methods", 1964; the form of
torch.optim.SGD, whose steps these are, written out because torch's optimizers take as long to
import as all the rest of torch.
"""

from collections.abc import Iterable

import torch
from torch import nn

from ddl_runtime.core.checks import amount


class Descent:
    """Steps for some parameters, in place; one without a gradient keeps what it has."""

    def __init__(
        self, parameters: Iterable[nn.Parameter], rate: float = 0.1, momentum: float = 0.9
    ) -> None:
        amount(rate, "Descent: rate"), amount(momentum, "Descent: momentum", below=1)
        self.parameters = list(parameters)
        self.rate, self.momentum = rate, momentum
        self.velocities: dict[nn.Parameter, torch.Tensor] = {}

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        for parameter in self.parameters:
            if parameter.grad is None:
                continue
            if parameter not in self.velocities:
                self.velocities[parameter] = torch.zeros_like(parameter.detach())
            velocity = self.velocities[parameter]
            velocity.mul_(self.momentum).add_(parameter.grad)
            parameter.detach().sub_(velocity, alpha=self.rate)
