"""Modules as learners and torch's tests have them: nested, tied, frozen, with buffers."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Attention and a small network, with a normalisation that is frozen."""

    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.after = nn.LayerNorm(width)
        self.inner = nn.ModuleDict({"up": nn.Linear(width, 12), "down": nn.Linear(12, width)})
        self.after.requires_grad_(False)

    def forward(self, x):
        x = self.after(x + self.attention(x, x, x, need_weights=False)[0])
        return x + self.inner["down"](functional.gelu(self.inner["up"](x)))


class Language(nn.Module):
    """Words and their head share a weight; places are a parameter of the model itself."""

    def __init__(self, words=11, width=6, length=5, blocks=2):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.randn(length, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight
        self.unused = nn.Linear(3, 3)

    def forward(self, x):
        x = self.words(x) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(x).transpose(1, 2)


class Pictures(nn.Module):
    """Two ways that meet again, a single number, and more than one output."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(6, 9), nn.Tanh())
        self.left, self.right = nn.Linear(9, 4), nn.Linear(9, 4)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        x = self.first(x)
        return {"scores": self.scale * (self.left(x) + self.right(x).tanh()), "inner": x}


class Borrows(nn.Module):
    """Uses the weight of a child that it never calls."""

    def __init__(self):
        super().__init__()
        self.called, self.lent = nn.Linear(6, 6), nn.Linear(6, 4)

    def forward(self, x):
        return functional.linear(self.called(x), self.lent.weight)


class Statistics(nn.Module):
    """A normalisation over the batch, with running statistics."""

    def __init__(self):
        super().__init__()
        self.before, self.norm, self.after = nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 4)

    def forward(self, x):
        return self.after(self.norm(self.before(x)))


def language_batches(count, rows=8):
    """Made anew on each rank, and the same."""
    made = torch.Generator().manual_seed(3)
    draw = lambda: torch.randint(11, (rows, 5), generator=made)  # noqa: E731
    return [(draw(), draw()) for _ in range(count)]


def picture_batches(count, rows=8):
    made = torch.Generator().manual_seed(4)
    return [
        (torch.randn(rows, 6, generator=made).double(), torch.randint(4, (rows,), generator=made))
        for _ in range(count)
    ]


class Untied(Language):
    """Its first and last stage share no weight, so a pipeline can have it."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 11, bias=False)
        del self.unused

    def forward(self, x):
        return super().forward(x).transpose(1, 2)
