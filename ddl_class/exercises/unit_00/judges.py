"""The judges of unit 00: who are my neighbours, a ball that comes back, and no deadlock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.exercise import Outcome, Stage, Wrong
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import items, several, whole

SHORT, LONG = 5, 200_000  # elements: goes out at once, and waits for its receiver


def judge_neighbours(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """Every rank names the rank to its left and the one to its right, round a circle."""
    # One or two ranks last: what goes wrong there looks stranger than it is.
    for count in sorted(counts, key=lambda count: count < 3):
        for rank, said in enumerate(stage.run(count, [()] * count).results):
            left, right = (rank - 1) % count, (rank + 1) % count
            wanted = "return two ranks, as in `return left, right`"
            pair = items(several(said, 2, wanted), wanted, whole)
            if pair == [left, right]:
                continue
            raise Wrong(
                f"on {count} ranks, rank {rank} says {tuple(pair)}; its neighbours are left "
                f"{left}, right {right}. {_about_neighbours(pair, rank, count)}"
            )


def _about_neighbours(pair: list[int], rank: int, count: int) -> str:
    left, right = (rank - 1) % count, (rank + 1) % count
    if pair == [right, left]:
        return "They are swapped: return the left one first."
    if pair[1] == count:
        return (
            f"There is no rank {count}: they are numbered from 0 to {count - 1}. To the right of "
            "the last one sits rank 0, and % comm.size brings you there."
        )
    if pair[0] == -1:
        return (
            "No rank is called -1. To the left of rank 0 sits the last one, and % comm.size "
            "brings you there: in Python -1 % 4 is 3."
        )
    return "Left is one less and right is one more, both % comm.size."


def judge_ping_pong(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The ball comes back `rounds` times, one larger each time."""
    for count in counts:
        rounds = int(generator.integers(3, 9))
        ball = generator.integers(0, 100, size=3)
        call = f"ping_pong with rounds={rounds} on {count} ranks"
        outcome = ranks.run(stage, count, [(ball, rounds)] * count, call, ranks.PLAYERS)
        ranks.judge_players(outcome, rounds, "round", call)
        for rank in (0, 1):
            _judge_ball(outcome.arguments[rank][0], ball, rank, rounds)


def _judge_ball(found: np.ndarray, begun: np.ndarray, rank: int, rounds: int) -> None:
    more = found - begun
    if (more == rounds).all():
        return
    told = f"after {rounds} rounds the ball of rank {rank} has become larger by {more.tolist()}"
    if (more == 2 * rounds).all() or (rank == 1 and (more == 2 * rounds - 1).all()):
        raise Wrong(f"{told}, not by {rounds}. Only rank 1 adds; rank 0 passes it on as it came.")
    if rank == 1 and (more == rounds - 1).all():
        raise Wrong(
            f"{told}, one too few. `ball = ball + 1` makes a new array and leaves the old one as "
            "it was: write `ball += 1`, before the ball is sent back."
        )
    if (more == 0).all():
        raise Wrong(f"{told}. Rank 1 has to add 1 to it, each time it comes by: `ball += 1`.")
    raise Wrong(f"{told}, not by {rounds}. Rank 1 adds 1, each time it comes by, to all of it.")


def judge_pass_right(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """What the left neighbour had is here, and nobody has waited for ever, short or long."""
    for count in counts:
        for length in (SHORT, LONG):
            mine = generator.standard_normal((count, length))
            arguments = [(own, np.zeros(length)) for own in mine]
            outcome = stage.run(count, arguments)
            for rank in range(count):
                _judge_received(outcome.arguments[rank], mine, rank)
            _judge_paths(outcome)


def _judge_received(kept: tuple, mine: np.ndarray, rank: int) -> None:
    """Whether this rank has the numbers of its left neighbour, and still its own."""
    count = len(mine)
    left, right = (rank - 1) % count, (rank + 1) % count
    told = f"on {count} ranks, rank {rank}"
    if not np.array_equal(kept[0], mine[rank]):
        raise Wrong(f"{told} has changed `mine`. It is sent; what comes goes into `received`.")
    if np.array_equal(kept[1], mine[left]):
        return
    if not kept[1].any():
        raise Wrong(
            f"{told}: `received` is still empty. Receive into it: `received = ...` would only "
            "give its name to another array."
        )
    whose = next((r for r in range(count) if np.array_equal(kept[1], mine[r])), None)
    if whose == right:
        raise Wrong(f"{told} has the numbers of rank {right}, its right neighbour: turn it round.")
    has = "something else" if whose is None else f"those of rank {whose}"
    raise Wrong(f"{told} should have the numbers of rank {left}, and has {has}.")


def _judge_paths(outcome: Outcome) -> None:
    """Everybody sends once, to the right: no detour over others, nothing twice."""
    count = len(outcome.ledger)
    for rank, own in enumerate(outcome.ledger):
        to = [message.peer for message in ranks.sent(own) if message.bytes]
        if to != [(rank + 1) % count]:
            raise Wrong(
                f"the numbers are right, but on {count} ranks rank {rank} sent messages to {to}. "
                f"One message to rank {(rank + 1) % count} is enough."
            )
