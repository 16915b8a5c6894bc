"""The twelve, in Hoefler's order: what each leaves away, and the picture that undoes it."""

from dataclasses import replace

import numpy as np

from ddl_measure.reports.numbers import good_ratio
from ddl_measure.reports.report import A_TRAINING, HELD_OUT, TRAINING, Claim, Report, Target
from ddl_measure.reports.twelve_ways.curves import accuracies, curve, times_to, until
from ddl_measure.reports.twelve_ways.trick import (
    WAYS,
    Keep,
    Panel,
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
    series_of,
    speed_ups,
    trains,
    way,
)

SCALES = (1, 2, 4, 8)
RATE, CALL = "samples a second", "a call"
STEPS = {"float64": "step in float64", "float32": "step in float32"}
QUICK, GOOD = "average now and then", "average at every step"
CREDIBLE = 0.7  # right: nobody would call less a target


def all_tricks(true: Report) -> list[Trick]:
    """All twelve, carried out on the same true measurements."""
    return [carried_out(true) for carried_out in WAYS]


@way(1, "Ignore accuracy while scaling up", "throughput without accuracy",
     "Show the accuracy on data held out at every number of ranks.")  # fmt: skip
def ignore_accuracy(true: Report) -> Told:
    """Each rank brings its own samples, so throughput grows with the ranks; but the batch grows as
    well, an epoch has fewer steps, and less is learnt in it. Throughput does not see that."""
    names = [f"weak, {ranks} ranks" for ranks in SCALES]
    entries, rates = [entry_of(true, name) for name in names], all_series(true, names, RATE)
    factor = as_good(rates[-1], rates[0])
    says = f"Training scales: {SCALES[-1]} ranks, {factor:.2g} times the throughput."
    claim = trains(says, factor, RATE, tuple(names[1:]), names[0], "one rank", "weak")
    lines = ideal(SCALES), speed_ups("measured", SCALES, rates)
    fools = Panel(says, "ranks", "times the samples a second", lines, logarithmic=True)
    right = line("held-out accuracy", SCALES, [held_out(it) for it in entries], 100)
    honest = Panel(
        f"… and after {entries[0].settings['epochs']} epochs: {right.y[0]:.0f}% right on 1 rank, "
        f"{right.y[-1]:.0f}% on {SCALES[-1]}",
        "ranks", "held-out pictures recognised (%)", (right,), logarithmic=True,
    )  # fmt: skip
    fooling = less(true, names, claim, lambda series: series.quantity != "accuracy")
    return fooling, fools, honest


@way(2, "Report no test accuracy", "no test accuracy",
     "Measure on data that training has not seen.")  # fmt: skip
def no_test_accuracy(true: Report) -> Told:
    """What was learnt from is recognised better than what was not, and the longer one trains the
    larger the gap. An accuracy without the name of its data is that of the training data."""
    entry = entry_of(true, GOOD)
    known, found = (middle(series_of(entry, "accuracy", split=it)) for it in (TRAINING, HELD_OUT))
    says = f"Four ranks train to an accuracy of {100 * known:.1f}%."
    claim = trains(says, known, "accuracy", (GOOD,))
    trained = curve(entry, "training pictures", TRAINING, over="looks")
    judged = curve(entry, "held-out pictures", HELD_OUT, over="looks")
    axes = "looks, nine steps apart", "accuracy (%)"
    title = f"… of pictures that it has seen; of others {100 * found:.1f}%"
    fooling = less(true, [GOOD], claim, lambda series: series.split != HELD_OUT)
    return fooling, Panel(says, *axes, (trained,)), Panel(title, *axes, (trained, judged))


@way(3, "Hide the trainings that tuning took", "tuning hidden",
     "List every training that was run, and add up their time.")  # fmt: skip
