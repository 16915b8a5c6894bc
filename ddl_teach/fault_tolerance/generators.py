"""The state of a random generator as text: what a checkpoint must hold beside the weights.

A generator that is seeded again after a crash draws its first numbers once more: the same dropout,
the same order of the data, twice. What to look at: leave it out of a checkpoint, and the resumed
training ends elsewhere than an undisturbed one, with nobody told.
Torch's own is an array already: `torch.get_rng_state().numpy()`.
"""

from __future__ import annotations

import json

import numpy as np


def state_of(generator: np.random.Generator) -> str:
    """All that decides what it draws next."""
    return json.dumps(generator.bit_generator.state, default=np.ndarray.tolist)


def restore(generator: np.random.Generator, state: str) -> None:
    """From now on it draws what the other would have drawn; both are of one kind."""
    told, kind = json.loads(state), type(generator.bit_generator).__name__
    if told["bit_generator"] != kind:
        raise ValueError(
            f"this is the state of a {told['bit_generator']}, and the generator is a {kind}: make "
            "the same as the one whose state it was"
        )
    generator.bit_generator.state = told
