"""The judges of unit 14, first half: old gradients, a server with a bound, no locks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddl_teach import ANY, Comm, simulate
from ddl_teach.comm.networks import Uniform
from ddl_teach.comm.story import Deadlock
from ddl_teach.course.exercises.exercise import NO_BUFFERS, Stage, Wrong
from ddl_teach.theory.staleness import delayed_descent

NETWORK = Uniform(latency=1e-6, bandwidth=1e9)
PAUSE = 1e-3  # seconds of a gradient, about
SLACK = 0.1 * PAUSE  # messages may go in another order
STEPS = 8

Event = tuple[int, str]


# -- descent with old gradients ------------------------------------------------------------------


def judge_delayed(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """w[t+1] = w[t] - step w[t - staleness], and all is one before the first step."""
    for trial in range(8):
        step = round(float(generator.uniform(0.1, 0.6)), 2)
        age, steps = int(generator.integers(2, 5)), int(generator.integers(8, 14))
        if trial == 0:
            age = 0
        call = f"delayed({step}, {age}, {steps})"
        said = _numbers(stage.call(step, age, steps), call)
        right = delayed_descent(step, 1.0, age, steps)
        if _close(said, right):
            continue
        raise Wrong(
            f"{call} gives {_shown(said)}, and {_shown(right)} is right. "
            f"{_why_not_delayed(said, right, step, age, steps)}."
        )


def _why_not_delayed(
    said: np.ndarray, right: np.ndarray, step: float, age: int, steps: int
) -> str:
    zeros, around = [1.0], [1.0]
    for now in range(steps):
        zeros.append(zeros[now] - step * (zeros[now - age] if now >= age else 0))
        around.append(around[now] - step * around[(now - age) % len(around)])
    usual = (
        (right[1:], "The weight before the first step is missing"),
        (right[:-1], f"The last step is missing: {steps} steps make {steps + 1} weights"),
        (right[-1:], "Return all weights, from the first to the last"),
        (delayed_descent(step, 1.0, 0, steps), "That is descent with fresh gradients: take the "
         "weight of `staleness` steps ago"),
        (delayed_descent(step, 1.0, age + 1, steps), "Your gradients are one step too old: with "
         "staleness 0 the gradient is that of w[t]"),
        (delayed_descent(step, 1.0, max(age - 1, 0), steps), "Your gradients are one step too "
         "fresh: with staleness 1 the gradient is that of w[t - 1]"),
        (zeros, "In the first steps you take no gradient at all: before the first step the "
         "weight was one, too"),
        (around, "In the first steps t - staleness is below zero, and Python then counts from "
         "the end of the list: take max(t - staleness, 0)"),
        (delayed_descent(-step, 1.0, age, steps), "It goes uphill: a step is subtracted"),
    )  # fmt: skip
    near = (why for wrong, why in usual if _close(said, np.asarray(wrong)))
    return next(near, "Each new weight is the last one, minus step times an older one")


# -- a server with a bound -----------------------------------------------------------------------


def judge_bounded(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Every update counts at once; who is ahead by more than the bound waits, and nobody else."""
    virtual = None
    for count in sorted(ranks, key=lambda count: count == 1):
        for bound in (2, 0):
            pauses = _pauses(generator, count)
            call = f"bounded on {count} {'rank' if count == 1 else 'ranks'} with bound={bound}"
            own = [(np.zeros(count), row.tolist(), bound) for row in pauses]
            try:
                outcome = stage.run(count, own, network=NETWORK)
                if virtual is None:  # or real: then no time is the same twice, and proves nothing
                    virtual = stage.run(count, own, network=NETWORK).time == outcome.time
            except Deadlock as deadlock:
                raise Wrong(_stuck(call, deadlock)) from None
            _judge_server(call, outcome.arguments[0][0], outcome.results)
            for worker in range(1, count):
                _judge_answers(call, outcome.results[worker], worker, bound)
            least = simulate(
                _served, count, network=NETWORK, machine=NO_BUFFERS, trace=False,
                pauses=pauses, bound=bound,
            ).time  # fmt: skip
            if virtual and outcome.time > least + SLACK:
                raise Wrong(_slow(call, outcome.time, least, bound))


