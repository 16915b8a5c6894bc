"""In divided batches everything comes out of a network as before, in rooms below their limits."""

import copy
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional

from ddl_measure.experiments.divided_batches import plan, rooms_of
from ddl_teach.operators.convolution.methods import find
from ddl_teach.operators.convolution.operator import convolve
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches import divided, planning
from ddl_teach.operators.divided_batches.transform import (
    Untransformable,
    in_divided_batches,
    sites,
)

MIXED = (
    "forward im2col:1*2 fft:1*1; input_gradient direct:3*1 fft:1*1; "
    "weight_gradient fft:1*1 im2col:2*1 direct:3*1"
)


class Residual(nn.Module):
    """Convolutions as layers, in groups, with strides, and as a function; batch norm, a bypass."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4))
        self.inner = nn.Conv2d(4, 4, 3, padding="same", groups=2)
        self.down = nn.Conv2d(4, 6, (3, 2), stride=2)
        self.last = nn.Parameter(torch.randn(2, 6, 1, 1))

    def forward(self, x):
        x = functional.relu(self.stem(x))
        x = self.down(x + self.inner(x))
        return functional.conv2d(x, weight=self.last, stride=1).mean((2, 3))


@pytest.fixture(autouse=True)
def always_the_same_numbers():
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def network():
    return Residual().double()


@pytest.fixture
def x():
    return torch.randn(5, 3, 8, 9, dtype=torch.float64)


def outcome(network, x):
    """Output, the input's gradient, all gradients by name, and batch normalisation's memory."""
    x = x.clone().requires_grad_()
    network.zero_grad()
    output = network(x)
    (output**2).sum().backward()
    gradients = {name: one.grad for name, one in network.named_parameters()}
    return {"output": output, "x": x.grad, **gradients, **dict(network.named_buffers())}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], rtol=1e-10, atol=1e-10, msg=name)


def test_the_same_comes_out_of_a_network_in_divided_batches(network, x):
    twin = copy.deepcopy(network)
    new = in_divided_batches(network, {site.name: MIXED for site in sites(network, x)})
    assert new.state_dict().keys() == network.state_dict().keys()
    assert all(
        one is other
        for one, other in zip(
            dict(new.named_parameters()).values(),
            dict(network.named_parameters()).values(),
            strict=True,
        )
    )
    assert_same(outcome(new, x), outcome(twin, x))
    # The next batch is smaller, as the last one of an epoch is; then one is larger.
    for batch in (1, 3, 11):
        x = torch.randn(batch, 3, 8, 9, dtype=torch.float64)
        assert_same(outcome(new, x), outcome(twin, x))
    assert "divided_batches" in new.code
    assert "divided_batches" not in str(network)


@pytest.mark.slow
def test_it_compiles_as_one_graph(network, x):
    twin = copy.deepcopy(network)
    new = in_divided_batches(network, {site.name: MIXED for site in sites(network, x)})
    compiled = torch.compile(new, backend="aot_eager", fullgraph=True)
    found = outcome(compiled, x)
    assert_same({name.removeprefix("_orig_mod."): it for name, it in found.items()},
                outcome(twin, x))  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        lambda x, weight: convolve(x, weight, padding=1, method="fft"),
        lambda x, weight: torch.ops.ddl_teach.convolution(
            x, weight, [1, 1], [1, 1], 1, "fft", None
        ),
    ],
)
def test_a_network_that_has_our_operator_already_is_transformed_too(x, call):
    class Ours(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 3, 3, 3, dtype=torch.float64))

        def forward(self, x):
            return call(x, self.weight)

    ours = Ours()
    (site,) = sites(ours, x)
    new = in_divided_batches(ours, {site.name: MIXED})
    assert "divided_batches" in new.code
    assert_same(outcome(new, x), outcome(copy.deepcopy(ours), x))


def test_gradients_of_gradients_and_shapes_are_what_torch_expects(x):
    weight = torch.randn(2, 1, 3, 3, dtype=torch.float64, requires_grad=True)
    x = x[:3, :1, :4, :5].clone().requires_grad_()
    arguments = (x, weight, [1, 1], [1, 0], 1, MIXED, None)
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(divided.convolution, arguments, test_utils=tests)
    call = lambda x, weight: divided.convolution(x, weight, *arguments[2:])  # noqa: E731
    assert torch.autograd.gradcheck(call, (x, weight), fast_mode=True)
    assert torch.autograd.gradgradcheck(call, (x, weight), fast_mode=True)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda net: setattr(net, "inner", nn.Conv2d(4, 4, 3, padding=2, dilation=2)),
         r"inner: dilation=\(2, 2\), .* keep=\['inner'\]"),
        (lambda net: setattr(net, "inner", nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect")),
         "inner: padding_mode='reflect'"),
        (lambda net: setattr(net, "inner", nn.Conv2d(4, 4, (2, 3), padding="same")),
         "inner: padding='same' is not the same on both sides"),
        (lambda net: net.inner.register_forward_hook(print), "inner: it has hooks"),
    ],
)  # fmt: skip
def test_what_cannot_be_divided_is_refused_with_the_reason(network, x, change, words):
    change(network.double())
    network.double()
    with pytest.raises(Untransformable, match=words):
        sites(network, x)
    with pytest.raises(Untransformable, match=words):
        in_divided_batches(network, {"inner": MIXED})
    kept = sites(network, x, keep=["inner"])
    assert [site.name for site in kept] == ["stem_0", "down", "conv2d"]
    if "hooks" not in words:
        new = in_divided_batches(network, {site.name: MIXED for site in kept})
        torch.testing.assert_close(new(x), network(x), rtol=1e-10, atol=1e-10)


def test_other_refusals(network, x):
    class Looks(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(Untransformable, match="Looks cannot be written down as a graph"):
        sites(Looks(), x)

    class Drops(nn.Sequential):
        def forward(self, x):
            return functional.dropout(super().forward(x), 0.5, self.training)

    drops = Drops(nn.Conv2d(3, 4, 3)).double().eval()
    with pytest.raises(Untransformable, match="Drops computes something else in training"):
        sites(drops, x)
    assert not any(module.training for module in drops.modules())
    knows = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Dropout(0.5)).double()
    for network_now in (knows.eval(), knows.train()):
        cut = in_divided_batches(network_now, {"_0": MIXED})
        torch.manual_seed(3)
        found = cut(x)
        torch.manual_seed(3)
        torch.testing.assert_close(found, network_now(x))
    assert not in_divided_batches(knows.eval(), {"_0": MIXED}).training

    with pytest.raises(Untransformable, match="no convolution is called outer; there are stem_0"):
        in_divided_batches(network, {"outer": MIXED})
    with pytest.raises(Untransformable, match="without a batch there is nothing to divide"):
        sites(nn.Sequential(nn.Conv2d(3, 4, 3)).double(), x[0])
    weight = torch.randn(2, 3, 3, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match="stride"):
        divided.convolve(x, weight, None, 2, 0, 1, MIXED.replace("im2col", "winograd_2x2"))
    with pytest.raises(ValueError, match="no method is called 'im2cool'"):
        divided.convolve(x, weight, None, 1, 0, 1, MIXED.replace("im2col", "im2cool"))


def test_the_limit_is_that_of_one_piece():
    problem, like = Convolution(6, 4, 6, 6, 4), torch.empty(0)
    needed = find("im2col").workspace(replace(problem, batch=2), like.dtype)
    by_twos = partial(divided.by_recipe, "forward", problem, like, "forward im2col:2*3")
    assert by_twos(needed) == divided.Divided("im2col:2*3")
    with pytest.raises(MemoryError, match=f"needs a workspace of {needed:,} bytes"):
        by_twos(needed - 1)


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_a_whole_network_is_planned_transformed_and_stays_below_its_limit(together):
    network, x = Residual(), torch.randn(6, 3, 10, 10)
    few = {"methods": ["im2col", "fft"], "sizes": [1, 2, 6], "repetitions": 1}
    generous = plan(network, x, limit=2**40, together=together, **few)
    jobs = generous.jobs
    least = [
        min(one.workspace for one in job.offers) for by in jobs.values() for job in by.values()
    ]
    limit = (sum(least) if together else max(least)) + 10_000
    modest = planning.decide(jobs, limit, together)
    assert modest.workspace <= limit < generous.workspace
    assert modest.seconds >= generous.seconds
    twin = copy.deepcopy(network)
    cut = in_divided_batches(network, modest.recipes)
    found, wanted = outcome(cut, x), outcome(twin, x)
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], rtol=1e-3, atol=1e-3, msg=name)
    # The plan's room is what the network takes, counted in a whole step.
    rooms = rooms_of(lambda: outcome(cut, x))
    assert [room.direction for room in rooms].count("forward") == len(jobs)
    assert len(rooms) == 3 * len(jobs)
    assert 0 < max(room.nbytes for room in rooms) <= modest.workspace <= limit
    lines = str(modest).splitlines()
    assert max(map(len, lines)) < 100
    report = [line for line in lines[1:] if not line.startswith(" ")]
    assert [line.split(",")[0] for line in report] == [name for name in jobs for _ in range(3)]
