"""Learning from rewards, with answers that older weights gave.

    gradient of the mean reward = mean of  A sum_t grad log pi(y_t)      answers y drawn from pi

A is the reward minus the mean of a group: other answers to the same question (GRPO). If older
weights mu gave y, a token's part is multiplied by a factor, with r_t = pi(y_t) / mu(y_t).
Williams 1992; Schulman et al., "Proximal policy optimization algorithms", 2017; Espeholt et al.,
"IMPALA", ICML 2018, for caps; Shao et al., "DeepSeekMath", 2024. What to look at: a group's mean
holds the answer's own reward, so the gradient is 1 - 1/group of its size.
"""

from collections.abc import Callable
from math import inf

import numpy as np

# From log r (answers, tokens) and A (answers) to a factor for each token.
Weighting = Callable[[np.ndarray, np.ndarray], np.ndarray]


def advantages(rewards: np.ndarray, group: int) -> np.ndarray:
    """Rewards minus the mean of their group."""
    groups = np.reshape(rewards, (-1, group))
    return np.asarray(groups - groups.mean(1, keepdims=True)).ravel()


def unweighted(logs: np.ndarray, advantage: np.ndarray) -> np.ndarray:
    """1, as if nothing had changed."""
    return np.ones_like(logs)


def per_token(logs: np.ndarray, advantage: np.ndarray, width: float = inf) -> np.ndarray:
    """r_t; with a `width`, 0 once it has moved so far: min(r A, clip(r, 1 - width, 1 + width) A)
    of PPO. It forgets that the tokens before have changed, too."""
    ratios, sign = np.exp(logs), np.sign(advantage)[:, None]
    return np.where(sign * (ratios - 1) > width, 0.0, ratios)


def per_answer(logs: np.ndarray, advantage: np.ndarray, cap: float = inf) -> np.ndarray:
    """min(r_1 r_2 ... r_T, cap): without a cap it is right on average, but it scatters."""
    return np.asarray(np.minimum(np.exp(logs.sum(1, keepdims=True)), cap) * np.ones_like(logs))
