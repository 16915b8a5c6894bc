"""What vectors of statements are good for: which package does this function come from?

A function of four statements or more is the mean of their vectors. A linear classifier (softmax)
learns to tell the packages apart, and is asked about files that neither it nor the embedding has
seen. Two baselines: always the most frequent package, and vectors that have learnt nothing.
What to look at: random vectors are no bad start; an embedding puts alike statements close.
"""

import numpy as np

from ddl_teach.training.tasks.statements.corpus import Corpus

LEAST = 4  # statements that a function must have: "return self._x" may come from anywhere
STEPS, RATE, SHRINK = 200, 1.0, 1e-3  # of the classifier


def accuracy(corpus: Corpus, vectors: np.ndarray) -> float:
    """The share of the functions held out whose package is found."""
    features, long = function_vectors(corpus, vectors), np.diff(corpus.begins) >= LEAST
    learnt, asked = long & ~corpus.held_out, long & corpus.held_out
    mean, spread = features[learnt].mean(axis=0), features[learnt].std(axis=0)
    features = (features - mean) / np.where(spread > 0, spread, 1)
    features = np.column_stack([features, np.ones(len(features))])
    answers = np.eye(len(corpus.packages))[corpus.package]
    classifier = _classifier(features[learnt], answers[learnt])
    predicted = (features[asked] @ classifier).argmax(axis=1)
    return float(np.mean(predicted == corpus.package[asked]))


def most_frequent(corpus: Corpus) -> float:
    """The accuracy of always naming the package with the most functions."""
    long = np.diff(corpus.begins) >= LEAST
    most = np.bincount(corpus.package[long & ~corpus.held_out]).argmax()
    return float(np.mean(corpus.package[long & corpus.held_out] == most))


def function_vectors(corpus: Corpus, vectors: np.ndarray) -> np.ndarray:
    """One row a function: the mean of its statements' vectors, each brought to length one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors.astype(float) / np.where(lengths > 0, lengths, 1)
    sums = np.add.reduceat(unit[corpus.statements], corpus.begins[:-1])
    return sums / np.diff(corpus.begins)[:, None]


def nearest(
    corpus: Corpus, vectors: np.ndarray, statement: str, count: int = 5
) -> list[tuple[str, float]]:
    """The statements whose vectors point most nearly the same way, and the cosines."""
    if statement not in corpus.vocabulary:
        first = ", ".join(map(repr, corpus.vocabulary[:5]))
        raise ValueError(f"{statement!r} is not in the vocabulary: its first are {first}")
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosines = unit @ unit[corpus.vocabulary.index(statement)]
    order = [place for place in np.argsort(-cosines) if corpus.vocabulary[place] != statement]
    return [(corpus.vocabulary[place], float(cosines[place])) for place in order[:count]]


def _classifier(features: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Softmax regression by plain descent, with a little pull towards zero."""
    weights = np.zeros((features.shape[1], answers.shape[1]))
    for _ in range(STEPS):
        scores = features @ weights
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        weights -= RATE * (features.T @ (likely - answers) / len(features) + SHRINK * weights)
    return weights
