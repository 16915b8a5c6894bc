"""The zoo's networks have the parameters and do the operations that are published of them."""

import math

import pytest
import torch
from published import ALEXNET_UNITS, LENET5_LAYERS, PUBLISHED
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ddl_measure.analysis import analyse
from ddl_measure.zoo import alexnet, gpt2, lenet5, resnet50, vgg16

pytestmark = pytest.mark.slow

IMAGES = {"LeNet-5": (1, 1, 32, 32), "GPT-2": (1, 1024)}
NETWORKS = {
    "LeNet-5": lenet5.LeNet5,
    "AlexNet": alexnet.AlexNet,
    "AlexNet, one column": alexnet.OneColumn,
    "VGG-16": vgg16.VGG16,
    "ResNet-50": resnet50.ResNet50,
    "ResNet-50, stride in 1 x 1": lambda: resnet50.ResNet50(strided="1x1"),
    "GPT-2": gpt2.GPT2,
}


@pytest.fixture(scope="module", params=NETWORKS)
def known(request):
    """A network's name, the network and its input without memory, and its analysis."""
    with torch.device("meta"):
        network = NETWORKS[request.param]()
        shape = IMAGES.get(request.param, (1, 3, 224, 224))
        image = torch.empty(shape, dtype=torch.long if request.param == "GPT-2" else None)
    return request.param, network, image, analyse(network, image)


def parameters(module, kinds=nn.Module, names=("weight", "bias", "coefficient")):
    parts = [part for part in module.modules() if isinstance(part, kinds)]
    own = {
        id(p): p for part in parts for n, p in part.named_parameters(recurse=False) if n in names
    }
    return sum(weights.numel() for weights in own.values())


def units_outputs(analysis, *kinds):
    return [math.prod(it.output) for it in analysis.layers if it.kind in kinds]


def connections(analysis):
    """Of convolutions and full layers the products and a bias each; of subsampling 4 + 1."""
    biases = sum(units_outputs(analysis, "Conv2d", "Linear"))
    return (
        analysis.forward.multiply_adds
        + biases
        + 5 * sum(units_outputs(analysis, "Subsampling"))
        + 84 * sum(units_outputs(analysis, "Distance"))
    )


def convolutions_multiply_adds(analysis):
    return sum(it.forward.multiply_adds for it in analysis.layers if it.kind == "Conv2d")


def with_statistics(network):
    norms = [part for part in network.modules() if isinstance(part, nn.BatchNorm2d)]
    maps = sum(part.num_features for part in norms)  # as many as convolutions have
    return parameters(network) + maps + 2 * maps


COUNTED = {
    "parameters": lambda network, analysis: analysis.parameters,
    "parameters without biases": lambda network, _: parameters(network, names=("weight",)),
    "parameters and statistics": lambda network, _: with_statistics(network),
    "weights of convolutions": lambda network, _: parameters(network, nn.Conv2d, ("weight",)),
    "connections": lambda _, analysis: connections(analysis),
    "multiply-adds": lambda _, analysis: analysis.forward.multiply_adds,
    "multiply-adds of convolutions": lambda _, analysis: convolutions_multiply_adds(analysis),
    "operations": lambda _, analysis: 2 * analysis.forward.multiply_adds,
}


