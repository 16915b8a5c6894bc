"""Honest reports of very different kinds, some of them awkward: nothing is to be found in them."""

from dataclasses import replace

from ddl_measure.reports.report import (
    Claim,
    Data,
    Entry,
    Provenance,
    Report,
    Series,
    Target,
    Trial,
)

LAPTOP = {"processor": "two cores at 2.5 GHz", "cores": "2 usable", "memory": "8 GiB",
          "system": "Linux 6.1"}  # fmt: skip
MADE = Provenance("2026-03-01", "python -m mine.benchmark", "4be0f1a2c3d4", "sha256 12ab34cd",
            tuple(range(9)))  # fmt: skip
DIGITS = Data("handwritten digits", 1437, 360, (8, 8))
STEP = ("input", "forward", "backward", "update")
PARALLEL = (*STEP, "communication")
JITTER = (0.4, -0.9, 0.1, 1.0, -0.3, -0.6, 0.8, -0.1, 0.5, -0.7)  # percent


def around(middle, count=7):
    return tuple(middle * (1 + JITTER[place % 10] / 100) for place in range(count))


def clocked(quantity, of, values, includes, ranks=1, **more):
    units = {"seconds": "s", "seconds to target": "s"}
    whose = {"over_ranks": "slowest"} if ranks > 1 else {}
    said = {"ground": "measured", "deterministic": False, "includes": includes, **whose, **more}
    return Series(quantity, of, units.get(quantity, "1/s"), values, len(values), **said)


def right(values, **more):
    said = {"ground": "measured", "deterministic": False, "split": "held out", **more}
    return Series("accuracy", "a training", "1", values, len(values), taken="at the end", **said)


def entry(name, series, ranks=1, settings=None, **more):
    settings = {"rate": 0.1} if settings is None else settings
    return Entry(name, "laptop", ranks, ranks, settings, tuple(series), **more)


def learner(name, seconds, accuracy, ranks=1, batch=64, settings=None, searched=0, **more):
    """A configuration that was trained, once for each accuracy."""
    parts = PARALLEL if ranks > 1 else STEP
    series = clocked("seconds", "a training", seconds, parts, ranks), right(accuracy)
    more = {"shape": (8, 8), "batch": batch, "searched": searched, **more}
    if searched:
        more.setdefault("chosen_on", "validation")
    return entry(name, series, ranks, settings, **more)


def trials(*entries):
    """Those that were kept, and one of other settings for each that was searched."""
    listed = []
    for it in entries:
        runs = [len(series.values) for series in it.series if series.of == "a training"]
        listed += [
            Trial(it.name, seed, it.settings, "kept") for seed in range(max(runs, default=0))
        ]
        for number in range(it.searched):
            outcome = ("not chosen", "diverged", "crashed", "chosen")[number % 4]
            settings = it.settings if outcome == "chosen" else {"rate": 10.0 + number}
            listed.append(Trial(it.name, 0, settings, outcome))
    return tuple(listed)


def report(title, entries, claims, **more):
    said = {"machines": {"laptop": LAPTOP}, "made": MADE, "left_out": (), **more}
    return Report(title, entries=tuple(entries), claims=tuple(claims), **said)


def trained(title, entries, claims, **more):
    return report(title, entries, claims, **{"data": DIGITS, "trials": trials(*entries), **more})


def claim(says, about, quantity, of, number, entries, baseline=None, baseline_is=None, **more):
    more = {"summary": "medians", **more}
    return Claim(says, about, quantity, of, number, entries=entries, baseline=baseline,
                 baseline_is=baseline_is, **more)  # fmt: skip


