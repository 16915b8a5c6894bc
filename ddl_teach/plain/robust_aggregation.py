"""Four ways to combine vectors of which some are lies. Each row is the vector of one worker.

    median              of each coordinate
    trimmed mean        the mean of each coordinate without its largest and its smallest values
    Krum                the one vector whose nearest others are nearest
    centred clipping    shorten what is far from the last result, then take the mean

One liar moves the mean of P workers as far as it likes. It moves none of these farther than the
honest vectors reach, while liars are a minority (for Krum: while 2 liars + 2 < P).
Cost: P n bytes arrive; Krum compares all pairs, P^2 n operations.
Yin et al., "Byzantine-robust distributed learning: towards optimal statistical rates", ICML 2018;
Blanchard et al., "Machine learning with adversaries: Byzantine tolerant gradient descent", NIPS
2017; Karimireddy, He and Jaggi, "Learning from history for Byzantine robust optimization", ICML
2021. What to look at: none of them can be added up hop by hop, so all rows must travel.
"""

import numpy as np


def median(rows: np.ndarray) -> np.ndarray:
    """The median of each column; right with up to (P-1)/2 liars."""
    ordered, half = np.sort(rows, axis=0), (len(rows) - 1) // 2
    return np.asarray(ordered[half] + ordered[len(rows) - 1 - half]) / 2


def trimmed_mean(rows: np.ndarray, liars: int) -> np.ndarray:
    """The mean without the `liars` largest and smallest of each column; up to (P-1)/2."""
    ordered = np.sort(rows, axis=0)
    kept = np.asarray(ordered[liars : len(rows) - liars].sum(axis=0))
    return kept / (len(rows) - 2 * liars)


def krum(rows: np.ndarray, liars: int) -> np.ndarray:
    """The row that is nearest to its nearest rows; right with up to (P-3)/2 liars."""
    neighbours = max(1, len(rows) - liars - 2)
    scores = []
    for row in rows:
        distances = sorted(float(((row - other) ** 2).sum()) for other in rows)
        scores.append(sum(distances[1 : 1 + neighbours]))  # the first is the row itself
    return np.asarray(rows[int(np.argmin(scores))])


def centred_clipping(rows: np.ndarray, before: np.ndarray, rounds: int = 3) -> np.ndarray:
    """`before` is what came out the last time; the radius is the median distance from it."""
    centre = before.copy()
    for _ in range(rounds):
        distances = [float(np.linalg.norm(row - centre)) for row in rows]
        radius, pull = np.median(distances), np.zeros_like(centre)
        for row, distance in zip(rows, distances, strict=True):
            pull += (row - centre) * min(1.0, radius / max(distance, 1e-30))
        centre += pull / len(rows)
    return centre
