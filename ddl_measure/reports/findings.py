"""What can be wrong with a report, by name: what a reader would believe, and who warned of it.

"way 6" is the sixth of T. Hoefler's "Twelve ways to fool the masses when reporting performance of
deep learning workloads" (2018), which follow D. H. Bailey's of 1991; "rule 5" the fifth of the
twelve in Hoefler and Belli, "Scientific benchmarking of parallel computing systems", SC 2015.
Rules 11 (show bounds where there are any) and 12 (draw as much as is needed) are about pictures,
and rule 8 (is it the median that one wants?) is the author's own to answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """What makes a report misleading; `usually` is what to do where a finding says no other."""

    believed: str  # what a reader believes, and nobody knows
    source: str
    usually: str = "say it"


FAULTS: Mapping[str, Fault] = {
    "missing": Fault("that it does not matter", "rules 1, 2, 9 and 10"),
    "unclear": Fault("what suits best", "rule 9", "write it as report.py says"),
    "not repeatable": Fault("that others could run it again", "rule 9",
        "commit them and measure again"),
    "no interval": Fault("that the next run gives the same number", "rule 5",
        "repeat it until there are enough"),
    "best of n": Fault("that the luckiest run is the usual one", "rule 5",
        "compare medians, and say how far the repetitions reach"),
    "mean drawn by outliers": Fault("that times are distributed evenly", "rules 6 and 8",
        "take medians, and show the outliers"),
    "mean of rates or ratios": Fault("that such a mean means something", "rules 3 and 4",
        "average the seconds and divide (the harmonic mean), or take medians"),
    "within the noise": Fault("that one is better than the other", "rule 7",
        "measure more repetitions, in turns, or say that no difference was seen: number 1"),
    "more than measured": Fault("a number that nobody measured", "rule 12",
        "write what the repetitions give"),
    "unlike grounds": Fault("that what was computed was measured", "Bailey 1991, way 5",
        "compare measured with measured and simulated with simulated"),
    "throughput without accuracy": Fault("that it still learns", "way 1",
        "add the accuracy on held-out data at the end of training, a value for each seed; or an "
        "'error' that proves the same weights"),
    "accuracy left behind": Fault("that it learns as well on many ranks as on few", "way 1",
        "measure held-out accuracy at every number of ranks"),
    "faster but worse": Fault("that nothing was paid for the speed", "way 1",
        "say accuracy_change, or compare times to one target"),
    "no test accuracy": Fault("that it works on what it has not seen", "way 2",
        "measure it on data that neither training nor choosing has seen"),
    "chosen on the test data": Fault("that held-out data were held out", "way 2",
        "choose by validation data, and look at held-out data once"),
    "tuning hidden": Fault("that the first training was this one", "way 3",
        "list every training in 'trials', with settings, seed and outcome"),
    "other hardware": Fault("that the program made the difference", "way 4",
        "measure both on one machine; or if machines are compared, say 'other machine'"),
    "kernel only": Fault("that all of it runs as fast as this part", "way 5",
        "measure whole steps, or speak of the part only: about='an operator'"),
    "no input time": Fault("that data are in memory and ready for free", "way 6",
        "measure with the loader at work, or the whole training by the wall's clock"),
    "operations instead of results": Fault("that more operations are more work done", "way 7",
        "say in how many seconds the work was done, and claim that"),
    "other settings for accuracy": Fault("that one run is both fast and accurate", "way 8",
        "measure time and accuracy in one and the same training"),
    "unreasonably large inputs": Fault("that the task needs so much work", "way 9",
        "take them as they are, or show beside it how much accuracy that would lose"),
    "stopped at the right time": Fault("that it stays as good as in its best moment", "way 10",
        "take that at the end, or stop by validation data"),
    "target not reached": Fault("that it gets there", "way 10",
        "train longer, or say that it does not get there"),
    "weak scaling sold as strong": Fault("that a given problem is solved sooner", "way 11",
        "keep the whole batch as it is while ranks grow, or say 'weak'"),
    "other batch size": Fault("that both do the same work in a step", "way 11",
        "compare with the same batch, or compare times to a target"),
    "single-core baseline": Fault("that the other had all that this one had", "way 12, rule 1",
        "give the baseline as many, or call it scaling and show one's own on one core"),
    "poor baseline": Fault("that the best there was has been beaten", "way 12",
        "compare with it"),
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One place of one report: which fault, what was found there, what to do next."""

    fault: str  # a name in FAULTS
    where: str
    found: str
    next: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "next", self.next or FAULTS[self.fault].usually)

    def __str__(self) -> str:
        return f"{self.where}: {self.fault}: {self.found}. Next: {self.next}."
