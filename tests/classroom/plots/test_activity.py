"""What a rank does at a moment is one thing: the shares of a rank's time add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddl_runtime.pictures.activity import KINDS, activity, finding, in_words
from ddl_runtime.records.timeline import Timeline


def span(kind, start, end):
    return (kind, kind, start, end, 0, 0, 0)


spans = st.builds(
    lambda kind, start, length: span(kind, start, start + length),
    st.sampled_from([*KINDS, "a kind of one's own"]),
    st.integers(0, 30),
    st.integers(0, 10),
)


@given(st.lists(st.lists(spans, max_size=8), min_size=1, max_size=4))
def test_every_moment_goes_to_the_first_kind_that_covers_it(rows):
    doings = activity(Timeline(rows), end=40.0)
    counted = np.zeros((len(rows), 40), int) - 1
    for row, entries in enumerate(rows):
        for moment in range(40):
            codes = [
                KINDS.index(e[1]) if e[1] in KINDS else KINDS.index("span")
                for e in entries
                if e[2] <= moment < e[3]
            ]
            counted[row, moment] = min(codes, default=-1)
    for code, kind in enumerate(KINDS):
        assert doings.share(kind) == pytest.approx((counted == code).mean())
    covered = np.zeros((len(rows), 40), int)
    for row, begin, end in zip(doings.row, doings.begins, doings.ends, strict=True):
        covered[row, int(begin) : int(end)] += 1
    assert covered.max() <= 1


def test_a_receive_beside_work_is_no_waiting():
    rows = [[span("recv", 0, 4), span("work", 1, 3)]]
    assert activity(Timeline(rows)).share("recv") == pytest.approx(0.5)


def test_a_window_and_a_choice_of_ranks():
    rows = [[span("work", 0, 10)], [span("recv", 0, 10)], [span("work", 5, 15)]]
    doings = activity(Timeline(rows), ranks=[2, 1], start=4.0, end=8.0)
    assert doings.rows == 2
    assert doings.share("work") == pytest.approx(3 / 8)
    assert doings.share("recv") == pytest.approx(4 / 8)


def test_the_finding_says_time_and_messages():
    doings = activity(Timeline([[span("work", 0, 3e-6)], [span("recv", 0, 4e-6)]]))
    assert finding(doings) == "2 ranks take 4 µs, 50% of it in messages"
    assert in_words(doings) == (
        "Timeline of 2 ranks, one below the other, from 0 s to 4 µs. Of their time: 38% work, "
        "50% receive, or wait for it, 12% nothing of these."
    )


@pytest.mark.parametrize("rows", [[[]], [[], []], [[span("work", 0, 0)]]])
def test_nothing_happened(rows):
    doings = activity(Timeline(rows))
    assert doings.share(*KINDS) == 0.0
    assert "0 s, none of it in messages" in finding(doings)
