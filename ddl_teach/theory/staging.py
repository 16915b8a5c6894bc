"""From device memory to device memory: direct, staged through the hosts, or pipelined in chunks.

On its way through host memory a message passes three stages: a copy out of the sender's device,
the wire, a copy into the receiver's. Stage i keeps a chunk of s bytes for ``a_i + s b_i``, one at
a time. A chunk may be under way for longer without keeping the next one back: this is the stage's
delay, such as the latency of a wire. With A, B and D the sums of the a_i, the b_i and the delays,
and k = n/s chunks:

========= ============================== =====================================================
path      time of n bytes                what happens
========= ============================== =====================================================
direct    a + n b + d                    the library reads device memory: the wire alone
staged    D + A + n B                    one chunk passes all stages, of which two stand idle
pipelined D + A + s B + (k-1) max(a+s b) one chunk fills the pipe, the others come out at the
                                         pace of the slowest stage
========= ============================== =====================================================

Small chunks fill the pipe soon and pay many a; large ones the reverse. With m the slowest stage,

    best chunk   s* = sqrt(n a_m / (B - b_m))
    its time     D + A - a_m + n b_m + 2 sqrt(n a_m (B - b_m))

and two chunks beat one from n = max 2 a_i / (B - b_i) on. What to look at: the best chunk grows
like the root of the message, and a long message takes n b_m, as if there were one stage.

Wang, Potluri, Luo, Singh, Sur & Panda, "MVAPICH2-GPU: optimized GPU to GPU communication for
InfiniBand clusters", Computer Science - Research and Development 26, 2011, tune chunks by hand.
Bienz, Olson, Gropp & Lockhart, "Modeling data movement performance on heterogeneous
architectures", 2020 (arXiv:2010.10378), fit such lines. Equal chunks in stages are a flow shop:
Johnson, "Optimal two- and three-stage production schedules with setup times included", 1954.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ddl_teach.theory.collectives import ring
from ddl_teach.theory.inputs import Bytes, Seconds, byte_count, cost, count, larger
from ddl_teach.theory.machine import Link


@dataclass(frozen=True)
class TransferStage:
    """Seconds for which it keeps a chunk: `start` and `per_byte`; and the chunk's own `delay`."""

    start: float
    per_byte: float
    delay: float = 0.0

    def __post_init__(self) -> None:
        for name in ("start", "per_byte", "delay"):
            cost(name, getattr(self, name))

    def keeps(self, nbytes: Bytes) -> Seconds:
        """Seconds until the stage can take the next chunk, after one of `nbytes` bytes."""
        return self.start + nbytes * self.per_byte


@dataclass(frozen=True)
class Route:
    """The three stages of a message through host memory."""

    copy_out: TransferStage
    wire: TransferStage
    copy_in: TransferStage

    @property
    def stages(self) -> tuple[TransferStage, TransferStage, TransferStage]:
        return self.copy_out, self.wire, self.copy_in

    @property
    def as_one(self) -> TransferStage:
        """A staged message's three stages as one: the sums of their starts, seconds per byte and
        delays."""
        each = zip(*(vars(stage).values() for stage in self.stages), strict=True)
        return TransferStage(*map(sum, each))


def direct(nbytes: Bytes, wire: TransferStage) -> Seconds:
    """a + n b + d: the library reads the bytes in device memory, and no copy is made."""
    return wire.keeps(byte_count(nbytes)) + wire.delay


def staged(nbytes: Bytes, route: Route) -> Seconds:
    """D + A + n B: copied out as a whole, sent as a whole, copied in as a whole."""
    return direct(nbytes, route.as_one)


def pipelined(nbytes: Bytes, chunk: float, route: Route) -> Seconds:
    """Chunks of `chunk` bytes, the last one of what is left, each sent on as soon as it is out.

    At some stage i the last chunk meets the k-1 whole ones for the last time: these passed stages
    1 to i, the slowest k-2 times more; from i on it pays for itself. The latest i counts.
    """
    if not chunk >= 1:
        raise ValueError(f"chunk={chunk!r}: a chunk must hold at least 1 byte")
    size = byte_count(nbytes)
    chunks = np.maximum(np.ceil(size / chunk), 1)
    rest = size - (chunks - 1) * chunk
    kept = [stage.keeps(chunk) for stage in route.stages]
    own = [stage.keeps(rest) for stage in route.stages]
    latest = sum(own)
    for last in range(len(kept)):
        ahead = sum(kept[: last + 1]) + (chunks - 2) * max(kept[: last + 1])
        latest = np.where(chunks > 1, larger(latest, ahead + sum(own[last:])), latest)
    answer = latest + route.as_one.delay
    return answer if np.ndim(nbytes) else float(answer)


def in_equal_chunks(nbytes: Bytes, chunks: int, route: Route) -> Seconds:
    """D + A + n/k B + (k-1) max (a + n/k b): the time of `pipelined` if all k chunks are equal."""
    size = byte_count(nbytes) / count("chunks", chunks)
    first, second, third = (stage.keeps(size) for stage in route.stages)
    return staged(size, route) + (chunks - 1) * larger(larger(first, second), third)


def best_chunk(nbytes: float, route: Route) -> float:
    """The size of the chunks, all equal, in which a message of `nbytes` arrives soonest.

    Over the number of chunks the time is the largest of three curves, each with one valley: it is
    least at the bottom of one of them, or where two of them cross.
    """
    size = float(byte_count(nbytes))
    numbers = [1.0]
    for stage in route.stages:
        beside = route.as_one.per_byte - stage.per_byte
        numbers.append(math.sqrt(size * beside / stage.start) if stage.start else size)
        for other in route.stages:
            if stage.start != other.start:
                crossing = (other.per_byte - stage.per_byte) / (stage.start - other.start)
                numbers.append(size * crossing)
    sides = {side(number) for number in numbers for side in (math.floor, math.ceil)}
    whole = sorted({int(min(max(k, 1), max(size, 1))) for k in sides})
    return size / min(whole, key=lambda chunks: in_equal_chunks(size, chunks, route))


def allreduce_in_steps(ranks: int, nbytes: Bytes, message: Callable[[Bytes], Seconds]) -> Seconds:
    """A ring whose 2 (P-1) messages of n/P bytes each come from device memory and go back there.
    `message` says how long one takes, staged or pipelined; sums on the device take nothing.
    """
    part = byte_count(nbytes) / count("ranks", ranks)
    return 0.0 * part if ranks == 1 else 2 * (ranks - 1) * message(part)


def allreduce_once(ranks: int, nbytes: Bytes, route: Route) -> Seconds:
    """The whole vector copied out, a ring of host memory, the result copied in: half of the bytes
    that a ring's steps copy, but nothing is overlapped."""
    if count("ranks", ranks) == 1:
        return 0.0 * byte_count(nbytes)
    link = Link(route.wire.start + route.wire.delay, route.wire.per_byte)
    return (
        direct(nbytes, route.copy_out) + ring(ranks, nbytes, link) + direct(nbytes, route.copy_in)
    )
