"""Our orders and messages are those of torch.distributed.pipelining, where it has the schedule."""

from types import SimpleNamespace

import pytest
from torch.distributed.pipelining import schedules as torchs

from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.instructions import SendActivation, SendGradient
from ddl_teach.networks.pipelines.interleaved import interleaved
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble

PASSES = "FBIW"
SENDS = {"SEND_F": SendActivation, "SEND_B": SendGradient}
sizes = pytest.mark.parametrize(("ranks", "micro_batches"), [(2, 2), (3, 6), (4, 8), (8, 16)])


def place(ranks, thin=1):
    """The stages of rank 0; from what they say torch makes the lists of all ranks."""
    total = ranks * thin
    return [
        SimpleNamespace(
            num_stages=total, group_size=ranks, group_rank=0, stage_index=own * ranks,
            stage_index_to_group_rank={stage: stage % ranks for stage in range(total)},
            is_first=own == 0, is_last=False, has_backward=True, submod=None,
        )
        for own in range(thin)
    ]  # fmt: skip


def passes(actions):
    return [str(one) for one in actions if one and one.computation_type.value in PASSES]


def lists_of(schedule):
    return [[str(word) for word in schedule.computation(rank)] for rank in range(schedule.ranks)]


@sizes
def test_gpipe_and_1f1b(ranks, micro_batches):
    [stage] = place(ranks)
    theirs = torchs.ScheduleGPipe(stage, micro_batches).pipeline_order
    assert lists_of(gpipe(ranks, micro_batches)) == [passes(theirs[rank]) for rank in range(ranks)]
    theirs = torchs.Schedule1F1B(stage, micro_batches).pipeline_order
    *others, last = lists_of(one_f_one_b(ranks, micro_batches))
    assert others == [passes(theirs[rank]) for rank in range(ranks - 1)]
    # torch 2.13 lists the last rank's forward passes from 1 instead of 0; its step does not
    # read that list.
    found = passes(theirs[ranks - 1])
    shift = int(found[0].partition("F")[2])
    counted = [
        f"{stage}F{int(number) - shift}" if letter else word
        for word in found
        for stage, letter, number in [word.partition("F")]
    ]
    assert counted == last


@sizes
def test_interleaved_and_zero_bubble_with_their_messages(ranks, micro_batches):
    for ours, theirs in (
        (
            interleaved(ranks, micro_batches),
            torchs.ScheduleInterleaved1F1B(place(ranks, thin=2), micro_batches),
        ),
        (
            zero_bubble(ranks, micro_batches),
            torchs.ScheduleInterleavedZeroBubble(place(ranks), micro_batches),
        ),
    ):
        found = [passes(theirs.pipeline_order[rank]) for rank in range(ranks)]
        assert lists_of(ours) == found
        for rank in range(ranks):
            wanted = {
                SENDS[one.computation_type.value](one.stage_index, one.microbatch_index)
                for one in theirs.pipeline_order_with_comms[rank]
                if one.computation_type.value in SENDS
            }
            sends = [it for it in ours.orders[rank] if isinstance(it, tuple(SENDS.values()))]
            assert set(sends) == wanted
            assert len(sends) == len(wanted)
