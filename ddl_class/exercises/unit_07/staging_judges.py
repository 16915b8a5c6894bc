"""The judges of unit 07, first part: bytes copied out of a device, sent, and copied into another;
in one piece, and in chunks of which one is copied while another travels.

The function makes its own device, one that does nothing which nobody waits for, so a wait that is
missing shows in the bytes: each of them says how far it has come. And it shows in the time, for a
function that is done before a device could be has not asked the device. Whether
stages overlap shows in the virtual time alone, and each usual mistake has a time of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.compare import first_case, refuse_if, why, within
from ddl_class.exercises.kit.ranks import virtual
from ddl_runtime.devices.timed import BANDWIDTH, START
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.theory import staging

KERNEL = 1e-3  # of the notebook's `double`: until x is doubled, and of the kernel after it
NEXT = 0.1
PINNED = 255  # what is in new pinned memory; values stay below 100, so none is mistaken for it
COPY = staging.TransferStage(START, 1 / BANDWIDTH)
NETWORK = Uniform(latency=1e-5, bandwidth=1.5e8)
ROUTE = staging.Route(
    COPY, staging.TransferStage(0.0, 1 / NETWORK.bandwidth, NETWORK.latency), COPY
)
ADVICE = "Rank 0 sends to rank 1, rank 1 receives from rank 0, and nobody else does anything."


@dataclass(frozen=True)
class StagingCase:
    """One message: what is on the two devices before, and how the function was called."""

    call: str
    values: np.ndarray  # rank 0's
    other: np.ndarray  # everybody else's
    again: Callable[[], ProgramOutcome]

    def judge_time(self, outcome: ProgramOutcome, least: float) -> bool:
        """Whether it takes too long. `Wrong` where that is the next layer's kernel, or where it is
        faster than kernel, copies and wire together; real times prove nothing."""
        if least * (1 - 1e-9) <= outcome.time < 1.1 * least or not virtual(outcome, self.again):
            return False
        cases = {
            f"{outcome.time * 1e3:.3g} ms, and {least * 1e3:.3g} are needed: no device is that "
            "fast. Did you make the numbers on the host, or ask for a copy before there was "
            "something to copy? On the sender, first the copy, then the message; on the receiver, "
            "first the message, then the copy": outcome.time < least,
            f"{outcome.time * 1e3:.0f} ms, nearly all of them waiting for the kernel of the next "
            "layer, which only reads x. On the current stream a copy stands in line behind it: "
            "take the stream `copies`, and let it wait for the event `doubled` and nothing else": (
                outcome.time > NEXT
            ),
        }
        refuse_if(f"{self.call}: the bytes are right, but it takes ", cases)
        return True

    def bytes_of(self, result: Any, rank: int) -> np.ndarray:
        """What a rank returned."""
        size = len(self.values)
        if isinstance(result, np.ndarray) and (result.shape, result.dtype) == ((size,), np.uint8):
            return result
        told = f"{self.call}, rank {rank}: leave the last line as it was"
        raise Wrong(f"{told}; it returns {size} bytes.")


def _random_values(generator: np.random.Generator, size: int) -> np.ndarray:
    """Bytes whose doubles are none of them, and none of what new pinned memory holds."""
    return generator.integers(1, 100, size).astype(np.uint8)


def judge_copy_out(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The doubled bytes are in pinned memory when the function returns."""
    for count in counts:
        values = _random_values(generator, int(generator.integers(500, 2000)))
        call = f"copy_out(comm, values) with {len(values)} bytes, on {ranks_text(count)}"
        trial = StagingCase(call, values, values, partial(stage.run, count, [(values,)] * count))
        outcome = trial.again()
        for rank, result in enumerate(outcome.results):
            copied = trial.bytes_of(result, rank)
            cases = {
                "the bytes are those that were in the pinned memory before the copy. to_host only "
                "asks for it: leave a mark behind it, mark = gpu.record(copies), and let the host "
                "wait, gpu.finish(mark), before you return": (copied == PINNED).all(),
                "the bytes are those from before the kernel. Two streams know nothing of each "
                "other, so the copy ran first: gpu.wait(copies, doubled) puts the event before "
                "it": np.array_equal(copied, values),
                "these are not the doubled values. Copy all of x, from byte 0 on, into host": (
                    copied != 2 * values
                ).any(),
            }
            refuse_if(f"{call}: ", cases)
        trial.judge_time(outcome, KERNEL + float(COPY.keeps(len(values))))


