"""Training on any grid of ranks: it ends where one process ends, parameter by parameter.

Each rank takes its rows of the batch (data) and its positions of them (context). The pipeline's
worker runs its micro-batches through the stages (1F1B), whose layers send along tensor and
context. At last gradients are averaged along data and context. Bytes: `theory.grids.sent`.
Narayanan et al., 2021; Singh and Bhatele, "AxoNN", IPDPS 2022.
"""

import math

import torch
from torch import nn

from ddl_teach.collectives import on_devices
from ddl_teach.comm import Comm
from ddl_teach.networks.any_module.clipping import clip
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.shards import own_part
from ddl_teach.networks.grid.axes import axes_of
from ddl_teach.networks.grid.stages import hold
from ddl_teach.networks.loss_reduction import CheckedLoss
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.loss import Batch, Loss, Optimizer, mean_loss
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.torch_stage import TorchStage
from ddl_teach.networks.pipelines.worker import PipelineWorker
from ddl_teach.networks.tensor.split import cut_parameters, full_parameters
from ddl_teach.theory.grids.grid import Grid


class Trainer:
    """One rank's part in training `model` on a grid: a `gpt` or an `mlp`, or along data and
    pipeline any module, with a batch of `inputs` of which only the shape counts. A `loss` of one's
    own, for all but a `gpt`, must be a mean over examples: the first step finds out."""

    def __init__(
        self, comm: Comm, model: nn.Module, grid: Grid, *, micro_batches: int = 1,
        inputs: torch.Tensor | None = None, loss: Loss = mean_loss, optimizer: Optimizer = Descent,
    ) -> None:  # fmt: skip
        self._comm = comm
        self.axes = axes_of(comm, grid)
        self.held = hold(model, self.axes, inputs, loss)
        # What a gpt has in place of mean_loss is a mean too, and sends messages.
        parts = 1 if loss is mean_loss else grid.data * micro_batches
        self._checked = CheckedLoss(self.held.loss, parts)
        self._cut = cut_parameters(self.held.layers)
        self._micro_batches = micro_batches
        self._weight = 1.0
        place, layers = self.axes.place.pipeline, self.held.layers
        self._stage = TorchStage(
            layers, self.held.shapes, first=place == 0, last=place == grid.pipeline - 1,
            loss=lambda scores, targets: self._checked(scores, targets) * self._weight,
            counting=comm.counts_memory,
        )  # fmt: skip
        schedule = one_f_one_b(grid.pipeline, micro_batches)
        self._worker = PipelineWorker(self.axes.pipeline, schedule, {(0, place): self._stage})
        self._bucket = fill(self.held.layers.parameters(), math.inf)
        self._optimizer = optimizer(self.held.layers.parameters())

    def step(self, batch: Batch, limit: float = math.inf) -> float:
        """Train on one batch; returns this rank's share of the batch's mean loss."""
        self.backward(batch)
        self.update(limit)
        # All ranks along tensor have computed the same loss, each of them the whole one.
        return float(sum(self._stage.losses)) / (self.axes.replicas.size * self.axes.tensor.size)

    def backward(self, batch: Batch) -> None:
        self._optimizer.zero_grad()
        inputs, targets = own_part(self.axes.data, batch)
        if self.held.positions is not None:
            inputs, targets = inputs[:, self.held.positions], targets[:, self.held.positions]
        # Ranks whose part is larger count more; see data_parallel.shards.
        self._weight = self.axes.replicas.size * targets.numel() / batch[1].numel()
        self._stage.load((inputs, targets), self._micro_batches)
        self._worker.step()
        self._checked.agree(self._comm)

    def update(self, limit: float = math.inf) -> None:
        """Average, clip the gradients of the whole network to `limit`, step."""
        average_buckets(self.axes.replicas, self._bucket, on_devices.allreduce)
        if limit < math.inf:
            clip(self._comm, self.held.layers.parameters(), limit, self._copies)
        self._optimizer.step()

    def _copies(self, parameter: nn.Parameter) -> int:
        """How many ranks of the grid hold it."""
        alike = 1 if parameter in self._cut else self.axes.tensor.size
        return self.axes.replicas.size * alike

    def parameters(self) -> dict[str, torch.Tensor]:
        """The parameters of this rank's stage, whole, by name. All ranks must call it."""
        return full_parameters(self.held.layers)
