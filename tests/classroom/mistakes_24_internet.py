"""The usual mistakes with slow links in unit 24, and words for each."""

from ddl_teach.collectives import ring
from ddl_teach.theory.slow_links import starts


def outer(sign=1, nesterov=True, velocity_first=True, momentum_used=True, rated=True, after="new"):
    """Right, but for what the arguments say."""

    def step(agreed, mean, velocity, rate, momentum):
        gradient = sign * (agreed - mean)
        kept = momentum * velocity + (agreed - mean)
        ahead = gradient + momentum * (kept if velocity_first else velocity)
        if not nesterov:
            ahead = kept
        if not momentum_used:
            ahead = gradient
        if sign < 0:
            ahead = -(agreed - mean + momentum * kept)
        returned = {"new": kept, "old": velocity, "minus": momentum * velocity - agreed + mean}
        return agreed - (rate if rated else 1) * ahead, returned[after]

    return step


def round_by(average=True, end="agreed"):
    def end_of_round(comm, weights, agreed, velocity):
        gradient, mean = agreed - weights, weights.copy()
        ring.allreduce(comm, gradient)
        ring.allreduce(comm, mean)
        if average:
            gradient /= comm.size
        velocity[:] = 0.9 * velocity + gradient
        before = agreed.copy()
        agreed -= 0.7 * (gradient + 0.9 * velocity)
        ends = {"agreed": agreed, "mean": mean / comm.size, "before": before, "own": weights}
        weights[:] = ends[end]

    return end_of_round


def turn_of(change):
    def turn(step, period, fragments):
        within, begun = (step - 1) % period + 1, starts(period, fragments)
        right = begun.index(within) if within in begun else -1
        return change(right, step, fragments, begun)

    return turn


def waiting_of(change):
    return lambda period, step, fragments, delay, under_way: (
        period * step + change(step, fragments, delay, under_way)
    )


MISTAKES = [
    ("24.fewer", lambda period, bits: None, "yours returns None"),
    ("24.fewer", lambda period, bits: period, "counts rounds alone"),
    ("24.fewer", lambda period, bits: 32 / bits, "counts bits alone"),
    ("24.fewer", lambda period, bits: period * bits / 32, "divide by them"),
    ("24.fewer", lambda period, bits: bits / period / 32, "the other way round"),
    ("24.fewer", lambda period, bits: period + bits + 1000, "divided by the bits"),
    ("24.outer", lambda *given: None, "yours returns None"),
    ("24.outer", outer(sign=-1), "away from the mean"),
    ("24.outer", outer(nesterov=False), "plain momentum"),
    ("24.outer", outer(momentum_used=False), "no momentum"),
    ("24.outer", outer(velocity_first=False), "with the old velocity"),
    ("24.outer", outer(rated=False), "rate is missing"),
    ("24.outer", outer(after="old"), "as it was"),
    ("24.outer", outer(after="minus"), "the other sign in it"),
    ("24.outer", lambda agreed, *others: (agreed + 5, agreed), "the step is rate"),
    ("24.round", lambda comm, weights, agreed, velocity: None, "must become the agreed ones"),
    ("24.round", round_by(end="mean"), "the mean of the workers"),
    ("24.round", round_by(end="before"), "before the round"),
    ("24.round", round_by(average=False), "mean, velocity"),
    ("24.turn", lambda *given: None, "yours returns None"),
    ("24.turn", turn_of(lambda right, step, parts, begun: step % parts), "Not after every step"),
    (
        "24.turn",
        turn_of(lambda right, step, parts, begun: (right + 1) % parts if right >= 0 else -1),
        "the fragment after this one",
    ),
    ("24.turn", lambda *given: -1, "a fragment begins"),
    (
        "24.turn",
        turn_of(lambda right, step, parts, begun: begun.index(step) if step in begun else -1),
        "in the first round only",
    ),
    ("24.turn", lambda *given: 77, "steps of each round"),
    ("24.waiting", lambda *given: None, "yours returns None"),
    ("24.waiting", waiting_of(lambda c, parts, delay, e: parts * e), "from its begin"),
    (
        "24.waiting",
        waiting_of(lambda c, parts, delay, e: parts * (e - delay * c)),
        "0 or more",
    ),
    (
        "24.waiting",
        waiting_of(lambda c, parts, delay, e: max(0, e - delay * c)),
        "not only one",
    ),
    ("24.waiting", waiting_of(lambda c, parts, delay, e: 0), "for longer than its delay"),
    (
        "24.waiting",
        waiting_of(lambda c, parts, delay, e: parts * max(0, e - delay)),
        "counts steps",
    ),
    ("24.waiting", lambda *given: 1.0, "what its delay does not hide"),
    ("24.plan", lambda: None, "yours returns None"),
    ("24.plan", lambda: (160, 40, 8, 18, 7), "This is no plan"),
    ("24.plan", lambda: (1000, 40, 2, 18, 7), "at least 1 and at most"),
    ("24.plan", lambda: (60, 20, 1, 18, 7), "it should be at most"),
    ("24.plan", lambda: (160, 20, 1, 0, 7), "the goal is"),
]
