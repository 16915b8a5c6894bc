"""The recorded losses and seconds of trainings over slow links are those that unit 24 says."""

import re

import pytest

from ddl_teach.training.compression.blocks import Blocks
from tests.benchmarks.quotations import ROOT, plain

LOSSES = (ROOT / "benchmarks/results/slow_links.txt").read_text(encoding="utf-8")
SECONDS = (ROOT / "benchmarks/results/slow_links_in_a_box.txt").read_text(encoding="utf-8")
TO_THE_END = (ROOT / "benchmarks/results/slow_links_to_the_end.txt").read_text(encoding="utf-8")
NOTEBOOK = "notebooks/source/24_across_the_internet.py"
LINES = (ROOT / NOTEBOOK).read_text(encoding="utf-8")
TABLE = re.findall(r"^# \| (.*?) \| (\d+) \| (\d*) ?\| (\d\.\d{3}) \|$", LINES, re.MULTILINE)
ROWS = (
    ("every step, 800 steps", 1, 32),
    ("DiLoCo 50, 4 bits, 800 steps", 50, 4.5),
    ("DiLoCo 50, 4 bits", 50, 4.5),
    ("DiLoCo 50, 4 bits, 1600 steps", 50, 4.5),
    ("DiLoCo 50", 50, 32),
    ("DiLoCo 100, 4 bits", 100, 4.5),
    ("4 fragments, delay 10, 4 bits", 50, 4.5),
    ("mean of weights, 50", 50, 32),
    ("one site of four, 1200 steps", 0, 32),
)


def losses(name):
    """The mean, and each seed's."""
    line = rf"^{re.escape(name)}\n(?:    tried.*\n)*    best: .* loss (\S+): (.*)$"
    mean, each = re.search(line, LOSSES, re.MULTILINE).groups()
    return float(mean), [*map(float, each.split())]


def milliseconds(where, name):
    return int(re.search(rf"^{where} +{re.escape(name)} +(\d+) ms", SECONDS, re.MULTILINE)[1])


@pytest.mark.parametrize(("row", "recorded"), [*zip(TABLE, ROWS, strict=True)])
def test_the_table_says_what_was_recorded(row, recorded):
    name, period, bits = recorded
    _, steps, fewer, loss = row
    assert float(loss) == pytest.approx(losses(name)[0], abs=5e-4)
    assert fewer == (f"{800 / int(steps) * period * 32 / bits:.0f}" if period else "")


def test_twice_the_steps_reach_the_loss_of_every_step_with_over_100_times_fewer_bytes():
    every, _ = losses("every step, 800 steps")
    twice, seeds = losses("DiLoCo 50, 4 bits, 1600 steps")
    assert twice < every < max(seeds)  # not with each seed
    assert losses("DiLoCo 50, 4 bits")[0] > every
    bits = 8 * Blocks(7).nbytes(64_000) / 64_000
    assert bits == 4.5
    assert 50 * 32 / bits / 2 > 100


def test_one_site_alone_is_behind_four_after_as_many_steps():
    alone, seeds = losses("one site of four, 1200 steps")
    four, others = losses("DiLoCo 50, 4 bits")
    assert max(others) < min(seeds)
    said = r"After 1200 steps it has a loss of (\S+)\. In as many steps four sites have (\S+) by"
    assert re.search(said, plain(NOTEBOOK)).groups() == (f"{alone:.3f}", f"{four:.3f}")


def test_it_counts_the_rounds_of_all_trainings_that_have_rounds():
    rounds = [int(row[1]) // period for row, (_, period, _) in zip(TABLE, ROWS, strict=True)
              if period > 1]  # fmt: skip
    assert f"only {min(rounds)} to {max(rounds)} rounds" in plain(NOTEBOOK)


def test_four_bits_cost_less_than_seeds_differ():
    full, seeds = losses("DiLoCo 50")
    assert abs(losses("DiLoCo 50, 4 bits")[0] - full) < max(seeds) - min(seeds)


def test_the_seconds_are_those_of_the_box():
    ways = ("every step", "DiLoCo, 4 bits", "fragments, 4 bits")
    taken = [
        milliseconds("one site", "every step"),
        *(milliseconds("four sites", w) for w in ways),
    ]
    assert re.findall(r"^# \| .* \| (\d+) \|$", LINES, re.MULTILINE) == [*map(str, taken)]
    assert taken[2] < taken[0]
    assert f"would take them {0.8 * taken[1]:.0f} s" in plain(NOTEBOOK)


def test_whole_trainings_end_as_they_were_recorded():
    rows = re.findall(r"^(one|four) .* loss (\S+)  sent +(\S+) B$", TO_THE_END, re.MULTILINE)
    sent = {where: int(of_bytes.replace(",", "")) for where, _, of_bytes in rows}
    means = re.findall(r"^mean of .*: (\S+) s, loss (\S+)$", TO_THE_END, re.MULTILINE)
    (every, loss), (rounds, better) = ((float(time), float(end)) for time, end in means)
    said = r"in each: (\d+) s, and a loss of (\S+)\. .* of DiLoCo: (\d+) s, and a loss of (\S+)\. "
    values = f"{every:.0f}", f"{loss:.3f}", f"{rounds:.0f}", f"{better:.3f}"
    assert re.search(said, plain(NOTEBOOK)).groups() == values
    ends = [
        sorted(f"{float(end):.3f}" for where, end, _ in rows if where == sites)
        for sites in ("four", "one")
    ]
    spans = " beside ".join(f"{each[0]} to {each[-1]}" for each in ends)
    assert f"apart: {spans}" in plain(NOTEBOOK)
    assert ends[0][0] < ends[1][0] < ends[1][-1] < ends[0][-1]
    assert rounds / every == pytest.approx(2, abs=0.1)
    fewer = sent["one"] / sent["four"]
    assert fewer > 100
    assert f"send {fewer:.0f} times fewer bytes" in plain(NOTEBOOK)
