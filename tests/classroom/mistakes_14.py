"""The usual mistakes of unit 14, and words of the message that must name each."""

import numpy as np

from ddl_teach import ANY, Comm
from ddl_teach.collectives import ring
from ddl_teach.theory.staleness import delayed_descent

Numbers = list[float]


def fresh(step: float, staleness: int, count: int) -> Numbers:
    return list(delayed_descent(step, 1.0, 0, count))


def from_zero(step: float, staleness: int, count: int) -> Numbers:
    weights = [1.0]
    for t in range(count):
        old = weights[t - staleness] if t >= staleness else 0.0
        weights.append(weights[t] - step * old)
    return weights


def from_the_end(step: float, staleness: int, count: int) -> Numbers:
    weights = [1.0]
    for t in range(count):
        weights.append(weights[t] - step * weights[(t - staleness) % len(weights)])
    return weights


def other_age(by: int):
    def delayed(step: float, staleness: int, count: int) -> Numbers:
        return list(delayed_descent(step, 1.0, max(staleness + by, 0), count))

    return delayed


def part(which: slice, step_factor: float = 1.0):
    def delayed(step: float, staleness: int, count: int) -> np.ndarray:
        return delayed_descent(step_factor * step, 1.0, staleness, count)[which]

    return delayed


# -- the server: the notebook's worker, and what is usually wrong with the other side ----------


def work(comm: Comm, weights: np.ndarray, seconds: Numbers) -> list[np.ndarray]:
    update = np.arange(len(weights)) == float(comm.rank)
    seen = []
    for pause in seconds:
        comm.work(seconds=pause)
        comm.send(update.astype(float), 0)
        comm.recv(weights, 0)
        seen.append(weights.copy())
    return seen


def server(
    free=lambda clock, clocks, bound: clock - min(clocks[1:]) <= bound,
    add: float = 1.0,
    all_who_wait: bool = True,
    first_answer: bool = False,
    more: int = 0,
    through=list,
):
    """Right, but for what the arguments say."""

    def bounded(comm: Comm, weights: np.ndarray, seconds: Numbers, bound: int):
        if comm.rank > 0:
            return work(comm, weights, seconds)
        clocks, waiting = [0] * comm.size, []
        update = np.empty_like(weights)
        for _ in range(len(seconds) * (comm.size - 1) + more):
            worker = comm.recv(update, ANY)
            old = weights.copy()
            weights += add * update
            clocks[worker] += 1
            waiting.append(worker)
            for other in through(waiting) if all_who_wait else [worker]:
                if free(clocks[other], clocks, bound):
                    comm.send(old if first_answer else weights, other)
                    waiting.remove(other)
        return None

    return bounded


def returns_nothing(comm: Comm, weights: np.ndarray, seconds: Numbers, bound: int) -> None:
    server()(comm, weights, seconds, bound)


# -- without locks -----------------------------------------------------------------------------


def raced(copy=np.copy, write="subtract", age="others"):
    def lock_free(weights: np.ndarray, step: float, events: list):
        kept, ages = {}, []
        for worker, verb in events:
            if verb == "read":
                kept[worker] = copy(weights), len(ages)
                continue
            seen, made = kept[worker]
            ages.append({"others": len(ages) - made, "all": len(ages), "own": 0}[age])
            change = -step * seen if write != "uphill" else step * seen
            weights[...] = (seen if write == "overwrite" else weights) + change
        return weights, ages

    return lock_free


# -- local and elastic -------------------------------------------------------------------------


def gradient(weights: np.ndarray, x: np.ndarray, y: float) -> np.ndarray:
    return (x @ weights - y) * x


def average(comm: Comm, vector: np.ndarray) -> None:
    parts = [vector.copy() for _ in range(comm.size)]
    for step in range(comm.size - 1):
        out, into = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        comm.sendrecv(
            parts[out], (comm.rank + 1) % comm.size, parts[into], (comm.rank - 1) % comm.size
        )
    vector[...] = sum(parts) / comm.size


def rounds(agree, place=lambda weights: weights, gradients: bool = False):
    """Local SGD that averages where `agree(step, period, steps)` says so, steps from one."""

    def local(comm, weights, inputs, answers, rate, period):
        mine = place(weights)
        for step, (x, y) in enumerate(zip(inputs, answers, strict=True), start=1):
            slope = gradient(mine, x, y)
            if gradients:
                average(comm, slope)
            mine -= rate * slope
            if agree(step, period, len(inputs)):
                average(comm, mine)

    return local


def springs(variant: str):
    def elastic(comm, weights, centre, inputs, answers, rate, spring):
        mine = weights.copy() if variant == "copy" else weights
        for x, y in zip(inputs, answers, strict=True):
            gap = mine - centre
            slope = gradient(mine, x, y)
            if variant == "late":
                mine -= rate * slope
                gap = mine - centre
                slope = 0 * slope
            if variant == "later":
                slope = gradient(mine - spring * gap, x, y)
            signed = -gap if variant == "sign" else gap
            if variant == "early":
                average(comm, signed)
            if variant == "slopes":
                average(comm, slope)
            mine -= rate * slope + (0 if variant == "loose" else spring * signed)
            if variant != "own":
                if variant != "ahead":
                    average(comm, signed)
                signed = signed * (1 if variant == "mean" else comm.size)
            if variant != "still":
                centre += spring * signed

    return elastic


