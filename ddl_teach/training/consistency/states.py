"""A training's state as bytes, and back, bit for bit: for messages, files and copies.

NumPy's own format for several arrays, without pickle: what is read can only be data. Numbers and
text come back as what they were.
"""

import io
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str)
PREFIX = "state."  # or an array called "file" would be taken for savez's own argument
STATE = "a state must be a dict of arrays and plain numbers"


def pack(state: dict[str, Any]) -> np.ndarray:
    """The state as an array of bytes."""
    if not isinstance(state, dict):
        raise TypeError(f"{STATE}, so that it can be kept and sent, not {type(state).__name__}")
    for name, value in state.items():
        plain = type(value) in PLAIN or (isinstance(value, np.ndarray) and value.ndim > 0)
        if not (isinstance(name, str) and plain and np.asarray(value).dtype.kind in "biufcU"):
            advice = "of a NumPy scalar take float(...) or int(...)"
            raise TypeError(f"{STATE}: {name!r} is {type(value).__name__}; {advice}")
    stream = io.BytesIO()
    np.savez(stream, **{PREFIX + name: value for name, value in state.items()})
    return np.frombuffer(stream.getvalue(), np.uint8)


def unpack(packed: np.ndarray) -> dict[str, Any]:
    """What was packed."""
    with np.load(io.BytesIO(packed.tobytes()), allow_pickle=False) as arrays:
        state = {name.removeprefix(PREFIX): arrays[name] for name in arrays.files}
    return {name: value if value.ndim else value.item() for name, value in state.items()}
