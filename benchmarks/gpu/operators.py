"""The four convolutions on the device beside torch's own (cuDNN on a GPU), layer by layer.

The layers are those of AlexNet, VGG-16 and ResNet-50, collected and not typed; every method that
can takes each turn on the same data, and its result is compared with torch's first. A time ends
when the device has finished. cuDNN's and the matrix products' TF32 are switched off, so that all
compute in float32. What to look at: Winograd and FFT save operations, not copies, and a GPU has
operations to spare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from benchmarks.convolutions import contestants
from benchmarks.gpu import first_line
from benchmarks.layers import shared
from ddl_class.notebook.device_places import tensors
from ddl_measure.device_run import GPU, DeviceTiming, TransferPath
from ddl_measure.repetitions import side_by_side
from ddl_measure.zoo.alexnet import AlexNet
from ddl_measure.zoo.resnet50 import ResNet50
from ddl_measure.zoo.vgg16 import VGG16
from ddl_teach import Comm
from ddl_teach.operators.convolution.problem import Convolution

TEST = "convolution"
MOST_TURNS = 7  # of forty layers and six methods
ONE_SMALL_LAYER = {Convolution(1, 3, 8, 8, 4, padding=(1, 1)): ["a small layer"]}
"""Enough to exercise the code where there is no GPU."""


def layers_of(batch: int) -> dict[Convolution, list[str]]:
    """The distinct convolutions of three networks, and whose they are."""
    with torch.device("meta"):
        networks: Mapping[str, nn.Module] = {
            "AlexNet": AlexNet(), "VGG-16": VGG16(), "ResNet-50": ResNet50(),
        }  # fmt: skip
    return shared(networks, (batch, 3, 224, 224))


def convolutions(
    comm: Comm, device: str, repetitions: int, batch: int = 16
) -> tuple[list[DeviceTiming], dict[str, str]]:
    """One rank alone: seconds of each forward pass, by layer and method; and which layers failed,
    for want of memory, say."""
    if comm.rank:
        return [], {}
    name, place = tensors(device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    rows, notes = [], {}
    layers = layers_of(batch) if device == GPU else ONE_SMALL_LAYER
    for problem, owners in layers.items():
        p = problem
        layer = f"{', '.join(owners)}: {p.in_channels} to {p.out_channels} channels, {p.height} x "
        layer += f"{p.width}, kernel {p.kernel[0]} x {p.kernel[1]}, stride {p.stride[0]}"
        try:
            with torch.inference_mode(), torch.device(name):
                field, _ = contestants(problem, "forward")
                seconds = side_by_side(
                    {method: place.settled(run) for method, run in field.items()},
                    repetitions=min(repetitions, MOST_TURNS), warm_up=2,
                )  # fmt: skip
        except (AssertionError, RuntimeError) as error:  # the other layers are measured
            notes[f"{TEST}, {layer}"] = f"not measured: {first_line(error)}"
            continue
        finally:
            if device == GPU:
                torch.cuda.empty_cache()  # the other ranks may share it
        sent = 4 * sum(math.prod(shape) for shape in (p.x_shape, p.weight_shape, p.output_shape))
        rows += [
            DeviceTiming(f"{TEST}, {layer}", TransferPath(method), sent, tuple(times.tolist()))
            for method, times in seconds.items()
        ]
    return rows, notes
