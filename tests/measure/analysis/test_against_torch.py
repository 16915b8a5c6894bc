"""Multiply-adds are those of torch's own counter, kept bytes those that autograd keeps."""

import pytest
import torch
from modules import Branches, Functional, InPlace, Odd, Shared
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from ddl_measure.analysis import analyse
from ddl_measure.zoo import gpt2, lenet5, resnet50

pytestmark = pytest.mark.slow

SMALL_GPT2 = {"blocks": 2, "heads": 2, "width": 16, "longest": 8, "vocabulary": 23}


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def shapes(*sizes, grad=True):
    return [torch.randn(size, requires_grad=grad) for size in sizes]


ON_SHAPES = {  # what torch counts without numbers
    "linear": (lambda: nn.Linear(7, 5), lambda: shapes((3, 4, 7))),
    "first linear": (lambda: nn.Linear(7, 5), lambda: shapes((3, 7), grad=False)),
    "frozen": (lambda: nn.Sequential(nn.Linear(7, 5).requires_grad_(False), nn.Linear(5, 4)),
               lambda: shapes((3, 7), grad=False)),
    "conv1d": (lambda: nn.Conv1d(3, 5, 4, stride=2, padding=1), lambda: shapes((2, 3, 11))),
    "conv2d": (lambda: nn.Conv2d(3, 5, (3, 2), (2, 1), (1, 0)), lambda: shapes((2, 3, 9, 8))),
    "same padding": (lambda: nn.Conv2d(3, 5, 3, padding="same"), lambda: shapes((2, 3, 9, 8))),
    "dilated": (lambda: nn.Conv2d(3, 5, 3, dilation=2), lambda: shapes((2, 3, 9, 8))),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), lambda: shapes((2, 2, 4, 5, 6))),
    "unbatched": (lambda: nn.Conv2d(3, 5, 3), lambda: shapes((3, 9, 8))),
    "transposed": (lambda: nn.ConvTranspose2d(3, 5, 3, stride=2), lambda: shapes((2, 3, 4, 5))),
    "matmul": (lambda: Call(torch.matmul), lambda: shapes((2, 3, 4, 5), (2, 3, 5, 6))),
    "shared matmul": (lambda: Call(torch.matmul), lambda: shapes((2, 4, 5), (5, 6))),
    "mm": (lambda: Call(torch.mm), lambda: shapes((4, 5), (5, 6))),
    "addmm": (lambda: Call(torch.addmm), lambda: shapes((6,), (4, 5), (5, 6))),
    "baddbmm": (lambda: Call(torch.baddbmm), lambda: shapes((2, 4, 6), (2, 4, 5), (2, 5, 6))),
    "einsum": (lambda: Call(lambda x, y: torch.einsum("bij,bjk->bik", x, y)),
               lambda: shapes((2, 4, 5), (2, 5, 6))),
    "attention": (lambda: Call(functional.scaled_dot_product_attention),
                  lambda: shapes((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4))),
    "multihead": (lambda: nn.MultiheadAttention(8, 2), lambda: shapes((3, 2, 8)) * 3),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16), lambda: shapes((3, 2, 8))),
    "lstm": (lambda: nn.LSTM(5, 4, 2), lambda: shapes((6, 3, 5))),
    "first lstm": (lambda: nn.LSTM(5, 4, 2), lambda: shapes((6, 3, 5), grad=False)),
    "both ways": (lambda: nn.GRU(5, 4, 2, bidirectional=True), lambda: shapes((6, 3, 5))),
    "recurrent": (lambda: nn.RNN(5, 4, batch_first=True), lambda: shapes((3, 6, 5))),
    "shared": (Shared, lambda: shapes((2, 6))),
    "branches": (Branches, lambda: shapes((2, 8))),
    "functional": (Functional, lambda: shapes((2, 3, 4), (2, 5, 4))),
    "odd": (Odd, lambda: shapes((2, 3, 8))),
}  # fmt: skip


def results(value):
    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad else []
    return [it for part in value for it in results(part)] if isinstance(value, tuple) else []


@pytest.mark.parametrize("name", ON_SHAPES)
@pytest.mark.sampled(4)
def test_multiply_adds_are_those_of_torch_s_own_counter(name):
    make, inputs = ON_SHAPES[name]
    with torch.device("meta"):
        module, given = make(), inputs()
        analysis = analyse(module, *given)
        with FlopCounterMode(display=False) as forward:
            made = results(module(*given))
        with FlopCounterMode(display=False) as backward:
            torch.autograd.backward(made, [torch.empty_like(it) for it in made])
    assert analysis.uncounted == ()
    assert 2 * analysis.forward.multiply_adds == forward.get_total_flops() > 0
    assert 2 * analysis.backward.multiply_adds == backward.get_total_flops() > 0


@pytest.mark.parametrize("one", ["forward", "backward"])
@pytest.mark.parametrize("bias", [True, False])
def test_groups_are_as_many_convolutions(bias, one):
    """torch's counter takes a grouped convolution's backward pass for a dense one's."""
    x = torch.randn(2, 6, 9, 8, requires_grad=True)
    grouped = analyse(nn.Conv2d(6, 9, 3, groups=3, stride=2, bias=bias), x)
    part = analyse(nn.Conv2d(2, 3, 3, stride=2, bias=bias), x[:, :2].detach().requires_grad_())
    whole, third = getattr(grouped, one), getattr(part, one)
    assert whole.work == 3 * third.work
    assert whole.multiply_adds == 3 * third.multiply_adds
    assert whole.depth == third.depth


ON_NUMBERS = {
    "shared": (Shared, lambda: shapes((2, 6))),
    "branches": (Branches, lambda: shapes((2, 8), grad=False)),
    "functional": (Functional, lambda: shapes((2, 3, 4), (2, 5, 4))),
    "in place": (InPlace, lambda: shapes((1, 2, 5, 5), grad=False)),
    "normalised": (lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(True),
                                         nn.MaxPool2d(2), nn.Dropout(0.3), nn.Flatten(),
                                         nn.LayerNorm(36), nn.GELU()),
                   lambda: shapes((2, 2, 8, 8))),
    "lenet5": (lenet5.LeNet5, lambda: shapes((2, 1, 32, 32), grad=False)),
    "gpt2": (lambda: gpt2.GPT2(**SMALL_GPT2), lambda: [torch.randint(23, (2, 8))]),
    "bottleneck": (lambda: resnet50.Bottleneck(8, 4, 2, "3x3"), lambda: shapes((2, 8, 6, 6))),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_NUMBERS)
@pytest.mark.sampled(3)
def test_kept_bytes_are_those_that_autograd_keeps(name):
    make, inputs = ON_NUMBERS[name]
    module, given = make(), inputs()
    held = {it.untyped_storage().data_ptr() for it in [*module.parameters(), *module.buffers()]}
    kept, alive = {}, []

    def keep(tensor):
        alive.append(tensor)
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in held:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        made = module(*given)
    assert analyse(module, *given).activation_bytes == sum(kept.values()) > 0
    assert made.requires_grad
