"""The GPT that goes through the course: its text, and its weights counted by formula."""

import pytest
import torch

from ddl_teach.networks.models.data import ALPHABET, documentation
from ddl_teach.networks.models.gpt import SIZES, gpt_of


@pytest.mark.parametrize("size", SIZES)
def test_weights_are_those_of_the_formula(size):
    vocabulary, d, _, blocks, length = SIZES[size]
    with torch.device("meta"):
        model = gpt_of(size)
    formula = blocks * (12 * d**2 + 13 * d) + (vocabulary + length + 2) * d
    assert sum(weight.numel() for weight in model.parameters()) == formula


def test_an_unknown_size_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="124M"):
        gpt_of("2k")


@pytest.mark.parametrize("length", [8, 64])
def test_documentation_is_for_training_and_held_out_without_overlap(length):
    parts = documentation(length)
    sizes = [inputs.numel() for inputs, _ in parts]
    assert sizes[0] > 300_000
    assert sizes[1] > 10_000
    for inputs, targets in parts:
        assert inputs.shape == targets.shape
        assert inputs.shape[1] == length
        assert int(inputs.min()) >= 0
        assert int(inputs.max()) < len(ALPHABET)
        assert torch.equal(inputs[:, 1:], targets[:, :-1])
