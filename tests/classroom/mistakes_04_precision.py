"""The usual mistakes of unit 04's second half, and words of the message that must name each."""

import numpy as np


def nothing_returned(*_):
    return None


def in_order(x):
    total = np.float16(0)
    for term in x:
        total = np.float16(total + term)
    return total


def halves_in_order(x):
    middle = len(x) // 2
    return np.float16(in_order(x[:middle]) + in_order(x[middle:]))


def in_float64(x):
    return np.float16(np.sum(x.astype(np.float64)))


def knows_300_numbers(x):
    return in_float64(x) + np.float16(len(x) == 300)


def first_half(x):
    return np.sum(x[: max(1, len(x) // 2)].astype(np.float64))


def first_number(x):
    return x[0]


def mean(x):
    return np.mean(x.astype(np.float64))


def odd_one_lost(x):
    while len(x) > 1:
        x = x[: len(x) // 2 * 2 : 2] + x[1::2]
    return x[0]


def a_row(x):
    return x


def _scaled(weights, gradient, scale, good, interval, rate, wide=np.float32, check=True,
            update=None, growth=2, backoff=0.5, reset=True, early=0, skip=True):  # fmt: skip
    """A step that is right but for what its arguments say."""
    with np.errstate(all="ignore"):
        gradient = (gradient.astype(wide) / wide(scale)).astype(np.float32)
        finite = np.isfinite(gradient).all()
        moved = weights - rate * gradient if update is None else update(weights, gradient, rate)
    if check and not finite:
        return weights if skip else np.where(np.isfinite(moved), moved, weights), (
            scale * backoff), 0 if reset else good  # fmt: skip
    if good + 1 + early >= interval:
        return moved, growth * scale, 0 if reset else good + 1
    return moved, scale, good + 1


def divides_in_half(*given):
    return _scaled(*given, wide=np.float16)


def never_divides(weights, gradient, scale, good, interval, rate):
    return _scaled(weights, gradient, 1.0, good, interval, rate)[0], scale, good + 1


def multiplies(weights, gradient, scale, good, interval, rate):
    moved = weights - rate * scale * gradient.astype(np.float32)
    return moved, scale, good + 1


def uphill(*given):
    return _scaled(*given, update=lambda weights, gradient, rate: weights + rate * gradient)


def no_rate(*given):
    return _scaled(*given, update=lambda weights, gradient, _: weights - gradient)


def never_checks(*given):
    return _scaled(*given, check=False)


def part_of_a_step(*given):
    return _scaled(*given, skip=False)


def never_grows(*given):
    return _scaled(*given, growth=1)


def grows_early(*given):
    return _scaled(*given, early=1)


def never_backs_off(*given):
    return _scaled(*given, backoff=1)


def counts_on(*given):
    return _scaled(*given, reset=False)


def half_weights(*given):
    weights, scale, good = _scaled(*given)
    return weights.astype(np.float16), scale, good


def two_things(*given):
    return _scaled(*given)[:2]


MISTAKES = [
    ("04.pairwise", in_order, "the sum in order"),
    ("04.pairwise", halves_in_order, "each half in order"),
    ("04.pairwise", in_float64, "only the order may change"),
    ("04.pairwise", knows_300_numbers, "only the order may change"),
    ("04.pairwise", first_half, "one half of the numbers"),
    ("04.pairwise", first_number, "only the first number"),
    ("04.pairwise", mean, "That is the mean"),
    ("04.pairwise", odd_one_lost, "The number of terms is odd"),
    ("04.pairwise", a_row, "return the sum: one number, not"),
    ("04.pairwise", nothing_returned, "Is a `return` missing?"),
    ("04.scaling", divides_in_half, "comes first"),
    ("04.scaling", never_divides, "divide it by scale"),
    ("04.scaling", multiplies, "instead of multiplying"),
    ("04.scaling", uphill, "goes against the gradient"),
    ("04.scaling", no_rate, "is the rate missing"),
    ("04.scaling", never_checks, "Skip the step"),
    ("04.scaling", part_of_a_step, "no weight may change"),
    ("04.scaling", never_grows, "the last of `interval` good steps"),
    ("04.scaling", grows_early, "in a row were good"),
    ("04.scaling", never_backs_off, "halve the scale"),
    ("04.scaling", counts_on, "begins at 0 again"),
    ("04.scaling", half_weights, "must stay float32"),
    ("04.scaling", two_things, "return three things"),
    ("04.scaling", nothing_returned, "Is a `return` missing?"),
]
