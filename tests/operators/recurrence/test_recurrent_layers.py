"""Every way to run a recurrent network computes what torch's own does: outputs and gradients."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch

from ddl_teach.operators.recurrence import layer_by_layer, packed, wavefront
from ddl_teach.operators.recurrence.module import WAYS, Recurrent
from ddl_teach.operators.recurrence.stack import Stack

KINDS = (torch.nn.RNN, torch.nn.GRU, torch.nn.LSTM)
WAYS_OF_A_LAYER = ("per_gate", "fused", "all_steps")
LAYERS = {name: getattr(layer_by_layer, name) for name in WAYS_OF_A_LAYER}
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def by_layers(name):
    def run(own, x, states, of_outputs, of_states):
        outputs, last, tapes = layer_by_layer.forward(own, x, states, layer=LAYERS[name])
        return outputs, last, layer_by_layer.gradients(own, tapes, of_outputs, of_states)

    return run


def by_wavefronts(own, x, states, of_outputs, of_states):
    outputs, last, tape = wavefront.forward(own, x, states)
    return outputs, last, wavefront.gradients(own, tape, of_outputs, of_states)


RUNS = {
    **{name: by_layers(name) for name in LAYERS},
    "wavefront": by_wavefronts,
}


def parts(weights):
    return [weights.input, weights.hidden, weights.input_bias, weights.hidden_bias]


def problem(kind, seed, initial):
    """A random network of torch's with data, what it computes, and all its gradients."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    layers, steps, batch, inputs, units = (
        int(generator.integers(1, most)) for most in (6, 9, 5, 8, 8)
    )
    module = kind(inputs, units, layers).double()
    own = Stack.of(module)
    x = torch.randn(steps, batch, inputs, dtype=torch.float64, requires_grad=True)
    states = tuple(
        torch.randn(layers, batch, units, dtype=torch.float64, requires_grad=True)
        for _ in range(own.cell.states)
    )
    given = (states if len(states) > 1 else states[0]) if initial else None
    outputs, last = module(x, given)
    last = last if isinstance(last, tuple) else (last,)
    of_outputs, *of_states = (torch.randn_like(result) for result in (outputs, *last))
    sources = [x, *(states if initial else ()), *module.parameters()]
    wanted = torch.autograd.grad([outputs, *last], sources, [of_outputs, *of_states])
    given = states if initial else None
    return own, (x, given, of_outputs, tuple(of_states)), (outputs, *last), wanted


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@each_kind
@pytest.mark.sampled(6)
@pytest.mark.slow
def test_outputs_and_gradients_are_those_of_torch(kind, run):
    for seed, initial in itertools.product(range(12), (True, False)):
        own, given, results, wanted = problem(kind, seed, initial)
        with torch.no_grad():
            outputs, last, (of_x, of_states, of_weights) = run(own, *given)
        assert_same([outputs, *last], results)
        of_layers = [part for weights in of_weights for part in parts(weights)]
        assert_same([of_x, *(of_states if initial else ()), *of_layers], wanted)


@each_kind
def test_the_gradients_of_one_step_are_those_that_autograd_finds(kind):
    cell, draw = Stack.of(kind(3, 4)).cell, torch.Generator().manual_seed(1)
    widths = [4 * cell.gates, 4 * cell.gates, *[4] * cell.states]
    given = [torch.randn(5, width, generator=draw).double().requires_grad_() for width in widths]
    after, kept = cell.step(given[0], given[1], tuple(given[2:]))
    of_after = [torch.randn(5, 4, generator=draw).double() for _ in after]
    of_input, of_hidden, past = cell.step_gradients(kept, tuple(of_after))
    right = torch.autograd.grad(after, given, of_after, materialize_grads=True)
    assert_same([of_input, of_hidden, *past], right)


@each_kind
def test_nobody_need_ask_for_the_last_states(kind):
    own, (x, states, of_outputs, of_states), _, _ = problem(kind, 5, True)
    zeros = tuple(torch.zeros_like(state) for state in of_states)
    with torch.no_grad():
        for run in RUNS.values():
            *_, (of_x, begun, _) = run(own, x, states, of_outputs, None)
            *_, (same_x, same_begun, _) = run(own, x, states, of_outputs, zeros)
            assert_same([of_x, *begun], [same_x, *same_begun])


@each_kind
@pytest.mark.parametrize("way", WAYS)
def test_as_a_module_autograd_finds_the_same_gradients(kind, way):
    module = kind(3, 4, 2).double()
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    results = []
    for network in (module, Recurrent(module, way)):
        module.zero_grad()
        outputs, last = network(x)
        (outputs.square().sum() + sum(state.sum() for state in last)).backward()
        last = last if isinstance(last, tuple) else (last,)
        gradients = [parameter.grad.clone() for parameter in module.parameters()]
        results.append([outputs, *last, *gradients])
    assert_same(*results)


