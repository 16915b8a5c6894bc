"""The usual mistakes of unit 12's second notebook, and words of each message."""

import numpy as np


def add_up(comm, x):
    """All to all, which is right and costs more than a ring."""
    own, other = x.copy(), np.empty_like(x)
    for distance in range(1, comm.size):
        to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(own, to, other, source)
        x += other


def ring(comm, x):
    chunks = [x[len(x) * r // comm.size : len(x) * (r + 1) // comm.size] for r in range(comm.size)]
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    for step in range(1, comm.size):
        mine, theirs = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        arriving = np.empty_like(chunks[theirs])
        comm.sendrecv(chunks[mine], right, arriving, left)
        chunks[theirs] += arriving
    for step in range(comm.size - 1):
        mine, theirs = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        comm.sendrecv(chunks[mine], right, chunks[theirs], left)


def step_with(average, update):
    def pruned_step(comm, weights, gradient, velocity, places, rate):
        update(weights, velocity, average(comm, gradient, places), places, rate)

    return pruned_step


def right_average(comm, gradient, places):
    kept = gradient.reshape(-1)[places]
    ring(comm, kept)
    return kept / comm.size


def dense_average(comm, gradient, places):
    whole = gradient.reshape(-1).copy()
    ring(comm, whole)
    return whole[places] / comm.size


def only_sum(comm, gradient, places):
    return comm.size * right_average(comm, gradient, places)


def costly_average(comm, gradient, places):
    kept = gradient.reshape(-1)[places]
    add_up(comm, kept)
    return kept / comm.size


def alone(comm, gradient, places):
    return gradient.reshape(-1)[places]


def right_update(weights, velocity, kept, places, rate):
    velocity[:] = 0.9 * velocity + kept
    weights.reshape(-1)[places] -= rate * velocity


def new_velocity(weights, velocity, kept, places, rate):
    velocity = 0.9 * velocity + kept
    weights.reshape(-1)[places] -= rate * velocity


def no_momentum(weights, velocity, kept, places, rate):
    velocity[:] = kept
    weights.reshape(-1)[places] -= rate * velocity


def on_a_copy(weights, velocity, kept, places, rate):
    velocity[:] = 0.9 * velocity + kept
    weights.flatten()[places] -= rate * velocity


def old_velocity(weights, velocity, kept, places, rate):
    weights.reshape(-1)[places] -= rate * velocity
    velocity[:] = 0.9 * velocity + kept


def everywhere(weights, velocity, kept, places, rate):
    right_update(weights, velocity, kept, places, rate)
    weights -= 1e-3


def expand_to(dense):
    def expand(values, places, shape):
        flat = dense(int(np.prod(shape)), values)
        flat[places] = values
        return flat.reshape(shape)

    return expand


def places_of(order, share, *, first=False, in_order=True):
    """The places at an end of this order."""
    count = round(share * order.size)
    chosen = order[:count] if first else order[order.size - count :]
    return np.sort(chosen) if in_order else chosen


def by_magnitude(weights):
    return np.argsort(np.abs(weights).reshape(-1))


MISTAKES = [
    ("12.kept", lambda w, share: places_of(by_magnitude(w), share, first=True), "smallest magnit"),
    ("12.kept", lambda w, share: places_of(np.argsort(w.reshape(-1)), share), "largest numbers"),
    ("12.kept", lambda w, share: places_of(by_magnitude(w), share, in_order=False), "Sort them"),
    ("12.kept", lambda w, share: w.reshape(-1)[places_of(by_magnitude(w), share)],
     "their places are wanted"),
    ("12.kept", lambda w, share: None, "Is a `return` missing?"),
    ("12.expand", expand_to(lambda size, values: np.zeros(size)), "as float64 instead of float32"),
    ("12.expand", expand_to(lambda size, values: np.ones(size, np.float32)), "must be a zero"),
    ("12.expand", lambda values, places, shape: expand_to(
        lambda size, values: np.zeros(size, np.float32))(values, places, shape).reshape(-1),
     "reshape(shape)"),
    ("12.pruned_step", step_with(alone, right_update), "its own gradient"),
    ("12.pruned_step", step_with(only_sum, right_update), "divide by comm.size"),
    ("12.pruned_step", step_with(dense_average, right_update), "zeros and all"),
    ("12.pruned_step", step_with(costly_average, right_update), "more than the kept values"),
    ("12.pruned_step", step_with(right_average, new_velocity), "velocity has not changed"),
    ("12.pruned_step", step_with(right_average, no_momentum), "0.9 times itself"),
    ("12.pruned_step", step_with(right_average, on_a_copy), "weights have not changed"),
    ("12.pruned_step", step_with(right_average, old_velocity), "rate times the new velocity"),
    ("12.pruned_step", step_with(right_average, everywhere), "no longer zero"),
]  # fmt: skip
