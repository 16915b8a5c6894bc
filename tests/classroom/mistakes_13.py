"""The usual mistakes of unit 13, and words of the message that must name each."""

import numpy as np

from ddl_teach import Comm
from ddl_teach.collectives import ring
from ddl_teach.theory.large_batches import noise_and_signal
from ddl_teach.training.consistency.rates import WarmUp, linear_scaling, square_root_scaling

Arrays = list[np.ndarray]


def in_pieces(weights, pieces, rate, *, mean=True, add=True, often=False, first=False):
    """Right, but for what the arguments say."""
    total, share = np.zeros_like(weights), len(pieces) if mean else 1
    for x, y in pieces:
        total = add * total + 2 * x.T @ (x @ weights - y) / len(y)
        if often:
            weights = weights - rate * total / share
        if first:
            break
    return weights if often else weights - rate * total / share


def least(costs):
    return min(costs, key=costs.get)


def right_rate(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    return WarmUp(base, linear_scaling(base, batch, reference), warm_up)(step)


def square_root(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    return square_root_scaling(base, batch, reference)


def upside_down(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    return right_rate(step, reference, base, batch, warm_up)


def without_warm_up(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    return linear_scaling(base, batch, reference)


def from_zero(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    return linear_scaling(base, batch, reference) * min(1, (step - 1) / max(warm_up, 1))


def from_zero_at_once(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    return linear_scaling(base, batch, reference) * min(1, step / max(warm_up, 1))


def a_step_early(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    return right_rate(step + 1, batch, base, reference, warm_up)


def a_step_late(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    return right_rate(step, batch, base, reference, warm_up + 1)


def for_ever(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    peak = linear_scaling(base, batch, reference)
    return base + (peak - base) * (step - 1) / max(warm_up, 1)


def never(step: int, batch: int, base: float, reference: int, warm_up: int) -> float:
    return base


def lengths(comm: Comm, gradient: np.ndarray) -> tuple[float, float]:
    mean, own = gradient.copy(), np.array([gradient @ gradient])
    for x in (mean, own):
        ring.allreduce(comm, x)
        x /= comm.size
    return own[0], mean @ mean


def pair(
    comm: Comm, gradient: np.ndarray, samples: int, own: float = 1, whole: float = 1
) -> tuple[float, float]:
    small, large = lengths(comm, gradient)
    return noise_and_signal(own * small, samples, whole * large, samples * comm.size)


def swapped(comm: Comm, gradient: np.ndarray, samples: int) -> tuple[float, float]:
    return pair(comm, gradient, samples)[::-1]


def as_measured(comm: Comm, gradient: np.ndarray, samples: int) -> tuple[float, float]:
    small, large = lengths(comm, gradient)
    return samples * (small - large), large


def noise_as_measured(comm: Comm, gradient: np.ndarray, samples: int) -> tuple[float, float]:
    small, large = lengths(comm, gradient)
    return samples * (small - large), pair(comm, gradient, samples)[1]


def without_samples(comm: Comm, gradient: np.ndarray, samples: int) -> tuple[float, float]:
    return pair(comm, gradient, 1)


def own_length(comm: Comm, gradient: np.ndarray, samples: int) -> tuple[float, float]:
    _, large = lengths(comm, gradient)
    return noise_and_signal(gradient @ gradient, samples, large, samples * comm.size)


def of_the_sum(comm: Comm, gradient: np.ndarray, samples: int) -> tuple[float, float]:
    return pair(comm, gradient, samples, whole=comm.size**2)


def lengths_not_averaged(comm: Comm, gradient: np.ndarray, samples: int) -> tuple[float, float]:
    return pair(comm, gradient, samples, own=comm.size)


def own_one_is_gone(comm: Comm, gradient: np.ndarray, samples: int) -> tuple[float, float]:
    ring.allreduce(comm, gradient)
    mean = gradient / comm.size
    return noise_and_signal(gradient @ gradient, samples, mean @ mean, samples * comm.size)


def the_scale(comm: Comm, gradient: np.ndarray, samples: int) -> float:
    noise, signal = pair(comm, gradient, samples)
    return noise / signal


def lars(
    comm: Comm,
    weights: Arrays,
    gradients: Arrays,
    moments: Arrays,
    rate: float,
    trust: str = "own",
    sign: int = -1,
    memory: float = 0.9,
    taken_off: bool = True,
) -> None:
    """Right, but for what the arguments say."""
    before = [np.linalg.norm(g) for g in gradients]
    for g in gradients:
        ring.allreduce(comm, g)
        g /= comm.size
    for w, g, m, own in zip(weights, gradients, moments, before, strict=True):
        length = own if trust == "before" else np.linalg.norm(g)
        ratio = np.linalg.norm(w) / length
        if trust == "inverse":
            ratio = 1 / ratio
        elif trust == "none":
            ratio = 1.0
        m *= memory
        m += rate * ratio * g
        if taken_off:
            w += sign * m


def not_averaged(
    comm: Comm, weights: Arrays, gradients: Arrays, moments: Arrays, rate: float
) -> None:
    for w, g, m in zip(weights, gradients, moments, strict=True):
        m *= 0.9
        m += rate * np.linalg.norm(w) / np.linalg.norm(g) * g
        w -= m


def one_ratio(
    comm: Comm, weights: Arrays, gradients: Arrays, moments: Arrays, rate: float
) -> None:
    for g in gradients:
        ring.allreduce(comm, g)
    flat = [np.concatenate([x.ravel() for x in arrays]) for arrays in (weights, gradients)]
    ratio = np.linalg.norm(flat[0]) / np.linalg.norm(flat[1])
    for w, g, m in zip(weights, gradients, moments, strict=True):
        m *= 0.9
        m += rate * ratio * g
        w -= m


def scaled_late(
    comm: Comm, weights: Arrays, gradients: Arrays, moments: Arrays, rate: float
) -> None:
    for w, g, m in zip(weights, gradients, moments, strict=True):
        ring.allreduce(comm, g)
        g /= comm.size
        m *= 0.9
        m += g
        w -= rate * np.linalg.norm(w) / np.linalg.norm(g) * m


def under_another_name(
    comm: Comm, weights: Arrays, gradients: Arrays, moments: Arrays, rate: float
) -> None:
    for w, g, m in zip(weights, gradients, moments, strict=True):
        ring.allreduce(comm, g)
        m = 0.9 * m + rate * np.linalg.norm(w) / np.linalg.norm(g) * g
        w = w - m


def moments_renamed(
    comm: Comm, weights: Arrays, gradients: Arrays, moments: Arrays, rate: float
) -> None:
    for w, g, m in zip(weights, gradients, moments, strict=True):
        ring.allreduce(comm, g)
        m = 0.9 * m + rate * np.linalg.norm(w) / np.linalg.norm(g) * g
        w -= m


def without_the_rate(
    comm: Comm, weights: Arrays, gradients: Arrays, moments: Arrays, rate: float
) -> None:
    lars(comm, weights, gradients, moments, 1.0)


def mistaken(**how: object):
    def step(comm: Comm, weights: Arrays, gradients: Arrays, moments: Arrays, rate: float) -> None:
        lars(comm, weights, gradients, moments, rate, **how)

    return step


def curved(inputs, drawn, gradient, damping, *, count=None, left=True, right=True, power=-1):
    """Right, but for what the arguments say."""
    means = [
        part.T @ part / (count or len(part)) + damping * np.eye(part.shape[1])
        for part in (drawn, inputs)
    ]
    out, into = (np.linalg.matrix_power(mean, power) for mean in means)
    return (out if left else np.eye(len(out))) @ gradient @ (into if right else np.eye(len(into)))


def damped_everywhere(inputs, drawn, gradient, damping):
    out, into = (part.T @ part / len(part) + damping for part in (drawn, inputs))
    return np.linalg.inv(out) @ gradient @ np.linalg.inv(into)


def choosing(batch, rate):
    return lambda step, noise, signal: (batch, rate)


MISTAKES = [
    ("13.kfac", lambda *given: curved(*given, count=1), "the means are wanted"),
    ("13.kfac", lambda *given: curved(*given, power=1), "by their inverses"),
    ("13.kfac", lambda *given: curved(*given, left=False), "between two inverses"),
    ("13.kfac", lambda *given: curved(*given, right=False), "between two inverses"),
    ("13.kfac", lambda a, d, gradient, damping: curved(a, d, gradient, 0.0), "damping is missing"),
    ("13.kfac", lambda a, d, gradient, damping: gradient, "as it was"),
    ("13.kfac", damped_everywhere, "It belongs on their diagonals"),
    ("13.kfac", lambda *given: -curved(*given), "The sign is turned round"),
    ("13.kfac", lambda *given: None, "Is a `return` missing?"),
    ("13.schedule", choosing(2048, 0.34), "and the goal is"),
    ("13.schedule", choosing(64, 1.0), "holds it up"),
    ("13.schedule", choosing(64, 2.5), "The loss grows"),
    ("13.schedule", choosing(64.5, 1.0), "a batch is a whole number"),
    ("13.schedule", choosing(64, -1.0), "a rate is above 0"),
    ("13.schedule", lambda step, noise, signal: 64, "return two numbers"),
    (
        "13.first",
        lambda steps, seconds: least({b: seconds[b] / b for b in steps}),
        "the most samples a second",
    ),
    ("13.first", lambda steps, seconds: least(steps), "the fewest steps"),
    (
        "13.first",
        lambda steps, seconds: least({b: -steps[b] * seconds[b] for b in steps}),
        "the last one at the target",
    ),
    ("13.first", lambda steps, seconds: min(steps[b] * seconds[b] for b in steps), "is a time"),
    ("13.first", lambda steps, seconds: None, "Is a `return` missing?"),
    ("13.rate", upside_down, "not the other way round"),
    ("13.pieces", lambda *given: in_pieces(*given, mean=False), "the sum of the gradients"),
    ("13.pieces", lambda *given: in_pieces(*given, add=False), "of the last piece"),
    ("13.pieces", lambda *given: in_pieces(*given, often=True), "a step after each piece"),
    ("13.pieces", lambda *given: in_pieces(*given, first=True), "after the first piece"),
    ("13.pieces", lambda weights, pieces, rate: weights, "are as they were"),
    ("13.pieces", lambda weights, pieces, rate: None, "Is a `return` missing?"),
    ("13.rate", square_root, "the square root of the batch"),
    ("13.rate", without_warm_up, "where is the warm-up?"),
    ("13.rate", from_zero, "not at zero"),
    ("13.rate", from_zero_at_once, "not at zero"),
    ("13.rate", a_step_early, "in step 1 nothing has been added yet"),
    ("13.rate", a_step_late, "in step warm_up + 1"),
    ("13.rate", for_ever, "goes on rising"),
    ("13.rate", lambda *given: 0.0, "before, on the straight line to it"),
    ("13.rate", never, "After the warm-up the rate must be"),
    ("13.rate", lambda step, batch, base, reference, warm_up: None, "yours returns None"),
    ("13.noise", swapped, "The two are swapped"),
    ("13.noise", as_measured, "Solve the two equations"),
    ("13.noise", noise_as_measured, "P / (P - 1) is missing"),
    ("13.noise", without_samples, "multiply by `samples`"),
    ("13.noise", own_length, "this rank's own |g|^2"),
    ("13.noise", of_the_sum, "the sum of the gradients: divide"),
    ("13.noise", lengths_not_averaged, "The mean of the |g|^2 is wanted"),
    ("13.noise", own_one_is_gone, "add up a copy"),
    ("13.noise", the_scale, "return two numbers"),
    ("13.noise", lambda comm, gradient, samples: None, "Is a `return` missing?"),
    ("13.lars", not_averaged, "average them first"),
    ("13.lars", mistaken(trust="before"), "average first, then take the length"),
    ("13.lars", mistaken(trust="none"), "plain momentum"),
    ("13.lars", mistaken(trust="inverse"), "upside down"),
    ("13.lars", one_ratio, "the lengths of the whole network"),
    ("13.lars", mistaken(sign=1), "up the hill"),
    ("13.lars", mistaken(memory=0.0), "are forgotten"),
    ("13.lars", mistaken(taken_off=False), "nothing was taken off"),
    ("13.lars", scaled_late, "belongs in the moment"),
    ("13.lars", under_another_name, "only gives a name to something new"),
    ("13.lars", without_the_rate, "The rate is missing"),
    ("13.lars", moments_renamed, "but the moments are as they were"),
]
