"""Windows on tiles: any kernel, stride and padding that can be split is the whole layer's, to the
last digits and forwards and backwards, and the ledger says what the formula does."""

import itertools

import numpy as np
import pytest
import torch
from deaf import Deaf
from torch import nn

from ddl_measure.experiments.layers import convolution
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_teach import simulate
from ddl_teach.networks.both_ways import all_reduce
from ddl_teach.networks.shares import share
from ddl_teach.networks.spatial.network import put_together, split_images, split_windows
from ddl_teach.networks.spatial.tiles import tiles
from ddl_teach.theory.halo import halo, seconds
from ddl_teach.theory.machine import Link

GRIDS = {1: (1, 1), 2: (1, 2), 3: (3, 1), 4: (2, 2), 6: (2, 3), 8: (4, 2)}
HEIGHT, WIDTH = 24, 48
UNITS = 6, 12  # of four points; four strips do not divide six of them
LAYERS = {
    "3 x 3": lambda: nn.Conv2d(3, 2, 3, padding=1),
    "5 x 3, groups": lambda: nn.Conv2d(4, 4, (5, 3), padding=(2, 1), groups=2, bias=False),
    "stride 2": lambda: nn.Conv2d(2, 3, 3, stride=2, padding=1),
    "even": lambda: nn.Conv2d(2, 2, 4, stride=2, padding=1),
    "1 x 1 with gaps": lambda: nn.Conv2d(2, 2, 1, stride=2),
    "dilated": lambda: nn.Conv2d(2, 2, 3, padding=2, dilation=2),
    "maximum": lambda: nn.MaxPool2d(3, 2, padding=1),
    "mean": lambda: nn.AvgPool2d(2),
}


def whole(kind):
    """The layer on whole images: output, and gradients of images and parameters."""
    torch.manual_seed(len(kind))
    layer = LAYERS[kind]().double()
    maps = getattr(layer, "in_channels", 2)
    x = torch.randn(2, maps, HEIGHT, WIDTH).double().requires_grad_()
    y = layer(x)
    of_y = torch.randn_like(y)
    y.backward(of_y)
    return layer, x, y, of_y


def on_tiles(comm, kind, heard=True, overlap=False):
    """How far a rank's tile is from the whole layer; what it sent forwards and backwards."""
    layer, x, y, of_y = whole(kind)
    grid = tiles(comm if heard else Deaf(comm), *GRIDS[comm.size])
    own = grid.cut(x.detach(), UNITS).requires_grad_()
    wanted = [grid.cut(one.detach(), UNITS) for one in (y, x.grad)]
    wanted += [one.grad for one in layer.parameters()]
    layer.zero_grad()
    split_windows(layer, grid, overlap=overlap)
    counts = [comm.ledger.bytes_sent]
    found = layer(own)
    counts.append(comm.ledger.bytes_sent)
    found.backward(grid.cut(of_y, UNITS))
    counts.append(comm.ledger.bytes_sent)
    gradients = [all_reduce(grid.everybody, one.grad) for one in layer.parameters()]
    pairs = zip([found, own.grad, *gradients], wanted, strict=True)
    far = max((one - other).abs().max().item() for one, other in pairs)
    return far, [after - before for before, after in itertools.pairwise(counts)]


def halo_elements(rows, columns, above, below, left, right, height, width):
    """Numbers that a tile sends for each map and image, by the halos of the layer: edges above and
    below first; those left and right carry the corners with them."""
    down = (above * rows[1] + below * rows[0]) * width
    return down + (left * columns[1] + right * columns[0]) * (height + sum(rows))


def sent(kind, rank, ranks):
    layer, x, _, _ = whole(kind)
    rows, columns = GRIDS[ranks]
    row, column = divmod(rank, columns)
    sizes = []
    for axis in (0, 1):
        kernel, stride, padding, dilation = (
            value if isinstance(value, int) else value[axis]
            for value in (
                layer.kernel_size, layer.stride, layer.padding, getattr(layer, "dilation", 1)
            )
        )  # fmt: skip
        sizes.append(halo(dilation * (kernel - 1) + 1, stride, padding))
    place = {"above": row > 0, "below": row + 1 < rows, "left": column > 0}
    height, width = (
        4 * len(share(units, parts, mine))
        for units, parts, mine in zip(UNITS, (rows, columns), (row, column), strict=True)
    )
    place |= {"right": column + 1 < columns, "height": height, "width": width}
    every = 8 * x.shape[0] * x.shape[1]
    back = [size[::-1] for size in sizes]
    return [every * halo_elements(*sizes, **place), every * halo_elements(*back, **place)]


