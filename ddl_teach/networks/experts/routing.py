"""Which experts a token takes: the best few by a gate, as long as they have room.

A gate gives every expert a probability for every token. The token takes the `chosen` most probable
ones, and their answers count by these probabilities: as they are if there is one (Fedus, Zoph and
Shazeer, "Switch transformers", 2021), scaled to add up to one if there are more (Shazeer et al.,
"Outrageously large neural networks", 2017). An expert takes no more than its capacity,

    ceil(factor chosen tokens / experts),

first choices first, each in the order of the tokens; a token without room is dropped: this expert
adds nothing to it (Lepikhin et al., "GShard", 2020). The balance loss

    experts sum over e of  (share of tokens whose first choice is e) (mean probability of e)

is 1 where all experts are liked alike and up to `experts` where all like one (Fedus et al.).
What to look at: routing needs to know of other ranks only how many want what.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ddl_teach.theory.experts import capacity

Counts = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Routing:
    """What becomes of a rank's tokens, in rows by experts: a token on its way to one expert."""

    tokens: Tensor  # of each row: which token
    weights: Tensor  # of each row: how much its expert's answer counts
    rows: Tensor  # (ranks, experts): how many rows each rank has for each expert
    balance: Tensor  # this rank's part of the balance loss
    dropped: int  # how often a token of this rank found no room


def route(
    scores: Tensor,
    chosen: int,
    factor: float,
    rank: int = 0,
    all_counts: Counts = lambda own: own,
    bias: Tensor | None = None,
) -> Routing:
    """Route the tokens with these `scores` (tokens, experts). `all_counts` makes of this rank's
    (1, chosen, experts) counts those of all ranks, in order. A `bias` for each expert counts in
    the choice, but not in the weights."""
    experts = scores.shape[1]
    probabilities = scores.softmax(1)
    # By scores: of very unlikely experts the probabilities may all be rounded to zero.
    wanted = (scores if bias is None else probabilities + bias).topk(chosen).indices
    weights = probabilities.gather(1, wanted)
    if chosen > 1:
        weights = weights / weights.sum(1, keepdim=True)
    own = [column.bincount(minlength=experts) for column in wanted.unbind(1)]
    counts = all_counts(torch.stack(own)[None])
    first = counts[:, 0].sum(0)
    tokens = max(1, int(first.sum()))
    taken = admitted(counts, capacity(tokens, experts, chosen, factor))
    places, own_weights = [], []
    for expert in range(experts):
        for choice in range(chosen):
            wants = (wanted[:, choice] == expert).nonzero()
            places.append(wants[: taken[rank, choice, expert], 0])
            own_weights.append(weights[places[-1], choice])
    row_tokens = torch.cat(places)
    return Routing(
        tokens=row_tokens,
        weights=torch.cat(own_weights),
        rows=taken.sum(1),
        balance=experts * (first.to(probabilities) @ probabilities.sum(0)) / tokens**2,
        dropped=wanted.numel() - len(row_tokens),
    )


def admitted(counts: Tensor, room: int) -> Tensor:
    """How many of these `counts` (ranks, chosen, experts) find room. All ranks' first choices go
    before any second one, and lower ranks go first."""
    in_turn = counts.transpose(0, 1).flatten(0, 1)
    before = in_turn.cumsum(0) - in_turn
    room_left = (room - before).clamp(min=0).minimum(in_turn)
    return room_left.unflatten(0, (counts.shape[1], counts.shape[0])).transpose(0, 1)
