"""The twelve, in Hoefler's order: what each leaves away, and the picture that undoes it.

What they say of themselves, and beside their pictures, stands in all_ways.toml.
"""

from dataclasses import replace

import numpy as np

from ddl_measure.reports.numbers import good_ratio
from ddl_measure.reports.report import A_TRAINING, HELD_OUT, TRAINING, Report, Target
from ddl_measure.reports.twelve_ways.curves import accuracies, curve, times_to, until
from ddl_measure.reports.twelve_ways.trick import (
    WAYS,
    Keep,
    ReportedCurve,
    Told,
    Trick,
    all_series,
    as_good,
    entry_of,
    held_out,
    ideal,
    less,
    line,
    middle,
    races,
    series_of,
    speed_ups,
    trains,
    way,
)

SCALES = (1, 2, 4, 8)
RATE, CALL = "samples a second", "a call"
STEPS = {"float64": "step in float64", "float32": "step in float32"}
QUICK, GOOD = "average now and then", "average at every step"
CREDIBLE = 0.7  # right: less would be no target


def all_tricks(true: Report) -> list[Trick]:
    """The twelve ways to fool readers, each carried out on the same true measurements."""
    return [carried_out(true) for carried_out in WAYS]


@way
def ignore_accuracy(true: Report) -> Told:
    """Each rank brings its own samples, so throughput grows with the ranks; but the batch grows as
    well, an epoch has fewer steps, and less is learnt in it. Throughput does not see that."""
    names = [f"weak, {ranks} ranks" for ranks in SCALES]
    entries, rates = [entry_of(true, name) for name in names], all_series(true, names, RATE)
    factor = as_good(rates[-1], rates[0])
    claim = trains(factor, RATE, tuple(names[1:]), names[0], "one rank", "weak")
    right = line("held-out accuracy", SCALES, [held_out(entry) for entry in entries], 100)
    fooling = less(true, names, claim, lambda series: series.quantity != "accuracy")
    lines = ideal(SCALES), speed_ups("measured", SCALES, rates)
    ends = {"epochs": entries[0].settings["epochs"], "first": right.y[0], "last": right.y[-1]}
    return fooling, lines, (right,), {"ranks": SCALES[-1], "factor": factor, **ends}


@way
def no_test_accuracy(true: Report) -> Told:
    """What was learnt from is recognised better than what was not, and the longer one trains the
    larger the gap. An accuracy without the name of its data is that of the training data."""
    entry = entry_of(true, GOOD)
    known, unseen = (
        middle(series_of(entry, "accuracy", split=split)) for split in (TRAINING, HELD_OUT)
    )
    claim = trains(known, "accuracy", (GOOD,))
    trained = curve(entry, "training pictures", TRAINING, over="looks")
    judged = curve(entry, "held-out pictures", HELD_OUT, over="looks")
    fooling = less(true, [GOOD], claim, lambda series: series.split != HELD_OUT)
    return fooling, (trained,), (trained, judged), {"known": 100 * known, "others": 100 * unseen}


@way
def hide_tuning(true: Report) -> Told:
    """A search of n trials costs n trainings, and its winner was also the luckiest; shown is the
    winner's training alone."""
    name = "rate searched"
    entry = entry_of(true, name)
    took, right = middle(series_of(entry, "seconds")), 100 * middle(held_out(entry))
    fooling = less(true, [name], trains(took, "seconds", (name,)))
    tried = [trial for trial in fooling.trials if trial.outcome != "kept"]
    tried.sort(key=lambda trial: trial.settings["rate"])
    rates = tuple(trial.settings["rate"] for trial in tried)
    validated = ReportedCurve("one trial", rates, tuple(100 * trial.accuracy for trial in tried))
    alone = ReportedCurve("training", ("the training",), (took,))
    kept = tuple(trial for trial in fooling.trials if trial.outcome == "kept")
    spent = {"tried": len(tried), "total": sum(trial.seconds for trial in tried)}
    values = {"right": right, "took": took, **spent}
    return replace(fooling, trials=kept), (alone,), (validated,), values


