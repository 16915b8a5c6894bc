"""Staleness-aware steps: the older a gradient, the less of it is applied.

    factor = 1 / staleness          (1 for a fresh one)

The stable rate falls like one over the staleness, so a rate that is right for one worker stays
stable however many there are; and a slow worker's very old gradients hardly count. Zhang, Gupta,
Lian and Liu, "Staleness-aware async-SGD for distributed deep learning", IJCAI 2016.
What to look at: `Asynchronous(damp=inverse)` beside `Asynchronous()`, at a rate that one worker
bears.
"""


def inverse(staleness: int) -> float:
    """One over the staleness, at most one.

    >>> inverse(0), inverse(1), inverse(4)
    (1.0, 1.0, 0.25)
    """
    return 1.0 / max(1, staleness)
