"""The judges of unit 07, first part: bytes copied out of a device, sent, and copied into another.

The function makes its own device, one that does nothing which nobody waits for, so a wait that is
missing shows in the bytes: each of them says how far it has come. And it shows in the time, for a
function that is done before a device could be has not asked the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ddl_class.exercises.exercise import Outcome, Stage, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.ranks import virtual
from ddl_runtime.devices.timed import BANDWIDTH, START
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.theory import staging

KERNEL = 1e-3  # of the notebook's `double`: until x is doubled, and of the kernel after it
NEXT = 0.1
PINNED = 255  # what is in new pinned memory; values stay below 100, so none is mistaken for it
COPY = staging.Stage(START, 1 / BANDWIDTH)
NETWORK = Uniform(latency=1e-5, bandwidth=1.5e8)
ROUTE = staging.Route(COPY, staging.Stage(0.0, 1 / NETWORK.bandwidth, NETWORK.latency), COPY)
ADVICE = "Rank 0 sends to rank 1, rank 1 receives from rank 0, and nobody else does anything."


@dataclass(frozen=True)
class Trial:
    """One message: what is on the two devices before, and how the function was called."""

    call: str
    values: np.ndarray  # rank 0's
    other: np.ndarray  # everybody else's

    @property
    def right(self) -> np.ndarray:
        return 2 * self.values

    def arguments(self, count: int, *rest: int) -> list[tuple]:
        return [(self.values if rank == 0 else self.other, *rest) for rank in range(count)]


def random_values(generator: np.random.Generator, size: int) -> np.ndarray:
    """Bytes whose doubles are none of them, and none of what new pinned memory holds."""
    return generator.integers(1, 100, size).astype(np.uint8)


def judge_copy_out(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The doubled bytes are in pinned memory when the function returns."""
    for count in counts:
        values = random_values(generator, int(generator.integers(500, 2000)))

        def again(count: int = count, values: np.ndarray = values) -> Outcome:
            return stage.run(count, [(values,)] * count)

        outcome = again()
        told = f"copy_out(comm, values) with {len(values)} bytes, on {ranks_text(count)}"
        for found in outcome.results:
            if not np.array_equal(_bytes(found, values, told), 2 * values):
                raise Wrong(f"{told}: {_of_copy_out(found, values)}")
        not_too_fast(outcome, KERNEL + COPY.keeps(len(values)), told, again)
        if outcome.time > NEXT and virtual(outcome, again):
            raise Wrong(f"{told}: {behind_the_next(outcome.time)}")


def _of_copy_out(found: np.ndarray, values: np.ndarray) -> str:
    if (found == PINNED).all():
        return (
            "the bytes are those that were in the pinned memory before the copy. to_host only "
            "asks for it: leave a mark behind it, mark = gpu.record(copies), and let the host "
            "wait, gpu.finish(mark), before you return."
        )
    if np.array_equal(found, values):
        return (
            "the bytes are those from before the kernel. Two streams know nothing of each other, "
            "so the copy ran first: gpu.wait(copies, doubled) puts the event before it."
        )
    return "these are not the doubled values. Copy all of x, from byte 0 on, into host."


