"""Judged honestly: whole groups of questions are held out, and repetitions too.

Learners see every second repetition of the points outside of a group. They choose for the group's
questions, and the other repetitions judge them. A neighbouring repetition of a held-out point was
never seen, nor the same size on other ranks if sizes are the groups. For each question

    regret = seconds of what was chosen / seconds of the fastest - 1,

and accuracy is how often the fastest was chosen, or one that is *tied* with it: their intervals
overlap, so that the faster one is not known. Two bounds: "best possible" knows the judging
repetitions themselves; "measured" takes the winner of the other half of the same question's
repetitions: the result of trying all instead of predicting. Its regret is the
noise of the stopwatch, and no chooser should be expected to fall below it. Intervals are from
resampling groups (bootstrap): points of one group err together. From five groups they are rather
too narrow; a whole new size or network may be unlike all of them.
What to look at: the learner with the best accuracy need not have the least regret.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ddl_teach.search.choosing.points import Learner, Points

BEST, MEASURED = "best possible", "measured"


@dataclass(frozen=True, eq=False)
class ChoiceVerdict:
    """For each question: the choice, its regret, whether it won, and whether it was tied with the
    best."""

    chosen: np.ndarray
    regret: np.ndarray
    won: np.ndarray
    tied: np.ndarray
    groups: np.ndarray


def judge(
    points: Points, learners: Mapping[str, Learner], *hold_out: str
) -> dict[str, ChoiceVerdict]:
    """A verdict on every learner and both bounds, one group of equal `hold_out` after another."""
    learnt, kept = points.halves()
    groups = points.groups(*hold_out)
    if groups.max() == 0:
        raise ValueError(
            f"all points have the same {' and '.join(hold_out)}: held out, none is left to learn "
            "from. Measure other values too, or hold out by another column"
        )
    chosen = {name: np.zeros(len(points), int) for name in learners}
    for group in range(groups.max() + 1):
        held = groups == group
        asked = kept.only(held).asked()
        for name, learner in learners.items():
            chosen[name][held] = choose(asked, learner(learnt.only(~held))(asked))
    chosen |= {MEASURED: learnt.winners, BEST: kept.winners}
    rows = np.arange(len(points))
    return {
        name: ChoiceVerdict(
            taken, kept.slowdowns[rows, taken] - 1, taken == kept.winners, kept.tied[rows, taken],
            groups,
        )
        for name, taken in chosen.items()
    }  # fmt: skip


def choose(asked: Points, numbers: np.ndarray) -> np.ndarray:
    """The choice with the least number at each question, of those that are allowed."""
    if np.shape(numbers) != asked.seconds.shape[:2] or np.isnan(numbers).any():
        raise ValueError(
            f"a chooser must return a number for each of {len(asked)} questions and "
            f"{len(asked.choices)} choices, not {np.shape(numbers)} with "
            f"{np.isnan(numbers).sum()} times nan"
        )
    return np.where(np.isfinite(asked.medians), numbers, np.inf).argmin(axis=1)


def mean_with_interval(
    values: np.ndarray, groups: np.ndarray, resamples: int = 2000, seed: int = 0
) -> tuple[float, float, float]:
    """The mean and its 95% interval, by drawing whole groups again and again."""
    sums, counts = np.bincount(groups, values), np.bincount(groups)
    drawn = np.random.default_rng(seed).integers(0, len(sums), (resamples, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(np.mean(values)), float(low), float(high)
