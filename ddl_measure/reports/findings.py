"""What can be wrong with a report, by name: what a reader would believe, and who warned of it.

"way 6" is the sixth of T. Hoefler's "Twelve ways to fool the masses when reporting performance of
deep learning workloads" (2018), which follow D. H. Bailey's of 1991; "rule 5" the fifth of the
twelve in Hoefler and Belli, "Scientific benchmarking of parallel computing systems", SC 2015.
Rules 11 (show bounds where there are any) and 12 (draw as much as is needed) are about pictures,
and rule 8 (is it the median that one wants?) is the author's own to answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """What makes a report misleading."""

    believed: str  # what a reader believes, and nobody knows
    source: str


@dataclass(frozen=True)
class Finding:
    """One place of one report: which fault, what was found there, what to do next."""

    fault: str  # a name in FAULTS
    where: str
    found: str
    next: str

    def __str__(self) -> str:
        return f"{self.where}: {self.fault}: {self.found}. Next: {self.next}."


FAULTS: Mapping[str, Fault] = {
    "missing": Fault("that it does not matter", "rules 1, 2, 9 and 10"),
    "unclear": Fault("what suits best", "rule 9"),
    "not repeatable": Fault("that others could run it again", "rule 9"),
    "no interval": Fault("that the next run gives the same number", "rule 5"),
    "best of n": Fault("that the luckiest run is the usual one", "rule 5"),
    "mean drawn by outliers": Fault("that times are distributed evenly", "rules 6 and 8"),
    "mean of rates or ratios": Fault("that such a mean means something", "rules 3 and 4"),
    "within the noise": Fault("that one is better than the other", "rule 7"),
    "more than measured": Fault("a number that nobody measured", "rule 12"),
    "unlike grounds": Fault("that what was computed was measured", "Bailey 1991, way 5"),
    "throughput without accuracy": Fault("that it still learns", "way 1"),
    "accuracy left behind": Fault("that it learns as well on many ranks as on few", "way 1"),
    "faster but worse": Fault("that nothing was paid for the speed", "way 1"),
    "no test accuracy": Fault("that it works on what it has not seen", "way 2"),
    "chosen on the test data": Fault("that held-out data were held out", "way 2"),
    "tuning hidden": Fault("that the first training was this one", "way 3"),
    "other hardware": Fault("that the program made the difference", "way 4"),
    "kernel only": Fault("that all of it runs as fast as this part", "way 5"),
    "no input time": Fault("that data are in memory and ready for free", "way 6"),
    "operations instead of results": Fault("that more operations are more work done", "way 7"),
    "other settings for accuracy": Fault("that one run is both fast and accurate", "way 8"),
    "unreasonably large inputs": Fault("that the task needs so much work", "way 9"),
    "stopped at the right time": Fault("that it stays as good as in its best moment", "way 10"),
    "target not reached": Fault("that it gets there", "way 10"),
    "weak scaling sold as strong": Fault("that a given problem is solved sooner", "way 11"),
    "other batch size": Fault("that both do the same work in a step", "way 11"),
    "single-core baseline": Fault("that the other had all that this one had", "way 12, rule 1"),
    "poor baseline": Fault("that the best there was has been beaten", "way 12"),
}
