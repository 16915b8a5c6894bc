"""The benchmark of convolutions: its layers are the networks' own, its verdicts their numbers'."""

from dataclasses import dataclass, field

import numpy as np
import torch

from benchmarks.convolution_targets import verdicts
from benchmarks.layers import convolutions, shared
from ddl_measure.zoo.resnet50 import ResNet50
from ddl_measure.zoo.vgg16 import VGG16
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.convolution_cost import cost


def test_layers_are_collected_from_the_networks():
    with torch.device("meta"):
        vgg, resnet = VGG16(), ResNet50()
    found = convolutions(vgg, (16, 3, 224, 224))
    assert sum(found.values()) == 13
    assert Convolution(16, 64, 224, 224, 64, padding=(1, 1)) in found
    assert sum(convolutions(resnet, (16, 3, 224, 224)).values()) == 53
    both = shared({"VGG-16": vgg, "ResNet-50": resnet}, (16, 3, 224, 224))
    assert both[Convolution(16, 512, 28, 28, 512, padding=(1, 1))] == ["VGG-16 2x"]
    assert both[Convolution(16, 64, 56, 56, 256, 1)] == ["ResNet-50 4x"]


@dataclass
class Measured:
    problem: Convolution
    times: dict
    direction: str = "forward"
    choices: dict = field(default_factory=lambda: {"predicted": "im2col"})

    @property
    def counts(self):
        return {name: cost(name, self.problem) for name in self.times if name != "torch"}

    def median(self, method):
        return float(np.median(self.times[method]))

    def regret(self, how):
        ours = [self.median(name) for name in self.times if name != "torch"]
        return self.median(self.choices[how]) / min(ours)


def test_a_target_is_met_only_if_every_layer_meets_it():
    tiled = Convolution(16, 64, 56, 56, 64, padding=(1, 1))
    strided = Convolution(16, 64, 56, 56, 64, stride=(2, 2), padding=(1, 1))
    layers = [
        Measured(tiled, {"torch": [1.0], "im2col": [2.0], "fft": [1.5], "winograd_2x2": [2.5],
                         "winograd_4x4": [1.9]}),
        Measured(strided, {"torch": [1.0], "im2col": [4.0], "fft": [8.0]}),
    ]  # fmt: skip
    text = verdicts(layers)
    found = "missed, holds on 1 of 2 layers; median 4.00, worst 4.00"
    assert f"im2col / torch at most 3: {found}" in text
    assert "winograd_2x2 / torch, 3x3 stride 1, at most 2: missed, holds on 0 of 1 layers" in text
    assert "winograd_4x4 / torch, 3x3 stride 1, at most 2: met, holds on 1 of 1 layers" in text
    assert "the better Winograd / torch, 3x3 stride 1, at most 2: met" in text
    assert "regret, predicted, at most 1.1: missed, holds on 1 of 2 layers; median 1.33" in text
    assert "chosen, predicted / torch at most 1.5: missed, holds on 0 of 2 layers" in text
