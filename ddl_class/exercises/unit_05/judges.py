"""The judges of unit 05: a ping-pong, a fitted line, and the way that is first there."""

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, held, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import array, number, seen
from ddl_class.exercises.kit.compare import why, within
from ddl_runtime.topologies.point_to_point import Uniform

BALL, FIT, FIRST = texts(__package__, "ping_pong", "fit", "first")
WAYS = {"lorry": (86_400.0, 1e-12), "cable": (0.001, 1e-9), "radio": (0.0001, 1e-6)}
SIZES = np.repeat(2.0 ** np.arange(24), 20)
NOISE = 0.1  # relative scatter of the made-up times
CLOSE = 0.06  # relative least squares was never wrong by more than 0.045 in 6,000 trials
TRIALS = 9  # plain least squares comes so close in one of seven, so not in all of them


def judge_ping_pong(attempt: Attempt) -> None:
    """Rank 0 knows the seconds per message; the ledger shows that a ball went to and fro."""
    draw = attempt.generator
    for count in attempt.counts:
        nbytes, turns = (int(draw.integers(3, most)) for most in (5000, 10))
        network = Uniform(ranks.HOUR * draw.uniform(1, 3), draw.uniform(0.1, 10))
        given, known = [(nbytes, turns)] * count, {"nbytes": nbytes, "turns": turns}
        call, outcome = run_ranks(attempt, BALL, given, ranks.PLAYERS, network, **known)
        ranks.judge_players(outcome, turns, "turn", call)
        for player, other in ((0, 1), (1, 0)):
            balls = ranks.sent(outcome.ledger[player])
            sizes = {ball.bytes for ball in balls}
            values = {"player": player, "other": other, "size": max(sizes)}
            BALL.refuse_if(
                values | {"call": call, "eightfold": 8 * nbytes},
                other_receiver=any(ball.peer != other for ball in balls),
                numbers=8 * nbytes in sizes,
                other_size=sizes != {nbytes},
            )
        number_given = number(outcome.results[0], BALL("wanted"))
        if outcome.time >= ranks.HOUR:
            # Simulated ranks' time is exact: a usual mistake shows by its factor.
            right, near = network.latency + nbytes / network.bandwidth, within(1e-6)
            held(BALL, "", 0, number_given, right, same=near, nbytes=nbytes).compare(
                whole_turn=2 * right,
                not_by_turns=turns * right,
                all_messages=2 * turns * right,
                at_once=right / 2,
                too_often=right / turns,
                per_second=1 / right,
                send_alone=nbytes / network.bandwidth,
            )
        else:
            possible = 0 < number_given < outcome.time
            BALL.refuse_if({"said": number_given, "time": outcome.time}, impossible=not possible)


def judge_fit(attempt: Attempt) -> None:
    """The line is found exactly where it is exact, and nearly where times scatter."""
    draw = attempt.generator
    for trial in range(TRIALS):
        right = 10 ** np.array([draw.uniform(-6, -5), draw.uniform(-10, -9)])
        scatter = NOISE * draw.standard_normal(len(SIZES)) if trial else 0.0
        seconds = (right[0] + right[1] * SIZES) * np.exp(scatter)
        answer = attempt.call(SIZES, seconds)
        FIT.refuse_if(lstsq=isinstance(answer, tuple) and len(answer) == 4)
        result = array(answer, FIT("wanted"), (2,))
        if not np.isfinite(result).all():
            raise Wrong(f"{FIT('wanted')}, not {seen(answer)}.")
        if trial == 0 and not np.allclose(result, right, rtol=2e-3, atol=0):
            # So close is a line through two points.
            FIT.refuse_if(
                {"found": result, "right": right},
                swapped=np.allclose(result, right[::-1], rtol=1e-4, atol=0),
                bandwidth=np.isclose(result[1], 1 / right[1], rtol=1e-4),
                no_latency=np.isclose(result[0], 0, atol=1e-3 * right[0]) and result[1] > 0,
                logarithms=True,
            )
        if not np.allclose(result, right, rtol=CLOSE, atol=0):
            plain = FIT.each(plain=np.polyfit(SIZES, seconds, 1)[::-1])
            words = why(result, plain, FIT("otherwise"), within(1e-3))
            units = 1e6, 1e9  # µs and ns
            raise Wrong(
                FIT("scattered", noise=NOISE, found=result * units, right=right * units, why=words)
            )


def judge_first(attempt: Attempt) -> None:
    """The way that has the bytes there first, for sizes of which each way is best at one."""
    for size in (10**9, 100, 10**16):
        nbytes = size * int(attempt.generator.integers(1, 5))
        names = [str(name) for name in attempt.generator.permutation(list(WAYS))]
        ways = {name: WAYS[name] for name in names}
        seconds = {name: latency + nbytes * each for name, (latency, each) in ways.items()}
        call = FIRST("call", ways=ways, nbytes=nbytes)
        answer = attempt.call(ways, nbytes)
        known = isinstance(answer, str) and answer in ways
        values = {"call": call, "names": names, "answer": seen(answer)}
        FIRST.refuse_if(values, wanted=not known)
        right = min(names, key=seconds.__getitem__)
        reason = FIRST.first(
            no_latency=answer == "lorry", no_bytes=answer == "radio", otherwise=True
        )
        FIRST.refuse_if(values | {"right": right, "why": reason}, wrong=answer != right)
