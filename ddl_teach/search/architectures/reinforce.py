"""A controller that learns what to propose: REINFORCE, with a table in place of a network.

    p = softmax(logits of a choice);    each choice is drawn from its p, independently
    logits += rate (baseline - loss) grad log p(drawn),      grad log p = one_hot(drawn) - p

In the mean over proposals the step is the gradient of the expected loss, though no loss is ever
differentiated. With W workers a step comes late; each takes the p from which it was drawn.
Williams, "Simple statistical gradient-following algorithms for connectionist
reinforcement learning", Machine Learning 8, 1992; for architectures Zoph and Le, "Neural
architecture search with reinforcement learning", ICLR 2017, where a recurrent network makes each
choice depend on those before.
What to look at: `likely` of the decider as it ended. The table believes that choices add up;
evolution believes nothing.
"""

from dataclasses import dataclass

import numpy as np

from ddl_teach.search.decider import Job, Settings
from ddl_teach.search.deciders.in_turn import InTurn
from ddl_teach.training.tasks.perceptron import softmax


@dataclass
class Reinforce(InTurn):
    """`forget` is how much of the baseline each new loss replaces."""

    rate: float = 1.0
    forget: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._options = self.space.options("Reinforce")
        self.logits = {name: np.zeros(len(options)) for name, options in self._options.items()}
        self.baseline: float | None = None
        self._slopes: dict[int, dict[str, np.ndarray]] = {}  # of the trials under way

    @property
    def likely(self) -> dict[str, np.ndarray]:
        """How likely each option of each choice is."""
        return {name: softmax(logits) for name, logits in self.logits.items()}

    def _propose(self, trial: int, random: np.random.Generator) -> Settings:
        drawn = {name: random.choice(len(p), p=p) for name, p in self.likely.items()}
        self._slopes[trial] = {
            name: slope(self.logits[name], choice) for name, choice in drawn.items()
        }
        return {name: self._options[name][choice] for name, choice in drawn.items()}

    def _learn(self, job: Job, loss: float) -> None:
        self.baseline = loss if self.baseline is None else self.baseline
        for name, towards in self._slopes.pop(job.trial).items():
            self.logits[name] += self.rate * (self.baseline - loss) * towards
        self.baseline += self.forget * (loss - self.baseline)


def slope(logits: np.ndarray, drawn: int) -> np.ndarray:
    """The gradient of log softmax(logits)[drawn]."""
    return np.asarray(np.eye(len(logits))[drawn] - softmax(logits))
