"""ZB-V: zero bubble with 1F1B's memory, for the stages lie in the shape of a V.

Rank r holds the thin stages r and 2P-1-r: forward passes go down to the last rank and up again, so
the loss comes about on rank 0. This rank can begin to go backward at once. Let F, I and W take the
same time, with 2P - 1 micro-batches or more. Then no rank has a gap between its first and its last
instruction: the bubble is (P-1) F / 2, until the first activation has come down. Every rank keeps
the activations of at most P micro-batches, half of what H2 needs; price: twice the messages. Qi,
Wan, Huang and Lin, "Zero bubble pipeline parallelism" (arXiv 2401.10241); Qi, Wan, Amar and Lin,
"Pipeline parallelism with controllable memory", NeurIPS 2024.
What to look at: rank 0 goes backward through the network's last stage before others see it.
"""

from ddl_teach.networks.pipelines.instructions import Instruction
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.passes import PassOrder
from ddl_teach.networks.pipelines.schedule import Schedule, in_a_v


def zb_v(ranks: int, micro_batches: int) -> Schedule:
    """Zero bubble over two thin stages a rank, r and 2P-1-r on rank r."""
    orders = [order(rank, ranks, micro_batches) for rank in range(ranks)]
    return with_messages("ZB-V", micro_batches, in_a_v(ranks), orders)


def order(rank: int, ranks: int, micro_batches: int) -> list[Instruction]:
    """What a rank computes: of a pipeline that can be filled, the micro-batches that there are."""
    passes, near, far = PassOrder(), rank, 2 * ranks - 1 - rank
    most = max(micro_batches, 2 * ranks - 1)

    def back(stage: int) -> None:
        passes.backward_input(stage)
        passes.backward_weight(stage)

    for _ in range(2 * (ranks - rank) - 1):
        passes.forward(near)
    for _ in range(rank):
        passes.forward(far)
        passes.forward(near)
    for _ in range(ranks - rank):
        passes.forward(far)
        back(far)
    while passes.forwards[far] < most:
        if passes.forwards[near] < most:
            passes.forward(near)
        back(near)
        passes.forward(far)
        back(far)
    for _ in range(rank):
        passes.backward_input(near)
        passes.backward_input(far)
    for _ in range(ranks - rank):
        passes.backward_input(near)
        passes.backward_weight(near)
    for stage in (far, near):
        for _ in range(rank):
            passes.backward_weight(stage)
    return [word for word in passes.order if word.micro_batch < micro_batches]
