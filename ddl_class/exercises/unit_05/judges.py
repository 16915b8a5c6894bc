"""The judges of unit 05: a ping-pong, a fitted line, and the size that divides short from long."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.answers import SHOWN, array, number
from ddl_class.exercises.kit.compare import compare, refuse_if, why, within
from ddl_runtime.topologies.point_to_point import Uniform

SIZES = np.repeat(2.0 ** np.arange(24), 20)
NOISE = 0.1  # relative scatter of the made-up times
CLOSE = 0.06  # relative least squares was never wrong by more than 0.045 in 6,000 trials
TRIALS = 9  # plain least squares comes so close in one of seven, so not in all of them


def judge_ping_pong(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Rank 0 knows the seconds per message; the ledger shows that a ball went to and fro."""
    for count in counts:
        nbytes, turns = (int(generator.integers(3, most)) for most in (5000, 10))
        network = Uniform(ranks.HOUR * generator.uniform(1, 3), generator.uniform(0.1, 10))
        call = f"ping_pong(comm, nbytes={nbytes}, turns={turns}) on {count} ranks"
        outcome = ranks.run(stage, count, [(nbytes, turns)] * count, call, ranks.PLAYERS, network)
        ranks.judge_players(outcome, turns, "turn", call)
        for player, other in ((0, 1), (1, 0)):
            balls = ranks.sent(outcome.ledger[player])
            sizes = {ball.bytes for ball in balls}
            cases = {
                f"rank {player} must send to rank {other} and to nobody else": any(
                    ball.peer != other for ball in balls
                ),
                f"the ball has {8 * nbytes} bytes. Numbers in np.zeros(n) take 8 bytes each; "
                "np.zeros(nbytes, np.uint8) has bytes": 8 * nbytes in sizes,
                f"rank {player} sent balls of {max(sizes)} bytes": sizes != {nbytes},
            }
            refuse_if(f"{call}: ", cases)
        said = number(outcome.results[0], "rank 0 should return the seconds of one message")
        if outcome.time >= ranks.HOUR:
            _judge_stopwatch(said, nbytes, turns, network)
        elif not 0 < said < outcome.time:
            raise Wrong(
                f"rank 0 says that a message takes {said:.3g} s, yet the whole program took "
                f"{outcome.time:.3g} s. Return the time that has passed by the stopwatch, divided "
                "by the number of messages."
            )


def _judge_stopwatch(said: float, nbytes: int, turns: int, network: Uniform) -> None:
    """Compare with simulated ranks' exact time, and name the usual mistakes by their factor."""
    right = network.latency + nbytes / network.bandwidth
    usual = {
        "That is a whole turn, there and back: a turn is two messages": 2 * right,
        "You divided by 2 but not by the turns: there are 2 * turns messages": turns * right,
        "That is all messages together: divide by 2 * turns": 2 * turns * right,
        "The second message may leave only when the first has come. If both ranks send at once, "
        "as in sendrecv, it is no ping-pong": right / 2,
        "You divided too often: there are 2 * turns messages": right / turns,
        "That is messages per second; seconds per message are asked": 1 / right,
        "You time the send alone. It returns as soon as the bytes are on their way; that they "
        "arrived you know when the ball is back": nbytes / network.bandwidth,
    }
    otherwise = (
        "Start the stopwatch before the first turn, stop it after the last, and divide by the "
        "number of messages"
    )
    told = f"timing messages of {nbytes} bytes in a simulated network, a slow one,"
    compare(told, said, right, usual, otherwise, within(1e-6))


