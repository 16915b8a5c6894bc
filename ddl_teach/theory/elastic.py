"""Where elastic averaging comes to rest: between each worker's own minimum and the mean of all.

Worker i alone would end in m_i, in a bowl of curvature h. One step of rate r pulls it there by
r h (m_i - x_i), its spring back to the centre c by a (c - x_i). At rest both are equal, and the
springs' pulls on the centre cancel:

    c = mean of all m_i,        x_i - c = r h / (r h + a) (m_i - c)

Zhang, Choromanska and LeCun, "Deep learning with elastic averaging SGD", NIPS 2015.
What to look at: stiff springs, a >> r h, are synchronous; weak ones let workers go.
"""


def share_of_the_way(rate: float, curvature: float, spring: float) -> float:
    """How far from the centre a worker rests, as a part of how far its own minimum is.

    >>> share_of_the_way(rate=0.1, curvature=1.0, spring=0.1)
    0.5
    """
    return rate * curvature / (rate * curvature + spring)
