"""Eight bits a number: a scale brings a tensor into the short range, and all ranks use the same.

    x  becomes  cast(s x) / s,    s = 448 / max over ranks of |x|

E4M3 has 4 bits of exponent and 3 of mantissa. Numbers from 2^e on are 2^(e - 3) apart, and below
2^-6 all are 2^-9 apart; the largest is 448. If every rank had a scale of its own, parts of one
tensor would be rounded by different rules. Their bytes could not be added or put together.
Cost: a quarter of the bytes of float32, and one number to each other rank for the scale.
Micikevicius et al., "FP8 formats for deep learning", 2022. What to look at: one large entry on
one rank makes the steps of all ranks coarse.
"""

import numpy as np

from ddl_teach import Comm

MANTISSA, LOWEST, LARGEST = 3, -6, 448.0


def cast(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of E4M3, of two equally near the even one; none beyond the largest."""
    _, exponent = np.frexp(x)  # |x| lies between 2^(exponent - 1) and 2^exponent
    spacing = np.ldexp(1.0, np.maximum(exponent - 1, LOWEST) - MANTISSA)
    rounded: np.ndarray = np.round(x / spacing) * spacing
    return rounded.clip(-LARGEST, LARGEST)


def agreed_amax(comm: Comm, x: np.ndarray) -> float:
    """The largest magnitude on any rank."""
    own = np.array([np.abs(x).max(initial=0)])
    largest, arrived = own.copy(), np.empty_like(own)
    for distance in range(1, comm.size):
        to, source = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(own, to, arrived, source)
        largest = np.maximum(largest, arrived)
    return float(largest[0])


def rounded(comm: Comm, x: np.ndarray) -> np.ndarray:
    """What is left of this rank's part of a tensor, with one scale for all parts."""
    amax = agreed_amax(comm, x)
    scale = LARGEST / amax if amax > 0 else 1.0
    return cast(scale * x) / scale


def delayed(history: list[float], x: np.ndarray, length: int) -> np.ndarray:
    """The scale of past steps, so that x is read only once; the history learns from x."""
    scale = LARGEST / max(history)
    history.append(np.abs(x).max())
    del history[:-length]
    return cast(scale * x) / scale