@pytest.mark.sampled(3)
def test_all_that_is_published(known):
    name, network, _, analysis = known
    published = [it for it in PUBLISHED if it.network == name]
    assert published
    for it in published:
        unit = 10 ** (len(str(int(it.number))) - it.digits)  # of its last digit
        found = COUNTED[it.quantity](network, analysis)
        cut = "cut off" in it.counts
        assert it.number == (found // unit if cut else round(found / unit)) * unit, it
        if unit == 1:
            assert isinstance(found, int)


@pytest.mark.sampled(3)
@pytest.mark.sampled(3)
def test_every_parameter_stands_in_one_layer_of_the_table(known):
    _, network, _, analysis = known
    assert sum(layer.parameters for layer in analysis.layers) == analysis.parameters
    assert analysis.parameters == sum(weights.numel() for weights in network.parameters())
    assert analysis.uncounted == ()


@pytest.mark.sampled(3)
def test_torch_s_own_counter_says_the_same(known):
    _, network, image, analysis = known
    with FlopCounterMode(display=False) as forward:
        made = network(image)
    assert 2 * analysis.forward.multiply_adds == forward.get_total_flops()
    # It takes the backward pass of a grouped convolution for that of a dense one.
    if all(getattr(part, "groups", 1) == 1 for part in network.modules()):
        with FlopCounterMode(display=False) as backward:
            torch.autograd.backward(made, torch.empty_like(made))
        assert 2 * analysis.backward.multiply_adds == backward.get_total_flops()


def test_lenet5_layer_by_layer():
    network = lenet5.LeNet5()
    analysis = analyse(network, torch.empty(IMAGES["LeNet-5"]))
    for name, (trained, connected) in LENET5_LAYERS.items():
        assert parameters(network.get_submodule(name)) == trained
        layers = [it for it in analysis.layers if it.name.split(".")[0] == name]
        units = 5 * sum(math.prod(it.output) for it in layers if it.kind == "Subsampling")
        biases = sum(math.prod(it.output) for it in layers if it.kind in ("Conv2d", "Linear"))
        assert sum(it.forward.multiply_adds for it in layers) + units + biases == connected


def test_lenet5_sees_the_maps_of_table_1():
    seen = [row for _, rows in lenet5.CONNECTED for row in rows]
    assert len(seen) == 16
    assert sum(map(len, seen)) == 60
    assert len({frozenset(row) for row in seen}) == 16
    # Every map of S2 is seen by ten maps of C3.
    assert [sum(map_ in row for row in seen) for map_ in range(6)] == [10] * 6
    layer = lenet5.SparseConvolution().double()
    for number, row in enumerate(seen):
        x = torch.randn(1, 6, 14, 14, dtype=torch.double, requires_grad=True)
        layer(x)[0, number].sum().backward()
        assert {m for m in range(6) if x.grad[0, m].abs().sum() > 0} == set(row)


def test_lenet5_learns_digits_that_it_has_as_pictures():
    """The distance to its own picture is least, and no two pictures are alike."""
    output = lenet5.Distance()
    assert (output(output.pictures).argmin(dim=1) == torch.arange(10)).all()
    assert output(output.pictures)[~torch.eye(10, dtype=torch.bool)].min() >= 16


def test_alexnet_has_the_paper_s_units_but_for_the_first_layer():
    with torch.device("meta"):
        analysis = analyse(alexnet.AlexNet(), torch.empty(1, *alexnet.IMAGE))
    units = units_outputs(analysis, "Conv2d", "Linear")
    assert tuple(units[1:]) == ALEXNET_UNITS[1:]
    assert units[0] == 55 * 55 * 96 != ALEXNET_UNITS[0]
    assert math.prod(alexnet.IMAGE) == 150_528


def test_a_residual_block_adds_its_input():
    block = resnet50.Bottleneck(64, 16, 1, "3x3").eval()
    for weights in block.residual.parameters():
        nn.init.zeros_(weights)
    x = torch.randn(2, 64, 5, 5)
    assert torch.equal(block(x), x.relu())
    with pytest.raises(ValueError, match="strided='2x2'"):
        resnet50.ResNet50("2x2")


def test_gpt2_looks_back_only_and_shares_its_matrix():
    network = gpt2.GPT2(blocks=2, heads=2, width=8, longest=6, vocabulary=11).eval()
    tokens = torch.randint(11, (1, 6))
    changed = tokens.clone()
    changed[0, 4] = (tokens[0, 4] + 1) % 11
    before, after = network(tokens), network(changed)
    assert torch.equal(before[0, :4], after[0, :4])
    assert not torch.allclose(before[0, 4:], after[0, 4:])
    assert network[-1].weight is network[0].words.weight
