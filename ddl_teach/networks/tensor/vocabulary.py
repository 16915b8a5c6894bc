"""A vocabulary split over ranks: each embeds and scores its own words; none ever sees all scores.

*Embedding.* A rank looks up the words it owns and has zeros for all others; the sum over ranks is
the embedding.
*Loss.* -log softmax(scores)[answer] = log(sum of exp(scores - m)) - (scores[answer] - m), with m
the largest score. Per answer three numbers travel instead of one for each word: m, that sum, and
the score of the answer, which one rank knows. The gradient, softmax minus one at the answer, needs
no message. Shoeybi et al., "Megatron-LM", 2019, section 3.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.functional import embedding

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.networks.partitions import Region
from ddl_teach.networks.shares import share
from ddl_teach.networks.tensor.split import SplitModule


class VocabularyEmbedding(SplitModule):
    """Every rank holds the vectors of some of the words."""

    def __init__(self, region: Region, whole: nn.Embedding) -> None:
        super().__init__(region.comm)
        self.region = region
        self.keep("weight", whole.weight, 0)
        self.mine = share(whole.num_embeddings, self.comm.size, self.comm.rank)

    def forward(self, words: Tensor) -> Tensor:
        place, is_mine = places(words, self.mine)
        return self.region.leave(embedding(place, self.weight) * is_mine.unsqueeze(-1))


def vocabulary_loss(comm: Comm, words: int, own_scores: Tensor, answers: Tensor) -> Tensor:
    """The mean loss on every rank: scores (..., this rank's share of `words`), answers (...)."""
    mine = share(words, comm.size, comm.rank)
    if own_scores.shape[-1] != len(mine) or own_scores.shape[:-1] != answers.shape:
        shapes = f"{tuple(own_scores.shape)} and must have {(*answers.shape, len(mine))}"
        raise ValueError(f"rank {comm.rank}: own_scores have the shape {shapes}")
    return _VocabularyLoss.apply(own_scores, answers, comm, mine)


class _VocabularyLoss(Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, answers: Tensor, comm: Comm, mine: range) -> Tensor:
        largest = scores.amax(-1)
        ring.allreduce(comm, largest, "max")
        scores = scores - largest.unsqueeze(-1)
        place, is_mine = places(answers, mine)
        of_answers = scores.gather(-1, place.unsqueeze(-1)).squeeze(-1) * is_mine
        sums = torch.stack([scores.exp().sum(-1), of_answers])
        ring.allreduce(comm, sums)
        ctx.save_for_backward(scores, sums[0], place, is_mine)
        return (sums[0].log() - sums[1]).mean()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        scores, total, place, is_mine = ctx.saved_tensors
        of_scores = scores.exp() / total.unsqueeze(-1)
        of_scores.scatter_add_(-1, place.unsqueeze(-1), -is_mine.unsqueeze(-1).to(scores.dtype))
        return of_scores * (gradient / total.numel()), None, None, None


def places(words: Tensor, mine: range) -> tuple[Tensor, Tensor]:
    """The place of each word among this rank's own words, 0 for others'; and whether it is its
    own."""
    is_mine = (words >= mine.start) & (words < mine.stop)
    return (words - mine.start) * is_mine, is_mine
