"""What a split network sends in one training step, layer by layer.

For activations of n bytes between layers, on P ranks, a rank sends

    a column-row pair   2 (P-1)/P n  forwards  and as much backwards    whatever its middle is
    attention by heads  the same: it is such a pair
    embedding           2 (P-1)/P n  forwards
    scores by words     2 (P-1)/P n  backwards
    loss by words       2 (P-1)/P of 3 numbers an answer, forwards

so a GPT of b blocks takes 2 (P-1)/P (4 b + 2) n, and 3 numbers an answer. Parted along the
sequence each all-reduce becomes a reduce-scatter and an all-gather, and gradients of what all
ranks hold come on top. Data parallelism takes 2 (P-1)/P of the weights instead.

Shoeybi et al., "Megatron-LM", 2019; Korthikanti et al., 2022; Krizhevsky, "One weird trick", 2014.
What to look at: n grows with the batch, weights do not.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ddl_teach.theory.collectives import rabenseifner
from ddl_teach.theory.inputs import count
from ddl_teach.theory.machine import Link
from ddl_teach.theory.ring_bytes import allgather, allreduce, even, reduce_scatter


@dataclass(frozen=True)
class LayerBytes:
    """What one rank sends for one layer in one step."""

    layer: str
    forwards: int  # bytes
    backwards: int


@dataclass(frozen=True)
class Ring:
    """What rank `rank` of a ring sends, in bytes; a number has `itemsize` bytes."""

    ranks: int
    rank: int
    itemsize: int = 4

    def summed(self, elements: int) -> int:
        """Bytes of an all-reduce of `elements` numbers."""
        return allreduce(elements, self.ranks, self.rank, self.itemsize)

    def gathered(self, length: int, each: int) -> int:
        """Bytes of an all-gather along an axis of `length`, with `each` numbers at every place."""
        pieces = [each * part for part in even(length, self.ranks)]
        return allgather(pieces, self.rank, self.itemsize)

    def scattered(self, length: int, each: int) -> int:
        """Bytes of a reduce-scatter along such an axis."""
        pieces = [each * part for part in even(length, self.ranks)]
        return reduce_scatter(pieces, self.rank, self.itemsize)


def gpt_step(
    ring: Ring, *, batch: int, length: int, width: int, blocks: int, sequence: bool = False
) -> list[LayerBytes]:
    """A step of a GPT over tensor-parallel ranks, with `sequence` parted between split layers."""
    if sequence:
        into = leave_backwards = ring.gathered(length, batch * width)
        out = enter_backwards = ring.scattered(length, batch * width)
        of_norm, of_bias = 2 * ring.summed(width), ring.summed(width)
        of_places = ring.summed(length * width)
    else:
        into, enter_backwards = 0, ring.summed(batch * length * width)
        out, leave_backwards = ring.summed(batch * length * width), 0
        of_norm = of_bias = of_places = 0
    sent = [LayerBytes("embedding", out, leave_backwards + of_places)]
    for number in range(1, blocks + 1):
        for part in ("attention", "pair"):
            back = leave_backwards + enter_backwards + of_norm + of_bias
            sent.append(LayerBytes(f"block{number}.{part}", into + out, back))
    sent += [LayerBytes("norm", 0, of_norm), LayerBytes("head", into, enter_backwards)]
    answers = batch * length
    return [*sent, LayerBytes("loss", ring.summed(answers) + ring.summed(2 * answers), 0)]


def pair_time(
    ranks: int, tokens: int, width: int, link: Link, *, flops: float, itemsize: int = 2
) -> tuple[float, float]:
    """Seconds of work and of Rabenseifner's sum, of a pair forwards whose middle is four times as
    wide.
    """
    work = 16 * tokens * width**2 / count("ranks", ranks) / flops
    return work, float(rabenseifner(ranks, tokens * width * itemsize, link))


def total(sent: Iterable[LayerBytes]) -> int:
    """Bytes of the whole step."""
    return sum(layer.forwards + layer.backwards for layer in sent)