def packed_run(own, x, states, of_outputs, of_states):
    outputs, last, tapes = layer_by_layer.forward(own, x, states, layer=packed.layer)
    back = layer_by_layer.gradients(own, tapes, of_outputs, of_states, layer=packed.gradients)
    return outputs, last, back


@pytest.mark.parametrize("initial", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_packed_has_the_outputs_and_gradients_of_torch(seed, initial):
    own, given, results, wanted = problem(torch.nn.LSTM, seed, initial)
    outputs, last, (of_x, of_states, of_weights) = packed_run(own, *given)
    assert_same([outputs, *last], results)
    of_layers = [part for weights in of_weights for part in parts(weights)]
    assert_same([of_x, *(of_states if initial else ()), *of_layers], wanted)


@pytest.mark.parametrize(("steps", "batch", "inputs", "units"), [(9, 3, 5, 8), (5, 16, 64, 32)])
def test_packed_by_onednn_agrees_within_single_precision(steps, batch, inputs, units):
    torch.manual_seed(steps)
    own = Stack.of(torch.nn.LSTM(inputs, units, 2))
    x, of_outputs = torch.randn(steps, batch, inputs), torch.randn(steps, batch, units)
    results = []
    for run in (by_layers("all_steps"), packed_run):
        with torch.no_grad():
            outputs, last, (of_x, of_states, of_weights) = run(own, x, None, of_outputs, None)
        of_layers = [part for weights in of_weights for part in parts(weights)]
        results.append([outputs, *last, of_x, *of_states, *of_layers])
    for own_result, plain in zip(*results, strict=True):
        torch.testing.assert_close(own_result, plain, rtol=1e-4, atol=1e-4)


def test_packed_without_a_tape_has_the_same_outputs():
    own, (x, states, *_), results, _ = problem(torch.nn.LSTM, 4, True)
    bare = partial(packed.layer, tape=False)
    outputs, last, _ = layer_by_layer.forward(own, x, states, layer=bare)
    assert_same([outputs, *last], results)


def test_packed_refuses_other_cells():
    own, (x, *_), _, _ = problem(torch.nn.GRU, 3, False)
    with pytest.raises(ValueError, match="packed computes an LSTM, not gru"):
        layer_by_layer.forward(own, x, layer=packed.layer)


@pytest.mark.parametrize(
    ("x", "states", "error", "words"),
    [
        (torch.ones(4, 3), None, ValueError, r"x of shape \(4, 3\): it must be \(steps, batch, 5"),
        (torch.ones(4, 3, 6), None, ValueError, r"\(steps, batch, 5\)"),
        (torch.ones(0, 3, 5), None, ValueError, "at least one step"),
        (torch.ones(4, 3, 5).double(), None, TypeError, "x is torch.float64 and the weights are"),
        (torch.ones(4, 3, 5), (torch.ones(2, 3, 7),), ValueError, "lstm needs 2 in a tuple"),
        (torch.ones(4, 3, 5), (torch.ones(2, 1, 7),) * 2, ValueError, r"of shape \(2, 3, 7\)"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(x, states, error, words):
    own = Stack.of(torch.nn.LSTM(5, 7, 2))
    for forward in (layer_by_layer.forward, wavefront.forward):
        with pytest.raises(error, match=words):
            forward(own, x, states)


@pytest.mark.parametrize(
    ("module", "error", "words"),
    [
        (torch.nn.Linear(2, 2), TypeError, "not a Linear"),
        (torch.nn.LSTM(2, 2, bidirectional=True), ValueError, "bidirectional=True of this LSTM"),
        (torch.nn.LSTM(4, 4, proj_size=2), ValueError, "proj_size=2"),
        (torch.nn.GRU(2, 2, 2, dropout=0.5), ValueError, "dropout=0.5"),
        (torch.nn.GRU(2, 2, bias=False), ValueError, "bias=False"),
        (torch.nn.RNN(2, 2, nonlinearity="relu"), ValueError, "'relu'"),
        (torch.nn.RNN(2, 2, batch_first=True), ValueError, "transpose x"),
    ],
)
def test_networks_that_are_not_computed_here_are_refused(module, error, words):
    with pytest.raises(error, match=words):
        Recurrent(module)


def test_a_way_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no way of Recurrent is called 'diagonal'"):
        Recurrent(torch.nn.LSTM(2, 2), "diagonal")