def only_rank_0(comm, weights, inputs, answers, rate, period):
    if comm.rank == 0:
        average(comm, weights)


def summed(comm, weights, inputs, answers, rate, period):
    for step, (x, y) in enumerate(zip(inputs, answers, strict=True), start=1):
        weights -= rate * gradient(weights, x, y)
        if step % period == 0 or step == len(inputs):
            ring.allreduce(comm, weights)


MISTAKES = [
    ("14.delayed", fresh, "descent with fresh gradients"),
    ("14.delayed", from_zero, "you take no gradient at all"),
    ("14.delayed", from_the_end, "counts from the end of the list"),
    ("14.delayed", other_age(1), "one step too old"),
    ("14.delayed", other_age(-1), "one step too fresh"),
    ("14.delayed", part(slice(1, None)), "before the first step is missing"),
    ("14.delayed", part(slice(None, -1)), "The last step is missing"),
    ("14.delayed", part(slice(-1, None)), "Return all weights"),
    ("14.delayed", part(slice(None), -1.0), "uphill"),
    ("14.delayed", lambda step, staleness, count: None, "yours returns None"),
    ("14.bounded", server(lambda clock, clocks, bound: True), "so it ran ahead by"),
    (
        "14.bounded",
        server(lambda clock, clocks, bound: clock == min(clocks[1:])),
        "if it is at most `bound` steps ahead",
    ),
    (
        "14.bounded",
        server(lambda clock, clocks, bound: clock - min(clocks[1:]) < max(bound, 1)),
        "`bound` included",
    ),
    (
        "14.bounded",
        server(lambda clock, clocks, bound: clock - min(clocks) <= bound),
        "the slowest of the workers only, clocks[1:]",
    ),
    ("14.bounded", server(all_who_wait=False), "go through *all* in"),
    ("14.bounded", server(through=iter), "go through list(waiting)"),
    ("14.bounded", server(add=0.0), "Add every update to them, in place"),
    ("14.bounded", server(add=0.5), "every update counts, fully, once"),
    ("14.bounded", server(first_answer=True), "add an update before you answer"),
    ("14.bounded", server(more=1), "waits for an update that never comes"),
    ("14.bounded", server(more=-1), "has returned, and workers still wait"),
    ("14.bounded", server(lambda clock, clocks, bound: False), "even one worker alone"),
    (
        "14.bounded",
        server(lambda clock, clocks, bound: clock - min(clocks[1:]) < bound),
        "a worker that is exactly",
    ),
    ("14.bounded", returns_nothing, "must return what `work` returns"),
    ("14.lockfree", raced(copy=lambda weights: weights), "Did you keep a copy"),
    ("14.lockfree", raced(write="overwrite"), "wipes out what others wrote"),
    ("14.lockfree", raced(write="uphill"), "uphill"),
    ("14.lockfree", raced(age="all"), "Count the writes of others between"),
    ("14.lockfree", raced(age="own"), "Count the writes of others between"),
    ("14.lockfree", lambda weights, step, events: weights, "return two things"),
    ("14.lockfree", lambda weights, step, events: None, "yours returns None"),
    ("14.local", rounds(lambda step, period, steps: step % period == 0), "last step is missing"),
    (
        "14.local",
        rounds(lambda step, period, steps: (step - 1) % period == 0 or step == steps),
        "You begin with a mean after the first step",
    ),
    (
        "14.local",
        rounds(lambda step, period, steps: (step - 1) % period == 0),
        "You begin with a mean after the first step",
    ),
    ("14.local", rounds(lambda step, period, steps: True), "You average after every step"),
    ("14.local", rounds(lambda step, period, steps: step == steps), "at the end only"),
    ("14.local", rounds(lambda step, period, steps: False), "came to alone"),
    ("14.local", rounds(lambda *_: False, gradients=True), "averag"),
    ("14.local", rounds(lambda *_: True, place=np.copy), "The weights did not change"),
    ("14.local", summed, "on rank"),
    ("14.local", only_rank_0, "all ranks must call it"),
    ("14.elastic", springs("early"), "move the weights first"),
    ("14.elastic", springs("slopes"), "You have averaged the gradients"),
    ("14.elastic", springs("ahead"), "before the gaps were averaged"),
    ("14.elastic", springs("mean"), "P times the mean"),
    ("14.elastic", springs("own"), "not your own only"),
    ("14.elastic", springs("sign"), "The signs are crossed"),
    ("14.elastic", springs("late"), "gap after the gradient's step"),
    ("14.elastic", springs("later"), "after the spring has pulled"),
    ("14.elastic", springs("loose"), "pull at the centre only"),
    ("14.elastic", springs("still"), "The centre did not change"),
    ("14.elastic", springs("copy"), "The weights did not change"),
]
