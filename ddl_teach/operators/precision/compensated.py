"""Sums that remember what rounding took away: four additions a term instead of one.

What an addition loses can be computed from the result: (t - total) is what arrived of the term.
Kahan subtracts the loss from the next term; Neumaier sums all losses beside the total and adds
them at the end, and is right also where a term is larger than the total. Errors of about 2 u and
u, as long as n u is small; beyond that Neumaier's second sum goes astray: 10,000 ones of float16
give 4096.

Kahan, "Further remarks on reducing truncation errors", Communications of the ACM 8(1), 1965.
Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974.
"""

from ddl_teach.operators.arrays import Array, library
from ddl_teach.operators.precision.numbers import zero


def kahan(x: Array) -> Array:
    """The sum over the first axis; what was lost is taken from the next term."""
    total = lost = zero(x)
    for term in x:
        wanted = term - lost
        larger = total + wanted
        lost = (larger - total) - wanted
        total = larger
    return total


def neumaier(x: Array) -> Array:
    """The sum over the first axis; all that was lost is added at the end."""
    total = lost = zero(x)
    for term in x:
        larger = total + term
        # Of the two the larger one lost nothing, so the rest of the smaller can be recovered.
        rest = library(x).where(
            abs(total) >= abs(term), (total - larger) + term, (term - larger) + total
        )
        total, lost = larger, lost + rest
    return total + lost
