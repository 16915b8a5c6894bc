"""Small whole numbers packed bit by bit: what takes b bits travels in b bits.

    n numbers of b bits take ceil(n b / 8) bytes

The lowest bits of all numbers come first, a plane of bytes for every 8 of the b bits. The rest,
less than 8 bits a number, is packed from eight numbers at a time: they are exactly b bytes, and
fit into one machine word. What to look at: three bits cost more time to pack than eight.
"""

import numpy as np


def packed_bytes(count: int, bits: int) -> int:
    """The bytes that `count` numbers of `bits` bits take."""
    return -(-count * bits // 8)


def pack(values: np.ndarray, bits: int) -> np.ndarray:
    """Whole numbers from 0 to 2^bits - 1 as bytes."""
    whole, rest = divmod(bits, 8)
    planes = [(values >> 8 * plane).astype(np.uint8) for plane in range(whole)]
    if rest:
        words = np.zeros(-(-len(values) // 8), np.uint64)
        for place in range(8):
            column = (values[place::8] >> 8 * whole).astype(np.uint64)
            words[: len(column)] |= column << np.uint64(place * rest)
        eights = words.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :rest]
        planes.append(eights.ravel()[: packed_bytes(len(values), rest)])
    return np.concatenate(planes)


def unpack(message: np.ndarray, bits: int, count: int) -> np.ndarray:
    """The `count` numbers of `bits` bits in a message, as uint32."""
    whole, rest = divmod(bits, 8)
    values = np.zeros(count, np.uint32)
    for plane in range(whole):
        part = message[plane * count : (plane + 1) * count].astype(np.uint32)
        values |= part << np.uint32(8 * plane)
    if rest:
        eights = np.zeros((-(-count // 8), 8), np.uint8)
        padded = np.zeros(len(eights) * rest, np.uint8)
        padded[: packed_bytes(count, rest)] = message[whole * count :]
        eights[:, :rest] = padded.reshape(-1, rest)
        words = eights.view("<u8").ravel()
        for place in range(8):
            column = words[: len(values[place::8])] >> np.uint64(place * rest)
            part = (column & np.uint64(2**rest - 1)).astype(np.uint32)
            values[place::8] |= part << np.uint32(8 * whole)
    return values


def in_buckets(vector: np.ndarray, bucket: int) -> np.ndarray:
    """The vector in rows of `bucket` float32 numbers, the last row filled up with zeros."""
    rows = np.zeros((-(-len(vector) // bucket), bucket), np.float32)
    rows.reshape(-1)[: len(vector)] = vector
    return rows
