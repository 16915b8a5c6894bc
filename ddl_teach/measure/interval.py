"""How sure a median is: its 95% interval by order statistics.

Of n independent times, the number that lie below the true median is binomial with mean n/2 and
standard deviation sqrt(n)/2. So the times whose ranks are 0.98 sqrt(n) to both sides of the middle
enclose it in 95 of 100 experiments, however the times are distributed (Hoefler & Belli 2015). What
to look at: with few repetitions the interval is all that was measured, from least to most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def interval(times: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """Median, and the two ends of its 95% interval."""
    ordered = np.sort(times)
    count = len(ordered)
    reach = 0.98 * np.sqrt(count)
    middle = (count - 1) / 2
    low = max(0, int(np.floor(middle - reach)))
    high = min(count - 1, int(np.ceil(middle + reach)))
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])
