"""The judges of unit 15, first part: a mean through one server, and through several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from ddl_class.exercises.exercise import NO_BUFFERS, Outcome, Stage, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array
from ddl_class.exercises.kit.compare import AnyOf, alike, any_of, why, within
from ddl_class.exercises.kit.ranks import LONG
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Comm, simulate
from ddl_teach.theory.gossip import graphs, mixing

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


SAME = within(1e-5, 1e-8)

UNEVEN = (  # neighbours that have unequally many
    ((1, 2, 3), (0,), (0,), (0,)),
    ((1,), (0, 2), (1, 3), (2,)),
    ((1, 2), (0, 2, 3), (0, 1), (1, 4), (3,)),
    ((),),
)


def judge_weights(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The Metropolis-Hastings matrix of lists of neighbours."""
    drawn = [
        graphs.random(int(count), rings, int(generator.integers(1000))).rounds[0]
        for count in generator.integers(4, 9, 3)
        for rings in (1, 2)
    ]
    for links in (*UNEVEN, *drawn):
        neighbours = [list(near) for near in links]
        right = mixing.mixing_matrix(graphs.Graph("given", (links,)))
        call = f"weights({neighbours})"
        wanted = f"{call}: return a matrix with a row and a column for each rank"
        found = array(stage.call(neighbours), wanted, right.shape)
        if alike(found, right, atol=1e-9):
            continue
        degrees = np.array([len(near) for near in neighbours])
        larger, smaller = np.maximum.outer(degrees, degrees), np.minimum.outer(degrees, degrees)

        spread = partial(_spread, right - np.diag(np.diag(right)) > 0)
        usual = {
            "The diagonal is zero: a rank keeps what it does not give to its neighbours, "
            "1 - matrix[i].sum()": right - np.diag(np.diag(right)),
            "Each row is the plain average: rows sum to 1, but columns do not, and ranks with "
            "many neighbours count for more. Take the larger of both degrees": (
                spread(1 / (1.0 + degrees[:, None]))
            ),
            "You take the neighbour's degree alone: take the larger of both": (
                spread(1 / (1.0 + degrees[None, :]))
            ),
            "You take the smaller of both degrees: what is left for a rank itself can become "
            "negative. Take the larger": spread(1 / (1.0 + smaller)),
            "1 / the larger degree leaves nothing for a rank itself: it is 1 / (1 + the larger "
            "degree)": spread(1 / np.maximum(larger, 1)),
        }
        if words := why(found, usual, same=within(1e-5, 1e-8)):
            raise Wrong(f"{call}: {words}")
        raise Wrong(f"{call}: {_unjust(found, right)}")


def _spread(joined: np.ndarray, weights: np.ndarray) -> AnyOf:
    """Such weights where there is a link, with what is left on the diagonal or without."""
    wrong = np.where(joined, weights, 0.0)
    return any_of(wrong + np.diag(1 - wrong.sum(axis=1)), wrong)


def judge_mix(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """A row of the matrix times everybody's vector, from those only who have a weight in it."""
    for count in ranks.first(3, counts):
        star = mixing.mixing_matrix(graphs.star(count), weights=mixing.equal_shares)
        circle = mixing.mixing_matrix(graphs.exponential(count))
        for matrix, graph in ((star, "star"), (circle, "exponential graph")):
            size = LONG if count == 3 else 5
            own = generator.standard_normal((count, size))
            told = f"mix on {ranks_text(count)} of the {graph}"
            given = [(x.copy(), matrix) for x in own]
            outcome = ranks.run(stage, count, given, told, CAUSES)
            _judge_vectors(told, outcome, own, matrix)
            _judge_messages(told, outcome, matrix)


def _judge_vectors(told: str, outcome: Outcome, own: np.ndarray, matrix: np.ndarray) -> None:
    right = matrix @ own
    diagonal = np.diag(matrix)[:, None]
    heard = right - diagonal * own
    others = matrix - np.diag(np.diag(matrix))
    mistakes = {
        "x is as it was: nothing has been done to it in place": own,
        "You took a column: matrix[i, j] is the weight that rank i gives to what it hears from "
        "rank j, so rank i's weights stand in row i": matrix.T @ own,
        "The own vector is missing: it has the weight matrix[rank, rank]": heard,
        "The own vector counts fully: multiply it by matrix[rank, rank]": own + heard,
        "What the others sent is missing: add it, with its weight": diagonal * own,
        "The others heard x when it was multiplied already: send a copy of x as it was": (
            own * diagonal + others @ (diagonal * own)
        ),
    }
    for rank, arguments in enumerate(outcome.arguments):
        found = np.asarray(arguments[0], dtype=float)
        if SAME(found, right[rank]):
            continue
        usual = {words: wrong[rank] for words, wrong in mistakes.items()}
        words = why(found, usual, "It is the sum of row times x", SAME)
        returned = outcome.results[rank]
        if np.shape(returned) == right[rank].shape and SAME(returned, right[rank]):
            words = "Nobody looks at what is returned: x[...] = ... changes x itself."
        raise Wrong(f"{told}: x is wrong on rank {rank}. {words}")


def _judge_messages(told: str, outcome: Outcome, matrix: np.ndarray) -> None:
    for rank, ledger in enumerate(outcome.ledger):
        wanted = int(np.count_nonzero(matrix[:, rank])) - 1
        if ledger.messages_sent > wanted:
            raise Wrong(
                f"{told}: the vectors are right, but rank {rank} sends {ledger.messages_sent} "
                f"messages, and only {wanted} of the others have a weight for what it sends. With "
                "thousands of ranks that is the difference: ask matrix[other, rank] before you "
                "send."
            )


CAUSES: ranks.Causes = (
    (
        ranks.some_send,
        "Who sends first and receives then waits for a neighbour who does the same. Begin with "
        "comm.isend, receive, and wait for what was begun at the end.",
    ),
    (
        ranks.stuck_or_lost,
        "Links may go one way only: rank i hears from those with matrix[i, j] > 0, and sends to "
        "those who have a weight for it, matrix[j, i] > 0.",
    ),
)


def _unjust(found: np.ndarray, right: np.ndarray) -> str:
    try:
        mixing.check_doubly_stochastic(found)
    except ValueError as error:
        return f"{error}."
    row, column = np.unravel_index(np.argmax(abs(found - right)), right.shape)
    return (
        f"rank {row} gives {found[row, column]:.3g} to rank {column}, and "
        f"{right[row, column]:.3g} is right."
    )
