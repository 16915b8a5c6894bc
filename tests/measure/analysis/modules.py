"""Modules as people write them: what tests of the analysis are run on."""

import torch
from torch import nn
from torch.nn import functional


class Shared(nn.Module):
    """One layer, used three times."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        for _ in range(3):
            x = self.layer(x).tanh()
        return x


class Branches(nn.Module):
    """A deep branch beside a shallow one, added up."""

    def __init__(self):
        super().__init__()
        self.deep = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
        self.shallow = nn.Linear(8, 8)

    def forward(self, x):
        return self.deep(x) + self.shallow(x)


class Functional(nn.Module):
    """No layers at all: functions and methods."""

    def forward(self, x, y, *, scale=1.0):
        scores = functional.softmax(x @ y.transpose(1, 2) * scale, dim=-1)
        return torch.cat([scores @ y, x], dim=2).relu().mean(dim=1)


class Odd(nn.Module):
    """Attributes that are assigned, a layer nobody uses, attention, a recurrence, no gradients."""

    def __init__(self):
        super().__init__()
        self.layer, self.unused = nn.Linear(8, 8), nn.BatchNorm1d(8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.recurrent = nn.LSTM(8, 8, 2, batch_first=True)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        self.seen = x
        x = self.dropout(self.layer(x))
        y, _ = self.attention(x, x, x)
        z, _ = self.recurrent(y)
        with torch.no_grad():
            centre = z.mean()
        return functional.relu(self.layer(z)) + x * centre


class InPlace(nn.Module):
    """Activations that overwrite, slices that are assigned."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(2, 4, 3, padding=1)

    def forward(self, x):
        y = functional.relu_(self.layer(x))
        made = torch.zeros_like(y)
        made[:, :2] = y[:, 2:]
        return made.add_(y)


class Wrapped(nn.Module):
    """Gives back an object that torch.export does not know."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *inputs):
        class Result:
            pass

        result = Result()
        result.value = self.inner(*inputs)
        return result


class Chooses(nn.Module):
    """Asks a number what to do next."""

    def forward(self, x):
        y = x * 2
        if y.sum() > 0:
            return y
        return -y


class Counts(nn.Module):
    """Makes as many numbers as a number says."""

    def forward(self, x):
        return torch.zeros(int(x.max().item())) + x.sum()


class Picks(nn.Module):
    """Keeps the positive numbers, however many there are."""

    def forward(self, x):
        return x[x > 0].sum()


class Wrong(nn.Module):
    """Has a bug in a line of its own."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x.t())