@way
def old_hardware(true: Report) -> Told:
    """Our program runs on new machines, theirs on old ones. Two things change at once, and the
    program gets the credit for both."""
    ages, programs = ("old", "new"), {8: "float64 messages", 4: "float32 messages"}
    names = {each: [f"{each} bytes, {age} accelerators" for age in ages] for each in programs}
    seconds = {width: all_series(true, of_width, "seconds") for width, of_width in names.items()}
    theirs, ours = seconds[8][0], seconds[4][1]
    factor, fair = as_good(ours, theirs), as_good(ours, seconds[8][1])
    claim = trains(factor, "seconds", (names[4][1],), names[8][0], "previous version")
    both = line("measured", ("theirs", "ours"), [theirs, ours])
    places = [f"{age} accelerators" for age in ages]
    lines = [line(program, places, seconds[width]) for width, program in programs.items()]
    fooling = less(true, [names[8][0], names[4][1]], claim)
    return fooling, (both,), lines, {"factor": factor, "fair": fair}


@way
def only_kernels(true: Report) -> Told:
    """The gradient was timed, but the claim is about training. If a share f of the time becomes s
    times as fast, the whole becomes 1 / (1 - f + f/s) times as fast (Amdahl 1967): never more than
    1 / (1 - f)."""
    labels = "the gradient", "the whole step"
    kept = "a gradient", A_TRAINING
    return part_for_whole(true, "a gradient", labels, lambda series: series.of in kept)


@way
def no_input(true: Report) -> Told:
    """Samples that are in memory already, decoded and shuffled, cost nothing; in a real training
    they have to be read, and the faster the rest becomes the more that weighs."""
    labels = "input apart", "with input"
    part = "a step, input apart"
    return part_for_whole(true, part, labels, lambda series: series.of != "a step")


def part_for_whole(true: Report, of: str, labels: tuple[str, str], keep: Keep) -> Told:
    """Steps in two precisions: the seconds `of` a part are shown for those of the whole."""
    part, whole = (all_series(true, STEPS.values(), "seconds", what) for what in (of, "a step"))
    factor, fair = (as_good(series[1], series[0], "paired ratios") for series in (part, whole))
    claim = races("training", "seconds", of, factor, STEPS["float32"], STEPS["float64"])
    both = [
        line(label, STEPS, series, 1e3)
        for label, series in zip(labels, (part, whole), strict=True)
    ]
    fools = replace(both[0], name="measured")
    return (
        less(true, STEPS.values(), claim, keep),
        (fools,),
        both,
        {"factor": factor, "fair": fair},
    )


@way
def most_operations(true: Report) -> Told:
    """Operations are a cost, whatever they are for. An algorithm that needs fewer of them for the
    same result is slower in operations a second and sooner done."""
    names = {"whole matrix": "product, whole", "two factors": "product, factors"}
    quantity = "operations a second"
    rates, seconds = (
        all_series(true, names.values(), each, CALL) for each in (quantity, "seconds")
    )
    factor, fair = as_good(*rates), as_good(*seconds)
    claim = races("an operator", quantity, CALL, factor, *names.values())
    fools, honest = line("measured", names, rates, 1e-9), line("measured", names, seconds, 1e3)
    fooling = less(true, names.values(), claim, lambda series: series.quantity != "seconds")
    return fooling, (fools,), (honest,), {"factor": factor, "longer": 1 / fair}


@way
def two_sets_of_options(true: Report) -> Told:
    """Both numbers are true, each of another training. Points with two coordinates undo it: one
    training, its time and its accuracy."""
    fast, good = (entry_of(true, name) for name in (QUICK, GOOD))
    seconds = all_series(true, (GOOD, QUICK), "seconds")
    factor, right = as_good(seconds[1], seconds[0]), 100 * middle(held_out(good))
    claim = trains(factor, "seconds", (QUICK,), GOOD, "previous version")
    points = [
        ReportedCurve(
            name,
            series_of(entry, "seconds").values,
            tuple(100 * value for value in held_out(entry).values),
        )
        for name, entry in (("now and then", fast), ("at every step", good))
    ]
    fooling = less(true, [QUICK, GOOD], claim)
    speed, kept = fooling.entries
    speed = replace(
        speed, series=tuple(series for series in speed.series if series.quantity != "accuracy")
    )
    fools = line("measured", ("before", "ours"), seconds)
    values = {"factor": factor, "right": right, "low": 100 * middle(held_out(fast))}
    return replace(fooling, entries=(speed, kept)), (fools,), points, values


