"""The judges of unit 00: who are my neighbours, a ball that comes back, and no deadlock."""

from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import items, several, whole
from ddl_class.exercises.kit.compare import first_case, refuse_if

SHORT, LONG = 5, 200_000  # elements: goes out at once, and waits for its receiver


def judge_neighbours(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Every rank names the rank to its left and the one to its right, round a circle."""
    # One or two ranks last: what goes wrong there looks stranger than it is.
    for count in sorted(counts, key=lambda count: count < 3):
        for rank, answer in enumerate(stage.run(count, [()] * count).results):
            left, right = (rank - 1) % count, (rank + 1) % count
            wanted = "return two ranks, as in `return left, right`"
            pair = items(several(answer, 2, wanted), wanted, whole)
            cases = {
                "They are swapped: return the left one first": pair == [right, left],
                f"There is no rank {count}: they are numbered from 0 to {count - 1}. To the right "
                "of the last one sits rank 0, and % comm.size brings you there": pair[1] == count,
                "No rank is called -1. To the left of rank 0 sits the last one, and % comm.size "
                "brings you there: in Python -1 % 4 is 3": pair[0] == -1,
            }
            if pair != [left, right]:
                raise Wrong(
                    f"on {count} ranks, rank {rank} says {tuple(pair)}; its neighbours are left "
                    f"{left}, right {right}. "
                    + first_case(cases, "Left is one less and right is one more, both % comm.size")
                )


def judge_ping_pong(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The ball comes back `rounds` times, one larger each time."""
    for count in counts:
        rounds = int(generator.integers(3, 9))
        ball = generator.integers(0, 100, size=3)
        call = f"ping_pong with rounds={rounds} on {count} ranks"
        outcome = ranks.run(stage, count, [(ball, rounds)] * count, call, ranks.PLAYERS)
        ranks.judge_players(outcome, rounds, "round", call)
        for rank in (0, 1):
            more = outcome.arguments[rank][0] - ball
            twice = (more == 2 * rounds).all() or (rank == 1 and (more == 2 * rounds - 1).all())
            cases = {
                f", not by {rounds}. Only rank 1 adds; rank 0 passes it on as it came": twice,
                ", one too few. `ball = ball + 1` makes a new array and leaves the old one as it "
                "was: write `ball += 1`, before the ball is sent back": (
                    rank == 1 and (more == rounds - 1).all()
                ),
                ". Rank 1 has to add 1 to it, each time it comes by: `ball += 1`": not more.any(),
                f", not by {rounds}. Rank 1 adds 1, each time it comes by, to all of it": (
                    more != rounds
                ).any(),
            }
            after = f"after {rounds} rounds the ball of rank {rank} has become larger by "
            refuse_if(f"{after}{more.tolist()}", cases)


def judge_pass_right(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """What the left neighbour had is here, and nobody has waited for ever, short or long."""
    for count in counts:
        for length in (SHORT, LONG):
            mine = generator.standard_normal((count, length))
            outcome = stage.run(count, [(own, np.zeros(length)) for own in mine])
            for rank, (kept, received) in enumerate(outcome.arguments):
                _judge_received(f"on {count} ranks, rank {rank}", kept, received, mine, rank)
            # Everybody sends once, to the right: no detour over others, nothing twice.
            for rank, ledger in enumerate(outcome.ledger):
                peers = [message.peer for message in ranks.sent(ledger) if message.bytes]
                if peers != [(rank + 1) % count]:
                    raise Wrong(
                        f"the numbers are right, but on {count} ranks rank {rank} sent messages "
                        f"to {peers}. One message to rank {(rank + 1) % count} is enough."
                    )


def _judge_received(
    setting: str, kept: np.ndarray, received: np.ndarray, mine: np.ndarray, rank: int
) -> None:
    """Whether this rank has the numbers of its left neighbour, and still its own."""
    count = len(mine)
    left, right = (rank - 1) % count, (rank + 1) % count
    whose = next((r for r in range(count) if np.array_equal(received, mine[r])), None)
    has = "something else" if whose is None else f"those of rank {whose}"
    cases = {
        " has changed `mine`. It is sent; what comes goes into `received`": (
            not np.array_equal(kept, mine[rank])
        ),
        ": `received` is still empty. Receive into it: `received = ...` would only give its name "
        "to another array": not received.any(),
        f" has the numbers of rank {right}, its right neighbour: turn it round": (
            whose == right != left
        ),
        f" should have the numbers of rank {left}, and has {has}": whose != left,
    }
    refuse_if(setting, cases)
