"""Skip-gram with negative sampling: a statement's vector predicts what stands around it.

    loss of a pair (c, o) = -log s(u_o . v_c) - sum over K drawn n of log s(-u_n . v_c)

s is the logistic function; v are the vectors that are wanted, u those of the contexts. A step with
b pairs touches at most b rows of v and b (K + 1) of u, however many statements there are: the
gradient is sparse by nature. Mikolov, Sutskever, Chen, Corrado and Dean, "Distributed
representations of words and phrases and their compositionality", NIPS 2013.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ddl_teach.training.consistency.rows import Rows
from ddl_teach.training.consistency.shares import share
from ddl_teach.training.tasks.statements import downstream
from ddl_teach.training.tasks.statements.corpus import Corpus
from ddl_teach.training.tasks.task import LossAndGradient, Task

FLATTER = 0.75  # contexts are drawn by their frequency to this power (Mikolov et al.)
HELD_OUT_PAIRS = 4096  # are enough for the loss


@dataclass(frozen=True, eq=False)
class Statements(Task):
    """`batch` pairs for each worker and step, vectors of `width` numbers, `negatives` a pair."""

    corpus: Corpus
    width: int = 24
    batch: int = 64
    negatives: int = 5
    seed: int = 0
    dtype: str = "float32"

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((len(self.corpus.vocabulary), self.width),) * 2

    def initial(self) -> np.ndarray:
        random = np.random.default_rng(self.seed)
        vectors = (random.random(self.shapes[0]) - 0.5) / self.width
        return np.concatenate([vectors.ravel(), np.zeros(vectors.size)]).astype(self.dtype)

    def gradient(self, weights: np.ndarray, part: int, parts: int, step: int) -> LossAndGradient:
        loss, indices, values = self.touched(weights, part, parts, step)
        gradient = np.zeros_like(weights)
        gradient[indices] = values
        return loss, gradient

    def touched(
        self, weights: np.ndarray, part: int, parts: int, step: int
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """The loss, and the gradient as ascending indices and the values there."""
        pairs, negatives = self._samples(part, parts, step)
        loss, rows, towards = self.loss_and_rows(weights, pairs, negatives)
        touched, place = np.unique(rows, return_inverse=True)
        sums = np.zeros((len(touched), self.width), weights.dtype)
        np.add.at(sums, place, towards)
        indices = touched[:, None] * self.width + np.arange(self.width)
        return loss, indices.ravel(), sums.ravel()

    def needed(self, part: int, parts: int, step: int) -> Rows:
        pairs, negatives = self._samples(part, parts, step)
        return Rows(self.width, np.unique(np.append(pairs[:, 0], self._around(pairs, negatives))))

    def loss(self, weights: np.ndarray) -> float:
        pairs = self.corpus.held_out_pairs[:HELD_OUT_PAIRS]
        drawn = np.random.default_rng(self.seed).random((len(pairs), self.negatives))
        return self.loss_and_rows(weights, pairs, self._contexts(drawn))[0]

    def accuracy(self, weights: np.ndarray) -> float:
        return downstream.accuracy(self.corpus, self.vectors(weights))

    def vectors(self, weights: np.ndarray) -> np.ndarray:
        return weights[: self.layers[1]].reshape(self.shapes[0])

    @cached_property
    def _cumulated(self) -> np.ndarray:
        flatter = self.corpus.counts**FLATTER
        return np.asarray(np.cumsum(flatter) / flatter.sum())

    def _samples(self, part: int, parts: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that were seen, and for each of them contexts that were drawn."""
        own = share(len(self.corpus.pairs), self.batch, part, parts, step, self.seed)
        random = np.random.default_rng([self.seed, step])
        drawn = random.random((parts, self.batch, self.negatives))[part]  # others draw the rest
        return self.corpus.pairs[own], self._contexts(drawn)

    def _contexts(self, drawn: np.ndarray) -> np.ndarray:
        """Numbers between 0 and 1 as statements, frequent ones more often."""
        return np.searchsorted(self._cumulated, drawn)

    def _around(self, pairs: np.ndarray, negatives: np.ndarray) -> np.ndarray:
        """The rows of the contexts of each pair: the one that was seen, then those drawn."""
        return np.column_stack([pairs[:, 1], negatives]) + len(self.corpus.vocabulary)

    def loss_and_rows(
        self, weights: np.ndarray, pairs: np.ndarray, negatives: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """The mean loss; and the gradient in rows of the weights, of which some come twice."""
        rows = weights.reshape(-1, self.width)
        contexts = self._around(pairs, negatives)
        centres, around = rows[pairs[:, 0]], rows[contexts]
        scores = np.einsum("bd,bkd->bk", centres, around)
        scores[:, 0] *= -1  # the right one: large is good
        loss = float(np.logaddexp(0, scores).sum(axis=1).mean())
        slope = (1 + np.tanh(scores / 2)) / (2 * len(pairs))  # the logistic function: no overflow
        slope[:, 0] *= -1
        of_centres = np.einsum("bk,bkd->bd", slope, around)
        of_contexts = slope[:, :, None] * centres[:, None, :]
        touched = np.concatenate([pairs[:, 0], contexts.ravel()])
        return loss, touched, np.concatenate([of_centres, of_contexts.reshape(-1, self.width)])
