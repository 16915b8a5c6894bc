"""The usual mistakes of unit 12, and words of the message that must name each."""

import itertools
import math

import numpy as np

from ddl_teach.collectives import ring as rings


def divisors(number):
    return [one for one in range(1, number + 1) if number % one == 0]


def sorted_only(ranks):
    quadruples = itertools.combinations_with_replacement(divisors(ranks), 4)
    return [one for one in quadruples if math.prod(one) == ranks]


def three_axes(ranks):
    return [(a, b, ranks // a // b, 1) for a in divisors(ranks) for b in divisors(ranks // a)]


def any_product(ranks):
    return [(a, b, c, d) for a, b, c, d in itertools.product(divisors(ranks)[:3], repeat=4)]


def twice(ranks):
    own = three_axes(ranks)
    return own + own


def model(
    grid, blocks, width, length, batch, micro_batches, *, replicas=None, own=None, hops=None,
    round_trips=None, averages=1, each=1, share=1, sums=4, itemsize=2,
):  # fmt: skip
    """The right model, of which each mistake changes one number."""
    data, pipeline, tensor, context = grid
    here = batch / data / micro_batches * length / context
    own = blocks / pipeline if own is None else own
    replicas = data * context if replicas is None else replicas
    hops = min(2, pipeline - 1) if hops is None else hops
    if round_trips is None:
        round_trips = 3 * context - 2 if context > 1 else 0
    weights = own * 12 * width**2 / tensor
    return [
        itemsize * numbers
        for numbers in (
            averages * 2 * (replicas - 1) / replicas * weights,
            micro_batches * hops * here * width * share,
            micro_batches * own * sums * 2 * (tensor - 1) / tensor * here * width,
            micro_batches * own * round_trips * 2 * here * width / tensor * each,
        )
    ]


def bytes_with(**changes):
    """A mistake: `changes` may depend on the grid and on the micro-batches."""

    def step_bytes(grid, blocks, width, length, batch, micro_batches):
        known = {name: change(grid, blocks, micro_batches) for name, change in changes.items()}
        return model(grid, blocks, width, length, batch, micro_batches, **known)

    return step_bytes


def product_with(gather=None, total=None):
    """The product with other groups to gather in and to sum over."""

    def product(comm, inputs, rows, grid):
        xs, ys, zs = grid
        x, y, z = comm.rank % xs, comm.rank // xs % ys, comm.rank // (xs * ys)
        block = np.empty((zs, *rows.shape))
        block[z] = rows
        if gather is None:
            rings.allgather(comm.split(x + xs * y), block)
        elif gather == "none":
            block = rows[None]
        outputs = inputs @ block.reshape(-1, rows.shape[1]).T
        if total is None:
            rings.allreduce(comm.split(x + xs * z), outputs)
        elif total == "all":
            rings.allreduce(comm, outputs)
        return outputs

    return product


def backwards(comm, inputs, rows, grid):
    """Gathers the shares of a block last one first."""
    xs, ys, zs = grid
    x, y, z = comm.rank % xs, comm.rank // xs % ys, comm.rank // (xs * ys)
    block = np.empty((zs, *rows.shape))
    block[zs - 1 - z] = rows
    rings.allgather(comm.split(x + xs * y, -z), block)
    outputs = inputs @ block.reshape(-1, rows.shape[1]).T
    rings.allreduce(comm.split(x + xs * z), outputs)
    return outputs


def everything_to_all(comm, inputs, rows, grid):
    """Right numbers, but first every rank of a replica gets everybody's rows."""
    rings.allreduce(comm, np.zeros((comm.size, *rows.shape)))
    return product_with()(comm, inputs, rows, grid)


def alone_in_the_sum(comm, inputs, rows, grid):
    """Only ranks with z = 0 enter the group in which terms are summed."""
    xs, ys, _ = grid
    if comm.rank >= xs * ys:
        return inputs
    return product_with()(comm, inputs, rows, grid)


def fastest(grid):
    """The sizes of a grid, the fastest running axis first."""
    data, pipeline, tensor, context = grid
    return tensor, context, data, pipeline


def digits(rank, sizes, divide_first=False):
    """The digits of a number by these sizes; right but for what the arguments say."""
    places = []
    for size in sizes:
        if divide_first:
            rank = rank // size
        places.append(rank % size)
        if not divide_first:
            rank = rank // size
    return places


def experts_with(
    copies=lambda ranks, axis: ranks / axis, own=lambda experts, axis: experts / axis, itemsize=2,
    times=4, share=lambda axis: (axis - 1) / axis, chosen=None,
):  # fmt: skip
    """Right, but for what the arguments say."""

    def expert_bytes(ranks, axis, experts, weights, tokens, often, width):
        many = copies(ranks, axis)
        averaged = itemsize * 2 * (many - 1) / many * own(experts, axis) * weights
        return averaged, 2 * times * share(axis) * (chosen or often) * tokens * width

    return expert_bytes


MISTAKES = [
    ("12.product", product_with(gather="none"), "gather the other shares, along z"),
    ("12.product", product_with(total="none"), "the term of its own inputs"),
    ("12.product", product_with(total="all"), "summed over too many ranks"),
    ("12.product", backwards, "in another order"),
    ("12.product", everything_to_all, "gathering a block"),
    ("12.product", alone_in_the_sum, "All ranks call comm.split"),
    ("12.product", lambda comm, inputs, rows, grid: inputs, "returns an array of shape"),
    ("12.product", lambda comm, inputs, rows, grid: None, "Is a `return` missing?"),
    ("12.grids", sorted_only, "The order counts"),
    ("12.grids", three_axes, "is missing"),
    ("12.grids", any_product, "is a grid of"),
    ("12.grids", twice, "more than once"),
    ("12.grids", lambda ranks: None, "Is a `return` missing?"),
    ("12.grids", lambda ranks: [(ranks, 1, 1)], "yours returns 3"),
    ("12.bytes", bytes_with(replicas=lambda g, b, m: g[0]), "hold the same weights too"),
    ("12.bytes", bytes_with(averages=lambda g, b, m: m), "once a step, not once a micro-batch"),
    ("12.bytes", bytes_with(own=lambda g, b, m: b), "blocks of its own stage only"),
    ("12.bytes", bytes_with(hops=lambda g, b, m: 2 * (g[1] > 1)), "no rank is in the middle"),
    ("12.bytes", bytes_with(hops=lambda g, b, m: min(1, g[1] - 1)), "its gradient backward"),
    ("12.bytes", bytes_with(share=lambda g, b, m: 1 / g[2]), "holds the whole activation"),
    ("12.bytes", bytes_with(sums=lambda g, b, m: 2), "Two sums forward and two backward"),
    ("12.bytes", bytes_with(each=lambda g, b, m: g[2]), "this rank's heads"),
    ("12.bytes", bytes_with(each=lambda g, b, m: 0.5), "Keys and values both go round"),
    ("12.bytes", bytes_with(round_trips=lambda g, b, m: g[3] - 1), "forward pass alone"),
    ("12.bytes", bytes_with(round_trips=lambda g, b, m: 3 * (g[3] - 1)), "have to return"),
    ("12.bytes", bytes_with(round_trips=lambda g, b, m: 3 * g[3] - 2), "sends nothing along it"),
    ("12.bytes", lambda *job: sum(model(*job)), "return four numbers of bytes"),
    ("12.bytes", lambda *job: [sent / 2 for sent in model(*job)], "a number has two bytes"),
    ("12.place", lambda rank, grid: digits(rank, grid), "Tensor runs fastest"),
    ("12.place", lambda rank, grid: digits(rank, fastest(grid), divide_first=True),
     "before you take the remainder"),
    ("12.place", lambda rank, grid: None, "Is a `return` missing?"),
    ("12.plan", lambda ranks, batch: ((32, 1, 1, 1), 1), "has room for"),
    ("12.plan", lambda ranks, batch: ((1, 4, 8, 1), 32), "it spends most on"),
    ("12.plan", lambda ranks, batch: ((1, 8, 2, 1), 8), "the machine has 32"),
    ("12.plan", lambda ranks, batch: ((1, 1, 32, 1), 8), "cannot train this network"),
    ("12.plan", lambda ranks, batch: ((4, 8, 1, 1), 16), "must divide the batch"),
    ("12.plan", lambda ranks, batch: ((4, 8, 1), 16), "return four numbers of ranks"),
    ("12.plan", lambda ranks, batch: ((4, 8, 0, 1), 16), "whole numbers from 1 on"),
    ("12.experts", experts_with(copies=lambda ranks, axis: ranks), "You average over all ranks"),
    ("12.experts", experts_with(own=lambda experts, axis: experts), "not all of them"),
    ("12.experts", experts_with(own=lambda experts, axis: 1), "That is one expert"),
    ("12.experts", experts_with(itemsize=1), "That is half"),
    ("12.experts", experts_with(times=2), "there and back, and backward once more"),
    ("12.experts", experts_with(times=1), "there are four all-to-alls"),
    ("12.experts", experts_with(share=lambda axis: 1), "goes to experts of the rank itself"),
    ("12.experts", experts_with(chosen=1), "copies of it travel"),
    ("12.experts", lambda *given: None, "Is a `return` missing?"),
]  # fmt: skip
