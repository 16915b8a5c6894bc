"""What an analysis says of small networks, by hand and by the formulas."""

import copy

import pytest
import torch
from modules import Branches, Functional, InPlace, Odd, Shared, Wrapped
from torch import nn
from torch.nn import functional

from ddl_measure.allocations import peak_allocation
from ddl_measure.analysis import OperationCost, Pass, analyse
from ddl_measure.zoo import vgg16
from ddl_teach.theory.work_depth import (
    activation,
    average_pooling,
    batch_normalisation,
    fully_connected,
    lstm,
    max_pooling,
    softmax,
)
from ddl_teach.theory.work_depth.counting import WorkDepth, elementwise

pytestmark = pytest.mark.slow


def cost(one):
    return WorkDepth(one.work, one.depth)


def wanted(*shape):
    return torch.empty(shape, requires_grad=True)


@pytest.mark.parametrize(
    ("layer", "x", "formula", "sizes"),
    [
        (nn.Linear(7, 5), (3, 7), fully_connected, (3, 7, 5)),
        (nn.BatchNorm2d(3, track_running_stats=False), (2, 3, 4, 5), batch_normalisation, (3, 40)),
        (nn.MaxPool2d(3, 2, 1), (2, 3, 8, 9), max_pooling, (6, 8, 9, (3, 3), (2, 2), (1, 1))),
        (nn.AvgPool2d((2, 3)), (2, 3, 8, 9), average_pooling, (6, 8, 9, (2, 3))),
        (nn.AdaptiveAvgPool2d(2), (2, 3, 8, 6), average_pooling, (6, 8, 6, (4, 3))),
        (nn.AvgPool3d((1, 2, 2)), (2, 3, 4, 8, 6), average_pooling, (24, 8, 6)),
        (nn.AdaptiveMaxPool2d(2), (2, 3, 8, 6), max_pooling, (6, 8, 6, (4, 3))),
        (nn.Softmax(1), (3, 7), softmax, (3, 7)),
        (nn.GELU(), (3, 7), activation, (21, "gelu")),
        (nn.Sigmoid(), (3, 7), activation, (21, "sigmoid")),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_a_layer_costs_what_its_formula_says(layer, x, formula, sizes):
    (row,) = analyse(layer, wanted(*x)).layers
    assert cost(row.forward) == formula.forward(*sizes)
    assert cost(row.input_gradient) == formula.input_gradient(*sizes)
    if hasattr(formula, "parameter_gradient"):
        assert cost(row.parameter_gradient) == formula.parameter_gradient(*sizes)


def test_an_lstm_costs_its_formula_and_torch_s_second_bias():
    analysis = analyse(nn.LSTM(5, 4), wanted(6, 3, 5))
    one = lstm.forward(3, 6, 5, 4)
    assert cost(analysis.forward) == WorkDepth(one.work + 6 * 3 * 4 * 4, one.depth)
    back = lstm.input_gradient(3, 6, 5, 4)
    # Each layer further adds a step to the chain, not a whole sequence.
    stacked = analyse(nn.LSTM(5, 4, 3), wanted(6, 3, 5)).forward
    assert stacked.depth == one.depth + 2 * lstm.forward(3, 1, 4, 4).depth
    assert analysis.backward.depth >= back.depth


def test_depth_is_that_of_the_longest_branch_and_work_that_of_all():
    analysis = analyse(Branches(), wanted(2, 8))
    full = fully_connected.forward(2, 8, 8)
    assert analysis.forward.depth == 2 * full.depth + 1 + 1  # two layers, a ReLU, the sum
    assert analysis.forward.work == 3 * full.work + 16 + 16
    back = fully_connected.input_gradient(2, 8, 8)
    # Back through the deep branch, and at the input the sum of what both branches send; nobody
    # waits for that one, for there is no layer before.
    assert analysis.backward.depth == 2 * back.depth + 1
    in_turn = analyse(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), wanted(2, 8))
    assert in_turn.forward.depth == sum(layer.forward.depth for layer in in_turn.layers)


def test_a_result_with_several_users_gets_the_sum_of_their_gradients():
    class Twice(nn.Module):
        def forward(self, x):
            y = x.exp()
            return y.sin() + y.cos() + y[:, :2].sum()

    exp = analyse(Twice(), wanted(3, 4)).operations[0]
    assert exp.operation == "aten::exp"
    # Twice all 12 numbers and once 6 of them, for 12 sums.
    assert cost(exp.gradient_sum) == WorkDepth(2 * 12 + 6 - 12, 2)

    class Split(nn.Module):
        def forward(self, x):
            one, other = x.exp().chunk(2, dim=1)
            return one * other

    assert analyse(Split(), wanted(3, 4)).operations[0].gradient_sum == Pass()


def test_shared_weights_are_counted_once_and_their_gradients_added_up():
    analysis = analyse(Shared(), torch.empty(2, 6))
    assert analysis.parameters == 42
    layer, itself = analysis.layers
    assert layer.parameters == 42
    assert itself.parameters == 0
    weights = fully_connected.parameter_gradient(2, 6, 6)
    assert layer.parameter_gradient.work == 3 * weights.work + 2 * 42


def test_gradients_are_computed_only_where_they_lead():
    x = torch.empty(2, 7)
    network = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 3))
    first, second = analyse(network, x).layers
    assert first.input_gradient == Pass()
    assert second.input_gradient.work > 0
    assert analyse(network, wanted(2, 7)).layers[0].input_gradient.work > 0
    network[0].requires_grad_(False)
    first, second = analyse(network, x).layers
    assert first.parameter_gradient == second.input_gradient == Pass()
    assert first.parameters == 40
    nothing = analyse(network.requires_grad_(False), x)
    assert nothing.backward == Pass()
    assert nothing.activation_bytes == 0