def hide_tuning(true: Report) -> Told:
    """A search of n trials costs n trainings, and its winner was also the luckiest; shown is the
    winner's training alone."""
    name = "rate searched"
    entry = entry_of(true, name)
    took, right = middle(series_of(entry, "seconds")), 100 * middle(held_out(entry))
    says = f"{right:.1f}% in {took:.2g} s of training."
    claim = trains(says, took, "seconds", (name,))
    fooling = less(true, [name], claim)
    tried = [it for it in fooling.trials if it.outcome != "kept"]
    total = sum(it.seconds for it in tried)
    tried.sort(key=lambda it: it.settings["rate"])
    fools = Panel(says, "", "seconds", (ReportedCurve("training", ("the training",), (took,)),))
    honest = Panel(
        f"… after {len(tried)} trainings of {total:.3g} s in all to find the rate",
        "rate that was tried", "held-out accuracy in validation (%)",
        (ReportedCurve("one trial", tuple(it.settings["rate"] for it in tried),
              tuple(100 * it.accuracy for it in tried)),), logarithmic=True,
    )  # fmt: skip
    kept = tuple(it for it in fooling.trials if it.outcome == "kept")
    return replace(fooling, trials=kept), fools, honest


@way(4, "Compare new hardware with old", "other hardware", "Run both programs on both machines.")
def old_hardware(true: Report) -> Told:
    """Ours runs on what was bought last, theirs on what they had. Two things change at once, and
    the program gets the credit for both."""
    ages, programs = ("old", "new"), {8: "float64 messages", 4: "float32 messages"}
    names = {it: [f"{it} bytes, {age} accelerators" for age in ages] for it in programs}
    seconds = {width: all_series(true, of_width, "seconds") for width, of_width in names.items()}
    theirs, ours = seconds[8][0], seconds[4][1]
    factor, fair = as_good(ours, theirs), as_good(ours, seconds[8][1])
    says = f"Our messages train {factor:.2g} times as fast."
    claim = trains(says, factor, "seconds", (names[4][1],), names[8][0], "previous version")
    both = line("measured", ("theirs", "ours"), [theirs, ours])
    places = [f"{age} accelerators" for age in ages]
    lines = tuple(line(program, places, seconds[width]) for width, program in programs.items())
    title = f"… on the same accelerators {fair:.2g} times"
    fooling = less(true, [names[8][0], names[4][1]], claim)
    axes = "", "seconds of a training"
    return fooling, Panel(says, *axes, (both,)), Panel(title, *axes, lines)


@way(5, "Show only kernels", "kernel only", "Measure whole steps, or speak of the kernel only.")
def only_kernels(true: Report) -> Told:
    """Timed is the gradient, spoken of is training. Where a share f of the time becomes s times as
    fast, the whole becomes 1 / (1 - f + f/s) times as fast (Amdahl 1967), at most 1 / (1 - f)."""
    return part_for_whole(
        true, "a gradient", "float32 trains {:.2g} times as fast.", "milliseconds",
        "… its gradients do; whole steps are {:.2g} times as fast",
        ("the gradient", "the whole step"), lambda series: series.of in ("a gradient", A_TRAINING),
    )  # fmt: skip


@way(6, "Leave the input out", "no input time", "Measure from the file to the update.")
def no_input(true: Report) -> Told:
    """Samples that are in memory already, decoded and shuffled, cost nothing; in a real training
    they have to be read, and the faster the rest becomes the more that weighs."""
    return part_for_whole(
        true, "a step, input apart", "Steps in float32 are {:.2g} times as fast.",
        "milliseconds of a step", "… once pictures are there; with reading them {:.2g} times",
        ("input apart", "with input"), lambda series: series.of != "a step",
    )  # fmt: skip


def part_for_whole(
    true: Report, of: str, says: str, axis: str, undone: str,
    labels: tuple[str, str], keep: Keep,
) -> Told:  # fmt: skip
    """Steps in two precisions, of which the seconds `of` a part are shown for those of the whole;
    {} stands for how many times as fast each becomes."""
    part, whole = (all_series(true, STEPS.values(), "seconds", it) for it in (of, "a step"))
    factor, fair = (as_good(it[1], it[0], "paired ratios") for it in (part, whole))
    says = says.format(factor)
    claim = Claim(says, "training", "seconds", of, factor, "paired ratios", (STEPS["float32"],),
                  STEPS["float64"], "best known")  # fmt: skip
    both = [line(label, STEPS, it, 1e3) for label, it in zip(labels, (part, whole), strict=True)]
    fools = Panel(says, "", axis, (replace(both[0], name="measured"),))
    fooling = less(true, STEPS.values(), claim, keep)
    return fooling, fools, Panel(undone.format(fair), "", axis, tuple(both))


@way(7, "Report the most operations a second", "operations instead of results",
     "Say how long the same result took.")  # fmt: skip
