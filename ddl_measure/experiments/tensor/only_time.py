"""A column-row pair without its numbers: the same work and the same messages, for ranks that
nobody has.

Forwards on P ranks: 16 tokens width^2 / P operations, as the middle is four times as wide, and an
all-reduce of tokens x width numbers. `theory.split_layers.pair_time` says how long that takes.
What to look at: the work shrinks with every rank, the sum does not.
"""

from collections.abc import Iterable

from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_teach.collectives import rabenseifner
from ddl_teach.comm import Comm, Phantom
from ddl_teach.theory.split_layers import pair_time


def pair(comm: Comm, tokens: int, width: int, itemsize: int = 2) -> None:
    """One forward pass of the pair."""
    comm.work(flops=16 * tokens * width**2 / comm.size)
    rabenseifner.allreduce(comm, Phantom(tokens * width * itemsize, itemsize))


def compared(
    counts: Iterable[int], *, tokens: int, width: int, flops: float = 1e14,
    network: Uniform = Uniform(2e-6, 100e9),
) -> tuple[dict[str, tuple], dict[str, tuple]]:  # fmt: skip
    """Seconds over numbers of ranks, by formula and simulated: work alone, and with its sum."""
    counts, layer = list(counts), {"tokens": tokens, "width": width}
    latency, per_byte = network.fixed_link
    costs = layer | {"flops": flops, "latency": latency, "per_byte": per_byte}
    works, sums = zip(*(pair_time(ranks, **costs) for ranks in counts), strict=True)
    given = layer | {"network": network, "machine": Machine(flops=flops), "trace": False}
    times = [simulate(pair, ranks, **given).time for ranks in counts]
    both = [work + its_sum for work, its_sum in zip(works, sums, strict=True)]
    predicted = {"work alone": (counts, works), "with its sum": (counts, both)}
    return predicted, {"with its sum": (counts, times)}
