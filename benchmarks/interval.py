"""How sure a median is."""

from collections.abc import Sequence

import numpy as np


def interval(times: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """Median and its 95% interval by order statistics: no distribution is assumed."""
    ordered = np.sort(times)
    count = len(ordered)
    reach = 0.98 * np.sqrt(count)
    middle = (count - 1) / 2
    low = max(0, int(np.floor(middle - reach)))
    high = min(count - 1, int(np.ceil(middle + reach)))
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high])
