"""Quantities as people write them: `1us`, `25 GB/s`, `100Gbit/s`."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from ddl_class.commands.mistake import Mistake

# Decimal, so that 100ns is the very number that 1e-7 is.
MICROSECOND = Decimal("1e-6")
TIMES = {
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "ns": Decimal("1e-9"),
}
# Networks count in powers of ten, and eight bits to the byte.
BANDWIDTHS = {
    f"{prefix}{unit}/s": Decimal(10) ** n / bits
    for prefix, n in {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}.items()
    for unit, bits in {"B": 1, "bit": 8}.items()
}


def read_quantity(name: str, text: str) -> float:
    """Return ``text`` in seconds, or in bytes a second where ``name`` speaks of a bandwidth.

    >>> read_quantity("latency", "2us"), read_quantity("bandwidth", "100Gbit/s")
    (2e-06, 12500000000.0)
    """
    units = BANDWIDTHS if "bandwidth" in name else TIMES
    match = re.fullmatch(r"([-+.\d]+(?:[eE][-+]?\d+)?)\s*([^\d\s]*)", text.strip())
    try:
        return float(Decimal(match[1]) * (units[match[2]] if match[2] else 1))
    except (TypeError, InvalidOperation, KeyError):
        raise Mistake(
            f"{name}={text} is not understood: write a number and one of {', '.join(units)}"
        ) from None


def write_quantity(name: str, amount: float) -> str:
    """Return ``amount`` in the unit that makes it easiest to read.

    >>> write_quantity("latency", 2e-6), write_quantity("bandwidth", 12.5e9)
    ('2us', '12.5GB/s')
    """
    if amount == 0:
        return "0"
    units = BANDWIDTHS if "bandwidth" in name else TIMES
    sizes = [
        (float(size), unit) for unit, size in units.items() if not re.match("µ|k|.*bit", unit)
    ]
    size, unit = max((pair for pair in sizes if pair[0] <= amount), default=min(sizes))
    return f"{amount / size:.6g}{unit}"
