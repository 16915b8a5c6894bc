"""Part 1: inside one layer, by counting, by formula and as recorded."""

from __future__ import annotations

import numpy as np
import torch
from matplotlib.figure import Figure

from benchmarks.recorded import head
from ddl_class.plots.convolutions import plot_errors, plot_method_map
from ddl_class.plots.memory import plot_divisions, plot_front
from ddl_class.plots.recurrences import plot_magnitudes, plot_sum_errors, plot_wavefronts
from ddl_class.plots.work_depth import plot_bounds, plot_operation_graph, plot_schedule
from ddl_measure.experiments import precision
from ddl_teach.operators.convolution.methods import find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches import dynamic, predicted
from ddl_teach.operators.divided_batches.front import desirable
from ddl_teach.operators.graphs import fully_connected
from ddl_teach.operators.graphs.schedule import greedy
from ddl_teach.theory.convolution_cost import cost
from ddl_teach.theory.convolution_time import Rates, seconds
from ddl_teach.theory.wavefront import fronts

MIB = 2**20
ACCELERATOR = Rates(product=10e12, transform=2e12, bandwidth=500e9)
LAYER = Convolution(64, 64, 27, 27, 192, kernel=(5, 5), padding=(2, 2))  # AlexNet's second


def tree_sum() -> Figure:
    """Eight numbers, two by two."""
    two_by_two = [[], [], [], [], [0, 1], [2, 3], [4, 5]]
    title = "Seven additions, and only three of them in a chain"
    return plot_operation_graph(two_by_two, title=title)


def schedule() -> Figure:
    """A small layer on six processors."""
    graph = fully_connected.forward(2, 8, 2, bias=False)
    made = greedy(graph.predecessors(), 6)
    look = {"kinds": graph.names(), "unit": "steps", "depth": graph.depth}
    return plot_schedule(made.start, made.duration, made.processor, 6, **look)


def bounds() -> Figure:
    """A layer of 130,048 operations on up to 16,384 processors."""
    layer = fully_connected.forward(16, 64, 64, bias=False)
    operations = layer.predecessors()
    crews = (64, 1024, 16_384)
    times = {crew: float(np.max(greedy(operations, crew).start)) + 1 for crew in crews}
    return plot_bounds(layer.work, layer.depth, times)


def spoilt() -> dict[str, np.ndarray]:
    """Which outputs one broken value reaches, by method."""
    broken = torch.randn(1, 1, 14, 14)
    broken[0, 0, 6, 6] = float("nan")
    kernel = torch.randn(1, 1, 3, 3)
    ways = {"direct": "direct", "im2col": "im2col", "Winograd": "winograd_4x4", "FFT": "fft"}
    return {
        name: ~np.isfinite(find(way).forward(broken, kernel)[0, 0].numpy())
        for name, way in ways.items()
    }


def convolutions_where() -> str:
    """The machine of that table."""
    about = head("convolutions.txt")
    return f"{about['processor']}, one thread, {about['date']}; medians, 95% intervals"


def who_wins() -> Figure:
    """Over kernel size and channels, on an accelerator as described."""
    channels = np.unique(np.geomspace(1, 1024, 40).astype(int)).tolist()
    sizes = range(1, 16)
    ways = ("im2col", "winograd_4x4", "fft")
    shapes = [[Convolution(16, c, 56, 56, 64, r, padding=r // 2) for c in channels] for r in sizes]
    times = {
        way: np.array([[seconds(cost(way, one), ACCELERATOR) for one in row] for row in shapes])
        for way in ways
    }
    times["winograd_4x4"][[r != 3 for r in sizes]] = np.inf
    maps = {"an accelerator": times}
    picture = plot_method_map(
        maps, sizes, channels, row_quantity="kernel size", column_quantity="channels"
    )
    picture.axes[0].set_title("")  # the picture's own title has it
    return picture


def winograd_errors() -> Figure:
    """Winograd's errors over its tile, in float32."""
    random = torch.Generator().manual_seed(2)
    x = torch.randn(2, 64, 24, 24, generator=random)
    weight = torch.randn(32, 64, 3, 3, generator=random)
    truth, tiles = find("direct").forward(x.double(), weight.double()), [2, 3, 4, 6, 8, 10]
    names = ["direct", *(f"winograd_{m}x{m}" for m in tiles)]
    wrong = [float(torch.std(find(name).forward(x, weight) - truth)) for name in names]
    return plot_errors(tiles, np.divide(wrong[1:], wrong[0]))


def divisions() -> Figure:
    """AlexNet's second layer under one limit after another."""
    job, rows = predicted.predict(LAYER, ACCELERATOR, launch=20e-6)["forward"], {}
    for limit in (2, 5, 8, 16, 64, 100, 200):
        fitting = {offer.size: offer for offer in job.within(limit * MIB)}
        pieces = dynamic.best_sizes(64, {size: it.seconds for size, it in fitting.items()})
        rows[f"{limit} MiB"] = [(fitting[size].method, size) for size in pieces]
    return plot_divisions(rows, title="AlexNet's second layer: the best pieces under each limit")


def front() -> Figure:
    """Its divisions that no other one beats."""
    job = predicted.predict(LAYER, ACCELERATOR, launch=20e-6)["forward"]
    best = desirable(job)
    whole = {it.method: (it.workspace, it.seconds) for it in job.offers if it.size == 64}
    return plot_front([it.workspace for it in best], [it.seconds for it in best], whole)


def wavefronts() -> Figure:
    """Four layers, nine steps."""
    turns = [[(layer, turn - layer) for layer in of] for turn, of in enumerate(fronts(4, 9))]
    return plot_wavefronts(turns, layers=4, steps=9)


def sum_errors() -> Figure:
    """Sums of numbers between 0 and 1 in float16, in five ways."""
    terms = [2**k for k in range(3, 15)]
    limits = precision.sum_bounds(["in_order", "pairwise"], terms)
    return plot_sum_errors(
        precision.sum_errors(precision.SUMS, terms), limits, unit_roundoff=2**-11
    )


def magnitudes() -> Figure:
    """Gradients in float16, with the loss as it is and scaled."""
    task = precision.make_task()
    _, large = precision.loss_and_gradient(task, task.weights, scale=2.0**16)
    exact = large.astype(float)
    span = {"smallest": 2.0**-24, "smallest_normal": 2.0**-14, "largest": 65504.0}
    return plot_magnitudes({"loss": exact / 2**16, "loss x 65,536": exact}, **span)
