"""Bytes a rank sends in a step of sharded training, counted by hand."""

import pytest

from ddl_teach.theory import memory


@pytest.mark.parametrize(("stage", "passes"), [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_each_pass_sends_all_but_one_of_the_parts(stage, passes):
    assert memory.sent(stage, [12, 8], ranks=4) == passes * (9 + 6) * 4  # four bytes a weight
    assert memory.sent(stage, [12, 8], ranks=4, weight=2) == passes * (9 + 6) * 2
