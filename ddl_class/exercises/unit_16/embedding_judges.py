"""The judges of unit 16 for an embedding of statements: a pair's gradient, and what it is for."""

import numpy as np

from ddl_class.exercises.kit import Attempt, ask, texts, within

(PACKAGES,) = texts(__package__, "packages")
SAME = within(1e-7, 1e-9)
NAMES = ("the gradient of vector", "that of context", "that of others")


def _slopes(
    vector: np.ndarray, context: np.ndarray, others: np.ndarray
) -> tuple[float, np.ndarray]:
    """How the loss grows with the product of the pair, and with that of each other one."""
    return 1 / (1 + np.exp(-context @ vector)) - 1, 1 / (1 + np.exp(-others @ vector))


def _gradients(
    vector: np.ndarray, context: np.ndarray, others: np.ndarray, near: float, far: np.ndarray
) -> list[np.ndarray]:
    return [near * context + far @ others, near * vector, np.outer(far, vector)]


def nearest_centre(vectors: np.ndarray, packages: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """What takes the learner's place until theirs is right."""
    numbers = np.unique(packages)
    centres = _centres(vectors, packages)
    nearest = _largest(asked, centres / np.linalg.norm(centres, axis=1, keepdims=True))
    return np.asarray(numbers[nearest])


def _centres(vectors: np.ndarray, packages: np.ndarray) -> np.ndarray:
    return np.array([vectors[packages == number].mean(axis=0) for number in np.unique(packages)])


def _largest(asked: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray((asked @ rows.T).argmax(axis=1))


def judge_packages(attempt: Attempt) -> None:
    """Rows go to the package whose centre points most nearly the same way."""
    for packages, width in ((5, 3), (4, 8), (2, 24)):
        count = 12 * packages
        towards = attempt.generator.standard_normal((packages, width))
        towards *= np.geomspace(1, 6, packages)[:, None]  # centres of unequal lengths
        own = np.concatenate([np.arange(packages), attempt.generator.integers(0, packages, count)])
        rows = towards[own] + attempt.generator.standard_normal((len(own), width))
        asked = 3 * attempt.generator.standard_normal((40, width))
        centres = _centres(rows, own)
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        apart = np.linalg.norm(asked[:, None] - centres, axis=2)
        right = nearest_centre(rows, own, asked)
        ask(attempt, PACKAGES, (rows, own, asked), right, packages=packages).compare(
            frequent=np.full(len(asked), np.bincount(own).argmax()),
            undivided=_largest(asked, centres),
            nearest_row=own[_largest(asked, unit)],
            smallest=nearest_centre(rows, own, -asked),
            distance=apart.argmin(axis=1),
        )
