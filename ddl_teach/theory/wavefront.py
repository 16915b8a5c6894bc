"""How parallel a grid of L layers by T steps is, and how long it takes on ranks.

Cell (l, t) needs (l-1, t), the layer below at the same step, and (l, t-1), the same layer one step
before. All cells with the same l + t can run at once: a *wavefront*. There are

    L + T - 1 wavefronts instead of L T cells,    min(L, T) cells in the widest,
    L T / (L + T - 1) of average parallelism, whatever a cell costs.

On P ranks each owns neighbouring layers and sends their outputs up, some steps in one message (a
*chunk*; K = T / chunk messages). With p_r the seconds that rank r is busy with one chunk (its
layers, its share of sending and receiving) the last rank is done after

    sum of all p_r  +  (P - 1) latency  +  (K - 1) max p_r

which is the time of any pipeline: once through, then K-1 times the slowest stage. Short chunks let
everybody begin early, long ones pay the overhead of a message less often; `best_chunk` balances.
What to look at: it is the time of the pipelines of unit 10, with steps in place of micro-batches.

Ben-Nun & Hoefler, "Demystifying Parallel and Distributed Deep Learning", ACM CSUR 52(4), 2019,
section on recurrent layers; Appleyard, Kocisky & Blunsom, "Optimizing performance of recurrent
neural networks on GPUs", 2016.
"""

import math
from collections.abc import Iterator

from ddl_teach.theory.inputs import checked, cost, count


def fronts(layers: int, steps: int) -> Iterator[range]:
    """The wavefronts in their order, each as the range of its layers: front w holds the cells
    (l, w - l).

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


def rounds(layers: int, steps: int, processors: int) -> int:
    """Rounds of one cell a processor: each wavefront of w cells takes ceil(w / processors).

    Between L T / p and L T / p + L + T - 1, as Brent's theorem says.
    """
    processors = count("processors", processors)
    return sum(-(-len(front) // processors) for front in fronts(layers, steps))


def owned(layers: int, ranks: int, rank: int) -> range:
    """The neighbouring layers that a rank owns; ranks beyond the last layer own none."""
    owners = min(count("ranks", ranks), count("layers", layers))
    if rank >= owners:
        return range(0)
    return range(layers * rank // owners, layers * (rank + 1) // owners)


def time(
    layers: int,
    steps: int,
    ranks: int,
    *,
    cell: float,
    nbytes: float,
    latency: float,
    per_byte: float,
    overhead: float = 0.0,
    chunk: int = 1,
) -> float:
    """Seconds of one pass of the grid on so many ranks.

    `cell` is the seconds of one cell, `nbytes` what the outputs of one step take in a message,
    `overhead` a processor's time for each send and each receive. A rank's p_r is

        chunk * (its layers * cell + nbytes * per_byte if it sends) + overhead * (sends + receives)

    Exact where the steps divide into whole chunks; else, with a shorter last chunk counted as a
    whole one, an upper bound. The backward pass is the same grid upside down, and takes the same
    where all ranks own equally many layers.
    """
    checked(ranks, nbytes, latency=latency, per_byte=per_byte, overhead=overhead)
    cell, chunk = cost("cell", cell), min(count("chunk", chunk), count("steps", steps))
    chunks, owners = -(-steps // chunk), min(ranks, count("layers", layers))
    busy = [
        chunk * (len(owned(layers, ranks, rank)) * cell + (rank < owners - 1) * nbytes * per_byte)
        + overhead * ((rank > 0) + (rank < owners - 1))
        for rank in range(owners)
    ]
    return sum(busy) + (owners - 1) * latency + (chunks - 1) * max(busy)


def best_chunk(
    layers: int, steps: int, ranks: int, *, cell: float, nbytes: float, per_byte: float,
    overhead: float,
) -> float:  # fmt: skip
    """The chunk for which `time` is least, as a real number: sqrt(2 o T / ((P-1) (w + n G))).

    With w = L cell / P, the seconds of a step on one rank. A rank between two others pays 2 o for
    a chunk, T / chunk times (of two ranks each pays one o, so o stands in place of 2 o); each of
    the P-1 ranks below the last holds its first chunk back for chunk steps. Where messages cost no
    overhead one step a chunk is best; one rank wants a single chunk.
    """
    owners = min(count("ranks", ranks), count("layers", layers))
    step = layers * cost("cell", cell) / owners + nbytes * cost("per_byte", per_byte)
    if owners == 1 or step == 0:
        return float(steps)
    each = cost("overhead", overhead) * (2 if owners > 2 else 1)
    best = math.sqrt(each * steps / ((owners - 1) * step))
    return min(max(best, 1.0), float(steps))