def _pauses(generator: np.random.Generator, ranks: int) -> np.ndarray:
    """Workers that are slow by turns, two steps each: under a smaller bound than two they wait."""
    slow = (np.arange(STEPS) // 2 + np.arange(ranks)[:, None]) % 2
    return (0.1 + slow + generator.uniform(0, 0.1, (ranks, STEPS))) * PAUSE


def _judge_server(call: str, weights: np.ndarray, results: list) -> None:
    workers = len(results) - 1
    wanted = np.array([0.0, *[STEPS] * workers])
    if np.array_equal(weights, wanted):
        return
    if workers and not weights.any():
        raise Wrong(
            f"{call}: on rank 0 the weights are as they were. Add every update to them, in place: "
            "weights += update; `weights = weights + update` only gives the name to a new array."
        )
    raise Wrong(
        f"{call}: in the end rank 0 has the weights {weights.tolist()}, and "
        f"{wanted.tolist()} is right: every update counts, fully, once."
    )


def _judge_answers(call: str, seen: object, worker: int, bound: int) -> None:
    """What a worker was sent says how many updates of each worker were in it."""
    if not isinstance(seen, list) or len(seen) != STEPS:
        raise Wrong(
            f"{call}: rank {worker} must return what `work` returns, the {STEPS} answers that it "
            "got: leave the first lines as they are."
        )
    for step, answer in enumerate(seen, start=1):
        clocks = np.asarray(answer, dtype=float)[1:]
        if clocks[worker - 1] != step:
            raise Wrong(
                f"{call}: the answer to step {step} of rank {worker} holds "
                f"{clocks[worker - 1]:g} of its updates: add an update before you answer."
            )
        ahead = int(step - clocks.min())
        if ahead > bound:
            raise Wrong(
                f"{call}: rank {worker} was answered after its step {step} when the slowest had "
                f"made {int(clocks.min())}, so it ran ahead by {ahead}. Let it wait until the "
                f"slowest has made {step - bound}."
            )


def _stuck(call: str, deadlock: Deadlock) -> str:
    if {wait.rank for wait in deadlock.waits} == {0}:
        return (
            f"{call}: rank 0 waits for an update that never comes. Each worker makes len(seconds) "
            f"of them, and there are comm.size - 1 workers.\n\n{deadlock}"
        )
    return (
        f"{call}: workers wait for an answer that never comes. After each update go through *all* "
        "who wait, for the one that came may have freed others; take the slowest of the workers "
        "only, clocks[1:]; and who is exactly `bound` ahead may go on.\n\n"
        f"{deadlock}"
    )


def _slow(call: str, time: float, least: float, bound: int) -> str:
    told = (
        f"{call}: the weights are right, but in a simulated network it takes {time * 1e3:.3g} "
        f"ms, where {least * 1e3:.3g} are possible. "
    )
    if bound == 0:
        return told + "Answer as soon as the slowest has come, not later."
    return told + (
        "Somebody waits who need not: who is at most `bound` steps ahead of the slowest, `bound` "
        "included, is answered at once."
    )


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


def judge_lock_free(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Old gradients are added to weights that others have changed; each write says how old."""
    for workers in (1, 2, 3, 5):
        events = _race(generator, workers, 4)
        start, step = 100.0, 0.25
        call = f"lock_free(array([100.0]), 0.25, {events if len(events) < 9 else '...'})"
        (weight, ages), said = (
            _raced(start, step, events),
            stage.call(np.array([start]), step, events),
        )
        if said is None:
            raise Wrong(f"{call}: return the weights and the list of ages; yours returns None.")
        try:
            final, told = said
            final, told = float(np.asarray(final, dtype=float).reshape(1)[0]), list(told)
            told = [int(age) for age in told]
        except (TypeError, ValueError, OverflowError):
            raise Wrong(
                f"{call}: return two things, the weights and the list of ages, one for each write."
            ) from None
        if not np.isclose(final, weight):
            usual = (
                ("current", "You compute the gradient from the weights as they are when it is "
                 "written; take those that the worker has read. Did you keep a copy of them?"),
                ("overwrite", "You write back what the worker has read, less its step: that "
                 "wipes out what others wrote meanwhile. Subtract the step from the weights as "
                 "they are"),
                ("uphill", "It goes uphill: a step is subtracted"),
            )  # fmt: skip
            near = (why for kind, why in usual if np.isclose(_raced(start, step, events, kind)[0],
                                                             final))  # fmt: skip
            raise Wrong(
                f"{call}: in the end the weight is {final:.6g}, and {weight:.6g} is right. "
                f"{next(near, 'Each write subtracts step times what its worker read last')}."
            )
        if told != ages:
            raise Wrong(
                f"{call}: the weights are right, the ages {told} are not: {ages}. "
                "Count the writes of others between a worker's read and its write."
            )


def _race(generator: np.random.Generator, workers: int, writes: int) -> list[Event]:
    """Each worker reads and writes in turn; all are shuffled together."""
    left, reads, events = [writes] * workers, [True] * workers, []
    if workers == 2:  # one that every mistake shows in
        return [(0, "read"), (1, "read"), (0, "write"), (1, "write"), (0, "read"), (0, "write")]
    while any(left):
        worker = int(generator.choice([each for each in range(workers) if left[each]]))
        events.append((worker, "read" if reads[worker] else "write"))
        left[worker] -= not reads[worker]
        reads[worker] = not reads[worker]
    return events


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
        weight = {
            "": weight - step * copy,
            "current": weight - step * weight,
            "overwrite": copy - step * copy,
            "uphill": weight + step * copy,
        }[mistake]
    return weight, ages


# -- what comes back -----------------------------------------------------------------------------


def _numbers(said: object, call: str) -> np.ndarray:
    if said is None:
        raise Wrong(f"{call}: return the weights; yours returns None. Is a `return` missing?")
    try:
        numbers = np.asarray(said, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1:
        raise Wrong(f"{call}: return a list of weights, one for each moment.")
    return numbers


def _close(numbers: np.ndarray, others: np.ndarray) -> bool:
    return numbers.shape == others.shape and np.allclose(numbers, others, rtol=1e-9, atol=1e-12)


def _shown(numbers: np.ndarray) -> str:
    return np.array2string(numbers[:5], precision=3, separator=", ").rstrip("]") + (
        ", ...]" if len(numbers) > 5 else "]"
    )
