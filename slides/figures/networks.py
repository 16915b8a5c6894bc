"""Part 3: a network over many ranks, by formula, simulated and as recorded."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache, partial

import numpy as np
from matplotlib.figure import Figure
from torch import device, nn, randn

from benchmarks.recorded import head
from ddl_class.plots.memory import plot_held, plot_tradeoff
from ddl_class.plots.networks import (
    PARTS,
    plot_bucket_sizes,
    plot_either_way,
    plot_pipeline,
    plot_shares,
    plot_wait_and_memory,
    plot_ways,
)
from ddl_measure.analysis import analyse
from ddl_measure.experiments.layers import compare_pairs, compare_tiles
from ddl_measure.experiments.pipelines import timed
from ddl_measure.zoo.alexnet import OneColumn
from ddl_teach import simulate
from ddl_teach.comm import Uniform
from ddl_teach.networks.memory.checkpointing import cost
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.naive import naive
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble
from ddl_teach.theory import checkpointing, collectives, data_parallel, memory
from ddl_teach.theory.grids import layers
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.search import RankedGrid, search
from ddl_teach.theory.machine import Cluster, Link

FREE = Uniform(latency=0.0, bandwidth=float("inf"))
RANKS, MICRO_BATCHES = 4, 8
GOOD = Uniform(latency=1e-6, bandwidth=10e9)
MANY, BACKWARD = 1024, 0.2  # ranks that average GPT-2, and seconds of its backward pass
WIDE, TOKENS = 12_288, 2048  # of a layer of a large language model
WEIGHTS, SHARERS = 7_500_000_000, 64  # of the ZeRO paper's example
GPT = {"blocks": 24, "width": 2048, "heads": 16, "length": 2048, "vocabulary": 51_200}


def bucket_sizes() -> Figure:
    """A step of GPT-2 on 1,024 ranks over the size of its buckets."""
    nbytes = 4 * np.array(data_parallel.gpt2_gradients())
    seconds, limits = BACKWARD * nbytes / nbytes.sum(), 2.0 ** np.arange(10, 31, 0.5)
    takes = partial(collectives.ring, MANY, link=Link(5e-6, 1e-10))
    times = [data_parallel.step_time(seconds, nbytes, limit, takes) for limit in limits]
    return plot_bucket_sizes((limits, times), backward=BACKWARD)


def data_parallel_where() -> str:
    """The machine and the network of that table."""
    about = head("data_parallel.txt")
    return f"2 ranks, {about['processor']}, {about['date']}; medians, 95% intervals"


def sum_that_stays() -> Figure:
    """A wide layer on up to 256 ranks."""
    lines, squares = compare_pairs(2 ** np.arange(9), tokens=TOKENS, width=WIDE)
    title = "A pair of layers: its work, and with its sum"
    return plot_ways("ranks", lines, squares, title=title)


def halos() -> Figure:
    """Tiles whose halos travel meanwhile, or not."""
    lines, squares = compare_tiles(4 ** np.arange(1, 5), 512, maps=64, images=16, network=GOOD)
    title = "A convolution on tiles: halos first, or meanwhile"
    return plot_ways("ranks", lines, squares, title=title)


@cache
def alexnet() -> tuple[np.ndarray, np.ndarray]:
    """Parameters and forward work of the eight layers that have weights."""
    with device("meta"):
        table = analyse(OneColumn(), randn(1, 3, 224, 224))
    counts = [(one.parameters, one.forward.work) for one in table.layers if one.parameters]
    return tuple(np.array(counts).T)


def convolutions_weights() -> str:
    """The share of AlexNet's parameters that its convolutions have."""
    weights, _ = alexnet()
    return f"{weights[:5].sum() / weights.sum():.0%}"


def convolutions_work() -> str:
    """The share of AlexNet's forward work that its convolutions do."""
    _, work = alexnet()
    return f"{work[:5].sum() / work.sum():.0%}"


def either_way() -> Figure:
    """What each layer would send, split by samples or by weights."""
    weights, _ = alexnet()
    wide = [3 * 224**2, 64 * 27**2, 192 * 13**2, 384 * 13**2, 256 * 13**2, 9216, 4096, 4096]
    names = [f"convolution {k}" for k in range(1, 6)] + [f"fully connected {k}" for k in (1, 2, 3)]
    return plot_either_way(names, weights.tolist(), [128 * one for one in wide])


def one_at_a_time() -> Figure:
    """A pipeline without micro-batches in flight."""
    return _drawn(naive(RANKS, MICRO_BATCHES), "One micro-batch at a time")


def all_forward() -> Figure:
    """GPipe."""
    return _drawn(gpipe(RANKS, MICRO_BATCHES), "GPipe: all forward, then all backward")


def in_turns() -> Figure:
    """1F1B."""
    return _drawn(one_f_one_b(RANKS, MICRO_BATCHES), "1F1B: as soon as one can go back, it does")


def wait_and_memory() -> Figure:
    """Idle time over what is kept."""
    points = {}
    for schedule in (naive(4, 16), gpipe(4, 16), one_f_one_b(4, 16), zero_bubble(4, 16)):
        run = simulate(timed, 4, network=FREE, schedule=schedule)
        points[schedule.name] = 1 - 16 * 3 / run.time, max(it.peak for it in run.results)
    return plot_wait_and_memory(points, kept="micro-batches kept at most")


def stages_of_memory() -> Figure:
    """7.5 billion weights on 64 ranks."""
    stages = {
        f"stage {k}": memory.held(k, [WEIGHTS], SHARERS, weight=2, state=12) for k in range(4)
    }
    title = "7.5 billion weights on 64 ranks, by formula"
    return plot_held({name: asdict(held) for name, held in stages.items()}, title=title)


def recomputed() -> Figure:
    """Layers computed over activations kept, of a chain of 36 small layers."""
    chain = checkpointing.Chain.even(36)
    rooms = (3, 4, 5, 6, 8, 11, 12, 14, 19, 36)
    plans = {
        "the best plan": [checkpointing.cheapest(chain, room) for room in rooms],
        "equal stretches": [checkpointing.equal_stretches(36, k) for k in (6, 4, 3, 2, 1)],
    }
    network = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(36)))
    x = randn(16, 64)
    peak, seconds = checkpointing.peak, checkpointing.seconds
    lines = {
        name: [(x.nbytes * peak(plan, chain), seconds(plan, chain)) for plan in each]
        for name, each in plans.items()
    }
    dots = {name: [cost(network, x, plan) for plan in each] for name, each in plans.items()}
    few = plans["the best plan"][2]
    more = seconds(few, chain) / 36
    title = f"A chain of 36: {peak(few, chain)} held, for {more:.1f} times the layers"
    return plot_tradeoff(lines, dots, title=title)


@cache
def grids() -> list[RankedGrid]:
    """All grids of 512 ranks for a network of 24 blocks, the fastest first by the model."""
    network = layers.transformer(**GPT)
    return search(network, Cluster(64), batch=512)


def some_grids() -> Figure:
    """Those that come first by the model, and data parallelism alone."""
    found = grids()
    shown = [*found[:7], next(one for one in found if one.grid == Grid(data=512))]
    spent = {part: [getattr(one.seconds, part) for one in shown] for part in PARTS}
    title = "By a model of nodes whose eight ranks share one card"
    return plot_shares([str(one.grid) for one in shown], spent, title=title)


def _drawn(schedule: Schedule, title: str) -> Figure:
    run = simulate(timed, schedule.ranks, network=FREE, schedule=schedule)
    return plot_pipeline(run.timeline, title=title)
