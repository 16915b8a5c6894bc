"""Speculative decoding: a small model guesses tokens, a large one checks all of them in one step.

    accept token t with probability min(1, p(t) / q(t)); else draw from max(p - q, 0), and stop

p is the large model's distribution, q the small one's. What comes out has the distribution p for
any q: t is drawn and accepted with probability min(p, q), and a rejection draws from what that
leaves of p. If all guesses are accepted, the large model's scores give one more token.
Cost: a step of the large model and g of the small one. They give (1 - a^(g+1)) / (1 - a) tokens in
the mean, with a = sum of min(p, q). Leviathan, Kalman and Matias, "Fast inference from
transformers via speculative decoding", ICML 2023; Chen, Borgeaud, Irving, Lespiau, Sifre and
Jumper, "Accelerating large language model decoding with speculative sampling", arXiv 2023.
What to look at: q decides how fast it is, and never what it says.
"""

from collections.abc import Callable

import numpy as np

Model = Callable[[list[int]], np.ndarray]  # the distribution of what follows these tokens


def draw(weights: np.ndarray, number: float) -> int:
    """The entry that a number between 0 and 1 chooses: more often where the weight is larger."""
    edges = np.cumsum(weights)
    return int(np.searchsorted(edges, number * edges[-1], side="right"))


def accepted(p: np.ndarray, q: np.ndarray, token: int, number: float) -> bool:
    """Whether a guess drawn from q may stay."""
    return bool(number * q[token] < p[token])


def remaining(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Weights of the token that replaces a rejected guess."""
    left: np.ndarray = np.maximum(p - q, 0)
    return left


def step(
    large: Model, small: Model, tokens: list[int], guesses: int, random: np.random.Generator
) -> list[int]:
    """The next tokens: at least one, and at most one more than guesses."""
    guessed: list[int] = []
    qs = []
    for _ in range(guesses):
        qs.append(small(tokens + guessed))
        guessed.append(draw(qs[-1], random.random()))
    # A real large model gives all of these in one step: it reads the guesses as it reads a prompt.
    ps = [large(tokens + guessed[:place]) for place in range(guesses + 1)]
    for place, token in enumerate(guessed):
        if not accepted(ps[place], qs[place], token, random.random()):
            return [*guessed[:place], draw(remaining(ps[place], qs[place]), random.random())]
    return [*guessed, draw(ps[-1], random.random())]
