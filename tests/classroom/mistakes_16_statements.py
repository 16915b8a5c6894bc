"""The usual mistakes with an embedding of statements, and words of the message for each."""

import numpy as np

from ddl_class.exercises.unit_16.embedding_judges import nearest_centre


def gradients(near=lambda s: s - 1, far=lambda s: s, change=lambda parts: parts, both=True):
    """Right, but for what the arguments say."""

    def pair(vector: np.ndarray, context: np.ndarray, others: np.ndarray):
        def s(x: np.ndarray) -> np.ndarray:
            return 1 / (1 + np.exp(-x))

        seen, drawn = near(s(context @ vector)), far(s(others @ vector))
        of_vector = seen * context + (drawn @ others if both else 0)
        return change([of_vector, seen * vector, np.outer(drawn, vector)])

    return pair


def seen_left_out(vector: np.ndarray, context: np.ndarray, others: np.ndarray):
    drawn = 1 / (1 + np.exp(-others @ vector))
    return drawn @ others, *gradients()(vector, context, others)[1:]


def centres_by(compare):
    def which_package(vectors: np.ndarray, packages: np.ndarray, asked: np.ndarray) -> np.ndarray:
        numbers = np.unique(packages)
        centres = np.array([vectors[packages == number].mean(axis=0) for number in numbers])
        return numbers[compare(asked, centres)]

    return which_package


def of_the_nearest_row(vectors: np.ndarray, packages: np.ndarray, asked: np.ndarray):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return packages[(asked @ unit.T).argmax(axis=1)]


def always_the_same(vectors: np.ndarray, packages: np.ndarray, asked: np.ndarray) -> np.ndarray:
    return np.full(len(asked), np.bincount(packages).argmax())


MISTAKES = [
    ("16.pair", gradients(change=lambda parts: [-part for part in parts]), "signs are turned"),
    ("16.pair", gradients(near=lambda s: s), "which is negative"),
    ("16.pair", gradients(far=lambda s: s - 1), "without the - 1"),
    ("16.pair", gradients(both=False), "are missing in the gradient of `vector`"),
    ("16.pair", seen_left_out, "that was seen is missing"),
    ("16.pair", gradients(change=lambda parts: [parts[1], parts[0], parts[2]]), "The first"),
    ("16.pair", gradients(change=lambda parts: parts[:2]), "return three arrays"),
    ("16.pair", lambda vector, context, others: None, "yours returns None"),
    ("16.packages", centres_by(lambda asked, c: (asked @ c.T).argmax(axis=1)), "a long centre"),
    ("16.packages", of_the_nearest_row, "the nearest function's package"),
    (
        "16.packages",
        lambda vectors, packages, asked: nearest_centre(vectors, packages, -asked),
        "the smallest cosine",
    ),
    ("16.packages", always_the_same, "always return the most frequent"),
    (
        "16.packages",
        centres_by(lambda a, c: np.linalg.norm(a[:, None] - c, axis=2).argmin(axis=1)),
        "the smallest distance",
    ),
    ("16.packages", lambda vectors, packages, asked: packages, "yours has the shape"),
    ("16.packages", lambda vectors, packages, asked: None, "yours returns None"),
]
