"""The recorded losses of a GPT in eight bits are those that the notebook of unit 22 says."""

import re

from tests.benchmarks.quotations import ROOT, plain


def best(file):
    """Of each format the mean loss at its best rate, and its least and largest one."""
    text = (ROOT / "benchmarks/results" / file).read_text(encoding="utf-8")
    lines = re.findall(r"best: rate \S+, loss (\S+), (\S+) to (\S+)", text)
    return [tuple(map(float, line)) for line in lines]


BEST, (WIDE, WIDE_IN_BLOCKS) = best("eight_bits.txt"), best("eight_bits_wide.txt")


def test_the_notebook_says_what_was_recorded():
    _, _, prose = plain("notebooks/source/22_eight_bits.py").partition(
        "benchmarks/results/eight_bits.txt"
    )
    numbers = [float(each) for each in re.findall(r"\b2\.\d{3}\b|\b3\.\d{3}\b", prose)]
    means = [mean for mean, _, _ in BEST]
    assert numbers == [*means[:6], *BEST[4][1:], *means[6:], *WIDE_IN_BLOCKS, *WIDE]


def test_blocks_of_128_x_128_lie_within_the_seeds_of_float32():
    assert WIDE[1] <= WIDE_IN_BLOCKS[0] <= WIDE[2]


def test_eight_bits_with_scales_lie_within_the_seeds_of_one_format():
    _, low, high = BEST[4]
    assert all(low <= mean <= high for mean, _, _ in BEST[:6])
    assert all(mean > high for mean, _, _ in BEST[6:])


def test_with_a_safeguard_of_small_squares_no_pair_of_rates_is_lost():
    text = (ROOT / "benchmarks/results/few_bits_optimizers.txt").read_text(encoding="utf-8")
    assert re.search(r"^Adam, 8 bits, safeguard: best: .*; 0 of 25 pairs lost", text, re.MULTILINE)
