"""How many steps does the GPT need with a larger batch? Each batch at its best rate of Adam.

    python -m benchmarks.gpt_batches

Every batch gets the same rates and seeds; the rate with the fewest steps on average is kept. The
loss is that of texts that no run has trained on. Numbers depend on the version of Python, whose
documentation is read.
"""

from pathlib import Path

import numpy as np
import torch

from ddl_measure.machine import describe, heading, keep
from ddl_teach.networks.models.data import batches, documentation
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.networks.models.loss import mean_loss

RESULTS = Path(__file__).parent / "results" / "gpt_batches.txt"
BATCHES, RATES, SEEDS = (4, 16, 64, 256), (0.001, 0.003, 0.01, 0.03), 2
LENGTH, TARGET, HELD, EVERY = 16, 2.6, 64, 4


def most_steps(batch: int) -> int:
    """A run that has not reached the loss by then is given up."""
    return 100 + 4000 // batch


def steps_to_target(batch: int, rate: float, seed: int) -> float:
    """The first step, among every fourth, after which the loss of held-out texts is the target or
    less; infinite if none is."""
    model = gpt_of("100k", seed=seed)
    rule = torch.optim.Adam(model.parameters(), rate)
    learnt, (inputs, targets) = documentation(LENGTH)
    given = batches(learnt, batch, most_steps(batch), seed)
    for step, (x, y) in enumerate(given, 1):
        rule.zero_grad()
        mean_loss(model(x), y).backward()
        rule.step()
        if step % EVERY == 0:
            with torch.no_grad():
                if float(mean_loss(model(inputs[:HELD]), targets[:HELD])) <= TARGET:
                    return step
    return np.inf


def main() -> None:
    """Keep a line for each batch and rate, and the best rate of each batch."""
    torch.set_num_threads(1)
    lines = [f"steps to a loss of {TARGET} on {HELD} texts of {LENGTH} characters, {SEEDS} seeds"]
    for batch in BATCHES:
        lines.append(f"batch {batch}, at most {most_steps(batch)} steps")
        steps = {r: [steps_to_target(batch, r, seed) for seed in range(SEEDS)] for r in RATES}
        lines += [
            f"    rate {rate:<6g} steps {' '.join(map(str, n))}" for rate, n in steps.items()
        ]
        best = min(RATES, key=lambda rate: np.mean(steps[rate]))
        lines.append(f"    best: rate {best:g}, {np.mean(steps[best]):g} steps")
        print("\n".join(lines[-len(RATES) - 2 :]), flush=True)
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
