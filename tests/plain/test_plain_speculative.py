"""A draft changes how fast a model speaks, and never what it says."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats

from ddl_teach.networks.models.gpt import gpt
from ddl_teach.plain import speculative_decoding as plain
from ddl_teach.serving.decoding import CachedGPT
from ddl_teach.serving.speculative import speculate
from ddl_teach.theory.serving import expected_tokens, speedup

PROMPT = torch.tensor([1, 4, 2])
GUESSES, NEW = 3, 8


def models():
    large = gpt(vocabulary=9, heads=8, blocks=2).double()
    return large, gpt(vocabulary=9, width=16, blocks=1, seed=1).double()


def tokens_of(comm=None, seeds=(0, 1, 2)):
    """What a large model over the ranks says with a small one on each of them."""
    big, little = models()
    large, small = CachedGPT(big, comm), CachedGPT(little)
    answers = [
        speculate(large, small, PROMPT, NEW, GUESSES, np.random.default_rng(seed))
        for seed in seeds
    ]
    assert len(large.pages.free) == len(small.pages.free) == 64
    return answers


def distribution(model):
    def after(tokens):
        return model(torch.tensor([tokens]))[0, -1].softmax(-1).detach().numpy()

    return after


@pytest.fixture(scope="module")
def of_plain():
    """The same by the plain file, which reads everything again for each token."""
    large, small = map(distribution, models())
    answers = []
    for seed in (0, 1, 2):
        random, tokens, steps = np.random.default_rng(seed), PROMPT.tolist(), []
        while len(tokens) < len(PROMPT) + NEW:
            steps.append(plain.step(large, small, tokens, GUESSES, random))
            tokens += steps[-1]
        answers.append(steps)
    return answers


def test_ranks_draw_the_tokens_of_the_plain_file(run, ranks, of_plain):
    assert run(tokens_of).results == [of_plain] * ranks


def test_without_ranks_it_draws_the_tokens_of_the_plain_file(of_plain):
    assert tokens_of() == of_plain
    assert len({len(step) for steps in of_plain for step in steps}) > 1  # both cases were there


TABLES = np.random.default_rng(5).dirichlet([0.7] * 3, (2, 4, 4))  # p and q after two tokens


def table(which):
    return lambda tokens: TABLES[which][tokens[-2]][tokens[-1]]


def probability(tokens, guesses):
    """That a step gives these tokens, by the rule, added up over all guesses and numbers."""
    total, begin = 0.0, [3, 0]
    for guessed in product(range(3), repeat=guesses):
        history = [begin + list(guessed[:place]) for place in range(guesses + 1)]
        ps, qs = ([table(which)(tokens) for tokens in history] for which in (0, 1))
        chance = np.prod([q[token] for q, token in zip(qs, guessed, strict=False)])
        for place, token in enumerate(guessed):
            stay = min(1.0, ps[place][token] / qs[place][token])
            left = plain.remaining(ps[place], qs[place])
            if tokens[:-1] == guessed[:place] and len(tokens) == place + 1:
                total += chance * (1 - stay) * left[tokens[-1]] / left.sum()
            chance *= stay
        if tokens[:-1] == guessed:
            total += chance * ps[-1][tokens[-1]]
    return total


@pytest.mark.parametrize("guesses", [1, 2, 3])
def test_the_first_token_of_a_step_has_the_distribution_of_the_large_model(guesses):
    """Exactly: the sum over all ways in which it can come out."""
    of_first = np.zeros(3)
    for length in range(1, guesses + 2):
        for tokens in product(range(3), repeat=length):
            of_first[tokens[0]] += probability(tokens, guesses)
    assert of_first == pytest.approx(table(0)([3, 0]), abs=1e-14)


def pairs(step, seeds):
    """How often the first two tokens are each of nine pairs, if steps follow each other."""
    counts = np.zeros((3, 3))
    random = np.random.default_rng(seeds)
    for _ in range(6000):
        tokens = [3, 0]
        while len(tokens) < 4:
            tokens += step(tokens, random)
        counts[tokens[2], tokens[3]] += 1
    return counts


def expected_pairs():
    first = table(0)([3, 0])
    return 6000 * np.array([first[t] * table(0)([0, t]) for t in range(3)])


def test_pairs_of_tokens_have_the_distribution_of_the_large_model():
    counts = pairs(lambda tokens, random: plain.step(table(0), table(1), tokens, 2, random), 0)
    assert stats.chisquare(counts.ravel(), expected_pairs().ravel()).pvalue > 0.01


def test_keeping_a_rejected_guess_would_be_noticed():
    """The same test fails for the small model alone."""
    counts = pairs(lambda tokens, random: plain.step(table(1), table(1), tokens, 2, random), 0)
    assert stats.chisquare(counts.ravel(), expected_pairs().ravel()).pvalue < 1e-6


@pytest.mark.parametrize("guesses", [1, 2, 4])
def test_tokens_of_a_step_are_those_of_the_formula(guesses):
    p, q = TABLES[0][3][0], TABLES[1][3][0]
    acceptance, random = float(np.minimum(p, q).sum()), np.random.default_rng(guesses)
    lengths = [len(plain.step(lambda _: p, lambda _: q, [], guesses, random)) for _ in range(4000)]
    error = 4 * np.std(lengths) / np.sqrt(len(lengths))
    assert np.mean(lengths) == pytest.approx(expected_tokens(acceptance, guesses), abs=error)
    closed = (1 - acceptance ** (guesses + 1)) / (1 - acceptance)
    assert expected_tokens(acceptance, guesses) == pytest.approx(closed)


def test_a_draft_as_dear_as_the_model_never_pays():
    assert speedup(0.9, 4, 1.0) < 1 < speedup(0.9, 4, 0.05)
    assert expected_tokens(1.0, 4) == 5
