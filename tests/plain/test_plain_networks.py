"""Each plain way to split a network over ranks gives what its product gives."""

from functools import partial

import numpy as np
import pytest
import torch
from comparing import assert_all_close, assert_differs, changed
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from ddl_teach.networks.axis_collectives import all_gather
from ddl_teach.networks.data_parallel import train_replicas
from ddl_teach.networks.data_parallel.averaging import average_gradients
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.partitions import Replicated
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.spatial import halo as halo_product
from ddl_teach.networks.spatial.network import split_windows
from ddl_teach.networks.spatial.tiles import tiles
from ddl_teach.networks.tensor.linear import ColumnLinear, RowLinear
from ddl_teach.networks.tensor.product_3d import BlockLinear, product_axes
from ddl_teach.plain import buckets, data_parallel, halo, product_3d, tensor_parallel
from ddl_teach.theory.product_3d import ProductGrid

SIZES = (5, 9, 3)
RATE = 0.1


def batches():
    """One has fewer samples than there are ranks, and most are divisible by none."""
    drawn = torch.Generator().manual_seed(1)
    return [
        (
            torch.randn(size, SIZES[0], generator=drawn, dtype=torch.float64),
            torch.randint(0, SIZES[-1], (size,), generator=drawn),
        )
        for size in (24, 23, 3, 17)
    ]


def flat(tensors):
    return parameters_to_vector(tensors).detach().numpy()


def sum_of_gradients(weights, inputs, targets):
    network = mlp(SIZES).double()
    vector_to_parameters(torch.from_numpy(weights.copy()), network.parameters())
    scores = network(torch.from_numpy(inputs))
    torch.nn.functional.cross_entropy(
        scores, torch.from_numpy(targets), reduction="sum"
    ).backward()
    return flat(parameter.grad for parameter in network.parameters())


def data_parallel_both(comm, change=None):
    weights = flat(mlp(SIZES).double().parameters()).copy()
    samples = [(inputs.numpy(), targets.numpy()) for inputs, targets in batches()]
    changed(data_parallel, change).train(comm, weights, sum_of_gradients, samples, RATE)
    network = mlp(SIZES).double()

    def backward(error):
        error.backward()
        average_gradients(comm, list(network.parameters()))

    descent = partial(Descent, rate=RATE, momentum=0.0)
    train_replicas.train(comm, network, batches(), backward, optimizer=descent)
    return weights, flat(network.parameters())


@pytest.mark.sampled(3)
def test_data_parallel_training_ends_where_its_product_ends(run):
    results = run(data_parallel_both).results
    assert_all_close(results)
    assert len({weights.tobytes() for weights, _ in results}) == 1


SHAPES = [(9, 5), (9,), (40, 9), (3, 9), (3,)]  # 45, 9, 360, 27 and 3 numbers of 8 bytes


def gradients_of(rank):
    rng = np.random.default_rng(rank)
    return [rng.standard_normal(shape) for shape in SHAPES]


def buckets_both(comm, nbytes, change=None):
    mine = gradients_of(comm.rank)
    changed(buckets, change).average(comm, reversed(mine), nbytes)
    parameters = [torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in SHAPES]
    for parameter, gradient in zip(parameters, gradients_of(comm.rank), strict=True):
        parameter.grad = torch.from_numpy(gradient)
    average_buckets(comm, fill(parameters, nbytes))
    return mine, [parameter.grad.numpy() for parameter in parameters]


@pytest.mark.parametrize("nbytes", [1, 300, 10**6])
@pytest.mark.sampled(4)
def test_buckets_hold_the_averages_that_the_product_holds(run, nbytes):
    assert_all_close(run(buckets_both, nbytes=nbytes).results)


def backward_and_average(comm, nbytes):
    def backward():
        for gradient in gradients_of(comm.rank):
            comm.work(seconds=1e-4)
            yield gradient

    buckets.average(comm, backward(), nbytes)