def most_operations(true: Report) -> Told:
    """Operations are a cost, whatever they are for. An algorithm that needs fewer of them for the
    same result is slower in operations a second and sooner done."""
    names = {"whole matrix": "product, whole", "two factors": "product, factors"}
    quantity = "operations a second"
    rates, seconds = (all_series(true, names.values(), it, CALL) for it in (quantity, "seconds"))
    factor, fair = as_good(*rates), as_good(*seconds)
    says = f"The whole matrix: {factor:.2g} times the operations a second."
    claim = Claim(says, "an operator", quantity, CALL, factor, "paired ratios",
                  (names["whole matrix"],), names["two factors"], "best known")  # fmt: skip
    fools = Panel(says, "", "10⁹ operations a second", (line("measured", names, rates, 1e-9),))
    title = f"… and takes {1 / fair:.3g} times as long, for the same result"
    took = line("measured", names, seconds, 1e3)
    honest = Panel(title, "", "milliseconds of a product", (took,))
    fooling = less(true, names.values(), claim, lambda series: series.quantity != "seconds")
    return fooling, fools, honest


@way(8, "Speed with one set of options, accuracy with another", "other settings for accuracy",
     "Take time and accuracy from one and the same training.")  # fmt: skip
def two_sets_of_options(true: Report) -> Told:
    """Both numbers are true, and no training had both. Points with two coordinates undo it: one
    training, its time and its accuracy."""
    fast, good = (entry_of(true, name) for name in (QUICK, GOOD))
    seconds = all_series(true, (GOOD, QUICK), "seconds")
    factor, right = as_good(seconds[1], seconds[0]), 100 * middle(held_out(good))
    says = f"{factor:.2g} times as fast as before, {right:.1f}% right."
    claim = trains(says, factor, "seconds", (QUICK,), GOOD, "previous version")
    axis = "seconds of a training"
    fools = Panel(says, "", axis, (line("measured", ("before", "ours"), seconds),))
    points = tuple(
        ReportedCurve(
            name, series_of(it, "seconds").values, tuple(100 * one for one in held_out(it).values)
        )
        for name, it in (("now and then", fast), ("at every step", good))
    )
    title = "Each training: as fast or as accurate, never both"
    honest = Panel(title, axis, "held-out pictures recognised (%)", points)
    fooling = less(true, [QUICK, GOOD], claim)
    speed, kept = fooling.entries
    speed = replace(speed, series=tuple(it for it in speed.series if it.quantity != "accuracy"))
    return replace(fooling, entries=(speed, kept)), fools, honest


@way(9, "Train on unreasonably large inputs", "unreasonably large inputs",
     "Take samples as they come, or show what accuracy larger ones gain.")  # fmt: skip
def large_inputs(true: Report) -> Told:
    """Larger samples mean more work for each message, so everything scales better; whether the
    task needs them is another question. Here every picture is blown up to four times its pixels,
    which tells the network nothing new."""
    names = {side: [f"side {side}, {ranks} ranks" for ranks in (1, 8)] for side in (8, 16)}
    seconds = {side: all_series(true, names[side], "seconds") for side in (8, 16)}
    small, large = (as_good(eight, one) for one, eight in seconds.values())
    says = f"Strong scaling: {large:.2g} times as fast on 8 ranks."
    claim = trains(says, large, "seconds", (names[16][1],), names[16][0], "one rank", "strong")
    axes, places = ("", "seconds of an epoch"), ("1 rank", "8 ranks")
    fools = Panel(says, *axes, (line("measured", places, seconds[16]),))
    same = [100 * middle(held_out(entry_of(true, names[side][1]))) for side in (8, 16)]
    title = f"… as they come: {small:.2g} times, and as good ({same[0]:.0f}%, {same[1]:.0f}%)"
    lines = tuple(line(f"{side} x {side}", places, seconds[side]) for side in (16, 8))
    honest = Panel(title, *axes, lines)
    return less(true, names[16], claim), fools, honest


@way(10, "Train just for the right time", "stopped at the right time",
     "Fix the target before the runs, and show the whole curves.")  # fmt: skip