def every_layer(comm):
    return {
        (kind, *way): on_tiles(comm, kind, *way)
        for kind in LAYERS
        for way in ((False, False), (True, False), (True, True))
    }


def assert_whole(run):
    ranks = len(run.results)
    for kind in LAYERS:
        deaf = max(own[kind, False, False][0] for own in run.results)
        # Windows that lie side by side within the tiles need nobody.
        assert ranks == 1 or (deaf > 1e-2) == (kind != "mean")
        for rank, own in enumerate(run.results):
            for overlap in (False, True):
                far, counts = own[kind, True, overlap]
                assert far < 1e-10, (kind, overlap)
                assert counts == sent(kind, rank, ranks), (kind, overlap)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", GRIDS)
@pytest.mark.sampled(3)
def test_tiles_compute_what_whole_images_do_on_simulated_ranks(ranks):
    assert_whole(simulate(every_layer, ranks, threads=True, trace=False))


@pytest.mark.parametrize("ranks", [3, 6])
def test_and_on_real_ones(ranks, real):
    assert_whole(real(every_layer, ranks, timeout=900, trace=False))


class Worked(torch.autograd.Function):
    """Lets the time of a piece of work pass, backwards twice as much."""

    @staticmethod
    def forward(ctx, comm, y, per_point):
        ctx.comm, ctx.seconds = comm, per_point * y.shape[2] * y.shape[3]
        comm.work(seconds=ctx.seconds)
        return y.view_as(y)

    @staticmethod
    def backward(ctx, gradient):
        ctx.comm.work(seconds=2 * ctx.seconds)
        return None, gradient, None


def timed_layer(comm, grid, overlap, per_point):
    """Seconds of a 5 x 5 convolution, forwards and backwards, as the library computes it."""
    layer, place = nn.Conv2d(2, 2, 5, padding=2).double(), tiles(comm, *grid)
    compute = layer.forward
    layer.forward = lambda x: Worked.apply(comm, compute(x), per_point)
    split_windows(layer, place, overlap=overlap)
    x = place.cut(torch.ones(3, 2, 60, 60).double(), (60, 60)).requires_grad_()
    comm.work(seconds=1.0 - comm.now())  # a barrier lets some go a little earlier than others
    y = layer(x)
    forwards = comm.now() - 1.0
    comm.work(seconds=2.0 - comm.now())
    y.sum().backward()
    return forwards, comm.now() - 2.0


@pytest.mark.parametrize(("grid", "tile"), [((3, 3), (20, 20)), ((3, 1), (20, 60))])
@pytest.mark.parametrize("per_point", [1e-7, 1e-6, 1e-5])
def test_time_is_the_formula_and_overlap_is_real(grid, tile, per_point):
    """Both of the library's layer, there and back, and of the program without numbers."""
    net, size, across = Uniform(1e-4, 1e8), 3 * 2 * 8, grid[1] > 1
    given = {"reach": 5, "point_bytes": size}
    ranks, times = grid[0] * grid[1], {}
    for overlap in (False, True):
        costs = given | {"link": Link.of(net), "across": across, "overlap": overlap}
        forwards, backwards = (
            seconds(*tile, per_point=turns * per_point, **costs) for turns in (1, 2)
        )
        way = {"grid": grid, "overlap": overlap}
        run = simulate(timed_layer, ranks, threads=True, network=net, per_point=per_point, **way)
        assert np.max(run.results, 0) == pytest.approx([forwards, backwards], rel=1e-6)
        run = simulate(
            convolution, ranks, network=net, machine=Machine(flops=1.0), flops=per_point,
            image=(60, 60), **given, **way,
        )  # fmt: skip
        assert max(run.results) == pytest.approx(forwards, rel=1e-6)
        times[overlap] = forwards
    assert times[True] < times[False]


