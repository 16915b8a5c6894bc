"""Experts spread over ranks: tokens travel to their experts, and the answers back.

Every rank has its part of the batch, the gate, and its share of the experts. In each step

    counts    how many rows each rank has for each expert, to all ranks
    dispatch  rows to the ranks of their experts, an all-to-all
    experts   each answers all rows that came for it
    return    the answers the same way back; there they are weighted and added up

Backwards the two exchanges run in opposite order, and an expert's gradient is complete where the
expert lies. All other parameters are on every rank, and their gradients are summed. Lepikhin et
al., "GShard: scaling giant models with conditional computation and automatic sharding", 2020.
What to look at: if all tokens like the same expert, its rank computes and the others wait.
"""

import torch
from torch import Tensor, nn

from ddl_teach.collectives.tree import broadcast
from ddl_teach.comm import Comm
from ddl_teach.networks.both_ways import sum_gradients
from ddl_teach.networks.experts.exchange import exchange, gather_counts
from ddl_teach.networks.experts.layer import MixtureOfExperts, combined
from ddl_teach.networks.experts.routing import Routing, route
from ddl_teach.networks.shares import share
from ddl_teach.theory.ring_bytes import even


class SpreadExperts(nn.Module):
    """A rank's part of a mixture; parameters have the names that they have in the whole."""

    routing: Routing | None = None
    bias: Tensor | None = None

    def __init__(self, comm: Comm, whole: MixtureOfExperts) -> None:
        super().__init__()
        self.comm = comm
        self.chosen, self.factor, self.gate = whole.chosen, whole.factor, whole.gate
        self.bias = whole.bias
        self.sizes = even(len(whole.experts), comm.size)
        mine = share(len(whole.experts), comm.size, comm.rank)
        self.experts = nn.ModuleDict({str(e): whole.experts[str(e)] for e in mine})
        self.shapes = {
            name: parameter.shape for name, parameter in whole.experts.named_parameters()
        }

    def forward(self, x: Tensor) -> Tensor:
        """This rank's tokens (..., width) with the answers added. All ranks must call it, those
        without tokens too."""
        tokens = x.flatten(0, -2)
        routing = self.routing = route(
            self.gate(tokens), self.chosen, self.factor, self.comm.rank,
            lambda own: gather_counts(self.comm, own), self.bias,
        )  # fmt: skip
        # Of all ranks: how many rows go to each rank, whatever expert there they are for.
        by_rank = torch.stack([part.sum(1) for part in routing.rows.split(self.sizes, 1)], 1)
        leaving, coming = by_rank[self.comm.rank].tolist(), by_rank[:, self.comm.rank].tolist()
        rows = exchange(self.comm, tokens[routing.tokens], leaving, coming)
        answers = exchange(self.comm, self._answers(rows, routing), coming, leaving)
        return (tokens + combined(tokens, routing, answers)).view_as(x)

    def _answers(self, rows: Tensor, routing: Routing) -> Tensor:
        """The answers of this rank's experts; `rows` are sorted by sender, then by expert."""
        arrived = routing.rows.split(self.sizes, 1)[self.comm.rank]
        each = torch.arange(arrived.shape[1], device=rows.device).repeat(len(arrived))
        by_expert = each.repeat_interleave(arrived.flatten()).argsort(stable=True)
        parts = rows[by_expert].split(arrived.sum(0).tolist())
        answers = [expert(own) for expert, own in zip(self.experts.values(), parts, strict=True)]
        return torch.cat([*answers, rows[:0]])[by_expert.argsort()]


def spread_experts(network: nn.Module, comm: Comm) -> None:
    """Spread all mixtures of a network in place; the ranks then train on parts of each batch, and
    their losses add up to the batch's: `data_parallel.shards.weighted_loss` with `ranks=1`."""
    named = list(network.named_modules())
    mixtures = [(name, module) for name, module in named if isinstance(module, MixtureOfExperts)]
    if not mixtures:
        raise ValueError(f"{type(network).__name__} has no MixtureOfExperts to spread")
    own: set[nn.Parameter] = set()
    for name, whole in mixtures:
        spread = SpreadExperts(comm, whole)
        network.set_submodule(name, spread)
        own |= set(spread.experts.parameters())
    sum_gradients(comm, [parameter for parameter in network.parameters() if parameter not in own])


def full_parameters(network: nn.Module, comm: Comm) -> dict[str, Tensor]:
    """All parameters of a spread network, on every rank, by name. All ranks must call it."""
    full = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    kind = next(iter(full.values()))
    for prefix, module in network.named_modules():
        if isinstance(module, SpreadExperts):
            owners = owners_of(module)
            for name, shape in module.shapes.items():
                path = f"{prefix}.experts.{name}"
                whole = full.get(path, kind.new_empty(shape))
                broadcast(comm, whole, owners[int(name.split(".")[0])])
                full[path] = whole
    return full


def owners_of(module: SpreadExperts) -> list[int]:
    """The rank of each expert."""
    return [rank for rank, many in enumerate(module.sizes) for _ in range(many)]
