"""Experts spread over ranks: tokens travel to their experts, and the answers back.

Every rank has its part of the batch, the gate, and its share of the experts. In each step

    counts    how many rows each rank has for each expert, to all ranks
    dispatch  rows to the ranks of their experts, an all-to-all
    experts   each answers all rows that came for it
    return    the answers the same way back; there they are weighted and added up

Backwards the two exchanges run in opposite order, and an expert's gradient is complete where the
expert lies. All other parameters are on every rank, and their gradients are summed. Lepikhin et
al., "GShard: scaling giant models with conditional computation and automatic sharding", 2020.
An expert may have c copies on several ranks (`places`). Each takes an equal part of its rows, and
sends 2 (c-1)/c of its gradients to add them up. DeepSeek-AI, "DeepSeek-V3 technical report", 2024.
What to look at: if all tokens like the same expert, its rank computes and the others wait.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ddl_teach.collectives.tree import broadcast
from ddl_teach.comm import Comm
from ddl_teach.networks.both_ways import sum_gradients
from ddl_teach.networks.experts.exchange import exchange, gather_counts
from ddl_teach.networks.experts.layer import MixtureOfExperts, combined
from ddl_teach.networks.experts.routing import Routing, route
from ddl_teach.networks.shares import share

Places = Sequence[Sequence[int]]  # of each rank the experts that it holds


class SpreadExperts(nn.Module):
    """A rank's part of a mixture; parameters have the names that they have in the whole."""

    routing: Routing | None = None
    bias: Tensor | None = None

    def __init__(self, comm: Comm, whole: MixtureOfExperts, places: Places | None = None) -> None:
        super().__init__()
        self.comm = comm
        self.chosen, self.factor, self.gate = whole.chosen, whole.factor, whole.gate
        self.bias = whole.bias
        count = len(whole.experts)
        if places is None:
            places = [share(count, comm.size, rank) for rank in range(comm.size)]
        if len(places) != comm.size or {e for held in places for e in held} != {*range(count)}:
            raise ValueError(
                f"places={places!r} must hold a list for each of {comm.size} ranks. Each "
                f"expert from 0 to {count - 1} must be in at least one of them"
            )
        # Sorted: ranks that hold the same copies add up their gradients in the same order.
        self.places = [sorted(set(held)) for held in places]
        ranks = list(enumerate(self.places))
        self.holders = [[rank for rank, held in ranks if e in held] for e in range(count)]
        copies = [(e, self.holders[e], rank) for rank, held in ranks for e in held]
        self.copies = torch.tensor([(e, at.index(rank), len(at)) for e, at, rank in copies]).T
        self.experts = nn.ModuleDict()
        for e in self.places[comm.rank]:
            self.experts[str(e)] = whole.experts[str(e)]
            if len(self.holders[e]) > 1:
                sum_gradients(comm.subgroup(self.holders[e]), whole.experts[str(e)].parameters())
        self.shapes = {name: weight.shape for name, weight in whole.experts.named_parameters()}

    def forward(self, x: Tensor) -> Tensor:
        """This rank's tokens (..., width) with the answers added. All ranks must call it, those
        without tokens too."""
        tokens = x.flatten(0, -2)
        routing = self.routing = route(
            self.gate(tokens), self.chosen, self.factor, self.comm.rank,
            lambda own: gather_counts(self.comm, own), self.bias,
        )  # fmt: skip
        copies = self._by_copy(routing.rows)
        parts = copies.split([len(held) for held in self.places], 1)
        arrived = parts[self.comm.rank]
        leaving = torch.stack([part[self.comm.rank].sum() for part in parts]).tolist()
        coming = arrived.sum(1).tolist()
        # This rank's rows are sorted by expert, and leave in the order of the ranks.
        by_expert = self.copies.to(tokens.device)[0].argsort(stable=True)
        order = by_expert.repeat_interleave(copies[self.comm.rank, by_expert]).argsort(stable=True)
        rows = exchange(self.comm, tokens[routing.tokens[order]], leaving, coming)
        answers = exchange(self.comm, self._answers(rows, arrived), coming, leaving)
        return (tokens + combined(tokens, routing, answers[order.argsort()])).view_as(x)

    def _by_copy(self, rows: Tensor) -> Tensor:
        """How many rows each rank has for each copy, where `rows` says it for each expert. Of c
        copies the k-th takes the k-th of c equal parts, counted over all ranks."""
        experts, turn, many = self.copies.to(rows.device)
        total, ends = rows.sum(0)[experts], rows.cumsum(0)[:, experts]
        low, high = total * turn // many, total * (turn + 1) // many
        return (ends.minimum(high) - (ends - rows[:, experts]).maximum(low)).clamp(min=0)

    def _answers(self, rows: Tensor, arrived: Tensor) -> Tensor:
        """This rank's answers to `rows`; `arrived` counts them by sender, then by expert."""
        each = torch.arange(arrived.shape[1], device=rows.device).repeat(len(arrived))
        by_expert = each.repeat_interleave(arrived.flatten()).argsort(stable=True)
        parts = rows[by_expert].split(arrived.sum(0).tolist())
        answers = [expert(own) for expert, own in zip(self.experts.values(), parts, strict=True)]
        return torch.cat([*answers, rows[:0]])[by_expert.argsort()]


def spread_experts(network: nn.Module, comm: Comm, places: Places | None = None) -> None:
    """Spread all mixtures of a network in place, each expert to one rank if no `places` are given.
    The ranks then train on parts of each batch, and their losses add up to the batch's:
    `data_parallel.shards.weighted_loss` with `ranks=1`."""
    named = list(network.named_modules())
    mixtures = [(name, module) for name, module in named if isinstance(module, MixtureOfExperts)]
    if not mixtures:
        raise ValueError(f"{type(network).__name__} has no MixtureOfExperts to spread")
    own: set[nn.Parameter] = set()
    for name, whole in mixtures:
        spread = SpreadExperts(comm, whole, places)
        network.set_submodule(name, spread)
        own |= set(spread.experts.parameters())
    sum_gradients(comm, [parameter for parameter in network.parameters() if parameter not in own])


def full_parameters(network: nn.Module, comm: Comm) -> dict[str, Tensor]:
    """All parameters of a spread network, on every rank, by name. All ranks must call it."""
    full = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    for prefix, module in network.named_modules():
        if isinstance(module, SpreadExperts):
            for name, shape in module.shapes.items():
                path = f"{prefix}.experts.{name}"
                whole = full.get(path, next(iter(full.values())).new_empty(shape))
                broadcast(comm, whole, owners_of(module)[int(name.split(".")[0])])
                full[path] = whole
    return full


def owners_of(module: SpreadExperts) -> list[int]:
    """The rank of each expert, or the first one with a copy."""
    return [ranks[0] for ranks in module.holders]
