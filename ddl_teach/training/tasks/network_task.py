"""Any torch network as a task: its parameters are views of whatever vector it is asked about.

For each question the parameters are laid over the vector of weights and their gradients over a new
vector. On the processor nothing is copied; on a device the weights are copied in and the gradient
out, once each. What a network keeps besides (running means) would differ from worker
to worker, and is refused.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from ddl_teach.networks.models.loss import Batch, beside, mean_loss
from ddl_teach.training.consistency.shares import share
from ddl_teach.training.tasks.task import LossAndGradient, Task


class NetworkTask(Task):
    """`model` learns from `data`, `batch` samples a worker and step; every `every`-th sample is
    held out. It begins with the weights that the model has."""

    def __init__(
        self, model: nn.Module, data: Batch, batch: int = 16, *, every: int = 5, seed: int = 0
    ) -> None:
        kept = model.state_dict().keys()  # constants are not in it
        names = [name for name, _ in model.named_buffers() if name in kept]
        if names:
            more = f"{', '.join(names)} beside its parameters, which no consistency would average"
            raise ValueError(f"this network keeps {more}: take one without, as nn.GroupNorm")
        self.model, self._batch, self._seed = model, batch, seed
        self._first = torch.cat([p.detach().reshape(-1) for p in self._parameters]).cpu().numpy()
        held_out = torch.arange(len(data[1])) % every == 0
        self.learnt = data[0][~held_out], data[1][~held_out]
        self.held_out = data[0][held_out], data[1][held_out]

    def on(self, device: str) -> NetworkTask:
        if device == str(self._parameters[0].device):
            return self
        task = copy.copy(self)
        task.model = model = copy.deepcopy(self.model).to(device)
        task.learnt, task.held_out = beside(model, self.learnt), beside(model, self.held_out)
        return task

    @property
    def _parameters(self) -> list[nn.Parameter]:
        return [p for p in self.model.parameters() if p.requires_grad]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(parameter.shape) for parameter in self._parameters)

    def initial(self) -> np.ndarray:
        return self._first.copy()

    def gradient(self, weights: np.ndarray, part: int, parts: int, step: int) -> LossAndGradient:
        inputs, answers = self.learnt
        chosen = share(len(answers), self._batch, part, parts, step, self._seed)
        self._lay_over(weights)
        gradient = torch.zeros_like(self._there)
        for parameter, view in zip(self._parameters, self._views(gradient), strict=True):
            parameter.grad = view  # backward adds to it, in place
        error = mean_loss(self.model(inputs[chosen]), answers[chosen])
        torch.autograd.backward(error)
        return error.item(), gradient.cpu().numpy()

    def loss(self, weights: np.ndarray) -> float:
        scores, answers = self._scores(weights)
        return mean_loss(scores, answers).item()

    def accuracy(self, weights: np.ndarray) -> float:
        scores, answers = self._scores(weights)
        return (scores.argmax(dim=-1) == answers).double().mean().item()

    def _scores(self, weights: np.ndarray) -> Batch:
        self._lay_over(weights)
        with torch.no_grad():
            return self.model(self.held_out[0]), self.held_out[1]

    def _lay_over(self, weights: np.ndarray) -> None:
        self._there = torch.from_numpy(weights).to(self._parameters[0].device)
        for parameter, view in zip(self._parameters, self._views(self._there), strict=True):
            parameter.data = view

    def _views(self, vector: torch.Tensor) -> list[torch.Tensor]:
        parts = vector.tensor_split(self.layers[1:-1])
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]
