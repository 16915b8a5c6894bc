"""How often to save, and what a failure costs: to restart from a checkpoint, or to shrink.

Failures come at random, on average one every M seconds (P nodes that fail every m: M = m / P). A
training of W seconds saves every T seconds, which takes C; a restart takes R. Until a stretch of
T + C goes through without a failure it is tried again, so all of it takes on average

    M e^(R/M) (e^((T + C)/M) - 1) W / T                                            (Daly, 2006)
    best T = sqrt(2 C M)               where C is small beside M                  (Young, 1974)
             sqrt(2 C M) (1 + sqrt(C/2M)/3 + (C/2M)/9) - C; M where C > 2 M        (Daly, 2006)
             exactly: with x = T/M, where e^(x + C/M) (1 - x) = 1

What is copied in C and written behind the training's back in B is safe only B later. That costs as
much as a restart that is B longer. If a failure is noticed N late and nothing counts meanwhile,
the share of the time in which the training gets on is

    T e^(-(R + B)/M) / ((M + N) (e^((T + C)/M) - 1))

To shrink needs no checkpoint and does one step again. From then on P - 1 ranks do the work of P:

    shrink    notice + W' P/(P-1)          W' seconds were left to do
    restart   R + T/2 + W'                 on all P again
    shrink wins while W' < (P - 1) (R + T/2 - notice)

Young, "A first order approximation to the optimum checkpoint interval", CACM 17, 1974; Daly, "A
higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22, 2006.
What to look at: a hundred times as many nodes save ten times as often, and no save is cheaper.
"""

import math

from ddl_teach.theory.inputs import cost, count


def expected(work: float, every: float, save: float, restart: float, mean: float) -> float:
    """Seconds that `work` seconds of training take on average, with a save every `every`."""
    work, every, mean = cost("work", work), cost("every", every), cost("mean", mean)
    save, restart = cost("save", save), cost("restart", restart)
    if not every or not mean:
        raise ValueError(f"every={every} and mean={mean} must both be above 0")
    stretch = (every + save) / mean
    if stretch + restart / mean > 700:
        return math.inf  # longer than any number; a stretch as long as that never goes through
    return mean * math.exp(restart / mean) * math.expm1(stretch) * work / every


def young(save: float, mean: float) -> float:
    """The best seconds between checkpoints, to first order; one takes `save` seconds to write.

    >>> young(save=50, mean=10_000)
    1000.0
    """
    return math.sqrt(2 * cost("save", save) * cost("mean", mean))


def daly(save: float, mean: float) -> float:
    """The best interval, to higher order.

    >>> round(daly(save=50, mean=10_000))
    967
    """
    part = cost("save", save) / (2 * cost("mean", mean))
    return mean if part >= 1 else young(save, mean) * (1 + math.sqrt(part) / 3 + part / 9) - save


def best_interval(save: float, mean: float) -> float:
    """The interval at which the expected time is least, by halving."""
    save, low, high = cost("save", save) / cost("mean", mean), 0.0, 1.0
    for _ in range(60):
        x = (low + high) / 2
        low, high = (x, high) if x + save + math.log1p(-x) > 0 else (low, x)
    return mean * low


def goodput(
    every: float, save: float, restart: float, mean: float, behind: float = 0, late: float = 0
) -> float:
    """The share of the time in which a training gets on, in the long run."""
    alone = every / expected(every, every, save, restart + cost("behind", behind), mean)
    return alone * mean / (mean + cost("late", late))


def shrinking_wins_below(ranks: int, notice: float, restart: float, again: float) -> float:
    """Seconds of work left below which it is better to shrink than to restart on all ranks."""
    saved = cost("restart", restart) + cost("again", again) - cost("notice", notice)
    return max(0.0, (count("ranks", ranks) - 1) * saved)