def judge_fit(stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The line is found exactly where it is exact, and nearly where times scatter."""
    for trial in range(TRIALS):
        truth = np.array([10 ** generator.uniform(-6, -5), 10 ** generator.uniform(-10, -9)])
        model = truth[0] + truth[1] * SIZES
        scatter = NOISE * generator.standard_normal(len(SIZES)) if trial else 0.0
        seconds = model * np.exp(scatter)
        found = _pair(stage.call(SIZES, seconds))
        if trial == 0:
            _judge_exact(found, truth)
        elif not np.allclose(found, truth, rtol=CLOSE, atol=0):
            raise Wrong(_scattered(found, truth, seconds))


def _judge_exact(found: np.ndarray, truth: np.ndarray) -> None:
    latency, per_byte = truth
    both = f"{found[0]:.4g} and {found[1]:.4g}"
    cases = {
        f"{both}: the right numbers in the wrong order. Return the latency first. (np.polyfit "
        "gives the slope first.)": np.allclose(found, truth[::-1], rtol=1e-4, atol=0),
        f"{found[1]:.4g} as the second number. That is the bandwidth, in bytes a second: return "
        "its inverse, the seconds per byte": np.isclose(found[1], 1 / per_byte, rtol=1e-4),
        "no latency. A line through zero has none: fit both numbers": (
            np.isclose(found[0], 0, atol=1e-3 * latency) and found[1] > 0
        ),
        f"{both}. Fit the times themselves, not their logarithms: a straight line on two "
        "logarithmic axes is a power, not a sum": True,
    }
    if not np.allclose(found, truth, rtol=2e-3, atol=0):  # so close is a line through two points
        refuse_if(
            f"the times are exactly {latency:.4g} + {per_byte:.4g} * size; you found ", cases
        )


def _scattered(found: np.ndarray, truth: np.ndarray, seconds: np.ndarray) -> str:
    """What to say of a line that lies wrong where the times scatter."""
    plain = {
        "That is plain least squares. It makes seconds small, and only the largest messages have "
        "many of them: an error of 10 % there is more than a whole latency. Make relative errors "
        "small: divide each equation by its measured time": np.polyfit(SIZES, seconds, 1)[::-1]
    }
    otherwise = (
        "Use all measured times, and give each the same say: make the sum of "
        "((latency + per_byte * size) / seconds - 1)**2 small"
    )
    return (
        f"each time was made wrong by about {NOISE:.0%}. Then you find a latency of "
        f"{found[0] * 1e6:.4g} µs instead of {truth[0] * 1e6:.4g}, and {found[1] * 1e9:.4g} ns a "
        f"byte instead of {truth[1] * 1e9:.4g}. {why(found, plain, otherwise, within(1e-3))}"
    )


def judge_half_bandwidth(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The size at which bytes take as long as the latency does."""
    for _ in range(5):
        latency, per_byte = 10 ** generator.uniform(-6, -4), 10 ** generator.uniform(-10, -8)
        said = number(stage.call(latency, per_byte), "return the number of bytes")
        right = latency / per_byte
        if abs(said - right) <= 1:  # whole bytes will do
            continue
        usual = {
            "It is the other way round": per_byte / latency,
            "Divide by per_byte: the more a byte costs, the fewer it takes": latency * per_byte,
            "That is a third of the bandwidth, not half of it": right / 2,
            "That is two thirds of the bandwidth, not half of it": 2 * right,
            "That is the bandwidth itself": 1 / per_byte,
            "That is half the bandwidth; the size is asked at which it shows": 1 / (2 * per_byte),
        }
        otherwise = "Half of its time must be latency, so that the other half is bytes"
        call = f"half_bandwidth({latency:.4g}, {per_byte:.4g})"
        compare(call, said, right, usual, otherwise, within(1e-6))


def _pair(value: Any) -> np.ndarray:
    """What a learner's fit returned, as two floats."""
    if isinstance(value, tuple) and len(value) == 4:
        raise Wrong(
            "return two numbers. np.linalg.lstsq gives four things, and the first of them holds "
            "both: np.linalg.lstsq(matrix, ones)[0]."
        )
    wanted = "return two numbers, latency in seconds and per_byte in seconds a byte"
    pair = array(value, wanted, (2,))
    if not np.isfinite(pair).all():
        raise Wrong(f"{wanted}, not {str(value)[:SHOWN]}.")
    return pair
