"""When fewer bytes are faster: the bandwidth below which compression wins.

A vector of n bytes is averaged over P ranks: as it is, by a ring, or packed into messages of m
bytes for the whole vector. Packing takes e seconds, unpacking d, a message L, a byte 1/B.

  way         messages   bytes sent        packed    unpacked   whose forms
  ----------  ---------  ----------------  --------  ---------  -----------------------------
  dense       2 (P-1)    2 (P-1)/P n       -         -          the vector as it is
  summed      2 (P-1)    2 (P-1)/P m       1         2          messages that add up
  gathered    P-1        (P-1) m           1         P          sparse ones
  owners      2 (P-1)    2 (P-1)/P m       1 + 1/P   2          quantised ones

The time is messages L + bytes/B + packed e + unpacked d, so compression wins below

    B* = bytes saved / seconds added

What to look at: B* does not ask how large the vector is, only how fast bytes are packed; and for
gathered messages it falls to nothing as ranks are added.
Agarwal, Wang, Venkataraman & Papailiopoulos, "On the utility of gradient compression in
distributed training systems", MLSys 2022.
"""

import math
from dataclasses import dataclass

from ddl_teach.theory.inputs import cost, count


@dataclass(frozen=True)
class AveragingCost:
    """What one rank does and sends for an average."""

    messages: float
    bytes: float
    packing: float  # seconds, unpacking included

    def seconds(self, latency: float, bandwidth: float) -> float:
        return self.messages * latency + self.bytes / bandwidth + self.packing


def dense(ranks: int, nbytes: float) -> AveragingCost:
    """A ring all-reduce of the vector as it is."""
    return summed(ranks, nbytes, 0.0, 0.0)


def summed(ranks: int, message: float, encode: float, decode: float) -> AveragingCost:
    """A ring all-reduce of the numbers in the messages."""
    ranks = _checked(ranks, message, encode, decode)
    return AveragingCost(2 * (ranks - 1), 2 * (ranks - 1) / ranks * message, encode + 2 * decode)


def gathered(ranks: int, message: float, encode: float, decode: float) -> AveragingCost:
    """The cost if every rank gets every rank's message."""
    ranks = _checked(ranks, message, encode, decode)
    return AveragingCost(ranks - 1, (ranks - 1) * message, encode + ranks * decode)


def owners(ranks: int, message: float, encode: float, decode: float) -> AveragingCost:
    """Parts of messages to their owners, and the owners' means to all."""
    ranks = _checked(ranks, message, encode, decode)
    sent = 2 * (ranks - 1) / ranks * message
    return AveragingCost(2 * (ranks - 1), sent, (1 + 1 / ranks) * encode + 2 * decode)


def break_even(plain: AveragingCost, packed: AveragingCost, latency: float = 0.0) -> float:
    """The bandwidth (bytes a second) below which `packed` takes less time than `plain`.

    Infinite where it is faster on any network; 0 where it saves no bytes.
    """
    saved = plain.bytes - packed.bytes
    added = packed.packing - plain.packing + (packed.messages - plain.messages) * latency
    if saved <= 0:
        return 0.0
    return saved / added if added > 0 else math.inf


def _checked(ranks: int, message: float, encode: float, decode: float) -> int:
    for name, value in (("message", message), ("encode", encode), ("decode", decode)):
        cost(name, value)
    return count("ranks", ranks)
