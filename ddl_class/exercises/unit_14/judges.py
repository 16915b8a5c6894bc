"""The judges of unit 14: old gradients, a server with a bound, no locks; and ranks that agree now
and then, or by springs."""

from functools import partial
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, Wrong, ask, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import array, items, several
from ddl_class.exercises.kit.compare import AnyOf, compare, why, within
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Comm
from ddl_teach.plain import stale_synchronous
from ddl_teach.theory.staleness import delayed_descent

ENDS, DELAYED, BOUNDED, LOCK_FREE, LOCAL, ELASTIC = texts(
    __package__, "", "delayed", "bounded", "lockfree", "local", "elastic"
)
NETWORK = Uniform(latency=1e-6, bandwidth=1e9)
PAUSE = 1e-3  # seconds of a gradient, about
SLACK = 0.1 * PAUSE  # messages may go in another order
STEPS = 8
SAME = within(1e-9, 1e-12)

Event = tuple[int, str]


# -- descent with old gradients ------------------------------------------------------------------


def judge_delayed(attempt: Attempt) -> None:
    """w[t+1] = w[t] - step w[t - staleness], and all is one before the first step."""
    for trial in range(8):
        step = round(float(attempt.generator.uniform(0.1, 0.6)), 2)
        age, steps = (int(attempt.generator.integers(*ends)) for ends in ((2, 5), (8, 14)))
        age *= trial > 0
        descent = partial(delayed_descent, step, 1.0)
        right, zeros, around = descent(age, steps), [1.0], [1.0]
        for now in range(steps):
            zeros.append(zeros[now] - step * (zeros[now - age] if now >= age else 0))
            around.append(around[now] - step * around[(now - age) % len(around)])
        known: dict[str, Any] = {"same": SAME, "read": array}
        known |= {"steps": steps, "weights": steps + 1}
        ask(attempt, DELAYED, (step, age, steps), right, **known).compare(
            no_first=right[1:],
            no_last=right[:-1],
            only_last=right[-1:],
            fresh=descent(0, steps),
            too_old=descent(age + 1, steps),
            too_fresh=descent(max(age - 1, 0), steps),
            zeros=np.array(zeros),
            around=np.array(around),
            uphill=delayed_descent(-step, 1.0, age, steps),
        )


# -- a server with a bound -----------------------------------------------------------------------


