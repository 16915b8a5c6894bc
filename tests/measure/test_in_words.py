"""A report in words says what is in it, and what it leaves open."""

from dataclasses import replace

import pytest

from ddl_measure.reports.in_words import in_words, left_open
from ddl_measure.reports.report import Claim, Entry, Provenance, Report, Series, Target, Trial

SECONDS = Series("seconds to target", "a training", "s", (1.0, 2.0, 3.0, 4.0, 5.0, float("inf")),
                 6, "measured", False)  # fmt: skip
REPORT = Report(
    title="competition: digits",
    made=Provenance("2026-11-22", "run it", "abc", "def", (1, 2, 3, 4, 5, 6)),
    machines={"lab": {"processor": "some", "nodes": "2"}},
    entries=(Entry("ours", "lab", 4, 4, {}, (SECONDS,), 64, (8, 8), 3, "validation"),),
    trials=tuple(Trial("ours", 1, {}, it) for it in ("chosen", "not chosen", "diverged", "kept")),
    target=Target(0.95, "held out", "before"),
    claims=(Claim("ours trains.", "training", "seconds to target", number=3.5),),
    left_out=(),
)


@pytest.mark.parametrize(
    "words",
    ["run it", "code abc", "processor some", "4 ranks, batch 64", "median 3.5 s",
     "95% interval 1 to inf", "6 times, 1 of them never there", "1 diverged", "95%, held out"],
)  # fmt: skip
def test_it_says_what_is_in_the_report(words):
    assert words in " ".join(in_words(REPORT).split())


def test_what_was_run_is_not_left_open():
    alone = left_open(REPORT)
    assert any("nothing ran beside it" in it for it in alone)
    assert any("3 were tried, on 1 seed" in it for it in alone)
    beside = replace(REPORT.claims[0], baseline="theirs")
    more = replace(REPORT, machines={**REPORT.machines, "other": {}}, claims=(beside,),
                   entries=(replace(REPORT.entries[0], searched=0),))  # fmt: skip
    assert left_open(more) == alone[-1:]


def test_few_repetitions_have_a_lower_confidence():
    few = replace(SECONDS, values=(1.0, 2.0, 3.0), repeated=3)
    entry = replace(REPORT.entries[0], series=(few,))
    assert "75% interval 1 to 3" in " ".join(in_words(replace(REPORT, entries=(entry,))).split())
