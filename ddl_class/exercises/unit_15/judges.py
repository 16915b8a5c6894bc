"""The judges of unit 15, first part: a mean through one server, and through several."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.exercise import NO_BUFFERS, Outcome, Stage, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.compare import alike, any_of, why
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Comm, simulate

SIZE = 23  # elements: no number of servers divides them
OF_SERVERS = 1e6  # what stands in a server's vector, and must not come into the mean
SLOW = Uniform(latency=1e-6, bandwidth=1e6)
ADVICE = "Each worker sends once to each server and receives once from it; a server the same."


def judge_server(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """Rank 0 takes in what the workers have, and sends them the mean."""
    for count in ranks.last(2, counts):  # of one worker all means are one
        _judge(stage, generator, count, 1, f"server on {ranks_text(count)}", ())


def judge_sharded(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The same with a shard for each of several servers, all at work at the same time."""
    for count in counts:
        for servers in sorted({1, 2, count - 2, count // 2} & set(range(1, count))):
            call = f"sharded(comm, x, servers={servers}) on {ranks_text(count)}"
            outcome = _judge(stage, generator, count, servers, call, (servers,))
            if servers > 1 and count - servers > 1:
                _judge_time(stage, generator, count, servers, call, outcome)


def _judge(
    stage: Stage, generator: np.random.Generator, count: int, servers: int, call: str, rest: tuple
) -> Outcome:
    own = [generator.standard_normal(SIZE) for _ in range(count)]
    for server in range(servers):
        own[server] = np.full(SIZE, OF_SERVERS)
    workers = count - servers
    right = np.mean(own[servers:], axis=0)
    given = [(x, *rest) for x in own]
    outcome = ranks.run(stage, count, given, call, ranks.general(ADVICE), SLOW)
    cut = slice(0, -(-SIZE // servers))
    usual = {
        "That is the sum: divide it by the number of workers": right * workers,
        "You divide by all ranks, and the servers are no workers: there are comm.size minus the "
        "servers": right * workers / count,
        "A server's own x is in it: a server has nothing to add, it begins with zeros": any_of(
            np.mean(own, axis=0), (right * workers + own[0]) / workers
        ),
    }
    for rank in range(servers, count):
        x = outcome.arguments[rank][0]
        if alike(x, right):
            continue
        if np.array_equal(x, own[rank]):
            raise Wrong(
                f"{call}: on worker {rank} x is as it was. What the server sends must come into "
                "x: comm.recv(x, ...) writes into it, `x = ...` only names something else."
            )
        words = "It is not the mean of the workers"
        if servers > 1 and alike(x[cut], right[cut]):
            words = "Its first elements are right: is each shard in its own place, on all servers?"
        raise Wrong(
            f"{call}: on worker {rank} x begins with {x[0]:.6g}, and {right[0]:.6g} is right. "
            + why(x, usual, words)
        )
    _judge_bytes(outcome, count, servers, call)
    return outcome


def _judge_bytes(outcome: Outcome, count: int, servers: int, call: str) -> None:
    """Workers speak to servers, servers to workers; and everything travels once each way."""
    nbytes = SIZE * 8
    for rank, ledger in enumerate(outcome.ledger):
        serves = rank < servers
        wrong = [m.peer for m in ledger.messages if (m.peer < servers) == serves]
        if wrong:
            who, whom = ("server", "another server") if serves else ("worker", "another worker")
            raise Wrong(
                f"{call}: the means are right, but {who} {rank} sends to {whom}, rank {wrong[0]}. "
                "On this path workers speak to servers only, and servers to workers."
            )
    for rank, ledger in enumerate(outcome.ledger):
        serves, sent = rank < servers, ledger.bytes_sent
        if not serves and sent != nbytes:
            raise Wrong(
                f"{call}: the means are right, but worker {rank} sent {sent} bytes, and its x has "
                f"{nbytes}: each server needs its own shard of it, and nothing else."
            )
        share = nbytes / servers
        if serves and not math.isclose(sent, (count - servers) * share, abs_tol=8 * count):
            raise Wrong(
                f"{call}: the means are right, but server {rank} sent {sent} bytes to "
                f"{count - servers} workers, and its shard has about {share:.0f}."
            )


def _judge_time(
    stage: Stage,
    generator: np.random.Generator,
    count: int,
    servers: int,
    call: str,
    outcome: Outcome,
) -> None:
    """In virtual time: do the servers work at the same time?"""
    # Only virtual time is the same twice; on real ranks it proves nothing.
    given = [(generator.standard_normal(SIZE), servers) for _ in range(count)]
    if not ranks.virtual(outcome, lambda: stage.run(count, given, network=SLOW)):
        return
    least, most = (
        simulate(
            _in_turn, count, network=SLOW, machine=NO_BUFFERS, trace=False,
            servers=servers, at_once=at_once,
        ).time
        for at_once in (True, False)
    )  # fmt: skip
    if outcome.time > (least + most) / 2:
        raise Wrong(
            f"{call}: the means are right, but in a simulated network it takes "
            f"{outcome.time * 1e6:.0f} µs, as if there were one server, and "
            f"{least * 1e6:.0f} are possible. A worker that waits for one server's answer before "
            "it sends to the next keeps all other servers idle: send all shards first."
        )


def _in_turn(comm: Comm, servers: int, at_once: bool) -> None:
    """Workers that send all shards at once and then receive, or wait for each server in turn."""
    x = np.zeros(SIZE)
    parts = np.array_split(x, servers)
    workers = range(servers, comm.size)
    if comm.rank < servers:
        for worker in workers:
            comm.recv(parts[comm.rank], worker)
        for worker in workers:
            comm.send(parts[comm.rank], worker)
    elif at_once:
        for server in range(servers):
            comm.send(parts[server], server)
        for server in range(servers):
            comm.recv(parts[server], server)
    else:
        for server in range(servers):
            comm.send(parts[server], server)
            comm.recv(parts[server], server)
