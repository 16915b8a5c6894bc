"""Mixture of experts: rank e holds expert e, and each token travels to the expert that it chose.

    y = x + p_e(x) expert_e(x),   e = argmax p(x),   p(x) = softmax(x gate)

With P experts the layer has P times the weights of one expert, and the work of one. All ranks have
the gate and a part of the batch. Backward, gradients travel the other way: the same exchanges in
opposite order, with the numbers of rows swapped.
Cost: three exchanges, of counts, of tokens and of answers, each of P - 1 messages. A rank sends
each of its tokens once, and one answer for each token that came.
Fedus, Zoph and Shazeer, "Switch transformers", 2021; Lepikhin et al., "GShard", 2020.
What to look at: if all tokens choose one expert, its rank works and all others wait.
"""

from collections.abc import Callable

import numpy as np

from ddl_teach import Comm


def exchange(comm: Comm, x: np.ndarray, leaving: np.ndarray, coming: np.ndarray) -> np.ndarray:
    """Send the first leaving[0] rows of `x` to rank 0, and so on; returns the rows that came."""
    outgoing = np.split(x, np.cumsum(leaving)[:-1])
    incoming = [np.empty((count, *x.shape[1:]), x.dtype) for count in coming]
    for distance in range(comm.size):
        to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(outgoing[to], to, incoming[source], source)
    return np.concatenate(incoming)


def mixture(
    comm: Comm, x: np.ndarray, gate: np.ndarray, expert: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The layer's output for this rank's tokens, the rows of `x`."""
    scores = x @ gate
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    chosen = scores.argmax(axis=1)
    by_expert = np.argsort(chosen, kind="stable")
    leaving = np.bincount(chosen, minlength=comm.size)
    one_each = np.ones(comm.size, int)
    coming = exchange(comm, leaving, one_each, one_each)
    tokens = exchange(comm, x[by_expert], leaving, coming)
    answers = exchange(comm, expert(tokens), coming, leaving)
    y = x.copy()
    y[by_expert] += p.max(axis=1)[by_expert, None] * answers
    return y