def test_bytes_are_those_of_arguments_and_results():
    forward = analyse(nn.Linear(7, 5), torch.empty(2, 7)).forward
    assert forward.nbytes == 4 * (2 * 7 + 7 * 5 + 5 + 2 * 5)
    assert forward.intensity == forward.work / forward.nbytes
    halves = analyse(nn.Linear(7, 5, dtype=torch.half), torch.empty(2, 7, dtype=torch.half))
    assert halves.forward.nbytes == forward.nbytes / 2
    # Of a table of words only the rows that are looked up are read, but a gradient has them all.
    words = analyse(nn.Embedding(1000, 8), torch.zeros(3, dtype=torch.long))
    assert words.forward.nbytes == 3 * 8 + 2 * (3 * 8 * 4)
    assert words.backward.nbytes > 1000 * 8 * 4
    # A view moves nothing, a copy moves its bytes twice.
    assert analyse(nn.Flatten(), torch.empty(2, 3, 4)).operations == ()


def test_training_and_evaluation_differ():
    network = nn.Sequential(nn.BatchNorm1d(6), nn.Dropout())
    training, evaluation = (analyse(network.train(mode), wanted(8, 6)) for mode in (True, False))
    assert cost(evaluation.forward) == WorkDepth(6 * (3 + 3 * 8), 5)
    assert training.forward.work > evaluation.forward.work
    assert training.forward.depth > evaluation.forward.depth


def test_odd_modules_are_counted_whole_and_left_as_they_were():
    module = Odd().eval()
    before = copy.deepcopy(module.state_dict())
    parameters = [id(weights) for weights in module.parameters()]
    analysis = analyse(module, wanted(2, 3, 8))
    assert analysis.uncounted == ()
    assert {layer.kind for layer in analysis.layers} == {
        "Linear", "MultiheadAttention", "LSTM", "Odd",
    }  # fmt: skip
    assert analysis.parameters == sum(weights.numel() for weights in module.parameters())
    assert not hasattr(module, "seen")
    assert not module.training
    assert parameters == [id(weights) for weights in module.parameters()]
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert module(torch.zeros(2, 3, 8)).shape == (2, 3, 8)


