"""Reports that fool, made as people make them: each with the one fault that must be found."""

from dataclasses import replace

from further_honest_reports import HONEST
from further_reports import (
    HALOS,
    PARALLEL,
    STEP,
    TEXT,
    WHOLE,
    answering,
    answers,
    beside_a_straggler,
    cable,
    cables,
    claim,
    clock,
    compared,
    entry,
    halo,
    halos,
    language,
    learner,
    powered,
    quality,
    report,
    scores,
    searcher,
    searches,
    stragglers,
    times,
    trained,
)

from ddl_measure.reports.report import Data, Target, Trial


def epochs(ranks, count, seconds, right, seed):
    parts = PARALLEL if ranks > 1 else STEP
    return learner(f"{ranks} ranks", {"epochs": count}, [
        times("seconds", WHOLE, clock(seconds, 9, seed), parts, ranks),
        quality(scores(right, 9, seed + 1))], ranks)  # fmt: skip


def ruled(rule, typical, seed):
    return learner(rule, {"rule": rule}, [times("seconds", WHOLE, clock(9, 6, seed), STEP),
                                          quality(scores(typical, 6, seed + 1))])  # fmt: skip


def ticking(name, seconds):
    return entry(name, {"library": name, "bytes": 8}, [
        times("seconds", "a message", (seconds,) * 21, ("message",), 2)], 2)  # fmt: skip


def picked(entries, seeds):
    """Trained from seeds of its own."""
    trials = [Trial(it.name, seed, it.settings, "kept")
              for it, own in zip(entries, seeds, strict=True) for seed in own]  # fmt: skip
    return trained("", entries, [compared("accuracy", *entries, kind="best known")],
                   trials=tuple(trials))  # fmt: skip


MANY, FEW = epochs(1, 20, 30.0, 0.96, 100), epochs(4, 8, 4.0, 0.90, 102)
WATCHED = ("processor", "memory", "network", "fans")
NODE_WIDE = powered("theirs", 5200, 40, 70, WATCHED)
CHIP_ONLY = powered("ours", 2900, 40, 74, ("processor",))
THEIRS, OURS = language("theirs", 4, 100_000, 1, of="an epoch"), language("ours", 4, 139_000, 2)
PERFECT = learner("ours", {"rule": "ours"}, [times("seconds", WHOLE, clock(9, 9, 1), STEP),
                                             quality((1.0,) * 9)])  # fmt: skip
ALONE, WORSE = language("1 accelerator", 1, 41_000, 1), language("4 accelerators", 4, 139_000, 2)
WORSE = replace(WORSE, series=(WORSE.series[0], replace(
    WORSE.series[1], values=tuple(it + 3 for it in WORSE.series[1].values))))  # fmt: skip
PRICELESS = searcher("ours", 0.081, 31)
UNKNOWN = replace(CHIP_ONLY, series=(replace(CHIP_ONLY.series[0], includes=None),
                                     *CHIP_ONLY.series[1:]))  # fmt: skip
SYNCHRONOUS = beside_a_straggler("synchronous", "synchronous", 40, 7)
STRAGGLER, SCALED = (
    HONEST[it]
    for it in ("beside a straggler, one of nine never there", "sixteen ranks are slower than four")
)

FOOLING = {
    "fewer epochs on more ranks, sold as strong scaling": ("faster but worse", trained(
        "", [MANY, FEW], [compared("seconds", MANY, FEW, kind="one rank", scaling="strong")])),
    "the slowest hundredth of seven answers": ("no interval", answers(
        "", answering("dense", 0.0, 0.0042, 0.912, 40, 7),
        answering("pruned", 0.9, 0.0027, 0.911, 42, 7), "percentile 99")),
    "a pruned network answers fast, rightly or not": ("throughput without accuracy", answers(
        "", answering("dense", 0.0, 0.0042, None, 40), answering("pruned", 0.99, 0.0011, None, 42),
        "medians")),
    "a search's winner, judged where it won": ("no test accuracy", searches(
        "", searcher("random", 0.134, 30, "validation"),
        searcher("ours", 0.081, 31, "validation"))),
    "one search may spend four times as much": ("poor baseline", searches(
        "", searcher("random", 0.134, 30), searcher("ours", 0.081, 31, steps=9600.0))),
    "a search that does not say what it spent": ("missing", searches(
        "", searcher("random", 0.134, 30), replace(PRICELESS, series=PRICELESS.series[:1]))),
    "more perplexity, not a word": ("faster but worse", trained(
        "", [ALONE, WORSE], [compared("tokens a second", ALONE, WORSE, kind="one rank",
                                      scaling="strong")], data=TEXT)),
    "joules of nobody knows what": ("missing", trained(
        "", [NODE_WIDE, UNKNOWN], [compared("joules", NODE_WIDE, UNKNOWN)])),
    "joules of a chip beside those of a node": ("kernel only", trained(
        "", [NODE_WIDE, CHIP_ONLY], [compared("joules", NODE_WIDE, CHIP_ONLY)])),
    "a serial program on four ranks": ("unclear", halos(
        "", [halo("theirs", 4, 0.80, 60), halo("ours", 8, 0.27, 61)], ("ours",), "best serial")),
    "four ranks are 32 cores": ("single-core baseline", halos(
        "", [HALOS[0], halo("4 ranks", 4, 0.04, 61, cores=32)], ("4 ranks",))),
    "all of a dozen are right": ("no interval", trained("", [PERFECT], [
        claim("All are right.", "training", "accuracy", WHOLE, 1.0, ("ours",))],
        data=Data("digits", 1300, 12, (8, 8)))),
    "an epoch beside a training": ("missing", trained("", [THEIRS, OURS], [
        compared("tokens a second", THEIRS, OURS, kind="best known", number=1.39)], data=TEXT)),
    "a clock that ticks in milliseconds": ("no interval", report(
        "", [ticking("A", 0.002), ticking("B", 0.001)], [
            claim("B halves it.", "communication", "seconds", "a message", None, ("B",), "A",
                  "best known")])),
    "pairs without partners": ("unclear", cables(
        "", cable("A", 0.8e10, 50), cable("B", 1.121e10, 51, 12), 1.4, "paired ratios")),
    "a target on what was learnt": ("no test accuracy", replace(
        STRAGGLER, target=Target(0.93, "training", "before"))),
    "scaling told up to where it ends": ("best of n", replace(
        SCALED, claims=(replace(SCALED.claims[0], entries=("4 ranks",), number=2.9),))),
    "seeds with holes": ("best of n", picked(
        [ruled("SGD", 0.93, 120), ruled("ours", 0.96, 122)],
        [range(6), (1, 4, 6, 7, 10, 11)])),
    "six of nine are never there": ("target not reached", stragglers(
        "", SYNCHRONOUS, beside_a_straggler("stale, bound 64", "stale 64", 8, 9, never=6),
        number=5.0)),
}  # fmt: skip
FOOLING = {title: (fault, replace(it, title=title)) for title, (fault, it) in FOOLING.items()}