def judge_staged(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """Rank 1's device holds what rank 0's kernel made, after one message."""
    for count in counts:
        size = int(generator.integers(2000, 9000))
        call = f"staged(comm, values) with {size} bytes, on {ranks_text(count)}"
        trial = Trial(call, random_values(generator, size), random_values(generator, size))
        again = partial(run, stage, trial, count)
        outcome = again()
        judge_messages(outcome, call, [size])
        judge_arrived(outcome, trial)
        not_too_fast(outcome, KERNEL + staging.staged(size, ROUTE), call, again)
        if outcome.time > NEXT and virtual(outcome, again):
            raise Wrong(f"{call}: {behind_the_next(outcome.time)}")


def run(stage: Stage, trial: Trial, count: int, *rest: int) -> Outcome:
    """The function's outcome; a standstill is told with its usual cause."""
    given = trial.arguments(count, *rest)
    return ranks.run(stage, count, given, trial.call, ranks.general(ADVICE), NETWORK)


def judge_messages(outcome: Outcome, call: str, wanted: list[int]) -> None:
    """Rank 0 sent messages of these sizes, from the host, and nobody else sent any."""
    own = [ledger.messages for ledger in outcome.ledger]
    if any(one.kind.startswith("device") for messages in own for one in messages):
        raise Wrong(
            f"{call}: you sent x itself, and the communicator did all the copying for you. In "
            "real life that is the way; here, write what it does: copy to host, send host."
        )
    sent = [one.bytes for one in own[0]]
    busy = [rank for rank, messages in enumerate(own) if messages and rank]
    if busy:
        raise Wrong(f"{call}: rank {busy[0]} sent something. Only rank 0 has something to send.")
    if sum(sent) == 8 * sum(wanted):
        raise Wrong(f"{call}: eight bytes were sent for each. gpu.pinned(n) gives bytes as it is.")
    if sent != wanted:
        raise Wrong(
            f"{call}: rank 0 sent {_sizes(sent)} where {_sizes(wanted)} should go. "
            + _of_sizes(sent, wanted)
        )


def _sizes(sizes: list[int]) -> str:
    shown = ", ".join(f"{size:,}" for size in sizes[:4])
    more = ", ..." if len(sizes) > 4 else ""
    many = "message" if len(sizes) == 1 else "messages"
    return f"{len(sizes)} {many} ({shown}{more} bytes)" if sizes else "nothing"


def _of_sizes(sent: list[int], wanted: list[int]) -> str:
    if len(sent) < len(wanted) and sent == wanted[: len(sent)] and sent:
        return "The rest at the end is lost: the last chunk is smaller, but it is one."
    if len(sent) == len(wanted) and sum(sent) > sum(wanted):
        return "The last chunk ends where the array ends."
    if len(sent) == 1:
        return "It should go in chunks: the loop runs over range(0, len(host), chunk)."
    return "Each byte of host is sent once."


def judge_arrived(outcome: Outcome, trial: Trial, chunk: int = 0) -> None:
    """Rank 1's device holds the doubled values; else the wrong bytes say how far they came."""
    found = _bytes(outcome.results[1], trial.values, f"{trial.call}: rank 1")
    if not np.array_equal(found, trial.right):
        raise Wrong(f"{trial.call}: {_of_arrived(found, trial, chunk)}")


def _of_arrived(found: np.ndarray, trial: Trial, chunk: int) -> str:
    wrong = np.flatnonzero(found != trial.right)
    first, last = wrong[0], wrong[-1]
    where = "" if len(wrong) > 0.9 * len(found) else f"Bytes {first:,} to {last:,} are wrong: "
    bad = found[wrong]
    if np.array_equal(bad, trial.other[wrong]):
        return (
            f"{where}on rank 1's device they are as they were. to_device only asks for the copy: "
            "after it, leave a mark on its stream and let the host wait, gpu.finish(mark). And "
            "every part of host needs its copy to its own place, from byte `first` of x on."
        )
    if (bad == PINNED).all():
        return (
            f"{where}what came is what pinned memory holds before a copy. Rank 0 sent before its "
            "copy out was done: to_host only asks for it, so gpu.finish(...) the mark behind it "
            "before you send."
        )
    if np.array_equal(bad, trial.values[wrong]):
        return (
            f"{where}what came are the values from before the kernel. The copy did not wait for "
            "it: gpu.wait(stream, doubled) before to_host."
        )
    if chunk and np.array_equal(bad, np.resize(trial.right[:chunk], len(found))[wrong]):
        return (
            f"{where}every chunk brought the bytes of the first one. The second argument of "
            "to_host says from which byte of x on: it is 0 for the first only."
        )
    if chunk and np.array_equal(found[chunk:], trial.other[chunk : len(found)]):
        return (
            "on rank 1's device all but the first chunk is as it was. The third argument of "
            "to_device says from which byte of x on: it is 0 for the first chunk only."
        )
    if chunk and np.isin(bad, trial.right).all():
        return (
            f"{where}bytes of another chunk stand there. Each chunk has its own place in x and in "
            "host, the same on both ranks; who uses a part of host again must first wait until "
            "its bytes have left."
        )
    return f"{where}what came is not the doubled values of rank 0."


def behind_the_next(seconds: float) -> str:
    """What to say of a copy that waited for the kernel of the next layer."""
    return (
        f"it takes {seconds * 1e3:.0f} ms, nearly all of them waiting for the kernel of the next "
        "layer, which only reads x. On the current stream a copy stands in line behind it: take "
        "the stream `copies`, and let it wait for the event `doubled` and nothing else."
    )


def not_too_fast(outcome: Outcome, least: float, call: str, again: Callable[[], Outcome]) -> None:
    """Where time is virtual, nothing is faster than kernel, copies and wire together."""
    if outcome.time < least * (1 - 1e-9) and virtual(outcome, again):
        raise Wrong(
            f"{call}: the bytes are right, but it takes {outcome.time * 1e3:.3g} ms, and "
            f"{least * 1e3:.3g} are needed: no device is that fast. Did you make the numbers on "
            "the host, or ask for a copy before there was something to copy? On the sender, first "
            "the copy, then the message; on the receiver, first the message, then the copy."
        )


def _bytes(found: object, like: np.ndarray, told: str) -> np.ndarray:
    if isinstance(found, np.ndarray) and found.shape == like.shape and found.dtype == like.dtype:
        return found
    raise Wrong(f"{told}: leave the last line as it was; it returns {len(like)} bytes.")
