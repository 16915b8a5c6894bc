"""What a piece of a batch costs, and what a division of a batch adds up to: plain data.

A *job* is one pass of one layer over a batch of B examples. An *offer* for it says: b examples by
this method take t seconds and w bytes of workspace. A *division* takes offers whose sizes add up
to B. They run one after another in the same room, so that

    seconds = sum of t        workspace = largest w

"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from ddl_runtime.core.checks import amount, one_of, whole_number

LARGEST = 2**53  # bytes: up to here every whole number is a float


@dataclass(frozen=True, order=True)
class Offer:
    """A piece of `size` examples by a method, at its price."""

    method: str
    size: int
    seconds: float
    workspace: int  # bytes that are held while it runs

    def __post_init__(self) -> None:
        what = f"offer of {self.size!r} examples by {self.method!r}"
        whole_number(self.size, f"{what}: size", 1)
        amount(self.seconds, f"{what}: seconds")
        amount(whole_number(self.workspace, f"{what}: bytes"), f"{what}: bytes", most=LARGEST)


@dataclass(frozen=True)
class DivisibleBatch:
    """A batch to be divided, and every offer there is for parts of it."""

    name: str
    batch: int
    offers: tuple[Offer, ...]
    refusals: Mapping[str, str] = field(default_factory=dict)  # methods that cannot, and why

    def __post_init__(self) -> None:
        whole_number(self.batch, f"{self.name}: batch", 1)

    def within(self, limit: float) -> list[Offer]:
        """The fastest offer of each size among those whose workspace is at most `limit`."""
        best: dict[int, Offer] = {}
        # Of equally fast ones the smaller room: it can only help.
        for offer in sorted(self.offers, key=lambda offer: (offer.seconds, offer.workspace)):
            if offer.workspace <= limit:
                best.setdefault(offer.size, offer)
        return [best[size] for size in sorted(best)]


@dataclass(frozen=True)
class Division:
    """Pieces that together are one batch, in the order in which they run."""

    parts: tuple[Offer, ...]

    @property
    def batch(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def seconds(self) -> float:
        return math.fsum(part.seconds for part in self.parts)

    @property
    def workspace(self) -> int:
        return max((part.workspace for part in self.parts), default=0)

    def __str__(self) -> str:
        """The parts as people write them: `3 x fft of 8 + im2col of 4`."""
        runs = [
            (f"{part.method} of {part.size}", len([*same])) for part, same in groupby(self.parts)
        ]
        return " + ".join(f"{count} x {text}" if count > 1 else text for text, count in runs)


class TooLittle(ValueError):
    """No division fits: says how much room the most modest one needs."""

    def __init__(self, message: str, needed: float) -> None:
        super().__init__(message)
        self.needed = needed


def sizes_of(policy: str | Iterable[int], batch: int) -> list[int]:
    """The sizes of pieces that a policy tries: its name, or sizes of your own."""
    if isinstance(policy, str):
        policies = {
            "powers_of_two": {2**k for k in range(batch.bit_length())} | {batch},
            "all": set(range(1, batch + 1)),
            "undivided": {batch},
        }
        one_of(policy, "policy of sizes", policies)
        return sorted(policies[policy])
    sizes = sorted(set(policy))
    if not sizes or sizes[0] < 1 or sizes[-1] > batch:
        raise ValueError(f"sizes={sizes} must lie between 1 and the batch, {batch}")
    return sizes
