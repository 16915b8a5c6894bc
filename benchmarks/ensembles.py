"""Ensembles: what a majority would gain if its members erred independently of each other.

    wrong(N, e) = sum over k > N/2 of  (N over k) e^k (1-e)^(N-k)    + half of the ties

Below e = 1/2 it falls with N, exponentially: by Hoeffding's inequality it is at most
exp(-2 N (1/2 - e)^2). Above 1/2 it rises. Condorcet, 1785, of jurors; Hansen and Salamon, "Neural
network ensembles", 1990, of networks. What to look at: how far the measured error of an ensemble
stays above it; that is how much its members err together.
"""

import math

from ddl_teach.theory.inputs import count


def majority_error(members: int, error: float) -> float:
    """How often most of so many are wrong, each with probability `error`, none with another."""
    members = count("members", members)
    if not 0 <= error <= 1:
        raise ValueError(f"error={error!r} is a probability, between 0 and 1")

    def chance(wrong: int) -> float:
        """That exactly so many are wrong."""
        return math.comb(members, wrong) * error**wrong * (1 - error) ** (members - wrong)

    most = math.fsum(chance(wrong) for wrong in range(members // 2 + 1, members + 1))
    return most if members % 2 else most + chance(members // 2) / 2
