"""Bytes a rank sends in a step of sharded training, counted by hand."""

import pytest

from ddl_teach.theory import memory


@pytest.mark.parametrize(("stage", "passes"), [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_each_pass_sends_all_but_one_of_the_parts(stage, passes):
    assert memory.sent(stage, [12, 8], ranks=4) == passes * (9 + 6) * 4  # four bytes a weight
    assert memory.sent(stage, [12, 8], ranks=4, weight=2) == passes * (9 + 6) * 2


@pytest.mark.parametrize(
    ("stage", "expected"),
    [(0, (80, 80, 160)), (1, (80, 80, 40)), (2, (80, 20, 40)), (3, (20, 20, 40))],
)
def test_each_stage_shards_one_thing_more(stage, expected):
    held = memory.held(stage, [12, 8], ranks=4)  # 4 bytes of weight and of gradient, 8 of states
    assert (held.weights, held.gradients, held.states) == expected
    assert held.total == sum(expected)
    assert memory.HeldBytes(*expected, activations=7).total == sum(expected) + 7


def test_all_parts_of_unequal_size_are_the_whole():
    parts = [memory.held(3, [10, 3], 4, rank, weight=2, state=12).states for rank in range(4)]
    assert sum(parts) == 12 * 13
    assert len(set(parts)) > 1


@pytest.mark.parametrize("stage", [-1, 4])
def test_there_are_four_stages(stage):
    with pytest.raises(ValueError, match=f"no stage {stage}"):
        memory.held(stage, [12], 4)


@pytest.mark.parametrize(("bucket", "on_the_device"), [(10, 10), (100, 100), (101, 100)])
def test_a_device_holds_two_buckets_of_states_that_live_on_the_host(bucket, on_the_device):
    assert memory.offloaded(100, bucket, weight=2, state=12) == 400 + 24 * on_the_device
    assert memory.offloaded(100, bucket) == 800 + 16 * on_the_device


def test_a_pruned_network_holds_its_kept_weights_twice_and_their_places():
    held = memory.pruned(100, 10)
    assert (held.weights, held.gradients, held.states) == (440, 40, 120)
    b, states, place = 2, 12, 4
    assert memory.pruned(100, 10, weight=b, state=states).total == (
        b * 100 + (2 * b + states + place) * 10
    )
