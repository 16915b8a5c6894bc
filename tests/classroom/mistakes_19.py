"""The usual mistakes of unit 19, and words of the message that must name each."""

import numpy as np


def error(forward, backward, x, towards, step, *, ahead=False, over=2, relative=True,
          norm=np.linalg.norm, weigh=True):  # fmt: skip
    """Right, but for what the arguments say."""
    found = np.empty(x.size)
    weights = towards if weigh else 1
    for place in range(x.size):
        way = np.zeros(x.size)
        way[place] = step
        way = way.reshape(x.shape)
        back = x if ahead else x - way
        found[place] = np.sum(weights * (forward(x + way) - forward(back))) / (over * step)
    apart = norm(backward(x, towards).ravel() - found)
    return apart / norm(found) if relative else apart


def apart(rule, reference, gradient, weights, steps, *, own_slopes=False, way=True, begun=True):
    """Right, but for what the arguments say."""
    own, right, row = weights.copy(), weights.copy(), []
    for step in range(steps):
        slope = gradient(right, step)
        own = rule(own, gradient(own, step) if own_slopes else slope)
        right = reference(right, slope)
        gone = np.linalg.norm(right - weights if begun else right) if way else 1
        row.append(np.linalg.norm(own - right) / gone)
    return np.array(row)


def there(looks, target, in_a_row):
    run = 0
    for look in looks:
        run = run + 1 if look >= target else 0
        if run == in_a_row:
            return True
    return False


MISTAKES = [
    ("19.gradient", lambda *given: error(*given, ahead=True, over=1), "You go forward only"),
    ("19.gradient", lambda *given: error(*given, over=1), "The two points are 2 * step apart"),
    ("19.gradient", lambda *given: error(*given, relative=False), "That is the error itself"),
    ("19.gradient", lambda *given: error(*given, norm=np.sum), "errors of two signs cancel"),
    ("19.gradient", lambda *given: error(*given, weigh=False), "multiply it by towards"),
    (
        "19.gradient",
        lambda *given: error(*given, norm=lambda v: np.abs(v).max()),
        "That is the largest error",
    ),
    ("19.gradient", lambda *given: bool(error(*given) < 1e-6), "one number, not"),
    ("19.apart", lambda *given: apart(*given, own_slopes=True), "gradients of its own weights"),
    ("19.apart", lambda *given: apart(*given, way=False), "divide it by the way"),
    ("19.apart", lambda *given: apart(*given, begun=False), "You divide by the reference's"),
    ("19.apart", lambda *given: apart(*given)[-1], "one after each step"),
    (
        "19.worked",
        lambda trainings, target, in_a_row: any(there(t, target, in_a_row) for t in trainings),
        "One lucky seed",
    ),
    (
        "19.worked",
        lambda trainings, target, in_a_row: all(
            there(t, target, in_a_row) for t in trainings if t
        ),
        "has crashed",
    ),
    (
        "19.worked",
        lambda trainings, target, in_a_row: all(
            sum(look >= target for look in t) >= in_a_row for t in trainings
        ),
        "they must follow each other",
    ),
    (
        "19.worked",
        lambda trainings, target, in_a_row: all(
            len(t) >= in_a_row and min(t[-in_a_row:]) >= target for t in trainings
        ),
        "You look at the end only",
    ),
    (
        "19.worked",
        lambda trainings, target, in_a_row: all(
            there([look - 1e-9 for look in t], target, in_a_row) for t in trainings
        ),
        "At the target counts",
    ),
    (
        "19.worked",
        lambda trainings, target, in_a_row: all(there(t, target, 1) for t in trainings),
        "One look is enough for you",
    ),
]