def the_right_time(true: Report) -> Told:
    """Two curves of accuracy over time that cross: whoever chooses the moment chooses the winner.
    A target that is fixed after the runs, where ours looks best, is such a moment."""
    quick, good = (entry_of(true, name) for name in (QUICK, GOOD))
    reached = np.unique(np.median(accuracies(quick), axis=0))
    goals = reached[reached >= min(CREDIBLE, reached[-1])]
    ratios = [good_ratio(times_to(it, quick), times_to(it, good), "medians") for it in goals]
    factors = [it[0] if it else 0.0 for it in ratios]
    goal, factor = float(goals[np.argmax(factors)]), float(f"{max(factors):.3g}")
    says = f"Ours is at {100 * goal:.3g}% {factor:.2g} times as soon."
    claim = trains(says, factor, "seconds to target", (QUICK,), GOOD, "best known")
    fooling = less(true, [QUICK, GOOD], claim)
    entries = tuple(replace(it, series=(times_to(goal, it),)) for it in fooling.entries)
    lines = curve(quick, "ours", over="seconds"), curve(good, "theirs", over="seconds")
    stop = max(x for x, y in zip(lines[0].x, lines[0].y, strict=True) if y <= 100 * goal + 1e-9)
    axes = "seconds of training", "held-out pictures recognised (%)"
    ends = [np.median(accuracies(it)[:, -1]) for it in (quick, good)]
    title = f"… and stays below: {100 * ends[0]:.0f}% at the end, theirs {100 * ends[1]:.0f}%"
    return (
        replace(fooling, entries=entries, target=Target(goal, HELD_OUT, "after")),
        Panel(says, *axes, tuple(until(it, stop) for it in lines)),
        Panel(title, *axes, lines),
    )


@way(11, "Sell weak scaling as strong", "weak scaling sold as strong",
     "Say which scaling it is, and show the other beside it.")  # fmt: skip
def weak_as_strong(true: Report) -> Told:
    """With as many samples for every rank the messages stay as long while the work grows:
    throughput scales. A given training with a given batch has less work for each rank with every
    rank that is added, and ends at its messages."""
    weak = [f"weak, {ranks} ranks" for ranks in SCALES]
    strong = [weak[0], *(f"strong, {ranks} ranks" for ranks in SCALES[1:])]
    grown, same = (all_series(true, names, RATE) for names in (weak, strong))
    factor, fair = (as_good(it[-1], it[0]) for it in (grown, same))
    says = f"Speed-up on {SCALES[-1]} ranks: {factor:.2g}."
    claim = trains(says, factor, RATE, tuple(weak[1:]), weak[0], "one rank", "strong")
    axes, hoped = ("ranks", "times as fast"), ideal(SCALES)
    both = (speed_ups("weak: 32 samples a rank", SCALES, grown),
            speed_ups("strong: 32 samples in all", SCALES, same))  # fmt: skip
    title = f"… with 8 times the batch; with the same batch: {fair:.2g}"
    fools = Panel(says, *axes, (hoped, speed_ups("measured", SCALES, grown)), logarithmic=True)
    return less(true, weak, claim), fools, Panel(title, *axes, (hoped, *both), logarithmic=True)


@way(12, "Select carefully with what one compares", "poor baseline",
     "Compare with the best known, measured in turns.")  # fmt: skip
def choose_the_baseline(true: Report) -> Told:
    """Among several ways to do the same there is always one that is easy to beat."""
    names = {"to one root": "all-reduce, linear", "ring": "all-reduce, ring",
             "MPI library": "all-reduce, native"}  # fmt: skip
    seconds = dict(zip(names, all_series(true, names.values(), "seconds", CALL), strict=True))
    best, ours, worst = sorted(seconds, key=lambda it: middle(seconds[it]))
    factor, fair = (as_good(seconds[ours], seconds[it], "paired ratios") for it in (worst, best))
    says = f"All-reduce, {ours}: {factor:.2g} times as fast."
    claim = Claim(says, "communication", "seconds", CALL, factor, "paired ratios", (names[ours],),
                  names[worst], "best known")  # fmt: skip
    titles = says, f"… than {worst}; {fair:.2g} times as fast as {best}"
    fools, honest = (
        Panel(title, "", "milliseconds for 1 MiB",
              (line("measured", shown, [seconds[it] for it in shown], 1e3),))
        for title, shown in zip(titles, ((worst, ours), (worst, ours, best)), strict=True)
    )  # fmt: skip
    return less(true, names.values(), claim), fools, honest
