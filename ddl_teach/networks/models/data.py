"""Real data without downloads: handwritten digits, and code and documentation of Python itself.

Every rank makes the same batches from the same seed and takes its own part of each.
"""

import importlib
import inspect
import string

import torch

from ddl_runtime.core.checks import whole_number
from ddl_teach.networks.models.digits_table import digits_table
from ddl_teach.networks.models.loss import Batch

ALPHABET = string.printable  # 100 characters; others are left out


def digits(flat: bool = False) -> Batch:
    """Pictures (1797, 1, 8, 8), or rows of 64 numbers if `flat`, between 0 and 1; and labels."""
    images, labels = digits_table()
    pictures = torch.from_numpy(images / 16).float()
    shape = (64,) if flat else (1, 8, 8)
    return pictures.reshape(-1, *shape), torch.tensor(labels)


def characters(length: int = 16, modules: tuple[str, ...] = ("heapq", "bisect")) -> Batch:
    """Pieces of `length` characters of these modules' source, and for each the characters after.
    Both are (pieces, length); numbers are places in ALPHABET."""
    text = "".join(inspect.getsource(importlib.import_module(name)) for name in modules)
    return _pieces(text, length)


def documentation(length: int = 16) -> tuple[Batch, Batch]:
    """Pieces of what Python's `help` knows by heart, as `characters` has them: a part to train on,
    and every tenth topic held out. Another version of Python has a slightly different text."""
    topics = importlib.import_module("pydoc_data.topics").topics
    texts = [topics[name] for name in sorted(topics)]
    held_out = texts[9::10]
    del texts[9::10]
    return _pieces("".join(texts), length), _pieces("".join(held_out), length)


def _pieces(text: str, length: int) -> Batch:
    numbers = [place for place in map(ALPHABET.find, text) if place >= 0]
    pieces = torch.tensor(numbers).unfold(0, length + 1, length)
    return pieces[:, :-1].contiguous(), pieces[:, 1:].contiguous()


def batches(data: Batch, size: int, steps: int, seed: int = 0) -> list[Batch]:
    """`steps` batches, in a new random order each time that all of the data have been used. The
    last batch of such a pass is smaller where `size` does not divide the data."""
    whole_number(size, "batches: size", 1), whole_number(steps, "batches: steps", 0)
    inputs, targets = data
    order = torch.Generator().manual_seed(seed)
    made: list[Batch] = []
    while len(made) < steps:
        for chosen in torch.randperm(len(inputs), generator=order).split(size):
            made.append((inputs[chosen], targets[chosen]))
    return made[:steps]
