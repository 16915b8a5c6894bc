"""The recorded rewards of a GPT that learns from old answers are those that unit 26 says."""

import re

from tests.benchmarks.quotations import ROOT, plain

RESULTS = (ROOT / "benchmarks/results/old_answers.txt").read_text(encoding="utf-8")
BEFORE = float(re.search(r"before: reward (\S+)", RESULTS)[1])
BEST = [
    (float(rate), float(mean))
    for rate, mean in re.findall(r"best: rate (\S+), reward (\S+),", RESULTS)
]
FRESH, PLAIN_1, PLAIN_4, PPO_1, PPO_4, WHOLE_1, WHOLE_4 = (mean for _, mean in BEST)


def test_the_notebook_says_what_was_recorded():
    _, _, prose = plain("notebooks/source/26_learning_from_answers.py").partition(
        "benchmarks/results/old_answers.txt"
    )
    numbers = [float(each) for each in re.findall(r"\b0\.\d{3}\b", prose)]
    assert numbers == [FRESH, PLAIN_1, PPO_1, WHOLE_1, PLAIN_4, PPO_4, WHOLE_4, BEFORE]


def test_one_step_costs_a_quarter_and_ratios_give_it_back():
    rates = [rate for rate, _ in BEST]
    assert 0.7 < PLAIN_1 / FRESH < 0.8
    assert min(PPO_1, WHOLE_1) > 0.97 * FRESH
    assert PLAIN_4 < WHOLE_4 < PPO_4 < 0.9 * FRESH
    assert rates[1] < rates[0] == rates[3] == rates[5]  # of one step; with ratios that of fresh
    assert rates[2] == 0.0003
