"""A small GPT that learns to sort digits: a little from examples, then from rewards.

The reward of an answer is 1 if all its digits are right, else 0. Cost of an answer: a forward pass
for each token. What to look at: a row of answers holds the log of each token's probability, with
which later weights are compared.
"""

from __future__ import annotations

import copy
from functools import cached_property

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ddl_teach.networks.models.gpt import gpt
from ddl_teach.theory.policy_gradient import Weighting, advantages, unweighted
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.update import Update

TESTED = 1_000_000  # tickets from here on are the test


class Sorting:
    """A policy that learns to sort digits. A ticket's number draws its `questions`, with a `group`
    of answers each. A row: question, answer, its tokens' log-probabilities, advantage, reward."""

    def __init__(
        self, rule: Update = Adam(3e-3), weighting: Weighting = unweighted, digits: int = 4,
        values: int = 5, questions: int = 16, group: int = 8, imitation: int = 50, seed: int = 0,
    ) -> None:  # fmt: skip
        self.rule, self.weighting, self.digits, self.values = rule, weighting, digits, values
        self.questions, self.group, self.imitation, self.seed = questions, group, imitation, seed
        self.model = gpt(values, 16, 4, 1, 2 * digits - 1, seed=seed).double()
        self.where = "cpu"

    def on(self, device: str) -> Sorting:
        """This policy with a model of its own there. Numbers are drawn in the host's memory, so a
        ticket's questions are the same everywhere."""
        policy = copy.copy(self)
        policy.model, policy.where = copy.deepcopy(self.model).to(device), device
        return policy

    def initial(self) -> np.ndarray:
        return self._imitated.copy()

    def room(self) -> np.ndarray:
        return np.empty((self.questions * self.group, 3 * self.digits + 2))

    def answers(self, weights: np.ndarray, ticket: int) -> np.ndarray:
        draws = torch.Generator().manual_seed(10 * TESTED * self.seed + ticket)
        questions = torch.randint(self.values, (self.questions, self.digits), generator=draws)
        tokens = questions = questions.repeat_interleave(self.group, 0)
        self._lay_over(weights)
        with torch.no_grad():
            for _ in range(self.digits):
                chances = torch.softmax(self.model(tokens.to(self.where))[:, -1], 1).cpu()
                tokens = torch.cat([tokens, torch.multinomial(chances, 1, generator=draws)], 1)
            logs = self.logs(weights, tokens).cpu().numpy()
        right = (tokens[:, self.digits :] == questions.sort(1).values).all(1)
        rewards = right.double().numpy()
        return np.column_stack([tokens, logs, advantages(rewards, self.group), rewards])

    def logs(self, weights: np.ndarray, tokens: torch.Tensor) -> torch.Tensor:
        """The log of the probability of each answer's tokens (rows, digits)."""
        self._lay_over(weights)
        tokens = tokens.to(self.where)
        scores = self.model(tokens[:, :-1])[:, self.digits - 1 :]
        return torch.log_softmax(scores, 2).gather(2, tokens[:, self.digits :, None])[..., 0]

    def gradient(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Minus the gradient of the mean reward; `weighting` gives each token its factor."""
        tokens, then, advantage, _ = np.split(rows, [2 * self.digits, 3 * self.digits, -1], 1)
        now = self.logs(weights, torch.from_numpy(tokens).long())
        factors = self.weighting(now.detach().cpu().numpy() - then, advantage[:, 0])
        each = torch.from_numpy(factors * advantage).to(self.where)
        return self._slopes(-(each * now).sum() / len(rows))

    def reward(self, weights: np.ndarray, tickets: int = 8) -> float:
        tests = range(TESTED, TESTED + tickets)
        return float(np.mean([self.answers(weights, ticket)[:, -1] for ticket in tests]))

    @cached_property
    def _imitated(self) -> np.ndarray:
        draws = torch.Generator().manual_seed(self.seed)
        weights = parameters_to_vector(self.model.parameters()).detach().cpu().numpy()
        states = [np.zeros_like(weights), np.zeros_like(weights)]
        for step in range(1, self.imitation + 1):
            questions = torch.randint(self.values, (64, self.digits), generator=draws)
            logs = self.logs(weights, torch.cat([questions, questions.sort(1).values], 1))
            Adam(3e-3)(weights, self._slopes(-logs.mean()), states, step)
        return weights

    def _slopes(self, loss: torch.Tensor) -> np.ndarray:
        slopes = torch.autograd.grad(loss, list(self.model.parameters()))
        return parameters_to_vector(slopes).cpu().numpy()

    def _lay_over(self, weights: np.ndarray) -> None:
        there = torch.from_numpy(weights).to(self.where)
        vector_to_parameters(there, self.model.parameters())
