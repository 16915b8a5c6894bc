"""The judges of unit 18: a measurement, the slowest rank, two kinds of scaling; the use of a card,
and a review of one's own."""

import math
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, Wrong, ask, held, judge_seconds, run_ranks, texts
from ddl_class.exercises.kit.answers import SHOWN, array, not_none, number, numbers, several
from ddl_class.exercises.kit.compare import AnyOf, compare, within
from ddl_teach.theory.utilisation import utilisation

MEASURED, SLOWEST, SCALING, UTILISATION, REVIEW, RUNS = texts(
    __package__, "measured", "slowest", "scaling", "utilisation", "review", "runs"
)
SECONDS, SPREADS = np.array([2.0, 1.9, 2.1, 1.5]), np.array([0.1, 0.3, 0.05, 0.6])
Point = tuple[int, int, float]


def judge_measured(attempt: Attempt) -> None:
    """The median of the calls without the first one, by a clock that only work moves on."""
    for repetitions in (1, 4, 7):
        taken = attempt.generator.uniform(1, 3, repetitions)
        taken[-1] = 9.0  # an outlier moves the mean
        hands, spans = [float(attempt.generator.uniform(50, 90))], [20.0, *taken.tolist()]

        def work(hands: list[float] = hands, spans: list[float] = spans) -> None:
            hands[0] += spans[(len(hands) - 1) % len(spans)]
            hands.append(0.0)

        def clock(hands: list[float] = hands) -> float:
            return hands[0]

        cold, right = [20.0, *taken], float(np.median(taken))
        ask(attempt, MEASURED, (work, clock, repetitions), right, same=within(1e-6)).compare(
            warm_up=AnyOf(np.median(cold), np.mean(cold)),
            mean=taken.mean(),
            best=taken.min(),
            too_few=AnyOf(
                np.median(cold[:-1]), np.median(taken[:-1]) if repetitions > 1 else 20.0
            ),
            in_all=AnyOf(sum(cold), taken.sum()),
            nothing=0.0,
        )


def judge_slowest(attempt: Attempt) -> None:
    """For each repetition the time of the slowest rank, on every rank."""
    for count in sorted(attempt.counts):
        own = attempt.generator.gamma(2.0, 1.0, (count, 7))
        right = own.max(axis=0)
        call, outcome = run_ranks(attempt, SLOWEST, [(seconds,) for seconds in own])
        wanted = SLOWEST("wanted", call=call)
        for rank, value in enumerate(outcome.results):
            if value is None:
                raise Wrong(SLOWEST("nothing", call=call, rank=rank))
            result = np.atleast_1d(array(value, f"{wanted}: rank {rank}"))
            SLOWEST.refuse_if(
                {"call": call, "wanted": wanted, "rank": rank, "found": result, "right": right},
                table=result.ndim > 1,
                length=result.shape != right.shape,
            )
            held(SLOWEST, call, rank, result, right).compare(
                own=own[rank],
                rank_0=own[0],
                mean=own.mean(axis=0),
                sum=own.sum(axis=0),
                fastest=own.min(axis=0),
                slowest_in_all=own[own.sum(axis=1).argmax()],
            )
        left = [arguments[0] for arguments in outcome.arguments]
        SLOWEST.refuse_if({"call": call}, changed=not np.array_equal(left, own))


def judge_scaling(attempt: Attempt) -> None:
    """Which scaling it is, and how much of the ranks is used."""
    cases = [((1, 2, 4), batches) for batches in ((32, 32, 128), (32, 40, 128), (32, 48, 32))]
    for least in (1, 2, 3):
        counts = least, 2 * least, 8 * least
        cases += [(counts, (48, 48, 48)), (counts, (16 * least, 32 * least, 128 * least))]
    for counts, batches in cases:
        seconds = np.round(attempt.generator.uniform(1, 9, 3), 3).tolist()
        points: list[Point] = list(zip(counts, batches, seconds, strict=True))
        call = SCALING("call", points=points)
        wanted = SCALING("wanted", call=call)
        kind, efficiency = several(attempt.call(points), 2, wanted)
        (first, batch, before), (last, _, after) = points[0], points[-1]
        ratio, more = before / after, last / first
        if all(point[1] == batch for point in points):
            right, share = "strong", ratio / more
        elif all(point[1] * first == batch * point[0] for point in points):
            right, share = "weak", ratio
        else:
            right, share = "neither", None
        SCALING.refuse_if(
            {"call": call, "kind": kind, "right": right, "why": SCALING(right)},
            kind=str(kind) != right,
            efficiency=share is None and efficiency is not None,
        )
        if share is not None:
            usual = SCALING.each(
                samples=ratio * more,
                speed_up=ratio,
                as_strong=ratio / more,
                last_ranks=ratio / last,
                upside_down=AnyOf(1 / ratio, more / ratio),
            )
            compare(call, number(efficiency, wanted, part="the efficiency"), share, usual)


