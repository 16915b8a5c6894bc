"""The judges of unit 15: a mean through one server, and through several; mixing matrices, and a
step of gossip."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import array
from ddl_class.exercises.kit.compare import AnyOf, alike, any_of, compare, refuse_if, within
from ddl_class.exercises.kit.ranks import LONG
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Comm
from ddl_teach.theory.gossip import graphs, mixing

SIZE = 23  # elements: no number of servers divides them
OF_SERVERS = 1e6  # what stands in a server's vector, and must not come into the mean
SLOW = Uniform(latency=1e-6, bandwidth=1e6)
ADVICE = "Each worker sends once to each server and receives once from it; a server the same."


def judge_server(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Rank 0 takes in what the workers have, and sends them the mean."""
    for count in ranks.last(2, counts):  # of one worker all means are one
        _judge(stage, generator, count, 1, f"server on {ranks_text(count)}", ())


def judge_sharded(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The same with a shard for each of several servers, all at work at the same time."""
    for count in counts:
        for servers in sorted({1, 2, count - 2, count // 2} & set(range(1, count))):
            call = f"sharded(comm, x, servers={servers}) on {ranks_text(count)}"
            outcome, again = _judge(stage, generator, count, servers, call, (servers,))
            # Only virtual time is the same twice; on real ranks it proves nothing.
            if servers > 1 and count - servers > 1 and ranks.virtual(outcome, again):
                least, most = (
                    ranks.seconds(_in_turn, count, SLOW, servers=servers, at_once=at_once)
                    for at_once in (True, False)
                )
                if outcome.time > (least + most) / 2:
                    raise Wrong(
                        f"{call}: the means are right, but in a simulated network it takes "
                        f"{outcome.time * 1e6:.0f} µs, as if there were one server, and "
                        f"{least * 1e6:.0f} are possible. A worker that waits for one server's "
                        "answer before it sends to the next keeps all other servers idle: send "
                        "all shards first."
                    )


def _judge(
    stage: ProgramRunner,
    generator: np.random.Generator,
    count: int,
    servers: int,
    call: str,
    rest: tuple,
) -> tuple[ProgramOutcome, Callable[[], ProgramOutcome]]:
    """What came of the means, and how to run it again."""
    own = generator.standard_normal((count, SIZE))
    own[:servers] = OF_SERVERS
    workers, right, first = count - servers, own[servers:].mean(axis=0), -(-SIZE // servers)
    given = [(x, *rest) for x in own]
    again = partial(ranks.run, stage, count, given, call, ranks.general(ADVICE), SLOW)
    outcome = again()
    for rank in range(servers, count):
        x = outcome.arguments[rank][0]
        usual = {
            "x is as it was. What the server sends must come into x: comm.recv(x, ...) writes "
            "into it, `x = ...` only names something else": own[rank],
            "That is the sum: divide it by the number of workers": right * workers,
            "You divide by all ranks, and the servers are no workers: there are comm.size minus "
            "the servers": right * workers / count,
            "A server's own x is in it: a server has nothing to add, it begins with zeros": any_of(
                own.mean(axis=0), (right * workers + own[0]) / workers
            ),
        }
        otherwise = "It is not the mean of the workers"
        if servers > 1 and alike(x[:first], right[:first]):
            otherwise = (
                "Its first elements are right: is each shard in its own place, on all servers?"
            )
        compare(f"{call}: x of worker {rank}", x, right, usual, otherwise)
    _judge_bytes(f"{call}: the means are right, but ", outcome, servers, workers)
    return outcome, again


def _judge_bytes(told: str, outcome: ProgramOutcome, servers: int, workers: int) -> None:
    """Workers speak to servers, servers to workers; and everything travels once each way."""
    nbytes, share = SIZE * 8, SIZE * 8 / servers
    slack = 8 * len(outcome.ledger)  # a number for each worker: shards are not equally long
    for rank, ledger in enumerate(outcome.ledger):
        who = "server" if rank < servers else "worker"
        peers = {message.peer for message in ledger.messages}
        if wrong := [peer for peer in sorted(peers) if (peer < servers) == (rank < servers)]:
            raise Wrong(
                f"{told}{who} {rank} sends to another {who}, rank {wrong[0]}. On this path "
                "workers speak to servers only, and servers to workers."
            )
    for rank, sent in enumerate(ledger.bytes_sent for ledger in outcome.ledger):
        cases = {
            f"worker {rank} sent {sent} bytes, and its x has {nbytes}: each server needs its own "
            "shard of it, and nothing else": rank >= servers and sent != nbytes,
            f"server {rank} sent {sent} bytes to {workers} workers, and its shard has about "
            f"{share:.0f}": rank < servers and abs(sent - workers * share) > slack,
        }
        refuse_if(told, cases)


def _in_turn(comm: Comm, servers: int, at_once: bool) -> None:
    """Workers that send all shards at once and then receive, or wait for each server in turn."""
    parts = np.array_split(np.zeros(SIZE), servers)
    workers = range(servers, comm.size)
    if comm.rank < servers:
        for worker in workers:
            comm.recv(parts[comm.rank], worker)
        for worker in workers:
            comm.send(parts[comm.rank], worker)
        return
    for server in range(servers):
        comm.send(parts[server], server)
        if not at_once:
            comm.recv(parts[server], server)
    for server in range(servers if at_once else 0):
        comm.recv(parts[server], server)


SAME = within(1e-5, 1e-8)

UNEVEN = (  # neighbours that have unequally many
    ((1, 2, 3), (0,), (0,), (0,)),
    ((1,), (0, 2), (1, 3), (2,)),
    ((1, 2), (0, 2, 3), (0, 1), (1, 4), (3,)),
    ((),),
)


def judge_weights(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The Metropolis-Hastings matrix of lists of neighbours."""
    drawn = [
        graphs.random(int(count), rings, int(generator.integers(1000))).rounds[0]
        for count in generator.integers(4, 9, 3)
        for rings in (1, 2)
    ]
    for links in (*UNEVEN, *drawn):
        neighbours = [list(near) for near in links]
        right = mixing.mixing_matrix(graphs.CommunicationGraph("given", (links,)))
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
        compare(call, found, right, usual, _unjust(found, right), SAME)


def _spread(joined: np.ndarray, weights: np.ndarray) -> AnyOf:
    """Such weights where there is a link, with what is left on the diagonal or without."""
    wrong = np.where(joined, weights, 0.0)
    return any_of(wrong + np.diag(1 - wrong.sum(axis=1)), wrong)


def judge_mix(stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """A row of the matrix times everybody's vector, from those only who have a weight in it."""
    for count in ranks.first(3, counts):
        star = mixing.mixing_matrix(graphs.star(count), weights=mixing.equal_shares)
        circle = mixing.mixing_matrix(graphs.exponential(count))
        for matrix, graph in ((star, "star"), (circle, "exponential graph")):
            own = generator.standard_normal((count, LONG if count == 3 else 5))
            call = f"mix on {ranks_text(count)} of the {graph}"
            outcome = ranks.run(stage, count, [(x.copy(), matrix) for x in own], call, CAUSES)
            _judge_vectors(call, outcome, own, matrix)
            enough = (np.count_nonzero(matrix, axis=0) - 1).tolist()
            no_others = "none of the others has a weight for it. With thousands of ranks that is "
            advice = f"{no_others}the difference: ask matrix[other, rank] before you send"
            ranks.judge_sent(call, outcome, enough, advice)


def _judge_vectors(
    call: str, outcome: ProgramOutcome, own: np.ndarray, matrix: np.ndarray
) -> None:
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
    for rank, (x, result) in enumerate(zip(outcome.arguments, outcome.results, strict=True)):
        usual = {words: wrong[rank] for words, wrong in mistakes.items()}
        if np.shape(result) == right[rank].shape and SAME(result, right[rank]):
            usual = {"Nobody looks at what is returned: x[...] = ... changes x itself": x[0]}
        otherwise = "It is the sum of row times x"
        compare(f"{call}: x of rank {rank}", x[0], right[rank], usual, otherwise, SAME)


CAUSES: ranks.Causes = {
    "Who sends first and receives then waits for a neighbour who does the same. Begin with "
    "comm.isend, receive, and wait for what was begun at the end.": ranks.some_send,
    "Links may go one way only: rank i hears from those with matrix[i, j] > 0, and sends to "
    "those who have a weight for it, matrix[j, i] > 0.": ranks.stuck_or_lost,
}


def _unjust(found: np.ndarray, right: np.ndarray) -> str:
    """The law that a matrix breaks, or its worst number."""
    try:
        mixing.check_doubly_stochastic(found)
    except ValueError as error:
        return f"{error}."
    row, column = np.unravel_index(np.argmax(abs(found - right)), right.shape)
    return (
        f"rank {row} gives {found[row, column]:.3g} to rank {column}, and "
        f"{right[row, column]:.3g} is right."
    )
