"""What a rank of a grid holds: the layers of its stage, split over tensor and context.

Everything is cut out of the whole network, which is seeded by name, so any grid starts from the
same numbers. A gpt and an mlp are split along all axes; any other module along data and pipeline.
What to look at: three lines split a GPT four ways.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from ddl_teach.networks.context.layouts import contiguous
from ddl_teach.networks.context.ring_attention import ring_attention
from ddl_teach.networks.grid.axes import Axes
from ddl_teach.networks.models.gpt import Embedding
from ddl_teach.networks.models.loss import Loss, mean_loss
from ddl_teach.networks.partitions import Replicated
from ddl_teach.networks.pipelines.any_cut import Stretches, stretches
from ddl_teach.networks.pipelines.torch_stage import activation_shapes, cut
from ddl_teach.networks.tensor.attention import HeadsAttention
from ddl_teach.networks.tensor.gpt import split_gpt_child
from ddl_teach.networks.tensor.mlp import split_pairs
from ddl_teach.networks.tensor.vocabulary import vocabulary_loss
from ddl_teach.theory.grids.layers import LayerStack, perceptron, transformer


@dataclass(frozen=True)
class HeldStage:
    """What one rank holds of a network: its layers, and the loss of the last stage."""

    network: LayerStack | None  # on paper; None for a module that is no gpt or mlp
    layers: nn.Sequential
    shapes: tuple[torch.Size, torch.Size]  # of what one sample brings into the stage, and out
    loss: Loss
    positions: Tensor | None  # of a text; None where samples are no texts


def hold(
    model: nn.Module, axes: Axes, inputs: Tensor | None = None, loss: Loss = mean_loss
) -> HeldStage:
    """This rank's part of a module, which it cuts out of the whole. What is no `gpt` and no `mlp`
    is cut into stages for a batch of `inputs`, of which only the shape counts."""
    if isinstance(model, nn.Sequential) and isinstance(model[0], Embedding):
        if loss is not mean_loss:
            split = "each rank along tensor holds a part of the words' scores, and only a gpt's"
            raise TypeError(f"{split} own mean loss can put them together: leave loss out")
        return _hold_gpt(model, axes)
    if isinstance(model, nn.Sequential) and all(
        isinstance(child, nn.Linear | nn.ReLU) for child in model
    ):
        return _hold_mlp(model, axes, loss)
    return _hold_any(model, axes, inputs, loss)


def _hold_any(model: nn.Module, axes: Axes, inputs: Tensor | None, loss: Loss) -> HeldStage:
    kind = f"this is a {type(model).__name__}"
    if axes.tensor.size > 1 or axes.context.size > 1:
        splits = "along tensor and context a grid splits only a gpt or mlp of ddl_teach's models"
        raise TypeError(f"{splits}, and {kind}: divide it along data and pipeline only")
    if inputs is None:
        wanted = "a module that is no gpt or mlp can be cut only with a batch of its inputs"
        raise TypeError(f"{wanted}, and {kind}: give the batch as inputs=x")
    stages, own = axes.pipeline.size, axes.pipeline.rank
    # A module that stays in one piece need not be written down.
    parts = cut(stretches(model, inputs), stages) if stages > 1 else [Stretches(model)]
    before, behind = activation_shapes(parts, inputs)[own : own + 2]
    return HeldStage(None, parts[own].to(axes.data.device), (before, behind), loss, None)


def _hold_gpt(model: nn.Sequential, axes: Axes) -> HeldStage:
    if model.head.weight is model.embedding.words.weight:
        raise ValueError("first and last stage cannot share a weight: make gpt with tied=False")
    words, width = model.embedding.words.weight.shape
    length, blocks = model.embedding.places.num_embeddings, len(model) - 3
    heads = model.block1.attention.heads if blocks else 1
    network = transformer(blocks=blocks, width=width, heads=heads, length=length, vocabulary=words)
    layers = _own_layers(model, network, axes, [1] * len(model))
    positions = contiguous(length, axes.context.size)
    region = Replicated(axes.tensor)
    for name, child in list(layers.named_children()):
        layers.set_submodule(name, split_gpt_child(child, region))
    for module in layers.modules():
        if isinstance(module, HeadsAttention):
            module.attend = partial(ring_attention, axes.context, positions=positions)
        elif isinstance(module, Embedding):
            module.positions = positions[axes.context.rank].to(module.positions.device)
    loss = partial(vocabulary_loss, axes.tensor, words)
    own = positions[axes.context.rank]
    shapes = _shapes(network, axes, len(own))
    return HeldStage(network, layers, shapes, loss, own)


def _hold_mlp(model: nn.Sequential, axes: Axes, loss: Loss) -> HeldStage:
    if axes.context.size > 1:
        raise ValueError("an mlp's rows have no positions to divide: context must be 1")
    linear = [child for child in model if isinstance(child, nn.Linear)]
    network = perceptron([linear[0].in_features, *(layer.out_features for layer in linear)])
    # A pair is linear, relu, linear, relu; behind the last layer there is no relu.
    layers = _own_layers(model, network, axes, [4] * len(network.layers))
    split_pairs(layers, Replicated(axes.tensor))
    return HeldStage(network, layers, _shapes(network, axes), loss, None)


def _own_layers(
    model: nn.Sequential, network: LayerStack, axes: Axes, children: Sequence[int]
) -> nn.Sequential:
    """The children of this rank's stage, with their names; `children[n]` are layer n on paper."""
    stages, rank = network.stages(axes.pipeline.size), axes.pipeline.rank
    before, after = (sum(map(len, stages[:end])) for end in (rank, rank + 1))
    own = model[sum(children[:before]) : sum(children[:after])]
    return own.to(axes.data.device)


def _shapes(network: LayerStack, axes: Axes, *positions: int) -> tuple[torch.Size, torch.Size]:
    outputs = [stage[-1].output for stage in network.stages(axes.pipeline.size)]
    own = axes.pipeline.rank
    return tuple(torch.Size((1, *positions, outputs[place])) for place in (own - 1, own))
