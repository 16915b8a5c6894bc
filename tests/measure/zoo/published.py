"""What has been published about the networks of this zoo, to the digit, and what it counts.

"Operations" means several things in the literature, and most tables do not say which. Mostly they
are multiply-adds: a product and the addition that follows count as one. What to look at: where two
sources disagree, they count different things, and each is right about its own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A number about a network, as its source prints it, and what exactly it counts."""

    network: str
    quantity: str
    number: float
    digits: int  # to how many digits it is given
    counts: str
    source: str


TORCHVISION = "torchvision's table of pre-trained models"
LECUN = "LeCun et al. 1998, section II.B"
HE = "He et al. 2016, table 1"
KRIZHEVSKY = "Krizhevsky et al. 2012, section 3.5"
EYERISS = "Chen, Krishna, Emer and Sze, ISSCC 2016 (Eyeriss)"
NANOGPT = "Karpathy, nanoGPT, transformer_sizing.ipynb, 2023"
TRAINED = "all that is trained: weights and biases"
PRODUCTS = "products of convolutions and fully connected layers; no biases, nothing else"

PUBLISHED = (
    Published("LeNet-5", "parameters", 60_000, 5, TRAINED, LECUN),
    Published(
        "LeNet-5", "connections", 340_908, 6,
        "every input of every unit, a bias too: 4 + 1 for subsampling, 84 for an output",
        LECUN,
    ),
    Published("AlexNet", "parameters", 60_965_224, 8, TRAINED,
              "Hewlett Packard Enterprise, Deep Learning Cookbook; the paper says 60 million"),
    Published("AlexNet", "multiply-adds of convolutions", 666e6, 3,
              "products of the five convolutions alone", EYERISS),
    Published("AlexNet", "weights of convolutions", 2.3e6, 2,
              "their weights without biases", EYERISS),
    Published("AlexNet, one column", "parameters", 61_100_840, 8, TRAINED, TORCHVISION),
    Published("AlexNet, one column", "multiply-adds", 0.71e9, 2, PRODUCTS,
              f"{TORCHVISION}, there called GFLOPS"),
    Published("VGG-16", "parameters", 138_357_544, 9, TRAINED, TORCHVISION),
    Published("VGG-16", "multiply-adds", 15.47e9, 4, PRODUCTS,
              f"{TORCHVISION}, there called GFLOPS"),
    Published("VGG-16", "multiply-adds of convolutions", 15.3e9, 3,
              "products of the thirteen convolutions alone", f"{EYERISS}; {HE}"),
    Published("VGG-16", "weights of convolutions", 14.7e6, 3,
              "their weights without biases", EYERISS),
    Published("ResNet-50", "parameters", 25_557_032, 8,
              "all that is trained; convolutions have no biases", TORCHVISION),
    Published("ResNet-50", "parameters and statistics", 25_636_712, 8,
              "with a bias for each map of each convolution, and the kept means and variances",
              "Keras's table of applications"),
    Published("ResNet-50", "multiply-adds", 4.09e9, 3,
              f"{PRODUCTS}; stride 2 in the 3 x 3 convolutions",
              f"{TORCHVISION}, there called GFLOPS"),
    Published("ResNet-50, stride in 1 x 1", "multiply-adds", 3.8e9, 2,
              f"{PRODUCTS}; stride 2 in the 1 x 1 convolutions; cut off, not rounded (3.86)", HE),
    Published("GPT-2", "parameters", 124_439_808, 9,
              "all that is trained; the matrix of words once, though it is used twice",
              "Hugging Face's gpt2; the paper says 117 million, and its authors corrected that"),
    Published("GPT-2", "parameters without biases", 124_337_664, 9,
              "all weights and the scales of normalisation, no bias anywhere", NANOGPT),
    Published("GPT-2", "operations", 291_648_307_200, 12,
              "1024 tokens, forward: twice the multiply-adds of all matrix products, attention's "
              "included as if there were no mask", NANOGPT),
)  # fmt: skip

LENET5_LAYERS = {
    "c1": (156, 122_304),
    "s2": (12, 5_880),
    "c3": (1_516, 151_600),
    "s4": (32, 2_000),
    "c5": (48_120, 48_120),
    "f6": (10_164, 10_164),
}
"""LeNet-5's trained parameters and connections, layer by layer (LeCun et al. 1998, section II.B).

These connections come to 340,068. The total that the paper gives is 840 more, which is what the
84 inputs of the ten outputs make.
"""

ALEXNET_UNITS = (253_440, 186_624, 64_896, 64_896, 43_264, 4_096, 4_096, 1_000)
"""How many units each layer of AlexNet has (Krizhevsky et al. 2012, figure 2).

The first can't be: 96 maps of 55 x 55 have 290,400 units, and 253,440 is no multiple of a square
times 96. All others are as printed.
"""
