"""What a transformer's layer keeps is what autograd keeps of our GPT, to the byte; and the table
of Korthikanti et al., 2022."""

import pytest
import torch

from ddl_teach.networks.memory.measured import Activations
from ddl_teach.networks.models.gpt import Block
from ddl_teach.theory import pipelines
from ddl_teach.theory.transformer_memory import in_flight, layer_activations

CASES = [(16, 1, 32, 4), (32, 3, 64, 4), (64, 2, 128, 8), (8, 2, 320, 5)]


def written_out(queries, keys, values):
    """Attention that writes its scores; the scale goes into the queries."""
    scores = queries @ keys.transpose(2, 3)
    return torch.softmax(scores, -1) @ values


def counted(s, b, h, a, attend=None):
    """Bytes that autograd saves in a block of our GPT, in single precision."""
    block = Block(h, a)
    if attend is not None:
        block.attention.attend = attend
    x = torch.zeros(b, s, h, requires_grad=True) + 0
    with Activations(block.parameters()) as saved:
        output = block(x)
    assert output.requires_grad  # as long as it lives, so does what it needs
    return saved.held


@pytest.mark.parametrize("sizes", CASES)
@pytest.mark.parametrize("scores", [False, True])
def test_a_layer_keeps_what_autograd_keeps(sizes, scores):
    s, b, h, a = sizes
    norms = 2 * 2 * 4 * s * b  # mean and spread of both norms, which the paper leaves out
    formula = layer_activations(s, b, h, a, scores=scores, itemsize=4)
    assert counted(*sizes, written_out if scores else None) == formula + norms


@pytest.mark.parametrize("t", [1, 2, 3, 4, 5, 8])
def test_the_table_of_the_paper(t):
    s, b, h, a = 2048, 2, 120 * 64, 120
    with_dropout = {"scores": True, "dropout": True}
    whole = layer_activations(s, b, h, a, t, split_sequence=False, **with_dropout)
    assert whole == pytest.approx(s * b * h * (10 + 24 / t + 5 * a * s / h / t))
    split = layer_activations(s, b, h, a, t, **with_dropout)
    assert split == pytest.approx(s * b * h / t * (34 + 5 * a * s / h))
    again = layer_activations(s, b, h, a, t, recompute="selective", **with_dropout)
    assert again == pytest.approx(34 * s * b * h / t)
    full = layer_activations(s, b, h, a, t, split_sequence=False, recompute="full")
    assert full == pytest.approx(2 * s * b * h)


def test_each_way_to_recompute_keeps_less():
    kept = [layer_activations(4096, 1, 4096, 32, gated=True, recompute=way) for way in (
        "none", "norms", "full")]  # fmt: skip
    assert kept == sorted(kept, reverse=True)
    assert kept[0] - kept[1] == 2 * 4096 * (2 * 4096 + 4 * 4096)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_micro_batches_in_flight_are_those_of_the_schedules(ranks):
    assert in_flight("1F1B", ranks, 3) == min(3, ranks)
    held = pipelines.zero_bubble(ranks, 9, 1.0, 1.0, 1.0).peak[0]
    assert in_flight("zero bubble", ranks, 9) == held
    assert in_flight("interleaved", ranks, 4 * ranks) == 2 * ranks - 1  # one group of layers
    assert in_flight("interleaved", ranks, 4 * ranks, 2) == ranks + (ranks - 1) / 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: layer_activations(1, 1, 1, 1, recompute="some"), "none, norms, selective, full"),
        (lambda: in_flight("GPipe", 4, 4), "1F1B, interleaved, zero bubble"),
    ],
)
def test_unknown_words_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
