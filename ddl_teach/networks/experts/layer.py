"""A mixture of experts on one process: the twin of the one that is spread over ranks.

    y = x + sum over the experts e that took x of  weight_e(x) expert_e(x)

An expert is a pair of layers. With E experts, of which a token takes k, the layer has the weights
of E and the operations of k (Shazeer et al., "Outrageously large neural networks: the
sparsely-gated mixture-of-experts layer", 2017). A token without room passes by unchanged.
"""

import torch
from torch import Tensor, nn

from ddl_teach.networks.experts.routing import Routing, route
from ddl_teach.theory.experts import capacity


class Expert(nn.Sequential):
    """Two linear layers with a ReLU between them; the middle is wider."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.wide, self.bend = nn.Linear(width, hidden), nn.ReLU()
        self.narrow = nn.Linear(hidden, width)


class MixtureOfExperts(nn.Module):
    """A gate and all experts; `routing` says what became of the last tokens.
    A `bias` on the choice of experts may be set; `plain.balanced_experts` says how."""

    routing: Routing | None = None
    bias: Tensor | None = None

    def __init__(
        self, width: int, hidden: int, experts: int, chosen: int = 2, factor: float = 1.25
    ) -> None:
        super().__init__()
        capacity(1, experts, chosen, factor)  # refuses what is impossible
        self.chosen, self.factor = chosen, factor
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleDict({str(e): Expert(width, hidden) for e in range(experts)})

    def forward(self, x: Tensor) -> Tensor:
        """The tokens with the experts' answers added; `x` and the result have the shape (...,
        width)."""
        tokens = x.flatten(0, -2)
        routing = self.routing = route(self.gate(tokens), self.chosen, self.factor, bias=self.bias)
        rows = tokens[routing.tokens].split(routing.rows[0].tolist())
        answers = [expert(own) for expert, own in zip(self.experts.values(), rows, strict=True)]
        return (tokens + combined(tokens, routing, torch.cat(answers))).view_as(x)


def combined(tokens: Tensor, routing: Routing, answers: Tensor) -> Tensor:
    """What the experts add to each token: the answers to its rows by their weights."""
    weighted = routing.weights[:, None] * answers
    return torch.zeros_like(tokens).index_add(0, routing.tokens, weighted)