NEVER = float("inf")
SETS = (set, frozenset, list, tuple)
PARTS = ["input", "forward", "backward", "communication", "update"]
HONEST: dict[str, Any] = {
    "values": [1.0, 1.1, 0.9, 1.0, 1.2, 1.0], "repeated": 6, "includes": PARTS,
    "accuracy": {"training": 0.99, "held out": 0.95}, "scaling": "strong",
    "batches": {1: 64, 8: 64},
}  # fmt: skip
AWKWARD: dict[str, dict[str, Any]] = {  # honest, each in its own way
    "exactly six repetitions": {},
    "weak scaling, called weak": {"scaling": "weak", "batches": {1: 64, 8: 512}},
    "no scaling at all": {"scaling": None, "batches": {4: 64}},
    "two batches, and no scaling claimed": {"scaling": None, "batches": {1: 64, 8: 512}},
    "an outlier that was kept": {"values": [1.0, 1.1, 9.0, 1.0, 1.2, 1.0]},
    "a poor accuracy, but on held-out data": {"accuracy": {"held out": 0.31}},
    "parts in another order": {"includes": PARTS[::-1]},
    "an accuracy of zero": {"accuracy": {"held out": 0.0}},
}
FAULTY: dict[str, list[dict[str, Any]]] = {
    "no interval": [{"values": [1.0, 1.1, 0.9, 1.0, 1.2], "repeated": 5},
                    {"values": [1.0], "repeated": 1}],
    "best of n": [{"repeated": 7}, {"repeated": 600}],
    "no input time": [{"includes": PARTS[1:]}, {"includes": []}],
    "throughput without accuracy": [{"accuracy": {}}],
    "no test accuracy": [{"accuracy": {"training": 0.99}}, {"accuracy": {"validation": 0.97}}],
    "weak scaling sold as strong": [{"batches": {1: 64, 8: 512}}, {"batches": {2: 64, 4: 65}}],
}  # fmt: skip


def curve(generator: np.random.Generator, misses: bool) -> tuple[np.ndarray, np.ndarray]:
    """Seconds and accuracies: up to the target exactly, down again once, and above at last."""
    seconds = np.cumsum(generator.uniform(0.5, 1.5, 9))
    right = np.sort(generator.uniform(0.2, 0.85, 9))
    if not misses:
        begin = int(generator.integers(3, 6))
        right[begin], right[begin + 1] = 0.9, 0.87
        right[begin + 2 :] = np.linspace(0.92, 0.95, 7 - begin)
    return seconds, right


def firsts(seconds: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The seconds when each training is first at the target; NEVER if it is not."""
    firsts = seconds[np.arange(len(seconds)), there.argmax(axis=1)]
    return np.where(there.any(axis=1), firsts, NEVER)


def judge_utilisation(attempt: Attempt) -> None:
    """Useful operations, and all that were done, over those that were possible."""
    draw, names = attempt.generator, ("the utilisation of the model", "that of the hardware")
    for sparse, recomputed in ((False, False), (True, False), (False, True), (True, True)):
        weights, tokens = 1e9 * draw.integers(1, 70), 1e6 * draw.integers(1, 9)
        cards, peak = int(draw.integers(9, 500)), 1e12 * float(draw.integers(300, 2000))
        seconds = 6 * weights * tokens * (1 + sparse) / (cards * peak * draw.uniform(0.2, 0.6))
        given = float(weights), float(tokens), float(seconds), cards, peak, sparse, recomputed
        call = UTILISATION("call", sparse=sparse, recomputed=recomputed)
        both = numbers(attempt.call(*given), names, UTILISATION("wanted", call=call))
        right = utilisation(*given)
        for name, result, share in zip(names, both, right, strict=True):
            held(UTILISATION, call, 0, result, share, name=name, same=within(1e-6)).compare(
                sparse_peak=share / 2 if sparse else share * 2,
                all_recomputed=right[0] * 8 / 6,
                recomputation=right[1],
                useful_only=right[0],
                forward_only=AnyOf(share / 3, share / 6),
                one_card=share * cards,
                rate=share * seconds,
                upside_down=1 / share,
                percent=100 * share,
            )


def judge_runs(attempt: Attempt) -> None:
    """Three differences are narrow enough, and all runs together take little time."""
    width, names = 0.1, [f"the runs of method {method}" for method in range(4)]
    answer = attempt.call(SECONDS, SPREADS, width)
    runs = np.array(numbers(answer, names, RUNS("wanted")))
    RUNS.refuse_if(no_run=bool((runs != runs.round()).any() or runs.min() < 1))
    variances = SPREADS**2 / runs
    known = {"width": width, "widest": 1.96 * math.sqrt(variances[0] + variances[1:].max())}
    judge_seconds(attempt, RUNS, runs @ SECONDS, 420, known, too_wide=known["widest"] > width)


def judge_review(attempt: Attempt) -> None:
    """Every fault is found, alone and among others, and no honest report is accused."""
    for what, change in AWKWARD.items():
        _judge_faults(attempt, {**HONEST, **change}, set(), REVIEW("honest", what=what))
    for fault, changes in FAULTY.items():
        for change in changes:
            _judge_faults(attempt, {**HONEST, **change}, {fault})
    for _ in range(8):
        many = int(attempt.generator.integers(2, 5))
        chosen = set(attempt.generator.choice(list(FAULTY), many, replace=False).tolist())
        if {"throughput without accuracy", "no test accuracy"} <= chosen:
            chosen.discard("no test accuracy")
        report = dict(HONEST)
        for fault in sorted(chosen, reverse=True):  # "no interval" before "best of n"
            report |= FAULTY[fault][0]
        if {"no interval", "best of n"} <= chosen:
            report["repeated"] = 9
        _judge_faults(attempt, report, chosen)


def _judge_faults(
    attempt: Attempt, report: dict[str, Any], faults: set[str], described: str = ""
) -> None:
    described = described or REVIEW("only", report=report, faults=" and ".join(sorted(faults)))
    wanted = REVIEW("wanted", report=described)
    answer = not_none(attempt.call(report), wanted)
    if not isinstance(answer, SETS):
        raise Wrong(REVIEW("no_set", wanted=wanted, answer=str(answer)[:SHOWN]))
    result = set(map(str, answer))
    for fault in (*sorted(faults - result), *sorted(result - faults)):
        known = REVIEW[fault] if fault in FAULTY else REVIEW("unknown", names=", ".join(FAULTY))
        values = {"fault": fault, "report": described, "why": known}
        REVIEW.refuse_if(values, missed=fault in faults, accused=True)
