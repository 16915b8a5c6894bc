"""Distillation: one network learns to answer as an ensemble does, one member on each rank.

    q = mean over the members of softmax(scores / T)          p_T = softmax(scores / T)
    loss = soft T^2 (- sum of q log p_T)  +  (1 - soft) (- log p_1[answer])

What the teacher thinks of wrong answers says more than a label; a high temperature T shows more of
it. The gradient of the first part falls with 1/T^2, and the factor T^2 makes up for that.
Cost: one all-reduce of a probability for each class and sample. Afterwards one network does the
work of the ensemble. Memory: one network in place of P.
Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network", 2015.
What to look at: where the student answers as the teacher, the first part has no gradient.
"""

import numpy as np

from ddl_teach import Comm
from ddl_teach.plain.ring_allreduce import allreduce


def softmax(scores: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Probabilities; a row for each sample, a column for each class."""
    p: np.ndarray = np.exp((scores - scores.max(axis=1, keepdims=True)) / temperature)
    p /= p.sum(axis=1, keepdims=True)
    return p


def teacher(comm: Comm, scores: np.ndarray, temperature: float) -> np.ndarray:
    """The mean of all members' probabilities; `scores` are those of this rank's member."""
    q = softmax(scores, temperature)
    allreduce(comm, q.reshape(-1))  # a view: the sum is in q
    return q / comm.size


def loss(
    scores: np.ndarray, q: np.ndarray, answers: np.ndarray, temperature: float, soft: float
) -> tuple[float, np.ndarray]:
    """The student's mean loss over the samples, and its gradient by the scores."""
    softened, p = softmax(scores, temperature), softmax(scores)
    samples = np.arange(len(answers))
    of_teacher = -(q * np.log(softened)).sum(axis=1).mean()
    of_answers = -np.log(p[samples, answers]).mean()
    right = np.zeros_like(p)
    right[samples, answers] = 1
    gradient = soft * temperature * (softened - q) + (1 - soft) * (p - right)
    return soft * temperature**2 * of_teacher + (1 - soft) * of_answers, gradient / len(answers)
