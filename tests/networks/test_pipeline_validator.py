"""The validator lets every schedule pass and no broken one, and says what is wrong with it."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline_cases import every_schedule

from ddl_teach.networks.pipelines.breadth_first import breadth_first
from ddl_teach.networks.pipelines.dualpipe_v import dualpipe_v
from ddl_teach.networks.pipelines.gems import gems
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.instructions import (
    ApplyUpdate,
    Backward,
    BackwardWeight,
    Forward,
    Instruction,
    ReceiveActivation,
    ReceiveGradient,
    RunArrived,
    SendActivation,
    SendGradient,
    SumReplicas,
)
from ddl_teach.networks.pipelines.interleaved import interleaved
from ddl_teach.networks.pipelines.interleaved_zero_bubble import interleaved_zero_bubble
from ddl_teach.networks.pipelines.message_driven import message_driven
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.schedule import Schedule, in_a_row
from ddl_teach.networks.pipelines.validator import refusal, validate
from ddl_teach.networks.pipelines.zb_v import zb_v
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble

some = settings(max_examples=80, deadline=None, derandomize=True)


def changed(schedule, rank, words):
    orders = list(schedule.orders)
    orders[rank] = tuple(words)
    return dataclasses.replace(schedule, orders=tuple(orders))


@st.composite
def broken(draw):
    """A schedule with one instruction taken out, doubled, or given another number."""
    ranks, micro_batches = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    schedule = draw(st.sampled_from(every_schedule(ranks, micro_batches)))
    rank = draw(st.integers(0, ranks - 1))
    words = list(schedule.orders[rank])
    at = draw(st.integers(0, len(words) - 1))
    way = draw(st.sampled_from(["without", "twice", "micro-batch", "stage"]))
    word = words[at]
    if way == "twice" and isinstance(word, Instruction):
        words.insert(at, word)
    elif way in ("micro-batch", "stage") and isinstance(word, Instruction):
        place = way.replace("-", "_")
        most = getattr(schedule, f"{place}es" if place.endswith("h") else f"{place}s")
        other = draw(st.integers(0, most).filter(lambda it: it != getattr(word, place)))
        words[at] = dataclasses.replace(word, **{place: other})
    else:
        del words[at]
    return changed(schedule, rank, words)


@pytest.mark.parametrize(("ranks", "micro_batches"), [(1, 1), (1, 2), (2, 1)])
def test_the_smallest_schedules_pass(ranks, micro_batches):
    for schedule in every_schedule(ranks, micro_batches):
        assert refusal(schedule) == ""


@some
@given(st.integers(1, 6), st.integers(1, 9))
def test_every_schedule_passes(ranks, micro_batches):
    for schedule in every_schedule(ranks, micro_batches):
        validate(schedule)


MAKERS = (interleaved, breadth_first, interleaved_zero_bubble, zb_v, dualpipe_v)


@pytest.mark.parametrize("micro_batches", range(1, 25))
@pytest.mark.parametrize("ranks", range(1, 9))
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.sampled(60)
def test_thin_stages_take_any_number_of_micro_batches(make, ranks, micro_batches):
    if make is dualpipe_v and micro_batches < 2 * ranks:
        with pytest.raises(ValueError, match=f"take {2 * ranks} or more, or zb_v"):
            make(ranks, micro_batches)
    else:
        validate(make(ranks, micro_batches))


@pytest.mark.parametrize(("ranks", "micro_batches"), [(2, 2), (3, 4), (5, 8)])
def test_a_v_that_is_not_filled_does_its_part_of_what_a_full_one_does(ranks, micro_batches):
    wanted = [
        tuple(word for word in order if getattr(word, "micro_batch", 0) < micro_batches)
        for order in zb_v(ranks, 2 * ranks - 1).orders
    ]
    assert list(zb_v(ranks, micro_batches).orders) == wanted


@some
@given(broken())
def test_no_broken_schedule_passes_and_the_message_names_rank_and_instruction(schedule):
    message = refusal(schedule)
    assert "rank " in message
    words = {str(word) for order in schedule.orders for word in order} | {"at its end"}
    assert any(word in message for word in words) or "never receives it" in message


@pytest.mark.parametrize(
    ("position", "kind", "says"),
    [
        (1, ReceiveActivation, "1F0: rank 1 does not have the input of stage 1 for micro-batch 0"),
        (1, Forward, "1SA0: rank 1 does not have the output of stage 1"),
        (1, SendActivation, "which never sends that"),
        (1, ReceiveGradient, "1B0: rank 1 does not have the gradient of stage 1"),
        (1, Backward, "1SG0: rank 1 does not have the gradient of the input"),
        (1, SendGradient, "which never sends that"),
        (1, ApplyUpdate, "rank 1, instruction 24, at its end: there was no Update"),
    ],
)
def test_each_missing_instruction_is_named(position, kind, says):
    schedule = one_f_one_b(3, 4)
    words = list(schedule.orders[position])
    words.remove(next(word for word in words if isinstance(word, kind)))
    assert says in refusal(changed(schedule, position, words))


def test_a_circle_of_receives_is_a_deadlock():
    """Rank 0 wants a gradient before it sends the activation that the gradient depends on."""
    schedule = gpipe(2, 1)
    forward, send, *others = schedule.orders[0]
    message = refusal(changed(schedule, 0, (forward, others[0], send, *others[1:])))
    assert "no rank can go on" in message
    assert "rank 0, instruction 1, 0RG0: waits for 1SG0 of rank 1, which is itself" in message
    assert "rank 1, instruction 0, 1RA0: waits for 0SA0 of rank 0, which is itself" in message


def test_backward_before_forward_and_twice():
    early = [[Backward(0, 0), Forward(0, 0)]]
    assert "does not have the activations of stage 0 for micro-batch 0" in refusal(
        with_messages("early", 1, in_a_row(1), early)
    )
    twice = [[Forward(0, 0), Forward(0, 0), Backward(0, 0)]]
    assert "has been forward through it already" in refusal(
        with_messages("twice", 1, in_a_row(1), twice)
    )
    split = zero_bubble(1, 2)
    words = [word for word in split.orders[0] if word != BackwardWeight(0, 1)]
    assert "micro-batch 1 has not been all the way" in refusal(changed(split, 0, words))


@pytest.mark.parametrize(
    ("word", "says"),
    [
        (Forward(1, 0), "stage 1 of micro-batch 0 is on rank 1"),
        (Forward(0, 7), "micro-batches 0 to 1"),
        (SendGradient(1, 0), "stage 1 of micro-batch 0 is on rank 1"),
        (ReceiveActivation(0, 0), "there is no stage -1"),
        (RunArrived(1, 2), "rank 0 does not hold stage 1"),
    ],
)
def test_what_is_elsewhere_or_nowhere(word, says):
    schedule = gpipe(2, 2)
    message = refusal(changed(schedule, 0, (word, *schedule.orders[0])))
    assert says in message
    assert message.startswith("rank 0, instruction 0")


def test_a_message_that_nobody_takes_is_refused():
    schedule = gpipe(2, 1)
    lonely = (Forward(1, 0), Backward(1, 0), ApplyUpdate())
    message = refusal(changed(schedule, 1, (ReceiveActivation(1, 0), *lonely)))
    assert (
        "rank 0, instruction 2, 0RG0: waits for 1SG0 of rank 1, which never sends that" in message
    )
    one_way = [(Forward(0, 0), SendActivation(0, 0), Backward(0, 0), ApplyUpdate()), ()]
    both = Schedule("one way", 1, ((0, 1),), tuple(map(tuple, one_way)))
    assert "does not have the gradient of stage 0" in refusal(both)


def test_replicas_that_forget_their_sum():
    schedule = gems(2, 2)
    words = [word for word in schedule.orders[0] if word != SumReplicas(1)]
    assert "the gradients of stage 1 have not been summed" in refusal(changed(schedule, 0, words))


def test_neighbours_may_be_of_different_kinds():
    """A rank that runs whatever arrives serves a neighbour with a fixed order, and the reverse."""
    driven, fixed = message_driven(3, 5), one_f_one_b(3, 5)
    validate(changed(fixed, 1, driven.orders[1]))
    validate(changed(driven, 1, fixed.orders[1]))
    assert "has not been all the way" in refusal(changed(driven, 2, (ApplyUpdate(),)))
    silent = changed(driven, 1, (RunArrived(1, 1),))
    assert "rank 1, instruction 1, at its end: there was no Update" in refusal(silent)
