"""The judges of unit 15: a mean through one server, and through several; mixing matrices, and a
step of gossip."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, Wrong, array, ranks, ranks_text, texts
from ddl_class.exercises.kit.asked import held, run_ranks
from ddl_class.exercises.kit.compare import AnyOf, alike, within
from ddl_class.exercises.kit.ranks import LONG
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Comm
from ddl_teach.theory.gossip import graphs, mixing

SERVERS, WEIGHTS, MIX = texts(__package__, "sharded", "weights", "mix")
SIZE = 23  # elements: no number of servers divides them
OF_SERVERS = 1e6  # what stands in a server's vector, and must not come into the mean
SLOW = Uniform(latency=1e-6, bandwidth=1e6)


def judge_server(attempt: Attempt) -> None:
    """Rank 0 takes in what the workers have, and sends them the mean."""
    for count in ranks.last(2, attempt.counts):  # of one worker all means are one
        _judge(attempt, count, 1, f"server on {ranks_text(count)}")


def judge_sharded(attempt: Attempt) -> None:
    """As for one server, but each of several has a shard, and all must work at the same time."""
    for count in attempt.counts:
        for servers in sorted({1, 2, count - 2, count // 2} & set(range(1, count))):
            call = SERVERS("call", servers=servers, ranks=ranks_text(count))
            outcome, again = _judge(attempt, count, servers, call, servers)
            # Only virtual time is the same twice; on real ranks it proves nothing.
            if servers > 1 and count - servers > 1 and ranks.virtual(outcome, again):
                least, most = (
                    ranks.seconds(_in_turn, count, SLOW, servers=servers, at_once=at_once)
                    for at_once in (True, False)
                )
                if outcome.time > (least + most) / 2:
                    raise Wrong(
                        SERVERS("slow", call=call, took=outcome.time * 1e6, least=least * 1e6)
                    )


def _judge(
    attempt: Attempt, count: int, servers: int, call: str, *rest: int
) -> tuple[ProgramOutcome, Callable[[], ProgramOutcome]]:
    """Judge the means on `count` ranks; returns the outcome, and a function that runs it again."""
    own = attempt.generator.standard_normal((count, SIZE))
    own[:servers] = OF_SERVERS
    workers, right, first = count - servers, own[servers:].mean(axis=0), -(-SIZE // servers)
    given = [(x, *rest) for x in own]
    causes = ranks.general(SERVERS("advice"))
    again = partial(ranks.run, attempt, count, given, call, causes, SLOW)
    outcome = again()
    for rank in range(servers, count):
        x = outcome.arguments[rank][0]
        begins_right = servers > 1 and alike(x[:first], right[:first])
        why = SERVERS("shards" if begins_right else "no_mean")
        held(SERVERS, call, rank, x, right, why=why).compare(
            unchanged=own[rank],
            sum=right * workers,
            all_ranks=right * workers / count,
            server_too=AnyOf(own.mean(axis=0), (right * workers + own[0]) / workers),
        )
    _judge_bytes(call, outcome, servers, workers)
    return outcome, again


def _judge_bytes(call: str, outcome: ProgramOutcome, servers: int, workers: int) -> None:
    """Workers send to servers only, and servers to workers; everything travels once each way."""
    nbytes, share = SIZE * 8, SIZE * 8 / servers
    slack = 8 * len(outcome.ledger)  # a number for each worker: shards are not equally long
    for rank, ledger in enumerate(outcome.ledger):
        peers = {message.peer for message in ledger.messages}
        alike_peers = [peer for peer in peers if (peer < servers) == (rank < servers)]
        who, other = "server" if rank < servers else "worker", min(alike_peers, default=None)
        values = {"call": call, "who": who, "rank": rank, "other": other}
        SERVERS.refuse_if(values, stranger=alike_peers)
    for rank, sent in enumerate(ledger.bytes_sent for ledger in outcome.ledger):
        values = {"call": call, "rank": rank, "sent": sent, "nbytes": nbytes}
        SERVERS.refuse_if(
            values | {"workers": workers, "share": share},
            worker_bytes=rank >= servers and sent != nbytes,
            server_bytes=rank < servers and abs(sent - workers * share) > slack,
        )


def _in_turn(comm: Comm, servers: int, at_once: bool) -> None:
    """Workers that send all shards at once and then receive, or wait for each server in turn."""
    parts = np.array_split(np.zeros(SIZE), servers)
    if comm.rank < servers:
        for verb in (comm.recv, comm.send):
            for worker in range(servers, comm.size):
                verb(parts[comm.rank], worker)
        return
    for server, part in enumerate(parts):
        comm.send(part, server)
        if not at_once:
            comm.recv(part, server)
    for server, part in enumerate(parts if at_once else []):
        comm.recv(part, server)


SAME = within(1e-5, 1e-8)

UNEVEN = (  # neighbours that have unequally many
    ((1, 2, 3), (0,), (0,), (0,)),
    ((1,), (0, 2), (1, 3), (2,)),
    ((1, 2), (0, 2, 3), (0, 1), (1, 4), (3,)),
    ((),),
)


def judge_weights(attempt: Attempt) -> None:
    """The Metropolis-Hastings matrix of lists of neighbours."""
    drawn = [
        graphs.random(int(count), rings, int(attempt.generator.integers(1000))).rounds[0]
        for count in attempt.generator.integers(4, 9, 3)
        for rings in (1, 2)
    ]
    for links in (*UNEVEN, *drawn):
        neighbours = [list(near) for near in links]
        right = mixing.mixing_matrix(graphs.CommunicationGraph("given", (links,)))
        call = WEIGHTS("call", neighbours=neighbours)
        result = array(attempt.call(neighbours), WEIGHTS("wanted", call=call), right.shape)
        if alike(result, right, atol=1e-9):
            continue
        degrees = np.array([len(near) for near in neighbours])
        larger, smaller = np.maximum.outer(degrees, degrees), np.minimum.outer(degrees, degrees)
        no_diagonal = right - np.diag(np.diag(right))
        spread = partial(_spread, no_diagonal > 0)
        why = _unjust(result, right)
        held(WEIGHTS, call, 0, result, right, same=SAME, why=why).compare(
            no_diagonal=no_diagonal,
            plain_average=spread(1 / (1.0 + degrees[:, None])),
            neighbours_degree=spread(1 / (1.0 + degrees[None, :])),
            smaller=spread(1 / (1.0 + smaller)),
            nothing_left=spread(1 / np.maximum(larger, 1)),
        )


def _spread(joined: np.ndarray, weights: np.ndarray) -> AnyOf:
    """Such weights where there is a link, with what is left on the diagonal or without."""
    wrong = np.where(joined, weights, 0.0)
    return AnyOf(wrong + np.diag(1 - wrong.sum(axis=1)), wrong)


def judge_mix(attempt: Attempt) -> None:
    """A row of the matrix times all vectors, received only from ranks with a weight in it."""
    for count in ranks.first(3, attempt.counts):
        star = mixing.mixing_matrix(graphs.star(count), weights=mixing.equal_shares)
        circle = mixing.mixing_matrix(graphs.exponential(count))
        for matrix, graph in ((star, "star"), (circle, "exponential graph")):
            own = attempt.generator.standard_normal((count, LONG if count == 3 else 5))
            call, outcome = run_ranks(
                attempt, MIX, [(x, matrix) for x in own], CAUSES, graph=graph
            )
            right, diagonal = matrix @ own, np.diag(matrix)[:, None]
            heard, others = right - diagonal * own, matrix - np.diag(np.diag(matrix))
            mistakes = MIX.each(
                unchanged=own,
                column=matrix.T @ own,
                no_own=heard,
                own_fully=own + heard,
                own_only=diagonal * own,
                too_late=own * diagonal + others @ (diagonal * own),
            )
            ends = zip(outcome.arguments, outcome.results, strict=True)
            for rank, (x, result) in enumerate(ends):
                usual = {words: wrong[rank] for words, wrong in mistakes.items()}
                if np.shape(result) == right[rank].shape and SAME(result, right[rank]):
                    usual = MIX.each(returned=x[0])
                held(MIX, call, rank, x[0], right[rank], same=SAME).compare(usual)
            enough = (np.count_nonzero(matrix, axis=0) - 1).tolist()
            ranks.judge_sent(call, outcome, enough, MIX("advice"))


CAUSES = MIX.each(sends_first=ranks.some_send, one_way=ranks.stuck_or_lost)


def _unjust(result: np.ndarray, right: np.ndarray) -> str:
    """The law that a matrix breaks, or its worst number."""
    try:
        mixing.check_doubly_stochastic(result, "your matrix")
    except ValueError as error:
        broken = str(error)
        return f"{broken[0].upper()}{broken[1:]}."
    at = row, column = np.unravel_index(np.argmax(abs(result - right)), right.shape)
    return WEIGHTS("worst", row=row, column=column, found=result[at], right=right[at])
