"""What rounding costs: the formats of floating-point numbers, and how far a sum can be off.

With p significant bits every operation is right but for a relative error of u = 2^-p, the *unit
roundoff*. So a sum of ones stops at 2^p: of 2^p and 2^p + 1 only the first exists.

=========  ==  ========  =========  ===========  ==============
format      p  u         largest    smallest     ones stop at
=========  ==  ========  =========  ===========  ==============
float16    11  4.9e-4    65,504     6.0e-8       2,048
bfloat16    8  3.9e-3    3.4e38     9.2e-41      256
float32    24  6.0e-8    3.4e38     1.4e-45      16,777,216
=========  ==  ========  =========  ===========  ==============

The error of a sum of n terms, as a share of the sum of their absolute values, is at most

    in order        gamma(n - 1),   about n u
    pairwise        gamma(ceil(log2 n)),   about u log2 n
    compensated     u + gamma(n - 1)^2,   about u as long as n u is small
    wider           u + gamma(n - 1) with the wider format's u

where gamma(k) = k u / (1 - k u) if k u < 1, and no bound exists beyond. What to look at: errors
of random terms grow like sqrt(n) u, far below the bound; those of equal terms do not.

Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput. 14(4), 1993. Ogita, Rump &
Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26(6), 2005. Kalamkar et al., "A study
of BFLOAT16 for deep learning training", 2019.
"""

import math
from dataclasses import dataclass

from ddl_runtime.core.checks import one_of
from ddl_teach.theory.inputs import ceil_log2, count


@dataclass(frozen=True)
class Format:
    """A binary floating-point format, as IEEE 754 describes one."""

    name: str
    significant: int  # bits, the leading one included
    lowest: int  # exponent of the smallest normal number
    highest: int  # exponent of the largest numbers
    reserved: int = 0  # of the largest patterns: they mean "not a number"
    overflow: float | None = math.inf  # what is beyond the largest; None: the largest itself

    @property
    def unit_roundoff(self) -> float:
        """The largest relative error of rounding to nearest."""
        return 2.0**-self.significant

    @property
    def largest(self) -> float:
        return (2 - 2 * self.unit_roundoff * (1 + self.reserved)) * 2.0**self.highest

    @property
    def smallest_normal(self) -> float:
        """Below it numbers lose significant bits."""
        return 2.0**self.lowest

    @property
    def smallest(self) -> float:
        """Half of it and less becomes zero."""
        return 2.0 ** (self.lowest - self.significant + 1)


FORMATS = {
    kind.name: kind
    for kind in (
        Format("float16", 11, -14, 15),
        Format("bfloat16", 8, -126, 127),
        Format("float32", 24, -126, 127),
        Format("float64", 53, -1022, 1023),
        Format("float8_e4m3fn", 4, -6, 8, 1, None),
        Format("float8_e5m2", 3, -14, 15),
        Format("float6_e3m2fn", 3, -2, 4, 0, None),
        Format("float6_e2m3fn", 4, 0, 2, 0, None),
        Format("float4_e2m1fn", 2, 0, 2, 0, None),
    )
}


def find_format(name: str) -> Format:
    """The format of that name, or an error that lists them."""
    one_of(name, "format", FORMATS)
    return FORMATS[name]


def gamma(operations: int, unit_roundoff: float) -> float:
    """The error of k roundings in a row: k u / (1 - k u); math.inf from k u = 1 on."""
    errors = operations * unit_roundoff
    return errors / (1 - errors) if errors < 1 else math.inf


def in_order(terms: int, name: str) -> float:
    """gamma(n - 1): the first term passes n - 1 roundings."""
    return gamma(count("terms", terms) - 1, find_format(name).unit_roundoff)


def pairwise(terms: int, name: str) -> float:
    """gamma(ceil(log2 n)): every term passes the levels of a tree."""
    return gamma(ceil_log2(count("terms", terms)), find_format(name).unit_roundoff)


def compensated(terms: int, name: str) -> float:
    """u + gamma(n - 1)^2 (Ogita, Rump and Oishi, for `neumaier`): what is lost is summed too, so
    only the errors of the errors are left. Kahan's own sum has 2 u + O(n u^2) (Higham 1993)."""
    unit = find_format(name).unit_roundoff
    return unit + gamma(count("terms", terms) - 1, unit) ** 2


def wider(terms: int, name: str, accumulator: str = "float32") -> float:
    """Summed in order in the accumulator's format, rounded once at the end."""
    return find_format(name).unit_roundoff + in_order(terms, accumulator)


def promoted(terms: int, bits: int, every: int) -> float:
    """The bound of a sum in an accumulator of `bits` bits that cuts the rest off. After `every`
    terms it adds its sum to one of float32: gamma(every) + gamma(terms / every)."""
    length = min(count("every", every), count("terms", terms))
    return gamma(length, 2.0 ** (1 - bits)) + gamma(-(-terms // length), 2.0**-24)
