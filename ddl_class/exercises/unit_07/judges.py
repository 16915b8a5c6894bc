"""The judges of unit 07: bytes from device to device, whole and in chunks; the table of paths,
and the GPU of each rank.

A function that copies makes its own device, one that does only work that is waited for. So a
wait that is missing shows in the bytes: each of them says how far it has come. And it shows in the
time, for a function that is done before a device could be has not asked the device. Whether
stages overlap shows in the virtual time alone, and each usual mistake has a time of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, Texts, Wrong, ranks, ranks_text, texts
from ddl_class.exercises.kit.answers import not_none, number, seen
from ddl_class.exercises.kit.asked import judge_seconds, run_ranks
from ddl_class.exercises.kit.compare import AnyOf, compare, equal, why, within
from ddl_runtime.devices.timed import BANDWIDTH, START
from ddl_runtime.topologies.point_to_point import TwoLevel, Uniform
from ddl_teach.theory import staging

EACH, OUT, STAGED, PIPELINED, CHOOSE, OWN, EXCHANGE = texts(
    __package__, "", "copy_out", "staged", "pipelined", "choose", "own_gpu", "exchange"
)
KERNEL = 1e-3  # of the notebook's `double`: until x is doubled, and of the kernel after it
NEXT = 0.1
PINNED = 255  # what is in new pinned memory; values stay below 100, so none is mistaken for it
COPY = staging.TransferStage(START, 1 / BANDWIDTH)
NETWORK = Uniform(latency=1e-5, bandwidth=1.5e8)
ROUTE = staging.Route(
    COPY, staging.TransferStage(0.0, 1 / NETWORK.bandwidth, NETWORK.latency), COPY
)
OUTLIER, LUCKY = 40.0, 0.02  # how wrong a single measurement can be
SIZES = 2 ** np.arange(10, 27)
SUMMARIES: dict[str, Callable[..., Any]] = {"mean": np.mean, "fastest": np.min, "slowest": np.max}

Choice = tuple[int, str]  # from so many bytes on, this path


# -- copied and sent -------------------------------------------------------------------------


def _is_slow(
    call: str, outcome: ProgramOutcome, again: Callable[[], ProgramOutcome], least: float
) -> bool:
    """Whether it takes too long. `Wrong` where that is the next layer's kernel, or where it is
    faster than kernel, copies and wire together; real times prove nothing."""
    time = outcome.time
    if least * (1 - 1e-9) <= time < 1.1 * least or not ranks.virtual(outcome, again):
        return False
    values = {"call": call, "time": time * 1e3, "least": least * 1e3}
    EACH.refuse_if(values, too_fast=time < least, next_layer=time > NEXT)
    return True


def _bytes_of(call: str, outcome: ProgramOutcome, rank: int, size: int) -> np.ndarray:
    """What a rank returned."""
    held = outcome.results[rank]
    if isinstance(held, np.ndarray) and (held.shape, held.dtype) == ((size,), np.uint8):
        return held
    raise Wrong(EACH("last_line", call=call, rank=rank, size=size))


def _random_values(generator: np.random.Generator, size: int) -> np.ndarray:
    """Bytes whose doubles are none of them, and none of what new pinned memory holds."""
    return generator.integers(1, 100, size).astype(np.uint8)


def judge_copy_out(attempt: Attempt) -> None:
    """The doubled bytes are in pinned memory when the function returns."""
    for count in attempt.counts:
        values = _random_values(attempt.generator, int(attempt.generator.integers(500, 2000)))
        call = OUT("call", size=len(values), ranks=ranks_text(count))
        again = partial(attempt.run, count, [(values,)] * count)
        outcome = again()
        for rank in range(count):
            copied = _bytes_of(call, outcome, rank, len(values))
            OUT.refuse_if(
                {"call": call},
                before_the_copy=(copied == PINNED).all(),
                before_the_kernel=np.array_equal(copied, values),
                not_doubled=(copied != 2 * values).any(),
            )
        _is_slow(call, outcome, again, KERNEL + float(COPY.keeps(len(values))))


def judge_staged(attempt: Attempt) -> None:
    """Rank 1's device holds what rank 0's kernel made, after one message."""
    for count in attempt.counts:
        size = int(attempt.generator.integers(2000, 9000))
        run = _judge_message(attempt, count, STAGED, size)
        _is_slow(*run, KERNEL + float(staging.staged(size, ROUTE)))


def judge_pipelined(attempt: Attempt) -> None:
    """As for `staged`, but in chunks, of which one is copied while another travels."""
    for count in attempt.counts:
        chunk = int(attempt.generator.integers(20_000, 60_000))
        # Even, with a rest, and one that is larger than the message.
        for size in (8 * chunk, 4 * chunk + int(attempt.generator.integers(1, chunk)), chunk // 2):
            call, outcome, again = _judge_message(attempt, count, PIPELINED, size, chunk)
            least = KERNEL + float(staging.pipelined(size, chunk, ROUTE))
            if _is_slow(call, outcome, again, least):
                usual, otherwise = _slow(-(-size // chunk), chunk), PIPELINED("otherwise")
                words = why(outcome.time - KERNEL, usual, otherwise, within(1e-4))
                values = {"time": outcome.time * 1e3, "least": least * 1e3, "why": words}
                raise Wrong(PIPELINED("slow", call=call, **values))


def _judge_message(
    attempt: Attempt, count: int, say: Texts, size: int, chunk: int = 0
) -> tuple[str, ProgramOutcome, Callable[[], ProgramOutcome]]:
    """Random bytes on two devices, and the run in which one got those of the other."""
    values, other = (_random_values(attempt.generator, size) for _ in range(2))
    given = [(other if rank else values, *([chunk] if chunk else [])) for rank in range(count)]
    again = partial(run_ranks, attempt, say, given, network=NETWORK, size=size, chunk=chunk)
    (call, outcome), step = again(), chunk or size
    _judge_sizes(outcome, call, [min(step, size - first) for first in range(0, size, step)])
    _judge_arrived(call, _bytes_of(call, outcome, 1, size), values, other, chunk)
    return call, outcome, lambda: again()[1]


def _judge_sizes(outcome: ProgramOutcome, call: str, wanted: list[int]) -> None:
    """Rank 0 sent messages of these sizes, from the host, and no other rank sent any."""
    own = [ledger.messages for ledger in outcome.ledger]
    sent = [message.bytes for message in own[0]]
    busy = [rank for rank, messages in enumerate(own) if messages and rank]
    EACH.refuse_if(
        {"call": call, "sender": min(busy, default=0)},
        from_device=any(entry.kind.startswith("device") for messages in own for entry in messages),
        other_sender=busy,
        eight_bytes=sum(sent) == 8 * sum(wanted),
    )
    advice = EACH.first(
        lost=len(sent) < len(wanted) and sent == wanted[: len(sent)] and sent,
        beyond_the_end=len(sent) == len(wanted) and sum(sent) > sum(wanted),
        one_piece=len(sent) == 1,
        once=True,
    )
    values = {"call": call, "sent": _sizes(sent), "wanted": _sizes(wanted), "why": advice}
    EACH.refuse_if(values, other_sizes=sent != wanted)


def _sizes(sizes: list[int]) -> str:
    count, shown = len(sizes), ", ".join(f"{size:,}" for size in sizes[:4])
    values = {"s": "s" * (count != 1), "sizes": shown, "more": ", ..." if count > 4 else ""}
    return EACH("messages", count=count, **values) if sizes else EACH("nothing")


def _judge_arrived(
    call: str, held: np.ndarray, values: np.ndarray, other: np.ndarray, chunk: int
) -> None:
    """Rank 1's device holds the doubled values; else the wrong bytes say how far they came."""
    right = 2 * values
    wrong = np.flatnonzero(held != right)
    if not len(wrong):
        return
    where = "" if len(wrong) > 0.9 * len(held) else EACH("where", first=wrong[0], last=wrong[-1])
    bad, first_chunk = held[wrong], np.resize(right[:chunk], len(held))
    EACH.refuse_if(
        {"call": call, "where": where and f"{where} "},
        not_copied_in=np.array_equal(bad, other[wrong]),
        sent_early=(bad == PINNED).all(),
        copied_early=np.array_equal(bad, values[wrong]),
        first_chunk_always=chunk and np.array_equal(bad, first_chunk[wrong]),
        first_chunk_alone=chunk and np.array_equal(held[chunk:], other[chunk:]),
        other_chunk=chunk and np.isin(bad, right).all(),
        other_values=True,
    )


