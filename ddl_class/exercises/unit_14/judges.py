"""The judges of unit 14: old gradients, a server with a bound, no locks; and ranks that agree now
and then, or hang on springs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import answers, ranks
from ddl_class.exercises.kit.compare import any_of, compare, refuse_if, why, within
from ddl_runtime.diagnosis.deadlock import Deadlock
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import ANY, Comm
from ddl_teach.theory.staleness import delayed_descent

NETWORK = Uniform(latency=1e-6, bandwidth=1e9)
PAUSE = 1e-3  # seconds of a gradient, about
SLACK = 0.1 * PAUSE  # messages may go in another order
STEPS = 8

Event = tuple[int, str]


# -- descent with old gradients ------------------------------------------------------------------


def judge_delayed(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """w[t+1] = w[t] - step w[t - staleness], and all is one before the first step."""
    for trial in range(8):
        step = round(float(generator.uniform(0.1, 0.6)), 2)
        age, steps = int(generator.integers(2, 5)) * (trial > 0), int(generator.integers(8, 14))
        call = f"delayed({step}, {age}, {steps})"
        said = answers.array(stage.call(step, age, steps), f"{call}: return a list of weights")
        right, zeros, around = delayed_descent(step, 1.0, age, steps), [1.0], [1.0]
        for now in range(steps):
            zeros.append(zeros[now] - step * (zeros[now - age] if now >= age else 0))
            around.append(around[now] - step * around[(now - age) % len(around)])
        usual = {
            "The weight before the first step is missing": right[1:],
            f"The last step is missing: {steps} steps make {steps + 1} weights": right[:-1],
            "Return all weights, from the first to the last": right[-1:],
            "That is descent with fresh gradients: take the weight of `staleness` steps ago": (
                delayed_descent(step, 1.0, 0, steps)
            ),
            "Your gradients are one step too old: with staleness 0 the gradient is that of w[t]": (
                delayed_descent(step, 1.0, age + 1, steps)
            ),
            "Your gradients are one step too fresh: with staleness 1 the gradient is that of "
            "w[t - 1]": delayed_descent(step, 1.0, max(age - 1, 0), steps),
            "In the first steps you take no gradient at all: before the first step the weight was "
            "one, too": np.array(zeros),
            "In the first steps t - staleness is below zero, and Python then counts from the end "
            "of the list: take max(t - staleness, 0)": np.array(around),
            "It goes uphill: a step is subtracted": delayed_descent(-step, 1.0, age, steps),
        }
        otherwise = "Each new weight is the last one, minus step times an older one"
        compare(call, said, right, usual, otherwise, within(1e-9, 1e-12))


# -- a server with a bound -----------------------------------------------------------------------


def judge_bounded(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Every update counts at once; who is ahead by more than the bound waits, and nobody else."""
    virtual = None
    for count in ranks.last(1, counts):
        for bound in (2, 0):
            # Workers are slow by turns, two steps each: under a smaller bound than two they wait.
            slow = (np.arange(STEPS) // 2 + np.arange(count)[:, None]) % 2
            pauses = (0.1 + slow + generator.uniform(0, 0.1, (count, STEPS))) * PAUSE
            call = f"bounded on {ranks_text(count)} with bound={bound}"
            own = [(np.zeros(count), row.tolist(), bound) for row in pauses]
            outcome = ranks.run(stage, count, own, call, STUCK, NETWORK)
            if virtual is None:  # or real: then no time is the same twice, and proves nothing
                virtual = stage.run(count, own, network=NETWORK).time == outcome.time
            _judge_updates(call, outcome, bound)
            least = ranks.seconds(_served, count, NETWORK, pauses=pauses, bound=bound)
            if virtual and outcome.time > least + SLACK:
                who = "who is at most `bound` steps ahead of the slowest, `bound` included"
                raise Wrong(
                    f"{call}: the weights are right, but in a simulated network it takes "
                    f"{outcome.time * 1e3:.3g} ms, where {least * 1e3:.3g} are possible. "
                    + (
                        f"Somebody waits who need not: {who}, is answered at once."
                        if bound
                        else "Answer as soon as the slowest has come, not later."
                    )
                )


def _judge_updates(call: str, outcome: ProgramOutcome, bound: int) -> None:
    """The weights of rank 0, and what each worker was sent, say how many updates of each worker
    are in them."""
    weights, workers = outcome.arguments[0][0], outcome.results[1:]
    wanted = np.array([0.0, *[STEPS] * len(workers)])
    cases = {
        "on rank 0 the weights are as they were. Add every update to them, in place: weights += "
        "update; `weights = weights + update` only gives the name to a new array": (
            workers and not weights.any()
        ),
        f"in the end rank 0 has the weights {weights.tolist()}, and {wanted.tolist()} is right: "
        "every update counts, fully, once": not np.array_equal(weights, wanted),
    }
    refuse_if(f"{call}: ", cases)
    for worker, seen in enumerate(workers, start=1):
        told = f"{call}: rank {worker} must return what `work` returns, the {STEPS} answers that "
        told += "it got: leave the first lines as they are"
        sent = answers.array(seen, told, (STEPS, len(weights)))
        for step, clocks in enumerate(sent[:, 1:], start=1):
            own, slowest = clocks[worker - 1], int(clocks.min())
            cases = {
                f"the answer to step {step} of rank {worker} holds {own:g} of its updates: add an "
                "update before you answer": own != step,
                f"rank {worker} was answered after its step {step} when the slowest had made "
                f"{slowest}, so it ran ahead by {step - slowest}. Let it wait until the slowest "
                f"has made {step - bound}": step - slowest > bound,
            }
            refuse_if(f"{call}: ", cases)


STUCK: ranks.Causes = {
    "Rank 0 has returned, and workers still wait for an answer. It must take len(seconds) "
    "updates of each worker, and answer every one.": lambda error: (
        isinstance(error, Deadlock) and all(wait.rank for wait in error.waits)
    ),
    "Rank 0 waits for an update that never comes. Each worker makes len(seconds) of them, and "
    "there are comm.size - 1 workers.": lambda error: (
        isinstance(error, Deadlock) and not any(wait.rank for wait in error.waits)
    ),
    "Workers wait for an answer that never comes. After each update go through *all* who "
    "wait, for the one that came may have freed others; take the slowest of the workers only, "
    "clocks[1:]; and who is exactly `bound` ahead may go on.": ranks.stuck,
}


def _served(comm: Comm, pauses: np.ndarray, bound: int) -> None:
    """What the notebook's worker and a right server make of these pauses."""
    weights = np.zeros(comm.size)
    if comm.rank:
        for pause in pauses[comm.rank]:
            comm.work(seconds=pause)
            comm.send(weights, 0)
            comm.recv(weights, 0)
        return
    clocks, waiting = [0] * (comm.size - 1), []
    for _ in range(STEPS * (comm.size - 1)):
        worker = comm.recv(weights, ANY)
        clocks[worker - 1] += 1
        waiting.append(worker)
        for free in [rank for rank in waiting if clocks[rank - 1] - min(clocks) <= bound]:
            waiting.remove(free)
            comm.send(weights, free)


# -- without locks -------------------------------------------------------------------------------

RACES = {
    "current": "You compute the gradient from the weights as they are when it is written; take "
    "those that the worker has read. Did you keep a copy of them?",
    "overwrite": "You write back what the worker has read, less its step: that wipes out what "
    "others wrote meanwhile. Subtract the step from the weights as they are.",
    "uphill": "It goes uphill: a step is subtracted.",
}


def judge_lock_free(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Old gradients are added to weights that others have changed; each write says how old."""
    for workers in (1, 2, 3, 5):
        events = _race(generator, workers, 4)
        start, step = 100.0, 0.25
        call = f"lock_free(array([100.0]), 0.25, {events if len(events) < 9 else '...'})"
        weight, ages = _raced(start, step, events)
        wanted = f"{call}: return two things, the weights and the list of ages, one for each write"
        final, told = answers.several(stage.call(np.array([start]), step, events), 2, wanted)
        told = answers.items(told, wanted, int)
        usual = {why: _raced(start, step, events, kind)[0] for kind, why in RACES.items()}
        otherwise = "Each write subtracts step times what its worker read last."
        final = answers.array(final, wanted).reshape(-1)[:1].sum()
        compare(call, final, weight, usual, otherwise, within(1e-5))
        if told != ages:
            raise Wrong(
                f"{call}: the weights are right, the ages {told} are not: {ages}. "
                "Count the writes of others between a worker's read and its write."
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

UNTOUCHED = (
    "`weights = ...` only gives the name to a new array: `weights -= ...` and "
    "`weights[...] = ...` change the one that was given."
)
Inputs = np.ndarray  # by rank, step and weight
Answers = np.ndarray  # by rank and step


def judge_local(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """Steps of one's own; the mean after every `period` of them, and after the last."""
    for count in ranks.last(1, counts):
        for steps, period in ((6, 3), (5, 2), (4, 1)):
            task = start, inputs, answers = _task(generator, count, steps)
            call = f"local on {ranks_text(count)}, {steps} steps, period={period}"
            own = [(start.copy(), inputs[r], answers[r], RATE, period) for r in range(count)]
            outcome = stage.run(count, own)
            usual = {
                "The mean after the last step is missing": (
                    _local(*task, period, period - 1, False)
                ),
                "You begin with a mean after the first step: the mean comes after `period` steps, "
                "when step + 1 is divisible by it": any_of(
                    _local(*task, period, 0, True), _local(*task, period, 0, False)
                ),
                "You average after every step: do so only after `period` of them": (
                    _local(*task, 1, 0, True)
                ),
                "You average at the end only": _local(*task, steps, steps - 1, True),
                "Each rank is where it came to alone: average the weights": (
                    _local(*task, steps + 1, steps, False)
                ),
            }
            right = _local(*task, period, period - 1, True)
            _compare(call, outcome, 0, "weights", right, start, usual)
            # Ranks that agree already may average once more, and it changes nothing but the time.
            enough = [-(-steps // period) * (count - 1)] * count
            averages = "average after the last step once, even if the period ends there too; and "
            ranks.judge_sent(call, outcome, enough, f"{averages}weights, not gradients")


def judge_elastic(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """A spring between each rank and the centre pulls at both."""
    for count in ranks.last(1, counts):
        start, inputs, answers = _task(generator, count, steps=5)
        call = f"elastic on {ranks_text(count)}, 5 steps"
        begin = start + 1.0  # where the centre is first, away from the weights
        mine = zip(inputs, answers, strict=True)
        own = [(start.copy(), begin.copy(), *samples, RATE, SPRING) for samples in mine]
        outcome = stage.run(count, own)
        task = start, begin, inputs, answers
        right = _elastic(*task)
        wrong = {words: _elastic(*task, kind) for kind, words in MISTAKES.items()}
        for place, name, given in ((1, "centre", begin), (0, "weights", start)):
            usual = {words: ends[place] for words, ends in wrong.items()}
            _compare(call, outcome, place, name, right[place], given, usual)


MISTAKES = {
    "mean": "The centre is pulled by all springs together: their sum, P times the mean",
    "own": "The centre is pulled by all ranks' springs, not by your own only: average, times P",
    "sign": "The signs are crossed: the spring pulls the rank towards the centre, so subtract "
    "from the weights what you add to the centre",
    "late": "You measure the gap after the gradient's step: take gap and gradient first, both "
    "from the weights as they were",
    "later": "You compute the gradient after the spring has pulled: take gap and gradient first, "
    "both from the weights as they were",
    "loose": "The springs pull at the centre only: the weights must be pulled to it as well",
}


def _task(
    generator: np.random.Generator, count: int, steps: int
) -> tuple[np.ndarray, Inputs, Answers]:
    start = generator.standard_normal(SIZE)
    inputs = generator.standard_normal((count, steps, SIZE))
    return start, inputs, generator.standard_normal((count, steps))


def _slopes(weights: np.ndarray, inputs: Inputs, answers: Answers) -> np.ndarray:
    """Of 1/2 (x w - y)^2, for all ranks at once."""
    return ((inputs * weights).sum(axis=1) - answers)[:, None] * inputs


def _local(
    start: np.ndarray, inputs: Inputs, answers: Answers, period: int, begin: int, last: bool
) -> np.ndarray:
    """Where all end who average after the steps begin, begin + period, ..., and after the last."""
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
        weights -= RATE * slopes + pull * (mistake != "loose")
        total = pull.mean(axis=0) if mistake == "mean" else pull.sum(axis=0)
        centres += pull if mistake == "own" else total
    return weights, centres


def _compare(
    call: str, outcome: ProgramOutcome, place: int, name: str, right: np.ndarray,
    given: np.ndarray, usual: Mapping[str, Any],
) -> None:  # fmt: skip
    """What one of its arguments has become on every rank; of wrong ones the usual reason."""
    found = np.array([arguments[place] for arguments in outcome.arguments])
    same = within(1e-9, 1e-12)
    if not same(found, right):
        untouched = {f"the {name} did not change. {UNTOUCHED}": np.tile(given, (len(right), 1))}
        words = why(
            found,
            {**untouched, **usual},
            "Compare your lines with the formula, term by term",
            same,
        )
        rank = int(np.argmax(np.abs(found - right).max(axis=1)))
        raise Wrong(
            f"{call}: on rank {rank} the {name} end with {found[rank][0]:.6g}, and "
            f"{right[rank][0]:.6g} is right. {words}"
        )
