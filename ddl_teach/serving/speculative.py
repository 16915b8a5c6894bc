"""Speculative decoding with two models: the large one checks all guesses in one step.

The definition stands in `plain.speculative_decoding`. Both caches forget the rejected guesses.
What to look at: the large model may be split over ranks; all of them draw the same numbers.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ddl_teach.serving.pages import Pages


class CachedModel(Protocol):
    """What `serving.decoding.CachedGPT` is: scores of what comes next, and a cache in pages."""

    pages: Pages

    def step(self, requests: Sequence[int], tokens: Tensor, every: bool = False) -> Tensor: ...


def speculate(
    large: CachedModel, small: CachedModel, prompt: Tensor, new: int, guesses: int,
    generator: np.random.Generator,
) -> list[list[int]]:  # fmt: skip
    """The tokens of each step of the large model, at least `new` in all, that follow a prompt
    (tokens). Give generators of one seed on all ranks."""
    tokens: list[int] = prompt.tolist()
    begin, steps = len(tokens), list[list[int]]()
    while len(tokens) < begin + new:
        guessed, qs = list[int](), []
        for _ in range(guesses):
            qs.append(_after(small, tokens + guessed, 1)[0])
            guessed.append(_draw(qs[-1], generator))
        ps = _after(large, tokens + guessed, guesses + 1)
        kept = 0
        while kept < guesses:
            token = guessed[kept]
            if generator.random() * qs[kept][token] >= ps[kept][token]:
                break
            kept += 1
        left = ps[kept] if kept == guesses else np.maximum(ps[kept] - qs[kept], 0)
        steps.append([*guessed[:kept], _draw(left, generator)])
        tokens += steps[-1]
        for decoder in (large, small):
            # The last token has been read by neither, and the last guess by the large one only.
            read = decoder.pages.lengths.get(0, 0)
            decoder.pages.cut(0, min(read, len(tokens) - 1))
    for decoder in (large, small):
        decoder.pages.release(0)
    return steps


def _after(decoder: CachedModel, tokens: list[int], last: int) -> np.ndarray:
    """Distributions of what follows each of the last tokens; it reads what it has not read."""
    unread = torch.tensor([tokens[decoder.pages.lengths.get(0, 0) :]])
    scores = decoder.step([0], unread, every=True)[0, -last:]
    return scores.double().softmax(-1).cpu().numpy()


def _draw(weights: np.ndarray, generator: np.random.Generator) -> int:
    edges = np.cumsum(weights)
    return int(np.searchsorted(edges, generator.random() * edges[-1], side="right"))
