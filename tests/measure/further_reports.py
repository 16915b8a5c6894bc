"""Reports of other experiments than those of `honest_reports`, written before the rules were read.

Language models in tokens, loaders, memory, stragglers, searches, answers, cables, energy. Times
are drawn skewed, as clocks give them, and accuracies are whole numbers of held-out samples.
"""

from dataclasses import replace

import numpy as np
from honest_reports import claim

from ddl_measure.reports.cases import Case, higher_is_better
from ddl_measure.reports.report import Data, Entry, Provenance, Report, Series, Target, Trial

NODE = {"processor": "2 x 16 at 2.4 GHz", "cores": "32", "memory": "256 GiB",
        "network": "100 Gbit/s", "system": "Linux 6.8"}  # fmt: skip
STEP = ("input", "forward", "backward", "update")
PARALLEL = (*STEP, "communication")
MADE = Provenance("2026-04-12", "python -m lab.run --all", "9f31c0d2e411", "sha256 77aa01",
            tuple(range(12)))  # fmt: skip
DIGITS = Data("digits", 1300, 2000, (8, 8))
PICTURES = Data("small pictures", 50_000, 10_000, (3, 32, 32))
TEXT = Data("a text corpus", 4_000_000, 20_000, (512,))
UNITS = {"seconds": "s", "seconds to target": "s", "joules": "J", "bytes a second": "B/s"}
WHOLE = "a training"


def clock(typical, count, seed):
    """Times as clocks give them: never much below the typical one, now and then far above."""
    return tuple(typical * (1 + 0.02 * np.random.default_rng(seed).exponential(1, count)))


def rates(typical, count, seed):
    return tuple(typical / it for it in clock(1, count, seed))


def scores(typical, count, seed):
    """Accuracies: of 2,000 held-out samples."""
    drawn = np.random.default_rng(seed).binomial(2000, typical, count)
    return tuple(float(it) / 2000 for it in drawn)


def times(quantity, of, values, includes, ranks=1, **more):
    whose = {"over_ranks": "slowest"} if ranks > 1 and quantity != "joules" else {}
    return Series(quantity, of, UNITS.get(quantity, "1/s"), values, len(values), "measured", False,
                  includes, **whose, **more)  # fmt: skip


def quality(values, quantity="accuracy", split="held out", of=WHOLE, **more):
    return Series(quantity, of, "1", values, len(values), "measured", False, split=split,
                  taken="at the end", **more)  # fmt: skip


def counted(quantity, of, value, unit="1", **more):
    return Series(quantity, of, unit, (value,), 1, "measured", True, **more)


def entry(name, settings, series, ranks=1, cores=None, **more):
    return Entry(name, "node", ranks, cores or ranks, settings, tuple(series), **more)


def learner(name, settings, series, ranks=1, batch=64, shape=(8, 8), **more):
    return entry(name, settings, series, ranks, batch=batch, shape=shape, searched=0, **more)


def report(title, entries, claims, **more):
    """With the number that follows, in every claim that has none."""
    made = {"made": MADE, "machines": {"node": NODE}, "left_out": (), **more}
    made = Report(title, entries=tuple(entries), claims=tuple(claims), **made)
    return replace(made, claims=tuple(follows(Case("", made, it)) for it in made.claims))


def follows(case):
    if case.claim.number is not None:
        return case.claim
    percent = float(
        (case.claim.summary or "").removeprefix("percentile ").replace("medians", "50")
    )
    mine, its = (float(np.percentile(it.values, percent)) for it in case.pair)
    number = mine / its if higher_is_better(case.pair[0]) else its / mine
    return replace(case.claim, number=number)


def trained(title, entries, claims, tried=(), **more):
    kept = [
        Trial(it.name, seed, it.settings, "kept")
        for it in entries
        for seed in range(max(len(series.values) for series in it.series))
    ]
    return report(title, entries, claims, **{"data": DIGITS, "trials": (*kept, *tried), **more})


def language(name, ranks, tokens, seed, of=WHOLE):
    found = tuple(21 + it for it in np.random.default_rng(seed).normal(0, 0.1, 8))
    return learner(
        name, {"precision": "bfloat16", "rate": 3e-4}, [
            times("tokens a second", of, rates(tokens, 8, seed), PARALLEL if ranks > 1 else STEP,
                  ranks, better="higher"),
            quality(found, "perplexity", better="lower"),
        ], ranks, 32, (512,), cores=8 * ranks,
    )  # fmt: skip


def checkpointed(name, layers, held, seconds, seed):
    return learner(
        name, {"kept layers": layers}, [
            counted("bytes held", "a step", held, "B"), counted("error", "the gradient", 0.0),
            times("seconds", "a step", clock(seconds, 25, seed), STEP),
        ], shape=(3, 32, 32),
    )  # fmt: skip