@pytest.mark.parametrize("kernel", range(1, 9))
@pytest.mark.parametrize("stride", range(1, 5))
@pytest.mark.parametrize("padding", range(5))
def test_the_condition_is_that_of_counting(kernel, stride, padding):
    """A strip of n s rows becomes n rows, for every n, exactly where `halo` has an answer."""
    counts = [(n * stride + 2 * padding - kernel) // stride + 1 for n in range(9, 20)]
    if counts == list(range(9, 20)):
        before, after = halo(kernel, stride, padding)
        assert before == padding
        # The first window of the next strip begins where this one's last would go on.
        assert after == max(kernel - stride - padding, 0)
        assert (9 * stride + before + after - kernel) // stride + 1 == 9
    else:
        with pytest.raises(ValueError, match="padding"):
            halo(kernel, stride, padding)


def refused(comm):
    """Everything that would be wrong on a tile, and the words that say so."""
    grid = tiles(comm, comm.size, 1)
    image = (1, 8, 8)
    cases = [
        (nn.BatchNorm2d(1), TypeError, "synchronised"),
        (nn.GroupNorm(1, 1), TypeError, "GroupNorm"),
        (nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular"), ValueError, "circular"),
        (nn.Conv2d(1, 1, 3, padding="same"), TypeError, "number of points"),
        (nn.MaxPool2d(2, ceil_mode=True), ValueError, "ceil_mode"),
        (nn.AvgPool2d(3, 1, 1, count_include_pad=False), ValueError, "count_include_pad"),
        (nn.Conv2d(1, 1, 3), ValueError, "padding=1 it would be"),
        (nn.Conv2d(1, 1, 2), ValueError, "no middle"),
    ]
    for layer, error, words in cases:
        with pytest.raises(error, match=words):
            split_images(nn.Sequential(layer, nn.Flatten()), grid, image)
    with pytest.raises(ValueError, match="put together"):
        split_images(nn.Sequential(nn.ReLU()), grid, image)
    network = nn.Sequential(nn.Conv2d(1, 1, 7, padding=3), nn.Flatten())
    cut = split_images(network, grid, image)
    with pytest.raises(ValueError, match="beyond the next rank"):
        network(cut(torch.zeros(1, *image)))
    pool = nn.MaxPool2d(2)
    split_windows(pool, grid)
    with pytest.raises(ValueError, match="larger units"):
        pool(torch.zeros(1, 1, 3, 8))
    with pytest.raises(ValueError, match="units"):
        grid.cut(torch.zeros(1, 1, 9, 8), (4, 1))
    with pytest.raises(ValueError, match="rows of 5 tiles"):
        tiles(comm, 1, 5)
    return put_together(grid, torch.full((1, 1, 2, 2), float(comm.rank)), (2 * comm.size, 2))


def test_what_a_tile_cannot_do_is_refused():
    for result in simulate(refused, 4, threads=True).results:
        assert result[0, 0, :, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def pooled_by_norm(comm):
    """A pooling that has neither padding nor dilation: its tile, and that of the whole."""
    grid, pool = tiles(comm, comm.size, 1), nn.LPPool2d(2.0, 2, stride=2)
    x = torch.rand(1, 2, 16, 8, generator=torch.Generator().manual_seed(0))
    right = grid.cut(pool(x), (8, 4))
    split_windows(pool, grid)
    return pool(grid.cut(x, (8, 4))), right


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_a_pooling_without_a_padding_has_none(ranks):
    for own, right in simulate(pooled_by_norm, ranks, threads=True).results:
        torch.testing.assert_close(own, right)


def of_high_windows(comm, rows):
    """Windows of seven rows in steps of two: a tile has three rows above it, and two below."""
    torch.manual_seed(0)
    layer, grid = nn.Conv2d(1, 1, (7, 1), (2, 1), (3, 0)).double(), tiles(comm, comm.size, 1)
    x, units = torch.randn(1, 1, rows, 2).double().requires_grad_(), (rows // 2, 2)
    y = layer(x)
    y.square().sum().backward()
    own = grid.cut(x.detach(), units).requires_grad_()
    split_windows(layer, grid)
    tile = layer(own)
    tile.square().sum().backward()
    return (tile, own.grad), tuple(grid.cut(whole.detach(), units) for whole in (y, x.grad))


@pytest.mark.parametrize(("ranks", "rows"), [(1, 2), (2, 10), (3, 14)])
def test_one_rank_may_have_fewer_rows_than_a_halo_and_its_gradients_too(ranks, rows):
    for ours, right in simulate(of_high_windows, ranks, threads=True, rows=rows).results:
        torch.testing.assert_close(ours, right)
