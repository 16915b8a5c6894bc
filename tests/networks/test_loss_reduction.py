"""Losses that are no mean over examples are told from those that are."""

import pytest
import torch
from loss_cases import (
    by_half_the_batch,
    contrasting,
    examples,
    ignoring,
    in_place,
    mean,
    named,
    noisy,
    nothing,
    pairs,
    regularised,
    squares,
    summed,
    weighted,
)
from torch import nn
from torch.nn import functional

from ddl_teach.networks.loss_reduction import MEAN, NEITHER, SUM, reduction_of

KINDS = [
    (mean, MEAN), (squares, MEAN), (regularised, MEAN), (in_place, MEAN),
    (nn.CrossEntropyLoss(), MEAN), (nn.CrossEntropyLoss(label_smoothing=0.1), MEAN),
    (summed, SUM), (by_half_the_batch, SUM), (nn.CrossEntropyLoss(reduction="sum"), SUM),
    (contrasting, NEITHER), (noisy, None), (nothing, None),
    (nn.CrossEntropyLoss(reduction="none"), None),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3, 8, 1001])
@pytest.mark.parametrize(("loss", "kind"), KINDS, ids=named)
def test_losses_are_told_apart_and_their_examples_left_alone(loss, kind, rows, dtype):
    scores, targets = examples(rows, dtype)
    before = scores.clone(), targets.clone()
    assert reduction_of(loss, scores, targets) == kind
    assert torch.equal(scores, before[0])
    assert torch.equal(targets, before[1])


@pytest.mark.parametrize("loss", [ignoring, weighted])
def test_a_mean_over_some_answers_or_with_weights_is_no_mean_over_examples(loss):
    scores, _ = examples(6)
    assert reduction_of(loss, scores, torch.tensor([0, 1, 0, 1, 1, 2])) == NEITHER


def test_a_loss_that_takes_no_halves_is_not_judged():
    scores, targets = examples(2)
    assert reduction_of(pairs, scores, targets) is None
    assert reduction_of(pairs, *examples(8)) == MEAN


@pytest.mark.parametrize(
    "scores", [torch.ones(5, 3), torch.ones(4, 3, dtype=torch.int64), None, (torch.ones(4, 3),)]
)
def test_scores_that_are_not_one_row_an_example_are_not_judged(scores):
    assert reduction_of(mean, scores, torch.tensor([0, 1, 2, 0])) is None


class Counting(nn.Module):
    """A mean loss that draws random numbers and remembers its calls."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, scores, targets):
        self.calls += 1
        return mean(functional.dropout(scores, 0.1), targets)


def test_judging_draws_no_random_numbers_and_counts_no_call():
    loss, (scores, targets) = Counting(), examples(8)
    torch.manual_seed(3)
    wanted = torch.rand(4)
    torch.manual_seed(3)
    reduction_of(loss, scores, targets)
    assert torch.equal(torch.rand(4), wanted)
    assert loss.calls == 0