def test_inputs_by_name_and_numbers_among_them():
    x, y = torch.empty(2, 3, 4), torch.empty(2, 5, 4)
    plain, scaled = analyse(Functional(), x, y), analyse(Functional(), x, y=y, scale=0.5)
    assert plain.forward == scaled.forward
    assert plain.parameters == 0
    assert {operation.layer for operation in plain.operations} == {""}
    assert plain.operations[0].line.startswith("modules.py, line ")


@pytest.mark.parametrize(
    ("inner", "shape"),
    [(Branches(), (2, 8)), (InPlace(), (1, 2, 5, 5)), (nn.GRU(3, 4), (5, 2, 3))],
)
def test_an_object_as_result_changes_nothing(inner, shape):
    plain, wrapped = (analyse(it, wanted(*shape)) for it in (inner, Wrapped(inner)))
    assert wrapped.forward == plain.forward
    assert wrapped.backward == plain.backward
    assert wrapped.activation_bytes == plain.activation_bytes
    names = {f"inner.{layer.name}".rstrip(".") for layer in plain.layers}
    assert {layer.name for layer in wrapped.layers} == names


def test_what_has_no_rule_is_named_and_can_be_given_one():
    class Sums(nn.Module):
        def forward(self, x):
            return functional.relu(x).cumsum(dim=1)

    analysis = analyse(Sums(), wanted(4, 8))
    assert analysis.uncounted == ("aten::cumsum",)
    assert [it.counted for it in analysis.operations] == [True, False]
    for text in (str(analysis), analysis._repr_html_()):
        assert "Not counted, and missing wherever a question mark stands: aten::cumsum" in text
        assert "32+ ?" in text
    rules = {
        "aten::cumsum": lambda call: OperationCost(
            elementwise(4 * 7), {"self": elementwise(4 * 7)}
        )
    }
    known = analyse(Sums(), wanted(4, 8), rules=rules)
    assert known.uncounted == ()
    assert known.forward.work == analysis.forward.work + 28
    assert "?" not in str(known)


def test_nothing_is_computed_and_no_memory_taken():
    with torch.device("meta"):
        network = vgg16.VGG16()
    x = torch.empty(1, *vgg16.IMAGE, device="meta")
    assert peak_allocation(lambda: analyse(network, x)) < 2**20
    # A network of real numbers is not copied either.
    large = nn.Linear(2**10, 2**10)
    assert peak_allocation(lambda: analyse(large, torch.empty(1, 2**10))) < 2**20


def test_the_table_reads():
    analysis = analyse(nn.Sequential(nn.Linear(700, 500), nn.ReLU()), torch.empty(20, 700))
    lines = str(analysis).splitlines()
    assert lines[0].split()[:4] == ["layer", "kind", "output", "parameters"]
    assert lines[1].split()[:2] == ["0", "Linear"]
    assert "20 x 500" in lines[1]
    assert "350 k" in lines[1]
    assert lines[3].startswith("Sequential")
    assert "Multiply-adds: 7,000,000 forward, 7,000,000 backward." in lines[-1]
    html = analysis._repr_html_()
    assert html.count("<tr>") == 3
    assert "20 x 500" in html


@pytest.mark.parametrize("network", [nn.Identity(), nn.Flatten(), nn.Sequential()])
def test_networks_that_compute_nothing_have_a_table_too(network):
    analysis = analyse(network, torch.empty(2, 3))
    assert analysis.forward == analysis.backward == Pass()
    assert type(network).__name__ in str(analysis)
    assert type(network).__name__ in analysis._repr_html_()


def test_an_empty_batch_is_no_work():
    empty = analyse(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), torch.empty(0, 3, 8, 8))
    assert empty.forward.work == 0


def test_what_is_no_module_or_has_no_shapes_yet_is_refused():
    with pytest.raises(TypeError, match=r"module is a torch\.nn\.Module, not <"):
        analyse(lambda x: x, torch.empty(3))
    with pytest.raises(ValueError, match="LazyLinear has parameters that get their shape in the"):
        analyse(nn.LazyLinear(4), torch.empty(2, 3))
