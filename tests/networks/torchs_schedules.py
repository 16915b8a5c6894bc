"""Torch's schedules of thin stages, beside ours, without any process."""

from types import SimpleNamespace

import pytest
from torch.distributed.pipelining import schedules as torchs
from torch.distributed.pipelining._utils import generate_stage_to_rank_mapping

from ddl_teach.networks.pipelines.breadth_first import breadth_first
from ddl_teach.networks.pipelines.dualpipe_v import dualpipe_v
from ddl_teach.networks.pipelines.interleaved import interleaved
from ddl_teach.networks.pipelines.interleaved_zero_bubble import interleaved_zero_bubble
from ddl_teach.networks.pipelines.zb_v import zb_v

TORCHS = {
    interleaved: (torchs.ScheduleInterleaved1F1B, "loop"),
    breadth_first: (torchs.ScheduleLoopedBFS, "loop"),
    interleaved_zero_bubble: (torchs.ScheduleInterleavedZeroBubble, "loop"),
    zb_v: (torchs.ScheduleZBVZeroBubble, "v"),
    dualpipe_v: (torchs.ScheduleDualPipeV, "v"),
}
THIN = 2


def place(ranks, thin=THIN, style="loop"):
    """The stages of rank 0; from what they say torch makes the lists of all ranks."""
    holders = generate_stage_to_rank_mapping(ranks, ranks * thin, style)
    return [
        SimpleNamespace(
            num_stages=len(holders), group_size=ranks, group_rank=0, stage_index=stage,
            stage_index_to_group_rank=holders, is_first=stage == 0,
            is_last=stage == len(holders) - 1, has_backward=True, submod=None,
        )
        for stage, holder in holders.items() if holder == 0
    ]  # fmt: skip


def theirs_of(ours, ranks, micro_batches):
    """What torch makes of the same numbers, or None if it refuses them."""
    make, style = TORCHS[ours]
    equal_groups = micro_batches % max(1, micro_batches // ranks) == 0
    if (ours is dualpipe_v and micro_batches < 2 * ranks) or (
        ours in (interleaved, interleaved_zero_bubble) and not equal_groups
    ):
        with pytest.raises(ValueError, match="requires"):
            make(place(ranks, style=style), micro_batches)
        return None
    return make(place(ranks, style=style), micro_batches)
