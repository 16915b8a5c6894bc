"""Zero bubble: the weights' gradients, which no stage waits for, fill what would be bubble.

The backward pass is split: I, the gradient of the input, goes to the stage before at once; W, the
gradient of the weights, is put off. With `lookahead` 1 (the paper's H1) rank r puts off r of them
and keeps the activations of at most P micro-batches, as 1F1B does. But it is idle only for (P-1)
(F + I - W). With 2 (H2) ranks run ahead twice as far and keep up to 2P - 1; where F, I and W take
the same time no rank then has a gap between its first and its last instruction. Qi, Wan, Huang and
Lin, "Zero bubble pipeline parallelism", ICLR 2024 (arXiv 2401.10241).
What to look at: the W at the end of the late ranks, where 1F1B has nothing to do.
"""

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import (
    BackwardInput,
    BackwardWeight,
    Forward,
    Instruction,
)
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Schedule, in_a_row


def zero_bubble(ranks: int, micro_batches: int, lookahead: int = 1) -> Schedule:
    """The paper's H1, or with `lookahead=2` its H2; stage r on rank r."""
    if lookahead not in (1, 2):
        raise ValueError(f"lookahead is 1 (H1) or 2 (H2), not {lookahead!r}")
    orders = [order(rank, ranks, micro_batches, lookahead) for rank in range(ranks)]
    name = f"zero bubble H{lookahead}"
    return with_messages(name, micro_batches, in_a_row(ranks), orders)


def order(
    stage: int, stages: int, micro_batches: int, lookahead: int = 1
) -> Iterator[Instruction]:
    """What a stage computes: as 1F1B, with every W put off until `put_off` others wait too."""
    ahead = min(lookahead * (stages - 1 - stage), micro_batches)
    put_off = lookahead * stage  # ahead + put_off is the same on all ranks: so is the memory
    for micro_batch in range(ahead):
        yield Forward(stage, micro_batch)
    for micro_batch in range(micro_batches):
        if micro_batch + ahead < micro_batches:
            yield Forward(stage, micro_batch + ahead)
        yield BackwardInput(stage, micro_batch)
        if micro_batch >= put_off:
            yield BackwardWeight(stage, micro_batch - put_off)
    for micro_batch in range(max(0, micro_batches - put_off), micro_batches):
        yield BackwardWeight(stage, micro_batch)
