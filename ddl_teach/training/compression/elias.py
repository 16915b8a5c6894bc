"""Elias's omega code: small numbers in few bits, without saying beforehand how many.

1 is `0`; k is the code of its length in bits less one, then k in binary. A `0` ends the number: 2
is `100`, 3 is `110`, 4 is `101000`, 16 is `10100100000`: about log2 k + log2 log2 k + ... bits.
Here whole numbers l << 1 | sign are coded, of which most have level 0: for each of the others how
far it is from the last one, its sign, its level. A code must be read from its beginning: so the
code that would begin at *every* bit is read at once, and then one walk picks the true ones. Elias,
"Universal codeword sets and representations of the integers", 1975; in QSGD (Alistarh et al.
2017). What to look at: the shortest messages of all, and the slowest to read.
"""

import numpy as np

COUNT = 4  # bytes that say how many numbers are not zero
WINDOW = 32  # bits of the longest number


def encode(numbers: np.ndarray) -> np.ndarray:
    """Numbers level << 1 | sign as bytes."""
    places = np.flatnonzero(numbers >> 1)
    gaps = np.diff(places, prepend=-1)
    values = numbers[places]
    (gap_codes, gap_bits), (level_codes, level_bits) = codes(gaps), codes(values >> 1)
    # A sign between the two, as a code of one bit.
    parts = np.stack([gap_codes, (values & 1).astype(np.uint64), level_codes], axis=1).ravel()
    lengths = np.stack([gap_bits, np.ones_like(gap_bits), level_bits], axis=1).ravel()
    count = np.array([len(places)], np.uint32).view(np.uint8)
    return np.concatenate([count, np.packbits(joined(parts, lengths))])


def codes(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The omega codes of numbers from 1 on, and how many bits each has."""
    code = np.zeros(len(numbers), np.uint64)
    bits = np.ones(len(numbers), np.int64)
    rest = numbers.astype(np.uint64)
    while (rest > 1).any():
        more = rest > 1
        length = np.where(more, np.frexp(rest.astype(np.float64))[1], 0)
        code |= np.where(more, rest, 0).astype(np.uint64) << bits.astype(np.uint64)
        bits += length
        rest = np.where(more, length - 1, 1).astype(np.uint64)
    return code, bits


def joined(parts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Codes one after another, bit by bit, each beginning with its highest bit."""
    ends = np.repeat(np.cumsum(lengths), lengths)
    below = ends - 1 - np.arange(len(ends))  # bits of this code still to come
    return (np.repeat(parts, lengths) >> below.astype(np.uint64) & np.uint64(1)).astype(np.uint8)


def decode(message: np.ndarray, size: int) -> np.ndarray:
    """The `size` numbers of which `encode` made the message, as uint32."""
    count = int(message[:COUNT].view(np.uint32)[0])
    bits = np.append(np.unpackbits(message[COUNT:]), np.zeros(WINDOW, np.uint8))
    values, after = at_every_bit(bits)
    signs = np.minimum(after, len(bits) - 2)  # a sign stands behind the distance
    ends = after[signs + 1].tolist()
    begins, place = [], 0
    for _ in range(count):
        begins.append(place)
        place = ends[place]
    here = np.array(begins, np.int64)
    numbers = np.zeros(size, np.uint32)
    behind = signs[here]
    numbers[np.cumsum(values[here]) - 1] = values[behind + 1] << 1 | bits[behind]
    return numbers


def at_every_bit(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every bit, as if a code began there: the number that this code stands for, and the place
    of the code after it."""
    windows = bits.astype(np.uint64)
    for width in (1, 2, 4, 8, 16):
        windows = windows << np.uint64(width) | np.append(windows[width:], windows[:width] * 0)
    values = np.ones(len(bits), np.int64)
    after = np.arange(len(bits))
    open_ones = np.flatnonzero(bits)
    while len(open_ones):
        place, length = after[open_ones], values[open_ones] + 1
        possible = (length <= WINDOW) & (place + length < len(bits))
        open_ones, place, length = open_ones[possible], place[possible], length[possible]
        values[open_ones] = windows[place] >> (WINDOW - length).astype(np.uint64)
        after[open_ones] = place + length
        open_ones = open_ones[bits[after[open_ones]] == 1]
    return values, np.minimum(after + 1, len(bits) - 1)