HALVES = around(0.96)  # accuracies of a good training
STRONG = [
    learner("1 rank", around(8.0), HALVES), learner("2 ranks", around(4.3), HALVES, 2),
    learner("4 ranks", around(2.5), HALVES, 4),
]  # fmt: skip
WEAK = [
    learner("1 rank", around(8.0), HALVES, batch=16),
    learner("4 ranks", around(2.4), around(0.959), 4, batch=64),
    learner("16 ranks", around(0.8), around(0.91), 16, batch=256),
]
SPEED = ("training", "seconds", "a training")
RING, DOUBLING = (
    entry(name, [clocked("seconds", "a call", values, ("all-reduce",), 4)], 4, {"bytes": 2**20})
    for name, values in (("ring", around(0.004, 21)), ("recursive doubling", around(0.005, 21)))
)
DIRECT = entry(
    "direct", [clocked("seconds", "a call", around(0.020), ("convolution",))],
    settings={"precision": "float32", "kernel": 3},
)  # fmt: skip
WINOGRAD = entry(
    "Winograd",
    [clocked("seconds", "a call", around(0.011), ("convolution",)),
     Series("error", "the result", "1", (2e-6,), 1, "measured", True)],
    settings={"precision": "float32", "kernel": 3},
)  # fmt: skip
HALF = replace(
    WINOGRAD, name="half", settings={"precision": "float16", "kernel": 3},
    series=(clocked("seconds", "a call", around(0.008), ("convolution",)),
            Series("error", "the result", "1", (8e-4,), 1, "measured", True)),
)  # fmt: skip
SIMULATED = [
    entry(name, [clocked("seconds", "a call", (seconds,), ("all-reduce",), 65_536,
                         ground="simulated", deterministic=True)], 65_536, {"bytes": 1024})
    for name, seconds in (("ring on 65,536", 0.196), ("doubling on 65,536", 3.6e-5))
]  # fmt: skip
COUNTED = [
    entry(name, [Series("bytes sent", "a call", "B", (1_572_864.0,), 1, ground, True)], 4,
          {"bytes": 2**20})
    for name, ground in (("ledger", "measured"), ("formula", "computed"))
]  # fmt: skip
SAME_STEPS = [
    entry(name, [clocked("seconds", "a step", around(seconds, 30), PARALLEL, 4),
                 Series("error", "the weights", "1", (3e-7,), 1, "measured", True)], 4,
          {"buckets": buckets}, batch=64, shape=(8, 8), searched=0)
    for name, seconds, buckets in (("25 buckets", 0.050, 25), ("1 bucket", 0.061, 1))
]  # fmt: skip
TO_TARGET = [
    entry(name, [clocked("seconds to target", "a training", times, PARALLEL, 4)], 4,
          {"rate": rate}, batch=batch, shape=(8, 8), searched=6, chosen_on="validation")
    for name, times, rate, batch in (
        ("batch 64", around(9.0), 0.1, 64),
        ("batch 1024", (*around(5.0, 6), float("inf")), 0.8, 1024),
    )
]  # fmt: skip
TARGET = Target(0.95, "held out", "before")
LARGE = [
    learner("32 x 32", around(20.0), around(0.985), shape=(32, 32)),
    learner("8 x 8", around(3.0), around(0.955)),
]
TUNED = [
    learner("adaptive", around(5.0), around(0.97), settings={"rule": "Adam"}, searched=12),
    learner("plain", around(7.0), around(0.965), settings={"rule": "SGD"}, searched=12),
]
SERIAL = learner("one process, no messages", around(7.5), HALVES, settings={"program": "serial"})
THREE = [learner("three seeds", around(8.0, 3), around(0.96, 3)),
         learner("three seeds, 4 ranks", around(2.6, 3), around(0.961, 3), 4)]  # fmt: skip
THREE = [
    replace(it, series=tuple(replace(one, confidence=0.75) for one in it.series)) for it in THREE
]
SERVER = [
    entry("a picture at a time",
          [clocked("seconds", "an answer", (*around(0.004, 360), *around(0.030, 40)),
                   ("input", "forward"))], settings={"precision": "float32"}, batch=1,
          shape=(8, 8)),
]  # fmt: skip
NEW_MACHINE = {**LAPTOP, "processor": "eight cores at 3 GHz", "year": "2025"}
TWO_MACHINES = [
    learner("laptop", around(8.0), HALVES),
    replace(learner("desktop", around(5.0), HALVES), machine="desktop"),
]
SLOW_LINKS = [
    replace(it, series=(replace(it.series[0], ground="injected delay"), it.series[1]))
    for it in (learner("dense", around(9.0), HALVES, 4, settings={"form": "dense"}),
               learner("top 1%", around(6.0), around(0.958), 4, settings={"form": "top 1%"}))
]  # fmt: skip
DISTURBED = entry(
    "with a backup running",
    [clocked("seconds", "a call", (*around(0.01, 18), 0.3, 0.5), ("sum",))],
)
RATES = entry(
    "product", [
        clocked("operations a second", "a call", around(6e10), ("product",),
                counted="2 n^3, float32"),
        clocked("seconds", "a call", around(0.0357), ("product",)),
    ], settings={"n": 1024, "precision": "float32"},
)  # fmt: skip
LOSSES = [
    entry(name, [replace(right(around(loss)), quantity="loss")], 4, {"rows": rows}, batch=64,
          shape=(6,), searched=0)
    for name, loss, rows in (("dense rows", 2.30, "dense"), ("sparse rows", 2.31, "sparse"))
]  # fmt: skip
JOULES = [
    replace(it, series=(*it.series, Series("joules", "a training", "J", around(energy), 7,
                                           "measured", False, ("processor", "memory"))))
    for it, energy in ((STRONG[0], 300.0), (STRONG[2], 410.0))
]  # fmt: skip
WHOLE = "a training"