@pytest.mark.parametrize(("nbytes", "count"), [(1, 5), (72, 5), (300, 3), (10**6, 1)])
def test_a_bucket_is_one_allreduce(nbytes, count):
    run = simulate(backward_and_average, 4, nbytes=nbytes)
    for ledger in run.ledger:
        sent = [one for one in ledger.messages if one.kind not in ("background", "split")]
        assert len(sent) == 2 * 3 * count


def test_buckets_travel_during_the_backward_pass():
    """On a network on which all messages take about as long as the pass."""
    network = Uniform(latency=1e-6, bandwidth=1e7)
    times = {
        nbytes: simulate(backward_and_average, 2, network=network, nbytes=nbytes).time
        for nbytes in (1, 10**6)
    }
    assert times[1] < times[10**6]


def tensor_both(comm, change=None):
    torch.manual_seed(1)
    whole = [torch.nn.Linear(6, 11, bias=False), torch.nn.Linear(11, 4, bias=False)]
    first, second = (layer.double() for layer in whole)
    x, dy = (torch.randn(7, width, dtype=torch.float64) for width in (6, 4))
    mine = own_slice(11, comm)
    a = first.weight.detach().numpy().T[:, mine]
    b = second.weight.detach().numpy().T[mine]
    file = changed(tensor_parallel, change)
    y, hidden = file.forward(comm, x.numpy(), a, b)
    gradients = file.backward(comm, x.numpy(), a, b, hidden, dy.numpy())

    region = Replicated(comm)
    column, row = ColumnLinear(region, first), RowLinear(region, second)
    x.requires_grad_()
    output = row(column(x).relu())
    output.backward(dy)
    product = [output.detach(), x.grad, column.weight.grad.T, row.weight.grad.T]
    return [y, *gradients], [tensor.numpy() for tensor in product]


@pytest.mark.sampled(4)
def test_a_pair_of_layers_gives_outputs_and_gradients_of_its_product(run):
    assert_all_close(run(tensor_both, threads=True).results)


GRIDS = {1: (1, 1, 1), 2: (1, 1, 2), 3: (3, 1, 1), 4: (2, 1, 2), 5: (1, 5, 1), 8: (2, 2, 2)}


def block(whole, parts, place):
    """Block `place` of a matrix that is cut into so many parts down and across."""
    rows = np.array_split(whole, parts[0])[place[0]]
    return np.array_split(rows, parts[1], axis=1)[place[1]].copy()


def only_chunk(matrix, chunk, chunks):
    """The matrix with one chunk of its rows; the others are still to come."""
    room = np.full(matrix.shape, np.nan)
    np.array_split(room, chunks)[chunk][...] = np.array_split(matrix, chunks)[chunk]
    return room


def product_both(comm, grid, size=13, change=None):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((size, size + 2)), rng.standard_normal((size + 2, size))
    (p, q, r), (i, j, k) = grid, np.unravel_index(comm.rank, grid)
    own_a = only_chunk(block(a, (p, r), (i, k)), j, q)
    own_b = only_chunk(block(b, (r, q), (k, j)), i, p)
    mine = changed(product_3d, change).multiply(comm, own_a, own_b, grid)

    layer = torch.nn.Linear(size + 2, size).double()
    layer.weight.data = torch.from_numpy(b.T.copy())
    layer.bias.data.zero_()
    # The product's x runs fastest, and cuts outputs; y cuts inputs, z samples.
    arranged = comm.split(0, j + q * (k + r * i))
    axes = product_axes(arranged, ProductGrid(q, r, p))
    own_samples = torch.from_numpy(a)[own_slice(size, axes.z), own_slice(size + 2, axes.y)]
    with torch.no_grad():
        own = BlockLinear(axes, layer)(own_samples)
    c = all_gather(axes.z, all_gather(axes.x, own, 1, size), 0, size).numpy()
    return mine, np.array_split(block(c, (p, q), (i, j)), r)[k]


@pytest.mark.sampled(3)
def test_a_product_on_a_grid_gives_the_blocks_of_its_product(run, ranks):
    assert_all_close(run(product_both, grid=GRIDS[ranks]).results)