def judge_bounded(attempt: Attempt) -> None:
    """Every update counts at once; only a worker ahead by more than the bound must wait."""
    virtual = None
    for count in ranks.last(1, attempt.counts):
        for bound in (2, 0):
            # Workers are slow by turns, two steps each: under a smaller bound than two they wait.
            slow = (np.arange(STEPS) // 2 + np.arange(count)[:, None]) % 2
            pauses = (0.1 + slow + attempt.generator.uniform(0, 0.1, (count, STEPS))) * PAUSE
            own = [(np.zeros(count), row.tolist(), bound) for row in pauses]
            call, outcome = run_ranks(
                attempt, BOUNDED, own, _causes(attempt), NETWORK, bound=bound
            )
            if virtual is None:  # or real: then no time is the same twice, and proves nothing
                virtual = attempt.run(count, own, network=NETWORK).time == outcome.time
            _judge_updates(call, outcome, bound)
            least = ranks.seconds(_served, count, NETWORK, pauses=pauses, bound=bound)
            if virtual and outcome.time > least + SLACK:
                times = {"took": outcome.time * 1e3, "least": least * 1e3}
                reason = BOUNDED("waits" if bound else "at_once")
                raise Wrong(BOUNDED("slow", call=call, why=reason, **times))


def _judge_updates(call: str, outcome: ProgramOutcome, bound: int) -> None:
    """The weights of rank 0, and what workers were sent, count the updates of each worker."""
    weights, workers = outcome.arguments[0][0], outcome.results[1:]
    right = np.array([0.0, *[STEPS] * len(workers)])
    BOUNDED.refuse_if(
        {"call": call, "weights": weights.tolist(), "right": right.tolist()},
        unchanged=workers and not weights.any(),
        lost=not np.array_equal(weights, right),
    )
    for worker, seen in enumerate(workers, start=1):
        wanted = BOUNDED("wanted", call=call, worker=worker, steps=STEPS)
        sent = array(seen, wanted, (STEPS, len(weights)))
        for step, clocks in enumerate(sent[:, 1:], start=1):
            own, slowest = clocks[worker - 1], int(clocks.min())
            values = {"call": call, "worker": worker, "step": step, "own": own}
            BOUNDED.refuse_if(
                values | {"slowest": slowest, "by": step - slowest, "least": step - bound},
                not_yet=own != step,
                ahead=step - slowest > bound,
            )


def _causes(attempt: Attempt) -> ranks.Causes:
    """Why workers and server wait for each other: one worker under other bounds shows it."""

    def sticks(error: DiagnosedError, bound: int) -> bool:
        if ranks.stuck(error):  # then so does one worker, though it is never ahead of the slowest?
            own = [(np.zeros(2), [PAUSE / 10] * STEPS, bound) for _ in range(2)]
            try:
                attempt.run(2, own, network=NETWORK)
            except DiagnosedError as alone:
                return ranks.stuck(alone)
        return False

    return BOUNDED.each(
        other_tag=lambda error: ranks.stuck(error) and error.unasked,
        gone=lambda error: ranks.stuck(error) and all(wait.rank for wait in error.waits),
        waiting=lambda error: ranks.stuck(error) and not any(wait.rank for wait in error.waits),
        unanswered=lambda error: sticks(error, STEPS),
        own_clock=lambda error: sticks(error, 1),
        exactly=lambda error: sticks(error, 0),
        others=ranks.stuck,
    )


def _served(comm: Comm, pauses: np.ndarray, bound: int) -> None:
    """What the notebook's worker and a right server make of these pauses."""

    def pause(weights: np.ndarray, worker: int, workers: int, step: int) -> np.ndarray:
        comm.work(seconds=pauses[comm.rank, step])
        return weights

    if comm.size > 1:
        stale_synchronous.train(comm, np.zeros(comm.size), pause, STEPS, 0.0, bound)


# -- without locks -------------------------------------------------------------------------------

RACES = ("current", "overwrite", "uphill")


def judge_lock_free(attempt: Attempt) -> None:
    """The weights after all writes without a lock, and how old the gradient of each was."""
    for workers in (1, 2, 3, 5):
        events = _race(attempt.generator, workers, 4)
        start, step = 100.0, 0.25
        call = LOCK_FREE("call", events=events if len(events) < 9 else "...")
        wanted = LOCK_FREE("wanted", call=call)
        weights, ages = several(attempt.call(np.array([start]), step, events), 2, wanted)
        ages = items(ages, wanted, int)
        final = array(weights, wanted).reshape(-1)[:1].sum()
        right, right_ages = _raced(start, step, events)
        usual = LOCK_FREE.each(**{race: _raced(start, step, events, race)[0] for race in RACES})
        compare(call, final, right, usual, LOCK_FREE("otherwise"), within(1e-5))
        LOCK_FREE.refuse_if(
            {"call": call, "found": ages, "right": right_ages}, ages=ages != right_ages
        )


def _race(generator: np.random.Generator, workers: int, writes: int) -> list[Event]:
    """Each worker reads and writes in turn; all are shuffled together."""
    if workers == 2:  # one that every mistake shows in
        return [(0, "read"), (1, "read"), (0, "write"), (1, "write"), (0, "read"), (0, "write")]
    verbs = {worker: ["read", "write"] * writes for worker in range(workers)}
    order = generator.permutation(np.repeat(range(workers), 2 * writes)).tolist()
    return [(worker, verbs[worker].pop(0)) for worker in order]


def _raced(
    weight: float, step: float, events: list[Event], mistake: str = ""
) -> tuple[float, list[int]]:
    copies: dict[int, tuple[float, int]] = {}
    ages: list[int] = []
    for worker, verb in events:
        if verb == "read":
            copies[worker] = weight, len(ages)
            continue
        copy, made = copies[worker]
        ages.append(len(ages) - made)
        change = -step * (weight if mistake == "current" else copy)
        begin = copy if mistake == "overwrite" else weight
        weight = begin + (-change if mistake == "uphill" else change)
    return weight, ages


SIZE = 3  # weights
RATE, SPRING = 0.1, 0.08

Inputs = np.ndarray  # by rank, step and weight
Answers = np.ndarray  # by rank and step


def judge_local(attempt: Attempt) -> None:
    """Steps of one's own; the mean after every `period` of them, and after the last."""
    for count in ranks.last(1, attempt.counts):
        for steps, period in ((6, 3), (5, 2), (4, 1)):
            start, inputs, answers = _task(attempt.generator, count, steps)
            own = [(start, inputs[r], answers[r], RATE, period) for r in range(count)]
            call, outcome = run_ranks(attempt, LOCAL, own, steps=steps, period=period)
            local = partial(_local, start, inputs, answers)
            usual = LOCAL.each(
                no_last=local(period, period - 1, False),
                too_soon=AnyOf(local(period, 0, True), local(period, 0, False)),
                every_step=local(1, 0, True),
                only_last=local(steps, steps - 1, True),
                never=local(steps + 1, steps, False),
            )
            right = local(period, period - 1, True)
            _compare(call, outcome, 0, "weights", right, start, usual)
            # Ranks that agree already may average once more, and it changes nothing but the time.
            enough = [-(-steps // period) * (count - 1)] * count
            ranks.judge_sent(call, outcome, enough, LOCAL("too_many"))


SPRINGS = "mean", "own", "sign", "late", "later", "loose", "early", "slopes", "ahead"


def judge_elastic(attempt: Attempt) -> None:
    """A spring between each rank and the centre pulls at both."""
    for count in ranks.last(1, attempt.counts):
        start, inputs, answers = _task(attempt.generator, count, steps=5)
        begin = start + 1.0  # where the centre is first, away from the weights
        mine = zip(inputs, answers, strict=True)
        own = [(start, begin, *samples, RATE, SPRING) for samples in mine]
        call, outcome = run_ranks(attempt, ELASTIC, own)
        elastic = partial(_elastic, start, begin, inputs, answers)
        right, wrong = elastic(), {mistake: elastic(mistake) for mistake in SPRINGS}
        for place, name, given in ((1, "centre", begin), (0, "weights", start)):
            usual = ELASTIC.each(**{mistake: ends[place] for mistake, ends in wrong.items()})
            _compare(call, outcome, place, name, right[place], given, usual)


def _task(
    generator: np.random.Generator, count: int, steps: int
) -> tuple[np.ndarray, Inputs, Answers]:
    start = generator.standard_normal(SIZE)
    inputs = generator.standard_normal((count, steps, SIZE))
    return start, inputs, generator.standard_normal((count, steps))


def _slopes(weights: np.ndarray, inputs: Inputs, answers: Answers) -> np.ndarray:
    """The gradients of 1/2 (x w - y)^2, for all ranks at once."""
    return ((inputs * weights).sum(axis=1) - answers)[:, None] * inputs


def _local(
    start: np.ndarray, inputs: Inputs, answers: Answers, period: int, begin: int, last: bool
) -> np.ndarray:
    """The weights of all workers in the end, if they average after the steps begin, begin +
    period, ..., and after the last."""
    count, steps, _ = inputs.shape
    weights = np.tile(start, (count, 1))
    for step in range(steps):
        weights -= RATE * _slopes(weights, inputs[:, step], answers[:, step])
        if (step - begin) % period == 0 or (last and step == steps - 1):
            weights[...] = weights.mean(axis=0)
    return weights


def _elastic(
    start: np.ndarray, begin: np.ndarray, inputs: Inputs, answers: Answers, mistake: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and centre of every rank in the end."""
    count, steps, _ = inputs.shape
    weights, centres = np.tile(start, (count, 1)), np.tile(begin, (count, 1))
    for step in range(steps):
        sample = inputs[:, step], answers[:, step]
        gap = weights - centres
        slopes = _slopes(weights - SPRING * gap * (mistake == "later"), *sample)
        if mistake == "late":
            gap = weights - RATE * slopes - centres
        pull = SPRING * gap * (-1 if mistake == "sign" else 1)
        own = {"loose": 0 * pull, "early": pull.mean(axis=0)}.get(mistake, pull)
        weights -= RATE * (slopes.mean(axis=0) if mistake == "slopes" else slopes) + own
        totals = {"mean": pull.mean(axis=0), "own": pull, "ahead": count * pull}
        centres += totals.get(mistake, pull.sum(axis=0))
    return weights, centres


def _compare(
    call: str, outcome: ProgramOutcome, place: int, name: str, right: np.ndarray,
    given: np.ndarray, usual: dict[str, Any],
) -> None:  # fmt: skip
    """What one of its arguments has become on every rank; of wrong ones the usual reason."""
    result = np.array([arguments[place] for arguments in outcome.arguments])
    if not SAME(result, right):
        untouched = ENDS.each({"name": name}, untouched=np.tile(given, (len(right), 1)))
        rank = int(np.argmax(np.abs(result - right).max(axis=1)))
        reason = why(result, untouched | usual, ENDS("formula"), SAME)
        ends = {"found": result[rank][0], "right": right[rank][0]}
        raise Wrong(ENDS("wrong", call=call, rank=rank, name=name, why=reason, **ends))
