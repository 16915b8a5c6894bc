"""What an all-reduce should take: latencies, bytes on the critical path, bytes combined.

==================== ============== ================== ================
algorithm            latencies      times n bytes sent times n combined
==================== ============== ================== ================
linear               2              2 (P-1)            P-1
tree                 2 ceil(log2 P) 2 ceil(log2 P)     ceil(log2 P)
ring                 2 (P-1)        2 (P-1)/P          (P-1)/P
recursive doubling   log2 P         log2 P             log2 P
Rabenseifner         2 log2 P       2 (P-1)/P          (P-1)/P
==================== ============== ================== ================

The last two are for powers of two; for other P they stand for the power of two below, to which
folding adds 2, 2 and 1. The theory room refines this and fits the constants to measurements; any
model with the same `predict` can take the place of this one.
Ben-Nun and Hoefler, "Demystifying parallel and distributed deep learning", 2019.
"""

from dataclasses import dataclass

from ddl_teach.collectives.registry import unknown

PREDICTABLE = ("linear", "tree", "ring", "recursive_doubling", "rabenseifner")


@dataclass(frozen=True)
class LatencyBandwidth:
    """Seconds per message, per byte sent and per byte combined.

    The defaults are of the order of MPI processes that share a laptop: 10 microseconds, 5 GB/s,
    10 GB/s.
    """

    latency: float = 10e-6
    per_byte: float = 1 / 5e9
    per_byte_reduced: float = 1 / 10e9

    def predict(self, algorithm: str, ranks: int, nbytes: int) -> float:
        """The time an all-reduce of `nbytes` on each of `ranks` should take, in seconds."""
        latencies, sent, combined = counts(algorithm, ranks)
        per_vector = sent * self.per_byte + combined * self.per_byte_reduced
        return latencies * self.latency + nbytes * per_vector


def counts(algorithm: str, ranks: int) -> tuple[int, float, float]:
    """Latencies, bytes sent and bytes combined, the bytes in units of the whole vector."""
    levels = (ranks - 1).bit_length()
    whole = ranks.bit_length() - 1  # levels of the power of two below
    fold = int(ranks > 2**whole)
    match algorithm:
        case "linear":
            return 2 * (ranks > 1), 2 * (ranks - 1), ranks - 1
        case "tree":
            return 2 * levels, 2 * levels, levels
        case "ring":
            return 2 * (ranks - 1), 2 * (ranks - 1) / ranks, (ranks - 1) / ranks
        case "recursive_doubling":
            return whole + 2 * fold, whole + 2 * fold, whole + fold
        case "rabenseifner":
            share = 1 - 1 / 2**whole
            return 2 * (whole + fold), 2 * (share + fold), share + fold
    raise ValueError(unknown("predictable algorithm", algorithm, PREDICTABLE))