def judge_staged(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Rank 1's device holds what rank 0's kernel made, after one message."""
    for count in counts:
        size = int(generator.integers(2000, 9000))
        call = f"staged(comm, values) with {size} bytes, on {ranks_text(count)}"
        trial = _message(stage, generator, count, call, size)
        outcome = trial.again()
        _judge_sizes(outcome, call, [size])
        _judge_arrived(outcome, trial)
        trial.judge_time(outcome, KERNEL + float(staging.staged(size, ROUTE)))


def judge_pipelined(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The same in chunks, of which one is copied while another travels."""
    for count in counts:
        chunk = int(generator.integers(20_000, 60_000))
        # Even, with a rest, and one that is larger than the message.
        for size in (8 * chunk, 4 * chunk + int(generator.integers(1, chunk)), chunk // 2):
            call = f"pipelined(comm, values, chunk={chunk:,}) of {size:,} bytes"
            call += f", on {ranks_text(count)}"
            trial = _message(stage, generator, count, call, size, chunk)
            outcome = trial.again()
            sizes = [min(chunk, size - first) for first in range(0, size, chunk)]
            _judge_sizes(outcome, call, sizes)
            _judge_arrived(outcome, trial, chunk)
            least = KERNEL + float(staging.pipelined(size, chunk, ROUTE))
            if trial.judge_time(outcome, least):
                otherwise = (
                    "Draw it, and look which stage waits. Ask for all copies out first; then, "
                    "chunk by chunk, wait for its mark and begin to send it with comm.isend"
                )
                usual = _slow(len(sizes), chunk)
                raise Wrong(
                    f"{call}: the bytes are right, but it takes {outcome.time * 1e3:.2f} ms, "
                    f"where {least * 1e3:.2f} are enough. "
                    + why(outcome.time - KERNEL, usual, otherwise, within(1e-4))
                )


def _message(
    stage: ProgramRunner,
    generator: np.random.Generator,
    count: int,
    call: str,
    size: int,
    *rest: int,
) -> StagingCase:
    """Random bytes on two devices, and the run in which one gets those of the other."""
    values, other = _random_values(generator, size), _random_values(generator, size)
    given = [(other if rank else values, *rest) for rank in range(count)]
    causes = ranks.general(ADVICE)
    again = partial(ranks.run, stage, count, given, call, causes, NETWORK)
    return StagingCase(call, values, other, again)


def _judge_sizes(outcome: ProgramOutcome, call: str, wanted: list[int]) -> None:
    """Rank 0 sent messages of these sizes, from the host, and nobody else sent any."""
    own = [ledger.messages for ledger in outcome.ledger]
    sent = [message.bytes for message in own[0]]
    busy = [rank for rank, messages in enumerate(own) if messages and rank]
    of_device = any(one.kind.startswith("device") for messages in own for one in messages)
    lost = len(sent) < len(wanted) and sent == wanted[: len(sent)] and sent
    cases = {
        "you sent x itself, and the communicator did all the copying for you. In real life that "
        "is the way; here, write what it does: copy to host, send host": of_device,
        f"rank {min(busy, default=0)} sent something. Only rank 0 has something to send": busy,
        "eight bytes were sent for each. gpu.pinned(n) gives bytes as it is": (
            sum(sent) == 8 * sum(wanted)
        ),
    }
    refuse_if(f"{call}: ", cases)
    advice = {
        "The rest at the end is lost: the last chunk is smaller, but it is one": lost,
        "The last chunk ends where the array ends": (
            len(sent) == len(wanted) and sum(sent) > sum(wanted)
        ),
        "It should go in chunks: the loop runs over range(0, len(host), chunk)": len(sent) == 1,
    }
    if sent != wanted:
        raise Wrong(
            f"{call}: rank 0 sent {_sizes(sent)} where {_sizes(wanted)} should go. "
            + first_case(advice, "Each byte of host is sent once")
        )


def _sizes(sizes: list[int]) -> str:
    shown = ", ".join(f"{size:,}" for size in sizes[:4])
    more = ", ..." if len(sizes) > 4 else ""
    many = "message" if len(sizes) == 1 else "messages"
    return f"{len(sizes)} {many} ({shown}{more} bytes)" if sizes else "nothing"


def _judge_arrived(outcome: ProgramOutcome, trial: StagingCase, chunk: int = 0) -> None:
    """Rank 1's device holds the doubled values; else the wrong bytes say how far they came."""
    right, values, other = 2 * trial.values, trial.values, trial.other
    held = trial.bytes_of(outcome.results[1], 1)
    wrong = np.flatnonzero(held != right)
    if not len(wrong):
        return
    first, last = wrong[0], wrong[-1]
    where = "" if len(wrong) > 0.9 * len(held) else f"Bytes {first:,} to {last:,} are wrong: "
    bad = held[wrong]
    cases = {
        f"{where}on rank 1's device they are as they were. to_device only asks for the copy: "
        "after it, leave a mark on its stream and let the host wait, gpu.finish(mark). And every "
        "part of host needs its copy to its own place, from byte `first` of x on": (
            np.array_equal(bad, other[wrong])
        ),
        f"{where}what came is what pinned memory holds before a copy. Rank 0 sent before its copy "
        "out was done: to_host only asks for it, so gpu.finish(...) the mark behind it before you "
        "send": (bad == PINNED).all(),
        f"{where}what came are the values from before the kernel. The copy did not wait for it: "
        "gpu.wait(stream, doubled) before to_host": np.array_equal(bad, values[wrong]),
        f"{where}every chunk brought the bytes of the first one. The second argument of to_host "
        "says from which byte of x on: it is 0 for the first only": (
            chunk and np.array_equal(bad, np.resize(right[:chunk], len(held))[wrong])
        ),
        "on rank 1's device all but the first chunk is as it was. The third argument of to_device "
        "says from which byte of x on: it is 0 for the first chunk only": (
            chunk and np.array_equal(held[chunk:], other[chunk:])
        ),
        f"{where}bytes of another chunk stand there. Each chunk has its own place in x and in "
        "host, the same on both ranks; who uses a part of host again must first wait until its "
        "bytes have left": chunk and np.isin(bad, right).all(),
        f"{where}what came is not the doubled values of rank 0": True,
    }
    refuse_if(f"{trial.call}: ", cases)


def _slow(chunks: int, chunk: int) -> dict[str, float]:
    """How long the usual mistakes take after the kernel, if the chunks are even."""
    out, wire, come_in = (float(stage.keeps(chunk)) for stage in ROUTE.stages)
    latency, further = NETWORK.latency, chunks - 1
    return {
        "Two stages overlap, not three. Does rank 0 wait for its last copy before it sends the "
        "first chunk? Each chunk needs a mark of its own, recorded right behind its copy. Or does "
        "rank 1 receive all before it copies? Ask for each copy as soon as its chunk has come": (
            chunks * out + wire + latency + come_in + further * max(wire, come_in)
        ),
        "One chunk begins its way when the one before has ended it, so two stages stand idle": (
            chunks * (out + wire + latency + come_in)
        ),
        "Nothing overlaps: all copies out, then all messages, then all copies in": (
            chunks * (out + wire + come_in) + latency
        ),
        "A copy out begins only when the message before it was taken: ask for all copies before "
        "you send the first chunk, or begin to send with comm.isend": (
            chunks * (out + wire + latency) + come_in
        ),
        "Rank 1 waits for each copy into the device before it receives again: ask for the copy "
        "and go on, and wait once, at the end": (
            out + wire + latency + come_in + further * (wire + latency + come_in)
        ),
    }