def _slow(chunks: int, chunk: int) -> dict[str, float]:
    """How long the usual mistakes take after the kernel, if the chunks are even."""
    out, wire, come_in = (float(stage.keeps(chunk)) for stage in ROUTE.stages)
    latency, further = NETWORK.latency, chunks - 1
    once = out + wire + latency + come_in  # the way of one chunk
    return PIPELINED.each(
        two_overlap=chunks * out + once - out + further * max(wire, come_in),
        chunk_by_chunk=chunks * once,
        nothing_overlaps=chunks * (out + wire + come_in) + latency,
        send_waits=chunks * (out + wire) + latency + come_in,
        copy_waits=once + further * (wire + latency + come_in),
    )


# -- the table of paths ----------------------------------------------------------------------


def judge_table(attempt: Attempt) -> None:
    """The function must turn measurements into a list of (bytes, path): from these bytes on."""
    for _ in range(4):
        seconds = _measurements(attempt.generator)
        given = {name: times.copy() for name, times in seconds.items()}
        table, right = _pairs(attempt.call(SIZES.copy(), given)), _choices(seconds, np.median)
        from_0 = [(0, table[0][1]), *table[1:]]  # where to begin is looked at by itself
        begins, paths = (list(row) for row in zip(*table, strict=True))
        right_begins, right_paths = (list(row) for row in zip(*right, strict=True))
        halved = [begin // 2 for begin in right_begins[1:]]
        named = {name: _choices(seconds, each) for name, each in SUMMARIES.items()}
        summary = [name for name, choices in named.items() if choices == from_0]
        negative = {name: -times for name, times in seconds.items()}
        why = CHOOSE.first(
            {"summary": "".join(summary[:1])},
            not_from_0=paths == right_paths and begins[1:] == right_begins[1:],
            one_before=paths == right_paths and begins[1:] == halved,
            each_size=len(table) == len(SIZES),
            other_summary=summary,
            slowest_path=from_0 == _choices(negative, np.median),
            otherwise=True,
        )
        CHOOSE.refuse_if({"table": table, "right": right, "why": why}, wrong=table != right)


def _measurements(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Three paths that each win somewhere, every time with a few that went wrong."""
    seconds = {}
    lines = {"staged": (1e-5, 3e-9), "pipelined": (2e-4, 1.1e-9), "direct": (2e-6, 6e-9)}
    for name in generator.permutation(list(lines)):
        start, per_byte = np.array(lines[name]) * 10 ** generator.uniform(-0.05, 0.05, 2)
        times = np.tile(start + per_byte * SIZES, (9, 1))
        times *= np.exp(0.003 * generator.standard_normal(times.shape))
        times[generator.integers(9), ::2] *= OUTLIER
        times[generator.integers(9), generator.integers(len(SIZES), size=3)] *= LUCKY
        seconds[str(name)] = times
    return seconds


def _choices(seconds: dict[str, np.ndarray], summary: Callable[..., Any]) -> list[Choice]:
    names = list(seconds)
    best = np.argmin([summary(times, axis=0) for times in seconds.values()], axis=0)
    changes = [0, *(np.flatnonzero(np.diff(best)) + 1).tolist()]
    return [(int(SIZES[k]) if k else 0, names[best[k]]) for k in changes]


def _pairs(answer: Any) -> list[Choice]:
    pairs, wanted = [], CHOOSE("wanted")
    not_none(answer, wanted)
    for entry in answer if isinstance(answer, list | tuple) else ():
        if not isinstance(entry, list | tuple) or len(entry) != 2 or not isinstance(entry[1], str):
            raise Wrong(CHOOSE("no_pair", entry=seen(entry)))
        pairs.append((int(number(entry[0], wanted)), entry[1]))
    if not pairs:
        raise Wrong(f"{wanted}, not {seen(answer)}.")
    return pairs


# -- whose GPU -------------------------------------------------------------------------------


@dataclass(frozen=True)
class RoundRobin:
    """Ranks dealt out to the nodes like cards."""

    nodes: int

    shared = False
    fixed_link = Uniform().fixed_link
    overhead = gap = 0.0

    def node(self, rank: int) -> int:
        return rank % self.nodes


def judge_own_gpu(attempt: Attempt) -> None:
    """The rank's number among those of its node, modulo the GPUs of a node."""
    for count in attempt.counts:
        run = partial(attempt.run, count)
        # Simulated time is the same twice; real ranks' nodes are what they are.
        simulated = len({run([(2,)] * count, network=TwoLevel(3)).time for _ in range(2)}) == 1
        networks = TwoLevel(3), RoundRobin(nodes=2), TwoLevel(5), RoundRobin(nodes=3)
        for network in networks if simulated else networks[:1]:
            nodes = [network.node(rank) for rank in range(count)] if simulated else []
            for gpus in (2, 4, 1):
                _judge_places(run([(gpus,)] * count, network=network), nodes, gpus)


def _judge_places(outcome: ProgramOutcome, nodes: list[int], gpus: int) -> None:
    """On unknown nodes, a number must at least be that of a GPU."""
    count = len(outcome.results)
    values = {"gpus": gpus, "ranks": ranks_text(count), "nodes": str(nodes)[1:-1]}
    call = OWN("call_on_nodes", **values) if nodes else OWN("call", **values)
    answers = [number(result, OWN("wanted", call=call)) for result in outcome.results]
    if not nodes and all(answer in range(gpus) for answer in answers):
        return
    local = [nodes[:rank].count(node) for rank, node in enumerate(nodes)]
    usual = OWN.each(
        over_all_nodes=[rank % gpus for rank in range(count)],
        divided=[rank // gpus for rank in range(count)],
        node=AnyOf(nodes, [node % gpus for node in nodes]),
        not_modulo=local,
        rank=list(range(count)),
        always_0=[0] * count,
    )
    right = [float(place % gpus) for place in local]
    compare(call, answers, right, usual, OWN("otherwise"), equal)


# -- the puzzle ------------------------------------------------------------------------------

GOAL = 16.5e-3
FULL = 2**21  # bytes
WIRE = Uniform(latency=1e-4, bandwidth=2e8, overhead=5e-5)


def judge_exchange(attempt: Attempt) -> None:
    """Each rank has the doubled values of the other, and soon."""
    for size in (4 * int(attempt.generator.integers(500, 2000)), FULL):
        values = [_random_values(attempt.generator, size) for _ in range(2)]
        given = [(own,) for own in values]
        call, outcome = run_ranks(attempt, EXCHANGE, given, network=WIRE, size=size)
        for rank, other in enumerate(values[::-1]):
            arrived = _bytes_of(call, outcome, rank, size)
            wrong = np.flatnonzero(arrived != 2 * other)
            if not len(wrong):
                continue
            bad = arrived[wrong]
            EXCHANGE.refuse_if(
                {"call": call, "rank": rank, "many": len(wrong)},
                not_there=not bad.any(),
                before_the_copy=np.isin(bad, (PINNED, 0)).all(),
                before_the_kernel=np.array_equal(bad, other[wrong]),
                own_values=np.array_equal(bad, 2 * values[rank][wrong]),
                other_bytes=True,
            )
    took, holds = outcome.time, ranks.lent(outcome)
    judge_seconds(attempt, EXCHANGE, took, GOAL, holds, next_kernel=took > NEXT)
