"""Our orders and messages are those of torch.distributed.pipelining, where it has the schedule."""

import pytest
from torch.distributed.pipelining import schedules as torchs
from torchs_schedules import THIN, TORCHS, place, theirs_of

from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.instructions import SendActivation, SendGradient
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.schedule_file import cells
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble

PASSES = "FBIW"
SENDS = {"SEND_F": SendActivation, "SEND_B": SendGradient}
sizes = pytest.mark.parametrize(("ranks", "micro_batches"), [(2, 2), (3, 6), (4, 8), (8, 16)])


def passes(actions):
    return [str(one) for one in actions if one and one.computation_type.value in PASSES]


def lists_of(schedule):
    return [[str(word) for word in schedule.computation(rank)] for rank in range(schedule.ranks)]


@sizes
def test_gpipe_and_1f1b(ranks, micro_batches):
    [stage] = place(ranks, 1)
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


def all_passes(actions):
    """With the pairs that run at once."""
    return [str(one) for one in actions if one and one.is_compute_op]


def agree(ours, theirs):
    """The same passes in the same order, and the same messages."""
    for rank in range(ours.ranks):
        assert cells(ours, rank) == all_passes(theirs.pipeline_order[rank])
        wanted = [
            SENDS[one.computation_type.value](one.stage_index, one.microbatch_index)
            for one in theirs.pipeline_order_with_comms[rank]
            if one.computation_type.value in SENDS
        ]
        sends = [word for word in ours.orders[rank] if isinstance(word, tuple(SENDS.values()))]
        assert len(sends) == len(wanted)
        assert set(sends) == set(wanted)


@sizes
def test_zero_bubble_with_its_messages(ranks, micro_batches):
    theirs = torchs.ScheduleInterleavedZeroBubble(place(ranks, 1), micro_batches)
    agree(zero_bubble(ranks, micro_batches), theirs)


@pytest.mark.parametrize("micro_batches", range(1, 25))
@pytest.mark.parametrize("ranks", range(1, 9))
@pytest.mark.parametrize("ours", TORCHS, ids=lambda make: make.__name__)
@pytest.mark.sampled(60)
def test_thin_stages_with_their_messages(ours, ranks, micro_batches):
    """Torch makes no order of groups that are not equal, and no DualPipe-V that is not filled."""
    theirs = theirs_of(ours, ranks, micro_batches)
    if theirs is None:
        pytest.skip("torch refuses these numbers")
    agree(ours(ranks, micro_batches), theirs)


def test_torch_makes_most_of_these():
    made = [theirs_of(ours, 4, many) is not None for ours in TORCHS for many in range(1, 25)]
    assert sum(made) > 0.7 * len(made)
    assert THIN == 2
