"""What takes the learner's place in unit 16 where the package of a statement is asked."""

import numpy as np


def nearest_centre(vectors: np.ndarray, packages: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """What takes the learner's place until theirs is right."""
    numbers = np.unique(packages)
    middles = centres(vectors, packages)
    cosines = asked @ (middles / np.linalg.norm(middles, axis=1, keepdims=True)).T
    return np.asarray(numbers[cosines.argmax(axis=1)])


def centres(vectors: np.ndarray, packages: np.ndarray) -> np.ndarray:
    """The mean of each package's vectors."""
    return np.array([vectors[packages == number].mean(axis=0) for number in np.unique(packages)])