HONEST = {
    it.title: it
    for it in (
        trained("strong scaling", STRONG, [
            claim("Four ranks train 3.2 times as fast as one.", *SPEED, 3.2,
                  ("2 ranks", "4 ranks"), "1 rank", "one rank", scaling="strong")]),
        trained("weak scaling, and what it costs", WEAK, [
            claim("16 ranks with 16 samples each are 10 times as fast, and lose 5 points.",
                  *SPEED, 10.0, ("4 ranks", "16 ranks"), "1 rank", "one rank", scaling="weak",
                  accuracy_change=-0.05)]),
        trained("time to a target, one of seven never there", TO_TARGET, [
            claim("Larger batches are there 1.8 times as soon.", "training", "seconds to target",
                  WHOLE, 1.8, ("batch 1024",), "batch 64", "best known")], target=TARGET),
        report("two all-reduces in turns", [RING, DOUBLING], [
            claim("For 1 MiB the ring takes 0.8 of the time.", "communication", "seconds",
                  "a call", 1.25, ("ring",), "recursive doubling", "best known",
                  summary="paired ratios")], made=replace(MADE, seeds=())),
        report("simulated ranks", SIMULATED, [
            claim("Doubling beats the ring 5,400 times.", "communication", "seconds", "a call",
                  5400.0, ("doubling on 65,536",), "ring on 65,536", "best known")],
               made=replace(MADE, seeds=())),
        report("bytes as the formula says", COUNTED, [
            claim("The ledger counts what the formula says.", "communication", "bytes sent",
                  "a call", 1.0, ("ledger",), "formula", "theory")]),
        report("no difference", [
            replace(RING, series=(replace(RING.series[0], values=around(0.005, 21)),)), DOUBLING],
            [claim("With 64 KiB nobody can tell them apart.", "communication", "seconds", "a call",
                   1.0, ("ring",), "recursive doubling", "best known")]),
        trained("ours is slower", [learner("ours", around(9.0), HALVES, settings={"by": "us"}),
                                   learner("theirs", around(6.0), HALVES)], [
            claim("Ours takes one and a half times as long.", *SPEED, 0.66, ("ours",), "theirs",
                  "best known")]),
        trained("steps that learn the same", SAME_STEPS, [
            claim("25 buckets: 1.2 times as fast, the same weights.", "training", "seconds",
                  "a step", 1.2, ("25 buckets",), "1 bucket", "best known")], trials=()),
        trained("three seeds are all there was time for", THREE, [
            claim("Four ranks are three times as fast.", *SPEED, 3.0, ("three seeds, 4 ranks",),
                  "three seeds", "one rank", scaling="strong")]),
        report("an operator and its error", [DIRECT, WINOGRAD], [
            claim("Winograd takes half the time, with errors of 2e-6.", "an operator", "seconds",
                  "a call", 1.8, ("Winograd",), "direct", "best known")]),
        report("half precision, with its error", [DIRECT, HALF], [
            claim("2.5 times as fast in half precision.", "an operator", "seconds", "a call", 2.5,
                  ("half",), "direct", "best known")]),
        report("the slowest answers", SERVER, [
            claim("99 of 100 answers come within 31 ms.", "inference", "seconds", "an answer",
                  0.031, ("a picture at a time",), summary="percentile 99")], data=DIGITS),
        trained("two machines of one time", TWO_MACHINES, [
            claim("The desktop trains 1.6 times as fast.", *SPEED, 1.6, ("desktop",), "laptop",
                  "other machine")],
                machines={"laptop": {**LAPTOP, "year": "2024"}, "desktop": NEW_MACHINE}),
        trained("slow links, by injected delay", SLOW_LINKS, [
            claim("The top 1% trains 1.5 times as fast on slow links.", *SPEED, 1.5, ("top 1%",),
                  "dense", "best known")]),
        report("nothing is claimed", [RING, DOUBLING, DISTURBED], []),
        trained("large inputs that are worth it", LARGE, [
            claim("Finer pictures: 98.5% right, in 20 s.", "training", "seconds", WHOLE, 20.0,
                  ("32 x 32",))]),
        trained("both were searched alike", TUNED, [
            claim("Adam is there 1.4 times as fast.", *SPEED, 1.4, ("adaptive",), "plain",
                  "best known")]),
        trained("against the best serial program", [SERIAL, *STRONG], [
            claim("Four ranks: three times the best serial program.", *SPEED, 3.0, ("4 ranks",),
                  "one process, no messages", "best serial", scaling="strong")],
                left_out=("3 ranks: 64 samples cannot be shared by three alike",)),
        report("outliers stay", [DISTURBED], [
            claim("A sum takes 10 ms.", "an operator", "seconds", "a call", 0.01,
                  ("with a backup running",))]),
        report("operations beside seconds", [RATES], [
            claim("60 Gflop/s.", "an operator", "operations a second", "a call", 6e10,
                  ("product",))]),
        trained("losses held out", LOSSES, [
            claim("Sparse rows learn as well.", "training", "loss", WHOLE, 1.0, ("sparse rows",),
                  "dense rows", "best known")]),
        trained("more speed for more energy", JOULES, [
            claim("Four ranks take 1.4 times the energy.", "training", "joules", WHOLE, 0.73,
                  ("4 ranks",), "1 rank", "one rank", scaling="strong")]),
        trained("means of even times", STRONG[::2], [
            claim("Four ranks are 3.2 times as fast.", *SPEED, 3.2, ("4 ranks",), "1 rank",
                  "one rank", scaling="strong", summary="means")]),
    )
}  # fmt: skip