@pytest.mark.parametrize("grid", [(8, 1, 1), (1, 8, 1), (1, 1, 8), (4, 1, 2), (1, 2, 4)], ids=str)
def test_any_grid_of_eight_gives_the_blocks_of_its_product(grid):
    assert_all_close(simulate(product_both, 8, grid=grid).results)


def multiply_ones(comm, grid, n):
    (p, q, r) = grid
    a, b = np.ones((n // p, n // r)), np.ones((n // r, n // q))
    product_3d.multiply(comm, a, b, grid)


@pytest.mark.parametrize(
    ("grid", "numbers"),
    [((2, 2, 2), lambda n: 3 * (1 - 1 / 2) * n**2 / 4), ((1, 1, 8), lambda n: (1 - 1 / 8) * n**2)],
)
def test_a_product_on_a_grid_sends_the_numbers_of_its_formula(grid, numbers):
    run = simulate(multiply_ones, 8, grid=grid, n=16)
    assert [ledger.bytes_sent for ledger in run.ledger] == [8 * numbers(16)] * 8


IMAGES = (2, 3, 24, 7)


def halo_both(comm, reach, change=None):
    """A convolution on strips, and the gradient that goes home."""
    torch.manual_seed(1)
    file = changed(halo, change)
    layer = torch.nn.Conv2d(3, 4, (2 * reach + 1, 5), padding=(reach, 2), bias=False).double()
    images = torch.randn(*IMAGES, dtype=torch.float64)
    x = torch.from_numpy(np.array_split(images.numpy(), comm.size, axis=2)[comm.rank].copy())
    y = file.convolve(comm, x.numpy(), layer.weight.detach().numpy())
    split_windows(layer, tiles(comm, comm.size))
    product = layer(x).detach().numpy()

    x.requires_grad_()
    around = halo_product.with_halo(comm, x, 2, reach, reach)
    gradient = torch.randn(around.shape, dtype=torch.float64)
    around.backward(gradient)
    home = file.strip_gradient(comm, gradient.numpy(), reach)
    around_mine = file.with_halo(comm, x.detach().numpy(), reach)
    return [y, home, around_mine], [product, x.grad.numpy(), around.detach().numpy()]


@pytest.mark.parametrize("reach", [0, 1, 2])
@pytest.mark.sampled(4)
def test_strips_with_halos_give_outputs_and_gradients_of_their_product(run, reach):
    assert_all_close(run(halo_both, threads=True, reach=reach).results)


def exchange(comm, rows):
    halo.with_halo(comm, np.ones((2, 3, 4, 7)), rows)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_strip_sends_as_many_numbers_as_its_formula_says(rows):
    inside = 2 * rows * 2 * 3 * 7
    sent = [ledger.bytes_sent for ledger in simulate(exchange, 4, rows=rows).ledger]
    assert sent == [8 * inside // 2, 8 * inside, 8 * inside, 8 * inside // 2]


CHANGES = [
    (data_parallel_both, {}, "    allreduce(comm, total)", "    pass"),
    (data_parallel_both, {}, "/ len(inputs)", "/ len(own_inputs) / comm.size"),
    (buckets_both, {"nbytes": 300}, " / comm.size", ""),
    (buckets_both, {"nbytes": 300}, "start += gradient.size", "start += 1"),
    (tensor_both, {}, "allreduce(comm, y)", ""),
    (tensor_both, {}, "allreduce(comm, dx)", ""),
    (tensor_both, {}, "* (hidden > 0)", ""),
    (product_both, {"grid": (1, 1, 2)}, "return reduce_scatter(with_same_c, a @ b)",
     "return np.array_split(a @ b, with_same_c.size)[k]"),
    (halo_both, {"reach": 1}, "own[:, :, :rows] += above", ""),
    (halo_both, {"reach": 1}, "[above, x, below]", "[below, x, above]"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "settings", "old", "new"), CHANGES)
def test_a_change_of_the_plain_file_is_noticed(program, settings, old, new):
    assert_differs(simulate(program, 2, threads=True, change=(old, new), **settings).results)