@way
def large_inputs(true: Report) -> Told:
    """Larger samples mean more work for each message, so everything scales better; whether the
    task needs them is another question. Here every picture is blown up to four times its pixels,
    from which the network learns nothing new."""
    names = {side: [f"side {side}, {ranks} ranks" for ranks in (1, 8)] for side in (8, 16)}
    seconds = {side: all_series(true, names[side], "seconds") for side in (8, 16)}
    small, large = (as_good(eight, single) for single, eight in seconds.values())
    claim = trains(large, "seconds", (names[16][1],), names[16][0], "one rank", "strong")
    places = "1 rank", "8 ranks"
    fools = line("measured", places, seconds[16])
    same = [100 * middle(held_out(entry_of(true, names[side][1]))) for side in (8, 16)]
    lines = [line(f"{side} x {side}", places, seconds[side]) for side in (16, 8)]
    values = {"large": large, "small": small, "same": same}
    return less(true, names[16], claim), (fools,), lines, values


@way
def the_right_time(true: Report) -> Told:
    """Two curves of accuracy over time that cross: the moment that is chosen decides the winner.
    A target that is fixed after the runs, where ours looks best, is such a moment."""
    quick, good = (entry_of(true, name) for name in (QUICK, GOOD))
    reached = np.unique(np.median(accuracies(quick), axis=0))
    goals = reached[reached >= min(CREDIBLE, reached[-1])]
    ratios = [
        good_ratio(times_to(level, quick), times_to(level, good), "medians") for level in goals
    ]
    factors = [ratio[0] if ratio else 0.0 for ratio in ratios]
    goal, factor = float(goals[np.argmax(factors)]), float(f"{max(factors):.3g}")
    claim = trains(factor, "seconds to target", (QUICK,), GOOD, "best known")
    fooling = less(true, [QUICK, GOOD], claim)
    entries = tuple(replace(entry, series=(times_to(goal, entry),)) for entry in fooling.entries)
    fooling = replace(fooling, entries=entries, target=Target(goal, HELD_OUT, "after"))
    lines = curve(quick, "ours", over="seconds"), curve(good, "theirs", over="seconds")
    stop = max(x for x, y in zip(lines[0].x, lines[0].y, strict=True) if y <= 100 * goal + 1e-9)
    ends = [100 * np.median(accuracies(entry)[:, -1]) for entry in (quick, good)]
    values = {"goal": 100 * goal, "factor": factor, "ends": ends}
    return fooling, [until(shown, stop) for shown in lines], lines, values


@way
def weak_as_strong(true: Report) -> Told:
    """With as many samples for every rank the messages stay as long while the work grows:
    throughput scales. A given training with a given batch has less work for each rank with every
    rank that is added, and ends at its messages."""
    weak = [f"weak, {ranks} ranks" for ranks in SCALES]
    strong = [weak[0], *(f"strong, {ranks} ranks" for ranks in SCALES[1:])]
    grown, same = (all_series(true, names, RATE) for names in (weak, strong))
    factor, fair = (as_good(series[-1], series[0]) for series in (grown, same))
    claim = trains(factor, RATE, tuple(weak[1:]), weak[0], "one rank", "strong")
    fools = ideal(SCALES), speed_ups("measured", SCALES, grown)
    honest = (
        fools[0],
        replace(fools[1], name="weak: 32 samples a rank"),
        speed_ups("strong: 32 samples in all", SCALES, same),
    )
    values = {"ranks": SCALES[-1], "factor": factor, "fair": fair}
    return less(true, weak, claim), fools, honest, values


@way
def choose_the_baseline(true: Report) -> Told:
    """Among several ways to do the same there is always one that is easy to beat."""
    names = {"to one root": "all-reduce, linear", "ring": "all-reduce, ring",
             "MPI library": "all-reduce, native"}  # fmt: skip
    seconds = dict(zip(names, all_series(true, names.values(), "seconds", CALL), strict=True))
    best, ours, worst = sorted(seconds, key=lambda name: middle(seconds[name]))
    factor, fair = (
        as_good(seconds[ours], seconds[other], "paired ratios") for other in (worst, best)
    )
    claim = races("communication", "seconds", CALL, factor, names[ours], names[worst])
    fools, honest = (
        line("measured", shown, [seconds[name] for name in shown], 1e3)
        for shown in ((worst, ours), (worst, ours, best))
    )
    values = {"ours": ours, "worst": worst, "best": best, "factor": factor, "fair": fair}
    return less(true, names.values(), claim), (fools,), (honest,), values
