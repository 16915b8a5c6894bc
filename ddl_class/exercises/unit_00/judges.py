"""The judges of unit 00: the neighbours' numbers, a ball that comes back, and no deadlock."""

import numpy as np

from ddl_class.exercises.kit import Attempt, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import items, several, whole
from ddl_class.exercises.translation import translated

NEIGHBOURS, BALL, CIRCLE = texts(__package__, "neighbours", "ping_pong", "no_deadlock")
SHORT, LONG = 5, 200_000  # elements: goes out at once, and waits for its receiver


def judge_neighbours(attempt: Attempt) -> None:
    """Every rank names the rank to its left and the one to its right, round a circle."""
    # One or two ranks last: what goes wrong there looks stranger than it is.
    for count in sorted(attempt.counts, key=lambda count: count < 3):
        for rank, answer in enumerate(attempt.run(count, [()] * count).results):
            pair = items(several(answer, 2, NEIGHBOURS("wanted")), NEIGHBOURS("wanted"), whole)
            left, right = (rank - 1) % count, (rank + 1) % count
            why = NEIGHBOURS.first(
                {"count": count, "last": count - 1},
                swapped=pair == [right, left],
                beyond_the_last=pair[1] == count,
                below_zero=pair[0] == -1,
                otherwise=True,
            )
            NEIGHBOURS.refuse_if(
                {"count": count, "rank": rank, "pair": pair, "right": (left, right), "why": why},
                wrong=pair != [left, right],
            )


def judge_ping_pong(attempt: Attempt) -> None:
    """The ball comes back `rounds` times, one larger each time."""
    for count in attempt.counts:
        rounds = int(attempt.generator.integers(3, 9))
        ball = attempt.generator.integers(0, 100, size=3)
        given = [(ball, rounds)] * count
        call, outcome = run_ranks(attempt, BALL, given, ranks.PLAYERS, rounds=rounds)
        ranks.judge_players(outcome, rounds, translated("round"), call)
        for rank in (0, 1):
            more = outcome.arguments[rank][0] - ball
            BALL.refuse_if(
                {"rounds": rounds, "rank": rank, "more": more.tolist()},
                both_add=(more == 2 * rounds).all() or (rank and (more == 2 * rounds - 1).all()),
                new_ball=rank and (more == rounds - 1).all(),
                never_adds=not more.any(),
                otherwise=(more != rounds).any(),
            )


def judge_pass_right(attempt: Attempt) -> None:
    """Each rank has what its left neighbour had, and none waits for ever, short or long."""
    for count in attempt.counts:
        for length in (SHORT, LONG):
            mine = attempt.generator.standard_normal((count, length))
            outcome = attempt.run(count, [(own, np.zeros(length)) for own in mine])
            for rank, (kept, received) in enumerate(outcome.arguments):
                left, right = (rank - 1) % count, (rank + 1) % count
                whose = [r for r in range(count) if np.array_equal(received, mine[r])]
                CIRCLE.refuse_if(
                    {"count": count, "rank": rank, "left": left, "right": right, "whose": whose},
                    changed=not np.array_equal(kept, mine[rank]),
                    empty=not received.any(),
                    turned_round=whose == [right] != [left],
                    nobodys=not whose,
                    otherwise=whose != [left],
                )
            # Every rank sends once, to the right: no detour over others, nothing twice.
            for rank, ledger in enumerate(outcome.ledger):
                peers = [message.peer for message in ranks.sent(ledger) if message.bytes]
                right = (rank + 1) % count
                values = {"count": count, "rank": rank, "peers": peers, "right": right}
                CIRCLE.refuse_if(values, detour=peers != [right])
