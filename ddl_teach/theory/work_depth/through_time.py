"""What all recurrent layers share backwards: the gradients of their weights, step after step.

A weight of W or U is used once by each of N samples in each of T steps, so its gradient is a dot
product over N T terms, 2 N T - 1 operations; a bias is a sum of as many. The terms of a step come
when back-propagation has got there, and join the sum then. What to look at: only the last step's
terms are waited for; the sum itself adds hardly anything to the chain.
"""

from collections.abc import Iterable

from ddl_teach.theory.work_depth.counting import WorkDepth, counts, joined


def parameter_gradient(
    *,
    batch: int,
    steps: int,
    inputs: int,
    hidden: int,
    gates: int,
    work: int,
    ready: Iterable[int],
) -> WorkDepth:
    """That of `work` operations back through time, at whose levels `ready` a step's terms come."""
    counts(batch=batch, steps=steps, inputs=inputs, hidden=hidden)
    terms = batch * steps
    sums = gates * hidden * ((inputs + hidden) * (2 * terms - 1) + terms - 1)
    return WorkDepth(work + sums, joined((level + 1, batch) for level in ready))
