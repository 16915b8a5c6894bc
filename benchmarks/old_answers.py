"""What is a GPT's reward if it learns from answers that its older weights gave?

    python -m benchmarks.old_answers

Every way to weigh answers gets the same rates and seeds, at each age. The best rate has the
largest mean reward at the end, on questions that no step has learnt from.
"""

from functools import partial
from pathlib import Path

import numpy as np
import torch

from ddl_measure.machine import describe, heading, keep
from ddl_teach.serving.actors import alone
from ddl_teach.serving.sorting import Sorting
from ddl_teach.theory.policy_gradient import per_answer, per_token, unweighted
from ddl_teach.training.optimizers.adam import Adam

RESULTS = Path(__file__).parent / "results" / "old_answers.txt"
AGES, RATES, SEEDS, STEPS = (0, 1, 4), (0.0003, 0.001, 0.003, 0.01), 3, 80
WAYS = {
    "unweighted": unweighted,
    "per token, clipped at 0.2": partial(per_token, width=0.2),
    "per answer, at most 2": partial(per_answer, cap=2.0),
}


def reward(way: str, rate: float, age: int, seed: int) -> float:
    """The mean reward after so many steps with answers of this age."""
    policy = Sorting(Adam(rate), WAYS[way], seed=seed)
    return policy.reward(alone(policy, STEPS, age=age))


def main() -> None:
    """Keep a line for each way, age and rate, and which rate is the best."""
    torch.set_num_threads(1)
    lines = [f"{STEPS} steps of 16 questions with 8 answers each, {SEEDS} seeds"]
    policies = [Sorting(seed=seed) for seed in range(SEEDS)]
    before = [policy.reward(policy.initial()) for policy in policies]
    lines.append(f"before: reward {np.mean(before):.3f}")
    for way in WAYS:
        for age in AGES:
            if age == 0 and way != "unweighted":
                continue  # all factors are 1
            lines.append(f"{way}, answers {age} steps old")
            rewards = {
                rate: [reward(way, rate, age, seed) for seed in range(SEEDS)] for rate in RATES
            }
            for rate, each in rewards.items():
                lines.append(f"    rate {rate:<7g} reward {' '.join(map('{:.3f}'.format, each))}")
            best = max(RATES, key=lambda rate: np.mean(rewards[rate]))
            low, mean, high = (f(rewards[best]) for f in (min, np.mean, max))
            lines.append(f"    best: rate {best:g}, reward {mean:.3f}, {low:.3f} to {high:.3f}")
            print("\n".join(lines[-5:]), flush=True)
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
