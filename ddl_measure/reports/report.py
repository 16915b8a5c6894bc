"""A report as plain data: what was run, what was measured, and what is said about it.

    made       what a repetition needs: date, command, version of the code, hash of the lock, seeds
    machines   what it ran on, by name: processor, cores, memory, system; year to compare them
    data       what was learnt from
    entries    one configuration each, with all that was measured of it: *every* repetition
    trials     every training that was run, also those that chose the settings, also the crashed
    target     what had to be reached, and when that was fixed
    claims     sentences, each with the numbers and the entries that it stands on
    left_out   what was measured, or could have been, and is not shown, and why

`None` means: not said. An empty tuple is a statement: nothing was left out, no chance was in it.
Nothing is computed before it is kept: a median can be had from the repetitions, the repetitions
not from the median. Hoefler and Belli, "Scientific benchmarking of parallel computing systems",
SC 2015. What to look at: `review` reads the same fields that a reader would ask for.
"""

from collections.abc import Mapping
from dataclasses import dataclass

TRAINING, VALIDATION, HELD_OUT = "training", "validation", "held out"
SPLITS = (TRAINING, VALIDATION, HELD_OUT)
STEP_PARTS = ("input", "forward", "backward", "update")
A_TRAINING = "a training"  # what each trial makes one value of
COMMUNICATION = "communication"  # a part of a step besides, where there is more than one rank
GROUNDS = ("measured", "injected delay", "simulated", "computed")
LOWER, HIGHER = "lower", "higher"

SUBJECTS = ("training", "inference", "an operator", "communication", "input", "search")
SUMMARIES = ("medians", "paired ratios", "means", "harmonic means", "mean of ratios", "best")
BASELINES = (
    "best serial", "one rank", "best known", "previous version", "other machine", "theory"
)  # fmt: skip
OUTCOMES = ("kept", "chosen", "not chosen", "stopped", "diverged", "crashed")

QUANTITIES: Mapping[str, tuple[str, str]] = {
    "seconds": ("s", LOWER),
    "samples a second": ("1/s", HIGHER),
    "operations a second": ("1/s", HIGHER),
    "bytes a second": ("B/s", HIGHER),
    "accuracy": ("1", HIGHER),
    "loss": ("1", LOWER),
    "error": ("1", LOWER),
    "seconds to target": ("s", LOWER),
    "epochs to target": ("1", LOWER),
    "steps to target": ("1", LOWER),
    "bytes sent": ("B", LOWER),
    "bytes held": ("B", LOWER),
    "joules": ("J", LOWER),
}
"""Each quantity that has a name here: its unit, and which way is better."""


@dataclass(frozen=True)
class Provenance:
    """Where the report comes from: all that is needed to run it again."""

    date: str | None = None  # 2026-11-21
    command: str | None = None  # the one line that measures all of it again
    code: str | None = None  # version or commit; "+changes" at its end: that code is in no commit
    lock: str | None = None  # hash of the exact versions of all that is installed
    seeds: tuple[int, ...] | None = None  # of all that is shown; (): no chance in it


@dataclass(frozen=True)
class Data:
    """What was learnt from."""

    name: str | None = None
    training: int | None = None  # samples to learn from
    held_out: int | None = None  # samples that neither training nor the choice of settings saw
    shape: tuple[int, ...] | None = None  # of one sample, as the data come


@dataclass(frozen=True)
class Series:
    """One quantity of one configuration: every value, in the order in which they came."""

    quantity: str | None = None  # one of QUANTITIES; another needs `better`
    of: str | None = None  # what one value is of: "a step", "an epoch", "a training", "a call"
    unit: str | None = None
    values: tuple[float, ...] | None = None  # infinite: never came to it
    repeated: int | None = None  # how often it was measured after the warm-up: as many values
    ground: str | None = None  # one of GROUNDS
    deterministic: bool | None = None  # counts and virtual times are: one value is all there is
    includes: tuple[str, ...] | None = None  # of times: "input", "forward", ...; of joules: whose
    over_ranks: str | None = None  # of times on several ranks: "slowest", "mean" or "rank 0"
    split: str | None = None  # of accuracies and losses: one of SPLITS
    taken: str | None = None  # of these: "at the end", or "best on the way"; "on the way": a curve
    counted: str | None = None  # of operations: which ones, in which precision
    confidence: float = 0.95  # of its interval; few repetitions allow no more than a lower one
    better: str | None = None  # "lower" or "higher", for a quantity that is not in QUANTITIES


@dataclass(frozen=True)
class Entry:
    """One configuration. Whatever differs in it makes another entry."""

    name: str | None = None
    machine: str | None = None  # a name in `machines`
    ranks: int | None = None
    cores: int | None = None  # used in all: ranks times threads
    settings: Mapping[str, object] | None = None  # all that can be switched, precision included
    series: tuple[Series, ...] | None = None
    batch: int | None = None  # samples of a step, on all ranks together
    shape: tuple[int, ...] | None = None  # of one sample, as it went into the network
    searched: int | None = None  # trainings run to choose these settings, besides its own
    chosen_on: str | None = None  # the split by which they were chosen


@dataclass(frozen=True)
class Trial:
    """One training that was run, whatever came of it."""

    entry: str | None = None  # whose settings it used or helped to choose
    seed: int | None = None
    settings: Mapping[str, object] | None = None
    outcome: str | None = None  # one of OUTCOMES; "kept": its values are in the entry's series,
    # "chosen": its settings were taken, and trained again
    seconds: float | None = None
    accuracy: float | None = None  # on the split that the entry was chosen on
    loss: float | None = None  # on that split, where trials are compared by their losses


@dataclass(frozen=True)
class Target:
    """The accuracy that a training has to reach."""

    accuracy: float | None = None
    split: str | None = None
    fixed: str | None = None  # "before" or "after" the runs


@dataclass(frozen=True)
class Claim:
    """A sentence, and the numbers behind it.

    Without a baseline `number` is the quantity itself; with one it says how many times as good:
    2 is half the time or twice the rate, 0.5 the contrary, 1 no difference that could be seen.
    """

    says: str | None = None
    about: str | None = None  # one of SUBJECTS
    quantity: str | None = None
    of: str | None = None  # as in the series that is meant
    number: float | None = None  # of the last of `entries`
    summary: str | None = None  # what `number` is made of: one of SUMMARIES, or "percentile 99"
    entries: tuple[str, ...] | None = None  # names; of a scaling claim all ranks that were tried
    baseline: str | None = None  # a name
    baseline_is: str | None = None  # one of BASELINES
    scaling: str | None = None  # "strong" or "weak", where entries differ in ranks or cores
    accuracy_change: float | None = None  # if it got worse: how much, said openly


@dataclass(frozen=True)
class Report:
    """A whole report."""

    title: str | None = None
    made: Provenance | None = None
    machines: Mapping[str, Mapping[str, str]] | None = None
    data: Data | None = None
    entries: tuple[Entry, ...] | None = None
    trials: tuple[Trial, ...] | None = None
    target: Target | None = None
    claims: tuple[Claim, ...] | None = None
    left_out: tuple[str, ...] | None = None