def beside_a_straggler(name, when, typical, seed, never=0):
    arrived = clock(typical, 9 - never, seed) + (float("inf"),) * never
    series = [times("seconds to target", WHOLE, arrived, PARALLEL, 8),
              quality(scores(0.94, 9, seed + 1))]  # fmt: skip
    return replace(learner(name, {"when": when, "rate": 0.05}, series, 8, 256), searched=4,
                   chosen_on="validation")  # fmt: skip


def stragglers(title, *entries, number):
    tried = [
        Trial(it.name, 0, it.settings if number == 3 else {**it.settings, "rate": 1.0 + number},
              ("not chosen", "diverged", "crashed", "chosen")[number])
        for it in entries for number in range(4)
    ]  # fmt: skip
    said = claim("Beside a straggler it is there sooner.", "training", "seconds to target", WHOLE,
                 number, (entries[1].name,), entries[0].name, "previous version")  # fmt: skip
    return trained(title, entries, [said], tried, target=Target(0.93, "held out", "before"))


def compressed(name, form, sent, typical, seed):
    return learner(name, {"form": form}, [counted("bytes sent", "a step", sent, "B"),
                                          quality(scores(typical, 12, seed))], 4)  # fmt: skip


def searcher(name, typical, seed, split="held out", steps=2400.0):
    found = tuple(typical * np.random.default_rng(seed).lognormal(0, 0.05, 15))
    return entry(name, {"decider": name}, [
        quality(found, "loss", split, "a search"),
        counted("steps", "a search", steps, better="lower")])  # fmt: skip


def searches(title, one, other):
    return report(title, [one, other], [
        claim("It finds 1.65 times less loss.", "search", "loss", "a search", None, (other.name,),
              one.name, "best known")], data=DIGITS)  # fmt: skip


def answering(name, pruned, seconds, right, seed, count=400):
    series = [times("seconds", "an answer", clock(seconds, count, seed), ("input", "forward"))]
    series += [quality(scores(right, 9, seed + 1))] if right else []
    return entry(name, {"pruned": pruned}, series, batch=1, shape=(3, 32, 32))


def answers(title, one, other, summary):
    return report(title, [one, other], [
        claim("It answers sooner.", "inference", "seconds", "an answer", None, (other.name,),
              one.name, "previous version", summary=summary)], data=PICTURES)  # fmt: skip


def cable(name, rate, seed, count=31):
    return entry(name, {"library": name, "bytes": 2**26}, [
        times("bytes a second", "a message", rates(rate, count, seed), ("message",), 2)],
        2)  # fmt: skip


def cables(title, one, other, number, summary="medians"):
    return report(title, [one, other], [
        claim("So many times as fast.", "communication", "bytes a second", "a message", number,
              (other.name,), one.name, "best known", summary=summary)])  # fmt: skip


def halo(name, ranks, seconds, seed, cores=None):
    parts = PARALLEL if ranks > 1 else STEP
    return learner(name, {"split": "rows"}, [
        times("seconds", "a step", clock(seconds, 21, seed), parts, ranks),
        counted("error", "the weights", 2e-7)], ranks, 32, (3, 64, 64), cores=cores)  # fmt: skip


HALOS = [halo("1 rank", 1, 0.80, 60), halo("4 ranks", 4, 0.27, 61), halo("16 ranks", 16, 0.33, 62)]


def halos(title, entries, names, kind="one rank"):
    return report(title, entries, [
        claim("So much is gained.", "training", "seconds", "a step", None, names, entries[0].name,
              kind, scaling="strong")],
        data=Data("pictures", 10_000, 2_000, (3, 64, 64)), trials=())  # fmt: skip


def powered(name, joules, seconds, seed, meters=("processor", "memory")):
    return learner(name, {"clock": name}, [
        times("joules", WHOLE, clock(joules, 9, seed), meters),
        times("seconds", WHOLE, clock(seconds, 9, seed + 1), STEP),
        quality(scores(0.95, 9, seed + 2))], cores=16)  # fmt: skip


def compared(
    quantity, one, other, says="So many times.", of=WHOLE, kind="previous version", **more
):
    number = more.pop("number", None)
    return claim(says, "training", quantity, of, number, (other.name,), one.name, kind, **more)


def large_batch(name, batch, steps, seed):
    taken = [round(it) for it in clock(steps, 9, seed)]
    return learner(name, {"rate": batch / 640}, [
        Series("steps to target", WHOLE, "1", tuple(map(float, taken)), 9, "measured", False),
        Series("epochs to target", WHOLE, "1", tuple(it * batch / 1300 for it in taken), 9,
               "measured", False),
        quality(scores(0.95, 9, seed + 1))], 4, batch)  # fmt: skip
