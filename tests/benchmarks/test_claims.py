"""Claims about speed are read from rows that were measured side by side, all of them."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import recorded
from benchmarks.claims import SUBJECTS, Subject, claims, full_name
from benchmarks.pictures import plot_peers

RECORDED = """date       2026-01-02
processor  Some 3.2GHz

2 ranks
     bytes  way                median              95% interval  / theirs
      4096  theirs            10.0 us        8.0 to     12.5 us      1.00
      4096  ours               5.0 us        4.0 to      6.0 us      0.50
  1048576  theirs         1,000.0 us      900.0 to  1,100.0 us      1.00
  1048576  ours           2,000.0 us    1,800.0 to  2,200.0 us      2.00

4 ranks
  a small layer
    theirs              unseen     1.08 ms  (0.78 to 1.21)     1.00
    ours, by hand        4,000     2.16 ms  (2.00 to 2.40)     2.00
  chosen: theirs, regret 1.00
  a large layer
    theirs                         1.00 ms  (0.50 to 2.00)     1.00
"""


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "RESULTS", tmp_path)
    (tmp_path / "some.txt").write_text(RECORDED)
    return tmp_path


def test_only_rows_that_stand_together_are_compared(results):
    small, large = claims(Subject("a way", "a peer", "some", "ours", "theirs"))
    assert (small.case, small.ratio) == ("2 ranks, 4096", 0.5)
    assert (small.low, small.high) == (4 / 12.5, 6 / 8)
    assert (large.case, large.ratio) == ("2 ranks, 1048576", 2.0)
    assert (small.date, small.processor) == ("2026-01-02", "Some 3.2GHz")
    [by_hand] = claims(Subject("a way", "a peer", "some", "ours, by hand", "theirs"))
    assert (by_hand.case, by_hand.ratio) == ("4 ranks, a small layer", 2.0)
    with pytest.raises(ValueError, match=r"no rows 'my own' and 'theirs' side by side.*some"):
        claims(Subject("a way", "a peer", "some", "my own", "theirs"))


def test_rates_become_times(results):
    (results / "rates.txt").write_text(
        "date  today\nprocessor  one\n\n"
        "net  ring  4  2095  2,000  1,000-4,000   500   400-600   4.0\nnothing 1 2 3\n"
    )
    [claim] = claims(Subject("sim", "it", "rates", "ours", "peer", recorded.rates))
    assert claim.ratio == pytest.approx(0.25)
    assert claim.low == pytest.approx(400 / 4000)
    assert claim.high == pytest.approx(600 / 1000)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.peer)
def test_every_claim_has_its_peer_in_the_recorded_results(subject):
    for claim in claims(subject):
        assert 0 < claim.low <= claim.ratio <= claim.high, claim


def test_no_peer_is_left_out():
    assert {subject.peer for subject in SUBJECTS} >= {
        "native MPI", "torch's gloo", "torch's DDP", "torch's pipelining", "ShallowSpeed",
        "torch.conv2d", "torch.nn.LSTM", "SimGrid",
    }  # fmt: skip


@pytest.mark.parametrize(
    "subject",
    [subject for subject in SUBJECTS if subject.read is recorded.sides],
    ids=lambda subject: subject.peer,
)
def test_no_case_is_left_out(subject):
    """Rows are counted once more, in the text: of ours, or of the peer where it has fewer."""
    text = (recorded.RESULTS / subject.file).read_text()
    rows = [
        len(re.findall(rf"^(?:.* )?{re.escape(name)}  ", text, re.MULTILINE))
        for name in (subject.ours, subject.theirs)
    ]
    assert len(claims(subject)) == min(rows)


def test_what_is_kept_is_what_was_recorded():
    rows = json.loads((recorded.RESULTS / "claims.json").read_text())
    now = {(c.title, c.peer, c.case): c for subject in SUBJECTS for c in claims(subject)}
    kept = {(row["title"], row["peer"], row["case"]): row for row in rows}
    assert set(kept) == set(now), "make them again: python -m benchmarks"
    for key, row in kept.items():
        assert row["ratio"] == pytest.approx(now[key].ratio), "make them: python -m benchmarks"
    assert full_name("simgrid") == "benchmarks.simgrid.compare"


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.peer)
def test_the_readme_says_on_what_and_when_its_picture_was_measured(subject):
    words = " ".join((Path(__file__).parents[2] / "README.md").read_text().split())
    for claim in claims(subject):
        assert claim.processor in words
        assert claim.date in words


def test_the_picture_counts_rows_and_cases():
    ratios = {("one", "peer"): [0.5, 0.8, 2.0], ("two", "other"): [3.0]}
    figure = plot_peers(ratios, machine="a machine; today")
    found = "Python to be read: at most twice its peer's time in 1 of 2 rows, less in 1"
    assert figure._suptitle.get_text() == found
    assert "Ours is faster in 50% of 4 cases. one / peer: median 0.8" in figure.alt
    [ax] = figure.axes
    assert [text.get_text() for text in ax.get_yticklabels()] == ["one  /  peer", "two  /  other"]
    assert "a machine; today" in ax.get_xlabel()
    with pytest.raises(ValueError, match="at least one way and its peer"):
        plot_peers({})
