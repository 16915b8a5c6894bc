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


def slopes(loss, x, h, *, over=2, fresh=True, late=False, last=None, only=False):
    """Right, but for what the arguments say."""
    each, way = np.zeros(len(x)), np.zeros(len(x))
    for i in range(len(x))[:last]:
        way = np.zeros(len(x)) if fresh else way
        each = np.zeros(len(x)) if only else each
        way[i] = 0 if late else h
        each[i] = (loss(x + way) - loss(x - way)) / (over * h)
    return each


def parted(own, reference, close, *, size=abs, begun=0, which=0):
    """Right, but for what the arguments say."""
    pairs = zip(own, reference, strict=True)
    steps = [step for step, (a, b) in enumerate(pairs, begun) if size(a - b) > close]
    return steps[which] if steps else None


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
    ("19.slopes", lambda *given: slopes(*given, over=1), "The two points are 2 * h apart"),
    ("19.slopes", lambda *given: slopes(*given, fresh=False), "several move at once"),
    ("19.slopes", lambda *given: slopes(*given, late=True), "Write h into the way"),
    ("19.slopes", lambda *given: slopes(*given, last=1), "`return` comes after the loop"),
    ("19.slopes", lambda *given: slopes(*given, only=True), "make `result` before the loop"),
    ("19.slopes", lambda *given: slopes(*given)[0], "an array with a slope for each"),
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
    ("19.parted", lambda *given: parted(*given, size=float), "Below the reference is apart too"),
    ("19.parted", lambda *given: parted(*given, which=-1), "the last step"),
    ("19.parted", lambda *given: parted(*given, begun=1), "counted from 0"),
    ("19.parted", lambda *given: parted(*given) or None, "return None after the loop"),
    ("19.parted", lambda *given: parted(*given) or 0, "no step is further apart"),
    ("19.apart", lambda *given: apart(*given, own_slopes=True), "gradients of its own weights"),
    ("19.apart", lambda *given: apart(*given, way=False), "divide it by the way"),
    ("19.apart", lambda *given: apart(*given, begun=False), "You divide by the reference's"),
    ("19.apart", lambda *given: apart(*given)[-1], "one after each step"),
    (
        "19.worked",
        lambda trainings, target, in_a_row: any(there(t, target, in_a_row) for t in trainings),
        "one lucky seed",
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
        "They must follow each other",
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
        "You accept one look",
    ),
]
