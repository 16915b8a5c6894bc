"""DualPipe-V: in the shape of a V, a forward and a backward pass at once.

A forward pass of one of the rank's two stages does not depend on a backward pass of the other. So
a device can run them at once: while one sends, the other computes. Some backward passes are split
as in zero bubble, to fill and drain the pipeline sooner. In seconds of thin stages the bubble is
(P-1) (F&B + B - 3 W), with F&B for a pair that runs at once. A rank keeps the activations of 2P +
1 thin stages. The worker here runs a pair one after the other, so F&B = F + B: what a device would
gain stands in the formula. DeepSeek-AI, "DeepSeek-V3 technical report", 2024 (arXiv 2412.19437),
for DualPipe; cut in half, with one copy of the weights, as DualPipeV in their code.
What to look at: (2F3;5B1) is a pair.
"""

from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.passes import PassOrder
from ddl_teach.networks.pipelines.schedule import Schedule, in_a_v


def dualpipe_v(ranks: int, micro_batches: int) -> Schedule:
    """Two thin stages a rank, r and 2P-1-r on rank r; as many micro-batches as stages at least."""
    if micro_batches < 2 * ranks:
        few = f"{micro_batches} micro-batches do not fill DualPipe-V's {2 * ranks} stages"
        raise ValueError(f"{few}: take {2 * ranks} or more, or zb_v, which takes any number")
    all_passes = [passes_of(rank, ranks, micro_batches) for rank in range(ranks)]
    overlapped = frozenset(word for passes in all_passes for word in passes.overlapped)
    orders = [passes.order for passes in all_passes]
    return with_messages("DualPipe-V", micro_batches, in_a_v(ranks), orders, overlapped)


def passes_of(rank: int, ranks: int, micro_batches: int) -> PassOrder:
    """What a rank computes, in eight phases."""
    passes, near, far, behind = PassOrder(), rank, 2 * ranks - 1 - rank, ranks - 1 - rank
    for _ in range(2 * behind):
        passes.forward(near)
    for _ in range(rank + 1):
        passes.forward(near)
        passes.forward(far)
    for _ in range(behind):
        passes.backward_input(far)
        passes.backward_weight()
        passes.forward(far)
    for turn in range(micro_batches - 2 * ranks + rank + 1):
        if turn == 0 and behind == 0:  # its two stages follow each other: nothing to overlap yet
            passes.forward(near)
            passes.backward(far)
        else:
            passes.overlap(near, far)
        passes.overlap(far, near)
    for _ in range(behind):
        passes.backward(far)
        passes.overlap(far, near)
    for turn in range(2 * (rank + 1)):  # the second half of them is split
        back = passes.backward if turn <= rank else passes.backward_input
        back(near if turn % 2 else far)
    for _ in range(behind):
        passes.backward_weight()
        passes.backward_input(near)
    for _ in range(rank + 1):
        passes.backward_weight()
    return passes
