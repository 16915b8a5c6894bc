"""How parallel a grid of L layers by T steps is, and how long it takes on ranks.

Cell (l, t) needs (l-1, t) and (l, t-1), so all cells with the same l + t can run at once: a
*wavefront*. There are

    L + T - 1 wavefronts instead of L T cells,    min(L, T) cells in the widest,
    L T / (L + T - 1) of average parallelism, whatever a cell costs.

On P ranks each owns neighbouring layers and sends their outputs up, some steps in one message (a
*chunk*; K = T / chunk messages). Rank r is busy for p_r seconds with one chunk: its layers, its
share of sending and receiving. The last rank is done after

    sum of all p_r  +  (P - 1) latency  +  (K - 1) max p_r

which is the time of any pipeline: once through, then K-1 times the slowest stage. Let a rank be
busy for w = L cell / P + n G with a step and for o with a send or a receive. Then sqrt(2 o T /
((P-1) w)) steps are the best chunk. What to look at: the pipelines of unit 10, with steps as
micro-batches.

Ben-Nun & Hoefler, "Demystifying Parallel and Distributed Deep Learning", ACM CSUR 52(4), 2019,
section on recurrent layers; Appleyard et al. 2016.
"""

from collections.abc import Iterator

from ddl_teach.theory.inputs import checked, cost, count
from ddl_teach.theory.machine import Link


def fronts(layers: int, steps: int) -> Iterator[range]:
    """The wavefronts, each as the range of its layers: front w holds the cells (l, w - l).

    >>> list(fronts(2, 3))
    [range(0, 1), range(0, 2), range(0, 2), range(1, 2)]
    """
    layers, steps = count("layers", layers), count("steps", steps)
    for front in range(layers + steps - 1):
        yield range(max(0, front - steps + 1), min(layers, front + 1))


def wavefronts(layers: int, steps: int) -> int:
    """How many wavefronts there are: L + T - 1."""
    return count("layers", layers) + count("steps", steps) - 1


def parallelism(layers: int, steps: int) -> float:
    """Cells per wavefront on average: how many times as fast endless processors can be."""
    return layers * steps / wavefronts(layers, steps)


def owned(layers: int, ranks: int, rank: int) -> range:
    """The neighbouring layers that a rank owns; ranks beyond the last layer own none."""
    owners = min(count("ranks", ranks), count("layers", layers))
    if rank >= owners:
        return range(0)
    return range(layers * rank // owners, layers * (rank + 1) // owners)


def time(
    layers: int, steps: int, ranks: int, link: Link, *, cell: float, nbytes: float, chunk: int = 1
) -> float:
    """Seconds of one pass of the grid on `ranks` ranks, with `cell` seconds for a cell, `nbytes`
    for the outputs of a step. Exact where the steps divide into whole chunks, else an upper
    bound.
    """
    checked(ranks, nbytes)
    cell, chunk = cost("cell", cell), min(count("chunk", chunk), count("steps", steps))
    chunks, owners = -(-steps // chunk), min(ranks, count("layers", layers))
    busy = [
        chunk * (len(owned(layers, ranks, rank)) * cell
                 + (rank < owners - 1) * nbytes * link.per_byte)
        + link.overhead * ((rank > 0) + (rank < owners - 1))
        for rank in range(owners)
    ]  # fmt: skip
    return sum(busy) + (owners - 1) * link.latency + (chunks - 1) * max(busy)
