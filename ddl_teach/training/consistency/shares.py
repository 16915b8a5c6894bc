"""Which samples worker `part` of `parts` looks at in step `step`, the same on every ground.

The data, shuffled anew for each pass, are one endless sequence. Each step takes the next piece of
it, and each worker an equal share of this piece: P workers with b samples see what one with P b
would.
"""

from functools import cache

import numpy as np

from ddl_teach.networks.shares import share as own_part


def share(count: int, batch: int, part: int, parts: int, step: int, seed: int = 0) -> np.ndarray:
    """The places of the `batch` samples of worker `part` in step `step`, among `count` samples."""
    places = (step * parts + part) * batch + np.arange(batch)
    passes, within = np.divmod(places, count)
    return np.concatenate(
        [_shuffled(count, seed, number)[within[passes == number]] for number in np.unique(passes)]
    )


def share_of_a_kind(
    kinds: np.ndarray, batch: int, part: int, parts: int, step: int, seed: int = 0
) -> np.ndarray:
    """Like `share`, but each worker has samples of few kinds only: they are sorted by kind, and
    cut into one run for each worker."""
    mine = own_part(len(kinds), parts, part)
    if not mine:
        raise ValueError(f"{len(kinds)} samples cannot be cut into {parts} parts by their kind")
    own = np.argsort(kinds, kind="stable")[mine.start : mine.stop]
    return np.asarray(own[share(len(own), batch, 0, 1, step, seed)])


@cache
def _shuffled(count: int, seed: int, number: int) -> np.ndarray:
    return np.random.default_rng([seed, number]).permutation(count)
